"""Which orders, commands and commits carry out each requirement: read from a plan and a repo."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from factory.commit_facts import covered_requirements, landed_orders
from planner.manifest_folder import read_plan_folder
from planner.plan import Plan
from shared.errors import InvalidInput
from shared.git import Git
from shared.hashing import order_key

_MAX_COMMITS = 10_000  # of a branch, newest first: far more than any plan has orders


@dataclass(frozen=True, slots=True)
class CoveringOrder:
    """An order that carries out a requirement, how it is judged, and where it has landed."""

    id: str
    title: str
    commands: tuple[str, ...] = ()
    commits: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CoveredRequirement:
    """A requirement, its text and line as far as the plan tells them, and who covers it."""

    id: str
    text: str = ""
    line: int | None = None
    orders: tuple[CoveringOrder, ...] = field(default=())


def coverage_of_plan(folder: Path, git: Git | None) -> tuple[CoveredRequirement, ...]:
    """Return the requirements of the plan in `folder`, with the commits that `git` has of them.

    Raises `InvalidInput` where there is no plan to read, or not all of it can be.
    """
    plan = read_plan_folder(folder)
    if plan.problems or any(draft.order is None for draft in plan.drafts):
        raise InvalidInput(
            f"the plan in {folder} cannot be read", f"`llmch check {folder}` says why"
        )
    landed = _landed(git) if git else {}
    known = {each.id: each for each in plan.requirements}
    named = {name: None for draft in plan.drafts if draft.order for name in draft.order.covers}
    return tuple(
        CoveredRequirement(
            name,
            known[name].text if name in known else "",
            known[name].line if name in known else None,
            tuple(_covering(plan, name, landed)),
        )
        for name in dict.fromkeys([*known, *named])
    )


def coverage_of_repo(git: Git) -> tuple[CoveredRequirement, ...]:
    """Return the requirements that commits of any branch say they cover, by id."""
    orders: dict[str, list[CoveringOrder]] = {}
    for (name, order, title), commits in sorted(_claimed(git).items()):
        orders.setdefault(name, []).append(CoveringOrder(order, title, (), commits))
    return tuple(CoveredRequirement(name, orders=tuple(each)) for name, each in orders.items())


def coverage_document(rows: Sequence[CoveredRequirement]) -> dict[str, Any]:
    """Return what `report --coverage --json` prints."""
    covered = sum(1 for each in rows if each.orders)
    return {
        "requirements": [asdict(each) for each in rows],
        "covered": covered,
        "uncovered": len(rows) - covered,
    }


def render_coverage(rows: Sequence[CoveredRequirement]) -> list[str]:
    """Return the lines that show each requirement with what carries it out."""
    return [line for row in rows for line in _row_lines(row)]


def _row_lines(row: CoveredRequirement) -> Iterator[str]:
    where = f" (line {row.line})" if row.line else ""
    yield " ".join(f"{row.id}{where} {row.text}".split())
    if not row.orders:
        yield "    covered by no order"
    for order in row.orders:
        yield f"    {order.id}  {order.title}"
        yield from (f"        $ {command}" for command in order.commands)
        yield from (f"        commit {commit[:10]}" for commit in order.commits)


def _covering(
    plan: Plan, name: str, landed: Mapping[tuple[str, str], Sequence[str]]
) -> Iterator[CoveringOrder]:
    for draft in plan.drafts:
        order = draft.order
        if order is not None and name in order.covers:
            commits = tuple(landed.get((order.id, order_key(order)), ()))
            yield CoveringOrder(order.id, order.title, order.acceptance_commands, commits)


def _landed(git: Git) -> dict[tuple[str, str], list[str]]:
    """Return the commits of all branches by the order that each landed: its id and its key.

    Another plan's order of the same id is another order.
    """
    found: dict[tuple[str, str], list[str]] = {}
    for commit, message in _messages(git).items():
        for identity in landed_orders([(commit, message)]):
            found.setdefault((identity.work_order, identity.key), []).append(commit)
    return found


def _claimed(git: Git) -> dict[tuple[str, str, str], tuple[str, ...]]:
    """Return the commits of all branches by requirement, order and subject."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for commit, message in _messages(git).items():
        for order, name in covered_requirements(message):
            title = message.partition("\n")[0].removeprefix(f"{order}: ")
            found.setdefault((name, order, title), []).append(commit)
    return {key: tuple(dict.fromkeys(commits)) for key, commits in found.items()}


def _messages(git: Git) -> dict[str, str]:
    """Return the message of each commit of any branch."""
    tips = git.run("for-each-ref", "--format=%(objectname)", "refs/heads").split()
    return {
        commit: message
        for tip in dict.fromkeys(tips)
        for commit, message in git.messages(tip, limit=_MAX_COMMITS)
    }
