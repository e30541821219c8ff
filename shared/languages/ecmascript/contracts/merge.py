"""Merges the stubs of a file into one text, with the declarations that hold after all of them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from shared.languages.ecmascript.contracts.stub import (
    DEFAULT,
    WITH_MEMBERS,
    Stub,
    parse_stub,
    statements,
)
from shared.languages.ecmascript.files import declaration_path, is_code
from shared.languages.ecmascript.syntax import tree_of
from shared.languages.syntax_tree import text_of
from shared.work_order.schemas import Interface, WorkOrder

if TYPE_CHECKING:
    from tree_sitter import Node

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
    for outer, (node, is_default) in zip(_outer(root), statements(root), strict=True):
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


def _outer(root: Node) -> list[Node]:
    return [each for each in root.named_children if each.type != "comment"]


def _name(node: Node) -> str:
    if node.type in {"lexical_declaration", "variable_declaration"}:
        names = (text_of(e.child_by_field_name("name")) for e in node.named_children)
        return ",".join(names)
    if node.type in _IMPORTS:
        return ""
    return text_of(node.child_by_field_name("name"))


def _member_name(node: Node) -> str:
    kinds = [each.type for each in node.children if each.type in {"get", "set", "static"}]
    name = text_of(node.child_by_field_name("name")) or text_of(node)
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
