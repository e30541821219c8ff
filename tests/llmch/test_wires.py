"""A build over each wire: planner and factory ask scripted servers, and the commits are equal.

The replies are authored.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from llmch.verbs.demo import find_example, make_repo
from shared.errors import ExitCode
from shared.llm.model_access import VENDORS
from shared.llm.model_client import Provider
from shared.work_order.parse_order import EMPTY_SHA256
from tests.harness import git
from tests.llmch.command_line import ROOT, Said, Say
from tests.planner import plans
from tests.shared.llm.edge import chat_document, chat_stream, error_answer, response_stream
from tests.shared.llm.native_edge import (
    block_events,
    generated_stream,
    message_stream,
    native_error,
    text_events,
)
from tests.shared.llm.scripted_server import Act, Send, scripted_server

PLAN = json.dumps(
    plans.plan(plans.creating(1, "greet.txt", acceptance_commands=["test -s greet.txt"]))
)
WRITES = [{"path": "greet.txt", "base_sha256": EMPTY_SHA256, "content": "hello\n"}]
PROPOSAL = json.dumps({"summary": "as asked", "writes": WRITES})


def responses_and_chat(plan: str, *proposals: str) -> list[Act]:
    return [response_stream(plan), *map(chat_stream, proposals)]


def chat(*replies: str) -> list[Act]:
    return [error_answer(404, "no such endpoint"), *map(chat_stream, replies)]


def messages(*replies: str) -> list[Act]:
    return [message_stream(*text_events(0, each[:9], each[9:])) for each in replies]


def gemini(*replies: str) -> list[Act]:
    return [generated_stream(each[:9], each[9:]) for each in replies]


Script = Callable[..., list[Act]]
# The last path is that of all further requests, one for each proposal.
WIRES: Final[dict[str, tuple[Script, Provider, list[str]]]] = {
    "responses and chat": (responses_and_chat, Provider.OPENAI, ["responses", "completions"]),
    "chat": (chat, Provider.OPENAI, ["responses", "completions", "completions"]),
    "messages": (messages, Provider.ANTHROPIC, ["messages", "messages"]),
    "gemini": (gemini, Provider.GEMINI, ["m:streamGenerateContent"] * 2),
}


def build(say: Say, repo: Path, model: str, **more: str) -> Said:
    (spec := repo.parent / "spec.md").write_text(more.get("spec", "# Greeter\n\nGreet.\n"))
    flags = ("--sandbox", "off", "--no-review", "--yes", "--json", "--branch", "work")
    models = ("--planner-model", model, "--factory-model", more.get("factory", model))
    return say("build", "--spec", spec, "--repo", repo, *flags, *models)


def acts(path: str) -> str:
    """Return the end of a path, which says what is asked."""
    return path.rpartition("/")[2].partition("?")[0]


@pytest.mark.rest
def test_the_commits_of_a_build_are_the_same_over_every_wire(
    say: Say, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The example is the demo's `hello`: three orders, and an attempt that fails."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1800000000")
    example = find_example("hello")
    lines = map(json.loads, example.transcript.read_text().splitlines())
    replies = [each["text"] for each in lines if "text" in each]
    repo = make_repo(tmp_path / "repo", example.title)
    commits = {}
    for wire, (script, provider, paths) in WIRES.items():
        own = Path(shutil.copytree(repo, tmp_path / wire / "repo", symlinks=True))
        with scripted_server(*script(*replies)) as server:
            monkeypatch.setenv(VENDORS[provider].address, server.base_url)
            for role in ("PLANNER", "FACTORY"):
                monkeypatch.setenv(f"LLMCH_{role}_PROVIDER", provider)
            # The hash of a plan has the model's name in it.
            said = build(say, own, "m", spec=example.spec.read_text())
            assert said.code == 0, said
            asked = [acts(each.path) for each in server.received]
            assert asked == [*paths, *paths[-1:] * (len(replies) - 2)]
        commits[wire] = git(own, "log", "--format=%H %T %s", "work")
    assert len({*commits.values()}) == 1, commits
    assert len(commits["gemini"].splitlines()) == 4


def test_each_role_asks_its_own_vendor(
    say: Say, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        scripted_server(*messages(PLAN)) as planner,
        scripted_server(*gemini(PROPOSAL)) as factory,
    ):
        monkeypatch.setenv("ANTHROPIC_BASE_URL", planner.base_url)
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", factory.base_url)
        said = build(say, repo, "claude-opus-5", factory="gemini-3.5-flash")
        assert said.code == 0, said
        assert [len(planner.received), len(factory.received)] == [1, 1]


SIGNED = block_events(
    0, {"type": "thinking", "thinking": "Look.", "signature": ""},
    {"type": "signature_delta", "signature": "c2ln"},
)  # fmt: skip
LOOKS: Final[dict[str, Act]] = {
    "messages": message_stream(
        *SIGNED,
        *block_events(1, {"type": "tool_use", "id": "t1", "name": "list", "input": {}}),
        stop="tool_use",
    ),
    "gemini": generated_stream(
        {"functionCall": {"name": "list", "args": {}}, "thoughtSignature": "c2ln"}
    ),
}


@pytest.mark.parametrize("wire", LOOKS)
def test_a_model_that_looks_first_gets_its_signed_reasoning_back(
    wire: str, say: Say, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script, provider, _ = WIRES[wire]
    plan, write = script(PLAN, PROPOSAL)
    monkeypatch.setenv("LLMCH_FACTORY_PROPOSER", "tools")
    with scripted_server(plan, LOOKS[wire], write) as server:
        monkeypatch.setenv(VENDORS[provider].address, server.base_url)
        model = {"messages": "claude-opus-5", "gemini": "gemini-3.5-flash"}[wire]
        said = build(say, repo, model)
        assert said.code == 0, said
        assert "c2ln" not in json.dumps(server.bodies[1])
        assert "c2ln" in json.dumps(server.bodies[2])


def test_a_ladder_may_lead_to_another_vendor(
    say: Say, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = json.dumps({"summary": "no", "writes": [{**WRITES[0], "path": "other.txt"}]})
    with (
        scripted_server(*messages(PLAN, PROPOSAL)) as large,
        scripted_server(*gemini(wrong, wrong)) as small,
    ):
        monkeypatch.setenv("ANTHROPIC_BASE_URL", large.base_url)
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", small.base_url)
        said = build(say, repo, "claude-opus-5", factory="gemini-3.5-flash,claude-opus-5@2")
        assert said.code == 0, ([e.path for e in small.received], [e.path for e in large.received])
        assert [len(small.received), len(large.received)] == [2, 2]


def test_a_quota_that_is_used_up_ends_a_build_at_once(
    say: Say, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spent = native_error("messages", 400, "Your credit balance is too low to access the API.")
    with scripted_server(spent) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.base_url)
        said = build(say, repo, "claude-opus-5")
        assert said.code == ExitCode.MODEL
        assert "has no quota left" in said.error["message"]
        assert len(server.received) == 1


def test_a_model_that_the_vendor_does_not_have_is_named_with_the_choice(
    say: Say, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with scripted_server(native_error("messages", 404, "model: claude-9")) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.base_url)
        said = build(say, repo, "claude-9")
        assert said.code == ExitCode.MODEL
        assert "does not know claude-9" in said.error["message"]
        assert "ANTHROPIC_BASE_URL" in said.error["hint"]
        assert "one of Anthropic's" in said.error["hint"]


_CHILD = """
import sys
from shared.llm import gemini_api, messages_api
from shared.llm.live_client import LiveClient
from shared.llm.model_access import ModelAccess
from shared.llm.model_client import Provider
from tests.shared.llm.edge import chat_request
def ran(module):
    return "_judged" in object.__getattribute__(module, "__dict__")
for provider in (Provider.OPENAI, Provider.ANTHROPIC, Provider.GEMINI):
    if provider.value != sys.argv[1]:
        continue
    with LiveClient(ModelAccess(sys.argv[2], "k", provider=provider)) as client:
        assert client.complete(chat_request()).text == "hello"
print("openai" in sys.modules, ran(messages_api), ran(gemini_api))
"""


@pytest.mark.rest
@pytest.mark.parametrize(
    ("provider", "act", "loaded"),
    [
        ("openai", Send(chat_document("hello")), "True False False"),
        ("anthropic", messages("hello")[0], "False True False"),
        ("gemini", gemini("hello")[0], "False False True"),
    ],
)
def test_a_call_loads_what_its_own_wire_needs(provider: str, act: Act, loaded: str) -> None:
    with scripted_server(act) as server:
        child = subprocess.run(
            [sys.executable, "-c", _CHILD, provider, server.base_url],
            capture_output=True, text=True, cwd=ROOT,
        )  # fmt: skip
    assert child.stdout.strip() == loaded, child.stderr
