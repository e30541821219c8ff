"""Verdicts on complaints about names: what a file or a type does not have, or nobody defines."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from shared.languages.ecmascript.files import is_typed, suffix_of
from shared.languages.ecmascript.judging.type_kinds import is_known_value
from shared.languages.ecmascript.judging.verdict import (
    DOUBT,
    Place,
    Verdict,
    holder_of,
    is_backed,
    other_verdict,
    where_declared,
)
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
_UNKNOWN_NAME = re.compile(r"Cannot find name '([^']+)'")
_ONLY_A_TYPE = re.compile(r"'([^']+)' only refers to a type")
_MODULE_TYPE = re.compile(r'typeof import\("([^"]+)"\)')
_HEAD = re.compile(r"(?:typeof )?([A-Za-z_$][\w$]*)")
_OF_TYPES: Final = frozenset(
    {"type_annotation", "type_arguments", "type_identifier", "nested_type_identifier",
     "type_parameters", "type_query", "extends_type_clause"}
)  # fmt: skip
_IMPORTING: Final = frozenset({"import_specifier", "import_statement", "import_clause"})


def missing_export(place: Place) -> Verdict | None:
    """Return the verdict on a name that a module does not export."""
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


def missing_member(place: Place) -> Verdict | None:
    """Return the verdict on a property that a value does not have."""
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
    holder = holder_of(node)
    origins = question.origin_of(holder)
    if not origins:
        return other_verdict(place)
    head = _HEAD.fullmatch(of.partition("<")[0])
    if head is not None and (owner := _owner(place, head[1])):
        return _lacks(place, owner, f"{head[1]}.{name}", head[1])
    if not is_backed(place, origins):
        return DOUBT
    if of.startswith("{") and of.endswith("}") and _is_result(holder):
        return Verdict("E211", where_declared(place, origins))
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


def unknown_name(place: Place) -> Verdict | None:
    """Return the verdict on a name that nothing defines."""
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


def type_as_value(place: Place) -> Verdict | None:
    """Return the verdict on a type that is used as a value."""
    found = _ONLY_A_TYPE.search(place.complaint.message)
    origins = place.question.origin_of(place.node)
    if found is None or not origins or not is_backed(place, origins):
        return other_verdict(place)
    return Verdict("E211", where_declared(place, origins, found[1]))


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
