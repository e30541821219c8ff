"""Judges complaints about attributes, calls and values.

A verdict is an error only where the complaint is about something that the project declares, and
where types certainly differ. Any other complaint gives a warning or no verdict.
"""

from __future__ import annotations

import ast
import builtins
import re
from typing import Final

from shared.languages.planned_code import DOUBT, Verdict, declared_only_by
from shared.languages.python.code_facts import mentions
from shared.languages.python.complaint_scene import ComplaintPlace
from shared.languages.python.mypy_messages import Callee, Mistake, MypyComplaint
from shared.languages.python.name_backing import DATA_ATTRIBUTES, Backing
from shared.languages.python.planned_python import compiles
from shared.languages.python.type_text import SCALARS, TypeText, without_arguments

_PROTOCOL_ATTRIBUTE = re.compile(r"__(?:a?iter|a?next|a?enter|a?exit|len|getitem|call|contains)__")


class _AttributeJudge(ComplaintPlace):
    def verdict(self, complaint: MypyComplaint) -> Verdict | None:
        """Return the verdict on a missing attribute; `None` if the command itself sets it.

        It is also `None` if the module of the attribute is open and has no contract.
        """
        if complaint.name in self.scene.facts.set_attributes:
            return None
        if complaint.mistake is Mistake.VALUE_LACKS:
            return self._value_attribute(complaint.of, complaint.name)
        return self._module_attribute(complaint.module or self._module_at_spot(), complaint.name)

    def _module_attribute(self, name: str | None, attribute: str) -> Verdict | None:
        module = self.names.view.modules.get(name or "")
        if name is None or module is None:
            return DOUBT
        later = self._later(module.path, attribute, f"{name}.{attribute}")
        if later:
            return Verdict("E217", declared_only_by(later))
        if module.is_open or attribute in module.unseen or self._is_compiled_anew(module.path):
            return DOUBT if module.contract is not None else None
        return Verdict("E211")

    def _is_compiled_anew(self, path: str) -> bool:
        """Say whether the file is a stub of what an order may compile from another language."""
        question = self.scene.question
        is_compiled = compiles(question.project.chain, question.planned.position)
        return path.endswith(".pyi") and is_compiled

    def _module_at_spot(self) -> str | None:
        """Return the name of the module whose attribute is read at this place."""
        node = self.spot.node
        if not isinstance(node, ast.Attribute):
            return None
        parts = ""
        value: ast.expr = node.value
        while isinstance(value, ast.Attribute):
            parts, value = f".{value.attr}{parts}", value.value
        start = self.scene.facts.imported.get(value.id) if isinstance(value, ast.Name) else None
        if start is None:
            return None
        attribute = f".{start.attribute}" if start.attribute else ""
        return f"{start.module}{attribute}{parts}"

    def _value_attribute(self, of: TypeText, attribute: str) -> Verdict | None:
        if not self.is_own():
            return DOUBT
        if attribute == "__iter__":
            return self.misuse(certain=self.types.is_not_iterable(of))
        if _PROTOCOL_ATTRIBUTE.fullmatch(attribute):
            return self.misuse(certain=self.types.is_certain(of))
        on_class = of.head == "type" and bool(of.args)
        of_class = of.args[0] if on_class else of
        if self.names.owns(of_class):
            return self._own_attribute(of_class.head, attribute, on_class)
        if on_class or (of.head == "Callable" and self._is_on_result()):
            return DOUBT
        return self.misuse(certain=self.types.lacks_attribute(of, attribute))

    def _is_on_result(self) -> bool:
        """Say whether the attribute belongs to a call's result, which may be any callable."""
        node = self.spot.node
        return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Call)

    def _own_attribute(self, head: str, attribute: str, on_class: bool) -> Verdict | None:
        for each in self.names.owners(head):
            later = self._later(each.module.path, f"{head}.{attribute}")
            if later:
                return Verdict("E217", declared_only_by(later))
            if each.module.is_open:
                return DOUBT if each.module.contract is not None else None
        if not self.names.is_whole(head, attribute):
            return DOUBT
        if not self.names.has_plain_head(head) or head in self.scene.facts.local_classes:
            return DOUBT
        if not on_class and self.names.may_be_extended(head):
            return DOUBT
        return Verdict("E211", self.declared_by(head))

    def _later(self, path: str, name: str, module: str | None = None) -> str | None:
        project, position = self.scene.question.project, self.scene.question.planned.position
        later = project.history.declared_later(path, name, position)
        if later is None and module is not None:
            later = project.history.provided_later(module, position, self.names.view.roots)
        return None if later is None else project.chain.source(later)


