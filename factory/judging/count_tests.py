"""Counts the tests that the output of a command reports, for every runner that is known.

A command may run several test runners, so what they report is added up. A program can print
whatever it likes: the numbers say what the output reports, and no command passes because of them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from factory.orders import documents

if TYPE_CHECKING:
    from factory.orders.documents import CountedTests
    from factory.sandbox.policy import Captured, Ended


# No summary of a test runner is as long. The bound keeps each pattern linear in the output.
_LONGEST_LINE: Final = 4096
_PAIR = re.compile(r"(\d{1,9}) ([a-z]+)")


@dataclass(frozen=True, slots=True)
class Counted:
    """Hold how many tests passed, failed and were skipped, with the names of those that failed.

    `names` may lack some. Where `exact` is false, the runner does not count all of its tests, and
    the numbers are the least that can be concluded.
    """

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    names: frozenset[str] = frozenset()
    exact: bool = True

    @property
    def ran(self) -> int:
        """Return how many tests ran to their end. A skipped test did not."""
        return self.passed + self.failed


def add_up(counts: Sequence[Counted]) -> Counted:
    """Return the sum of several runs."""
    return Counted(
        sum(each.passed for each in counts),
        sum(each.failed for each in counts),
        sum(each.skipped for each in counts),
        frozenset[str]().union(*(each.names for each in counts)),
        all(each.exact for each in counts),
    )


def lines_with(text: str, words: str) -> Iterator[str]:
    """Yield each line that contains `words`, without its line break, unless it is very long."""
    end = 0
    while (at := text.find(words, end)) >= 0:
        start = text.rfind("\n", end, at) + 1 or end
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        if end - start <= _LONGEST_LINE:
            yield text[start:end].strip("\r\n")


def matches(text: str, words: str, pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
    """Yield the match of each line with `words` that the pattern matches from its beginning."""
    found = (pattern.match(line) for line in lines_with(text, words))
    return (each for each in found if each)


def numbers_by_word(text: str) -> dict[str, int]:
    """Return the numbers of a text such as `3 passed, 1 failed` by the words behind them."""
    return {word: int(number) for number, word in _PAIR.findall(text)}


_N = r"(\d{1,9})"
_CARGO = re.compile(rf"test result: \w+\. {_N} passed; {_N} failed; {_N} ignored; {_N} measured")
_CARGO_NAME = re.compile(r"test (\S.*) \.\.\. FAILED$")
_NEXTEST = re.compile(r" *Summary \[.*\] +\S+ tests? run: (.*)$")
_SUREFIRE = re.compile(
    rf"(?:\[\w+\] +)?Tests run: {_N}, Failures: {_N}, Errors: {_N}, Skipped: {_N}"
    r"(?:, Flakes: \d+)?$"
)
_SUREFIRE_NONE = re.compile(r"(?:\[\w+\] +)?No tests to run\.$")
_GRADLE = re.compile(rf"{_N} tests? completed(?:, {_N} failed)?(?:, {_N} skipped)?$")
_GRADLE_TASK = re.compile(r"> Task \S*:(?:[a-z]\w*T|t)est( [A-Z-]+)?$")
_DOTNET = re.compile(rf" *\w+! +- Failed: +{_N}, Passed: +{_N}, Skipped: +{_N}, Total:")
_DOTNET_SUMMARY = re.compile(
    rf" *Test summary: total: \d+, failed: {_N}, succeeded: {_N}, skipped: {_N}"
)
_DOTNET_LINE = re.compile(rf" +(failed|succeeded|skipped|Passed|Failed|Skipped): {_N}$")
_DOTNET_NONE = re.compile(r" *No test (?:is available in|matches the given testcase filter)")
_CTEST = re.compile(rf"\d+% tests passed, {_N} tests? failed out of {_N}$")
_CTEST_SKIPPED = re.compile(r"\s+\d+ - .* \(Skipped\)$")
_CTEST_NONE = re.compile(r"No tests were found!!!$")


def read_cargo(text: str) -> Counted | None:
    """Return the sum over the test binaries and doc tests of `cargo test`, and of nextest."""
    runs = [
        Counted(int(each[1]) + int(each[4]), int(each[2]), int(each[3]))
        for each in matches(text, "test result: ", _CARGO)
    ]
    for found in matches(text, "run: ", _NEXTEST):
        numbers = numbers_by_word(found[1])
        runs.append(
            Counted(numbers.get("passed", 0), numbers.get("failed", 0), numbers.get("skipped", 0))
        )
    names = frozenset(each[1] for each in matches(text, "... FAILED", _CARGO_NAME))
    return add_up((*runs, Counted(names=names))) if runs else None


def read_surefire(text: str) -> Counted | None:
    """Return the sum over the modules of a Maven build, without the lines of single classes."""
    runs = []
    for found in matches(text, "Tests run: ", _SUREFIRE):
        total, failures, errors, skipped = map(int, found.groups())
        failed = failures + errors
        runs.append(Counted(max(0, total - failed - skipped), failed, skipped))
    return _sum(runs, text, "No tests to run", _SUREFIRE_NONE)


def read_gradle(text: str) -> Counted | None:
    """Return what Gradle says of its test tasks: it counts their tests only where one fails.

    If all test tasks passed, the result is `None`, and zero if none of them has a source.
    """
    runs = []
    for found in matches(text, " completed", _GRADLE):
        total, failed, skipped = (int(each or 0) for each in found.groups())
        runs.append(Counted(max(0, total - failed - skipped), failed, skipped, exact=False))
    tasks = list(matches(text, "> Task ", _GRADLE_TASK))
    if not runs and tasks and all(each[1] == " NO-SOURCE" for each in tasks):
        return Counted()
    return add_up(runs) if runs else None


def read_dotnet(text: str) -> Counted | None:
    """Return the sum of the summaries of `dotnet test`, in whichever form it prints them."""
    for words, pattern in (("! ", _DOTNET), ("Test summary: ", _DOTNET_SUMMARY)):
        runs = [
            Counted(int(each[2]), int(each[1]), int(each[3]))
            for each in matches(text, words, pattern)
        ]
        if runs:
            return add_up(runs)
    if "Test run summary: " in text or "Total tests: " in text:
        runs = [
            _dotnet_line(each[1].lower(), int(each[2]))
            for each in matches(text, ": ", _DOTNET_LINE)
        ]
        return add_up(runs) if runs else None
    return _sum([], text, "No test ", _DOTNET_NONE)


def _dotnet_line(word: str, number: int) -> Counted:
    match word:
        case "failed":
            return Counted(failed=number)
        case "skipped":
            return Counted(skipped=number)
        case _:
            return Counted(passed=number)


def read_ctest(text: str) -> Counted | None:
    """Return the sum of ctest's summaries. Its percentage counts skipped tests as passed."""
    runs = []
    for found in matches(text, "% tests passed", _CTEST):
        failed, all_tests = int(found[1]), int(found[2])
        runs.append(Counted(max(0, all_tests - failed), failed))
    skipped = sum(1 for _ in matches(text, "(Skipped)", _CTEST_SKIPPED))
    if runs and skipped:
        total = add_up(runs)
        runs = [Counted(max(0, total.passed - skipped), total.failed, skipped)]
    return _sum(runs, text, "No tests were found", _CTEST_NONE)


