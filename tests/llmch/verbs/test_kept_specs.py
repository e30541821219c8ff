"""Specifications as other tools keep them, from their folders to commits and ticks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.harness import commit_all, git
from tests.llmch.command_line import Say, model_server, plan_reply
from tests.llmch.shop import GREETING, SHOP, TOTAL, building, make_shop, states, writes
from tests.planner.plans import Document, exists, order, plan
from tests.planner.spec.kept_folders import write_files

RUNS = ("--sandbox", "off", "--reply-format", "files", "--max-attempts", "1", "--json")
FAST = ("--no-review", "--no-dry-run")
SPEC_KIT = {
    ".specify/memory/constitution.md": "# Constitution\n\nNames are short.\n",
    "specs/001-shop/spec.md": """\
# Feature Specification: Shop

## User Scenarios & Testing

### User Story 1 - Prices (Priority: P1)

**Acceptance Scenarios**:

1. **Given** 2 things, **When** they are priced, **Then** the price is 6

## Requirements

- **FR-001**: `price(n)` in shop.py MUST return 3 times n.
- **FR-002**: `greet(name)` in greeting.py MUST greet by [NEEDS CLARIFICATION: which words?].
""",
    "specs/001-shop/plan.md": "# Plan\n\nPlain functions.\n",
    "specs/001-shop/tasks.md": (
        "# Tasks\r\n\r\n- [ ] T001 Set up\r\n- [ ] T002 [US1] Write shop.py\r\n"
        "- [ ] T003 Write greeting.py (FR-002)\r\n- [ ] T004 Do FR-001 and FR-009\r\n"
        "- [x] T005 Talk\r\n  ü"
    ),
}
KIRO = {
    ".kiro/specs/shop/requirements.md": """\
# Requirements Document

### Requirement 1: Prices

#### Acceptance Criteria

1. WHEN n things are priced THEN price(n) in shop.py SHALL return 3 times n
2. WHEN somebody comes THEN greet(name) in greeting.py SHALL greet
""",
    ".kiro/specs/shop/tasks.md": """\
- [ ] 1. Prices
  - [ ] 1.1 Write shop.py
    - _Requirements: 1.1_
- [ ] 2. Greeting
  - _Requirements: 1.1-1.2_
- [ ] 3. Checkpoint
""",
}
CAPABILITY = """\
# shop Specification

## Requirements

### Requirement: Price
price(n) in shop.py SHALL return 3 times n.

#### Scenario: Two
- **WHEN** two things are priced
- **THEN** the price is 6

### Requirement: Greeting
greet(name) in greeting.py SHALL greet.
"""
DELTA = """\
## RENAMED Requirements
- FROM: `### Requirement: Greeting`
- TO: `### Requirement: Welcome`

## MODIFIED Requirements

### Requirement: Price
price(n) in shop.py SHALL return 4 times n.

## ADDED Requirements

