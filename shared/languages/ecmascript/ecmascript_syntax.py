"""Reads syntax trees of both languages, what a file is for, and what package.json says."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from shared.files.strict_documents import Table, table
from shared.languages.declared.declarations import cut, parse
from shared.languages.declared.tree_mutations import TreeMutations
from shared.languages.planned_code import TextFault

if TYPE_CHECKING:
    from tree_sitter import Node


SCRIPT_SUFFIXES: Final = (".js", ".mjs", ".cjs", ".jsx")
TYPED_SUFFIXES: Final = (".ts", ".mts", ".cts", ".tsx")
SUFFIXES: Final = (*SCRIPT_SUFFIXES, *TYPED_SUFFIXES)
# Where a module may stand: as written, with one of these endings, or as the index of a folder.
ENDINGS: Final = (*TYPED_SUFFIXES, ".d.ts", ".d.mts", ".d.cts", *SCRIPT_SUFFIXES, ".json", ".node")

_DECLARATION = re.compile(r"\.d\.[mc]?ts$")
_DECLARED_AS: Final = {
    ".mjs": ".d.mts", ".mts": ".d.mts", ".cjs": ".d.cts", ".cts": ".d.cts",
}  # fmt: skip
_TEST_NAME = re.compile(r"(?:^|[./_-])(?:test|spec)s?\.[^/]*$|(?:^|/)test-[^/]*$|_test\.[^/]*$")
_TEST_FOLDER = re.compile(r"(?:^|/)(?:test|tests|__tests__|spec)/")


def suffix_of(path: str) -> str:
    """Return the last suffix of a path, dot included; empty if the name has none."""
    name = path.rpartition("/")[2]
    stem, dot, suffix = name.rpartition(".")
    return dot + suffix if stem else ""


def is_code(path: str) -> bool:
    """Return whether the path is that of a source file, declarations included."""
    return suffix_of(path) in SUFFIXES


def is_typed(path: str) -> bool:
    """Return whether a file is TypeScript, so that its code may have annotations."""
    return suffix_of(path) in TYPED_SUFFIXES


def is_declaration(path: str) -> bool:
    """Return whether a file holds declarations only, as `score.d.ts` does."""
    return _DECLARATION.search(path) is not None


def declaration_path(path: str) -> str:
    """Return where the compiler looks for the declarations of a file: `a.mjs` has `a.d.mts`."""
    if is_declaration(path):
        return path
    suffix = suffix_of(path)
    return path.removesuffix(suffix) + _DECLARED_AS.get(suffix, ".d.ts")


def is_test_file(path: str) -> bool:
    """Return whether test runners take a file for tests by its name or folder."""
    if not is_code(path) or is_declaration(path):
        return False
    return bool(_TEST_NAME.search(path) or _TEST_FOLDER.search(path))


def question_path(*, typed: bool) -> str:
    """Return the path under which the code of a command is judged, in the root folder."""
    return "llmch-command.ts" if typed else "llmch-command.js"


MAX_BYTES: Final = 400_000  # of one text; a larger one is generated, and stays unread
_MAX_SHOWN: Final = 40  # characters of the code at a fault


@dataclass(frozen=True, slots=True)
class SyntaxFault:
    """Say where a text stops being code; `line` and `column` count from 1."""

    line: int
    column: int
    message: str

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}: {self.message}"


# Valid TypeScript and JavaScript that tree-sitter's grammars (0.23) report as an error: what can be
# left out of `export type * from`, `f<[A?]>()`, `accessor x`, `class A<in T>`, `import defer * as`
# and `assert { type: "json" }`. Names are ASCII, so that bytes stay where they are.
_UNKNOWN_FORMS: Final = (
    re.compile(r"(?<=\bexport )type(?= *\*)"),
    re.compile(r"(?<=[\w\]>)}])\?(?=\s*[\],])"),
    re.compile(r"\baccessor(?=[ \t]+[\w#\[])"),
    re.compile(r"(?<=[<, ])(?:in out|in|out)(?= +[A-Z]\w*[\s,>=])"),
    re.compile(r"(?<=\bimport )defer(?= *\*)"),
    re.compile(r"(?<=['\"] )assert *\{[^{}\n]*\}"),
)
_UNKNOWN_TYPE: Final = re.compile(
    r"(?<=[:<|&=,(] )import\(['\"][^'\"\n]{1,300}+['\"]\)(?=\.\w+<)", re.ASCII
)


def tree_of(path: str, text: str) -> Node | None:
    """Return the root of the syntax tree of a file; `None` if it cannot be read at all.

    The suffix of `path` chooses between JavaScript, TypeScript, and TypeScript with JSX. Forms that
    the grammar does not know are blanked, so that every other node has its place.
    """
    if len(text) > MAX_BYTES:
        return None
    root = parse(grammar_of(path), text)
    if root is None or not root.has_error:
        return root
    known = _UNKNOWN_TYPE.sub(lambda found: "_" * len(found[0]), text)
    for shape in _UNKNOWN_FORMS:
        known = shape.sub(lambda found: " " * len(found[0]), known)
    other = parse(grammar_of(path), known) if known != text else root
    return root if other is None or other.has_error else other


def grammar_of(path: str) -> Callable[[], object]:
    """Return the grammar of a file, by its suffix."""
    if not is_typed(path):
        import tree_sitter_javascript

        return tree_sitter_javascript.language
    import tree_sitter_typescript

    if path.endswith(".tsx"):
        return tree_sitter_typescript.language_tsx
    return tree_sitter_typescript.language_typescript


def find_fault(root: Node) -> SyntaxFault | None:
    """Return the first place where the text does not parse; `None` if all of it does."""
    node = root
    if not node.has_error:
        return None
    while not (node.is_error or node.is_missing):
        inner = next((each for each in node.children if each.has_error or each.is_missing), None)
        if inner is None:
            break
        node = inner
    line, column = node.start_point.row + 1, node.start_point.column + 1
    if node.is_missing:
        return SyntaxFault(line, column, f"{node.type!r} is missing")
    code = (node.text or b"")[: 4 * _MAX_SHOWN]
    shown = cut(" ".join(code.decode("utf-8", "replace").split()), _MAX_SHOWN)
    return SyntaxFault(line, column, f"{shown!r} is not expected here" if shown else "unfinished")


_MAX_EXCERPT: Final = 120  # characters of the line of a fault


def text_fault(root: Node, text: str) -> TextFault | None:
    """Return the first place where the text does not parse, with its line; `None` if all does."""
    fault = find_fault(root)
    if fault is None:
        return None
    excerpt = text.split("\n")[fault.line - 1].strip()[:_MAX_EXCERPT]
    return TextFault(fault.message, fault.line, excerpt)


CLASSES: Final = frozenset({"class_declaration", "abstract_class_declaration", "class"})
TYPES: Final = frozenset({"interface_declaration", "type_alias_declaration"})
FUNCTIONS: Final = frozenset(
    {"function_declaration", "function_signature", "generator_function_declaration"}
)
VARIABLES: Final = frozenset({"lexical_declaration", "variable_declaration"})


def parts_of(node: Node | None) -> list[Node]:
    """Return the named nodes in a list, such as that of parameters, without comments."""
    return [e for e in node.named_children if e.type != "comment"] if node is not None else []


def arguments_of(call: Node) -> list[Node]:
    return parts_of(call.child_by_field_name("arguments"))


def string_value(node: Node | None) -> str | None:
    """Return what a string literal says; `None` for any other expression.

    A template counts where nothing is inserted into it. Escapes are left as they are written.
    """
    if node is None or node.type not in {"string", "template_string"} or node.text is None:
        return None
    if any(each.type == "template_substitution" for each in node.children):
        return None
    return node.text.decode("utf-8", "replace")[1:-1]


_MAX_BYTES: Final = 2_000_000
# A string is matched first, so that what looks like a comment in it stays. What never closes is
# matched to its end, so that nothing is read twice.
_STRING = r'"(?:[^"\\\n]++|\\.)*+"?'
_STRING_OR_COMMENT = re.compile(rf"{_STRING}|//[^\n]*+|/\*(?:.*?\*/|.*)", re.DOTALL)
_STRING_OR_COMMA = re.compile(rf"{_STRING}|,(?=\s*[}}\]])", re.DOTALL)


def read_table(text: str | None) -> Table | None:
    """Return the object that the text holds; `None` if it holds anything else."""
    if text is None or len(text) > _MAX_BYTES:
        return None
    for form in (str, _plain):
        try:
            value = json.loads(form(text))
        except (ValueError, RecursionError):
            continue
        return value if isinstance(value, dict) else None
    return None


def _plain(text: str) -> str:
    bare = _STRING_OR_COMMENT.sub(_keep_string, text.removeprefix("\ufeff"))
    return _STRING_OR_COMMA.sub(_keep_string, bare)


def _keep_string(found: re.Match[str]) -> str:
    return found[0] if found[0].startswith('"') else " "


def text_at(parent: Table, key: str) -> str:
    """Return the text under a key; the empty string where there is none."""
    value = parent.get(key)
    return value if isinstance(value, str) else ""


def texts_in(value: object) -> tuple[str, ...]:
    """Return the texts of a list, or the one text; nothing of any other value."""
    if isinstance(value, str):
        return (value,)
    return tuple(e for e in value if isinstance(e, str)) if isinstance(value, list) else ()


_MODULES: Final = """
    assert async_hooks buffer child_process cluster console constants crypto dgram
    diagnostics_channel dns domain events fs http http2 https inspector module net os path
    perf_hooks process punycode querystring readline repl stream string_decoder sys timers tls
    trace_events tty url util v8 vm wasi worker_threads zlib
