"""Has an agent make the proposal of one attempt, as one request that llmch performs itself.

What came of it is a reply in JSON like a model's, so that it is recorded, replayed, read and
refused by the same code. The agent's own calls are on record one by one: an agent that was killed
is started again, and pays only for what had not come back.
"""

from __future__ import annotations

import contextlib
import json
import shlex
import sys
import tempfile
import threading
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Final

from factory.agents import launch
from factory.agents.agent_task import AgentTask, Collected, collect, follow_up, prepare, render_task
from factory.agents.known_agents import Agent, agent_named, tried_version
from factory.agents.launch import Errand, Stay
from factory.judging.failure_brief import stable_excerpt
from factory.orders.documents import MAX_REPLY_CHARACTERS, AgentRecord
from factory.preflight import name_paths
from factory.sandbox.policy import Policy
from shared.errors import EnvironmentFault, Interrupted, InvalidInput
from shared.events.events import AgentActed, AgentEnded, AgentStarted
from shared.llm.model_client import (
    Api,
    CallPlace,
    Completion,
    LlmClient,
    ReplyFailed,
    Request,
    Role,
    Usage,
)
from shared.llm.relay import Relay, RelayTerms
from shared.processes.pinned_tools import cache_folder
from shared.settings.setting_values import Proposer
from shared.settings.settings import SandboxBackend, Settings

_OUTPUT_CHARACTERS: Final = 1200
_TRIAL_MINUTES: Final = 1.0
_TRIAL_CHARACTERS: Final = 300


def check_proposers(settings: Settings) -> None:
    """Raise if an agent that may be asked cannot be held or is not here, before anything is paid.

    `AgentUnavailable` says that bubblewrap does not work or was not chosen, `InvalidInput` that
    an agent is not found or does not work.
    """
    chosen = settings.sandbox.backend
    if chosen not in (SandboxBackend.AUTO, SandboxBackend.BWRAP):
        raise launch.refused(f"--sandbox {chosen} was chosen")
    launch.require_bwrap()
    for words in settings.factory.agents:
        agent = agent_named(words)
        if problem := find_problem(agent):
            raise InvalidInput(
                f"the agent {agent.title} does not work with llmch: {problem}",
                f"install {agent.name} {tried_version(agent.name)}, give the words of a command "
                "that works, or name another by --proposer",
            )


@dataclass(slots=True)
class _Silent:
    """Answer no call: a trial ends with the first one."""

    def complete(self, request: Request) -> Completion:
        raise ReplyFailed("this is a trial, without a model", Usage(calls=0))


def find_problem(agent: Agent) -> str:
    """Return why an agent cannot be used, in words without a subject; empty if it can.

    A version that nobody has tried is started once, on nothing and without a model, and has to
    make a call. That it did is kept in the user's cache folder, by the hash of its executable.
    """
    if agent.is_tried:
        return ""
    with contextlib.suppress(OSError, RuntimeError):  # there may be no cache folder
        if _trial_mark(agent).exists():
            return ""
    with tempfile.TemporaryDirectory(prefix="llmch-trial-", ignore_cleanup_errors=True) as folder:
        problem = _try(agent, Path(folder))
    if not problem:
        with contextlib.suppress(OSError, RuntimeError):  # it is tried again then
            mark = _trial_mark(agent)
            mark.parent.mkdir(parents=True, exist_ok=True)
            mark.touch()
    return problem


def _trial_mark(agent: Agent) -> Path:
    return cache_folder() / "agents" / agent.sha256


def _try(agent: Agent, folder: Path) -> str:
    workspace = folder / "trial"
    workspace.mkdir()
    policy = Policy(workspace, None, folder / "private", Path(sys.executable))
    errand = Errand("Write hello.", "trial", ("hello.txt",), (), _TRIAL_MINUTES, folder / "agent")
    terms = RelayTerms(CallPlace(Role.FACTORY, 1), errand.model, most_calls=1)
    with (
        launch.agent_sandbox(policy, folder / "agent-place", agent, errand.minutes) as place,
        Relay(_Silent(), terms, place.socket) as relay,
    ):
        stay = place.run(agent, errand, lambda: "was ended" if relay.calls else "")
    if relay.calls:
        return ""
    said = _printable(stay.not_started or stay.output).strip()[-_TRIAL_CHARACTERS:]
    return f"it {stay.words} before it asked a model" + (f", and said: {said}" if said else "")


def agent_request(words: Proposer, task: AgentTask, client: LlmClient) -> Request:
    """Return the request that has an agent work on a task when it is performed.

    Its calls go through `client`. The completion has the proposal as a reply in JSON, and in
    `document` the `AgentRecord`. `ReplyFailed` says that the agent left nothing to judge,
    `EnvironmentFault` that it could not be started; an error of the relay's client, that no more
    calls can be made, is raised once the agent has ended.
    """
    text = render_task(task)
    return Request(
        api=Api.CHAT,
        model=shlex.join(words),
        prompt=text,
        place=CallPlace(Role.FACTORY, task.attempt, task.order.id),
        perform=lambda: _perform(agent_named(words), task, text, client),
    )


