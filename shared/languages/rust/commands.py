"""Reads what a command of `cargo` runs."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

PROGRAMS: Final = frozenset({"cargo", "rustc", "rustfmt"})
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
    own = list(words)
    behind: list[str] = []
    if "--" in own:
        at = own.index("--")
        own, behind = own[:at], own[at + 1 :]
    flags, plain, targets = _split(own, _WITH_VALUE)
    plain = [each for each in plain if not each.startswith(_TOOLCHAIN)]
    verb = plain[0] if plain else ""
    verb = _SHORT_VERBS.get(verb, verb)
    is_test = verb in ("test", "nextest", "bench")
    runner, more, _ = _split(behind, _OF_THE_RUNNER) if is_test else ({}, [], [])
    filters = (*plain[1:], *more) if is_test else ()
    return CargoCommand(verb, flags, tuple(targets), filters, runner)


def _split(
    words: Sequence[str], with_value: frozenset[str]
) -> tuple[dict[str, str], list[str], list[str]]:
    """Return the flags with their values, the other words, and all values of `--test`."""
    flags: dict[str, str] = {}
    plain: list[str] = []
    targets: list[str] = []
    index = 0
    while index < len(words):
        word = words[index]
        index += 1
        if not word.startswith("-") or word == "-":
            plain.append(word)
            continue
        name, equals, value = word.lstrip("-").partition("=")
        if not equals and name in with_value and index < len(words):
            value = words[index]
            index += 1
        flags[name] = value
        if name == "test":
            targets.append(value)
    return flags, plain, targets


def makes_files(argv: Sequence[str]) -> bool:
    """Return whether a command line of `cargo` or `rustc` may leave files that others run."""
    if "cargo" not in argv:
        return True
    return read_cargo_command(argv[argv.index("cargo") + 1 :]).verb not in _LEAVES_NOTHING
