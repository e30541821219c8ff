from __future__ import annotations

import random
from pathlib import Path

import pytest

from shared.languages.language_tools import CheckerFailed
from shared.languages.python.conformance import check_conformance
from shared.languages.python.type_checker import TypeChecker
from shared.work_order.work_order import Interface

GRID = "from dataclasses import dataclass\n@dataclass(frozen=True)\nclass Maze:\n    width: int\n"

MANAGED = "from contextlib import contextmanager\nfrom collections.abc import Iterator\n"

# Stub, and an implementation that keeps it.
RIGHT = [
    ("def f(a: int) -> int: ...", "def fill(space):\n    space['f'] = abs\n\n\nfill(globals())"),
    ("def f(a: int) -> int: ...", "import sys\nsetattr(sys.modules[__name__], 'f', abs)"),
    (
        "class A:\n    def m(self) -> int: ...",
        "class A:\n    def __init__(self):\n        self.__dict__['m'] = lambda: 1",
    ),
    (
        "class A:\n    x: int",
        "class A:\n    __slots__ = ('x',)",
    ),
    (
        "def f(a: int, b: int) -> int: ...\ndef g(a: int, b: int) -> int: ...",
        "from nowhere import a, b\nf, g = a, b",
    ),
    (
        "def f(a: int) -> int: ...",
        "try:\n    from fast import f\nexcept ImportError:\n    f = None",
    ),
    ("def f(a: int) -> int: ...", "f = None\nglobals()['f'] = abs"),
    (
        "class A:\n    def m(self) -> int: ...",
        "class A:\n    m = None\n\n\ndef _m(self):\n    return 1\n\n\nA.m = _m",
    ),
    (
        f"{MANAGED}@contextmanager\ndef f(a: str) -> Iterator[int]: ...",
        "from contextlib import nullcontext\n\n\ndef f(a):\n    return nullcontext(1)",
    ),
    ("WIDE: bool", "if WIDE := bool(len('a')):\n    pass"),
    ("SIDE: int", "match (1, 2):\n    case (1, SIDE):\n        pass"),
    (
        "class A:\n    def m(self) -> int: ...",
        "class A:\n    pass\n\n\ndef _m(self):\n    return 1\n\n\nA.m = _m",
    ),
    ("class E(LookupError): ...", "class D(KeyError):\n    pass\n\n\nclass E(D):\n    pass"),
    ("class E(ValueError): ...", "from nowhere import Base\n\n\nclass E(Base):\n    pass"),
    (
        "from enum import Enum\nclass C(str, Enum):\n    A = 'a'",
        "from enum import StrEnum\n\n\nclass C(StrEnum):\n    A = 'a'",
    ),
    (
        "from typing import Callable\nclass A:\n    def on(self) -> None: ...",
        "from typing import Callable\nclass A:\n    on: Callable[[], None] = None",
    ),
    (
        f"{MANAGED}@contextmanager\ndef f(a: str) -> Iterator[int]: ...",
        "class f:\n    def __init__(self, a: str) -> None: ...\n    def __enter__(self): ...\n"
        "    def __exit__(self, *a: object) -> None: ...",
    ),
    ("def f(a: int) -> str: ...", "def f(a: int) -> str:\n    return str(a)"),
    ("def f(a: int) -> str: ...", "def f(a):\n    return str(a)"),
    (
        "class E(Exception):\n    code: int",
        "class E(Exception):\n    def __init__(self):\n        self.code = 1",
    ),
    (
        "class B: ...\nclass A(B):\n    def m(self) -> int: ...",
        "class B:\n    def m(self):\n        return 1\n\n\nclass A(B):\n    pass",
    ),
    (
        "class A:\n    x: int",
        "class A:\n    def __init__(self, x):\n        object.__setattr__(self, 'x', x)",
    ),
    (
        "class A:\n    def m(self) -> int: ...",
        "from nowhere import Base\n\n\nclass A(Base):\n    pass",
    ),
    (
        "class A:\n    def m(self) -> int: ...",
        "class A(dict):\n    def __getattr__(self, name):\n        return lambda: 1",
    ),
    (
        "class C:\n    class D:\n        def m(self) -> int: ...",
        "class C:\n    class D:\n        def m(self):\n            return 1",
    ),
    (
        "def f() -> int: ...",
        "def f():\n    return 0\n\n\ndel f\n\n\ndef f():\n    return 1",
    ),
    ("class C: ...", "from collections import namedtuple\nC = namedtuple('C', 'a b')"),
    ("def f(a: int) -> str: ...", "def f(a, extra=None, *more, **others):\n    return str(a)"),
    ("def f(a: int) -> float: ...", "def f(a: float) -> int:\n    return int(a)"),
    ("def f(a: int, b: str = 'x') -> str: ...", "def f(a, b='x'):\n    return b * a"),
    ("def f(*, key: str) -> str: ...", "def f(key: str) -> str:\n    return key"),
    ("def f(a: str | None = None) -> str: ...", "def f(a=None):\n    return a or ''"),
    ("def f(a: int | str) -> None: ...", "def f(a: object) -> None:\n    pass"),
    (
        "def f(a: int) -> list[int]: ...",
        "def f(a):\n    if a:\n        return []\n    raise ValueError",
    ),
    ("async def f(a: int) -> str: ...", "async def f(a: int) -> str:\n    return str(a)"),
    (
        "from functools import lru_cache\n@lru_cache\ndef f(a: int) -> int: ...",
        "from functools import lru_cache\n@lru_cache(maxsize=None)\ndef f(a):\n    return a",
    ),
    (
        "from contextlib import contextmanager\nfrom collections.abc import Iterator\n"
        "@contextmanager\ndef f(a: str) -> Iterator[int]: ...",
        "from contextlib import contextmanager\n@contextmanager\ndef f(a):\n    yield 1",
    ),
    (
        "from collections.abc import Iterator\ndef f(n: int) -> Iterator[int]: ...",
        "def f(n):\n    yield from range(n)",
    ),
    ("from pathlib import Path\ndef f(p: Path) -> str: ...", "def f(p):\n    return p.name"),
    (
        "from typing import TypeVar\nT = TypeVar('T')\ndef f(a: T) -> T: ...",
        "def f(a):\n    return a",
    ),
    (
        "from typing import overload\n@overload\ndef f(a: int) -> int: ...\n@overload\n"
        "def f(a: str) -> str: ...",
        "def f(a):\n    return a",
    ),
    ("LIMIT: int\nNAMES: dict[str, list[int]]", "LIMIT = 5\nNAMES = {'a': [1], 'b': []}"),
    ("from typing import Final\nLIMIT: Final = 5\nOTHER: Final[int]", "LIMIT = 5\nOTHER = 2"),
    ("def f(a: int) -> int: ...", "from other import f"),
    ("def f(a: int) -> int: ...", "def _f(a):\n    return a\nf = _f"),
    ("def f(a: int) -> int: ...", "def __getattr__(name):\n    return print"),
    (
        "class C:\n    x: int\n    def __init__(self, x: int, y: str = '') -> None: ...\n"
        "    def m(self, a: int) -> 'C': ...",
        "class C:\n    def __init__(self, x, y=''):\n        self.x = x\n    def m(self, a):\n"
        "        return self",
    ),
    (
        "from dataclasses import dataclass\n@dataclass\nclass C:\n    x: int\n    y: str = ''",
        "class C:\n    def __init__(self, x, y=''):\n        self.x, self.y = x, y",
    ),
    (
        "from dataclasses import dataclass\n@dataclass(frozen=True)\nclass C:\n    x: int\n"
        "    @property\n    def area(self) -> int: ...\n    @classmethod\n"
        "    def of(cls, x: int) -> 'C': ...\n    @staticmethod\n    def name(x: int) -> str: ...\n"
        "    def __len__(self) -> int: ...",
        "from dataclasses import dataclass\n@dataclass(frozen=True)\nclass C:\n    x: int\n"
        "    @property\n    def area(self):\n        return self.x\n    @classmethod\n"
        "    def of(cls, x):\n        return cls(x)\n    @staticmethod\n    def name(x):\n"
        "        return str(x)\n    def __len__(self):\n        return self.x",
    ),
    (
        "from typing import NamedTuple\nclass C(NamedTuple):\n    row: int\n    column: int = 0",
        "from typing import NamedTuple\nclass C(NamedTuple):\n    row: int\n    column: int = 0",
    ),
    (
        "from enum import Enum\nclass C(Enum):\n    A = 1\n    B = 2",
        "from enum import Enum\nclass C(Enum):\n    A = 'a'\n    B = 'b'",
    ),
    (
        "from typing import Generic, TypeVar\nT = TypeVar('T')\nclass C(Generic[T]):\n"
        "    def __init__(self, value: T) -> None: ...\n    def get(self) -> T: ...",
        "class C:\n    def __init__(self, value):\n        self.value = value\n    def get(self):\n"
        "        return self.value\n    def __class_getitem__(cls, item):\n        return cls",
    ),
    (
        "from abc import ABC, abstractmethod\nclass C(ABC):\n    @abstractmethod\n"
        "    def area(self) -> float: ...",
        "from abc import ABC, abstractmethod\nclass C(ABC):\n    @abstractmethod\n"
        "    def area(self):\n        ...",
    ),
    ("class E(ValueError): ...", "class E(ValueError):\n    pass"),
    ("class C:\n    def m(self) -> int: ...", "from other import Base\nclass C(Base):\n    pass"),
    (
        "class C:\n    x: int\n    y: int",
        "class C:\n    def __init__(self, **k):\n        [setattr(self, n, k[n]) for n in k]",
    ),
    ("from .grid import Maze\ndef f(m: Maze) -> Maze: ...", "def f(m):\n    return m"),
    (
        "from .grid import Maze\ndef f(m: Maze) -> list[Maze]: ...",
        "from game.grid import Maze\ndef f(m: Maze) -> list[Maze]:\n    return [m]",
    ),
    ("class C:\n    def __eq__(self, other: object) -> bool: ...", "class C:\n    pass"),
]

