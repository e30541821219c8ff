"""What a repository says to those who change it: which file counts, and how it is quoted."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import pytest

from shared.projects.conventions import MAX_CHARACTERS, find_conventions


def reading(files: dict[str, bytes]) -> Callable[[str], bytes | None]:
    return files.get


@pytest.mark.parametrize(
    ("there", "paths", "found"),
    [
        (["AGENTS.md", "CLAUDE.md"], [], "AGENTS.md"),
        (["CLAUDE.md", "CONTRIBUTING.md"], [], "CLAUDE.md"),
        (["CONTRIBUTING.md", ".cursorrules"], [], "CONTRIBUTING.md"),
        ([".cursorrules"], [], ".cursorrules"),
        (["AGENTS.md", "web/CLAUDE.md"], ["web/src/a.ts"], "web/CLAUDE.md"),
        (["AGENTS.md", "web/AGENTS.md"], ["web/a.ts", "api/b.go"], "AGENTS.md"),
        (["web/AGENTS.md"], ["api/b.go"], None),
        (["README.md"], [], None),
    ],
)
def test_the_nearest_file_counts(there: list[str], paths: list[str], found: str | None) -> None:
    said = find_conventions(reading(dict.fromkeys(there, b"Be kind.\n")), paths)
    assert (said.path if said else None) == found


@pytest.mark.parametrize(
    "unusable", [b"caf\xe9", b"x" * 5_000_000, b"a\0b", b"", b" \n"],
    ids=["latin1", "5 MB", "nul", "empty", "blank"],
)  # fmt: skip
def test_a_file_that_is_not_a_text_of_its_size_is_passed_over(unusable: bytes) -> None:
    files = {"AGENTS.md": unusable, "CLAUDE.md": b"Be kind."}
    said = find_conventions(reading(files))
    assert said is not None
    assert said.path == "CLAUDE.md"
    assert find_conventions(reading({"AGENTS.md": unusable})) is None


def test_a_long_text_is_cut_and_says_where() -> None:
    said = find_conventions(reading({"AGENTS.md": b"abcd\x1b" * 2_000}))
    assert said is not None
    kept, _, note = said.quoted().rpartition("\n")
    assert len(kept) == MAX_CHARACTERS
    assert "\x1b" not in kept
    assert note == "[... 6,000 characters more are left out ...]"
    assert said.sha256 == hashlib.sha256(b"abcd\x1b" * 2_000).hexdigest()
