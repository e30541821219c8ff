"""Implements `Edits` and `Notes` for Rust: definitions by name; what a person would point out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Final

from shared.languages.capabilities import CaseTable, PlaceForTests, Splice
from shared.languages.declared.declarations import (
    Offsets,
    cut,
    lines_within,
    name_of,
    read_root,
    table_at,
    text_of,
    walk,
)
from shared.languages.declared.declared_edits import DeclaredEdits, Refused, indented, offer
from shared.languages.declared.tree_mutations import TreeMutations, code_of_node
from shared.languages.rust.rust_source import is_test_file, read_rust

if TYPE_CHECKING:
    from tree_sitter import Node

    from shared.languages.declared.declarations import Declarations, Declared, Grammar

_WORDS: Final = r"(?:pub(?:\([^)]*\))?|async|unsafe|const|fn|struct|enum|trait|type|impl|mod)"
_NAME: Final = re.compile(rf"(?:{_WORDS}\s+)*(?P<name>[\w:.]+)(?:<[^()]*>)?\s*(?:\(.*)?", re.DOTALL)
_DEFINITION: Final = re.compile(
    rf"^[ \t]*(?:{_WORDS}[ \t]+)*(?:fn|struct|enum|trait|union|type)[ \t]+(?P<name>\w+)",
    re.MULTILINE,
)
_BLOCK: Final = r"(?:(?!\*/)[\s\S])*+\*/[^\n]*\n"
_COMMENT: Final = rf"[ \t]*(?://(?![/!])[^\n]*|/\*(?![*!]){_BLOCK[:-2]})?\n"
# What is said of the whole file: a `use` above it does not compile.
_INNER: Final = rf"[ \t]*(?://![^\n]*\n|#!\[(?:[^][]|\[[^][]*+\])*+\][^\n]*\n|/\*!{_BLOCK})"
_PREAMBLE: Final = re.compile(rf"(?:#!(?!\[)[^\n]*\n)?(?:(?:{_COMMENT})*+{_INNER})*+(?:[ \t]*\n)*")
_INDENT: Final = "    "


class _RustWays:
    """Implement `Ways` for Rust."""

    def read(self, text: str) -> Declarations:
        return read_rust(text)

    def plain_name(self, written: str) -> str:
        """Return `Game.play` for `Game::play`, `fn play` of a block and `Game.play`."""
        found = _NAME.fullmatch(written.strip())
        name = found["name"].replace("::", ".").strip(".") if found else ""
        parts = name.split(".")
        if not all(part.isidentifier() for part in parts):
            raise Refused(f"{written[:80]!r} is not a name: write Type::method, function or Type")
        return ".".join(part for part in parts[-2:])

    def adding(self, file: Declarations, item: Declared, code: str) -> Splice:
        """Return the splice that adds a method to its block, and anything else at the end."""
        if item.owner:
            beside = [e for e in file.items if e.owner == item.owner]
            beside = [e for e in beside if item.around or " for " not in e.around]
            inside = [e.head for e in file.named(item.owner) if _holds_its_own(e)]
            if inside and not item.around:
                reason = f"`{item.name}` would be inside `{inside[0]}`: use a search text"
                raise Refused(reason, file.named(item.owner)[0].line)
            if item.around:  # that of a trait, or of other type parameters, is another block
                beside = [e for e in beside if e.around == item.around]
            code = code.strip("\n")
            method = indented(code, _INDENT, self.lines_in_strings(code))
            if beside:
                end = beside[-1].end
                return Splice(end, end, f"\n\n{method}")
            head = item.around or f"impl {item.owner}"
            return self._at_end(file, f"{head} {{\n{method}\n}}")
        if item.kind == "module":
            others = [e for e in file.items if e.kind == "module" and e.text.endswith(";")]
            at = others[-1].end if others else self._first_use(file)
            return Splice(at, at, f"\n{code.strip()}" if others else f"{code.strip()}\n", depth=2)
        return self._at_end(file, code.strip())

    def lines_in_strings(self, code: str) -> frozenset[int]:
        import tree_sitter_rust

        root = read_root(tree_sitter_rust.language, code) if '"' in code else None
        return lines_within(root, ("string_literal", "raw_string_literal"))

    def _at_end(self, file: Declarations, code: str) -> Splice:
        """Return the splice that adds code at the end, before the tests that end the file."""
        last = file.items[-1] if file.items else None
        if last is not None and last.kind == "module" and "cfg(test)" in last.text[:40]:
            return Splice(last.start, last.start, f"{code}\n\n")
        end = len(file.text.rstrip())
        return Splice(end, end, f"\n\n{code}" if end else code)

    def _first_use(self, file: Declarations) -> int:
        found = _PREAMBLE.match(file.text)
        first = found.end() if found else 0
        return min((each.start for each in file.imports), default=first)

    def importing(self, file: Declarations, block: Declarations) -> Iterator[Splice]:
        """Yield a splice for each `use` with a name that the file does not have."""
        has = {(each.name, each.source) for each in file.imports}
        at = self._first_use(file)
        for text in dict.fromkeys(each.text for each in block.imports):
            named = {(e.name, e.source): None for e in block.imports if e.text == text}
            new = [each for each in named if each not in has]
            if new:
                # A name that is brought in twice does not compile.
                added = text if len(new) == len(named) else _only(text, new)
                yield Splice(at, at, f"{added}\n", depth=1)


def _only(use: str, named: Iterable[tuple[str, str]]) -> str:
    """Return a `use` of these names and paths alone, with the attributes of the given one."""
    word = _USE.search(use)
    before = use[: word.end()] if word else "use "
    before += "::" if word and use.startswith("::", word.end()) else ""
    return "\n".join(before + _used(*each) for each in named)


def _used(name: str, source: str) -> str:
    """Return what follows `use` to bring in one name from its path."""
    if name == "*":
        return f"{source}::*;"
    return f"{source};" if source.rpartition("::")[2] == name else f"{source} as {name};"


def _holds_its_own(item: Declared) -> bool:
    """Return whether a module or a trait holds what has its name before its own."""
    return item.kind == "module" or item.key.startswith("trait_item")


_USE: Final = re.compile(r"(?:^|(?<=\]))\s*(?:pub(?:\s*\([^()]*\))?\s+)?use\s+", re.MULTILINE)
_PLACEHOLDER: Final = re.compile(
    r"(?:todo|unimplemented)!\s*\(.*\)\s*;?"
    r'|panic!\s*\("[^"]*(?:not (?:yet )?implement|todo)[^"]*"\)\s*;?',
    re.IGNORECASE,
)
_CONSTANT: Final = re.compile(
    r"(?:return )?(?:true|false|None|-?\d[\w.]*|\"[^\"]*\"|String::new\(\)|Vec::new\(\)|vec!\[\]"
    r"|Default::default\(\)|Ok\(\(\)\)|\"[^\"]*\"\.to_string\(\))\s*;?"
)
_MISSING: Final = re.compile(
    r"error\[E04(?:25|12|32)\]: (?:cannot find (?P<kind>[a-z ]+) `(?P<name>\w{1,100})`"
    r"|unresolved import `(?P<path>[\w:]{1,300})`)"
)
_NO_MEMBER: Final = re.compile(
    r"error\[E0(?:599|609)\]: no (?:method|field|function or associated item|associated item"
    r"|variant[\w ,]*) (?:named )?`(?P<name>\w{1,100})` (?:found for|on) [\w ]*"
    r"`&?(?:mut )?(?P<type>\w{1,100})"
)
_MAX_NOTES: Final = 20
_MAX_BODY: Final = 200


def _problem(item: Declared, body: str) -> tuple[str, bool] | None:
    if " for " in item.around and not body:
        return None  # a trait may ask for a function that has nothing to do
    if not body:
        return ("has no statements in its body", bool(item.result))
    if len(body) > _MAX_BODY:
        return None
    if _PLACEHOLDER.fullmatch(body):
        return (f"has only `{body[:60]}` for a body", True)
    has_parameters = not re.search(r"\(\s*(?:&?\s*(?:mut )?self)?\s*\)", item.opening)
    if has_parameters and _CONSTANT.fullmatch(body):
        return (f"has only `{body[:60]}` for a body, whatever it is given", False)
    return None


_EDITS: Final = DeclaredEdits(_RustWays(), _DEFINITION, is_test_file, _problem)
outline = _EDITS.outline
edit_definitions = _EDITS.edit_definitions
defined_names = _EDITS.defined_names
check_rewrite = _EDITS.check_rewrite
names_in = _EDITS.names_in
note_syntax = _EDITS.note_syntax
find_unwritten = _EDITS.find_unwritten


_CONDITION: Final = re.compile(r"#!\s*\[\s*cfg[^\]]*\]")
# A macro of the file hides the one of the standard library that its tests assert with.
_ASSERTS: Final = r"(?:(?:debug_)?assert(?:_eq|_ne)?|matches|panic|test)"
_HIDING: Final = re.compile(
    rf"\bmacro_rules\s*!\s*{_ASSERTS}\b"
    rf"|\buse\b[^;\n]{{0,400}}?\b{_ASSERTS}\b[^;]{{0,400}};|#\s*\[\s*macro_use\b"
)


def place_for_tests(path: str, text: str) -> PlaceForTests:
    """Return the end of a file of tests, or of the one module of tests that a file ends with."""
    if is_test_file(path):
        return PlaceForTests(len(text))
    modules = [
        e for e in read_rust(text).items if e.kind == "module" and "cfg(test)" in e.text[:40]
    ]
    if len(modules) != 1 or not modules[0].text.endswith("}"):
        raise Refused("does not have exactly one module of tests")
    inner = text[: modules[0].end - 1].rstrip(" \t")
    if not inner.endswith("\n"):
        raise Refused("has its module of tests on one line")
    around = "\n".join((modules[0].text, *_CONDITION.findall(text), *_HIDING.findall(text)))
    return PlaceForTests(len(inner), _INDENT, around=around)


def find_tables(path: str, text: str) -> tuple[CaseTable, ...]:
    """Return the arrays in functions, by the function and the variable."""
    import tree_sitter_rust

    root = read_root(tree_sitter_rust.language, text)
    if root is None or root.has_error:
        return ()
    offsets, found = Offsets(text), []
    for test in walk(root):
        body = test.child_by_field_name("body") if test.type == "function_item" else None
        for node in walk(body, into=lambda each: each.type != "array_expression") if body else ():
            if node.type == "array_expression":
                holder = node.parent
                if holder is not None and holder.type == "reference_expression":
                    holder = holder.parent
                named = holder.child_by_field_name("pattern") if holder is not None else None
                names = (name_of(test), text_of(named))
                found.append(table_at(node, names, offsets))
    return tuple(found)


def note_errors(output: str, sources: Mapping[str, str], files: Iterable[str]) -> tuple[str, ...]:
    """Return a sentence for each error of the compiler about a name that does not exist."""
    known = {path: text for path, text in sources.items() if path.endswith(".rs")}
    notes = (
        each
        for pattern, note in ((_MISSING, _missing), (_NO_MEMBER, _no_member))
        for found in islice(pattern.finditer(output), _MAX_NOTES)
        for each in note(found, known)
    )
    return tuple(dict.fromkeys(notes))


def _missing(found: re.Match[str], known: Mapping[str, str]) -> Iterator[str]:
    name = found["name"] or found["path"].rpartition("::")[2]
    for path, text in known.items():
        for item in read_rust(text).items:
            if item.name == name:
                yield f"`{name}` is in {path}: `{cut(item.head)}`."
                return
    if found["path"] and "::" in found["path"]:
        module = found["path"].split("::")[-2]
        for path, text in known.items():
            if path.endswith((f"/{module}.rs", f"/{module}/mod.rs")):
                names = [e.name for e in read_rust(text).items if e.is_public and not e.owner]
                yield f"{path} has no `{name}`. {offer(name, names)}"
                return


def _no_member(found: re.Match[str], known: Mapping[str, str]) -> Iterator[str]:
    owner, name = found["type"], found["name"]
    members: set[str] = set()
    place = ""
    for path, text in known.items():
        for item in read_rust(text).items:
            if item.name == owner and item.kind == "type":
                place = path
                members |= set(item.members)
            elif item.owner == owner:
                members.add(item.last_name)
    if place and name not in members:
        yield f"The type `{owner}` in {place} has no `{name}`. {offer(name, members)}"


_NUMBER: Final = re.compile(r"[iu](?:8|16|32|64|128|size)")
_STATEMENTS: Final = re.compile(r".*_(?:statement|declaration|item)|(?:line|block)_comment")
_OF_TESTS: Final = re.compile(rb"#\[\s*(?:cfg\s*\(.*\btest\b|\w*(?:::)?test\b|bench\b)")


def _grammar(path: str) -> Grammar:
    import tree_sitter_rust

    return tree_sitter_rust.language


def _is_for_tests(node: Node) -> bool:
    """Return whether an attribute above an item says that it is compiled for tests alone."""
    before = node.prev_named_sibling if node.type.endswith("_item") else None
    while before is not None and before.type in ("attribute_item", "line_comment"):
        if _OF_TESTS.match(before.text or b""):
            return True
        before = before.prev_named_sibling
    return False


def _returned(node: Node) -> Iterator[tuple[Node, str]]:
    """Yield the last expression of a function, or that of a `return`, with another value."""
    value: Node | None = None
    function: Node | None = None
    if node.type == "function_item":
        function, body = node, node.child_by_field_name("body")
        last = body.named_children[-1] if body is not None and body.named_children else None
        value = last if last is not None and _is_value(last) else None
    elif node.type == "return_expression" and node.named_children:
        value, function = node.named_children[0], node.parent
        while function is not None and function.type not in ("function_item", "closure_expression"):
            function = function.parent
    kind = function.child_by_field_name("return_type") if function is not None else None
    if value is not None and kind is not None:
        yield value, _other_value(code_of_node(kind), code_of_node(value))


def _is_value(last: Node) -> bool:
    """Return whether what is last in a block is its value: an expression, also a `match`."""
    if last.type == "expression_statement":
        return not (last.text or b"").rstrip().endswith(b";")
    return _STATEMENTS.fullmatch(last.type) is None


def _other_value(kind: str, value: str) -> str:
    if kind == "bool":
        return f"!({value})"
    if _NUMBER.fullmatch(kind):
        return "0"
    if kind in ("f32", "f64"):
        return "0.0"
    if re.fullmatch(r"&(?:'\w+ )?str", kind):
        return '""'
    if kind.startswith("Option<"):
        return "Some(Default::default())" if value == "None" else "None"
    return (
        "Ok(Default::default())" if re.match(r"(?:\w+::)*Result\b", kind) else "Default::default()"
    )


_TABLE: Final = TreeMutations(
    grammar=_grammar,
    left_out=frozenset(
        {"use_declaration", "attribute_item", "inner_attribute_item", "macro_definition",
         "extern_crate_declaration", "type_arguments", "type_parameters", "array_type"}
    ),
    removed=frozenset({"expression_statement"}),
    nothing=";",
    unbuilt=re.compile(r"^error: could not compile `", re.MULTILINE),
    returned=_returned,
    is_left_out=_is_for_tests,
)  # fmt: skip

find_mutations = _TABLE.find_mutations
why_useless = _TABLE.why_useless
is_unbuilt = _TABLE.is_unbuilt
batched = _TABLE.batched
