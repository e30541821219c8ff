"""Checks, without running code, that a proposal keeps declared interfaces and existing code.

The type checker is imported and started only where there is something for it to check.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from factory.proposal.scope import FileKind
from factory.workbench.tree import NotReadable, Tree
from shared.languages.base import DOES_NOT_PARSE, CheckerFailed
from shared.languages.registry import language_of
from shared.languages.shrinking import check_shrinking
from shared.work_order.schemas import Interface, WorkOrder

if TYPE_CHECKING:
    from factory.judging.warm_checker import WarmChecker
    from factory.orders.documents import WriteProposal
    from factory.proposal.shown import ShownFile
    from shared.languages.base import ContractViolation


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
    if language is not None:
        return language.check_rewrite(path, before, after, changes)
    is_named = path in {each.strip() for each in changes}
    return () if is_named else check_shrinking(path, before, after)


def check_declarations(
    binding: Sequence[WorkOrder],
    written: Iterable[str],
    tree: Tree,
    list_files: Callable[[], Iterable[str]],
    checker: WarmChecker,
) -> ContractResult:
    """Return whether the project, as it is written to `tree`, keeps what binds an order.

    `binding` holds the orders whose declarations are in force, the order itself last. All that
    the order itself declares is checked. Earlier declarations are checked for the files `written`.
    `list_files` returns all files of the tree; it is called only if there is something to check.
    """
    if not _declares(binding):
        return ContractResult()
    language = checker.language
    declared = [each for each in _in_force(binding, written) if language_of(each.path) is language]
    if not declared:
        return ContractResult()
    sources = _Sources(tree, list_files(), language.suffixes)
    try:
        return ContractResult(language.check_conformance(declared, sources, checker))
    except CheckerFailed as failed:
        return ContractResult(unjudged=failed.message)


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


def _in_force(binding: Sequence[WorkOrder], written: Iterable[str]) -> tuple[Interface, ...]:
    from shared.languages.python.stubs.contracts import contracts_in_force

    paths = {*written, *(each.path for each in binding[-1].interfaces)}
    return tuple(each for each in contracts_in_force(binding) if each.path in paths)


def render_violations(violations: Iterable[ContractViolation]) -> str:
    """Return the violations, one line each."""
    return "\n".join(map(render_violation, violations))


def render_violation(violation: ContractViolation) -> str:
    """Return the violation as one line: its file, its name and its message."""
    named = violation.name and not violation.message.startswith("`")
    what = f"`{violation.name}` {violation.message}" if named else violation.message
    return f"{violation.path}: {' '.join(what.split())}"


class _Sources(Mapping[str, str]):
    """Map the path of each source file of a tree to its text, which is read on demand."""

    def __init__(self, tree: Tree, files: Iterable[str], suffixes: tuple[str, ...]) -> None:
        self._tree = tree
        self._files = frozenset(each for each in files if each.endswith(suffixes))

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
