"""Begins, makes, lands and concludes orders on one branch."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from factory.attempt.attempt_state import Run
from factory.judging.proof import NOT_SEEN, KnownCommit
from factory.landing.land import Landing, LandingOnRemote, Notary, publish_notes
from factory.orders.documents import CommandFlag, RunSummary
from factory.orders.order_commit import NOTES_REF, CommitTerms, render_note
from factory.orders.read_orders import Exemption
from factory.orders.stages import Decision, OrderState
from factory.orders.task import Errored, Failed, OrderResult, OrderTask, Passed, Verdict
from factory.preflight import TargetBranch, name_what_is_set_aside, refuse_symbolic
from factory.record.journal_entries import (
    LandingBegun,
    OrderBegun,
    OrderConcluded,
    OrderLanded,
    OrderStopped,
)
from factory.record.landed import LandedOrders
from factory.record.progress import abridged
from factory.record.summary import (
    Circumstances,
    summarise_order,
    summarise_stopped,
    summarise_unexecuted,
)
from factory.run.baseline import NOTHING_TO_RUN, Baseline, KeptBases
from factory.run.execution import Execution, OrderProgress
from factory.run.recovery import deferring_signals
from factory.run.run_request import Continuation, Request, after_the_orders
from factory.workbench.workspace import in_background, side_by_side
from shared.errors import CommandFailed, Interrupted, LlmchError
from shared.events.events import (
    CommandFlagged,
    Noted,
    OrderEnded,
    OrderSkipped,
    OrderStarted,
    Warned,
)
from shared.files.atomic_io import make_folder, write_json
from shared.files.paths import VERIFY_SCRIPT
from shared.git import commits, refs, trees
from shared.git.client import GitFailed
from shared.languages.acceptance_commands import order_files
from shared.llm.replayed_replies import EarlierRun
from shared.llm.stack import Mode
from shared.llm.usage import usage_counted


@dataclass(frozen=True, slots=True)
class Outset:
    """Hold the facts found before a run begins: its branch, and the state of its orders there."""

    target: TargetBranch
    landed: LandedOrders
    decisions: Mapping[str, Decision]
    """The decisions of a person about orders, by id."""
    exemptions: tuple[Exemption, ...]
    """For each order, what may exempt it from verification."""
    terms: CommitTerms
    warnings: tuple[str, ...]
    earlier: tuple[EarlierRun, ...] = ()
    """The runs on this repo that this one goes on from. All of them are over."""


@dataclass(slots=True)
class Session:
    """Make and land the orders of a run on its branch.

    Only `run` and `execution` may be used from several threads.
    """

    request: Request
    outset: Outset
    run: Run
    results: dict[str, Any]
    """The content of `run.json` at the end."""
    baseline: Baseline
    landing: Landing | LandingOnRemote
    notary: Notary
    execution: Execution
    tip: str
    """The commit that the branch has, or will start from."""
    branch_exists: bool
    started: dict[str, float] = field(default_factory=dict)
    _noting: Future[None] | None = None

    @property
    def branch(self) -> str:
        return self.landing.branch

    @property
    def continuation(self) -> Continuation:
        """Return the facts that decide, as of now, how the run goes on later."""
        target = self.outset.target
        moved = self.tip != target.tip or target.exists != self.branch_exists
        request, replayed = self.request, self.request.source.mode is Mode.REPLAY
        return Continuation(request.options, moved, request.plan, replayed=replayed)

    def verify_base(self, first: int) -> None:
        """Verify the commit that the run starts from, as its order at `first` is verified.

        A replay pays for nothing, so it needs to know only what a red base allows. Where the order
        writes the verification script and nothing else says how the base is verified, the code is
        compiled and not run. Raises `PreflightRefused` if the base is red.
        """
        request = self.request
        to_come = [each.order for each in request.orders[first:]]
        found = self.baseline.announce(self.tip, to_come)
        if request.source.mode is Mode.REPLAY and not request.options.allow_red:
            self.run.known.assume(KnownCommit(NOT_SEEN))
            return
        self.baseline.verify(self.tip, self._exemption_of_base(first, is_known=found.is_known))

    def _exemption_of_base(self, first: int, *, is_known: bool) -> Exemption:
        """Return what exempts the base; `is_known` says that something verifies it.

        Orders before `first` may have brought a part of what verifies it, which waits for the rest.
        """
        exemptions = self.outset.exemptions
        if is_known:
            return next((each for each in exemptions if each.expected), exemptions[first])
        writes_script = VERIFY_SCRIPT in self.request.orders[first].order.allowed_files
        return NOTHING_TO_RUN if writes_script else exemptions[first]

    def task(self, position: int, base: str, folder: Path) -> OrderTask:
        """Return the order at `position` as it is to be made on `base`, recorded in `folder`."""
        outset = self.outset
        loaded = self.request.orders[position]
        return OrderTask(loaded, outset.exemptions[position], base, outset.terms, folder)

    def skip(self, task: OrderTask, commit: str) -> RunSummary:
        """Record and announce that an order has landed before, and return its summary."""
        order = task.order
        self.run.journal.record(OrderLanded(order.id, commit, skipped=True))
        self.run.emit(OrderSkipped(order.id, order.title, commit))
        about = self.circumstances(task, self.tip)
        summary = summarise_unexecuted(OrderState.SKIPPED, about, commit)
        write_json(task.folder / "run_summary.json", summary.model_dump(mode="json"))
        return summary

    def begin(self, task: OrderTask) -> None:
        """Announce and record that an order is about to be made."""
        order = task.loaded.order
        self.started[order.id] = time.monotonic()
        attempts = self.run.options.attempts_of(order.id)
        self.run.journal.record(OrderBegun(order.id, task.base, attempts))
        self.run.emit(OrderStarted(order.id, order.title, self.branch, task.base, attempts))
        document = order.model_dump(mode="json")
        write_json(make_folder(task.folder) / "work_order.json", document, sync=False)

    def why_again(self, task: OrderTask, made: OrderProgress, judged_on: str) -> str:
        """Return why an order has to be made again on the commit it would follow; "" if not.

        `judged_on` is that commit, or "" if nothing was judged. An order that failed is made
        again where its model was shown other files than the commit has: it may have lacked what
        another order landed since.
        """
        if made.unfit:
            return made.unfit
        result = made.result
        if result is None or not isinstance(result.verdict, Failed):
            return ""
        followed = judged_on or self.tip
        if task.base == followed:
            return ""
        stage = result.verdict.brief.stage
        if not judged_on:
            return f"{stage} on an older state"
        paths = order_files(task.order)
        git = self.run.repo.git
        if trees.entries_of(git, task.base, paths) == trees.entries_of(git, followed, paths):
            return ""
        return f"{stage}, and files that it was shown have changed since"

    def land(self, task: OrderTask, result: OrderResult) -> OrderResult:
        """Move the branch to a commit that passed on its tip, and return the order's final result.

        An error of landing itself (someone else moved the branch) becomes an `Errored` result.
        """
        passed = result.verdict
        if not isinstance(passed, Passed):
            return result
        try:
            self._move_branch(task, result, passed.commit)
        except LlmchError as error:
            return replace(result, verdict=Errored(error.message, error))
        with contextlib.suppress(CommandFailed):  # the branch itself shows that it landed
            self.run.journal.record(OrderLanded(task.name, passed.commit, proof=result.proof))
        if passed.verified:
            known = self.baseline.known.of(passed.commit)
            KeptBases.of(self.run.repo.common_dir).add(passed.verified, known)
        return result

    def conclude(
        self, task: OrderTask, result: OrderResult, parent: str, *, alone: bool = False
    ) -> RunSummary:
        """Write, announce and return an order's summary; `parent` is the commit before its own.

        An order that was run `alone` is announced with what to do next.
        """
        order = task.loaded.order
        tally = self.run.model.meter.of_order(order.id)
        about = replace(
            self.circumstances(task, parent, result.flags), verified_by=result.verified_by
        )
        for each in result.flags:
            self.run.emit(CommandFlagged(order.id, each.code, each.command, each.message))
        summary = summarise_order(result.verdict, about, result.records, tally)
        document = summary.model_dump(mode="json")
        write_json(task.folder / "run_summary.json", document)
        self.finish_notes()
        self._noting = in_background(lambda: self._annotate(task, result))
        failure = abridged(summary.failure) if summary.failure else None
        self.run.journal.record(OrderConcluded(order.id, summary.verdict, failure, summary.usage))
        error = error_of(result)
        step = after_the_orders(self.continuation, [summary], error) if alone else ""
        self._announce_end(summary, result.verdict, step)
        return summary

    def finish_notes(self) -> None:
        """Wait for the note on the order that was concluded last, which git adds meanwhile."""
        if self._noting is not None:
            self._noting.result()
            self._noting = None

    def stop(
        self, task: OrderTask, cause: str, parent: str, verdict: Literal["FAIL", "ERROR"]
    ) -> RunSummary:
        """Record that an order was running when the run ended, and how far it came."""
        records = self.execution.end(task.name, cause)
        about = self.circumstances(task, parent)
        tally = self.run.model.meter.of_order(task.name)
        summary = summarise_stopped(cause, verdict, about, records, tally)
        with contextlib.suppress(LlmchError):  # the run's error matters more than the disk's
            write_json(task.folder / "run_summary.json", summary.model_dump(mode="json"))
            self.run.journal.record(OrderStopped(task.name, summary.usage))
        return summary

    def execute(self, task: OrderTask) -> tuple[RunSummary, LlmchError | None]:
        """Make and land one order on the tip; return its summary and what ends the run, if any."""
        parent = self.tip
        self.begin(task)
        try:
            result = self.execution.make(task)
        except KeyboardInterrupt:
            summary = self.stop(task, "interrupted", parent, "ERROR")
            self._announce_end(summary, Errored("interrupted"))
            raise
        except BaseException as error:
            cause = repr(error)
            records = self.execution.end(task.name, cause)
            self.conclude(task, OrderResult(Errored(cause), records), parent)
            raise
        stopped = error_of(result)
        if isinstance(stopped, Interrupted):
            summary = self.stop(task, stopped.message, parent, "ERROR")
            self._announce_end(summary, result.verdict)
            return summary, stopped
        with deferring_signals():
            result = self.land(task, result)
            return self.conclude(task, result, parent, alone=True), error_of(result)

    def push(self) -> bool | None:
        """Push the branch with the notes on its commits; return whether the branch was pushed.

        The result is None if nobody asked for it, and if no branch exists, because HEAD has all
        orders already. A refusal is reported as a warning and changes nothing.
        """
        if not self.run.options.push or not self.branch_exists:
            return None
        self.finish_notes()
        name_what_is_set_aside(self.run.repo.git, self.run.emit)
        try:
            refuse_symbolic(self.run.repo.common_dir, [f"refs/heads/{self.branch}", *refs.OWN_REFS])
            refs.push(self.run.repo.git, "origin", self.branch)
        except LlmchError as refused:
            self.run.emit(Warned(f"the branch was not pushed: {refused.message}"))
            return False
        notes = ", with the notes on its commits" if self._push_notes() else ""
        self.run.emit(Noted(f"pushed {self.branch} to origin{notes}"))
        return True

    def _push_notes(self) -> bool:
        try:
            publish_notes(self.run.repo.git, "origin", self.outset.terms.author)
        except LlmchError as failed:
            self.run.emit(
                Warned(
                    "the notes on the commits, by which `llmch verify` proves them, were not "
                    f"pushed: {failed.message}; the next push brings them"
                )
            )
            return False
        return True

    def _move_branch(self, task: OrderTask, result: OrderResult, commit: str) -> None:
        self.finish_notes()  # a landing on a remote brings the notes there
        self.landing.check(commit)
        old = self.tip if self.branch_exists else refs.NO_COMMIT
        begun = LandingBegun(task.name, self.branch, old, commit)
        side_by_side(
            lambda: self.run.journal.record(begun, sync=True),
            lambda: self.notary.attest(task, result, self.tip),
        )
        self.landing.land(commit, old)
        self.branch_exists = True
        self.tip = commit

    def _annotate(self, task: OrderTask, result: OrderResult) -> None:
        if not isinstance(result.verdict, Passed):
            return
        commit = result.verdict.commit
        options = self.run.options
        given = options.given or options.carries(task.name)
        asked = task.order.asks_model and not given
        model = result.records[-1].model or ("unknown" if asked else "none")
        plan, attempts = task.loaded.plan, len(result.records)
        listed, assumed = (plan.requirements, plan.assumptions) if plan else ((), ())
        agent = result.records[-1].agent
        note = render_note(
            self.run.folder.run_id,
            model,
            attempts,
            result.proof,
            agent=f"{agent.name} {agent.version}".strip() if agent else "",
            demands=[(each.id, each.text) for each in listed if each.id in task.order.covers],
            assumed=[each for each in assumed if task.name in each.work_orders],
        )
        try:
            commits.add_note(self.run.repo.git, NOTES_REF, commit, note, task.commit_facts(""))
        except GitFailed as failed:
            self.run.emit(Warned(f"no note was added to {commit[:12]}: {failed.message}"))

    def circumstances(
        self, task: OrderTask, parent: str, flags: tuple[CommandFlag, ...] = ()
    ) -> Circumstances:
        """Return the facts of an order's run that do not depend on its verdict."""
        return Circumstances(
            order=task.name,
            run_id=self.run.folder.run_id,
            run_dir=task.folder,
            branch=self.branch,
            parent=parent,
            warnings=task.loaded.warnings,
            flags=flags,
        )

    def _announce_end(self, summary: RunSummary, verdict: Verdict, next_step: str = "") -> None:
        order = summary.work_order
        self.run.emit(usage_counted(self.run.model.meter.of_order(order), order))
        started = self.started.get(order, time.monotonic())
        self.run.emit(
            OrderEnded(
                order=order,
                verdict=summary.verdict,
                attempts=summary.attempts,
                commit=summary.commit or "",
                branch=self.branch,
                seconds=time.monotonic() - started,
                files=verdict.changed if isinstance(verdict, Passed) else (),
                repo=str(self.run.repo.tree),
                run_dir=summary.run_dir,
                proof=summary.verified_by.describe() if summary.verified_by else "",
                next_step=next_step,
            )
        )


def error_of(result: OrderResult) -> LlmchError | None:
    """Return the error that ends the whole run after this result, if there is one."""
    return result.verdict.error if isinstance(result.verdict, Errored) else None
