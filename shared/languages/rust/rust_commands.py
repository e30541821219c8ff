"""Reads what `cargo` commands run, which tests, and whether they can fail."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Final

from shared.languages.declared.declarations import (
    TestFunction,
    failing_text,
    name_of,
    read_root,
    text_of,
    tokens_of,
    walk,
)
from shared.languages.language_tools import BLANK_LINE, Tool
from shared.languages.planned_code import REHEARSED, CannotRun, PlannedFiles, Rehearsal
from shared.languages.read_commands import program_words, split_flags

if TYPE_CHECKING:
    from tree_sitter import Node

    from shared.languages.language_tools import ToolResult
    from shared.languages.read_commands import Command


_SHORT_VERBS: Final = {"t": "test", "b": "build", "c": "check", "r": "run", "d": "doc"}
_LEAVES_NOTHING: Final = frozenset(
    {"", "test", "nextest", "bench", "check", "clippy", "fmt", "tree", "metadata", "doc"}
)
_WITH_VALUE: Final = frozenset(
    {"p", "package", "exclude", "j", "jobs", "bin", "example", "test", "bench", "F", "features",
     "target", "target-dir", "manifest-path", "message-format", "profile", "color", "config", "Z",
     "lockfile-path", "C"}
)  # fmt: skip
_OF_THE_RUNNER: Final = frozenset(
    {"test-threads", "skip", "format", "color", "logfile", "report-time", "shuffle-seed", "Z"}
)
_LIBTEST: Final = _OF_THE_RUNNER | {
    "bench", "ensure-time", "exact", "exclude-should-panic", "force-run-in-process", "h", "help",
    "ignored", "include-ignored", "list", "no-capture", "nocapture", "q", "quiet", "show-output",
    "shuffle", "test",
}  # fmt: skip
_TOOLCHAIN: Final = "+"


@dataclass(frozen=True, slots=True)
class CargoCommand:
    """Hold the verb of a `cargo` command, its flags without hyphens, and what it names.

    `targets` are the values of `--test`. `filters` choose tests by parts of their names, before or
    behind `--`, and `runner` are the flags behind it.
    """

    verb: str
    flags: dict[str, str] = field(default_factory=dict)
    targets: tuple[str, ...] = ()
    filters: tuple[str, ...] = ()
    runner: dict[str, str] = field(default_factory=dict)

    @property
    def folder(self) -> str:
        """Return the folder of the crate that the command is for, as far as its words say."""
        manifest = self.flags.get("manifest-path", "")
        folder = posixpath.join(self.flags.get("C", ""), posixpath.dirname(manifest))
        folder = posixpath.normpath(folder)
        return "" if folder == "." else folder

    @property
    def paths(self) -> tuple[str, ...]:
        """Return the files that have to be there, as far as the words say."""
        return (self.flags["manifest-path"],) if self.flags.get("manifest-path") else ()


def read_cargo_command(words: Sequence[str]) -> CargoCommand:
    """Return what `cargo` does with these arguments. Never raises."""
    at = words.index("--") if "--" in words else len(words)
    own = _options(words[:at], _WITH_VALUE)
    plain = [e.value for e in own if not e.name and not e.value.startswith(_TOOLCHAIN)]
    targets = tuple(each.value for each in own if each.name == "test")
    verb = plain[0] if plain else ""
    verb = _SHORT_VERBS.get(verb, verb)
    is_test = verb in ("test", "nextest", "bench")
    behind = _options(words[at + 1 :], _OF_THE_RUNNER) if is_test else []
    filters = (*plain[1:], *(each.value for each in behind if not each.name)) if is_test else ()
    flags, runner = ({e.name: e.value for e in found if e.name} for found in (own, behind))
    return CargoCommand(verb, flags, targets, filters, runner)


@dataclass(frozen=True, slots=True)
class _Option:
    """Hold an option without its hyphens and its value, and the words that say so.

    A word that is no option is the value of "".
    """

    name: str
    value: str
    words: tuple[str, ...]


def _options(words: Sequence[str], with_value: Collection[str]) -> list[_Option]:
    """Return the options among words; those of `-qvp game`, of one letter, each by itself."""
    found: list[_Option] = []
    rest = iter(words)
    for word in rest:
        letters = "" if word.startswith("--") or not word.startswith("-") else word[1:]
        while len(letters) > 1 and letters[0] not in with_value:
            found.append(_Option(letters[0], "", (f"-{letters[0]}",)))
            letters = letters[1:]
        if len(letters) > 1:  # `-j4`
            value = letters[1:].removeprefix("=")
            found.append(_Option(letters[0], value, (f"-{letters}",)))
            continue
        written = f"-{letters}" if letters else word
        name, value = next(split_flags((written,), ()))
        after = tuple(islice(rest, 1)) if name in with_value and "=" not in written else ()
        found.append(_Option(name, after[0] if after else value, (written, *after)))
    return found


def makes_files(argv: Sequence[str]) -> bool:
    """Return whether a command line of `cargo` or `rustc` may leave files that others run."""
    if "cargo" not in argv:
        return True
    return read_cargo_command(argv[argv.index("cargo") + 1 :]).verb not in _LEAVES_NOTHING


_TEST: Final = re.compile(r"#\[\s*(?:\w+\s*::\s*)*(?:test|rstest|test_case|quickcheck)\b(?!\s*=)")
# Attributes that make no test of a function.
_PLAIN: Final = re.compile(
    r"#\[\s*(?:(?:allow|bench|cfg|cold|deny|deprecated|doc|expect|export_name|forbid|ignore|inline"
    r"|must_use|no_mangle|should_panic|target_feature|track_caller|unsafe|warn)\b"
    r"|(?:\w+\s*::\s*)*(?:instrument|main|skip)\b)"
)
_IGNORE: Final = re.compile(r"#\[\s*ignore\b")
_PANICS: Final = re.compile(r"#\[\s*should_panic\b")
_FINE: Final = re.compile(r"Ok (?::: < .*> )?\( \( \) \)", re.DOTALL)
_UNWRAPS: Final = frozenset({"unwrap", "expect", "unwrap_err", "expect_err", "exit"})
_MAX_DEPTH: Final = 20  # of modules within each other
_QUIET: Final = frozenset({"println", "print", "eprintln", "eprint", "dbg", "format", "vec"})


@lru_cache(maxsize=64)
def test_functions(text: str) -> tuple[TestFunction, ...] | None:
    """Return the tests of a file in their order.

    They are not known, and the result is `None`, if the file cannot be read, macros may make tests,
    or modules have files of their own.
    """
    root = _root(text)
    if root is None or root.has_error or _may_have_more(root.named_children, _MAX_DEPTH):
        return None
    functions = (each for each in walk(root) if each.type == "function_item")
    failing = frozenset(name_of(each) for each in functions if _can_fail(each, frozenset()))
    return tuple(_functions(root.named_children, "", failing, _MAX_DEPTH))


def asserting_text(path: str, text: str, product: Collection[str]) -> str:
    """Return what `Plans.asserting_text` does; tests that macros make are taken to assert."""
    tests = test_functions(text)
    return failing_text(_root(text), [TestFunction("", False, True)] if tests is None else tests)


def _root(text: str) -> Node | None:
    import tree_sitter_rust

    return read_root(tree_sitter_rust.language, text)


def taken(
    tests: Iterable[TestFunction],
    filters: Sequence[str],
    *,
    exact: bool = False,
    only_ignored: bool = False,
    with_ignored: bool = False,
    skip: str = "",
) -> list[TestFunction]:
    """Return the tests that a run takes."""
    return [
        each
        for each in tests
        if (not filters or any(f == each.name if exact else f in each.name for f in filters))
        and not (skip and skip in each.name)
        and (each.skipped if only_ignored else with_ignored or not each.skipped)
    ]


def _with_attributes(nodes: Sequence[Node]) -> Iterator[tuple[Node, list[str]]]:
    """Yield the items among nodes, each with the attributes above it."""
    attributes: list[str] = []
    for node in nodes:
        if node.type == "attribute_item":
            attributes.append(text_of(node))
        elif not node.type.endswith("comment"):
            yield node, attributes
            attributes = []


def _may_have_more(nodes: Sequence[Node], depth: int) -> bool:
    """Return whether there may be tests among nodes that their text does not show."""
    for node, attributes in _with_attributes(nodes):
        inner = node.named_children[0] if node.type == "expression_statement" else node
        if inner.type == "macro_invocation":
            return True
        if node.type == "mod_item":
            body = node.child_by_field_name("body")
            if body is None or not depth or _may_have_more(body.named_children, depth - 1):
                return True
        is_test = any(map(_TEST.match, attributes))
        if node.type == "function_item" and not is_test and not all(map(_PLAIN.match, attributes)):
            return True
    return False


def _functions(
    nodes: Sequence[Node], around: str, failing: frozenset[str], depth: int
) -> Iterator[TestFunction]:
    """Yield the tests among nodes; functions of the file that are `failing` assert something."""
    for node, attributes in _with_attributes(nodes):
        name = name_of(node)
        body = node.child_by_field_name("body")
        if node.type == "mod_item" and body is not None and depth:
            yield from _functions(body.named_children, f"{around}{name}::", failing, depth - 1)
        elif node.type == "function_item" and any(map(_TEST.match, attributes)):
            panics = any(map(_PANICS.match, attributes))
            can_fail = panics or _can_fail(node, failing) or _may_return_error(node)
            skipped, at = any(map(_IGNORE.match, attributes)), (node.start_byte, node.end_byte)
            yield TestFunction(f"{around}{name}", skipped, can_fail, at)


def _may_return_error(test: Node) -> bool:
    """Return whether a test returns anything else than `Ok(())`."""
    body, kind = test.child_by_field_name("body"), test.child_by_field_name("return_type")
    if body is None or tokens_of(kind) in ("", "( )"):
        return False
    returned = [each for each in walk(body) if each.type == "return_expression"]
    values = [tokens_of(each).removeprefix("return").strip() for each in returned]
    last = [each for each in body.named_children if "comment" not in each.type][-1:]
    values += [text for text in map(tokens_of, last) if not text.endswith(";")]
    return any(not _FINE.fullmatch(each.removeprefix("return ")) for each in values)


def _can_fail(function: Node, failing: frozenset[str]) -> bool:
    body = function.child_by_field_name("body")
    if body is None:
        return False
    returns = "Result" in tokens_of(function.child_by_field_name("return_type"))
    for node in walk(body):
        if node.type == "macro_invocation":
            # `assert!`, `panic!` and what nobody knows.
            if text_of(node.child_by_field_name("macro")).rpartition("::")[2] not in _QUIET:
                return True
        elif node.type == "try_expression" and returns:
            return True
        elif node.type == "field_expression":
            if text_of(node.child_by_field_name("field")) in _UNWRAPS:
                return True
        elif node.type == "call_expression":
            # Another function may assert something, such as `check(...)` of another file.
            called = text_of(node.child_by_field_name("function"))
            if called in failing or re.search(r"(?:assert|check|verify|expect|exit)\w*$", called):
                return True
    return False


TOOLS: Final = (
    Tool(  # rustc
        head=re.compile(
            r"(?P<message>error(?:\[E\d+\])?: "
            r"(?!aborting due|could not compile|test failed|\d+ targets? failed).*)$"
        ),
        end=BLANK_LINE,
        place=re.compile(r"\s*--> (?P<path>[^\s:]+):(?P<line>\d+):\d+$"),
        proof=re.compile(r"\s*--> "),
        told=re.compile(r"\s*\d* ?\|.*?[\^-]+ (?P<told>\w.*)$"),
    ),
    Tool(  # a panic of rust
        head=re.compile(
            r"thread '(?P<message>.*)' panicked at (?P<path>[^\s:]+):(?P<line>\d+):.*$"
        ),
        end=re.compile(r"stack backtrace:|note: |\s*$"),
        told=re.compile(r"(?P<told>.*)$"),
    ),
)


def version_argv(packages: Sequence[str], *, sees: bool = True) -> tuple[str, ...]:
    return ("cargo", "--version")


_EDITION: Final = re.compile(r'^\s*edition\s*=\s*"(\d{4})"', re.MULTILINE)
_TEST_OF_NOTHING: Final = "#[test]\nfn nothing() {}\n"
# These choose among what the project has, or bind it to its lock; an empty crate has neither.
_OF_THE_PROJECT: Final = frozenset(
    {"p", "package", "exclude", "bin", "bins", "example", "examples", "test", "bench", "benches",
     "F", "features", "manifest-path", "C", "locked", "frozen", "lockfile-path", "target-dir",
     "profile"}
)  # fmt: skip
_OWN_VERBS: Final = frozenset(
    {*_SHORT_VERBS.values(), "bench", "add", "clean", "fetch", "fix", "generate-lockfile", "help",
     "init", "install", "locate-project", "metadata", "new", "package", "pkgid", "publish",
     "remove", "report", "rustc", "rustdoc", "search", "tree", "uninstall", "update", "vendor",
     "verify-project", "version"}
)  # fmt: skip
_CONFIG: Final = ".cargo/config.toml"
_NOT_THERE: Final = re.compile(r"no such (?:sub)?command|is not installed|unknown proxy")
_SAID: Final = re.compile(r"^error\b.*", re.MULTILINE)


def rehearsal(command: Command, planned: PlannedFiles) -> Rehearsal | None:
    """Return `cargo test` with the command's flags, on an empty crate without dependencies.

    Of another command, it is asked whether Cargo has that.
    """
    words = program_words(command) or ()
    read = read_cargo_command(words)
    if command.argv[:1] != ("cargo",) or not read.verb:
        return None
    toolchain = tuple(each for each in words[:1] if each.startswith(_TOOLCHAIN))
    if read.verb not in _OWN_VERBS:
        if planned.may_write("config.toml") or read.verb in (planned.repo.get(_CONFIG) or ""):
            return None  # it may be an alias for anything
        return Rehearsal(("cargo", *toolchain, read.verb, "--version"), {}, _refusal(_NOT_THERE))
    if read.verb != "test":
        return None
    manifest = planned.repo.get("Cargo.toml") if "Cargo.toml" in planned.listing else None
    edition = _EDITION.search(manifest or "")
    head = f'[package]\nname = "{REHEARSED}"\nversion = "0.1.0"\n'
    head += f'edition = "{edition[1] if edition else "2021"}"\n\n[workspace]\n'
    files = {f"{REHEARSED}/Cargo.toml": head, f"{REHEARSED}/src/lib.rs": _TEST_OF_NOTHING}
    place = ("--offline", "--manifest-path", f"{REHEARSED}/Cargo.toml")
    argv = ("cargo", *toolchain, "test", *place, *_tried_words(words))
    return Rehearsal(argv, files, _refusal(_SAID))


def _tried_words(words: Sequence[str]) -> Iterator[str]:
    """Yield the words of the options that an empty crate can be tested with, as they are written.

    A target without libtest (`harness = false`) takes options of its own behind `--`.
    """
    at = words.index("--") if "--" in words else len(words)
    own = _options(words[:at], _WITH_VALUE)
    yield from _words_without(own, _OF_THE_PROJECT)
    behind = _options(words[at + 1 :], _OF_THE_RUNNER)
    if all(not each.name or each.name in _LIBTEST for each in behind):
        tried = tuple(_words_without(behind, {"skip"}))
        yield from ("--", *tried) if tried else ()


def _words_without(options: Iterable[_Option], names: Collection[str]) -> Iterator[str]:
    return (word for e in options if e.name and e.name not in names for word in e.words)


def _refusal(certain: re.Pattern[str]) -> Callable[[ToolResult], CannotRun | None]:
    """Return what reads the words of a run that failed; without `certain` ones, nothing is said."""

    def refusal(done: ToolResult) -> CannotRun | None:
        said = f"{done.stderr}\n{done.stdout}"
        if not done.exit_code or not certain.search(said):
            return None
        found = _SAID.search(said)
        return CannotRun("E402", found[0] if found else said.strip().partition("\n")[0])

    return refusal
