"""Commands with what the rules must make of them, on a project of contracts and of old code.

`VALID` commands pass on a right implementation, however odd they look: none may have an error.
`WRONG` ones fail on every implementation of the contracts: each has its code and the column.
"""

from __future__ import annotations

from typing import Any, Final

CONTRACTS: Final = {
    "maze/__init__.py": "",
    "maze/grid.py": """
from dataclasses import dataclass, field
from typing import NamedTuple

class Cell(NamedTuple):
    row: int
    column: int

def passage(one: Cell, other: Cell) -> frozenset[Cell]: ...

@dataclass(frozen=True)
class Maze:
    width: int
    height: int
    passages: frozenset[frozenset[Cell]] = frozenset()
    @property
    def entrance(self) -> Cell: ...
    def neighbours(self, cell: Cell) -> list[Cell]: ...
    @classmethod
    def square(cls, side: int) -> "Maze": ...
    @staticmethod
    def describe(width: int) -> str: ...
""",
    "maze/io.py": """
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TextIO
from .grid import Cell, Maze

BUILTIN_MAZES: dict[str, dict[str, str]]
LIMIT: Final = 40
def load_maze_text(text: str) -> Maze: ...
def find(name: str) -> Maze | None: ...
def parse_size(text: str, *, sep: str = "x") -> tuple[int, int]: ...
def save(maze: Maze, path: str | Path) -> None: ...
def total(numbers: Iterable[float]) -> float: ...
def options(**values: Any) -> dict[str, Any]: ...
def join(*parts: str) -> str: ...
def counts(words: Sequence[str]) -> dict[str, int]: ...
def walk(maze: Maze) -> Iterator[Cell]: ...
def apply(function: Callable[[int], int], value: int) -> int: ...
def write(maze: Maze, out: TextIO) -> int: ...
@contextmanager
def opened(path: str) -> Iterator[Maze]: ...
async def fetch(url: str) -> bytes: ...
""",
    "maze/train.py": """
from .grid import Cell, Maze

class MazeError(ValueError): ...

class QTable:
    def __init__(self, maze: Maze, learning_rate: float = 0.1) -> None: ...
    def best(self, cell: Cell) -> int: ...
    def __getitem__(self, cell: Cell) -> float: ...
    def __len__(self) -> int: ...

def train_q_learning(
    maze: Maze, episodes: int, seed: int, alpha: float, gamma: float
) -> QTable: ...
""",
    "maze/kinds.py": """
from abc import ABC, abstractmethod
from enum import Enum, StrEnum
from functools import lru_cache
from typing import Generic, Literal, NewType, Protocol, TypedDict, TypeVar, overload

T = TypeVar("T")
UserId = NewType("UserId", str)

class Mark(StrEnum):
    HIT = "H"
    MISS = "-"

class Level(Enum):
    EASY = 1
    HARD = 2

class Shape(ABC):
    @abstractmethod
    def area(self) -> float: ...

class Circle(Shape):
    radius: float
    def __init__(self, radius: float) -> None: ...
    def area(self) -> float: ...

class Config(TypedDict):
    host: str
    port: int

class Reader(Protocol):
    def read(self) -> str: ...

class Box(Generic[T]):
    def __init__(self, value: T) -> None: ...
    def get(self) -> T: ...

class Plain:
    name: str
    def __init__(self, name: str) -> None: ...
    def __enter__(self) -> "Plain": ...
    def __exit__(self, *details: object) -> None: ...
    def __add__(self, other: "Plain") -> "Plain": ...

def make(kind: Literal["circle", "square"]) -> Shape: ...
def read_all(reader: Reader) -> str: ...
def connect(config: Config) -> str: ...
def user(identity: UserId) -> Plain: ...
def level(of: Level) -> int: ...
@overload
def double(value: int) -> int: ...
@overload
def double(value: str) -> str: ...
@lru_cache
def slow(number: int) -> int: ...
def any_of(values: list[float]) -> bool: ...
def mixed(value: int | str) -> int | str: ...
""",
    "src/tool/__init__.py": "",
    "src/tool/core.py": "def run(arguments: list[str]) -> int: ...",
    "space/part/mod.py": "def value(number: int = 0) -> int: ...",
}

