"""Reads the command lines of test runners, and of the TypeScript compiler."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from shared.languages.ecmascript.commands.options import split_options
from shared.languages.ecmascript.commands.runs import CompilerRun, Run, Runner, TestRun, ToolRun

_SHOWS_ONLY: Final = ("-v", "--version", "-h", "--help", "--showConfig", "--init", "--all")
_VITEST_MODES: Final = frozenset({"run", "watch", "dev", "related", "bench", "list", "typecheck"})
_VITEST_VALUES: Final = frozenset(
    {"-t", "--testNamePattern", "-c", "--config", "-r", "--root", "--dir", "--reporter",
     "--project",
     "--environment", "--pool", "--testTimeout", "--retry", "--exclude", "--shard", "--mode",
     "--outputFile", "--bail", "--maxWorkers", "--coverage.provider"}
)  # fmt: skip
_JEST_VALUES: Final = frozenset(
    {"-t", "--testNamePattern", "-c", "--config", "--rootDir", "--env", "--testEnvironment",
     "--maxWorkers", "-w", "--testTimeout", "--reporters", "--selectProjects", "--shard",
     "--testPathPattern", "--testPathPatterns", "--testPathIgnorePatterns", "--coverageDirectory",
     "--outputFile", "--testMatch", "--testRegex", "--projects", "--roots"}
)  # fmt: skip
_MOCHA_VALUES: Final = frozenset(
    {"-g", "--grep", "-f", "--fgrep", "-r", "--require", "-R", "--reporter", "-t", "--timeout",
     "-u", "--ui", "--config", "--spec", "--ignore", "--extension", "--file", "-n", "--node-option",
     "--import", "-s", "--slow", "--retries", "-j", "--jobs", "--package"}
)  # fmt: skip
_ELSEWHERE: Final = (
    "-c", "--config", "-r", "--root", "--rootDir", "--dir", "--project", "--selectProjects",
    "--testMatch", "--testRegex", "--projects", "--roots", "--exclude", "--shard", "--changed",
    "--onlyChanged", "-o", "--onlyFailures", "--findRelatedTests", "--testPathIgnorePatterns",
    "-f", "--fgrep", "-i", "--invert", "--ignore", "--file", "--package",
)  # fmt: skip
_TSC_VALUES: Final = frozenset({"-p", "--project", "--outDir", "--target", "-t", "--module", "-m"})


def read_vitest(words: Sequence[str]) -> Run:
    """Return what `vitest` runs with these words."""
    split = split_options(words, _VITEST_VALUES)
    if split.has(*_SHOWS_ONLY):
        return ToolRun("vitest", shows_only=True)
    named = split.positional
    mode = named[0] if named and named[0] in _VITEST_MODES else ""
    return TestRun(
        Runner.VITEST,
        named[1:] if mode else named,
        split.values("-t", "--testNamePattern"),
        passes_empty=split.has("--passWithNoTests"),
        only_lists=mode == "list",
        is_exact=mode in {"", "run"} and not split.has(*_ELSEWHERE),
    )


def read_jest(words: Sequence[str]) -> Run:
    """Return what `jest` runs with these words."""
    split = split_options(words, _JEST_VALUES)
    if split.has(*_SHOWS_ONLY):
        return ToolRun("jest", shows_only=True)
    return TestRun(
        Runner.JEST,
        (*split.positional, *split.values("--testPathPattern", "--testPathPatterns")),
        split.values("-t", "--testNamePattern"),
        passes_empty=split.has("--passWithNoTests"),
        only_lists=split.has("--listTests"),
        is_exact=not split.has(*_ELSEWHERE),
    )


def read_mocha(words: Sequence[str]) -> Run:
    """Return what `mocha` runs with these words."""
    split = split_options(words, _MOCHA_VALUES)
    if split.has("-h", "--help", "-V", "--version"):
        return ToolRun("mocha", shows_only=True)
    return TestRun(
        Runner.MOCHA,
        (*split.positional, *split.values("--spec"), *split.rest),
        split.values("-g", "--grep"),
        passes_empty=split.has("--pass-on-failing-test-suite"),
        only_lists=split.has("--dry-run"),
        is_exact=not split.has(*_ELSEWHERE, "--config"),
    )


def read_bun_test(words: Sequence[str]) -> Run:
    """Return what `bun test` runs with the words after these two."""
    split = split_options(words, {"-t", "--test-name-pattern", "--timeout", "--preload", "-r"})
    names = split.values("-t", "--test-name-pattern")
    return TestRun(
        Runner.BUN, split.positional, names, passes_empty=split.has("--pass-with-no-tests")
    )


def read_tsc(words: Sequence[str]) -> Run:
    """Return what `tsc` runs with these words."""
    split = split_options(words, _TSC_VALUES)
    if split.has(*_SHOWS_ONLY):
        return ToolRun("tsc", shows_only=True)
    return CompilerRun((split.values("-p", "--project") or ("",))[-1])


READERS: Final[Mapping[str, Callable[[Sequence[str]], Run]]] = {
    "vitest": read_vitest,
    "jest": read_jest,
    "mocha": read_mocha,
    "_mocha": read_mocha,
    "tsc": read_tsc,
}
