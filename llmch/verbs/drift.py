"""Implements `llmch drift`: says what holds of each requirement at a commit, without a model."""

from __future__ import annotations

import argparse
import contextlib
import shlex
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from factory import preflight
from factory.audit import audit_evidence
from factory.drift import requirement_states
from factory.drift.requirement_states import RequirementState
from factory.orders.order_commit import ORDER_TRAILER
from factory.orders.task import RunOptions
from factory.record import runs_on_record
from factory.run.run_request import place_option
from factory.run_flags import add_judging_arguments, judging_options, model_choice
from factory.workbench import dependencies
from llmch.console import Console
from llmch.console.document import (
    Block,
    Conclusion,
    Document,
    Item,
    Outcome,
    Paragraph,
    Remark,
    Rows,
    Section,
    Shape,
    Sign,
)
from llmch.console.line import count, listed, short, shorten, this_program
from llmch.entry import run_orders, wiring
from llmch.entry.command_line import add_record_arguments
from shared.errors import ExitCode, InvalidInput, LlmchError
from shared.events.events import Noted
from shared.git import commits, refs
from shared.work_order.work_order import Asserted

if TYPE_CHECKING:
    from factory.drift.bisect_requirement import Bisected
    from factory.drift.drift import Assertions
    from factory.drift.landed_claims import ExpectedOrder, LandedClaims
    from factory.drift.requirement_states import Drift, RequirementAtRev
    from factory.orders.order_commit import OrderIdentity
    from planner.rules.coverage import PlacedTest
    from shared.settings.settings import Settings

_STATES = tuple(map(str, RequirementState))
_TEXT_CHARACTERS = 60
_SOUGHT = ("broken", "weakened", "landed")
_LISTED = 8
_REQUIREMENT = Shape(
    "id",
    "text",
    "state",
    "asserted_by",
    "work_orders",
    "tests",
    "detail",
    "strength",
    "flaky",
    "changed",
    strength=Shape("killed", "of", "survivors"),
    changed=Shape("path", "line", "what"),
)


@dataclass(frozen=True, slots=True)
class DriftDocument(Document):
    """Represent the answer of `drift`: each requirement with its state, the worst first."""

    shape = Shape(
        "rev=drift.rev",
        "requirements=drift.requirements",
        "verification=drift.verification",
        "gaps=drift.gaps",
        "is_whole=drift.is_whole",
        requirements=_REQUIREMENT,
        verification=Shape("state", "detail"),
    )

    drift: Drift
    gated: tuple[RequirementState, ...]

    @property
    def ok(self) -> bool:
        """Return whether a gate lets this pass: of what it did not see, it cannot say so."""
        return not self.gated or (self.drift.is_whole and not self.drift.in_state(self.gated))

    def blocks(self) -> Iterator[Block]:
        rows = self.drift.requirements
        if rows:
            cells = tuple((each.state, each.id, _text(each), _orders(each)) for each in rows)
            yield Rows(cells, ("state", "requirement", "text", "orders"))
        told = tuple(_item(each, self.gated) for each in rows if each.detail or each.strength)
        if told:
            yield Section("why", told)
        unnamed = [each.id for each in rows if each.asserted_by is Asserted.ORDER]
        if unnamed:
            yield Remark((f"{Asserted.ORDER.describe()}: {listed(unnamed, _LISTED)}",))
        if not rows and not self.drift.gaps:
            yield Remark(("no order has landed in the history of this commit: nothing to look at",))
        verification = self.drift.verification
        if verification.state == "failed":
            yield Remark((f"the repository's own verification fails: {verification.detail}",))
        yield Conclusion(f"drift {short(self.drift.rev)}", _summary(self.drift), self.ok)
        if self.drift.gaps:
            yield Paragraph(self.drift.gaps)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "rev", nargs="?", default="HEAD", metavar="REV", help="the commit to look at (HEAD)"
    )
    parser.add_argument(
        "--requirement", action="append", metavar="ID",
        help="the requirement to look at; may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--plan", type=Path, metavar="DIR",
        help="the plan of the orders, where no note has them, as after a squash",
    )  # fmt: skip
    parser.add_argument(
        "--fail-on", default=",".join(requirement_states.GATED), metavar="STATES",
        help="the states for which the exit code is 1, with commas, or `none`: "
        f"{', '.join(_STATES[1:])} (broken,gone,weakened)",
    )  # fmt: skip
    parser.add_argument(
        "--sarif", type=Path, metavar="FILE",
        help="write the requirements in these states as SARIF 2.1.0, for code scanning",
    )  # fmt: skip
    parser.add_argument(
        "--bisect", choices=_SOUGHT, metavar="STATE",
        help="find the commit at which the one --requirement came into this state: "
        + ", ".join(_SOUGHT),
    )  # fmt: skip
    parser.add_argument(
        "--strength", action="store_true",
        help="measure how many small faults in the landed lines the tests notice",
    )  # fmt: skip
    add_judging_arguments(parser)
    add_record_arguments(parser)


