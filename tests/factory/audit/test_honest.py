"""What llmch made is proven, however it was made."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import jsonschema
import pytest

from factory.audit.audit_evidence import Claim, ClaimState
from factory.run.run_order import run_order
from factory.sandbox.policy import Backend
from shared.events.events import Event, OrderStarted
from shared.llm.stack import Mode, ModelSource
from shared.settings.settings import SandboxSettings
from tests import provenance_schema
from tests.factory.audit.forging import Forger
from tests.factory.audit.honest import (
    ONE,
    PROVEN,
    TWO,
    WRONG,
    Auditor,
    contradictions,
    describe,
    make_branch,
    orders,
    replies,
    standings,
)
from tests.fakes import proposal
from tests.harness import Factory, commit_all, git, manifest, writing

pytestmark = pytest.mark.rest


WITHOUT_PLAN = {claim: each for claim, each in PROVEN.items() if claim is not Claim.PLAN}


def assert_proven(factory: Factory, words: str = "main..work", *, with_plan: bool = True) -> None:
    found = Auditor(factory.repo, factory.artifacts).look(words)
    assert standings(found) == (PROVEN if with_plan else WITHOUT_PLAN), describe(found)


# How the orders were run


@pytest.mark.parametrize("jobs", [1, 2, 4])
def test_a_plan(factory: Factory, jobs: int) -> None:
    make_branch(factory, jobs=jobs)
    assert_proven(factory)


def test_a_plan_in_the_sandbox(factory: Factory) -> None:
    make_branch(factory, sandbox=SandboxSettings(backend=Backend.AUTO))
    assert_proven(factory)


def test_a_plan_on_a_branch_that_is_checked_out(factory: Factory) -> None:
    git(factory.repo, "switch", "--quiet", "--create", "work")
    make_branch(factory)
    assert_proven(factory)


def test_a_plan_that_went_on_after_a_failure(factory: Factory) -> None:
    summary = factory.run_all(manifest(orders()), {**replies(), "WO-02": [WRONG]}, max_attempts=1)
    assert summary.verdict == "FAIL"
    factory.run_all(manifest(orders()), {**replies(), "WO-02": [TWO]})
    assert_proven(factory)


@pytest.mark.parametrize("order", ["WO-02", "WO-03"])
def test_a_plan_that_was_interrupted(factory: Factory, order: str) -> None:
    def stop(event: Event) -> None:
        if isinstance(event, OrderStarted) and event.order == order:
            raise KeyboardInterrupt

    factory.on_event = stop
    with pytest.raises(KeyboardInterrupt):
        factory.run_all(manifest(orders()), replies())
    factory.on_event = None
    factory.run_all(manifest(orders()), replies())
    assert_proven(factory)


def test_orders_that_were_run_one_by_one(factory: Factory) -> None:
    make_branch(factory)  # the plan's folder
    git(factory.repo, "branch", "--quiet", "-D", "work")
    for number, each in enumerate(("WO-01", "WO-02", "WO-03", "WO-04")):
        path = factory.scratch / "plan" / f"{each}.json"
        said = list(replies().get(each, ()))
        factory.run(path, said if number else [ONE])
    assert_proven(factory)


def test_an_order_without_a_plan(factory: Factory) -> None:
    factory.run(writing("one.txt"), [ONE])
    assert_proven(factory, with_plan=False)


def test_a_run_that_was_replayed(factory: Factory) -> None:
    first = factory.run(writing("one.txt"), [ONE], date="@1700000000 +0000")
    transcript = factory.run_folder / "transcript.jsonl"
    git(factory.repo, "branch", "--quiet", "-D", "work")
    git(factory.repo, "update-ref", "-d", "refs/notes/llmch-proof")
    source = ModelSource(Mode.REPLAY, lambda emit: factory.model, transcript)
    options = factory.options(date="@1700000000 +0000")
    again = run_order(factory.scratch / "orders/WO-01.json", options, source, factory.events.append)
    assert again.commit == first.commit
    assert_proven(factory, with_plan=False)


def test_a_branch_that_a_person_worked_on_between(factory: Factory) -> None:
    factory.run(writing("one.txt"), [ONE])
    git(factory.repo, "switch", "--quiet", "work")
    git(factory.repo, "commit", "--quiet", "--allow-empty", "--message=mine")
    factory.run(writing("two.txt", 2), [TWO])
    found = Auditor(factory.repo, factory.artifacts).look()
    assert contradictions(found) == []
    assert_proven(factory, "work", with_plan=False)


def test_the_same_order_on_two_branches(factory: Factory) -> None:
    factory.run(writing("one.txt"), [ONE])
    factory.run(writing("one.txt"), [proposal({"one.txt": "uno\n"})], branch="other")
    assert_proven(factory, with_plan=False)
    assert_proven(factory, "main..other", with_plan=False)


def test_a_repo_whose_ids_are_longer(factory: Factory) -> None:
    shutil.rmtree(factory.repo / ".git")
    git(factory.repo, "init", "--quiet", "--initial-branch=main", "--object-format=sha256")
    commit_all(factory.repo)
    make_branch(factory)
    assert_proven(factory)


# What git makes of it


def test_what_a_filter_stores_is_not_compared_with_the_reply(factory: Factory) -> None:
    config = f"{os.environ['HOME']}/.gitconfig"
    git(factory.repo, "config", "--file", config, "filter.upper.clean", "tr a-z A-Z")
    commit_all(factory.repo, {".gitattributes": "*.txt filter=upper\n"})
    summary = factory.run(writing("one.txt"), [ONE])
    assert summary.verdict == "PASS", summary
    found = Auditor(factory.repo, factory.artifacts).look()
    assert contradictions(found) == []
    assert standings(found)[Claim.REPLY] is ClaimState.NOT_PROVABLE


@pytest.mark.parametrize("name", ["Ada", " Åsa, Jr. ", "O'Neil <x>", "\u200eليلى"])
def test_names_that_git_spells_otherwise(factory: Factory, name: str) -> None:
    git(factory.repo, "config", "user.name", name)
    git(factory.repo, "config", "user.email", "a@example.org")
    factory.run(writing("one.txt", title="Ünïcode: `x`\tand more"), [ONE])
    assert_proven(factory, with_plan=False)


def test_commits_that_git_would_write_in_another_encoding(factory: Factory) -> None:
    git(factory.repo, "config", "i18n.commitEncoding", "ISO-8859-1")
    factory.run(writing("one.txt", title="Grüße"), [ONE])
    assert_proven(factory, with_plan=False)


# The statement itself


def test_the_statement_keeps_its_schema(factory: Factory) -> None:
    commits = make_branch(factory)
    schema = json.loads(provenance_schema.PATH.read_text())
    validator = jsonschema.Draft202012Validator(schema)
    validator.check_schema(schema)
    forger = Forger(factory.repo, factory.artifacts, commits)
    for each in commits:
        statement = forger.statement(each)
        validator.validate(statement)
        assert statement["subject"][0]["digest"] == {"gitCommit": each}
    with pytest.raises(jsonschema.ValidationError):
        validator.validate({**statement, "predicateType": "else"})


def test_the_schema_on_file_is_that_of_the_code() -> None:
    assert provenance_schema.PATH.read_text() == provenance_schema.schema()


def test_a_statement_says_what_is_known(factory: Factory) -> None:
    commits = make_branch(factory)
    predicate = Forger(factory.repo, factory.artifacts, commits).statement(commits[1])["predicate"]
    assert predicate["attempts"] == 2
    assert predicate["models"] == ["scripted"]
    assert [each["stage"] for each in predicate["commands"]] == ["verification", "acceptance"]
    assert [each["path"] for each in predicate["change"]["written"]] == [
        "tests/wanted.txt",
        "two.txt",
    ]
    assert str(factory.scratch) not in json.dumps(predicate)


def test_a_note_that_git_refuses_keeps_no_commit_from_landing(factory: Factory) -> None:
    git(factory.repo, "update-ref", "refs/notes/llmch-proof/in-the-way", "HEAD")
    summary = factory.run(writing("one.txt"), [ONE])
    assert factory.tip() == summary.commit
    found = Auditor(factory.repo, factory.artifacts).look()
    assert contradictions(found) == []


def test_the_branch_is_the_same_whatever_the_statements_say(
    factory: Factory, tmp_path: Path
) -> None:
    commits = make_branch(factory, date="@1700000000 +0000")
    git(factory.repo, "branch", "--quiet", "-D", "work")
    assert make_branch(factory, jobs=2, date="@1700000000 +0000") == commits
    assert_proven(factory)
