"""Reads what pytest, tracebacks and linters say of a failure.

pytest prints the assertion again with values in the place of code: `assert None == ''` for
`assert f([]) == ''`. Where the line can be read in two ways, nothing is found.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, takewhile
from typing import Final

from shared.languages.language_tools import BLANK_LINE, HEAD_ALONE, FaultReport, Tool, at_place
from shared.languages.python.assertion_marker import OPERATORS, is_literal
from shared.languages.python.python_code import parse_as_here

_EXPECTED: Final = {
    "==": "{}",
    "!=": "anything but {}",
    "<": "a value less than {}",
    "<=": "a value of at most {}",
    ">": "a value greater than {}",
    ">=": "a value of at least {}",
    "is": "{}",
    "is not": "anything but {}",
    "in": "one of {}",
    "not in": "none of {}",
    "isinstance": "an instance of {}",
}
_MIRRORED: Final = {
    "==": "==",
    "!=": "!=",
    "is": "is",
    "is not": "is not",
    "<": ">",
    "<=": ">=",
    ">": "<",
    ">=": "<=",
}
_CONTAINS: Final = {"in": "expected it to contain", "not in": "expected it not to contain"}
_TRUTH: Final = {"not": "a false value", "true": "a true value"}


@dataclass(frozen=True, slots=True)
class Operand:
    """Hold one side of an assertion: its code, its value as Python shows it, and what it is."""

    code: str
    value: str
    is_call: bool = False
    is_literal: bool = False
    type_name: str = ""


@dataclass(frozen=True, slots=True)
class FailedTest:
    """Hold the comparison, or the single value, that made an assertion fail.

    `operator` is Python's, or `isinstance`, or `true` for a value that should have been true.
    `difference` says where two long values differ, if anything.
    """

    operator: str
    operands: tuple[Operand, ...]
    difference: str = ""


def tell(failed: FailedTest) -> str:
    """Return the failure as a sentence without its full stop; empty for an unknown operator."""
    operator, operands = failed.operator, failed.operands
    if operator in _TRUTH and len(operands) == 1:
        return f"{_subject(operands[0])}, expected {_TRUTH[operator]}"
    if operator not in _EXPECTED or len(operands) != 2:
        return ""
    left, right = operands
    if operator in _CONTAINS and not right.is_literal:
        sentence = f"{_subject(right)}, {_CONTAINS[operator]} {_object(left)}"
    else:
        if left.is_literal and not right.is_literal and operator in _MIRRORED:
            left, right, operator = right, left, _MIRRORED[operator]
        alike = left.value == right.value and left.type_name != right.type_name
        typed = operator in ("==", "is") and alike
        expected = _EXPECTED[operator].format(_object(right, typed))
        sentence = f"{_subject(left, typed or operator == 'isinstance')}, expected {expected}"
    return f"{sentence}; {failed.difference}" if failed.difference else sentence


def tell_names(names: Sequence[Operand]) -> str:
    """Return what the named values are, in brackets after a blank; empty without names."""
    sentence = ", ".join(f"`{each.code}` is {each.value}" for each in names)
    return f" ({sentence})" if sentence else ""


def _subject(operand: Operand, typed: bool = False) -> str:
    of_type = f" of type {operand.type_name}" if typed and operand.type_name else ""
    if operand.is_literal:
        return f"the value is {operand.value}{of_type}"
    verb = "returned" if operand.is_call else "is"
    return f"`{operand.code}` {verb} {operand.value}{of_type}"


def _object(operand: Operand, typed: bool = False) -> str:
    of_type = f" of type {operand.type_name}" if typed and operand.type_name else ""
    if operand.is_literal or operand.code == operand.value:
        return operand.value + of_type
    return f"{operand.value}{of_type} (`{operand.code}`)"


def values_of(source: str, shown: str) -> FailedTest | None:
    """Return the values of the test `source`, which pytest shows as `shown`; `None` if unclear."""
    test = _expression(source)
    match test:
        case ast.Compare(left=left, ops=[operator], comparators=[right]):
            word = OPERATORS[type(operator)]
            halves = _halves(shown, word, _literal(right), _literal(left))
            if halves is None:
                return None
            sides = (_operand(source, left, halves[0]), _operand(source, right, halves[1]))
            return _telling(word, *sides)
        case ast.UnaryOp(op=ast.Not(), operand=operand) if shown.startswith("not "):
            return _telling("not", _operand(source, operand, shown.removeprefix("not ")))
        case ast.Call() | ast.Name() | ast.Attribute() | ast.Subscript():
            return _telling("true", _operand(source, test, shown))
        case _:
            return None


def _expression(source: str) -> ast.expr | None:
    match parse_as_here(source):
        case ast.Module(body=[ast.Expr(value=ast.Tuple(elts=[test, _]))]):  # with a message
            return test
        case ast.Module(body=[ast.Expr(value=test)]):
            return test
        case _:
            return None


def _literal(node: ast.expr) -> str | None:
    return repr(ast.literal_eval(node)) if is_literal(node) else None


def _halves(
    shown: str, operator: str, right: str | None, left: str | None
) -> tuple[str, str] | None:
    between = f" {operator} "
    if right is not None and shown.endswith(between + right):
        return shown.removesuffix(between + right), right
    if left is not None and shown.startswith(left + between):
        return left, shown.removeprefix(left + between)
    parts = shown.split(between)
    return (parts[0], parts[1]) if len(parts) == 2 else None


def _operand(source: str, node: ast.expr, value: str) -> Operand:
    code = " ".join((ast.get_source_segment(source, node) or ast.unparse(node)).split())
    return Operand(code, value, isinstance(node, ast.Call), is_literal(node))


def _telling(operator: str, *operands: Operand) -> FailedTest | None:
    """Return the test if a value is shown that the code itself does not show."""
    if all(each.is_literal or _bare(each.value) == _bare(each.code) for each in operands):
        return None
    return FailedTest(operator, operands)


def _bare(code: str) -> str:
    return re.sub(r"[\s()]", "", code)


_HEAD = re.compile(r"^(?P<indent>\s*)Traceback \(most recent call last\):$")
_FRAME = re.compile(r'^\s*File "(?P<path>[^"]+)", line (?P<line>\d+)(?:, in .*)?$')
_ERROR = re.compile(r"^[A-Za-z_][\w.]*(?:: .*)?$")
_SORRY = re.compile(r"^Sorry: (?P<message>\w+: .*) \((?P<file>[^,()]+), line (?P<line>\d+)\)$")
_COMPILING = re.compile(r"^\*\*\* Error compiling '(?P<path>[^']+)'\.\.\.$")
# Each Python version has other suggestions, and some have none.
_SUGGESTION = re.compile(r"(?:\. Did you (?:mean|forget)\b.*| \(most likely due to .*)$")
_CHAINED = (
    "During handling of the above exception, another exception occurred:",
    "The above exception was the direct cause of the following exception:",
)


@dataclass(frozen=True, slots=True)
class Frame:
    """Represent a line of code in a traceback. `source` is its text, empty if not shown."""

    path: str
    line: int
    source: str

    @property
    def is_ours(self) -> bool:
        """Return whether the file is one of the workspace's own, by its relative path."""
        return not self.path.startswith(("/", "<")) and "site-packages/" not in self.path

    @property
    def place(self) -> str:
        return at_place(self.path, self.line, self.source)


