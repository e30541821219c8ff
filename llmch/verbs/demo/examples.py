"""Finds the shipped examples and reads their descriptions."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path

from shared.errors import InvalidInput

DEFAULT = "wordgame"


@dataclass(frozen=True, slots=True)
class Need:
    """Describe what an example needs of the machine: `probe` is a command that succeeds there."""

    what: str
    probe: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Example:
    """Describe one example; `run` are the commands that show the program it builds.

    `need` is `None` where the example needs nothing that llmch does not need itself.
    """

    name: str
    title: str
    shows: str
    folder: Path
    run: tuple[tuple[str, ...], ...]
    need: Need | None = None

    @property
    def spec(self) -> Path:
        """Return the path of the example's specification."""
        return self.folder / "spec.md"

    @property
    def transcript(self) -> Path:
        """Return the path of the example's recorded replies."""
        return self.folder / "transcript.jsonl"


def list_examples() -> tuple[Example, ...]:
    """Return all examples, sorted by name."""
    folders = sorted(each.parent for each in _root().glob("*/example.toml"))
    return tuple(_read(folder) for folder in folders)


def find_example(name: str) -> Example:
    """Return the example called `name`.

    Raises `InvalidInput`, which names all examples, where none has that name.
    """
    examples = {each.name: each for each in list_examples()}
    if name not in examples:
        raise InvalidInput(
            f"there is no example {name!r}", f"the examples are: {', '.join(examples)}"
        )
    return examples[name]


def _read(folder: Path) -> Example:
    document = tomllib.loads((folder / "example.toml").read_text("utf-8"))
    needs = document.get("needs")
    return Example(
        name=folder.name,
        title=document["title"],
        shows=document["shows"],
        folder=folder,
        run=tuple(tuple(argv) for argv in document["run"]),
        need=Need(needs["what"], tuple(needs["probe"])) if needs else None,
    )


@cache
def _root() -> Path:
    # A wheel has the examples inside the package; a checkout has them beside it.
    package = Path(str(resources.files("llmch")))
    installed = package / "_examples"
    return installed if installed.is_dir() else package.parent / "examples"