"""
_BUILTIN: Final = frozenset(_MODULES.split())
_PREFIXES: Final = ("node:", "bun:", "deno:", "cloudflare:", "astro:", "virtual:", "data:")


def is_builtin(specifier: str) -> bool:
    """Return whether a runtime has the module by itself, or a bundler makes it."""
    if specifier.startswith(_PREFIXES) or specifier == "bun" or "://" in specifier:
        return True
    return specifier.split("/", 1)[0] in _BUILTIN


MANIFEST: Final = "package.json"
LOCKS: Final = (
    "package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "yarn.lock", "bun.lock",
)  # fmt: skip
_TABLES: Final = (
    "dependencies", "devDependencies", "optionalDependencies", "peerDependencies", "overrides",
    "resolutions",
)  # fmt: skip
_PACKAGE_NAME = re.compile(r"(?:@[a-z0-9~_][\w.~-]*/)?[A-Za-z0-9_][\w.~-]*")


class Tree(Protocol):
    """Represent the files of a repository at one point of a plan."""

    def has_file(self, path: str) -> bool:
        """Return whether the file is there, or may be."""

    def has_folder(self, path: str) -> bool:
        """Return whether a file below the folder is there, or may be."""

    def text(self, path: str) -> str | None:
        """Return the text of a file; `None` if it is not there or not known."""

    @property
    def paths(self) -> Iterable[str]:
        """Return the paths of all files that are surely there."""


@dataclass(frozen=True, slots=True)
class PackageManifest:
    """Hold what one `package.json` says. `folder` is empty for the root, else ends in a slash.

    `is_module` says whether its `.js` files are ES modules.
    """

    folder: str
    name: str
    is_module: bool
    scripts: Mapping[str, str]
    packages: frozenset[str]
    table: Table


def read_manifest(path: str, text: str | None) -> PackageManifest | None:
    """Return what the manifest at `path` says; `None` if it cannot be read."""
    said = read_table(text)
    if said is None:
        return None
    scripts = {k: v for k, v in table(said, "scripts").items() if isinstance(v, str)}
    packages = frozenset(name for key in _TABLES for name in table(said, key))
    folder, is_module = path.removesuffix(MANIFEST), said.get("type") == "module"
    return PackageManifest(folder, text_at(said, "name"), is_module, scripts, packages, said)


def manifest_paths(importer: str) -> Iterable[str]:
    """Yield where a manifest may stand that counts for a file, the nearest first."""
    folder = importer.rpartition("/")[0]
    while folder:
        yield f"{folder}/{MANIFEST}"
        folder = folder.rpartition("/")[0]
    yield MANIFEST


def nearest_manifest(tree: Tree, importer: str) -> PackageManifest | None:
    """Return the manifest that counts for a file; `None` if there is none to be read."""
    for path in manifest_paths(importer):
        if tree.has_file(path):
            return read_manifest(path, tree.text(path))
    return None


def package_of(specifier: str) -> str:
    """Return the package of `react/jsx-runtime`; empty if it is not a package's name."""
    parts = specifier.split("/")
    name = "/".join(parts[: 2 if specifier.startswith("@") else 1])
    return name if _PACKAGE_NAME.fullmatch(name) else ""


