"""Writes code that only compiles where a file keeps what is declared of it."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from shared.languages.ecmascript.contracts.stub import DEFAULT, Stub, statements
from shared.languages.ecmascript.files import declaration_path, is_typed, suffix_of
from shared.languages.ecmascript.syntax import tree_of
from shared.languages.syntax_tree import text_of

if TYPE_CHECKING:
    from tree_sitter import Node

_TYPES: Final = frozenset({"interface_declaration", "type_alias_declaration"})
_VARIABLES: Final = frozenset({"lexical_declaration", "variable_declaration"})
_NEEDED: Final = frozenset({"required_parameter", "identifier", "object_pattern", "array_pattern"})
_CLASSES: Final = frozenset({"class_declaration", "abstract_class_declaration", "class"})


@dataclass(frozen=True, slots=True)
class Probe:
    """Hold a probe: its files by path, the path of its code, and the name that each line is about.

    Lines count from 1. The names of `exists` are asked for without their types.
    """

    files: Mapping[str, str]
    path: str
    lines: Mapping[int, str]


def write_probe(stub: Stub) -> Probe:
    """Return the probe of the file that a stub declares."""
    suffix = suffix_of(stub.path)
    stem = stub.path.removesuffix(suffix)
    name = posixpath.basename(stem)
    lines = [
        f'import * as written from "./{name}{suffix}";',
        f'import * as declared from "./{name}.llmch-declared";',
    ]
    about: dict[int, str] = {}
    root = tree_of(declaration_path(stub.path), stub.text)
    for name_, line in _lines(root, is_typed(stub.path)) if root is not None else ():
        lines.append(line)
        about[len(lines)] = name_
    path = f"{stem}.llmch-probe.ts"
    files = {
        path: "\n".join(lines) + "\n",
        f"{stem}.llmch-declared.d.ts": stub.text if stub.exports else f"{stub.text}\nexport {{}};",
    }
    return Probe(files, path, about)


def _lines(root: Node, with_types: bool) -> Iterator[tuple[str, str]]:
    seen: set[str] = set()
    for node, is_default in statements(root):
        if node.type in _VARIABLES:
            for each in node.named_children:
                name = text_of(each.child_by_field_name("name"))
                if each.type == "variable_declarator" and name.isidentifier():
                    yield name, _same(name)
            continue
        name = DEFAULT if is_default else text_of(node.child_by_field_name("name"))
        if not name or name in seen or node.type in {"import_statement", "internal_module"}:
            continue
        is_overloaded = not is_default and _count(root, name) > 1
        seen.add(name)
        generic = node.child_by_field_name("type_parameters") is not None
        if node.type in _TYPES:
            if with_types:
                plain = f"declare const t_{name}: written.{name};"
                yield name, f"type t_{name} = written.{name};" if generic else plain
        elif node.type in _CLASSES:
            yield from _class_lines(name, node, generic=generic)
        elif generic or is_overloaded or node.type == "enum_declaration":
            yield name, f"void written.{name};"
        else:
            yield name, _same(name)


def _same(name: str) -> str:
    return f"{{ const c: typeof declared.{name} = written.{name}; }}"


def _count(root: Node, name: str) -> int:
    return sum(text_of(e.child_by_field_name("name")) == name for e, _ in statements(root))


def _class_lines(name: str, node: Node, *, generic: bool) -> Iterator[tuple[str, str]]:
    yield name, f"void written.{name};"
    body = node.child_by_field_name("body")
    if generic or body is None:
        return
    names = [text_of(each.child_by_field_name("name")) for each in body.named_children]
    for each in body.named_children:
        member = text_of(each.child_by_field_name("name"))
        words = {part.type for part in each.children}
        hidden = any(text_of(p) in {"private", "protected"} for p in each.named_children)
        if not member.isidentifier() or hidden or member.startswith("#"):
            continue
        qualified = f"{name}.{member}"
        generic_member = each.child_by_field_name("type_parameters") is not None
        if member == "constructor":
            if names.count(member) == 1:
                given = f"declare const a: ConstructorParameters<typeof declared.{name}>;"
                yield qualified, f"namespace n_{name} {{ {given} new written.{name}(...a); }}"
        elif generic_member or names.count(member) > 1:
            of = f"written.{name}.{member}" if "static" in words else f"{_made(name)}.{member}"
            yield qualified, f"void {of};"
        elif "static" in words:
            yield (
                qualified,
                f"{{ const c: typeof declared.{name}.{member} = written.{name}.{member}; }}",
            )
        else:
            kind = f'declared.{name}["{member}"]'
            yield qualified, f"{{ const c: {kind} = {_made(name)}.{member}; }}"


def _made(name: str) -> str:
    return f"(null! as InstanceType<typeof written.{name}>)"


def declared_counts(node: Node) -> tuple[int, int | None]:
    """Return how many arguments a function needs, and how many it takes; `None` for any number."""
    parameters = node.child_by_field_name("parameters")
    given = [e for e in parameters.named_children if e.type != "comment"] if parameters else []
    needed = total = 0
    for each in given:
        text = text_of(each)
        if each.type == "rest_pattern" or text.startswith("..."):
            return needed, None
        total += 1
        is_plain = each.type in _NEEDED and each.child_by_field_name("value") is None
        needed += is_plain and text.partition(":")[0] != "this"
    return needed, total
