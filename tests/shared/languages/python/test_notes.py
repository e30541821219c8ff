"""What is said of code by looking at it: bodies, names, and lines that do not parse."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from shared.languages.python import code_notes

DO_WORK = "Write the statements that do the work."


def unwritten(code: str, before: str = "") -> list[str]:
    return [each.message for each in code_notes.find_unwritten("a.py", before, code)]


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (
            '"""Say it."""',
            "has no body: after its docstring there is no statement, so it returns None",
        ),
        (
            '"""Say it."""\n    # do it',
            "has no body: after its docstring there is no statement, so it returns None",
        ),
        ("pass", "has only `pass` for a body, so it returns None"),
        ("...", "has only `...` for a body, so it returns None"),
        ('"""Say it."""\n    ...', "has only `...` for a body, so it returns None"),
        ("raise NotImplementedError", "only raises NotImplementedError"),
        ("raise NotImplementedError('later')", "only raises NotImplementedError"),
        ("return ''", "returns '', whatever it is given"),
        ("return", "returns None, whatever it is given"),
        ("return [-1, {}]", "returns [-1, {}], whatever it is given"),
    ],
)
def test_a_function_with_nothing_in_it_is_named(body: str, problem: str) -> None:
    code = f"def f(x: int) -> str:\n    {body}\n"
    assert unwritten(code) == [f"The function `f` in a.py {problem}. {DO_WORK}"]


@pytest.mark.parametrize(
    "code",
    [
        "def f(x):\n    return x\n",
        "def f(x):\n    '''Say.'''\n    return x\n",
        "def version():\n    return '1.0'\n",
        "class A:\n    def __init__(self):\n        pass\n",
        "class A(Protocol):\n    def f(self): ...\n",
        "class A(typing.Protocol[T]):\n    def f(self): ...\n",
        "class A(ABC):\n    @abstractmethod\n    def f(self):\n        pass\n",
        "@overload\ndef f(x: int) -> int: ...\ndef f(x):\n    return x\n",
        "def f(x:\n",
        "",
        "def f(x):\n    raise ValueError\n",
    ],
)
def test_a_function_that_may_be_as_it_is_is_not_named(code: str) -> None:
    assert unwritten(code) == []


def test_methods_are_named_with_their_class() -> None:
    assert unwritten("class A:\n    async def go(self):\n        pass\n")[0].startswith(
        "The function `A.go` in a.py has only `pass`"
    )


def test_a_stub_file_has_no_bodies() -> None:
    assert code_notes.find_unwritten("a.pyi", "", "def f(x: int) -> str: ...\n") == ()


@pytest.mark.parametrize(
    ("code", "is_certain"),
    [
        ("def f(x): ...\n", True),
        ("def f(x) -> int:\n    '''Say.'''\n", True),
        ("def f(x) -> None:\n    '''Say.'''\n", False),
        ("def f(x):\n    return 1\n", False),
    ],
)
def test_what_somebody_may_have_meant_is_not_certain(code: str, is_certain: bool) -> None:
    (found,) = code_notes.find_unwritten("a.py", code, code)
    assert (found.is_certain, found.was_so) == (is_certain, True)


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("x = 1\ndef f(:\n    pass\n", "a.py does not parse at line 2: `def f(:`."),
        ("def f():\nreturn 1\n", "a.py does not parse at line 2: `return 1`."),
        ("a\0", "a.py does not parse."),
        ("x = 1\n", ""),
    ],
)
def test_the_line_that_does_not_parse_is_quoted(code: str, said: str) -> None:
    assert code_notes.note_syntax("a.py", code) == said


SOURCES = {
    "src/shop/cart.py": (
        "class Cart:\n    def __init__(self, owner):\n        self.owner = owner\n\n"
        "    def add_item(self, item, count=1):\n        pass\n\n\n"
        "def total(cart, *, rate=0.1):\n    return 0\n"
    ),
    "src/shop/money.py": "def rounded(x):\n    return x\n\n\nCENT = 1\n",
    "broken.py": "def f(:\n",
}
FILES = (*SOURCES, "src/shop/tools/tax.py")


@pytest.mark.parametrize(
    ("error", "note"),
    [
        (
            "ImportError: cannot import name 'totals' from 'shop.cart' (src/shop/cart.py)",
            "src/shop/cart.py has no `totals`. It has `total`.",
        ),
        (
            "ImportError: cannot import name 'zzz' from 'shop.cart' (src/shop/cart.py)",
            "src/shop/cart.py has no `zzz`. It has `Cart`, `total`.",
        ),
        (
            "ImportError: cannot import name 'rounded' from 'shop.cart' (src/shop/cart.py)",
            "src/shop/cart.py has no `rounded`: it is in src/shop/money.py.",
        ),
        (
            "ImportError: cannot import name 'total' from partially initialized module 'shop.cart' "
            "(most likely due to a circular import)",
            "src/shop/cart.py has `total`, but the modules import each other in a circle.",
        ),
        (
            "AttributeError: module 'shop.money' has no attribute 'round'",
            "src/shop/money.py has no `round`. It has `rounded`.",
        ),
        (
            "AttributeError: 'Cart' object has no attribute 'add'",
            "The class `Cart` in src/shop/cart.py has no `add`. It has `add_item`, `owner`.",
        ),
        (
            "AttributeError: type object 'Cart' has no attribute 'ownr'",
            "The class `Cart` in src/shop/cart.py has no `ownr`. It has `owner`.",
        ),
        (
            "NameError: name 'total' is not defined",
            "The name `total` is used where it is not defined. It is in src/shop/cart.py: "
            "`from shop.cart import total`.",
        ),
        (
            "NameError: name 'List' is not defined. Did you mean: 'list'?",
            "The name `List` is used and not imported: `from typing import List`.",
        ),
        (
            "NameError: name 're' is not defined",
            "The module `re` is used and not imported: `import re`.",
        ),
        (
            "ModuleNotFoundError: No module named 'tax'",
            "There is no module `tax`. The repository has src/shop/tools/tax.py.",
        ),
        (
            "TypeError: total() missing 1 required positional argument: 'cart'",
            "src/shop/cart.py defines `total(cart, *, rate=0.1)`.",
        ),
        (
            "TypeError: Cart.add_item() got an unexpected keyword argument 'n'",
            "src/shop/cart.py defines `Cart.add_item(self, item, count=1)`.",
        ),
    ],
)
def test_an_error_about_a_name_says_what_there_is(error: str, note: str) -> None:
    assert code_notes.note_errors(f"Traceback ...\n{error}\n", SOURCES, FILES) == (note,)


@pytest.mark.parametrize(
    "error",
    [
        "ImportError: cannot import name 'x' from 'numpy' (<python>/numpy/__init__.py)",
        "AttributeError: 'NoneType' object has no attribute 'x'",
        "AttributeError: module 'os' has no attribute 'x'",
        "NameError: name 'nothing_like_it' is not defined",
        "ModuleNotFoundError: No module named 'requests'",
        "TypeError: sorted() missing 1 required positional argument",
        "ImportError: cannot import name 'x' from 'broken.y' (broken.py)",
    ],
)
def test_an_error_that_the_sources_do_not_explain_has_no_note(error: str) -> None:
    assert code_notes.note_errors(error, SOURCES, FILES) == ()


def test_a_name_used_above_its_definition_is_not_to_be_imported_from_its_own_file() -> None:
    output = "File \"src/shop/money.py\", line 1\nNameError: name 'rounded' is not defined"
    assert code_notes.note_errors(output, SOURCES, FILES) == ()


@given(st.text(), st.dictionaries(st.sampled_from(["a.py", "b/c.py"]), st.text()))
def test_nothing_that_a_model_writes_is_too_much_for_the_notes(
    output: str, sources: dict[str, str]
) -> None:
    errors = f"NameError: name 'x' is not defined\n{output}"
    for note in code_notes.note_errors(errors, sources, sources):
        assert note.endswith(".")
    for path, text in sources.items():
        assert isinstance(code_notes.note_syntax(path, text), str)
        unwritten = code_notes.find_unwritten(path, output, text)
        assert all(f" in {path} " in each.message for each in unwritten)


def documented(docstring: str, head: str = "def f(n):") -> str:
    return f'import re\n\nEDGE = 3\n\n\n{head}\n    """Say it.\n\n{docstring}\n    """\n'


@pytest.mark.parametrize(
    ("shown", "lines"),
    [
        ("    >>> f(1)\n    [1,  2]", ["assert f(1) == [1, 2]"]),
        ("    >>> f(1) == 2", ["assert f(1) == 2"]),
        (
            "    >>> f(1)\n    True\n    >>> f(2)\n    None",
            ["assert f(1) is True", "assert f(2) is None"],
        ),
        ("    f(1) => 'a'\n    f(2) ➞ 4.5", ["assert f(1) == 'a'", "assert f(2) == 4.5"]),
        ("    f(1) ==> -1\n    f(2) -> [f]", ["assert f(1) == -1"]),
        ("    For example, f(1) is 2\n    f(a) == 2\n    f(-1) == 3", ["assert f(-1) == 3"]),
        ("    >>> x = [EDGE]\n    >>> f(x)\n    3", ["x = [EDGE]", "assert f(x) == 3"]),
        (
            "    >>> for each in (1, 2):\n    ...     x = f(each)\n    >>> x\n    2",
            ["for each in (1, 2):", "    x = f(each)", "assert x == 2"],
        ),
        ("    >>> f(1)\n    2\n    >>> f(1)\n    2\n    >>> f(\n    3", ["assert f(1) == 2"]),
    ],
)
def test_examples_are_asserted(shown: str, lines: list[str]) -> None:
    body = "".join(f"    {each}\n" for each in lines)
    names = "EDGE, f" if "EDGE" in body else "f"
    made = code_notes.test_of_examples(documented(shown), "Write `f`.", "till")
    assert made == f"from till import {names}\n\n\ndef test_f():\n{body}"


@pytest.mark.parametrize(
    ("source", "asked"),
    [
        (documented("    >>> f(1)\n    2"), "Write `g`."),
        (documented("    >>> f(1)\n    2") + "    return 2\n", "Write `f`."),
        (documented("    >>> f(1)\n    <object at 0x1>"), "Write `f`."),
        (documented("    >>> print(f(1))\n    two words"), "Write `f`."),
        (documented("    >>> f(1)\n    2", "async def f(n):"), "Write `f`."),
        (documented("    >>> f(1)\n    2") + "\n\ndef g():\n    ...\n", "Write `f` and `g`."),
        (
            documented("    >>> f(1)\n    2") + "\n\nclass C:\n    def m(self):\n        ...\n",
            "Write `f`, `C.m`.",
        ),
        ("def f(:", "Write `f`."),
        (documented("    >>> f(1)\n    2"), "Plot f against n."),
        ("", ""),
    ],
)
def test_where_examples_do_not_show_all_that_is_asked_for_there_is_no_test(
    source: str, asked: str
) -> None:
    assert code_notes.test_of_examples(source, asked, "till") == ""


@given(
    st.lists(st.sampled_from([">>> ", "f(", ")", "==", "=>", "... ", "1", "[", "\n    ", " ", "x"]))
)
@example([">>> ", "1", "==", "... "])
def test_no_docstring_makes_a_test_that_does_not_parse(parts: list[str]) -> None:
    docstring = "    " + "".join(parts)
    compile(
        code_notes.test_of_examples(documented(docstring), "Write `f`.", "till"), "test", "exec"
    )


def test_a_docstring_of_a_megabyte_takes_linear_time() -> None:
    """An expression that goes back over a line would take hours."""
    for line in ("f(" + ")==" * 350_000, ">>> f(" * 170_000, "    ...\n" * 120_000):
        code_notes.test_of_examples(documented(f"    {line}"), "Write `f`.", "till")


OWN = "import os\n{}\n\nclass C: ...\n\n\ndef f(n):\n    return n\n"


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("till.py", "from till import f"),
        ("till.py", "from till import f, C"),
        ("till.py", "from till import (\n    f,\n    C as C,\n)"),
        ("till.py", "from .till import f"),
        ("src/shop/till.py", "from shop.till import f"),
        ("src/shop/till.py", "from src.shop.till import f"),
        ("shop/__init__.py", "from shop import f"),
    ],
)
def test_an_import_of_what_the_file_defines_itself_is_left_out(path: str, line: str) -> None:
    assert code_notes.without_own_imports(path, OWN.format(line)) == OWN.replace("{}\n", "")


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("till.py", "from till import g"),
        ("till.py", "from till import f as h"),
        ("till.py", "from till import *"),
        ("till.py", "from shop.till import f"),
        ("shop/till.py", "from till import f"),
        ("till.py", "from till import f; import re"),
        ("till.py", "if os:\n    from till import f"),
        ("till.py", "import till"),
        ("till.py", "from till import f ("),
    ],
)
def test_any_other_import_stays(path: str, line: str) -> None:
    assert code_notes.without_own_imports(path, OWN.format(line)) == OWN.format(line)


def test_lines_are_counted_as_python_counts_them() -> None:
    text = "A = '\x0c\x1c'\r\nfrom a import f\r\ndef f(): ...\r\n"
    left = code_notes.without_own_imports("a.py", text)
    assert left == "A = '\x0c\x1c'\r\ndef f(): ...\r\n"


@pytest.mark.parametrize("asked", ["Write `f`.", "Write 'f' now.", "Write f(n).", "Write `f()`."])
def test_a_function_is_named_as_code(asked: str) -> None:
    """A plain word may mean another thing, and the test would say nothing of what is asked for."""
    assert code_notes.test_of_examples(documented("    >>> f(1)\n    2"), asked, "till")
