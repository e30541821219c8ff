"""Accepts a person's commit as the work of an order."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from factory.batch.decide import PlanOnBranch
from factory.judging.judgement import Judgement
from factory.judging.proof import verified_by
from factory.landing.land import Notary
from factory.landing.stand_in import as_text, change_of, lacking, paths_of
from factory.orders.documents import FailureBrief, VerifiedBy
from factory.orders.order_commit import NOTES_REF, add_acceptance, drop_acceptance
from factory.orders.read_orders import NOT_EXEMPT
from factory.orders.stages import NOTHING_DECIDED, AcceptedCommit, Decision
from factory.orders.task import OrderTask, RunOptions, command_settings
from factory.preflight import RepoPlace, hold, name_paths, refuse_symbolic
from factory.record.journal import write_decision
from factory.record.landed import named_orders
from factory.record.runs_on_record import bases_on_record
from factory.run.recovery import deferring_signals, recover
from factory.run.reproduce import open_judge
from factory.run.run_request import commit_terms, find_exemptions
from factory.statement.compose_statement import StandingCommit
from factory.statement.statement import Acceptance, Snapshot, Statement, drop_statements
from shared.errors import InvalidInput
from shared.events.events import Emit
from shared.events.run_record import Recording, new_run_folder, new_run_id, recorded_run
from shared.git import commits, refs, trees
from shared.git.client import Git
from shared.work_order.work_order import WorkOrder


def note_acceptance(git: Git, work: StandingCommit, proof: str, root: str, emit: Emit) -> None:
    """Write both notes on a commit accepted for an order, in the place of earlier ones.

    `proof` says in one line what verified it, and `root` is the hash of the oldest plan. Raises
    `GitFailed` if git refuses the note for people; a refused statement is a warning.
    """
    task, commit = work.task, work.result.commit
    facts = {
        "key": task.identity.key,
        "plan": root,
        "covers": ", ".join(dict.fromkeys(task.order.covers)),
        "beyond": ", ".join(work.beyond),
        "run": work.run_id,
        "proof": proof,
    }
    before = commits.notes(git, NOTES_REF, {commit}).get(commit, "")
    note = add_acceptance(before, task.name, facts)
    commits.add_note(git, NOTES_REF, commit, note, task.commit_facts(""))
    drop_statements(git, commit, lambda each: _says_so(each, task), task.commit_facts(""))
    Notary(git, work.run_id, emit).attest_acceptance(work)


def drop_acceptance_notes(git: Git, commit: str, task: OrderTask) -> None:
    """Remove the parts of the notes on a commit that are about an order; keep the others."""
    facts = task.commit_facts("")
    before = commits.notes(git, NOTES_REF, {commit}).get(commit, "")
    after = drop_acceptance(before, task.name)
    if after and after != before:
        commits.add_note(git, NOTES_REF, commit, after, facts)
    elif after != before:
        commits.remove_note(git, NOTES_REF, commit, facts)
    drop_statements(git, commit, lambda each: _says_so(each, task), facts)


def _says_so(statement: Statement | Acceptance, task: OrderTask) -> bool:
    """Return whether a statement says that a commit was accepted for the order, in any plan."""
    stated = statement.predicate.order
    of_order = (stated.id, stated.key) == (task.name, task.identity.key)
    return isinstance(statement, Acceptance) and of_order


@dataclass(frozen=True, slots=True)
class OfferedCommit:
    """Hold a commit that may be accepted for an order, and the files that differ from its parent.

    `beyond` are those of the files that the order does not allow.
    """

    commit: str
    parent: str
    changed: frozenset[str]
    beyond: tuple[str, ...]


def find_offered_commit(
    plan: PlanOnBranch,
    name: str,
    given: str,
    place: RepoPlace,
    artifacts: Path,
    *,
    allow_more: bool,
) -> OfferedCommit:
    """Return the commit that `given` names, for the order `name`.

    Raises `InvalidInput` if it is not a commit of the branch, is older than the plan's runs or made
    by an order, changes more than the order allows (unless `allow_more`), or lacks a test of the
    plan.
    """
    git, order = place.git, plan.named(name).order
    commit = refs.commit_of(git, given)
    if not commit:
        raise InvalidInput(
            f"--commit {given!r} does not name a commit of this repo",
            "give a full hash, or a unique abbreviation",
        )
    bases = bases_on_record(artifacts, place.common_dir, place.tree, plan.branch)
    _refuse_elsewhere(plan, name, commit, git, bases)
    parent = refs.commit_of(git, f"{commit}^")
    if not parent:
        raise InvalidInput(
            f"{commit[:12]} is the first commit of the repo", "name a commit that has a parent"
        )
    changed = trees.files_between(git, parent, commit)
    beyond = tuple(sorted(changed.difference(paths_of(order))))
    if beyond and not allow_more:
        raise InvalidInput(
            f"{commit[:12]} changes what {name} does not allow: {name_paths(beyond)}",
            "split the commit, or pass --allow-more if these files belong to the order's work",
        )
    if problem := next(lacking(git, order, commit), ""):
        raise InvalidInput(
            f"{commit[:12]} cannot be accepted for {name}: {problem}",
            f"amend the commit by what {plan.path} says{_where(order)}, and name the new one",
        )
    return OfferedCommit(commit, parent, changed, beyond)


def _where(order: WorkOrder) -> str:
    return f" (the tests are in `acceptance_files` of {order.id})" if order.acceptance_files else ""


def _refuse_elsewhere(
    plan: PlanOnBranch, name: str, commit: str, git: Git, bases: frozenset[str]
) -> None:
    """Raise `InvalidInput` if the commit is not the branch's own work on the plan."""
    history = plan.history(git)
    commits = history.first_parents
    if not commits:
        raise InvalidInput(
            f"branch {plan.branch!r} does not exist in this repo",
            "name the branch that has the commit by --branch, or make this one with `git branch`",
        )
    if commit not in commits:
        raise InvalidInput(
            f"{commit[:12]} is not on the first-parent line of branch {plan.branch!r}",
            "name the merge that brought it there, or another branch by --branch",
        )
    for each in plan.orders:
        made = history.landed.get(each.order.id)
        if made and name == each.order.id:
            raise InvalidInput(
                f"{name} has landed as {made[:12]} on {plan.branch}", "nothing is left to accept"
            )
        if made == commit:
            raise InvalidInput(
                f"{commit[:12]} is the commit of {each.order.id}", f"name the commit of {name}"
            )
    known = [commits.index(each) for each in bases if each in commits]
    if known and commits.index(commit) > max(known):
        raise InvalidInput(
            f"{commit[:12]} was on {plan.branch} before the first run of the plan began",
            "name a commit that was made since",
        )


