from __future__ import annotations

import random
import re
import shlex
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from planner.plan.parse_plan import parse_plan
from planner.rules.judge_plan import judge
from planner.rules.rule_model import Finding
from shared.languages.python.type_checker import TypeChecker
from tests.planner import tricky_commands
from tests.planner.labelled_commands import CONTRACTS, SOURCES, VALID, WRONG, project
from tests.planner.plans import QUALITY, creating, order, plan
from tests.warm_checker import tools_with

# What is imported and not there: on purpose, in some labelled commands.
ELSEWHERE = {"W101", "W221"}
PART = 60  # commands of one order; more than 100 it may not have


def python(code: str) -> str:
    return f"python -c {shlex.quote(code)}"


def declaring(number: int, stubs: Mapping[str, str], *codes: str, **fields: object) -> Any:
    """Return an order that writes these files, declares them, and runs these pieces of code."""
    interfaces = [{"path": path, "stub": stub} for path, stub in stubs.items()]
    commands = [python(each) for each in codes] or ["python -m compileall -q ."]
    fields = {"interfaces": interfaces, "acceptance_commands": commands, **fields}
    return creating(number, *stubs, **fields)


def running(number: int, *codes: str, **fields: object) -> Any:
    return order(number, acceptance_commands=[python(each) for each in codes], **fields)


def labelled(codes: Sequence[str]) -> Any:
    """Return a plan that declares the labelled project, then runs each piece of code."""
    declared = creating(1, *CONTRACTS, interfaces=project())
    parts = [codes[start : start + PART] for start in range(0, len(codes), PART)]
    return plan(declared, *(running(number, *part) for number, part in enumerate(parts, 2)))


def found(
    document: Any, checker: TypeChecker, sources: Mapping[str, str] | None = None
) -> list[Finding]:
    files = SOURCES if sources is None else sources
    report = judge(parse_plan(document), files, files, tools=tools_with(checker))
    return [each for each in report.findings if each.code not in QUALITY | ELSEWHERE]


def told(
    document: Any, checker: TypeChecker, sources: Mapping[str, str] | None = None
) -> list[str]:
    return [
        f"{each.code} {each.order} {each.message}" for each in found(document, checker, sources)
    ]


def codes(
    document: Any, checker: TypeChecker, sources: Mapping[str, str] | None = None
) -> list[str]:
    return [each.code for each in found(document, checker, sources)]


def by_command(findings: Sequence[Finding]) -> dict[int, list[Finding]]:
    """Return the findings by the place of their command among those of `labelled`."""
    sorted_in: dict[int, list[Finding]] = {}
    for each in findings:
        index = re.fullmatch(r"acceptance_commands\[(\d+)\]", each.field)
        assert index, each
        sorted_in.setdefault((each.position - 2) * PART + int(index[1]), []).append(each)
    return sorted_in


# The labelled commands


def test_there_are_enough_of_them_and_all_compile() -> None:
    assert len(VALID) >= 60
    assert len(WRONG) >= 40
    for code in (*VALID, *(each[2] for each in WRONG)):
        compile(code, "<labelled>", "exec")


def test_no_valid_command_has_an_error(checker: TypeChecker) -> None:
    errors = {
        VALID[index]: [each.message for each in findings if each.severity == "error"]
        for index, findings in by_command(found(labelled(VALID), checker)).items()
    }
    assert {code: messages for code, messages in errors.items() if messages} == {}


def test_no_command_on_what_else_python_offers_has_an_error(checker: TypeChecker) -> None:
    document = plan(declaring(1, {"m.py": tricky_commands.CONTRACT}, *tricky_commands.VALID))
    errors = [each for each in found(document, checker, {}) if each.severity == "error"]
    assert errors == []


def test_every_wrong_command_has_its_code_at_its_column(checker: TypeChecker) -> None:
    findings = by_command(found(labelled([each[2] for each in WRONG]), checker))
    for index, (code, excerpt, command) in enumerate(WRONG):
        errors = [each for each in findings.get(index, ()) if each.severity == "error"]
        assert [each.code for each in errors] == [code], command
        assert errors[0].message.startswith(place_of(excerpt, command)), (command, errors)


