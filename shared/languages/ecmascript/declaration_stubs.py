"""Stubs as declarations: read, compared, merged."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from shared.languages.declared.declarations import cut, name_of, text_of
from shared.languages.ecmascript.ecmascript_syntax import (
    CLASSES,
    VARIABLES,
    declaration_path,
    is_code,
    parts_of,
    text_fault,
    tree_of,
)
from shared.languages.ecmascript.imports import local_names
from shared.languages.planned_code import Conflict, TextFault
from shared.work_order.work_order import Interface, WorkOrder

if TYPE_CHECKING:
    from tree_sitter import Node


MAX_STUB: Final = 256 * 1024  # bytes, as for the stubs of a whole plan
DEFAULT: Final = "default"
WITH_MEMBERS: Final = frozenset({*CLASSES, "interface_declaration"})
_WRAPPERS: Final = frozenset({"export_statement", "ambient_declaration"})
_HERITAGE: Final = frozenset({"class_heritage", "extends_type_clause"})
_UNSAID: Final = frozenset(
    {"export", "declare", "default", "public", ";", ",", "comment", "async", "function", "const",
     "let", "var"}
)  # fmt: skip
_PARAMETERS: Final = frozenset({"required_parameter", "optional_parameter"})
# A model may wrap the stub as it would in a chat; the lines keep their numbers.
_FENCE = re.compile(r"\A```\w*(?=\n)|\n```\s*\Z")
_MAX_SHOWN: Final = 120  # characters of a declaration in a message


@dataclass(frozen=True, slots=True)
class Declaration:
    """Represent a declared name: `Game`, or `Game.play` for a member.

    `forms` are the texts of its declarations without what means nothing: several for overloads.
    `shown` is its text as it was written, on one line.
    """

    name: str
    line: int
    forms: tuple[str, ...]
    shown: str


@dataclass(frozen=True, slots=True)
class Stub:
    """Hold a stub that parses. `declared` has all names, members included.

    `classes` says, by name, whether a class or an interface has a heritage of its own. `imported`
    are the names that it takes from other files, and `exports` says whether it exports anything.
    """

    path: str
    text: str
    declared: Mapping[str, Declaration]
    classes: Mapping[str, bool]
    imported: frozenset[str]
    exports: bool


def parse_stub(path: str, text: str) -> Stub | TextFault:
    """Return the declarations of the stub of the file at `path`, or why it cannot be read."""
    if len(text) > MAX_STUB:
        return TextFault(f"it has over {MAX_STUB} bytes")
    text = _FENCE.sub(lambda found: "//" if found.start() == 0 else "", text)
    root = tree_of(declaration_path(path), text)
    if root is None:
        return TextFault("it cannot be read")
    if (fault := text_fault(root, text)) is not None:
        return fault
    declared: dict[str, Declaration] = {}
    for each in _declarations(root):
        known = declared.get(each.name)
        forms = (*(known.forms if known else ()), *each.forms)
        declared[each.name] = replace(known or each, forms=forms)
    classes = {
        name_of(node): any(each.type in _HERITAGE for each in node.children)
        for node, _ in statements(root)
        if node.type in WITH_MEMBERS
    }
    exports = any(each.type == "export_statement" for each in root.named_children)
    imports = (each for each in root.named_children if each.type == "import_statement")
    imported = frozenset(name for each in imports for name in local_names(each))
    return Stub(path, text, declared, classes, imported, exports)


def statements(root: Node) -> Iterator[tuple[Node, bool]]:
    """Yield the declarations at the top, each with whether it is the default export."""
    for each in root.named_children:
        if each.type == "comment":
            continue
        node, is_default = each, False
        while node.type in _WRAPPERS:
            is_default |= any(part.type == "default" for part in node.children)
            inner = node.child_by_field_name("declaration") or node.child_by_field_name("value")
            if inner is None:
                inner = next((e for e in node.named_children if e.type != "comment"), None)
            if inner is None or inner.type in {"export_clause", "string"}:
                break
            node = inner
        yield node, is_default


def _declarations(root: Node) -> Iterator[Declaration]:
    for node, is_default in statements(root):
        if node.type in VARIABLES:
            for each in node.named_children:
                if each.type == "variable_declarator":
                    yield _declaration(name_of(each), each)
            continue
        name = name_of(node)
        if is_default:
            yield _declaration(DEFAULT, node, has_body=not name or node.type not in WITH_MEMBERS)
        if not name:
            continue
        members = node.type in WITH_MEMBERS
        yield _declaration(name, node, has_body=not members)
        if members:
            yield from _members(name, node.child_by_field_name("body"))


def _members(owner: str, body: Node | None) -> Iterator[Declaration]:
    for each in body.named_children if body is not None else ():
        name = name_of(each)
        if name and each.type != "comment":
            yield _declaration(f"{owner}.{name}", each)


def _declaration(name: str, node: Node, *, has_body: bool = True) -> Declaration:
    body = None if has_body else node.child_by_field_name("body")
    shown = text_of(node)
    if body is not None:
        shown = shown.partition("{")[0].rstrip()
    shown = cut(shown, _MAX_SHOWN)
    return Declaration(name, node.start_point.row + 1, (_form(node, body),), shown)


def _form(node: Node, without: Node | None) -> str:
    """Return the words of a declaration without spaces, comments and names of parameters."""
    words: list[str] = []
    waiting = [node]
    while waiting:
        each = waiting.pop()
        if each.type in _UNSAID or (without is not None and each.id == without.id):
            continue
        if each.parent is not None and each.parent.type in _PARAMETERS:
            pattern = each.parent.child_by_field_name("pattern")
            if pattern is not None and pattern.id == each.id and each.type == "identifier":
                words.append("_")
                continue
        if each.children and each.type not in {"string", "template_string"}:
            waiting += reversed(each.children)
        else:
            words.append(text_of(each).replace("'", '"'))
    return " ".join(words)


def conflicts(earlier: Stub, later: Stub) -> Iterator[Conflict]:
    """Yield the names that both stubs declare, and not in the same way.

    Only members that both have are compared, because a later stub names what it adds or changes.
    Names of parameters mean nothing here, and a further overload contradicts nothing.
    """
    for name, after in later.declared.items():
        before = earlier.declared.get(name)
        # The later stub may repeat a class by its name alone.
        is_repeated = earlier.classes.get(name) is True and later.classes.get(name) is False
        if before is not None and not is_repeated and not set(before.forms) <= set(after.forms):
            yield Conflict(name, after.line, before.shown, after.shown)


def is_meant(name: str, path: str, changes: Collection[str]) -> bool:
    """Return whether an order's `changes` name a declaration, its class, or a member of it."""
    stem = path.rpartition("/")[2].partition(".")[0]
    for change in changes:
        plain = change.removeprefix(f"{path}:").removeprefix(f"{stem}.").removesuffix("()")
        for each in {change, plain, change.replace("#", ".").replace("::", ".")}:
            if each == name or name.startswith(f"{each}.") or each.startswith(f"{name}."):
                return True
    return False


