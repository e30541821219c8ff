"""Reads `go.mod`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from shared.projects.base import Project, RepoFiles, VerifyCommand
from shared.projects.reading import bounded, is_tracked, one_line, unreadable

MANIFEST: Final = "go.mod"
_WORKSPACE: Final = "go.work"
# The output of a build is thrown away: a module of one program would leave it in the tree. Vet is
# left out, because its checks of format strings refuse code that is right.
_COMMANDS: Final = ("go build -o /dev/null ./...", "go test -vet=off ./...")


class Go:
    """Read what the module at the root says."""

    name = "Go"

    def read(self, files: RepoFiles) -> Project | None:
        """Return the module. A workspace without a module at its root has no commands."""
        if not is_tracked(files, MANIFEST):
            if not is_tracked(files, _WORKSPACE):
                return None
            note = f"{_WORKSPACE} has no module beside it: `--verify CMD` names what tests it"
            return Project(self.name, _WORKSPACE, notes=(note,))
        text = files.text(MANIFEST)
        if text is None:
            return Project(self.name, MANIFEST, notes=(unreadable(MANIFEST),))
        tested = any(path.endswith("_test.go") for path in files.paths)
        return Project(
            tool=self.name,
            manifest=MANIFEST,
            name=next(_following("module", text), ""),
            dependencies=bounded(_requirements_of(text)),
            verify=tuple(VerifyCommand(each, MANIFEST) for each in _COMMANDS),
            notes=() if tested else ("the Go module has no tests, so it is only built",),
        )


def _requirements_of(text: str) -> Iterator[str]:
    within = False
    for line in _lines(text):
        if line.startswith("require ("):
            within = True
        elif line == ")":
            within = False
        elif within:
            yield one_line(line)
    yield from _following("require", text)


def _following(word: str, text: str) -> Iterator[str]:
    """Yield the rest of each line that begins with `word` and goes on with a name."""
    for line in _lines(text):
        first, _, rest = line.partition(" ")
        if first == word and rest and not rest.startswith("("):
            yield one_line(rest.strip('"'))


def _lines(text: str) -> Iterator[str]:
    yield from (line.partition("//")[0].strip() for line in text.splitlines())
