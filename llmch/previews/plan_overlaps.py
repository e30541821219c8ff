"""Says which open plans of a repo concern what another plan concerns, before anybody pays for it.

Two plans that land apart are merged later. What both write, declare or require is found by their
documents alone: no model is asked, and no rule.
"""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from factory.audit.open_plans import UnmergedPlan, find_open_plans, target_of
from factory.orders.read_orders import read_workdir
from factory.orders.task import RunOptions
from factory.preflight import BranchPolicy, RepoPlace, find_repo
from factory.record.landed import landed_on, plan_branch
from llmch.console.document import Block, Document, Paragraph, Remark, Rows
from llmch.console.line import count
from planner.compile.inputs import PlanOptions
from planner.spec.read_spec import read_spec
from shared.errors import CommandFailed, InvalidInput, PreflightRefused
from shared.events.events import Emit, Warned
from shared.languages.registry import outline_of
from shared.work_order.plan_folder import PlanFacts, plan_again
from shared.work_order.work_order import WorkOrder

_SHOWN: Final = 5
_PLANS_SHOWN: Final = 5


@dataclass(frozen=True, slots=True)
class Overlap:
    """Hold what an open plan has in common with another plan.

    `declared` are the names that both declare, as `FILE: NAME`, and `otherwise` those of them that
    they declare differently. `required` are the ids that both have with one text, and `reworded`
    those that they have with two.
    """

    other: UnmergedPlan
    files: tuple[str, ...] = ()
    declared: tuple[str, ...] = ()
    otherwise: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    reworded: tuple[str, ...] = ()

    @property
    def is_any(self) -> bool:
        return bool(self.files or self.declared or self.required or self.reworded)

    def phrases(self) -> Iterator[str]:
        """Yield what both concern, the worst first."""
        if self.otherwise:
            yield f"declare differently {_listed(self.otherwise)}"
        if self.reworded:
            yield f"give requirements of the same id other texts: {_listed(self.reworded)}"
        if same := [each for each in self.declared if each not in self.otherwise]:
            yield f"declare {_listed(same)}"
        if self.files:
            yield f"write {_listed(self.files)}"
        if self.required:
            yield f"carry out {_listed(self.required)}"

    def describe(self) -> str:
        """Return what both concern, in one line."""
        other, total = self.other, self.other.total
        landed = f"{len(other.landed)} of {total}" if total is not None else f"{len(other.landed)}"
        name = f"the plan {other.title!r} on {other.branch} ({landed} orders landed, not merged)"
        return f"{name} and this one both {'; '.join(self.phrases())}"

    def follows(self, folder: Path | None) -> str:
        """Return what a person can do about it; `folder` has the plan at hand, if there is one."""
        branch, plan = shlex.quote(self.other.branch), shlex.quote(str(folder or "PLAN"))
        if self.otherwise or self.reworded:
            return (
                "one of the two has to give way: agree which, or wait until it is merged and plan "
                f"again by `{plan_again(folder)}`"
            )
        begin = f", or begin on it by `--commit-hash {branch}`" if self.other.is_complete else ""
        return (
            f"what is merged second is carried over by `llmch run-all --workdir {plan} --onto "
            f"BRANCH`; to be sure, wait until {self.other.branch} is merged{begin}"
        )


def compare_plans(
    orders: Sequence[WorkOrder], requirements: Mapping[str, str], other: UnmergedPlan
) -> Overlap:
    """Return what a plan and an open one have in common. Pure."""
    theirs, texts = other.orders, other.requirements or {}
    ours, declared = declared_names(orders), declared_names(theirs)
    both = sorted(ours.keys() & declared.keys())
    ids = sorted(requirements.keys() & texts.keys())
    reworded = [each for each in ids if _plain(requirements[each]) != _plain(texts[each])]
    return Overlap(
        other,
        tuple(sorted(_files(orders) & _files(theirs))),
        tuple(": ".join(each) for each in both),
        tuple(": ".join(each) for each in both if ours[each] != declared[each]),
        tuple(each for each in ids if each not in reworded),
        tuple(reworded),
    )


def _files(orders: Iterable[WorkOrder]) -> set[str]:
    placed = {file.path for each in orders for file in each.acceptance_files}
    return placed.union(*((*each.allowed_files, *each.removed_files) for each in orders))


