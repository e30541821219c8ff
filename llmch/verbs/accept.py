"""Implements `llmch accept`: judges what anybody did for an order, and accepts it if it passes.

A commit of the branch stays as it is; `--undo` takes that back. Anything else is a proposal, and
lands as the order's own commit.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from factory import preflight
from factory.batch import accept_commit, accept_proposals
from factory.batch.decide import PlanOnBranch
from factory.orders import stages
from factory.orders.documents import FailureBrief
from factory.orders.task import RunOptions
from factory.run import run_request
from factory.run_flags import add_judging_arguments, judging_options
from llmch.ci import run_reports
from llmch.console import Console
from llmch.console.document import Block, Conclusion, Document, Outcome, Paragraph, Remark, Shape
from llmch.console.line import short
from llmch.entry import command_line, run_orders, wiring
from shared.errors import ExitCode, InvalidInput


@dataclass(frozen=True, slots=True)
class AcceptDocument(Document):
    """Represent the answer of `accept`: the commit, and what verified it or what failed."""

    accepted: accept_commit.JudgedCommit
    run_all: str
    undo: str
    others: bool
    """Whether other orders of the plan are still to be made."""

    def to_json(self) -> object:
        return accept_commit.acceptance_document(self.accepted)

    def blocks(self) -> Iterator[Block]:
        accepted, order = self.accepted, self.accepted.order.id
        commit = short(accepted.offered.commit)
        failure = accepted.failure
        if failure is not None:
            yield Conclusion(order, f"{commit} is not accepted for it: {failure.stage}", ok=False)
            yield from _why(failure)
            yield Remark((f"nothing was recorded; records: {accepted.run_dir}",))
            return
        if not accepted.recorded:
            yield Conclusion(order, f"{commit} passes; it was only checked", ok=True)
            return
        yield Conclusion(order, f"{commit} is accepted for it on {accepted.branch}", ok=True)
        goes_on = f"`{self.run_all}` goes on with the other orders"
        yield Remark((*((goes_on,) if self.others else ()), f"`{self.undo}` takes this back"))


def _why(failure: FailureBrief) -> Iterator[Block]:
    command = f": `{failure.command}`" if failure.command else ""
    excerpt = (f"  | {each}" for each in failure.primary_error_excerpt.splitlines())
    yield Paragraph((f"{failure.stage}{command}", *excerpt, *failure.facts))
    if failure.remedy:
        yield Remark((failure.remedy,))


@dataclass(frozen=True, slots=True)
class ProposalsDocument(Document):
    """Represent the answer of `accept` about proposals: how far each came."""

    judged: accept_proposals.JudgedProposals
    run_all: str = ""

    def to_json(self) -> object:
        return self.judged.document()

    def blocks(self) -> Iterator[Block]:
        judged, summary = self.judged, self.judged.summary
        for given, state, record in judged.rows():
            failure = record.failure_brief if record else None
            if failure is not None:
                yield Conclusion(given.by.name, f"fails: {failure.stage}", ok=False)
                yield from _why(failure)
            elif record is None:
                yield Paragraph((f"{given.by.name} was not judged",))
            elif judged.landed:
                text = f"landed as {short(summary.commit or '')} on {summary.branch}"
                yield Conclusion(given.by.name, text, ok=True)
            else:
                yield Conclusion(given.by.name, "passes; it was only checked", ok=True)
            if given.by.dropped and state == "passed":
                yield Paragraph((f"left out: {', '.join(given.by.dropped)}",))
        if not judged.passed and not any(each for _, _, each in judged.rows()) and summary.failure:
            yield Paragraph((f"no proposal was judged: {summary.failure.excerpt}",))
        goes_on = f"`{self.run_all}` goes on with the other orders"
        yield Remark((*((goes_on,) if self.run_all else ()), f"records: {summary.run_dir}"))


@dataclass(frozen=True, slots=True)
class TakenBackDocument(Document):
    """Represent the answer of `accept --undo`: the order, and the commit of it."""

    shape = Shape("work_order", "branch", "commit", "accepted")

    work_order: str
    branch: str
    commit: str
    run_all: str
    accepted: bool = False

    def blocks(self) -> Iterator[Block]:
        commit = short(self.commit)
        yield Paragraph(
            (f"{commit} stays on {self.branch} and does not count for {self.work_order} any more",)
        )
        yield Remark((f"`{self.run_all}` makes {self.work_order} and goes on",))


def add_arguments(parser: argparse.ArgumentParser) -> None:
    command_line.add_order_argument(parser)
    group = parser.add_argument_group("what is accepted, in any number")
    _add_source(group, "commit", "REV", "a commit of the branch, or what one elsewhere changes")
    _add_source(group, "diff", "FILE", "what a patch changes, as `git apply` reads it; - is stdin")
    _add_source(group, "dir", "DIR", "the order's files as a folder has them")
    group.add_argument(
        "--undo", action="store_true", help="have no commit count for the order any more"
    )
    parser.add_argument("--check", action="store_true", help="judge as always, and land nothing")
    parser.add_argument(
        "--allow-more", action="store_true",
        help="accept a commit of the branch although it changes files that the order does not "
        "allow, and leave such files of anything else out",
    )  # fmt: skip
    command_line.add_branch_argument(parser)
    add_judging_arguments(parser)
    command_line.add_record_arguments(parser)


def _add_source(group: argparse._ArgumentGroup, kind: str, what: str, text: str) -> None:
    group.add_argument(
        f"--{kind}", dest="given", action="append", type=partial(_source, kind), metavar=what,
        default=[], help=text,
    )  # fmt: skip


def _source(kind: str, word: str) -> tuple[str, str]:
    return kind, word


def execute(args: argparse.Namespace, console: Console) -> Outcome:
    """Judge what is given. The exit code is 0 if it is accepted, and 1 if all of it fails.

    It is 5 if the environment lacks what a command needs. With `--undo`, nothing is judged.
    """
    if args.undo == bool(args.given):
        raise InvalidInput(
            "accept takes what was done for the order, or --undo alone",
            "name it by --commit REV, --diff FILE or --dir DIR",
        )
    settings = wiring.settings_for(args, console, repo=args.repo)
    place = preflight.find_repo(args.repo, allow_repo_filters=args.allow_repo_filters)
    plan, name = command_line.order_asked_for(args, place)
    options = judging_options(args, settings)
    if args.undo:
        commit = accept_commit.take_back(plan, name, place, options)
        run_all = plan.run_all(run_request.place_option(args.repo))
        return Outcome(TakenBackDocument(name, plan.branch, commit, run_all))
    plan, options = command_line.as_in_the_latest_run(args, plan, options, place, console)
    standing = [
        word
        for kind, word in args.given
        if kind == "commit" and accept_proposals.is_on_branch(plan, place, word)
    ]
    if standing and len(args.given) > 1:
        raise InvalidInput(
            f"{standing[0]} is on {plan.branch} already, where it stays as it is",
            "name it alone, or leave it out",
        )
    accept = _accept_commit if standing else _accept_proposals
    place_option = run_request.place_option(args.repo)
    outcome, failures = accept(args, _Asked(plan, name, place, options, console, place_option))
    run_reports.report_answer(outcome.document, failures, console)
    return outcome


@dataclass(frozen=True, slots=True)
class _Asked:
    """Hold the order that something is to be accepted for, and how that is judged."""

    plan: PlanOnBranch
    name: str
    place: preflight.RepoPlace
    options: RunOptions
    console: Console
    place_option: str
    """The option that names the repo, in the next commands."""

    @property
    def has_others(self) -> bool:
        """Return whether other orders of the plan are still to be made."""
        left = self.plan.still_to_make(self.place.git, self.place.common_dir)
        return not {self.name}.issuperset(left)

    @property
    def run_all(self) -> str:
        """Return the command that makes the other orders."""
        return self.plan.run_all(self.place_option, installs=self.options.install_dependencies)


Answer = tuple[Outcome, list[run_reports.Annotation]]


def _accept_commit(args: argparse.Namespace, asked: _Asked) -> Answer:
    plan, name, place = asked.plan, asked.name, asked.place
    ((_, given),) = args.given
    accepted = run_orders.with_consent(
        lambda each: accept_commit.accept_commit(
            *(plan, name, given, place, each, asked.console),
            allow_more=args.allow_more,
            record=not args.check,
        ),
        asked.options,
        asked.console,
    )
    document = AcceptDocument(
        accepted,
        asked.run_all,
        plan.command(f"accept {name} --undo", asked.place_option),
        asked.has_others,
    )
    failure = accepted.failure
    code = ExitCode.OK
    if failure is not None:
        environment = failure.stage is stages.Stage.ENVIRONMENT
        code = ExitCode.PREFLIGHT if environment else ExitCode.FAILED
    failures = [_annotation(name, short(accepted.offered.commit), failure)] if failure else []
    return Outcome(document, code), failures


def _accept_proposals(args: argparse.Namespace, asked: _Asked) -> Answer:
    plan, name, place = asked.plan, asked.name, asked.place
    given = accept_proposals.read_proposals(
        plan, name, place, args.given, allow_more=args.allow_more
    )
    judge = accept_proposals.check_proposals if args.check else accept_proposals.land_proposals
    judged = run_orders.with_consent(
        lambda each: judge(plan, name, given, place, each, asked.console),
        asked.options,
        asked.console,
    )
    goes_on = not args.check and asked.has_others
    run_all = asked.run_all if goes_on else ""
    failures = [
        _annotation(name, each.by.name, record.failure_brief)
        for each, _, record in judged.rows()
        if record and record.failure_brief and not judged.passed
    ]
    code = run_orders.exit_code_of(judged.summary)
    return Outcome(ProposalsDocument(judged, run_all), code), failures


def _annotation(order: str, source: str, brief: FailureBrief) -> run_reports.Annotation:
    lines = (source, brief.command and f"$ {brief.command}", brief.excerpt)
    title = f"{order} {brief.stage.replace('_', ' ')}"
    return run_reports.Annotation(run_reports.Level.ERROR, title, "\n".join(filter(None, lines)))
