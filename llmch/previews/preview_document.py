"""Reads what a preview needs, and shows it to people and as JSON."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from factory.orders.read_orders import LoadedOrder, read_workdir
from factory.record.landed import plan_branch
from factory.run.forecast import forecast_document, size_plan
from llmch.console import line
from llmch.console.document import (
    Block,
    Document,
    Item,
    Paragraph,
    Remark,
    Section,
    Shape,
    Sign,
    Tone,
    assumed,
)
from llmch.console.line import count, short
from llmch.previews.plan_difference import PlanDifference, compare_plans, removed_with
from llmch.previews.plan_preview import (
    EXPECTS_EXEMPTION,
    Effect,
    OrderPreview,
    OrderStand,
    OrderStanding,
    PlanGround,
    PlanPreview,
    preview_of,
    read_standings,
)
from planner.plan.parse_plan import Plan, is_inherited
from planner.plan.plan_edits import read_plan_folder
from planner.replan.removal import Removal, removal_of
from planner.repo.planned_repo import open_repo
from planner.rules.judge_plan import Report
from shared.errors import InvalidInput
from shared.git import refs, repos, trees
from shared.git.client import Git
from shared.llm import budget
from shared.settings.settings import Settings
from shared.work_order.parse_order import DocumentInvalid, parse_document
from shared.work_order.plan_folder import PlanFacts, StoredManifest
from shared.work_order.work_order import MAX_LISTED, Asserted, WithdrawnOrder

if TYPE_CHECKING:
    from factory.run.forecast import Forecast
    from shared.errors import ShownFinding
    from shared.llm.model_client import Usage


def read_preview(
    folder: Path,
    repo: Path | None,
    branch: str | None,
    settings: Settings,
    report: Report | None = None,
) -> PlanPreview:
    """Return what the plan in `folder` will do on a branch of `repo`.

    Without a branch, that is the one that `run-all` would choose. Raises `InvalidInput` if
    the folder has no plan, its files disagree, or `repo` is not in a git working tree.
    """
    plan = read_plan_folder(folder)
    orders, refusal = _loaded(folder)
    ground = PlanGround(folder, refusal=refusal, report=report, follows=_facts(plan).lineage)
    if repo is not None:
        ground = _on_repo(ground, open_repo(repo), orders, branch)
    if orders:
        sized = size_plan(orders, repo, settings, ground.branch or None)
        ground = replace(ground, sized=sized)
    preview = preview_of(plan, _withdrawn(plan), ground)
    required = {each.id for each in plan.requirements}
    covered = {name for each in plan.drafts if each.order for name in each.order.covers}
    removed = covered - required if ground.follows and required else set()
    if not removed:
        return preview
    return replace(preview, removal=_removal(_inherited(plan), removed, ground))


def read_difference(before: Path, after: Path, repo: Path | None) -> PlanDifference:
    """Return how the plan in the folder `after` differs from the one in `before`.

    Where orders stand is said for the branch of `repo` that `run-all` would choose. Raises as
    `read_preview` does, and where a folder holds no order that can be read.
    """
    old, new = _comparable(before), _comparable(after)
    standings: dict[str, OrderStanding] = {}
    ground = PlanGround(before)
    if repo is not None:
        git = open_repo(repo)
        for folder in (before, after):
            ground = _on_repo(PlanGround(folder), git, _loaded(folder)[0], None)
            standings |= ground.standings
    found = compare_plans(
        old,
        new,
        follows=_facts(old).manifest_sha256 in _facts(new).lineage,
        withdrawn=_withdrawn(new),
        standings=standings,
    )
    removed = {each.id for each in found.requirements.removed}
    return replace(found, removal=_removal(old, removed, ground) if removed else None)


def _removal(plan: Plan, removed: Collection[str], ground: PlanGround) -> Removal:
    """Return what goes with removed requirements: of what landed, where a repo is known."""
    if ground.repo is None:
        return removal_of(plan, removed)
    git = Git(ground.repo)
    tip = refs.commit_of(git, f"refs/heads/{ground.branch}" if ground.branch_exists else "HEAD")
    landed = [name for name, each in ground.standings.items() if each.commit]
    sources = trees.CommitSources(git, tip) if tip else None
    return removal_of(plan, removed, landed, sources, sources.paths if sources else ())


def _inherited(plan: Plan) -> Plan:
    """Return a plan that follows another one with the orders of that one alone."""
    drafts = (e for e in plan.drafts if e.order and is_inherited(e.order, plan.succession))
    return replace(plan, drafts=tuple(drafts))


def _comparable(folder: Path) -> Plan:
    """Return the plan, unless nothing of it can be read: all orders would seem to be withdrawn."""
    plan = read_plan_folder(folder)
    if not plan.drafts:
        why = "; ".join(each.message for each in plan.problems)
        raise InvalidInput(
            f"the plan in {folder} cannot be read: {why}",
            f"`llmch check {shlex.quote(str(folder))}` says what is wrong",
        )
    return plan


def _loaded(folder: Path) -> tuple[tuple[LoadedOrder, ...], str]:
    """Return the orders as the factory takes them; none, and why, where it refuses them."""
    try:
        return read_workdir(folder), ""
    except InvalidInput as refused:
        return (), refused.message


def _on_repo(
    ground: PlanGround, git: Git, orders: Sequence[LoadedOrder], branch: str | None
) -> PlanGround:
    """Return what is known of the plan on a repo: the branch, its files, and what has landed."""
    name = branch or (plan_branch(git, orders) if orders else "")
    tip = refs.tip_of_branch(git, name) if name else ""
    layout = repos.layout(git)
    standings = read_standings(git, layout[2], name, orders) if layout else {}
    commits = {each.commit for each in standings.values() if each.commit}
    return replace(
        ground,
        repo=git.folder,
        branch=name,
        branch_exists=bool(tip),
        present=frozenset(trees.files_of(git, tip) if tip else trees.tracked_files(git)),
        standings=standings,
        made=trees.made_by(git, commits) if commits else {},
    )


def _facts(plan: Plan) -> PlanFacts:
    """Return the identity of a plan; an empty one where no hash confirms it."""
    return StoredManifest(plan.document).facts or PlanFacts("", "")


def _withdrawn(plan: Plan) -> tuple[WithdrawnOrder, ...]:
    """Return the withdrawn orders that the manifest names, as far as they can be read."""
    entries = plan.document.get("withdrawn") if isinstance(plan.document, dict) else None
    found: list[WithdrawnOrder] = []
    for each in entries[:MAX_LISTED] if isinstance(entries, list) else ():
        with contextlib.suppress(DocumentInvalid):
            found.append(parse_document(WithdrawnOrder, each))
    return tuple(found)


# With more orders, `plan` and `build` print a line for each of them, and no more.
_MAX_WHOLE = 8
_MAX_HEADS = 50
_SIGNS = {Effect.NEW: Sign.NEW, Effect.CHANGED: Sign.CHANGED, Effect.REMOVED: Sign.REMOVED}
_TONES = {
    OrderStand.TO_DO: Tone.STRONG,
    OrderStand.LANDED: Tone.DONE,
    OrderStand.ACCEPTED: Tone.DONE,
    OrderStand.LEFT_OUT: Tone.FAINT,
}


@dataclass(frozen=True, slots=True)
class PreviewDocument(Document):
    """Represent the answer of `show`: what a plan will do."""

    preview: PlanPreview

    def to_json(self) -> object:
        return preview_document(self.preview)

    def blocks(self) -> Iterator[Block]:
        preview = self.preview
        yield Remark(tuple(_place(preview)))
        for each in preview.orders:
            yield _order(each, alone=len(preview.orders) == 1)
        for gone in preview.withdrawn:
            yield Section(gone.reason, name=gone.id, word="withdrawn", tone=Tone.FAINT)
        yield from assumed(preview.assumptions)
        yield from removed_with(preview.removal)
        yield from _rest(preview)
        yield Paragraph((counts(preview),))
        if preview.ground.refusal:
            yield Paragraph((_refused(preview),))


@dataclass(frozen=True, slots=True)
class KeptPlanDocument(Document):
    """Represent the answer of `build` where a person did not want the plan to be executed."""

    shape = Shape("executed", "plan=folder")

    folder: Path
    executed: bool = False

    def blocks(self) -> Iterator[Block]:
        yield Paragraph(
            (
                f"nothing was executed; the plan is kept in {self.folder}",
                f"{_show(self.folder)} shows all of it, and the same command again goes on with "
                "it: --yes executes it without a question",
            )
        )


def short_form(preview: PlanPreview, *, cost: bool = True) -> Iterator[Block]:
    """Return a plan that was just made: whole where it is small, else a line for each order.

    Without `cost`, the line that counts leaves out what the plan costs.
    """
    whole = len(preview.orders) <= _MAX_WHOLE
    for each in preview.orders[:_MAX_HEADS]:
        yield _order(each, alone=len(preview.orders) == 1) if whole else _head(each)
    if len(preview.orders) > _MAX_HEADS:
        yield Remark(
            (f"and {count(len(preview.orders) - _MAX_HEADS, 'more order', 'more orders')}",)
        )
    yield from assumed(preview.assumptions)
    if whole:
        yield from _rest(preview)
    yield Remark((counts(preview, cost=cost),))
    if not whole:
        command = _show(preview.ground.folder)
        yield Remark((f"{command} shows the files, commands and requirements of each order",))


def _show(folder: Path) -> str:
    return f"`llmch show {shlex.quote(str(folder))}`"


def counts(preview: PlanPreview, *, cost: bool = True) -> str:
    """Return the one line that counts: orders, files, and what the rest probably costs."""
    states = [f"{preview.count(each):,} {each.words}" for each in OrderStand if preview.count(each)]
    orders = count(len(preview.orders), "order")
    files = preview.files
    parts = [
        ", ".join([orders, *states]),
        f"{count(files[Effect.NEW], 'file')} new, {files[Effect.CHANGED]:,} changed, "
        f"{files[Effect.REMOVED]:,} removed",
    ]
    if cost and preview.forecast is not None and preview.count(OrderStand.TO_DO):
        parts.append(_cost(preview.forecast))
    return f"Plan: {'; '.join(parts)}"


def _place(preview: PlanPreview) -> Iterator[str]:
    ground = preview.ground
    if ground.repo is None:
        yield f"{ground.folder}, for an empty repo"
    elif ground.branch_exists:
        yield f"{ground.folder}, on the branch {ground.branch} of {ground.repo}"
    else:
        branch = f"its branch {ground.branch}" if ground.branch else "its branch"
        yield (
            f"{ground.folder}, for {ground.repo}: {branch} does not exist yet, so the files of "
            "the checkout count"
        )
    if ground.follows:
        before = len(ground.follows) - 1
        more = f" and {count(before, 'plan')} before it" if before else ""
        yield f"it follows the plan {short(ground.follows[-1])}{more}"
    yield ""


def _head(order: OrderPreview) -> Section:
    standing = order.standing
    aside = ", ".join(filter(None, (short(standing.commit), standing.reason)))
    return Section(
        title=order.title or "(no title)",
        name=order.id,
        word=standing.stand.words,
        aside=aside,
        tone=_TONES[standing.stand],
    )


def _order(order: OrderPreview, *, alone: bool) -> Section:
    return replace(_head(order), items=tuple(_items(order, alone=alone)))


def _items(order: OrderPreview, *, alone: bool) -> Iterator[Item]:
    """Yield the lines of an order. The cost of one that is alone is that of the plan."""
    yield from (Item(each, Sign.WARNING) for each in order.problems)
    for file in order.files:
        aside = "a test of the plan" if file.is_test else ""
        yield Item(file.path, _SIGNS[file.effect], True, aside)
    if order.standing.stand is OrderStand.TO_DO:
        if order.needs:
            yield Item(f"needs {', '.join(order.needs)}")
        yield from (Item(each, Sign.COMMAND, True) for each in order.commands)
    if order.exempt:
        yield Item(EXPECTS_EXEMPTION)
    if order.covers:
        yield Item(_covers(order))
    yield from map(_finding, order.findings)
    if order.forecast is not None and not alone:
        yield Item(_cost(order.forecast))


def _covers(order: OrderPreview) -> str:
    by = {
        each: [name for name, asserted in order.covers if asserted is each]
        for each in dict.fromkeys(asserted for _, asserted in order.covers)
    }
    parts = (f"{', '.join(names)} {asserted.short}" for asserted, names in by.items())
    return f"covers {'; '.join(parts)}"


def _finding(finding: ShownFinding) -> Item:
    field = f"{finding.field}: " if finding.field else ""
    return Item(f"{finding.code} {field}{finding.message}", Sign.WARNING)


def _rest(preview: PlanPreview) -> Iterator[Block]:
    whole = [Item(each, Sign.WARNING) for each in preview.problems]
    whole += map(_finding, preview.findings)
    if whole:
        yield Section("The plan as a whole", tuple(whole))
    if preview.uncovered:
        items = (Item(f"{each.id} {each.text}", Sign.WARNING) for each in preview.uncovered)
        yield Section("Requirements that no order covers", tuple(items))
    yield Remark(("",))


def _cost(forecast: Forecast) -> str:
    if not forecast.orders:
        return "asks no model"
    return f"expected about {_amount(forecast.expected)}"


def _amount(usage: Usage) -> str:
    if usage.cost_usd is None:
        return f"{budget.total_tokens(usage):,} tokens"
    return line.cost(float(usage.cost_usd))


def _refused(preview: PlanPreview) -> str:
    folder = shlex.quote(str(preview.ground.folder))
    refusal = f"it cannot be executed as it is: {preview.ground.refusal}"
    return f"{refusal}\n`llmch check {folder}` says why"


def _asserted_json(covered: tuple[str, Asserted]) -> object:
    return {"id": covered[0], "asserted_by": covered[1].value}


_REQUIREMENT = Shape("id", "text", "line", "orders", "asserted_by", orders=lambda order: order.id)
_ORDER = Shape(
    "id",
    "title",
    "state=standing.stand",
    "commit=standing.commit?",
    "reason=standing.reason?",
    "files",
    "needs",
    "commands",
    "covers",
    "findings",
    "problems",
    "forecast",
    "exempt",
    covers=_asserted_json,
    forecast=forecast_document,
)
_PREVIEW = Shape(
    "plan=ground.folder",
    "repo=ground.repo",
    "branch=ground.branch?",
    "branch_exists=ground.branch_exists",
    "follows=ground.follows",
    "orders",
    "withdrawn",
    "requirements",
    "assumptions",
    "counts",
    "forecast",
    "findings",
    "problems",
    "refusal=ground.refusal?",
    "removal?",
    orders=_ORDER,
    withdrawn=Shape("id", "reason"),
    requirements=_REQUIREMENT,
    forecast=forecast_document,
)


def preview_document(preview: PlanPreview) -> dict[str, Any]:
    """Return the document. `findings` are null, also in the orders, where no rule was asked."""
    document = _PREVIEW(preview)
    if preview.ground.report is None:
        for each in (document, *document["orders"]):
            each["findings"] = None
    return document
