"""Does what all verbs that run orders share: options, consent, the run, its reports."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from factory import preflight, run_flags
from factory.batch import decide
from factory.fleet import submission
from factory.orders import documents
from factory.orders.stages import Stage
from factory.orders.task import RunOptions
from factory.record import landed, run_status
from factory.record.runs_on_record import read_run_document
from factory.run import run_order
from factory.run.run_order import BaseTrial
from factory.sandbox.policy import Backend
from factory.workbench.dependencies import HELPS, remember
from llmch.ci import pull_requests, run_reports
from llmch.console import Console
from llmch.console.console import agrees, someone_is_there
from llmch.console.document import Outcome
from llmch.console.line import count
from llmch.entry import command_line, wiring
from llmch.entry.answers import BatchDocument, OrderDocument
from llmch.previews import plan_preview, preview_document
from shared.errors import (
    EnvironmentFault,
    ExitCode,
    InterruptedRun,
    InvalidInput,
    LlmchError,
    PreflightRefused,
    SandboxUnavailable,
)
from shared.events.events import Event, Noted, Warned
from shared.work_order.plan_folder import MANIFEST_NAME

if TYPE_CHECKING:
    from factory.fleet.leases import Link
    from factory.orders.documents import BatchSummary, RunSummary
    from factory.orders.read_orders import LoadedOrder
    from llmch.ci.pull_requests import PullRequestAnswer
    from llmch.ci.run_reports import Reports
    from llmch.previews.plan_preview import PlanPreview
    from shared.git.client import Git
    from shared.llm.stack import ModelSource
    from shared.settings.settings import Settings


def add_running_arguments(parser: argparse.ArgumentParser, *, pull_request: bool = True) -> None:
    """Add the flags of all verbs that run orders; `--pr` is not for each of them."""
    run_flags.add_run_arguments(parser)
    command_line.add_record_arguments(parser)
    command_line.add_model_arguments(parser)
    group = run_reports.add_report_arguments(parser)
    if pull_request:
        pull_requests.add_pull_request_argument(group)


def options_and_source(
    args: argparse.Namespace, console: Console, read_orders: Callable[[], Sequence[LoadedOrder]]
) -> tuple[RunOptions, ModelSource]:
    """Return the options for running orders, and the source of the model's replies.

    Where the model's key is missing and `read_orders` fails too, the error of `read_orders` is
    raised: a key would not help. No key is needed for orders that have landed or only remove files.
    """
    settings = wiring.settings_for(args, console, repo=args.repo)
    options = pull_requests.pushing(run_flags.run_options(args, settings), args)
    source = wiring.source_if_any(args, settings)
    if source.missing is not None:
        check_key(source, read_orders, preflight.find_repo(args.repo).git, options.branch)
    return options, source


def check_key(
    source: ModelSource,
    read_orders: Callable[[], Sequence[LoadedOrder]],
    git: Git,
    branch: str | None,
) -> None:
    """Raise the error of a missing key, unless all orders that ask a model have landed."""
    if source.missing is None:
        return
    orders = read_orders()
    asking = {each.order.id for each in orders if each.order.asks_model}
    if not orders or (asking and not asking <= landed.landed_on(git, orders, branch).keys()):
        raise source.missing


def latest_plan(repo: Path, artifacts: Path) -> Path:
    """Return the folder of the repo's latest plan.

    That is the plan of the latest run, or one that was made since. Raises `InvalidInput` where
    there is neither.
    """
    place = preflight.find_repo(repo)
    status = run_status.read_status(place.common_dir)
    at_hand = decide.plan_at_hand(place.common_dir)
    made = sorted((artifacts / "planner").glob("*/"), reverse=True)
    since = [each for each in made if status is None or each.name > status.run_id]
    folder = next(filter(None, (_plan_of(each, place.tree) for each in since)), None)
    if folder is None and at_hand is not None:
        folder = at_hand.folder
    if folder is None:
        raise InvalidInput(
            "no run of this repo says which plan is meant, and none was made for it",
            f"name the plan's folder; plans are looked for in {artifacts / 'planner'}",
        )
    return folder


def _plan_of(records: Path, tree: Path) -> Path | None:
    """Return the folder of the plan that a run of the planner made for a repo; else `None`."""
    head = read_run_document(records)
    if head.command != "plan" or head.repo is None or not head.repo.is_relative_to(tree.resolve()):
        return None
    copy = head.outdir if head.outdir is not None and head.outdir.is_absolute() else None
    folders = filter(None, (copy, records / "output"))
    return next((each for each in folders if (each / MANIFEST_NAME).is_file()), None)


def run_reported(
    run: Callable[[RunOptions], RunSummary | BatchSummary],
    options: RunOptions,
    reports: Reports,
    console: Console,
) -> Outcome:
    """Run an order or a plan as `run_with_consent`, and report the run."""
    with run_reports.reporting(options, reports, console):
        return run_with_consent(run, options, reports, console)


def run_with_consent(
    run: Callable[[RunOptions], documents.RunSummary | BatchSummary],
    options: RunOptions,
    reports: Reports,
    console: Console,
) -> Outcome:
    """Run an order or a plan, and ask for its pull request.

    The exit code is 0 if all orders landed, else 1, or 5 for the environment.
    """
    summary = with_consent(run, options, console)
    request = _pull_request(summary, options, reports, console)
    if isinstance(summary, documents.RunSummary):
        return Outcome(OrderDocument(summary, request), exit_code_of(summary))
    return Outcome(BatchDocument(summary, request), exit_code_of(*summary.orders))


def _pull_request(
    summary: RunSummary | BatchSummary, options: RunOptions, reports: Reports, console: Console
) -> PullRequestAnswer | None:
    """Ask for the pull request where the command line does; return what came of it."""
    if not reports.pull_request:
        return None
    return pull_requests.request_pull(summary, options, console, reports.closes)


def exit_code_of(*orders: RunSummary) -> ExitCode:
    """Return the exit code of a command that ran these orders."""
    if any(each.failure and each.failure.stage == Stage.ENVIRONMENT for each in orders):
        return ExitCode.PREFLIGHT
    return ExitCode.OK if all(each.verdict == "PASS" for each in orders) else ExitCode.FAILED


T = TypeVar("T")


def with_consent(run: Callable[[RunOptions], T], options: RunOptions, console: Console) -> T:
    """Return the result of `run`; ask a person before it is tried again where a yes would help.

    Where no sandbox works, the question is whether to run without one, and only for the backend
    `auto`: a backend that the user named is never given up. Where the base is red without declared
    packages, it is whether to prepare them, now and in later runs on the repo. Raises what `run`
    raised if the answer is negative or nobody is there to answer.
    """
    while True:
        try:
            return run(options)
        except SandboxUnavailable as refused:
            if options.settings.sandbox.backend is not Backend.AUTO or not _asked(refused, _BARE):
                raise
            console(Warned("no sandbox: commands run with your own rights, as you agreed"))
            bare = replace(options.settings.sandbox, backend=Backend.OFF)
            options = replace(options, settings=replace(options.settings, sandbox=bare))
        except PreflightRefused as refused:
            if options.install_dependencies or HELPS not in (refused.hint or ""):
                raise
            if not _asked(refused, _PREPARE):
                raise
            remember(options.repo)
            options = replace(options, install_dependencies=True)


_BARE = "Commands that a model wrote would run with your own rights. Go on this once?"
_PREPARE = "Install them outside of the repo, now and for later runs on it (--deps auto)?"


def _asked(refused: LlmchError, question: str) -> bool:
    words = f"{refused.message}\n{refused.hint}\n{question}"
    return someone_is_there() and agrees(words)


def tried_base(
    args: argparse.Namespace, console: Console, repo: Path, settings: Settings
) -> BaseTrial | None:
    """Return what the verification of HEAD comes to; `None` if the person does not want to know."""
    question = "Run the verification once now, as run-all would before it begins?"
    if args.base is False or not (args.base or (someone_is_there() and agrees(question))):
        return None
    options = run_flags.trial_options(args, repo, settings)

    def attempt(each: RunOptions) -> BaseTrial:
        return run_order.try_base(each, console)

    try:
        return with_consent(attempt, options, console)
    except (PreflightRefused, EnvironmentFault, InvalidInput) as error:
        return BaseTrial(ok=False, detail=error.message, remedy=error.hint or "")


def check_first(options: RunOptions, console: Console, *, verify: bool) -> RunOptions:
    """Raise the refusals that the orders of a plan would meet, before planning is paid for.

    Return the options to run the orders with: the user may have agreed to do without a sandbox.
    What is noted or warned of here is not shown again when the orders run.
    """
    said: list[str] = []

    def tell(event: Event) -> None:
        if isinstance(event, Noted | Warned):
            said.append(event.message)
        console(event)

    def check(each: RunOptions) -> RunOptions:
        run_order.check_before_plan(each, tell, verify=verify)
        return each

    agreed = with_consent(check, options, console)
    console.pass_over(said)
    return agreed


def agreed_to_execute(
    read: Callable[[], PlanPreview],
    common_dir: Path,
    console: Console,
    *,
    is_new: bool,
    may_ask: bool,
) -> bool:
    """Show a plan that `is_new` or asked about, and return whether its orders may be executed.

    The question is asked where the orders are still to be paid for: no question comes where
    none is left, or where the plan has begun, because then a person agreed already. Without
    `may_ask`, or where nobody is at the terminal, nobody is asked and the answer is yes. `read`
    is called only where the plan is looked at. `common_dir` is the git folder of the repo.
    """
    may_ask = may_ask and someone_is_there()
    if not (is_new or may_ask):
        return True
    preview = read()
    left = preview.count(plan_preview.OrderStand.TO_DO)
    asks = may_ask and left > 0 and (is_new or not has_begun(preview, common_dir))
    if is_new or asks:
        console.say(*preview_document.short_form(preview))
    if not asks:
        return True
    what = f"these {count(left, 'order')}" if left > 1 else "this order"
    return agrees(f"Execute {what}?")


def has_begun(preview: PlanPreview, common_dir: Path) -> bool:
    """Say whether an order is on the branch, or the latest run of the repo executed this plan."""
    # The orders that a plan has from the one before may have landed without anybody's consent to
    # the new ones.
    if not preview.ground.follows and any(e.standing.stand.on_branch for e in preview.orders):
        return True
    with contextlib.suppress(LlmchError):  # a run that follows reports it
        status = run_status.read_status(common_dir)
        orders = {each.id: each.title for each in preview.orders}
        return (
            status is not None
            and status.branch == preview.ground.branch
            and {name: each.title for name, each in status.orders.items()} == orders
        )
    return False


def await_plan(
    link: Link, plan: str, settings: Settings, reports: Reports, console: Console
) -> Outcome:
    """Return how a submitted plan ended, as `run-all` would; its records are here then.

    They are reported as `reports` asks. Raises the error that ended the run. Whoever stops to wait
    does not stop the plan.
    """
    try:
        summary = submission.Awaited(link, plan, console).summary(settings.artifacts_dir.absolute())
    except KeyboardInterrupt as interrupt:
        hint = f"the plan goes on: `llmch fleet wait {plan}` waits for it again"
        raise InterruptedRun(hint) from interrupt
    run_reports.report_records(reports, Path(summary.run_dir), settings.artifacts_dir, console)
    return Outcome(BatchDocument(summary), exit_code_of(*summary.orders))
