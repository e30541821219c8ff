from __future__ import annotations

import ast
from collections.abc import Mapping

import pytest

from shared.languages.python.module_views import Change, ModuleHistory, reachable

SOURCE = '''"""Doc."""
from __future__ import annotations
import os

def f(a, b):
    return a

x, y = 1, 2

class C(Base):
    def m(self): return 1
    def n(self): return 2

if os.name == "nt":
    def k(): return 1
else:
    k = None
'''


def change(path: str = "", stub: str | None = None, *changed: str) -> Change:
    stubs = {} if stub is None else {path: ast.parse(stub).body}
    return Change([path] if path else [], stubs, changed)


def text(
    changes: list[Change], sources: Mapping[str, str] | None = None, path: str = "a.py"
) -> str:
    sources = sources or {}
    module = ModuleHistory(set(sources), sources, changes).module(path, len(changes))
    assert module is not None
    compile(module.text, path, "exec")
    return module.text


def test_a_source_that_no_order_touches_stays_as_it_is() -> None:
    assert text([change("b.py", "")], {"a.py": SOURCE}) == SOURCE


def test_a_new_file_is_its_stub() -> None:
    assert text([change("a.py", "def f(a: int) -> str: ...")]) == (
        "def f(a: int) -> str:\n    ...\n"
    )


def test_what_a_stub_imports_can_be_imported_from_it() -> None:
    stub = (
        "from __future__ import annotations\nimport os\nimport a.b\nfrom .c import d, e as g\n"
        "from x import *"
    )
    assert text([change("a.py", stub)]).splitlines() == [
        "from __future__ import annotations",
        "import os as os",
        "import a.b",
        "from .c import d as d, e as g",
        "from x import *",
    ]


def test_a_declared_name_replaces_that_of_the_source_and_only_that() -> None:
    after = text([change("a.py", "def f(a: int) -> int: ...\nx: str")], {"a.py": SOURCE})
    assert "def f(a, b)" not in after
    assert "def f(a: int) -> int:" in after
    assert "_replaced, y = (1, 2)" in after
    assert "def m(self):\n        return 1" in after


def test_classes_are_merged_by_member_and_keep_their_head() -> None:
    after = text(
        [change("a.py", "class C:\n    def m(self, q: int) -> int: ...")], {"a.py": SOURCE}
    )
    assert "class C(Base):" in after
    assert "def m(self, q: int) -> int:" in after
    assert "def n(self):\n        return 2" in after


def test_a_name_that_is_bound_in_a_block_is_replaced_there() -> None:
    after = text([change("a.py", "def k() -> int: ...")], {"a.py": SOURCE})
    assert after.count("k") == 1
    assert "def k() -> int:" in after


def test_later_declarations_are_laid_over_earlier_ones() -> None:
    first = change("a.py", "from b import B\nclass G:\n    x: int\n    def play(self) -> B: ...")
    second = change("a.py", "from b import B\nclass G:\n    x: str\ndef new() -> G: ...")
    assert text([first, second]) == (
        "from b import B as B\n\nclass G:\n\n    def play(self) -> B:\n        ...\n    x: str\n\n"
        "def new() -> G:\n    ...\n"
    )


def test_a_name_that_is_changed_without_saying_how_is_unknown_until_it_is_declared() -> None:
    away = change("a.py", None, "f", "C.n")
    after = text([away], {"a.py": SOURCE})
    assert "f: _Anything" in after
    assert "    n: _Anything" in after
    assert "def m" in after
    assert "def f(z)" in text([away, change("a.py", "def f(z): ...")], {"a.py": SOURCE})


def test_a_file_written_without_contract_may_hold_anything() -> None:
    assert "def __getattr__" in text([change("a.py")])
    history = ModuleHistory((), {}, [change("a.py")])
    module = history.module("a.py", 1)
    assert module is not None
    assert module.is_open