# Built-in functions that fail on any argument whose type is known and does not fit.
_EXACT: Final = frozenset({"int", "float", "abs", "round", "range", "next", "reversed", "iter"})
# Built-in functions that fail where the argument cannot be iterated over. They need not fail on
# an element type that does not fit, since there may be no elements.
_ITERATING: Final = frozenset(
    {"sum", "sorted", "list", "tuple", "set", "frozenset", "dict", "max", "min", "zip"}
)
# A parameter of these is a type variable, which mypy may infer from other code around the call.
_INFERRING: Final = frozenset({"max", "min"})
# Modules whose functions also fail on an argument whose type is known and does not fit.
_STRICT_MODULES: Final = frozenset({"math", "json", "re", "asyncio"})
_ITEM_METHODS: Final = frozenset({"__getitem__", "__setitem__", "__delitem__"})
_ITEM_INDEX: Final = TypeText("|", (TypeText("SupportsIndex"), TypeText("slice")))


class _CallJudge(ComplaintPlace):
    def verdict(self, complaint: MypyComplaint) -> Verdict | None:
        """Return the verdict on a call; `None` if it doubts code that the order may change so."""
        found = self._verdict(complaint)
        meant = complaint.callee or self._callee_at_spot()
        return None if found == DOUBT and meant is not None and self._may_change(meant) else found

    def _may_change(self, callee: Callee) -> bool:
        """Say whether the function may become another one that no interface declares."""
        owners = self.names.owners(callee.owner.head if callee.owner else callee.name)
        return bool(owners) and all(
            each.module.is_open and each.module.contract is None for each in owners
        )

    def _verdict(self, complaint: MypyComplaint) -> Verdict:
        if not self.is_own():
            return DOUBT
        callee = complaint.callee
        head = callee.owner.head if callee is not None and callee.owner else None
        match complaint.mistake:
            case Mistake.ARITY:
                return self._arity(callee) if callee is not None else DOUBT
            case Mistake.ABSTRACT:
                if self.names.backing(complaint.name) is not Backing.CONTRACT:
                    return DOUBT
                return Verdict("E212", self.declared_by(complaint.name))
            case Mistake.ARGUMENT:
                meant = callee or self._callee_at_spot()
                return self._argument(meant, complaint.actual, complaint.expected)
            case Mistake.ELEMENT:
                return self._element(complaint.pairs)
            case _:
                assert callee is not None, "the message about variants names the function"
                if self._fits_no_variant(callee, complaint.arguments):
                    return Verdict("E213", self.declared_by(callee.name, head))
                return self.misuse(certain=self._is_refused(callee, complaint.arguments))

    def _backing(self, callee: Callee) -> Backing:
        """Return what backs a function that a message names; `NONE` for one of Python's own."""
        name, owner = callee.name, callee.owner
        if owner is None:
            call = self.spot.call_with_argument or self.spot.call
            is_python = (
                call is not None
                and isinstance(call.func, ast.Name)
                and call.func.id == name
                and not self.scene.facts.binds(name)
            )
            return Backing.NONE if is_python else self.names.backing(name)
        if not self.names.owns(owner):
            return Backing.NONE
        if hasattr(builtins, owner.head) and not self.names.has_member(owner.head, name):
            return Backing.NONE
        return self.names.backing(name, owner.head)

    def _arity(self, callee: Callee) -> Verdict:
        head = callee.owner.head if callee.owner else None
        made = head or callee.name
        is_plain = self.names.has_plain_head(made) and made not in self.scene.facts.local_classes
        is_plain = is_plain and self.names.is_called_as_written(callee.name, head)
        if self._backing(callee) in (Backing.NONE, Backing.LOOSE) or not is_plain:
            return DOUBT
        return Verdict("E212", self.declared_by(callee.name, head))

    def _argument(self, callee: Callee | None, actual: TypeText, expected: TypeText) -> Verdict:
        if not self.types.differ(actual, expected):
            return DOUBT
        match self._backing(callee) if callee is not None else Backing.NONE:
            case Backing.CONTRACT:
                assert callee is not None, "a contract backs only a known callee"
                head = callee.owner.head if callee.owner else None
                if not self.names.is_called_as_written(callee.name, head):
                    return DOUBT
                return Verdict("E213", self.declared_by(callee.name, head))
            case Backing.SOURCE | Backing.LOOSE:
                return DOUBT
            case Backing.NONE:
                if callee is not None and callee.name in _ITEM_METHODS:
                    return self.misuse(certain=True)  # the index is of the wrong type
                certain = self._is_refused_by_python(callee, actual, expected)
                return self.misuse(certain=certain and self._argument_is_own())

    def _argument_is_own(self) -> bool:
        return mentions(self.spot.node, self.scene.derived)

    def _is_refused_by_python(
        self, callee: Callee | None, actual: TypeText, expected: TypeText
    ) -> bool:
        """Say whether a function from outside the project fails on a value of this type."""
        if callee is None:
            return False
        # A list takes any item, and a dict accepts any key in a lookup; a text is strict.
        if callee.owner is not None:
            return callee.owner.head in SCALARS and self.types.is_certain(actual)
        if not self._is_strict_function() or not self.types.is_certain(actual):
            return False
        # The code around a call may decide which element type mypy infers for the call.
        if self.spot.is_alone:
            return True
        return callee.name not in _INFERRING and self.types.differ(
            actual, without_arguments(expected)
        )

    def _is_strict_function(self) -> bool:
        """Say whether the called function fails on values that it is not declared for."""
        call, facts = self.spot.call_with_argument, self.scene.facts
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
        differing = [each for each in pairs if self.types.differ(*each)]
        if not differing:
            return DOUBT
        actual, expected = differing[0]
        if expected.head == "SupportsKeysAndGetItem":
            return self.misuse(certain=self.types.is_certain(actual))
        callee = self._callee_at_spot()
        if callee is not None and self._backing(callee) is not Backing.NONE:
            return self._argument(callee, actual, expected)
        call = self.spot.call_with_argument
        is_joined = call and isinstance(call.func, ast.Attribute) and call.func.attr == "join"
        return self.misuse(certain=bool(is_joined) and self._argument_is_own())

    def _callee_at_spot(self) -> Callee | None:
        """Return the callee of the call around this place, by the name it was declared with."""
        call = self.spot.call_with_argument
        imported = self.scene.facts.imported
        match call.func if call else None:
            case ast.Name(id=name):
                known = imported.get(name)
                own = known is not None and self.names.is_own(known)
                return Callee(known.attribute) if own and known and known.attribute else None
            case ast.Attribute(value=ast.Name(id=module), attr=name) if module in imported:
                if self.names.is_own(imported[module]) and self.names.owners(name):
                    return Callee(name)
                return self._only_method(name)
            case ast.Attribute(attr=name):
                return self._only_method(name)
            case _:
                return None

    def _only_method(self, name: str) -> Callee | None:
        """Return the method of that name, if only one class has it and no common built-in type."""
        owners = self.names.member_owners(name)
        if len(owners) != 1 or name in DATA_ATTRIBUTES:
            return None
        return Callee(name, TypeText(owners[0]))

    def _fits_no_variant(self, callee: Callee, arguments: tuple[TypeText, ...]) -> bool:
        """Say whether every declared overload of a function refuses one of these arguments."""
        call = self.spot.node
        if not isinstance(call, ast.Call) or call.keywords or len(call.args) != len(arguments):
            return False
        if self._backing(callee) is not Backing.CONTRACT:
            return False
        variants = self.names.variants(callee.name, callee.owner.head if callee.owner else None)
        return bool(variants) and all(
            any(
                self.types.differ(actual, expected)
                for actual, expected in zip(arguments, parameters, strict=False)
            )
            for parameters in variants
        )

    def _is_refused(self, callee: Callee, arguments: tuple[TypeText, ...]) -> bool:
        """Say whether an overloaded function of Python's own fails on these arguments."""
        if callee.owner is not None:
            if not callee.name.startswith("__"):
                return False
            if callee.name in _ITEM_METHODS and callee.owner.is_builtin:
                return self.types.differ(arguments[0], _ITEM_INDEX)
            return all(map(self.types.is_certain, (callee.owner, *arguments)))
        if self._backing(callee) is not Backing.NONE or self.scene.facts.binds(callee.name):
            return False
        if callee.name == "round" or len(arguments) == 1:
            if callee.name in _EXACT:
                return self.types.is_certain(arguments[0])
            return callee.name in _ITERATING and self.types.lacks_items(arguments[0])
        return False


