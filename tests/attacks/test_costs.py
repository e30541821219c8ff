"""Servers that lie about what a call took, and repositories that would make a run dearer."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from shared.errors import BudgetReached
from shared.llm.budget import Budget, CappedClient, ModelTables, SharedBudget, least_tokens
from shared.llm.model_client import ReplyFailed
from shared.llm.usage import Meter, MeteredClient, Price, usage_record
from shared.settings.loading import load_settings
from tests.shared.llm.edge import (
    chat_chunk,
    chat_document,
    chat_request,
    created_event,
    edge,
    final_event,
    planner_request,
    response_document,
)
from tests.shared.llm.scripted_server import Act, Send, Stream

ROOT = Path(__file__).parents[2]
PROMPT = "Write the whole module again, please. " * 400  # 12,400 letters
REPLY = "def answer(): return 42\n" * 400
LIES: dict[str, Any] = {
    "0": 0,
    "negative": -5000,
    "one": 1,
    "text": "3000",
    "NaN": float("nan"),
    "1e308": 1e308,
    "a huge number": 10**300,
    "true": True,
    "a list": [3000],
}
TABLES = ModelTables({"small-1": Price(Decimal(1), Decimal("0.5"), Decimal(10))}, {})


def lying(lie: object, way: str) -> Act:
    """Return an answer whose usage is a lie, as Chat Completions or Responses make it."""
    chat: Any = {"prompt_tokens": lie, "completion_tokens": lie, "total_tokens": lie}
    if way == "chat":
        return Send(json.dumps(chat_document(REPLY) | {"usage": chat}))
    if way == "chat stream":
        last = chat_chunk() | {"choices": [], "usage": chat}
        return Stream([chat_chunk(content=REPLY), chat_chunk("stop"), last, "[DONE]"])
    usage = {"input_tokens": lie, "output_tokens": lie, "total_tokens": lie}
    final = final_event(1, response_document(text=REPLY))
    final["response"] = final["response"] | {"usage": usage}
    return Stream([created_event(), final])


WAYS = {"chat": chat_request, "chat stream": chat_request, "responses": planner_request}


def calls_under(budget: Budget, lie: object, way: str) -> int:
    """Return how many calls are made until the cap ends the run."""
    with edge(*[lying(lie, way)] * 30, stream=way != "chat") as server:
        client = CappedClient(server.client, SharedBudget(budget), TABLES)
        request = WAYS[way](PROMPT, max_output_tokens=4000)
        with pytest.raises(BudgetReached):
            for _ in range(30):
                client.complete(request)
        return server.requests


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("lie", LIES)
def test_a_cap_of_tokens_ends_a_run_whatever_the_server_reports(lie: str, way: str) -> None:
    assert calls_under(Budget(max_tokens=40_000), LIES[lie], way) <= 20


@pytest.mark.parametrize("lie", ["0", "one"])
def test_a_cap_of_costs_ends_a_run_whatever_the_server_reports(lie: str) -> None:
    assert calls_under(Budget(max_cost_usd=Decimal("0.2")), LIES[lie], "chat") <= 20


@pytest.mark.parametrize("lie", LIES)
def test_the_reports_alone_would_never_reach_the_cap(lie: str) -> None:
    reported = LIES[lie]
    believed = reported if type(reported) is int and 0 < reported < 10**9 else 0
    assert 30 * 2 * believed < 40_000


def test_a_reply_that_is_said_to_come_from_the_cache_costs_no_less_than_that() -> None:
    usage = {"prompt_tokens": 5000, "completion_tokens": 3000, "prompt_tokens_details": {}}
    usage["prompt_tokens_details"] = {"cached_tokens": 10**7}
    with edge(Send(chat_document(REPLY) | {"usage": usage}), stream=False) as server:
        used = server.client.complete(chat_request(PROMPT)).usage
    assert (used.input_tokens, used.cached_tokens) == (5000, 5000)


@pytest.mark.parametrize("lie", ["0", "one", "NaN"])
def test_a_usage_says_that_it_is_an_estimate(lie: str) -> None:
    meter = Meter()
    with edge(lying(LIES[lie], "chat"), stream=False) as server:
        completion = MeteredClient(server.client, meter).complete(chat_request(PROMPT))
    assert usage_record(meter.run).estimated_calls == 1
    assert "the server reports a usage that cannot be true; tokens are estimated" in (
        completion.adjustments
    )


def test_an_honest_usage_is_believed() -> None:
    with edge(Send(chat_document("hello")), stream=False) as server:
        usage = server.client.complete(chat_request()).usage
    assert (usage.input_tokens, usage.output_tokens, usage.estimated_calls) == (10, 5, 0)


SOURCES = sorted([*ROOT.glob("docs/**/*.md"), *ROOT.glob("shared/llm/*.py"), ROOT / "README.md"])


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_the_estimate_is_below_what_honest_servers_report(path: Path) -> None:
    """Tokenizers split a text into words before they look for tokens: each word is one or more."""
    text = path.read_text()
    assert least_tokens(text) <= len(re.findall(r"[^\W_]+", text))


@pytest.mark.parametrize("run", [" ", "-", "=", "\t", "\n", "#"])
def test_a_long_run_may_be_one_token(run: str) -> None:
    assert least_tokens(run * 100_000) == 0


# What came of a reply that cannot be used


UNUSABLE: dict[str, tuple[list[Act], str]] = {
    "cut": ([Send(chat_document("half of it", "length"))] * 2, "half of it"),
    "filtered": ([Send(chat_document("half of it", "content_filter"))], "half of it"),
    "broken": ([Stream([chat_chunk(content="half of it")], "reset")] * 3, "half of it"),
}


@pytest.mark.parametrize("way", UNUSABLE)
def test_a_reply_that_cannot_be_used_is_counted_and_kept(way: str) -> None:
    acts, text = UNUSABLE[way]
    with edge(*acts) as server, pytest.raises(ReplyFailed) as caught:
        server.ask(chat_request(PROMPT, max_output_tokens=100))
    assert caught.value.lost == (text,) * len(acts)
    assert caught.value.usage.input_tokens >= 10 * len(acts)


def test_what_a_reply_that_was_made_again_lost_is_kept_beside_it() -> None:
    cut = Send(chat_document("half", "length"))
    with edge(cut, Send(chat_document("whole"))) as server:
        completion = server.ask(chat_request(max_output_tokens=100))
    assert (completion.text, completion.lost) == ("whole", ("half",))


def test_a_server_that_falls_silent_has_the_prompt_and_it_is_counted() -> None:
    silent = Stream([], "silence")
    with edge(silent, stall_seconds=0.2) as server, pytest.raises(ReplyFailed) as caught:
        server.client.complete(chat_request(PROMPT))
    assert caught.value.usage.input_tokens > 1000
    assert caught.value.usage.estimated_calls == 1


# A repository that would make a run dearer


DEARER = {
    "planner.model": ('[tool.llmch.planner]\nmodel = "gpt-5.5"', '[planner]\nmodel = "small"'),
    "planner.reasoning_effort": (
        '[tool.llmch.planner]\nreasoning_effort = "xhigh"',
        '[planner]\nreasoning_effort = "low"',
    ),
    "planner.max_output_tokens": (
        "[tool.llmch.planner]\nmax_output_tokens = 900000",
        "[planner]\nmax_output_tokens = 5000",
    ),
    "planner.attempts": ("[tool.llmch.planner]\nattempts = 50", "[planner]\nattempts = 2"),
    "reviewer.model": ('[tool.llmch.reviewer]\nmodel = "gpt-5.5"', '[planner]\nmodel = "small"'),
    "factory.model": (
        '[tool.llmch.factory]\nmodel = ["small", "gpt-5.5"]',
        '[factory]\nmodel = "small"',
    ),
    "factory.reasoning_effort": (
        '[tool.llmch.factory]\nreasoning_effort = "xhigh"',
        '[factory]\nreasoning_effort = "low"',
    ),
    "factory.attempts": ("[tool.llmch.factory]\nattempts = 50", "[factory]\nattempts = 2"),
}


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    (folder / ".git").mkdir(parents=True)
    return folder


@pytest.mark.parametrize("key", DEARER)
def test_what_a_person_sets_counts_more_than_what_a_repo_sets(key: str, repo: Path) -> None:
    theirs, own = DEARER[key]
    (repo / "pyproject.toml").write_text(theirs)
    (repo.parent / "llmch.toml").write_text(own)
    loaded = load_settings(cwd=repo.parent, repo=repo, environ={})
    (repo / "pyproject.toml").unlink()
    assert loaded.settings == load_settings(cwd=repo.parent, repo=repo, environ={}).settings
    assert loaded.notices == ()


@pytest.mark.parametrize("key", DEARER)
def test_what_a_repo_makes_dearer_is_said_before_a_call(key: str, repo: Path) -> None:
    (repo / "pyproject.toml").write_text(DEARER[key][0])
    loaded = load_settings(cwd=repo.parent, repo=repo, environ={})
    assert f"{repo}/pyproject.toml: {key} is " in loaded.notices[0]
    assert loaded.settings != load_settings(cwd=repo.parent, environ={}).settings, "it counts"


def test_a_repo_that_makes_nothing_dearer_is_not_talked_about(repo: Path) -> None:
    cheap = "max_tokens = 1000\n[factory]\nattempts = 2\nmax_output_tokens = 10\n"
    (repo / "llmch.toml").write_text(cheap)
    assert load_settings(cwd=repo.parent, repo=repo, environ={}).notices == ()


def test_a_cap_of_a_repo_never_raises_a_cap_of_a_person(repo: Path) -> None:
    (repo / "llmch.toml").write_text("max_tokens = 10000000\nmax_cost = 99\n")
    environ = {"LLMCH_MAX_TOKENS": "1000", "LLMCH_MAX_COST": "1"}
    settings = load_settings(cwd=repo.parent, repo=repo, environ=environ).settings
    assert settings.max_tokens == 1000
    assert settings.max_cost == Decimal(1)
