"""Implements `llmch status`: shows how far a repo's latest run is, also while it goes on."""

from __future__ import annotations

import argparse
import shlex
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from factory import preflight
from factory.batch import decide
from factory.orders import stages
from factory.record import run_status
from llmch.console import Console, Format
from llmch.console.document import Block, Document, Outcome, Paragraph, Remark, Rows
from llmch.console.line import this_program
from shared.errors import InvalidInput
from shared.files.typed_documents import read_as
from shared.git import refs
from shared.llm.model_client import CallPlace
from shared.llm.transcript import describe_uncertain

if TYPE_CHECKING:
    from factory.orders.stages import PlanAtHand

_LOOK_EVERY_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class StatusDocument(Document):
    """Represent the answer of `status`; `status` is `None` if nothing has run yet."""

    status: dict[str, Any] | None
    place: str = ""
    """The option with which other verbs find the repo; empty in the repo itself."""
    plan: PlanAtHand | None = None
    moved_on: tuple[str, ...] = ()

    def to_json(self) -> object:
        return self.status or {"run_id": None, "state": "none", "orders": []}

    def blocks(self) -> Iterator[Block]:
        if self.status is None:
            yield Remark(("nothing has run on this repo yet",))
        else:
            yield from _blocks(self.status, self.place)
            yield from _next_step(self.status, self.place, self.plan)
            if self.moved_on:
                yield Remark(self.moved_on)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--repo", type=Path, default=Path(), metavar="DIR", help="the git repo (.)")
    parser.add_argument(
        "--watch",
        action="store_true",
        help="follow the run until it is over; wait for one where none has begun",
    )
    parser.add_argument(
        "--all",
        action="store_true",
        help="instead, list the plans whose branch is not merged, and what they have in common",
    )


def execute(args: argparse.Namespace, console: Console) -> Outcome:
    """Print the status. The exit code is 0 for any status, and 8 if it cannot be read."""
    place = preflight.find_repo(args.repo)
    common_dir = place.common_dir
    if args.all:
        if args.watch:
            raise InvalidInput("--all does not go with --watch", "leave one of them out")
        from llmch.entry import wiring
        from llmch.previews.plan_overlaps import open_plans_document

        settings = wiring.settings_for(args, console, repo=args.repo)
        return Outcome(open_plans_document(place, settings.artifacts_dir))
    document = run_status.read_status_document(common_dir)
    if args.watch:
        if document is None:
            console.say(Remark(("nothing has run on this repo yet; waiting for a run to begin",)))
            document = _wait_for_a_run(common_dir)
        document = _follow(document, common_dir, args, console)
    moved_on = _moved_on(document, args, place) if document else ()
    plan = _plan_at_fault(document, common_dir)
    return Outcome(StatusDocument(document, _place(args), plan, moved_on))


def _moved_on(
    document: dict[str, Any], args: argparse.Namespace, place: preflight.RepoPlace
) -> tuple[str, ...]:
    tip = refs.tip_of_branch(place.git, document["branch"])
    if not tip or any(each["commit"] == tip for each in document["orders"]):
        return ()
    from llmch.verbs import drift  # with all that judges; so only where there is something to say

    return drift.moved_on(args, args.repo, document["branch"])


def _plan_at_fault(document: dict[str, Any] | None, common_dir: Path) -> PlanAtHand | None:
    """Return the plan of the run where an order of it failed because the plan is wrong."""
    failures = (order["failure"] for order in document["orders"]) if document else ()
    if not any(
        each and each["stage"] in ("preflight", "impossible", "weak_tests") for each in failures
    ):
        return None
    return decide.plan_at_hand(common_dir)


def _place(args: argparse.Namespace) -> str:
    return "" if args.repo == Path() else f" --repo {shlex.quote(str(args.repo))}"


def _wait_for_a_run(common_dir: Path) -> dict[str, Any]:
    while (document := run_status.read_status_document(common_dir)) is None:
        time.sleep(_LOOK_EVERY_SECONDS)
    return document