def place_of(excerpt: str, command: str) -> str:
    number, line = next(
        (number, text) for number, text in enumerate(command.split("\n"), 1) if excerpt in text
    )
    column = f"column {line.rindex(excerpt) + 1}: "
    return column if number == 1 else f"line {number}, {column}"


@pytest.mark.rest
def test_commands_in_any_order_get_the_same_findings_again_and_again(checker: TypeChecker) -> None:
    every = [*VALID, *(each[2] for each in WRONG)]
    expected: dict[str, list[tuple[str, str]]] = {}
    for seed in range(3):
        shuffled = random.Random(seed).sample(every, len(every))
        findings = by_command(found(labelled(shuffled), checker))
        result = {
            code: [(each.code, each.message) for each in findings.get(index, ())]
            for index, code in enumerate(shuffled)
        }
        expected = expected or result
        assert result == expected


def test_a_cold_checker_finds_what_a_warm_one_does(checker: TypeChecker) -> None:
    document = labelled([each[2] for each in WRONG])
    with TypeChecker() as cold:
        assert found(document, cold) == found(document, checker)


# The chain


def test_what_only_a_later_order_declares_is_told_with_that_order(checker: TypeChecker) -> None:
    document = plan(
        declaring(1, {"a.py": "class G:\n    x: int"}, "import a; assert a.late() == 1"),
        running(2, "from a import late; assert late() == 1", "from a import G; assert G().y"),
        declaring(3, {"a.py": "def late() -> int: ...\nclass G:\n    y: int"}),
        running(4, "from a import late, G; assert late() == 1 == G().y == G().x"),
    )
    assert told(document, checker, {}) == [
        'E217 WO-01 column 18: Module has no attribute "late" (declared only by WO-03)',
        'E217 WO-02 column 1: Module "a" has no attribute "late" (declared only by WO-03)',
        'E217 WO-02 column 25: "G" has no attribute "y" (declared only by WO-03)',
    ]


def test_a_module_that_comes_later_is_told_once(checker: TypeChecker) -> None:
    document = plan(
        declaring(1, {"p/__init__.py": "", "p/a.py": "x: int"}, "from p import b; assert b.y == 1"),
        declaring(2, {"p/b.py": "y: int"}),
    )
    assert told(document, checker, {}) == [
        'E217 WO-01 column 1: Module "p" has no attribute "b" (declared only by WO-02)'
    ]


def test_a_changed_signature_holds_from_its_order_on(checker: TypeChecker) -> None:
    old, new = "from a import f; assert f(1) == 1", "from a import f; assert f(1, 2) == 1"
    document = plan(
        declaring(1, {"a.py": "def f(x: int) -> int: ..."}, old, new),
        declaring(2, {"a.py": "def f(x: int, y: int) -> int: ..."}, old, new, changes=["f"]),
    )
    assert [f"{each.order} {each.field}" for each in found(document, checker, {})] == [
        "WO-01 acceptance_commands[1]",
        "WO-02 acceptance_commands[0]",
    ]


def test_a_name_that_changes_in_a_way_that_nobody_tells_is_uncertain(checker: TypeChecker) -> None:
    uses = ["from a import f; assert f(1, 2)", "from a import C; assert C().m(1)"]
    stub = "def f(x: int) -> int: ...\nclass C:\n    def m(self) -> int: ..."
    document = plan(
        declaring(1, {"a.py": stub}, *uses),
        declaring(2, {"a.py": "def h() -> int: ..."}, changes=["f", "a.C.m"]),
        running(3, *uses, "from a import g; assert g() == 1"),
    )
    assert [f"{each.code} {each.order}" for each in found(document, checker, {})] == [
        "E212 WO-01",
        "E212 WO-01",
        "E211 WO-03",
    ]


def test_a_file_without_contract_may_hold_anything(checker: TypeChecker) -> None:
    use = "from a import f; import a; assert f(1, 2) == a.g().x; import p; assert p.q == 1"
    document = plan(creating(1, "a.py", "p/__init__.py"), running(2, use))
    assert codes(document, checker, {}) == []


