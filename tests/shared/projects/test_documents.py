"""Which trees hold nothing that a command could verify."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.projects.manifests import holds_only_documents

DOCUMENTS = [
    "README.md", "README", "LICENSE", "LICENSE.txt", "COPYING", "docs/guide/one.rst", "notes.txt",
    ".gitignore", ".github/workflows/ci.yml", "llmch.toml", "spec.yaml",
]  # fmt: skip
CODE = [
    "main.py", "src/a.go", "package.json", "pyproject.toml", "Makefile", "scripts/verify.sh", "run",
    "requirements.txt", "dev/requirements-test.txt", "CMakeLists.txt", "docs/conf.py", "README.py",
    "LICENSE/check.sh", "app/spec.yaml", "build.gradle", "data.csv",
]  # fmt: skip


def test_documents_alone_are_nothing_to_verify() -> None:
    assert holds_only_documents(DOCUMENTS)
    assert holds_only_documents([])


@pytest.mark.parametrize("path", CODE)
def test_one_file_of_another_kind_is(path: str) -> None:
    assert not holds_only_documents([*DOCUMENTS, path])


@given(st.lists(st.text(st.characters(exclude_characters="\0"), min_size=1), max_size=4))
def test_any_path_has_an_answer(parts: list[str]) -> None:
    holds_only_documents(["/".join(parts) or "a"])
