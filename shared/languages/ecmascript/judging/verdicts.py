"""Turns a complaint of the compiler into a verdict, which has a finding's code, or into none.

A verdict is an error only where the complaint is about something that the project declares, and
where the code fails for certain. Any other complaint gives a warning or no verdict.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from shared.languages.ecmascript.contracts.history import History
from shared.languages.ecmascript.files import is_typed, suffix_of
from shared.languages.ecmascript.judging.compiler import Complaint
from shared.languages.ecmascript.judging.question import Question, arguments_of, callee_of
from shared.languages.ecmascript.judging.type_kinds import (
    is_known_value,
    is_literal_misfit,
    may_fit,
    surely_differ,
)
from shared.languages.ecmascript.judging.view import View
from shared.languages.ecmascript.resolution import Kind, resolve
from shared.languages.syntax_tree import text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_NO_EXPORT = re.compile(
    r"(?:Module )?'\"?([^'\"]+)\"?' (?:has no exported member|declares)(?: named)? '([^']+)'"
)
_NO_DEFAULT = re.compile(r"Module '\"?([^'\"]+)\"?' has no default export")
_NO_MEMBER = re.compile(
    r"Property '(?P<name>[^']+)' does not exist on type '(?P<type>.+?)'\.(?: |$)"
)
_COUNT = re.compile(r"[Ee]xpected (?:at least )?[\d-]+ arguments, but got (\d+)")
_MISFIT = re.compile(
    r"(?:Argument of type|Type) '(?P<actual>.+)' is not assignable to (?:parameter of )?"
    r"type '(?P<expected>.+)'\.",
    re.DOTALL,
)
_UNKNOWN_NAME = re.compile(r"Cannot find name '([^']+)'")
_ONLY_A_TYPE = re.compile(r"'([^']+)' only refers to a type")
_NOT_ITERABLE = re.compile(r"Type '(.+)' (?:must have a|is not an array type)")
_MODULE_TYPE = re.compile(r'typeof import\("([^"]+)"\)')
_HEAD = re.compile(r"(?:typeof )?([A-Za-z_$][\w$]*)")
# Complaints that may be right, and concern what a program does not need to keep.
_DOUBTFUL: Final = frozenset(
    {2306, 2339, 2341, 2345, 2353, 2365, 2367, 2445, 2511, 2540, 2559, 2561, 2673, 2674, 2739, 2740,
     2741, 2769, 2349, 2351, 2350, 2488, 2461, 2554, 2555, 2575, 2551, 2576, 2362, 2363}
)  # fmt: skip
_OF_TYPES: Final = frozenset(
    {"type_annotation", "type_arguments", "type_identifier", "nested_type_identifier",
     "type_parameters", "type_query", "extends_type_clause"}
)  # fmt: skip
_OF_VALUES: Final = frozenset({"E211", "E212", "E213", "E214"})
_IMPORTING: Final = frozenset({"import_specifier", "import_statement", "import_clause"})


@dataclass(frozen=True, slots=True)
class Verdict:
    """Hold the code of a finding, and the text that its message adds to the compiler's."""

    code: str
    addition: str = ""


DOUBT: Final = Verdict("W222")


@dataclass(frozen=True, slots=True)
class Place:
    """Hold a complaint with the part of the code that it is about, and what is known there."""

    complaint: Complaint
    node: Node
    question: Question
    view: View
    history: History
    position: int


def judge(place: Place) -> Verdict | None:
    """Return the verdict on a complaint; `None` where it is not to be reported."""
    if place.question.is_guarded(place.node):
        return None
    found = _JUDGES.get(place.complaint.code, _other)(place)
    if found is None or found == DOUBT:
        return found
    # A mock may take other arguments than what it stands for, and has members of its own.
    is_replaced = place.question.uses_mocks and found.code in _OF_VALUES
    return DOUBT if is_replaced else found


