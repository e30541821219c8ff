"""From a complaint of the type checker to the code of a finding, or to none.

A verdict is an error only where the complaint is about something that the project declares, and
where types differ however one looks at them. All else is a warning, or nothing.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from planner.interfaces.backing import Backing, Names
from planner.interfaces.certainty import DATA_ATTRIBUTES, Certainty
from planner.interfaces.code_facts import CodeFacts
from planner.interfaces.spots import Spot, mentions
from shared.interfaces.complaints import (
    Beside,
    Callee,
    Complaint,
    MadeAbstract,
    ModuleLacks,
    NoResult,
    NoReturn,
    NotAwaitable,
    NotCallable,
    NotIndexable,
    NotIterable,
    NotUnpackable,
    NoVariant,
    ReadOnly,
    Unclear,
    ValueLacks,
    WrongArgument,
    WrongArity,
    WrongElement,
    WrongFormat,
    WrongIndex,
    WrongOperand,
    WrongOperands,
    WrongReturn,
    WrongStore,
    WrongUnpacking,
)
from shared.interfaces.type_text import SCALARS, TypeText, without_arguments
from shared.interfaces.views import History, View

_PROTOCOL_ATTRIBUTE = re.compile(r"__(?:a?iter|a?next|a?enter|a?exit|len|getitem|call|contains)__")
# Built-in functions that fail on any argument whose type is known and does not fit ...
_EXACT: Final = frozenset({"int", "float", "abs", "round", "range", "next", "reversed", "iter"})
# ... and those that fail where it cannot be iterated over: elements that do not fit may be absent.
_ITERATING: Final = frozenset(
    {"sum", "sorted", "list", "tuple", "set", "frozenset", "dict", "max", "min", "zip"}
)
# These have a type variable as a parameter: mypy takes from elsewhere what it stands for.
_INFERRING: Final = frozenset({"max", "min"})
# Modules whose functions do so, too.
_STRICT_MODULES: Final = frozenset({"math", "json", "re", "asyncio"})
_ITEM_METHODS: Final = frozenset({"__getitem__", "__setitem__", "__delitem__"})
_ITEM_INDEX: Final = TypeText("|", (TypeText("SupportsIndex"), TypeText("slice")))


@dataclass(frozen=True, slots=True)
class Verdict:
    """The code of a finding, and what its message adds to the checker's."""

    code: str
    addition: str = ""


DOUBT: Final = Verdict("W222")


@dataclass(frozen=True, slots=True)
class Scene:
    """One command's code, and what is known where it runs.

    `derived` are the names made of something of the project's own. `stored` are those that the
    command itself binds to, or fills with, values of another type than the checker takes them
    for. `source` says what to call the order at a position.
    """

    facts: CodeFacts
    view: View
    names: Names
    history: History
    position: int
    source: Callable[[int], str]
    derived: frozenset[str]
    stored: frozenset[str]
    set_attributes: frozenset[str]
    local_classes: frozenset[str]


def judge_complaint(complaint: Complaint, spot: Spot, scene: Scene) -> Verdict | None:
    """Return what a complaint about this place amounts to; `None` where it is none of ours."""
    return _Judge(spot, scene).verdict(complaint)