def is_locked(package: str, locks: Iterable[str]) -> bool:
    """Return whether one of the lock files' texts names the package, which may be another's."""
    name = re.escape(package)
    mark = re.compile(
        rf'(?:node_modules/|["\'\s/]|^){name}(?:["\']\s*:|@[\w"\':.~^(])', re.MULTILINE
    )
    return any(mark.search(text) for text in locks)


_LOADS: Final = re.compile(rb"(?:require|import)\s*\(")


def _returned(node: Node) -> Iterator[tuple[Node, str]]:
    """Yield what a function returns, with `undefined`."""
    value: Node | None = None
    if node.type == "return_statement" and node.named_children:
        value = node.named_children[0]
    elif node.type == "arrow_function":
        body = node.child_by_field_name("body")
        value = body if body is not None and body.type != "statement_block" else None
    if value is not None and value.type != "comment":
        yield value, "undefined"


def _is_left_out(node: Node) -> bool:
    """Return whether a node names a module, is a directive, or is for the type checker alone."""
    match node.type:
        case "call_expression":
            return _LOADS.match(node.text or b"") is not None
        case "expression_statement":
            return bool(node.named_children) and node.named_children[0].type == "string"
        case "export_statement":
            return node.child_by_field_name("source") is not None
        case _:
            return False


_TABLE: Final = TreeMutations(
    grammar=grammar_of,
    left_out=frozenset(
        {"import_statement", "type_annotation", "type_alias_declaration", "interface_declaration",
         "type_arguments", "type_parameters", "literal_type", "ambient_declaration",
         "object_type", "union_type", "jsx_text", "regex"}
    ),
    removed=frozenset(
        {"expression_statement", "throw_statement", "break_statement", "continue_statement"}
    ),
    nothing=";",
    unbuilt=re.compile(r"\berror TS\d+: |^SyntaxError: ", re.MULTILINE),
    returned=_returned,
    is_left_out=_is_left_out,
)  # fmt: skip

find_mutations = _TABLE.find_mutations
why_useless = _TABLE.why_useless
is_unbuilt = _TABLE.is_unbuilt
batched = _TABLE.batched
