"""Lands what exists already: proposals of anybody, and commits that are carried onto another
branch.

Each proposal is one attempt: the code that checks, applies, judges and lands a reply does so with
it, and no model is asked.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from factory.attempt.attempt_state import Run
from factory.batch.accept_commit import head_of, task_on
from factory.batch.decide import PlanOnBranch, retry_order
from factory.batch.given_proposals import Proposals
from factory.judging.contract import warm_tools
from factory.judging.proof import KnownCommits
from factory.orders.documents import AttemptRecord, RunSummary
from factory.orders.order_commit import NOTES_REF, default_branch, landed_orders, slug
from factory.orders.read_orders import LoadedOrder, read_workdir
from factory.orders.task import Given, Onto, Origin, RunOptions
from factory.preflight import RepoPlace, find_repo, name_paths, refuse_symbolic
from factory.record.journal import open_journal
from factory.record.landed import commits_named, landed_commits, plan_branch
from factory.record.summary import Circumstances, public_json, summarise_order
from factory.run.baseline import Baseline
from factory.run.execution import Execution
from factory.run.reproduce import open_pool_beside_runs
from factory.statement.statement import Statement, parse_bundle, read_envelopes
from shared.errors import InvalidInput, PreflightRefused
from shared.events.events import Emit, Warned
from shared.events.run_record import new_run_folder, new_run_id, recorded_run
from shared.files.atomic_io import make_folder
from shared.git import commits, refs
from shared.git.client import Git
from shared.git.commits import CommitObject
from shared.llm.model_client import Completion, Request
from shared.llm.replayed_replies import PerformingClient
from shared.llm.stack import Mode, Model, ModelSource
from shared.llm.usage import Meter, Tally
from shared.work_order.parse_order import order_key


class Nobody:
    """Ask no model: whatever is judged was given."""

    def complete(self, request: Request) -> Completion:
        raise AssertionError("no model is asked about what was given")


NOBODY: Final = ModelSource(Mode.LIVE, lambda _: Nobody())
"""The source of a run in which no model is asked."""


def options_onto(
    workdir: Path, options: RunOptions, onto: str, *, asks_model: bool = True
) -> RunOptions:
    """Return the options with which a run replays the landed orders of a plan on the tip of `onto`.

    `onto` is only read: the commits go to a branch of their own. That begins at the tip of `onto`,
    or goes on where an earlier run stopped. All commits have one date, that of the newest commit
    they come from, so that equal inputs give equal commits. Raises `InvalidInput` if there is
    nothing to carry over, and `PreflightRefused` if the branch does not fit.
    """
    place = find_repo(options.repo, allow_repo_filters=options.allow_repo_filters)
    orders, git = read_workdir(workdir), place.git
    own = plan_branch(git, orders)
    base = refs.commit_of(git, onto)
    if not base:
        raise InvalidInput(
            f"--onto {onto!r} does not name a commit of this repo",
            "name a branch, or fetch the one that you mean",
        )
    branch = options.branch or f"{default_branch(orders)}-onto-{slug(onto) or base[:12]}"
    if onto in (own, branch) or onto.removeprefix("refs/heads/") in (own, branch):
        raise InvalidInput(
            f"--onto {onto} is the branch that the orders are on",
            "name the branch that they are to be carried onto",
        )
    there = refs.tip_of_branch(git, own)
    if there and commits.is_ancestor(git, base, there):
        raise InvalidInput(
            f"{own} has {onto} already", "leave out --onto: the orders are on top of it"
        )
    found = _landed(workdir, orders, place, own)
    if not found:
        raise InvalidInput(
            f"no order of the plan in {workdir} has landed on {own} or any other branch",
            "leave out --onto: there is nothing to carry over",
        )
    _refuse_unrelated(git, onto, base, found)
    if tip := refs.commit_of(git, f"refs/heads/{branch}"):
        _refuse_elsewhere(git, branch, tip, onto, base)
    origins = _origins(git, orders, found)
    read = commits.read_commits(git, (*found.values(), base))
    date = "" if os.environ.get("SOURCE_DATE_EPOCH") else _newest(read)
    return replace(
        options,
        branch=branch,
        start=None if tip else base,
        date=options.date or date,
        # The files changed since the plan was made are those of the other branch.
        allow_changed=True,
        onto=Onto(onto, own, origins, asks_model),
    )


def _landed(
    workdir: Path, orders: Sequence[LoadedOrder], place: RepoPlace, own: str
) -> Mapping[str, str]:
    """Return the commits of the orders, by id: of the plan's branch, else of any, else noted."""
    git = place.git
    found = dict(PlanOnBranch(workdir, tuple(orders), own).landed(git, place.common_dir))
    missing = [each for each in orders if each.order.id not in found]
    if missing:
        elsewhere = landed_commits(git, orders[0].plan)
        for each in missing:
            if elsewhere_found := elsewhere.of(each.order):
                found[each.order.id] = elsewhere_found[0]
    missing = [each for each in orders if each.order.id not in found]
    if missing and (noted := commits.noted(git, NOTES_REF)):
        named = landed_orders((each.id, each.message) for each in commits.log_of(git, noted))
        found |= commits_named(missing, named)
    return found