def execute(args: argparse.Namespace, console: Console) -> Outcome:
    """Look at the requirements. The exit code is 1 if one is in a state that is gated.

    It is 1 as well where orders may have landed that cannot be read here.
    """
    from factory.drift.drift import find_drift, with_strength
    from factory.drift.landed_claims import claims_about, commit_asked_for, read_claims
    from llmch.ci import finding_reports

    gated, sarif = _gated(args.fail_on), finding_reports.place_for_sarif(args.sarif)
    settings = wiring.settings_for(args, console, repo=args.repo)
    place = preflight.find_repo(args.repo, allow_repo_filters=args.allow_repo_filters)
    plan = audit_evidence.read_plan(args.plan, named=True) if args.plan else None
    places = runs_on_record.places_of_runs(settings.artifacts_dir, place.common_dir)
    evidence = audit_evidence.AuditEvidence(place.git, places, (), plan)
    claims = read_claims(evidence, commit_asked_for(place.git, args.rev))
    if args.bisect:
        return _bisect(args, console, settings, claims, evidence, place)
    if args.requirement:
        claims = claims_about(claims, args.requirement)
    asserted = assertions_in(claims)
    drift = run_orders.with_consent(
        lambda options: find_drift(claims, asserted, place, options, console),
        judging_options(args, settings),
        console,
    )
    if args.strength:
        drift = run_orders.with_consent(
            lambda options: with_strength(drift, claims, place, options, console),
            judging_options(args, settings),
            console,
        )
    if sarif:
        finding_reports.write_sarif(sarif, drift, gated)
        console(Noted(f"SARIF: {sarif}"))
    document = DriftDocument(drift, gated)
    return Outcome(document, ExitCode.OK if document.ok else ExitCode.FAILED)


def moved_on(args: argparse.Namespace, repo: Path, branch: str) -> tuple[str, ...]:
    """Return what to say of a branch that has commits of others since llmch's last; else nothing.

    The states of requirements are named where it is kept how they are: nothing is run.
    """
    try:
        place = preflight.find_repo(repo)
        tip = refs.tip_of_branch(place.git, branch)
        last = commits.with_line(place.git, tip, f"{ORDER_TRAILER}: ", limit=1) if tip else ()
        others = commits.count_since(place.git, last[0].id, tip) if last else 0
    except LlmchError:
        return ()
    if not others:
        return ()
    known = ""
    with contextlib.suppress(LlmchError):
        known = _kept_summary(args, place, tip)
    so_far = f" (as last looked at: {known})" if known else ""
    return (
        f"{branch} has {count(others, 'commit')} since the last order: "
        f"`{this_program()} drift {shlex.quote(branch)}{place_option(repo)}` says what still "
        f"holds{so_far}",
    )


