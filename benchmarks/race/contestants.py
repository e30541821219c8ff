"""Runs each tool on a task as its documentation says, in a repository of its own.

What a tool says of its own work is its claim: that it is done, or not. Tools that run commands of
the model do so in bubblewrap, without a network but for the model.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from benchmarks.race.gateway import Counted, counting
from benchmarks.race.tasks import Task
from benchmarks.setting import git
from factory.agents.known_agents import agent_named, found_agents
from factory.agents.launch import Errand, agent_sandbox
from factory.sandbox.policy import Policy
from shared.errors import ExitCode, LlmchError
from shared.languages.registry import language_of

_PROJECT: Final = Path(__file__).resolve().parents[2]
_FENCED: Final = re.compile(
    r"^(?:\W*([\w./-]+)\W*\n)?```[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL
)


@dataclass(frozen=True, slots=True)
class Server:
    """Hold a model with its server, and how long one task may take."""

    model: str
    base_url: str
    key: str
    minutes: float


@dataclass(frozen=True, slots=True)
class Entry:
    """Hold one task of one tool: its repository, what was counted, and what the tool claims."""

    repo: Path
    counted: Counted
    claimed: bool
    seconds: float
    said: str


_GIVEN_UP: Final = re.compile(r"^Exit:\s*\S*(?:Error|Exceeded)\b", re.MULTILINE)


def has_given_up(said: str) -> bool:
    """Return whether an agent names, as mini-swe-agent does at its end, what has stopped it."""
    return _GIVEN_UP.search(said) is not None


Contestant = Callable[[Task, Path, Server], Entry]


class CannotRun(LlmchError):
    """Say that a tool could not be started, which is neither a pass nor a failure."""


def make_repo(task: Task, folder: Path) -> Path:
    """Return a repository with the task's files and nothing of its tests."""
    repo = folder / "project"
    if task.repo is not None:
        git(folder, "clone", "--quiet", "--no-hardlinks", str(task.repo), str(repo))
        git(repo, "checkout", "--quiet", "-B", "main", task.commit)
    else:
        for path, text in task.files.items():
            (repo / path).parent.mkdir(parents=True, exist_ok=True)
            (repo / path).write_text(text, "utf-8")
        git(repo, "init", "--quiet", "--initial-branch=main")
        git(repo, "add", "--all")
        git(repo, "commit", "--quiet", "--message=Begin")
    # aider has git ignore its caches, once a person has said yes to that.
    with (repo / ".git/info/exclude").open("a") as exclude:
        exclude.write(".aider*\n")
    return repo


def run_plain(task: Task, folder: Path, server: Server) -> Entry:
    """Ask once for the whole files, and write what comes back. It claims what it answers."""
    repo = make_repo(task, folder)
    shown = "".join(_shown(repo, path) for path in task.targets if (repo / path).is_file())
    form = "Reply with the whole file in one fenced code block."
    if len(task.targets) > 1:
        form = "Reply with each file whole: its path on a line, then a fenced block."
    asked = f"{task.text}\n\n{shown}{form}"
    started = time.monotonic()
    with counting(server.base_url, server.key) as (url, counted):
        said = _reply(url, server.model, asked, server.minutes * 60)
    blocks = _FENCED.findall(said)
    for path, text in blocks:
        target = path if path in task.targets else task.targets[0] if len(blocks) == 1 else ""
        if target:
            (repo / target).parent.mkdir(parents=True, exist_ok=True)
            (repo / target).write_text(text, "utf-8")
    return Entry(repo, counted, bool(blocks), time.monotonic() - started, said)


def _shown(repo: Path, path: str) -> str:
    language = language_of(path)
    name = language.name.lower() if language else ""
    return f"This is {path}:\n\n```{name}\n{(repo / path).read_text('utf-8')}```\n\n"


def _reply(url: str, model: str, text: str, seconds: float) -> str:
    message = {"role": "user", "content": text}
    body = json.dumps({"model": model, "messages": [message], "temperature": 0}).encode()
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"{url}/chat/completions", body, headers)
    try:
        with urllib.request.urlopen(request, timeout=seconds) as reply:
            return str(json.load(reply)["choices"][0]["message"]["content"] or "")
    except (OSError, ValueError, LookupError) as error:
        return f"no reply: {error}"


# A small model may go on without end, and its agents have no limit where calls cost nothing.
_MOST_STEPS: Final = 20
_LIMITS: Final = {"mini": ("-c", f"agent.step_limit={_MOST_STEPS}")}


