"""The transcript: recorded once, replayed for ever, and never torn."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.errors import CommandFailed, InvalidInput, ModelUnavailable
from shared.llm.model_client import (
    Api,
    CallPlace,
    Completion,
    Relayed,
    ReplyFailed,
    ReplySchema,
    Request,
    Role,
    Usage,
)
from shared.llm.replayed_replies import NotOnRecord, RecordingClient, ReplayClient
from shared.llm.transcript import Transcript
from shared.llm.transcript_lines import (
    AUTHORED,
    CallFailure,
    Header,
    Intent,
    OriginKind,
    Record,
    ReplyOrigin,
    Response,
    describe_origin,
    parse_record,
    render_record,
    request_key,
)
from tests import processes
from tests.shared.llm.edge import SCHEMA, chat_document, chat_request, planner_request
from tests.shared.llm.scripted_server import Send, scripted_server

ROOT = Path(__file__).parents[3]


class Scripted:
    """A model that gives one outcome after another and keeps what it was asked."""

    def __init__(self, *outcomes: Completion | BaseException | Callable[[], Completion]) -> None:
        self.outcomes = list(outcomes)
        self.requests: list[Request] = []

    def complete(self, request: Request) -> Completion:
        self.requests.append(request)
        outcome = self.outcomes.pop(0)
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome() if callable(outcome) else outcome


def reply(text: str = "hello") -> Completion:
    usage = Usage(calls=1, input_tokens=3, cached_tokens=1, output_tokens=2, reasoning_tokens=1)
    return Completion(text, "m-0001", usage, reasoning="hm", adjustments=("as asked",))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "transcript.jsonl"


def record(path: Path, request: Request, outcome: Completion | BaseException) -> None:
    with Transcript.open(path, AUTHORED) as transcript:
        client = RecordingClient(Scripted(outcome), transcript)
        if isinstance(outcome, Completion):
            client.complete(request)
        else:
            with pytest.raises(type(outcome)):
                client.complete(request)


def lines_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def test_a_reply_on_record_is_not_asked_for_again(path: Path) -> None:
    record(path, chat_request(), reply())
    with Transcript.open(path, AUTHORED) as transcript:
        silent = Scripted()
        again = RecordingClient(silent, transcript).complete(chat_request())
    assert again == replace(reply(), replayed=True)
    assert silent.requests == []
    assert ReplayClient(Transcript.read(path)).complete(chat_request()) == again


def test_a_run_goes_live_at_the_first_gap(path: Path) -> None:
    record(path, chat_request("one"), reply("1"))
    with Transcript.open(path, AUTHORED) as transcript:
        model = Scripted(reply("2"))
        client = RecordingClient(model, transcript)
        texts = [client.complete(chat_request(prompt)).text for prompt in ("one", "two", "two")]
    assert texts == ["1", "2", "2"]
    assert [request.prompt for request in model.requests] == ["two"]


def test_threads_that_ask_the_same_at_a_time_pay_once(path: Path) -> None:
    both_ask = threading.Barrier(2)

    def slow() -> Completion:
        # Where the other one gets here too, the two meet; else it waits for this one's reply.
        with contextlib.suppress(threading.BrokenBarrierError):
            both_ask.wait(0.2)
        return reply()

    with Transcript.open(path, AUTHORED) as transcript:
        model = Scripted(slow, slow)
        client = RecordingClient(model, transcript)
        with ThreadPoolExecutor() as threads:
            found = list(threads.map(client.complete, [chat_request()] * 2))
    assert [each.replayed for each in found] in ([False, True], [True, False])
    assert len(model.requests) == 1


def test_who_asks_the_same_meanwhile_asks_where_the_first_call_failed(path: Path) -> None:
    with Transcript.open(path, AUTHORED) as transcript:
        client = RecordingClient(Scripted(ModelUnavailable("gone"), reply()), transcript)
        with ThreadPoolExecutor() as threads:
            calls = [threads.submit(client.complete, chat_request()) for _ in range(2)]
    assert sum(isinstance(each.exception(), ModelUnavailable) for each in calls) == 1
    assert {each.result().text for each in calls if not each.exception()} == {"hello"}


def test_the_intent_is_on_disk_before_the_call(path: Path) -> None:
    seen: list[str] = []

    def look() -> Completion:
        seen.extend(line["record"] for line in lines_of(path))
        return reply()

    with Transcript.open(path, AUTHORED) as transcript:
        RecordingClient(Scripted(look), transcript).complete(chat_request())
    assert seen == ["header", "intent"]
    assert [line["record"] for line in lines_of(path)] == ["header", "intent", "response"]


def test_a_call_whose_end_is_unknown_is_reported_and_made_again(path: Path) -> None:
    record(path, chat_request(), KeyboardInterrupt())
    with Transcript.open(path, AUTHORED) as transcript:
        assert transcript.uncertain == (chat_request().place,)
        RecordingClient(Scripted(reply()), transcript).complete(chat_request())
        # One reply for two intents: the first call stays in doubt.
        assert transcript.uncertain == (chat_request().place,)


def test_a_failure_that_used_up_an_attempt_is_met_again(path: Path) -> None:
    record(path, chat_request(), ReplyFailed("the model refused", Usage(1, 7)))
    for client in (
        RecordingClient(Scripted(), Transcript.read(path)),
        ReplayClient(Transcript.read(path)),
    ):
        with pytest.raises(ReplyFailed, match="the model refused") as caught:
            client.complete(chat_request())
        assert caught.value.replayed
        assert caught.value.usage.input_tokens == 7


def test_a_failure_that_ended_the_run_is_asked_anew(path: Path) -> None:
    record(path, chat_request(), ModelUnavailable("no quota"))
    with Transcript.open(path, AUTHORED) as transcript:
        assert transcript.uncertain == ()
        assert (
            RecordingClient(Scripted(reply()), transcript).complete(chat_request()).text == "hello"
        )


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"model": "large"}, "model was 'small-1' and is now 'large'"),
        ({"temperature": 0.5}, "temperature was None and is now 0.5"),
        ({"max_output_tokens": 9}, "max_output_tokens was None and is now 9"),
        ({"reasoning_effort": "low"}, "reasoning_effort was None and is now 'low'"),
        ({"api": Api.RESPONSES}, "api was 'chat' and is now 'responses'"),
        ({"reply_schema": ReplySchema("x", {})}, "the reply schema differs"),
        ({"prompt": "a\nB\nc"}, "the prompt differs from line 2 on: was 'b' and is now 'B'"),
        ({"prompt": "a\nb"}, "from line 3 on: was 'c' and is now at its end"),
        ({"prompt": "a\nb\nc\n" + "d" * 999}, r"was at its end and is now 'd{117}\.\.\.'"),
        (
            {"place": CallPlace(Role.FACTORY, 2, "WO-01")},
            "nothing is recorded for factory WO-01 attempt 2",
        ),
        ({"place": CallPlace(Role.PLANNER, 1)}, "the transcript holds factory WO-01 attempt 1"),
    ],
)
def test_a_replay_says_what_changed(path: Path, change: dict[str, Any], words: str) -> None:
    request = chat_request("a\nb\nc")
    record(path, request, reply())
    with pytest.raises(NotOnRecord, match=words) as caught:
        ReplayClient(Transcript.read(path)).complete(replace(request, **change))
    assert caught.value.exit_code == 3
    assert str(path) in caught.value.message


def test_a_replay_says_that_a_call_was_begun_only(path: Path) -> None:
    record(path, chat_request(), KeyboardInterrupt())
    with pytest.raises(NotOnRecord, match="was begun, but its reply is not on record"):
        ReplayClient(Transcript.read(path)).complete(chat_request())


def test_the_keys_of_requests_that_no_agent_made_stay_as_they_were() -> None:
    assert request_key(chat_request()).startswith("36b145c8ab077007")
    planned = planner_request(reply_schema=SCHEMA, temperature=0)
    assert request_key(planned).startswith("fd4aa05a7871b9dd")


def relayed(body: str, turn: int = 1, digest: str = "", **changes: Any) -> Request:
    place = CallPlace(Role.FACTORY, 1, "WO-01", turn)
    call = Relayed("/v1/responses", body, digest or sha256(body.encode()).hexdigest(), **changes)
    return replace(chat_request(""), place=place, relayed=call)


def test_an_agents_call_is_found_by_its_body_and_by_how_often_it_was_made() -> None:
    key = request_key(relayed("{}"))
    assert request_key(relayed("{}", turn=2)) == key
    assert request_key(relayed("{}", again=1)) != key != request_key(relayed("[1]"))
    masked = relayed('{"id": "1"}', masks=("id",), digest="ab")
    assert request_key(masked) == request_key(relayed('{"id": "2"}', digest="ab"))


def test_a_replay_says_where_an_agents_call_has_changed(path: Path) -> None:
    record(path, relayed('{"input": "a"}'), reply())
    with pytest.raises(NotOnRecord, match=r"turn 1 has changed: .* from its character 12 on"):
        ReplayClient(Transcript.read(path)).complete(relayed('{"input": "b"}'))


def test_whole_and_fractional_zero_are_the_same_temperature() -> None:
    assert request_key(chat_request(temperature=0)) == request_key(chat_request(temperature=0.0))


def test_a_file_torn_anywhere_loses_at_most_its_last_line(path: Path) -> None:
    requests = [chat_request(f"prompt {n}") for n in range(3)]
    for n, request in enumerate(requests):
        record(path, request, reply(str(n)))
    whole = path.read_bytes()
    for end in range(0, len(whole), 7):
        path.write_bytes(whole[:end])
        complete = [json.loads(line) for line in whole[:end].splitlines(True) if line[-1:] == b"\n"]
        known = sum(line["record"] == "response" for line in complete)
        with Transcript.open(path, AUTHORED) as transcript:
            model = Scripted(*(reply(str(n)) for n in range(known, 3)))
            client = RecordingClient(model, transcript)
            assert [client.complete(request).text for request in requests] == ["0", "1", "2"]
        assert len(model.requests) == 3 - known
        assert len({line["key"] for line in lines_of(path)[1:]}) == 3


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"hello\n", "line 1 is not a line of a transcript"),
        (b"[]\n", "line 1 is not a line of a transcript: not a JSON object"),
        (b"{}\n", "unknown kind of record: None"),
        (b'{"record": "header", "format": 2, "origin": {}}\n', "this version reads format 1"),
        (b'{"record": "header", "format": 1, "origin": 3}\n', "origin is not an object"),
        (b"\xff\xfe\n", "line 1"),
        (b"[" * 100_000 + b"\n", "nested too deep"),
        (b"a text of one line", "line 1 is not a line of a transcript"),
        (b'{"id": "WO-01"}', "line 1 is not a line of a transcript"),
        (render_record(Header(AUTHORED)) * 2, "line 2: a transcript has one header, on its first"),
        (
            render_record(Intent("k", chat_request())),
            "line 1: a transcript",
        ),
        (
            render_record(Header(AUTHORED)) + b'{"record": "response", "key": "k", "text": 3}\n',
            "line 2 .*text is not a string",
        ),
        *(
            (
                render_record(Header(AUTHORED))
                + b'{"record": "intent", "key": "k", "place": {"role": "planner", "attempt": 1}, '
                + b'"request": {"api": "chat", "model": "m", "prompt": "p"'
                + wrong
                + b"}}\n",
                f"line 2 .*{said}",
            )
            for wrong, said in (
                (b', "prompt": 3', "'prompt' is not a string"),
                (b', "temperature": "0"', "'temperature' is not a number"),
                (b', "max_output_tokens": 1.5', "'max_output_tokens' is not a whole number"),
                (b', "reasoning_effort": []', "'reasoning_effort' is not a string"),
                (b', "reply_schema": {"name": "n"}', "'reply_schema.schema' is missing"),
            )
        ),
        (
            render_record(Header(AUTHORED))
            + b'{"record": "intent", "key": "k", "place": {"role": "cook", "attempt": 1}, '
            + b'"request": {"api": "chat", "model": "m", "prompt": "p"}}\n',
            "line 2 .*cook",
        ),
    ],
)
def test_a_file_that_is_no_transcript_is_refused_by_line(
    path: Path, content: bytes, words: str
) -> None:
    path.write_bytes(content)
    for use in (Transcript.read, lambda path: Transcript.open(path, AUTHORED)):
        with pytest.raises(InvalidInput, match=words):
            use(path)
    assert path.read_bytes() == content


def test_a_place_where_no_file_can_be_is_an_error_in_words(tmp_path: Path) -> None:
    with pytest.raises(CommandFailed, match="cannot open the transcript"):
        Transcript.open(tmp_path / "none" / "t.jsonl", AUTHORED)
    with pytest.raises(CommandFailed, match="cannot open the transcript"):
        Transcript.open(tmp_path, AUTHORED)
    with pytest.raises(InvalidInput, match="cannot read the transcript"):
        Transcript.read(tmp_path / "t.jsonl")


def test_a_full_disk_leaves_whole_lines_and_an_error_in_words(path: Path) -> None:
    record(path, chat_request("small"), reply())
    before = path.read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    with Transcript.open(path, AUTHORED) as transcript:
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 100, limits[1]))
        try:
            with pytest.raises(CommandFailed, match=r"cannot write the transcript .*too large"):
                transcript.begin(chat_request("x" * 1000))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert path.read_bytes() == before
        transcript.begin(chat_request("now there is room"))


def test_no_secret_of_an_agents_call_reaches_the_file(path: Path) -> None:
    with Transcript.open(path, AUTHORED, secrets=("hunter2-hunter2",)) as transcript:
        key = transcript.begin(relayed('{"input": "hunter2-hunter2"}'))
        transcript.finish(key, replace(reply(), document='{"said": "hunter2-hunter2"}'))
    assert path.read_text().count("[redacted]") == 2
    assert "hunter2" not in path.read_text()


def test_no_secret_reaches_the_file(path: Path) -> None:
    secret = "sk-abcdefgh"
    origin = ReplyOrigin(OriginKind.LIVE, server=f"http://x:{secret}@y")
    with Transcript.open(path, origin, secrets=[secret]) as transcript:
        told = replace(reply(f"your key is {secret}"), reasoning=secret, adjustments=(secret,))
        client = RecordingClient(Scripted(told, ReplyFailed(f"bad {secret}")), transcript)
        live = client.complete(chat_request(f"use {secret}"))
        with pytest.raises(ReplyFailed):
            client.complete(chat_request("two"))
    assert secret.encode() not in path.read_bytes()
    # What the run goes on with is what a resumed one would read.
    replayed = ReplayClient(Transcript.read(path)).complete(chat_request(f"use {secret}"))
    assert live.text == replayed.text == "your key is [redacted]"


def test_a_secret_that_is_a_word_of_the_format_breaks_nothing(path: Path) -> None:
    with Transcript.open(path, AUTHORED, secrets=["response", "attempt"]) as transcript:
        client = RecordingClient(Scripted(reply("a response")), transcript)
        assert client.complete(chat_request()).text == "a [redacted]"


def test_generating_an_authored_transcript_again_gives_the_same_bytes(tmp_path: Path) -> None:
    written = []
    for name in ("a", "b"):
        record(tmp_path / name, chat_request(), reply())
        written.append((tmp_path / name).read_bytes())
    assert written[0] == written[1]


def test_live_replies_are_dated_and_say_where_they_come_from(path: Path) -> None:
    origin = ReplyOrigin(OriginKind.LIVE, model="m", date="2026-07-01")
    with Transcript.open(path, origin, today=lambda: "2026-07-02") as transcript:
        RecordingClient(Scripted(reply()), transcript).complete(chat_request())
    assert lines_of(path)[2]["date"] == "2026-07-02"
    assert describe_origin(Transcript.read(path).origin) == "live (model: m, date: 2026-07-01)"
    assert describe_origin(AUTHORED) == "authored"
    # A transcript that is continued keeps the origin it was begun with.
    with Transcript.open(path, AUTHORED) as transcript:
        assert transcript.origin == origin


WRITER = """
    import sys
    from pathlib import Path
    from shared.llm.model_client import *
    from shared.llm.transcript_lines import AUTHORED
    from shared.llm.transcript import Transcript

    with Transcript.open(Path(sys.argv[1]), AUTHORED) as transcript:
        for n in range(40):
            place = CallPlace(Role.FACTORY, n + 1, sys.argv[2])
            key = transcript.begin(Request(Api.CHAT, "m", "x" * 5000, place))
            transcript.finish(key, Completion("y" * 5000, "m", Usage()))