@dataclass(frozen=True, slots=True)
class Traceback:
    """Represent an exception that a Python program did not catch, and the lines that show it."""

    lines: range
    frames: tuple[Frame, ...]
    error: str
    """The exception's type and its message, as Python prints them."""

    @property
    def error_type(self) -> str:
        return self.error.partition(":")[0]

    @property
    def place(self) -> str:
        """Return the words for the last line of the workspace that ran, or an empty string."""
        return self._ours[-1].place if self._ours else ""

    @property
    def caller(self) -> str:
        """Return the words for the line of another file that led there, or an empty string."""
        ours = self._ours
        return ours[0].place if ours and ours[0].path != ours[-1].path else ""

    @property
    def _ours(self) -> Sequence[Frame]:
        return [each for each in self.frames if each.is_ours]


def read_tracebacks(lines: Sequence[str]) -> Iterator[Traceback]:
    """Yield the tracebacks in `lines`; of a chain of exceptions the last."""
    pending: Traceback | None = None
    number = 0
    while number < len(lines):
        found, stop = _read_one(lines, number)
        if found:
            if pending and not _chained(lines, pending, found):
                yield pending
            pending = found
        number = stop
    if pending:
        yield pending


def find_tracebacks(lines: Sequence[str]) -> Iterator[FaultReport]:
    """Yield a finding for each traceback, and for what `compileall` could not compile."""
    for each in read_tracebacks(lines):
        error = stable_error(each.error)
        place = f" ({each.place})" if each.place else ""
        caller = f", called in {each.caller}" if each.caller else ""
        says_nothing = error == "AssertionError" and not place
        yield FaultReport(each.lines, "" if says_nothing else f"{error}{place}{caller}")
    for number, line in enumerate(lines):
        if (sorry := _SORRY.match(line)) and number:
            compiling = _COMPILING.match(lines[number - 1])
            path = compiling["path"] if compiling else sorry["file"]
            fact = f"{sorry['message']} ({at_place(path, sorry['line'])})"
            yield FaultReport(range(number - 1, number + 1), fact)