def run_agent(name: str) -> Contestant:
    """Return the agent of that name, started as llmch does, with nothing else of llmch around."""

    def run(task: Task, folder: Path, server: Server) -> Entry:
        repo = make_repo(task, folder)
        agent = agent_named((name,))
        agent = replace(agent, words=(*agent.words, *_LIMITS.get(name, ())))
        errand = Errand(task.text, server.model, task.targets, (), server.minutes, folder / "agent")
        private = folder / "private"
        private.mkdir()
        policy = Policy(repo, repo / ".git", private, Path(sys.executable))
        started = time.monotonic()
        with (
            # The name of a socket has at most 107 bytes, wherever the records are kept.
            tempfile.TemporaryDirectory(prefix="race-") as sockets,
            agent_sandbox(policy, Path(sockets) / "place", agent, server.minutes) as place,
            counting(server.base_url, server.key, place.socket) as (_, counted),
        ):
            stay = place.run(agent, errand, str)
        if stay.not_started:
            raise CannotRun(
                f"{name} was not started: {stay.not_started}", "see that it works alone"
            )
        # Neither says by its exit code whether it is done: whoever ends by itself says so, unless
        # it names what has stopped it.
        was_stopped = stay.was_stopped or counted.is_in_circles
        by_itself = not was_stopped and counted.calls > counted.refused
        claimed = by_itself and not has_given_up(stay.output)
        return Entry(repo, counted, claimed, time.monotonic() - started, stay.output)

    return run


def run_do(task: Task, folder: Path, server: Server) -> Entry:
    """Run `llmch do` with the text and the files."""
    return _run_llmch(task, folder, server, ("do", task.text, *task.targets, "--yes"))


def run_do_by_agent(task: Task, folder: Path, server: Server) -> Entry:
    """Run `llmch do` with mini-swe-agent as the proposer."""
    words = ("do", task.text, *task.targets, "--yes", "--proposer", "mini")
    return _run_llmch(task, folder, server, words)


def run_plan(task: Task, folder: Path, server: Server) -> Entry:
    """Run `llmch build`: a plan from the text as a specification, and all of its orders."""
    spec = folder / "spec.md"
    targets = ", ".join(task.targets)
    spec.write_text(f"# {task.name}\n\n{task.text}\n\nThe files: {targets}.\n", "utf-8")
    return _run_llmch(task, folder, server, ("build", "--spec", str(spec), "--yes", "--no-ask"))


def _run_llmch(task: Task, folder: Path, server: Server, words: tuple[str, ...]) -> Entry:
    repo = make_repo(task, folder)
    started = time.monotonic()
    with counting(server.base_url, server.key) as (url, counted):
        models = ("--planner-model", server.model, "--factory-model", server.model)
        records = ("--artifacts-dir", str(folder / "artifacts"), "--branch", "work", "--json")
        done = _process(
            (sys.executable, "-m", "llmch", *words, *models, *records),
            repo,
            {
                "OPENAI_BASE_URL": url,
                "OPENAI_API_KEY": "none",
                "PYTHONPATH": str(_PROJECT),
                "LLMCH_WORKSPACES": str(folder / "workspaces"),
                "LLMCH_FACTORY_AGENT_CALLS": str(_MOST_STEPS),
            },
            server.minutes * 60,
        )
    claimed = done.returncode == ExitCode.OK
    if claimed:
        git(repo, "checkout", "--quiet", "work")
    return Entry(repo, counted, claimed, time.monotonic() - started, done.stdout + done.stderr)


def _process(
    argv: tuple[str, ...], cwd: Path, variables: Mapping[str, str], seconds: float
) -> subprocess.CompletedProcess[str]:
    """Return how a process ended; one that takes too long is asked to end, and has failed."""
    with subprocess.Popen(
        argv,
        cwd=cwd,
        env={**os.environ, **variables},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            out, said = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.terminate()
            out, said = process.communicate()
        except BaseException:
            process.terminate()
            raise
    return subprocess.CompletedProcess(argv, process.returncode, out, said)


CONTESTANTS: Final[Mapping[str, Contestant]] = {
    "plain": run_plain,
    "aider": run_agent("aider"),
    "mini": run_agent("mini"),
    "do": run_do,
    "plan": run_plan,
    "do-mini": run_do_by_agent,
}

_PROGRAMS: Final = {"aider": "aider", "mini": "mini", "do-mini": "mini"}


def is_here(name: str) -> bool:
    """Return whether the program that a tool needs beside llmch is on PATH."""
    return name not in _PROGRAMS or _PROGRAMS[name] in found_agents()
