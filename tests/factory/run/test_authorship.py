"""Commits have the person's name, and a run that goes on makes the commits it would have made."""

from __future__ import annotations

from typing import Any

import pytest

from shared.errors import InterruptedRun
from shared.events.events import Event, StageStarted
from shared.git.repos import Identity
from shared.settings.settings import CommitSettings
from tests.fakes import proposal
from tests.harness import Factory, Json, git, manifest, order, writing

HELLO = proposal({"hello.txt": "hello\n"})
ONE, TWO = (proposal({f"{name}.txt": "x\n"}) for name in ("1", "2"))
BAD = proposal({"stray.txt": "x\n"})
WHO = "%an <%ae>, %cn <%ce>"
ADA = "Ada <ada@example.org>"


def plan() -> Json:
    return manifest([writing("1.txt", 1), writing("2.txt", 2)])


def call_me(factory: Factory, name: str) -> None:
    git(factory.repo, "config", "user.name", name)
    git(factory.repo, "config", "user.email", f"{name.lower()}@example.org")


def log(factory: Factory, form: str) -> list[str]:
    return git(factory.repo, "log", "--reverse", f"--format={form}", "main..work").splitlines()


def interrupted(factory: Factory) -> None:
    def interrupt(event: Event) -> None:
        if isinstance(event, StageStarted) and event.order == "WO-02":
            raise KeyboardInterrupt

    factory.on_event = interrupt
    with pytest.raises(InterruptedRun):
        factory.run_all(plan(), {"WO-01": [ONE], "WO-02": [TWO]})
    factory.on_event = None


@pytest.mark.rest
def test_subjects_are_in_the_style_of_the_commit_that_the_plan_began_on(factory: Factory) -> None:
    def commit(message: str) -> None:
        git(factory.repo, "commit", "--quiet", "--allow-empty", f"--message={message}")

    for number in range(3):
        commit(f"feat(shop): thing {number}")
    style: dict[str, Any] = {"commit": CommitSettings(), "date": "@1 +0000"}
    good = {"WO-01": [ONE], "WO-02": [TWO]}
    assert (
        factory.run_all(plan(), {**good, "WO-02": [BAD]}, max_attempts=1, **style).verdict == "FAIL"
    )
    git(factory.repo, "branch", "--quiet", "other", "work")
    again = factory.run_all(plan(), {"WO-02": [TWO]}, **style)
    assert log(factory, "%s") == ["feat: say hello", "feat: say hello"]
    whole = factory.run_all(plan(), good, jobs=2, branch="at-once", **style)
    assert again.tip == whole.tip
    git(factory.repo, "switch", "--quiet", "other")
    for number in range(30):
        commit(f"Thing {number}.")
    factory.run_all(plan(), good, branch="other", **style)
    assert git(factory.repo, "log", "-1", "--format=%s", "other") == "feat: say hello"


def test_the_author_is_who_the_person_is_to_git(factory: Factory) -> None:
    call_me(factory, "Ada")
    factory.run(order(), [HELLO])
    assert log(factory, WHO) == [f"{ADA}, {ADA}"]
    record = factory.record("run.json")
    assert record["author"] == ADA
    assert record["commit_date"] == f"@{log(factory, '%at')[0]} +0000"


def test_without_an_identity_the_author_is_llmch(factory: Factory) -> None:
    factory.run(order(), [HELLO])
    assert log(factory, WHO) == ["llmch <llmch@localhost>, llmch <llmch@localhost>"]


def test_the_models_summary_is_the_body(factory: Factory) -> None:
    factory.run(order(), [HELLO])
    body = git(factory.repo, "log", "-1", "--format=%b", "work")
    assert body.startswith("as scripted\n\nLlmch-Work-Order: WO-01\n")


@pytest.mark.parametrize("jobs", [1, 2])
def test_summary_and_author_are_the_same_for_any_number_of_jobs(
    factory: Factory, monkeypatch: pytest.MonkeyPatch, jobs: int
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    call_me(factory, "Ada")
    replies = {"WO-01": [ONE], "WO-02": [TWO]}
    tips = [factory.run_all(plan(), replies, branch=f"work{n}", jobs=n).tip for n in (1, jobs)]
    assert tips[0] == tips[1]


def test_a_run_that_goes_on_keeps_author_and_date(
    factory: Factory, monkeypatch: pytest.MonkeyPatch
) -> None:
    call_me(factory, "Ada")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    whole = factory.run_all(plan(), {"WO-01": [ONE], "WO-02": [TWO]}, branch="whole")
    interrupted(factory)
    monkeypatch.delenv("SOURCE_DATE_EPOCH")
    call_me(factory, "Grace")
    again = factory.run_all(plan(), {"WO-02": [TWO]})
    assert again.tip == whole.tip
    assert log(factory, "%an %at") == ["Ada 1700000000"] * 2


def test_the_setting_comes_before_what_was_recorded(factory: Factory) -> None:
    call_me(factory, "Ada")
    interrupted(factory)
    author = Identity("Grace", "grace@example.org")
    factory.run_all(plan(), {"WO-02": [TWO]}, commit=CommitSettings(author=author))
    assert log(factory, "%an") == ["Ada", "Grace"]


def test_other_work_and_a_run_after_one_that_ended_are_the_persons(factory: Factory) -> None:
    call_me(factory, "Ada")
    interrupted(factory)
    call_me(factory, "Grace")
    factory.run(order(), [HELLO])
    factory.run_all(plan(), {"WO-02": [BAD]}, max_attempts=1)
    call_me(factory, "Mary")
    factory.run_all(plan(), {"WO-02": [TWO]})
    assert log(factory, "%an") == ["Ada", "Grace", "Mary"]
