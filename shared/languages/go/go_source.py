"""Reads a Go file as its declarations.

A contract is Go whose functions have no bodies. Both are read in the same way.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import cycle
from typing import TYPE_CHECKING, Final

from shared.languages.declared.declarations import (
    UNREADABLE,
    DeclarationReader,
    Declarations,
    Declared,
    Imported,
    Kind,
    Member,
    cut,
    fault_at,
    first_fault,
    head_of,
    name_of,
    read_root,
    shown,
    text_of,
    tokens_of,
    walk,
)
from shared.languages.planned_code import TextFault

if TYPE_CHECKING:
    from tree_sitter import Node


# The last part of a path is a version in `example.com/list/v2` and in `gopkg.in/yaml.v3`.
_VERSION: Final = re.compile(r"v\d+")
_AT_THE_TOP: Final = frozenset(
    {"package_clause", "import_declaration", "function_declaration", "method_declaration",
     "type_declaration", "const_declaration", "var_declaration", "comment"}
)  # fmt: skip
_VALUELESS: Final = re.compile(r"const \w+ +[\w.\[\]*]+")
_DOTTED_VERSION: Final = re.compile(r"\.v\d+$")


def is_test_file(path: str) -> bool:
    """Return whether `go test` alone compiles the file."""
    return path.endswith("_test.go")


@lru_cache(maxsize=64)
def read_go(text: str) -> Declarations:
    """Return the declarations of a Go file. Never raises."""
    import tree_sitter_go

    root = read_root(tree_sitter_go.language, text)
    if root is None:
        return Declarations(text, fault=UNREADABLE)
    reader = _GoReader(text)
    items = tuple(each for node in root.named_children for each in reader.items(node))
    imports = tuple(each for node in root.named_children for each in reader.imports(node))
    package = next((n for n in root.named_children if n.type == "package_clause"), None)
    name = text_of(package.named_children[-1]) if package and package.named_children else ""
    fault = _in_words(first_fault(root, text)) or _outside(root, text)
    return Declarations(text, items, imports, fault, name)


def _in_words(fault: TextFault | None) -> TextFault | None:
    """Return the fault, with better words for a constant without a value."""
    if fault is not None and _VALUELESS.fullmatch(fault.excerpt):
        return TextFault("a constant needs its value", fault.line, fault.excerpt)
    return fault


def _outside(root: Node, text: str) -> TextFault | None:
    """Return the fault of a statement outside of functions, which the reader allows."""
    for node in root.named_children:
        if node.type not in _AT_THE_TOP:
            return fault_at(node, text, "a statement stands outside of functions")
    return None


class _GoReader(DeclarationReader):
    def imports(self, node: Node) -> Iterator[Imported]:
        if node.type != "import_declaration":
            return
        specs = [each for part in node.named_children for each in (part, *part.named_children)]
        for each in specs:
            if each.type == "import_spec":
                source = text_of(each.child_by_field_name("path")).strip('"`')
                name = name_of(each) or package_name_of(source)
                yield Imported(name, source, each.start_point[0] + 1, shown(each), *self.at(node))

    def items(self, node: Node) -> Iterator[Declared]:
        match node.type:
            case "function_declaration" | "method_declaration":
                yield self._function(node)
            case "type_declaration":
                specs = [n for n in node.named_children if n.type in ("type_spec", "type_alias")]
                for each in specs:
                    text = self._text(each, node) if len(specs) > 1 else self._text(node)
                    yield self._type(each, node, text)
            case "const_declaration" | "var_declaration":
                specs = [*_specifications(node)]
                whole = self._text(node)
                is_one = len(specs) == 1 or any(map(_needs_the_others, specs))
                for each in specs:
                    text = whole if is_one else self._text(each, node)
                    yield from self._values(each, node, text)
            case _:
                pass

    def _text(self, node: Node, group: Node | None = None) -> str:
        """Return the text of a node; one of a group gets the word that the group begins with."""
        start, end = self.at(node)
        word = f"{text_of(group.children[0])} " if group is not None else ""
        return f"{word}{self.text[start:end]}"

    def _function(self, node: Node) -> Declared:
        name, body = name_of(node), node.child_by_field_name("body")
        owner = receiver_of(node)
        kinds = [_types_of(node.child_by_field_name(each)) for each in ("parameters", "result")]
        receiver = "*" if "*" in text_of(node.child_by_field_name("receiver")) else ""
        # A method has the type parameters of its receiver, and none of its own.
        generics = tokens_of(node.child_by_field_name("type_parameters") or _arguments_of(node))
        key = f"func {receiver}{generics}({kinds[0]}) {kinds[1]}"
        result = node.child_by_field_name("result")
        start, end = self.at(node)
        following = result or body
        stop = self.at(following)[0] if following is not None else end
        return Declared(
            name=f"{owner}.{name}" if owner else name,
            kind="function",
            head=head_of(node, body).strip(),
            key=key,
            line=node.start_point[0] + 1,
            start=start,
            end=end,
            is_public=name[:1].isupper() and (not owner or owner[:1].isupper()),
            body=self.body_at(body),
            text=self.text[start:end],
            opening=self.text[start:stop].strip(),
            result=_types_of(result),
        )

    def _type(self, node: Node, whole: Node, text: str) -> Declared:
        name, kind = name_of(node), node.child_by_field_name("type")
        listing = kind is not None and kind.type in ("struct_type", "interface_type")
        opening = kind.type if kind is not None and listing else tokens_of(kind)
        generics = tokens_of(node.child_by_field_name("type_parameters"))
        key = f"{node.type}{generics} {opening}"
        plain = self._plain(name, "type", node, whole, key)
        return replace(plain, text=text, members=_members(kind) if kind else {})

    def _values(self, node: Node, whole: Node, text: str) -> Iterator[Declared]:
        names = [each for each in node.children_by_field_name("name") if each.type != ","]
        kind, value = node.child_by_field_name("type"), node.child_by_field_name("value")
        word = whole.type.removesuffix("_declaration")
        listed = value.named_children if value is not None else []
        listed = [each for each in listed if "comment" not in each.type]
        values = [*map(tokens_of, listed)] if len(listed) == len(names) else [tokens_of(value)]
        for each, written in zip(names, cycle(values), strict=False):
            # A variable's value is not part of its contract, and a constant's is.
            key = f"{word} {tokens_of(kind)} {written if word == 'const' else ''}"
            plain = self._plain(text_of(each), "value", node, whole, key)
            yield replace(plain, text=text, result=tokens_of(kind))

    def _plain(self, name: str, kind: Kind, node: Node, whole: Node, key: str) -> Declared:
        start, end = self.at(whole)
        word = text_of(whole.children[0]) if whole.children else ""
        return Declared(
            name=name,
            kind=kind,
            head=cut(f"{word} {text_of(node)}"),
            key=key,
            line=node.start_point[0] + 1,
            start=start,
            end=end,
            is_public=name[:1].isupper(),
        )


def package_name_of(path: str) -> str:
    """Return the name by which Go code most likely calls the package at an import path."""
    parts = path.split("/")
    last = parts[-2] if len(parts) > 1 and _VERSION.fullmatch(parts[-1]) else parts[-1]
    last = _DOTTED_VERSION.sub("", last)
    return last.removeprefix("go-").removesuffix("-go").replace("-", "_")


def receiver_of(node: Node) -> str:
    """Return the name of the type that a method belongs to: `Cart` for `(c *Cart[T])`."""
    written = text_of(node.child_by_field_name("receiver")).strip("()").split("[")[0]
    words = written.replace("*", " ").split()
    return words[-1] if words else ""


def _arguments_of(method: Node) -> Node | None:
    """Return the type arguments of a method's receiver: `[K, V]` of `(p *Pair[K, V])`."""
    receiver = method.child_by_field_name("receiver")
    nodes = walk(receiver) if receiver is not None else ()
    return next((each for each in nodes if each.type == "type_arguments"), None)


