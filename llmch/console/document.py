"""The documents that verbs return, and the blocks that a document is shown by. Pure.

A document says the same thing twice: as JSON for programs, and as blocks for people. A renderer
needs no more than that, so a new output format works for every verb, and a new verb in every
format. A format that needs more (the typed values of a run, say) may look at the document's type.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from shared.errors import ExitCode


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Lines that were asked for, such as an explanation; `--quiet` shows them too."""

    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Remark:
    """Lines that accompany a result; `--quiet` leaves them out."""

    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rows:
    """A table; all rows, and the headings where there are any, have the same length."""

    rows: tuple[tuple[str, ...], ...]
    headings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RuleFinding:
    """One complaint of a rule, with what to do about it."""

    code: str
    severity: str
    work_order: str | None
    field: str | None
    message: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Conclusion:
    """How it ended, in one line: `plan PASS 3 work orders (1 attempt)`."""

    who: str
    text: str
    ok: bool
    aside: str = ""


@dataclass(frozen=True, slots=True)
class Problem:
    """What ended a command, and what to do about it."""

    message: str
    hint: str


@dataclass(frozen=True, slots=True)
class AlreadyShown:
    """Blocks that repeat what events have shown while it happened.

    The text on a terminal or in a log leaves them out. A format that shows no events needs them.
    """

    blocks: tuple[Block, ...]


Block = Paragraph | Remark | Rows | RuleFinding | Conclusion | Problem | AlreadyShown


class Document(Protocol):
    """The answer of a verb."""

    def to_json(self) -> object:
        """Return the document that `--json` prints, as plain values."""

    def blocks(self) -> Iterable[Block]:
        """Return what a person is shown, in order."""


@dataclass(frozen=True, slots=True)
class ErrorDocument:
    """The error that ended a command, as its answer."""

    message: str
    hint: str
    exit_code: int
    name: str

    def to_json(self) -> object:
        """Return the document that `--json` prints."""
        return {
            "error": {
                "code": self.exit_code,
                "name": self.name,
                "message": self.message,
                "hint": self.hint,
            }
        }

    def blocks(self) -> Iterable[Block]:
        """Return the error as the only block."""
        yield Problem(self.message, self.hint)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a verb ended: its answer, and its exit code."""

    document: Document
    exit_code: ExitCode = ExitCode.OK
