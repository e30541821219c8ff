"""What a model is shown of a tree is found out once, and never believed where it is damaged."""

from __future__ import annotations

import hashlib
import stat
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from planner.compile import inputs
from planner.compile.inputs import (
    LEAST_FILES,
    MOST_KEPT,
    PlannerModel,
    PlanOptions,
    gather_inputs,
    hints_of,
)
from planner.repo.planned_repo import BaseTree
from shared.git.client import Git
from tests.harness import commit_all

MANY = {f"docs/{number}.txt": "x\n" for number in range(LEAST_FILES)}
IDS = {**dict.fromkeys(MANY, "d" * 40), "shop.py": "a" * 40, "till.py": "b" * 40}
ASKED = ("The price.", 4_000, ("shop.py",))


@dataclass
class Maker:
    """Makes a text, another one each time."""

    made: list[str] = field(default_factory=list)

    def __call__(self) -> str:
        self.made.append(f"text {len(self.made)} \udcff")
        return self.made[-1]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache/llmch/hints"


@pytest.fixture
def base(tmp_path: Path) -> BaseTree:
    return BaseTree(Git(tmp_path), IDS)


def test_an_equal_question_is_answered_from_the_cache(cache: Path, base: BaseTree) -> None:
    make = Maker()
    assert {hints_of(base, IDS, ASKED, make) for _ in range(3)} == {"text 0 \udcff"}
    (kept,) = cache.iterdir()
    assert stat.S_IMODE(cache.stat().st_mode) == 0o700
    assert kept.read_bytes().endswith(b"\ntext 0 \xff")


@pytest.mark.parametrize(
    "changed",
    [
        lambda base: (BaseTree(base.git, {**IDS, "till.py": "c" * 40}), IDS, ASKED),
        lambda base: (base, (*IDS, "a-link"), ASKED),
        lambda base: (base, IDS, ("The price!", *ASKED[1:])),
        lambda base: (base, IDS, (ASKED[0], 4_001, ASKED[2])),
        lambda base: (base, IDS, (*ASKED[:2], ())),
    ],
)
def test_whatever_the_text_follows_from_has_it_made_anew(
    cache: Path, base: BaseTree, changed: Callable[[BaseTree], tuple[BaseTree, tuple[str], object]]
) -> None:
    make = Maker()
    hints_of(base, IDS, ASKED, make)
    hints_of(*changed(base), make)  # type: ignore[arg-type]
    assert len(make.made) == len([*cache.iterdir()]) == 2


def test_other_code_that_reads_has_it_made_anew(
    cache: Path, base: BaseTree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "planner/repo").mkdir(parents=True)
    reader = tmp_path / "planner/repo/reader.py"
    monkeypatch.setattr(inputs, "_FLOORS", tmp_path)
    make = Maker()
    for text in ("1\n", "1\n", "22\n"):
        if not reader.exists() or reader.read_text() != text:
            reader.write_text(text)
        hints_of(base, IDS, ASKED, make)
    assert len(make.made) == 2


def test_a_tree_with_changes_without_ids_or_of_few_files_is_read_anew(
    cache: Path, base: BaseTree
) -> None:
    make = Maker()
    dirty = BaseTree(base.git, IDS, frozenset({"till.py"}))
    for each in (dirty, dirty, None, None):
        hints_of(each, IDS, ASKED, make)
    hints_of(base, ("shop.py", "till.py"), ASKED, make)
    assert len(make.made) == 5
    assert not cache.exists()


@pytest.mark.parametrize("damage", [b"", b"\n", b"00\ntext", b"\xff" * 99])
def test_a_damaged_text_is_made_anew_and_replaced(
    cache: Path, base: BaseTree, damage: bytes
) -> None:
    make = Maker()
    hints_of(base, IDS, ASKED, make)
    (kept,) = cache.iterdir()
    kept.write_bytes(damage)
    assert [hints_of(base, IDS, ASKED, make) for _ in range(2)] == ["text 1 \udcff"] * 2


def test_the_latest_are_kept_and_a_huge_one_is_not(cache: Path, base: BaseTree) -> None:
    for number in range(MOST_KEPT + 3):
        hints_of(base, IDS, ("x", number, ()), lambda: "a text")
    assert len([*cache.iterdir()]) == MOST_KEPT
    assert hints_of(base, IDS, ASKED, lambda: "x" * 8_000_001) == "x" * 8_000_001
    assert len([*cache.iterdir()]) == MOST_KEPT


def test_a_cache_that_cannot_be_written_costs_nothing_but_time(cache: Path, base: BaseTree) -> None:
    make = Maker()
    cache.parent.parent.mkdir()
    cache.parent.write_text("a file is in the way\n")
    assert [hints_of(base, IDS, ASKED, make) for _ in range(2)] == make.made


def test_two_plans_of_a_commit_read_it_once(repo: Path, cache: Path, tmp_path: Path) -> None:
    commit_all(repo, {**MANY, "shop.py": "def price():\n    return 3\n"})
    spec = tmp_path / "spec.md"
    spec.write_text("# Shop\n\nThe price is 4.\n")
    model = PlannerModel("any", None, None)
    for start in (None, "HEAD"):
        options = PlanOptions(spec, tmp_path, model, 1, repo, start=start)
        first = gather_inputs(options).repo.hints
        (kept,) = cache.iterdir()
        kept.write_bytes(hashlib.sha256(b"as kept").hexdigest().encode() + b"\nas kept")
        assert "def price" in first or start
        assert gather_inputs(options).repo.hints == "as kept"
    (repo / "shop.py").write_text("def cost():\n    return 3\n")
    assert "def cost" in gather_inputs(replace(options, start=None)).repo.hints
