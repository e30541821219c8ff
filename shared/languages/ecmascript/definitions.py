"""Definitions found and replaced by their names."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby
from typing import TYPE_CHECKING, Final

from shared.languages.capabilities import CaseTable, DefinitionEdit, EditRefused, NamedCode, Splice
from shared.languages.declared.declarations import (
    UNREADABLE,
    DeclarationReader,
    Declarations,
    Declared,
    Imported,
    Kind,
    Offsets,
    head_of,
    lines_within,
    name_of,
    table_at,
    text_of,
    walk,
)
from shared.languages.declared.declared_edits import Near, Refused, indented, names_near
from shared.languages.declared.declared_edits import edit_definitions as edit
from shared.languages.ecmascript.ecmascript_syntax import (
    CLASSES,
    FUNCTIONS,
    TYPES,
    VARIABLES,
    arguments_of,
    string_value,
    text_fault,
    tree_of,
)
from shared.languages.ecmascript.imports import import_forms

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
    required = next((e for e in node.named_children if e.type == "import_require_clause"), None)
    if required is not None:  # TypeScript's `import fs = require("fs")`
        source = required.child_by_field_name("source")
        name = text_of(required.named_children[0])
        yield Imported(name, text_of(source), line, text_of(node), start, end)
    elif node.type == "export_statement" and source is not None:
        if any(each.type in ("*", "namespace_export") for each in node.children):
            yield Imported(EVERYTHING, text_of(source), line, text_of(node), start, end)
    elif node.type == "import_statement" and source is not None:
        word = "import type" if any(e.type == "type" for e in node.children) else "import"
        with_type = next((e for e in node.named_children if e.type == "import_attribute"), None)
        origin = " ".join(filter(None, (text_of(source), text_of(with_type))))
        forms = list(import_forms(node))
        for name, form in forms:
            text = f"{word} {form} from {origin};"
            yield Imported(name, text_of(source), line, text, start, end)
        if not forms:
            yield Imported("", text_of(source), line, f"import {origin};", start, end)
    elif node.type in ("lexical_declaration", "variable_declaration"):
        for each in node.named_children:
            yield from _required(each, line, start, end)


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


_TYPES: Final = TYPES | {"enum_declaration"}
_SIGNATURES: Final = frozenset({"function_signature", "method_signature"})
_FUNCTIONS: Final = FUNCTIONS | {"function_expression", "generator_function", "arrow_function"}
_METHODS: Final = frozenset({"method_definition", "method_signature", "abstract_method_signature"})
_FIELDS: Final = frozenset({"public_field_definition", "field_definition"})
_ROLES: Final = frozenset({"get", "set", "static"})
_EXPORTS: Final = ("module.exports", "exports")
_LONG_STRINGS: Final = frozenset({"template_string"})


@lru_cache(maxsize=32)
def read_source(path: str, text: str) -> Declarations:
    """Return the declarations of the file at `path`. Never raises.

    A declaration is public where the file exports it; a member, unless it is marked as private. A
    function with overloads is one declaration.
    """
    root = tree_of(path, text)
    if root is None:
        return Declarations(text, fault=UNREADABLE)
    reader = _EcmaReader(text)
    found = [each for node in root.named_children for each in reader.items(node)]
    listed = {name for node in root.named_children for name in _listed(node)}
    items = tuple(_shown(list(_joined(found)), listed))
    own = {each.name for each in items}
    passed_on = (each for node in root.named_children for each in reader.passed_on(node))
    others = tuple(each for each in passed_on if each.name not in own)
    imports = tuple(each for node in root.named_children for each in reader.imports(node))
    return Declarations(text, (*items, *others), imports, text_fault(root, text))


def _joined(items: Sequence[Declared]) -> Iterator[Declared]:
    """Yield the items, overloads and what they stand for as one."""
    for (_, kind), group in groupby(items, key=lambda each: (each.name, each.kind)):
        same = list(group)
        last = same[-1]
        if kind == "function" and all(e.separator == "" for e in same[:-1]):
            first = same[0]
            yield replace(
                last,
                start=first.start,
                line=first.line,
                is_public=first.is_public,
                signatures=last.start - first.start,
            )
        else:
            yield from same


def _shown(items: Sequence[Declared], listed: Collection[str]) -> Iterator[Declared]:
    """Yield the items, public where the file exports them; members, where it exports the class."""
    public = {each.name for each in items if not each.owner and each.is_public} | {*listed}
    for each in items:
        is_public = each.is_public and each.owner in public if each.owner else each.name in public
        yield replace(each, is_public=is_public)


def _listed(node: Node) -> Iterator[str]:
    """Yield the names that a statement exports apart from their declarations."""
    if node.type == "export_statement" and node.child_by_field_name("source") is None:
        value = node.child_by_field_name("value")
        if value is not None and value.type == "identifier":
            yield text_of(value)
        for clause in node.named_children:
            for each in clause.named_children if clause.type == "export_clause" else ():
                yield name_of(each)
    elif node.type == "expression_statement" and (target := _assigned(node)) is not None:
        name, value = target
        if name in _EXPORTS and value.type == "object":
            for each in value.named_children:
                yield text_of(each.child_by_field_name("value") or each)
        elif value.type == "identifier":
            yield text_of(value)


def _assigned(statement: Node) -> tuple[str, Node] | None:
    """Return the target and the value of an assignment to what a script exports."""
    node = statement.named_children[0] if statement.named_children else statement
    left, right = (node.child_by_field_name(each) for each in ("left", "right"))
    if node.type != "assignment_expression" or left is None or right is None:
        return None
    name = text_of(left)
    is_exported = name in _EXPORTS or name.rpartition(".")[0] in _EXPORTS
    return (name, right) if is_exported else None


@dataclass(frozen=True, slots=True)
class _WholeStatement:
    """Hold the id of a statement's node, and what all names that it declares have in common."""

    id: int
    declared: Declared


