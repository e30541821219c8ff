"""Commands as plans have them, on two small projects: wrong ones, and right ones of all kinds."""

from __future__ import annotations

from typing import Final

CONTRACTS: Final = {
    "todo/__init__.py": """\
from .model import Task, TaskList
__version__: str
""",
    "todo/model.py": """\
from __future__ import annotations
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import Iterator, Optional
class Status(Enum):
    OPEN = "open"
    DONE = "done"
@dataclass
class Task:
    id: int
    title: str
    status: Status = Status.OPEN
    created: datetime = field(default_factory=datetime.now)
    tags: list[str] = field(default_factory=list)
    def complete(self) -> None: ...
    def to_dict(self) -> dict[str, object]: ...
    @classmethod
    def from_dict(cls, data: dict[str, object]) -> Task: ...
class TaskList:
    def __init__(self, tasks: Optional[list[Task]] = None) -> None: ...
    def add(self, title: str, *, tags: Optional[list[str]] = None) -> Task: ...
    def get(self, task_id: int) -> Optional[Task]: ...
    def __iter__(self) -> Iterator[Task]: ...
    def __len__(self) -> int: ...
    def find(self, text: str) -> list[Task]: ...
    def by_tag(self) -> dict[str, list[Task]]: ...
    def count(self) -> tuple[int, int]: ...
    def to_json(self) -> str: ...
""",
    "todo/store.py": """\
from collections.abc import Iterator

import os
from pathlib import Path
from typing import Any, Callable, Dict, List, NamedTuple, TypedDict, Union
from todo.model import Task, TaskList
PathLike = Union[str, os.PathLike[str]]
class Stats(NamedTuple):
    mean: float
    count: int
class Row(TypedDict, total=False):
    name: str
    size: int
class StoreError(Exception):
    code: int
def load(path: PathLike) -> TaskList: ...
def save(tasks: TaskList, path: PathLike, indent: int = 2) -> None: ...
def stats(numbers: List[float]) -> Stats: ...
def config() -> Dict[str, Any]: ...
def word_count(text: str) -> Dict[str, int]: ...
def tokenize(text: str) -> List[tuple[str, str]]: ...
def parse_args(argv: list[str]) -> dict[str, str]: ...
def transform(items: list[int], fn: Callable[[int], int]) -> list[int]: ...
def reduce_all(items: list[int], fn: Callable[[int, int], int], initial: int = 0) -> int: ...
def primes(limit: int) -> "Iterator[int]": ...
def matrix(n: int) -> list[list[float]]: ...
def render(rows: list[Row]) -> str: ...
def rows() -> list[Row]: ...
class Cache:
    hits: int
    def get(self, key: str, default: Any = None) -> Any: ...
    def put(self, key: str, value: Any, ttl: float = 60.0) -> None: ...
    def keys(self) -> list[str]: ...
    def on_evict(self, callback: Callable[[str, Any], None]) -> None: ...
    @property
    def size(self) -> int: ...
""",
    "m.py": """\
from collections.abc import Iterator, Sequence, Mapping
def floats() -> list[float]: ...
def ints() -> list[int]: ...
def texts() -> list[str]: ...
def table() -> dict[str, float]: ...
def it() -> Iterator[float]: ...
def pairs() -> list[tuple[str, int]]: ...
def opt() -> int | None: ...
def nested() -> dict[str, list[int]]: ...
def flag() -> bool: ...
class P:
    x: float
    def __init__(self, x: float = 0) -> None: ...
    def __eq__(self, other: object) -> bool: ...
    def __lt__(self, other: "P") -> bool: ...
    def __add__(self, other: "P") -> "P": ...
    def __mul__(self, k: float) -> "P": ...
    def __rmul__(self, k: float) -> "P": ...
    def __iter__(self) -> Iterator[float]: ...
    def __call__(self, v: float) -> float: ...
    def __enter__(self) -> "P": ...
    def __exit__(self, *a: object) -> None: ...
class V:
    def __getitem__(self, i: int) -> float: ...
    def __len__(self) -> int: ...
    def __contains__(self, v: float) -> bool: ...
def ps() -> list[P]: ...
def seq() -> Sequence[int]: ...
def mp() -> Mapping[str, int]: ...
""",
}