def _kept_summary(args: argparse.Namespace, place: preflight.RepoPlace, tip: str) -> str:
    from factory.drift.drift import kept_drift
    from factory.drift.landed_claims import read_claims

    settings = wiring.settings_for(args, lambda _: None, repo=place.tree)
    places = runs_on_record.places_of_runs(settings.artifacts_dir, place.common_dir)
    claims = read_claims(audit_evidence.AuditEvidence(place.git, places), tip)
    python = dependencies.choose_python(settings.python, place.tree).python
    models, installs = model_choice(settings), dependencies.is_remembered(place.tree)
    options = RunOptions(place.tree, settings, models, python, install_dependencies=installs)
    drift = kept_drift(claims, place, options)
    return "" if drift is None else _summary(drift)


def _gated(words: str) -> tuple[RequirementState, ...]:
    """Return the states that fail the command. Raises `InvalidInput` for what is no state."""
    named = [each.strip() for each in words.split(",") if each.strip()]
    if named == ["none"]:
        return ()
    for each in named:
        if each not in _STATES[1:]:
            raise InvalidInput(
                f"--fail-on: {each!r} is not a state that can fail",
                f"name some of {', '.join(_STATES[1:])}, with commas between, or none",
            )
    return tuple(map(RequirementState, named))


def assertions_in(claims: LandedClaims) -> Assertions:
    """Return what of each order asserts each of its requirements, by the order's identity."""
    return _LazyAssertions({each.landed.identity: each for each in claims.orders})


@dataclass(frozen=True)
class _LazyAssertions(Mapping["OrderIdentity", "Mapping[str, Asserted]"]):
    """Read an order's commands and tests when it is asked for: a known tree asks for none."""

    orders: Mapping[OrderIdentity, ExpectedOrder]
    _known: dict[OrderIdentity, Mapping[str, Asserted]] = field(default_factory=dict)

    def __getitem__(self, identity: OrderIdentity) -> Mapping[str, Asserted]:
        from planner.rules.coverage import assertions_of, placed_tests

        if identity not in self._known:
            expected = self.orders[identity]
            order = expected.order
            before: dict[str, PlacedTest] = {}
            for each in expected.before:
                before |= placed_tests(each)
            if order.covers:
                found = assertions_of(order, before)
            else:  # it stands for itself, and its tests need no name for it
                asked = order.model_copy(update={"covers": (order.id,)})
                told = assertions_of(asked, before).items()
                found = {name: Asserted.TEST if e.can_fail else e for name, e in told}
            self._known[identity] = found
        return self._known[identity]

    def __iter__(self) -> Iterator[OrderIdentity]:
        return iter(self.orders)

    def __len__(self) -> int:
        return len(self.orders)


def _text(row: RequirementAtRev) -> str:
    return shorten(row.text, _TEXT_CHARACTERS)


def _orders(row: RequirementAtRev) -> str:
    landed = (f"{each.order} ({short(each.commit)})" if each.commit else each.order
              for each in row.orders)  # fmt: skip
    return ", ".join(dict.fromkeys(landed))


def _item(row: RequirementAtRev, gated: Collection[RequirementState]) -> Item:
    strength = row.strength.describe() if row.strength else ""
    said = "; ".join(filter(None, (row.detail, strength)))
    return Item(f"{row.id}: {said}", Sign.WARNING if row.state in gated else Sign.NONE)


def _summary(drift: Drift) -> str:
    states = [each.state for each in drift.requirements]
    told = [f"{states.count(each)} {each}" for each in RequirementState if each in states]
    return f"{count(len(states), 'requirement')}" + (f": {', '.join(told)}" if told else "")


# The commit at which a requirement changed its state