# Stub, an implementation that does not keep it, and the name at fault.
WRONG = [
    # What only reads names adds none.
    (
        "class A:\n    def m(self) -> int: ...",
        "class A:\n    __slots__ = ('x',)\n\n    def shown(self):\n        return repr(vars(self))",
        "A.m",
    ),
    (
        "def f(a: int) -> int: ...",
        "import sys\n\n\nclass B:\n    def __getattr__(self, name):\n"
        "        return locals()[name]\n\n\nTESTED = 'pytest' in sys.modules",
        "f",
    ),
    ("def f(a: int) -> str: ...", "f = None", "f"),
    ("class A:\n    def m(self) -> int: ...", "class A:\n    m = None", "A.m"),
    ("class E(ValueError): ...", "class E(Exception):\n    pass", "E"),
    ("class B: ...\nclass A(B): ...", "class B:\n    pass\n\n\nclass A:\n    pass", "A"),
    (
        f"{MANAGED}@contextmanager\ndef f(a: str) -> Iterator[int]: ...",
        "def f(a):\n    yield 1",
        "f",
    ),
    (
        f"{MANAGED}@contextmanager\ndef f(a: str) -> Iterator[int]: ...",
        f"{MANAGED}@contextmanager\ndef f(a, b):\n    yield 1",
        "f",
    ),
    (
        f"{MANAGED}class A:\n    @contextmanager\n    def m(self) -> Iterator[int]: ...",
        "class A:\n    def m(self):\n        yield 1",
        "A.m",
    ),
    ("def f(a: int) -> str: ...", "def g(a):\n    return ''", "f"),
    ("def f(a: int, b: int) -> str: ...", "def f(a):\n    return ''", "f"),
    ("def f(a: int) -> str: ...", "def f(a, b):\n    return ''", "f"),
    ("def f(text: str) -> str: ...", "def f(data):\n    return data", "f"),
    ("def f(a: int) -> str: ...", "def f(a: list[int]) -> str:\n    return ''", "f"),
    ("def f(a: int) -> str: ...", "def f(a: int) -> int:\n    return a", "f"),
    ("def f(a: int) -> str: ...", "def f(a):\n    return 5", "f"),
    ("def f(a: int) -> list[str]: ...", "def f(a):\n    return [a, 1]", "f"),
    ("def f(a: int) -> str: ...", "def f(a):\n    print(a)", "f"),
    ("def f(a: int, *, key: str) -> str: ...", "def f(a, k=''):\n    return k", "f"),
    ("def f(a: int = 1) -> str: ...", "def f(a):\n    return ''", "f"),
    ("async def f() -> str: ...", "def f():\n    print(1)", "f"),
    ("def f() -> str: ...", "async def f():\n    return ''", "f"),
    ("class C: ...", "def C():\n    return 1", "C"),
    ("def f() -> int: ...", "if False:\n    def f():\n        return 1", "f"),
    ("def f() -> int: ...", "def f():\n    return 1\n\n\ndel f", "f"),
    (
        "def f() -> int: ...",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    def f(): ...",
        "f",
    ),
    ("class C:\n    def m(self) -> int: ...", "C = 3", "C"),
    ("class C:\n    class D:\n        def m(self) -> int: ...", "class C:\n    pass", "C.D"),
    (
        "class C:\n    class D:\n        def m(self) -> int: ...",
        "class C:\n    class D:\n        def n(self):\n            return 1",
        "C.D.m",
    ),
    # The checker knows all that a class inherits.
    (
        "class E(Exception):\n    def m(self) -> int: ...",
        "class E(Exception):\n    pass",
        "E.m",
    ),
    ("class E(Exception):\n    code: int", "class E(Exception):\n    pass", "E.code"),
    (
        "class B: ...\nclass A(B):\n    def m(self) -> int: ...",
        "class B:\n    pass\n\n\nclass A(B):\n    pass",
        "A.m",
    ),
    ("LIMIT: int", "LIMIT = 'five'", "LIMIT"),
    ("NAMES: list[str]", "NAMES = {'a': 1}", "NAMES"),
    ("LIMIT: int", "limit = 5", "LIMIT"),
    ("class C:\n    def m(self, a: int) -> int: ...", "class C:\n    pass", "C.m"),
    (
        "class C:\n    def m(self, a: int) -> int: ...",
        "class C:\n    def m(self):\n        return 1",
        "C.m",
    ),
    (
        "class C:\n    def m(self, a: int) -> int: ...",
        "class C:\n    def m(self, b):\n        return b",
        "C.m",
    ),
    (
        "class C:\n    def m(self) -> int: ...",
        "class C:\n    def m(self) -> str:\n        return ''",
        "C.m",
    ),
    (
        "class C:\n    def __init__(self, x: int) -> None: ...",
        "class C:\n    def __init__(self, x, y):\n        pass",
        "C",
    ),
    (
        "from dataclasses import dataclass\n@dataclass\nclass C:\n    x: int\n    y: int",
        "from dataclasses import dataclass\n@dataclass\nclass C:\n    x: int",
        "C.y",
    ),
    (
        "from dataclasses import dataclass\n@dataclass\nclass C:\n    x: int",
        "from dataclasses import dataclass\n@dataclass\nclass C:\n    x: str",
        "C.x",
    ),
    ("class C:\n    x: int", "class C:\n    def __init__(self):\n        self.y = 1", "C.x"),
    (
        "class C:\n    @property\n    def x(self) -> int: ...",
        "class C:\n    def x(self):\n        return 1",
        "C.x",
    ),
    (
        "class C:\n    @classmethod\n    def of(cls, x: int) -> 'C': ...",
        "class C:\n    @classmethod\n    def of(cls):\n        return cls()",
        "C.of",
    ),
    (
        "from enum import Enum\nclass C(Enum):\n    A = 1\n    B = 2",
        "from enum import Enum\nclass C(Enum):\n    A = 1",
        "C.B",
    ),
    (
        "from .grid import Maze\ndef f(m: Maze) -> Maze: ...",
        "from .grid import Maze\ndef f(m: str) -> Maze:\n    return Maze(1)",
        "f",
    ),
]


