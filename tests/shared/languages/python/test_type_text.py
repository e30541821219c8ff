from __future__ import annotations

import inspect

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.languages.python.type_text import TypeText, parse_type, surely_differ

counts = st.integers(min_value=0, max_value=3)


def no_class(_: TypeText) -> bool:
    return False


def differ(actual: str, expected: str) -> bool:
    return surely_differ(parse_type(actual), parse_type(expected), no_class)


@given(required=counts, optional=counts, rest=st.booleans(), keyword=st.booleans(), passed=counts)
def test_a_function_differs_where_python_cannot_call_it(
    required: int, optional: int, rest: bool, keyword: bool, passed: int
) -> None:
    names = [f"a{index}" for index in range(required)]
    source = [*names, *(f"b{index}=0" for index in range(optional))]
    types = ["Any"] * required + ["DefaultArg(int, 'b')"] * optional
    if rest or keyword:
        source.append("*c" if rest else "*")
        types += ["VarArg(Any)"] if rest else []
    if keyword:
        source.append("k")
        types.append("NamedArg(Any, 'k')")
    signature = inspect.signature(eval(f"lambda {', '.join(source)}: 0"))
    try:
        signature.bind(*range(passed))
        callable_so = True
    except TypeError:
        callable_so = False
    expected = f"Callable[[{', '.join(['int'] * passed)}], bool]"
    assert differ(f"Callable[[{', '.join(types)}], int]", expected) is not callable_so
    written = ", ".join(each.replace("=0", ": int = ...") for each in source)
    assert differ(f"def <lambda>({written}) -> int", expected) is not callable_so


@given(st.text(alphabet="abcintstr[](),|.*?'\" ->=", max_size=40))
def test_any_text_is_read_and_does_not_differ_from_itself(text: str) -> None:
    assert not surely_differ(parse_type(text), parse_type(text), no_class)


@pytest.mark.parametrize(
    ("actual", "expected", "surely"),
    [
        ("int", "Callable[[int], int]", True),
        ("Callable[[int], str]", "Callable[[int], int]", False),
        ("Callable[[], int]", "Callable[..., int]", False),
        ("Callable[[int], int]", "list[int]", True),
        ("Callable[[int], int]", "Sized", True),
        ("list[str]", "SupportsFloat | SupportsIndex", True),
        ("bool", "SupportsFloat | SupportsIndex", False),
        ("str", "SupportsIndex | slice[int, int, int]", True),
        ("slice[int, int, int]", "SupportsIndex", True),
        ("int", "Coroutine[Any, Any, int]", True),
        ("set[str]", "SupportsKeysAndGetItem[Never, Never]", True),
    ],
)
def test_only_a_type_that_cannot_do_it_differs(actual: str, expected: str, surely: bool) -> None:
    assert differ(actual, expected) is surely


def test_a_dotted_name_keeps_its_module() -> None:
    assert parse_type("shop.shadows.range") == TypeText("range", (), "shop.shadows")
    assert parse_type("builtins.range").is_builtin
    assert not parse_type("shop.shadows.range").is_builtin
