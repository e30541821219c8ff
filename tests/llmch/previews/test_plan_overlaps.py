"""Open plans: which there are, what two of them both concern, and what is said before a run."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from factory.audit.open_plans import UnmergedPlan, find_open_plans
from factory.preflight import BranchPolicy, find_repo
from llmch.previews.plan_overlaps import (
    OpenPlansDocument,
    compare_plans,
    open_plans_document,
    warn_before_run,
)
from shared.errors import PreflightRefused
from shared.events.events import Warned
from shared.work_order.parse_order import parse_document
from shared.work_order.work_order import WorkOrder
from tests.factory.batch.batching import each_writes, step, wrote
from tests.fakes import refused
from tests.harness import Factory, commit_all, git, hashed, manifest, order, write_plan, writing

PRICE = {"path": "shop.py", "stub": "def price(n: int) -> int: ..."}
OTHERWISE = {"path": "shop.py", "stub": "def price(n: float) -> float: ..."}


def plan_of(factory: Factory, name: str, orders: list[dict[str, Any]], **texts: str) -> Path:
    """Write a plan of its own, which has requirements."""
    document = manifest(orders, compile_hash=name[0] * 64)
    document["name"] = name
    document["requirements"] = [{"id": each, "text": text} for each, text in texts.items()]
    return write_plan(factory.scratch / name, hashed(document))


def landed(factory: Factory, name: str, branch: str, *numbers: int, **fields: Any) -> Path:
    """Land a plan of orders that write files of their own on a branch; the last one fails."""
    texts = fields.pop("texts", {"FR-1": "The shop has prices.", "FR-2": name})
    orders = [step(number, **fields) for number in numbers]
    folder = plan_of(factory, name, orders, **texts)
    last = f"WO-{numbers[-1]:02d}"
    replies = {**each_writes(*numbers), last: [refused(1)]}
    factory.run_all(folder, replies, branch=branch, max_attempts=1)
    return folder


def found(factory: Factory) -> tuple[UnmergedPlan, ...]:
    return find_open_plans(find_repo(factory.repo), factory.artifacts)


def test_open_plans_are_known_by_commits_and_records(factory: Factory) -> None:
    first = landed(factory, "apples", "factory/apples", 1, 2)
    landed(factory, "bread", "mine", 1, 2, 3)
    commit_all(factory.repo, {"more.txt": "x\n"})
    by_branch = {each.branch: each for each in found(factory)}
    assert by_branch.keys() == {"factory/apples", "mine"}
    apples = by_branch["factory/apples"]
    assert (apples.title, apples.landed, apples.total) == ("apples", ("WO-01",), 2)
    assert (apples.behind, apples.folder, apples.left) == (1, first, ("WO-02",))
    assert apples.requirements == {"FR-1": "The shop has prices.", "FR-2": "apples"}
    git(factory.repo, "merge", "--quiet", "--no-edit", "factory/apples")
    assert [each.branch for each in found(factory)] == ["mine"]


def test_a_clone_knows_what_commits_and_notes_say(factory: Factory, tmp_path: Path) -> None:
    landed(factory, "apples", "factory/apples", 1, 2)
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "--quiet", str(factory.repo), str(clone))
    git(clone, "fetch", "--quiet", "origin", "refs/notes/*:refs/notes/*")
    (plan,) = find_open_plans(find_repo(clone), tmp_path / "none")
    assert (plan.branch, plan.landed, plan.total) == ("origin/factory/apples", ("WO-01",), None)
    assert [each.allowed_files for each in plan.orders] == [("1.txt",)]
    # A statement's order is believed only where it is the one that the commit names.
    git(clone, "update-ref", "-d", "refs/notes/llmch-proof")
    (bare,) = find_open_plans(find_repo(clone), tmp_path / "none")
    assert (bare.landed, bare.orders) == (("WO-01",), ())


def parsed(*orders: dict[str, Any]) -> list[WorkOrder]:
    return [parse_document(WorkOrder, each) for each in orders]


@pytest.mark.parametrize(
    ("ours", "theirs", "demands", "said"),
    [
        (
            {"interfaces": [PRICE]},
            {"interfaces": [OTHERWISE]},
            "x",
            "declare differently shop.py: price",
        ),
        ({"interfaces": [PRICE]}, {"interfaces": [PRICE]}, "x", "declare shop.py: price"),
        ({"allowed_files": ["a.py"]}, {"removed_files": ["a.py"]}, "x", "write a.py"),
        ({}, {}, "Other words.", "other texts: FR-1"),
        ({}, {}, "Some   words.", "carry out FR-1"),
        ({}, {}, "", ""),
    ],
)
def test_what_two_plans_both_concern(
    ours: dict[str, Any], theirs: dict[str, Any], demands: str, said: str
) -> None:
    own = parsed(order(1, **{"allowed_files": ["one.py"], **ours}))
    others = tuple(parsed(order(1, **{"allowed_files": ["two.py"], **theirs})))
    texts = {"FR-1": "Some words."} if demands not in ("x", "") else {}
    other = UnmergedPlan("b", "t", "p" * 64, "Other", ("WO-01",), 0, others, texts, (), Path("x"))
    overlap = compare_plans(own, {"FR-1": demands}, other)
    assert overlap.is_any == bool(said)
    assert said in " ".join(overlap.phrases())


def test_a_run_warns_once_of_each_and_goes_on(factory: Factory) -> None:
    landed(factory, "apples", "factory/apples", 1, 2)
    mine = plan_of(factory, "mine", [step(1)], **{"FR-1": "The shop has no prices."})
    factory.events = []
    warn_before_run(mine, factory.options(branch=None), factory._take)
    (warning,) = factory.seen(Warned)
    assert "'apples' on factory/apples (1 of 2 orders landed, not merged)" in warning.message
    assert "other texts: FR-1; write 1.txt" in warning.message
    assert "plan again by `llmch plan --spec SPEC --from" in warning.message
    factory.events = []
    apart = plan_of(factory, "apart", [writing("5.txt")], **{"FR-9": "Something else."})
    warn_before_run(apart, factory.options(branch=None), factory._take)
    assert factory.seen(Warned) == []


def test_a_plan_and_what_follows_it_do_not_overlap(factory: Factory) -> None:
    folder = landed(factory, "apples", "factory/apples", 1, 2)
    before = json.loads((folder / "WORK_ORDERS_MANIFEST.json").read_text())
    document = manifest([step(1), step(2, intent="Another.")])
    document["supersedes"] = {
        "manifest_sha256": before["provenance"]["manifest_sha256"], "planner_run_id": "X",
        "earlier": [], "title": "apples",
    }  # fmt: skip
    later = write_plan(factory.scratch / "later", hashed(document))
    factory.events = []
    warn_before_run(later, factory.options(branch="factory/apples"), factory._take)
    assert factory.seen(Warned) == []


def test_the_branch_of_an_unfinished_plan_is_refused_unless_it_is_meant(factory: Factory) -> None:
    folder = landed(factory, "apples", "work", 1, 2)
    mine = plan_of(factory, "mine", [writing("5.txt")])
    with pytest.raises(PreflightRefused, match="the branch of another plan, 'apples'") as refused:
        warn_before_run(mine, factory.options(), factory._take)
    assert "--reuse-branch" in (refused.value.hint or "")
    warn_before_run(mine, factory.options(policy=BranchPolicy.REUSE), factory._take)
    factory.run_all(folder, {"WO-02": [wrote(2)]})
    warn_before_run(mine, factory.options(), factory._take)  # that plan is complete now


def test_an_edited_folder_counts_by_its_commits_alone(factory: Factory) -> None:
    folder = landed(factory, "apples", "factory/apples", 1, 2)
    path = folder / "WORK_ORDERS_MANIFEST.json"
    path.write_text(path.read_text().replace("apples", "pears"))
    (plan,) = found(factory)
    assert (plan.total, plan.landed) == (None, ("WO-01",))
    path.write_text("{")
    assert found(factory)[0].total is None


def test_status_lists_them_and_what_they_have_in_common(factory: Factory) -> None:
    landed(factory, "apples", "factory/apples", 1, 2)
    landed(factory, "bread", "mine", 1, 2, 3)
    document = open_plans_document(find_repo(factory.repo), factory.artifacts)
    answer: Any = document.to_json()
    assert {each["branch"] for each in answer["plans"]} == {"factory/apples", "mine"}
    (pair,) = answer["overlaps"]
    assert (pair["reworded"], pair["files"]) == (["FR-2"], ["1.txt", "2.txt"])
    said = "\n".join(map(str, document.blocks()))
    assert "1 of 2" in said and "2 of 3" in said


def test_two_hundred_open_plans_take_no_process_each(factory: Factory, tmp_path: Path) -> None:
    """The branches are made by one import; their commits name plans that no record leads to."""
    base = git(factory.repo, "rev-parse", "main")
    stream = "".join(
        f"commit refs/heads/factory/p{number}\ncommitter A <a@b> {1700000000 + number} +0000\n"
        f"data {len(message)}\n{message}\nfrom {base}\nM 644 inline {number}.txt\ndata 1\nx\n"
        for number in range(200)
        for message in (
            f"Change\n\nLlmch-Work-Order: WO-01\nLlmch-Plan: {number:064x}\nLlmch-Key: {1:064x}\n",
        )
    )
    git(factory.repo, "fast-import", "--quiet", stdin=stream.encode())
    place = find_repo(factory.repo)
    counting = tmp_path / "trace"
    place = dataclasses.replace(
        place,
        git=dataclasses.replace(
            place.git, environment={**place.git.environment, "GIT_TRACE2_EVENT": str(counting)}
        ),
    )
    plans = find_open_plans(place, factory.artifacts)
    assert len(plans) == 200
    assert plans[0].branch == "factory/p199"
    started = [each for each in counting.read_text().splitlines() if '"event":"start"' in each]
    assert len(started) <= 10, started
    document = open_plans_document(place, factory.artifacts)
    assert len(document.plans) == 200


def test_a_commit_of_no_possible_date_is_listed_last() -> None:
    late = UnmergedPlan("b", "t", "p" * 64, "Late", ("WO-01",), 0, (), {}, (), Path("x"))
    late = dataclasses.replace(late, last=1_700_000_000_000)
    document = OpenPlansDocument("main", (late,), ())
    assert "9999-12-31" in str(document.to_json())
    assert list(document.blocks())
