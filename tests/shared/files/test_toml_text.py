"""TOML of a stranger is parsed, or refused at once."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from shared.errors import InvalidInput
from shared.files.strict_documents import parse_toml, read_toml
from shared.languages.python import declared_requirements
from shared.projects.manifests import parse_toml as parse_manifest
from shared.settings.loading import load_settings

LONG_KEY = ".".join("a" * 90_000) + " = 1\n"
QUOTED_KEY = ".".join(['"a"'] * 45_000) + " = 1\n"


@pytest.mark.parametrize("text", [LONG_KEY, QUOTED_KEY, f"[{LONG_KEY[:-5]}]\n", "'" + LONG_KEY])
def test_a_key_of_very_many_parts_is_refused_at_once(tmp_path: Path, text: str) -> None:
    began = time.process_time()
    with pytest.raises(ValueError, match="too many parts"):
        parse_toml(text)
    assert parse_manifest(text) is None
    assert "httpx" not in declared_requirements.declared(text)
    with pytest.raises(InvalidInput, match="is not valid TOML: its keys"):
        read_toml("pyproject.toml", text)
    (tmp_path / "llmch.toml").write_text(text)
    with pytest.raises(InvalidInput, match="is not valid TOML: its keys"):
        load_settings(cwd=tmp_path, repo=None, environ={})
    assert time.process_time() - began < 5


@pytest.mark.parametrize("quote", ['"', "'"])
def test_a_list_of_many_versions_in_one_line_is_read(quote: str) -> None:
    listed = ", ".join(f"{quote}x{number} >= 1.2.3{quote}" for number in range(400))
    assert len(parse_toml(f"dependencies = [{listed}]")["dependencies"]) == 400


def test_a_table_with_a_long_name_may_not_have_very_many_lines() -> None:
    lines = "\n".join(f"k{number} = 1" for number in range(20_000))
    with pytest.raises(ValueError, match="too many parts"):
        parse_toml(f"[{'.'.join('a' * 3_000)}]\n{lines}\n")
    assert parse_toml(f"[a.b.c]\n{lines}\n")["a"]["b"]["c"]["k19999"] == 1
