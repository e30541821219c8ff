"""Wrong commands by what is wrong with them, each beside a right one of the same shape.

A wrong command fails on every implementation that keeps to the contracts. Its neighbour passes on
some implementation that does, so no error may be reported for it.
"""

from __future__ import annotations

from typing import Final

CONTRACTS: Final = {
    "shop/__init__.py": "",
    "shop/stock.py": """
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from os import PathLike
from pathlib import Path
from re import Pattern
from typing import Any, NamedTuple, TextIO, TypedDict

class Row(TypedDict):
    sku: str

class Line(NamedTuple):
    sku: str
    count: int

@dataclass(frozen=True)
class Item:
    sku: str
    price: Decimal
    tags: tuple[str, ...] = ()
    @property
    def label(self) -> str: ...
    def discounted(self, percent: int) -> "Item": ...

class Stock:
    def __init__(self, items: Sequence[Item] = ()) -> None: ...
    @property
    def size(self) -> int: ...
    def add(self, item: Item, count: int = 1) -> None: ...
    def where(self, test: Callable[[Item], bool]) -> list[Item]: ...
    def fold(self, step: Callable[[int, Item], int], start: int = 0) -> int: ...
    def on_change(self, listener: Callable[[], None]) -> None: ...
    def count(self, sku: str) -> int: ...
    def counts(self) -> dict[str, int]: ...
    def names(self) -> Iterator[str]: ...
    def lines(self) -> Generator[Line, None, None]: ...
    def tags(self) -> set[str]: ...
    def load(self, path: Path) -> None: ...
    def since(self, day: date) -> list[Item]: ...
    def rename(self, names: dict[str, str]) -> None: ...
    @classmethod
    def parse(cls, rows: list[str]) -> "Stock": ...
    @staticmethod
    def key(sku: str, size: int) -> str: ...

def item(sku: str) -> Item: ...
def total(items: Iterable[Item]) -> Decimal: ...
def average(numbers: list[float]) -> float: ...
def size(path: str) -> tuple[int, int]: ...
def split(text: str) -> list[str]: ...
def words(text: str) -> Iterator[str]: ...
def each(text: str) -> Iterable[str]: ...
def prices() -> Mapping[str, int]: ...
def is_open() -> bool: ...
def digest(text: str) -> bytes: ...
def tree() -> dict[str, dict[str, int]]: ...
def counter() -> Callable[[], int]: ...
def sort(rows: list[str], key: Callable[[str], Any]) -> list[str]: ...
def today() -> date: ...
def clear(count: int) -> None: ...
def read(path: str | PathLike[str]) -> str: ...
def write(out: TextIO, pattern: Pattern[str] | None = None) -> int: ...
def save(rows: list[Row]) -> str: ...
async def fetch(url: str) -> bytes: ...
@contextmanager
def opened(path: str) -> Iterator[Stock]: ...
""",
    "shop/shadows.py": """
def open(path: str) -> int: ...
def sum(left: int, right: int) -> int: ...
def filter(rows: list[str], word: str) -> list[str]: ...
def max(rows: list[int]) -> int: ...
def input() -> int: ...
def sorted(rows: dict[str, int]) -> dict[str, int]: ...
def hash(text: str) -> str: ...
class set:
    def __init__(self, name: str) -> None: ...
    def put(self, key: str, value: int) -> None: ...
    def get(self, key: str) -> int: ...
class range:
    low: int
    high: int
    def __init__(self, low: int, high: int) -> None: ...
    def middle(self) -> float: ...
class Counter:
    value: int
    def __init__(self, start: int) -> None: ...
    def up(self) -> int: ...
class Path:
    def __init__(self, points: list[int]) -> None: ...
    def length(self) -> float: ...
def span(of: range) -> int: ...
def walk(path: Path) -> int: ...
""",
    "shop/hidden.py": """
from dataclasses import dataclass
from datetime import date
from typing import TypedDict, overload

class Shelf:
    id: int
    def list(self) -> list[str]: ...
    def set(self, key: str, value: int) -> None: ...
    def tags(self) -> set[str]: ...
    def pick(self, of: list[str]) -> "dict[str, int]": ...
    def type(self) -> str: ...

@dataclass
class Entry:
    date: date
    def moved(self, to: date) -> "Entry": ...
    def back(self) -> date: ...

class Config(TypedDict):
    host: str
    port: int

def dict(rows: list[str]) -> dict[str, int]: ...
def bytes() -> list[bytes]: ...
def config() -> Config: ...
@overload
def double(value: int) -> int: ...
@overload
def double(value: str) -> str: ...
""",
    "shop/rows.py": """
class list:
    def __init__(self, title: str) -> None: ...
    def push(self, entry: str) -> int: ...
""",
    "shop/generic.py": """
from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

T = TypeVar("T")
K = TypeVar("K")

class Stack(Generic[T]):
    def __init__(self, items: Iterable[T] = ()) -> None: ...
    def push(self, item: T) -> None: ...
    def pop(self) -> T: ...
    def depth(self) -> int: ...
    def drop(self, count: int) -> list[T]: ...

def first(items: Iterable[T]) -> T: ...
def last(items: list[T], default: T) -> T: ...
def group(items: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]: ...
def number(items: Iterable[T]) -> int: ...
""",
    "old/store.py": """
from collections.abc import Iterator

class Store:
    def find(self, key: str, default: int = 0) -> int: ...
    def save(self, path: str) -> None: ...
    def keys(self) -> Iterator[str]: ...
class Fresh:
    def __init__(self, number: int) -> None: ...
    def go(self) -> int: ...
def parse(text: str) -> dict[str, int]: ...
def render(store: Store, width: int = 80) -> str: ...
""",
    "old/fluid.py": """
class Fluid:
    def get(self) -> int: ...
""",
}

SOURCES: Final = {
    "old/__init__.py": "",
    "old/store.py": """
import json

LIMIT = 5

class Store:
    shared = {}

    def __init__(self, path):
        self.path = path
        self.rows = []

    def find(self, key):
        self.seen = key
        return self.rows[key]

    def load(self):
        return self

def parse(text):
    return json.loads(text)

def helper(a, b=1):
    return a + b
""",
    "old/fluid.py": """
class Fluid:
    def __init__(self, **values):
        self.__dict__.update(values)
""",
}

_STOCK: Final = "from shop.stock import *; s = Stock(); "

