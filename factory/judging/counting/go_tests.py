"""Reads the output of `go test`: plain, with -v, and with -json. Pure."""

from __future__ import annotations

import re

from factory.judging.counting.counted import Counted, add_up, lines_with

_RESULT = re.compile(
    r"^(?:--- (?P<how>PASS|FAIL|SKIP): (?P<test>\S+)"
    r"|(?P<end>ok  |FAIL|\?   )\t(?P<package>\S+)(?P<rest>.*))",
    re.MULTILINE,
)
_ACTION = re.compile(r'"Action":"(pass|fail|skip)"')
_TEST = re.compile(r'"Test":"([^"/]+)"')


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
    passed, skipped = 0, 0
    failed: list[str] = []
    seen = False  # whether the package's own tests have been listed
    for found in _RESULT.finditer(text):
        how, test, end, package, rest = found.groups()
        passed += how == "PASS" or (end == "ok  " and not seen and "[no tests to run]" not in rest)
        skipped += how == "SKIP"
        if how == "FAIL" or (end == "FAIL" and not seen):
            failed.append(test or package)
        seen = how is not None
    listed = "=== RUN" in text or not (passed or failed)
    return Counted(passed, len(failed), skipped, frozenset(failed), listed)


def _read_events(text: str) -> Counted | None:
    events = [line for line in lines_with(text, '"Package":"') if line.startswith("{")]
    if not events:
        return None
    ended: dict[str, list[str]] = {"pass": [], "skip": [], "fail": []}
    for line in events:
        action, test = _ACTION.search(line), _TEST.search(line)
        if action and test:
            ended[action[1]].append(test[1])
    passed, skipped, failed = ended["pass"], ended["skip"], ended["fail"]
    return Counted(len(passed), len(failed), len(skipped), frozenset(failed))
