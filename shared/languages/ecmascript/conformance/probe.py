"""Writes code that only compiles where a file keeps what is declared of it."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Collection, Iterator, Mapping
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
_WORD: Final = re.compile(r"(?<![.\w$])[A-Za-z_$][\w$]*(?![\w$]|\s*:)")
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
    imports = root.named_children if root is not None and is_typed(stub.path) else []
    lines += [" ".join(text_of(e).split()) for e in imports if e.type == "import_statement"]
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
        parameters = node.child_by_field_name("type_parameters")
        if node.type in _TYPES:
            if with_types:
                plain = f"declare const t_{name}: written.{name};"
                yield name, f"type t_{name} = written.{name};" if parameters else plain
        elif node.type in _CLASSES:
            # A class of a script has no type parameters that could be given.
            generic = _generic(parameters, _type_names(root)) if with_types else Generic()
            if with_types or parameters is None:
                yield from _class_lines(name, node, generic)
            else:
                yield name, f"void written.{name};"
        elif is_overloaded or node.type == "enum_declaration" or (parameters and not with_types):
            yield name, f"void written.{name};"
        else:
            yield name, _same(name)


def _same(name: str) -> str:
    return f"{{ const c: typeof declared.{name} = written.{name}; }}"


def _count(root: Node, name: str) -> int:
    return sum(text_of(e.child_by_field_name("name")) == name for e, _ in statements(root))


@dataclass(frozen=True, slots=True)
class Generic:
    """Hold the type parameters of a class: `names` to give, and `text` with their constraints."""

    names: tuple[str, ...] = ()
    text: str = ""

    @property
    def given(self) -> str:
        """Return the names as arguments of a type; empty where the class is not generic."""
        return f"<{', '.join(self.names)}>" if self.names else ""

    def around(self, statement: str) -> str:
        """Return a statement where the type parameters are known."""
        return f"(<{self.text}>() => {{ {statement} }});" if self.names else f"{{ {statement} }}"


def _generic(parameters: Node | None, types: Collection[str]) -> Generic:
    """Return type parameters; their constraints mention the declared `types` by their module."""
    nodes = parameters.named_children if parameters is not None else []
    own = [each for each in nodes if each.type == "type_parameter"]
    names = [text_of(each.child_by_field_name("name")) for each in own]
    texts = []
    for name, each in zip(names, own, strict=True):
        found = (each.child_by_field_name(part) for part in ("constraint", "value"))
        qualify = _qualify({*types} - {*names})
        words = [name, *(_WORD.sub(qualify, text_of(part)) for part in found if part)]
        texts.append(" ".join(words))
    return Generic(tuple(names), ", ".join(texts))


def _qualify(types: Collection[str]) -> Callable[[re.Match[str]], str]:
    return lambda word: f"declared.{word[0]}" if word[0] in types else word[0]


def _type_names(root: Node) -> frozenset[str]:
    kinds = {*_TYPES, *_CLASSES, "enum_declaration"}
    nodes = (each for each, _ in statements(root) if each.type in kinds)
    return frozenset(text_of(each.child_by_field_name("name")) for each in nodes)


def _class_lines(name: str, node: Node, generic: Generic) -> Iterator[tuple[str, str]]:
    made = f"(null! as written.{name}{generic.given})" if generic.names else _made(name)
    yield name, generic.around(f"void {made};") if generic.names else f"void written.{name};"
    body = node.child_by_field_name("body")
    if body is None:
        return
    names = [text_of(each.child_by_field_name("name")) for each in body.named_children]
    for each in body.named_children:
        member = text_of(each.child_by_field_name("name"))
        words = {part.type for part in each.children}
        hidden = any(text_of(p) in {"private", "protected"} for p in each.named_children)
        if not member.isidentifier() or hidden or member.startswith("#"):
            continue
        qualified = f"{name}.{member}"
        if member == "constructor":
            if names.count(member) == 1:
                given = f"declare const a: ConstructorParameters<typeof declared.{name}>;"
                yield qualified, f"namespace n_{name} {{ {given} new written.{name}(...a); }}"
        elif names.count(member) > 1:
            of = f"written.{name}.{member}" if "static" in words else f"{made}.{member}"
            yield qualified, generic.around(f"void {of};")
        elif "static" in words:
            yield (
                qualified,
                f"{{ const c: typeof declared.{name}.{member} = written.{name}.{member}; }}",
            )
        else:
            kind = f'declared.{name}{generic.given}["{member}"]'
            yield qualified, generic.around(f"const c: {kind} = {made}.{member};")


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