def _sum(runs: Sequence[Counted], text: str, words: str, none: re.Pattern[str]) -> Counted | None:
    if runs:
        return add_up(runs)
    return Counted() if any(matches(text, words, none)) else None


_RESULT = re.compile(
    r"^(?: *--- (?P<how>PASS|FAIL|SKIP): (?P<test>\S+)"
    r"|(?P<end>ok  |FAIL|\?   )\t(?P<package>\S+)(?P<rest>.*))",
    re.MULTILINE,
)
_ACTION = re.compile(r'"Action":"(pass|fail|skip)"')
_TEST = re.compile(r'"Test":"([^"]+)"')
_PACKAGE = re.compile(r'"Package":"([^"]+)"')


def read_go(text: str) -> Counted | None:
    """Return the tests of all packages, without subtests.

    Where the output is not verbose, because a command sets GOFLAGS itself, go names failed tests
    alone. A package that passed then counts as one test, and the numbers are not exact. Whether all
    tests of such a package were skipped is not seen. A package that cannot be built counts as a
    failure. Failed subtests are among the names.
    """
    lines = _read_lines(_apart(text))
    runs = [each for each in (lines, _read_events(text)) if each is not None]
    return add_up(runs) if runs else None


_GO_BEGUN = re.compile(r"^\x16?=== RUN   ((?:Test|Example|Fuzz)\S*)$", re.MULTILINE)
_GO_ENDED = re.compile(r"--- (?:PASS|FAIL|SKIP): (\S+) \(\d")


