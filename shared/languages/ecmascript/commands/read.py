"""Reads a command of Node's ecosystem: what it runs, through which launchers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from shared.languages.ecmascript.commands.node import read_node
from shared.languages.ecmascript.commands.options import split_options
from shared.languages.ecmascript.commands.runners import READERS, read_bun_test
from shared.languages.ecmascript.commands.runs import (
    CodeRun,
    CommandRuns,
    FileRun,
    ScriptRun,
    ToolRun,
)

_MANAGERS: Final = frozenset({"npm", "pnpm", "yarn", "bun"})
_NODES: Final = frozenset({"node", "nodejs"})
# These run TypeScript, with the options of `node`.
_TYPED_NODES: Final = frozenset({"tsx", "ts-node", "esr", "swc-node"})
PROGRAMS: Final = frozenset(
    {*_NODES, *_TYPED_NODES, *_MANAGERS, *READERS, "npx", "pnpx", "bunx", "deno"}
)
# The package that has a program, where their names differ.
_PACKAGES: Final = {
    "tsc": "typescript", "_mocha": "mocha", "playwright": "@playwright/test", "ng": "@angular/cli",
    "vue-tsc": "vue-tsc", "swc": "@swc/cli", "babel": "@babel/cli", "biome": "@biomejs/biome",
    "react-scripts": "react-scripts", "tsd": "tsd", "svelte-check": "svelte-check",
}  # fmt: skip
# Words of a package manager that are neither scripts nor programs.
_OWN_WORDS: Final = frozenset(
    {"install", "ci", "i", "add", "remove", "update", "audit", "pack", "publish", "ls", "list",
     "link", "config", "init", "create", "outdated", "view", "info", "prune", "rebuild", "version",
     "why", "cache", "set", "workspace", "workspaces", "dedupe", "import", "dlx", "licenses", "up",
     "upgrade", "root", "bin", "query", "explain", "fund", "help", "login", "pkg", "build"}
)  # fmt: skip
_NPM_TEST: Final = frozenset({"test", "t", "tst"})
_LIFECYCLE: Final = frozenset({"test", "start", "stop", "restart"})
_ELSEWHERE: Final = (
    "--prefix", "-C", "--dir", "--cwd", "-w", "--workspace", "-ws", "--workspaces", "--filter",
    "-F", "-r", "--recursive",
)  # fmt: skip
_WITH_VALUE: Final = frozenset(
    {"--prefix", "-C", "--dir", "--cwd", "-w", "--workspace", "--filter", "-F", "--loglevel"}
)
_MAX_LAUNCHERS: Final = 4  # `pnpm exec npx vitest`


def read_command(argv: Sequence[str]) -> CommandRuns | None:
    """Return what a command runs; `None` where it is none of this ecosystem.

    `argv` begins with the program, without `env` and assignments.
    """
    return _read(argv, _MAX_LAUNCHERS)


def _read(argv: Sequence[str], depth: int) -> CommandRuns | None:
    program = argv[0].rpartition("/")[2] if argv else ""
    words = argv[1:]
    if program in _NODES:
        return read_node(words)
    if program in _TYPED_NODES:
        return read_node(words, is_typed=True)
    if program in READERS:
        return CommandRuns((READERS[program](words),))
    if not depth:
        return None
    if program in {"npx", "pnpx", "bunx"}:
        return _launched(words, depth)
    if program in _MANAGERS:
        return _managed(program, words, depth)
    return None


def _launched(words: Sequence[str], depth: int) -> CommandRuns:
    """Return what `npx` runs with these words."""
    split = split_options(words, {"-p", "--package", "-c", "--call", *_WITH_VALUE}, stops=True)
    if split.has("-c", "--call", *_ELSEWHERE[1:]) or not split.positional:
        return CommandRuns()
    program, _, _ = split.positional[0].rpartition("@")
    program = program or split.positional[0]
    inner = _read((program, *split.positional[1:]), depth - 1)
    packages = split.values("-p", "--package") or (_PACKAGES.get(program, program),)
    named = tuple(each.rpartition("@")[0] or each for each in packages)
    if inner is None:
        shows = split.positional[1:] in {("--version",), ("--help",), ("-v",), ("-h",)}
        inner = CommandRuns((ToolRun(program, shows_only=shows),))
    return replace(inner, packages=(*named, *inner.packages))


def _managed(program: str, words: Sequence[str], depth: int) -> CommandRuns | None:
    split = split_options(words, _WITH_VALUE, stops=True)
    if split.has(*_ELSEWHERE):
        return CommandRuns()  # of another folder, which has scripts of its own
    if not split.positional:
        shows = split.has("-v", "--version", "-h", "--help")
        return CommandRuns((ToolRun(program, shows_only=shows),))
    word, after = split.positional[0], split.positional[1:]
    if program == "bun" and word == "test":
        return CommandRuns((read_bun_test(after),))
    if word in {"exec", "x", "dlx"}:
        return _launched(after[1:] if after[:1] == ("--",) else after, depth)
    if word in {"run", "run-script", "rum", "urn"}:
        return _script(program, after, is_word=False)
    if program == "npm" and word in _NPM_TEST:
        return _script(program, ("test", *after), is_word=False)
    if word in _LIFECYCLE:
        return _script(program, (word, *after), is_word=False)
    if program == "npm" or word in _OWN_WORDS:
        return CommandRuns((ToolRun(program),))
    if program == "bun" and ("." in word or "/" in word):
        return CommandRuns((FileRun(word),))
    if program == "bun" and split.has("-e", "--eval"):
        return CommandRuns((CodeRun(word, is_module=True, is_typed=True),))
    return _script(program, (word, *after), is_word=True)


def _script(program: str, words: Sequence[str], *, is_word: bool) -> CommandRuns:
    """Return the script that is run; `is_word` says that it may be a program just as well."""
    split = split_options(words, _WITH_VALUE)
    if split.has(*_ELSEWHERE) or not split.positional:
        return CommandRuns()
    after = list(words[words.index(split.positional[0]) + 1 :])
    if program == "npm":  # takes options for itself up to `--`
        after = [*split.positional[1:], *split.rest]
    elif after[:1] == ["--"]:
        after = after[1:]
    return CommandRuns(
        (ScriptRun(split.positional[0], tuple(after), "--if-present" in words, is_word),)
    )
