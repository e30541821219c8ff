"""Answers `show`, and shows a plan for `plan` and `build`: what its orders will do."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from llmch.console import figures
from llmch.console.document import Block, Item, Paragraph, Remark, Section, Sign, Tone
from llmch.console.figures import count, short
from llmch.preview.files import Effect
from llmch.preview.standing import OrderStand

if TYPE_CHECKING:
    from factory.run.forecast import Forecast
    from llmch.preview.plan_preview import OrderPreview, PlanPreview
    from planner.judging.validation import ShownFinding
    from shared.llm.client import Usage

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
class PreviewDocument:
    """Represent the answer of `show`: what a plan will do."""

    preview: PlanPreview

    def to_json(self) -> object:
        """Return the preview as plain values."""
        from llmch.answers.preview_json import preview_document

        return preview_document(self.preview)

    def blocks(self) -> Iterator[Block]:
        """Return the orders, what no order covers, and a line that counts."""
        preview = self.preview
        yield Remark(tuple(_place(preview)))
        for each in preview.orders:
            yield _order(each)
        for gone in preview.withdrawn:
            yield Section(gone.reason, name=gone.id, word="withdrawn", tone=Tone.FAINT)
        yield from _rest(preview)
        yield Paragraph((counts(preview),))
        if preview.ground.refusal:
            yield Paragraph((_refused(preview),))


@dataclass(frozen=True, slots=True)
class KeptPlanDocument:
    """Represent the answer of `build` where a person did not want the plan to be executed."""

    folder: Path

    def to_json(self) -> object:
        """Return where the plan is, as plain values."""
        return {"executed": False, "plan": str(self.folder)}

    def blocks(self) -> Iterator[Block]:
        """Return what is kept, and how to go on."""
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
        yield _order(each) if whole else _head(each)
    if len(preview.orders) > _MAX_HEADS:
        yield Remark(
            (f"and {count(len(preview.orders) - _MAX_HEADS, 'more order', 'more orders')}",)
        )
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


def _order(order: OrderPreview) -> Section:
    return replace(_head(order), items=tuple(_items(order)))


def _items(order: OrderPreview) -> Iterator[Item]:
    yield from (Item(each, Sign.WARNING) for each in order.problems)
    for file in order.files:
        aside = "a test of the plan" if file.is_test else ""
        yield Item(file.path, _SIGNS[file.effect], True, aside)
    if order.standing.stand is OrderStand.TO_DO:
        if order.needs:
            yield Item(f"needs {', '.join(order.needs)}")
        yield from (Item(each, Sign.COMMAND, True) for each in order.commands)
    if order.covers:
        yield Item(_covers(order))
    yield from map(_finding, order.findings)
    if order.forecast is not None:
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
    """Return what is to be said of the plan as a whole."""
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
    return f"expected about {_amount(forecast.expected)}, at most {_amount(forecast.worst)}"


def _amount(usage: Usage) -> str:
    from shared.llm.cost.estimates import total_tokens

    if usage.cost_usd is None:
        return f"{total_tokens(usage):,} tokens"
    return figures.cost(float(usage.cost_usd))


def _refused(preview: PlanPreview) -> str:
    folder = shlex.quote(str(preview.ground.folder))
    refusal = f"it cannot be executed as it is: {preview.ground.refusal}"
    return f"{refusal}\n`llmch check {folder}` says why"