def _go_unended(text: str, ended: re.Pattern[str]) -> Counter[str]:
    """Return the tests of go that began more often than results of the given form are there."""
    if "=== RUN" not in text:
        return Counter()
    return Counter(_GO_BEGUN.findall(text)) - Counter(ended.findall(text))


_OWN_LINE = re.compile(rf"^ *{_GO_ENDED.pattern}", re.MULTILINE)


def _apart(text: str) -> str:
    """Return the text with results on lines of their own that follow what a test has printed."""
    if not (tests := _go_unended(text, _OWN_LINE)):
        return text
    glued = rf"(?<=[^\n])--- (?:PASS|FAIL|SKIP): (?:{'|'.join(map(re.escape, tests))}) \(\d"
    return re.sub(glued, r"\n\g<0>", text)


def _read_lines(text: str) -> Counted | None:
    if not any(each in text for each in ("ok  \t", "FAIL\t", "[no test files]")):
        return None
    passed, failed, skipped = 0, 0, 0
    names: list[str] = []
    own: list[str] = []  # failed tests of the package whose end comes next
    own_passed = 0
    seen = False  # whether the package's own tests have been listed
    verbose = "=== RUN" in text
    for found in _RESULT.finditer(text):
        how, test, end, package, rest = found.groups()
        if how is not None and ("/" in test or found[0][0] == " "):
            own += [test] if how == "FAIL" and "/" in test else []
            continue
        own_passed += how == "PASS" or (end == "ok  " and not seen and not verbose)
        if end is not None:
            # Code that go found no test in may print lines that look like a test's.
            passed += 0 if "[no tests to run]" in rest else own_passed
            own_passed = 0
        skipped += how == "SKIP"
        if how == "FAIL":
            own.append(test)
        failed += how == "FAIL" or (end == "FAIL" and not seen)
        if end is not None:
            names += [f"{package}.{each}" for each in own]
            names += [package] if end == "FAIL" and not seen else []
            own = []
        seen = how is not None
    passed += own_passed
    listed = verbose or not (passed or failed)
    return Counted(passed, failed, skipped, frozenset((*names, *own)), listed)


def _read_events(text: str) -> Counted | None:
    events = [line for line in lines_with(text, '"Package":"') if line.startswith("{")]
    if not events:
        return None
    ended = {"pass": 0, "skip": 0, "fail": 0}
    names: set[str] = set()
    for line in events:
        action, test, package = (each.search(line) for each in (_ACTION, _TEST, _PACKAGE))
        if action and test:
            ended[action[1]] += "/" not in test[1]
            if action[1] == "fail":
                names.add(f"{package[1]}.{test[1]}" if package else test[1])
    return Counted(ended["pass"], ended["fail"], ended["skip"], frozenset(names))