def violations(stub: str, source: str, checker: TypeChecker) -> list[tuple[str, str, str]]:
    interface = Interface(path="game/play.py", stub=stub)
    sources = {
        "game/__init__.py": "",
        "game/grid.py": GRID,
        "game/play.py": source,
        "other.py": "from somewhere import f, Base\n",
    }
    found = check_conformance([interface], sources, checker)
    return [(each.path, each.name, each.message) for each in found]


@pytest.mark.parametrize(("stub", "source"), RIGHT)
def test_code_that_keeps_its_interface(stub: str, source: str, checker: TypeChecker) -> None:
    assert violations(stub, source, checker) == []


@pytest.mark.parametrize(("stub", "source", "name"), WRONG)
def test_code_that_does_not(stub: str, source: str, name: str, checker: TypeChecker) -> None:
    found = violations(stub, source, checker)
    assert [(path, name) for path, name, _ in found] == [("game/play.py", name)]


def test_a_violation_says_what_was_declared_and_what_was_written(checker: TypeChecker) -> None:
    def message(stub: str, source: str) -> str:
        ((_, _, text),) = violations(stub, source, checker)
        return text

    assert message("def f(a: int) -> str: ...", "def f(a, b):\n    return a") == (
        "is declared as `def f(a: int) -> str` and written as `def f(a, b)`"
    )
    assert message("def f(a: int) -> str: ...", "x = 1") == (
        "`def f(a: int) -> str` is declared and missing"
    )
    assert message("def f(a: int) -> str: ...", "def f(a):\n    return 5") == (
        "is declared as `def f(a: int) -> str` and returns `int`"
    )
    assert message("X: int", "X = 'a'") == (
        'is declared as `X: int`: Incompatible types in assignment (expression has type "str", '
        'variable has type "int")'
    )
    stub = "from dataclasses import dataclass\n@dataclass\nclass C:\n    x: int"
    assert message(stub, "class C:\n    def __init__(self, y):\n        self.x = y") == (
        "is declared to be made by `C(x: int)` and written as `(y)`"
    )