def _types_of(node: Node | None) -> str:
    """Return the types of a list of parameters or of a result, without the parameters' names."""
    if node is None:
        return ""
    if node.type != "parameter_list":
        return tokens_of(node)
    kinds: list[str] = []
    for each in node.named_children:
        if each.type not in ("parameter_declaration", "variadic_parameter_declaration"):
            continue
        kind = tokens_of(each.child_by_field_name("type"))
        dots = "..." if each.type.startswith("variadic") else ""
        count = max(1, len([n for n in each.children_by_field_name("name") if n.is_named]))
        kinds += [dots + kind] * count
    return ", ".join(kinds)


def _members(kind: Node) -> dict[str, Member]:
    """Return the fields of a struct, or the methods of an interface, by name."""
    if kind.type not in ("struct_type", "interface_type"):
        return {}
    lists = [n for n in kind.named_children if n.type == "field_declaration_list"]
    found: dict[str, Member] = {}
    for each in lists[0].named_children if lists else kind.named_children:
        if each.type == "field_declaration":
            typed = tokens_of(each.child_by_field_name("type"))
            names = [text_of(n) for n in each.children_by_field_name("name") if n.is_named]
            for name in names:
                found[name] = Member(f"{name} {text_of(each.child_by_field_name('type'))}", typed)
            if not names:  # a tag of the field is not part of its contract
                star = "* " if any(part.type == "*" for part in each.children) else ""
                found[f"{star}{typed}"] = Member(text_of(each), "embedded")
        elif each.type == "method_elem":
            parts = [_types_of(each.child_by_field_name(f)) for f in ("parameters", "result")]
            name = name_of(each)
            found[name] = Member(text_of(each), f"({parts[0]}) {parts[1]}")
        elif "comment" not in each.type:
            found[tokens_of(each)] = Member(text_of(each), "embedded")
    return found