@dataclass(frozen=True, slots=True)
class BisectionDocument(Document):
    """Represent the answer of `drift --bisect`: a commit, who wrote it, and what failed first."""

    bisected: Bisected

    def to_json(self) -> object:
        found = self.bisected
        return {
            "requirement": found.requirement,
            "what": str(found.what),
            "commit": found.found.id or None,
            "author": found.found.author or None,
            "case": found.case or None,
            "work_order": found.work_order or None,
            "date": found.found.date or None,
            "subject": found.found.subject or None,
            "landed": found.landed or None,
            "rev": found.rev,
            "state": str(found.state) if found.state else None,
            "detail": found.detail,
            "tested": found.tested,
            "runs": found.runs,
            "skipped": [{"commit": each.commit, "why": each.why} for each in found.skipped],
            "candidates": [*found.candidates],
            "latest": found.is_latest,
        }

    def blocks(self) -> Iterator[Block]:
        found = self.bisected
        if not found.found.id:
            yield Conclusion(
                "drift",
                f"{found.requirement} is {found.state} at {short(found.rev)}: "
                f"there is no commit to find{f' ({found.detail})' if found.detail else ''}",
                found.state not in requirement_states.GATED,
            )
            return
        yield Section(
            found.found.subject, tuple(_bisected_items(found)), name=short(found.found.id)
        )
        yield Conclusion("drift", _bisected_summary(found), found.what == "landed")


def _bisect(
    args: argparse.Namespace,
    console: Console,
    settings: Settings,
    claims: LandedClaims,
    evidence: audit_evidence.AuditEvidence,
    place: preflight.RepoPlace,
) -> Outcome:
    """Find the commit. The exit code is that of `drift`: 1 for a requirement that has fallen."""
    from factory.drift.bisect_requirement import Sought, bisect_requirement

    if other := "--sarif" if args.sarif else "--strength" if args.strength else "":
        raise InvalidInput(f"--bisect does not go with {other}", "ask one after the other")
    named = tuple(dict.fromkeys(args.requirement or ()))
    if len(named) != 1:
        raise InvalidInput(
            "--bisect follows one requirement",
            "name it by --requirement ID; `llmch drift` lists them",
        )
    found = run_orders.with_consent(
        lambda options: bisect_requirement(
            named[0],
            Sought(args.bisect),
            claims,
            assertions_in(claims),
            evidence,
            place,
            options,
            console,
        ),
        judging_options(args, settings),
        console,
    )
    fallen = found.state in _gated(args.fail_on)
    return Outcome(BisectionDocument(found), ExitCode.FAILED if fallen else ExitCode.OK)


def _bisected_items(found: Bisected) -> Iterator[Item]:
    yield Item(f"by {found.found.author} on {found.found.date}")
    if found.case:
        yield Item(found.case, Sign.WARNING, literal=True)
    if found.detail:
        yield Item(found.detail)
    yield Item(f"{found.work_order} landed {found.requirement} in {short(found.landed)}")
    if found.candidates:
        others = ", ".join(short(each) for each in found.candidates[:_LISTED])
        more = (
            f", and {len(found.candidates) - _LISTED} more"
            if len(found.candidates) > _LISTED
            else ""
        )
        yield Item(f"it may be any of {others}{more}: those before it cannot be judged")
    for each in found.skipped[:_LISTED]:
        yield Item(f"skipped {short(each.commit)}: {each.why}")
    if len(found.skipped) > _LISTED:
        yield Item(f"skipped {len(found.skipped) - _LISTED} more")
    if not found.is_latest:
        yield Item(
            "it may have been mended and broken again since: not all later commits were tested"
        )


def _bisected_summary(found: Bisected) -> str:
    said = f"{found.requirement} {found.what} by {short(found.found.id)}"
    if found.what == "landed":
        said = f"{found.requirement} landed by {short(found.found.id)}"
    tested = f"{count(found.tested, 'commit')} tested" if found.tested else ""
    ran = f"{count(found.runs, 'run')}" if found.runs else "nothing was run"
    return f"{said} ({', '.join(filter(None, (tested, ran)))})"
