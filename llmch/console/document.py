"""Defines the documents that verbs return, and the blocks that show a document to people.

A document says the same thing twice: as JSON for programs, and as blocks for people. A renderer
needs no more than that, so a new output format works for every verb, and a new verb in every
format. A format that needs more (the typed values of a run, say) may look at the document's type.
This module is pure.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum, auto
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, ClassVar

from shared.errors import ExitCode, ShownFinding

if TYPE_CHECKING:
    from shared.work_order.work_order import Assumption


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Hold lines that the user asked for, such as an explanation; `--quiet` shows them too."""

    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Link:
    """Hold words and an address that is llmch's own; one in another block is no link."""

    words: str
    url: str


@dataclass(frozen=True, slots=True)
class Remark:
    """Hold lines that accompany a result; `--quiet` leaves them out.

    A terminal shows a detail only with `--verbose`.
    """

    lines: tuple[str, ...]
    is_detail: bool = False


@dataclass(frozen=True, slots=True)
class Rows:
    """Hold a table; all rows, and the headings where there are any, have the same length."""

    rows: tuple[tuple[str, ...], ...]
    headings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Patch:
    """Hold a patch. A terminal gets it in colour; a pipe gets its very text, for `git apply`."""

    text: str


@dataclass(frozen=True, slots=True)
class Verbatim:
    """Hold a text that programs read, such as a script; it is printed as it is.

    `language` names what the text is written in, as Markdown does.
    """

    text: str
    language: str = ""


@dataclass(frozen=True, slots=True)
class Definition:
    """Hold a term, and the lines that say what it means; `--quiet` shows them too."""

    term: str
    lines: tuple[str, ...]
    aside: str = ""


class Tone(Enum):
    """Say how prominent the head of a section is."""

    PLAIN = auto()
    STRONG = auto()
    DONE = auto()
    FAINT = auto()


class Sign(Enum):
    """Say what an item of a section means; the value is printed before its text."""

    NONE = ""
    NEW = "+"
    CHANGED = "~"
    REMOVED = "-"
    COMMAND = "$"
    WARNING = "!"


@dataclass(frozen=True, slots=True)
class Item:
    """Hold one line of a section; `literal` marks a path, a command or a line of a text."""

    text: str
    sign: Sign = Sign.NONE
    literal: bool = False
    aside: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """Hold a head and the lines that belong to it; `--quiet` leaves them out.

    The head is `name word title (aside)`, as in `WO-01 landed Say hello (1a2b3c4d5e)`; the name
    and the word may be empty.
    """

    title: str
    items: tuple[Item, ...] = ()
    name: str = ""
    word: str = ""
    aside: str = ""
    tone: Tone = Tone.PLAIN


@dataclass(frozen=True, slots=True)
class Conclusion:
    """Say in one line how the work ended: `plan PASS 3 work orders (1 attempt)`."""

    who: str
    text: str
    ok: bool
    aside: str = ""


@dataclass(frozen=True, slots=True)
class Problem:
    """Hold the error that ended a command, and a hint on what to do about it."""

    message: str
    hint: str


@dataclass(frozen=True, slots=True)
class AlreadyShown:
    """Hold blocks that repeat the content of events that were shown while they happened.

    The text on a terminal or in a log leaves these blocks out. A format that shows no events
    needs them.
    """

    blocks: tuple[Block, ...]


Block = (
    Paragraph
    | Link
    | Remark
    | Rows
    | Patch
    | Verbatim
    | Definition
    | Section
    | ShownFinding
    | Conclusion
    | Problem
    | AlreadyShown
)


def plain(value: Any) -> Any:  # whatever a document holds
    """Return `value` in JSON's types: a dataclass by its fields, an enum and a path as text."""
    if hasattr(value, "to_json"):
        return value.to_json()
    if is_dataclass(value):
        return by_field(value)
    match value:
        case Enum():
            return value.value
        case PurePath():
            return str(value)
        case Mapping():
            return {plain(key): plain(each) for key, each in value.items()}
        case list() | tuple():
            return [plain(each) for each in value]
        case _:
            return value


def by_field(value: Any) -> dict[str, Any]:
    return {each.name: plain(getattr(value, each.name)) for each in fields(value)}


class Shape:
    """Declare the JSON document of a value by its keys, in their order.

    `"path"` is the name of an attribute, and `"stage=brief.stage"` reads the key `stage` from
    elsewhere; it is null where `brief` is `None`. `"remedy?"` is null for an empty value. A keyword
    says what becomes of the value at its key, or of each value in a list.
    """

    def __init__(self, *keys: str, **parts: Callable[[Any], object]) -> None:
        self._keys = [each.removesuffix("?").partition("=") for each in keys]
        self._nullable = {each.rstrip("?").partition("=")[0] for each in keys if each[-1] == "?"}
        self._parts = parts

    def __call__(self, value: object) -> dict[str, Any]:
        return {key: self._part(key, way or key, value) for key, _, way in self._keys}

    def _part(self, key: str, way: str, value: object) -> Any:
        found: Any = value
        for name in way.split("."):
            found = None if found is None else getattr(found, name)
        if found is None or (key in self._nullable and not found):
            return None
        part: Callable[[Any], object] = self._parts.get(key, plain)
        return [part(each) for each in found] if isinstance(found, list | tuple) else part(found)


class Document(ABC):
    """Represent the answer of a verb; `shape` declares the JSON, whose keys else are the fields."""

    __slots__ = ()
    shape: ClassVar[Shape | None] = None

    def to_json(self) -> object:
        """Return the document that `--json` prints, as plain values."""
        shape: Shape | None = type(self).shape
        return by_field(self) if shape is None else shape(self)

    @abstractmethod
    def blocks(self) -> Iterable[Block]:
        """Return the blocks that are shown to a person, in order."""


_ERROR = Shape("code=exit_code", "name", "message", "hint")


@dataclass(frozen=True, slots=True)
class ErrorDocument(Document):
    """Represent the error that ended a command, as the command's answer."""

    message: str
    hint: str
    exit_code: int
    name: str

    def to_json(self) -> object:
        return {"error": _ERROR(self)}

    def blocks(self) -> Iterable[Block]:
        yield Problem(self.message, self.hint)


@dataclass(frozen=True, slots=True)
class Outcome:
    """Hold the answer of a verb and its exit code."""

    document: Document
    exit_code: ExitCode = ExitCode.OK


def assumed(assumptions: Sequence[Assumption]) -> Iterator[Block]:
    """Return what a plan reads into the specification; nothing if that is nothing."""
    if assumptions:
        yield Section("Read into the specification", tuple(map(_assumed, assumptions)))


def _assumed(each: Assumption) -> Item:
    sign = Sign.WARNING if each.kind == "contradiction" else Sign.NONE
    tied = ", ".join((each.id, *each.requirements, *each.work_orders))
    return Item(f"{each.kind}: {each.render()}", sign, aside=tied)
