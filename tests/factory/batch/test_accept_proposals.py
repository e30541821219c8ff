"""`accept`: what anybody proposes for an order lands, if it passes as a reply would."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from factory.batch.accept_proposals import (
    JudgedProposals,
    check_proposals,
    land_proposals,
    read_proposals,
)
from shared.events.events import Warned
from tests.factory.batch.batching import each_writes, landed_on, step
from tests.factory.batch.taking_over import Person
from tests.fakes import refused
from tests.harness import Factory, git, manifest

TEST = {"path": "tests/check.txt", "content": "as planned\n"}


def begun(factory: Factory, **changes: object) -> Person:
    """The second of three orders has failed, and the third needs it."""
    orders = [
        step(1),
        step(2, **{"acceptance_commands": ["grep -q hand 2.txt"], **changes}),
        step(3, depends_on=["WO-02"]),
    ]
    replies = {**each_writes(1), "WO-02": [refused()] * 3}
    factory.run_all(manifest(orders), replies, max_attempts=1)
    git(factory.repo, "branch", "--quiet", "theirs", "work")
    return Person(factory)


def propose(
    person: Person,
    *given: tuple[str, object],
    name: str = "WO-02",
    check: bool = False,
    allow_more: bool = False,
    **options: Any,
) -> JudgedProposals:
    factory, plan = person.factory, person.plan()
    factory.events = []
    words = [(kind, str(word)) for kind, word in given]
    found = read_proposals(plan, name, person.place, words, allow_more=allow_more)
    judge = check_proposals if check else land_proposals
    return judge(plan, name, found, person.place, factory.options(**options), factory._take)


def patch_of(person: Person, commit: str) -> Path:
    path = person.factory.scratch / "their.patch"
    path.write_text(git(person.factory.repo, "diff", f"{commit}~1", commit) + "\n")
    return path


def folder_with(factory: Factory, files: dict[str, str], commit: str = "work") -> Path:
    """Make a folder with the files of a commit, and others in their place."""
    folder = factory.scratch / "theirs"
    git(factory.repo, "clone", "--quiet", "--branch", commit, ".", str(folder))
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


def why(judged: JudgedProposals, number: int = 0) -> str:
    brief = judged.summary.attempt_records[number].failure_brief
    return brief.primary_error_excerpt if brief else ""


def test_a_commit_of_another_branch_lands_as_the_orders_own(factory: Factory) -> None:
    person = begun(factory)
    theirs = person.commits("2.txt", branch="theirs")
    before = factory.tip()
    judged = propose(person, ("commit", "theirs"))
    assert judged.passed and judged.landed
    assert landed_on(factory.repo) == ["WO-01", "WO-02"]
    assert git(factory.repo, "rev-parse", "work~1") == before
    assert factory.tip() != theirs
    assert git(factory.repo, "show", "work:2.txt") == "by hand"
    message = git(factory.repo, "log", "-1", "--format=%B", "work")
    assert f"Proposed by commit {theirs[:12]} of Ada <ada@example.org>." in message
    assert factory.run_all(factory.scratch / "plan", each_writes(3)).verdict == "PASS"


def test_a_patch_lands(factory: Factory) -> None:
    person = begun(factory)
    judged = propose(person, ("diff", patch_of(person, person.commits("2.txt", branch="theirs"))))
    assert judged.passed
    assert git(factory.repo, "show", "work:2.txt") == "by hand"


def test_a_folder_lands_and_what_else_differs_is_named(factory: Factory) -> None:
    person = begun(factory)
    folder = folder_with(factory, {"2.txt": "by hand\n", "more.txt": "x\n", "src/app.py": "y\n"})
    judged = propose(person, ("dir", folder))
    assert judged.passed
    assert judged.given[0].by.dropped == ("more.txt", "src/app.py")
    assert any("left out is" in each.message for each in factory.seen(Warned))
    assert git(factory.repo, "show", "work:2.txt") == "by hand"
