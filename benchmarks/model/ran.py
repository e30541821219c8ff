"""Runs a task as a user would: `llmch run` on a repo of its own, with three attempts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.model.figures import ATTEMPTS
from benchmarks.model.results import Result
from benchmarks.model.tasks import Task
from shared.errors import ExitCode, LlmchError

_PROJECT = Path(__file__).resolve().parents[2]
# A run of three attempts at a model of two billion parameters took up to five minutes on two cores.
_RUN_SECONDS = 3600.0
_STOP_SECONDS = 30.0
_MOST_TOLD = 2000  # characters
_IDENTITY = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")


class RunBroken(LlmchError):
    """Say that a run ended in an error, which is neither a pass nor a failure of the model."""


@dataclass(frozen=True, slots=True)
class Server:
    """Hold the model's name, and the variables that lead a process to its server."""

    model: str
    environment: Mapping[str, str]


def run(server: Server, variant: str, task: Task, *options: str) -> Result:
    """Return what came of the task's order. Raises `RunBroken` where the run could not be made."""
    with tempfile.TemporaryDirectory(prefix="llmch-bench-model-") as folder:
        scratch = Path(folder)
        repo = _make_repo(scratch / "project", task.files)
        order = scratch / "WO-01.json"
        order.write_text(json.dumps(task.order))
        where = ("--repo", repo, "--work-order", order, "--artifacts-dir", scratch / "artifacts")
        asked = ("--factory-model", server.model, "--max-attempts", ATTEMPTS, "--json", *options)
        started = time.monotonic()
        summary = _summary(["run", *map(str, (*where, *asked))], scratch, server.environment)
        seconds = time.monotonic() - started
        return result_of(server.model, variant, task, summary, seconds)


def _make_repo(folder: Path, files: Mapping[str, str]) -> Path:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    for arguments in (("init", "--quiet"), ("add", "--all"), ("commit", "--quiet", "-m", "Begin")):
        subprocess.run(["git", *_IDENTITY, *arguments], cwd=folder, check=True)
    return folder


def _summary(arguments: Sequence[str], scratch: Path, server: Mapping[str, str]) -> Any:
    """Return the document of the run; the run ends with us, also where we are interrupted."""
    environment = {
        **os.environ,
        **server,
        "PYTHONPATH": str(_PROJECT),
        "LLMCH_WORKSPACES": str(scratch / "workspaces"),
    }
    command = [sys.executable, "-m", "llmch", *arguments]
    with subprocess.Popen(
        command,
        cwd=scratch,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            answer, told = process.communicate(timeout=_RUN_SECONDS)
        except BaseException:
            _end(process)
            raise
    if process.returncode not in (ExitCode.OK, ExitCode.FAILED):
        raise RunBroken(
            f"a run ended with exit code {process.returncode}: {_reason(answer, told)}",
            hint="what was measured before is kept; the same command goes on",
        )
    return json.loads(answer)


def _reason(answer: str, told: str) -> str:
    """Return what the run says of its error, or the end of what it told."""
    try:
        return str(json.loads(answer)["error"]["message"])
    except (ValueError, KeyError, TypeError):
        return told.strip()[-_MOST_TOLD:]


def _end(process: subprocess.Popen[str]) -> None:
    process.terminate()
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()


def result_of(model: str, variant: str, task: Task, summary: Any, seconds: float) -> Result:
    """Return what the summary of a run and the folders of its attempts say."""
    attempts = sorted(Path(summary["run_dir"]).glob("attempt_*"), key=_number)
    texts = tuple(text for attempt in attempts for text in _replies(attempt))
    usage = summary["usage"]
    return Result(
        model=model,
        variant=variant,
        task=task.name,
        kind=task.kind,
        passed=summary["verdict"] == "PASS",
        failures=tuple(stage for stage in map(_failure, attempts) if stage),
        input_tokens=usage["input_tokens"],
        output_tokens=usage["output_tokens"],
        seconds=round(seconds, 2),
        repeated=len(texts) - len(set(texts)),
        calls=usage["calls"],
        texts=texts,
    )


def _number(attempt: Path) -> int:
    return int(attempt.name.rpartition("_")[2])


def _failure(attempt: Path) -> str:
    file = attempt / "failure_brief.json"
    return str(json.loads(file.read_text("utf-8"))["stage"]) if file.exists() else ""


def _replies(attempt: Path) -> list[str]:
    """Return what the model replied in one attempt, which may ask more than once."""
    files = attempt.glob("raw_llm_response*.txt")
    return [file.read_text("utf-8") for file in sorted(files, key=_place)]


def _place(file: Path) -> tuple[int, str]:
    return len(file.name), file.name
