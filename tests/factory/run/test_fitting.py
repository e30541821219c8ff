"""A plan is not run on files that others have changed since it was made."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import pytest

from shared.errors import PreflightRefused
from shared.events.events import Warned
from tests.fakes import Reply, proposal, refused
from tests.harness import Factory, Json, commit_all, git, hashed, manifest, write_plan, writing


def plan_for(factory: Factory, *orders: Json, commit: str = "HEAD", **fields: Any) -> Json:
    """Return a plan of the orders, made for the files of a commit."""
    paths = git(factory.repo, "ls-tree", "-r", "--name-only", commit).splitlines()
    base = [
        {"path": path, "sha256": sha256((factory.repo / path).read_bytes()).hexdigest()}
        for path in paths
    ]
    return hashed({**manifest(orders), "base_files": base, **fields})


def app(number: int = 1, **fields: Any) -> Json:
    """Return an order that writes `src/app.py`."""
    return writing("src/app.py", number, **fields)


def wrote(text: str) -> list[Reply]:
    return [proposal({"src/app.py": f"GREETING = '{text}'\n"})]


def refusal(factory: Factory, plan: Json, **options: Any) -> PreflightRefused:
    with pytest.raises(PreflightRefused) as refused:
        factory.run_all(plan, {}, **options)
    assert factory.model.requests == []
    return refused.value


def warnings(factory: Factory) -> list[str]:
    return [each.message for each in factory.seen(Warned) if "has changed since" in each.message]


def test_a_file_that_an_order_writes_and_others_changed_is_refused_by_name(
    factory: Factory,
) -> None:
    plan = plan_for(factory, app(), writing("2.txt", 2, context_files=["src/app.py"]))
    commit = commit_all(factory.repo, {"src/app.py": "GREETING = 'ciao'\n"})
    said = refusal(factory, plan)
    assert f"src/app.py, which WO-01, WO-02 touches or reads (changed by {commit[:12]})" in (
        said.message
    )
    for words in ("llmch plan --spec SPEC --from", "--branch work", "llmch accept"):
        assert words in said.hint
    assert factory.tip() == ""
    replies: dict[str, list[Reply]] = {"WO-01": wrote("hi"), "WO-02": [proposal({"2.txt": "2\n"})]}
    assert factory.run_all(plan, replies, allow_changed=True).verdict == "PASS"
    assert len(warnings(factory)) == 1


def test_one_order_alone_is_refused_as_well(factory: Factory) -> None:
    folder = write_plan(factory.scratch / "plan", plan_for(factory, app()))
    commit_all(factory.repo, {"src/app.py": "GREETING = 'ciao'\n"})
    with pytest.raises(PreflightRefused) as refused:
        factory.run(folder / "WO-01.json", [])
    assert f"--from {folder} " in refused.value.hint


def test_changes_of_other_files_do_not_matter(factory: Factory) -> None:
    plan = plan_for(factory, app())
    commit_all(factory.repo, {"README.md": "# Another title\n", "more.txt": "more\n"})
    assert factory.run_all(plan, {"WO-01": wrote("hi")}).verdict == "PASS"
    assert warnings(factory) == []


def test_a_change_that_was_taken_back_is_none(factory: Factory) -> None:
    plan = plan_for(factory, app())
    commit_all(factory.repo, {"src/app.py": "GREETING = 'ciao'\n"})
    git(factory.repo, "revert", "--no-edit", "HEAD")
    assert factory.run_all(plan, {"WO-01": wrote("hi")}).verdict == "PASS"


def test_a_file_that_is_gone_has_changed(factory: Factory) -> None:
    plan = plan_for(factory, app())
    (factory.repo / "src/app.py").unlink()
    commit = commit_all(factory.repo)
    assert f"src/app.py, which WO-01 touches or reads (changed by {commit[:12]})" in (
        refusal(factory, plan).message
    )


def test_what_orders_of_the_plan_wrote_is_as_it_should_be(factory: Factory) -> None:
    plan = plan_for(factory, app(1), app(2), app(3))
    replies: dict[str, list[Reply]] = {
        "WO-01": wrote("one"),
        "WO-02": wrote("two"),
        "WO-03": [refused()],
    }
    assert factory.run_all(plan, replies, max_attempts=1).verdict == "FAIL"
    assert factory.run_all(plan, {"WO-03": wrote("three")}).verdict == "PASS"
    assert warnings(factory) == []


def test_a_persons_commit_on_the_plans_branch_is_a_warning(factory: Factory) -> None:
    plan = plan_for(factory, app(1), app(2))
    replies: dict[str, list[Reply]] = {"WO-01": wrote("one"), "WO-02": [refused()]}
    factory.run_all(plan, replies, max_attempts=1)
    git(factory.repo, "switch", "--quiet", "work")
    commit = commit_all(factory.repo, {"src/app.py": "GREETING = 'by hand'\n"})
    assert factory.run_all(plan, {"WO-02": wrote("two")}).verdict == "PASS"
    (said,) = warnings(factory)
    assert f"changed by {commit[:12]}" in said
    assert "WO-02 goes on with it as it is" in said


def test_a_merge_into_the_plans_branch_is_refused(factory: Factory) -> None:
    plan = plan_for(factory, app(1, allowed_files=["1.txt"]), app(2))
    replies: dict[str, list[Reply]] = {"WO-01": [proposal({"1.txt": "1\n"})], "WO-02": [refused()]}
    factory.run_all(plan, replies, max_attempts=1)
    commit = commit_all(factory.repo, {"src/app.py": "GREETING = 'ciao'\n"})
    git(factory.repo, "switch", "--quiet", "work")
    git(factory.repo, "merge", "--quiet", "--no-edit", "main")
    assert f"(changed by {commit[:12]})" in refusal(factory, plan).message


def test_a_merge_that_takes_the_other_side_is_refused_by_its_commit(factory: Factory) -> None:
    """The commit of the order is newer than the one whose content the merge took."""
    commit = commit_all(factory.repo, {"src/app.py": "GREETING = 'ciao'\n"})
    git(factory.repo, "branch", "side")
    git(factory.repo, "reset", "--quiet", "--hard", "HEAD~1")
    plan = plan_for(factory, app(1), app(2))
    replies: dict[str, list[Reply]] = {"WO-01": wrote("one"), "WO-02": [refused()]}
    factory.run_all(plan, replies, max_attempts=1)
    git(factory.repo, "switch", "--quiet", "work")
    git(factory.repo, "merge", "--quiet", "--no-edit", "-X", "theirs", "side")
    assert f"(changed by {commit[:12]})" in refusal(factory, plan).message


def test_a_plan_for_another_tree_is_refused_without_a_commit(factory: Factory) -> None:
    plan = plan_for(factory, app())
    plan["base_files"] = [{"path": "src/app.py", "sha256": "0" * 64}]
    said = refusal(factory, hashed(plan))
    assert "src/app.py, which WO-01 touches or reads (no commit here has it" in said.message


def test_a_plan_without_recorded_files_is_run_as_before(factory: Factory) -> None:
    plan = manifest([app()])
    commit_all(factory.repo, {"src/app.py": "GREETING = 'ciao'\n"})
    assert factory.run_all(plan, {"WO-01": wrote("hi")}).verdict == "PASS"


def test_only_the_files_of_orders_to_come_count(factory: Factory) -> None:
    plan = plan_for(factory, app(1), writing("2.txt", 2))
    replies: dict[str, list[Reply]] = {"WO-01": wrote("one"), "WO-02": [refused()]}
    factory.run_all(plan, replies, max_attempts=1)
    git(factory.repo, "switch", "--quiet", "work")
    commit_all(factory.repo, {"src/app.py": "GREETING = 'by hand'\n"})
    assert factory.run_all(plan, {"WO-02": [proposal({"2.txt": "2\n"})]}).verdict == "PASS"
    assert warnings(factory) == []
