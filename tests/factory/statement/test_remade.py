"""A commit is made again without git, byte for byte as git writes it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from factory.orders.order_commit import CommitTerms, describe_commit, identify
from factory.statement.compose_statement import remake_commits
from factory.statement.statement import CommitTermsPart
from shared.git import commits, trees
from shared.git.client import Git, GitFailed
from shared.git.repos import Identity
from shared.work_order.parse_order import parse_document
from shared.work_order.work_order import WorkOrder
from tests.harness import git, order

TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=40)
LAW = settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.mark.rest
@LAW
@given(name=TEXT, email=TEXT, title=TEXT, summary=TEXT, date=st.integers(0, 10**10))
def test_git_writes_the_same_bytes(
    repo: Path, name: str, email: str, title: str, summary: str, date: int
) -> None:
    work = parse_document(WorkOrder, order(title=title, covers=["R1"]))
    identity, asked = identify(work, "a" * 64), Git(repo)
    terms = CommitTermsPart(
        author=name, email=email, date=f"@{date} +0000", subject="{order}: {title}", summary=summary
    )
    form = CommitTerms(Identity(name, email), terms.date, terms.subject)
    parent = git(repo, "rev-parse", "HEAD")
    tree = trees.tree_of(asked, parent)
    try:
        made = commits.write(asked, tree, parent, describe_commit(work, identity, form, summary))
    except GitFailed:
        return  # git takes no such person
    raw = subprocess.run(
        ["git", "cat-file", "commit", made], cwd=repo, capture_output=True, check=True
    ).stdout
    assert remake_commits(work, identity, terms, tree, parent)[0] == raw


@pytest.mark.parametrize("date", ["", "now", "@1", "@1 +0100", "@1 +0000\ntree x", "@-1 +0000"])
def test_what_is_no_date_of_llmch_makes_no_commit(date: str) -> None:
    work = parse_document(WorkOrder, order())
    terms = CommitTermsPart(author="a", email="b", date=date, subject="s", summary="")
    assert remake_commits(work, identify(work, ""), terms, "t", "p") == ()


def test_the_commit_of_an_earlier_version_is_made_again_as_it_was() -> None:
    work = parse_document(WorkOrder, order(title="Say hello [skip ci]"))
    terms = CommitTermsPart(
        author="Ada", email="a@b", date="@1 +0000", subject="{title}", summary="Fixes #7."
    )
    now, then = remake_commits(work, identify(work, ""), terms, "t", "p")
    assert b"\n\nSay hello (skip ci)\n\nFixes no. 7.\n" in now
    assert b"\n\nSay hello [skip ci]\n\nFixes #7.\n" in then