@dataclass(frozen=True, slots=True)
class JudgedCommit:
    """Hold whether a commit was accepted for an order, and the commands that judged it."""

    order: WorkOrder
    branch: str
    offered: OfferedCommit
    judgement: Judgement
    run_dir: str
    recorded: bool = True
    """Whether it counts for the order from now on, if it passes."""

    @property
    def judged(self) -> VerifiedBy | FailureBrief:
        """Return what verified the commit, or why it does not do what the order asks for."""
        judgement = self.judgement
        return judgement.brief or verified_by(
            judgement.verify, judgement.acceptance, judgement.exempt
        )

    @property
    def failure(self) -> FailureBrief | None:
        """Return why the commit was not accepted for the order, if it was not."""
        return self.judgement.brief


def accept_commit(
    plan: PlanOnBranch,
    name: str,
    given: str,
    place: RepoPlace,
    options: RunOptions,
    emit: Emit,
    *,
    allow_more: bool = False,
    record: bool = True,
) -> JudgedCommit:
    """Judge the commit that `given` names, and accept it for the order `name` with `record`.

    Nothing is recorded about an order whose commit fails. The commit itself never changes: it gets
    a note. Raises as `find_offered_commit` does, `Busy`, `PreflightRefused`, `SandboxUnavailable`.
    """
    with hold(place.common_dir) as lock:
        refuse_symbolic(place.common_dir, refs.OWN_REFS)
        place = replace(place, git=place.git.holding(lock))
        recover(place.git, place.common_dir, emit)
        artifacts = options.settings.artifacts_dir
        found = find_offered_commit(plan, name, given, place, artifacts, allow_more=allow_more)
        folder = new_run_folder(artifacts, "factory", new_run_id())
        head = {**head_of(plan, name, options), "commit": found.commit}
        with recorded_run(folder, head, emit) as recording:
            task = task_on(plan, name, found.parent, place, options, folder.path)
            accepted = _judge(plan, task, found, place, options, recording)
            accepted = replace(accepted, recorded=record)
            recording.results["summary"] = acceptance_document(accepted)
            if record and isinstance(accepted.judged, VerifiedBy):
                with deferring_signals():
                    _record(plan, accepted, accepted.judged, task, place, recording)
        return accepted


