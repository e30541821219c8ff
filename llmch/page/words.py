"""Says in words what a run's records say in codes: states, stages, guarantees, limits. Pure."""

from __future__ import annotations

from typing import Final

from markupsafe import Markup, escape

from llmch.console.figures import cost, count, duration
from llmch.page.allowance import cut
from llmch.page.visible import visible
from llmch.run_view.model.orders import OrderView
from llmch.run_view.model.run import RunView
from llmch.run_view.model.states import Standing
from llmch.run_view.model.usage import UsageView
from shared.work_order.coverage import Asserted, CoveringOrder

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
        "No other process can be read, traced or signalled.",
        "Other processes can be seen and signalled.",
    ),
    "process_limit": (
        "The limit on the number of processes is enforced.",
        "The limit on the number of processes is not enforced.",
    ),
    "limits": (
        "Limits on memory, CPU time, file size and output are enforced.",
        "Limits on memory, CPU time, file size and output are not enforced.",
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
    """Return sentences as markup, with what stands between backticks as code."""
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
    """Return how an order stands."""
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


def cost_words(usage: UsageView) -> str:
    """Return what calls cost."""
    if not usage.calls:
        return "none"
    return cost(usage.cost_usd).removeprefix("cost ")


def seconds_words(seconds: float | None) -> str:
    """Return a duration, "" where it is unknown."""
    return "" if seconds is None else duration(seconds)


def asserted(covering: CoveringOrder, run: RunView) -> str:
    """Return what asserts that an order carries out a requirement."""
    if covering.asserted_by is not Asserted.TEST:
        return covering.asserted_by.describe() if covering.asserted_by else ""
    order = next((each for each in run.orders if each.id == covering.id), None)
    return f"tests of the plan: {', '.join(order.acceptance_files)}" if order else "a test"


def anchor(order: str, number: int = 0) -> str:
    """Return the name of the place of an order, or of one of its attempts, in the page."""
    return f"{order}-{number}" if number else order
