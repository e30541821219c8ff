"""Knows tests on generated inputs: what they print, and what has them prove less than they seem to.

Libraries print an input on which code fails after making it as small as they can. A test that has
no library prints `Counterexample: INPUT`, as the planner's model is shown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Counterexample:
    """Hold the lines of an output that show an input, and the input on one line, with its test.

    `lines` are numbers from 0. Code that a model wrote may have printed the text.
    """

    lines: range
    text: str


# `E  ` is pytest's margin; a log of Go names the line, and an error its type. Code that is shown
# beside a failure, such as `throw new Error("Counterexample: ...")`, does not match.
_MARGIN: Final = r"\s*(?:E\s+|#\s+|\|\s+)?"
_ERROR: Final = (
    r"(?:error: )?(?P<quote>['\"]?)(?:Uncaught )?(?:[\w.$]*(?:Error|Exception)(?: \[\w+\])?: )?"
)
_PRINTED: Final = (
    # Each form of the first line, and the line that ends it where it may have several.
    (re.compile(rf"{_MARGIN}(?:[\w./-]+:\d+: )?{_ERROR}Counterexample: (?P<input>\S.*)$"), None),
    (  # hypothesis
        re.compile(
            rf"{_MARGIN}(?:Falsifying|Failing)(?: explicit)? (?:example|test case): (?P<input>.+)$"
        ),
        re.compile(r"\s*\)$"),
    ),
    (re.compile(r"\s+(?:[\w./-]+:\d+: )?#\d+: failed on input (?P<input>.+)$"), None),  # Go
    (  # proptest
        re.compile(r"\s*minimal failing input: (?P<input>.*)$"),
        re.compile(r"\s*(?:successes: \d+)?$"),
    ),
    (re.compile(r".*\[quickcheck\] TEST FAILED\. Arguments: (?P<input>.+)$"), None),
)
_COMMENT: Final = re.compile(r"\s+# or any other generated value$")
_TEST: Final = re.compile(
    r"\s*(?:not ok \d+ (?:- )?|=== (?:RUN|CONT|NAME) +|--- FAIL: |thread '|_{3,} |✖ |● "
    r"|(?:FAIL|ERROR): )"
    r"(?P<name>[^'\n]{1,80}?)(?: \([\d.]+m?s\)|'.*| _{3,}| # .*| \([\w.]+\))?$"
)
_MARGIN_OF_PYTEST: Final = re.compile(r"^(?:E\s{3}|\s*\| )")
_MOST_LINES: Final = 40
_REACH: Final = 60
"""The number of lines above an input among which the name of its test is looked for."""


def find_counterexamples(lines: Sequence[str]) -> Iterator[Counterexample]:
    """Yield the inputs that an output shows, each text once."""
    seen: set[str] = set()
    stop = 0
    for number, line in enumerate(lines):
        if number < stop or not (found := _read(lines, number, line)):
            continue
        stop = found.lines.stop
        if found.text not in seen:
            seen.add(found.text)
            yield found


def _read(lines: Sequence[str], number: int, line: str) -> Counterexample | None:
    for head, end in _PRINTED:
        if not (match := head.match(line)):
            continue
        quote = match.groupdict().get("quote")
        shown = match["input"]
        if quote:  # as TAP quotes a text of one line
            shown = re.sub(r"\\([\\#'])", r"\1", shown.removesuffix(quote))
        parts = [shown]
        if end is not None and not parts[0].endswith(")"):
            parts += _until(end, lines[number + 1 : number + _MOST_LINES])
        text = _on_one_line(parts)
        name = _name_of_test(lines, number)
        named = text if not name or text.startswith(f"{name}(") else f"{name}: {text}"
        return Counterexample(range(number, number + len(parts)), named)
    return None


def _until(end: re.Pattern[str], lines: Sequence[str]) -> Iterator[str]:
    """Yield the lines of an input that goes on, without their margin, and its last bracket."""
    for line in lines:
        inner = _MARGIN_OF_PYTEST.sub("", line)
        is_last = end.match(inner) is not None
        if not is_last or inner.strip() == ")":
            yield inner
        if is_last:
            return


def _on_one_line(parts: Sequence[str]) -> str:
    bare = [*filter(None, (_COMMENT.sub("", each).strip() for each in parts))]
    if len(bare) > 1 and bare[0].endswith("(") and bare[-1] == ")":
        return f"{bare[0]}{' '.join(bare[1:-1]).rstrip(',')})"
    return " ".join(bare)


def _name_of_test(lines: Sequence[str], number: int) -> str:
    above = (_TEST.match(each) for each in reversed(lines[max(0, number - _REACH) : number]))
    return next((each["name"].strip() for each in above if each), "")


@dataclass(frozen=True, slots=True)
class ChanceMark:
    """Say by which `words` a test or a command draws other inputs on each run, or too many.

    `fault` is the end of a sentence on the test. It is none where the text also has `unless`.
    """

    words: str
    fault: str
    unless: str = ""

    def is_in(self, text: str) -> bool:
        """Return whether the text has the fault."""
        found = re.search(self.words, text, re.MULTILINE) is not None
        return found and not (self.unless and re.search(self.unless, text))


MOST_INPUTS: Final = r"(?:[2-9]_?\d{3}|[1-9]\d{1,2}_?\d{3}|[1-9][\d_]{6,20})\b"
"""A pattern of numbers of 2,000 and more, as of the inputs that a test tries at most."""
TOO_MANY: Final = "tries thousands of inputs"

_CALL: Final = r"(?P<call>[A-Za-z_][\w.:]{0,80}\([^\n;]{0,200}?\))"
_ITSELF: Final = tuple(
    re.compile(each)
    for each in (
        rf"(?<![\w.]){_CALL}\s*(?:===?|!==?)\s*(?P=call)(?![\w.(\[])",
        rf"\b(?:\w*[eE]qual\w*|\w*assert_(?:eq|ne)!)\(\s*&?{_CALL},\s*&?(?P=call)\s*[,)]",
        rf"\bexpect\({_CALL}\)\.to\w+\((?P=call)\)",
        r"\bCheckEqual\(\s*(?P<call>[\w.]+),\s*(?P=call)\s*,",
    )
)
_ASSERTION: Final = re.compile(r"^\s*assert\b|\bassert[\w.]*!?\(|\bexpect\(|\bt\.(?:Error|Fatal)")


def call_beside_itself(text: str) -> str:
    """Return a call that a test compares with the same call and asserts nothing else, or ""."""
    found = [each["call"] for words in _ITSELF for each in words.finditer(text)]
    asserting = sum(_ASSERTION.search(line) is not None for line in text.split("\n"))
    return found[0] if found and len(found) >= asserting else ""
