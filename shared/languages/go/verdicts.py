"""Turns what the Go compiler says of a test into the code of a finding."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_COMPLAINT: Final = re.compile(
    r"^(?:\./)?(?P<path>[^\s:#][^:\n]*\.go):(?P<line>\d+)(?::(?P<column>\d+))?: "
    r"(?P<message>.+)$",
    re.MULTILINE,
)
_NAME: Final = r"[A-Za-z_]\w*"
_LACKS: Final = re.compile(
    rf"\.(?P<name>{_NAME}) undefined \(type (?P<type>.+?) has no field or method "
)
_MAX_MESSAGE: Final = 300


@dataclass(frozen=True, slots=True)
class Complaint:
    """Hold one complaint of the compiler; `line` and `column` count from 1."""

    path: str
    line: int
    column: int
    message: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """Hold the code of a finding, and the name that the complaint is about, if there is one.

    `package` is the name of the package before it: "" where the name stands alone. A `lacking`
    name is one that the code does not have, and that a later order may declare.
    """

    code: str
    name: str = ""
    package: str = ""
    lacking: bool = False


def read_complaints(output: str) -> Iterator[Complaint]:
    """Yield the complaints in the compiler's output. Never raises."""
    for found in _COMPLAINT.finditer(output):
        line, column = found["line"], found["column"] or "1"
        if len(line) < 9 and len(column) < 9:
            message = found["message"].strip()[:_MAX_MESSAGE]
            yield Complaint(found["path"], int(line), int(column), message)


_CODES: Final[tuple[tuple[str, str], ...]] = (
    # A language version that is too old, and packages that cannot be had here.
    (r"requires go1\.|no required module provides|is not in std|cannot find (?:package|mod)", ""),
    (r"too many errors|could not import|import cycle|use of internal package|^other decl", ""),
    (r"not enough arguments in call|too many arguments in call", "E212"),
    (r"too (?:few|many) values in struct literal", "E212"),
    (r"cannot use .+ in argument to|cannot use .+ in struct literal", "E213"),
    (r"declared and not used|imported and not used|imported as .+ and not used", "E206"),
    (r"^syntax error|missing return|redeclared in this block|no new variables on left", "E206"),
    (r"^label \w+ defined and not used|is not used$|^expected |^missing ", "E206"),
    (r"cannot use .+ (?:value|variable|constant|literal)", "E214"),
    (r"assignment mismatch|multiple-value|used as value", "E214"),
    (r"invalid operation|invalid argument", "E214"),
    (r"cannot (?:index|call|range over|convert|slice|assign|indirect|compare|take)", "E214"),
    (r"impossible type|non-boolean condition", "E214"),
    (r"is not (?:an interface|a type|an expression)", "E214"),
)  # fmt: skip
_COMPILED: Final = tuple((re.compile(pattern), code) for pattern, code in _CODES)


def judge(message: str) -> Verdict | None:
    """Return the verdict on a message; `None` where it is no fault of the test."""
    if found := _LACKS.search(message):
        owner = found["type"].replace("*", "").split("[")[0].rpartition(".")[2].strip()
        owner = owner.split(" ")[-1]
        return Verdict("E211", f"{owner}.{found['name']}", lacking=True)
    if found := re.match(rf"undefined: (?:({_NAME})\.)?({_NAME})$", message):
        qualified = found[1] is not None
        return Verdict("E211" if qualified else "E216", found[2], found[1] or "", lacking=True)
    if found := re.search(rf"name ({_NAME}) not exported by package ({_NAME})", message):
        return Verdict("E211", found[1], found[2])
    if " undefined (" in message:
        return Verdict("E211")
    if found := re.search(rf"unknown field ({_NAME}) in struct literal of type ([\w.]+)", message):
        name = f"{found[2].rpartition('.')[2]}.{found[1]}"
        return Verdict("E211", name, lacking=True)
    code = next((code for pattern, code in _COMPILED if pattern.search(message)), "W222")
    callee = re.search(rf"(?:in call to|argument to) (?:({_NAME})\.)?({_NAME})", message)
    name, package = (callee[2], callee[1] or "") if callee else ("", "")
    return Verdict(code, name, package) if code else None
