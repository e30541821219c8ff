"""Runs an agent in a sandbox of its own, within bounds.

It has the workspace of the order, a HOME with the agent's files alone, no network, and the relay's
socket. Only bubblewrap can hold one: elsewhere nothing leads a socket in and everything else out.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from factory.agents import acp_client
from factory.agents.agent_task import CHECK
from factory.agents.known_agents import LIMITS, Agent
from factory.sandbox.detect import open_sandbox, require_backend
from factory.sandbox.forward import NOT_STARTED, PORT, start_of
from factory.sandbox.forward import __file__ as forward_file
from factory.sandbox.policy import GIB, Backend, Cause, Ended, Policy
from factory.sandbox.runner import Sandbox
from factory.workbench.leftovers import discard
from factory.workbench.workspace import workspace_refused
from shared.errors import AgentUnavailable, SandboxUnavailable
from shared.llm.model_access import is_small
from shared.settings.settings import SandboxNet

_PLACE: Final = Path("/workspace")
"""The folder of the workspace inside: it is the same in each run, and so are the agent's words."""
_SHOWN: Final = Path(CHECK).parent
_OWN_PYTHON: Final = str(getattr(sys, "_base_executable", sys.executable))
DISK_BYTES: Final = 4 * GIB
"""By how much the free space of the disk may fall while an agent works."""
_LEAST_SHARE: Final = 20
"""The disk is to keep one part in so many of what was free."""
_LOOK_EVERY_SECONDS: Final = 0.1
FILES: Final = "{files}"
"""A word that stands for the files that the order may write, each a word of its own."""
_NAMED: Final = re.compile(r"\{(task|task_file|model|base_url|in_text)\}")


@dataclass(frozen=True, slots=True)
class Errand:
    """Say what an agent is started for: its task's text, and what its words may name.

    `commands` are those that `check` runs inside. Its output goes to `log`, as to a command's.
    `follow_up` returns what to say to one that has ended its turn, if anything.
    """

    text: str
    model: str
    files: tuple[str, ...]
    commands: tuple[str, ...]
    minutes: float
    log: Path
    follow_up: Callable[[], str] = str


@dataclass(frozen=True, slots=True)
class Stay:
    """Say how an agent's stay in its sandbox ended.

    `words` say it without a subject. `was_stopped` is true where llmch ended it, so that files may
    be half written. `not_started` says why nothing could be started, if that is so.
    """

    words: str
    output: str
    seconds: float
    was_stopped: bool = False
    not_started: str = ""


