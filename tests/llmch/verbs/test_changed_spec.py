"""The second day: a specification changes, and only what the change touches is made."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from factory.proposal.files_format import ProposedFile, render_block
from tests.harness import commit_all, git
from tests.llmch.command_line import Say, model_server, plan_reply
from tests.planner.plans import Document, creating, exists, order, plan
from tests.shared.llm.edge import chat_stream
from tests.shared.llm.scripted_server import Act

DEMANDS = {
    "FR-1": "`price(n)` in shop.py returns {} times n.",
    "FR-2": "`greet(name)` in greeting.py returns 'Hello, NAME!'.",
    "FR-3": "`total(prices)` in total.py returns the sum of a list.",
}


def spec_text(price: int, *ids: str, name: str = "Shop") -> str:
    listed = [{"id": each, "text": DEMANDS[each].format(price)} for each in ids]
    return json.dumps({"name": name, "summary": "A shop.", "requirements": listed})


FIRST = spec_text(3, "FR-1", "FR-2")
SECOND = spec_text(4, "FR-3", "FR-1")
VERIFY = "set -eu\npython -m pytest -q\n"
KEPT = "def test_sum():\n    assert 1 + 1 == 2\n"


def checking(module: str, call: str, value: str) -> Document:
    name = call.partition("(")[0]
    text = f"from {module} import {name}\n\n\ndef test_{name}():\n    assert {call} == {value}\n"
    return {"path": f"tests/test_{module}.py", "content": text}


def building(number: int, module: str, call: str, value: str, covers: str) -> Document:
    """Return the order that creates a module, and brings the test of it."""
    test = checking(module, call, value)
    return creating(
        number,
        f"{module}.py",
        title=f"Add {module}",
        intent=f"{call} is {value}.",
        covers=[covers],
        acceptance_files=[test],
        acceptance_commands=[f"python -m pytest -q {test['path']}"],
        interfaces=[{"path": f"{module}.py", "stub": STUBS[module]}],
    )


STUBS = {
    "shop": "def price(n: int) -> int: ...",
    "greeting": "def greet(name: str) -> str: ...",
    "total": "def total(prices: list[int]) -> int: ...",
}
SHOP = "def price(n: int) -> int:\n    return {} * n\n"
GREETING = 'def greet(name: str) -> str:\n    return f"Hello, {name}!"\n'
TOTAL = "def total(prices: list[int]) -> int:\n    return sum(prices)\n"

DAY_ONE = plan(
    building(1, "shop", "price(2)", "6", "FR-1"),
    building(2, "greeting", "greet('Ada')", "'Hello, Ada!'", "FR-2"),
)
DEARER = order(
    3,
    title="Raise the price",
    intent="price(2) is 8.",
    covers=["FR-1"],
    allowed_files=["shop.py"],
    context_files=["shop.py"],
    postconditions=exists("shop.py"),
    acceptance_files=[checking("shop", "price(2)", "8")],
    acceptance_commands=["python -m pytest -q tests/test_shop.py"],
)
SUM = building(4, "total", "total([1, 2])", "3", "FR-3")
GONE = order(
    5,
    title="Stop greeting",
    intent="Nothing greets any more.",
    covers=["FR-2"],
    allowed_files=["notes.txt"],
    postconditions=exists("notes.txt"),
    removed_files=["greeting.py", "tests/test_greeting.py"],
    acceptance_commands=[
        "python -c \"from importlib.util import find_spec; assert find_spec('greeting') is None\""
    ],
)
DAY_TWO = plan(DEARER, SUM, GONE)


def writes(files: Mapping[str, str]) -> Act:
    blocks = "\n".join(render_block(ProposedFile(path, text)) for path, text in files.items())
    return chat_stream(f"Summary: as scripted\n\n{blocks}")


@pytest.fixture
def shop(repo: Path) -> Path:
    """Return a repo that has a way to verify itself, and a test of its own."""
    commit_all(repo, {"scripts/verify.sh": VERIFY, "tests/test_own.py": KEPT})
    return repo


def files_of(repo: Path, branch: str) -> set[str]:
    return {*git(repo, "ls-tree", "-r", "--name-only", branch).split()}


def states(document: Any) -> list[str]:
    return [each["state"] for each in document["orders"]]


def test_a_changed_spec_is_built_by_four_calls(
    say: Say, shop: Path, cwd: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = cwd / "spec.json"
    command = (
        *("build", "--spec", spec, "--repo", shop, "--sandbox", "off", "--no-review", "--json"),
        *("--reply-format", "files", "--max-attempts", "1"),
    )
    spec.write_text(FIRST)
    with model_server(
        monkeypatch,
        plan_reply(DAY_ONE),
        writes({"shop.py": SHOP.format(3)}),
        writes({"greeting.py": GREETING}),
    ):
        first = say(*command)
    assert first.code == 0, first.out + first.err
    branch = first.document["branch"]

    spec.write_text(SECOND)
    with model_server(
        monkeypatch,
        plan_reply(DAY_TWO),
        writes({"shop.py": SHOP.format(4)}),
        writes({"total.py": TOTAL}),
        writes({"notes.txt": "Greets nobody.\n"}),
    ) as server:
        second = say(*command)
    assert second.code == 0, second.out + second.err
    assert len(server.received) == 4
    assert second.document["branch"] == branch
    assert states(second.document) == ["skipped", "skipped", "landed", "landed", "landed"]
    assert git(shop, "merge-base", "--is-ancestor", first.document["tip"], branch) == ""
    assert files_of(shop, branch) - files_of(shop, "main") == {
        "notes.txt",
        "shop.py",
        "tests/test_shop.py",
        "tests/test_total.py",
        "total.py",
    }
    assert git(shop, "show", f"{branch}:tests/test_shop.py").endswith("price(2) == 8")

    with model_server(monkeypatch) as server:
        again = say(*command)
    assert (again.code, states(again.document)) == (0, ["skipped"] * 5)
    assert not server.received

    spec.write_text(spec_text(4, "FR-1", "FR-3", name="Our shop"))
    with model_server(monkeypatch) as server:
        unchanged = say(*command)
    assert (unchanged.code, unchanged.document["tip"]) == (0, second.document["tip"])
    assert not server.received


def test_the_same_in_steps(
    say: Say, shop: Path, cwd: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`plan --from` makes the next plan, and `run-all` executes what has not landed."""
    spec, one, two = cwd / "spec.json", cwd / "one", cwd / "two"
    spec.write_text(FIRST)
    where = ("--spec", spec, "--repo", shop, "--no-review", "--json")
    execute = ("--sandbox", "off", "--reply-format", "files", "--max-attempts", "1", "--json")
    with model_server(monkeypatch, plan_reply(DAY_ONE)):
        assert say("plan", *where, "--outdir", one).code == 0
    with model_server(
        monkeypatch, writes({"shop.py": SHOP.format(3)}), writes({"greeting.py": GREETING})
    ):
        ran = say("run-all", "--repo", shop, "--workdir", one, *execute)
    assert ran.code == 0, ran.err

    spec.write_text(SECOND)
    with model_server(monkeypatch, plan_reply(DAY_TWO)):
        said = say("plan", *where, "--from", one, "--outdir", two)
    assert said.code == 0, said.out + said.err
    manifest = json.loads((two / "WORK_ORDERS_MANIFEST.json").read_text())
    for name in ("WO-01.json", "WO-02.json"):
        assert (one / name).read_bytes() == (two / name).read_bytes()
    assert manifest["supersedes"]["manifest_sha256"] == manifest_hash(one)
    with model_server(
        monkeypatch,
        writes({"shop.py": SHOP.format(4)}),
        writes({"total.py": TOTAL}),
        writes({"notes.txt": "Greets nobody.\n"}),
    ):
        ran = say("run-all", "--repo", shop, "--workdir", two, *execute)
    assert ran.code == 0, ran.err
    assert states(ran.document) == ["skipped", "skipped", "landed", "landed", "landed"]


def manifest_hash(folder: Path) -> Any:
    return json.loads((folder / "WORK_ORDERS_MANIFEST.json").read_text())["provenance"][
        "manifest_sha256"
    ]