def _refuse_unrelated(git: Git, onto: str, base: str, found: Mapping[str, str]) -> None:
    commit = next(iter(found.values()))
    if not commits.merge_base(git, base, commit):
        raise InvalidInput(
            f"{onto} has no commit in common with the orders' own ({commit[:12]})",
            "name a branch of the same history, or fetch more of it",
        )


def _refuse_elsewhere(git: Git, branch: str, tip: str, onto: str, base: str) -> None:
    if not commits.is_ancestor(git, base, tip):
        raise PreflightRefused(
            f"branch {branch!r} exists, and does not have {onto} at {base[:12]}, which has moved "
            "since or is another one",
            f"name a new branch with --branch, or remove this one: `git branch -D "
            f"{shlex.quote(branch)}`",
        )


def _origins(
    git: Git, orders: Sequence[LoadedOrder], found: Mapping[str, str]
) -> Mapping[str, Origin]:
    """Return the origins by order; a commit without a parent changes nothing that can be read."""
    read = commits.read_commits(git, tuple(found.values()))
    notes = read_envelopes(git, set(found.values()))
    origins: dict[str, Origin] = {}
    for each in orders:
        commit = found.get(each.order.id, "")
        if commit not in read or not read[commit].parents:
            continue
        stated = [
            one.statement.predicate
            for one in parse_bundle(notes.get(commit, b""))
            if isinstance(one.statement, Statement)
            and one.statement.predicate.order.key == order_key(each.order)
            and one.statement.commit == commit
        ]
        summary = stated[0].terms.summary if stated else _body(read[commit])
        replies = tuple(reply.sha256 for reply in stated[0].replies) if stated else ()
        origins[each.order.id] = Origin(commit, read[commit].parents[0], summary, replies)
    return origins


def _body(commit: CommitObject) -> str:
    """Return what the message of an order's commit says between its subject and its trailers."""
    paragraphs = commit.message.strip().split("\n\n")
    return " ".join(" ".join(paragraphs[1:-1]).split())


def _newest(read: Mapping[str, CommitObject]) -> str:
    seconds = (each.committer.rpartition("> ")[2].split(" ")[0] for each in read.values())
    return f"@{max((int(each) for each in seconds if each.isdecimal()), default=0)} +0000"


@dataclass(frozen=True, slots=True)
class JudgedProposals:
    """Hold what was proposed for an order, and how far that came.

    Those of `given` that have no attempt among the records came after the one that passed. `landed`
    is false where nothing was to land.
    """

    given: tuple[Given, ...]
    summary: RunSummary
    landed: bool

    @property
    def passed(self) -> bool:
        return self.summary.verdict == "PASS"

    def rows(self) -> Iterator[tuple[Given, str, AttemptRecord | None]]:
        """Yield each proposal with its state: `passed`, `failed` or `not_judged`."""
        records = self.summary.attempt_records
        for number, given in enumerate(self.given):
            record = records[number] if number < len(records) else None
            failed = record is not None and record.failure_brief is not None
            yield given, "failed" if failed else "passed" if record else "not_judged", record

    def document(self) -> dict[str, Any]:
        """Return the document of `accept --json`."""
        summary = public_json(self.summary)
        return {
            **{key: summary[key] for key in _SHARED_KEYS},
            "accepted": self.passed and self.landed,
            "checked_only": not self.landed,
            "proposals": [
                {
                    "from": each.by.name,
                    "sha256": each.by.sha256,
                    "state": state,
                    "files": list(record.touched_files) if record else [],
                    "dropped": list(each.by.dropped),
                    "failure": record.failure_brief.model_dump(mode="json")
                    if record and record.failure_brief
                    else None,
                }
                for each, state, record in self.rows()
            ],
        }


_SHARED_KEYS: Final = (
    *("verdict", "work_order", "branch", "commit", "parent"),
    *("verified_by", "failure", "warnings", "run_dir"),
)


