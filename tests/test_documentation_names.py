"""What the documents name is there: files, folders, functions, and where links lead."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    path
    for path in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *ROOT.glob("examples/*.md"))
    if path.name != "CHANGELOG.md"  # tells of what was, too
)
EVERY_PAGE = pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))

_FENCE = re.compile(r"^(```+).*?^\1$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`([^`\n]+)`")
_OURS = r"(?:llmch|planner|factory|shared|tests|docs|examples|\.ci|\.github)"
_PATH = re.compile(rf"{_OURS}(?:/[\w.-]+)+/?")
_FILE_NAME = re.compile(r"[a-z]\w*\.py")
_DEFINED_IN = re.compile(r"`([\w/]+\.py)` `(\w+)`")
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]*)\)")


def prose(page: Path) -> str:
    """Return a page without its code blocks, which speak of other repositories, too."""
    return _FENCE.sub("", page.read_text("utf-8"))


def codes(page: Path) -> list[str]:
    return _CODE.findall(prose(page))


@cache
def file_names() -> frozenset[str]:
    packages = ("llmch", "planner", "factory", "shared", "tests")
    names = {path.name for each in packages for path in (ROOT / each).rglob("*.py")}
    return frozenset(names - {"conftest.py"})  # pages speak of that of any repository


@EVERY_PAGE
def test_each_path_of_ours_that_a_page_names_is_there(page: Path) -> None:
    named = {code for code in codes(page) if _PATH.fullmatch(code)}
    assert sorted(path for path in named if not (ROOT / path).exists()) == []


@EVERY_PAGE
def test_a_file_of_ours_is_named_by_its_whole_path(page: Path) -> None:
    bare = {code for code in codes(page) if _FILE_NAME.fullmatch(code)}
    assert sorted(bare & file_names()) == []


@EVERY_PAGE
def test_each_name_beside_a_path_is_defined_in_that_file(page: Path) -> None:
    beside = _DEFINED_IN.findall(prose(page))
    assert [(path, name) for path, name in beside if name not in defined_in(path)] == []


def defined_in(path: str) -> set[str]:
    return set(_names(ast.parse((ROOT / path).read_text("utf-8"))))


def _names(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                yield name
            case _:
                pass


@EVERY_PAGE
def test_each_link_of_a_page_leads_somewhere(page: Path) -> None:
    links = [link for link in _LINK.findall(prose(page)) if "://" not in link]
    assert [link for link in links if not leads_somewhere(page, link)] == []


def leads_somewhere(page: Path, link: str) -> bool:
    name, _, anchor = link.partition("#")
    target = (page.parent / name).resolve() if name else page
    if not target.exists():
        return False
    return not anchor or anchor in anchors(target)


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in headings}


def test_the_readme_leads_to_every_page() -> None:
    readme = ROOT / "README.md"
    linked = {
        (readme.parent / link).resolve()
        for link in _LINK.findall(prose(readme))
        if "://" not in link
    }
    pages = {*(ROOT / "docs").glob("*.md"), ROOT / "docs" / "adr", ROOT / "CONTRIBUTING.md"}
    assert sorted(pages - linked) == []


@pytest.mark.parametrize("named", ["factory/nowhere.py", "docs/none.md", "examples/gone/"])
def test_the_walk_would_find_a_path_that_is_not_there(named: str) -> None:
    assert _PATH.fullmatch(named)
    assert not (ROOT / named).exists()
