"""Checks a reply against the plan that it follows: E310, E311, E314 and E316."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from planner.replan.answer import Place
from planner.replan.follow_up import FollowUp
from planner.replan.predecessor import covers_of
from planner.rules.model import PlanView, Rule
from planner.steps.findings import Finding, plan_finding
from shared.rule_text import quoted
from shared.work_order.field_path import at
from shared.work_order.schemas import order_id


def landed_orders_again(view: PlanView) -> Iterator[Finding]:
    for position in view.answer.positions(Place.LANDED) if view.answer else ():
        message = "landed already, and the reply changes it"
        yield view.steps[position - 1].finding("E310", at("id"), message)


E310 = Rule(
    "E310",
    "order that landed is changed",
    why="A commit of the branch carries the order out: what it says is history.",
    bad="""{"follows": {"requirements": [{"id": "R1", "text": "Words have five letters."}],
  "work_orders": [{"id": "WO-01", "covers": ["R1"]}], "landed": ["WO-01"]},
 "requirements": [{"id": "R1", "text": "Words have six letters."}],
 "work_orders": [{"id": "WO-01", "title": "Six letters", "covers": ["R1"]},
                 {"id": "WO-02", "covers": ["R1"]}]}""",
    good="""{"follows": {"requirements": [{"id": "R1", "text": "Words have five letters."}],
  "work_orders": [{"id": "WO-01", "covers": ["R1"]}], "landed": ["WO-01"]},
 "requirements": [{"id": "R1", "text": "Words have six letters."}],
 "work_orders": [{"id": "WO-02", "title": "Six letters", "covers": ["R1"]}]}""",
    remedy="Leave it out of the reply, and change its code by a new order after the last one.",
    check=landed_orders_again,
)


def needless_orders(view: PlanView) -> Iterator[Finding]:
    """Yield each kept order that the reply changes, and each new one that nothing new needs."""
    if view.answer is None:
        return
    for position in view.answer.positions(Place.KEPT):
        message = "is kept: it covers no requirement that changed or was removed"
        yield view.steps[position - 1].finding("E311", at("id"), message)
    task = view.answer.task
    never_covered = {each.id for each in task.difference.untouched} - task.covered_before
    due = task.touched_ids | never_covered
    for position in view.answer.positions(Place.NEW):
        step = view.steps[position - 1]
        if step.draft.order is None or not due.isdisjoint(step.draft.order.covers):
            continue
        message = "covers no requirement that changed, was added or was removed"
        yield step.finding("E311", at("covers"), message)


E311 = Rule(
    "E311",
    "order that no changed requirement needs",
    why="What no change touches is planned and paid for once: it is kept, or has landed.",
    bad="""{"follows": {"requirements": [{"id": "R1", "text": "Words have five letters."},
                               {"id": "R2", "text": "A guess scores points."}],
  "work_orders": [{"id": "WO-01", "covers": ["R1"]}, {"id": "WO-02", "covers": ["R2"]}]},
 "requirements": [{"id": "R1", "text": "Words have six letters."},
                  {"id": "R2", "text": "A guess scores points."}],
 "work_orders": [{"id": "WO-01", "title": "Six letters", "covers": ["R1"]},
                 {"id": "WO-02", "title": "Better points", "covers": ["R2"]}]}""",
    good="""{"follows": {"requirements": [{"id": "R1", "text": "Words have five letters."},
                               {"id": "R2", "text": "A guess scores points."}],
  "work_orders": [{"id": "WO-01", "covers": ["R1"]}, {"id": "WO-02", "covers": ["R2"]}]},
 "requirements": [{"id": "R1", "text": "Words have six letters."},
                  {"id": "R2", "text": "A guess scores points."}],
 "work_orders": [{"id": "WO-01", "title": "Six letters", "covers": ["R1"]}]}""",
    remedy=(
        "Leave the order out of the reply. If a changed, added or removed requirement needs it, "
        "name that requirement in `covers`, and give the order a new id."
    ),
    check=needless_orders,
)


def misnumbered_replies(view: PlanView) -> Iterator[Finding]:
    if view.answer is None:
        return
    following = view.answer.task.predecessor.last_number + 1
    for entry in view.answer.entries:
        step = view.steps[entry.position - 1]
        given = step.draft.raw.get("id")
        if entry.place is Place.REPEATED:
            message = f"{quoted(str(given))} stands twice in the reply"
            yield step.finding("E314", at("id"), message)
        if entry.place is not Place.NEW:
            continue
        expected = order_id(following)
        following += 1
        if step.draft.is_object and given != expected:
            shown = quoted(given) if isinstance(given, str) else "no id"
            yield step.finding("E314", at("id"), f"{shown} stands where {expected} is due")


E314 = Rule(
    "E314",
    "id that neither follows the last one nor replaces a kept order",
    why="Commits carry the ids: an id that is used twice, or left out, means nothing any more.",
    bad="""{"follows": {"requirements": [{"id": "R1", "text": "Words have five letters."}],
  "work_orders": [{"id": "WO-01", "covers": ["R1"]}], "landed": ["WO-01"]},
 "requirements": [{"id": "R1", "text": "Words have six letters."}],
 "work_orders": [{"id": "WO-03", "covers": ["R1"]}]}""",
    good="""{"follows": {"requirements": [{"id": "R1", "text": "Words have five letters."}],
  "work_orders": [{"id": "WO-01", "covers": ["R1"]}], "landed": ["WO-01"]},
 "requirements": [{"id": "R1", "text": "Words have six letters."}],
 "work_orders": [{"id": "WO-02", "covers": ["R1"]}]}""",
    remedy=(
        "Number new orders on from the last id that was ever used. Only an order that may be "
        "replaced keeps its id, and each id stands once in the reply."
    ),
    check=misnumbered_replies,
)


def wrongly_withdrawn(view: PlanView) -> Iterator[Finding]:
    if view.answer is None:
        return
    asked = {each.id for each in view.answer.withdrawn}
    replied = {view.plan.drafts[each.position - 1].label for each in view.answer.entries}
    staying = dict(_staying(view.answer.task, asked, replied))
    for index, each in enumerate(view.answer.withdrawn):
        if why := staying.get(each.id):
            yield plan_finding("E316", at("withdrawn", index), f"{quoted(each.id)} {why}")
        elif not each.reason.strip():
            message = f"{quoted(each.id)} is withdrawn without a reason"
            yield plan_finding("E316", at("withdrawn", index, "reason"), message)


def _staying(
    task: FollowUp, asked: Collection[str], replied: Collection[str]
) -> Iterator[tuple[str, str]]:
    """Yield which of the orders asked about cannot be withdrawn, and why."""
    drafts, may_go = task.predecessor.drafts, {*task.withdrawable}
    gone = {each.id for each in task.predecessor.plan.succession.withdrawn}
    for name in asked:
        if name not in drafts:
            if name not in gone:
                yield name, "is not an order of the plan"
        elif drafts[name].landed:
            yield name, "landed already"
        elif name in replied:
            yield name, "is in the reply as well"
        elif name not in may_go:
            yield name, _what_it_is_for(covers_of(drafts[name]), task.removed_ids)


def _what_it_is_for(covers: Sequence[str], removed: Collection[str]) -> str:
    standing = [each for each in covers if each not in removed]
    return f"still carries out {', '.join(standing)}" if standing else "covers no requirement"


E316 = Rule(
    "E316",
    "order withdrawn that is still due",
    why="An order may go only with all that it is for; what landed cannot be withdrawn at all.",
    bad="""{"follows": {"requirements": [{"id": "R1", "text": "Words have five letters."},
                               {"id": "R2", "text": "A guess scores points."},
                               {"id": "R3", "text": "A high score is kept."}],
  "work_orders": [{"id": "WO-01", "covers": ["R1"]}, {"id": "WO-02", "covers": ["R2", "R3"]}]},
 "requirements": [{"id": "R1", "text": "Words have five letters."},
                  {"id": "R2", "text": "A guess scores points."}],
 "work_orders": [{"id": "WO-02", "title": "Points", "covers": ["R2"]}],
 "withdrawn": [{"id": "WO-01", "reason": "Nobody needs words."}]}""",
    good="""{"follows": {"requirements": [{"id": "R1", "text": "Words have five letters."},
                               {"id": "R3", "text": "A high score is kept."}],
  "work_orders": [{"id": "WO-01", "covers": ["R1"]}, {"id": "WO-02", "covers": ["R3"]}]},
 "requirements": [{"id": "R1", "text": "Words have five letters."}],
 "work_orders": [],
 "withdrawn": [{"id": "WO-02", "reason": "The high score was removed."}]}""",
    remedy=(
        "Leave it out of `withdrawn`. An order that also covers what stands is replaced instead, "
        "and the code of one that landed is taken away by a new order."
    ),
    check=wrongly_withdrawn,
)
