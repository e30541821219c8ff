"""More commands that are right, on a contract of what Python offers: none may have an error."""

from __future__ import annotations

from typing import Final

CONTRACT: Final = """
from __future__ import annotations
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Generator, Iterable, Mapping, MutableMapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, InitVar
from datetime import datetime
from decimal import Decimal
from enum import Enum, Flag, IntEnum, auto
from functools import cached_property, singledispatch
from pathlib import Path
from typing import (
    IO, Any, ClassVar, Dict, Generic, List, NamedTuple, Optional, ParamSpec, Protocol, Self,
    SupportsFloat, Tuple, TypeVar, Union,
)
import numpy as np

T = TypeVar("T")
K = TypeVar("K")
P = ParamSpec("P")
Number = Union[int, float]
Handler = Callable[[str], Any]

class Color(Enum):
    RED = auto()
    GREEN = auto()
    @property
    def hex(self) -> str: ...
    @classmethod
    def parse(cls, text: str) -> Color: ...
class Prio(IntEnum):
    LOW = 1
    HIGH = 2
class Perm(Flag):
    R = 1
    W = 2
class Point(NamedTuple):
    x: float
    y: float = 0
    def norm(self) -> float: ...
@dataclass
class Item:
    name: str
    price: Decimal
    tags: list[str] = field(default_factory=list)
    secret: InitVar[int] = 0
    count: ClassVar[int]
    total: float = field(init=False)
@dataclass(order=True, kw_only=True)
class Rank:
    score: int
    label: str = ""
class Stack(Generic[T]):
    def __init__(self, items: Iterable[T] = ...) -> None: ...
    def push(self, item: T) -> Self: ...
    def pop(self) -> T: ...
    def __len__(self) -> int: ...
    def __iter__(self): ...
    def __contains__(self, x: object) -> bool: ...
class Event(Protocol):
    name: str
class Node:
    value: int
    left: Node | None
    right: Node | None
    def __init__(
        self, value: int, left: Node | None = None, right: Node | None = None
    ) -> None: ...
class Store(MutableMapping[str, int]):
    def __getitem__(self, key: str) -> int: ...
    def __setitem__(self, key: str, value: int) -> None: ...
    def __delitem__(self, key: str) -> None: ...
    def __iter__(self): ...
    def __len__(self) -> int: ...
class Account:
    def __init__(self, owner: str, balance: float = 0) -> None: ...
    @property
    def balance(self) -> float: ...
    @balance.setter
    def balance(self, value: float) -> None: ...
    @cached_property
    def history(self) -> list[tuple[str, float]]: ...
    def deposit(self, amount: Number) -> None: ...
    def __eq__(self, other: object) -> bool: ...
    def __lt__(self, other: Account) -> bool: ...
    def __hash__(self) -> int: ...
class InsufficientFunds(Exception):
    needed: float
    def __init__(self, needed: float) -> None: ...
class Dyn:
    def __getattr__(self, name: str) -> Any: ...
class Meta(type):
    def __len__(cls) -> int: ...
class Reg(metaclass=Meta):
    @classmethod
    def all(cls) -> list[type[Reg]]: ...
class Base(ABC):
    @abstractmethod
    def run(self) -> int: ...
class Impl(Base):
    def run(self) -> int: ...
def timed(f: Callable[P, T]) -> Callable[P, T]: ...
def retry(times: int = 3) -> Callable[[Callable[P, T]], Callable[P, T]]: ...
def group(items: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]: ...
def mean(xs: Iterable[SupportsFloat]) -> float: ...
def numbers() -> Generator[int, None, None]: ...
def tree() -> Node: ...
def lookup(d: Mapping[str, Any], path: str, default: Any = None) -> Any: ...
def opt(x: Optional[int] = None) -> Optional[str]: ...
def read(f: IO[str] | Path | str) -> List[Dict[str, str]]: ...
def arr(n: int) -> np.ndarray: ...
def on(name: str, handler: Handler) -> None: ...
def when() -> datetime: ...
def first(xs: list[T], default: T | None = None) -> T | None: ...
def pair() -> Tuple[int, str]: ...
def main(argv: list[str] | None = None) -> int: ...
def fib(n: int) -> list[int]: ...
def div(a: float, b: float) -> float: ...
def cfg() -> dict[str, Any]: ...
def mtx() -> list[list[int]]: ...
def obj() -> object: ...
async def afetch(n: int) -> list[int]: ...
@asynccontextmanager
async def session() -> AsyncIterator[Account]: ...
@singledispatch
def show(x: object) -> str: ...
"""