def read_proposals(
    plan: PlanOnBranch,
    name: str,
    place: RepoPlace,
    given: Sequence[tuple[str, str]],
    *,
    allow_more: bool = False,
) -> tuple[Given, ...]:
    """Return what is proposed for an order: pairs of `commit`, `diff` or `dir`, and its name.

    A proposal with the files of one before it is refused. Raises `InvalidInput` if the order has
    landed, or if something that is named is not there.
    """
    if made := plan.landed(place.git, place.common_dir).get(name):
        raise InvalidInput(
            f"{name} has landed as {made[:12]} on {plan.branch}", "nothing is left to accept"
        )
    reader = Proposals(
        place.git, plan.named(name).order, refs.tip_to_follow(place.git, plan.branch), allow_more
    )
    read: dict[str, Callable[[str], Given]] = {
        "commit": reader.of_commit,
        "diff": reader.of_patch,
        "dir": reader.of_folder,
    }
    found: list[Given] = []
    for kind, word in given:
        each = read[kind](word)
        same = next((other for other in found if _same(other, each)), None)
        if same is not None:
            each = replace(
                each, reply="", problem=f"{each.by.name} has the files of {same.by.name}"
            )
        found.append(each)
    return tuple(found)


def _same(one: Given, other: Given) -> bool:
    return bool(other.reply) and _writes(one) == _writes(other)


def _writes(given: Given) -> object:
    return json.loads(given.reply)["writes"] if given.reply else None


def is_on_branch(plan: PlanOnBranch, place: RepoPlace, given: str) -> bool:
    """Return whether `given` names a commit that is in the history of the plan's branch."""
    commit, tip = refs.commit_of(place.git, given), refs.tip_to_follow(place.git, plan.branch)
    return bool(commit) and commits.is_ancestor(place.git, commit, tip)


def land_proposals(
    plan: PlanOnBranch,
    name: str,
    given: tuple[Given, ...],
    place: RepoPlace,
    options: RunOptions,
    emit: Emit,
) -> JudgedProposals:
    """Judge the proposals one after the other on the branch's tip, and land the first that passes.

    The order is made as `retry_order` makes it. Raises as that does.
    """
    options = _with(options, given)
    _name_dropped(given, emit)
    summary = retry_order(plan, name, None, place, options, NOBODY, emit)
    return JudgedProposals(given, summary, landed=True)


def check_proposals(
    plan: PlanOnBranch,
    name: str,
    given: tuple[Given, ...],
    place: RepoPlace,
    options: RunOptions,
    emit: Emit,
) -> JudgedProposals:
    """Judge the proposals as `land_proposals` does, but beside the runs, and land none.

    Neither branch nor the state of the repo's runs changes, and no lock is taken. Raises
    `PreflightRefused` if the branch's tip fails its verification, and `SandboxUnavailable`.
    """
    refuse_symbolic(place.common_dir, refs.OWN_REFS)
    options, tip = _with(options, given), refs.tip_to_follow(place.git, plan.branch)
    _name_dropped(given, emit)
    folder = new_run_folder(options.settings.artifacts_dir, "factory", new_run_id())
    with contextlib.ExitStack() as opened:
        recording = opened.enter_context(recorded_run(folder, head_of(plan, name, options), emit))
        emit = recording.emit
        repo, pool = opened.enter_context(open_pool_beside_runs(tip, place, options, emit))
        tools = opened.enter_context(
            contextlib.closing(warm_tools(options.settings.sandbox, place.tree))
        )
        make_folder(folder.path / "llmch")
        journal = opened.enter_context(open_journal(folder.path))
        model = Model(PerformingClient(Nobody()), Meter(), "")
        known = KnownCommits()
        task = task_on(plan, name, tip, place, options, folder.path)
        Baseline(options, repo, pool, folder.path / "base", known, emit).verify(tip, task.exemption)
        run = Run(options, repo, journal, model, folder, pool, tools, known, emit)
        result = Execution(run).make(task)
        about = Circumstances(
            *(name, folder.run_id, folder.path, plan.branch, tip, ()),
            flags=result.flags,
            verified_by=result.verified_by,
        )
        summary = summarise_order(result.verdict, about, result.records, Tally())
        judged = JudgedProposals(given, summary, landed=False)
        recording.results["summary"] = judged.document()
    return judged


def _with(options: RunOptions, given: tuple[Given, ...]) -> RunOptions:
    settings = replace(options.settings, factory_attempts=len(given))
    return replace(options, settings=settings, given=given, allow_dirty=True, allow_changed=True)


def _name_dropped(given: Sequence[Given], emit: Emit) -> None:
    for each in given:
        if each.by.dropped:
            emit(Warned(f"{each.by.name}: left out is {name_paths(each.by.dropped)}"))