"""


def test_two_processes_on_one_file_tear_nothing(path: Path) -> None:
    writers = [
        processes.start([sys.executable, "-c", textwrap.dedent(WRITER), str(path), name], cwd=ROOT)
        for name in ("WO-01", "WO-02")
    ]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    transcript = Transcript.read(path)
    assert transcript.uncertain == ()
    for order in ("WO-01", "WO-02"):
        for attempt in range(1, 41):
            place = CallPlace(Role.FACTORY, attempt, order)
            assert transcript.lookup(Request(Api.CHAT, "m", "x" * 5000, place))


def test_threads_share_a_transcript(path: Path) -> None:
    with Transcript.open(path, AUTHORED) as transcript:
        requests = [chat_request(f"{n}") for n in range(40)]
        model = Scripted(*(reply() for _ in requests))
        client = RecordingClient(model, transcript)
        threads = [
            threading.Thread(target=lambda part=part: [client.complete(each) for each in part])
            for part in (requests[:20], requests[20:])
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert all(Transcript.read(path).lookup(request) for request in requests)


# A run of three calls that kills itself with SIGKILL: at "call N", just before the server answers
# the N-th, or at "step N", after its reply was recorded.
RUN = """
    import os, signal, sys
    from pathlib import Path
    from shared.llm.model_access import ModelAccess
    from shared.llm.model_client import *
    from shared.llm.live_client import LiveClient
    from shared.llm.transcript_lines import AUTHORED
    from shared.llm.replayed_replies import RecordingClient
    from shared.llm.transcript import Transcript

    url, path, at, number = sys.argv[1:]

    class Fatal:
        def __init__(self, inner):
            self.inner, self.calls = inner, 0
        def complete(self, request):
            self.calls += 1
            if (at, request.place.attempt) == ("call", int(number)):
                os.kill(os.getpid(), signal.SIGKILL)
            return self.inner.complete(request)

    with Transcript.open(Path(path), AUTHORED) as transcript:
        print([place.attempt for place in transcript.uncertain])
        with LiveClient(ModelAccess(url, "k")) as live:
            client = RecordingClient(Fatal(live), transcript)
            for attempt in (1, 2, 3):
                place = CallPlace(Role.FACTORY, attempt, "WO-01")
                print(client.complete(Request(Api.CHAT, "m", "go", place)).text)
                if (at, attempt) == ("step", int(number)):
                    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.rest
