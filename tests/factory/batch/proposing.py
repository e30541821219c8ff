"""What anybody proposes for an order: a commit elsewhere, a patch, a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from factory.batch.accept_proposals import (
    JudgedProposals,
    check_proposals,
    land_proposals,
    read_proposals,
)
from tests.factory.batch.batching import each_writes, step
from tests.factory.batch.taking_over import Person
from tests.fakes import refused
from tests.harness import Factory, git, manifest


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