def stable_error(error: str) -> str:
    """Return an exception's line without the suggestions that differ between Python versions."""
    return _SUGGESTION.sub("", error)


def _read_one(lines: Sequence[str], start: int) -> tuple[Traceback | None, int]:
    """Return the traceback that begins in a line, if any, and the line to go on with."""
    head = _HEAD.match(lines[start])
    if not head and not _FRAME.match(lines[start]):
        return None, start + 1
    deeper = f"{head['indent']} " if head else " "
    frames: list[Frame] = []
    for number in range(start + 1 if head else start, len(lines)):
        line = lines[number]
        if frame := _FRAME.match(line):
            frames.append(Frame(frame["path"].removeprefix("./"), int(frame["line"]), ""))
        elif line.startswith(deeper):
            if frames and not frames[-1].source and not line.lstrip().startswith("["):
                frames[-1] = replace(frames[-1], source=line.strip())
        elif frames and (error := _ERROR.match(line.strip())):
            return Traceback(range(start, number + 1), tuple(frames), error[0]), number + 1
        elif line.strip():
            return None, number
    return None, len(lines)


def _chained(lines: Sequence[str], first: Traceback, second: Traceback) -> bool:
    between = (line.strip() for line in lines[first.lines.stop : second.lines.start])
    return any(line in _CHAINED for line in between)


_SECTION = re.compile(r"^=+ (?P<title>.*?) =+$")
_TEST = re.compile(r"^_{3,} (?P<name>.+?) _{3,}$")
_STATEMENT = re.compile(r"^>\s+(?P<source>\S.*)$")
_SAID = re.compile(r"^E(?: {3}.*)?$")
_PLACE = re.compile(r"^(?P<path>[^\s:]+):(?P<line>\d+): (?P<error>[\w.]*)$")
_SHORT = re.compile(r"^(?:FAILED|ERROR) (?P<test>\S.*?)(?: - (?P<said>.*))?$")
_DEFINES = ("def ", "async def ")
_INPUT = re.compile(r"(?:Falsifying|Failing)(?: explicit)? (?:example|test case): ")
"""The beginning of what hypothesis adds to an exception: it is told by itself."""
_MAX_SAID = 4


@dataclass(frozen=True, slots=True)
class TestReport:
    """Hold what pytest reports of one failed test."""

    name: str
    lines: range
    sources: tuple[str, ...]
    """The statements that were under way, the test's own first. Some reports show none."""
    said: tuple[str, ...]
    place: str


