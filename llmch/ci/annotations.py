"""Renders annotations as workflow commands of GitHub Actions.

GitHub shows an annotation beside the file that it names, and at the top of the page of the job.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final, TypeAlias

from llmch.console.line import count, one_line, printed, shorten
from llmch.runs.run_model import OrderView, RunView
from shared.errors import LlmchError
from shared.work_order import plan_folder

Mask: TypeAlias = Callable[[str], str]

MOST_SHOWN: Final = 10
"""As many annotations of a level does GitHub show of one step."""
_LONGEST_TITLE: Final = 200  # characters
_LONGEST_MESSAGE: Final = 3_000  # characters; GitHub cuts what has over 4 KB


class Level(StrEnum):
    """Name what GitHub can make of an annotation."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Annotation:
    """Hold what is said, and where: `file` is relative to the checkout, "" for no file.

    `line` and `column` count from 1; 0 is unknown.
    """

    level: Level
    title: str
    message: str
    file: str = ""
    line: int = 0
    column: int = 0


def render_annotations(annotations: Iterable[Annotation], mask: Mask = str) -> Iterator[str]:
    """Yield a line for each annotation, at most as many of a level as are shown.

    Where there are more, the last one says how many. `mask` takes secrets out of a text.
    """
    found = tuple(annotations)
    for level in Level:
        of_level = [each for each in found if each.level is level]
        most = MOST_SHOWN if len(of_level) <= MOST_SHOWN else MOST_SHOWN - 1
        yield from (_render(each, mask) for each in of_level[:most])
        if len(of_level) > most:
            more = f"{count(len(of_level) - most, f'more {level}')}; the log has all of them"
            yield _render(Annotation(level, "llmch", more), mask)


def failed_orders(run: RunView, file_of: Mapping[str, str]) -> Iterator[Annotation]:
    """Yield an annotation for each order that failed; `file_of` has the files of orders by id."""
    for order in run.orders:
        if order.failure is not None and not order.is_on_branch:
            yield _failed(order, file_of.get(order.id, ""))


def error_annotation(error: LlmchError, mask: Mask = str) -> str:
    """Return the line that annotates the error that ended a command."""
    text = "\n".join(filter(None, (error.message, error.hint)))
    return _render(Annotation(Level.ERROR, f"llmch {error.exit_code.name}", text), mask)


def _failed(order: OrderView, file: str) -> Annotation:
    briefs = [each.brief for each in reversed(order.attempts) if each.brief]
    brief = briefs[0] if briefs else order.failure
    assert brief is not None, "only an order that failed is annotated"
    words = brief.stage.replace("_", " ")
    ended = "" if brief.exit_code is None else f" (exit code {brief.exit_code})"
    lines = (
        order.title,
        brief.command and f"$ {brief.command}{ended}",
        *(reversed(brief.facts) if brief.facts else (brief.excerpt,)),
        brief.remedy,
    )
    return Annotation(
        Level.ERROR, f"{order.id} {words}", "\n".join(filter(None, lines)), file, 1 if file else 0
    )


def _render(annotation: Annotation, mask: Mask) -> str:
    title = shorten(one_line(mask(annotation.title)), _LONGEST_TITLE)
    message = shorten(mask(annotation.message), _LONGEST_MESSAGE)
    places = (
        ("file", annotation.file),
        ("line", str(annotation.line or "")),
        ("col", str(annotation.column or "")),
        ("title", title),
    )
    properties = ",".join(f"{name}={_property(value)}" for name, value in places if value)
    return f"::{annotation.level} {properties}::{_data(message)}"


def _data(text: str) -> str:
    """Return a text escaped as the runner reads it: no line ends in it, so it is one command."""
    return printed(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


_FOLDERS = ("GITHUB_WORKSPACE", "CI_PROJECT_DIR")


def in_checkout(path: Path, environ: Mapping[str, str] = os.environ) -> str:
    """Return the path of a file relative to the job's checkout; "" if it is not in there."""
    folder = next((environ[name] for name in _FOLDERS if environ.get(name)), "")
    if not folder:
        return ""
    try:
        return path.resolve().relative_to(Path(folder).resolve()).as_posix()
    except (OSError, ValueError):
        return ""


def order_files(plan: Path | None, orders: Iterable[str]) -> Mapping[str, str]:
    """Return the files of orders in the checkout, by id.

    `plan` is a plan's folder, the file of one order, or `None` for neither.
    """
    if plan is None:
        return {}
    is_folder = plan.is_dir()
    paths = {
        each: plan / plan_folder.order_file_name(each) if is_folder else plan for each in orders
    }
    return {each: in_checkout(path) for each, path in paths.items() if path.is_file()}