def test_several_files_in_any_layout_are_held_to_each_other(checker: TypeChecker) -> None:
    interfaces = [
        Interface(path="src/game/__init__.py", stub="from .words import Word"),
        Interface(path="src/game/words.py", stub="class Word:\n    text: str"),
        Interface(
            path="src/game/play.py", stub="from .words import Word\ndef f(w: Word) -> int: ..."
        ),
    ]
    sources = {
        "src/game/__init__.py": "from .words import Word",
        "src/game/words.py": "class Word:\n    def __init__(self):\n        self.text = ''",
        "src/game/play.py": "from game.words import Word\ndef f(w: str) -> int:\n    return 1",
    }
    found = check_conformance(interfaces, sources, checker)
    assert [(each.path, each.name) for each in found] == [("src/game/play.py", "f")]


def test_a_module_with_a_stub_beside_it_is_judged_as_one(checker: TypeChecker) -> None:
    stub = "def f(x: int) -> int: ..."
    sources = {"a/__init__.py": "", "a/more.pyi": stub, "a/more.py": "def f(x):\n    return x"}
    both = [Interface(path=f"a/more.{end}", stub=stub) for end in ("py", "pyi")]
    for interfaces in (both[:1], both[1:], both):
        assert check_conformance(interfaces, sources, checker) == ()
    wrong = sources | {"a/more.py": "def f(x: int) -> str:\n    return ''"}
    (found,) = check_conformance(both, wrong, checker)
    assert (found.path, found.name) == ("a/more.py", "f")


