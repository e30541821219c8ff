"""Turns what the Rust compiler says of a test into the code of a finding."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

_MAX_MESSAGE: Final = 300
_MAX_DEPTH: Final = 20  # of macros within each other
_ARGUMENTS: Final = re.compile(r"arguments to this \w+ (?:\w+ )?(?:is|are) incorrect")
_NAME: Final = r"[A-Za-z_]\w*"
# Methods of traits that a type may get by `derive` or by an implementation nobody declared.
_OF_TRAITS: Final = frozenset(
    {"clone", "to_string", "eq", "ne", "cmp", "partial_cmp", "lt", "gt", "le", "ge", "default",
     "hash", "fmt", "into", "try_into", "from", "try_from", "iter", "iter_mut", "into_iter",
     "next", "as_ref", "as_mut", "borrow", "deref", "to_owned", "parse", "source", "write_str",
     "from_str", "add", "sub", "mul", "div", "neg", "not", "index", "drop", "map", "collect"}
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Complaint:
    """Hold one error of the compiler at its place in a file; `line` and `column` count from 1.

    `rule` is the compiler's own code, and "" where it gives none. `is_argument` says that the error
    is about an argument of a call.
    """

    path: str
    line: int
    column: int
    rule: str
    message: str
    is_argument: bool = False


@dataclass(frozen=True, slots=True)
class Verdict:
    """Hold the code of a finding, and the name that the code lacks, if it lacks one."""

    code: str
    name: str = ""


def read_complaints(output: str) -> Iterator[Complaint]:
    """Yield the errors in cargo's output, which has one JSON object on a line. Never raises."""
    for line in output.splitlines():
        if not line.startswith("{"):
            continue
        try:
            document = json.loads(line)
        except (ValueError, RecursionError):
            continue
        message = _at(document, "message")
        if isinstance(message, dict) and message.get("level") == "error":
            yield from _complaint(message)


def _complaint(message: Mapping[str, object]) -> Iterator[Complaint]:
    spans = message.get("spans")
    found = [each for each in spans if isinstance(each, dict)] if isinstance(spans, list) else []
    main = next((each for each in found if each.get("is_primary") is True), None)
    if main is None:
        return
    primary = _outermost(main)
    place = [primary.get(each) for each in ("file_name", "line_start", "column_start")]
    path, line, column = place
    if not (isinstance(path, str) and isinstance(line, int) and isinstance(column, int)):
        return
    labels = [text for each in found for text in [each.get("label")] if isinstance(text, str)]
    text = " ".join(str(message.get("message", "")).split())
    own = primary.get("label")
    shown = f"{text}: {own}" if isinstance(own, str) and own not in text else text
    rule = _at(message.get("code"), "code")
    yield Complaint(
        path,
        line,
        column,
        rule if isinstance(rule, str) else "",
        shown[:_MAX_MESSAGE],
        any(map(_ARGUMENTS.search, (text, *labels))),
    )


def _outermost(span: Mapping[str, object]) -> Mapping[str, object]:
    """Return the span in the code that called a macro, for one within the macro."""
    for _ in range(_MAX_DEPTH):
        inner = _at(span.get("expansion"), "span")
        if not isinstance(inner, dict):
            break
        span = {**inner, "label": span.get("label")}
    return span


def _at(value: object, key: str) -> object:
    return value.get(key) if isinstance(value, dict) else None


_LACKING: Final = frozenset(
    {"E0425", "E0412", "E0432", "E0433", "E0405", "E0422", "E0531", "E0532", "E0574", "E0576"}
)
_BY_RULE: Final[Mapping[str, str]] = {
    **dict.fromkeys(("E0609", "E0610", "E0560", "E0559", "E0603", "E0616", "E0624"), "E211"),
    **dict.fromkeys(("E0026", "E0027", "E0407", "E0438"), "E211"),
    **dict.fromkeys(("E0061", "E0057", "E0060", "E0063", "E0107", "E0050", "E0023"), "E212"),
    **dict.fromkeys(("E0369", "E0277", "E0600", "E0604", "E0605", "E0606", "E0607"), "E214"),
    **dict.fromkeys(("E0608", "E0614", "E0618", "E0615", "E0070", "E0067", "E0368"), "E214"),
    **dict.fromkeys(("E0423", "E0029", "E0529", "E0527", "E0572", "E0594"), "E214"),
    **dict.fromkeys(("E0596", "E0384", "E0428", "E0728", "E0765", "E0434"), "E206"),
}


def judge(complaint: Complaint, own_types: frozenset[str]) -> Verdict | None:
    """Return the verdict on an error; `None` where it is no fault that a plan can mend.

    `own_types` are the types of the project: which traits they implement, contracts often leave
    open.
    """
    rule, message = complaint.rule, complaint.message
    if rule in _LACKING:
        return _lacking(message)
    if rule == "E0599":
        return _no_method(message, own_types)
    if rule == "E0308":
        return Verdict("E213" if complaint.is_argument else "E214")
    if rule in ("E0277", "E0369", "E0600", "E0608"):
        doubtful = _may_be_implemented(message, own_types)
        return Verdict("W222" if doubtful else _argument(complaint))
    if not rule:
        if found := re.search(rf"cannot find macro `({_NAME})`", message):
            return Verdict("E216", found[1])
        is_syntax = re.match(r"expected|unexpected|unknown|mismatched|unclosed|this file", message)
        return Verdict("E206" if is_syntax else "W222")
    if not re.fullmatch(r"E\d{4}", rule):
        return None  # a lint, which knows constants only by the empty values that they have here
    code = _BY_RULE.get(rule, "W222")
    found = re.search(rf"no field (?:named )?`({_NAME})`", message)
    return Verdict(code, found[1] if found else "")


def _may_be_implemented(message: str, own_types: frozenset[str]) -> bool:
    """Return whether a trait that is missing may come from the project's own code."""
    if found := re.search(r"can't compare `([^`]+)` with `([^`]+)`", message):
        heads = {re.sub(r"^[&\[(\s]*(?:mut )?", "", each).split("<")[0] for each in found.groups()}
        mention = [own_types & set(re.findall(_NAME, each)) for each in found.groups()]
        return bool(heads & own_types) or all(mention)
    named = re.findall(r"`([^`]+)`", message)
    return any(word in own_types for each in named for word in re.findall(_NAME, each))


def _argument(complaint: Complaint) -> str:
    return "E213" if complaint.is_argument else "E214"


def _lacking(message: str) -> Verdict:
    """Return the verdict on a name that nothing defines, alone or in a module."""
    if re.search(r"unlinked crate|undeclared crate|`cargo add", message):
        return Verdict("E216")
    if found := re.search(rf"unresolved import `(?:{_NAME}::)*({_NAME})`", message):
        return Verdict("E211", found[1])
    found = re.search(rf"`({_NAME})`", message)
    name = found[1] if found else ""
    if re.search(r"in this scope|undeclared type|use of undeclared", message):
        return Verdict("E216", name)
    return Verdict("E211", name)


def _no_method(message: str, own_types: frozenset[str]) -> Verdict:
    found = re.search(rf"named `({_NAME})` found for [\w ]*`([^`]+)`", message)
    if found is None:
        return Verdict("W222")
    name, mentioned = found[1], set(re.findall(_NAME, found[2]))
    own = mentioned & own_types
    if "trait bounds" in message or (own and name in _OF_TRAITS):
        return Verdict("W222")
    owner = next(iter(own), "") if len(own) == 1 else ""
    return Verdict("E211", f"{owner}.{name}" if owner else name)