### Requirement: Total
total(prices) in total.py SHALL return the sum.
"""
CHANGE = "openspec/changes/dearer"


@pytest.fixture
def shop(repo: Path) -> Path:
    return make_shop(repo)


def build(say: Say, shop: Path, place: str) -> Any:
    said = say("build", "--spec", shop / place, "--repo", shop, "--yes", *FAST, *RUNS)
    assert said.code == 0, said.out + said.err
    return said.document


def plan_of(cwd: Path) -> Path:
    runs = sorted((cwd / "artifacts" / "planner").iterdir())
    return runs[-1] / "output"


@pytest.mark.rest
def test_a_feature_of_spec_kit_is_built_and_its_tasks_are_ticked(
    say: Say, shop: Path, cwd: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit_all(write_files(shop, SPEC_KIT), {})
    git(shop, "config", "user.name", "Ada")
    git(shop, "config", "user.email", "ada@example.org")
    tasks = SPEC_KIT["specs/001-shop/tasks.md"]
    whole = {**building(1, "shop", "price(2)", "6", ""), "covers": ["FR-001", "FR-002"]}
    replies = plan_reply(plan(whole)), writes({"shop.py": SHOP.format(3)})
    with model_server(monkeypatch, *replies) as server:
        built = build(say, shop, "")
    prompt = server.bodies[0]["input"]
    assert "Names are short." in json.dumps(prompt)
    assert "Plain functions." in json.dumps(prompt)
    asked = json.loads((plan_of(cwd) / "WORK_ORDERS_MANIFEST.json").read_text())
    (question,) = asked["assumptions"]
    assert (question["text"], question["requirements"]) == ("which words?", ["FR-002"])
    assert question["work_orders"] == ["WO-01"]
    places = {each["id"]: (each.get("file"), each["line"]) for each in asked["requirements"]}
    assert places["FR-001"] == ("specs/001-shop/spec.md", 13)

    command = ("report", "--coverage", plan_of(cwd), "--repo", shop, "--tick", shop / "specs")
    ticked = say(*command, "--json").document
    assert (ticked["branch"], ticked["ticked"]) == (built["branch"], 1)
    what = {each["text"].split()[0]: each["state"] for each in ticked["tasks"]}
    assert what == {
        "T001": "unnamed",
        "T002": "open",
        "T003": "ticked",
        "T004": "unknown",
        "T005": "done",
    }
    tip = git(shop, "rev-parse", built["branch"])
    assert (tip, git(shop, "rev-parse", f"{tip}^")) == (ticked["commit"], built["tip"])
    assert git(shop, "diff", "--name-only", f"{tip}^", tip) == "specs/001-shop/tasks.md"
    blob = git(shop, "rev-parse", f"{tip}:specs/001-shop/tasks.md")
    wanted = tasks.replace("[ ] T003", "[x] T003").encode()
    (cwd / "wanted").write_bytes(wanted)
    assert blob == git(shop, "hash-object", "--no-filters", str(cwd / "wanted"))
    assert git(shop, "log", "-1", "--format=%s", tip) == "tick T003 of 001-shop"
    assert git(shop, "log", "-1", "--format=%an <%ae>", tip) == "Ada <ada@example.org>"

    again = say(*command)
    assert again.out.splitlines()[0] == "[ ] line 3  T001 Set up  (names no requirement)"
    assert "0 tasks of specs/001-shop/tasks.md ticked" in again.out + again.err
    assert git(shop, "rev-parse", built["branch"]) == tip


@pytest.mark.rest
def test_a_spec_of_kiro_is_built_and_its_tasks_are_ticked(
    say: Say, shop: Path, cwd: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit_all(write_files(shop, KIRO), {})
    stated = plan(building(1, "shop", "price(2)", "6", "1.1"))
    with model_server(monkeypatch, plan_reply(stated), writes({"shop.py": SHOP.format(3)})):
        built = build(say, shop, ".kiro/specs/shop")
    git(shop, "checkout", "-q", built["branch"])
    file = shop / ".kiro/specs/shop/tasks.md"
    command = ("report", built["branch"], "--coverage", plan_of(cwd), "--repo", shop, "--tick")
    said = say(*command, shop / ".kiro", "--json")
    assert said.code == 0, said.out
    assert [each["state"] for each in said.document["tasks"]] == [
        *("ticked", "ticked", "open", "unnamed"),
    ]
    ticked = file.read_text()
    assert ticked == KIRO[".kiro/specs/shop/tasks.md"].replace("[ ] 1", "[x] 1")
    assert git(shop, "status", "--porcelain") == ""
    # A criterion that says something else now is not the one that landed.
    words = shop / ".kiro/specs/shop/requirements.md"
    words.write_text(words.read_text().replace("3 times n", "9 times n"))
    file.write_text(ticked.replace("[x]", "[ ]"))
    git(shop, "commit", "-qam", "again")
    said = say(*command, shop / ".kiro", "--json")
    assert {each["state"] for each in said.document["tasks"]} == {"open", "unnamed"}
    assert said.document["commit"] is None


@pytest.mark.rest
def test_a_change_of_openspec_touches_only_its_orders(
    say: Say, shop: Path, cwd: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = {"openspec/specs/shop/spec.md": CAPABILITY}
    commit_all(write_files(shop, base), {})
    stated = plan(
        building(1, "shop", "price(2)", "6", "shop.price"),
        building(2, "greeting", "greet('Ada')", "'Hello, Ada!'", "shop.greeting"),
    )
    replies = writes({"shop.py": SHOP.format(3)}), writes({"greeting.py": GREETING})
    with model_server(monkeypatch, plan_reply(stated), *replies):
        first = build(say, shop, "")

    change = {
        f"{CHANGE}/specs/shop/spec.md": DELTA,
        f"{CHANGE}/tasks.md": "- [ ] 1.1 Raise it (`Price`)\n- [ ] 1.2 Sum up: shop.total\n",
    }
    git(shop, "checkout", "-q", first["branch"])
    commit_all(write_files(shop, change), {})
    dearer: Document = order(
        3,
        title="Raise the price",
        intent="price(2) is 8.",
        covers=["shop.price", "shop.total"],
        allowed_files=["shop.py", "total.py"],
        context_files=["shop.py"],
        postconditions=exists("shop.py", "total.py"),
        acceptance_files=[building(1, "shop", "price(2)", "8", "x")["acceptance_files"][0]],
        acceptance_commands=["python -m pytest -q tests/test_shop.py"],
    )
    written = writes({"shop.py": SHOP.format(4), "total.py": TOTAL})
    with model_server(monkeypatch, plan_reply(plan(dearer)), written) as server:
        second = build(say, shop, "")
    assert len(server.received) == 2
    prompt = json.dumps(server.bodies[0]["input"])
    assert "- changed shop.price:" in prompt
    assert "- added shop.total:" in prompt
    assert "SHALL greet" not in prompt
    assert second["branch"] == first["branch"]
    assert states(second) == ["skipped", "skipped", "landed"]
    said = say("report", "--coverage", plan_of(cwd), "--repo", shop, "--tick", shop / CHANGE)
    assert said.code == 0, said.out
    assert (shop / CHANGE / "tasks.md").read_text().count("[x]") == 2
    with model_server(monkeypatch) as server:
        again = build(say, shop, "")  # a tick changes nothing that is planned
    assert (states(again), server.received) == (["skipped"] * 3, [])


@pytest.mark.rest
def test_what_cannot_be_ticked_is_refused(
    say: Say, shop: Path, cwd: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside = write_files(shop, KIRO) / ".kiro/specs/shop"
    outside = write_files(cwd, KIRO) / ".kiro/specs/shop"
    stated = plan_reply(plan(building(1, "shop", "price(2)", "6", "1.1")))
    with model_server(monkeypatch, stated):
        said = say("plan", "--spec", inside, "--repo", shop, *FAST, "--outdir", "p")
    assert said.code == 0, said.out
    git(shop, "branch", "mine")
    for branch, folder, wanted in (
        (("mine",), inside, "branch 'mine' has no file .kiro/specs/shop/tasks.md"),
        (("mine",), outside, "is not in the repo"),
        ((), inside, "so nothing of the plan has landed on it"),
        (("main",), inside, "is protected"),
        (("mine", "--open"), inside, "--tick changes tasks"),
    ):
        command = ("report", *branch, "--coverage", "p", "--repo", shop, "--tick", folder)
        said = say(*command, "--json")
        assert wanted in said.error["message"]
        assert git(shop, "rev-parse", "mine") == git(shop, "rev-parse", "HEAD")
    assert "name its folder" in say("report", "--tick", inside, "--json").error["hint"]
