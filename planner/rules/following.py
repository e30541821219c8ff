"""Checks a plan against the plan that it follows."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from planner.replan.merge_plans import Answer, Place
from planner.replan.predecessor import FollowUp, covers_of
from planner.rules.rule_model import Finding, PlanView, Rule, plan_finding
from shared.errors import quoted
from shared.files.strict_documents import at
from shared.work_order import work_order

if TYPE_CHECKING:
    from planner.spec.requirements import Requirement


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
    due = task.touched_ids | task.contradicted_ids | never_covered
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
        expected = work_order.order_id(following)
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


def forgotten_changes(view: PlanView) -> Iterator[Finding]:
    """Yield each requirement that needs an order of the reply, or has lost its own by it."""
    answer = view.answer
    if answer is None or not _is_readable(view, answer):
        return
    difference, own = answer.task.difference, _covered(view, answer.own)
    changed = {each.after.id for each in difference.changed}
    added = {each.id for each in difference.added}
    now = _covered(view, frozenset(range(1, len(view.plan.drafts) + 1)))
    lost = answer.task.covered_before - now
    for index, each in enumerate(view.plan.requirements):
        if each.id in changed and each.id not in own:
            yield _finding(index, each, "has changed, and no new or changed order covers it")
        elif each.id in added and each.id not in own:
            yield _finding(index, each, "is new, and no new order covers it")
        elif each.id in answer.task.contradicted_ids - own:
            yield _finding(index, each, "belongs to an order that cannot be done: plan it anew")
        elif each.id in lost:
            yield _finding(index, each, "has lost its order: none covers it any more")


def _is_readable(view: PlanView, answer: Answer) -> bool:
    """Say whether all orders of the reply can be read; another rule reports those that cannot."""
    without_list = (at(), at("work_orders"))
    return all(view.plan.drafts[each - 1].order for each in answer.own) and not any(
        each.at in without_list for each in view.plan.problems
    )


def _covered(view: PlanView, positions: frozenset[int]) -> frozenset[str]:
    found = (covers_of(each) for each in view.plan.drafts if each.position in positions)
    return frozenset(name for names in found for name in names)


def _finding(index: int, requirement: Requirement, message: str) -> Finding:
    where = at("requirements", index)
    return plan_finding("E312", where, f"{requirement.id} {message}: {quoted(requirement.text)}")


E312 = Rule(
    "E312",
    "changed requirement that no new order covers",
    why="What the specification says now is built by a new or changed order, or by none at all.",
    bad="""{"follows": {"requirements": [{"id": "R1", "text": "Words have five letters."}],
  "work_orders": [{"id": "WO-01", "covers": ["R1"]}], "landed": ["WO-01"]},
 "requirements": [{"id": "R1", "text": "Words have six letters."},
                  {"id": "R2", "text": "A guess scores points."}],
 "work_orders": [{"id": "WO-02", "covers": ["R2"]}]}""",
    good="""{"follows": {"requirements": [{"id": "R1", "text": "Words have five letters."}],
  "work_orders": [{"id": "WO-01", "covers": ["R1"]}], "landed": ["WO-01"]},
 "requirements": [{"id": "R1", "text": "Words have six letters."},
                  {"id": "R2", "text": "A guess scores points."}],
 "work_orders": [{"id": "WO-02", "covers": ["R1", "R2"]}]}""",
    remedy=(
        "Name the requirement in `covers` of the new order that carries it out, or add that order. "
        "An order that replaces another one covers what stands of the other one's requirements."
    ),
    check=forgotten_changes,
)


def remaining_code(view: PlanView) -> Iterator[Finding]:
    """Yield each removed requirement whose code stays, or is still to be written."""
    answer = view.answer
    if answer is None or not _is_readable(view, answer):
        return
    own = _covered(view, answer.own)
    theirs = answer.own
    excused = {each.requirement for each in answer.not_removed if each.reason.strip()}
    for each in answer.task.difference.removed:
        if each.id in excused:
            continue
        drafts = [draft for draft in view.plan.drafts if each.id in covers_of(draft)]
        due = [d.label for d in drafts if not d.landed and d.position not in theirs]
        done = [d.label for d in drafts if d.landed]
        if due:
            message = f"is gone, and {', '.join(due)} would still carry it out"
        elif done and each.id not in own:
            message = f"is gone, and no new order takes away what {', '.join(done)} wrote for it"
        else:
            continue
        yield plan_finding("E313", at(), f"{each.id} {message}: {quoted(each.text)}")


E313 = Rule(
    "E313",
    "removed requirement whose code stays",
    why="Code and tests of what the specification no longer has bind everything that comes later.",
    bad="""{"follows": {"requirements": [{"id": "R1", "text": "Words have five letters."},
                               {"id": "R2", "text": "A high score is kept."}],
  "work_orders": [{"id": "WO-01", "covers": ["R1"]}, {"id": "WO-02", "covers": ["R2"]}],
  "landed": ["WO-01", "WO-02"]},
 "requirements": [{"id": "R1", "text": "Words have five letters."}],
 "work_orders": []}""",
    good="""{"follows": {"requirements": [{"id": "R1", "text": "Words have five letters."},
                               {"id": "R2", "text": "A high score is kept."}],
  "work_orders": [{"id": "WO-01", "covers": ["R1"]}, {"id": "WO-02", "covers": ["R2"]}],
  "landed": ["WO-01", "WO-02"]},
 "requirements": [{"id": "R1", "text": "Words have five letters."}],
 "work_orders": [{"id": "WO-03", "title": "Drop the high score", "covers": ["R2"]}]}""",
    remedy=(
        "Add an order that takes the code and its tests away, and name the removed requirement in "
        "its `covers`. Withdraw or replace an order that is not begun. Where nothing is to go, "
        "say why in `not_removed`."
    ),
    check=remaining_code,
)

E315 = Rule(
    "E315",
    "new order that breaks a kept one",
    why=(
        "A kept order was valid in the plan before. It cannot be changed here, so what the new "
        "orders took from it has to come back."
    ),
    bad="""{"follows": {"requirements": [{"id": "R1", "text": "Words are in a file."},
                               {"id": "R2", "text": "A guess scores points."}],
  "work_orders": [
   {"id": "WO-01", "covers": ["R1"], "allowed_files": ["words.txt"],
    "postconditions": [{"kind": "file_exists", "path": "words.txt"}]},
   {"id": "WO-02", "covers": ["R2"],
    "preconditions": [{"kind": "file_exists", "path": "words.txt"}]}]},
 "requirements": [{"id": "R1", "text": "Words are in a table."},
                  {"id": "R2", "text": "A guess scores points."}],
 "work_orders": [{"id": "WO-01", "covers": ["R1"], "allowed_files": ["words.csv"],
                  "postconditions": [{"kind": "file_exists", "path": "words.csv"}]}]}""",
    good="""{"follows": {"requirements": [{"id": "R1", "text": "Words are in a file."},
                               {"id": "R2", "text": "A guess scores points."}],
  "work_orders": [
   {"id": "WO-01", "covers": ["R1"], "allowed_files": ["words.txt"],
    "postconditions": [{"kind": "file_exists", "path": "words.txt"}]},
   {"id": "WO-02", "covers": ["R2"],
    "preconditions": [{"kind": "file_exists", "path": "words.txt"}]}]},
 "requirements": [{"id": "R1", "text": "Words are in a table."},
                  {"id": "R2", "text": "A guess scores points."}],
 "work_orders": [{"id": "WO-01", "covers": ["R1"], "allowed_files": ["words.txt"],
                  "title": "Words as a table",
                  "postconditions": [{"kind": "file_exists", "path": "words.txt"}]}]}""",
    remedy=(
        "Correct the new orders so that the kept order finds what it relied on: files, names and "
        "orders as they were."
    ),
)


RULES: Final = (E310, E311, E312, E313, E314, E315, E316)
