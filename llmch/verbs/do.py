"""Implements `llmch do`: plans one change and executes its order.

Called again, it goes on where it stopped. The record is that of a plan and a run.
"""

from __future__ import annotations

import argparse
import contextlib
import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from factory import preflight
from factory.orders import read_orders
from factory.record import landed
from factory.run import run_order
from factory.run_flags import installs, run_options
from llmch.ci.pull_requests import pushing
from llmch.ci.run_reports import reporting, reports_asked
from llmch.console import Console
from llmch.console.console import someone_is_there
from llmch.console.document import Outcome
from llmch.entry import run_orders, wiring
from llmch.entry.answers import PlanDocument
from llmch.previews import plan_overlaps, preview_document
from planner import known_plans
from planner.compile.inputs import PlanOptions
from planner.plan.parse_plan import parse_plan
from planner.plan.plan_edits import Change, new_test_for, plan_of_change
from planner.plan_flags import add_planner_flags, allowed_by, planning_model
from planner.rules import judge_plan
from shared.errors import ExitCode, InterruptedRun, InvalidInput
from shared.files.atomic_io import make_folder, write_text
from shared.files.paths import PathProblem, check_path
from shared.files.secret_values import redact, secret_values
from shared.git import refs, trees
from shared.languages.acceptance_commands import analyse_command
from shared.llm import stack
from shared.llm.model_access import is_small
from shared.work_order.parse_order import sha256_bytes
from shared.work_order.plan_folder import order_file_name
from shared.work_order.work_order import check_acceptance_path, order_id

if TYPE_CHECKING:
    from factory.orders.task import RunOptions
    from factory.preflight import RepoPlace
    from shared.settings.settings import Settings

_MAX_CHANGE: Final = 8_000  # characters, as a long issue has; both prompts contain the text


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("change", metavar="TEXT", help="what to change, in a sentence or two")
    parser.add_argument(
        "files", nargs="*", default=[], metavar="FILE",
        help="files that matter: they are shown to the model",
    )  # fmt: skip
    parser.add_argument(
        "--test", action="append", default=[], metavar="CMD",
        help="a command that tests the change, instead of a test that the model writes",
    )  # fmt: skip
    parser.add_argument("--yes", action="store_true", help="execute the order without asking")
    parser.add_argument(
        "--anew", action="store_true", help="plan the change again, also where it has landed"
    )
    add_planner_flags(parser)
    run_orders.add_running_arguments(parser)


@dataclass(frozen=True, slots=True)
class _Ground:
    """Hold what planning and executing have in common; the two sources share one budget."""

    settings: Settings
    place: RepoPlace
    planner: stack.ModelSource
    factory: stack.ModelSource
    options: RunOptions
    start: str
    """The commit that the change begins on: uncommitted changes are not part of it."""

    @property
    def is_live(self) -> bool:
        return self.factory.mode is stack.Mode.LIVE


def execute(args: argparse.Namespace, console: Console) -> Outcome:
    """Plan the change, unless its plan is on file, ask, and run its order."""
    reports = reports_asked(args)
    ground = _ground(args, console)
    change = _change(args, ground)
    ground = replace(ground, options=replace(ground.options, to_pass=change.tests))
    planning = _planning(args, ground, change)
    if change.new_test is not None:
        # Small models copy the code into the test, which then passes whatever is written.
        settings = replace(ground.options.settings, strict_acceptance=True)
        ground = replace(ground, options=replace(ground.options, settings=settings))
    is_asked_again = planning.spec.is_file() and not args.anew
    known = _known(planning, ground) if is_asked_again else None
    run_orders.check_key(
        ground.factory,
        lambda: read_orders.read_workdir(known) if known else (),
        *(ground.place.git, ground.options.branch),
    )
    with reporting(ground.options, reports, console):
        is_paid = ground.is_live and known is None
        options = run_orders.check_first(ground.options, console, verify=is_paid)
        if known is not None:
            return _run_order(known, options, args, ground, console, is_new=False)
        make_folder(planning.spec.parent)
        write_text(planning.spec, change.render())
        _forget_old_texts(planning.spec.parent)
        runner = wiring.tool_runner(ground.settings, args.repo)
        made = known_plans.plan_anew(
            *(planning, ground.place.common_dir, ground.planner, console, runner),
            wiring.trial_runner(ground.settings, planning),
        )
        if made.error is not None:
            raise made.error
        if made.output_dir is None:
            return Outcome(PlanDocument(made), ExitCode.INVALID)
        return _run_order(made.output_dir, options, args, ground, console, is_new=True)


def _run_order(
    folder: Path,
    options: RunOptions,
    args: argparse.Namespace,
    ground: _Ground,
    console: Console,
    *,
    is_new: bool,
) -> Outcome:
    """Run the order of the plan in `folder`, if whoever is at the terminal agrees."""
    plan_overlaps.warn_before_run(folder, options, console)
    try:
        if not run_orders.agreed_to_execute(
            lambda: preview_document.read_preview(folder, args.repo, args.branch, ground.settings),
            *(ground.place.common_dir, console),
            is_new=is_new,
            may_ask=ground.is_live and not args.yes,
        ):
            return Outcome(preview_document.KeptPlanDocument(folder), ExitCode.FAILED)
        return run_orders.run_with_consent(
            lambda each: run_order.run_order(
                folder / order_file_name(order_id(1)), each, ground.factory, console
            ),
            *(options, reports_asked(args), console),
        )
    except InterruptedRun:
        raise
    except KeyboardInterrupt as interrupt:  # before the run of the order had begun
        raise InterruptedRun(
            "the order is kept: the same command again begins with it"
        ) from interrupt


