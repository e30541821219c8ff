"""Reads the tests in a file, and which of them a command chooses."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from shared.languages.declared.declarations import name_of, text_of, text_without, walk
from shared.languages.ecmascript.assertions import assertions_in, can_fail, weakness_of_assertions
from shared.languages.ecmascript.definitions import imported_names
from shared.languages.ecmascript.ecmascript_syntax import (
    SUFFIXES,
    Tree,
    find_fault,
    is_builtin,
    is_declaration,
    is_test_file,
    string_value,
    suffix_of,
    tree_of,
)
from shared.languages.ecmascript.node_commands import Runner, TestRun
from shared.languages.read_commands import Weakness

if TYPE_CHECKING:
    from tree_sitter import Node


_SUITES: Final = frozenset({"describe", "suite", "context"})
_TESTS: Final = frozenset({"test", "it", "specify"})
_SKIPPED_NAMES: Final = frozenset({"xit", "xtest", "xdescribe", "xcontext", "xspecify"})
_FOCUSED_NAMES: Final = {"fit": "it", "fdescribe": "describe", "ftest": "test"}
_SKIPS: Final = frozenset({"skip", "todo"})
_MODIFIERS: Final = frozenset(
    {*_SKIPS, "only", "concurrent", "sequential", "failing", "fails", "serial"}
)
_CONDITIONS: Final = frozenset({"skipIf", "runIf", "each", "for"})
_CONTEXTS: Final = frozenset({"t", "ctx", "context", "this"})
_FUNCTIONS: Final = frozenset(
    {"arrow_function", "function_expression", "generator_function", "function"}
)
_NAMED: Final = frozenset({"function_declaration", "variable_declarator", "method_definition"})
# Calls whose results are dropped or passed on. A test's calls of these packages assert nothing, or
# have a name that says that they do.
_DROPS: Final = frozenset({"expression_statement", "return_statement", "arrow_function"})
_IDLE_PACKAGES: Final = re.compile(
    r"(?:vitest|mocha|sinon|chai|react|react-dom|@jest|@testing-library)(?:/|$)"
)
_MAX_DEPTH: Final = 60  # of suites and functions within each other


@dataclass(frozen=True, slots=True)
class TestCase:
    """Represent one test. `title` holds those of the suites around it, separated by spaces.

    `title` is `None` if code makes it. `is_skipped` says that the test is never run. `at` are the
    bytes of its call.
    """

    title: str | None
    is_skipped: bool
    is_focused: bool
    body: Node | None
    at: tuple[int, int]


def cases_of(root: Node) -> tuple[TestCase, ...]:
    """Return the tests of a file in their order; those that a loop makes count as one."""
    return tuple(_below(root, "", is_skipped=False, is_focused=False, depth=_MAX_DEPTH))


def _below(
    node: Node, title: str | None, *, is_skipped: bool, is_focused: bool, depth: int
) -> Iterator[TestCase]:
    for call in _outer_calls(node):
        words = _words(call)
        if not words:
            continue
        name, *modifiers = words
        own = _title(call)
        whole = None if title is None or own is None else f"{title} {own}".strip()
        if {"each", "for"} & set(modifiers):
            whole = None
        body = _body(call)
        skipped = is_skipped or name in _SKIPPED_NAMES or bool(_SKIPS & set(modifiers))
        skipped = skipped or _is_switched_off(call)
        focused = is_focused or "only" in modifiers or name in _FOCUSED_NAMES
        if _plain(name) in _SUITES:
            if body is not None and depth:
                yield from _below(
                    body, whole, is_skipped=skipped, is_focused=focused, depth=depth - 1
                )
            continue
        skipped = skipped or body is None or _skips_itself(body)
        yield TestCase(whole, skipped, focused, body, (call.start_byte, call.end_byte))


def asserting_text(path: str, text: str) -> str:
    """Return what `Plans.asserting_text` does."""
    root = tree_of(path, text)
    if root is None or find_fault(root) is not None:
        return ""
    foreign = _foreign(path, root)
    named = [each for each in walk(root) if each.type in _NAMED]
    failing = {name_of(each) for each in named if can_fail(each) or _calls(each, foreign)}
    cases = cases_of(root)
    idle = [e.at for e in cases if e.is_skipped or not _may_fail(e.body, failing, foreign)]
    nothing = len(idle) == len(cases) if cases else not can_fail(root)
    return "" if nothing else text_without(root, idle)


def _foreign(path: str, root: Node) -> frozenset[str]:
    """Return the names that are imported from files of tests, and from packages."""
    folder = posixpath.dirname(path)
    found: set[str] = set()
    for each in (name for node in root.named_children for name in imported_names(node, 0, 0)):
        specifier = re.sub(r"^require\(|[\"')]", "", each.source)
        file = posixpath.normpath(posixpath.join(folder, specifier))
        if specifier.startswith("."):
            is_foreign = is_test_file(file if suffix_of(file) in SUFFIXES else f"{file}.js")
        else:
            is_foreign = not (is_builtin(specifier) or _IDLE_PACKAGES.match(specifier))
        found |= {each.name} if is_foreign and not _is_test(each.name) else set()
    return frozenset(found)


def _calls(root: Node, foreign: Collection[str]) -> bool:
    """Return whether code calls one of these names for its effect alone: it may assert."""
    for node in walk(root) if foreign else ():
        above = node.parent
        while above is not None and above.type == "await_expression":
            above = above.parent
        if node.type == "call_expression" and above is not None and above.type in _DROPS:
            called: Node | None = node
            while called is not None and called.type in {"call_expression", "member_expression"}:
                is_call = called.type == "call_expression"
                called = called.child_by_field_name("function" if is_call else "object")
            if text_of(called) in foreign:
                return True
    return False


def _may_fail(body: Node | None, failing: Collection[str], foreign: Collection[str]) -> bool:
    """Return whether a test can fail, itself or by a function of the file that is `failing`."""
    if body is None or body.type not in _FUNCTIONS:
        return body is not None
    if _calls(body, foreign) or any(
        each.type == "identifier" and text_of(each) in failing for each in walk(body)
    ):
        return True
    weak = weakness_of_assertions(assertions_in(body))
    return can_fail(body) and (weak is None or weak.code != "W232")


def _plain(name: str) -> str:
    if name in _SKIPPED_NAMES:
        return name[1:]
    return _FOCUSED_NAMES.get(name, name)


def _outer_calls(node: Node) -> Iterator[Node]:
    """Yield the calls that declare tests or suites, without those within each other."""
    waiting = list(reversed(node.children))
    while waiting:
        each = waiting.pop()
        if each.type == "call_expression" and _words(each):
            yield each
        else:
            waiting += reversed(each.children)


def _words(call: Node) -> list[str]:
    """Return `["test", "skip"]` of `test.skip(...)`; nothing of any other call."""
    function = call.child_by_field_name("function")
    if function is not None and function.type == "call_expression":  # `test.each(...)(...)`
        inner = function.child_by_field_name("function")
        parts = text_of(inner).split(".")
        return parts if len(parts) > 1 and _CONDITIONS & set(parts) and _is_test(parts[0]) else []
    if function is None or function.type not in {"identifier", "member_expression"}:
        return []
    parts = text_of(function).split(".")
    if len(parts) > 1 and parts[-1] in _CONDITIONS:
        return []
    return parts if _is_test(parts[0]) and _MODIFIERS.issuperset(parts[1:]) else []


def _is_test(name: str) -> bool:
    return _plain(name) in _SUITES | _TESTS


def _arguments(call: Node) -> list[Node]:
    arguments = call.child_by_field_name("arguments")
    return list(arguments.named_children) if arguments is not None else []


def _title(call: Node) -> str | None:
    given = _arguments(call)
    return string_value(given[0]) if given else None


def _body(call: Node) -> Node | None:
    given = [each for each in _arguments(call) if each.type != "comment"]
    functions = [each for each in given if each.type in _FUNCTIONS]
    if functions:
        return functions[-1]
    # A function that is named, or made by a call, may do anything.
    others = [each for each in given[1:] if each.type in {"identifier", "call_expression"}]
    return others[-1] if others else None


def _is_switched_off(call: Node) -> bool:
    """Say whether the options of `node:test` or vitest skip the test whatever happens."""
    for given in _arguments(call):
        for pair in given.named_children if given.type == "object" else ():
            key, value = (pair.child_by_field_name(field) for field in ("key", "value"))
            if text_of(key) in _SKIPS and value is not None:
                return value.type in {"true", "string"} or text_of(value) == "1"
    return False


def _skips_itself(body: Node) -> bool:
    """Say whether a test begins with `t.skip()` or `this.skip()`."""
    block = body.child_by_field_name("body")
    first = next((e for e in block.named_children if e.type != "comment"), None) if block else None
    if first is None or first.type not in {"expression_statement", "return_statement"}:
        return False
    call = first.named_children[0] if first.named_children else None
    called = text_of(call.child_by_field_name("function")) if call else ""
    owner, _, member = called.partition(".")
    return owner in _CONTEXTS and member in _SKIPS


MAGIC = re.compile(r"[*?\[\]{}()!+@]")
_MAX_PATTERN: Final = 200  # characters of a pattern that is tried
# Where runners look without a pattern: what `node --test` and `jest` document.
_NODE_NAMES = re.compile(
    r"(?:^|/)(?:test\.[^/]+|test-[^/]*|[^/]*[.\-_]test\.[^/.]+)$|(?:^|/)test/.*"
)
_SPEC_NAMES = re.compile(r"\.(?:test|spec)\.[^/.]+$|(?:^|/)__tests__/")
_MOCHA_NAMES = re.compile(r"^test/[^/]+$")
_DEFAULTS: Final = {
    Runner.NODE: _NODE_NAMES,
    Runner.JEST: re.compile(_SPEC_NAMES.pattern + r"|(?:^|/)(?:test|spec)\.[^/.]+$"),
    Runner.VITEST: re.compile(r"\.(?:test|spec)\.[^/.]+$"),
    Runner.BUN: re.compile(r"[._](?:test|spec)\.[^/.]+$"),
    Runner.MOCHA: _MOCHA_NAMES,
}
# Their own configuration may say where tests are.
_CONFIGURED: Final = {
    Runner.JEST: ("jest.config.", "package.json"),
    Runner.VITEST: ("vitest.config.", "vite.config.", "vitest.workspace."),
    Runner.MOCHA: (".mocharc", "package.json"),
}


@dataclass(frozen=True, slots=True)
class Chosen:
    """Hold the test files of a command, and the patterns that match nothing.

    `is_known` is false where another file may decide what is run.
    """

    files: tuple[str, ...]
    unmatched: tuple[str, ...]
    is_known: bool = True


def chosen_files(run: TestRun, tree: Tree) -> Chosen:
    """Return the files that a test command chooses at one point of a plan."""
    candidates = sorted(each for each in tree.paths if _may_hold_tests(each))
    if run.patterns:
        matching = {e: [*_matching(run.runner, e, candidates, tree)] for e in run.patterns}
        found = dict.fromkeys(path for each in matching.values() for path in each)
        unmatched = tuple(each for each in run.patterns if not matching[each])
        return Chosen(tuple(found), unmatched, run.is_exact)
    names = _CONFIGURED.get(run.runner, ())
    configured = any(posixpath.basename(path).startswith(names) for path in tree.paths)
    files = tuple(filter(_DEFAULTS[run.runner].search, candidates))
    return Chosen(files, (), run.is_exact and not configured)


def _may_hold_tests(path: str) -> bool:
    parts = path.split("/")
    return suffix_of(path) in SUFFIXES and not is_declaration(path) and "node_modules" not in parts


def _matching(runner: Runner, pattern: str, candidates: Iterable[str], tree: Tree) -> Iterator[str]:
    plain = posixpath.normpath(pattern.removeprefix("./")) if pattern else ""
    if len(pattern) > _MAX_PATTERN or pattern.startswith(("-", "!", "/", "..")):
        yield pattern  # nothing certain can be said of it
        return
    folder = f"{plain}/" if plain not in {"", "."} else ""
    if runner in {Runner.NODE, Runner.MOCHA} and not MAGIC.search(pattern):
        if tree.has_file(plain):
            yield plain
        yield from (each for each in candidates if each.startswith(folder) and each != plain)
        return
    if runner in {Runner.VITEST, Runner.BUN}:
        # `vitest run a.test.ts:7` runs the test in that line.
        wanted = re.sub(r":\d+$", "", pattern.removeprefix("./")).casefold()
        yield from (each for each in candidates if wanted in each.casefold())
    elif runner is Runner.JEST:
        shape = _compiled(pattern)
        yield from (each for each in candidates if shape is None or shape.search(f"/{each}"))
    else:
        shape = glob_shape(plain)
        yield from (each for each in candidates if shape is None or shape.fullmatch(each))


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> re.Pattern[str] | None:
    """Return a pattern of JavaScript as Python reads it; `None` if it reads it otherwise."""
    if re.search(r"\(\?|[*+?}]\+|[)}\]][*+{]", pattern) or len(pattern) > _MAX_PATTERN:
        return None  # of other meaning, or slow
    try:
        return re.compile(pattern, re.IGNORECASE)
    except re.error:
        return None


_IN_GLOBS: Final = {
    "**/": r"(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]", "{": "(?:", "}": ")",
}  # fmt: skip


@lru_cache(maxsize=256)
def glob_shape(pattern: str) -> re.Pattern[str] | None:
    """Return the regular expression of a glob; `None` of one that is not understood."""
    if re.search(r"[@+!]\(|\[!|\(", pattern) or pattern.count("*") > 8:
        return None
    shape = ""
    for part in re.findall(r"\*\*/|\*\*|.", pattern, re.DOTALL):
        # Within braces, which the shape has as an open group, commas separate alternatives.
        is_listed = part == "," and shape.count("(?:") > shape.count(")")
        shape += "|" if is_listed else _IN_GLOBS.get(part, re.escape(part))
    try:
        return re.compile(shape)
    except re.error:
        return None


def weakness_of_run(run: TestRun, tree: Tree) -> Weakness | None:
    """Return why a test command succeeds and proves little, if the files show a reason."""
    if run.only_lists:
        return None  # its text says so already
    chosen = chosen_files(run, tree)
    if not chosen.is_known:
        return None
    if any(not MAGIC.search(each) for each in chosen.unmatched) and run.runner is Runner.NODE:
        return None  # the runner fails where a file that is named is missing
    if not chosen.files and run.passes_empty:
        return Weakness("W232", "chooses no test file, and succeeds without any")
    if chosen.unmatched or not chosen.files:
        return None
    cases: list[TestCase] = []
    asserts = False
    for path in chosen.files:
        text = tree.text(path)
        root = tree_of(path, text) if text is not None else None
        if root is None or find_fault(root) is not None:
            return None  # the file is not written yet, or nothing can be said of it
        found, fails = cases_of(root), can_fail(root) or _calls(root, _foreign(path, root))
        if not found and fails:
            return None  # the file itself is the test
        asserts |= fails
        cases += found
    return _weakness_of_cases(cases, run, asserts=asserts)


def _weakness_of_cases(cases: list[TestCase], run: TestRun, *, asserts: bool) -> Weakness | None:
    if not cases:
        return Weakness("W232", "runs files without any test") if run.passes_empty else None
    chosen = [each for each in cases if _is_chosen(each, run.filters)]
    if not chosen:
        return Weakness("W232", "chooses no test: no title matches its filter")
    focused = [each for each in chosen if each.is_focused] if run.runner is not Runner.NODE else []
    alive = [each for each in focused or chosen if not each.is_skipped]
    if not alive:
        return Weakness("W232", "runs skipped tests only")
    bodies = [each.body for each in alive if each.body is not None]
    if any(each.type in {"identifier", "call_expression"} for each in bodies):
        return None
    if not asserts:
        return Weakness("W231", "runs tests that assert nothing")
    if not all(map(can_fail, bodies)):
        return None  # a function of the file may assert for them
    return weakness_of_assertions([each for body in bodies for each in assertions_in(body)])


def _is_chosen(case: TestCase, filters: tuple[str, ...]) -> bool:
    if not filters or case.title is None:
        return True
    shapes = [_compiled(each) for each in filters]
    return any(each is None or each.search(case.title) for each in shapes)
