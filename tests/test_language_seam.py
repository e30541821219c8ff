"""Planner and factory know languages through the seam alone: no name, suffix or tool of one."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest

import llmch
from shared.languages.registry import LANGUAGES

ROOT: Final = Path(llmch.__file__).parents[1]
FLOORS: Final = ("planner", "factory")

# Words by which code would know a language by itself, wherever they stand in a string.
_SUFFIX = r"\.(?:pyi?|[cm]?[jt]s|[jt]sx|go|rs)\b"
_NAME = r"\b(?:Python|TypeScript|JavaScript|Golang|Rust)\b"
_TOOL = (
    r"\b(?:python[23]?|pytest|mypy|pyproject|__init__|__main__|pip|unittest|compileall"
    r"|node|npm|npx|pnpm|yarn|bun|tsc|jest|vitest|package\.json"
    r"|gofmt|go\.mod|go\.sum|[Cc]argo|rustc)\b"
)
_WORD = re.compile(f"{_SUFFIX}|{_NAME}|{_TOOL}")
_WHOLE: Final = frozenset({"go", "py", "js", "ts", "rs"})

# What knows tools by their names, and why that is its matter (ADR 18).
ALLOWED: Final[Mapping[str, str]] = {
    "planner/__main__.py": "shows how the program is started",
    "factory/__main__.py": "shows how the program is started",
    "planner/rules/acceptance.py": "shows an order that the examples of several rules begin with",
    "planner/repo/spec_words.py": "lists words that say nothing about what a spec is about",
    "factory/workbench/dependencies.py": "knows where a checkout has an environment",
    "factory/agents": "knows what agents are made with, and what they need",
    "factory/sandbox": "knows the interpreters and toolchains of this machine",
    "factory/workbench/judging_tools.py": "seeds the build cache of a toolchain",
    "factory/factory_checkups.py": "names interpreter and toolchains in the report of doctor",
    "factory/judging/environment_faults.py": "knows the words of test runners and where a checkout "
    "has an interpreter of its own",
    "factory/judging/run_checks.py": "describes the interpreter that commands get",
    "factory/run/baseline.py": "names the option --python",
    "factory/run/run_request.py": "records the option --python",
    "factory/workbench/pool.py": "names the option --python",
    "factory/batch/order_graph.py": "draws a graph, which has nodes",
    "factory/proposal/reply_formats.py": "knows the words that models write at code fences",
    "factory/proposal/assemble_edits.py": "shows models an example of a reply",
}


def words_in(tree: ast.Module) -> Iterator[str]:
    """Yield the words of languages in the strings of a module.

    Docstrings are left out, and so are the examples of rules, which have to be in some language.
    """
    left_out = {id(each) for part in _texts_for_people(tree) for each in ast.walk(part)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            found = _WORD.search(node.value)
            if id(node) not in left_out and (found or node.value in _WHOLE):
                yield f"line {node.lineno}: {found[0] if found else node.value}"


def _texts_for_people(tree: ast.Module) -> Iterator[ast.AST]:
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Constant()):
                yield node
            case ast.Call(func=ast.Name(id="Rule" | "RuleText")):
                yield node
            case _:
                pass


def imports_in(tree: ast.Module) -> Iterator[str]:
    """Yield the modules of single languages that a module imports, wherever in its code."""
    folders = {each.examples.package for each in LANGUAGES if each.examples is not None}
    for node in ast.walk(tree):
        module = node.module if isinstance(node, ast.ImportFrom) else None
        if any(f"{module}.".startswith(f"{each}.") for each in folders):
            yield f"line {getattr(node, 'lineno', 0)}: {module}"


def _modules(*floors: str) -> Iterator[tuple[str, ast.Module]]:
    for floor in floors:
        for path in sorted((ROOT / floor).rglob("*.py")):
            yield str(path.relative_to(ROOT)), ast.parse(path.read_text("utf-8"))


def _owner(path: str) -> str:
    """Return the entry that allows a file; empty where none does."""
    return next((each for each in ALLOWED if f"{path}/".startswith(f"{each}/")), "")


@pytest.mark.rest
def test_no_planner_or_factory_code_names_a_language_a_suffix_or_a_tool() -> None:
    named = [
        f"{path} {word}"
        for path, tree in _modules(*FLOORS)
        if not _owner(path)
        for word in words_in(tree)
    ]
    assert named == [], "ask shared.languages.registry, which knows every language"


@pytest.mark.rest
def test_no_code_outside_the_seam_imports_the_folder_of_one_language() -> None:
    importing = [
        f"{path} {module}"
        for path, tree in _modules(*FLOORS, "llmch")
        for module in imports_in(tree)
    ]
    assert importing == []


@pytest.mark.rest
def test_every_exception_is_needed() -> None:
    found = {_owner(path) for path, tree in _modules(*FLOORS) if any(words_in(tree))}
    assert found - {""} == set(ALLOWED)


@pytest.mark.parametrize(
    "code",
    [
        "path.endswith('.py')",
        "program == 'go'",
        "f'{stem}/__init__.py'",
        "language.name == 'Python'",
        "run(['cargo', 'test'])",
    ],
)
def test_a_word_of_a_language_is_found(code: str) -> None:
    assert list(words_in(ast.parse(code)))


@pytest.mark.parametrize(
    "code", ["'''Reads Python.'''", "Rule('E1', bad='python -c x')", "'gone'", "'a pytester'"]
)
def test_prose_and_examples_are_no_knowledge_of_a_language(code: str) -> None:
    assert not list(words_in(ast.parse(code)))