WRONG: Final = [
    "from todo import TaskList; t = TaskList(); t.add('a'); assert t[0].title == 'a'",
    "from todo import TaskList; t = TaskList(); assert t.add('a').title + 1",
    "from todo import TaskList; t = TaskList(); assert t.add('a', ['x']).tags == ['x']",
    "from todo import TaskList; t = TaskList(); assert t.add('a', tags='x').tags == ['x']",
    "from todo import TaskList; t = TaskList(); assert t.get('1') is None",
    "from todo import TaskList; t = TaskList(); assert t.get(1).name == 'a'",
    "from todo import TaskList; t = TaskList(); assert t.find('a').title == 'a'",
    "from todo import TaskList; t = TaskList(); assert t.by_tag().x == []",
    "from todo import TaskList; t = TaskList(); assert t.by_tag()['x'].title",
    "from todo import TaskList; t = TaskList(); assert t.count() + 1 == 2",
    "from todo import TaskList; t = TaskList(); assert t.count().done == 1",
    "from todo import TaskList; t = TaskList(); assert t.to_json()['tasks']",
    "from todo import TaskList; t = TaskList(); assert t.to_json().get('a')",
    "from todo import TaskList; t = TaskList(); assert 'n: ' + len(t)",
    "from todo import TaskList; assert TaskList(['a', 'b'])",
    "from todo import TaskList; assert TaskList('a')",
    "from todo import Task; assert Task('1', 'a').id",
    "from todo import Task; assert Task(1, 'a').to_dict().title",
    "from todo import Task; assert Task.from_dict('a')",
    "from todo import Task; assert Task.from_dict([('id', 1)])",
    "from todo import Task; assert Task(1, 'a', 'done')",
    "from todo import Task; assert Task(1, 'a').status.lower()",
    "from todo import Task; assert Task(1, 'a').status == 'x' or Task(1, 'a').created + 5",
    "from todo import Task; assert Task(1, 'a').created.split('-')",
    "from todo import Task; assert Task(1, 'a').tags.title",
    "from todo import Task; Task(1, 'a').tags()",
    "from todo import Task; Task(1, 'a').complete('now')",
    "from todo import Task; assert Task(1, 'a') < Task(2, 'b')",
    "from todo.store import load; assert load(5)",
    "from todo.store import load; assert load(['a.json'])",
    "from todo.store import load, save; save(load('a'), 'b', '4')",
    "from todo.store import save; save([], 'b')",
    "from todo.store import save; save({'a': 1}, 'b')",
    "from todo.store import stats; assert stats([1]).median",
    "from todo.store import stats; assert stats([1])['mean']",
    "from todo.store import stats; a, b, c = stats([1])",
    "from todo.store import stats; assert stats([1]) + 1",
    "from todo.store import stats; assert stats('abc').count == 3",
    "from todo.store import stats; stats(1, 2, 3)",
    "from todo.store import config; assert config().debug",
    "from todo.store import config; assert config() + 1",
    "from todo.store import word_count; assert word_count('a').a == 1",
    "from todo.store import word_count; assert word_count('a')['a'].upper()",
    "from todo.store import word_count; assert word_count('a')['a'] + 'x'",
    "from todo.store import word_count; assert word_count('a')[0] == 1",
    "from todo.store import word_count; assert word_count(['a'])",
    "from todo.store import tokenize; assert tokenize('a')[0].kind == 'x'",
    "from todo.store import tokenize; assert tokenize('a')[0][0] + 1",
    "from todo.store import tokenize; assert tokenize('a').kind",
    "from todo.store import tokenize; k, v, w = tokenize('a')[0]",
    "from todo.store import tokenize; assert [t.value for t in tokenize('a')]",
    "from todo.store import parse_args; assert parse_args(['a']).verbose",
    "from todo.store import parse_args; assert parse_args('a b')",
    "from todo.store import transform; assert transform([1], lambda: 1)",
    "from todo.store import transform; assert transform([1], lambda a, b: 1)",
    "from todo.store import transform; assert transform([1], 2)",
    "from todo.store import transform; assert transform(lambda x: x, [1])",
    "from todo.store import transform; assert transform(['a'], lambda x: x)",
    "from todo.store import transform; assert transform([1], lambda x: x).sum()",
    "from todo.store import reduce_all; assert reduce_all([1], lambda a: a)",
    "from todo.store import reduce_all; assert reduce_all([1], lambda a, b: a, '0')",
    "from todo.store import reduce_all; assert reduce_all([1], lambda a, b: a)[0]",
    "from todo.store import reduce_all; assert len(reduce_all([1], lambda a, b: a))",
    "from todo.store import primes; assert primes(10)[0] == 2",
    "from todo.store import primes; assert len(primes(10)) == 4",
    "from todo.store import primes; p = primes(10); assert p[:2] == [2, 3]",
    "from todo.store import primes; assert primes(10).count(2) == 1",
    "from todo.store import primes; assert primes('10')",
    "from todo.store import primes; assert [p.x for p in primes(10)]",
    "from todo.store import primes; assert primes(10) + [1]",
    "from todo.store import matrix; assert matrix(2)[0, 0] == 1",
    "from todo.store import matrix; assert matrix(2).shape == (2, 2)",
    "from todo.store import matrix; assert matrix(2)[0][0][0]",
    "from todo.store import matrix; assert matrix(2)[0][0] + 'a'",
    "from todo.store import Cache; c = Cache(); c.put('a')",
    "from todo.store import Cache; c = Cache(); c.put(1, 2)",
    "from todo.store import Cache; c = Cache(); c.put('a', 1, ttl='x')",
    "from todo.store import Cache; c = Cache(); c.on_evict(lambda k: None)",
    "from todo.store import Cache; c = Cache(); c.on_evict(lambda: None)",
    "from todo.store import Cache; c = Cache(); c.on_evict('x')",
    "from todo.store import Cache; c = Cache(); assert c.size() == 0",
    "from todo.store import Cache; c = Cache(); assert c.size[0]",
    "from todo.store import Cache; c = Cache(); assert c['a']",
    "from todo.store import Cache; c = Cache(); assert 'a' in c",
    "from todo.store import Cache; c = Cache(); assert len(c) == 0",
    "from todo.store import Cache; c = Cache(); assert c.keys().a",
    "from todo.store import Cache; c = Cache(); assert ', '.join(c.hits)",
    "from todo.store import Cache; c = Cache(); assert c.hits + 'a'",
    "from todo.store import Cache; c = Cache(); assert c.misses",
    "from todo.store import Cache; assert Cache(5)",
    "from todo.store import StoreError; e = StoreError('a'); assert e.code + 'a'",
    "from todo.store import render; assert render('a')",
    "from todo.store import render; assert render([1])",
    "from todo.store import rows; assert rows()[0].name",
    "from todo.store import rows; assert rows()['name']",
    "from todo.store import rows; assert rows()[0]['name'] + 1",
    "import todo; assert todo.__version__ + 1",
    "import todo.store as s; assert s.primes(3)[1]",
    "from todo import TaskList; t = TaskList(); x = t.add('a'); x.title.foo",
    "from todo import TaskList\nfor t in TaskList():\n    assert t.name",
    "from todo import TaskList\nt = TaskList()\nassert sum(t) == 0",
    "from todo import TaskList; assert sorted(TaskList())[0].foo",
    "from todo import TaskList; assert {t.id: t for t in TaskList()}.first",
    "from todo import TaskList; assert max(TaskList(), key=lambda t: t.prio)",
    "from todo import TaskList; assert [*map(lambda t: t.prio, TaskList())]",
    "from todo import TaskList; assert list(filter(lambda t: t.done, TaskList()))",
    "from todo import TaskList; assert next(iter(TaskList())).prio",
    "from todo import TaskList; assert list(TaskList())[0].prio",
]  # fmt: skip