def _other(place: Place) -> Verdict | None:
    is_own = place.question.mentions_project(_around(place.node))
    return DOUBT if place.complaint.code in _DOUBTFUL and is_own else None


def _around(node: Node) -> Node:
    """Return the expression around a node that says what is done with it."""
    for _ in range(3):
        if node.parent is None or node.parent.type.endswith(("_statement", "program", "_block")):
            break
        node = node.parent
    return node


def _is_erased(node: Node) -> bool:
    """Say whether a name stands where only types are, which no program has when it runs."""
    each: Node | None = node
    for _ in range(4):
        if each is None:
            return False
        if each.type in _OF_TYPES:
            return True
        if each.type in _IMPORTING and any(child.type == "type" for child in each.children):
            return True
        each = each.parent
    return False


def _missing_export(place: Place) -> Verdict | None:
    found = _NO_EXPORT.search(place.complaint.message) or _NO_DEFAULT.search(
        place.complaint.message
    )
    if found is None or _is_erased(place.node):
        return None
    name = found[2] if len(found.groups()) > 1 else "default"
    file = _file(place, found[1])
    return _lacks(place, file, name) if file else None


def _lacks(place: Place, file: str, name: str, member_of: str = "") -> Verdict | None:
    """Return the verdict on a name that a file, or a type of a file, does not have."""
    later = place.history.declared_later(file, name, place.position)
    if later is not None:
        return Verdict("E217", f"declared only by {place.history.label(later)}")
    if file in place.view.open or file in place.question.mocked:
        return DOUBT if file in place.view.contracts else None
    if file in place.view.contracts:
        by = place.history.declared_by(file, member_of or name, place.position)
        declared = f"declared by {place.history.label(by)} in {file}" if by else f"in {file}"
        return Verdict("E211", declared)
    # Scripts may add to what they export while they run.
    return Verdict("E211", f"in {file}") if is_typed(file) else DOUBT


def _file(place: Place, specifier: str) -> str:
    moment = place.history.at(place.position)
    target = resolve(moment, place.question.path, specifier)
    if target.kind is Kind.FILE:
        return target.name if suffix_of(target.name) != ".json" else ""
    return ""


def _missing_member(place: Place) -> Verdict | None:
    found = _NO_MEMBER.search(place.complaint.message)
    question, node = place.question, place.node
    if found is None or found["name"] in question.set_members or found["name"] == "should":
        return None
    of, name = found["type"], found["name"]
    if _is_assigned(node):
        return None
    module = _MODULE_TYPE.search(of)
    if module is not None and of.startswith(("typeof import", "{")):
        file = _path_of_module(place, module[1])
        return _lacks(place, file, name) if file else DOUBT
    holder = _holder(node)
    origins = question.origin_of(holder)
    if not origins:
        return _other(place)
    head = _HEAD.fullmatch(of.partition("<")[0])
    if head is not None and (owner := _owner(place, head[1])):
        return _lacks(place, owner, f"{head[1]}.{name}", head[1])
    if not _is_backed(place, origins):
        return DOUBT
    if of.startswith("{") and of.endswith("}") and _is_result(holder):
        return Verdict("E211", _where(place, origins))
    return Verdict("E214") if is_known_value(of) else DOUBT


def _is_result(holder: Node | None) -> bool:
    """Say whether an expression is a call's result as it is."""
    while holder is not None and holder.type in {"await_expression", "parenthesized_expression"}:
        holder = holder.named_children[0] if holder.named_children else None
    return holder is not None and holder.type == "call_expression"


def _is_assigned(node: Node) -> bool:
    member = node.parent if node.type == "property_identifier" else node
    above = member.parent if member is not None else None
    if above is None or above.type != "assignment_expression" or member is None:
        return False
    left = above.child_by_field_name("left")
    return left is not None and left.id == member.id