@pytest.mark.parametrize(
    ("at", "number", "answered", "uncertain"),
    [("call", 1, 0, [1]), ("call", 3, 2, [3]), ("step", 1, 1, []), ("step", 2, 2, [])],
)
def test_a_killed_run_makes_exactly_the_calls_that_are_not_on_record(
    path: Path, at: str, number: int, answered: int, uncertain: list[int]
) -> None:
    answers = [Send(chat_document(f"reply {n}")) for n in (1, 2, 3)]
    with scripted_server(*answers) as server:
        command = [sys.executable, "-c", textwrap.dedent(RUN), server.base_url, str(path)]
        killed = subprocess.run([*command, at, str(number)], cwd=ROOT, capture_output=True)
        assert killed.returncode == -signal.SIGKILL
        assert len(server.received) == answered
        resumed = subprocess.run(
            [*command, "never", "0"], cwd=ROOT, capture_output=True, text=True, check=True
        )
        assert resumed.stdout.splitlines() == [str(uncertain), "reply 1", "reply 2", "reply 3"]
        assert len(server.received) == 3


requests = st.builds(
    Request,
    api=st.sampled_from(Api),
    model=st.text(max_size=8),
    prompt=st.text(st.characters(), max_size=30),
    place=st.builds(
        CallPlace,
        role=st.sampled_from(Role),
        attempt=st.integers(1, 50),
        order=st.none() | st.just("WO-01"),
        turn=st.integers(0, 9),
    ),
    relayed=st.none()
    | st.builds(
        Relayed,
        route=st.just("/v1/responses"),
        body=st.text(st.characters(), max_size=30),
        again=st.integers(0, 3),
        masks=st.sampled_from([(), ("id",), ("id", "date")]),
        digest=st.just("ab12"),
    ),
    temperature=st.none() | st.floats(0, 2),
    max_output_tokens=st.none() | st.integers(1, 10**12),
    reasoning_effort=st.none() | st.just("high"),
    reply_schema=st.none() | st.just(SCHEMA),
)
counts = st.integers(0, 10**9)
usages = st.builds(
    Usage, counts, counts, counts, counts, counts, cost_usd=st.none() | st.just(Usage().cost_usd)
)
completions = st.builds(
    Completion,
    text=st.text(st.characters()),
    model=st.text(max_size=8),
    usage=usages,
    reasoning=st.text(max_size=8),
    replayed=st.just(True),
    adjustments=st.lists(st.text(max_size=8), max_size=2).map(tuple),
    document=st.text(st.characters()),
)