# Two marks of node: a number sign in TAP, and U+2139 in the form for people.
_MARKS: Final = ("# ", "\u2139 ")
_NODE = re.compile("[#\u2139] (tests|pass|fail|cancelled|skipped|todo) +([0-9]{1,9})$")
_JEST = re.compile(r"Tests: +((?:\d+ [a-z]+, )*)\d+ total$")
_VITEST = re.compile(r" +Tests +((?:\d+ [a-z]+(?: fail)?(?: \| )?)+) \(\d+\)$")
_MOCHA = re.compile(r"  (\d{1,9}) (passing \(.*\)|failing|pending)$")
_AVA = re.compile(r"  (\d{1,9} )tests? (passed|failed|skipped|todo)$")
_UVU: Final = tuple(
    re.compile(rf"{each} +{_N}$") for each in ("  Total:  ", "  Passed: ", "  Skipped:")
)
_UVU_NAME = re.compile(r"   FAIL  (\S.*)$")
_FOUND_NONE = re.compile(r"No (?:tests|test files) found, exiting with code \d")
_MATCHED_NONE = re.compile(r"  testMatch: .* - 0 matches$")  # jest before 24 exits with 0
# Names of failed tests. Suites and files are among them: they fail as their tests do.
_TAP_NAME = re.compile(r" *not ok \d+ (?:- )?(?!.* # TODO)(\S.*)$")
_NODE_NAME = re.compile(r" *\u2716 (\S.*) \([\d.]+ms\)$")
_JEST_NAME = re.compile(r"  \u25cf (\S.*)$")
_FILE_NAME = re.compile(r" ?FAIL +(\S.*?)(?: \([\d.]+ m?s\))?$")
_MOCHA_NAME = re.compile(r" +\d+\) (\S.*)$")
_AVA_NAME = re.compile(r" *[\u2718\u2716] \[fail\]: (\S.*?)(?: \([\d.]+m?s\))?$")


def _named(text: str, *forms: tuple[str, re.Pattern[str]]) -> Counted:
    """Return the names in the lines of these forms, each of which goes with words in the line."""
    found = (each[1] for words, form in forms for each in matches(text, words, form))
    return Counted(names=frozenset(found))


def read_node(text: str) -> Counted | None:
    """Return the sum of the summaries of `node --test`, in both of its forms, and of tape.

    Node counts a file that defines no test as one test, which passes when the file ends well.
    """
    found = [(each[1], int(each[2])) for mark in _MARKS for each in matches(text, mark, _NODE)]
    if not any(word == "tests" for word, _ in found):
        return None
    runs = [_by_word({word: number}) for word, number in found]
    return add_up((*runs, _named(text, ("not ok ", _TAP_NAME), ("\u2716 ", _NODE_NAME))))


def read_jest(text: str) -> Counted | None:
    runs = [_by_word(numbers_by_word(each[1])) for each in matches(text, "Tests:", _JEST)]
    none = [Counted() for _ in matches(text, "found, exiting", _FOUND_NONE)]
    none += [Counted() for _ in matches(text, "testMatch: ", _MATCHED_NONE)]
    if not runs and not none:
        return None
    return add_up((*runs, *none, _named(text, ("  \u25cf ", _JEST_NAME), ("FAIL ", _FILE_NAME))))


def read_vitest(text: str) -> Counted | None:
    runs = [_by_word(numbers_by_word(each[1])) for each in matches(text, " Tests ", _VITEST)]
    return add_up((*runs, _named(text, ("FAIL ", _FILE_NAME)))) if runs else None


def read_mocha(text: str) -> Counted | None:
    found = [
        numbers_by_word(f"{each[1]} {each[2]}")
        for word in (" passing", " failing", " pending")
        for each in matches(text, word, _MOCHA)
    ]
    if not any("passing" in each for each in found):
        return None
    return add_up((*map(_by_word, found), _named(text, (") ", _MOCHA_NAME))))


def read_ava(text: str) -> Counted | None:
    """Return the sum of the summaries of AVA, which leave out what passed where a test failed."""
    found = [numbers_by_word(each[1] + each[2]) for each in matches(text, " test", _AVA)]
    if not found:
        return None
    total = add_up((*map(_by_word, found), _named(text, ("[fail]: ", _AVA_NAME))))
    return replace(total, exact=not total.failed)


