"""A commit's subject reads as the repository's own: decided from subjects alone."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factory.orders.order_commit import subject_form
from factory.record.landed import style_of
from shared.git.client import Git
from tests.factory.orders.test_commit_message import subject_of
from tests.harness import git

CONVENTIONAL = ["feat(shop): sell things", "fix(till): round down", "docs: how to sell", "Tidy up"]
GO = ["net/http: refuse a bad header", "net/http: add Server.Close", "cmd/go: fix tests", "all: go"]
HTTP = {"allowed_files": ["src/net/http/server.go"]}
SHOP: dict[str, Any] = {"allowed_files": ["src/shop.py"], "title": "Refuse a negative amount."}


@pytest.mark.parametrize(
    ("subjects", "fields", "expected"),
    [
        ([], SHOP, "Refuse a negative amount"),
        (["Initial commit"], SHOP, "Refuse a negative amount"),
        (["add a shop", "sell things"], SHOP, "refuse a negative amount"),
        (["Fixed #3 -- Sold things.", "Added a shop."], SHOP, "Refuse a negative amount."),
        (CONVENTIONAL, SHOP, "feat(shop): refuse a negative amount"),
        (CONVENTIONAL, {**SHOP, "allowed_files": ["lib/x.py"]}, "feat: refuse a negative amount"),
        (["feat: Sell", "fix: Round"], SHOP, "feat: Refuse a negative amount"),
        (CONVENTIONAL, {**SHOP, "title": "fix(x): Round"}, "fix(x): Round"),
        (GO, {**HTTP, "title": "Refuse"}, "net/http: refuse"),
        (GO, {**HTTP, "title": "net/http: refuse"}, "net/http: refuse"),
        (GO, SHOP, "refuse a negative amount"),
        (["feat: sell", "Add a shop", "Add a till"], SHOP, "Refuse a negative amount"),
        (["add it (#12)", "sell (#11)"], SHOP, "refuse a negative amount"),
        (["Merge branch 'x'", "Bump a from 1 to 2", "v1.2.0", "fix: it"], SHOP,
         "feat: refuse a negative amount"),
        (["chore(deps): bump a", "Merge pull request #3 from a/b", "Add it"], SHOP,
         "Refuse a negative amount"),
        (["add it", "sell"], {**SHOP, "title": "JSON output"}, "JSON output"),
        (["docs: a", "fix: b", "flag_test: c", "Fix it", "Add it"], SHOP,
         "feat: refuse a negative amount"),
        (["feat: a"] * 20 + ["Add it"] * 80, SHOP, "feat: refuse a negative amount"),
    ],
)  # fmt: skip
def test_a_subject_is_in_the_style_of_those_before(
    subjects: list[str], fields: dict[str, Any], expected: str
) -> None:
    assert subject_of(subject_form(subjects), **fields) == expected


@given(st.lists(st.text() | st.sampled_from([*CONVENTIONAL, *GO])), st.text(max_size=30))
def test_any_history_gives_a_form_of_one_line_that_serves(subjects: list[str], title: str) -> None:
    form = subject_form(subjects)
    assert len(form) < 700 and form.isprintable() and form.isascii()
    assert form == subject_form(list(subjects))
    subject = subject_of(form, title=title)
    assert subject and "\n" not in subject and len(subject) <= 100


def test_a_form_is_found_quickly_whatever_the_subjects_hold() -> None:
    hostile = ["a" * 10_000_000, "feat(" + "(" * 10_000_000, "\x1b[31m\n\0feat: x", " \t\u202e"] * 5
    began = time.monotonic()
    subject_form(hostile)
    assert time.monotonic() - began < 2


def test_merges_bots_and_commits_of_llmch_do_not_count(repo: Path) -> None:
    def commit(message: str, *arguments: str) -> None:
        git(repo, "commit", "--quiet", "--allow-empty", f"--message={message}", *arguments)

    git(repo, "checkout", "--quiet", "--orphan", "other")
    for number in range(3):
        commit(f"feat: thing {number}")
    form = style_of(Git(repo), git(repo, "rev-parse", "HEAD"))
    assert form == "repository conventional lower"
    for number in range(9):
        commit(f"Refresh {number}", "--author=renew[bot] <bot@example.org>")
        commit(f"WO-0{number}: Do it\n\nLlmch-Work-Order: WO-0{number}\nLlmch-Key: x")
    git(repo, "merge", "--quiet", "--allow-unrelated-histories", "--no-ff", "main", "-mAll of it")
    git(repo, "reset", "--quiet", "--hard")
    assert style_of(Git(repo), "HEAD").startswith("repository conventional lower")
