"""Histories that are not as llmch left them: rebased, shallow, forged, of several plans, long."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from factory.statement.statement import PROOF_REF
from shared.git.client import Git
from shared.processes.process import Finished
from tests.factory.audit.forging import Forger
from tests.factory.drift.landed_shop import (
    DEMANDS,
    GREETING,
    GREETING_STUB,
    GREETING_TEST,
    RUN_GREETING,
    claims_of,
    drift_of,
    land_as_llmch,
    orders,
    plan_of,
    row,
    states,
)
from tests.harness import Json, commit_all, git, order

PROVEN = {"R1": "proven", "R2": "proven", "R3": "proven", "R4": "unproven"}


def digest_of(plan: Json) -> str:
    return str(plan["provenance"]["manifest_sha256"])


def greeting_order(number: int, test: str, **changes: object) -> Json:
    """Return an order that writes the greeting's test again."""
    return order(
        number,
        **{
            "title": "Greet otherwise",
            "allowed_files": ["greeting.py"],
            "context_files": ["greeting.py"],
            "acceptance_files": [{"path": "tests/test_greeting.py", "content": test}],
            "acceptance_commands": [RUN_GREETING],
            "interfaces": [{"path": "greeting.py", "stub": GREETING_STUB}],
            "covers": ["R2"],
        }
        | changes,
    )


def test_a_rebased_branch_keeps_its_orders(shop: Path) -> None:
    """The commits have other ids, and no statement is about them."""
    git(shop, "switch", "--quiet", "main")
    commit_all(shop, {"README.md": "# Moved on\n"})
    git(shop, "switch", "--quiet", "work")
    git(shop, "rebase", "--quiet", "main")
    found = claims_of(shop)
    assert [each.id for each in found.requirements] == ["R1", "R2", "R3", "R4"]
    assert {each.landed.commit for each in found.orders} <= {
        *git(shop, "rev-list", "main..work").split()
    }
    assert not any(each.landed.counted for each in found.orders)
    assert found.gaps == ()


