"""Says records in words, within what the page has room for, without secrets.

Drawing escapes a text and cuts it into coloured pieces, so a secret cannot be found afterwards.
"""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Final, TypeVar, cast

from markupsafe import Markup, escape
from pydantic import BaseModel

from llmch.console.line import cost, count, duration, printed, visible
from llmch.runs.run_model import CallView, Excerpt, OrderView, RunView, Standing
from shared.llm.usage import UsageRecord
from shared.work_order.work_order import Asserted, CoveringOrder

MEGABYTE = 1_000_000
_LONGEST_NAME = 600  # characters
_SHORTEST_CALL = 400  # characters of a prompt; less of it says nothing


@dataclass(frozen=True, slots=True)
class Allowance:
    """Hold how many characters are shown of a patch, a stream of output, a text and a command.

    `call` is for a prompt and for a reply; with 0, their files are named and nothing is shown.
    """

    patch: int = 60_000
    output: int = 4_000
    text: int = 8_000
    name: int = 2_000
    call: int = 12_000

    def smaller(self) -> Allowance:
        return Allowance(
            self.patch // 2, self.output // 2, self.text // 2, self.name // 2, self.call // 2
        )

    @property
    def is_least(self) -> bool:
        """Return whether a smaller page would show nothing of use."""
        return self.patch < 500


def largest_page(orders: int) -> int:
    """Return how many bytes a page may have: 2 MB up to 50 orders, and more with more orders."""
    return 2 * MEGABYTE * max(50, orders) // 50


def first_allowance(calls: Sequence[CallView], orders: int) -> Allowance:
    """Return what a page of so many orders begins with.

    Prompts and replies get a fifth of the page together. They are long, repeat the files and what
    was shown of them, and give way to what was changed and judged.
    """
    sizes = [_length(each) for call in calls for each in (call.prompt, call.reply, call.reasoning)]
    room = largest_page(orders) // 5
    allowance = Allowance()
    most = allowance.call
    while most >= _SHORTEST_CALL and sum(min(each, most) for each in sizes) > room:
        most //= 2
    return replace(allowance, call=most if most >= _SHORTEST_CALL else 0)


def _length(excerpt: Excerpt | None) -> int:
    return len(excerpt.head) + len(excerpt.tail) if excerpt else 0


@dataclass(frozen=True, slots=True)
class Cut:
    """Hold the head and the tail of a text; `left_out` counts the characters between them."""

    head: Markup
    tail: Markup
    left_out: int


def cut(text: str, most: int) -> Cut:
    """Return a text that a command or a model wrote, cut in the middle where it is too long."""
    text = printed(text)
    if len(text) <= most:
        return Cut(escape(text), Markup(), 0)
    head = most * 2 // 3
    tail = escape(text[len(text) - (most - head) :])
    return Cut(escape(text[:head]), tail, len(text) - most)


def cut_excerpt(excerpt: Excerpt, most: int) -> Cut:
    """Return what is shown of a prompt or a reply; `left_out` counts what the file has beside it.

    It counts bytes of what the record's reader left out, and characters of what is cut here.
    """
    if not excerpt.left_out:
        return cut(excerpt.head, most)
    head, tail = printed(excerpt.head), printed(excerpt.tail)
    ahead, behind = most * 2 // 3, most - most * 2 // 3
    shown = escape(head[:ahead]), escape(tail[-behind:] if behind else "")
    unseen = max(0, len(head) - ahead) + max(0, len(tail) - behind)
    return Cut(*shown, excerpt.left_out + unseen)


def brief_text(text: str) -> str:
    """Return a text that is a name or a sentence; one that is far too long for that is cut."""
    if len(text) <= _LONGEST_NAME:
        return visible(text)
    return f"{visible(text[:_LONGEST_NAME])}… ({len(text) - _LONGEST_NAME:,} characters left out)"


STANDINGS: Final = {
    Standing.PASSED: "Passed",
    Standing.FAILED: "Failed",
    Standing.ENDED_EARLY: "Ended early",
    Standing.INTERRUPTED: "Interrupted",
    Standing.RUNNING: "Running",
    Standing.CUT_OFF: "Cut off",
    Standing.NOT_ON_RECORD: "Commits only",
}

