"""Replies that several machines share: what one has asked, no other asks again."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from factory.fleet.database import Database
from factory.fleet.leases import Lease
from factory.fleet.shared_state import FleetReplies, transcript_lines
from shared.errors import BudgetReached
from shared.events.events import Event, Warned
from shared.llm.model_client import Api, CallPlace, LlmClient, ReplyFailed, Request, Role
from shared.llm.stack import Mode, ModelSource, open_model
from shared.llm.transcript import Transcript
from shared.llm.transcript_lines import request_key
from shared.settings.setting_values import DatabaseUrl
from tests.factory.fleet.cluster import Cluster
from tests.factory.fleet.fleet_of_processes import until
from tests.fakes import Reply, ScriptedModel

LEASE_SECONDS = 600.0


class Machines:
    """Open models as several machines do that share the replies of one plan."""

    def __init__(self, url: DatabaseUrl, folder: Path) -> None:
        self._url = url
        self._folder = folder
        self.opened = ExitStack()
        self.warnings: list[str] = []

    def database(self) -> Database:
        database = Database(self._url, "test")
        self.opened.callback(database.close)
        return database

    def client(self, machine: str, model: LlmClient, plan: str = "plan") -> LlmClient:
        """Return the model as `machine` sees it, with a transcript of its own."""
        database = self.database()
        Lease(database, machine, LEASE_SECONDS).begin(1)
        folder = self._folder / machine
        folder.mkdir()
        shared = FleetReplies(database, plan, machine, self._take)
        source = ModelSource(Mode.LIVE, lambda emit: model, dated=False, shared=shared)
        return self.opened.enter_context(open_model(source, folder, self._take)).client

    def _take(self, event: Event) -> None:
        if isinstance(event, Warned):
            self.warnings.append(event.message)


@pytest.fixture
def machines(url: DatabaseUrl, tmp_path: Path) -> Iterator[Machines]:
    found = Machines(url, tmp_path)
    with found.opened:
        yield found


def asking(order: str = "WO-01", prompt: str = "write it") -> Request:
    return Request(Api.CHAT, "scripted", prompt, CallPlace(Role.FACTORY, 1, order))


def script(replies: Mapping[str, list[Reply]]) -> ScriptedModel:
    return ScriptedModel(replies)


def test_a_reply_of_one_machine_answers_the_others(machines: Machines, tmp_path: Path) -> None:
    model = script({"WO-01": ["the reply"]})
    first = machines.client("one", model).complete(asking())
    second = machines.client("two", model).complete(asking())
    assert (first.text, second.text) == ("the reply", "the reply")
    assert (first.replayed, second.replayed) == (False, True)
    assert len(model.requests) == 1
    # Both machines have it in their transcripts, as after a local run.
    for machine in ("one", "two"):
        recorded = Transcript.read(tmp_path / machine / "transcript.jsonl").lookup(asking())
        assert recorded is not None
        assert recorded.text == "the reply"


def test_another_plan_asks_for_itself(machines: Machines) -> None:
    model = script({"WO-01": ["one", "two"]})
    assert machines.client("one", model).complete(asking()).text == "one"
    assert machines.client("two", model, plan="other").complete(asking()).text == "two"


def test_a_failure_that_used_up_an_attempt_is_shared_as_well(machines: Machines) -> None:
    model = script({"WO-01": [ReplyFailed("it refused")]})
    for machine in ("one", "two"):
        client = machines.client(machine, model)
        with pytest.raises(ReplyFailed, match="it refused"):
            client.complete(asking())
    assert len(model.requests) == 1


def test_a_failure_of_the_machine_is_no_outcome(machines: Machines) -> None:
    first = machines.client("one", script({"WO-01": [BudgetReached("no more")]}))
    with pytest.raises(BudgetReached):
        first.complete(asking())
    second = machines.client("two", script({"WO-01": ["the reply"]}))
    assert second.complete(asking()).text == "the reply"
    assert machines.warnings == []


def test_two_machines_that_ask_at_once_make_one_call(machines: Machines) -> None:
    called, may_answer = threading.Event(), threading.Event()

    def slow(request: Request) -> str:
        called.set()
        may_answer.wait(60)
        return "the reply"

    model = script({"WO-01": [slow]})
    clients = [machines.client(each, model) for each in ("one", "two")]
    texts: list[str] = []
    threads = [
        threading.Thread(target=lambda each=each: texts.append(each.complete(asking()).text))
        for each in clients
    ]
    threads[0].start()
    assert called.wait(60)
    threads[1].start()
    may_answer.set()
    for each in threads:
        each.join(60)
    assert texts == ["the reply"] * 2
    assert len(model.requests) == 1


def test_a_call_of_a_dead_machine_is_made_again_and_named(
    cluster: Cluster, database: str, machines: Machines
) -> None:
    plan = machines.database()
    Lease(plan, "dead", LEASE_SECONDS).begin(1)
    FleetReplies(plan, "plan", "dead", lambda event: None).begin(asking())
    cluster.execute("UPDATE llmch.workers SET dead = now(), cause = 'silent'", database)
    model = script({"WO-01": ["the reply"]})
    assert machines.client("two", model).complete(asking()).text == "the reply"
    (warning,) = machines.warnings
    assert "was begun by dead, which died" in warning
    assert "may have been paid for" in warning


def test_of_two_replies_to_one_request_the_first_is_everybodys(
    cluster: Cluster, database: str, machines: Machines
) -> None:
    """A machine that was declared dead in the middle of a call may still get its reply."""

    def declared_dead_meanwhile(request: Request) -> str:
        cluster.execute("UPDATE llmch.workers SET dead = now(), cause = 'silent'", database)
        other = machines.client("two", script({"WO-01": ["the first"]}))
        assert other.complete(asking()).text == "the first"
        return "the second"

    first = machines.client("one", script({"WO-01": [declared_dead_meanwhile]}))
    assert first.complete(asking()).text == "the first"


def test_a_reply_waits_for_a_database_that_is_away(
    cluster: Cluster, machines: Machines, tmp_path: Path
) -> None:
    def database_goes(request: Request) -> str:
        cluster.stop()
        return "the reply"

    client = machines.client("one", script({"WO-01": [database_goes]}))
    texts: list[str] = []
    asked = threading.Thread(target=lambda: texts.append(client.complete(asking()).text))
    asked.start()
    path = tmp_path / "one" / "transcript.jsonl"
    try:
        # This machine's own file has the reply first.
        until(lambda: b'"response"' in path.read_bytes(), "the reply is on disk")
        assert texts == []
    finally:
        cluster.start()
    asked.join(60)
    assert texts == ["the reply"]
    assert machines.client("two", script({})).complete(asking()).text == "the reply"


def test_the_lines_make_a_transcript_and_hold_no_secret(machines: Machines, tmp_path: Path) -> None:
    database = machines.database()
    replies = FleetReplies(database, "plan", "one", lambda event: None, ("s3cret-value",))
    client = ModelSource(
        Mode.LIVE, lambda emit: script({"WO-01": ["it is s3cret-value"]}), shared=replies
    )
    with open_model(client, tmp_path, lambda event: None) as model:
        model.client.complete(asking())
    lines = transcript_lines(database, ["plan"])
    header = (tmp_path / "transcript.jsonl").read_bytes().splitlines(keepends=True)[0]
    (tmp_path / "again.jsonl").write_bytes(header + b"".join(lines))
    found = Transcript.read(tmp_path / "again.jsonl").lookup(asking())
    assert found is not None
    assert found.text == "it is [redacted]"


def test_what_a_forgotten_machine_had_asked_is_asked_again(
    machines: Machines, cluster: Cluster, database: str
) -> None:
    """A worker that died is forgotten after a week; its intent may be older than its row."""
    machines.client("one", script({}))
    cluster.execute(
        "INSERT INTO llmch.intents (plan, key, worker) VALUES ('plan', %s, 'forgotten')",
        database,
        request_key(asking()),
    )
    model = script({"WO-01": ["the reply"]})
    assert machines.client("two", model).complete(asking()).text == "the reply"
