"""Lists the files that runs leave, folder by folder.

In names and places, `<id>` is the id of a run, `N` a number, and `*` any text. A test compares the
list with what runs leave.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Folder:
    """Say what each file of a folder holds; `place` and the names below it are patterns."""

    place: str
    files: Mapping[str, str]
    aside: str = ""


_EVERY_RUN: Final = {
    "run.json": "how the run was asked for, and how it ended: version, orders, settings, hashes",
    "events.jsonl": "what happened, and when",
    "transcript.jsonl": "every request to a model with its reply, so that none is paid for twice",
    "traceback.txt": "where llmch itself failed",
}

LAYOUT: Final = (
    Folder(
        "artifacts/planner/<id>/",
        {
            **_EVERY_RUN,
            "compile_summary.json": "how the plan came about: attempts, usage, findings",
            "validation_errors.json": "the errors that are left where there is no valid plan",
            "output/WO-NN.json": "the orders of the plan",
            "output/WORK_ORDERS_MANIFEST.json": "the plan as a whole, with its hash",
        },
    ),
    Folder(
        "artifacts/planner/<id>/compile/",
        {
            "prompt_attempt_N.txt": "what the model was asked",
            "llm_raw_response_attempt_N.txt": "its reply",
            "llm_reasoning_attempt_N.txt": "its reasoning, as far as the server shows it",
            "manifest_raw_attempt_N.json": "the plan in the reply",
            "validation_errors_attempt_N.json": "what the rules found in it",
            "reviewer_prompt*.txt": "what the reviewer was asked",
            "reviewer_response*.json": "its reply",
            "reviewer_errors*.json": "which of its claims count",
        },
    ),
    Folder(
        "artifacts/factory/<id>/",
        {
            **_EVERY_RUN,
            "run_summary.json": "the verdict, the commits, and what verified them",
            "base/*": "the verification before any order",
        },
    ),
    Folder(
        "artifacts/factory/<id>/WO-NN/",
        {
            "work_order.json": "the order",
            "run_summary.json": "its verdict",
            "baseline/*": "its acceptance commands on the commit that it began from",
            "hollow/*": "the same on code that keeps the interfaces and does nothing",
            "dropped_N/*": "a judgement that does not count, because another order did not land as "
            "it was expected",
        },
        "the same without WO-NN/ for `llmch run`",
    ),
    Folder(
        "artifacts/factory/<id>/WO-NN/attempt_N/",
        {
            "se_prompt*.txt": "what the model was asked; `again` where it was asked again",
            "raw_llm_response*.txt": "its reply",
            "proposed_writes.json": "the whole files that the reply comes to",
            "placed_files.json": "the tests of the plan that were written beside them",
            "write_result.json": "what was written, or why nothing was",
            "contract_result.json": "whether the files keep the declared interfaces",
            "verify_result.json": "the verification: commands, exit codes, tests",
            "acceptance_result.json": "postconditions and acceptance commands likewise",
            "failure_brief.json": "why the attempt failed, as the next one is shown it",
            "rejected.patch": "what a failed attempt changed, as git's own diff",
            "logs/*": "what each command printed",
        },
    ),
    Folder(
        ".git/llmch/",
        {
            "journal.jsonl": "each step of the latest run; the next start recovers from it",
            "state.json": "where the latest run stands, for `llmch status`",
            "plans.json": "the plans that `llmch build` made",
            "decisions.json": "hints, accepted commits and orders that were left out",
            "verified.json": "trees that passed their verification",
            "lock": "one run at a time holds it",
            "*.lock": "one process at a time changes the file of this name",
            "beside/*": "which workspaces are left where a command beside a run was killed",
        },
    ),
)