SOURCES: Final = {
    "legacy/__init__.py": "from .core import old, Thing\n__version__ = '1'\n",
    "legacy/core.py": """
import json

def old(a, b=2):
    return json.dumps([a, b])

def typed(x: int) -> str:
    return str(x)

def wrapped(function):
    def inner(*args, **kwargs):
        return function(*args, **kwargs)
    return inner

@wrapped
def decorated(a):
    return a

class Thing:
    kind = "thing"

    def __init__(self, name, **extra):
        self.name = name
        for key, value in extra.items():
            setattr(self, key, value)

    def rename(self, name):
        self.name = name
        return self
""",
    "legacy/dynamic.py": "def __getattr__(name):\n    return name\n",
    "legacy/star.py": "from .core import *\nglobals().update(made=1)\n",
}

VALID: Final = [
    "from maze.grid import Maze; m = Maze(3, 4); assert (m.width, m.height) == (3, 4)",
    "from maze.grid import Cell, Maze; m = Maze(width=3, height=4); assert m.entrance == "
    "Cell(0, 0)",
    "from maze.grid import Cell, Maze; assert Maze(2, 2).neighbours(Cell(0, 0))[0].row == 0",
    "from maze.grid import Maze; assert Maze.square(3).width == 3; assert Maze.describe(3)",
    "from maze.grid import Maze; assert Maze(2, 2) == Maze(2, 2) != Maze(3, 2)",
    "from maze.grid import Maze; import dataclasses; m = dataclasses.replace(Maze(2, 2), "
    "width=5); assert m.width == 5; assert dataclasses.asdict(m)['width'] == 5",
    "from maze.grid import Cell; row, column = Cell(1, 2); assert row + column == 3; assert "
    "Cell(1, 2)._replace(row=5)[0] == 5",
    "from maze.grid import Cell; assert Cell(*[1, 2]) == (1, 2)",
    "from maze import grid; assert grid.Maze(2, 2).width == 2",
    "import maze.grid; assert maze.grid.Maze(2, 2).width == 2",
    "import maze.grid as g, maze.io; assert maze.io.LIMIT == 40; assert g.Cell(0, 0)",
    "from maze.io import find; m = find('small'); assert m.width == 3",
    "from maze.io import find; assert find('none') is None; assert find('small').height == 3",
    "from maze.io import find; m = find('small'); assert m is not None and m.width > 2",
    "from maze.io import parse_size; size = '3x4'; size = parse_size(size); size = size[0]; "
    "assert size == 3",
    "from maze.grid import Maze; x = 1; x = Maze(x, x); x = x.width; x = str(x); assert x == "
    "'1'",
    "from maze.io import parse_size\nfor item in ['1x2', '3x4']:\n    item = parse_size(item)\n"
    "    assert item[1] > item[0]",
    "from maze.io import options; kw = {'a': 1, 'b': 'x'}; assert options(**kw) == kw",
    "from maze.grid import Maze; args = [3, 4]; assert Maze(*args).height == 4",
    "from maze.grid import Maze; kw = dict(width=3, height=4); assert Maze(**kw).height == 4",
    "from maze.train import train_q_learning; from maze.grid import Maze; kw = dict(seed=1, "
    "alpha=0.5, gamma=1); assert train_q_learning(Maze(2, 2), 5, **kw)",
    "from maze.io import join; parts = ('a', 'b'); assert join(*parts) == 'ab'",
    "from maze.grid import Maze\ntry:\n    Maze(1)\nexcept TypeError:\n    pass\nelse:\n    "
    "raise SystemExit(1)",
    "import pytest; from maze.io import load_maze_text\nwith pytest.raises(TypeError):\n    "
    "load_maze_text(5)",
    "from contextlib import suppress; from maze.grid import Maze\nok = True\nwith "
    "suppress(AttributeError):\n    Maze(1, 1).nothing; ok = False\nassert ok",
    "from unittest import TestCase; from maze.io import load_maze_text; "
    "TestCase().assertRaises(TypeError, load_maze_text, 5, 6)",
    "from unittest import TestCase; from maze.grid import Maze\nwith "
    "TestCase().assertRaises(AttributeError):\n    Maze(2, 2).width = 5",
    "from maze.io import load_maze_text\ndef fails(f):\n    try:\n        f()\n    except "
    "TypeError:\n        return True\nassert fails(lambda: load_maze_text(5))",
    "from maze.kinds import Shape\ntry:\n    Shape()\nexcept TypeError as error:\n    assert "
    "'abstract' in str(error)\nelse:\n    assert False",
    "from maze.kinds import Plain; p = Plain('a'); p.extra = 5; assert p.extra == 5",
    "from maze.kinds import Plain; p = Plain('a'); setattr(p, 'extra', 5); assert p.extra == 5",
    "from maze import io; io.cache = {}; assert io.cache == {}",
    "from maze.kinds import Plain; assert getattr(Plain('a'), 'missing', None) is None",
    "from maze.kinds import Plain; p = Plain('a'); assert not hasattr(p, 'x') or p.x",
    "from maze.kinds import slow; slow(3); assert slow.cache_info().misses == 1",
    "from maze.train import train_q_learning as t; assert t.__name__ and t.__doc__",
    "from unittest.mock import Mock; from maze.io import load_maze_text; m = Mock(); assert "
    "m.load(load_maze_text, 1, 2).x",
    "from unittest.mock import patch; from maze import io\nwith patch.object(io, 'find') as "
    "f:\n    f.return_value = 3; assert io.find(1, 2) == 3",
    "from maze.io import total; assert total([1, 2, 3]) == 6.0; assert total(x for x in (1, "
    "2)) == 3",
    "from maze.io import total; assert total({1: 'a', 2: 'b'}) == 3; assert total(range(4)) == "
    "6",
    "from maze.io import counts; c = counts(['a', 'a']); assert c['a'] == 2; assert "
    "sorted(c.items()) == [('a', 2)]; assert c.most_common() if hasattr(c, 'most_common') else "
    "c",
    "from maze.io import counts; assert counts('aa')['a'] == 2; assert 3 not in counts(('a',))",
    "from maze.io import walk; from maze.grid import Maze; assert list(walk(Maze(2, "
    "2)))[0].row == 0; assert next(walk(Maze(1, 1))) == (0, 0); assert {c.column for c in "
    "walk(Maze(2, 1))} == {0, 1}",
    "from maze.kinds import any_of; numbers = [1, 2]; assert any_of(numbers) is True",
    "from maze.kinds import any_of; assert any_of([]) is False; assert any_of([1, 2.5])",
    "from maze.io import apply; assert apply(lambda n: n + 1, 1) == 2; assert apply(abs, -1) "
    "== 1",
    "from maze.io import parse_size; assert parse_size('3:4', sep=':') == (3, 4); w, h = "
    "parse_size('1x2'); assert w < h; (w, *rest) = parse_size('1x2'); assert rest == [2]",
    "from maze.io import save; from maze.grid import Maze; from pathlib import Path; import "
    "tempfile; d = tempfile.mkdtemp(); assert save(Maze(1, 1), Path(d) / 'a') is None; "
    "save(Maze(1, 1), d + '/b'); assert (Path(d) / 'b').read_text()",
    "import io; from maze.io import write; from maze.grid import Maze; out = io.StringIO(); "
    "assert write(Maze(1, 1), out) == len(out.getvalue())",
    "from maze.io import opened\nwith opened('x') as maze:\n    assert maze.width",
    "import asyncio; from maze.io import fetch; assert asyncio.run(fetch('x')).decode() == ''",
    "from maze.kinds import Mark; assert Mark.HIT == 'H'; assert Mark('H') is Mark.HIT; assert "
    "''.join([Mark.HIT, Mark.MISS]) == 'H-'; assert Mark.HIT.value.lower() == 'h'",
    "from maze.kinds import Level, level; assert level(Level.EASY) == 1; assert "
    "Level['HARD'].value",
    "from maze.kinds import make; kind = 'circle'; assert make(kind).area() > 0",
    "from maze.kinds import make; assert [make(k).area() for k in ('circle', 'square')]",
    "from maze.kinds import make; c = make('circle'); c.radius = 3; assert c.area() > 28",
    "from maze.kinds import make; assert make('circle').radius == 1",
    "from maze.kinds import user; assert user('ada').name == 'ada'",
    "from maze.kinds import connect; assert connect({'host': 'a', 'port': 1}) == 'a:1'",
    "from maze.kinds import connect; config = {'host': 'a', 'port': 1}; assert connect(config)",
    "from maze.kinds import read_all; import io; assert read_all(io.StringIO('x')) == 'x'",
    "from maze.kinds import read_all\nclass Fake:\n    def read(self):\n        return 'x'\n"
    "assert read_all(Fake()) == 'x'",
    "from maze.kinds import Box; assert Box(3).get() + 1 == 4; assert Box('a').get().upper() "
    "== 'A'",
    "from maze.kinds import double; assert double(2) == 4; assert double('a').upper() == 'AA'",
    "from maze.kinds import mixed; assert mixed(3) + 1 == 4; assert mixed('a').upper() == 'A'",
    "from maze.kinds import Plain\nwith Plain('a') as p:\n    assert (p + p).name == 'aa'",
    "from maze.kinds import Shape\nclass Square(Shape):\n    def area(self):\n        return "
    "4.0\n    def side(self):\n        return 2\nassert Square().area() == Square().side() ** 2",
    "from maze.train import MazeError; assert issubclass(MazeError, ValueError); assert "
    "str(MazeError('a', 1)); assert MazeError('x').args == ('x',)",
    "from maze.train import QTable; from maze.grid import Cell, Maze; q = QTable(Maze(1, 1)); "
    "assert len(q) == 1; assert q[Cell(0, 0)] == 0; assert q.best(Cell(0, 0)) in range(4)",
    "import subprocess, sys; out = subprocess.run([sys.executable, '-m', 'maze'], "
    "capture_output=True, text=True); assert 'x' not in out.stderr.splitlines()[-1:]",
    "import json; from maze.io import options; data = json.loads(json.dumps(options(a=1))); "
    "assert data['a'].real == 1",
    "import re; from maze.grid import Maze; assert re.match(r'(\\d+)', str(Maze(1, "
    "1))).group(1)",
    "import numpy as np; from maze.io import total; assert total(np.zeros(3).tolist()) == 0",
    "import inspect; from maze.train import train_q_learning; assert "
    "list(inspect.signature(train_q_learning).parameters)[0] == 'maze'",
    "from tool.core import run; assert run(['a']) == 0",
    "import tool.core; assert tool.core.run([]) == 0",
    "from space.part.mod import value; assert value() == 0; import space.part.mod as m; assert "
    "m.value(1)",
    "from legacy import old; assert old(1) == old(1, 2) == old(a=1, b=2)",
    "from legacy.core import typed; assert typed(True) == 'True'; assert typed('3') == '3'",
    "from legacy.core import decorated; assert decorated(1, 2, c=3)",
    "from legacy import Thing; t = Thing('a', size=3); assert t.size == 3; assert "
    "t.rename('b').name",
    "from legacy import Thing; t = Thing('a'); t.colour = 'red'; assert t.colour == 'red'",
    "import legacy; assert legacy.__version__ == '1'; assert legacy.__name__ == 'legacy'",
    "from legacy.dynamic import anything; assert anything == 'anything'",
    "from legacy.star import old, made; assert made == 1; import legacy.star; assert "
    "legacy.star.made",
    "import sys; sys.path.insert(0, 'lib'); import helper; assert helper.x",
]  # fmt: skip

