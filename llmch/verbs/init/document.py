"""Represents the answer of `llmch init`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from llmch.console.document import Block, Paragraph, Remark
from llmch.verbs.init.next_steps import as_seen
from llmch.verbs.init.place import GitState, Place

_NO_VERIFY = "nothing that llmch knows says how this repo is verified"


@dataclass(frozen=True, slots=True)
class InitDocument:
    """Hold what was found, what was written and kept, and the next steps."""

    place: Place
    written: tuple[Path, ...]
    kept: tuple[Path, ...]
    steps: tuple[str, ...]
    cwd: Path

    def to_json(self) -> object:
        """Return all of it as plain values; `git` is the state of the repo."""
        place = self.place
        return {
            "ok": True,
            "root": str(place.root),
            "git": place.git.value,
            "written": [str(each) for each in self.written],
            "kept": [str(each) for each in self.kept],
            "projects": [
                {"tool": each.tool, "manifest": each.manifest, "name": each.name}
                for each in place.projects
            ],
            "verify": [{"command": each.text, "origin": each.origin} for each in place.verify],
            "notes": list(place.notes),
            "next": list(self.steps),
        }

    def blocks(self) -> Iterator[Block]:
        """Return what was found, each file with what became of it, and the next steps."""
        yield Remark(tuple(self._found()))
        files = [f"wrote     {as_seen(each, self.cwd)}" for each in self.written]
        files += [f"kept      {as_seen(each, self.cwd)}  (it was there)" for each in self.kept]
        yield Paragraph(tuple(files))
        yield Remark(("next:", *(f"  {each}" for each in self.steps)))

    def _found(self) -> Iterator[str]:
        place = self.place
        yield f"folder    {place.root}{_GIT_WORDS[place.git]}"
        for project in place.projects:
            yield f"found     {project.tool}  ({project.manifest})"
        for each in place.verify:
            yield f"verify    {each.text}  ({each.origin})"
        if not place.verify:
            yield f"verify    {_NO_VERIFY}"
        for note in place.notes:
            yield f"note      {note}"


_GIT_WORDS = {
    GitState.NONE: "  (not a git repo)",
    GitState.NO_COMMIT: "  (a git repo without a commit)",
    GitState.READY: "",
}