def test_an_order_that_writes_a_file_without_telling_may_add_to_it(checker: TypeChecker) -> None:
    uses = ["from a import f; assert f(1, 2)", "from a import g; assert g()"]
    document = plan(
        declaring(1, {"a.py": "def f(x: int) -> int: ..."}),
        running(2, *uses, allowed_files=["a.py"]),
    )
    assert codes(document, checker, {}) == ["E212", "W222"]


def test_what_a_type_variable_stands_for_is_inferred_and_so_uncertain(
    checker: TypeChecker,
) -> None:
    stub = (
        "from typing import Generic, TypeVar\nT = TypeVar('T')\nclass Stack(Generic[T]):\n"
        "    def __init__(self, items: list[T]) -> None: ...\n"
        "    def push(self, item: T) -> None: ...\n    def drop(self, count: int) -> None: ..."
    )
    mixed = "from a import Stack; s = Stack([1]); s.push('a'); assert s"
    wrong = "from a import Stack; s = Stack([1]); s.drop('a'); assert s"
    document = plan(declaring(1, {"a.py": stub}, mixed, wrong))
    assert codes(document, checker, {}) == ["E213", "W222"]


def test_what_the_command_puts_in_the_place_of_a_function_is_its_own(checker: TypeChecker) -> None:
    replaced = "import a; a.f = lambda *x: {}; assert a.f('x', 2) == a.f()"
    document = plan(declaring(1, {"a.py": "def f(x: int) -> int: ..."}, replaced))
    assert set(codes(document, checker, {})) == {"W222"}


def test_old_code_that_an_order_rewrites_may_become_what_a_use_assumes(
    checker: TypeChecker,
) -> None:
    sources = {"a.py": "def f(x): return x"}
    uses = ["from a import f; assert f(1, 2)", "from a import g; assert g()"]
    assert codes(plan(running(1, *uses)), checker, sources) == ["E211", "E212"]
    rewriting = running(1, *uses, allowed_files=["a.py"])
    assert codes(plan(rewriting), checker, sources) == []


@pytest.mark.parametrize(
    "use",
    [
        "from a import f; assert f('1').append(2) is None",
        "from pkg import f; assert f('1')['x'] == 1",
        "import a; x = a.f('1'); y = x; assert y.append(2) is None",
        "from a import C; assert C().g() + 1 == 2",
        "import asyncio, a\nasync def run(): return await a.f('x')\nassert asyncio.run(run()) == 1",
        "from a import f\nfrom b import h\nassert h(f('1')) == 1",
    ],
)
def test_what_old_code_returns_may_change_where_an_order_rewrites_it(
    use: str, checker: TypeChecker
) -> None:
    sources = {
        "a.py": "def f(s: str) -> int: return 1\nclass C:\n    def g(self) -> str: return ''\n",
        "pkg/__init__.py": "from a import f\n",
    }
    contract = {"b.py": "def h(x: str) -> int: ..."}
    rewriting = creating(2, "a.py", acceptance_commands=[python(use)])
    assert codes(plan(declaring(1, contract), rewriting), checker, sources) == []
    leaving = running(2, use)
    found = codes(plan(declaring(1, contract), leaving), checker, sources)
    assert found in (["E213"], ["E214"])
    named = declaring(2, {"a.py": "def new() -> int: ..."}, use)
    assert codes(plan(declaring(1, contract), named), checker, sources) == found


@pytest.mark.parametrize(("written", "code"), [("a.py", "W222"), ("notes.txt", "E212")])
def test_a_class_may_be_made_as_a_base_that_an_order_rewrites(
    written: str, code: str, checker: TypeChecker
) -> None:
    sources = {
        "a.py": "from dataclasses import dataclass\n@dataclass\nclass A:\n    x: int\n",
        "b.py": "from a import A\nclass B(A): ...\n",
    }
    document = plan(running(1, "from b import B; assert B(1, 2)", allowed_files=[written]))
    assert codes(document, checker, sources) == [code]


def test_what_has_items_may_be_searched_as_python_does(checker: TypeChecker) -> None:
    stub = "class {0}:\n    def {1}(self, i: int) -> int: ..."
    for method, code in (("__getitem__", "W222"), ("play", "E214")):
        document = plan(
            declaring(1, {"a.py": stub.format("C", method)}, "from a import C; assert 1 in C()")
        )
        assert codes(document, checker, {}) == [code]