# What is wrong, then pairs of a wrong command and a right one.
PAIRS: Final[dict[str, list[tuple[str, str]]]] = {
    "an iterator used as a sequence": [
        ("from shop.stock import words; assert words('a b')[0] == 'a'",
         "from shop.stock import words; assert list(words('a b'))[0] == 'a'"),
        ("from shop.stock import words; assert len(words('a b')) == 2",
         "from shop.stock import words; assert len(list(words('a b'))) == 2"),
        ("from shop.stock import words; w = words('a b'); assert w[-1] == 'b'",
         "from shop.stock import words; w = words('a b'); w = list(w); assert w[-1] == 'b'"),
        ("from shop.stock import Stock; assert Stock().lines()[0].sku == 'a'",
         "from shop.stock import Stock; assert next(Stock().lines()).sku == 'a'"),
        ("from shop.stock import Stock; assert len(Stock().names()) == 0",
         "from shop.stock import Stock; assert sum(1 for _ in Stock().names()) == 0"),
        ("from shop.stock import words; assert words('a')[:1] == ['a']",
         "from shop.stock import words; from itertools import islice; "
         "assert list(islice(words('a'), 1)) == ['a']"),
        ("from shop.stock import words; assert words('a') + ['b']",
         "from shop.stock import words; assert [*words('a')] + ['b']"),
        ("from shop.stock import words; assert words('a b').count('a') == 1",
         "from shop.stock import words; assert tuple(words('a b')).count('a') == 1"),
        ("from shop.stock import words; assert list(reversed(words('a b'))) == ['b', 'a']",
         "from shop.stock import words; assert list(reversed(sorted(words('a b')))) == ['b', 'a']"),
        ("from shop.stock import Stock; n = Stock().names(); n.sort(); assert n == []",
         "from shop.stock import Stock; n = [*Stock().names()]; n.sort(); assert n == []"),
        ("from shop.stock import Stock; assert Stock().names().split(',')",
         "from shop.stock import Stock; assert next(Stock().names()).split(',')"),
    ],
    "arithmetic on a result": [
        ("from shop.stock import Stock; assert 'n: ' + Stock().count('a')",
         "from shop.stock import Stock; assert 'n: ' + str(Stock().count('a'))"),
        ("from shop.stock import average; assert average([1]) + '%'",
         "from shop.stock import average; assert average([1]) + 1"),
        ("from shop.stock import split; assert split('a') + 'b' == ['a', 'b']",
         "from shop.stock import split; assert split('a') + ['b'] == ['a', 'b']"),
        ("from shop.stock import size; assert size('p') - 1 == 0",
         "from shop.stock import size; assert size('p')[0] - 1 == 0"),
        ("from shop.stock import Stock; assert Stock().counts() + {'a': 1}",
         "from shop.stock import Stock; assert Stock().counts() | {'a': 1}"),
        ("from shop.stock import digest; assert digest('a') + 'b'",
         "from shop.stock import digest; assert digest('a') + b'b'"),
        ("from shop.stock import item; assert item('a').label - 1",
         "from shop.stock import item; assert item('a').label * 2"),
        ("from shop.stock import Stock; n = 0; n += Stock().tags(); assert n",
         "from shop.stock import Stock; n = 0; n += len(Stock().tags()); assert n"),
        ("from shop.stock import Stock; assert -Stock().names()",
         "from shop.stock import Stock; assert -Stock().size == 0"),
        ("from shop.stock import item; assert 'x%d' % item('a').label",
         "from shop.stock import item; assert 'x%s' % item('a')"),
        ("from shop.stock import split; assert '%d items' % split('a')",
         "from shop.stock import split; assert '%d items' % len(split('a'))"),
        ("from shop.stock import item; assert item('a').price * '2'",
         "from shop.stock import item; assert item('a').price * 2"),
        ("from shop.stock import item; assert item('a') * 2",
         "from shop.stock import item; assert [item('a')] * 2"),
        ("from shop.stock import today; assert today() - 1",
         "from shop.stock import today; assert today() - today()"),
        ("from shop.stock import Stock; assert Stock().size < 'a'",
         "from shop.stock import Stock; assert Stock().size != 'a'"),
        ("from shop.stock import item; assert item('a') < item('b')",
         "from shop.stock import item; assert item('a') != item('b')"),
    ],
    "an attribute of a result": [
        ("from shop.stock import Stock; assert Stock().counts().a == 1",
         "from shop.stock import Stock; assert Stock().counts()['a'] == 1"),
        ("from shop.stock import tree; assert tree()['a'].b == 1",
         "from shop.stock import tree; assert tree()['a']['b'] == 1"),
        ("from shop.stock import is_open; assert is_open().state",
         "from shop.stock import is_open; assert is_open().real"),
        ("from shop.stock import item; assert item('a').price.amount == 1",
         "from shop.stock import item; assert item('a').price.is_finite()"),
        ("from shop.stock import digest; assert digest('a').encode()",
         "from shop.stock import digest; assert digest('a').decode()"),
        ("from shop.stock import split; assert split('a').first == 'a'",
         "from shop.stock import split; assert split('a').pop() == 'a'"),
        ("from shop.stock import split; assert [w.title for w in split('a')][0].lower()",
         "from shop.stock import split; assert [w.title() for w in split('a')][0].lower()"),
        ("from shop.stock import Stock; assert Stock().where(bool).sku",
         "from shop.stock import Stock; assert Stock().where(bool)[0].sku"),
        ("import asyncio; from shop.stock import fetch; assert fetch('u').decode()",
         "import asyncio; from shop.stock import fetch; assert asyncio.run(fetch('u')).decode()"),
        ("from shop.stock import Stock; assert Stock().tags().keys()",
         "from shop.stock import Stock; assert Stock().tags().union('a')"),
        ("from shop.stock import opened; assert opened('p').size",
         "from shop.stock import opened\nwith opened('p') as s:\n    assert s.size"),
    ],
    "an index of a result": [
        ("from shop.stock import Stock; assert Stock().size[0] == 1",
         "from shop.stock import Stock; assert str(Stock().size)[0] == '1'"),
        ("from shop.stock import Stock; assert Stock().tags()[0] == 'a'",
         "from shop.stock import Stock; assert sorted(Stock().tags())[0] == 'a'"),
        ("from shop.stock import split; assert split('a')['a']",
         "from shop.stock import split; assert split('a')[True]"),
        ("from shop.stock import size; assert size('p')['width'] == 1",
         "from shop.stock import size; assert size('p')[-1] == 1"),
        ("from shop.stock import item; assert item('a')['sku'] == 'a'",
         "from shop.stock import item; assert vars(item('a'))['sku'] == 'a'"),
        ("from shop.stock import Stock; assert Stock()['a'] == 1",
         "from shop.stock import Stock; assert Stock().counts()['a'] == 1"),
        ("from shop.stock import counter; assert counter()[0] == 1",
         "from shop.stock import counter; assert [counter()][0]() == 1"),
        ("from shop.stock import size; size('p')[0] = 3",
         "from shop.stock import size; p = list(size('p')); p[0] = 3"),
        ("from shop.stock import is_open; assert is_open()['a']",
         "from shop.stock import is_open; assert {True: 1}[is_open()]"),
        ("from shop.stock import today; assert today()[0]",
         "from shop.stock import today; assert today().timetuple()[0]"),
        ("from shop.stock import item; assert item('a').label['a']",
         "from shop.stock import item; assert item('a').label[0]"),
        ("from shop.stock import Stock; assert Stock().count['a'] == 1",
         "from shop.stock import Stock; assert Stock().count('a') == 1"),
        ("from shop.stock import Line; assert Line('a', 1)['sku'] == 'a'",
         "from shop.stock import Line; assert Line('a', 1)[0] == 'a'"),
        ("from shop.stock import split; del split('a')['a']",
         "from shop.stock import split; del split('a')[0]"),
    ],
    "an argument of a method": [
        ("from shop.stock import Stock; Stock().add('a')",
         "from shop.stock import Stock, item; Stock().add(item('a'))"),
        ("from shop.stock import Stock, item; Stock().add(item('a'), '2')",
         "from shop.stock import Stock, item; Stock().add(item('a'), True)"),
        ("from shop.stock import Stock, item; s = Stock(); s.add(item('a'), count=[2])",
         "from shop.stock import Stock, item; s = Stock(); s.add(item('a'), count=[2][0])"),
        ("from shop.stock import Stock; Stock().load('a.csv')",
         "from shop.stock import Stock; from pathlib import Path; Stock().load(Path('a.csv'))"),
        ("from shop.stock import Stock; Stock().since('2024-01-01')",
         "from shop.stock import Stock; from datetime import datetime; "
         "Stock().since(datetime(2024, 1, 1))"),
        ("from shop.stock import Stock; assert Stock.parse('a,b').size",
         "from shop.stock import Stock; assert Stock.parse(['a,b']).size"),
        ("from shop.stock import Stock; assert Stock.key(1, 'a')",
         "from shop.stock import Stock; assert Stock.key('a', 1)"),
        ("from shop.stock import Stock; assert Stock().count(5) == 0",
         "from shop.stock import Stock; assert Stock().count(str(5)) == 0"),
        ("from shop.stock import Stock; Stock().rename(['a', 'b'])",
         "from shop.stock import Stock; Stock().rename(dict(['ab']))"),
        ("from shop.stock import Stock; Stock().rename({'a': 1})",
         "from shop.stock import Stock; Stock().rename({})"),
        ("from shop.stock import Stock; assert Stock(['a']).size == 1",
         "from shop.stock import Stock, item; assert Stock([item('a')]).size == 1"),
        ("from shop.stock import Stock; assert Stock({'a': 1}).size == 1",
         "from shop.stock import Stock; assert Stock([]).size == 0"),
        ("from shop.stock import item; assert item('a').discounted('10')",
         "from shop.stock import item; assert item('a').discounted(10)"),
        ("from shop.stock import Stock; stocks = [Stock()]; stocks[0].count(1)",
         "from shop.stock import Stock; stocks = [Stock()]; stocks[0].count('1')"),
        ("from shop.stock import Stock\nfor s in (Stock(), Stock()):\n    s.count(1)",
         "from shop.stock import Stock\nfor s in (Stock(), Stock()):\n    s.count('1')"),
        ("from shop.stock import Stock; f = Stock().count; assert f(1) == 0",
         "from shop.stock import Stock; f = Stock().count; assert f('1') == 0"),
        ("from shop.stock import Stock, total; assert total(Stock()) == 0",
         "from shop.stock import Stock, total; assert total(Stock().where(bool)) == 0"),
        ("from shop.stock import Stock, item; assert Stock(item('a')).size == 1",
         "from shop.stock import Stock, item; assert Stock((item('a'),)).size == 1"),
        ("from shop.stock import Stock; Stock().add({'sku': 'a', 'price': 1})",
         "from shop.stock import Stock, Item; "
         "Stock().add(Item(**{'sku': 'a', 'price': 1}))"),
        ("from shop.stock import read; assert read(5)",
         "from shop.stock import read; from pathlib import Path; assert read(Path('a'))"),
        ("from shop.stock import read, item; assert read(item('a'))",
         "from shop.stock import read, item; assert read(item('a').sku)"),
        ("from shop.stock import write; assert write('out.txt')",
         "from shop.stock import write; import io, sys; assert write(io.StringIO()); "
         "assert write(sys.stdout)"),
        ("from shop.stock import write; import sys; assert write(sys.stdout, 'a+')",
         "from shop.stock import write; import re, sys; assert write(sys.stdout, re.compile('a'))"),
        ("from shop.stock import save; assert save(['a'])",
         "from shop.stock import save; assert save([{'sku': 'a'}, dict(sku='b')])"),
        ("from shop.stock import average; assert average(5) == 5",
         "from shop.stock import average; assert average([5]) == 5"),
        ("from shop.stock import average; assert average(['5']) == 5",
         "from shop.stock import average; assert average([True]) == 1"),
        ("from shop.stock import average; assert average({'a': 1.0}) == 5",
         "from shop.stock import average; assert average([*{'a': 1.0}.values()]) == 5"),
    ],
    "the arity of a lambda": [
        ("from shop.stock import Stock; assert Stock().where(lambda: True) == []",
         "from shop.stock import Stock; assert Stock().where(lambda i: True) == []"),
        ("from shop.stock import Stock; assert Stock().where(lambda a, b: True) == []",
         "from shop.stock import Stock; assert Stock().where(lambda a, b=1: True) == []"),
        ("from shop.stock import Stock; assert Stock().fold(lambda n: n) == 0",
         "from shop.stock import Stock; assert Stock().fold(lambda *n: n[0]) == 0"),
        ("from shop.stock import Stock; assert Stock().fold(step=lambda n: n) == 0",
         "from shop.stock import Stock; assert Stock().fold(step=lambda n, i: n) == 0"),
        ("from shop.stock import Stock; Stock().on_change(lambda e: None)",
         "from shop.stock import Stock; Stock().on_change(lambda: None)"),
        ("from shop.stock import sort; assert sort(['a'], lambda: 0)",
         "from shop.stock import sort; assert sort(['a'], lambda r: 0)"),
        ("from shop.stock import sort; assert sort(['a'], key=lambda a, b: 0)",
         "from shop.stock import sort; assert sort(['a'], key=lambda a: 0)"),
        ("from shop.stock import sort\ndef k(a, b): return a\nassert sort(['a'], k)",
         "from shop.stock import sort\ndef k(a, b=0): return a\nassert sort(['a'], k)"),
        ("from shop.stock import Stock\ndef f(): return True\nassert Stock().where(f) == []",
         "from shop.stock import Stock\ndef f(*i): return True\nassert Stock().where(f) == []"),
        ("from shop.stock import Stock; s = Stock(); f = lambda: 1; assert s.fold(f) == 0",
         "from shop.stock import Stock; s = Stock(); f = lambda a, b: 1; assert s.fold(f) == 0"),
        ("from shop.stock import Stock; assert Stock().fold(0) == 0",
         "from shop.stock import Stock; assert Stock().fold(max) == 0"),
        ("from shop.stock import sort; assert sort(['a'], 'name')",
         "from shop.stock import sort; assert sort(['a'], str.lower)"),
        ("from shop.stock import sort; assert sort(['a'], len('a'))",
         "from shop.stock import sort; assert sort(['a'], len)"),
        ("from shop.stock import Stock; got = []; Stock().on_change(got.append)",
         "from shop.stock import Stock; got = []; Stock().on_change(got.clear)"),
    ],
    "a name that shadows a builtin": [
        ("from shop.shadows import open; assert open('a').read()",
         "from shop.shadows import open; assert open('a').bit_length()"),
        ("from shop.shadows import open; assert open('a', 'r') == 1",
         "from shop.shadows import open; assert open('a') == 1"),
        ("from shop.shadows import sum; assert sum([1, 2]) == 3",
         "from shop.shadows import sum; assert sum(1, 2) == 3"),
        ("from shop.shadows import filter; assert filter(len, ['a']) == []",
         "from shop.shadows import filter; assert filter(['a'], 'a') == ['a']"),
        ("from shop.shadows import max; assert max(1, 2) == 2",
         "from shop.shadows import max; assert max([1, 2]) == 2"),
        ("from shop.shadows import input; assert input() + 'a'",
         "from shop.shadows import input; assert input() + 1"),
        ("from shop import shadows; assert shadows.sorted([2, 1]) == [1, 2]",
         "from shop import shadows; assert sorted([2, 1]) == [1, 2]; assert shadows.sorted({})"),
        ("from shop.shadows import hash; assert hash('a') - 2",
         "from shop.shadows import hash; assert int(hash('a')) % 2"),
        ("from shop.shadows import set; s = set('a'); s.add('b')",
         "from shop.shadows import set; s = set('a'); s.put('b', 1)"),
        ("from shop.shadows import set; s = set('a'); s.put('b', 'c')",
         "from shop.shadows import set; s = set('a'); assert s.get('b') == 1"),
        ("from shop.shadows import set; assert len(set('a')) == 1",
         "from shop.shadows import set as Set; assert len(set('a')) == 1; assert Set('a')"),
        ("from shop.shadows import set; assert set(['a', 'b'])",
         "import shop.shadows; assert set(['a', 'b']); assert shop.shadows.set('a')"),
        ("from shop.shadows import range; assert range(5)",
         "from shop.shadows import range; assert range(0, 5)"),
        ("from shop.shadows import range; assert list(range(0, 5))",
         "from shop import shadows; assert list(range(0, 5)); assert shadows.range(0, 5).low"),
        ("from shop.shadows import range; assert range(0, 5).start == 0",
         "from shop.shadows import range; assert range(0, 5).low == 0"),
        ("from shop.shadows import range; assert range(0, 5)[1] == 1",
         "from shop.shadows import range; assert range(0, 5).middle() == 2.5"),
        ("from shop.shadows import span; assert span(range(3)) == 3",
         "from shop.shadows import span, range; assert span(range(0, 3)) == 3"),
        ("from shop.shadows import Counter; assert Counter('aab')['a'] == 2",
         "from collections import Counter; from shop import shadows; "
         "assert Counter('aab')['a'] == 2 == shadows.Counter(2).value"),
        ("from shop.shadows import Counter; assert Counter(1).most_common()",
         "from shop.shadows import Counter; assert Counter(1).up()"),
        ("from shop.shadows import Path; assert Path('a').length()",
         "from shop.shadows import Path; assert Path([1]).length()"),
        ("from shop.shadows import Path; assert Path([1]).name",
         "from pathlib import Path; import shop.shadows as m; assert Path('a').name; m.Path([1])"),
        ("from shop.shadows import walk; from pathlib import Path; assert walk(Path('a')) == 1",
         "from shop.shadows import walk, Path; assert walk(Path([1])) == 1"),
        ("from shop.rows import list; assert list('a').append('b')",
         "from shop.rows import list; assert list('a').push('b')"),
        ("from shop.rows import list; assert list('a')[0]",
         "from shop import rows; assert list('a')[0]; assert rows.list('a').push('b')"),
    ],
    "a type hidden by a method or field": [
        ("from shop.hidden import Shelf; assert Shelf().list().first",
         "from shop.hidden import Shelf; assert Shelf().list().pop()"),
        ("from shop.hidden import Shelf; assert Shelf().list()['a']",
         "from shop.hidden import Shelf; assert Shelf().list()[0]"),
        ("from shop.hidden import Shelf; assert Shelf().tags()[0]",
         "from shop.hidden import Shelf; assert Shelf().tags() | {1}"),
        ("from shop.hidden import Shelf; assert Shelf().pick(5)",
         "from shop.hidden import Shelf; assert Shelf().pick(['a'])"),
        ("from shop.hidden import Shelf; assert Shelf().pick([]).a",
         "from shop.hidden import Shelf; assert Shelf().pick([])['a']"),
        ("from shop.hidden import Shelf; Shelf().set(1, 'a')",
         "from shop.hidden import Shelf; Shelf().set('a', 1)"),
        ("from shop.hidden import Shelf; assert Shelf().type() + 1",
         "from shop.hidden import Shelf; assert Shelf().type() + 'a' and type(Shelf())"),
        ("from shop.hidden import Entry; assert Entry('2024-01-01')",
         "from shop.hidden import Entry; import datetime; assert Entry(datetime.date.today())"),
        ("from shop.hidden import Entry; from datetime import date; "
         "assert Entry(date.today()).moved('a')",
         "from shop.hidden import Entry; from datetime import date; "
         "assert Entry(date.today()).moved(date.today()).date.year"),
        ("from shop.hidden import Entry; from datetime import date; "
         "assert Entry(date.today()).back() + 'a'",
         "from shop.hidden import Entry; from datetime import date; "
         "assert Entry(date.today()).back().isoformat() + 'a'"),
        ("from shop.hidden import dict; assert dict('a')",
         "from shop.hidden import dict; assert dict(['a'])"),
        ("from shop.hidden import bytes; assert bytes().decode()",
         "from shop.hidden import bytes; assert bytes()[0].decode()"),
    ],
    "an overload that is not declared": [
        ("from shop.hidden import double; assert double([1])",
         "from shop.hidden import double; assert double(True)"),
        ("from shop.hidden import double; assert double({'a': 1})",
         "from shop.hidden import double; assert double({'a': 1}['a'])"),
        ("from shop.hidden import double; assert double(double)",
         "from shop.hidden import double; assert double(double(1)) + 1"),
        ("from shop.hidden import double; assert double(1).upper()",
         "from shop.hidden import double; assert double('a').upper()"),
    ],
    "a module of the repo under a stub": [
        ("from old.store import parse; assert parse(5)",
         "from old.store import parse; assert parse('5')"),
        ("from old.store import parse; assert parse('a', 'b')",
         "from old.store import parse; assert parse(text='a')"),
        ("from old.store import parse; assert parse('a').rows",
         "from old.store import parse; assert parse('a')['rows']"),
        ("from old.store import parse; assert parse('a')['rows'].lower()",
         "from old.store import parse; assert str(parse('a')['rows']).lower()"),
        ("from old.store import Store; assert Store('p').find(5)",
         "from old.store import Store; assert Store('p').find('5')"),
        ("from old.store import Store; assert Store('p').find()",
         "from old.store import Store; assert Store('p').find('a', 1)"),
        ("from old.store import Store; assert Store('p').find('a').rows",
         "from old.store import Store; assert Store('p').rows == []"),
        ("from old.store import Store; assert Store('p').find('a') + 'b'",
         "from old.store import Store; assert Store('p').find('a') + 1"),
        ("from old.store import Store; assert Store('p').keys()[0]",
         "from old.store import Store; assert [*Store('p').keys()][0]"),
        ("from old.store import Store; assert Store('p').finds('a')",
         "from old.store import Store; assert Store('p').seen"),
        ("from old.store import Store; assert Store('p').delete('a')",
         "from old.store import Store; assert Store('p').load().load().path"),
        ("from old.store import Store; assert Store('p').find('a')[0]",
         "from old.store import Store; assert Store('p').load().rows == []"),
        ("from old.store import Store; assert Store.save('p')",
         "from old.store import Store; assert Store('q').save('p') is None"),
        ("from old.store import Store; assert Store()",
         "from old.store import Store; assert Store('p').shared == {}"),
        ("from old.store import Fresh; assert Fresh(1).run()",
         "from old.store import Fresh; assert Fresh(1).go()"),
        ("from old.store import Fresh; assert Fresh('a').go()",
         "from old.fluid import Fluid; assert Fluid(a=1).a == 1 == Fluid(a=1).get()"),
        ("from old.store import Fresh; assert Fresh(1)[0]",
         "from old.store import Fresh; assert [Fresh(1)][0]"),
        ("from old.store import Fresh; assert Fresh(1) + 1",
         "from old.store import Fresh; assert Fresh(1).go() + 1"),
        ("from old.store import render, Store; assert render(Store('p'), '80')",
         "from old.store import render, Store; assert render(Store('p'), 80)"),
        ("from old.store import render; assert render('p')",
         "from old.store import render, Store; assert render(store=Store('p'))"),
        ("from old.store import render, Store; assert render(Store('p')) - 1",
         "from old.store import render, Store; assert render(Store('p')) * 2"),
        ("from old import store; assert store.renders()",
         "from old import store; assert store.LIMIT == 5 == store.helper(4)"),
        ("from old.store import helper; assert helper(1, 2, 3)",
         "from old.store import helper; assert helper('a', 'b')"),
    ],
    "a result given to a builtin": [
        ("from shop.stock import Stock; assert len(Stock().size) == 1",
         "from shop.stock import Stock; assert len(str(Stock().size)) == 1"),
        ("from shop.stock import split; assert int(split('a')) == 1",
         "from shop.stock import split; assert int(split('a')[0]) == 1"),
        ("from shop.stock import Stock; assert sum(Stock().size) == 1",
         "from shop.stock import Stock; assert sum(Stock().counts().values()) == 1"),
        ("from shop.stock import Stock; assert sorted(Stock().size) == []",
         "from shop.stock import Stock; assert sorted(Stock().names()) == []"),
        ("from shop.stock import Stock; assert list(Stock()) == []",
         "from shop.stock import Stock; assert list(Stock().tags()) == []"),
        ("from shop.stock import Stock; assert ','.join(Stock().size)",
         "from shop.stock import Stock; assert ','.join(Stock().names())"),
        ("from shop.stock import item; assert round(item('a').label, 2)",
         "from shop.stock import item; assert round(item('a').price, 2)"),
        ("from shop.stock import split; assert abs(split('a'))",
         "from shop.stock import Stock; assert abs(Stock().size) == 1"),
        ("from shop.stock import Stock; assert all(Stock().size)",
         "from shop.stock import Stock; assert all(Stock().tags())"),
        ("from shop.stock import Stock; assert range(Stock().names())",
         "from shop.stock import Stock; assert range(Stock().size)"),
        ("from shop.stock import Stock; assert dict(Stock().size)",
         "from shop.stock import Stock; assert dict(Stock().counts())"),
        ("from shop.stock import split; import json; assert json.loads(split('a'))",
         "from shop.stock import split; import json; assert json.loads(split('a')[0])"),
        ("from shop.stock import Stock; assert next(Stock().counts())",
         "from shop.stock import Stock; assert next(iter(Stock().counts()))"),
        ("from shop.stock import split; assert next(split('a')) == 'a'",
         "from shop.stock import words; assert next(words('a')) == 'a'"),
        ("from shop.stock import split; import math; assert math.sqrt(split('4'))",
         "from shop.stock import average; import math; assert math.sqrt(average([4])) == 2"),
        ("from shop.stock import item; assert float(item('a'))",
         "from shop.stock import item; assert float(item('a').price)"),
        ("from shop.stock import Stock; assert enumerate(Stock().size)",
         "from shop.stock import Stock; assert enumerate(Stock().names())"),
        ("from shop.stock import Stock; assert max(Stock().size) == 1",
         "from shop.stock import Stock; assert max(Stock().size, 1) == 1"),
    ],
    "unpacking, iterating, calling": [
        ("from shop.stock import size; a, b, c = size('p')",
         "from shop.stock import size; a, *b = size('p'); assert b"),
        ("from shop.stock import Stock; a, b = Stock().size",
         "from shop.stock import Stock; a, b = divmod(Stock().size, 2); assert a == b"),
        ("from shop.stock import Stock\nfor n in Stock().size:\n    assert n",
         "from shop.stock import Stock\nfor n in range(Stock().size):\n    assert n"),
        ("from shop.stock import Stock; assert [i for i in Stock()] == []",
         "from shop.stock import Stock; assert [i for i in Stock().where(bool)] == []"),
        ("from shop.stock import item; assert item('a').label() == 'a'",
         "from shop.stock import item; assert item('a').label == 'a'"),
        ("from shop.stock import Stock; assert Stock().size() == 0",
         "from shop.stock import Stock; assert Stock().size == 0"),
        ("from shop.stock import Stock\nwith Stock() as s:\n    assert s",
         "from shop.stock import opened\nwith opened('p') as s:\n    assert s"),
        ("from shop.stock import Stock\nfor a, b in Stock().tags():\n    assert a.x",
         "from shop.stock import Stock\nfor a, b in Stock().counts().items():\n    assert b.real"),
        ("import asyncio; from shop.stock import item; asyncio.run(item('a'))",
         "import asyncio; from shop.stock import fetch; asyncio.run(fetch('a'))"),
        ("import asyncio; from shop.stock import item\nasync def f():\n    await item('a')\n"
         "asyncio.run(f())",
         "import asyncio; from shop.stock import fetch\nasync def f():\n    await fetch('a')\n"
         "asyncio.run(f())"),
        ("from shop.stock import item; assert 'a' in item('a')",
         "from shop.stock import item; assert 'a' in item('a').tags"),
        ("from shop.stock import Stock; assert 'a' in Stock().size",
         "from shop.stock import Stock; assert 5 in Stock().counts() or True"),
        ("from shop.stock import item; assert [*item('a')]",
         "from shop.stock import item; assert [*item('a').tags]"),
        ("from shop.stock import Stock; assert {**Stock().tags()}",
         "from shop.stock import Stock; assert {**Stock().counts()}"),
    ],
    "setting what cannot be set": [
        ("from shop.stock import item; i = item('a'); i.label = 'b'",
         "from shop.stock import item\ntry:\n    item('a').label = 'b'\n"
         "except AttributeError:\n    pass"),
        ("from shop.stock import item; i = item('a'); i.sku = 'b'; assert i.sku == 'b'",
         "from shop.stock import item; import dataclasses; i = item('a'); "
         "i = dataclasses.replace(i, sku='b'); assert i.sku == 'b'"),
        ("from shop.stock import Line; n = Line('a', 1); n.count = 2",
         "from shop.stock import Line; n = Line('a', 1); n = n._replace(count=2)"),
        ("from shop.stock import item; item('a').label[0] = 'b'",
         "from shop.stock import split; split('a')[0] = 'b'"),
    ],
    "a result typed through a type variable": [
        ("from shop.generic import Stack; assert Stack([1]).depth() + 'a'",
         "from shop.generic import Stack; s = Stack([1]); s.push('a'); assert s.pop().upper()"),
        ("from shop.generic import Stack; assert Stack([1]).depth().upper()",
         "from shop.generic import Stack; s = Stack([1]); s.push('a'); assert s.pop() + 'b'"),
        ("from shop.generic import Stack; assert Stack([1]).drop('a')",
         "from shop.generic import Stack; s = Stack([1]); s.push([2]); assert s.drop(1)[0][0]"),
        ("from shop.generic import Stack; assert Stack([1]).drop(1).upper()",
         "from shop.generic import last; assert last([], 'a').upper() == 'A'"),
        ("from shop.generic import number; assert number(['a'])[0]",
         "from shop.generic import last; assert last([1], None) is None or True"),
        ("from shop.generic import number; assert number(['a']) + 'b'",
         "from shop.generic import last; n = [1]; n.append('b'); assert last(n, 2).upper()"),
        ("from shop.generic import number; assert number(5) == 1",
         "from shop.generic import first; n = [1]; n[0] = 'b'; assert first(n).upper() == 'B'"),
        ("from shop.generic import group; assert group(['a'], len).first",
         "from shop.generic import group; g = group([1, 'a'], type); assert g[str][0].upper()"),
        ("from shop.generic import group; assert group(['a'], lambda: 1)",
         "from shop.generic import group; assert group(['a'], lambda w: w[0])['a'][0].upper()"),
        ("from shop.generic import Stack; assert Stack([1])[0]",
         "from shop.generic import Stack; d = {'a': Stack([1])}; d['a'].push('b'); "
         "assert d['a'].pop().upper()"),
    ],
}  # fmt: skip