# Code, what stands at the column that the finding names, and the command.
WRONG: Final = [
    ("E213", "BUILTIN_MAZES['SIMPLE']",
     "from maze.io import BUILTIN_MAZES, load_maze_text; m = "
     "load_maze_text(BUILTIN_MAZES['SIMPLE']); assert m.width == 5"),
    ("E212", "train(Maze(2, 2)",
     "from maze.train import train_q_learning as train; from maze.grid import Maze; assert "
     "train(Maze(2, 2), episodes=5, seed=0)"),
    ("E211", "from maze.io",
     "from maze.io import load_maze; assert load_maze('x').width == 1"),
    ("E211", "io.load",
     "from maze import io; assert io.load('x')"),
    ("E211", "maze.io.load",
     "import maze.io; assert maze.io.load('x')"),
    ("E211", "Maze(2, 2).size",
     "from maze.grid import Maze; assert Maze(2, 2).size == 4"),
    ("E211", "m.neighbors",
     "from maze.grid import Maze; m = Maze(2, 2); assert m.neighbors((0, 0))"),
    ("E211", "Mark.HITS",
     "from maze.kinds import Mark; assert Mark.HITS == 'H'"),
    ("E211", "Plain('a').title",
     "from maze.kinds import Plain; assert Plain('a').title"),
    ("E211", "find('x').depth",
     "from maze.io import find; assert find('x').depth == 3"),
    ("E211", "c.col",
     "from maze.io import walk; from maze.grid import Maze; assert [c.col for c in "
     "walk(Maze(2, 2))]"),
    ("E211", "from tool.core",
     "from tool.core import main; assert main([]) == 0"),
    ("E211", "from legacy.core",
     "from legacy.core import older; assert older(1)"),
    ("E211", "io.load",
     "é = 'é'; from maze import io; assert io.load(é)"),
    ("E212", "Maze(1)",
     "from maze.grid import Maze; assert Maze(1).width == 1"),
    ("E212", "Maze(1, 2, depth=3)",
     "from maze.grid import Maze; assert Maze(1, 2, depth=3).width == 1"),
    ("E212", "Maze(2, 2).neighbours()",
     "from maze.grid import Maze; assert Maze(2, 2).neighbours() == []"),
    ("E212", "parse_size('3:4'",
     "from maze.io import parse_size; assert parse_size('3:4', ':') == (3, 4)"),
    ("E212", "load_maze_text(text",
     "from maze.io import load_maze_text; assert load_maze_text(text='a', txt='b')"),
    ("E212", "load_maze_text('a'",
     "from maze.io import load_maze_text; assert load_maze_text('a', text='b')"),
    ("E212", "Shape()",
     "from maze.kinds import Shape; assert Shape().area() == 0"),
    ("E212", "Plain()",
     "from maze.kinds import Plain; assert Plain().name == ''"),
    ("E212", "old(1, 2, 3)",
     "from legacy.core import old; assert old(1, 2, 3)"),
    ("E212", "Thing()",
     "from legacy import Thing; assert Thing().name"),
    ("E212", "QTable(Maze(1, 1)).best()",
     "from maze.train import QTable; from maze.grid import Maze; assert QTable(Maze(1, "
     "1)).best() == 0"),
    ("E213", "['###']",
     "from maze.io import load_maze_text; assert load_maze_text(['###']).width == 3"),
    ("E213", "'3'",
     "from maze.grid import Maze; assert Maze('3', 4).width == 3"),
    ("E213", "5",
     "from maze.io import counts; assert counts(5) == {}"),
    ("E213", "1, 2])",
     "from maze.io import counts; assert counts([1, 2]) == {1: 1, 2: 1}"),
    ("E213", "numbers)",
     "from maze.io import total; numbers = ['1', '2']; assert total(numbers) == 3"),
    ("E213", "'EASY'",
     "from maze.kinds import level; assert level('EASY') == 1"),
    ("E213", "'triangle'",
     "from maze.kinds import make; assert make('triangle').area()"),
    ("E213", "5",
     "from maze.io import save; from maze.grid import Maze; assert save(Maze(1, 1), 5) is "
     "None"),
    ("E213", "'maze'",
     "from maze.train import QTable; assert QTable('maze').best"),
    ("E213", "parse_size('1x1')",
     "from maze.io import load_maze_text, parse_size; assert "
     "load_maze_text(parse_size('1x1'))"),
    ("E213", "'a b'",
     "from tool.core import run; assert run('a b') == 0"),
    ("E214", "parse_size",
     "from maze.io import parse_size; w, h, d = parse_size('1x2'); assert w"),
    ("E214", "parse_size",
     "from maze.io import parse_size; assert parse_size('1x2')[2] == 0"),
    ("E214", "counts(['a']).a",
     "from maze.io import counts; assert counts(['a']).a == 1"),
    ("E214", "Maze(2, 2)",
     "from maze.grid import Maze\nfor cell in Maze(2, 2):\n    assert cell"),
    ("E214", "Maze(2, 2)",
     "from maze.grid import Maze\nwith Maze(2, 2) as m:\n    assert m"),
    ("E214", "Maze(2, 2)[0]",
     "from maze.grid import Maze; assert Maze(2, 2)[0] == 1"),
    ("E214", "Maze(2, 2).width.bit",
     "from maze.grid import Maze; assert Maze(2, 2).width.bit"),
    ("E214", "Maze(2, 2).width",
     "from maze.grid import Maze; assert len(Maze(2, 2).width) == 1"),
    ("E214", "'x'",
     "from maze.grid import Maze; assert Maze(2, 2).width + 'x' == '2x'"),
    ("E214", "Maze(2, 2).entrance()",
     "from maze.grid import Maze; assert Maze(2, 2).entrance() == (0, 0)"),
    ("E214", "Maze(1, 1) <",
     "from maze.grid import Maze; assert Maze(1, 1) < Maze(2, 2)"),
    ("E214", "value(1)(2)",
     "from space.part.mod import value; assert value(1)(2)"),
    ("E216", "Cell",
     "from maze.grid import Maze; assert Maze(2, 2).entrance == Cell(0, 0)"),
    ("E216", "total",
     "assert total([1]) == 1"),
]  # fmt: skip


def project() -> list[dict[str, Any]]:
    """Return the fields of the order that declares the contracts."""
    return [{"path": path, "stub": stub} for path, stub in CONTRACTS.items()]
