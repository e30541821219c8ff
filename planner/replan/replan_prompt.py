"""Shows a model what changed, and the plan before. Pure."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from planner.plan.manifest import own_notes
from planner.prompts.prompt_templates import fenced
from planner.replan.predecessor import FollowUp, covers_of
from shared.languages.registry import LANGUAGES

if TYPE_CHECKING:
    from planner.plan.parse_plan import Draft, Plan
    from planner.replan.merge_plans import Answer
    from planner.spec.requirements import Requirement
    from shared.files.strict_documents import JsonValue
    from shared.work_order.work_order import Interface

# About 3,000 tokens: the outlines of the repo show most of these files as well.
_MAX_INTERFACES: Final = 12_000
_MAX_BESIDE: Final = 90
_MAX_OVERVIEW: Final = 600
_MAX_TITLE: Final = 100
_MAX_FILES: Final = 12
_MAX_REASON: Final = 800


def render_difference(task: FollowUp) -> str:
    """Return what became of the requirements, with those beside the changed ones."""
    difference = task.difference
    changed = (
        f"- changed {each.after.id}: {_line(each.after)}\n  before: {_line(each.before)}"
        for each in difference.changed
    )
    added = (f"- added {each.id}: {_line(each)}" for each in difference.added)
    removed = (f"- removed {each.id}: {_line(each)}" for each in difference.removed)
    parts = ["\n".join((*changed, *added, *removed))]
    before = task.predecessor
    for heading, reasons in ((_IMPOSSIBLE, before.impossible), (_WEAK, before.weak)):
        said = [f"- {name}: {_cut(_line_of(why), _MAX_REASON)}" for name, why in reasons.items()]
        if said:
            parts = [*filter(None, parts), "\n".join((heading, "", *said))]
    names = frozenset(name for each in _concerned(task) for name in covers_of(each))
    beside = [each for each in difference.untouched if each.id in names]
    if beside:
        shown = "\n".join(f"- {each.id}: {_cut(_line(each), _MAX_BESIDE)}" for each in beside)
        parts.append(f"Untouched, and covered by the same orders:\n\n{shown}")
    others = len(difference.untouched) - len(beside)
    if others:
        parts.append(f"Further requirements that are untouched: {others}.")
    return "\n\n".join(parts)


_IMPOSSIBLE: Final = (
    "Orders that cannot be done as they are planned, as the executor says. Replace each, by one "
    "order or by several that cover the same ids, so that nothing contradicts any more:"
)


_WEAK: Final = (
    "Orders whose acceptance commands pass although the code has a fault. Small faults were put "
    "into code that passes, one at a time, and those listed here went unnoticed. Replace each "
    "order by one that covers the same ids and has tests that fail on such faults:"
)


def render_orders(task: FollowUp) -> str:
    """Return the orders of the plan before, in short, and the interfaces that matter."""
    drafts = task.predecessor.plan.drafts
    replaceable = {*task.replaceable}
    landed = [each for each in drafts if each.landed]
    kept = [each for each in drafts if not each.landed and each.label not in replaceable]
    overview = " ".join(" ".join(task.predecessor.plan.overview).split())
    parts = [_cut(overview, _MAX_OVERVIEW)] if overview else []
    parts += _listed("Landed, so their files are in the repository:", landed, task)
    parts += _listed("Kept, not begun:", kept, task)
    if replaceable:
        shown = [_short_raw(each) for each in drafts if each.label in replaceable]
        text = json.dumps(shown, separators=(",", ":"), ensure_ascii=False)
        parts.append(f"Not begun, and concerned by the change:\n\n{fenced(text, 'json')}")
    interfaces = list(_fitting(_in_force(task)))
    if interfaces:
        blocks = "\n\n".join(f"{each.path}:\n{fenced(each.stub)}" for each in interfaces)
        parts.append(f"Interfaces in force after all these orders:\n\n{blocks}")
    return "\n\n".join(parts)


def render_replaceable(task: FollowUp) -> str:
    """Return the sentence that says which orders a reply may replace."""
    if not task.replaceable:
        return "No order that is not begun may be replaced."
    names = ", ".join(task.replaceable)
    return f"Only these may be replaced, by a whole new order with the same id: {names}."


def render_withdrawable(task: FollowUp) -> str:
    """Return the words on `withdrawn` for the format of the reply; "" if nothing may go."""
    if not task.withdrawable:
        return ""
    names = ", ".join(task.withdrawable)
    return (
        f'; `"withdrawn": [{{"id": ID, "reason": R}}]` for those of {names} that nobody needs '
        "any more"
    )


def render_own(plan: Plan, answer: Answer) -> str:
    """Return the new orders of a merged plan as JSON, and the others in short, for a reviewer."""
    new, concerned = answer.own, frozenset(answer.task.concerned)
    own: list[JsonValue] = [dict(each.raw) for each in plan.drafts if each.position in new]
    others: list[JsonValue] = [
        _short(each, answer.task, concerned) for each in plan.drafts if each.position not in new
    ]
    shown = {"other_orders": others, "work_orders": own}
    return json.dumps(shown, indent=1, ensure_ascii=False)


def relevant_words(task: FollowUp) -> str:
    """Return the text that decides which files of the repo are shown first."""
    difference = task.difference
    texts = [each.after.text for each in difference.changed]
    texts += [each.text for each in (*difference.added, *difference.removed)]
    return "\n".join((*texts, *_concerned_paths(task)))


def _listed(heading: str, drafts: Sequence[Draft], task: FollowUp) -> Iterator[str]:
    if drafts:
        concerned = frozenset(task.concerned)
        lines = (f"- {_short(each, task, concerned)}" for each in drafts)
        yield "\n".join((heading, "", *lines))


def _short(draft: Draft, task: FollowUp, concerned: Collection[str]) -> str:
    """Return an order on one line: id, title, what it covers, and its files.

    The tests that it brought are named where the order is among those `concerned`.
    """
    order = draft.order
    if order is None:
        return draft.label
    tests = [each.path for each in order.acceptance_files] if draft.label in concerned else []
    left_out = " (left out by a person)" if draft.label in task.predecessor.left_out else ""
    covers = f"; covers {', '.join(order.covers)}" if order.covers else ""
    title = _cut(" ".join(order.title.split()), _MAX_TITLE)
    files = _some([*order.allowed_files, *tests])
    return f"{order.id} {title}{left_out}{covers}; files {files}"


def _some(names: Sequence[str]) -> str:
    left = len(names) - _MAX_FILES
    return ", ".join(names[:_MAX_FILES]) + (f" and {left} more" if left > 0 else "")


def _short_raw(draft: Draft) -> JsonValue:
    """Return an order as the model may write it, without lists that are empty."""
    hidden = ("provenance", "verify_exempt", "postconditions")
    return {
        key: own_notes(value) if key == "notes" and isinstance(value, str) else value
        for key, value in draft.raw.items()
        if key not in hidden and value not in ([], None)
    }


def _concerned(task: FollowUp) -> tuple[Draft, ...]:
    drafts = task.predecessor.drafts
    return tuple(drafts[each] for each in task.concerned)


def _concerned_paths(task: FollowUp) -> frozenset[str]:
    return frozenset(
        path
        for draft in _concerned(task)
        if draft.order
        for path in (*draft.order.allowed_files, *draft.order.context_files)
    )


def _in_force(task: FollowUp) -> Iterator[Interface]:
    """Yield the interfaces of the files concerned, and of those that kept orders will write."""
    drafts = task.predecessor.plan.drafts
    orders = [each.order for each in drafts if each.order]
    open_orders = [each.order for each in drafts if each.order and not each.landed]
    concerned = [each.order for each in _concerned(task) if each.order]
    paths = {path for each in (*concerned, *open_orders) for path in each.allowed_files}
    for language in LANGUAGES:
        if language.conformance is not None:
            for each in language.conformance.contracts_in_force(orders):
                if each.path in paths and each.stub.strip():
                    yield each


def _fitting(interfaces: Iterable[Interface]) -> Iterator[Interface]:
    room = _MAX_INTERFACES
    for each in interfaces:
        room -= len(each.path) + len(each.stub)
        if room >= 0:
            yield each


def _line(requirement: Requirement) -> str:
    return _line_of(requirement.text)


def _line_of(text: str) -> str:
    return " ".join(text.split())


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit].rstrip()}..."
