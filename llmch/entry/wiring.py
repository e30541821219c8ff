"""Loads a verb's settings, opens the source of its model's replies, and finds what a plan
follows.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from factory import preflight, run_flags
from factory.batch import decide
from factory.fleet import submission
from factory.orders import read_orders, stages
from factory.record import journal
from factory.record import landed as landings
from factory.run import reproduce
from factory.workbench import dependencies, judging_tools
from planner import plan_flags
from planner.compile import dry_run as plan_trial
from planner.compile import inputs
from planner.plan import parse_plan
from planner.plan.file_projection import TargetRepo
from planner.replan import predecessor
from planner.repo import machine, planned_repo
from planner.rules import judge_plan
from planner.rules.rule_model import Finding
from shared.errors import InvalidInput, ModelUnavailable, PreflightRefused
from shared.events.events import Emit, Warned
from shared.git import client, refs, repos
from shared.languages import language_tools
from shared.llm import live_client
from shared.llm.budget import Budget, ModelTables, SharedBudget
from shared.llm.call_retry import Pace
from shared.llm.model_access import ModelAccess, check_access
from shared.llm.model_client import ByRoleClient, Completion, LlmClient, Request, Role
from shared.llm.stack import Mode, ModelSource
from shared.llm.transcript import Transcript, check_can_record
from shared.settings.loading import flags_given, load_settings
from shared.settings.settings import RoleSettings, SandboxBackend, Settings


def settings_for(
    args: argparse.Namespace,
    emit: Emit,
    *,
    repo: Path | None = None,
    spec: Path | None = None,
    fetched: bool = False,
) -> Settings:
    """Return the settings in force, and emit a warning for each one that was ignored or changed.

    `fetched` says that `repo` was fetched for its settings alone.
    Raises `InvalidInput`, which names the source, for a setting that cannot be used.
    """
    loaded = load_settings(
        cwd=Path.cwd(), repo=repo, spec=spec, fetched=fetched, flags=flags_given(args)
    )
    asks_models = hasattr(args, "max_cost")
    for warning in (*loaded.warnings, *(loaded.notices if asks_models else ())):
        emit(Warned(warning))
    return loaded.settings


@contextlib.contextmanager
def inputs_first(*readings: Callable[[], object]) -> Iterator[None]:
    """Report a fault in an input before a missing key: a key would not help against the fault.

    The inputs are read here only where the key is missing. Otherwise the run itself reads them.
    """
    try:
        yield
    except ModelUnavailable:
        for read in readings:
            read()
        raise


def model_source(args: argparse.Namespace, settings: Settings, role: RoleSettings) -> ModelSource:
    """Return the source of replies that `--llm` and `--transcript` choose.

    Raises `ModelUnavailable` if a live model has no key, and `InvalidInput` if a replay has no
    transcript or a live run cannot record where it is to, before anything else happens.
    """
    if args.llm == Mode.LIVE:
        if args.transcript is not None:
            check_can_record(args.transcript)
        return live_source(settings, role, args.transcript)
    if args.transcript is None:
        raise InvalidInput(
            "--llm replay needs a transcript to answer from", "name it with --transcript FILE"
        )
    if not args.transcript.is_file():
        raise InvalidInput(
            f"--transcript {args.transcript} is not a file", "name the record of an earlier run"
        )
    return ModelSource(Mode.REPLAY, transcript=args.transcript)


def source_if_any(args: argparse.Namespace, settings: Settings) -> ModelSource:
    """Return the factory's source; where the key is missing, one that raises what is `missing`.

    The caller raises it as soon as it knows that a model is needed.
    """
    try:
        return model_source(args, settings, settings.factory)
    except ModelUnavailable as unavailable:
        return _refusing(unavailable)


def _refusing(why: ModelUnavailable) -> ModelSource:
    def refuse(_: Emit) -> LlmClient:
        return _Refusing(why)

    return ModelSource(Mode.LIVE, refuse, missing=why)


@dataclass(frozen=True, slots=True)
class _Refusing:
    """Stand for a model that cannot be asked: a run that asks it all the same ends with `why`."""

    why: ModelUnavailable

    def complete(self, _request: Request) -> Completion:
        raise self.why


def reviews_plan(args: argparse.Namespace) -> bool:
    """Return whether a valid plan is to be reviewed.

    `--review` and `--no-review` decide. Without either, a plan is reviewed where that is
    possible: always with a live model, and in a replay where the transcript holds a review.
    """
    if args.review is not None:
        return bool(args.review)
    if args.llm == Mode.LIVE:
        return True
    return args.transcript is not None and _holds_review(args.transcript)


def _holds_review(path: Path) -> bool:
    if not path.is_file():
        return False  # `model_source` reports that the file is missing
    with Transcript.read(path) as transcript:
        return Role.REVIEWER in transcript.roles


def planning_source(args: argparse.Namespace, settings: Settings, *, review: bool) -> ModelSource:
    """Return the source of the planner's and the reviewer's replies; see `model_source`.

    The reviewer is asked at a server of its own where one is configured.
    """
    source, reviewer = model_source(args, settings, settings.planner), settings.reviewer
    if not review or source.open_live is None or _access(reviewer) == _access(settings.planner):
        return source
    reviewing = live_source(settings, reviewer)
    source = also_for(source, Role.REVIEWER, reviewing)
    return replace(source, reviewer_base_url=reviewing.base_url)


def also_for(source: ModelSource, role: Role, other: ModelSource) -> ModelSource:
    """Return a live source that asks for a role where `other` does."""
    open_default, open_other = source.open_live, other.open_live
    assert open_default is not None and open_other is not None, "a live source can be opened"

    def open_both(emit: Emit) -> LlmClient:
        return ByRoleClient(open_default(emit), {role: open_other(emit)})

    return replace(source, open_live=open_both)


def sources_of_both(
    args: argparse.Namespace, settings: Settings, *, review: bool
) -> tuple[ModelSource, ModelSource]:
    """Return the sources of a command that plans and then executes; they share one budget.

    A missing key of either is `missing` in both, as in `source_if_any`.
    """
    try:
        planner = planning_source(args, settings, review=review)
        factory = model_source(args, settings, settings.factory)
    except ModelUnavailable as unavailable:
        planner = factory = _refusing(unavailable)
    purse = SharedBudget(planner.budget)
    return replace(planner, purse=purse), replace(factory, purse=purse)


def live_source(
    settings: Settings,
    role: RoleSettings,
    transcript: Path | None = None,
    pace_at: Callable[[str], Pace] | None = None,
) -> ModelSource:
    """Return a source that asks a model. Raises `ModelUnavailable` if the key is missing.

    `pace_at` gives the pace that others share who ask the server at a URL; without it, only the
    calls of one client share theirs.
    """
    access, *others = accesses = [_access(role, model) for model in role.models]

    def open_one(access: ModelAccess, emit: Emit) -> LlmClient:
        pace = pace_at(access.display_url) if pace_at else None
        return live_client.LiveClient(access, emit, pace=pace)

    def open_live(emit: Emit) -> LlmClient:
        default = open_one(access, emit)
        elsewhere = {each: open_one(each, emit) for each in others if each != access}
        models = dict(zip(role.models, accesses, strict=True))
        of_models = {name: elsewhere[each] for name, each in models.items() if each in elsewhere}
        return ByRoleClient(default, {}, of_models) if of_models else default

    return ModelSource(
        Mode.LIVE,
        open_live,
        transcript,
        base_url=access.display_url,
        budget=Budget(settings.max_tokens, settings.max_cost),
        tables=ModelTables(settings.prices, settings.windows),
    )


def _access(role: RoleSettings, model: str | None = None) -> ModelAccess:
    return check_access(
        os.environ, role.base_url, model or role.model, role.provider, role.key_variable
    )


def tool_runner(settings: Settings, repo: Path | None) -> language_tools.ToolRunner:
    """Return what runs the compilers that judge a plan, in the sandbox of the settings.

    Nothing is opened before the first question. `repo` is the checkout, from which no tool is
    taken.
    """
    return judging_tools.SandboxRunner(settings.sandbox, repo)


def trial_runner(
    settings: Settings, options: inputs.PlanOptions
) -> language_tools.ToolRunner | machine.OwnQuestions:
    """Return what tries the commands of a plan where a run would execute them.

    Nothing is opened before the first command. Without a sandbox nothing is tried, since nobody has
    read the plan yet, and versions are asked in an empty folder.
    """
    trial = _trial_runner(settings, options.repo, options.branch, options.start)
    if trial is not None:
        return trial
    python = None
    with contextlib.suppress(InvalidInput):  # the run says it
        python = dependencies.choose_python(settings.python, options.repo).python
    runner = judging_tools.SandboxRunner(settings.sandbox, options.repo, python)
    return machine.OwnQuestions(runner)


def _trial_runner(
    settings: Settings, repo: Path | None, branch: str | None, start: str | None
) -> language_tools.ToolRunner | None:
    if settings.sandbox.backend is SandboxBackend.OFF:
        return None
    return reproduce.DryRunner(settings, repo, branch, start)


@dataclass(frozen=True, slots=True)
class Submission:
    """Say where a plan lands, and the settings of the person and the repo together."""

    target: submission.Target
    settings: Settings


def target_of(args: argparse.Namespace, emit: Emit) -> Submission:
    """Return where `--repo` and `--base` say that a plan lands.

    A clone means its remote, at the commit that is checked out. Raises `InvalidInput`,
    `PreflightRefused` if the remote does not have that commit, and `CommandFailed` if the
    remote does not answer.
    """
    folder = args.repo
    if not folder.is_dir():
        return _of_url(args, args.repo_typed, emit)
    if repos.is_bare(client.Git(folder)):
        return _of_url(args, str(folder.resolve()), emit)
    return _of_clone(args, preflight.find_repo(folder).tree, emit)


def _of_url(args: argparse.Namespace, url: str, emit: Emit) -> Submission:
    with tempfile.TemporaryDirectory(prefix="llmch-") as folder:
        project = Path(folder).resolve()
        target = submission.find_target(client.Git(project), url, args.base or "")
        base = submission.fetch_project(target, project)
        settings = settings_for(args, emit, repo=project, fetched=True)
    return Submission(replace(target, base=base), settings)


def _of_clone(args: argparse.Namespace, tree: Path, emit: Emit) -> Submission:
    settings = settings_for(args, emit, repo=tree)
    git, name = client.Git(tree), settings.fleet.remote
    remote = refs.url_of(git, name)
    if not remote:
        raise InvalidInput(
            f"{tree} has no remote {name!r}, which the fleet needs",
            "add one that all workers reach, or name it in the setting `fleet.remote`",
        )
    preflight.name_what_is_set_aside(git, emit)
    here = repos.changes(git)
    target = submission.find_target(git, refs.absolute(remote, tree), args.base or here.branch)
    if not args.base and here.head != target.base:
        raise PreflightRefused(
            f"{here.branch} is at {here.head[:12]} here, and at {target.base[:12]} on {remote}",
            f"push it, or name a branch of the remote with --base {here.branch}",
        )
    return Submission(target, settings)


def following(
    options: inputs.PlanOptions, folder: Path, place: preflight.RepoPlace | None
) -> inputs.PlanOptions:
    """Return the options for a plan that follows the one in `folder`.

    The orders that the branch has are history, and the new plan begins with the branch's files.
    Without a branch in the options it is the one that `run-all` would choose for the plan. Without
    a `place` nothing has landed. Raises `InvalidInput` if the folder has no plan.
    """
    # It says what is wrong with a plan in a planner's words.
    before = predecessor.read_predecessor(folder, ())
    if place is None:
        return replace(options, follows=before)
    orders = read_orders.read_workdir(folder)
    own = landings.plan_branch(place.git, orders)
    # Where nothing was executed yet, the plan begins where the first one did.
    branch = options.branch or (own if refs.tip_of_branch(place.git, own) else None)
    plan = decide.PlanOnBranch(folder, orders, branch or own)
    landed = plan.landed(place.git, place.common_dir)
    reasons = journal.left_out(plan.decisions(place.common_dir))
    impossible, weak = (
        plan.due_again(place.common_dir, each)
        for each in (stages.Stage.IMPOSSIBLE, stages.Stage.WEAK_TESTS)
    )
    before = predecessor.read_predecessor(folder, landed, reasons, impossible, weak)
    return replace(options, follows=before, branch=branch)


def tree_of(
    args: argparse.Namespace, repo: Path | None, settings: Settings, emit: Emit
) -> planned_repo.RepoTree:
    """Return the files that a plan is judged for; without a repo there are none."""
    if repo is None:
        return planned_repo.NO_TREE
    return planned_repo.open_tree(repo, args.branch, settings.verify, emit)


@contextlib.contextmanager
def judging(
    args: argparse.Namespace, repo: Path | None, settings: Settings, tree: planned_repo.RepoTree
) -> Iterator[Callable[[parse_plan.Plan], judge_plan.Report]]:
    """Give what judges the plan in the folder `args.dir` by all rules, for the files of `tree`."""
    history = _history_on(args.dir, repo, args.branch)
    with language_tools.Tools(tool_runner(settings, repo)) as tools:
        yield partial(
            judge_plan.judge,
            repo_files=tree.files.paths,
            sources=tree.files,
            allowed=plan_flags.allowed_by(settings),
            verification=tree.verification,
            tools=tools,
            history=history,
        )


def tried(
    args: argparse.Namespace,
    repo: Path | None,
    settings: Settings,
    tree: planned_repo.RepoTree,
    emit: Emit,
    plan: parse_plan.Plan,
) -> tuple[Finding, ...]:
    """Return what of the plan in the folder `args.dir` cannot run here, on the files of `tree`.

    Raises `InvalidInput` where the settings have no sandbox.
    """
    runner = _trial_runner(settings, repo, args.branch, None)
    if runner is None:
        raise InvalidInput(
            "--dry-run runs commands of a plan that nobody has to have read, and there is no "
            "sandbox",
            "leave out --dry-run, or set `sandbox.backend` to another value than off",
        )
    allowed = plan_flags.allowed_by(settings, installs=run_flags.installs(args, repo))
    target = TargetRepo(frozenset(tree.files.paths), tree.files, allowed)
    history = _history_on(args.dir, repo, args.branch)
    with contextlib.closing(runner):
        trial = plan_trial.DryRun(machine.Machine(runner), target, emit)
        return tuple(trial.findings(parse_plan.with_history(plan, history), None))


def _history_on(folder: Path, repo: Path | None, branch: str | None) -> frozenset[str]:
    """Return the ids of the orders of the plan in `folder` that a branch of `repo` has.

    They are history to the rules, which read the branch's files then. Without a repo or a branch
    there are none, and none of a plan that cannot be executed.
    """
    if repo is None or branch is None:
        return frozenset()
    try:
        orders = read_orders.read_workdir(folder)
    except InvalidInput:
        return frozenset()  # the rules say what is wrong with the plan
    place = preflight.find_repo(repo)
    return frozenset(
        decide.PlanOnBranch(folder, orders, branch).landed(place.git, place.common_dir)
    )