class _EcmaReader(DeclarationReader):
    _whole: _WholeStatement | None = None

    def imports(self, node: Node) -> Iterator[Imported]:
        yield from imported_names(node, *self.at(node))

    def passed_on(self, node: Node) -> Iterator[Declared]:
        """Yield the names that a statement exports and that are declared elsewhere."""
        for clause in node.named_children if node.type == "export_statement" else ():
            for each in clause.named_children if clause.type == "export_clause" else ():
                shown = each.child_by_field_name("alias") or each.child_by_field_name("name")
                yield self._declared(text_of(shown), "value", node, node, public=True)

    def items(self, node: Node) -> Iterator[Declared]:
        """Yield the declarations of a statement."""
        outer, keyword = node, ""
        while node.type in ("export_statement", "ambient_declaration"):
            if node.type == "export_statement":
                keyword = "default" if any(e.type == "default" for e in node.children) else "export"
            inner = node.child_by_field_name("declaration") or node.child_by_field_name("value")
            if node.type == "ambient_declaration":
                inner = node.named_children[0] if node.named_children else None
            if inner is None:
                return
            node = inner
        yield from self._statement(node, outer, keyword)

    def _statement(self, node: Node, outer: Node, keyword: str) -> Iterator[Declared]:
        public = bool(keyword)
        name = name_of(node)
        if node.type in CLASSES | _TYPES and (name or public):
            yield self._declared(name or "default", "type", node, outer, public=public)
            yield from self._members(name or "default", node.child_by_field_name("body"))
        elif node.type in _FUNCTIONS and (name or public):
            yield self._declared(name or "default", "function", node, outer, public=public)
        elif node.type in VARIABLES:
            for each in node.named_children:
                if each.type == "variable_declarator" and not _is_required(each):
                    named = name_of(each)
                    value = each.child_by_field_name("value")
                    yield self._declared(named, _kind(value), value or each, outer, public=public)
        elif node.type == "expression_statement" and (target := _assigned(node)) is not None:
            name, value = target
            if name not in _EXPORTS:
                last = name.rpartition(".")[2]
                if value.type != "identifier":
                    yield self._declared(last, _kind(value), value, outer, public=True)
        elif keyword == "default":
            yield self._declared("default", "value", node, outer, public=True)

    def _members(self, owner: str, body: Node | None) -> Iterator[Declared]:
        first: Node | None = None  # the first of the decorators above a member
        is_class = body is not None and body.type == "class_body"
        for each in body.named_children if body is not None and is_class else ():
            if each.type == "decorator":
                first = first or each
                continue
            value = each.child_by_field_name("value")
            is_function = each.type in _FIELDS and value is not None and value.type in _FUNCTIONS
            if each.type in _METHODS or is_function:
                name = text_of(
                    each.child_by_field_name("name") or each.child_by_field_name("property")
                )
                whole = value if is_function and value is not None else each
                public = not _is_private(each, name)
                item = self._declared(f"{owner}.{name}", "function", whole, each, public=public)
                start = self.at(first)[0] if first is not None else item.start
                text = self.text[start : item.end]
                role = _ROLES.intersection(e.type for e in each.children)
                yield replace(item, start=start, text=text, marked=item.start - start, role=role)
            first = None

    def _declared(
        self, name: str, kind: Kind, node: Node, outer: Node, *, public: bool
    ) -> Declared:
        """Return a declaration; `separator` is empty for a signature without a body."""
        body = node.child_by_field_name("body")
        is_block = body is not None and body.type in ("statement_block", "class_body")
        # One statement may declare thousands of names, which all have its whole text.
        whole = self._whole
        if whole is None or whole.id != outer.id:
            whole = self._whole = self._statement_of(outer)
        return replace(
            whole.declared,
            name=name,
            kind=kind,
            head=whole.declared.head if body is None else head_of(outer, body).strip(),
            is_public=public,
            body=self.body_at(body if is_block else None),
            separator="" if node.type in _SIGNATURES else "\n",
        )

    def _statement_of(self, outer: Node) -> _WholeStatement:
        start, end = self.at(outer)
        text = self.text[start:end]
        marked = self.at(bare)[0] - start if (bare := _without_decorators(outer)) else 0
        declared = Declared(
            name="",
            kind="value",
            head=head_of(outer, None).strip(),
            key="",
            line=outer.start_point[0] + 1,
            start=start,
            end=end,
            is_public=False,
            text=text,
            marked=marked,
            ending=_ending_of(outer, text),
        )
        return _WholeStatement(outer.id, declared)


