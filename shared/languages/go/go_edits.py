"""Implements `Edits` and `Notes` for Go: definitions by name; what a person would point out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from shared.languages.capabilities import CaseTable, Splice
from shared.languages.declared.declarations import (
    Offsets,
    lines_within,
    name_of,
    read_root,
    table_at,
    text_of,
    walk,
)
from shared.languages.declared.declared_contracts import folder_of
from shared.languages.declared.declared_edits import DeclaredEdits, Refused, offer
from shared.languages.declared.tree_mutations import TreeMutations, code_of_node
from shared.languages.go.go_conformance import judge, read_complaints
from shared.languages.go.go_modules import read_modules
from shared.languages.go.go_source import is_test_file, read_go

if TYPE_CHECKING:
    from tree_sitter import Node

    from shared.languages.declared.declarations import Declarations, Declared, Grammar

_NAME: Final = re.compile(
    r"(?:func +|type +|var +|const +)?(?P<name>[^{]+?)\s*(?:\(.*)?", re.DOTALL
)
_RECEIVER: Final = re.compile(r"\(\s*(?:\w+\s+)?\*?\s*(\w+)[^)]*\)\s*\.?\s*(\w+)")
_DEFINITION: Final = re.compile(
    r"^(?:func[ \t]+(?:\([^)\n]*\)[ \t]*)?|type[ \t]+)(?P<name>\w+)", re.MULTILINE
)
_REST_OF_LINE: Final = re.compile(r"[ \t]*(?://[^\n]*)?(?=\n|$)")


class _GoWays:
    """Implement `Ways` for Go."""

    def read(self, text: str) -> Declarations:
        return read_go(text)

    def plain_name(self, written: str) -> str:
        """Return `Game.Play` for `(*Game).Play`, `func (g *Game) Play` and `Game.Play`."""
        text = written.strip().removeprefix("func ").strip()
        if found := _RECEIVER.match(text):
            return f"{found[1]}.{found[2]}"
        named = _NAME.fullmatch(text)
        name = named["name"].strip().replace("::", ".") if named else ""
        parts = name.split(".")
        if not all(part.isidentifier() for part in parts) or len(parts) > 2:
            raise Refused(f"{written[:80]!r} is not a name: write Type.Method, Function or Type")
        return name

    def adding(self, file: Declarations, item: Declared, code: str) -> Splice:
        """Return the splice that adds a method after its type or the last of its methods."""
        kin = [e for e in file.items if item.owner and item.owner in (e.owner, e.name)]
        if kin and not file.is_shared(kin[-1]):
            return Splice(kin[-1].end, kin[-1].end, f"\n\n{code.strip()}")
        end = len(file.text.rstrip())
        return Splice(end, end, f"\n\n{code.strip()}" if end else code.strip())

    def importing(self, file: Declarations, block: Declarations) -> Iterator[Splice]:
        has = {(each.name, each.source) for each in file.imports}
        ends = [each.end for each in file.imports]
        at = max(ends) if ends else _end_of_package_clause(file.text)
        for each in block.imports:
            if (each.name, each.source) not in has:
                has.add((each.name, each.source))
                yield Splice(at, at, f"\nimport {each.text}", depth=1)

    def lines_in_strings(self, code: str) -> frozenset[int]:
        import tree_sitter_go

        root = read_root(tree_sitter_go.language, code) if "`" in code else None
        return lines_within(root, ("raw_string_literal",))


def _end_of_package_clause(text: str) -> int:
    """Return the character behind the clause, and behind a comment in its line; 0 without one."""
    import tree_sitter_go

    root = read_root(tree_sitter_go.language, text)
    nodes = root.named_children if root is not None else ()
    clause = next((each for each in nodes if each.type == "package_clause"), None)
    if clause is None:
        return 0
    end = Offsets(text).character(clause.end_byte)
    rest = _REST_OF_LINE.match(text, end)
    return rest.end() if rest else end


_PLACEHOLDER: Final = re.compile(
    r'panic\(\s*(?:errors\.New\(|fmt\.Sprintf\()?"[^"]*(?:not (?:yet )?implement|todo|implement me)'
    r'[^"]*"[^;]*',
    re.IGNORECASE,
)
_LITERAL: Final = r'(?:nil|true|false|-?\d[\w.]*|"[^"]*"|`[^`]*`)'
_CONSTANT: Final = re.compile(rf"return {_LITERAL}(?:, {_LITERAL})*", re.ASCII)
_MAX_NOTES: Final = 20
_MAX_BODY: Final = 200
_CALLED: Final = ("E212", "E213")


def _problem(item: Declared, body: str) -> tuple[str, bool] | None:
    has_parameters = not re.search(r"\w\(\s*\)$", item.opening)
    if not body:
        return ("has no statements in its body", bool(item.result))
    if len(body) > _MAX_BODY:
        return None
    if _PLACEHOLDER.fullmatch(body):
        return ("only panics, because it is not implemented", True)
    if has_parameters and _CONSTANT.fullmatch(body):
        return (f"has only `{body[:60]}` for a body, whatever it is given", False)
    return None


_EDITS: Final = DeclaredEdits(_GoWays(), _DEFINITION, is_test_file, _problem)
outline = _EDITS.outline
edit_definitions = _EDITS.edit_definitions
place_for_tests = _EDITS.place_for_tests
defined_names = _EDITS.defined_names
check_rewrite = _EDITS.check_rewrite
names_in = _EDITS.names_in
note_syntax = _EDITS.note_syntax
find_unwritten = _EDITS.find_unwritten


_BUILT_IN: Final = re.compile(r"\W*(?:string|bool|byte|rune|error|any|u?int\w*|float\d+)")


def find_tables(path: str, text: str) -> tuple[CaseTable, ...]:
    """Return the lists and maps of literals, by their variable and, unless of a plain type, test.

    A test has slices of strings that are none of its cases.
    """
    import tree_sitter_go

    root = read_root(tree_sitter_go.language, text)
    if root is None or root.has_error:
        return ()
    offsets, found = Offsets(text), []
    for top in root.named_children:
        for node in walk(top, into=lambda each: not _is_list(each)):
            body = node.child_by_field_name("body") if _is_list(node) else None
            if body is None or not body.children:
                continue
            kind = node.child_by_field_name("type")
            of_test = "" if _BUILT_IN.fullmatch(text_of(kind)) else name_of(top)
            holder = node.parent.parent if node.parent else None
            left = holder.child_by_field_name("left") if holder is not None else None
            names = (of_test, text_of(left) or (name_of(holder) if holder is not None else ""))
            found.append(table_at(body, names, offsets))
    return tuple(found)


def _is_list(node: Node) -> bool:
    kind = node.child_by_field_name("type") if node.type == "composite_literal" else None
    return kind is not None and kind.type.endswith(("slice_type", "array_type", "map_type"))


def note_errors(output: str, sources: Mapping[str, str], files: Iterable[str]) -> tuple[str, ...]:
    """Return a sentence for each error of the compiler about a name that does not exist."""
    known = {path: text for path, text in sources.items() if path.endswith(".go")}
    every = [path for path in files if path.endswith(".go")]
    modules = read_modules(sources, sources)
    notes: dict[str, None] = {}
    for complaint in read_complaints(output):
        if len(notes) == _MAX_NOTES:
            break
        verdict = judge(complaint.message)
        if verdict is None or not verdict.name:
            continue
        folder: str | None = folder_of(complaint.path)
        if verdict.package:
            imports = read_go(known.get(complaint.path, "")).imports
            imported = next((e.source for e in imports if e.name == verdict.package), "")
            inside = (each.folder_of_import(imported) for each in modules)
            folder = next((each for each in inside if each is not None), None)
        if folder is not None:
            whole = all(path in known for path in every if folder_of(path) == folder)
            found = _note(verdict.name, verdict.code, folder, known, whole=whole)
            notes.update(dict.fromkeys(found))
    return tuple(notes)


def _note(
    name: str, code: str, folder: str, known: Mapping[str, str], *, whole: bool
) -> Iterator[str]:
    """Yield what is known of a name; with `whole`, all files of the package are."""
    declared = {
        item.name: (path, item)
        for path, text in known.items()
        if folder_of(path) == folder
        for item in read_go(text).items
    }
    owner, _, last = name.rpartition(".")
    if code in _CALLED:
        if name in declared:
            path, item = declared[name]
            yield f"{path} declares `{item.head}`."
        return
    if name in declared or not whole:
        return
    if owner:
        if owner in declared:
            path, item = declared[owner]
            members = {e.rpartition(".")[2] for e in declared if e.startswith(f"{owner}.")}
            has = offer(last, members | set(item.members))
            yield f"The type `{owner}` in {path} has no `{last}`. {has}"
        return
    elsewhere = [p for p, t in known.items() for e in read_go(t).items if e.name == last]
    if elsewhere:
        yield f"The package in {folder or '.'} has no `{last}`: it is in {elsewhere[0]}."
    elif declared:
        plain = [each for each in declared if "." not in each]
        yield f"The package in {folder or '.'} has no `{last}`. {offer(last, plain)}"


_FUNCTIONS: Final = ("function_declaration", "method_declaration", "func_literal")
_NUMBER: Final = re.compile(r"u?int(?:8|16|32|64|ptr)?|float(?:32|64)|byte|rune|complex\d+")
_NIL: Final = re.compile(r"error|any|\*.*|\[\].*|map\[.*|interface\{.*|func\(.*|chan .*", re.DOTALL)


def _grammar(path: str) -> Grammar:
    import tree_sitter_go

    return tree_sitter_go.language


def _returned(node: Node) -> Iterator[tuple[Node, str]]:
    """Yield each value of a return statement with the zero value of its type."""
    if node.type != "return_statement" or not node.named_children:
        return
    function = node.parent
    while function is not None and function.type not in _FUNCTIONS:
        function = function.parent
    result = function.child_by_field_name("result") if function is not None else None
    values = node.named_children[0].named_children
    kinds = _types_of(result)
    if len(kinds) == len(values):
        for value, kind in zip(values, kinds, strict=True):
            if instead := _zero(kind, code_of_node(value)):
                yield value, instead


def _types_of(result: Node | None) -> list[str]:
    if result is None:
        return []
    if result.type != "parameter_list":
        return [code_of_node(result)]
    kinds: list[str] = []
    for each in result.named_children:
        names = len(each.children_by_field_name("name"))
        kind = each.child_by_field_name("type")
        kinds += [code_of_node(kind) if kind is not None else ""] * max(1, names)
    return kinds


def _zero(kind: str, value: str) -> str:
    if kind == "bool":
        return f"!({value})"
    if kind == "string":
        return '""'
    if _NUMBER.fullmatch(kind):
        return "0"
    return "nil" if _NIL.fullmatch(kind) else ""


_TABLE: Final = TreeMutations(
    grammar=_grammar,
    left_out=frozenset({"package_clause", "import_declaration", "type_declaration", "array_type"}),
    removed=frozenset(
        {"expression_statement", "assignment_statement", "inc_statement", "dec_statement",
         "defer_statement", "go_statement", "send_statement", "break_statement",
         "continue_statement"}
    ),
    nothing="{}",
    unbuilt=re.compile(r"^FAIL\t\S+ \[(?:build|setup) failed\]$", re.MULTILINE),
    returned=_returned,
)  # fmt: skip

find_mutations = _TABLE.find_mutations
why_useless = _TABLE.why_useless
is_unbuilt = _TABLE.is_unbuilt
batched = _TABLE.batched
