"""Defines stages, states, failures and decisions of an order: their names, words and remedies.

`llmch explain` and `docs/stages.md` show these texts, and `run-all` and `status` use them, so that
all say the same. `status` reads the journal by these types, so nothing here imports pydantic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final, Literal

from shared.work_order import plan_folder

VerdictWord = Literal["PASS", "FAIL", "ERROR"]
"""How an order or a run was judged. A verdict says whether the requested work is done. The state
of an order (`OrderState`) also covers orders that were never judged."""


class AttemptStage(StrEnum):
    """Name the step that an attempt is at. A `Stage` says something else: how an attempt failed."""

    PROPOSE = "propose"
    APPLY = "apply"
    CONTRACT = "contract"
    VERIFY = "verify"
    ACCEPT = "accept"
    COMMIT = "commit"


class Stage(StrEnum):
    """Name the way in which an attempt failed, which decides what the next prompt says about it."""

    PREFLIGHT = "preflight"
    EXCEPTION = "exception"
    REPEATED = "repeated"
    LLM_OUTPUT_INVALID = "llm_output_invalid"
    WRITE_SCOPE_VIOLATION = "write_scope_violation"
    STALE_CONTEXT = "stale_context"
    WRITE_FAILED = "write_failed"
    VERIFY_FAILED = "verify_failed"
    CONTRACT_VIOLATED = "contract_violated"
    ACCEPTANCE_FAILED = "acceptance_failed"
    ENVIRONMENT = "environment"
    IMPOSSIBLE = "impossible"
    CONFLICT = "conflict"
    WEAK_TESTS = "weak_tests"

    @property
    def retryable(self) -> bool:
        """Return whether another proposal could succeed."""
        return TEXT_OF[self].retryable


@dataclass(frozen=True, slots=True)
class StageText:
    """Hold the texts about a stage of a failure; `remedy` is what a person can do."""

    stage: Stage
    happened: str
    consequence: str
    """Why another attempt follows, or why none does."""
    remedy: str
    next_step: str
    """A clause of the last lines of a run: `{order}` is the order, `{place}` the option that names
    the repo, `{model}` the options that name the model."""
    reminder: str = ""
    """A sentence of the next prompt, in either reply format: `{allowed}` are the allowed files."""
    retryable: bool = True
    """Nothing that a model proposes can fix the plan, the disk, or what is not installed."""


_ASK_ANOTHER = "`llmch retry {order}{place} --factory-model MODEL` asks another model"
_ASK_AGAIN = "`llmch retry {order}{place}{model} --hint TEXT` asks again with what you tell it"
_KEEP_COMMANDS = "The commands cannot be changed: change the files so that all commands succeed."
_ANSWERED = "The next prompt contains this failure, and another proposal can answer it."

STAGE_TEXTS: Final = (
    StageText(
        Stage.PREFLIGHT,
        "The order could not begin: a precondition does not hold, a file that it removes is not "
        "there, a file cannot be shown whole as text, or an acceptance command proves nothing "
        "under `--strict-acceptance`.",
        "No reply can fix the plan, so the model is not asked.",
        "Correct the order: the plan is wrong, not the code.",
        "",  # depends on the plan: see `_correct`
        retryable=False,
    ),
    StageText(
        Stage.EXCEPTION,
        "The model gave no usable reply, an agent left nothing to judge, or the attempt was under "
        "way when the run ended.",
        "The same question can get another answer.",
        "Look at the excerpt. For cut replies, raise `factory.max_output_tokens` or split the "
        "order.",
        _ASK_ANOTHER,
    ),
    StageText(
        Stage.LLM_OUTPUT_INVALID,
        "The reply could not be read as a proposal. The excerpt quotes it.",
        "The next prompt says what could not be read, and another reply can be right.",
        "Try another model, or `--reply-format files`. The reply is in `raw_llm_response.txt`.",
        _ASK_ANOTHER,
        reminder="Reply in exactly the format that is asked for, and nothing else.",
    ),
    StageText(
        Stage.REPEATED,
        "The model gave files that had failed before, also after it was told so. They were not "
        "judged again: command, exit code, excerpt and facts are those of the failure that "
        "`repeats` names.",
        "The next model of the ladder is asked. If there is none, asking again would bring the "
        "same files, so the order ends.",
        "Name a larger model after this one (`--factory-model small,large`), or say by "
        "`llmch retry ORDER --hint TEXT` what is missed.",
        _ASK_AGAIN,
        reminder="Give other files than before.",
    ),
    StageText(
        Stage.WRITE_SCOPE_VIOLATION,
        "The proposal names a file that the order does not allow, is too large, is not text, or "
        "would be stored by git with other content.",
        "Nothing was written. The next prompt names the files that are allowed.",
        "Where the model is right, add the file to `allowed_files`.",
        _ASK_AGAIN,
        reminder="Write only: {allowed}.",
    ),
    StageText(
        Stage.STALE_CONTEXT,
        "The proposal is based on another content of a file than the file has.",
        "Nothing was written. The next attempt is shown the file as it is.",
        "Nothing, unless it comes again: then the model invents the hashes; try "
        "`--reply-format files`.",
        _ASK_AGAIN,
        reminder="Start from the files as they are now, not from an earlier state of them.",
    ),
    StageText(
        Stage.ENVIRONMENT,
        "The environment lacks what a command needs: a program, a package that the repo declares, "
        "the network, or room on the disk.",
        "No other proposal could provide it, so the order ends. A missing program that an "
        "acceptance command names is found before the model is asked.",
        "Do what the remedy says, then run the command again. A reply that came is on record and "
        "not paid for again.",
        "provide what the command lacks",
        retryable=False,
    ),
    StageText(
        Stage.WRITE_FAILED,
        "The disk or git refused to write a file.",
        "No other proposal could be written either, so the order ends.",
        "Check free space and permissions, then run the command again.",
        "free space or correct the permissions",
        retryable=False,
    ),
    StageText(
        Stage.IMPOSSIBLE,
        "The model says that the order cannot be done, and why. The command or test that it names "
        "belongs to the order, and passed neither before the work nor in an earlier attempt.",
        "Another attempt would be paid for in vain, so the order ends.",
        "Correct the order, or plan it again by `llmch plan --from PLAN`, whose prompt has the "
        "reason.",
        "",  # depends on the plan: see `_plan_again`
        retryable=False,
    ),
    StageText(
        Stage.CONFLICT,
        "The commit that landed the order elsewhere could not be carried onto this branch: both "
        "changed the same lines, or it did not land anywhere; and no model is asked.",
        "The same two branches conflict again, so the order ends.",
        "Have a model make the order there (the same command without `--llm replay`), give the "
        "order's files as they should be by `llmch accept ORDER --dir DIR`, or plan what conflicts "
        "again by `llmch plan --from PLAN --branch BRANCH`.",
        "`llmch retry {order}{place}{model}` has a model make it there",
        retryable=False,
    ),
    StageText(
        Stage.CONTRACT_VIOLATED,
        "The files break a declared interface, or drop public names or most of a file that the "
        "order does not name in `changes`.",
        _ANSWERED,
        "Where the loss is meant, name it in `changes`; where the interface is wrong, correct it.",
        _ASK_AGAIN,
        reminder="Keep every declared name and signature exactly as the work order gives it.",
    ),
    StageText(
        Stage.VERIFY_FAILED,
        "The repository's verification failed, changed a file that the proposal wrote, or ran no "
        "test, or none that its output shows, although it ran some before the order.",
        _ANSWERED,
        "`llmch diff ORDER` shows the change, and `llmch repro ORDER` runs the command on it "
        "again. Run the verification on the base: it must pass there.",
        _ASK_AGAIN,
        reminder=_KEEP_COMMANDS,
    ),
    StageText(
        Stage.ACCEPTANCE_FAILED,
        "A postcondition does not hold, an acceptance command failed, a command changed a file "
        "that the proposal wrote, or a test command ran no test and so proves nothing.",
        _ANSWERED,
        "`llmch repro ORDER` runs the command on the change again. Read the command as well as "
        "the code: the model cannot change a command that is wrong.",
        _ASK_AGAIN,
        reminder=_KEEP_COMMANDS,
    ),
    StageText(
        Stage.WEAK_TESTS,
        "The order's files passed, but its own commands notice fewer small faults in them than "
        "`strength.min` asks for. The excerpt lists faults that none of them notices.",
        "The tests are the plan's, so no other proposal could make them stronger, and the order "
        "ends.",
        "Plan the order again by `llmch plan --from PLAN`, whose prompt lists the faults, or lower "
        "`strength.min`.",
        "",  # depends on the plan: see `_plan_again`
        retryable=False,
    ),
)
"""The text of each stage of a failure, in the sequence in which an attempt can fail."""

TEXT_OF: Final = {each.stage: each for each in STAGE_TEXTS}

ATTEMPT_STAGE_TEXTS: Final = {
    AttemptStage.PROPOSE: "preconditions are checked, files are read, and the model is asked",
    AttemptStage.APPLY: "the proposal is checked, and its files are written to the workspace",
    AttemptStage.CONTRACT: "the files are compared with the interfaces that orders declare; no "
    "code runs",
    AttemptStage.VERIFY: "the repository's own verification runs",
    AttemptStage.ACCEPT: "postconditions are checked, and the acceptance commands run",
    AttemptStage.COMMIT: "the verified tree becomes a commit, which then lands on the branch",
}


@dataclass(frozen=True, slots=True)
class PlanAtHand:
    """Say where the plan of a run is, and whether a person has edited it since it was sealed."""

    folder: Path
    edited: bool = False


def next_step(
    stage: Stage | Literal["error"],
    order: str,
    *,
    place: str = "",
    model: str = "",
    remedy: str = "",
    plan: PlanAtHand | None = None,
    beside: Sequence[str] = (),
) -> str:
    """Return what a person does next about an order that failed at `stage`, as a clause.

    The orders `beside` failed at the same stage: where it helps, all are planned again at once.
    `place` is the option with which verbs find the repo, after a space; "" in the repo itself.
    `model` has the options with which a verb asks the model that was asked, each after a space.
    `remedy` is what the failure itself says; it goes first. `plan` is the plan of the order, `None`
    if the order has no manifest with a hash. The result is "" if the error that ended the run
    says what to do.
    """
    if remedy:
        return remedy
    if stage == "error":
        return ""
    if stage is Stage.PREFLIGHT:
        return _correct(order, plan)
    if stage in (Stage.IMPOSSIBLE, Stage.WEAK_TESTS):
        return _plan_again(stage, (order, *beside), place, plan)
    return TEXT_OF[stage].next_step.format(order=order, place=place, model=model)


def _correct(order: str, plan: PlanAtHand | None) -> str:
    """Return how an order is corrected that no proposal can carry out."""
    if plan is None:
        return f"correct {order}, or plan again: `llmch check PLAN` judges the plan without a model"
    command = f"`{plan_folder.accept_edits(plan.folder)}`"
    if plan.edited:
        return f"{command} takes what you edited in the plan"
    return f"correct {order} and take the edit by {command}, or plan again"


_MOST_NAMED: Final = 8


def _plan_again(stage: Stage, orders: Sequence[str], place: str, plan: PlanAtHand | None) -> str:
    """Return how orders are planned again that contradict themselves, or whose tests are weak."""
    named, more = ", ".join(orders[:_MOST_NAMED]), len(orders) - _MOST_NAMED
    named += f" and {more} more" if more > 0 else ""
    them, this = ("it", "this reason") if len(orders) == 1 else ("them", "these reasons")
    command = f"{plan_folder.plan_again(plan.folder if plan else None)}{place}"
    if stage is Stage.WEAK_TESTS:
        return f"plan {named} alone again, with these faults in the prompt: `{command}`"
    return f"correct {named}, or plan {them} alone again with {this} in the prompt: `{command}`"


class OrderState(StrEnum):
    """Name the state of an order in this run.

    Only the last six appear in a summary: a run that is over leaves no order in the other states.
    An order waits for those that it needs, and again before its next attempt. Its proposal is
    judged once its parent is known, and what was judged waits for its turn to land. An order that
    is left out is not made because a person decided so.
    """

    WAITING = "waiting"
    PROPOSING = "proposing"
    PROPOSED = "proposed"
    JUDGING = "judging"
    JUDGED = "judged"
    LANDED = "landed"
    SKIPPED = "skipped"
    FAILED = "failed"
    BLOCKED = "blocked"
    PENDING = "pending"
    LEFT_OUT = "left_out"

    @property
    def is_on_branch(self) -> bool:
        """Return whether the order's commit is on the branch, from this run or an earlier one."""
        return self in (OrderState.LANDED, OrderState.SKIPPED)

    @property
    def is_over(self) -> bool:
        """Return whether this run does nothing more for the order."""
        return self not in _UNFINISHED


