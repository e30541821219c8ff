"""Asks a person what a specification leaves open, for the verbs that plan."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from llmch.console import Console, Format
from llmch.console.console import answer_to, someone_is_there
from llmch.console.line import clean, one_line
from planner.spec import answers, read_spec
from shared.errors import InvalidInput
from shared.events.events import Noted
from shared.llm.stack import Mode
from shared.work_order.work_order import MAX_SAID, Assumption

if TYPE_CHECKING:
    from planner.compile.inputs import PlanOptions


def add_arguments(parser: argparse.ArgumentParser) -> None:
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


def changed_by_answers(spec: Path, assumptions: Sequence[Assumption], console: Console) -> bool:
    """Ask what nobody has answered yet, contradictions first, and write the answers down.

    Return whether an answer is another one than the reading taken.
    """
    known = {each.id for each in read_spec.read_spec(spec).answers}
    asked = [each for each in assumptions if each.kind != "assumption" and each.id not in known]
    given: list[answers.SpecAnswer] = []
    changes = 0
    console.close()  # no region is redrawn while somebody types
    for each in sorted(asked, key=lambda each: each.kind):
        about = ", ".join((*each.requirements, *each.work_orders))
        text, reading = (one_line(clean(said)) for said in (each.text, each.reading))
        heading = f"{each.kind}: {text}" + (f" ({about})" if about else "")
        answer = answer_to(f"{heading}\nEnter for: {reading}\n> ", MAX_SAID)
        given.append(answers.SpecAnswer(each.text, answer or each.reading))
        changes += not given[-1].is_reading(each.reading)
    if given:
        console(Noted(f"the answers are in {answers.write_answers(spec, given)}"))
    return changes > 0


def asking(options: PlanOptions, args: argparse.Namespace, console: Console) -> PlanOptions:
    """Return the options with which the model may ask the person while it plans."""
    if not may_ask(args):
        return options
    ask = partial(changed_by_answers, options.spec, console=console)
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