def declared_names(orders: Iterable[WorkOrder]) -> Mapping[tuple[str, str], str]:
    """Return the declarations of orders by file and name, each as plain words: the last counts."""
    found: dict[tuple[str, str], str] = {}
    for each in (one for order in orders for one in order.interfaces):
        entries = outline_of(each.path, each.stub)
        lines = each.stub.splitlines()
        for entry in entries:
            found[each.path, entry.name] = _plain("\n".join(lines[entry.first - 1 : entry.last]))
        if not entries:
            found[each.path, "all of it"] = _plain(each.stub)
    return found


def _plain(text: str) -> str:
    return " ".join(text.split())


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_SHOWN])
    return shown if len(names) <= _SHOWN else f"{shown} and {len(names) - _SHOWN} more"


def plans_of(place: RepoPlace, artifacts: Path) -> tuple[UnmergedPlan, ...]:
    """Return the open plans of a repo; none where git cannot say, which is no reason to stop."""
    with contextlib.suppress(CommandFailed):
        return find_open_plans(place, artifacts)
    return ()


def find_overlaps(
    plans: Sequence[UnmergedPlan],
    orders: Sequence[WorkOrder],
    requirements: Mapping[str, str],
    facts: PlanFacts | None,
) -> tuple[Overlap, ...]:
    """Return those plans of other lines that have something in common with a plan, worst first."""
    others = (each for each in plans if facts is None or not each.is_of_line_of(facts))
    found = (compare_plans(orders, requirements, each) for each in others)
    worst = sorted(found, key=lambda each: (not each.otherwise, not each.reworded))
    return tuple(each for each in worst if each.is_any)


def warn_before_plan(options: PlanOptions, emit: Emit) -> None:
    """Warn of open plans that carry out requirements of the specification to be planned."""
    if options.repo is None:
        return
    with contextlib.suppress(
        InvalidInput, PreflightRefused
    ):  # the planning says what is wrong with its inputs
        demands = {each.id: each.text for each in read_spec(options.spec).requirements}
        facts = options.follows.facts if options.follows else None
        plans = plans_of(find_repo(options.repo), options.artifacts)
        _warn(find_overlaps(plans, (), demands, facts), None, emit)


def warn_of_plan(folder: Path, repo: Path, artifacts: Path, emit: Emit) -> None:
    """Warn of open plans that write or declare what the plan in `folder`, just made, does."""
    orders = read_workdir(folder)
    plans = plans_of(find_repo(repo), artifacts)
    _warn(find_overlaps(plans, [each.order for each in orders], {}, orders[0].plan), folder, emit)


def warn_before_run(folder: Path, options: RunOptions, emit: Emit) -> None:
    """Warn of open plans that concern what the plan in `folder` does, unless all of it landed.

    Raises `PreflightRefused` if the branch has the orders of an unfinished plan and none of this
    one; a branch that is said to be reused is meant.
    """
    place, loaded = find_repo(options.repo), read_workdir(folder)
    facts, name = loaded[0].plan, options.branch or plan_branch(place.git, loaded)
    landed = landed_on(place.git, loaded, name)
    if facts is None or all(each.order.id in landed for each in loaded):
        return
    plans = plans_of(place, options.settings.artifacts_dir)
    if not landed and options.policy is not BranchPolicy.REUSE:
        _refuse_shared(name, facts, plans)
    demands = {each.id: each.text for each in facts.requirements}
    found = find_overlaps(plans, [each.order for each in loaded], demands, facts)
    _warn(found, folder, emit)


def _refuse_shared(name: str, facts: PlanFacts, plans: Sequence[UnmergedPlan]) -> None:
    for each in plans:
        if each.branch != name or each.total is None or each.is_complete:
            continue
        if not each.is_of_line_of(facts):
            raise PreflightRefused(
                f"{name} is the branch of another plan, {each.title!r} ({each.plan[:8]}), of which "
                f"{count(len(each.left), 'order')} are still to come",
                "name another branch with --branch, or say by --reuse-branch that this one is "
                "meant",
            )


