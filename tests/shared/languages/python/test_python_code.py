from __future__ import annotations

import ast
import threading
import warnings

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shared.languages.python.python_code import parse_as_here, read_code
from shared.languages.python.python_mutations import find_mutations
from shared.languages.python.python_source import outline
from shared.languages.read_commands import CodeProblem, Import
from shared.processes.shell_words import MAX_ARGUMENT_BYTES

PIECES = st.sampled_from(
    [
        "import a",
        "import a.b as c, d",
        "from a.b import c",
        "from a import b as c, d",
        "from a import *",
        "from a import (b, c)",
        "from . import a",
        "from .a import b",
        "import  a",
        "x = 'import q'",
        "x = '''",
        "f(important)",
        "assert a == 1",
        "# import q",
        "if x: import a",
        "def f():",
        "    import a",
        "",
    ]
)
SEPARATORS = st.sampled_from(
    [";", "; ", "\n", "\n\n", " ;\n", "\t;\t", "\\\n", "\r\n", "\x0c", " "]
)


def modules(source: str) -> list[str]:
    return [each.module for each in read_code(source).imports]


def imports_by_the_tree(source: str) -> list[Import]:
    """Return the absolute imports of code without `try` and `with`, in order of appearance."""
    found: list[Import] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [Import(each.name, (), node.lineno) for each in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names = tuple(each.name for each in node.names)
            found.append(Import(node.module, names, node.lineno))
    return sorted(found, key=lambda each: (each.line, each.module, each.names))


@given(st.lists(st.tuples(PIECES, SEPARATORS), max_size=6))
@example([("import a", ";\n"), ("x = '''", "\n"), ("import a", "\n"), ("x = '''", "\n")])
def test_imports_are_those_of_the_syntax_tree(pieces: list[tuple[str, str]]) -> None:
    source = "".join(piece + separator for piece, separator in pieces)
    code = read_code(source)
    try:
        compile(source, "<test>", "exec", dont_inherit=True)
    except SyntaxError:
        assert code.problem is not None
        assert code.problem.is_syntax
    else:
        by_line = sorted(code.imports, key=lambda each: (each.line, each.module, each.names))
        assert by_line == imports_by_the_tree(source)


@given(st.text(max_size=40) | st.text(alphabet="import a.b as\n;'\"(#\\", max_size=30))
def test_no_text_can_break_the_reader(source: str) -> None:
    read_code(source)


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import a, b.c as d; from e.f import g as h, i", ["a", "b.c", "e.f"]),
        ("x = 1; import a", ["a"]),
        ("try:\n import a\nexcept ImportError:\n import b\nelse:\n import c", ["c"]),
        ("try:\n import a\nexcept:\n pass", []),
        ("import builtins\ntry:\n import a\nexcept builtins.ImportError:\n pass", ["builtins"]),
        ("try:\n import a\nexcept KeyError:\n pass", ["a"]),
        ("import pytest\nwith pytest.raises(ImportError): import a", ["pytest"]),
        ("with open('x'): import a", ["a"]),
        ("try:\n import a\nexcept* ValueError:\n pass", ["a"]),
        ("class A:\n  def f(self):\n    import a", ["a"]),
        ("from . import a; from .b import c", []),
        ("importlib.import_module('a')", []),
    ],
)
def test_absolute_imports_are_found_unless_their_failure_is_caught(
    source: str, found: list[str]
) -> None:
    assert modules(source) == found


def test_an_import_knows_its_names_and_line() -> None:
    assert read_code("import sys\nfrom a import b, c as d\n").imports == (
        Import("sys", (), 1),
        Import("a", ("b", "c"), 2),
    )


@pytest.mark.parametrize(
    "source",
    [
        "x = (",
        "return 1",
        "f(a=1, a=2)",
        "def f(a, a): pass",
        "await x",
        "from __future__ import x",
    ],
)
def test_what_the_compiler_calls_an_error_is_the_codes_own(source: str) -> None:
    problem = read_code(source).problem
    assert problem is not None
    assert problem.is_syntax


@pytest.mark.parametrize(
    "source",
    [
        "a\0b",
        "-" * 60_000 + "1",
        "f" + "()" * 60_000,
        "#" * (MAX_ARGUMENT_BYTES + 1),
        "é" * MAX_ARGUMENT_BYTES,
    ],
    ids=["NUL", "deep", "calls", "long", "long in bytes"],
)
def test_what_exceeds_a_limit_is_not_a_syntax_error(source: str) -> None:
    problem = read_code(source).problem
    assert problem is not None
    assert not problem.is_syntax


def test_the_longest_argument_there_is_can_be_judged() -> None:
    assert read_code("#" * MAX_ARGUMENT_BYTES).problem is None


def test_warnings_of_the_compiler_neither_print_nor_raise_nor_stay_off() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read_code("assert (1, 2); x = '\\d'; 1 is 1").problem is None
        with pytest.raises(UserWarning):
            warnings.warn("still on", UserWarning, stacklevel=1)


def test_code_is_compiled_and_never_run(tmp_path: object) -> None:
    assert read_code("raise SystemExit(1)").problem is None


def test_the_future_of_this_module_does_not_reach_the_code() -> None:
    assert read_code("def f(x: (yield)): pass").problem is not None


def test_many_threads_may_read_at_once() -> None:
    filters = list(warnings.filters)
    threads = [
        threading.Thread(target=lambda: [read_code("x = '\\d'") for _ in range(50)])
        for _ in range(4)
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert list(warnings.filters) == filters


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("x = " + "+".join(["a"] * 1500), "nested too deep"),
        ("x = " + "not " * 500 + "a", "nested too deep"),
        ("x = 0x" + "F" * 4000, "too many digits"),
        ("def a():\r    pass\r", "a single CR"),
    ],
)
def test_what_nobody_could_walk_or_write_is_a_problem_and_no_fault(source: str, why: str) -> None:
    tree = parse_as_here(source)
    assert isinstance(tree, CodeProblem) and why in tree.message and not tree.is_syntax


@pytest.mark.parametrize(
    "source",
    [
        "if a:\n    x\n" + "elif b:\n    x\n" * 400,
        "x = " + "+".join(["a"] * 120),
        "x = [" + ", ".join(["f(a + b)"] * 2000) + "]",
        "\ufeffx = 1\n",
    ],
)
def test_long_code_is_not_deep(source: str) -> None:
    assert isinstance(parse_as_here(source), ast.Module)


def test_a_chain_of_a_thousand_branches_ends_nothing() -> None:
    chain = "if a:\n    x\n" + "elif b:\n    x\n" * 1000
    assert [each.name for each in outline(f"{chain}def f(): ...\n")] == ["f"]
    find_mutations("a.py", chain)
