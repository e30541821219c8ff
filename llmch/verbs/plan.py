"""Implements `llmch plan`: compiles a specification into work orders."""

from __future__ import annotations

import argparse
import shlex
from dataclasses import replace

from factory import preflight
from factory.factory_checkups import warn_before_plan
from llmch.ci.finding_reports import annotate_spec
from llmch.console import Console
from llmch.console.document import Outcome, Paragraph
from llmch.console.line import this_program
from llmch.entry import command_line, questions, wiring
from llmch.entry.answers import PlanDocument
from llmch.previews import preview_document
from planner import run_plan
from planner.plan_flags import add_plan_arguments, plan_options
from planner.spec import read_spec
from shared.errors import ExitCode
from shared.llm.budget import SharedBudget


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_plan_arguments(parser)
    questions.add_arguments(parser)
    command_line.add_optional_repo(parser, "the repo that the plan is for")
    command_line.add_record_arguments(parser)
    command_line.add_model_arguments(parser)


def execute(args: argparse.Namespace, console: Console) -> Outcome:
    """Compile the spec. The exit code is 0 for a valid plan, and 2 if E-codes are left."""
    repo = command_line.repo_meant(args, console, "the plan is for an empty one")
    settings = wiring.settings_for(args, console, repo=repo, spec=args.spec)
    review = wiring.reviews_plan(args)
    with wiring.inputs_first(lambda: read_spec.read_spec(args.spec)):
        source = wiring.planning_source(args, settings, review=review)
    if repo is not None:
        warn_before_plan(repo, settings, console, branch=args.branch)
    options = questions.asking(plan_options(args, settings, repo, review=review), args, console)
    if args.follows is not None:
        options = wiring.following(
            options, args.follows, preflight.find_repo(repo) if repo else None
        )
    runner, trial = wiring.tool_runner(settings, repo), wiring.trial_runner(settings, options)
    source = replace(source, purse=SharedBudget(source.budget))
    result = run_plan.run_plan(options, source, console, runner, trial)
    asks = result.ok and questions.may_ask(args)
    if asks and questions.changed_by_answers(args.spec, result.assumptions, console):
        # The plan is the run's own: the one in `--outdir` is about to be replaced.
        own = result.run_dir / "output"
        before = own if own.is_dir() else result.output_dir
        assert before is not None, "a valid plan is written"
        place = preflight.find_repo(repo) if repo else None
        options = wiring.following(replace(options, overwrite=True), before, place)
        trial = wiring.trial_runner(settings, options)
        result = run_plan.run_plan(options, source, console, runner, trial)
    if args.print_summary:
        summary = (result.run_dir / "compile_summary.json").read_text("utf-8").rstrip()
        console.say(Paragraph((summary,)))
    if result.error is not None:
        raise result.error
    if not result.ok:
        annotate_spec(args.spec, result.report, console)
        return Outcome(PlanDocument(result), ExitCode.INVALID)
    assert result.output_dir is not None, "a valid plan is written"
    if args.strict_spec:
        questions.refuse_contradictions(args.spec, result.assumptions, result.output_dir)
    preview = preview_document.read_preview(result.output_dir, repo, args.branch, settings)
    where = f" --repo {shlex.quote(str(args.repo))}" if args.repo else ""
    then = f"run-all{where} --workdir {shlex.quote(str(result.output_dir))}"
    return Outcome(PlanDocument(result, preview, f"{this_program()} {then}" if repo else ""))