def read_uvu(text: str) -> Counted | None:
    """Return the sum of the summaries of uvu, which ends well also where it found no test."""
    total, passed, skipped = (
        [int(each[1]) for each in matches(text, form.pattern[:10], form)] for form in _UVU
    )
    if not total or not passed:
        return None
    run = Counted(sum(passed), max(0, sum(total) - sum(passed)), sum(skipped))
    return add_up((run, _named(text, (" FAIL  ", _UVU_NAME))))


def _by_word(numbers: Mapping[str, int]) -> Counted:
    def total(words: Iterable[str]) -> int:
        return sum(numbers.get(word, 0) for word in words)

    return Counted(
        total(("pass", "passed", "passing")),
        total(("fail", "failed", "failing", "cancelled")),
        total(("skipped", "pending", "todo", "expected")),  # to fail, as pytest's `xfailed`
    )


_PYTEST = re.compile(r"=* ?((?:\d+ [a-z]+(?: [a-z]+)?(?:, )?)+|no tests ran) in [\d.]+s")
_PYTEST_WORDS = {"passed", "failed", "error", "errors", "skipped", "xfailed", "xpassed"} | {
    "deselected",
    "warning",
    "warnings",
}
_PYTEST_NAME = re.compile(r"(?:FAILED|ERROR) (\S.*?)(?: - .*)?$")
_PYTEST_TEARDOWN = re.compile(r"_+ ERROR at teardown of .* _+$")
_UNITTEST = re.compile(r"Ran (\d{1,9}) tests? in [\d.]+s$")
_UNITTEST_RESULT = re.compile(r"(?:OK|FAILED) \((.*)\)$")
_UNITTEST_PART = re.compile(r"([a-z ]{1,40})=(\d{1,9})")
_UNITTEST_NAME = re.compile(r"(?:FAIL|ERROR): (\S.*)$")


_PYTEST_PROGRESS = re.compile(r"([.FEsxX]+) +\[ *\d+%\]$")


def read_pytest(text: str) -> Counted | None:
    """Return the sum of pytest's summaries. A test that is expected to fail counts as skipped.

    A test that ended well before its teardown failed is in a summary twice, and is counted once.
    Told twice to be quiet, by its configuration and by its command, it prints no summary: then a
    sign for each test is counted.
    """
    runs = []
    for found in matches(text, " in ", _PYTEST):
        numbers = numbers_by_word(found[1])
        if numbers.keys() & _PYTEST_WORDS or not numbers:
            runs.append(
                Counted(
                    numbers.get("passed", 0) + numbers.get("xpassed", 0),
                    sum(numbers.get(word, 0) for word in ("failed", "error", "errors")),
                    numbers.get("skipped", 0) + numbers.get("xfailed", 0),
                )
            )
    if not runs:
        signs = "".join(each[1] for each in matches(text, "%]", _PYTEST_PROGRESS))
        passed, failed = (sum(map(signs.count, each)) for each in (".X", "FE"))
        runs = [Counted(passed, failed, len(signs) - passed - failed, exact=False)] if signs else []
    if not runs:
        return None
    total = add_up(runs)
    teardowns = sum(1 for _ in matches(text, "ERROR at teardown of ", _PYTEST_TEARDOWN))
    twice = min(teardowns, total.failed, total.passed)
    total = replace(total, passed=total.passed - twice)
    marked = (*matches(text, "FAILED ", _PYTEST_NAME), *matches(text, "ERROR ", _PYTEST_NAME))
    return replace(total, names=frozenset(each[1] for each in marked))


