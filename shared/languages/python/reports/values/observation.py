"""Reads the observer's report. The command's own code ran beside it, so nothing in it is trusted.

Pure: a report that is not as it should be is no report.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from shared.languages.python.reports.phrases import FailedTest, Operand, tell, tell_names
from shared.languages.python.reports.values.observer import MARK

_Text = Annotated[str, Field(max_length=1000)]


class _Report(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True)


class _Operand(_Report):
    code: _Text
    value: _Text
    is_call: bool
    is_literal: bool
    type_name: _Text


_Names = Annotated[
    tuple[Annotated[tuple[_Text, _Text], Field(strict=False)], ...],
    Field(strict=False, max_length=8),
]


class _Test(_Report):
    operator: _Text
    operands: Annotated[tuple[_Operand, ...], Field(strict=False, max_length=2)]
    difference: _Text
    names: _Names


class _Observed(_Report):
    code: _Text
    tests: Annotated[tuple[_Test, ...], Field(strict=False, max_length=8)] = ()
    names: _Names = ()


@dataclass(frozen=True, slots=True)
class Observation:
    """Hold what was seen of a failure: sentences on an assertion, or the code that raised.

    Without `told`, `code` was under way when an exception was raised, `with_names` after it.
    """

    code: str
    told: tuple[str, ...] = ()
    with_names: str = ""


def read_observation(stderr: str) -> Observation | None:
    """Return the last report in a command's standard error; `None` where there is none."""
    _, mark, text = stderr.rpartition(MARK)
    if not mark:
        return None
    try:
        observed = _Observed.model_validate(json.loads(text.partition("\n")[0]))
    except (ValueError, RecursionError, ValidationError):
        return None
    told = (_told(each) for each in observed.tests)
    return Observation(observed.code, tuple(filter(None, told)), _named(observed.names))


def _told(test: _Test) -> str:
    operands = (
        Operand(each.code, each.value, each.is_call, each.is_literal, each.type_name)
        for each in test.operands
    )
    told = tell(FailedTest(test.operator, tuple(operands), test.difference))
    shown = {each.code for each in test.operands}
    return told + _named([each for each in test.names if each[0] not in shown]) if told else ""


def _named(names: tuple[tuple[str, str], ...] | list[tuple[str, str]]) -> str:
    return tell_names([Operand(code, value) for code, value in names])
