"""Reads which names a statement brings in, and how a statement brings in one of them alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from shared.languages.declared.model import Imported
from shared.languages.syntax_tree import text_of

if TYPE_CHECKING:
    from tree_sitter import Node

EVERYTHING = "*"
"""The name of what a file passes on from another one without saying which names."""


def imported_names(node: Node, start: int, end: int) -> Iterator[Imported]:
    """Yield the names of an import, of `require`, and of `export * from`.

    `text` is a statement that brings in the one name. An import for its effects has no name.
    `start` and `end` are the characters of the statement.
    """
    line = node.start_point[0] + 1
    source = node.child_by_field_name("source")
    if node.type == "export_statement" and source is not None:
        if any(each.type in ("*", "namespace_export") for each in node.children):
            yield Imported(EVERYTHING, text_of(source), line, text_of(node), start, end)
    elif node.type == "import_statement" and source is not None:
        word = "import type" if any(e.type == "type" for e in node.children) else "import"
        forms = list(_forms(node))
        for name, form in forms:
            text = f"{word} {form} from {text_of(source)};"
            yield Imported(name, text_of(source), line, text, start, end)
        if not forms:
            yield Imported("", text_of(source), line, f"import {text_of(source)};", start, end)
    elif node.type in ("lexical_declaration", "variable_declaration"):
        for each in node.named_children:
            yield from _required(each, line, start, end)


def _forms(node: Node) -> Iterator[tuple[str, str]]:
    """Yield the local name of each import, with what stands between `import` and `from` for it."""
    for clause in node.named_children:
        for each in clause.named_children if clause.type == "import_clause" else ():
            if each.type == "identifier":
                yield text_of(each), text_of(each)
            elif each.type == "namespace_import":
                yield text_of(each).rpartition(" ")[2], text_of(each)
            for part in each.named_children if each.type == "named_imports" else ():
                name = part.child_by_field_name("alias") or part.child_by_field_name("name")
                yield text_of(name), f"{{ {text_of(part)} }}"


def _required(node: Node, line: int, start: int, end: int) -> Iterator[Imported]:
    name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    call = text_of(value)
    if name is None or not call.startswith("require("):
        return
    if name.type != "object_pattern":
        yield Imported(text_of(name), call, line, f"const {text_of(name)} = {call};", start, end)
        return
    for each in name.named_children:
        local = text_of(each.child_by_field_name("value") or each)
        text = f"const {{ {text_of(each)} }} = {call};"
        yield Imported(local, call, line, text, start, end)
