"""Makes of a worker's answer what the run goes on with. No answer is believed as it is."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

from factory.attempt.state import FactoryState, first_state
from factory.fleet.database import Database
from factory.fleet.inspection import inspect_commit
from factory.fleet.jobs import Answer, Refusal
from factory.fleet.refs import RunRefs
from factory.fleet.replay import replay
from factory.fleet.rescue import died_with
from factory.fleet.usage import usage_of
from factory.fleet.wire import OutcomeDocument, error_of, making_of, parse
from factory.orders.task import OrderResult
from factory.orders.verdict import Errored, Passed
from factory.run.session import Session
from factory.run.steps import Making, Step
from shared.errors import CommandFailed


@dataclass(frozen=True, slots=True)
class Outcomes:
    """Take the outcomes of steps into the run: records, usage, and the commit itself."""

    session: Session
    refs: RunRefs
    database: Database

    def of(self, step: Step, answer: Answer | None, shown: int = 0) -> Making:
        """Return how far a step brought its order, and record what a local step would have.

        `shown` of the step's events were passed on before.
        Raises `CommandFailed` if the answer cannot be read, or its commit is not what the order
        makes of its tree.
        """
        if isinstance(answer, Refusal):
            error = error_of(answer)
            return Making(_state_before(step), OrderResult(Errored(error.message, error), ()))
        try:
            outcome = _outcome_in(answer, step)
            left = replace(outcome, events=outcome.events[shown:])
            replay(left, step.task.folder, self.session.parts.journal, self.session.parts.emit)
        except ValueError as misread:
            raise CommandFailed(
                f"a worker of the fleet sent an outcome that cannot be read: {misread}",
                "see that all workers run this llmch: `llmch fleet status` names their versions",
            ) from None
        self._count(step, outcome)
        making = making_of(outcome)
        if making.result and isinstance(passed := making.result.verdict, Passed):
            self.refs.bring(passed.commit)
            inspect_commit(self.session.parts.repo.git, step.task, step.parent, passed)
            known = making.state["attempt"].known
            self.session.baseline.known.learn(passed.commit, known)
        return making

    def of_cancelled(self, job: str, step: Step) -> Making:
        """Return what becomes of a step whose job was cancelled, but not by this run.

        Raises `CommandFailed` where a person cancelled the plan.
        """
        victims = died_with(self.database, job)
        if victims:
            cause = (
                f"{len(victims)} workers died while they had this step "
                f"({', '.join(victims)}): it is given to no other one"
            )
            return Making(_state_before(step), OrderResult(Errored(cause), ()))
        raise CommandFailed(
            f"run {self.session.parts.folder.run_id} was cancelled by `llmch fleet cancel`",
            "the same command again goes on from there",
        )

    def _count(self, step: Step, outcome: OutcomeDocument) -> None:
        usage, meter = usage_of(outcome.usage), self.session.parts.model.meter
        if usage.calls:
            meter.add(step.task.name, usage, replayed=False)
        for _ in range(outcome.usage.replayed):
            meter.add(step.task.name, replace(usage, calls=1), replayed=True)


def _outcome_in(answer: Answer | None, step: Step) -> OutcomeDocument:
    match answer:
        case {"outcome": str(text), "folder": str(folder)} if folder:
            # The worker's folder stands in paths of the records; this machine has another.
            here = json.dumps(str(step.task.folder))[1:-1]
            return parse(OutcomeDocument, text.replace(json.dumps(folder)[1:-1], here))
        case _:
            raise ValueError("it has no outcome")


def _state_before(step: Step) -> FactoryState:
    return step.making.state if step.making else first_state()
