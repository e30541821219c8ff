"""Checks the files that orders remove: E111 and E112."""

from __future__ import annotations

from collections.abc import Iterator

from planner.rules.model import PlanView, Rule, each_order
from planner.steps.findings import Finding
from planner.steps.step import Step
from shared.files.paths import fold_path, glob_characters
from shared.rule_text import quoted
from shared.work_order.field_path import FieldPath, at
from shared.work_order.schemas import VERIFY_SCRIPT, WorkOrder


def missing_removals(step: Step, order: WorkOrder) -> Iterator[Finding]:
    used = {fold_path(path) for _, path in (*_written(order), *_read(order))}
    for index, path in _removed(order):
        if fold_path(path) not in used and not _may_be_there(step, path):
            message = f"{quoted(path)} {_why_missing(step, path)}"
            yield step.finding("E111", at("removed_files", index), message)


def _removed(order: WorkOrder) -> Iterator[tuple[int, str]]:
    """Yield each path that the order removes, once; E004 speaks of one with globs."""
    seen: set[str] = set()
    for index, path in enumerate(order.removed_files):
        if path not in seen and not glob_characters(path):
            seen.add(path)
            yield index, path


def _may_be_there(step: Step, path: str) -> bool:
    before = step.draft.position - 1
    return step.chain.may_exist(path, before) or step.chain.is_unread(path, before)


def _why_missing(step: Step, path: str) -> str:
    before = step.draft.position - 1
    if remover := step.chain.remover(path, before):
        return f"is gone already: {step.source(remover)} removes it"
    if step.chain.may_be_folder(path, before):
        return "is a folder: name each of its files"
    provider = step.chain.provider(path)
    later = f"only {step.source(provider)} provides it" if provider else "nobody provides it"
    return f"does not exist by then: {later}"


E111 = Rule(
    "E111",
    "removed file that is not there",
    why="The harness removes the files before the model is asked, and refuses the order if it "
    "cannot.",
    bad="""{"repo": {"pkg/old.py": "OLD = 1\\n"}, "removed_files": ["old.py"]}""",
    good="""{"repo": {"pkg/old.py": "OLD = 1\\n"}, "removed_files": ["pkg/old.py"]}""",
    remedy=(
        "Correct the path, or drop it from removed_files. Each file is named by itself, since a "
        "folder that holds nothing any more vanishes on its own."
    ),
    check=each_order(missing_removals),
)


def needed_removals(view: PlanView) -> Iterator[Finding]:
    """Yield each removed file that its order or a later one uses, or that verifies the project."""
    gone: dict[str, str] = {}
    for step in view.steps:
        order = step.draft.order
        if order is None:
            continue
        yield from _written_again(step, order, gone)
        own = {fold_path(path): field for field, path in (*_read(order), *_written(order))}
        for index, path in _removed(order):
            folded = fold_path(path)
            field = at("removed_files", index)
            if folded == VERIFY_SCRIPT:
                message = f"{quoted(path)} verifies the project, and every later order needs it"
                yield step.finding("E112", field, message)
            elif folded in own:
                message = f"{quoted(path)} is in {own[folded].parts[0]} of the same order"
                yield step.finding("E112", field, message)
            elif _may_be_there(step, path):
                gone.setdefault(folded, step.draft.label)


def _written_again(step: Step, order: WorkOrder, gone: dict[str, str]) -> Iterator[Finding]:
    reported: set[str] = set()
    for field, path in _written(order):
        folded = fold_path(path)
        if folded in gone and folded not in reported:
            reported.add(folded)
            message = f"{quoted(path)} was removed by {gone[folded]}, and is written again here"
            yield step.finding("E112", field, message)


def _written(order: WorkOrder) -> Iterator[tuple[FieldPath, str]]:
    for index, path in enumerate(order.allowed_files):
        yield at("allowed_files", index), path
    for index, condition in enumerate(order.postconditions):
        yield at("postconditions", index), condition.path
    for index, file in enumerate(order.acceptance_files):
        yield at("acceptance_files", index, "path"), file.path


def _read(order: WorkOrder) -> Iterator[tuple[FieldPath, str]]:
    for index, path in enumerate(order.context_files):
        yield at("context_files", index), path


E112 = Rule(
    "E112",
    "removed file that is used",
    why=(
        "A removed file is gone before the order's model is asked, and stays gone. An order that "
        "reads or writes it could not be carried out."
    ),
    bad="""{"repo": {"old.py": "OLD = 1\\n"},
 "removed_files": ["old.py"], "context_files": ["old.py"]}""",
    good="""{"repo": {"old.py": "OLD = 1\\n"}, "removed_files": ["old.py"]}""",
    remedy=(
        "Drop the path from removed_files where the file is still used; an order that changes it "
        "lists it in allowed_files instead. Else drop it from allowed_files, postconditions, "
        "acceptance_files and context_files of this order and of later ones. Never remove "
        "scripts/verify.sh."
    ),
    check=needed_removals,
)