def _holder(node: Node) -> Node | None:
    """Return the expression whose member is read at a place, or which a pattern takes apart."""
    above = node.parent
    is_member = above is not None and above.type == "member_expression"
    if above is not None and is_member and node.type == "property_identifier":
        return above.child_by_field_name("object")
    each: Node | None = node
    while each is not None and each.type != "variable_declarator":
        each = each.parent
    return each.child_by_field_name("value") if each is not None else node


def _path_of_module(place: Place, shown: str) -> str:
    """Return the file of the module that the compiler shows without its suffix."""
    for path in sorted(place.view.contracts | place.view.files.keys()):
        if path.startswith(f"{shown}.") or path == shown:
            return path
    return ""


def _owner(place: Place, name: str) -> str:
    """Return the only file in the view whose contracts declare a type of that name."""
    files = [
        path
        for path in place.view.contracts
        if any(name in each.stub.declared for each in place.history.layers(path, place.position))
    ]
    return files[0] if len(files) == 1 else ""


def _is_backed(place: Place, origins: frozenset[str]) -> bool:
    """Say whether all that is known of a value's type comes from contracts."""
    return origins <= place.view.contracts - place.view.open - place.question.mocked


def _where(place: Place, origins: frozenset[str], name: str = "") -> str:
    for file in sorted(origins):
        by = place.history.declared_by(file, name, place.position) if name else None
        if by is not None:
            return f"declared by {place.history.label(by)} in {file}"
        return f"in {file}"
    return ""


def _count(place: Place) -> Verdict | None:
    got = _COUNT.search(place.complaint.message)
    call = place.question.call_around(place.node, int(got[1]) if got else None)
    if call is None:
        return _other(place)
    if any(each.type == "spread_element" for each in arguments_of(call)):
        return _other(place)
    return _of_call(place, call, "E212", with_sources=True)


def _of_call(place: Place, call: Node, code: str, *, with_sources: bool = False) -> Verdict | None:
    """Return an error about a call of what a contract declares, and less about any other call."""
    callee = callee_of(call)
    origins = place.question.origin_of(callee)
    if not origins:
        return _other(place)
    name = text_of(callee).rpartition(".")[2]
    if _is_backed(place, origins):
        return Verdict(code, _where(place, origins, name))
    known = with_sources and all(map(is_typed, origins)) and not origins & place.view.open
    return Verdict(code, _where(place, origins)) if known else DOUBT


def _argument(place: Place) -> Verdict | None:
    found = _MISFIT.search(place.complaint.message)
    call = place.question.call_with_argument(place.node)
    if found is None or call is None or not place.question.origin_of(callee_of(call)):
        return _other(place) if place.complaint.code != 2322 else None
    if _certainly_misfits(place, found["actual"], found["expected"]):
        return _of_call(place, call, "E213")
    return None if may_fit(found["actual"], found["expected"]) else DOUBT


def _certainly_misfits(place: Place, actual: str, expected: str) -> bool:
    objects = frozenset(
        name
        for path in place.view.contracts
        for each in place.history.layers(path, place.position)
        for name in each.stub.classes
    )
    if surely_differ(actual, expected, objects) or is_literal_misfit(actual, expected):
        return True
    declared = _alias(place, expected)
    return declared != expected and (
        surely_differ(actual, declared, objects) or is_literal_misfit(actual, declared)
    )


def _alias(place: Place, name: str) -> str:
    """Return what a contract's type alias stands for; the name itself where it is none."""
    for path in sorted(place.view.contracts):
        for layer in reversed(place.history.layers(path, place.position)):
            known = layer.stub.declared.get(name)
            if known is not None and known.shown.startswith("type "):
                return known.shown.partition("=")[2].strip().rstrip(";").replace("'", '"')
    return name


def _variants(place: Place) -> Verdict | None:
    """Return the verdict on a call that fits none of several declared forms."""
    call = place.question.call_around(place.node)
    misfits = [found for each in place.complaint.details if (found := _MISFIT.search(each))]
    forms = sum(each.startswith("Overload ") for each in place.complaint.details)
    if call is None or not forms or len(misfits) < forms:
        return _other(place)
    if all(_certainly_misfits(place, each["actual"], each["expected"]) for each in misfits[:forms]):
        return _of_call(place, call, "E213")
    return _other(place)


