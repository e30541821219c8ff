"""Reads the Python in an order's acceptance files, which is judged as the code in commands is."""

from __future__ import annotations

from dataclasses import dataclass

from planner.plan.plan import Draft
from shared.languages.capabilities.commands import Code
from shared.languages.python.code import read_code
from shared.languages.registry import language_of
from shared.work_order.field_path import FieldPath, at


@dataclass(frozen=True, slots=True)
class AcceptanceCode:
    """Hold the code of one acceptance file, at `index` of `acceptance_files`."""

    index: int
    path: str
    code: Code

    @property
    def at(self) -> FieldPath:
        return at("acceptance_files", self.index, "content")


def read_acceptance_code(draft: Draft) -> tuple[AcceptanceCode, ...]:
    """Return the acceptance files of an order that hold Python which compiles."""
    files = draft.order.acceptance_files if draft.order is not None else ()
    read = (
        AcceptanceCode(index, each.path, read_code(each.content))
        for index, each in enumerate(files)
        if (language := language_of(each.path)) is not None and language.name == "Python"
    )
    return tuple(each for each in read if each.code.problem is None)
