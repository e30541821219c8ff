"""Checks a proposal without running it: declared interfaces, and what a person would point out.

The type checker is imported and started only where there is something for it to check.
"""

from __future__ import annotations

import difflib
import posixpath
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from factory.orders.documents import FailureBrief, FileWrite, WriteProposal
from factory.proposal.assemble_edits import elision
from factory.proposal.edit_blocks import find_placeholder
from factory.proposal.scope import FileKind
from factory.proposal.shown_code import ShownFile
from factory.workbench.judging_tools import SandboxRunner
from factory.workbench.tree import NotReadable, Tree
from shared.languages.capabilities import ContractViolation, Language, check_shrinking
from shared.languages.language_tools import (
    HEAD_ALONE,
    LESS_INDENTED,
    CheckerFailed,
    Tool,
    Tools,
)
from shared.languages.planned_code import DOES_NOT_PARSE
from shared.languages.registry import LANGUAGES, language_of, outline_of
from shared.settings.settings import SandboxSettings
from shared.work_order.work_order import Interface, WorkOrder


@dataclass(frozen=True, slots=True)
class ContractResult:
    """Hold the violations of the contract; `unjudged` says why it could not be judged, if so."""

    violations: tuple[ContractViolation, ...] = ()
    unjudged: str = ""

    def document(self) -> dict[str, object]:
        """Return the record of this result, fit for JSON."""
        return {
            "kept": not self.violations and not self.unjudged,
            "violations": [
                {"path": each.path, "name": each.name, "message": each.message}
                for each in self.violations
            ],
            "unjudged": self.unjudged,
        }


def is_bound(
    binding: Sequence[WorkOrder], proposal: WriteProposal, shown: Sequence[ShownFile]
) -> bool:
    """Return whether there is anything that a proposal has to keep: contracts or files."""
    there = {each.path for each in shown if each.state.kind is FileKind.FILE}
    return not there.isdisjoint(proposal.paths) or _declares(binding)


def check_rewrites(
    order: WorkOrder, proposal: WriteProposal, shown: Sequence[ShownFile]
) -> tuple[ContractViolation, ...]:
    """Return what existing files lose by a proposal without being named in the order's changes."""
    before = {each.path: each.text for each in shown if each.state.kind is FileKind.FILE}
    return tuple(
        violation
        for each in proposal.writes
        if each.path in before
        for violation in _check_rewrite(each, before, proposal, order.changes)
    )


def _check_rewrite(
    write: FileWrite, texts: Mapping[str, str], proposal: WriteProposal, changes: Sequence[str]
) -> Iterable[ContractViolation]:
    path, before, after = write.path, texts[write.path], write.content
    language = language_of(path)
    if language is None or language.edits is None:
        is_named = path in {each.strip() for each in changes}
        return () if is_named else check_shrinking(path, before, after)
    found = language.edits.check_rewrite(path, before, after, changes)
    if not found or len(proposal.writes) == 1:
        return found
    # What moved to another file is not lost with its text; its name is, unless files share names.
    lost = frozenset[str]() if language.shares_folder else {each.name for each in found}
    moved = {name for name in _moved(write, texts, proposal, language) if name not in lost}
    allowed = (*changes, *(f"{path}:{name}" for name in sorted(moved)))
    return language.edits.check_rewrite(path, before, after, allowed) if moved else found


def _moved(
    write: FileWrite, texts: Mapping[str, str], proposal: WriteProposal, language: Language
) -> Iterator[str]:
    """Yield the names that other files of a proposal begin to declare."""
    for each in proposal.writes:
        if each.path == write.path or language_of(each.path) is not language:
            continue
        if language.shares_folder and posixpath.dirname(each.path) != posixpath.dirname(write.path):
            continue
        there = {entry.name for entry in outline_of(each.path, texts.get(each.path, ""))}
        yield from (e.name for e in outline_of(each.path, each.content) if e.name not in there)


def check_declarations(
    binding: Sequence[WorkOrder],
    written: Iterable[str],
    tree: Tree,
    list_files: Callable[[], Iterable[str]],
    tools: Tools,
) -> ContractResult:
    """Return whether the project, as it is written to `tree`, keeps what binds an order.

    `binding` holds the orders whose declarations are in force, the order itself last. All that
    the order itself declares is checked. Earlier declarations are checked for the files `written`.
    `list_files` returns all files of the tree; it is called only if there is something to check.
    """
    if not _declares(binding):
        return ContractResult()
    paths = {*written, *(each.path for each in binding[-1].interfaces)}
    violations: list[ContractViolation] = []
    unjudged: list[str] = []
    for language in LANGUAGES:
        declared = _in_force(language, binding, paths)
        if language.conformance is None or not declared:
            continue
        sources = _Sources(tree, filter(language.conformance.reads, list_files()))
        try:
            violations += language.conformance.check_conformance(declared, sources, tools)
        except CheckerFailed as failed:
            unjudged.append(failed.message)
    return ContractResult(tuple(violations), "; ".join(unjudged))


def without_syntax(result: ContractResult) -> ContractResult:
    """Return the result for a target with another Python, which may parse what this one can't.

    Violations that say that a file does not parse become the reason in `unjudged`.
    """
    unread = [each for each in result.violations if each.message.startswith(DOES_NOT_PARSE)]
    if not unread:
        return result
    rest = tuple(each for each in result.violations if each not in unread)
    reasons = "; ".join(map(render_violation, unread))
    return ContractResult(rest, result.unjudged or reasons)


def _declares(binding: Sequence[WorkOrder]) -> bool:
    return any(each.interfaces for each in binding)


