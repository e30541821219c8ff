"""Explains each stage: what happens there, why an order is tried again or ends, and what to do.

`llmch explain` and `docs/stages.md` both show these texts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from factory.orders.stages import AttemptStage, Stage


@dataclass(frozen=True, slots=True)
class StageText:
    """Explain a stage of a failure; `remedy` is what a person can do."""

    stage: Stage
    happened: str
    consequence: str
    """Why another attempt follows, or why none does."""
    remedy: str


_ANSWERED = "The next prompt contains this failure, and another proposal can answer it."

STAGE_TEXTS: Final = (
    StageText(
        Stage.PREFLIGHT,
        "The order could not begin: a precondition does not hold, a file that it removes is not "
        "there, a file cannot be shown whole as text, or an acceptance command proves nothing "
        "under `--strict-acceptance`.",
        "No reply can fix the plan, so the model is not asked.",
        "Correct the order: the plan is wrong, not the code.",
    ),
    StageText(
        Stage.EXCEPTION,
        "The model gave no usable reply, or the attempt was under way when the run ended.",
        "The same question can get another answer.",
        "Look at the excerpt. For cut replies, raise `factory.max_output_tokens` or split the "
        "order.",
    ),
    StageText(
        Stage.LLM_OUTPUT_INVALID,
        "The reply could not be read as a proposal. The excerpt quotes it.",
        "The next prompt says what could not be read, and another reply can be right.",
        "Try another model, or `--reply-format files`. The reply is in `raw_llm_response.txt`.",
    ),
    StageText(
        Stage.REPEATED,
        "The model gave files that had failed before, also after it was told so. They were not "
        "judged again.",
        "The next model of the ladder is asked. If there is none, asking again would bring the "
        "same files, so the order ends.",
        "Name a larger model after this one (`--llm-model small,large`), or say by `llmch retry "
        "ORDER --hint TEXT` what is missed.",
    ),
    StageText(
        Stage.WRITE_SCOPE_VIOLATION,
        "The proposal names a file that the order does not allow, is too large, is not text, or "
        "would be stored by git with other content.",
        "Nothing was written. The next prompt names the files that are allowed.",
        "Where the model is right, add the file to `allowed_files`.",
    ),
    StageText(
        Stage.STALE_CONTEXT,
        "The proposal is based on another content of a file than the file has.",
        "Nothing was written. The next attempt is shown the file as it is.",
        "Nothing, unless it comes again: then the model invents the hashes; try "
        "`--reply-format files`.",
    ),
    StageText(
        Stage.ENVIRONMENT,
        "The environment lacks what a command needs: a program, a package that the repo declares, "
        "the network, or room on the disk.",
        "No other proposal could provide it, so the order ends. A missing program that an "
        "acceptance command names is found before the model is asked.",
        "Do what the remedy says, then run the command again. A reply that came is on record and "
        "not paid for again.",
    ),
    StageText(
        Stage.WRITE_FAILED,
        "The disk or git refused to write a file.",
        "No other proposal could be written either, so the order ends.",
        "Check free space and permissions, then run the command again.",
    ),
    StageText(
        Stage.CONTRACT_VIOLATED,
        "The files break a declared interface, or drop public names or most of a file that the "
        "order does not name in `changes`.",
        _ANSWERED,
        "Where the loss is meant, name it in `changes`; where the interface is wrong, correct it.",
    ),
    StageText(
        Stage.VERIFY_FAILED,
        "The repository's verification failed, changed a file that the proposal wrote, or ran no "
        "test, or none that its output shows, although it ran some before the order.",
        _ANSWERED,
        "`llmch diff ORDER` shows the change, and `llmch repro ORDER` runs the command on it "
        "again. Run the verification on the base: it must pass there.",
    ),
    StageText(
        Stage.ACCEPTANCE_FAILED,
        "A postcondition does not hold, an acceptance command failed, a command changed a file "
        "that the proposal wrote, or a test command ran no test and so proves nothing.",
        _ANSWERED,
        "`llmch repro ORDER` runs the command on the change again. Read the command as well as "
        "the code: the model cannot change a command that is wrong.",
    ),
)
"""The text of each stage of a failure, in the sequence in which an attempt can fail."""

ATTEMPT_STAGE_TEXTS: Final = {
    AttemptStage.PROPOSE: "preconditions are checked, files are read, and the model is asked",
    AttemptStage.APPLY: "the proposal is checked, and its files are written to the workspace",
    AttemptStage.CONTRACT: "the files are compared with the interfaces that orders declare; no "
    "code runs",
    AttemptStage.VERIFY: "the repository's own verification runs",
    AttemptStage.ACCEPT: "postconditions are checked, and the acceptance commands run",
    AttemptStage.COMMIT: "the verified tree becomes a commit, which then lands on the branch",
}