def test_what_an_order_wrote_without_telling_leaves_the_rest_in_force() -> None:
    history = ModuleHistory((), {}, [change("a.py", "def f() -> int: ..."), change("a.py")])
    before, after = history.module("a.py", 1), history.module("a.py", 2)
    assert before is not None
    assert after is not None
    assert (before.is_open, after.is_open) == (False, True)
    assert after.contracted == {"f"}
    assert after.text == before.text


@pytest.mark.parametrize(
    "source",
    [
        "def __getattr__(name): ...",
        "globals()['f'] = 1",
        "from numpy import *",
        "import sys; sys.modules[__name__] = 1",
        "__path__ = []",
        "def f(:",
    ],
)
def test_a_source_that_makes_names_as_it_runs_is_open(source: str) -> None:
    module = ModuleHistory(["a.py"], {"a.py": source}, []).module("a.py", 0)
    assert module is not None
    assert module.is_open


def test_a_source_that_cannot_be_read_says_why_and_counts_as_unknown() -> None:
    module = ModuleHistory(["a.py"], {"a.py": "x = ("}, []).module("a.py", 0)
    assert module is not None
    assert module.problem is not None
    assert "never closed" in module.problem.message
    assert (module.body, module.checked_path) == (None, "a.pyi")


def test_a_file_is_there_from_the_order_on_that_writes_it() -> None:
    history = ModuleHistory(
        ["r.py"], {}, [change(), change("a.py", ""), change("r.py", "def g(): ...")]
    )
    assert history.module("a.py", 1) is None
    assert history.module("a.py", 2) is not None
    assert history.module("r.py", 0) is not None
    assert history.declared_later("r.py", "g", 1) == 3
    assert history.declared_later("r.py", "g", 3) is None
    assert history.declared_by("r.py", "g", 3) == 3


@pytest.mark.parametrize(
    ("files", "name", "found"),
    [
        (["a.py"], "a", "a.py"),
        (["src/a.py"], "a", "src/a.py"),
        (["a.py", "src/a.py"], "a", "a.py"),
        (["a.py", "a.pyi"], "a", "a.py"),
        (["a.pyi"], "a", "a.pyi"),
        (["a/__init__.pyi", "a/__init__.py"], "a", "a/__init__.py"),
        (["a/__init__.py", "a.py"], "a", "a/__init__.py"),
        (["a/b.py"], "a.b", "a/b.py"),
        (["a/b.py"], "a", None),
    ],
)
def test_a_module_is_found_as_the_interpreter_finds_it(
    files: list[str], name: str, found: str | None
) -> None:
    module = ModuleHistory(files, {}, []).find(name, 0)
    assert (module.path if module else None) == found


def test_a_stub_beside_code_that_an_order_writes_hides_nothing_of_it() -> None:
    sources = {"a.py": "def f(x): ...", "a.pyi": "def f(x: int) -> None: ..."}
    view = reachable(ModuleHistory(set(sources), sources, [change("a.py")]), ["a"], 1)
    assert list(view.files) == ["a.py"]
    assert view.modules["a"].is_open


def test_only_what_imports_lead_to_is_in_view() -> None:
    sources = {
        "pkg/__init__.py": "",
        "pkg/a.py": "from . import b\nfrom .sub.c import x",
        "pkg/b.py": "import json",
        "pkg/sub/c.py": "from ..d import y",
        "pkg/d.py": "",
        "pkg/far.py": "",
    }
    view = reachable(ModuleHistory(set(sources), sources, []), ["pkg.a"], 0)
    assert set(view.files) == set(sources) - {"pkg/far.py"}


def test_a_file_is_never_in_view_under_two_names() -> None:
    sources = {"src/app/__init__.py": "", "src/app/x.py": "from app import y", "src/app/y.py": ""}
    view = reachable(ModuleHistory(set(sources), sources, []), ["src.app.x"], 0)
    assert view.roots == ("",)
    assert set(view.files) == {"src/app/__init__.py", "src/app/x.py"}


def test_a_view_of_a_huge_project_stops_somewhere() -> None:
    sources = {f"m{n}.py": f"import m{n + 1}" for n in range(1000)}
    assert len(reachable(ModuleHistory(set(sources), sources, []), ["m0"], 0).files) == 300