def take_back(plan: PlanOnBranch, name: str, place: RepoPlace, options: RunOptions) -> str:
    """Take back that a commit was accepted for the order `name`, and return that commit.

    The commit stays where it is; what its note says of the order goes. Raises `InvalidInput` if no
    commit was accepted for the order, and `Busy`.
    """
    key = plan.key_of(name)
    with hold(place.common_dir) as lock, deferring_signals():
        refuse_symbolic(place.common_dir, refs.OWN_REFS)
        git = place.git.holding(lock)
        before = plan.decisions(place.common_dir).get(name, NOTHING_DECIDED)
        if before.accepted is None:
            raise InvalidInput(
                f"no commit was accepted for {name} on {plan.branch}",
                "there is nothing to take back",
            )
        commit = before.accepted.commit
        terms = commit_terms(git, options.settings.commit, None)
        task = OrderTask(plan.named(name), NOT_EXEMPT, commit, terms, plan.path)
        drop_acceptance_notes(git, commit, task)
        write_decision(place.common_dir, key, replace(before, accepted=None))
    return commit


def acceptance_document(accepted: JudgedCommit) -> dict[str, Any]:
    judged = accepted.judged
    passed = isinstance(judged, VerifiedBy)
    return {
        "verdict": "PASS" if passed else "FAIL",
        "work_order": accepted.order.id,
        "branch": accepted.branch,
        "commit": accepted.offered.commit,
        "accepted": passed and accepted.recorded,
        "checked_only": not accepted.recorded,
        "files": sorted(accepted.offered.changed),
        "beyond": list(accepted.offered.beyond),
        "verified_by": judged.model_dump(mode="json") if passed else None,
        "failure": None if passed else judged.model_dump(mode="json"),
        "run_dir": accepted.run_dir,
    }


def head_of(plan: PlanOnBranch, name: str, options: RunOptions) -> dict[str, Any]:
    """Return what `run.json` says. Nothing was begun on the branch, so it names no base."""
    return {
        "command": "accept",
        "workdir": str(plan.path.resolve()),
        "orders": [{"id": name, "order_key": plan.key_of(name).key}],
        "repo": str(options.repo.resolve()),
        "branch": plan.branch,
        "commands": command_settings(options).model_dump(mode="json"),
    }


def task_on(
    plan: PlanOnBranch, name: str, base: str, place: RepoPlace, options: RunOptions, folder: Path
) -> OrderTask:
    """Return an order as what was made on `base` is judged, recorded in a folder of its own."""
    loaded = plan.named(name)
    landed = named_orders(place.git, base, plan.orders)
    (exemption,) = find_exemptions(
        (loaded,), landed, place.git, options.settings.verify, allow=options.allow_verify_exempt
    )
    terms = commit_terms(place.git, options.settings.commit, None)
    return OrderTask(loaded, exemption, base, terms, folder / name)


def _judge(
    plan: PlanOnBranch,
    task: OrderTask,
    found: OfferedCommit,
    place: RepoPlace,
    options: RunOptions,
    recording: Recording,
) -> JudgedCommit:
    with open_judge(found.commit, place, options, recording.emit) as judge:
        judged = judge.judge(found.commit, task, found.changed, recording.folder.path / "base")
    return JudgedCommit(task.order, plan.branch, found, judged, str(recording.folder.path))


def _record(
    plan: PlanOnBranch,
    accepted: JudgedCommit,
    judged: VerifiedBy,
    task: OrderTask,
    place: RepoPlace,
    recording: Recording,
) -> None:
    """Note the commit, then record the decision: a kill between the two repeats both."""
    order, commit = accepted.order, accepted.offered.commit
    key = plan.key_of(order.id)
    replaced = plan.decisions(place.common_dir).get(order.id, NOTHING_DECIDED).accepted
    if replaced is not None and replaced.commit != commit:
        drop_acceptance_notes(place.git, replaced.commit, task)
    work = _standing(place.git, accepted, task, recording.folder.run_id)
    note_acceptance(place.git, work, judged.describe(), key.plan, recording.emit)
    decided = AcceptedCommit(
        commit, order.title, tuple(dict.fromkeys(order.covers)), accepted.offered.beyond
    )
    write_decision(place.common_dir, key, Decision(accepted=decided))


def _standing(git: Git, accepted: JudgedCommit, task: OrderTask, run_id: str) -> StandingCommit:
    offered, judgement = accepted.offered, accepted.judgement
    return StandingCommit(
        task=task,
        base=Snapshot(commit=offered.parent, tree=trees.tree_of(git, offered.parent)),
        result=Snapshot(commit=offered.commit, tree=trees.tree_of(git, offered.commit)),
        change=change_of(git, offered.commit, offered.changed),
        beyond=tuple(map(as_text, offered.beyond)),
        verify=judgement.verify,
        acceptance=judgement.acceptance,
        exempt=judgement.exempt,
        run_id=run_id,
    )
