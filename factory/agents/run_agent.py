"""Has an agent make the proposal of one attempt, as one request that llmch performs itself.

What came of it is a reply in JSON like a model's, so that it is recorded, replayed, read and
refused by the same code. The agent's own calls are on record one by one: an agent that was killed
is started again, and pays only for what had not come back.
"""

from __future__ import annotations

import json
import shlex
import threading
from dataclasses import dataclass, field
from typing import Final

from factory.agents import launch
from factory.agents.agent_task import AgentTask, render_task
from factory.agents.collect import Collected, collect, prepare
from factory.agents.known_agents import Agent, agent_named
from factory.agents.launch import Stay
from factory.judging.failure_brief import stable_excerpt
from factory.orders.documents import MAX_REPLY_CHARACTERS, AgentRecord
from factory.preflight import name_paths
from shared.errors import EnvironmentFault, Interrupted
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
from shared.settings.setting_values import Proposer
from shared.settings.settings import SandboxBackend, Settings

_OUTPUT_CHARACTERS: Final = 1200


def check_proposers(settings: Settings) -> None:
    """Raise if an agent that may be asked cannot be held or is not here, before anything is paid.

    `AgentUnavailable` says that bubblewrap does not work or was not chosen, `InvalidInput` that
    an agent is not found.
    """
    chosen = settings.sandbox.backend
    if chosen not in (SandboxBackend.AUTO, SandboxBackend.BWRAP):
        raise launch.refused(f"--sandbox {chosen} was chosen")
    launch.require_bwrap()
    for words in settings.factory.agents:
        agent_named(words)


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
    with launch.agent_sandbox(task, agent) as place:
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

            stay = place.run(agent, task, text, stop)
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
    lines += ["It printed at the end:"] if output else []
    lost = (output[-_OUTPUT_CHARACTERS:],) if output else ()
    raise ReplyFailed("\n".join(lines), Usage(calls=0), lost=lost)


def _printable(text: str) -> str:
    """Return the text without characters that a terminal would obey."""
    return "".join(each if each.isprintable() or each == "\n" else "\ufffd" for each in text)
