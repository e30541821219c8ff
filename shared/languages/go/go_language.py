"""Registers Go: what is known of it at once, and the modules that do the work."""

from __future__ import annotations

import posixpath
import re
from typing import Final

from shared.languages.capabilities import NESTED, Advice, Examples, Language, NewTest, Outliner
from shared.languages.go import (
    go_commands,
    go_conformance,
    go_edits,
    go_modules,
    judge_go,
)
from shared.languages.language_tools import LockedPackages, NamedManifests, ToolReports
from shared.languages.property_tests import MOST_INPUTS, TOO_MANY, ChanceMark
from shared.languages.read_commands import BuildToolCommands, Command, Weakness, program_words


class GoCommands(BuildToolCommands):
    """Implement `CommandReader` for `go`."""

    programs = ("go", "gofmt")

    def needed_paths(self, command: Command) -> tuple[str, ...]:
        words = program_words(command) if command.program == "go" else None
        return go_commands.read_go_command(words).paths if words is not None else ()

    def makes_files(self, command: Command) -> bool:
        return command.program == "go" and go_commands.makes_files(command.argv)

    def is_loaded_unasked(self, path: str) -> bool:
        """Return whether `go test` compiles the file with the other tests of its folder."""
        return path.endswith("_test.go")

    def steers(self, path: str, text: str = "") -> str:
        """Return how the file has go take other packages than the module requires."""
        if path.startswith("vendor/"):
            return "takes the place of a package that the module requires"
        return "says which modules go takes" if posixpath.basename(path) == "go.work" else ""

    def weakness(self, command: Command) -> Weakness | None:
        words = program_words(command)
        return go_commands.weakness_of_text(command.program, words) if words is not None else None


_CHANCE: Final = (
    ChanceMark(
        r"\bquick\.Check(?:Equal)?\(",
        "draws other inputs on each run: its `quick.Config` lacks a `Rand` with a seed",
        r"\bRand\s*:",
    ),
    ChanceMark(
        r"(?<![\w.])rand\.(?:Int|Uint|Float|Perm|Shuffle|Norm|Exp|N\b)\w*\(",
        "draws other inputs on each run: `rand` has no seed",
        r"\brand\.Seed\(\s*\d|\brand\s*:?=",
    ),
    ChanceMark(
        r"\bNewSource\(\s*time\.|\bSeed\(\s*time\.|\"crypto/rand\"",
        "draws other inputs on each run: it has no seed",
    ),
    ChanceMark(rf"\bMaxCount\s*:\s*{MOST_INPUTS}", TOO_MANY),
    ChanceMark(
        r"^go test\b.* -{1,2}(?:test\.)?fuzz\b",
        "looks for other inputs on each run: without `-fuzz` those of `f.Add` are tried",
    ),
)

GO: Final = Language(
    Outliner("Go", (".go",), "go"),
    contracted=(".go",),
    shares_folder=True,
    commands=GoCommands(),
    plans=judge_go,
    rehearsals=go_commands,
    conformance=go_conformance,
    edits=go_edits,
    notes=go_edits,
    packages=LockedPackages(
        "go.mod", re.compile(r"missing go\.sum entry|module lookup disabled by GOPROXY=off")
    ),
    dependencies=NamedManifests(
        names=frozenset({"go.mod", "go.sum", "go.work"}),
        variables=(
            r"GO_\w+|GO(PROXY|PRIVATE|SUMDB|NOSUMDB|NOPROXY|INSECURE|VCS|AUTH|ROOT|ENV|PATH)"
        ),
        installer=go_modules,
    ),
    mutations=go_edits,
    reports=ToolReports(lambda: go_commands.TOOLS),
    advice=Advice(
        "shared.languages.go",
        ("Golang", "in Go", "Go 1", "Go module", "Go package", "Go program", "go.mod", ".go"),
    ),
    examples=Examples("shared.languages.go"),
    chance=_CHANCE,
    new_test=NewTest(
        "{folder}{stem}_test.go",
        "go test ./{folder}",
        "a file {path} of the same package, with functions `func TestX(t *testing.T)`",
    ),
    telling=(
        ("go.mod", r"^(?:go|toolchain)\s.*"),
        (f"{NESTED}go.mod", r"^module\s.*"),
        ("go.work", r"^(?:use\s+\S.*|\s+\./\S+)"),
    ),
)
