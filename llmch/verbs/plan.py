"""Implements `llmch plan`: compiles a specification into work orders."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from factory import preflight
from factory.factory_checkups import warn_before_plan
from llmch.ci.finding_reports import annotate_spec
from llmch.console import Console, Format
from llmch.console.console import answer_to, someone_is_there
from llmch.console.document import Outcome, Paragraph
from llmch.entry import command_line, wiring
from llmch.entry.answers import PlanDocument
from llmch.previews import preview_document
from planner import run_plan
from planner.plan_flags import add_plan_arguments, plan_options
from planner.spec import answers, read_spec
from shared.errors import ExitCode, InvalidInput
from shared.events.events import Noted
from shared.llm.budget import SharedBudget
from shared.llm.stack import Mode
from shared.work_order.work_order import MAX_SAID, Assumption


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_plan_arguments(parser)
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
    options = plan_options(args, settings, repo, review=review)
    if args.follows is not None:
        options = wiring.following(
            options, args.follows, preflight.find_repo(repo) if repo else None
        )
    runner, trial = wiring.tool_runner(settings, repo), wiring.trial_runner(settings, options)
    source = replace(source, purse=SharedBudget(source.budget))
    result = run_plan.run_plan(options, source, console, runner, trial)
    if result.ok and _may_ask(args) and _answered(args.spec, result.assumptions, console):
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
    if args.strict_spec:
        _refuse_contradictions(args.spec, result)
    assert result.output_dir is not None, "a valid plan is written"
    preview = preview_document.read_preview(result.output_dir, repo, args.branch, settings)
    return Outcome(PlanDocument(result, preview))


def _may_ask(args: argparse.Namespace) -> bool:
    if args.ask is not None:
        return bool(args.ask)
    for_people = args.output_format not in (Format.JSON, Format.MARKDOWN)
    return for_people and args.llm == Mode.LIVE and someone_is_there()


def _answered(spec: Path, assumptions: Sequence[Assumption], console: Console) -> bool:
    """Ask what nobody has answered yet, contradictions first, and write the answers down.

    Return whether an answer is another one than the reading taken.
    """
    known = {each.id for each in read_spec.read_spec(spec).answers}
    asked = [each for each in assumptions if each.kind != "assumption" and each.id not in known]
    given: list[answers.SpecAnswer] = []
    changes = 0
    for each in sorted(asked, key=lambda each: each.kind):
        about = ", ".join((*each.requirements, *each.work_orders))
        answer = answer_to(
            f"{each.kind}: {each.text} ({about})\nEnter for: {each.reading}\n> ", MAX_SAID
        )
        given.append(answers.SpecAnswer(each.text, answer or each.reading))
        changes += not given[-1].is_reading(each.reading)
    if given:
        console(Noted(f"the answers are in {answers.write_answers(spec, given)}"))
    return changes > 0


def _refuse_contradictions(spec: Path, result: run_plan.PlanResult) -> None:
    known = {each.id for each in read_spec.read_spec(spec).answers}
    for each in result.assumptions:
        if each.kind == "contradiction" and each.id not in known:
            raise InvalidInput(
                f"spec {spec} contradicts itself: {each.render()} ({each.id})",
                f"correct it, or answer with --ask (in {answers.answers_path(spec)}); the plan "
                f"that reads it so is in {result.output_dir}",
            )