_STATES: Final = {
    "landed": "landed",
    "skipped": "landed before",
    "accepted": "a person's commit",
    "failed": "failed",
    "blocked": "blocked",
    "pending": "not finished",
    "left_out": "left out",
    "begun": "begun",
    "waiting": "not begun",
}

_TONES: Final = {
    "landed": "good",
    "skipped": "good",
    "accepted": "good",
    "failed": "bad",
    "blocked": "warn",
    "pending": "warn",
    "begun": "busy",
}

_MARKS: Final = {"good": "✓", "bad": "✗", "warn": "!", "busy": "◐", "idle": "·"}

_GUARANTEES: Final = {
    "files": (
        "Nothing outside the workspace and a private /tmp is written.",
        "Files outside the workspace can be written.",
    ),
    "metadata": (
        "Modes, owners and times of other files do not change.",
        "Modes, owners and times of other files can be changed.",
    ),
    "secrets": (
        "Files that are not on the allow-list cannot be read.",
        "Any file that the user can read can be read.",
    ),
    "watches": (
        "Names that change in folders outside the allow-list cannot be watched.",
        "Names that change in folders outside the allow-list can be watched.",
    ),
    "git_dir": ("The git folder stays as it is.", "The git folder can be changed."),
    "git_credentials": (
        "Credentials in the git folder cannot be read.",
        "Credentials in the git folder can be read.",
    ),
    "network": (
        "There is no network but the command's own loopback.",
        "The network can be reached.",
    ),
    "unix_sockets": (
        "No socket of the host can be reached.",
        "Sockets of the host can be reached.",
    ),
    "processes": (
        "No other process can be read, traced, signalled or slowed down.",
        "Other processes can be seen and signalled.",
    ),
    "process_limit": (
        "The limit on the number of processes is enforced.",
        "The limit on the number of processes is not enforced.",
    ),
    "limits": (
        "Limits on a process's own memory, CPU time, file size and output are enforced.",
        "Limits on a process's own memory, CPU time, file size and output are not enforced.",
    ),
    "namespaces": (
        "A command cannot make namespaces of its own.",
        "A command can make namespaces of its own.",
    ),
    "survivors": (
        "No process is left when the command has ended.",
        "A process may be left when the command has ended.",
    ),
    "loopback": (
        "A server on the command's own loopback works.",
        "A server on the command's own loopback does not work.",
    ),
    "multiprocessing": (
        "Semaphores and shared memory work.",
        "Semaphores and shared memory do not work.",
    ),
}

_CODE: Final = Markup("<code>{}</code>")
_REST: Final = Markup('… <span class="cut">{} left out</span>')
_LONGEST_SENTENCE: Final = 1_000  # characters
_MEBIBYTE: Final = 1024 * 1024


def prose(text: str, most: int = _LONGEST_SENTENCE) -> Markup:
    """Return sentences as markup, with the text between backticks as code."""
    parts = visible(text[:most]).split("`")
    if len(parts) % 2 == 0:  # a backtick too many
        parts = ["`".join(parts)]
    marked = [
        _CODE.format(each) if number % 2 else escape(each) for number, each in enumerate(parts)
    ]
    if len(text) > most:
        marked.append(_REST.format(count(len(text) - most, "character")))
    return Markup().join(marked)


def code(text: str, most: int) -> Markup:
    """Return a command as code; the middle of a very long one is left out, with words."""
    part = cut(text, most)
    if not part.left_out:
        return _CODE.format(part.head)
    left_out = _REST.format(count(part.left_out, "character"))
    return _CODE.format(part.head) + left_out + _CODE.format(part.tail)


def state_words(order: OrderView) -> str:
    """Return the state of an order in words."""
    return _STATES.get(order.state, order.state)


def tone(order: OrderView) -> str:
    """Return what colour and mark an order gets: good, bad, warn, busy or idle."""
    return _TONES.get(order.state, "idle")


def mark(order: OrderView) -> str:
    """Return the sign of an order's state, so that it does not depend on colours."""
    return _MARKS[tone(order)]