def read_unittest(text: str) -> Counted | None:
    """Return the sum of unittest's summaries. A test that is expected to fail counts as skipped."""
    ran = [int(found[1]) for found in matches(text, "Ran ", _UNITTEST)]
    if not ran:
        return None
    numbers: dict[str, int] = {}
    results = (
        *matches(text, "OK (", _UNITTEST_RESULT),
        *matches(text, "FAILED (", _UNITTEST_RESULT),
    )
    for found in results:
        for part in found[1].split(", "):
            if each := _UNITTEST_PART.fullmatch(part):
                numbers[each[1]] = numbers.get(each[1], 0) + int(each[2])
    failed = sum(numbers.get(word, 0) for word in ("failures", "errors", "unexpected successes"))
    skipped = numbers.get("skipped", 0) + numbers.get("expected failures", 0)
    marked = (
        _UNITTEST_NAME.match(each)
        for word in ("FAIL: ", "ERROR: ")
        for each in lines_with(text, word)
    )
    names = frozenset(each[1] for each in marked if each) if failed else frozenset[str]()
    # The error of a fixture belongs to no test that ran, so the parts may exceed the whole.
    return Counted(max(0, sum(ran) - failed - skipped), failed, skipped, names)


READERS: Final[tuple[Callable[[str], Counted | None], ...]] = (
    read_pytest, read_unittest, read_node, read_jest, read_vitest, read_mocha, read_ava, read_uvu,
    read_go, read_cargo, read_surefire, read_gradle, read_dotnet, read_ctest,
)  # fmt: skip

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def without_colours(output: str) -> str:
    return _COLOUR.sub("", output)


def count_tests(output: str) -> Counted | None:
    """Return the tests that the output reports; `None` if no known test runner wrote it."""
    text = without_colours(output)
    runs = [found for reader in READERS if (found := reader(text)) is not None]
    return add_up(runs) if runs else None


_CARGO_RUN = re.compile(rf"running {_N} tests?$")
_PYTEST_EXIT = re.compile(r"!+ _pytest\.outcomes\.Exit: ")


def unfinished(ended: Ended) -> str:
    """Return why a report shows that its test runner did not end, as a sentence; else ""."""
    text = without_colours(_output(ended))
    begun = sum(int(each[1]) for each in matches(text, "running ", _CARGO_RUN))
    counted = read_cargo(text) or Counted() if begun else Counted()
    without = begun - counted.ran - counted.skipped + _go_unended(text, _GO_ENDED).total()
    without = 0 if _is_cut(ended) else without  # the results may be in what is not kept
    if without > 0:
        what = f"{documents.count_of_tests(without)} of a test binary began and reported no result"
    elif any(matches(text, "_pytest.outcomes.Exit", _PYTEST_EXIT)):
        what = "the code under test ended the run of its tests"
    else:
        return ""
    return f"The command ended before its own end: {what}."


# A log holds 8 MiB and its tail. Tests outside of these are not counted.
_MOST_READ: Final = 9 * 1024 * 1024


def tests_of(ended: Ended) -> CountedTests | None:
    """Return the tests that the command reported; `None` if no known test runner did.

    Summaries may be anywhere in an output, so the logs are read where memory holds only a part.
    """
    counted = count_tests(_output(ended))
    cut = _is_cut(ended)
    if counted is None or (cut and not counted.ran):
        return None
    at_least = cut or not counted.exact
    return documents.CountedTests(
        passed=counted.passed, failed=counted.failed, skipped=counted.skipped, at_least=at_least
    )


def _is_cut(ended: Ended) -> bool:
    """Return whether a part of the output is neither in memory nor in the log."""
    streams = (ended.stdout, ended.stderr)
    return any(each.truncated and each.total_bytes > _size(each.log) for each in streams)


def _output(ended: Ended) -> str:
    return "\n".join(map(_whole, (ended.stdout, ended.stderr)))


def _whole(stream: Captured) -> str:
    if not stream.truncated:
        return stream.text
    try:
        with stream.log.open("rb") as file:
            return file.read(_MOST_READ).decode("utf-8", "replace")
    except OSError:  # the head and the tail are better than nothing
        return stream.text


def _size(log: Path) -> int:
    try:
        return log.stat().st_size
    except OSError:
        return 0
