"""Says what a look at a proposal shows, before anything runs or beside a failure. Pure."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final

from factory.orders.documents import FailureBrief, WriteProposal
from factory.proposal.scope import FileKind
from factory.proposal.shown import ShownFile
from shared.languages.capabilities.conformance import DOES_NOT_PARSE
from shared.languages.registry import LANGUAGES, language_of
from shared.work_order.schemas import WorkOrder

_MAX_NAMES: Final = 6
_SYNTAX: Final = re.compile(rf"\b(?:SyntaxError|IndentationError|TabError)\b|{DOES_NOT_PARSE}")


def notes_on(
    order: WorkOrder,
    proposal: WriteProposal,
    shown: Sequence[ShownFile],
    failure: FailureBrief | None = None,
    files: Collection[str] = (),
) -> tuple[str, ...]:
    """Return sentences on what is wrong with a proposal, the most telling ones last.

    Without a `failure`, only what is certainly wrong is said: no file changes, a file or a name
    that the order wants is missing, a function has no body. With one, also what explains it: a
    function that returns a constant, a file that did not change, a line that does not parse, a name
    that does not exist and what does. `shown` are the files as the prompt showed them, and `files`
    are the paths of the repository.
    """
    before = {each.path: each.text for each in shown if each.state.kind is FileKind.FILE}
    after = {each.path: each.content for each in proposal.writes}
    if all(before.get(path) == text for path, text in after.items()):
        named = ", ".join(after)
        return (f"The reply changes nothing: it gives {named} exactly as it was shown.",)
    notes = [
        *_missing_files(order, before, after),
        *(_unchanged_files(order, before, after) if failure else ()),
        *_missing_names(order, after),
        *(_errors(failure, before, after, files) if failure else ()),
        *_unwritten(order, before, after, with_doubtful=failure is not None),
    ]
    return tuple(dict.fromkeys(notes))


def _missing_files(
    order: WorkOrder, before: Mapping[str, str], after: Mapping[str, str]
) -> Iterator[str]:
    wanted = {each.path for each in order.postconditions}
    wanted.update(each.path for each in order.interfaces)
    for path in order.allowed_files:
        if path in wanted and path not in before and path not in after:
            yield f"The reply does not write {path}, which the work order wants."


def _unchanged_files(
    order: WorkOrder, before: Mapping[str, str], after: Mapping[str, str]
) -> Iterator[str]:
    for path in order.allowed_files:
        if path in before and after.get(path, before[path]) == before[path]:
            given = "is given as it was shown" if path in after else "is not in the reply"
            yield f"{path} {given}: it did not change."


def _missing_names(order: WorkOrder, after: Mapping[str, str]) -> Iterator[str]:
    for interface in order.interfaces:
        language = language_of(interface.path)
        notes = language.notes if language is not None else None
        if notes is None or interface.path not in after:
            continue
        declared = notes.names_in(interface.stub)
        existing = notes.names_in(after[interface.path])
        if declared is None or existing is None:
            continue
        for name in sorted({*declared} - {*existing}):
            if "." not in name:
                yield _without(name, interface.path, existing)


def _without(name: str, path: str, existing: Iterable[str]) -> str:
    names = sorted(existing)
    offered = difflib.get_close_matches(name, names, n=3) or [
        each for each in names if "." not in each and not each.startswith("_")
    ]
    has = ", ".join(f"`{each}`" for each in offered[:_MAX_NAMES])
    return f"{path} has no `{name}`, which the work order declares" + (
        f"; it has {has}." if has else "."
    )


def _errors(
    failure: FailureBrief,
    before: Mapping[str, str],
    after: Mapping[str, str],
    files: Collection[str],
) -> Iterator[str]:
    output = "\n".join((failure.primary_error_excerpt, *failure.facts))
    for path, text in after.items():
        language = language_of(path)
        notes = language.notes if language is not None else None
        if notes and _SYNTAX.search(output) and (note := notes.note_syntax(path, text)):
            yield note
    for each in LANGUAGES:
        if each.notes is not None:
            yield from each.notes.note_errors(output, {**before, **after}, files)


def _unwritten(
    order: WorkOrder, before: Mapping[str, str], after: Mapping[str, str], *, with_doubtful: bool
) -> Iterator[str]:
    words = _words_of(order)
    for path, text in after.items():
        language = language_of(path)
        notes = language.notes if language is not None else None
        for each in notes.find_unwritten(path, before.get(path, ""), text) if notes else ():
            is_named = each.name.rpartition(".")[2] in words
            if (is_named or not each.was_so) and (each.is_certain or with_doubtful):
                yield each.message


def _words_of(order: WorkOrder) -> frozenset[str]:
    """Return the words of what the order asks for."""
    stubs = (each.stub for each in order.interfaces)
    texts = (order.title, order.intent, order.notes or "", *order.changes, *stubs)
    return frozenset(re.findall(r"\w+", " ".join((*texts, *order.acceptance_commands))))
