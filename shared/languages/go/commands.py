"""Reads what a command of the `go` tool runs."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

PROGRAMS: Final = frozenset({"go", "gofmt"})
# The flags of `go build`, `go run`, `go vet` and `go test` whose value may be the next word.
_WITH_VALUE: Final = frozenset(
    {"C", "p", "o", "asmflags", "buildmode", "compiler", "covermode", "coverpkg", "exec",
     "gccgoflags", "gcflags", "installsuffix", "ldflags", "mod", "modfile", "overlay", "pgo",
     "pkgdir", "tags", "toolexec", "vettool", "bench", "benchtime", "blockprofile",
     "blockprofilerate", "count", "coverprofile", "cpu", "cpuprofile", "fuzz", "fuzzminimizetime",
     "fuzztime", "list", "memprofile", "memprofilerate", "mutexprofile", "mutexprofilefraction",
     "outputdir", "parallel", "run", "shuffle", "skip", "timeout", "trace", "vet"}
)  # fmt: skip
_LEAVES_NOTHING: Final = frozenset({"", "test", "vet", "list", "env", "version", "doc", "help"})
_LEAVING: Final = frozenset(
    {"c", "o", "outputdir", "trace", "coverprofile", "cpuprofile", "memprofile", "blockprofile",
     "mutexprofile", "fuzz"}
)  # fmt: skip
_OF_PACKAGES: Final = frozenset({"test", "build", "vet", "run", "install", "list", "fmt"})


@dataclass(frozen=True, slots=True)
class GoCommand:
    """Hold the verb of a `go` command, its flags without hyphens, and what it names.

    `named` are packages or files as they are written, behind the folder of `-C`. What `go run`
    passes to the program, and `-args`, are left out.
    """

    verb: str
    flags: dict[str, str] = field(default_factory=dict)
    named: tuple[str, ...] = ()

    @property
    def paths(self) -> tuple[str, ...]:
        """Return the files and folders that have to be there."""
        if self.verb not in _OF_PACKAGES:
            return ()
        found = (self._path(each) for each in self.named)
        return tuple(each for each in found if each not in ("", "."))

    @property
    def folders(self) -> tuple[tuple[str, bool], ...]:
        """Return the folders of the packages, and whether those below them are meant too.

        A package that is named by its import path has no folder here.
        """
        if not self.named:
            return ((self.flags.get("C", ""), False),)
        found: list[tuple[str, bool]] = []
        for each in self.named:
            if each.startswith(".") or each.endswith(".go"):
                path = self._path(each)
                folder = posixpath.dirname(path) if each.endswith(".go") else path
                found.append(("" if folder == "." else folder, each.endswith("...")))
        return tuple(found)

    def _path(self, written: str) -> str:
        is_local = written.startswith((".", "/")) or written.endswith(".go")
        if not is_local:
            return ""
        folder = written.removesuffix("...").rstrip("/") or "."
        return posixpath.normpath(posixpath.join(self.flags.get("C", ""), folder))


def read_go_command(words: Sequence[str]) -> GoCommand:
    """Return what `go` does with these arguments. Never raises."""
    verb, rest = (words[0], words[1:]) if words else ("", ())
    flags: dict[str, str] = {}
    named: list[str] = []
    index = 0
    while index < len(rest):
        word = rest[index]
        index += 1
        if word in ("-args", "--args"):
            break
        if not word.startswith("-") or word == "-":
            named.append(word)
            if verb == "run" and not word.endswith(".go"):
                break  # the rest is for the program
            continue
        name, equals, value = word.lstrip("-").partition("=")
        name = name.removeprefix("test.")
        if not equals and name in _WITH_VALUE and index < len(rest):
            value = rest[index]
            index += 1
        flags[name] = value
    return GoCommand(verb, flags, tuple(named))


def makes_files(argv: Sequence[str]) -> bool:
    """Return whether a command line of `go` may leave files: a program, a profile, a module."""
    words = argv[argv.index("go") + 1 :] if "go" in argv else argv[1:]
    read = read_go_command(words)
    return read.verb not in _LEAVES_NOTHING or bool(_LEAVING & read.flags.keys())
