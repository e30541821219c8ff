from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from shared.languages.python.skeletons import build_skeleton
from shared.work_order.work_order import Interface
from tests.planner.labelled_commands import CONTRACTS

GAME = {
    "game/words.py": "def parse_word(text: str) -> str: ...\nWORDS: list[str]\nLIMIT: int",
    "game/score.py": """
from enum import StrEnum
class Mark(StrEnum):
    HIT = ...
    MISS = ...
def score(answer: str, guess: str) -> tuple[Mark, ...]: ...
def points(marks: list[Mark]) -> int: ...
""",
    "game/play.py": """
from dataclasses import dataclass
from .score import Mark
@dataclass(frozen=True)
class Turn:
    guess: str
    marks: list[Mark]
    number: int = ...
class Game:
    turns: list[Turn]
    def __init__(self, answer: str) -> None: ...
    def play(self, guess: str) -> "Game": ...
    @property
    def is_over(self) -> bool: ...
""",
}

# Commands that pass on code which does nothing.
WEAK = [
    "import game.play, game.score, game.words",
    "from game.words import parse_word; assert callable(parse_word)",
    "from game.words import parse_word; parse_word('llama')",
    "from game.words import parse_word; assert isinstance(parse_word('llama'), str)",
    "from game.words import parse_word; assert parse_word('x') is not None",
    "from game.words import WORDS; assert isinstance(WORDS, list)",
    "from game.score import points; assert points([]) >= 0",
    "from game.score import points; assert points([]) == 0",
    "from game.score import Mark; assert len(Mark) == 2",
    "from game.play import Game; assert Game('llama').play('x').play('y')",
    "from game.play import Game; assert not Game('llama').is_over",
    "from game.play import Turn; assert Turn('a', []).guess == 'a'",
    "from game.play import Game; assert len(Game('llama').turns) < 7",
]
# Commands that only code which does something passes.
STRONG = [
    "from game.words import parse_word; assert parse_word(' llama ') == 'LLAMA'",
    "from game.words import parse_word; assert parse_word('llama')",
    "from game.words import WORDS; assert 'crane' in WORDS",
    "from game.words import LIMIT; assert LIMIT == 6",
    "from game.words import parse_word\ntry:\n    parse_word('')\nexcept ValueError:\n    pass\n"
    "else:\n    raise SystemExit(1)",
    "from game.score import Mark, score; assert score('A', 'A') == (Mark.HIT,)",
    "from game.score import score; assert len(score('LLAMA', 'LABEL')) == 5",
    "from game.score import Mark, points; assert points([Mark.HIT]) > points([Mark.MISS])",
    "from game.score import Mark; assert Mark.HIT == 'H'",
    "from game.play import Game; game = Game('a').play('b'); assert len(game.turns) == 1",
    "from game.play import Game; assert Game('a').play('a').is_over",
    "from game.play import Game; assert Game('a').turns is not Game('b').turns",
]


def interfaces(stubs: Mapping[str, str]) -> list[Interface]:
    return [Interface(path=path, stub=stub) for path, stub in stubs.items()]


def write(folder: Path, files: Mapping[str, str]) -> None:
    for path, text in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, "utf-8")


def passes(folder: Path, code: str) -> bool:
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True)
    return done.returncode == 0


@pytest.fixture(scope="module")
def hollow(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hollow")
    write(folder, build_skeleton(interfaces(GAME)))
    return folder


@pytest.mark.parametrize("code", WEAK)
def test_a_weak_command_passes_on_code_that_does_nothing(hollow: Path, code: str) -> None:
    assert passes(hollow, code)


@pytest.mark.parametrize("code", STRONG)
def test_a_strong_command_does_not(hollow: Path, code: str) -> None:
    assert not passes(hollow, code)


def test_every_kind_of_declaration_can_be_imported_and_used(tmp_path: Path) -> None:
    write(tmp_path, build_skeleton(interfaces(CONTRACTS)))
    assert passes(
        tmp_path,
        "import asyncio, maze.grid, maze.io, maze.train, space.part.mod\n"
        "from maze import kinds\n"
        "m = maze.grid.Maze.square(3); maze.grid.Maze(1, 2).neighbours(maze.grid.Cell(0, 0))\n"
        "assert asyncio.run(maze.io.fetch('x')) == b''\n"
        "with maze.io.opened('x') as m: assert m is not None\n"
        "assert maze.io.parse_size('1x1') == (0, 0) and list(maze.io.walk(m)) == []\n"
        "assert kinds.double(1) == '' and kinds.make('circle').area() == 0.0\n"
        "with kinds.Plain('a') as p: p + p\n"
        "assert kinds.Level.EASY.value == 1 and kinds.Box(3).get() is None\n",
    )


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        ("Literal['a', 'b']", "'a'"),
        ("Optional[int]", "None"),
        ("Union[int, str]", "0"),
        ("Annotated[int, 'metres']", "0"),
        ("Required[str]", "''"),
        ("tuple[int, str]", "(0, '')"),
        ("tuple[int, ...]", "()"),
        ("Row", "{}"),
        ("Shape", "None"),
        ("'dict[str, Row]'", "{}"),
        ("pkg.make()", "None"),
    ],
)
def test_a_function_that_does_nothing_returns_the_emptiest_value(
    tmp_path: Path, annotation: str, value: str
) -> None:
    stub = (
        "from typing import Annotated, Literal, Optional, Protocol, Required, TypedDict, Union\n"
        "class Row(TypedDict):\n    name: str\n"
        "class Shape(Protocol):\n    def area(self) -> float: ...\n"
        f"def f() -> {annotation}: ...\n"
    )
    write(tmp_path, build_skeleton(interfaces({"a.py": stub})))
    assert passes(tmp_path, f"from a import f; assert f() == {value}, f()")


def test_modules_may_need_each_other(tmp_path: Path) -> None:
    stubs = {
        "p/a.py": "from .b import B\nclass A:\n    def b(self) -> B: ...",
        "p/b.py": "from .a import A\nclass B:\n    def a(self) -> A: ...",
    }
    write(tmp_path, build_skeleton(interfaces(stubs)))
    assert passes(tmp_path, "from p.a import A; assert A().b().a().b()")
    assert passes(tmp_path, "from p.b import B; assert B().a()")


def test_what_exists_is_emptied_only_where_it_is_declared(tmp_path: Path) -> None:
    sources = {
        "a.py": "def old(): return 1\ndef f(): return 2\nclass C:\n    def m(self): return 3"
    }
    stub = "def f() -> int: ...\nclass C:\n    def n(self) -> int: ..."
    write(tmp_path, build_skeleton(interfaces({"a.py": stub}), sources))
    assert passes(
        tmp_path, "import a; assert (a.old(), a.f(), a.C().m(), a.C().n()) == (1, 0, 3, 0)"
    )


def test_what_cannot_be_read_is_left_out() -> None:
    stubs = {"a.py": "def f(", "b.ts": "x: int", "c.py": "x: int"}
    assert build_skeleton(interfaces(stubs), {"c.py": "x = ("}) == {
        "c.py": "from __future__ import annotations\nx: int = 0\n"
    }
