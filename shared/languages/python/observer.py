"""Runs a piece of Python as `python -c` would, and reports which values made it fail.

This file and those that it imports run in the sandbox, with the observed code as an argument. So
they import nothing else of llmch, and run on Python 3.9 and later, whatever the target has
installed. An environment that was made from a lock with hashes lacks pytest, so pytest's own
rewriting of assertions cannot do this. The values of an assertion pass through a `Recorder`, which
returns them unchanged: each is evaluated once, in its place. The report is one line of JSON on
standard error.
"""

from __future__ import annotations

import ast
import json
import os
import sys
import types

from shared.languages.python.assertion_marker import (
    MAX_NAMES,
    RECORDER,
    Marker,
    Slot,
    Statement,
    Test,
)
from shared.languages.python.shown_values import MAX_VALUE, difference, show

MARK = "llmch-observed:"
FILE = "<string>"
MAX_BESIDE = 50  # characters of a value whose difference is reported as well


class Recorder:
    """Keep values while the code runs, and remember which statement is under way."""

    def __init__(self) -> None:
        self.values: dict[int, object] = {}
        self.under_way: list[int] = []
        self.statement = -1
        self.failed = -1

    def begin(self, statement: int) -> None:
        self.statement = statement
        self.under_way = []

    def forget(self, first: int, stop: int) -> None:
        """Drop the values of an assertion that is about to be tested."""
        for number in range(first, stop):
            self.values.pop(number, None)

    def enter(self, number: int) -> int:
        """Note that an expression is about to be evaluated, and return its number."""
        self.under_way.append(number)
        return number

    def keep(self, number: int, value: object) -> object:
        if number in self.under_way:
            del self.under_way[self.under_way.index(number) :]
        self.values[number] = value
        return value

    def fail(self, statement: int, message: object = None) -> object:
        """Note which assertion failed, and return its message."""
        self.failed = statement
        return message


def observe(code: str, arguments: list[str]) -> dict[str, object]:
    """Run the code as the main module; return what made it fail, or an empty report."""
    marker, recorder = Marker(code), Recorder()
    tree = ast.parse(code, FILE)
    tree.body = marker.mark_block(tree.body, "<module>")
    compiled = compile(ast.fix_missing_locations(tree), FILE, "exec", dont_inherit=True)
    main_module = types.ModuleType("__main__")
    main_module.__dict__.update({"__builtins__": __builtins__, RECORDER: recorder})
    sys.modules["__main__"] = main_module
    sys.argv[:] = ["-c", *arguments]
    try:
        exec(compiled, main_module.__dict__)  # noqa: S102  # the command's own code
    except Exception as error:
        return report(error, marker, recorder)
    return {}


def report(error: Exception, marker: Marker, recorder: Recorder) -> dict[str, object]:
    """Return the values of the assertion that failed, or the code that raised the error."""
    frames = []
    trace = error.__traceback__
    while trace is not None:
        frames.append((trace.tb_frame.f_code, trace.tb_lineno))
        trace = trace.tb_next
    own = [each for each in frames if each[0].co_filename == FILE]
    if not own:
        return {}
    (code, line), statements = own[-1], marker.statements
    if isinstance(error, AssertionError) and own[-1] == frames[-1] and recorder.failed >= 0:
        return asserted(statements[recorder.failed], line, marker, recorder)
    if not 0 <= recorder.statement < len(statements):
        return {}
    return raised(statements[recorder.statement], code.co_name, line, marker, recorder)


def asserted(
    statement: Statement, line: int, marker: Marker, recorder: Recorder
) -> dict[str, object]:
    """Return the values of an assertion, if it is the one that raised the error in this line."""
    if statement.test is None or line not in statement.lines:
        return {}
    tests = failing(statement.test, recorder)
    return {"code": statement.code, "tests": [described(each, marker, recorder) for each in tests]}


def raised(
    statement: Statement, function: str, line: int, marker: Marker, recorder: Recorder
) -> dict[str, object]:
    """Return the code that was under way, if it is in this line of this function."""
    if line not in statement.lines or function not in (statement.function, "<genexpr>"):
        return {}
    if not recorder.under_way:
        return {"code": statement.code, "names": []}
    slot = marker.slots[recorder.under_way[-1]]
    return {"code": slot.code, "names": named([slot], marker, recorder)}


def failing(test: Test, recorder: Recorder) -> list[Test]:
    """Return the tests without parts that made this one fail."""
    evaluated = [each for each in test.parts if each.result in recorder.values]
    if test.operators[0] in ("and", "all"):
        evaluated = evaluated[-1:]
    if not test.parts:
        return [test]
    return [found for each in evaluated for found in failing(each, recorder)]


def described(test: Test, marker: Marker, recorder: Recorder) -> dict[str, object]:
    """Return a failed test with the operands that decided it."""
    numbers = [each for each in test.operands if each in recorder.values]
    operators = test.operators
    if len(operators) > 1:  # a chain ends at its first comparison that is false
        operators, numbers = operators[len(numbers) - 2 :], numbers[-2:]
    slots = [marker.slots[each] for each in numbers]
    values = [recorder.values[each] for each in numbers]
    compared = operators[0] == "==" and len(values) == 2
    differ = difference(values[0], values[1]) if compared else ""
    operands = [
        {
            "code": slot.code,
            "value": show(value, MAX_BESIDE if differ else MAX_VALUE),
            "is_call": slot.is_call,
            "is_literal": slot.is_literal,
            "type_name": type(value).__name__,
        }
        for slot, value in zip(slots, values)  # noqa: B905  # `strict` is newer than Python 3.9
    ]
    return {
        "operator": operators[0],
        "operands": operands,
        "difference": differ,
        "names": named(slots, marker, recorder),
    }


def named(slots: list[Slot], marker: Marker, recorder: Recorder) -> list[list[str]]:
    """Return the variables in the code of these slots with their values, plain data only."""
    found: dict[str, str] = {}
    for number in (each for slot in slots for each in slot.names):
        if number in recorder.values and marker.slots[number].code not in found:
            value = show(recorder.values[number])
            if not value.startswith("<"):
                found[marker.slots[number].code] = value
    return [list(each) for each in list(found.items())[:MAX_NAMES]]


def main() -> None:
    found = observe(sys.argv[1], sys.argv[2:])
    line = "\n" + MARK + json.dumps(found) + "\n"
    os.write(2, line.encode("ascii"))
    os._exit(0)
