"""A shop whose specification changes on the second day: its plans, replies and repo."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from factory.proposal.reply_formats import ProposedFile, render_block
from tests.harness import commit_all, git
from tests.llmch.command_line import plan_reply
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


FIRST_DAY = (
    plan_reply(DAY_ONE),
    writes({"shop.py": SHOP.format(3)}),
    writes({"greeting.py": GREETING}),
)
SECOND_DAY = (
    plan_reply(DAY_TWO),
    writes({"shop.py": SHOP.format(4)}),
    writes({"total.py": TOTAL}),
    writes({"notes.txt": "Greets nobody.\n"}),
)
NEW_FILES = {"notes.txt", "shop.py", "tests/test_shop.py", "tests/test_total.py", "total.py"}
"""What the branch has beside the repo's own files when the second day is over."""


def make_shop(repo: Path) -> Path:
    """Give the repo a way to verify itself, and a test of its own."""
    commit_all(repo, {"scripts/verify.sh": VERIFY, "tests/test_own.py": KEPT})
    return repo


def files_of(repo: Path, branch: str) -> set[str]:
    return {*git(repo, "ls-tree", "-r", "--name-only", branch).split()}


def states(document: Any) -> list[str]:
    return [each["state"] for each in document["orders"]]
