"""Asks a model once, with a prompt that is being tried, and runs the task's tests on the reply."""

from __future__ import annotations

import shlex
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from benchmarks.model.first_prompts import FIRST_PROMPTS, focus_of_task, shown_files
from benchmarks.model.results import Result
from benchmarks.model.tasks import Task
from factory.orders.documents import ReplyFormat
from factory.proposal.read_reply import ProposalInvalid, parse_proposal
from factory.proposal.shown_code import hashes_of, texts_of
from factory.sandbox.detect import open_sandbox
from factory.sandbox.policy import Backend, Policy
from shared.llm.model_client import Api, CallPlace, LlmClient, ReplyFailed, Request, Role
from shared.work_order.parse_order import sha256_bytes

MAX_OUTPUT_TOKENS = 600
"""The bound of a reply that is no longer than this; a whole file may need more."""
_CHARACTERS_OF_A_TOKEN = 3
_JUDGING_SECONDS = 20.0


def ask(client: LlmClient, model: str, variant: str, task: Task) -> Result:
    """Return what came of asking once, at temperature 0.

    Raises `ModelUnavailable` where the server cannot be asked.
    """
    prompt = FIRST_PROMPTS[variant].render(task)
    request = Request(
        Api.CHAT,
        model,
        prompt,
        CallPlace(Role.FACTORY, 1, "WO-01"),
        temperature=0.0,
        max_output_tokens=_bound(task),
    )
    started = time.monotonic()
    try:
        completion = client.complete(request)
        text, usage = completion.text, completion.usage
        failure = judge_reply(text, variant, task)
    except ReplyFailed as failed:
        text, usage, failure = "", failed.usage, "no reply"
    return Result(
        model=model,
        variant=variant,
        task=task.name,
        kind=task.kind,
        passed=not failure,
        failures=(failure,) if failure else (),
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        seconds=round(time.monotonic() - started, 2),
        prompt=sha256_bytes(prompt.encode())[:12],
        texts=(text,),
    )


def _bound(task: Task) -> int:
    """Return how many tokens a reply may have: enough for the whole file, and for some more."""
    return MAX_OUTPUT_TOKENS + len(task.files.get(task.path, "")) // _CHARACTERS_OF_A_TOKEN


def judge_reply(text: str, variant: str, task: Task) -> str:
    """Return where the reply fails: `format`, `scope`, `tests`, or nothing if it passes.

    A definition that cannot be applied, because it is as it was for example, fails at the `format`.
    """
    allowed = task.order["allowed_files"]
    files = shown_files(task)
    shown, texts = hashes_of(files), texts_of(files)
    try:
        focus = focus_of_task(task) if FIRST_PROMPTS[variant].by_focus else None
        asked = ReplyFormat.EDITS if focus else ReplyFormat.FILES
        parsed = parse_proposal(text, asked, shown, allowed, texts=texts, focus=focus)
    except ProposalInvalid:
        return "format"
    proposal = parsed.proposal
    if not set(proposal.paths).issubset(allowed):
        return "scope"
    written = {each.path: each.content for each in proposal.writes}
    if FIRST_PROMPTS[variant].completes:
        written = {path: f"{task.stub}\n\n{text}" for path, text in written.items()}
    return "" if passes(task, written) else "tests"


def passes(task: Task, written: Mapping[str, str]) -> bool:
    """Return whether the acceptance commands pass on the task's files with `written` over them."""
    with tempfile.TemporaryDirectory(prefix="llmch-judged-") as folder:
        tree, private = Path(folder) / "tree", Path(folder) / "private"
        private.mkdir()
        for path, text in {**task.files, **written}.items():
            (tree / path).parent.mkdir(parents=True, exist_ok=True)
            (tree / path).write_text(text, encoding="utf-8")
        policy = Policy(tree, None, private, Path(sys.executable))
        sandbox = open_sandbox(Backend.AUTO, policy)
        return all(
            sandbox.run(
                shlex.split(command), timeout_seconds=_JUDGING_SECONDS, log=Path(folder) / "log"
            ).ok
            for command in task.order["acceptance_commands"]
        )