_OF_CALLS: Final = frozenset(
    {Mistake.ARITY, Mistake.ABSTRACT, Mistake.ARGUMENT, Mistake.ELEMENT, Mistake.NO_VARIANT}
)


def judge_complaint(complaint: MypyComplaint, place: ComplaintPlace) -> Verdict | None:
    """Return the verdict on a complaint about a place; `None` if it is not to be reported."""
    match complaint.mistake:
        case Mistake.MODULE_LACKS | Mistake.VALUE_LACKS:
            return _AttributeJudge(place.spot, place.scene).verdict(complaint)
        case mistake if mistake in _OF_CALLS:
            return _CallJudge(place.spot, place.scene).verdict(complaint)
        case Mistake.READ_ONLY:
            is_local = complaint.name in place.scene.facts.local_classes
            certain = not is_local and place.names.is_frozen(complaint.name)
            return place.misuse(certain=True) if certain else None
        case Mistake.NO_RESULT:
            return None if _is_compared_with_none(place) else DOUBT
        case Mistake.NOT_UNPACKABLE | Mistake.RETURN | Mistake.NO_RETURN | Mistake.UNCLEAR:
            return DOUBT
        case Mistake.STORE | Mistake.BESIDE:
            return None
        case _:
            return place.misuse(certain=_is_misused(complaint, place))


def _is_misused(complaint: MypyComplaint, place: ComplaintPlace) -> bool:
    """Say whether a value certainly cannot do what the code demands of it."""
    types = place.types
    match complaint.mistake:
        case Mistake.OPERANDS:
            # The message may name one member of several. And looking for a value that cannot be in
            # a list is false, not an error.
            is_search = complaint.operator == "in" and complaint.right.head not in SCALARS
            if complaint.of_union or is_search:
                return False
            return types.is_certain(complaint.left) and types.is_certain(complaint.right)
        case Mistake.INDEX | Mistake.FORMAT:
            return types.differ(complaint.actual, complaint.expected)
        case Mistake.NOT_ITERABLE:
            return types.is_not_iterable(complaint.of)
        case Mistake.UNPACKING:
            return True
        case Mistake.OPERAND if complaint.operator == "in":
            return types.is_not_iterable(complaint.of)
        case _:
            return types.is_certain(complaint.of)


def _is_compared_with_none(place: ComplaintPlace) -> bool:
    compared = (c for e in place.spot.near if isinstance(e, ast.Compare) for c in e.comparators)
    return any(isinstance(each, ast.Constant) and each.value is None for each in compared)
