"""Has a person's commit stand for an order: judged like any attempt, noted, and recorded."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from factory.batch.acceptance_notes import drop_acceptance_notes, note_acceptance
from factory.batch.offered_commit import OfferedCommit, find_offered_commit
from factory.batch.plan_on_branch import PlanOnBranch
from factory.judging.judgement import Judgement
from factory.judging.proof import verified_by
from factory.landing.order_change import as_text, change_of
from factory.orders.command_settings import command_settings
from factory.orders.decision import NOTHING_DECIDED, AcceptedCommit, Decision
from factory.orders.documents import FailureBrief
from factory.orders.options import RunOptions
from factory.orders.read import decide_exempt
from factory.orders.task import OrderTask
from factory.orders.verified_by import VerifiedBy
from factory.record.decided import write_decision
from factory.recovery.recover import recover
from factory.recovery.signals import deferring_signals
from factory.repo.lock import hold
from factory.repo.preflight import RepoPlace
from factory.run.authorship import commit_terms
from factory.run.judge_commit import open_judge
from factory.statement.compose import StandingCommit
from factory.statement.document import Snapshot
from shared.errors import InvalidInput
from shared.events.event import Emit
from shared.git import trees
from shared.git.client import Git
from shared.run_record import Recording, new_run_folder, new_run_id, recorded_run
from shared.work_order.schemas import WorkOrder


@dataclass(frozen=True, slots=True)
class Acceptance:
    """Say whether a commit stands for an order now, by the commands that judged it."""

    order: WorkOrder
    branch: str
    offered: OfferedCommit
    judgement: Judgement
    run_dir: str

    @property
    def judged(self) -> VerifiedBy | FailureBrief:
        """Return what verified the commit, or why it does not do what the order asks for."""
        judgement = self.judgement
        return judgement.brief or verified_by(judgement.verify, judgement.acceptance)

    @property
    def failure(self) -> FailureBrief | None:
        """Return why the commit does not stand for the order, if it does not."""
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
) -> Acceptance:
    """Judge the commit that `given` names, and record that it stands for the order `name`.

    Nothing is recorded about an order whose commit fails. The commit itself never changes: it gets
    a note. Raises as `find_offered_commit` does, `Busy`, and `SandboxUnavailable`.
    """
    with hold(place.common_dir) as lock:
        place = replace(place, git=place.git.holding(lock))
        recover(place.git, place.common_dir, emit)
        artifacts = options.settings.artifacts_dir
        found = find_offered_commit(plan, name, given, place, artifacts, allow_more=allow_more)
        folder = new_run_folder(artifacts, "factory", new_run_id())
        with recorded_run(folder, _head(plan, name, found, options), emit) as recording:
            task = _task(plan, name, found, place, options, recording)
            accepted = _judge(plan, task, found, place, options, recording)
            recording.results["summary"] = acceptance_document(accepted)
            if isinstance(accepted.judged, VerifiedBy):
                with deferring_signals():
                    _record(plan, accepted, accepted.judged, task, place, recording)
        return accepted


def take_back(plan: PlanOnBranch, name: str, place: RepoPlace, options: RunOptions) -> str:
    """Record that no commit stands for the order `name` any more, and return the one that did.

    The commit stays where it is; what its note says of the order goes. Raises `InvalidInput` if no
    commit stands for the order, and `Busy`.
    """
    key = plan.key_of(name)
    with hold(place.common_dir) as lock, deferring_signals():
        git = place.git.holding(lock)
        before = plan.decisions(place.common_dir).get(name, NOTHING_DECIDED)
        if before.accepted is None:
            raise InvalidInput(
                f"no commit stands for {name} on {plan.branch}", "there is nothing to take back"
            )
        commit = before.accepted.commit
        terms = commit_terms(git, options.settings.commit, None)
        task = OrderTask(plan.named(name), False, commit, terms, plan.path)
        drop_acceptance_notes(git, commit, task)
        write_decision(place.common_dir, key, replace(before, accepted=None))
    return commit


def acceptance_document(accepted: Acceptance) -> dict[str, Any]:
    """Return the document of `accept --json`."""
    judged = accepted.judged
    passed = isinstance(judged, VerifiedBy)
    return {
        "verdict": "PASS" if passed else "FAIL",
        "work_order": accepted.order.id,
        "branch": accepted.branch,
        "commit": accepted.offered.commit,
        "accepted": passed,
        "files": sorted(accepted.offered.changed),
        "beyond": list(accepted.offered.beyond),
        "verified_by": judged.model_dump(mode="json") if passed else None,
        "failure": None if passed else judged.model_dump(mode="json"),
        "run_dir": accepted.run_dir,
    }


def _head(
    plan: PlanOnBranch, name: str, found: OfferedCommit, options: RunOptions
) -> dict[str, Any]:
    """Return what `run.json` says. Nothing was begun on the branch, so it names no base."""
    return {
        "command": "accept",
        "workdir": str(plan.path.resolve()),
        "orders": [{"id": name, "order_key": plan.key_of(name).key}],
        "repo": str(options.repo.resolve()),
        "branch": plan.branch,
        "commit": found.commit,
        "commands": command_settings(options).model_dump(mode="json"),
    }


def _task(
    plan: PlanOnBranch,
    name: str,
    found: OfferedCommit,
    place: RepoPlace,
    options: RunOptions,
    recording: Recording,
) -> OrderTask:
    loaded = plan.named(name)
    exempt, _ = decide_exempt(loaded, allow=options.allow_verify_exempt)
    terms = commit_terms(place.git, options.settings.commit, None)
    return OrderTask(loaded, exempt, found.parent, terms, recording.folder.path / name)


def _judge(
    plan: PlanOnBranch,
    task: OrderTask,
    found: OfferedCommit,
    place: RepoPlace,
    options: RunOptions,
    recording: Recording,
) -> Acceptance:
    with open_judge(found.commit, place, options, recording.emit) as judge:
        judged = judge.judge(found.commit, task, found.changed, recording.folder.path / "base")
    return Acceptance(task.order, plan.branch, found, judged, str(recording.folder.path))


def _record(
    plan: PlanOnBranch,
    accepted: Acceptance,
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
    stands = AcceptedCommit(
        commit, order.title, tuple(dict.fromkeys(order.covers)), accepted.offered.beyond
    )
    write_decision(place.common_dir, key, Decision(accepted=stands))


def _standing(git: Git, accepted: Acceptance, task: OrderTask, run_id: str) -> StandingCommit:
    offered, judgement = accepted.offered, accepted.judgement
    return StandingCommit(
        task=task,
        base=Snapshot(commit=offered.parent, tree=trees.tree_of(git, offered.parent)),
        result=Snapshot(commit=offered.commit, tree=trees.tree_of(git, offered.commit)),
        change=change_of(git, offered.commit, offered.changed),
        beyond=tuple(map(as_text, offered.beyond)),
        verify=judgement.verify,
        acceptance=judgement.acceptance,
        run_id=run_id,
    )