_CLOSED: Final = FUNCTIONS | CLASSES | {"interface_declaration", "enum_declaration"}


def _ending_of(node: Node, statement: str) -> int | None:
    """Return the length of the semicolon that a statement ends with; `None` if it needs none."""
    inner = node.child_by_field_name("declaration") or node
    bare = statement.removesuffix(";")
    if inner.type in _CLOSED and bare == statement:
        return None
    return len(statement) - len(bare.rstrip()) if bare != statement else 0


def _without_decorators(node: Node) -> Node | None:
    """Return what follows the decorators that a statement begins with; `None` without any."""
    rest = [each for each in node.children if each.type != "decorator"]
    return rest[0] if rest and node.children[0].type == "decorator" else None


def _kind(value: Node | None) -> Kind:
    if value is None:
        return "value"
    return "function" if value.type in _FUNCTIONS else "type" if value.type in CLASSES else "value"


def _is_required(node: Node) -> bool:
    value = node.child_by_field_name("value")
    return value is not None and text_of(value).startswith("require(")


def _is_private(node: Node, name: str) -> bool:
    hidden = ("private", "protected")
    return name.startswith(("#", "_")) or any(text_of(e) in hidden for e in node.named_children)


_WORDS: Final = (
    r"(?:export|default|declare|abstract|async|static|public|private|protected|override|readonly|"
    r"function|class|interface|type|enum|const|let|var|get|set)"
)
_NAME: Final = re.compile(
    rf"(?:{_WORDS}\s++)*\*?+\s*+(?P<name>[\w$.#:]++)\s*+(?:<[^()]*>)?\s*+(?:\(.*)?+", re.DOTALL
)
_EXPORT: Final = re.compile(r"export\s+(?:default\s+)?")
_PREAMBLE: Final = re.compile(r"(?:#![^\n]*\n)?(?:\s*['\"]use strict['\"];?[ \t]*\n)?")
_INSIDE: Final = "class Llmch { "  # on the first line, so that all lines keep their numbers
_INDENT: Final = "  "
_AT_THE_TOP: Final = re.compile(
    rf"^(?:{_WORDS}[ \t]+)*(?:function\b[ \t]*\*?|class|interface|type|enum)[ \t]+(?P<name>[\w$]+)"
    r"|^(?:export[ \t]+)?(?:const|let|var)[ \t]+(?P<value>[\w$]+)[^=\n]*=[ \t]*"
    r"(?:async\b[ \t]*)?(?:function\b|\([^)\n]*\)[^=\n]*=>|[\w$]+[ \t]*=>)",
    re.MULTILINE,
)
_METHOD: Final = re.compile(
    rf"^(?:\t|  |    )(?:{_WORDS}[ \t]+)*\*?[ \t]*(?!(?:if|for|while|switch|catch|with|function)\b)"
    r"(?P<name>#?[\w$]+)[ \t]*\([^'\"`=>\n]*\)[^'\"`;=>\n)]*\{[ \t]*$",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class _EcmaWays:
    """Implement `Ways` for one edit of the file `text` at `path`; `owner` is the class, if any."""

    path: str
    text: str
    owner: str

    def read(self, text: str) -> Declarations:
        """Return the declarations of the file, or those of a block that may bring a definition.

        A block may be a method alone. A class around a method only says whose it is; a whole class
        comes with its methods.
        """
        if text == self.text:
            return read_source(self.path, text)
        read = read_source(self.path, text)
        if self.owner and read.fault is not None:
            read = _read_members(self.path, text) or read
        if not self.owner:
            return replace(read, items=tuple(each for each in read.items if not each.owner))
        return replace(read, items=tuple(each for each in read.items if each.name != self.owner))

    def plain_name(self, written: str) -> str:
        """Return `Game.play` for `Game#play`, `Game.prototype.play` and `Game::play`."""
        return plain_name(written)

    def adding(self, file: Declarations, item: Declared, code: str) -> Splice:
        """Return the splice that adds a method to its class, and anything else at the end."""
        if not item.owner:
            end = len(file.text.rstrip())
            return Splice(end, end, f"\n\n{code.strip()}" if end else code.strip())
        owners = [each for each in file.named(item.owner) if each.kind == "type" and each.body]
        if len(owners) != 1 or owners[0].body is None:
            raise Refused(f"the file has no class `{item.owner}`: give the class as a whole")
        start, end = owners[0].body
        inner = file.text[start + 1 : end - 1]
        margin = re.search(r"\n([ \t]*)\S", inner)
        outer = re.search(r"[ \t]*(?=[^\n]*\Z)", file.text[: owners[0].start].rpartition("\n")[2])
        indent = margin[1] if margin else f"{outer[0] if outer else ''}{_INDENT}"
        at = start + 1 + len(inner.rstrip())
        gap = "\n\n" if inner.strip() else "\n"
        ending = "" if "\n" in file.text[at : end - 1] else "\n"
        code = code.strip("\n")
        return Splice(at, at, f"{gap}{indented(code, indent, self.lines_in_strings(code))}{ending}")

    def lines_in_strings(self, code: str) -> frozenset[int]:
        return lines_within(tree_of(self.path, code), _LONG_STRINGS) if "`" in code else frozenset()

    def importing(self, file: Declarations, block: Declarations) -> Iterator[Splice]:
        """Yield a splice for each name that the block brings in and the file does not have."""
        has = {each.name for each in file.imports} | {each.name for each in file.items}
        has.discard("")
        unnamed = {(each.name, each.source) for each in file.imports}
        found = _PREAMBLE.match(file.text)
        top = found.end() if found else 0
        at = max((each.end for each in file.imports), default=top)
        for each in block.imports:
            nameless = each.name in ("", EVERYTHING)
            if (each.name, each.source) in unnamed or (each.name in has and not nameless):
                _refuse_other_source(file, each)
                continue
            has.add(each.name)
            unnamed.add((each.name, each.source))
            text = f"\n{each.text}" if at > top else f"{each.text}\n"
            yield Splice(at, at, text, depth=1)


def _refuse_other_source(file: Declarations, wanted: Imported) -> None:
    """Raise `Refused` where the file has the name from elsewhere, and would go on meaning that."""
    for each in file.imports:
        if not wanted.name or each.name != wanted.name:
            continue
        said = f"the block has `{wanted.text}`, but "
        if _origin(each.source) != _origin(wanted.source):
            reason = f"{said}`{each.name}` is from {each.source} in the file: give yours another "
            raise Refused(f"{reason}name (`as`)", each.line)
        if _OF_TYPE.match(each.text) and not _OF_TYPE.match(wanted.text):
            reason = f"{said}the file imports `{each.name}` as a type alone: change that import "
            raise Refused(f"{reason}by a search text", each.line)


_OF_TYPE: Final = re.compile(r"import (?:type |\{ type )")


def _origin(source: str) -> str:
    """Return a source without what may be left out of it: `a` of `./a`, `a.js` and `node:a`."""
    bare = re.sub(r"^require\(|\)$|['\"`]", "", source).removeprefix("node:")
    return re.sub(r"\.[cm]?[jt]sx?$|/index(?:\.[cm]?[jt]sx?)?$", "", bare.removeprefix("./"))


def edit_definitions(
    path: str, text: str, edits: Sequence[NamedCode], changes: Sequence[str]
) -> tuple[DefinitionEdit | EditRefused, ...]:
    """Return for each edit how it changes the file at `path`, or why it cannot.

    A name that the file exports stays exported, whether or not the code of the edit says so.
    """
    return tuple(
        _edit(path, text, each, changes, names_near(edits, at)) for at, each in enumerate(edits)
    )


def _edit(
    path: str, text: str, given: NamedCode, changes: Sequence[str], near: Near
) -> DefinitionEdit | EditRefused:
    try:
        owner = plain_name(given.name).rpartition(".")[0]
    except Refused as refused:
        return EditRefused(refused.reason)
    ways = _EcmaWays(path, text, owner)
    code = _exported_alike(ways.read(given.code), read_source(path, text))
    (made,) = edit(ways, path, text, [NamedCode(given.name, code)], changes, near)
    return made


def plain_name(written: str) -> str:
    """Return a name as declarations have it. Raises `Refused` if it is not a name."""
    found = _NAME.fullmatch(written.strip().removesuffix(";"))
    name = found["name"] if found else ""
    name = name.replace("::", ".").replace(".prototype.", ".")
    name = re.sub(r"(?<=\w)#", ".", name)
    parts = name.split(".")
    if len(parts) > 2 or not all(re.fullmatch(r"#?[A-Za-z_$][\w$]*", each) for each in parts):
        raise Refused(f"{written[:80]!r} is not a name: write Class.method, function or Class")
    return name


_ASSIGNED_EXPORT: Final = re.compile(r"(?:module\.)?exports\.[\w$]+\s*=\s*")
_EXPRESSION: Final = re.compile(r"(?:async\s+)?function\b|class\b")
_BOUND: Final = re.compile(r"(?:const|let|var)\s+[\w$]+\s*(?::[^=]+)?=\s*(?!>)")


def _exported_alike(block: Declarations, file: Declarations) -> str:
    """Return the code of a block, each definition exported in the way in which the file has it."""
    code = block.text
    for item in sorted(block.items, key=lambda each: each.start, reverse=True):
        old = file.named(item.name)
        if item.owner or len(old) != 1 or item.kind == "value":
            continue
        own = _ASSIGNED_EXPORT.match(old[0].text)
        if own is not None:
            if bound := _BOUND.match(item.text):
                code = code[: item.start] + own[0] + code[item.start + bound.end() :]
            elif _EXPRESSION.match(item.text):
                code = code[: item.start] + own[0] + item.text + ";" + code[item.end :]
            continue
        before, now = (_EXPORT.match(each.text[each.marked :]) for each in (old[0], item))
        is_listed = before is None and old[0].is_public and not old[0].text.startswith("exports.")
        start = item.start + item.marked
        if before is not None and now is None:
            code = code[:start] + before[0] + code[start:]
        elif now is not None and is_listed:
            code = code[:start] + code[start + now.end() - now.start() :]
    return code


def _read_members(path: str, text: str) -> Declarations | None:
    """Return the methods of a text that is the inner part of a class; `None` for any other."""
    read = read_source(path, f"{_INSIDE}{text}\n}}")
    if read.fault is not None:
        return None
    by = len(_INSIDE)
    items = tuple(
        replace(
            each,
            name=each.last_name,
            start=each.start - by,
            end=each.end - by,
            body=(each.body[0] - by, each.body[1] - by) if each.body else None,
        )
        for each in read.items
        if each.owner
    )
    return Declarations(text, items)


def find_tables(path: str, text: str) -> tuple[CaseTable, ...]:
    """Return the arrays of variables and of `test.each`, by the variable and the test's title."""
    root = tree_of(path, text)
    if root is None or root.has_error:
        return ()
    titles: dict[str, list[str]] = {}
    arrays: list[tuple[Node | None, str]] = []
    for node in walk(root):
        if node.type == "variable_declarator":
            arrays.append((_bare(node.child_by_field_name("value")), name_of(node)))
        elif node.type == "call_expression" and (each := _cases_of(node)) is not None:
            title = string_value(next(iter(arguments_of(node)), None)) or ""
            if each.type == "identifier":
                titles.setdefault(text_of(each), []).append(title)
            arrays.append((each, title))
    offsets = Offsets(text)
    return tuple(
        table_at(node, (name, *titles.get(name, ())), offsets)
        for node, name in arrays
        if node is not None and node.type == "array"
    )


def _cases_of(call: Node) -> Node | None:
    """Return what `test.each(...)` is given in `test.each(...)(title, test)`."""
    inner = call.child_by_field_name("function")
    if inner is None or inner.type != "call_expression":
        return None
    called = text_of(inner.child_by_field_name("function"))
    return _bare(next(iter(arguments_of(inner)), None)) if called.endswith(".each") else None


def _bare(value: Node | None) -> Node | None:
    while value is not None and value.type in ("as_expression", "satisfies_expression"):
        value = value.named_children[0]
    return value


def defined_names(fragment: str) -> tuple[str, ...]:
    """Return the names of what begins in some lines of a file at its top, and of methods there."""
    top = (each["name"] or each["value"] for each in _AT_THE_TOP.finditer(fragment))
    return (*top, *(each["name"] for each in _METHOD.finditer(fragment)))
