"""Checks whether a new plan carries out what changed since the plan before: E312, E313 and E315."""

from __future__ import annotations

from collections.abc import Iterator

from planner.replan.answer import Answer
from planner.replan.predecessor import covers_of
from planner.rules.model import PlanView, Rule
from planner.spec.requirements import Requirement
from planner.steps.findings import Finding, plan_finding
from shared.rule_text import quoted
from shared.work_order.field_path import at


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