def test_a_shallow_clone_is_named(shop: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{shop}", "clone")
    found = claims_of(tmp_path / "clone")
    assert found.gaps[0].startswith("this is a shallow clone")


def test_an_order_whose_content_nothing_has_is_named(shop: Path) -> None:
    commit = claims_of(shop).orders[1].landed.commit
    git(shop, "notes", f"--ref={PROOF_REF}", "remove", commit)
    found = claims_of(shop)
    assert f"WO-02 ({commit[:12]})" in found.gaps[0] and "--plan DIR" in found.gaps[0]


def test_what_a_later_order_of_the_plan_wrote_again_is_expected(shop: Path) -> None:
    first = plan_of(orders())
    changed = GREETING_TEST.replace("Hello", "Good day")
    land_as_llmch(
        shop,
        plan_of([greeting_order(5, changed)]),
        {"WO-05": {"word.txt": "Good day\n"}},
        {"WO-05": 2},
        [digest_of(first)],
    )
    (test,) = next(each for each in claims_of(shop).orders if each.landed.name == "WO-02").tests
    assert [piece.text for piece in test.pieces] == [changed]


@pytest.mark.rest
def test_two_plans_that_do_not_follow_each_other_both_count(shop: Path) -> None:
    """The second one writes the first one's test again, and the worst state wins."""
    test = GREETING_TEST.replace('f"Hello, {name}!"', 'f"Hello, {name}!" != ""')
    land_as_llmch(shop, plan_of([greeting_order(1, test)]), {}, {"WO-01": 2})
    found = row(drift_of(shop), "R2")
    assert [(each.order, str(each.state)) for each in found.orders] == [
        ("WO-02", "weakened"),
        ("WO-01", "proven"),
    ]
    assert found.state == "weakened"
    assert found.detail.startswith("WO-02: tests/test_greeting.py:4 has another `test_greet`")


def test_a_requirement_that_the_latest_plan_dropped_is_not_listed(shop: Path) -> None:
    gone = order(
        5,
        title="Greet nobody",
        allowed_files=[],
        removed_files=["greeting.py", "tests/test_greeting.py"],
        acceptance_commands=["test ! -e greeting.py"],
        covers=["R2"],
    )
    left = {name: text for name, text in DEMANDS.items() if name != "R2"}
    land_as_llmch(shop, plan_of([gone], left), {}, {}, [digest_of(plan_of(orders()))])
    found = claims_of(shop)
    assert [each.id for each in found.requirements] == ["R1", "R3", "R4"]


@pytest.mark.rest
def test_a_command_that_a_later_order_gave_up_is_not_broken(shop: Path) -> None:
    """The command itself says what was so before the plan changed it."""
    asserting = 'python -c "from shop import price; assert price(1) == 3"'
    first = order(
        6, allowed_files=["x.txt"], acceptance_commands=[asserting], covers=["R6"]
    )  # fmt: skip
    before = plan_of([first], {**DEMANDS, "R6": "Dear."})
    land_as_llmch(shop, before, {"WO-06": {"x.txt": "x\n"}}, {})
    dearer = "def price(n: int) -> int:\n    return 4 * n\n"
    later = order(
        7,
        allowed_files=["shop.py", "x.txt"],
        acceptance_commands=[asserting.replace("== 3", "== 4")],
        covers=["R6"],
    )
    written = {"WO-07": {"shop.py": dearer}}
    land_as_llmch(shop, plan_of([later], {"R6": "Dearer."}), written, {}, [digest_of(before)])
    found = drift_of(shop)
    assert states(found)["R6"] == "proven"
    assert row(found, "R6").work_orders == ("WO-07",)
    assert states(found)["R1"] == "broken"  # that plan knows nothing of the change


@pytest.mark.rest
def test_a_flaky_test_is_told_and_not_broken(shop: Path, tmp_path: Path) -> None:
    mark = tmp_path / "seen"
    flaky = (
        f"{GREETING}\n\nfrom pathlib import Path as P\n_SEEN = P({str(mark)!r})\n"
        "if not _SEEN.exists():\n    _SEEN.touch()\n    raise RuntimeError('not yet')\n"
    )
    commit_all(shop, {"greeting.py": flaky})
    found = row(drift_of(shop), "R2")
    assert (found.state, found.flaky) == ("proven", (RUN_GREETING,))
    assert "flaky" in found.detail


def test_a_forged_note_adds_no_order_and_takes_none_away(shop: Path) -> None:
    """It claims that the order on a commit is another one, whose test asserts nothing."""
    forger = Forger(shop, shop.parent / "artifacts", ())
    honest = claims_of(shop)
    commit = next(each.landed.commit for each in honest.orders if each.landed.name == "WO-02")

    def edit(statement: Json) -> None:
        document = statement["predicate"]["order"]["document"]
        document["acceptance_files"][0]["content"] = "def test_greet():\n    pass\n"
        document["covers"] = ["R2", "R7"]

    forger.restate(commit, edit)
    found = claims_of(shop)
    assert [each.id for each in found.requirements] == ["R1", "R3", "R4"]
    assert "WO-02" in found.gaps[0]
    forger.note(commit, json.dumps({"payloadType": 1}) + "\n\x00garbage\n")
    assert [each.id for each in claims_of(shop).requirements] == ["R1", "R3", "R4"]


@pytest.mark.rest
def test_ten_thousand_commits_cost_no_process_each(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin = "from refs/heads/work^0\n"
    made = [
        "commit refs/heads/work\n"
        f"committer A <a@b> {1_700_000_000 + number} +0000\ndata 1\nx\n{'' if number else begin}\n"
        for number in range(10_000)
    ]
    git(shop, "switch", "--quiet", "--detach")
    git(shop, "fast-import", "--quiet", stdin="".join(made).encode())
    calls: list[str] = []
    run = Git.try_run

    def counted(self: Git, *words: str, **named: Any) -> Finished:
        calls.append(words[0])
        return run(self, *words, **named)

    monkeypatch.setattr(Git, "try_run", counted)
    found = claims_of(shop, "work")
    assert [each.id for each in found.requirements] == ["R1", "R2", "R3", "R4"]
    assert len(calls) < 30, calls
