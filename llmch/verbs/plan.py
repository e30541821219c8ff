"""Implements `llmch plan`: compiles a specification, and asks a person what it leaves open."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from factory import preflight
from factory.factory_checkups import warn_before_plan
from factory.run_flags import add_deps_argument, installs
from llmch.ci.finding_reports import annotate_spec
from llmch.console import Console, Format
from llmch.console.console import answer_to, someone_is_there
from llmch.console.document import Outcome, Paragraph
from llmch.console.line import clean, count, one_line, this_program
from llmch.entry import command_line, issue_specs, wiring
from llmch.entry.answers import PlanDocument
from llmch.previews import plan_overlaps, preview_document
from planner import run_plan
from planner.plan_flags import add_plan_arguments, plan_options
from planner.spec import answers, read_spec
from planner.spec.spec_folders import spec_place
from shared.errors import ExitCode, InterruptedRun, InvalidInput
from shared.events.events import Noted, Warned
from shared.llm.budget import SharedBudget
from shared.llm.stack import Mode
from shared.settings.settings import KEYS
from shared.work_order.work_order import MAX_SAID, Assumption

if TYPE_CHECKING:
    from planner.compile.inputs import PlanOptions


def add_question_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags that say whether a person is asked, and what a contradiction means."""
    parser.add_argument(
        "--ask", action=argparse.BooleanOptionalAction, default=None,
        help="ask what the spec leaves open, and plan again what rests on an answer "
        "(default: in a terminal)",
    )  # fmt: skip
    parser.add_argument(
        "--strict-spec", action="store_true",
        help="exit with 2 where the spec contradicts itself and nobody has answered",
    )  # fmt: skip


def may_ask(args: argparse.Namespace) -> bool:
    """Say whether the person is asked: as `--ask` and `--no-ask` say, else where somebody is."""
    if args.ask is not None:
        return bool(args.ask)
    for_people = args.output_format not in (Format.JSON, Format.MARKDOWN)
    silent = bool(getattr(args, "yes", False))
    return for_people and not silent and args.llm == Mode.LIVE and someone_is_there()


def ask_open(
    spec: Path, assumptions: Sequence[Assumption], console: Console, goes_on: str
) -> Sequence[bool]:
    """Ask what nobody has answered yet, contradictions first, and write each answer down.

    Return for each answer whether it is another one than the reading taken. Where the input ends,
    the rest stays open. `goes_on` is said to who interrupts: how the rest is asked.
    """
    known = {each.id for each in read_spec.read_spec(spec).answers}
    asked = [each for each in assumptions if each.kind != "assumption" and each.id not in known]
    place, changes = answers.answers_path(spec), list[bool]()
    console.close()  # no region is redrawn while somebody types
    try:
        for each in sorted(asked, key=lambda each: each.kind):
            if (answer := _answer_to(each)) is None:
                break
            given = answers.SpecAnswer(each.text, answer or each.reading)
            answers.write_answers(spec, [given])
            changes.append(not given.is_reading(each.reading))
    except KeyboardInterrupt as interrupt:
        kept = f"the answers so far are in {place}; " if changes else ""
        raise InterruptedRun(kept + goes_on) from interrupt
    if changes:
        console(Noted(f"the answers are in {place}"))
    if left := len(asked) - len(changes):
        console(Warned(f"{count(left, 'question')} not answered: the readings taken count"))
    return changes


def _answer_to(asked: Assumption) -> str | None:
    about = ", ".join((*asked.requirements, *asked.work_orders))
    text, reading = (one_line(clean(said)) for said in (asked.text, asked.reading))
    heading = f"{asked.kind}: {text}" + (f" ({about})" if about else "")
    return answer_to(f"{heading}\nEnter for: {reading}\n> ", MAX_SAID)


def asking(options: PlanOptions, args: argparse.Namespace, console: Console) -> PlanOptions:
    """Return the options with which the model may ask the person while it plans."""
    if not may_ask(args):
        return options
    goes_on = "the same command again asks the rest"

    def ask(asked: Sequence[Assumption]) -> bool:
        return bool(ask_open(options.spec, asked, console, goes_on))

    return replace(options, ask_person=ask)