def _follow(
    document: dict[str, Any], common_dir: Path, args: argparse.Namespace, console: Console
) -> dict[str, Any]:
    """Show each state of a run but the last, and return the last; with `--json` show none."""
    while document["state"] == "running":
        if args.output_format != Format.JSON:
            console.say(*_blocks(document, _place(args)))
        before = document
        while document["state"] == "running" and _steps(before) == _steps(document):
            time.sleep(_LOOK_EVERY_SECONDS)
            document = run_status.read_status_document(common_dir) or document
    return document


def _steps(document: dict[str, Any]) -> object:
    return document["state"], document["orders"]


def _blocks(document: dict[str, Any], place: str) -> Iterator[Block]:
    run = f"run {document['run_id']} on {document['branch']}: {document['state']}"
    if document["state"] == "running":
        run += f" (pid {document['pid']}, {document['elapsed_seconds']:.0f}s)"
    elif run_status.RunState(document["state"]).can_go_on:
        run += _going_on(document["orders"], document["branch"])
    yield Paragraph((run,))
    headings = ("order", "state", "attempts", "tokens", "cost", "")
    yield Rows(tuple(map(tuple, run_status.render_status(document))), headings)
    for each in document["uncertain_calls"]:
        yield Remark((describe_uncertain(read_as(CallPlace, each)),))
    if failures := tuple(run_status.render_failures(document)):
        yield Paragraph(failures)
        if ways := ", ".join(_ways_to_look(document, place)):
            yield Remark((f"to look into it: {ways}",))


def _ways_to_look(document: dict[str, Any], place: str) -> Iterator[str]:
    """Yield the commands that say more of the first order that failed and is not on the branch."""
    order = _failed(document)[0]
    failure = order["failure"]
    attempt = (failure["repeats"] or failure)["attempt"]
    name = f"{order['id']} {attempt}" if attempt else order["id"]
    program = this_program()
    if attempt:
        yield f"`{program} diff {name}{place}`"
    if attempt and failure["command"]:
        yield f"`{program} repro {name}{place}`"
    if failure["stage"] != "error":
        yield f"`{program} explain {failure['stage']}`"


def _failed(document: dict[str, Any]) -> list[dict[str, Any]]:
    failed = (each for each in document["orders"] if each["failure"] and not each["commit"])
    return [each for each in failed if not run_status.is_left_out(each)]


def _next_step(document: dict[str, Any], place: str, plan: PlanAtHand | None) -> Iterator[Block]:
    """Yield the one thing to do about the first order that failed, unless it is still tried."""
    if document["state"] != run_status.RunState.ENDED or not any(
        run_status.render_failures(document)
    ):
        return
    order, *others = _failed(document)
    failure = order["failure"]
    step = stages.next_step(
        failure["stage"],
        order["id"],
        place=place,
        remedy=failure["remedy"],
        plan=plan,
        beside=[e["id"] for e in others if e["failure"]["stage"] == failure["stage"]],
    )
    if failure["stage"] == "error" and not (step and document["replayed"]):
        dealt_with = f"{step}; then" if step else "once that is dealt with,"
        step = f"{dealt_with} the same command again goes on"
    if step:
        yield Remark((f"next: {step}",))


def _going_on(orders: list[dict[str, Any]], branch: str) -> str:
    """Return how a run that was stopped goes on; "" if all of its orders are on the branch.

    The journal does not keep the flags of the command.
    """
    landed = sum(bool(order["commit"]) for order in orders)
    if landed == len(orders):
        return ""
    if not landed:
        return "; the same command again goes on from there"
    if branch.startswith("factory/adhoc/"):  # of an earlier version; now it has another name
        return f"; the same command with --branch {branch} goes on from there"
    return (
        "; the same command again goes on from there "
        "(with --reuse-branch for --create-branch, and without --commit-hash)"
    )