def test_a_test_that_is_marked_to_fail_may_call_what_fails(checker: TypeChecker) -> None:
    test = "import pytest\nfrom a import f\n@pytest.mark.{0}\ndef test_f():\n    assert f(1, 2)\n"
    for mark, code in (("xfail", []), ("slow", ["E212"])):
        files = [{"path": "test_a.py", "content": test.format(mark)}]
        document = order(1, acceptance_files=files, acceptance_commands=["pytest test_a.py"])
        assert codes(plan(document), checker, {"a.py": "def f(x): return x"}) == code


def test_what_an_interface_declares_is_doubted_although_the_order_rewrites_the_code(
    checker: TypeChecker,
) -> None:
    sources = {"a.py": "class C:\n    def f(self, x: int) -> int: return x\n"}
    use = "from a import C; assert C().f('x') == C().g()"
    assert codes(plan(running(1, use, allowed_files=["a.py"])), checker, sources) == []
    declared = declaring(1, {"a.py": "def other() -> int: ..."}, use)
    assert codes(plan(declared), checker, sources) == ["W222", "W222"]


@pytest.mark.parametrize(
    ("use", "code"),
    [
        ("from a import p; assert p().z", "E211"),
        ("from a import p; assert p()[3]", "E214"),
        ("from a import pair; assert pair()[5]", "E214"),
        # What is declared as a tuple may be a named one.
        ("from a import pair; assert pair().z", "W222"),
        ("from a import q; assert q().z", "W222"),
    ],
)
def test_a_member_of_a_declared_tuple_that_is_not_there_is_found(
    use: str, code: str, checker: TypeChecker
) -> None:
    stub = (
        "from collections import namedtuple\nfrom typing import NamedTuple\n"
        "class P(NamedTuple):\n    x: int\nQ = namedtuple('Q', 'a b')\n"
        "def p() -> P: ...\ndef q() -> Q: ...\ndef pair() -> tuple[int, str]: ..."
    )
    assert codes(plan(declaring(1, {"a.py": stub}, use)), checker) == [code]


@pytest.mark.parametrize(
    ("source", "use", "code"),
    [
        ("import sys\nif sys.platform == 'win32':\n    def f(): ...", "a.f()", None),
        ("import sys\nif sys.version_info >= (3, 99):\n    def f(): ...", "a.f()", None),
        ("def f(): ...\nclass C:\n    def g(self): ...", "a.g()", "E211"),
        ("def start():\n    global f\n    f = 1", "a.start(); assert a.f", None),
        ("def start():\n    f = 1", "a.start(); assert a.f", "E211"),
        ("import enum\n@enum.global_enum\nclass C(enum.IntFlag):\n    F = 1", "a.F", None),
        ("import enum\nclass C(enum.IntFlag):\n    F = 1", "a.F", "E211"),
    ],
)
def test_a_name_that_only_a_checker_does_not_see_is_not_missing(
    source: str, use: str, code: str | None, checker: TypeChecker
) -> None:
    document = plan(running(1, f"import a; assert {use}"))
    assert codes(document, checker, {"a.py": source}) == ([code] if code else [])


@pytest.mark.parametrize(("written", "code"), [("pkg/_fast.pyx", []), ("pkg/b.py", ["E211"])])
def test_a_stub_of_compiled_code_says_nothing_of_what_an_order_makes_of_it(
    written: str, code: list[str], checker: TypeChecker
) -> None:
    sources = {"pkg/__init__.py": "", "pkg/_fast.pyx": "", "pkg/_fast.pyi": "def f() -> int: ..."}
    use = "from pkg._fast import twice; assert twice(2) == 4"
    document = plan(running(1, use, allowed_files=[written]))
    assert codes(document, checker, sources) == code


_INJECTING = """from typing import Any, Callable, TypeVar
F = TypeVar("F", bound=Callable[..., Any])
def inject(f: F) -> F: ...
"""


