"""Says which test files and tests a command chooses, and whether it chooses any."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from shared.languages.capabilities.commands import Weakness
from shared.languages.ecmascript.commands.runs import Runner, TestRun
from shared.languages.ecmascript.files import SUFFIXES, is_declaration, suffix_of
from shared.languages.ecmascript.packages import Tree
from shared.languages.ecmascript.proof.assertions import (
    assertions_in,
    can_fail,
    weakness_of_assertions,
)
from shared.languages.ecmascript.proof.cases import TestCase, cases_of
from shared.languages.ecmascript.syntax import find_fault, tree_of

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
        found: list[str] = []
        unmatched: list[str] = []
        for pattern in run.patterns:
            matching = list(_matching(run.runner, pattern, candidates, tree))
            found += matching
            if not matching:
                unmatched.append(pattern)
        return Chosen(tuple(dict.fromkeys(found)), tuple(unmatched), run.is_exact)
    default = _DEFAULTS[run.runner]
    configured = any(
        posixpath.basename(path).startswith(names)
        for names in (_CONFIGURED.get(run.runner, ()),)
        for path in tree.paths
    )
    files = tuple(each for each in candidates if default.search(each))
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
        wanted = pattern.removeprefix("./").casefold()
        yield from (each for each in candidates if wanted in each.casefold())
    elif runner is Runner.JEST:
        shape = _compiled(pattern)
        yield from (each for each in candidates if shape is None or shape.search(f"/{each}"))
    else:
        shape = glob_shape(plain)
        yield from (each for each in candidates if shape is None or shape.fullmatch(each))


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> re.Pattern[str] | None:
    """Return a pattern of JavaScript as Python reads it; `None` where it reads it otherwise."""
    if re.search(r"\(\?|[*+?}]\+|[)}\]][*+{]", pattern) or len(pattern) > _MAX_PATTERN:
        return None  # of other meaning, or slow
    try:
        return re.compile(pattern, re.IGNORECASE)
    except re.error:
        return None


@lru_cache(maxsize=256)
def glob_shape(pattern: str) -> re.Pattern[str] | None:
    """Return the regular expression of a glob; `None` of one that is not understood."""
    if re.search(r"[@+!]\(|\[!|\(", pattern) or pattern.count("*") > 8:
        return None
    shape = ""
    index = 0
    while index < len(pattern):
        if pattern.startswith("**/", index):
            shape, index = shape + r"(?:[^/]+/)*", index + 3
            continue
        if pattern.startswith("**", index):
            shape, index = shape + r".*", index + 2
            continue
        char = pattern[index]
        index += 1
        match char:
            case "*":
                shape += "[^/]*"
            case "?":
                shape += "[^/]"
            case "{":
                shape += "(?:"
            case "}":
                shape += ")"
            case ",":
                shape += "|" if shape.count("(?:") > shape.count(")") else ","
            case _:
                shape += re.escape(char)
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
        found, fails = cases_of(root), can_fail(root)
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
