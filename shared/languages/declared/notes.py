"""Says in sentences what is wrong with a file, and what exists in the place of a missing name."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from shared.languages.capabilities.notes import Unwritten
from shared.languages.declared.model import Declarations, Declared
from shared.languages.fault_words import file_does_not_parse

_WRITE: Final = "Write the statements that do the work."
_MAX_NAMES: Final = 8
_COMMENTS: Final = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)

# Returns what is wrong with a body as a predicate, and whether nobody would mean it.
BodyProblem = Callable[[Declared, str], tuple[str, bool] | None]


def code_problem(read: Declarations) -> str:
    """Return why a file cannot be compiled; empty where its syntax is right."""
    fault = read.fault
    if fault is None:
        return ""
    where = f" in line {fault.line}, `{fault.excerpt}`" if fault.line else ""
    return f"{fault.message}{where}"


def note_syntax(path: str, read: Declarations) -> str:
    """Return a sentence that quotes the line that does not parse; empty where all does."""
    fault = read.fault
    return file_does_not_parse(path, fault.line, fault.excerpt) if fault is not None else ""


def names_in(read: Declarations) -> frozenset[str] | None:
    """Return the names of a file, members of types qualified; `None` where it does not parse."""
    if read.fault is not None:
        return None
    members = {f"{each.name}.{name}" for each in read.items for name in each.members}
    return frozenset(each.name for each in read.items) | members


def find_unwritten(
    path: str, before: Declarations, after: Declarations, problem_of: BodyProblem
) -> tuple[Unwritten, ...]:
    """Return the functions of `after` that have nothing in them, in their order."""
    earlier = {name for name, _, _ in _unwritten(before, problem_of)}
    return tuple(
        Unwritten(
            path=path,
            name=name,
            message=f"The function `{name}` in {path} {problem}. {_WRITE}",
            was_so=name in earlier,
            is_certain=is_certain,
        )
        for name, problem, is_certain in _unwritten(after, problem_of)
    )


def _unwritten(read: Declarations, problem_of: BodyProblem) -> Iterator[tuple[str, str, bool]]:
    if read.fault is not None:
        return
    for each in read.items:
        if each.kind == "function" and each.body is not None:
            found = problem_of(each, inner_text(read, each))
            if found is not None:
                yield each.name, *found


def inner_text(read: Declarations, item: Declared) -> str:
    """Return what stands between the braces of a function, without comments, on one line."""
    if item.body is None:
        return ""
    start, end = item.body
    return " ".join(_COMMENTS.sub("", read.text[start + 1 : end - 1]).split())


def offer(name: str, existing: Iterable[str]) -> str:
    """Return a sentence with the names that there are, the closest ones if any are close."""
    names = sorted(set(existing))
    close = difflib.get_close_matches(name, names, n=3)
    if close:
        return f"It has {', '.join(f'`{each}`' for each in close)}."
    if not names:
        return "It has no names."
    more = f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
    return f"It has {', '.join(f'`{each}`' for each in names[:_MAX_NAMES])}{more}."
