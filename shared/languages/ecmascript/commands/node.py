"""Reads the command lines of `node`, and of programs that run TypeScript with its options."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from shared.languages.ecmascript.commands.options import Words, split_options
from shared.languages.ecmascript.commands.runs import (
    CodeRun,
    CommandRuns,
    FileRun,
    Run,
    Runner,
    ScriptRun,
    TestRun,
    ToolRun,
)

_CODE: Final = ("-e", "--eval", "-p", "--print", "-pe")
_LOADED: Final = ("-r", "--require", "--import", "--loader", "--experimental-loader")
_WITH_VALUE: Final = frozenset(
    {*_CODE, *_LOADED, "-C", "--conditions", "--input-type", "--test-name-pattern", "--run",
     "--test-skip-pattern", "--test-reporter", "--test-reporter-destination", "--test-timeout",
     "--test-concurrency", "--test-shard", "--env-file", "--title", "--tsconfig",
     "--test-coverage-include", "--test-coverage-exclude", "--test-coverage-lines"}
)  # fmt: skip
_SHOWS_ONLY: Final = ("-v", "--version", "-h", "--help")
_CODE_TYPES: Final = {"module": (True, False), "module-typescript": (True, True)}
_SLASHES = re.compile(r"/(.*)/[a-z]*")


def read_node(words: Sequence[str], *, is_typed: bool = False) -> CommandRuns:
    """Return what `node` runs with these words. `is_typed` says that code may be TypeScript."""
    split = split_options(words, _WITH_VALUE, stops=True)
    required = split.values(*_LOADED)
    if split.has(*_CODE) and not any(split.values(*_CODE)):
        return CommandRuns(problem="has `-e` without code")
    return CommandRuns(tuple(_runs(split, is_typed=is_typed)), required=required)


def _runs(split: Words, *, is_typed: bool) -> Iterator[Run]:
    if code := [each for each in split.values(*_CODE) if each]:
        is_module, has_types = _CODE_TYPES.get(
            (split.values("--input-type") or ("",))[-1], (False, False)
        )
        prints = split.has("-p", "--print", "-pe")
        yield CodeRun(code[-1], is_module, is_typed or has_types, prints)
    elif split.has("--test"):
        shapes = tuple(map(_plain, split.values("--test-name-pattern")))
        is_exact = not split.has("--test-skip-pattern", "--test-only", "--watch")
        yield TestRun(Runner.NODE, split.positional, shapes, passes_empty=True, is_exact=is_exact)
    elif names := split.values("--run"):
        yield ScriptRun(names[-1], split.rest)
    elif split.has(*_SHOWS_ONLY):
        yield ToolRun("node", shows_only=True)
    elif split.positional and split.positional[0] != "-":
        yield FileRun(split.positional[0], only_parses=split.has("-c", "--check"))


def _plain(pattern: str) -> str:
    """Return the regular expression of `/score/i`; a pattern without slashes stays as it is."""
    found = _SLASHES.fullmatch(pattern)
    return found[1] if found else pattern
