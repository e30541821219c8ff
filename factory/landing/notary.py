"""States how each commit was made and judged, signed where the person signs commits.

A landing is stated before the branch moves, so that a kill never leaves a commit of the branch
without its statement. A commit that never lands keeps a note that nothing points to.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from factory.orders.task import OrderResult, OrderTask
from factory.orders.verdict import Passed
from factory.statement.compose import (
    LandingCommit,
    Signed,
    StandingCommit,
    compose_acceptance,
    compose_statement,
)
from factory.statement.document import Acceptance, Snapshot, Statement
from factory.statement.envelope import Envelope, payload_of
from factory.statement.notes import write_envelope
from shared.errors import LlmchError
from shared.events.event import Emit
from shared.events.messages import Warned
from shared.git import trees
from shared.git.client import Git, GitFailed
from shared.git.signing import SigningFailed, sign
from shared.git.signing_config import SigningConfig, read_signing_config

Compose = Callable[[Signed], Statement | Acceptance]
"""Composes a statement that says in which form it is signed, if it is."""


@dataclass(slots=True)
class Notary:
    """Write the statements of one run. Nothing that goes wrong here keeps a commit from landing."""

    git: Git
    run_id: str
    emit: Emit
    _config: SigningConfig | None = field(default=None, init=False)
    _asked: bool = field(default=False, init=False)
    _before: Snapshot | None = field(default=None, init=False)
    """The commit of the statement before, on which the next one mostly stands."""

    def attest(self, task: OrderTask, result: OrderResult, parent: str) -> None:
        """Attach a statement to the commit of a result that passed on `parent`.

        A warning says so where that fails, or where the statement stays unsigned.
        """
        passed = result.verdict
        if isinstance(passed, Passed):
            self._attach(
                task,
                passed.commit,
                lambda: partial(
                    compose_statement, self._described(task, passed, parent), result.records
                ),
            )

    def attest_acceptance(self, commit: StandingCommit) -> None:
        """Attach the statement that a person's commit stands for an order, with the same warnings.

        Other statements on the commit stay: it may stand for several orders.
        """
        self._attach(commit.task, commit.result.commit, lambda: partial(compose_acceptance, commit))

    def _attach(self, task: OrderTask, commit: str, prepare: Callable[[], Compose]) -> None:
        try:
            envelope = self._sealed(prepare(), task)
            write_envelope(self.git, commit, envelope.render(), task.commit_facts(""))
        except (LlmchError, ValueError) as error:
            said = error.message if isinstance(error, LlmchError) else str(error)
            self.emit(Warned(f"no statement was added to {commit[:12]}: {said}"))

    def _described(self, task: OrderTask, passed: Passed, parent: str) -> LandingCommit:
        git, before = self.git, self._before
        self._before = Snapshot(commit=passed.commit, tree=passed.tree)
        return LandingCommit(
            task=task,
            passed=passed,
            base=before
            if before and before.commit == parent
            else Snapshot(commit=parent, tree=trees.tree_of(git, parent)),
            written=trees.hashes_of_files(git, passed.commit, passed.files),
            run_id=self.run_id,
        )

    def _sealed(self, compose: Compose, task: OrderTask) -> Envelope:
        """Return a statement in its envelope, unsigned where signing fails."""
        config = self._signing()
        if config is not None:
            envelope = Envelope(payload_of(compose(config.format.value)))
            try:
                person = str(task.terms.author)
                signature = sign(self.git, config, envelope.signed_bytes, person)
                return Envelope(envelope.payload, (signature,))
            except SigningFailed as failed:
                # Somebody who did not answer once is not asked again for each order.
                self._config = None
                self._warn(failed.message)
        return Envelope(payload_of(compose(None)))

    def _signing(self) -> SigningConfig | None:
        """Return how the person signs commits; `None` where they do not."""
        if not self._asked:
            self._asked = True
            try:
                config = read_signing_config(self.git)
                self._config = config if config.signs_commits else None
            except GitFailed as failed:
                self._warn(failed.message)
            except ValueError as useless:
                self._warn(str(useless))
        return self._config

    def _warn(self, why: str) -> None:
        self.emit(
            Warned(
                "you sign commits, and the statements about the commits of this run are not "
                f"signed from here on: {why}"
            )
        )
