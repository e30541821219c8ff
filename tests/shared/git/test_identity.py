"""Who a person is to git: by its variables, by its config, and never by a guess."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.git.client import Git
from shared.git.repos import Identity, parse_identity, read_identity
from tests.harness import git

ADA = Identity("Ada", "ada@example.org")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ada <ada@example.org>", ADA),
        ("  Ada   <ada@example.org> ", ADA),
        ("Ada<ada@example.org>", ADA),
        ("Ada Lovelace <ada@example.org>", Identity("Ada Lovelace", "ada@example.org")),
        ("ada@example.org", None),
        ("<ada@example.org>", None),
        (" <ada@example.org>", None),
        ("Ada <>", None),
        ("Ada <a b>", None),
        ("Ada <ada@example.org> and more", None),
        ("Ada\n<ada@example.org>", None),
        (f"{'A' * 300} <ada@example.org>", None),
    ],
)
def test_an_identity_is_a_name_and_an_address(text: str, expected: Identity | None) -> None:
    assert parse_identity(text) == expected


@given(st.text())
def test_an_identity_reads_back_as_it_was(text: str) -> None:
    identity = parse_identity(f"{text} <ada@example.org>")
    assert identity is None or parse_identity(str(identity)) == identity


def test_nobody_is_guessed(repo: Path) -> None:
    assert read_identity(Git(repo), {}) is None
    git(repo, "config", "user.name", "Ada")
    assert read_identity(Git(repo), {}) is None


def test_the_config_says_who_the_person_is(repo: Path) -> None:
    git(repo, "config", "--global", "user.name", "Grace")
    git(repo, "config", "--global", "user.email", "grace@example.org")
    assert read_identity(Git(repo), {}) == Identity("Grace", "grace@example.org")
    git(repo, "config", "user.name", "Ada")
    git(repo, "config", "user.email", "ada@example.org")
    assert read_identity(Git(repo), {}) == ADA


def test_variables_come_before_the_config(repo: Path) -> None:
    git(repo, "config", "user.name", "Grace")
    git(repo, "config", "user.email", "grace@example.org")
    environ = {"GIT_AUTHOR_NAME": "Ada", "GIT_AUTHOR_EMAIL": "ada@example.org", "GIT_DIR": "/none"}
    assert read_identity(Git(repo), environ) == ADA
    assert read_identity(Git(repo), {"GIT_AUTHOR_NAME": "Ada"}) == Identity(
        "Ada", "grace@example.org"
    )


def test_a_name_that_is_no_text_gives_an_identity_that_can_be_written(repo: Path) -> None:
    git(repo, "config", "user.name", "\udcff Ada")
    git(repo, "config", "user.email", "ada@example.org")
    found = read_identity(Git(repo), {})
    assert found is not None
    str(found).encode()