def _misused(place: Place) -> Verdict | None:
    """Return the verdict on a value that is called, made with `new`, or gone through."""
    complaint = place.complaint
    call = place.question.call_around(place.node)
    callee = callee_of(call) if call is not None else None
    if any("constituent" in each for each in complaint.details):
        return _other(place)
    origins = place.question.origin_of(callee)
    if not origins:
        return _other(place)
    certain = complaint.code in {2348, 6234} or any(
        " has no c" in each for each in complaint.details
    )
    return Verdict("E214") if certain and _is_backed(place, origins) else DOUBT


def _not_iterable(place: Place) -> Verdict | None:
    found = _NOT_ITERABLE.search(place.complaint.message)
    node: Node | None = place.node
    if node is not None and node.type.endswith("_pattern"):
        node = _holder(node)
    origins = place.question.origin_of(node)
    if found is None or not origins or not _is_backed(place, origins):
        return _other(place)
    return Verdict("E214") if is_known_value(found[1]) else DOUBT


def _compared(place: Place) -> Verdict | None:
    """Return the verdict on a comparison of types that have no value in common."""
    node = place.node
    while node.type != "binary_expression" and node.parent is not None:
        node = node.parent
    left, right = (node.child_by_field_name(side) for side in ("left", "right"))
    is_asserted = node.parent is not None and node.parent.type == "arguments"
    call = node.parent.parent if is_asserted and node.parent is not None else None
    called = text_of(callee_of(call)) if call is not None else ""
    operator = text_of(node.child_by_field_name("operator"))
    if operator != "===" or called not in {"assert", "assert.ok", "console.assert"}:
        return _other(place)
    origins = [place.question.origin_of(each) for each in (left, right)]
    own = [each for each in origins if each]
    certain = bool(own) and all(_is_backed(place, each) for each in own)
    types = re.findall(r"'([^']*)'", place.complaint.message)
    if certain and len(types) == 2 and surely_differ(*types):
        return Verdict("E214")
    return _other(place)


def _unknown_name(place: Place) -> Verdict | None:
    found = _UNKNOWN_NAME.search(place.complaint.message)
    if found is None or _is_erased(place.node):
        return None
    name = found[1]
    if place.node.type not in {"identifier", "shorthand_property_identifier"}:
        return None
    above = place.node.parent
    if above is not None and above.type == "unary_expression" and text_of(above)[:6] == "typeof":
        return None
    said = rf"\b(?:globalThis|global|window|self)\b.*\b{re.escape(name)}\b|/\* global"
    return DOUBT if re.search(said, place.question.text) else Verdict("E216")


def _type_as_value(place: Place) -> Verdict | None:
    found = _ONLY_A_TYPE.search(place.complaint.message)
    origins = place.question.origin_of(place.node)
    if found is None or not origins or not _is_backed(place, origins):
        return _other(place)
    return Verdict("E211", _where(place, origins, found[1]))


_JUDGES: Final[Mapping[int, Callable[[Place], Verdict | None]]] = {
    **dict.fromkeys((2305, 2724, 2614, 2459, 2460, 1192, 2613), _missing_export),
    **dict.fromkeys((2339, 2551, 2576), _missing_member),
    **dict.fromkeys((2554, 2555, 2575), _count),
    **dict.fromkeys((2345, 2322), _argument),
    2769: _variants,
    **dict.fromkeys((2348, 2349, 2351, 6234), _misused),
    **dict.fromkeys((2488, 2461), _not_iterable),
    2367: _compared,
    **dict.fromkeys((2304, 2552, 18004), _unknown_name),
    **dict.fromkeys((2693, 2749), _type_as_value),
}
