"""E243, E246 and W245: files and orders that an order refers to, or that nobody refers to."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from planner.rules.model import Finding, PlanView, Rule, Step, each_order, quoted
from shared.paths import glob_characters
from shared.python_files import has_names_to_declare, is_test_file
from shared.schemas import WorkOrder


def unreadable_context(step: Step, order: WorkOrder) -> Iterator[Finding]:
    before = step.draft.position - 1
    told = set(order.allowed_files)  # may be listed before it exists: it is shown as empty
    for index, path in enumerate(order.context_files):
        if path in told or glob_characters(path):
            continue
        told.add(path)
        if step.chain.may_exist(path, before) or step.chain.is_unread(path, before):
            continue
        provider = step.chain.provider(path)
        reason = f"only {step.source(provider)} provides it" if provider else "nobody provides it"
        message = f"{quoted(path)} does not exist by then: {reason}"
        yield step.finding("E243", f"context_files[{index}]", message)


E243 = Rule(
    "E243",
    "context file read before it exists",
    why="The executor is shown the context files as they are when its order starts.",
    bad='{"context_files": ["docs/format.md"]}',
    good="""{"work_orders": [
  {"id": "WO-01", "allowed_files": ["docs/format.md"],
   "postconditions": [{"kind": "file_exists", "path": "docs/format.md"}]},
  {"id": "WO-02", "context_files": ["docs/format.md"]}
]}""",
    remedy="Let an earlier order create the file, correct the path, or leave it out.",
    check=each_order(unreadable_context),
)


def unknown_dependencies(step: Step, order: WorkOrder) -> Iterator[Finding]:
    known = [draft.raw.get("id") for draft in step.plan.drafts]
    told: set[str] = set()
    for index, needed in enumerate(order.depends_on):
        if needed in told:
            continue
        told.add(needed)
        if needed == order.id or needed not in known:
            fault = "is the order itself" if needed == order.id else "is no order of this plan"
            yield step.finding("E246", f"depends_on[{index}]", f"{quoted(needed)} {fault}")


E246 = Rule(
    "E246",
    "unknown order in depends_on",
    why="An order that waits for one which does not exist can never start.",
    bad='{"depends_on": ["WO-07"]}',
    good="""{"work_orders": [{"id": "WO-01"}, {"id": "WO-02", "depends_on": ["WO-01"]}]}""",
    remedy="Name the id of an order of this plan, or leave the entry out: order by number is kept.",
    check=each_order(unknown_dependencies),
)


def unused_modules(view: PlanView) -> Iterator[Finding]:
    if any(step.draft.order is None for step in view.steps):
        return  # what cannot be read may use anything
    for step in view.steps:
        order = step.draft.order
        assert order is not None, "looked at above"
        mine = [
            (index, path)
            for index, path in enumerate(order.allowed_files)
            if has_names_to_declare(path) and _creates(step, path)
        ]
        if mine and not any(_is_used(path, step, view) for _, path in mine):
            # Where one of its files is used, that one may use the others.
            for index, path in mine:
                message = f"{quoted(path)} is created here and used by no command and no order"
                yield step.finding("W245", f"allowed_files[{index}]", message)


def _creates(step: Step, path: str) -> bool:
    first = step.chain.first.get(path, step.chain.possible.get(path))
    return first == step.draft.position


def _is_used(path: str, step: Step, view: PlanView) -> bool:
    name = posixpath.basename(path).removesuffix(".py")
    contract = view.plan.contract
    if contract and any(each.path == path for each in contract.requires):
        return True
    return any(name in text for other in view.steps for text in _mentions(other, step))


def _mentions(other: Step, creator: Step) -> Iterator[str]:
    """Yield what could show that `other` uses a file of `creator`."""
    order = other.draft.order
    assert order is not None, "looked at above"
    if other.draft.position >= creator.draft.position:
        yield from order.acceptance_commands
        yield from (path for path in order.allowed_files if is_test_file(path))
    if other.draft.position > creator.draft.position:
        yield from (order.title, order.intent, order.notes or "")
        yield from (*order.context_files, *order.allowed_files)
        yield from (each.path for each in order.preconditions)
        yield from (each.stub for each in order.interfaces)


W245 = Rule(
    "W245",
    "created and never used",
    why="A module that no command and no later order uses proves nothing and may be wrong.",
    bad=r"""{"allowed_files": ["words.py"],
 "postconditions": [{"kind": "file_exists", "path": "words.py"}],
 "interfaces": [{"path": "words.py", "stub": "WORDS: list[str]"}]}""",
    good=r"""{"allowed_files": ["words.py"],
 "postconditions": [{"kind": "file_exists", "path": "words.py"}],
 "interfaces": [{"path": "words.py", "stub": "WORDS: list[str]"}],
 "acceptance_commands": ["python -c \"from words import WORDS; assert WORDS == ['crane']\""]}""",
    remedy="Call what it provides in an acceptance command, let a later order use it, or drop it.",
    check=unused_modules,
)
