"""Asks the compiler about several folders of files at once.

A run of the compiler reads the standard library first, which takes longer than most questions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from shared.languages.ecmascript.judging.compiler import Compiler, Complaint, ask

_MAX_BYTES: Final = 8_000_000  # of the files of one run
_FOLDER: Final = "llmch-order"
_FOLDERS: Final = re.compile(rf"\b{_FOLDER}\d+/")
# What a file declares for all others would hold for the files of other questions, too.
_GLOBAL: Final = re.compile(r"\bdeclare\s+(?:global|module)\b|^\s*///", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Asked:
    """Hold a question: files by path, the targets among them, and files of modules by alias."""

    files: Mapping[str, str]
    targets: tuple[str, ...]
    aliases: Mapping[str, str]


def ask_together(compiler: Compiler, asked: Sequence[Asked]) -> tuple[tuple[Complaint, ...], ...]:
    """Return the complaints about the targets of each question, in the order of the questions.

    Questions are answered in one run of the compiler, as far as they cannot disturb each other.
    Raises what the compiler raises.
    """
    found: dict[int, list[Complaint]] = {index: [] for index in range(len(asked))}
    for batch in _batches(asked):
        if len(batch) == 1:
            each = asked[batch[0]]
            if each.targets:
                found[batch[0]] += ask(compiler, each.files, each.targets, each.aliases)
            continue
        files = {f"{_FOLDER}{i}/{path}": t for i in batch for path, t in asked[i].files.items()}
        targets = [f"{_FOLDER}{i}/{path}" for i in batch for path in asked[i].targets]
        for complaint in ask(compiler, files, targets, {}):
            folder, _, path = complaint.path.partition("/")
            found[int(folder.removeprefix(_FOLDER))].append(_without_folder(complaint, path))
    return tuple(tuple(found[index]) for index in range(len(asked)))


def _without_folder(complaint: Complaint, path: str) -> Complaint:
    message = _FOLDERS.sub("", complaint.message)
    details = tuple(_FOLDERS.sub("", each) for each in complaint.details)
    return replace(complaint, path=path, message=message, details=details)


def _batches(asked: Sequence[Asked]) -> Iterator[tuple[int, ...]]:
    """Yield the positions of the questions that one run answers."""
    together: list[int] = []
    size = 0
    for index, each in enumerate(asked):
        own = sum(map(len, each.files.values()))
        if not each.targets:
            continue
        if each.aliases or any(map(_GLOBAL.search, each.files.values())):
            yield (index,)
            continue
        if together and size + own > _MAX_BYTES:
            yield tuple(together)
            together, size = [], 0
        together.append(index)
        size += own
    if together:
        yield tuple(together)