# More that is right: the types that a checker infers are not those that the values have.
RIGHT: Final = [
    "from shop.stock import Stock\nn = Stock().size\nfor n in ('a', 'b'):\n    pass\n"
    "assert n.upper()",
    "from shop.stock import Stock\nn = Stock().size\nwith open('setup.cfg') as n:\n    pass\n"
    "assert n.closed",
    "from shop.stock import Stock; n = Stock().size; assert (n := 'a').upper()",
    "from shop.stock import split; w = split('a b'); w[0], *w[1:] = 1, 2; assert w[0] + 1 == 2",
    "from shop.stock import split; w = split('a b'); [w[0], w[1]] = [1, 2]; assert w[0] + 1 == 2",
    "from shop.stock import Stock; n: int = Stock().size; n = str(n); assert n.upper()",
    "from shop.stock import split; w: list = split('a'); w = len(w); assert w + 1",
    "from shop.stock import Stock; c: dict[str, int] = Stock().counts(); c = sorted(c); "
    "assert c[0] == 'a'",
    "from shop.stock import Stock\ndef f(n: int):\n    n = str(n)\n    return n.upper()\n"
    "assert f(Stock().size)",
    "from shop.stock import Stock\nn = Stock().size\ndef f():\n    global n\n    n = 'a'\nf()\n"
    "assert n.upper()",
    "from shop.stock import Stock; c = Stock().counts(); c['x'] = 'a'; assert c['x'].upper()",
    "from shop.stock import Stock; c = Stock().counts(); c.update(x='a'); assert c['x'].upper()",
    "from shop.stock import split; w = split('a'); w.append(len(w)); assert w[-1] + 1 == 2",
    "from shop.stock import split; w = split('a'); w.insert(0, len(w)); w += [3]; assert w[0] + 1",
    "from shop.stock import Stock; t = Stock().tags(); t.add(len(t)); assert 0 in t",
    "from shop.stock import Stock; c = Stock().counts(); assert c.get(len(c)) is None",
    "from shop.stock import Stock; c = Stock().counts(); assert c.pop(c['a'], None) is None",
    "from shop.stock import split; w = split('a'); assert w.count(len(w)) == 0",
    "from shop.stock import split; w = split('a'); w[0] = 5; assert w[0] + 1 == 6",
    "from shop.stock import split; w = split('a'); w[:] = [1, 2]; assert w[0] + w[1] == 3",
    "from shop.stock import Stock; d = {}; d['n'] = Stock().size; d['t'] = 'x'; "
    "assert d['t'].upper()",
    "from shop.stock import Stock; n = [Stock().size]; n.append('a'); assert n[1].upper() == 'A'",
    "from shop.stock import Stock\nn = Stock().size\nif n:\n    n = 'a'\nelse:\n    n = 'b'\n"
    "assert n.upper()",
    "from shop.stock import Stock\nn = Stock().size\nwhile n:\n    n = str(n)\n    break\n"
    "assert str(n).upper()",
    "from shop.stock import is_open; o = is_open(); assert o + 1 and [3, 4][o]",
    "from shop.stock import today; from datetime import timedelta; assert today() + "
    "timedelta(days=1) > today()",
    "from shop.stock import today; import datetime; assert today() < datetime.date.max",
    "from shop.stock import prices; assert prices().items() and prices().get('a', 0) + 1",
    "from shop.stock import prices; assert prices() == {'a': 1} and {**prices()}",
    "from shop.stock import Stock; assert f'{Stock().size:>5}' + '%s' % Stock().count('a')",
    "from shop.stock import Stock; assert isinstance(Stock().count('a'), int); "
    "assert hasattr(Stock(), 'x') is False",
    "from shop.stock import Stock; s = Stock(); assert s.where(lambda i: i.sku) == []",
    "from shop.stock import Stock; s = Stock(); assert s.fold(lambda n, i: n + 0.5) == 0",
    "from shop.stock import Stock; from functools import partial; s = Stock(); "
    "assert s.fold(partial(lambda a, b, c: a, 1)) == 0",
    "from shop.stock import Stock; from operator import attrgetter; s = Stock(); "
    "assert s.where(attrgetter('sku')) == []",
    "from shop.stock import Stock\nclass T:\n    def __call__(self, item): return True\n"
    "assert Stock().where(T()) == []",
    "from shop.stock import Stock\nseen = []\nStock().on_change(lambda: seen.append(1))\n"
    "assert seen == []",
    "from shop.stock import sort; assert sort(['a'], key=lambda r, *rest, **more: r) == ['a']",
    "from shop.stock import sort; assert sort(['a'], int) == ['a']; assert sort(['a'], key=None)",
    "from shop.stock import sort\ndef decorate(f):\n    return lambda *a: f(a)\n@decorate\n"
    "def k(): return 1\nassert sort(['a'], k)",
    "from shop.stock import Stock\nclass Fancy(Stock):\n    def count(self, sku, unit=1): "
    "return unit\n    def __getitem__(self, key): return 1\n    @property\n"
    "    def extra(self): return 2\nf = Fancy(); assert f.count('a', 2) and f['a'] and f.extra",
    "from shop.stock import item, Stock; s = Stock([item(k) for k in 'ab']); assert s.size == 2",
    "from shop.stock import Stock; c = Stock().counts(); assert c.total() == c.most_common()[0][1]",
    "from shop.stock import prices; assert prices().apple == 1",
    "from shop.stock import size; assert size('p').width == 1",
    "from shop.stock import words; assert words('a').fieldnames and words('a').close() is None",
    "from shop.stock import today; assert today().hour == 0",
    "from shop.stock import each; assert each('a')[0] == 'a'; assert len(each('a')) == 1",
    "from shop.stock import counter; assert counter()(1) == 1",
    "from shop.stock import Stock; s = Stock(); s.size = 3; assert s.size == 3",
    "from old.store import Store; s = Store('p'); s.note = 1; assert s.note == 1",
    "from old.store import Store; s = Store('p'); assert s.path == 'p' and s.path.upper()",
    "from old.store import Store\nclass Mine(Store):\n    def more(self): return self.rows\n"
    "assert Mine('p').more() == []",
    "from old.store import Store; assert Store(5).path + 1 == 6; assert Store(['a']).path[0]",
    "from old.store import helper; assert helper([1], [2])[0]; assert helper('a', 'b').upper()",
    "import old.store; old.store.cache = 1; assert old.store.cache == 1; old.store.json.dumps(1)",
    "from shop.shadows import *; assert open('a') == 1 and sum(1, 2) == 3 and set('a').get('k')",
    "from shop.stock import words; it = words('a b'); a, b = it; assert next(it, None) is None",
    "from shop.stock import words; assert dict(zip(words('a'), words('b'))) and set(words('a')); "
    "assert [i for i, w in enumerate(words('a'))] == [0]; assert sum(map(len, words('a')))",
    "from shop.stock import words; assert ','.join(words('a')) and 'a' in words('a'); "
    "assert max(words('a'), key=len); assert sorted(words('a'))[0]; assert [*words('a')][-1]",
    "from shop.stock import words; import itertools; "
    "assert list(itertools.chain(words('a'), [1]))[0]; assert iter(words('a')).__next__()",
    "from shop.stock import words; w = words('a'); w = w if isinstance(w, list) else list(w); "
    "assert w[0] == 'a'",
    "from shop.stock import words; w = words('a')\nif isinstance(w, list):\n    assert w[0]\n"
    "assert hasattr(w, '__len__') is False",
    "from shop.stock import Stock; assert Stock.count.__name__ == 'count'; "
    "assert Stock().count.__doc__ is None; assert Stock.count.__qualname__.split('.')",
    "from shop.stock import total; from decimal import Decimal; t = total([]); assert t + 1 == "
    "t * 2; assert float(t) == int(t) == round(t, 2); assert t.quantize(Decimal('1')); "
    "assert sum([t, 1]) and t < 1.5 and -t and abs(t) and f'{t:.2f}'",
    "from shop.stock import total; from fractions import Fraction; assert total([]) < Fraction(1)",
    "from shop.stock import today; import datetime as d; assert today() - d.date(1, 1, 1); "
    "assert today() != '2024' and today().isoformat()[:4] and today() - d.timedelta(1)",
    "from shop.stock import today; assert sorted([today(), today()])[0].year; "
    "assert max(today(), today()).month",
    "from shop.stock import item; assert len({item('a'), item('b')}) == 2; "
    "assert item('a') in [item('a')] and [item('a')].index(item('a')) == 0; assert hash(item('a'))",
    "from shop.stock import item; import dataclasses, copy, json; assert copy.copy(item('a')); "
    "assert json.dumps(dataclasses.asdict(item('a')), default=str); assert repr(item('a'))",
    "from shop.stock import item; object.__setattr__(item('a'), 'sku', 'b')",
    "from shop.stock import Line; s, c = Line('a', 1); assert Line('a', 1) + (2,) and s * c; "
    "assert Line('a', 1) == ('a', 1) and Line('a', 1)[-1] == 1 and len(Line('a', 1)) == 2",
    "from shop.stock import Stock; n = Stock().size; assert n == 0 and n / 2 + 1.5 and 'a' * n; "
    "assert [0] * n == [] and range(n) and divmod(n, 2) and n.bit_length() and str(n) + 'a'",
    "from shop.stock import split; w = split('a b'); assert w * 2 and w + [1] and w[::2]; "
    "assert w == ('a',) or w != 5; assert len(w) + sum(map(len, w)); w.sort(key=len)",
    "from shop.stock import Stock; x = Stock().count('a') or 'none'; assert x.upper()",
    "from shop.stock import Stock; x = None\nfor s in [Stock()]:\n    x = s.count('a')\n"
    "assert x + 1",
    "from shop.stock import Stock; found = {}; found['a'] = Stock(); found['n'] = 1; "
    "assert found['n'] + 1",
    "from shop.stock import Stock; a = [Stock().size, 'x', None]; assert a[1].upper()",
    "from shop.stock import size; p = (*size('p'), 'x'); assert p[2].upper()",
    "from shop.stock import split; a = [None] * 3; a[0] = split('a'); assert a[0][0].upper()",
    "from collections import defaultdict; from shop.stock import Stock; d = defaultdict(list); "
    "d['a'].append(Stock().size); d['a'].append('b'); assert d['a'][1].upper()",
    "from shop.stock import Stock; r = [Stock().size]; r.extend(['a']); assert r[1].upper()",
    "from shop.stock import Stock; r = {Stock().size: 'a'}; r['k'] = 1; assert r['k'] + 1",
    "from shop.stock import Stock; r = {1: Stock().size}; r |= {'k': 'v'}; assert r['k'].upper()",
    "from shop.stock import split; import heapq, bisect; w = split('a'); bisect.insort(w, 'b'); "
    "heapq.heapify(w); heapq.heappush(w, 'c'); assert heapq.heappop(w).upper()",
    "from shop.stock import split; from collections import Counter, deque; "
    "c = Counter(split('a')); assert c.most_common(1)[0][0].upper(); d = deque(split('a')); "
    "d.appendleft(1); assert d[0] + 1",
    "from shop.hidden import config; c = config(); assert c['host'] and c | {'x': 1}; "
    "assert dict(c) == {**c} and c.get('x') is None",
    "from shop.stock import Stock\nclass Loud(Stock):\n    size = 5\n"
    "    def names(self): return ['a']\nassert Loud().names()[0].upper() and Loud().size + 1",
    "from shop.stock import Stock\ndef check(s):\n    return s.count('a').whatever\n"
    "assert callable(check)",
    "from shop.stock import words\ndef f(w: 'list | None' = None):\n    w = w or words('a')\n"
    "    return w\nassert f([1])[0] == 1",
    "from shop.stock import Stock; s = Stock(); s.count = lambda k: 'a'; "
    "assert s.count('x').upper()",
    "import shop.stock as m; m.words = lambda t: [t]; assert m.words('a')[0] == 'a'",
    "from shop.stock import Stock; s = Stock(); n = len(s) if hasattr(s, '__len__') else 0; "
    "assert n == 0",
    "from shop.stock import Stock; s = Stock(); n = s.tags()[0] if isinstance(s.tags(), list) "
    "else 0; assert n == 0",
    "from shop.stock import item; i = item('a'); i = vars(i); i['sku'] = 5; assert i['sku'] + 1",
    "from shop.stock import sort; assert sort(['a'], key=lambda r, reverse=True: r); "
    "assert sort(['a'], key={'a': 1}.get); assert sort(['a'], key='abc'.index)",
    "from shop.stock import Stock; import functools\n@functools.lru_cache\ndef t(i): return 1\n"
    "assert Stock().where(t) == []; assert Stock().where(functools.partial(pow, 2)) == []",
    "from shop.stock import Stock; assert Stock().fold(lambda *a, **k: 1) == 0; "
    "assert Stock().where(type) == []",
    "from shop.hidden import Shelf; s = Shelf(); s.id = 'a'; assert s.id.upper()",
    "from shop.stock import split, Stock; import heapq, bisect; w = split('a'); "
    "heapq.heappush(w, Stock().size); bisect.insort(w, Stock().size)",
    "from shop.stock import Stock\ndef shown(text: str):\n    return f'{text}!'\n"
    "assert shown(Stock().size) == '0!'",
    "from shop.stock import Stock; import random; assert random.choice([1]) or "
    "random.choices(['a'], k=1)[0].upper() or random.sample(sorted(Stock().tags()), 1)",
    "from shop.stock import Stock; s = Stock(); assert isinstance(s.size, str) and s.size.upper() "
    "or True",
    "import builtins; from shop.shadows import open; from shop.rows import list; assert "
    "builtins.open('a').read(); assert builtins.list('ab')[0] == 'a'; assert list('a').push('b')",
]  # fmt: skip