_UNFINISHED = frozenset(
    {
        OrderState.WAITING,
        OrderState.PROPOSING,
        OrderState.PROPOSED,
        OrderState.JUDGING,
        OrderState.JUDGED,
    }
)

EndState = Literal[
    OrderState.LANDED,
    OrderState.SKIPPED,
    OrderState.FAILED,
    OrderState.BLOCKED,
    OrderState.PENDING,
    OrderState.LEFT_OUT,
]
"""The states that an order can have when its run is over."""


@dataclass(frozen=True, slots=True)
class RepeatedFailure:
    """Name the attempt whose files were given again, and the stage at which they failed."""

    attempt: int
    stage: Stage


@dataclass(frozen=True, slots=True)
class Failure:
    """Say why an attempt or an order failed, as the journal and the summaries record it.

    The stage is "error" if the harness or its environment failed, not a proposal. `remedy` is what
    a person can do where no other attempt would help, and "" elsewhere. Where the stage is
    `repeated`, command, exit code and excerpt are those of the failure that `repeats` names.
    """

    stage: Stage | Literal["error"]
    command: str | None = None
    exit_code: int | None = None
    excerpt: str = ""
    remedy: str = ""
    repeats: RepeatedFailure | None = None

    @property
    def facts(self) -> tuple[str, ...]:
        """Return nothing: the facts of a failure are in the brief of its attempt."""
        return ()


@dataclass(frozen=True, slots=True)
class DecisionKey:
    """Identify an order on a branch, also in the plans that follow its plan.

    `plan` is the hash of the oldest plan, "" for an order without a plan. `key` is the hash of the
    order's work: an order that is worded anew is another order.
    """

    branch: str
    plan: str
    order: str
    key: str


@dataclass(frozen=True, slots=True)
class AcceptedCommit:
    """Name the commit that was accepted for an order, and the requirements that it so covers.

    `beyond` are the files that it changes although the order does not allow it.
    """

    commit: str
    title: str = ""
    covers: tuple[str, ...] = ()
    beyond: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Decision:
    """Hold the decision on an order: a hint for its prompts, a reason to leave it out, a commit.

    A commit and a reason exclude each other. Empty values mean that nothing was decided.
    """

    hint: str = ""
    left_out: str = ""
    accepted: AcceptedCommit | None = None

    @property
    def is_empty(self) -> bool:
        return self == NOTHING_DECIDED


NOTHING_DECIDED: Final = Decision()