_IMPORTS: Final = frozenset({"import_statement", "import_alias"})


@dataclass(frozen=True, slots=True)
class _Piece:
    """Hold one declaration: its name, its text, and where it has members, those by their names."""

    name: str
    text: str
    head: str = ""
    members: tuple[tuple[str, str], ...] = ()

    def render(self) -> str:
        if not self.head:
            return self.text
        body = "".join(f"  {text.rstrip(';,')};\n" for _, text in self.members)
        return f"{self.head} {{\n{body}}}"


def contracts_in_force(
    orders: Sequence[WorkOrder], suffixes: tuple[str, ...]
) -> tuple[Interface, ...]:
    """Return one stub for each file of these suffixes that holds after the last of `orders`.

    Later declarations replace earlier ones of the same name. A name in an order's `changes` that
    the order does not declare is gone from the files that the order may write.
    """
    files: dict[str, list[_Piece]] = {}
    for order in orders:
        declared: set[str] = set()
        for each in order.interfaces:
            if each.path.endswith(suffixes) and is_code(each.path):
                stub = parse_stub(each.path, each.stub)
                if isinstance(stub, Stub):
                    files[each.path] = _merged(files.get(each.path, []), _pieces(stub))
                    declared |= stub.declared.keys()
        gone = {each.strip().removesuffix("()") for each in order.changes} - declared
        for path in order.allowed_files:
            if gone and path in files:
                files[path] = list(_without(files[path], gone))
    return tuple(
        Interface(path=path, stub="".join(f"{each.render()}\n" for each in pieces))
        for path, pieces in files.items()
    )


def without_names(stub: Stub, names: Collection[str]) -> Stub:
    """Return the stub without the declarations of `names`; members are qualified."""
    pieces = _without(_pieces(stub), names)
    read = parse_stub(stub.path, "".join(f"{each.render()}\n" for each in pieces))
    return read if isinstance(read, Stub) else stub


def _pieces(stub: Stub) -> list[_Piece]:
    root = tree_of(declaration_path(stub.path), stub.text)
    return list(_read(root)) if root is not None else []


def _read(root: Node) -> Iterable[_Piece]:
    for outer, (node, is_default) in zip(parts_of(root), statements(root), strict=True):
        text = outer.text.decode() if outer.text else ""
        name = DEFAULT if is_default else _name(node)
        body = node.child_by_field_name("body")
        if node.type in WITH_MEMBERS and body is not None and name:
            head = text[: body.start_byte - outer.start_byte].rstrip()
            members = tuple(
                (_member_name(each), each.text.decode() if each.text else "")
                for each in body.named_children
                if each.type != "comment"
            )
            yield _Piece(name, text, head, members)
        else:
            yield _Piece(name or text, text)


def _name(node: Node) -> str:
    if node.type in VARIABLES:
        return ",".join(map(name_of, node.named_children))
    return "" if node.type in _IMPORTS else name_of(node)


def _member_name(node: Node) -> str:
    kinds = [each.type for each in node.children if each.type in {"get", "set", "static"}]
    name = name_of(node) or text_of(node)
    return " ".join([*kinds, name])


def _merged(earlier: Sequence[_Piece], later: Sequence[_Piece]) -> list[_Piece]:
    new = {each.name: each for each in later}
    kept: list[_Piece] = []
    for each in earlier:
        if each.name not in new:
            kept.append(each)
        elif each.head and new[each.name].head:
            names = {name for name, _ in new[each.name].members}
            members = tuple(e for e in each.members if e[0] not in names)
            new[each.name] = replace(new[each.name], members=(*members, *new[each.name].members))
    merged = [new[each.name] if each.head else each for each in later]
    return [*kept, *merged]


def _without(pieces: Iterable[_Piece], gone: Collection[str]) -> Iterable[_Piece]:
    for each in pieces:
        if each.name in gone:
            continue
        members = tuple(
            e for e in each.members if f"{each.name}.{e[0].rpartition(' ')[2]}" not in gone
        )
        yield replace(each, members=members) if each.head else each