@dataclass(frozen=True, slots=True)
class AgentSandbox:
    """Hold an open sandbox; the relay is to listen at `socket` before the agent is run."""

    sandbox: Sandbox
    socket: Path
    _policy: Policy

    def run(self, agent: Agent, errand: Errand, stop: Callable[[], str]) -> Stay:
        """Run the agent until it ends, or until `stop` says why it has to."""
        if not agent.speaks_acp:
            return self._run(agent, errand, stop)
        stdio, folder = self.socket.with_name("stdio"), str(self._policy.place)
        talk = acp_client.Talk(stdio, folder, errand.text, errand.follow_up, errand.log)
        with talk.under_way():
            stay = self._run(agent, errand, lambda: stop() or talk.over())
        stay = replace(stay, output=f"{stay.output}\n{talk.said}".strip())
        if stay.words == talk.words or (talk.reason and not stay.was_stopped):
            return replace(stay, words=talk.words, was_stopped=not talk.reason)
        if stay.was_stopped:
            return stay
        if talk.fault:  # it may have ended before llmch could end it
            return replace(stay, words=talk.over(), was_stopped=True)
        return replace(stay, words=f"{stay.words} before its turn had ended")

    def _run(self, agent: Agent, errand: Errand, stop: Callable[[], str]) -> Stay:
        policy = self._policy
        self._write(agent, errand)
        minutes = errand.minutes
        ended = ""

        def watch() -> None:
            nonlocal ended
            free = _free_bytes(policy.workspace)
            least = max(free - DISK_BYTES, free // _LEAST_SHARE)
            while not over.wait(_LOOK_EVERY_SECONDS):
                full = "filled the disk" if _free_bytes(policy.workspace) < least else ""
                ended = ended or stop() or full
                if ended:  # repeated, because the agent may have been about to start
                    self.sandbox.end_commands()

        over = threading.Event()
        watching = threading.Thread(target=watch, name="agent", daemon=True)
        watching.start()
        try:
            done = self.sandbox.run(
                [_OWN_PYTHON, "-I", "-S", str(_SHOWN / "forward")],
                timeout_seconds=minutes * 60,
                log=errand.log,
            )
        finally:
            over.set()
            watching.join()
        return _stay(done, ended, minutes)

    def _write(self, agent: Agent, errand: Errand) -> None:
        """Write what the agent finds: its start, its task, the commands, and the files of HOME."""
        folder, task_file = self.socket.parent, _SHOWN / "task.md"
        url = f"http://127.0.0.1:{PORT}"
        values = {"task": errand.text, "task_file": str(task_file)}
        values |= {"model": errand.model, "base_url": url}
        values["in_text"] = "_textbased" if is_small(errand.model) else ""

        def filled(template: str) -> str:
            return _NAMED.sub(lambda found: values[found[1]], template)

        environment: dict[str, str | None] = {
            **dict.fromkeys(("PYTHONPATH", "PYTHONPYCACHEPREFIX", "NODE_OPTIONS")),
            **{f"{each}_API_KEY": "none" for each in ("OPENAI", "ANTHROPIC", "GEMINI")},
            "OPENAI_BASE_URL": f"{url}/v1",
            "ANTHROPIC_BASE_URL": url,
            "GOOGLE_GEMINI_BASE_URL": url,
            "LLMCH_MODEL": errand.model,
            "LLMCH_TASK_FILE": str(task_file),
            **{name: value and filled(value) for name, value in agent.environment.items()},
        }
        # A path that begins with a hyphen is no option, and one with braces no template.
        files = [f"./{each}" if each.startswith("-") else each for each in errand.files]
        words = (files if word == FILES else [filled(word)] for word in agent.words)
        argv = [each for some in words for each in some]
        (folder / "start").write_bytes(start_of(argv, environment))
        for name, content in {
            "task.md": errand.text,
            "forward": Path(forward_file).read_text("utf-8"),
            "check": "".join(self._check_lines(errand.commands)),
        }.items():
            (folder / name).write_text(content, "utf-8")
        for name, content in agent.files.items():
            path = self._policy.temporary / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(filled(content), "utf-8")

    def _check_lines(self, commands: tuple[str, ...]) -> Iterator[str]:
        """Yield a shell script that runs the order's commands as they are run when judged."""
        yield "set -e\n"
        for name, value in self.sandbox.environment.items():
            if name != "PYTHONPYCACHEPREFIX":  # nothing compiled is kept there for an agent
                yield f"export {name}={shlex.quote(value)}\n"
        for command in commands:
            yield f"echo {shlex.quote(f'$ {command}')}\n{shlex.join(shlex.split(command))}\n"


def _free_bytes(folder: Path) -> int:
    facts = os.statvfs(folder)
    return facts.f_bavail * facts.f_frsize


def _stay(done: Ended, ended: str, minutes: float) -> Stay:
    output = done.output.strip()
    seconds = done.duration_seconds
    not_started = ""
    match done.cause:
        case Cause.NOT_FOUND | Cause.NOT_STARTED:
            return Stay("was not started", output, seconds, not_started=done.reason)
        case Cause.TIMED_OUT:
            words = ended or f"took over {minutes:g} minutes"
            return Stay(words, output, seconds, was_stopped=True)
        case Cause.OUTPUT_LIMIT | Cause.CPU_LIMIT:
            return Stay(f"was ended: {done.reason}", output, seconds, was_stopped=True)
        case Cause.SIGNALLED:
            return Stay(f"was {done.reason}", output, seconds)
        case Cause.EXITED:
            if done.exit_code and NOT_STARTED in done.stderr.text:
                not_started = done.stderr.text.strip()
            return Stay(
                f"ended with exit code {done.exit_code}", output, seconds, False, not_started
            )


@contextlib.contextmanager
def agent_sandbox(
    like: Policy, place: Path, agent: Agent, minutes: float
) -> Iterator[AgentSandbox]:
    """Open the sandbox of an agent, for commands of whose workspace the policy is `like`.

    `place` is for what it needs beside the workspace, and is removed at the end. Raises
    `SandboxUnavailable` where bubblewrap does not work here.
    """
    try:
        _remove(place)
        for name in ("private", "shown"):
            (place / name).mkdir(mode=0o700, parents=True)
        policy = replace(
            like,
            private=place / "private",
            like_private=like.private,
            network=SandboxNet.NONE,
            read=(*like.read, *like.write, *agent.folders, *_own_python()),
            write=(),
            seeds={},
            keeps_bytecode=False,
            limits=replace(LIMITS, cpu_seconds=max(3600, int(minutes * 60))),
            place=_PLACE / like.workspace.name,
            shown={_SHOWN: place / "shown"},
        )
        sandbox = open_sandbox(Backend.BWRAP, policy)
    except OSError as error:
        raise workspace_refused(place, error) from error
    except SandboxUnavailable as missing:
        raise refused(missing.message) from missing
    try:
        yield AgentSandbox(sandbox, place / "shown" / "relay", policy)
    finally:
        with contextlib.suppress(OSError):  # the workspace is removed after the run, with this
            _remove(place)


def _own_python() -> Iterator[Path]:
    """Yield what the Python that runs llmch needs inside, where it is not that of the system."""
    for name in ("bin", "lib", "lib64"):
        if (path := Path(sys.base_prefix, name)).is_dir():
            yield path


def require_bwrap() -> None:
    """Raise `AgentUnavailable` where bubblewrap does not work, so that no agent can be held."""
    try:
        require_backend(Backend.BWRAP)
    except SandboxUnavailable as missing:
        raise refused(missing.message) from missing


def refused(why: str) -> AgentUnavailable:
    """Return the error that says why no agent can be held here."""
    return AgentUnavailable(
        f"an agent runs in bubblewrap alone: {why}",
        "use --sandbox bwrap (or auto) where it works, or --proposer model",
    )


def _remove(place: Path) -> None:
    if place.exists():
        discard([place], beside=place.parent)
