"""Has the values told that made a `python -c` fail, by running it again under an observer."""

from __future__ import annotations

from collections.abc import Sequence

from shared.languages.capabilities.reports import SecondLook
from shared.languages.python.reports.tracebacks import Traceback, read_tracebacks, stable_error
from shared.languages.python.reports.values.observation import Observation, read_observation
from shared.languages.python.reports.values.rerun import observed_command


def second_look(argv: Sequence[str], stderr: Sequence[str]) -> SecondLook | None:
    """Return the command under the observer; `None` unless its own code ended in a traceback."""
    crash = _crash_of_code(stderr)
    again = observed_command(argv) if crash else None
    if crash is None or again is None:
        return None

    def facts_of(text: str) -> tuple[str, ...]:
        observed = read_observation(text)
        return tuple(_told(observed, crash)) if observed else ()

    return SecondLook(again, facts_of)


def _crash_of_code(lines: Sequence[str]) -> Traceback | None:
    """Return the last traceback if it begins in the code of a `-c` and not in its syntax."""
    last = next(iter([*read_tracebacks(lines)][-1:]), None)
    if last is None or last.frames[0].path != "<string>" or last.error_type == "SyntaxError":
        return None
    return last


def _told(observed: Observation, crash: Traceback) -> list[str]:
    """Return what was seen in the second run, if it ended like the first."""
    error_type, _, message = crash.error.partition(": ")
    if error_type == "AssertionError":
        said = f" ({message})" if message else ""
        return [each + said for each in observed.told]
    if observed.told:
        return []
    place = f" ({crash.place})" if crash.place else ""
    return [f"`{observed.code}` raised {stable_error(crash.error)}{place}{observed.with_names}"]