@pytest.mark.parametrize(
    ("source", "use", "code"),
    [
        (f"{_INJECTING}@inject\ndef f(db, x): return x", "a.f(1)", "W222"),
        ("import contextlib\n@contextlib.contextmanager\ndef f(db, x): yield", "a.f(1)", "E212"),
        ("def f(db, x): return x", "a.f(1)", "E212"),
        (f"{_INJECTING}class C:\n    @inject\n    def f(self, x): ...", "a.C().f()", "W222"),
        ("class M(type): ...\nclass B(metaclass=M): ...\nclass C(B): ...", "a.C(1)", "W222"),
        ("import abc\nclass B(abc.ABC): ...\nclass C(B): ...", "a.C(1)", "E212"),
        ("def deco(c): ...\n@deco\nclass B: ...\nclass C(B): ...", "a.C(1)", "W222"),
        (
            "class B:\n    def __init_subclass__(cls): cls.__init__ = make(cls)\nclass C(B): ...",
            "a.C(1)",
            "W222",
        ),
        (
            "class B:\n    def __init_subclass__(cls): known.append(cls)\nclass C(B): ...",
            "a.C(1)",
            "E212",
        ),
        ("import collections as c\nP = c.namedtuple('P', 'x y')", "a.P(1)", "E212"),
        ("import collections as c\nn = 'x y'\nP = c.namedtuple('P', n)", "a.P(1, 2)", "W222"),
        ("import sys\nif sys.platform != 'win32':\n    def f(x): ...", "a.f()", "W222"),
    ],
)
def test_a_call_is_only_wrong_where_nothing_but_the_declaration_decides_on_it(
    source: str, use: str, code: str, checker: TypeChecker
) -> None:
    document = plan(running(1, f"import a; assert {use}"))
    assert codes(document, checker, {"a.py": source}) == [code]


def test_a_contract_of_old_code_adds_to_it(checker: TypeChecker) -> None:
    sources = {"a.py": "def f(x): return x\nclass C:\n    def m(self): pass\n"}
    document = plan(
        declaring(
            1,
            {"a.py": "def g(x: str) -> int: ...\nclass C:\n    def n(self, x: int) -> str: ..."},
            "from a import f, g, C; assert f(1) == g('a'); assert C().m() is None; assert C().n(1)",
            "from a import g; assert g(1)",
            "from a import C; assert C().n()",
            "from a import h; assert h()",
        )
    )
    assert codes(document, checker, sources) == ["E211", "E212", "E213"]


def test_modules_and_their_src_layout_are_never_mixed_up(checker: TypeChecker) -> None:
    sources = {"src/app/__init__.py": "", "src/app/x.py": "from app import y\ndef f(a): ...\n"}
    document = plan(
        running(
            1,
            "from src.app.x import f; assert f(1, 2)",
            "from app.x import f; assert f(1, 2)",
            "import src.app.x, app.x; assert app.x.f(1)",
        )
    )
    assert codes(document, checker, {**sources, "src/app/y.py": ""}) == ["E212", "E212"]


def test_what_could_not_be_read_leaves_the_rest_unjudged(checker: TypeChecker) -> None:
    broken = declaring(1, {"a.py": "x: int"}) | {"title": 3, "allowed_files": 5}
    document = plan(broken, declaring(2, {"b.py": "x: int"}, "from b import y; assert y == 1"))
    assert codes(document, checker, {}) == ["E005", "E005"]


def test_a_stub_that_does_not_parse_is_told_and_its_file_may_hold_anything(
    checker: TypeChecker,
) -> None:
    document = plan(declaring(1, {"a.py": "def f(:"}, "from a import g; assert g() == 1"))
    assert codes(document, checker, {}) == ["E201"]


# What the checker cannot judge


def test_a_module_that_the_checker_refuses_is_never_taken_for_clean(checker: TypeChecker) -> None:
    wrong = "from a import f; assert f() == 1"
    document = plan(
        declaring(1, {"a.py": "def f(x: int) -> int: ..."}, wrong),
        declaring(2, {"types.py": "x: int"}, "import types; assert types.x == 1", wrong),
        running(3, wrong),
    )
    assert [f"{each.code} {each.order}" for each in found(document, checker, {})] == [
        "E212 WO-01",
        "E299 WO-02",
        "W235 WO-02",  # it is named like a module that test runners import
    ]


