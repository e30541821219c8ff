"""Finds the programs that acceptance commands name and that are not there. Pure.

Commands find a program on the PATH of the sandbox, where an order cannot write. Only the
verification may install one there, if the sandbox lets it: a program of the project. So a program
that the project seems to bring is not judged. In doubt it is taken to come, because a reply costs
less than an order that ends too early.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath

from shared.projects.programs import BRINGING
from shared.shell_words import split_words


@dataclass(frozen=True, slots=True)
class Unfound:
    """Hold a command as the order has it, and its program, which is not on the PATH."""

    command: str
    program: str


def programs_not_found(
    commands: Iterable[str], has_program: Callable[[str], bool]
) -> tuple[Unfound, ...]:
    """Return the commands whose program `has_program` denies.

    A path with a slash is a file of the project, which the order may have to write.
    """
    named = (Unfound(command, split_words(command).texts[0]) for command in commands)
    return tuple(
        each for each in named if "/" not in each.program and not has_program(each.program)
    )


def may_come(
    program: str, files: Collection[str], allowed: Collection[str], bringing: Iterable[str]
) -> bool:
    """Return whether the project may bring the program before the command runs.

    `files` are the paths of the project, `allowed` those that the order may write, and `bringing`
    are the texts of its files named in `BRINGING`.
    """
    if any(path in BRINGING for path in allowed):
        return True
    named = (PurePosixPath(path) for path in (*files, *allowed))
    if any(program in (path.name, path.stem) for path in named):
        return True
    word = re.compile(rf"(?<![\w.-]){re.escape(program)}(?![\w-])")
    return any(word.search(text) for text in bringing)