RIGHT: Final = [
    "from todo import TaskList; t = TaskList(); t.add('a'); assert list(t)[0].title == 'a' and "
    "len(t) == 1",
    "from todo import TaskList; t = TaskList(); assert t.add('a', tags=['x']).tags == ['x']",
    "from todo import TaskList; t = TaskList(); x = t.get(1); assert x is None or x.title",
    "from todo import TaskList; t = TaskList(); assert [x.title for x in t.find('a')] == []; "
    "assert t.by_tag().get('x', []) == []",
    "from todo import TaskList; t = TaskList(); done, total = t.count(); assert done + total "
    "== 0",
    "from todo import TaskList; import json; t = TaskList(); d = json.loads(t.to_json()); "
    "assert d['tasks'][0].x == 1 or d == []",
    "from todo import TaskList, Task; assert TaskList([Task(1, 'a')]) and TaskList([]) and "
    "TaskList(tasks=None)",
    "from todo import Task; d = Task(1, 'a').to_dict(); assert d['title'] == 'a'; assert "
    "str(d['id']) + 'a'; d['x'] = 1; assert Task.from_dict(d)",
    "from todo import Task; assert Task.from_dict({'id': 1, 'title': 'a'}).id == 1",
    "from todo import Task; assert Task.from_dict({'id': 1}).title; d = {'id': 1, 'title': "
    "'x'}; assert Task.from_dict(d).id == 1",
    "from todo import Task; d = dict(id=1, title='a'); assert Task.from_dict(d)",
    "from todo.model import Status, Task; t = Task(1, 'a'); t.complete(); assert t.status is "
    "Status.DONE and t.status.value == 'done' and t.status.name.lower()",
    "from todo.model import Status, Task; t = Task(1, 'a'); t.status = Status('done'); t.title "
    "= 'b'; t.tags.append('x'); assert t.title.upper()",
    "from todo import Task; t = Task(1, 'a'); t.title = None; assert t.title is None; t.tags = "
    "('a',); assert t.tags[0].upper(); t.id = 'x'; assert t.id.upper()",
    "from todo import Task; import datetime; assert Task(1, 'a').created.date() <= "
    "datetime.date.today(); assert (Task(1, 'a').created - Task(2, "
    "'b').created).total_seconds()",
    "from todo.store import load; import pathlib; assert len(load(pathlib.Path('a'))) == 0 == "
    "len(load('a'))",
    "from todo.store import stats; s = stats([1, 2]); assert s.mean == 1.5 and s[1] == 2; m, n "
    "= s; assert s == (1.5, 2) and s._asdict()['mean'] and s[0] + s.count",
    "from todo.store import stats; assert stats([x for x in range(3)]).count == 3; assert "
    "stats(list(range(3))).mean; assert stats([True])",
    "from todo.store import config; assert config()['a']['b'].c == 1; c = config(); c['x'] = "
    "1; assert c.get('y') is None; assert c['x'] + 1; assert c.setdefault('z', []) == []",
    "from todo.store import word_count; w = word_count('a b'); assert w == {'a': 1} and "
    "sum(w.values()) == 2 and max(w, key=w.get) and sorted(w, key=lambda k: -w[k])[0]; assert "
    "w['a'] / 2",
    "from todo.store import word_count; from collections import Counter; assert "
    "Counter(word_count('a')).most_common(1)[0][0] == 'a'; assert Counter('a') == "
    "word_count('a')",
    "from todo.store import tokenize; assert tokenize('a') == [('N', 'a')]; assert [k for k, v "
    "in tokenize('a')] == ['N']; assert dict(tokenize('a'))['N'].upper(); assert "
    "tokenize('a')[0][1:] == ('a',)",
    "from todo.store import transform; assert transform([1], lambda x: x * 2) == [2]; assert "
    "transform([1], abs) and transform([1], int) and transform([], lambda x, y=1: x); assert "
    "sum(transform([1], lambda x: x))",
    "from todo.store import transform; import math, operator; assert transform([4], "
    "math.isqrt) == [2]; assert transform([1], operator.neg); assert transform([1], "
    "float.__neg__) or True",
    "from todo.store import transform; assert transform((1, 2), lambda x: x) if False else True",
    "from todo.store import reduce_all; import operator; assert reduce_all([1], operator.add) "
    "== 1; assert reduce_all([1], max) and reduce_all([1], lambda a, b: a + b, initial=5) and "
    "reduce_all([1], lambda *a: sum(a)); assert reduce_all([1], pow)",
    "from todo.store import primes; assert list(primes(10))[:2] == [2, 3]; p = primes(10); "
    "assert next(p) == 2 and next(p) + 1 == 4; assert sum(primes(3)) and 2 in primes(3); "
    "import itertools; assert list(itertools.islice(primes(9), 2))[1]",
    "from todo.store import primes; a, b, *rest = primes(10); assert a + b + rest[0]; assert "
    "[*primes(3)][0] and max(primes(9)) and sorted(primes(9))[0] and tuple(primes(3))[0]; "
    "assert all(p % 2 for p in primes(9)); assert dict(enumerate(primes(3)))[0] == 2",
    "from todo.store import matrix; m = matrix(2); assert m[0][0] == 1 and len(m) == len(m[0]) "
    "and m == [[1, 0], [0, 1]] and sum(m[0]) and list(zip(*m))[0]; m[0][0] = 'x'; assert "
    "m[0][0].upper()",
    "from todo.store import Cache; c = Cache(); c.put('a', 1); c.put('a', {}, 5); assert "
    "c.get('a').x or c.get('a', 0) + 1; c.on_evict(lambda k, v: None); c.on_evict(print); "
    "c.on_evict(dict().__setitem__); log = []; c.on_evict(lambda *a: log.append(a)); assert "
    "c.size == len(c.keys()) + c.hits",
    "from todo.store import Cache\nclass Spy:\n    def __call__(self, k, v): self.k = k\ns = "
    "Spy(); Cache().on_evict(s); assert s.k",
    "from todo.store import StoreError\ntry:\n    raise StoreError('x')\nexcept StoreError as "
    "e:\n    assert e.code + 'a' or e.args[0].upper()",
    "from todo.store import render, rows; assert render([]) == '' and render([{'name': 'a'}]) "
    "and render(rows()) and render([dict(name='a')]); r = rows()[0]; assert r['name'].upper() "
    "and r.get('size', 0) + 1; assert {**r} and r | {'x': 1}",
    "from todo.store import render; data = [{'name': 'a', 'size': 1}]; assert render(data)",
    "import todo; assert todo.__version__.split('.')[0]; assert todo.model.Task(1, 'a') and "
    "todo.TaskList()",
    "from todo import TaskList; t = TaskList(); t.add('b'); t.add('a'); assert sorted(x.title "
    "for x in t) == ['a', 'b']; assert sorted(t, key=lambda x: x.title)[0].title == 'a'; "
    "assert {x.id for x in t} and [x for x in t if 'a' in x.title][0].id + 1; assert max(t, "
    "key=lambda x: x.id).id",
    "from todo import TaskList; ts = [TaskList() for _ in range(2)]; ts[0].add('a'); assert "
    "[len(t) for t in ts] == [1, 0]; assert dict(zip('ab', ts))['a'].find('x') == []",
    "import tempfile, os; from todo.store import save, load; from todo import TaskList; d = "
    "tempfile.mkdtemp(); p = os.path.join(d, 'x'); t = TaskList(); t.add('a'); save(t, p); "
    "assert [x.title for x in load(p)] == ['a']; assert open(p).read()[0]",
    "import io, contextlib; from todo.store import render; b = io.StringIO()\nwith "
    "contextlib.redirect_stdout(b):\n    print(render([]))\nassert b.getvalue().strip() == ''",
    "from todo.store import config; cfg = config(); port = cfg.get('port', 80); assert port + "
    "1; port = str(port); assert port.isdigit(); name: str = cfg['name']; name = name or None; "
    "assert name",
    "from todo.store import word_count; r = word_count('a'); r = list(r.items()); "
    "r.sort(key=lambda p: p[1]); assert r[0][0] == 'a'; r = r[0]; k, n = r; assert n + 1 and "
    "k.upper()",
    "from todo.store import primes; p = primes(3); p = list(p); assert p[0]; p = set(p); "
    "assert 2 in p; total = 0\nfor x in p:\n    total += x\nassert total > 0",
    "from todo.store import stats; r = None\nfor n in range(3):\n    r = stats([n])\nassert "
    "r.mean == 2",
    "from todo.store import tokenize; kinds: dict = {}\nfor k, v in tokenize('a'):\n    "
    "kinds.setdefault(k, []).append(v)\nassert kinds['N'][0].upper()",
    "from todo.store import Cache; c = Cache(); c.hits = 'a'; assert c.hits.upper(); c.extra = "
    "1; assert c.extra; setattr(c, 'foo', 1); assert c.foo; c.__dict__['z'] = 1",
    "from unittest.mock import MagicMock; from todo.store import Cache; cb = MagicMock(); "
    "Cache().on_evict(cb); cb.assert_not_called(); assert cb.call_count == 0",
    "from todo import TaskList; assert TaskList().__len__() == 0 and "
    "TaskList().__class__.__name__ and TaskList.__doc__ is None and "
    "TaskList.__init__.__defaults__ and TaskList().__iter__()",
    "from todo.store import stats; assert abs(stats([1]).mean - 1) < 1e-9; assert "
    "round(stats([1]).mean, 2) == 1.0; assert '%.2f' % stats([1]).mean and "
    "'{:d}'.format(stats([1]).count); assert '%d' % stats([1]).mean; assert '%s' % "
    "stats([1]).count; assert '%s %s' % stats([1])",
    "from m import floats; m = floats(); assert m == [1] and sum(m)",
    "from m import floats; assert flag and sum(floats()) if (flag := True) else 0",
    "from m import floats; assert len(floats()) == 1 and sum(floats()) and max(floats()) and "
    "min(floats(), default=0)",
    "from m import floats; assert 1 == 1 and max(floats()) and sorted(floats()) and "
    "list(floats()) and set(floats()) and tuple(floats())",
    "from m import floats; assert True and sum(floats()) == 3 and not sum(floats()) > 2",
    "from m import floats; x = True and sum(floats()); assert x",
    "from m import floats; assert any(floats()) and all(floats()) and sum(x for x in floats()) "
    "and sum([x > 1 for x in floats()])",
    "from m import table; assert len(table()) > 1 and sum(table().values()) and "
    "max(table().values()) and dict(table()) and sorted(table().items())[0][1] + 1",
    "from m import table; t = table(); assert t and max(t, key=t.get) and max(t, key=lambda k: "
    "t[k]) and min(t.items(), key=lambda p: p[1])[0]",
    "from m import it; assert flag and sum(it()) if (flag := 1) else 2",
    "from m import it; assert 1 and sum(it()) and max(it(), default=0) and "
    "dict(enumerate(it())) and list(zip(it(), it())) and list(map(round, it()))",
    "from m import pairs; assert 1 and dict(pairs())['a'] + 1 and [*zip(*pairs())][0][0] and "
    "sum(n for _, n in pairs()) and sorted(pairs(), key=lambda p: -p[1])[0][0].upper()",
    "from m import pairs; d = {}\nfor k, n in pairs():\n    d[k] = d.get(k, 0) + n\nassert "
    "sum(d.values())",
    "from m import opt; assert opt() and opt() + 1 and range(opt()) and (opt() or 0) + 1 and "
    "[opt()][0] + 1",
    "from m import nested; assert 1 and sum(nested()['a']) and sum(map(sum, "
    "nested().values())) and sum(nested().values(), []) and sorted(nested(), key=lambda k: "
    "len(nested()[k])) and [x for v in nested().values() for x in v][0] + 1",
    "from m import nested; n = nested(); n.setdefault('a', []).append(1); n['b'] = []; assert "
    "n['a'][0] + 1 and {k: sum(v) for k, v in n.items()}['a'] + 1",
    "from m import texts; assert 1 and ''.join(texts()) and max(texts(), key=len) and "
    "sorted(texts(), key=str.lower, reverse=True)[0] and ' '.join(sorted(set(texts()))) and "
    "len(max(texts(), key=len))",
    "from m import texts; assert sum(len(t) for t in texts()) and sum(map(len, texts())) and "
    "{t: len(t) for t in texts()}['a'] + 1 and list(map(int, texts()))[0] + 1 and [int(t) for "
    "t in texts()]",
    "from m import ints; assert sum(ints()) / len(ints()) and 1 and divmod(sum(ints()), 2)[0] "
    "and bytes(ints()) and bytearray(ints()) and range(*ints()) and print(*ints()) is None and "
    "max(*ints()) and list(reversed(ints()))[0] + 1",
    "from m import ints; import math, statistics, functools, operator, itertools; assert "
    "math.prod(ints()) and math.sqrt(ints()[0]) and statistics.mean(ints()) and "
    "functools.reduce(operator.mul, ints(), 1) and list(itertools.accumulate(ints()))[0] + 1 "
    "and math.fsum(ints()) and math.gcd(*ints())",
    "from m import floats; import math, statistics; assert math.isclose(floats()[0], 1) and "
    "statistics.stdev(floats()) and math.floor(floats()[0]) + 1 and int(floats()[0]) and "
    "round(floats()[0]) + 1 and round(floats()[0], 2) + 1 and abs(floats()[0]) and "
    "str(floats()[0])[0] and f'{floats()[0]:.2f}'",
    "from m import flag; assert flag() is True and flag() + 1 and sum([flag(), flag()]) and "
    "int(flag()) and not flag() and flag() & True and [1, 2][flag()]",
    "from m import P; p = P(1); assert p == P(1.0) and p < P(2) and (p + p).x and (p * 2).x "
    "and (2 * p).x and list(p)[0] and p(1) + 1 and sum(p) and max(p, default=0) and sorted([p, "
    "p])[0].x and [*p] and tuple(p); a, b = p",
    "from m import P\nwith P() as p:\n    assert p.x\nfor v in P():\n    assert v + 1",
    "from m import V; v = V(); assert v[0] + 1 and len(v) and 1.0 in v and list(v) and sum(v) "
    "and [x for x in v] and sorted(v) and max(v) and list(reversed(v)) and list(enumerate(v)) "
    "and tuple(v) and list(zip(v, v)); a, b = v",
    "from m import ps; assert sum(p.x for p in ps()) and sum(ps(), ps()[0]).x and max(ps()).x "
    "and sorted(ps())[0].x and min(ps(), key=lambda p: p.x).x and [p(1) for p in ps()][0] + 1",
    "from m import ps; import functools; assert functools.reduce(lambda a, b: a + b, ps()).x "
    "and list(map(lambda p: p.x, ps()))[0] + 1 and [p.x for p in filter(lambda p: p.x > 1, "
    "ps())] and {p.x: p for p in ps()}[1.0].x and list(filter(None, ps()))[0].x",
    "from m import seq, mp; assert seq()[0] + 1 and seq()[1:] and len(seq()) and "
    "list(reversed(seq())) and sum(seq()) and seq() == [1] and mp()['a'] + 1 and {**mp(), 'b': "
    "'x'}['b'] and dict(mp(), b=1) and len(mp()) and sorted(mp()) and mp() | {'a': 1} if False "
    "else 1",
    "from m import ints; r = ints(); r = sum(r); assert r + 1; r = [r]; r += [2.5]; assert "
    "r[0] + 1",
    "from m import ints; acc = []; [acc.append(x) for x in ints()]; assert acc[0] + 1; "
    "acc.append('x'); assert acc[-1].upper()",
    "from m import ints; a, b = ints(), 'x'; a, b = b, a; assert a.upper() and b[0] + 1",
    "from m import ints; seen = set(); seen.add(ints()[0]); seen.add('x'); assert 'x' in seen "
    "and len(seen); q = [ints()]; q.append('x'); assert q[1].upper()",
    "from m import ints; out = [] ; out.append(ints()); out[0] = 'a'; assert out[0].upper(); "
    "res = dict.fromkeys(ints()); res[1] = 'a'; assert res[1].upper()",
    "from m import ints; x = ints() if ints() else 'none'; assert x; y = ints() or None; "
    "assert y is None or y[0]; z = [None, *ints()]; assert z[1] + 1; w = {'n': ints(), 't': "
    "'x'}; assert w['t'].upper() and w['n'][0] + 1",
    "from m import ints\nx = ints()\ntry:\n    x = x[99]\nexcept IndexError:\n    x = 'none'\n"
    "assert x.upper()",
    "from m import ints\ndef get(k):\n    return ints()[k]\nassert get(0) + 1 and "
    "get(0).bit_length()\ndef typed(k: int) -> str:\n    return ints()[k]\nassert typed(0) + 1",
    "from m import ints\nclass Box:\n    value = None\n    def __init__(self):\n        "
    "self.value = ints()\n        self.name = 0\nb = Box(); b.name = 'x'; assert b.value[0] "
    "and b.name.upper(); b.value = 'a'; assert b.value.upper()",
    "from m import ints\nfrom typing import Any\nx: Any = ints(); assert x.foo.bar; y: object "
    "= ints(); assert y == [1]; z: list = ints(); z.append('a'); assert z[-1].upper(); d: dict "
    "= {}; d['a'] = ints(); d[1] = 2; assert d['a'][0]",
    "from m import ints\nassert [x for x in ints()][0] + 1; x = 'a'; assert x.upper()\nfor x "
    "in ints():\n    pass\nassert x + 1\nfor i, x in enumerate('ab'):\n    assert x.upper()",
    "from m import ints\nwhile (n := len(ints())) > 3: pass\nassert n + 1\nif (m := ints()): "
    "assert m[0] + 1\nn = 'x'; assert n.upper()",
    "from m import ints; f = lambda x=None: x or ints(); assert f()[0] + 1 and f('a').upper()",
    "from m import ints; assert (ints() + ['a'])[-1].upper() and (ints() + [None])[0] + 1 and "
    "(['a'] + ints())[0].upper() and (ints() * 2)[0] + 1 and [*ints(), 'a'][-1].upper() and "
    "(*ints(), 'a')[-1].upper()",
    "from m import table; assert {**table(), 'x': 'y'}['x'].upper() and (table() | {'x': "
    "'y'})['x'].upper() and dict(table(), x='y')['x'].upper()",
    "from m import it; assert 1 and list(it()) == [1.0] and it().__next__() + 1; g = (x for x "
    "in it()); assert next(g) + 1 and sum(g)",
    "from m import table; assert list(table().keys())[0].upper() and table().keys() & {'a'} "
    "and table().keys() == {'a'} and 'a' in table().keys() and len(table().values()) and "
    "sorted(table().values())[0] + 1 and list(table().items())[0][0]",
    "from m import table; assert table().items() <= {'a': 1}.items() and table().keys() - "
    "{'a'} and set(table().values()) and sum(table().values()) / len(table()) and "
    "next(iter(table().values())) + 1 and max(table().items(), key=lambda p: p[1])[0].upper()",
    "from m import ints; total: float = sum(ints()); total = total / 2; assert total; avg: int "
    "= sum(ints()) / 2; assert avg > 0",
    "from m import ints; n: str = ints(); assert n[0] + 1",
    "from m import floats; x: list[int] = floats(); assert x[0]; y: int = max(floats()); "
    "assert y; z: list[str] = sorted(floats()); assert z[0] + 1",
    "from m import floats; assert round(sum(floats())) == 1 and str(sum(floats())) and "
    "int(max(floats())) and max(1, max(floats())) and max(0, *floats()) and min(floats()[0], "
    "3) and f'{sum(floats())}'",
    "from m import ints\ndef f(xs) -> int:\n    return sum(xs) and max(xs) or 0\nassert "
    "f(ints())",
    "from m import ints, texts; assert dict(zip(texts(), ints()))['a'] + 1 and "
    "list(zip(texts(), ints()))[0][1] + 1 and [a * b for a, b in zip(texts(), ints())] and "
    "sorted(zip(ints(), texts()))[0][1].upper() and max(zip(ints(), texts()))[1].upper()",
    "from m import ints; from collections import Counter, defaultdict, deque, OrderedDict; c = "
    "Counter(ints()); assert c[1] + 1 and c.most_common(1)[0][1] + 1 and sum(c.values()); d = "
    "defaultdict(int); d[ints()[0]] += 1; assert d[1] + 1; q = deque(ints(), maxlen=3); "
    "q.append(4); assert q[0] + q.popleft(); o = OrderedDict((x, 'a') for x in ints()); assert "
    "o[1].upper() and list(o)[0] + 1",
    "from m import nested; assert {k: v[0] for k, v in nested().items()}['a'] + 1 and [(k, "
    "len(v)) for k, v in nested().items()][0][1] + 1 and nested().get('a', [0])[0] + 1 and "
    "nested().get('a') and (nested().get('b') or [1])[0] + 1 and nested().pop('a', None) is "
    "None",
    "from m import ints; import random, copy, json, pickle, operator; assert "
    "random.choice(ints()) + 1 and copy.deepcopy(ints())[0] + 1 and "
    "json.loads(json.dumps(ints()))[0] + 1 and pickle.loads(pickle.dumps(ints()))[0] and "
    "operator.itemgetter(0)(ints()) + 1; random.shuffle(ints()); random.seed(str(ints()))",
    "from m import floats; import itertools as i, functools as f; assert "
    "list(i.chain(floats(), 'a'))[-1].upper() and list(i.chain.from_iterable([floats(), "
    "['a']]))[-1] and list(i.zip_longest(floats(), 'a', fillvalue=0))[0] and "
    "list(i.groupby(floats(), key=int))[0][0] + 1 and f.reduce(lambda a, b: a + str(b), "
    "floats(), '').upper() and list(i.product(floats(), 'a'))[0][1].upper() and "
    "list(i.permutations(floats(), 2))[0][0] + 1 and [*i.combinations(floats(), 2)][0][1] + 1 "
    "and next(i.count(floats()[0])) + 1 and list(i.takewhile(lambda x: x < 3, floats())) and "
    "list(i.starmap(pow, zip(floats(), floats())))",
    "from m import floats; assert sum(floats(), start=0.0) and sum([floats(), floats()], "
    "[])[0] + 1 and sum(map(int, floats())) and sum(x ** 2 for x in floats()) ** .5 and "
    "all(isinstance(x, float) for x in floats()) and all(a <= b for a, b in zip(floats(), "
    "floats()[1:])) and max(map(abs, floats())) + 1 and floats() == sorted(floats()) and "
    "floats()[::-1] and list(range(int(floats()[0])))",
    "from m import texts; t = texts(); assert t and ' '.join(t).split() == t and t[0][0] and "
    "t[-1].join('ab') and '%s-%s' % (t[0], t[1]) and '%s' % t and '%d' % len(t) and "
    "'{}'.format(t) and 'a' in t and t.index('a') + 1 and t.count('a') + 1 and "
    "[*enumerate(t)][0][1].upper() and t == list(t) != tuple(t) and dict.fromkeys(t, 0)['a'] + "
    "1 and t * 2 and max(t) and min(t).upper() and sorted(t)[0].upper() and "
    "any(x.startswith(('a', 'b')) for x in t) and t[0].replace('a', 'b').encode().decode() and "
    "bytes(t[0], 'utf-8')[0] + 1 and int(t[0]) + float(t[0]) and ord(t[0]) + 1 and "
    "list(t[0])[0].upper() and set(t) | {1} and {*t, 1} and (*t, 1) and t + [1] and [1] + t",
    "from m import opt; x = opt(); x = 0 if x is None else x; assert x + 1; y = opt() if opt() "
    "else 'a'; assert y; z = [o for o in [opt()] if o]; assert z[0] + 1 if z else True; assert "
    "(opt() or 'x') == 'x'; assert str(opt() or 'x').upper()",
    "from m import flag, ints; r = ints() if flag() else {}; assert r; s = ints()[0] if flag() "
    "else 'a'; assert str(s).upper(); t = flag() and ints(); assert t; u = ints() and 'x'; "
    "assert u; v = not ints() or ints()[0] + 1; assert v",
    "import m; assert m.ints()[0] + 1 and m.P(1).x + 1 and m.ps()[0](2) + 1; f = m.floats; "
    "assert f()[0] + 1; fs = [m.floats, m.ints]; assert fs[0]()[0] + 1; d = {'a': m.ints, 'b': "
    "m.texts}; assert d['b']()[0].upper() and d['a']()[0] + 1; assert [g() for g in (m.ints, "
    "m.texts)][1]; assert getattr(m, 'ints')()[0].x or 1",
    "from m import P; ps = {'a': P(1), 'b': 2}; assert ps['b'] + 1; q = [P(1), 3, 'x']; assert "
    "q[2].upper(); t = (P(1), 'x'); assert t[1].upper(); p, s = t; assert s.upper() and p.x; "
    "P.y = 5; assert P(1).y; P.__len__ = lambda self: 3; assert len(P(1)) == 3",
    "from m import P, ps; assert sum((p.x for p in ps()), 0.0) + 1 and P(sum(p.x for p in "
    "ps())).x and P(max(ps()).x + 1) + P(2) and (P(1) + P(2) * 3).x and [P(x) for x in "
    "P(1)][0].x and P(x=True).x and (lambda p: p.x)(P(1)) + 1 and dict(a=P(1))['a'].x and "
    "P(3).__mul__(2).x and P.__add__(P(1), P(2)).x and P(1) != 1 and not P(1) == 'a' and "
    "str(P(1)) and hash(P) and bool(P(1)) and isinstance(P(1), P) and type(P(1)) is P and "
    "P(1).__class__(2).x",
    "from m import V; v = V(); assert 'a' if v[0] > 1 else 'b'; assert (x for x in v) and "
    "iter(v) and next(iter(v)) + 1 and all(v) and any(v) and dict(enumerate(v)) and [*v] and "
    "{*v} and max(v[0], v[1]) and set(v) and sum(v, 0.0) and list(map(abs, v)) and "
    "list(filter(None, v)) and ','.join(map(str, v)) and v[len(v) - 1] + 1 and v in [v]",
    "from m import ints; import numpy as np; a = np.array(ints()); assert a.mean() and a[0, "
    "1].x; import pandas as pd; assert pd.DataFrame({'a': ints()}).a.sum()",
    "from m import ints, it; x = ints(); y = it(); x, y = y, x; assert y[0] + 1 and next(x); i "
    "= 0; i, j = i + 1, ints(); assert j[0] + i; (a, b), c = (ints(), 'x'), 3; assert "
    "b.upper() and c + 1; a, *b = ints(); assert b[0] + a; [p, q] = ints()[:2]; assert p + q; "
    "f = g = ints(); assert f[0] + g[0]",
]  # fmt: skip
