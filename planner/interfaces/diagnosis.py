"""From a checker's complaint about a command to a finding's code, or to none.

An error must be right. It is one only where the complaint is about something of the project's own
that is declared, at a place where the code does not expect to fail; what is left is a warning.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from planner.interfaces.backing import Backing, Names
from planner.interfaces.code_facts import CodeFacts, Spot, mentions
from shared.interfaces.checker import Diagnostic
from shared.interfaces.type_text import BUILTINS, SCALARS, TypeText, parse_type, surely_differ
from shared.interfaces.views import History, View

# Nothing in these is about the project: other rules tell imports and names, mypy's own habits
# the rest.
_IGNORED: Final = frozenset(
    {"import-not-found", "import-untyped", "import", "name-defined", "no-redef", "has-type",
     "var-annotated", "assignment", "valid-type", "syntax", "annotation-unchecked", "misc",
     "used-before-def", "method-assign", "truthy-bool", "unused-coroutine", "str-unpack"}
)  # fmt: skip
_PROTOCOL_ATTRIBUTE = re.compile(r"__(?:a?iter|a?next|a?enter|a?exit|len|getitem|call|contains)__")
# Attributes that subclasses of a built-in type have: what is declared `dict` may be a `Counter`.
_OF_SUBCLASSES: Final = {
    "dict": frozenset({"most_common", "elements", "subtract", "total", "move_to_end",
                       "default_factory"}),
    "str": frozenset({"name", "value"}),
    "int": frozenset({"name", "value"}),
}  # fmt: skip

_MODULE_ATTRIBUTE = re.compile(
    r'Module(?: "(?P<module>[^"]+)")? has no attribute "(?P<name>[^"]+)"'
)
_ATTRIBUTE = re.compile(r'"(?P<type>.+?)" has no attribute "(?P<name>[^"]+)"')
_ARGUMENT = re.compile(
    r'Argument (?:\d+|"[^"]+")(?: to "(?P<name>[^"]+)"(?: of "(?P<owner>[^"]+)")?)? has '
    r'incompatible type "(?P<actual>.+)"; expected "(?P<expected>.+)"'
)
_ELEMENT = re.compile(
    r'(?:List|Set|Dict|Tuple) (?:item|entry) \d+ has incompatible type "(?P<actual>.+)"; '
    r'expected "(?P<expected>.+)"'
)
_CALLEE = re.compile(r'(?:for|to|in call to|class) "(?P<name>[^"]+)"(?: of "(?P<owner>[^"]+)")?')
_GOT_MULTIPLE = re.compile(r'"(?P<name>[^"]+)"(?: of "(?P<owner>[^"]+)")? gets multiple values')
_OPERANDS = re.compile(
    r'operand types for (?P<operator>\S+) \("(?P<left>.+)" and "(?P<right>.+)"\)'
)
_OPERAND = re.compile(r'(?:operand type for \S+(?: \S)?|indexed assignment) \("(?P<type>.+)"\)')
_OVERLOAD = re.compile(
    r'No overload variant of "(?P<name>[^"]+)"(?: of "(?P<owner>[^"]+)")? matches argument '
    r'types? "(?P<type>[^"]+)"'
)
_NOT_INDEXABLE = re.compile(r'Value of type "(?P<type>.+)" is not indexable')
_WRONG_INDEX = re.compile(
    r'Invalid index type "(?P<actual>.+)" for "(?P<type>.+)"; expected type "(?P<expected>.+)"'
)
_NOT_CALLABLE = re.compile(r'"(?P<type>.+)" not callable')
_UNPACKING = re.compile(
    r"Need more than \d+ values? to unpack|Too many values to unpack|Tuple index out of range"
    r'|".+" object is not iterable'
)


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """A finding in the making.

    `about` tells faults apart: a second complaint about the same thing is no second fault.
    """

    code: str
    about: tuple[str, object]
    message: str


@dataclass(frozen=True, slots=True)
class Scene:
    """One command's code, and what is known where it runs.

    `source` says what to call the order at a position.
    """

    facts: CodeFacts
    view: View
    names: Names
    history: History
    position: int
    source: Callable[[int], str]
    derived: frozenset[str]
    set_attributes: frozenset[str]
    local_classes: frozenset[str]


def diagnose(diagnostic: Diagnostic, scene: Scene) -> Diagnosis | None:
    """Return what a complaint amounts to; `None` where it is none of ours."""
    spot = scene.facts.locate(diagnostic)
    if spot is None or scene.facts.is_guarded(spot):
        return None
    found = _Judge(diagnostic, spot, scene).verdict()
    if found is None:
        return None
    code, addition = found
    if code != "W222" and (
        scene.facts.uses_mocks or _has_star(spot) or _uses_replaced(spot, scene.set_attributes)
    ):
        code, addition = "W222", ""
    place = f"line {spot.line}, column {spot.column}" if spot.line > 1 else f"column {spot.column}"
    hint = f" ({addition})" if addition else ""
    return Diagnosis(code, _about(diagnostic, spot), f"{place}: {diagnostic.message}{hint}")


def _about(diagnostic: Diagnostic, spot: Spot) -> tuple[str, object]:
    if diagnostic.code in {"list-item", "dict-item"}:
        return "container", spot.around[0]
    if "has no attribute" in diagnostic.message and "__" in diagnostic.message:
        return "protocol", spot.node  # `__enter__` and `__exit__` are missed together
    return "message", diagnostic.message


def _has_star(spot: Spot) -> bool:
    call = spot.call
    return call is not None and (
        any(isinstance(each, ast.Starred) for each in call.args)
        or any(each.arg is None for each in call.keywords)
    )


def _uses_replaced(spot: Spot, set_attributes: frozenset[str]) -> bool:
    """Say whether an attribute is used there that the command itself put in its place."""
    return any(
        isinstance(each, ast.Attribute) and each.attr in set_attributes
        for node in spot.near
        for each in ast.walk(node)
    )


_Verdict = tuple[str, str] | None
_DOUBT: Final = ("W222", "")


class _Judge:
    """Decides on one complaint, by the kind the checker gives it."""

    def __init__(self, diagnostic: Diagnostic, spot: Spot, scene: Scene) -> None:
        self._message = diagnostic.message
        self._hint = diagnostic.hint
        self._kind = diagnostic.code
        self._spot = spot
        self._scene = scene
        self._names = scene.names

    def verdict(self) -> _Verdict:
        match self._kind:
            case "attr-defined":
                found = self._attribute()
            case "call-arg":
                found = self._arity()
            case "abstract":
                found = self._abstract()
            case "arg-type" | "list-item" | "dict-item":
                found = self._argument()
            case "misc" if _GOT_MULTIPLE.match(self._message):
                found = self._arity()
            case "misc" if _UNPACKING.match(self._message):
                found = self._misuse(certain=True)
            case "call-overload":
                found = self._overload()
            case "operator":
                found = self._operator()
            case "index":
                found = self._index()
            case "func-returns-value" if self._is_compared_with_none():
                found = None
            case kind if kind in _IGNORED:
                found = None
            case _:
                found = _DOUBT
        return found

    # Is the complaint about something of the project's own?

    def _is_own(self) -> bool:
        return any(mentions(each, self._scene.derived) for each in self._spot.near)

    def _is_compared_with_none(self) -> bool:
        return any(
            isinstance(each, ast.Compare)
            and any(isinstance(c, ast.Constant) and c.value is None for c in each.comparators)
            for each in self._spot.near
        )

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

    def _attribute(self) -> _Verdict:
        if found := _MODULE_ATTRIBUTE.match(self._message):
            module = found["module"] or self._module_at_spot()
            return self._module_attribute(module, found["name"])
        if found := _ATTRIBUTE.match(self._message):
            return self._value_attribute(found["type"], found["name"])
        return _DOUBT

    def _module_attribute(self, name: str | None, attribute: str) -> _Verdict:
        module = self._scene.view.modules.get(name or "")
        if name is None or module is None:
            return _DOUBT
        if attribute in self._scene.set_attributes:
            return None
        later = self._later(module.path, attribute, f"{name}.{attribute}")
        if later:
            return "E217", f"declared only by {later}"
        if module.is_open:
            return _DOUBT if module.contract is not None else None
        return "E211", ""

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

    def _value_attribute(self, type_text: str, attribute: str) -> _Verdict:
        if attribute in self._scene.set_attributes:
            return None
        if not self._is_own():
            return _DOUBT
        if _PROTOCOL_ATTRIBUTE.fullmatch(attribute):
            return self._misuse(certain=self._is_certain(type_text))
        of_class = parse_type(type_text)
        head = of_class.args[0].head if of_class.head == "type" and of_class.args else of_class.head
        if self._names.backing(head) is Backing.NONE:
            is_builtin = head in BUILTINS - {"tuple"} and of_class.head != "type"
            certain = is_builtin and attribute not in _OF_SUBCLASSES.get(head, ())
            return self._misuse(certain=certain)
        return self._own_attribute(head, attribute, of_class.head == "type")

    def _own_attribute(self, head: str, attribute: str, on_class: bool) -> _Verdict:
        for each in self._names.owners(head):
            later = self._later(each.module.path, f"{head}.{attribute}")
            if later:
                return "E217", f"declared only by {later}"
            if each.module.is_open:
                return _DOUBT
        if not self._is_whole(head):
            return _DOUBT
        if not self._names.has_plain_head(head) or head in self._scene.local_classes:
            return _DOUBT
        if not on_class and self._names.may_be_extended(head):
            return _DOUBT
        return "E211", self._declared_by(head)

    def _is_whole(self, head: str) -> bool:
        """Say whether a contract declares the class and no source adds to it."""
        return all(
            each.module.source is None and head in each.module.contracted
            for each in self._names.owners(head)
        )

    def _later(self, path: str, name: str, module: str | None = None) -> str | None:
        history, position = self._scene.history, self._scene.position
        later = history.declared_later(path, name, position)
        if later is None and module is not None:
            later = history.provided_later(module, position, self._scene.view.roots)
        return None if later is None else self._scene.source(later)

    # Calls

    def _arity(self) -> _Verdict:
        found = _CALLEE.search(self._message) or _GOT_MULTIPLE.match(self._message)
        if found is None:
            return _DOUBT
        return self._arity_of(found["name"], found["owner"])

    def _arity_of(self, name: str, owner: str | None) -> _Verdict:
        head = parse_type(owner).head if owner else None
        if not self._is_own() or (head or name) in self._scene.local_classes:
            return _DOUBT
        if self._names.backing(name, head) in (Backing.NONE, Backing.LOOSE):
            return _DOUBT
        if not self._names.has_plain_head(head or name):
            return _DOUBT
        return "E212", self._declared_by(name, head)

    def _abstract(self) -> _Verdict:
        found = re.search(r'abstract class "([^"]+)"', self._message)
        if found is None or self._names.backing(found[1]) is not Backing.CONTRACT:
            return _DOUBT
        return "E212", self._declared_by(found[1])

    def _argument(self) -> _Verdict:
        found = _ARGUMENT.match(self._message) or _ELEMENT.match(self._message)
        if found is None or not self._is_own():
            return _DOUBT
        actual, expected = parse_type(found["actual"]), parse_type(found["expected"])
        if not self._differ(actual, expected):
            return _DOUBT
        name, owner = found.groupdict().get("name"), found.groupdict().get("owner")
        if name is None:
            name, owner = self._callee_at_spot(), None
        head = parse_type(owner).head if owner else None
        backing = self._names.backing(name, head) if name else Backing.NONE
        if backing is Backing.CONTRACT:
            if self._names.takes_type_variables(name or "", head):
                return _DOUBT  # what was expected was inferred, from other arguments
            return "E213", self._declared_by(name or "", head)
        if backing is not Backing.NONE or (name or "") in self._scene.local_classes:
            return _DOUBT
        # Not the project's function, so it is a value of the project's that does not fit.
        return self._misuse(certain=actual.head in BUILTINS and self._argument_is_own())

    def _argument_is_own(self) -> bool:
        return mentions(self._spot.node, self._scene.derived)

    def _callee_at_spot(self) -> str | None:
        """Return what the call around this place calls, by the name it was declared with."""
        call = self._spot.call
        match call.func if call else None:
            case ast.Name(id=name):
                imported = self._scene.facts.imported.get(name)
                return imported.attribute if imported and self._names.is_own(imported) else None
            case ast.Attribute(value=ast.Name(id=module), attr=name):
                imported = self._scene.facts.imported.get(module)
                return name if imported and self._names.is_own(imported) else None
            case _:
                return None

    def _overload(self) -> _Verdict:
        found = _OVERLOAD.match(self._message)
        if found is None or not self._is_own():
            return _DOUBT
        if found["name"].startswith("__") and found["owner"]:
            sides = (parse_type(found["owner"]), parse_type(found["type"]))
            return self._misuse(certain=all(each.head in BUILTINS for each in sides))
        return _DOUBT

    # Results

    def _misuse(self, *, certain: bool) -> _Verdict:
        return ("E214", "") if certain and self._is_own() else _DOUBT

    def _operator(self) -> _Verdict:
        if found := _NOT_CALLABLE.match(self._message):
            return self._misuse(certain=self._is_certain(found["type"]))
        if found := _OPERANDS.search(self._message):
            sides = (found["left"], found["right"])
            if "operand is of type" in self._hint:
                return _DOUBT  # of a union, of which the message names one member
            if found["operator"] == "in" and parse_type(found["right"]).head not in SCALARS:
                return _DOUBT  # looking for what cannot be in a list is false, not wrong
            return self._misuse(certain=all(map(self._is_certain, sides)))
        if found := _OPERAND.search(self._message):
            return self._misuse(certain=self._is_certain(found["type"]))
        return self._overload()

    def _index(self) -> _Verdict:
        if found := _NOT_INDEXABLE.match(self._message) or _OPERAND.search(self._message):
            return self._misuse(certain=self._is_certain(found["type"]))
        if found := _WRONG_INDEX.match(self._message):
            actual, expected = parse_type(found["actual"]), parse_type(found["expected"])
            return self._misuse(certain=self._differ(actual, expected))
        return _DOUBT

    def _is_certain(self, type_text: str) -> bool:
        """Say whether a value of this type is no more than the type says."""
        parsed = parse_type(type_text)
        if parsed.head in BUILTINS:
            return True
        owners = self._names.owners(parsed.head)
        closed = bool(owners) and not any(each.module.is_open for each in owners)
        return (
            closed and self._is_whole(parsed.head) and not self._names.may_be_extended(parsed.head)
        )

    def _differ(self, actual: TypeText, expected: TypeText) -> bool:
        if {actual.head, expected.head} & self._scene.local_classes:
            return False
        return surely_differ(actual, expected, self._names.is_plain_class)
