"""Checks whether each order can build on what the orders before it leave."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from planner.plan.file_projection import folders_of, matches_any
from planner.rules.acceptance import forbidding, runs_all_of, runs_verify_script
from planner.rules.rule_model import Finding, PlanView, Rule, Step, each_order, plan_finding
from shared.errors import quoted
from shared.files.paths import VERIFY_SCRIPT, fold_path, glob_characters, is_git_path
from shared.files.strict_documents import at
from shared.languages.registry import steering

if TYPE_CHECKING:
    from shared.files.strict_documents import FieldPath
    from shared.work_order.work_order import Condition, WorkOrder


def unmet_preconditions(step: Step, order: WorkOrder) -> Iterator[Finding]:
    before = step.draft.position - 1
    unmet = [
        (index, condition)
        for index, condition in enumerate(order.preconditions)
        if not step.chain.holds(condition, before)
    ]
    if not unmet:
        return
    silent = {path for _, path in _contradictions(order)}
    for index, condition in unmet:
        if condition.path in silent or not (message := _why_unmet(condition, step)):
            continue
        silent.add(condition.path)  # one finding for each path
        yield step.finding("E101", at("preconditions", index), message)


def _why_unmet(condition: Condition, step: Step) -> str | None:
    """Return why an unmet condition is a fault; `None` if another fault causes it."""
    path, chain = condition.path, step.chain
    if glob_characters(path):
        return None
    provider = chain.provider(path)
    if condition.kind == "file_absent":
        return f"{quoted(path)} must be absent, but {step.source(provider or 0)} provides it"
    if chain.is_unread(path, step.draft.position - 1):
        return None
    if remover := chain.remover(path, step.draft.position - 1):
        return f"{quoted(path)} must exist, but {step.source(remover)} removes it"
    later = f"; {step.source(provider)} provides it too late" if provider else ""
    return f"{quoted(path)} must exist, but neither the repo nor an earlier order has it{later}"


E101 = Rule(
    "E101",
    "precondition not met",
    why="The factory refuses an order whose preconditions do not hold, before it asks a model.",
    bad="""{"work_orders": [
  {"id": "WO-01", "preconditions": [{"kind": "file_exists", "path": "data/words.txt"}]}
]}""",
    good="""{"work_orders": [
  {"id": "WO-01", "allowed_files": ["data/words.txt"],
   "postconditions": [{"kind": "file_exists", "path": "data/words.txt"}]},
  {"id": "WO-02", "preconditions": [{"kind": "file_exists", "path": "data/words.txt"}]}
]}""",
    remedy=(
        "Let an earlier order declare file_exists for the path as a postcondition, reorder, or "
        "drop the precondition. For file_absent: drop it where the file is there already."
    ),
    check=each_order(unmet_preconditions),
)


def contradictory_preconditions(step: Step, order: WorkOrder) -> Iterator[Finding]:
    for index, path in _contradictions(order):
        message = f"{quoted(path)} cannot both exist and be absent"
        yield step.finding("E102", at("preconditions", index), message)


def _contradictions(order: WorkOrder) -> Iterator[tuple[int, str]]:
    kinds: dict[str, str] = {}
    reported: set[str] = set()
    for index, condition in enumerate(order.preconditions):
        path = condition.path
        if kinds.setdefault(path, condition.kind) != condition.kind and path not in reported:
            reported.add(path)
            yield index, path


E102 = Rule(
    "E102",
    "preconditions contradict each other",
    why="An order that needs a file both to exist and to be absent can never start.",
    bad="""{"preconditions": [
  {"kind": "file_exists", "path": "app.py"}, {"kind": "file_absent", "path": "app.py"}
]}""",
    good='{"preconditions": [{"kind": "file_absent", "path": "app.py"}]}',
    remedy="Keep the one that is meant: file_absent to create the file, file_exists to change it.",
    check=each_order(contradictory_preconditions),
)


def promises_out_of_scope(step: Step, order: WorkOrder) -> Iterator[Finding]:
    # That an acceptance file exists afterwards is true as well, and needs no promise.
    allowed = {*order.allowed_files, *(each.path for each in order.acceptance_files)}
    for index, condition in enumerate(order.postconditions):
        path = condition.path
        if path in allowed or glob_characters(path) or _covered_by_glob(path, order.allowed_files):
            continue
        allowed.add(path)  # one finding for each path
        message = f"{quoted(path)} is promised but not in allowed_files"
        yield step.finding("E103", at("postconditions", index), message)


E103 = Rule(
    "E103",
    "postcondition outside allowed_files",
    why="An order cannot provide a file that it may not write.",
    bad="""{"allowed_files": ["page.html"], "postconditions": [
  {"kind": "file_exists", "path": "page.html"}, {"kind": "file_exists", "path": "words.txt"}
]}""",
    good="""{"allowed_files": ["page.html", "words.txt"], "postconditions": [
  {"kind": "file_exists", "path": "page.html"}, {"kind": "file_exists", "path": "words.txt"}
]}""",
    remedy="Add the path to allowed_files, or drop the postcondition.",
    check=each_order(promises_out_of_scope),
)


def files_without_promise(step: Step, order: WorkOrder) -> Iterator[Finding]:
    if not order.postconditions:
        return
    promised = [each.path for each in order.postconditions]
    covered = set(promised)
    if covered.issuperset(order.allowed_files):
        return
    for index, path in enumerate(order.allowed_files):
        if path in covered or glob_characters(path) or _covered_by_glob(path, promised):
            continue
        covered.add(path)
        message = f"{quoted(path)} may be written but has no postcondition"
        yield step.finding("E104", at("allowed_files", index), message)


def _covered_by_glob(path: str, candidates: tuple[str, ...] | list[str]) -> bool:
    return matches_any(path, [each for each in candidates if glob_characters(each)])


E104 = Rule(
    "E104",
    "allowed file has no postcondition",
    why="A file that is allowed but not promised may be left out, and later orders build on it.",
    bad="""{"allowed_files": ["page.html", "words.txt"], "postconditions": [
  {"kind": "file_exists", "path": "page.html"}
]}""",
    good="""{"allowed_files": ["page.html", "words.txt"], "postconditions": [
  {"kind": "file_exists", "path": "page.html"}, {"kind": "file_exists", "path": "words.txt"}
]}""",
    remedy="Declare file_exists for the path, or drop it from allowed_files.",
    check=each_order(files_without_promise),
)


def verification_as_acceptance(step: Step, order: WorkOrder) -> Iterator[Finding]:
    for index, command in step.commands:
        if runs_verify_script(command):
            message = "runs scripts/verify.sh, which the factory runs before these commands anyway"
            yield step.finding("E105", at("acceptance_commands", index), message)
        elif command.text not in order.regression and (
            whole := runs_all_of(command, step.target.verification)
        ):
            message = f"runs {quoted(whole)}, which verifies the repo before these commands anyway"
            yield step.finding("E105", at("acceptance_commands", index), message)


E105 = Rule(
    "E105",
    "verification as acceptance command",
    why=(
        "The factory verifies every order by itself. As an acceptance command the verification "
        "proves nothing of this order: it passes before the order, too, or it fails where the "
        "order comes before what `scripts/verify.sh` needs."
    ),
    bad="""{"allowed_files": ["scripts/verify.sh"],
 "acceptance_commands": ["bash scripts/verify.sh"]}""",
    good="""{"allowed_files": ["scripts/verify.sh"],
 "acceptance_commands": ["bash -n scripts/verify.sh"]}""",
    remedy=(
        "Drop the command, and test what this order does. An order that writes the script may "
        "check its syntax: `bash -n scripts/verify.sh`. Other commands that verify the repo are "
        "allowed where they are repeated in `regression`."
    ),
    check=each_order(verification_as_acceptance),
)


def unmet_contract(view: PlanView) -> Iterator[Finding]:
    contract, last = view.plan.contract, len(view.steps)
    if contract is None or not view.steps:
        return
    seen: set[tuple[str, str]] = set()
    for index, required in enumerate(contract.requires):
        key = (required.kind, required.path)
        if key in seen or view.chain.holds(required, last) or glob_characters(required.path):
            continue
        seen.add(key)
        exists = required.kind == "file_exists"
        if exists and view.chain.is_unread(required.path, last):
            continue
        fault = "does not exist" if exists else "is not absent"
        remover = view.chain.remover(required.path, last) if exists else None
        why = f": {view.steps[remover - 1].draft.label} removes it" if remover else ""
        message = f"{quoted(required.path)} {fault}, not even after the last order{why}"
        yield plan_finding("E106", at("verify_contract", "requires", index), message)


E106 = Rule(
    "E106",
    "verify contract never met",
    why=(
        "Orders are exempt from full verification until the contract is met. This contract is "
        "never met, so no order would be fully verified."
    ),
    bad="""{"verify_contract": {
  "command": "bash scripts/verify.sh",
  "requires": [{"kind": "file_exists", "path": "scripts/verify.sh"}]
}, "work_orders": [{"id": "WO-01"}]}""",
    good="""{"verify_contract": {
  "command": "bash scripts/verify.sh",
  "requires": [{"kind": "file_exists", "path": "scripts/verify.sh"}]
}, "work_orders": [
  {"id": "WO-01", "allowed_files": ["scripts/verify.sh"],
   "postconditions": [{"kind": "file_exists", "path": "scripts/verify.sh"}]}
]}""",
    remedy="Let some order provide the file, or drop the requirement.",
    check=unmet_contract,
)


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
    for step, order in view.orders:
        if gone:
            yield from _written_again(step, order, gone)
        if not order.removed_files:
            continue
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


def unwritable_files(step: Step, order: WorkOrder) -> Iterator[Finding]:
    if step.draft.landed:
        return
    seen: dict[str, str] = {}
    for index, path in enumerate(order.allowed_files):
        other = seen.setdefault(fold_path(path), path)
        if (why := _why_unwritable(step, order, path, other)) and not glob_characters(path):
            yield step.finding("E114", at("allowed_files", index), f"{quoted(path)} {why}")


def _why_unwritable(step: Step, order: WorkOrder, path: str, other: str) -> str:
    """Return why no proposal may write a path; "" if nothing is against it.

    `other` is the first path of the order that differs in case at most.
    """
    chain, after = step.chain, step.draft.position
    if is_git_path(path):
        return "is git's own"
    if by := forbidding(order, fold_path(path)):
        return f"is forbidden by {quoted(by)} of the same order"
    if other != path:
        return f"is the same as {quoted(other)} on some file systems"
    if chain.may_be_folder(path, after):
        return "is a folder by then"
    file = next((each for each in folders_of(path) if chain.may_exist(each, after)), "")
    return f"lies below {quoted(file)}, which is a file by then" if file else ""


E114 = Rule(
    "E114",
    "allowed file that cannot be written",
    why=(
        "The harness refuses a proposal that writes such a path, whatever the model does: each "
        "attempt would be paid for in vain."
    ),
    bad="""{"allowed_files": ["docs/words.txt", "notes.txt"], "forbidden": ["docs/*"]}""",
    good="""{"allowed_files": ["docs/words.txt"], "forbidden": ["notes.txt"]}""",
    remedy=(
        "Drop the path from allowed_files, or what is against it: an entry of forbidden that "
        "covers it, the file above it, or the files in a folder of its name."
    ),
    check=each_order(unwritable_files),
)


def steering_files(order: WorkOrder) -> Iterator[tuple[int, str, str]]:
    """Yield the allowed files that can decide how tests end: index, path, and how."""
    for index, path in enumerate(order.allowed_files):
        if how := steering(posixpath.normpath(path)):
            yield index, path, how


def allowed_steering(step: Step, order: WorkOrder) -> Iterator[Finding]:
    for index, path, how in steering_files(order):
        message = f"{quoted(path)} {how}: the executor decides by it how its own tests end"
        yield step.finding("W235", at("allowed_files", index), message)


W235 = Rule(
    "W235",
    "file that steers tests may be written",
    why=(
        "A test runner reads such a file unasked, or imports it in the place of a module. The "
        "code in it can skip, change or pass the tests that the order is judged by. Manifests are "
        "left out, although some configure test runners too."
    ),
    bad=r"""{"allowed_files": ["score.py", "conftest.py"],
 "interfaces": [{"path": "score.py", "stub": "def score(guess: str) -> int: ..."}],
 "acceptance_commands": ["python -c \"from score import score; assert score('a') == 1\""]}""",
    good=r"""{"allowed_files": ["score.py"],
 "interfaces": [{"path": "score.py", "stub": "def score(guess: str) -> int: ..."}],
 "acceptance_commands": ["python -c \"from score import score; assert score('a') == 1\""]}""",
    remedy=(
        "Drop the path from allowed_files, and have acceptance_files bring the file where tests "
        "need it: the executor cannot change it there. Give a module another name than one of the "
        "standard library. Where the file is what the order is for, look at it in the commit."
    ),
    check=each_order(allowed_steering),
)


RULES: Final = (E101, E102, E103, E104, E105, E106, E111, E112, E114, W235)
