"""The smallest language that CONTRIBUTING.md shows is a member like the others."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import llmch
from planner.repo.planned_repo import read_repo_hints
from shared.files.text_sources import TreeSources
from shared.languages import registry
from shared.languages.capabilities import Language
from shared.projects import build_tools
from shared.projects.build_tools import find_verification
from tests.planner.plans import creating, findings, order, plan

PAGE = Path(llmch.__file__).parents[1] / "CONTRIBUTING.md"
SOURCE = "local hidden = 1\nfunction maze.solve(rows, start)\nend\nlocal function inner() end\n"


class Tree(TreeSources):
    """A repository in memory."""

    def __init__(self, **texts: str) -> None:
        super().__init__(texts)
        self._given = texts

    def _read_all(self, paths: Sequence[str]) -> Mapping[str, str | None]:
        return {path: self._given[path] for path in paths}


def shown(name: str) -> Any:
    """Return what the example of the page that defines `name` makes of it."""
    for code in re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL):
        if re.search(rf"^(?:class )?{name}\b", code, re.MULTILINE):
            made: dict[str, Any] = {}
            exec(compile(code, f"CONTRIBUTING.md: {name}", "exec", dont_inherit=True), made)
            return made[name]
    raise AssertionError(f"the page shows no {name}")


@pytest.fixture
def lua(monkeypatch: pytest.MonkeyPatch) -> Iterator[Language]:
    """Register the page's language as one line in the registry would."""
    language = shown("LUA")
    assert isinstance(language, Language)
    known = registry.LANGUAGES
    for module in tuple(sys.modules.values()):
        if getattr(module, "LANGUAGES", None) is known:
            monkeypatch.setattr(module, "LANGUAGES", (*known, language))
    yield language


def test_a_file_belongs_to_it(lua: Language) -> None:
    assert registry.language_of("src/maze.lua") is lua
    assert registry.language_named("Lua") is lua


def test_the_planners_model_is_shown_its_names(lua: Language) -> None:
    hints = read_repo_hints(Tree(**{"maze.lua": SOURCE}), "Solve a maze.", 4_000)
    assert "Code of 1 Lua file:" in hints.text
    assert "function maze.solve(rows, start)" in hints.text


def test_a_plan_may_write_it_without_a_contract_and_nothing_is_demanded(lua: Language) -> None:
    assert findings(plan(creating(1, "maze.lua"), order(2, context_files=["maze.lua"]))) == []


def test_its_files_have_no_interfaces(lua: Language) -> None:
    stub = {"path": "maze.lua", "stub": "function solve(rows)"}
    assert findings(plan(creating(1, "maze.lua", interfaces=[stub]))) == [
        "E202 WO-01 interfaces[0].path"
    ]


def test_its_projects_are_verified_by_their_own_command(monkeypatch: pytest.MonkeyPatch) -> None:
    busted = shown("Busted")()
    tools = (*build_tools.BUILD_TOOLS, busted)
    monkeypatch.setattr(build_tools, "BUILD_TOOLS", tools)
    found = find_verification(Tree(**{".busted": "return {}\n", "maze.lua": SOURCE}), ())
    assert [each.text for each in found.commands] == ["busted"]