def _needs_the_others(spec: Node) -> bool:
    """Return whether a constant's value depends on its place in a group."""
    value = spec.child_by_field_name("value")
    is_repeated = spec.type == "const_spec" and value is None
    return is_repeated or (value is not None and any(each.type == "iota" for each in walk(value)))


def _specifications(node: Node) -> Iterator[Node]:
    for each in node.named_children:
        if each.type in ("const_spec", "var_spec"):
            yield each
        elif each.type == "var_spec_list":
            yield from each.named_children


BUILT_IN: Final = frozenset(
    {"any", "bool", "byte", "comparable", "complex64", "complex128", "error", "float32", "float64",
     "int", "int8", "int16", "int32", "int64", "rune", "string", "uint", "uint8", "uint16",
     "uint32", "uint64", "uintptr"}
)  # fmt: skip
_DECLARATIONS: Final = (
    "function_declaration", "method_declaration", "type_declaration", "var_declaration",
    "const_declaration",
)  # fmt: skip


def undefined_names(
    stub: str, known: Collection[str], imported: Collection[str]
) -> Iterator[tuple[str, int]]:
    """Yield each undefined type or package of a contract that parses, with its line.

    `known` are the types of the package, and `imported` the packages that the file has.
    """
    import tree_sitter_go

    root = read_root(tree_sitter_go.language, stub)
    if root is None or "." in imported:
        return
    for node in root.named_children:
        if node.type in _DECLARATIONS:
            yield from _undefined(node, {*known, *BUILT_IN, *_parameters_undefined(node)}, imported)


def _undefined(
    declaration: Node, known: Collection[str], imported: Collection[str]
) -> Iterator[tuple[str, int]]:
    qualified: set[int] = set()  # the bytes at which the name behind a package begins
    for node in walk(declaration, into=lambda each: each.type != "block"):
        if node.type == "qualified_type":
            package, name = (node.child_by_field_name(each) for each in ("package", "name"))
            if name is not None:
                qualified.add(name.start_byte)
            if package is not None and text_of(package) not in imported:
                yield text_of(package), node.start_point[0] + 1
        if node.type != "type_identifier" or node.start_byte in qualified:
            continue
        if text_of(node) not in known:
            yield text_of(node), node.start_point[0] + 1


def _parameters_undefined(declaration: Node) -> Iterator[str]:
    """Yield the type parameters of a declaration, and the names of the types that it makes."""
    for node in walk(declaration, into=lambda each: each.type != "block"):
        if node.type == "type_parameter_declaration":
            yield from (text_of(each) for each in node.children_by_field_name("name"))
        elif node.type in ("type_spec", "type_alias"):
            yield name_of(node)
    receiver = declaration.child_by_field_name("receiver")
    for node in walk(receiver) if receiver is not None else ():
        if node.type == "type_arguments":
            yield from (text_of(each) for each in node.named_children)
