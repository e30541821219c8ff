"""Does a proposal keep what is declared of the code, and what is there already? Nothing is run.

The type checker is imported and started only where there is something to ask it.
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
    from factory.proposal.prompt import ShownFile
    from shared.languages.base import ContractViolation


@dataclass(frozen=True, slots=True)
class ContractResult:
    """What of the contract is violated; `unjudged` says why that could not be told, if so."""

    violations: tuple[ContractViolation, ...] = ()
    unjudged: str = ""

    def document(self) -> dict[str, object]:
        """Return the record of it, fit for JSON."""
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
    """Say whether there is anything that a proposal has to keep: contracts, or files."""
    there = {each.path for each in shown if each.state.kind is FileKind.FILE}
    return not there.isdisjoint(proposal.paths) or _declares(binding)


def check_rewrites(
    order: WorkOrder, proposal: WriteProposal, shown: Sequence[ShownFile]
) -> tuple[ContractViolation, ...]:
    """Return what existing files lose by a proposal although the order does not say so."""
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
    """Say whether the project, as it is written to `tree`, keeps what binds an order.

    `binding` are the orders whose declarations do, its own last: what that declares, and of the
    files `written` also what is in force from before. Only then is `list_files` asked for all
    files of the tree.
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
    """Return the result where the target's Python is another: it may read what this one can't."""
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
    """Return the violations, a line each."""
    return "\n".join(map(render_violation, violations))


def render_violation(violation: ContractViolation) -> str:
    """Return the violation as one line: which file, which name, and how."""
    named = violation.name and not violation.message.startswith("`")
    what = f"`{violation.name}` {violation.message}" if named else violation.message
    return f"{violation.path}: {' '.join(what.split())}"


class _Sources(Mapping[str, str]):
    """The source files of a tree by path, each read when it is asked for."""

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