def _warn(found: Sequence[Overlap], folder: Path | None, emit: Emit) -> None:
    for each in found[:_PLANS_SHOWN]:
        emit(Warned(f"{each.describe()}: {each.follows(folder)}"))
    if len(found) > _PLANS_SHOWN:
        more = count(len(found) - _PLANS_SHOWN, "more open plan")
        emit(Warned(f"{more} overlap with this one: `llmch status --all` lists them"))


@dataclass(frozen=True, slots=True)
class OpenPlansDocument(Document):
    """Represent the answer of `status --all`: the open plans, and what two of them both concern."""

    target: str
    plans: tuple[UnmergedPlan, ...]
    overlaps: tuple[tuple[UnmergedPlan, Overlap], ...]

    def to_json(self) -> object:
        return {
            "target": self.target,
            "plans": [_plan_document(each) for each in self.plans],
            "overlaps": [
                {
                    "branches": [one.branch, overlap.other.branch],
                    "declared_differently": list(overlap.otherwise),
                    "reworded": list(overlap.reworded),
                    "declared": list(overlap.declared),
                    "files": list(overlap.files),
                    "requirements": list(overlap.required),
                }
                for one, overlap in self.overlaps
            ],
        }

    def blocks(self) -> Iterator[Block]:
        if not self.plans:
            yield Remark((f"no plan has commits that {self.target} lacks",))
            return
        headings = ("branch", "plan", "orders", "behind", "requirements", "last commit")
        yield Rows(tuple(map(_row, self.plans)), headings)
        for one, overlap in self.overlaps[:_PAIRS_SHOWN]:
            both = "; ".join(overlap.phrases())
            yield Paragraph((f"{one.branch} and {overlap.other.branch} both {both}",))
        if (more := len(self.overlaps) - _PAIRS_SHOWN) > 0:
            yield Remark((f"{count(more, 'more pair')} have something in common; --json has all",))
        yield Remark(
            (
                f"behind counts the commits of {self.target} that a branch lacks; "
                "`llmch run-all --workdir PLAN --onto BRANCH` carries a plan over",
            )
        )


_PAIRS_SHOWN: Final = 10


def _row(each: UnmergedPlan) -> tuple[str, ...]:
    names = sorted(each.requirements or {})
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    title = each.title if len(each.title) <= _TITLE else each.title[: _TITLE - 3] + "..."
    return (
        each.branch,
        f"{title} ({each.plan[:8] or 'no plan'})",
        f"{len(each.landed)} of {'?' if each.total is None else each.total}",
        str(each.behind),
        ", ".join(names[:_SHOWN]) + more,
        _day(each.last),
    )


_TITLE: Final = 40


def _day(seconds: int) -> str:
    return _time_of(seconds).strftime("%Y-%m-%d %H:%M")


def _time_of(seconds: int) -> datetime:
    """Return the time of a commit; the last that there is for one beyond it, as in milliseconds."""
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return datetime.max.replace(tzinfo=UTC)


def _plan_document(each: UnmergedPlan) -> dict[str, object]:
    return {
        "branch": each.branch,
        "tip": each.tip,
        "plan": each.plan,
        "title": each.title,
        "folder": None if each.folder is None else str(each.folder),
        "orders": each.total,
        "landed": list(each.landed),
        "left": list(each.left),
        "behind": each.behind,
        "requirements": [
            {"id": name, "text": text} for name, text in sorted((each.requirements or {}).items())
        ],
        "last_commit": _time_of(each.last).isoformat(),
    }


def open_plans_document(place: RepoPlace, artifacts: Path) -> OpenPlansDocument:
    """Return the open plans of a repo, those with the newest commit first."""
    target = target_of(place.git)
    plans = find_open_plans(place, artifacts, target)
    return OpenPlansDocument(target.removeprefix("refs/remotes/"), plans, tuple(_pairs(plans)))


def _pairs(plans: Sequence[UnmergedPlan]) -> Iterator[tuple[UnmergedPlan, Overlap]]:
    """Yield the pairs of plans of different lines that have something in common."""
    for number, one in enumerate(plans):
        line = {one.plan, *one.lineage}
        others = (
            each for each in plans[number + 1 :] if line.isdisjoint((each.plan, *each.lineage))
        )
        found = (compare_plans(one.orders, one.requirements or {}, each) for each in others)
        yield from ((one, each) for each in found if each.is_any)
