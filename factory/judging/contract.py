"""Checks, without running code, that a proposal keeps declared interfaces and existing code.

The type checker is imported and started only where there is something for it to check.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from factory.proposal.scope import FileKind
from factory.workbench.tree import NotReadable, Tree
from shared.languages.capabilities.checking import CheckerFailed
from shared.languages.capabilities.conformance import DOES_NOT_PARSE
from shared.languages.registry import LANGUAGES, language_of
from shared.languages.shrinking import check_shrinking
from shared.work_order.schemas import Interface, WorkOrder

if TYPE_CHECKING:
    from factory.orders.documents import WriteProposal
    from factory.proposal.shown import ShownFile
    from shared.languages.base import Language
    from shared.languages.capabilities.conformance import ContractViolation
    from shared.languages.capabilities.tools import Tools


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
        for violation in _check_rewrite(each.path, before[each.path], each.content, order.changes)
    )


def _check_rewrite(
    path: str, before: str, after: str, changes: Sequence[str]
) -> Iterable[ContractViolation]:
    language = language_of(path)
    if language is not None and language.edits is not None:
        return language.edits.check_rewrite(path, before, after, changes)
    is_named = path in {each.strip() for each in changes}
    return () if is_named else check_shrinking(path, before, after)


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
    """Return what binds the files `paths` that are of the language."""
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
    """Map the paths of files of a tree to their texts, which are read on demand."""

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
