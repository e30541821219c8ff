"""Says how agents are started: words, environment, files in HOME, and folders that they need."""

from __future__ import annotations

import hashlib
import shlex
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from shared.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class Agent:
    """Describe an agent that is on this machine.

    In its words, in the values of its environment and in its files, `{task}`, `{task_file}`,
    `{model}` and `{base_url}` are replaced. `files` are those of its HOME. It can read `folders`.
    `masks` say what differs between its calls in equal runs.
    """

    name: str
    words: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    folders: tuple[Path, ...] = ()
    version: str = ""
    sha256: str = ""
    masks: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        return f"{self.name} {self.version}".strip()


def agent_named(words: tuple[str, ...]) -> Agent:
    """Return the agent of a setting. Raises `InvalidInput` if its program is not found."""
    found = shutil.which(words[0])
    if found is None:
        raise InvalidInput(
            f"no agent can be started by {shlex.join(words)}: {words[0]} is not found",
            "give the path of its program, or install it",
        )
    program = Path(found).absolute()
    named = (Path(each) for each in words[1:] if each.startswith("/"))
    folders = (program, *(each for each in named if each.exists()))
    digest = hashlib.sha256(program.read_bytes()).hexdigest()
    return Agent(shlex.join(words), (str(program), *words[1:]), folders=folders, sha256=digest)