def _in_force(
    language: Language, binding: Sequence[WorkOrder], paths: Collection[str]
) -> tuple[Interface, ...]:
    declared = any(language_of(i.path) is language for each in binding for i in each.interfaces)
    if language.conformance is None or not declared:
        return ()
    in_force = language.conformance.contracts_in_force(binding)
    return tuple(each for each in in_force if each.path in paths)


def render_violations(violations: Iterable[ContractViolation]) -> str:
    """Return the violations, one line each."""
    return "\n".join(map(render_violation, violations))


def render_violation(violation: ContractViolation) -> str:
    """Return the violation as one line: its file, its name and its message."""
    named = violation.name and not violation.message.startswith("`")
    what = f"`{violation.name}` {violation.message}" if named else violation.message
    return f"{violation.path}: {' '.join(what.split())}"


class _Sources(Mapping[str, str]):
    def __init__(self, tree: Tree, files: Iterable[str]) -> None:
        self._tree = tree
        self._files = frozenset(files)

    def __getitem__(self, path: str) -> str:
        if path not in self._files:
            raise KeyError(path)
        try:
            return self._tree.read(path).decode("utf-8")
        except (NotReadable, UnicodeDecodeError):
            raise KeyError(path) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)


def warm_tools(settings: SandboxSettings, checkout: Path) -> Tools:
    """Return the tools that judge code, for several threads. Nothing starts yet.

    Tools run in the sandbox of `settings`, and none is taken from the folder `checkout`.
    """
    return Tools(SandboxRunner(settings, checkout))


_MAX_NAMES: Final = 6
_SYNTAX: Final = re.compile(rf"\b(?:SyntaxError|IndentationError|TabError)\b|{DOES_NOT_PARSE}")


def notes_on(
    order: WorkOrder,
    proposal: WriteProposal,
    shown: Sequence[ShownFile],
    failure: FailureBrief | None = None,
    files: Collection[str] = (),
) -> tuple[str, ...]:
    """Return sentences on what is wrong with a proposal, the most helpful ones last.

    Without a `failure`, the sentences name only certain faults: no file changes, a file or a name
    that the order wants is missing, a comment stands for lines, a function has no body. With one,
    they also explain it: a function that returns a constant, a file that did not change, a line
    that does not parse, a name that does not exist and what does. `shown` are the files as the
    prompt showed them, and `files` are the paths of the repository.
    """
    before = {each.path: each.text for each in shown if each.state.kind is FileKind.FILE}
    after = {each.path: each.content for each in proposal.writes}
    if all(before.get(path) == text for path, text in after.items()):
        named = ", ".join(after)
        return (f"The reply changes nothing: it gives {named} exactly as it was shown.",)
    notes = [
        *_missing_files(order, before, after),
        *(_unchanged_files(order, before, after) if failure else ()),
        *elisions_in(proposal, shown),
        *_missing_names(order, after),
        *(_errors(failure, before, after, files) if failure else ()),
        *_unwritten(order, before, after, with_doubtful=failure is not None),
    ]
    return tuple(dict.fromkeys(notes))


def elisions_in(proposal: WriteProposal, shown: Sequence[ShownFile]) -> Iterator[str]:
    """Yield a sentence for each file that was there and has a mark for lines that are left out."""
    before = {each.path: each.text for each in shown if each.state.kind is FileKind.FILE}
    for each in proposal.writes:
        text = before.get(each.path)
        if text is not None and (found := find_placeholder(each.path, each.content, text)):
            yield f"In {each.path}, {elision(found)}."


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
    stubs = (each.stub for each in order.interfaces)
    texts = (order.title, order.intent, order.notes or "", *order.changes, *stubs)
    return frozenset(re.findall(r"\w+", " ".join((*texts, *order.acceptance_commands))))


TOOLS: Final = (
    Tool(  # what watches commands in the sandbox
        head=re.compile(r"(?:# )?(?P<message>The command ended before its own end: .*)$"),
        end=HEAD_ALONE,
    ),
    Tool(  # javac
        head=re.compile(r"(?P<path>[^\s:]+\.java):(?P<line>\d+): (?P<message>error: .*)$"),
        end=re.compile(r"\S"),
        told=re.compile(r"  (?P<told>(?:symbol|location|required|found|reason): .*)$"),
    ),
    Tool(  # java
        head=re.compile(r'Exception in thread "[^"]*" (?P<message>.*)$'),
        end=re.compile(r"\S"),
        place=re.compile(r"\s+at .*\((?P<path>[^\s():]+\.java):(?P<line>\d+)\)$"),
    ),
    Tool(  # compilers that write as gcc does
        head=re.compile(
            r"(?P<path>[^\s:]+):(?P<line>\d+):(?:\d+:)? (?:fatal )?(?P<message>error: .*)$"
        ),
        end=LESS_INDENTED,
    ),
    Tool(  # the linker
        head=re.compile(r"(?:.*: )?(?P<message>undefined reference to .*)$"),
        end=HEAD_ALONE,
    ),
    Tool(  # a shell
        head=re.compile(r"(?P<path>[^\s:]+): line (?P<line>\d+): (?P<message>.*)$"),
        end=HEAD_ALONE,
    ),
    Tool(  # make, without a rule
        head=re.compile(
            r"make(?:\[\d+\])?: \*\*\* (?P<message>No rule to make target .*?)\.? +Stop"
        ),
        end=HEAD_ALONE,
    ),
    Tool(  # make
        head=re.compile(r"make(?:\[\d+\])?: \*\*\* \[(?P<message>.*)$"),
        end=HEAD_ALONE,
        before=3,
        silent=True,
    ),
)