@dataclass(slots=True)
class _Announcing:
    """Ask `inner`, and announce what an agent's calls have taken so far."""

    task: AgentTask
    inner: LlmClient
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _turns: int = 0
    _usage: Usage = field(default_factory=Usage)

    def complete(self, request: Request) -> Completion:
        completion = self.inner.complete(request)
        with self._lock:
            self._turns += 1
            self._usage += completion.usage
            turns, usage = self._turns, self._usage
        task = self.task
        self.task.emit(
            AgentActed(task.order.id, task.attempt, turns, usage.input_tokens, usage.output_tokens)
        )
        return completion


def _perform(agent: Agent, task: AgentTask, text: str, client: LlmClient) -> Completion:
    order, attempt = task.order.id, task.attempt
    task.emit(AgentStarted(order, attempt, agent.title))
    files, log = tuple(task.order.allowed_files), task.folder / "agent"
    left, minutes = partial(follow_up, task), task.bounds.minutes
    errand = Errand(text, task.asked.model, files, task.commands, minutes, log, left)
    beside = task.bench.workspace.private / "agent"
    with launch.agent_sandbox(task.bench.policy, beside, agent, errand.minutes) as place:
        prepare(task)
        terms = RelayTerms(
            place=CallPlace(Role.FACTORY, attempt, order),
            model=task.asked.model,
            max_output_tokens=task.models.max_output_tokens,
            reasoning_effort=task.models.reasoning_effort,
            temperature=task.asked.temperature,
            most_calls=task.bounds.calls,
            masks=agent.masks,
            most_tokens=task.bounds.tokens,
        )
        with Relay(_Announcing(task, client), terms, place.socket, task.emit) as relay:

            def stop() -> str:
                if task.is_cancelled():
                    return "was cancelled"
                return f"was ended: {relay.reached}" if relay.ended.is_set() else ""

            stay = place.run(agent, errand, stop)
    if relay.reached and not stay.was_stopped:  # it may have ended before llmch could end it
        stay = replace(stay, words=f"was ended: {relay.reached}", was_stopped=True)
    found = collect(task)
    if task.is_cancelled():
        raise Interrupted("cancelled")
    if relay.failure:
        raise relay.failure
    record = AgentRecord(
        name=agent.name,
        version=agent.version,
        sha256=agent.sha256,
        calls=relay.calls,
        masks=relay.masks_used,
        dropped=found.dropped,
        account=(f"it {stay.words}", *relay.account, *found.notes),
    )
    files = tuple(each.path for each in found.writes) if not stay.was_stopped else ()
    task.emit(
        AgentEnded(order, attempt, stay.words, relay.calls, stay.seconds, files, found.dropped)
    )
    if stay.not_started:
        raise EnvironmentFault(
            f"the agent {agent.title} cannot be started: {stay.not_started}",
            "try it by hand, or name another by --proposer",
        )
    return _completion(task, agent, stay, found, record)


def _completion(
    task: AgentTask, agent: Agent, stay: Stay, found: Collected, record: AgentRecord
) -> Completion:
    """Return the proposal as a reply; raise `ReplyFailed` where there is nothing to judge."""
    writes = [each.model_dump(mode="json") for each in found.writes]
    reply = json.dumps({"summary": task.order.title, "writes": writes}, ensure_ascii=False)
    problem = ""
    if stay.was_stopped:
        problem = "what it wrote until then was not judged"
    elif not found.writes:
        problem = "and changed no file that the order may write"
    elif len(reply) > MAX_REPLY_CHARACTERS:
        problem = f"its files have over {MAX_REPLY_CHARACTERS:,} characters together"
    if not problem:
        return Completion(
            text=reply,
            model=task.asked.model,
            usage=Usage(calls=0),
            adjustments=record.account,
            document=record.model_dump_json(),
        )
    output = stable_excerpt(_printable(stay.output), task.bench.path_names().items())
    lines = [f"The agent {agent.title} {stay.words}, {problem}."]
    lines += [f"- {each}" for each in record.account[1:]]
    lines += [f"- dropped: {name_paths(found.dropped)}"] if found.dropped else []
    lost = (output[-_OUTPUT_CHARACTERS:],) if output else ()
    raise ReplyFailed("\n".join(lines), Usage(calls=0), lost=lost)


def _printable(text: str) -> str:
    """Return the text without characters that a terminal would obey."""
    return "".join(each if each.isprintable() or each == "\n" else "\ufffd" for each in text)
