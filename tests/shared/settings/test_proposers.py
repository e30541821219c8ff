"""Who proposes on which attempt, as it is written in a file, a variable or a flag."""

from __future__ import annotations

from pathlib import Path

import pytest

from shared.errors import InvalidInput
from shared.settings.loading import load_settings
from shared.settings.settings import FactorySettings


def factory(folder: Path, text: str = "", **given: object) -> FactorySettings:
    (folder / "llmch.toml").write_text(text)
    environ = {name: str(value) for name, value in given.items() if name.isupper()}
    flags = {name: value for name, value in given.items() if not name.isupper()}
    return load_settings(cwd=folder, environ=environ, flags=flags).settings.factory


def who(settings: FactorySettings, attempts: int = 4) -> list[tuple[str, ...]]:
    return [settings.proposer_of(each) for each in range(1, attempts + 1)]


def test_the_model_proposes_where_nothing_else_is_said(tmp_path: Path) -> None:
    assert who(factory(tmp_path), 2) == [("model",), ("model",)]


@pytest.mark.parametrize(
    ("text", "proposer"),
    [
        ('proposer = "codex"', ("codex",)),
        ('proposer = "tools"', ("tools",)),
        ('proposer = ["my-agent", "--go", "a b"]', ("my-agent", "--go", "a b")),
        ('proposer = ["my-agent"]', ("my-agent",)),
        ("proposer = \"my-agent --say 'a b'\"", ("my-agent", "--say", "a b")),
        ('proposer = "./agent"', ("./agent",)),
    ],
)
def test_a_name_or_the_words_of_a_command(
    tmp_path: Path, text: str, proposer: tuple[str, ...]
) -> None:
    assert who(factory(tmp_path, f"[factory]\n{text}\n"), 1) == [proposer]


def test_a_ladder_names_one_for_each_attempt_and_the_last_for_the_rest(tmp_path: Path) -> None:
    text = '[factory]\nproposer = "tools"\nladder = ["model", "model", "codex"]\n'
    wanted = [("model",), ("model",), ("codex",), ("codex",)]
    assert who(factory(tmp_path, text)) == wanted
    assert who(factory(tmp_path, LLMCH_FACTORY_LADDER="model,model,codex")) == wanted
    assert who(factory(tmp_path, LLMCH_FACTORY_LADDER="model,./a b"), 2)[-1] == ("./a", "b")


def test_bounds_are_in_a_table_of_the_factorys(tmp_path: Path) -> None:
    text = "[factory.agent]\nminutes = 1.5\ncalls = 7\n"
    bounds = factory(tmp_path, text, LLMCH_FACTORY_AGENT_TOKENS=9000).agent
    assert (bounds.minutes, bounds.calls, bounds.tokens) == (1.5, 7, 9000)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('proposer = "codx"', "'codx', which names none of model, tools, codex"),
        ("proposer = []", "must be a name or a command"),
        ("proposer = 3", "must be"),
        ('proposer = "a \'b"', "`a 'b` "),
        ('ladder = ["model", "codx"]', "'codx', which names none of"),
        ("agent = 3", "factory.agent must be a table"),
        ("agent.hours = 3", "unknown setting 'factory.agent.hours'"),
        ("agent.calls = 0", "a whole number from 1 to 1,000"),
    ],
)
def test_what_names_nobody_is_refused(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        factory(tmp_path, f"[factory]\n{text}\n")
    assert said in refused.value.message


@pytest.mark.parametrize(
    "text", ['proposer = "codex"', 'ladder = ["codex"]', "agent.minutes = 900", "agent.calls = 900"]
)
def test_a_repo_can_have_no_agent_started(tmp_path: Path, text: str) -> None:
    repo = tmp_path / "repo"
    repo.mkdir()
    (repo / "pyproject.toml").write_text(f"[tool.llmch.factory]\n{text}\n")
    loaded = load_settings(cwd=tmp_path, environ={}, repo=repo)
    assert loaded.settings.factory == FactorySettings()
    assert any("factory." in each for each in loaded.warnings)