def standing_tone(run: RunView) -> str:
    """Return what colour the verdict gets."""
    match run.standing:
        case Standing.PASSED:
            return "good"
        case Standing.RUNNING:
            return "busy"
        case Standing.FAILED | Standing.ENDED_EARLY:
            return "bad"
        case Standing.INTERRUPTED | Standing.CUT_OFF:
            return "warn"
        case Standing.NOT_ON_RECORD:
            return "idle"


def verdict_sentence(run: RunView) -> str:
    """Return the outcome of the run in one sentence."""
    orders = f"{run.landed:,} of {count(len(run.orders), 'order')}"
    took = _took(run)
    rejected = f" {count(run.rejected, 'attempt')} of {run.attempts:,} "
    rejected += "was rejected." if run.rejected == 1 else "were rejected."
    return f"{orders} on the branch.{rejected if run.rejected else ''}{took}"


def _took(run: RunView) -> str:
    if run.seconds is None or not run.run_id:
        return ""
    match run.standing:
        case Standing.RUNNING:
            return f" The run goes on, {duration(run.seconds)} so far."
        case Standing.CUT_OFF:
            return f" The record ends after {duration(run.seconds)}."
        case _:
            return f" The run took {duration(run.seconds)}."


def stage_words(stage: str) -> str:
    """Return the name of a stage of a failure as words."""
    return stage.replace("_", " ")


def guarantee_sentence(name: str, *, holds: bool) -> str:
    """Return what a guarantee of a sandbox says, or what is so because it does not hold."""
    if name in _GUARANTEES:
        return _GUARANTEES[name][0 if holds else 1]
    return f"{name.replace('_', ' ')}: {'held' if holds else 'not held'}"


def limit_words(name: str, value: int) -> str:
    """Return a limit of a sandbox with its unit."""
    noun, _, unit = name.rpartition("_")
    if unit == "bytes":
        return f"{noun.replace('_', ' ')}: {value / _MEBIBYTE:,.0f} MiB"
    if unit == "seconds":
        return f"{noun.replace('_', ' ')}: {duration(value)}"
    return f"{name.replace('_', ' ')}: {value:,}"


def cost_words(usage: UsageRecord) -> str:
    """Return what calls cost."""
    if not usage.calls:
        return "none"
    return cost(usage.cost_usd).removeprefix("cost ")


def asserted(covering: CoveringOrder, run: RunView) -> str:
    """Return what asserts that an order carries out a requirement."""
    if covering.asserted_by is not Asserted.TEST:
        return covering.asserted_by.describe() if covering.asserted_by else ""
    order = next((each for each in run.orders if each.id == covering.id), None)
    return f"tests of the plan: {', '.join(order.acceptance_files)}" if order else "a test"


def anchor(order: str, number: int = 0) -> str:
    """Return the name of the place of an order, or of one of its attempts, in the page."""
    return f"{order}-{number}" if number else order


_T = TypeVar("_T")


def masked(value: _T, mask: Callable[[str], str]) -> _T:
    """Return the value with `mask` applied to each text in it, also in its fields and items."""
    return cast(_T, _masked(value, mask))


def _masked(value: object, mask: Callable[[str], str]) -> object:
    if isinstance(value, Enum):
        return value
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, tuple):
        items = tuple(_masked(each, mask) for each in value)
        return value if all(map(operator.is_, items, value)) else items
    if isinstance(value, dict):
        return dict(_masked(tuple(value.items()), mask))  # type: ignore[call-overload]  # pairs
    if isinstance(value, BaseModel):
        changed = _changed(value, type(value).model_fields, mask)
        return value.model_copy(update=changed) if changed else value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [each.name for each in dataclasses.fields(value) if each.init]
        changed = _changed(value, names, mask)
        return dataclasses.replace(value, **changed) if changed else value
    return value


def _changed(value: object, names: Iterable[str], mask: Callable[[str], str]) -> dict[str, Any]:
    """Return the fields in which there is a secret, without it."""
    fields = ((name, getattr(value, name)) for name in names)
    masked_fields = ((name, old, _masked(old, mask)) for name, old in fields)
    return {name: new for name, old, new in masked_fields if new is not old and new != old}