def test_later_declarations_of_a_file_are_laid_over_earlier_ones(checker: TypeChecker) -> None:
    interfaces = [
        Interface(path="a.py", stub="def f(x: int) -> int: ...\ndef g() -> int: ..."),
        Interface(path="a.py", stub="def f(x: int, y: int) -> int: ..."),
    ]
    kept = {"a.py": "def f(x, y):\n    return x\ndef g():\n    return 1"}
    assert check_conformance(interfaces, kept, checker) == ()
    (found,) = check_conformance(interfaces, {"a.py": "def f(x, y):\n    return x"}, checker)
    assert found.name == "g"


def test_a_file_that_is_missing_or_broken_is_told_as_a_whole(checker: TypeChecker) -> None:
    interfaces = [Interface(path=path, stub="x: int") for path in ("gone.py", "broken.py")]
    found = check_conformance(interfaces, {"broken.py": "x = ("}, checker)
    assert [(each.path, each.name) for each in found] == [("broken.py", ""), ("gone.py", "")]
    assert found[1].message == "is declared but was not written"


def test_a_stub_that_does_not_parse_declares_nothing(checker: TypeChecker) -> None:
    interface = Interface(path="a.py", stub="def f(")
    assert check_conformance([interface], {"a.py": ""}, checker) == ()


def test_nothing_of_the_code_runs(checker: TypeChecker, tmp_path: Path) -> None:
    trace = tmp_path / "ran"
    source = f"open({str(trace)!r}, 'w')\ndef f(a):\n    return 1"
    assert violations("def f(a: int) -> int: ...", source, checker) == []
    assert not trace.exists()


def test_what_the_checker_cannot_judge_is_never_taken_for_conformance(checker: TypeChecker) -> None:
    interface = Interface(path="types.py", stub="def f(a: int) -> int: ...")
    with pytest.raises(CheckerFailed):
        check_conformance([interface], {"types.py": "def f(b): ..."}, checker)
    sure = check_conformance([interface], {"types.py": "def g(b): ..."}, checker)
    assert [each.name for each in sure] == ["f"]


def test_without_interfaces_no_checker_is_started() -> None:
    with TypeChecker() as idle:
        assert check_conformance([], {"a.py": ""}, idle) == ()
        assert not idle.is_running


def test_the_answer_is_the_same_in_any_order(checker: TypeChecker) -> None:
    interfaces = [Interface(path=f"m{n}.py", stub=stub) for n, (stub, _, _) in enumerate(WRONG)]
    sources = {f"m{n}.py": source for n, (_, source, _) in enumerate(WRONG)} | {"grid.py": GRID}
    expected = check_conformance(interfaces, sources, checker)
    assert len(expected) >= len(WRONG) - 1
    for seed in range(3):
        shuffled = random.Random(seed).sample(interfaces, len(interfaces))
        assert check_conformance(shuffled, sources, checker) == expected