def test_a_checker_that_dies_has_failed_and_the_next_plan_is_judged(checker: TypeChecker) -> None:
    document = plan(
        declaring(1, {"a.py": "def f(x: int) -> int: ..."}, "from a import f; assert f() == 1")
    )
    with TypeChecker(deadline_seconds=0.001) as hasty:
        assert codes(document, hasty, {}) == ["E299"]
        assert not hasty.is_running
    assert codes(document, checker, {}) == ["E212"]


@pytest.mark.parametrize(
    "broken", ["def f(:", "x = (", "\0", "x = " + "-" * 5000 + "1", "x: int = '''"]
)
def test_old_code_that_cannot_be_read_is_a_warning(checker: TypeChecker, broken: str) -> None:
    sources = {"a.py": broken, "b.py": "def g(): ..."}
    document = plan(running(1, "from a import f; from b import g; assert f(1) == g(2)"))
    assert sorted(codes(document, checker, sources)) == ["E212", "W224"]


def test_what_the_checker_stumbles_on_in_a_command_is_told_there(checker: TypeChecker) -> None:
    fine = "from a import f; assert f() == 1"
    deep = f"from a import f; assert f({'-' * 150}1) == {'+'.join(['1'] * 300)}"
    document = plan(declaring(1, {"a.py": "def f(x: int) -> int: ..."}, fine, deep))
    assert sorted(codes(document, checker, {})) == ["E212", "E215"]


def test_a_plan_without_own_python_starts_no_checker() -> None:
    with TypeChecker() as idle:
        document = plan(
            running(1, "import json; assert json.loads('1') == 1", "import x; x.y(1)"),
            creating(2, "b.py", acceptance_commands=[python("import b; assert b.x() == 1")]),
            declaring(3, {"c.py": "def f(x: Unknown) -> int: ..."}),
        )
        assert codes(document, idle, {}) == ["E203"]
        assert not idle.is_running
    assert "mypy" not in sys.modules


def test_judging_starts_a_checker_of_its_own_where_none_is_given() -> None:
    document = plan(
        declaring(1, {"a.py": "def f(x: int) -> int: ..."}, "from a import f; assert f() == 1")
    )
    report = judge(parse_plan(document))
    assert "E212" in [each.code for each in report.findings]


# E216


@pytest.mark.parametrize(
    "code",
    [
        "assert [x for x in range(3)] == sorted({y: y for y in range(3)})",
        "def f(a, *b, c=1, **d): return a, b, c, d, f\nassert f(1)",
        "import os.path as p, sys; assert p and sys",
        "try:\n    undefined\nexcept NameError as error:\n    assert error",
        "import pytest\nwith pytest.raises(NameError):\n    undefined",
        "match [1]:\n    case [x, *y] if x: assert y == []\n    case {'a': z, **w}: assert z, w",
        "for i in range(3): pass\nassert i == 2; del i",
        "with open('a') as f: assert f.read()",
        "assert (n := 5) == n; lambda q: q",
        "class A:\n    b = 1\n    def c(self): return __class__\nassert A.b",
        "from json import *; assert loads('1') == 1",
        "exec('x = 1'); assert x == 1",
        "globals()['x'] = 1; assert x == 1",
        "assert __name__ == '__main__'; exit(0)",
        "async def f():\n    async with g() as h:\n        return h\ndef g(): return f",
        "def f():\n    global made\n    made = 1\nf(); assert made == 1",
    ],
)
def test_a_name_that_is_bound_anywhere_is_defined(checker: TypeChecker, code: str) -> None:
    assert "E216" not in codes(plan(running(1, code)), checker, {})


def test_an_undefined_name_is_told_once_with_its_place(checker: TypeChecker) -> None:
    document = plan(running(1, "x = 'é'; assert total(x)\nassert total(x) == other"))
    assert told(document, checker, {}) == [
        'E216 WO-01 column 17: "total" is not defined',
        'E216 WO-01 line 2, column 20: "other" is not defined',
    ]
