"""Reads the output of `go test`: plain, with -v, and with -json. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from factory.judging.counting.counted import Counted, add_up, lines_with

_RESULT = re.compile(
    r"^(?:--- (?P<how>PASS|FAIL|SKIP): (?P<test>\S+)"
    r"|(?P<end>ok  |FAIL|\?   )\t(?P<package>\S+)(?P<rest>.*))",
    re.MULTILINE,
)
_ACTION = re.compile(r'"Action":"(pass|fail|skip)"')
_TEST = re.compile(r'"Test":"([^"/]+)"')
_PACKAGE: Final = '"Package":"'


def read_go(text: str) -> Counted | None:
    """Return the tests of all packages, without subtests.

    Without -v or -json, go names failed tests alone. A package that passed then counts as one
    test, and the numbers are not exact. Whether all tests of such a package were skipped is not
    seen. A package that cannot be built counts as a failure.
    """
    runs = [each for each in (_read_lines(text), _read_events(text)) if each is not None]
    return add_up(runs) if runs else None


def _read_lines(text: str) -> Counted | None:
    if not any(each in text for each in ("ok  \t", "FAIL\t", "[no test files]")):
        return None
    counts = list(_counts(text))
    total = add_up(counts)
    listed = "=== RUN" in text or not total.ran
    return Counted(total.passed, total.failed, total.skipped, total.names, listed)


def _counts(text: str) -> Iterator[Counted]:
    seen = False  # whether the package's own tests have been listed
    for found in _RESULT.finditer(text):
        match found["how"], found["end"]:
            case "PASS", _:
                yield Counted(passed=1)
            case "SKIP", _:
                yield Counted(skipped=1)
            case "FAIL", _:
                yield Counted(failed=1, names=frozenset((found["test"],)))
            case _, "ok  " if not seen and "[no tests to run]" not in found["rest"]:
                yield Counted(passed=1)
            case _, "FAIL" if not seen:
                yield Counted(failed=1, names=frozenset((found["package"],)))
        seen = found["how"] is not None


def _read_events(text: str) -> Counted | None:
    events = [line for line in lines_with(text, _PACKAGE) if line.startswith("{")]
    return add_up(list(map(_read_event, events))) if events else None


def _read_event(line: str) -> Counted:
    action, test = _ACTION.search(line), _TEST.search(line)
    match action and test and action[1]:
        case "pass":
            return Counted(passed=1)
        case "skip":
            return Counted(skipped=1)
        case "fail" if test:
            return Counted(failed=1, names=frozenset((test[1],)))
        case _:
            return Counted()
