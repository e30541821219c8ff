"""Registers Go: what is known of it at once, and the modules that do the work."""

from __future__ import annotations

import posixpath
import re
from typing import Final

from shared.languages.capabilities import Advice, Examples, Language, Outliner
from shared.languages.go import (
    go_commands,
    go_conformance,
    go_edits,
    go_modules,
    judge_go,
)
from shared.languages.language_tools import LockedPackages, NamedManifests, ToolReports
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

    def steers(self, path: str) -> str:
        """Return how the file has go take other packages than the module requires."""
        if path.startswith("vendor/"):
            return "takes the place of a package that the module requires"
        return "says which modules go takes" if posixpath.basename(path) == "go.work" else ""

    def weakness(self, command: Command) -> Weakness | None:
        words = program_words(command)
        return go_commands.weakness_of_text(command.program, words) if words is not None else None


GO: Final = Language(
    Outliner("Go", (".go",), "go"),
    contracted=(".go",),
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
    reports=ToolReports(lambda: go_commands.TOOLS),
    advice=Advice(
        "shared.languages.go",
        ("Golang", "in Go", "Go 1", "Go module", "Go package", "Go program", "go.mod", ".go"),
    ),
    examples=Examples("shared.languages.go"),
    telling=(("go.mod", r"^(?:go|toolchain)\s.*"),),
)