class _Judge:
    """Decides on complaints about one place."""

    def __init__(self, spot: Spot, scene: Scene) -> None:
        self._spot = spot
        self._scene = scene
        self._names = scene.names
        self._types = Certainty(scene.names, scene.local_classes)

    def verdict(self, complaint: Complaint) -> Verdict | None:
        match complaint:
            case ModuleLacks() | ValueLacks():
                return self._attribute(complaint)
            case WrongArity() | MadeAbstract() | WrongArgument() | WrongElement() | NoVariant():
                return self._call(complaint)
            case (
                WrongOperands()
                | WrongOperand()
                | WrongFormat()
                | NotIndexable()
                | WrongIndex()
                | NotCallable()
                | WrongUnpacking()
                | NotIterable()
                | NotAwaitable()
            ):
                return self._misuse(certain=self._is_misused(complaint))
            case ReadOnly(owner=owner):
                return self._misuse(certain=True) if self._is_frozen(owner) else None
            case NoResult():
                return None if self._is_compared_with_none() else DOUBT
            case NotUnpackable() | WrongReturn() | NoReturn() | Unclear():
                return DOUBT
            case WrongStore() | Beside():
                return None

    # Is the complaint about something of the project's own?

    def _is_own(self) -> bool:
        return any(mentions(each, self._scene.derived) for each in self._spot.near)

    def _misuse(self, *, certain: bool) -> Verdict:
        return Verdict("E214") if certain and self._is_own() else DOUBT

    def _declared_by(self, name: str, owner: str | None = None) -> str:
        top, qualified = owner or name, f"{owner}.{name}" if owner else name
        for each in self._names.owners(top):
            history, path = self._scene.history, each.module.path
            by = history.declared_by(path, qualified, self._scene.position)
            if by is not None:
                return f"declared by {self._scene.source(by)} in {path}"
            return f"in {path}"
        return ""

    # Attributes

    def _attribute(self, complaint: ModuleLacks | ValueLacks) -> Verdict | None:
        if complaint.name in self._scene.set_attributes:
            return None
        if isinstance(complaint, ValueLacks):
            return self._value_attribute(complaint.type, complaint.name)
        return self._module_attribute(complaint.module or self._module_at_spot(), complaint.name)

    def _module_attribute(self, name: str | None, attribute: str) -> Verdict | None:
        module = self._scene.view.modules.get(name or "")
        if name is None or module is None:
            return DOUBT
        later = self._later(module.path, attribute, f"{name}.{attribute}")
        if later:
            return Verdict("E217", f"declared only by {later}")
        if module.is_open:
            return DOUBT if module.contract is not None else None
        return Verdict("E211")

    def _module_at_spot(self) -> str | None:
        """Return the module whose attribute is asked for at this place."""
        node = self._spot.node
        if not isinstance(node, ast.Attribute):
            return None
        parts: list[str] = []
        value: ast.expr = node.value
        while isinstance(value, ast.Attribute):
            parts.append(value.attr)
            value = value.value
        if not isinstance(value, ast.Name):
            return None
        start = self._scene.facts.imported.get(value.id)
        if start is None:
            return None
        base = [start.module] if start.attribute is None else [start.module, start.attribute]
        return ".".join([*base, *reversed(parts)])

    def _value_attribute(self, of: TypeText, attribute: str) -> Verdict:
        if not self._is_own():
            return DOUBT
        if attribute == "__iter__":
            return self._misuse(certain=self._types.is_not_iterable(of))
        if _PROTOCOL_ATTRIBUTE.fullmatch(attribute):
            return self._misuse(certain=self._types.is_certain(of))
        on_class = of.head == "type" and bool(of.args)
        of_class = of.args[0] if on_class else of
        if self._names.owns(of_class):
            return self._own_attribute(of_class.head, attribute, on_class)
        if on_class or (of.head == "Callable" and self._is_on_result()):
            return DOUBT
        return self._misuse(certain=self._types.lacks_attribute(of, attribute))

    def _is_on_result(self) -> bool:
        """Say whether the attribute is that of a call's result, which may be any callable."""
        node = self._spot.node
        return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Call)

    def _own_attribute(self, head: str, attribute: str, on_class: bool) -> Verdict:
        for each in self._names.owners(head):
            later = self._later(each.module.path, f"{head}.{attribute}")
            if later:
                return Verdict("E217", f"declared only by {later}")
            if each.module.is_open:
                return DOUBT
        if not self._names.is_whole(head, attribute):
            return DOUBT
        if not self._names.has_plain_head(head) or head in self._scene.local_classes:
            return DOUBT
        if not on_class and self._names.may_be_extended(head):
            return DOUBT
        return Verdict("E211", self._declared_by(head))

    def _later(self, path: str, name: str, module: str | None = None) -> str | None:
        history, position = self._scene.history, self._scene.position
        later = history.declared_later(path, name, position)
        if later is None and module is not None:
            later = history.provided_later(module, position, self._scene.view.roots)
        return None if later is None else self._scene.source(later)

    # Calls

    def _call(
        self, complaint: WrongArity | MadeAbstract | WrongArgument | WrongElement | NoVariant
    ) -> Verdict:
        if not self._is_own():
            return DOUBT
        match complaint:
            case WrongArity(callee):
                return self._arity(callee) if callee is not None else DOUBT
            case MadeAbstract(name):
                if self._names.backing(name) is not Backing.CONTRACT:
                    return DOUBT
                return Verdict("E212", self._declared_by(name))
            case WrongArgument(callee, actual, expected):
                return self._argument(callee or self._callee_at_spot(), actual, expected)
            case WrongElement(pairs=pairs):
                return self._element(pairs)
            case NoVariant(callee, arguments) if self._fits_no_variant(callee, arguments):
                head = callee.owner.head if callee.owner else None
                return Verdict("E213", self._declared_by(callee.name, head))
            case NoVariant(callee, arguments):
                return self._misuse(certain=self._is_refused(callee, arguments))

    def _backing(self, callee: Callee) -> Backing:
        """Return what is behind a function that a message names; `NONE` for one of Python's."""
        name, owner = callee.name, callee.owner
        if owner is None:
            call = self._spot.call_with_argument or self._spot.call
            is_python = (
                call is not None
                and isinstance(call.func, ast.Name)
                and call.func.id == name
                and not self._scene.facts.binds(name)
            )
            return Backing.NONE if is_python else self._names.backing(name)
        if not self._names.owns(owner):
            return Backing.NONE
        if hasattr(builtins, owner.head) and not self._names.has_member(owner.head, name):
            return Backing.NONE
        return self._names.backing(name, owner.head)

    def _arity(self, callee: Callee) -> Verdict:
        head = callee.owner.head if callee.owner else None
        if (head or callee.name) in self._scene.local_classes:
            return DOUBT
        if self._backing(callee) in (Backing.NONE, Backing.LOOSE):
            return DOUBT
        if not self._names.has_plain_head(head or callee.name):
            return DOUBT
        return Verdict("E212", self._declared_by(callee.name, head))

    def _argument(self, callee: Callee | None, actual: TypeText, expected: TypeText) -> Verdict:
        if not self._types.differ(actual, expected):
            return DOUBT
        match self._backing(callee) if callee is not None else Backing.NONE:
            case Backing.CONTRACT:
                assert callee is not None, "something is behind it"
                head = callee.owner.head if callee.owner else None
                return Verdict("E213", self._declared_by(callee.name, head))
            case Backing.SOURCE | Backing.LOOSE:
                return DOUBT
            case Backing.NONE:
                if callee is not None and callee.name in _ITEM_METHODS:
                    return self._misuse(certain=True)  # the index is of the wrong type
                certain = self._is_refused_by_python(callee, actual, expected)
                return self._misuse(certain=certain and self._argument_is_own())

    def _argument_is_own(self) -> bool:
        return mentions(self._spot.node, self._scene.derived)

    def _is_refused_by_python(
        self, callee: Callee | None, actual: TypeText, expected: TypeText
    ) -> bool:
        """Say whether a function that is not the project's fails on a value of this type."""
        if callee is None:
            return False
        # A list takes any item, and a dict may be asked for any key; a text is strict.
        if callee.owner is not None:
            return callee.owner.head in SCALARS and self._types.is_certain(actual)
        if not self._is_strict_function() or not self._types.is_certain(actual):
            return False
        # What stands around a call may decide of which elements mypy takes it to be.
        if self._spot.is_alone:
            return True
        return callee.name not in _INFERRING and self._types.differ(
            actual, without_arguments(expected)
        )

    def _is_strict_function(self) -> bool:
        """Say whether the call is of a function that fails on what it is not declared for."""
        call, facts = self._spot.call_with_argument, self._scene.facts
        match call.func if call else None:
            case ast.Name(id=name) if name in facts.imported:
                return facts.imported[name].module in _STRICT_MODULES
            case ast.Name(id=name):
                return hasattr(builtins, name) and not facts.binds(name)
            case ast.Attribute(value=ast.Name(id=name)) if name in facts.imported:
                return facts.imported[name].module in _STRICT_MODULES
            case _:
                return False

    def _element(self, pairs: tuple[tuple[TypeText, TypeText], ...]) -> Verdict:
        differing = [each for each in pairs if self._types.differ(*each)]
        if not differing:
            return DOUBT
        actual, expected = differing[0]
        if expected.head == "SupportsKeysAndGetItem":
            return self._misuse(certain=self._types.is_certain(actual))
        callee = self._callee_at_spot()
        if callee is not None and self._backing(callee) is not Backing.NONE:
            return self._argument(callee, actual, expected)
        call = self._spot.call_with_argument
        is_joined = call and isinstance(call.func, ast.Attribute) and call.func.attr == "join"
        return self._misuse(certain=bool(is_joined) and self._argument_is_own())

    def _callee_at_spot(self) -> Callee | None:
        """Return what the call around this place calls, by the name it was declared with."""
        call = self._spot.call_with_argument
        imported = self._scene.facts.imported
        match call.func if call else None:
            case ast.Name(id=name):
                known = imported.get(name)
                own = known is not None and self._names.is_own(known)
                return Callee(known.attribute) if own and known and known.attribute else None
            case ast.Attribute(value=ast.Name(id=module), attr=name) if module in imported:
                if self._names.is_own(imported[module]) and self._names.owners(name):
                    return Callee(name)
                return self._only_method(name)
            case ast.Attribute(attr=name):
                return self._only_method(name)
            case _:
                return None

    def _only_method(self, name: str) -> Callee | None:
        """Return the method of that name, if one class alone has it and no type of Python's."""
        owners = self._names.member_owners(name)
        if len(owners) != 1 or name in DATA_ATTRIBUTES:
            return None
        return Callee(name, TypeText(owners[0]))

    def _fits_no_variant(self, callee: Callee, arguments: tuple[TypeText, ...]) -> bool:
        """Say whether no declared overload of a function takes these, its types differing."""
        call = self._spot.node
        if not isinstance(call, ast.Call) or call.keywords or len(call.args) != len(arguments):
            return False
        if self._backing(callee) is not Backing.CONTRACT:
            return False
        variants = self._names.variants(callee.name, callee.owner.head if callee.owner else None)
        return bool(variants) and all(
            any(
                self._types.differ(actual, expected)
                for actual, expected in zip(arguments, parameters, strict=False)
            )
            for parameters in variants
        )

    def _is_refused(self, callee: Callee, arguments: tuple[TypeText, ...]) -> bool:
        """Say whether an overloaded function of Python's own fails on these."""
        if callee.owner is not None:
            if not callee.name.startswith("__"):
                return False
            if callee.name in _ITEM_METHODS and callee.owner.is_builtin:
                return self._types.differ(arguments[0], _ITEM_INDEX)
            return all(map(self._types.is_certain, (callee.owner, *arguments)))
        if self._backing(callee) is not Backing.NONE or self._scene.facts.binds(callee.name):
            return False
        if callee.name == "round" or len(arguments) == 1:
            if callee.name in _EXACT:
                return self._types.is_certain(arguments[0])
            return callee.name in _ITERATING and self._types.lacks_items(arguments[0])
        return False

    # Results

    def _is_misused(
        self,
        complaint: WrongOperands
        | WrongOperand
        | WrongFormat
        | NotIndexable
        | WrongIndex
        | NotCallable
        | WrongUnpacking
        | NotIterable
        | NotAwaitable,
    ) -> bool:
        """Say whether a value surely cannot do what is asked of it."""
        match complaint:
            case WrongOperands(of_union=True):
                return False  # the message names one member of several
            case WrongOperands(operator="in", right=right) if right.head not in SCALARS:
                return False  # to look for what cannot be in a list is false, not wrong
            case WrongOperands(left=left, right=right):
                return self._types.is_certain(left) and self._types.is_certain(right)
            case WrongIndex(actual, expected) | WrongFormat(actual, expected):
                return self._types.differ(actual, expected)
            case WrongOperand(of) | NotIndexable(of) | NotCallable(of) | NotAwaitable(of):
                return self._types.is_certain(of)
            case NotIterable(of):
                return self._types.is_not_iterable(of)
            case WrongUnpacking():
                return True

    def _is_frozen(self, owner: str) -> bool:
        return owner not in self._scene.local_classes and self._names.is_frozen(owner)

    def _is_compared_with_none(self) -> bool:
        return any(
            isinstance(each, ast.Compare)
            and any(isinstance(c, ast.Constant) and c.value is None for c in each.comparators)
            for each in self._spot.near
        )