def find_test_failures(lines: Sequence[str]) -> Iterator[FaultReport]:
    """Yield a finding for each failed test; without a report on each, for each in the summary."""
    found = False
    for block in read_blocks(lines):
        found = True
        yield FaultReport(block.lines, _fact(block))
    for number, line in enumerate(() if found else lines):
        if (short := _SHORT.match(line)) and "::" in short["test"]:
            said = f": {short['said']}" if short["said"] else ""
            yield FaultReport(range(number, number + 1), f"{short['test']} failed{said}")


def read_blocks(lines: Sequence[str]) -> Iterator[TestReport]:
    """Yield the parts of pytest's report that say why a test failed or could not be collected."""
    heads = [at for at, line in enumerate(lines) if _TEST.match(line) or _SECTION.match(line)]
    for start, stop in pairwise((*heads, len(lines))):
        block = _read_block(lines, start, stop)
        if block:
            yield block


def _read_block(lines: Sequence[str], start: int, stop: int) -> TestReport | None:
    heading = _TEST.match(lines[start])
    said = [number for number in range(start, stop) if _SAID.match(lines[number])]
    if not heading or not said:
        return None
    sources = [found for found in map(_STATEMENT.match, lines[start : said[0]]) if found]
    places = [found for found in map(_PLACE.match, lines[said[0] : stop]) if found]
    texts = [lines[number][1:].strip() for number in said]
    said_of_code = takewhile(lambda text: not _INPUT.match(text), texts)
    first = said[0] - 1 if sources else said[0]
    last = said[-1] + 1
    if places:
        below = (at for at in range(last, stop) if _PLACE.match(lines[at]))
        last = max(last, next(below, last - 1) + 1)
    return TestReport(
        name=heading["name"],
        lines=range(max(start, first), last),
        # hypothesis has the function that it calls among the statements.
        sources=tuple(e["source"] for e in sources if not e["source"].startswith(_DEFINES)),
        said=tuple(each for each in said_of_code if each and not each.startswith("Use -v ")),
        place=at_place(places[-1]["path"], places[-1]["line"]) if places else "",
    )


def _fact(block: TestReport) -> str:
    if not block.said:
        return f"{block.name} failed"
    source = block.sources[-1] if block.sources else ""
    if source.startswith("assert "):
        where = f" ({block.place})" if block.place else ""
        return f"In {block.name}{where}: {_assertion_sentence(block, source)}"
    error = stable_error("; ".join(block.said[:_MAX_SAID]))
    under_way = f"`{block.sources[0]}` ended with " if block.sources else ""
    shown = f": `{source}`" if len(block.sources) > 1 else ""
    where = f" ({block.place}{shown})" if block.place else ""
    name = block.name.removeprefix("ERROR ")  # as in `ERROR collecting test_a.py`
    return f"{'In' if name == block.name else 'While'} {name}: {under_way}{error}{where}"


def _assertion_sentence(block: TestReport, source: str) -> str:
    shown = next((each for each in map(_asserted, block.said) if each), "")
    failed = values_of(source.removeprefix("assert "), shown) if shown else None
    sentence = tell(failed) if failed else ""
    if not sentence:
        return stable_error("; ".join(block.said[:_MAX_SAID]))
    message = block.said[0].removeprefix("AssertionError: ")
    return sentence if message.startswith("assert ") else f"{sentence} ({message})"


def _asserted(said: str) -> str:
    text = said.removeprefix("AssertionError: ")
    return text.removeprefix("assert ") if text.startswith("assert ") else ""


TOOLS: Final = (
    Tool(  # ruff, in full
        head=re.compile(r"(?P<message>(?:[A-Z]{1,4}\d{3,4}|invalid-syntax)\b:? .*)$"),
        end=BLANK_LINE,
        place=re.compile(r"\s*--> (?P<path>[^\s:]+):(?P<line>\d+):\d+$"),
        proof=re.compile(r"\s*--> "),
    ),
    Tool(  # ruff and flake8, one line each
        head=re.compile(r"(?P<path>[^\s:]+):(?P<line>\d+):\d+: (?P<message>[A-Z]{1,4}\d{3,4} .*)$"),
        end=HEAD_ALONE,
    ),
)