def refuse_contradictions(spec: Path, assumptions: Sequence[Assumption], plan: Path) -> None:
    """Raise `InvalidInput` for a contradiction that a plan found and nobody answered."""
    known = {each.id for each in read_spec.read_spec(spec).answers}
    for each in assumptions:
        if each.kind == "contradiction" and each.id not in known:
            raise InvalidInput(
                f"spec {spec} contradicts itself: {each.render()} ({each.id})",
                f"correct it, or answer with --ask (in {answers.answers_path(spec)}); the plan "
                f"that reads it so is in {plan}",
            )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    issue_specs.add_spec_arguments(parser)
    add_plan_arguments(parser)
    add_question_arguments(parser)
    add_deps_argument(parser)
    command_line.add_optional_repo(parser, "the repo that the plan is for")
    command_line.add_record_arguments(parser)
    command_line.add_model_arguments(parser)


def execute(args: argparse.Namespace, console: Console) -> Outcome:
    """Compile the spec. The exit code is 0 for a valid plan, and 2 if E-codes are left."""
    args.spec = args.spec and spec_place(args.spec)
    repo = command_line.repo_meant(args, console, "the plan is for an empty one")
    settings = wiring.settings_for(args, console, repo=repo, spec=args.spec)
    issue_specs.take_issue(args, settings, console)
    review = wiring.reviews_plan(args)
    with wiring.inputs_first(lambda: read_spec.read_spec(args.spec)):
        source = wiring.planning_source(args, settings, review=review)
    lacks = repo is not None and warn_before_plan(repo, settings, console, branch=args.branch)
    prepares = installs(args, repo)
    options = plan_options(args, settings, repo, review=review, installs=prepares)
    options = asking(options, args, console)
    if args.follows is not None:
        options = wiring.following(
            options, args.follows, preflight.find_repo(repo) if repo else None
        )
    plan_overlaps.warn_before_plan(options, console)
    runner, trial = wiring.tool_runner(settings, repo), wiring.trial_runner(settings, options)
    source = replace(source, purse=SharedBudget(source.budget))
    result = run_plan.run_plan(options, source, console, runner, trial)
    asks = result.ok and may_ask(args)
    # The plan is the run's own: the one in `--outdir` is about to be replaced.
    own = result.run_dir / "output"
    before = own if own.is_dir() else result.output_dir
    flags = f"--from {shlex.quote(str(before))}" + (" --overwrite" if args.outdir else "")
    goes_on = f"the same command with `{flags}` asks the rest"
    if asks and any(ask_open(args.spec, result.assumptions, console, goes_on)):
        assert before is not None, "a valid plan is written"
        place = preflight.find_repo(repo) if repo else None
        # What rests on the answers is a part of the plan, and mostly a small one.
        options = replace(options, overwrite=True, staged=None)
        options = wiring.following(options, before, place)
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
        refuse_contradictions(args.spec, result.assumptions, result.output_dir)
    if repo is not None:
        plan_overlaps.warn_of_plan(result.output_dir, repo, settings.artifacts_dir, console)
    preview = preview_document.read_preview(result.output_dir, repo, args.branch, settings)
    where = f" --repo {shlex.quote(str(args.repo))}" if args.repo else ""
    then = f"run-all{where} --workdir {shlex.quote(str(result.output_dir))}"
    then += f" --branch {shlex.quote(args.branch)}" if args.branch else ""
    then += " --deps auto" if lacks or args.deps == "auto" else ""
    # What was typed for all roles is meant for the factory, too.
    then += "".join(
        f" {KEYS[name].option} {shlex.quote(value)}"
        for name in ("model", "reasoning_effort")
        if (value := getattr(args, name))
    )
    return Outcome(PlanDocument(result, preview, f"{this_program()} {then}" if repo else ""))