def _ground(args: argparse.Namespace, console: Console) -> _Ground:
    settings = wiring.settings_for(args, console, repo=args.repo)
    if args.llm == stack.Mode.LIVE and not (args.yes or someone_is_there()):
        raise InvalidInput(
            "nobody is at a terminal to say yes to the order",
            "--yes executes it without asking; nothing was paid",
        )
    sources = wiring.sources_of_both(args, settings, review=False)
    place = preflight.find_repo(args.repo, allow_repo_filters=args.allow_repo_filters)
    options = replace(pushing(run_options(args, settings), args), allow_dirty=True)
    on_branch = options.branch and refs.tip_of_branch(place.git, options.branch)
    start = on_branch or refs.commit_of(place.git, options.start or "HEAD")
    return _Ground(settings, place, *sources, options, start)


def _planning(args: argparse.Namespace, ground: _Ground, change: Change) -> PlanOptions:
    """Return the options to plan with; the words of the change belong beside the repo's runs."""
    name = f"{sha256_bytes(change.render().encode())[:16]}.md"
    spec = ground.place.common_dir / "llmch" / "asked" / name
    settings = ground.settings
    return PlanOptions(
        spec=spec,
        artifacts=settings.artifacts_dir,
        model=planning_model(settings.planner),
        max_attempts=settings.planner_attempts,
        repo=args.repo,
        branch=None,
        start=ground.start or None,
        verify=settings.verify,
        allowed=allowed_by(settings, installs=installs(args, args.repo)),
        change=change,
        anew=args.anew,
    )


_KEPT_TEXTS: Final = 200


def _forget_old_texts(folder: Path) -> None:
    """Remove the texts of all changes but the latest ones.

    Nothing but the same words again needs a text, and then the change is planned anew.
    """
    with contextlib.suppress(OSError):  # another process removes the same texts
        newest_first = sorted(folder.iterdir(), key=lambda each: -each.stat().st_mtime_ns)
        for each in newest_first[_KEPT_TEXTS:]:
            each.unlink()


def _change(args: argparse.Namespace, ground: _Ground) -> Change:
    """Return what is asked for. Raises `InvalidInput` for a text or a file that cannot serve."""
    text = redact(args.change.encode("utf-8", "replace").decode(), secret_values(os.environ))
    text = text.strip()
    if not text or len(text) > _MAX_CHANGE:
        raise InvalidInput(
            "the change is not described"
            if not text
            else f"the change has {len(text):,} characters, at most {_MAX_CHANGE:,} may be",
            "describe one change in a sentence or two; `llmch plan` takes a specification",
        )
    there = (
        frozenset(trees.files_of(ground.place.git, ground.start)) if ground.start else frozenset()
    )
    change = Change(text, tuple(_files(args.files, ground, there)), tuple(args.test))
    if change.sources and is_small(ground.settings.planner.model):
        first = change.sources[0]
        data = trees.content_of(ground.place.git, ground.start, first) if first in there else b""
        source = (data or b"").decode("utf-8", "replace")
        new_test = None if change.tests else new_test_for(first, source, text, there)
        change = replace(change, is_for_small=True, new_test=new_test)
    if change.tests:
        _refuse_tests(change, ground, there)
    return change


# No model could answer these: the commands are the person's.
_OF_A_COMMAND: Final = ("E003", "E006", "E007", "E105")


def _refuse_tests(change: Change, ground: _Ground, there: Collection[str]) -> None:
    """Raise `InvalidInput` for a test that no change can pass, before a model is asked."""
    order = parse_plan({"title": "A change", "allowed_files": ["a-change"]})
    plan = plan_of_change(order, change, there, change.tests)
    for finding in judge_plan.judge(plan, there).errors:
        if finding.code in _OF_A_COMMAND:
            remedy = judge_plan.RULE_BY_CODE[finding.code].remedy
            raise InvalidInput(f"--test: {finding.message} ({finding.code})", remedy)
    uncommitted = {*trees.files_not_ignored(ground.place.git)}.difference(there)
    words = (
        word.partition("::")[0] for each in change.tests for word in analyse_command(each).argv
    )
    for missing in uncommitted.intersection(words):
        raise _not_committed(missing)


def _not_committed(path: str) -> InvalidInput:
    return InvalidInput(
        f"{path} is not in the commit that the change begins on", "commit the file, or leave it out"
    )


def _files(named: Sequence[str], ground: _Ground, there: Collection[str]) -> list[str]:
    """Return the paths in the repo of files that a person named from where they are, or in it."""
    root = ground.place.tree.resolve()
    found: list[str] = []
    for each in named:
        whole = Path(each).resolve()
        whole = whole if whole.is_relative_to(root) else root / each
        try:
            path = check_acceptance_path(check_path(whole.relative_to(root).as_posix()))
        except (ValueError, PathProblem) as problem:
            raise InvalidInput(
                f"FILE {each!r} is not a path in {root}", "name files of the repo"
            ) from problem
        if path not in there and whole.is_dir():
            raise InvalidInput(f"FILE {each!r} is a directory", "name the files in it that matter")
        if path not in there and whole.exists():
            raise _not_committed(path)
        found.append(path)
    return [*dict.fromkeys(found)]


def _known(planning: PlanOptions, ground: _Ground) -> Path | None:
    """Return the plan on file for the change; `None` if the files it was made for have changed."""
    folder = known_plans.known_plan(planning, ground.place.common_dir)
    if folder is None:
        return None
    with contextlib.suppress(InvalidInput):
        orders = read_orders.read_workdir(folder)
        git, plan = ground.place.git, orders[0].plan
        if landed.landed_on(git, orders, ground.options.branch):
            return folder
        base = {each.path: each.sha256 for each in plan.base_files} if plan else {}
        if trees.hashes_of_files(git, ground.start, [*base]) == base:
            return folder
    return None