@given(requests, completions)
def test_every_record_comes_back_as_it_went_in(request: Request, completion: Completion) -> None:
    key = request_key(request)
    free = replace(completion, usage=replace(completion.usage, cost_usd=Usage().cost_usd))
    for record in (
        Header(ReplyOrigin(OriginKind.LIVE, model=request.model, server=completion.model)),
        Intent(key, request),
        Response(key, free),
    ):
        assert _returned(record) == record
    failure = _returned(CallFailure(key, ReplyFailed(completion.text, free.usage), handed_on=True))
    assert isinstance(failure, CallFailure)
    assert (failure.failed.message, failure.failed.usage) == (completion.text, free.usage)


def _returned(record: Record) -> Record:
    line = render_record(record)
    assert line.count(b"\n") == 1
    return parse_record(line)


@given(
    st.binary(max_size=80)
    | st.from_regex(rb'\{"record": "(header|intent|response|failure)".*\}', fullmatch=True)
)
def test_no_line_ends_in_anything_but_a_record_or_a_reason(line: bytes) -> None:
    try:
        parse_record(line)
    except ValueError as fault:
        assert str(fault)


def test_replaying_costs_little(path: Path) -> None:
    asked = [chat_request("x" * 20_000 + str(n)) for n in range(200)]
    with Transcript.open(path, AUTHORED) as transcript:
        for each in asked:
            transcript.finish(transcript.begin(each), reply("y" * 5_000))
    started = time.process_time()
    client = ReplayClient(Transcript.read(path))
    for each in asked:
        client.complete(each)
    # Under a millisecond each on the slowest machine seen; the bound leaves room for a busy one.
    assert (time.process_time() - started) / 200 < 0.005


def test_a_transcript_is_readable_by_others_only_as_the_umask_allows(path: Path) -> None:
    before = os.umask(0o077)
    try:
        record(path, chat_request(), reply())
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o600