VALID: Final = [
    "from m import Color; assert Color.RED.name == 'RED' and Color['GREEN'] is "
    "Color.GREEN and len(Color) == 2 and Color.parse('x').hex.startswith('#')",
    "from m import Color; assert [c.name for c in Color] == ['RED', 'GREEN']; assert "
    "Color(1) is Color.RED; assert Color.RED.value == 1",
    "from m import Prio; assert Prio.HIGH > Prio.LOW and Prio(2) is Prio.HIGH and "
    "sorted(Prio)[0] == 1 and max(Prio) + 1 == 3",
    "from m import Perm; assert Perm.R | Perm.W; assert Perm.R in (Perm.R | Perm.W); "
    "assert (Perm.R & Perm.W).value == 0",
    "from m import Point; p = Point(1); assert p == (1, 0); x, y = p; assert p._asdict() "
    "== {'x': 1, 'y': 0}; assert Point._make([1, 2]).norm() > 2; assert Point._fields == "
    "('x', 'y')",
    "from m import Item; from decimal import Decimal; i = Item('a', Decimal('1.5'), "
    "secret=3); assert i.tags == [] and i.total; i.tags.append('x'); i.total = 3.0; "
    "assert Item.count == 0",
    "from m import Rank; assert Rank(score=1) < Rank(score=2); assert "
    "sorted([Rank(score=2), Rank(score=1)])[0].score == 1",
    "from m import Stack; s = Stack(); s.push(1).push(2); assert s.pop() == 2 and len(s) "
    "== 1 and 1 in s and list(s) == [1]",
    "from m import Stack; s = Stack([1, 2]); assert s.pop() == 2; s.push('a'); assert "
    "s.pop() == 'a'",
    "from m import Stack; s: Stack[str] = Stack(); s.push('a'); assert s.pop().upper() == 'A'",
    "from m import Stack; assert Stack([1]).push(2).pop().bit_length() == 2",
    "from m import tree; t = tree(); assert t.left.value == 1 and t.right.left.value == 2",
    "from m import Node; n = Node(1, Node(2)); n.left.left = Node(3); assert "
    "n.left.left.value == 3; cur = n\nwhile cur:\n    last = cur; cur = cur.left\nassert "
    "last.value == 3",
    "from m import Store; s = Store(); s['a'] = 1; assert dict(s) == {'a': 1} and "
    "s.get('b', 0) == 0 and 'a' in s; s.update(b=2); assert s.pop('b') == 2; del s['a']; "
    "assert list(s.items()) == []",
    "from m import Account; a = Account('x'); a.deposit(5); a.balance = 10; a.balance += "
    "1; assert a.balance == 11; assert a.history[0][0] == 'd'; assert {a: 1}[a] == 1; "
    "assert not a == 3; assert sorted([a, Account('y', 2)])",
    "from m import Account, InsufficientFunds\ntry:\n    Account('x').deposit(-1)\nexcept "
    "InsufficientFunds as e:\n    assert e.needed == 1 and e.args\nexcept ValueError as "
    "e:\n    assert str(e)\nelse:\n    raise AssertionError('no error')",
    "from m import Account\nimport copy; a = Account('x'); b = copy.deepcopy(a); "
    "b.deposit(1); assert a.balance != b.balance; assert vars(a) and a.__dict__ and "
    "type(a).__name__ == 'Account' and isinstance(a, Account)",
    "from m import Dyn; assert Dyn().anything.goes(1)[2]",
    "from m import Reg; assert len(Reg) == 0; assert Reg.all() == []; assert Reg().all()",
    "from m import Base, Impl; assert Impl().run() == 1; assert issubclass(Impl, Base); "
    "assert Base.run(Impl()) is None",
    "from m import Base\nclass B(Base):\n    def run(self): return 5\nassert B().run() == 5",
    "from m import timed; assert timed(lambda x: x + 1)(1) == 2\n@timed\ndef f(a, b=2): "
    "return a + b\nassert f(1) == 3 and f.__name__ == 'f'",
    "from m import retry\nn = 0\n@retry(times=2)\ndef f():\n    global n; n += 1\n    if n < "
    "2: raise OSError\n    return n\nassert f() == 2",
    "from m import group; assert group(['a', 'bb'], len) == {1: ['a'], 2: ['bb']}; "
    "assert group([1, 2, 3], key=lambda x: x % 2)[1] == [1, 3]",
    "from m import mean; from fractions import Fraction; from decimal import Decimal; "
    "assert mean([1, 2.5, Fraction(1, 2), Decimal(1), True])",
    "from m import numbers; g = numbers(); assert next(g) == 0; import itertools; assert "
    "list(itertools.islice(numbers(), 3)) == [0, 1, 2]; g.close()",
    "from m import lookup; assert lookup({'a': {'b': 1}}, 'a.b') == 1; assert lookup({}, "
    "'x', default=[]) == []; assert lookup({'a': 1}, 'a') + 1 == 2",
    "from m import opt; assert opt() is None; assert opt(3).upper() == 'X'; r = "
    "opt(None); assert len(r or '') == 0",
    "import io; from m import read; assert read(io.StringIO('a,b'))[0]['a'] == 'b'; "
    "import tempfile, pathlib; p = pathlib.Path(tempfile.mkdtemp()) / 'x'; "
    "p.write_text('a'); assert read(p) == read(str(p)); assert read(open(p))",
    "from m import arr; a = arr(3); assert a.shape == (3,) and a.sum() == 0 and (a == "
    "0).all() and a[0] == 0",
    "from m import on; got = []; on('x', got.append); on('x', lambda m: got.append(m)); "
    "on('x', print); assert got == []",
    "from m import when; import datetime as dt; assert when() - when() < "
    "dt.timedelta(seconds=1); assert when().year > 2000 and when() > dt.datetime(2000, 1, 1)",
    "from m import first; assert first([1, 2]) == 1; assert first([], 'x') == 'x'; "
    "assert first([]) is None; assert first(['a']).upper() == 'A'",
    "from m import pair; n, s = pair(); assert n + 1 and s.upper(); assert pair()[0] + 1 "
    "== 2; assert pair() == (1, 'a')",
    "import sys; from m import main; sys.argv = ['m', '--x']; assert main() == 0; assert "
    "main(['--x', *map(str, range(2))]) == 0",
    "from m import main\nimport io, contextlib\nbuf = io.StringIO()\nwith "
    "contextlib.redirect_stdout(buf):\n    code = main([])\nassert code == 0 and 'x' in "
    "buf.getvalue()",
    "from m import main\nimport pytest\nwith pytest.raises(SystemExit) as e:\n    "
    "main(['--bad'])\nassert e.value.code == 2",
    "from m import fib; assert fib(5)[-1] == 5 and fib(0) == [] and sum(fib(4)) == 4; "
    "assert fib(5)[1:3] == [1, 1]; assert all(isinstance(x, int) for x in fib(9)); "
    "assert fib(3) == list((1, 1, 2)); a, *b = fib(3)",
    "import math; from m import div; assert math.isclose(div(1, 3), 0.333, "
    "abs_tol=1e-2); assert div(4, 2) == 2; assert int(div(4, 2)) == 2; assert f'{div(1, "
    "2):.1f}' == '0.5'; assert round(div(1, 3), 2) == .33; assert div(4,2).is_integer()",
    "from m import cfg; c = cfg(); assert c['a']['b'][0] == 1; c['x'] = 1; assert "
    "c.get('y', {}).get('z') is None",
    "from m import mtx; m = mtx(); assert m[0][0] == 1 and [*zip(*m)][0] and len(m) == "
    "len(m[0]); assert sum(map(sum, m)) == 3; m[0][0] = 5; assert any(5 in r for r in m)",
    "from m import obj; assert obj() == obj(); assert str(obj()); assert "
    "isinstance(obj(), str) and obj().upper()",
    "import asyncio; from m import afetch, session\nasync def go():\n    async with "
    "session() as s:\n        s.deposit(1)\n    return await asyncio.gather(afetch(1), "
    "afetch(2))\nassert asyncio.run(go()) == [[1], [2]]",
    "from m import show\n@show.register\ndef _(x: int): return 'i'\nassert show(1) == 'i' "
    "and show('a')",
    "from functools import partial, reduce; from m import div, fib; half = partial(div, "
    "b=2); assert half(4) == 2; assert reduce(div, [8, 2, 2]) == 2; assert list(map(fib, "
    "[1, 2])) and [*map(div, [1], [2])]",
    "from operator import attrgetter, methodcaller; from m import Account; xs = "
    "[Account('a', 1)]; assert max(xs, key=attrgetter('balance')).balance == 1; assert "
    "sorted(xs, key=lambda a: -a.balance)",
    "import m; assert getattr(m, 'fib')(3); assert m.__name__ == 'm' and m.__file__ and "
    "m.__doc__ is None; assert 'fib' in dir(m) and hasattr(m, 'nope') is False",
    "from m import *; assert fib(1) == [1] and Color.RED",
    "import m as n, json; assert json.dumps(n.cfg()) and n.fib(2)[0] == 1; n.fib = "
    "lambda k: [k]; assert n.fib('z') == ['z']",
    "from m import Account; Account.extra = lambda self: 5; assert Account('x').extra() == 5",
    "from m import Account\nclass Sub(Account):\n    def __init__(self): "
    "super().__init__('x', 1); self.z = 3\n    def deposit(self, amount): "
    "super().deposit(amount); self.z += 1\ns = Sub(); s.deposit('q'); assert s.z == 4 and "
    "s.balance == 1",
    "from m import Account; a = Account(owner='x', **{'balance': 3}); assert a.balance "
    "== 3; b = Account(*('x', 4)); assert b.balance == 4",
    "from m import Account; a = b = Account('x'); (a, b) = (b, a); assert a is b; x = "
    "[Account(n) for n in 'ab']; assert {k: v.balance for k, v in zip('ab', x)} == {'a': "
    "0, 'b': 0}",
    "from m import fib; r = fib(3); assert r == [1, 1, 2], f'got {r!r}'; r = tuple(r); "
    "assert r == (1, 1, 2); r = set(r); assert r == {1, 2}; r = len(r); assert r == 2",
    "from m import fib, Node; import typing, inspect; assert "
    "typing.get_type_hints(fib)['n'] is int; assert inspect.isfunction(fib) and "
    "fib.__annotations__ and Node.__init__.__defaults__; assert fib.__module__ == 'm'",
    "from m import div\nfor a, b, want in [(1, 2, .5), (4, 2, 2)]:\n    assert div(a, b) "
    "== want\ntry:\n    div(1, 0)\nexcept ZeroDivisionError:\n    raise SystemExit(0)\nraise "
    "SystemExit('no error')",
    "import unittest; from m import div\nclass T(unittest.TestCase):\n    def "
    "test_a(self):\n        self.assertEqual(div(1, 1), 1)\n        with "
    "self.assertRaises(TypeError):\n            div('a', None)\n        "
    "self.assertRaises(TypeError, div, 'a')\nassert unittest.main(argv=['x'], "
    "exit=False).result.wasSuccessful()",
    "import threading; from m import fib; out = {}; t = threading.Thread(target=lambda: "
    "out.update(a=fib(3))); t.start(); t.join(); assert out['a'] == [1, 1, 2]",
    "from concurrent.futures import ThreadPoolExecutor; from m import fib\nwith "
    "ThreadPoolExecutor() as p:\n    assert list(p.map(fib, [1, 2]))[1] == [1, 1]; assert "
    "p.submit(fib, 3).result()[2] == 2",
    "import pickle, json; from m import Rank, Item; r = "
    "pickle.loads(pickle.dumps(Rank(score=1))); assert r.score == 1",
    "import re; from m import opt; assert re.fullmatch(r'\\w+', opt(1)).group() == 'x'; "
    "assert opt(1).split(',')[0].strip()",
    "from m import read; rows = read('x'); rows.sort(key=lambda r: r['a']); assert "
    "rows[0].get('b') is None; assert rows[0] | {'c': '1'}; assert [*rows[0]][0] == 'a'",
    "import sqlite3, m; db = sqlite3.connect(':memory:'); assert db.execute('select "
    "1').fetchone()[0] == m.fib(1)[0]",
    "from m import Stack, Node; from typing import List; xs: List[Node] = []; "
    "xs.append(Node(1)); assert xs[0].value; y = None; y = Node(2); assert y.value == 2; "
    "z = {}; z['a'] = Node(3); assert z['a'].value == 3; q = []; q.append(Node(4)); "
    "assert q[0].value == 4",
    "from m import Account; accounts = {n: Account(n) for n in ['a']}; total = 0; total "
    "+= accounts['a'].balance; assert total == 0; best = None\nfor a in "
    "accounts.values():\n    if best is None or a.balance > best.balance:\n        best = "
    "a\nassert best.balance == 0",
]  # fmt: skip
