"""A definition gets its new code by its name, and no other byte of its file changes."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.languages.capabilities import DefinitionEdit, EditRefused, NamedCode, Splice
from shared.languages.python.definition_edits import defined_names, edit_definitions
from shared.languages.python.python_source import split_chunks

MODULE = '''\
"""Keep things."""

import os
from typing import overload

LIMIT = 3


# How many there are.
@staticmethod
def count(things):
    return len(things)


class Inventory(dict):
    """Hold things."""

    owner: str = ""

    def remove(self, name):
        text = """
left
"""
        return text

    @property
    def size(self):
        return 0

    @size.setter
    def size(self, value):
        self.value = value

    class Shelf:
        def height(self):
            return 2


if os.name == "posix":

    def root():
        return "/"


if __name__ == "__main__":
    print(count([]))
'''


def spliced(text: str, splices: Sequence[Splice]) -> str:
    """Return the text with splices that do not overlap, the simple way."""
    for each in sorted(splices, key=lambda each: (each.start, each.end, -each.depth), reverse=True):
        text = text[: each.start] + each.text + text[each.end :]
    return text


def edit(
    text: str, name: str, code: str, changes: Sequence[str] = (), path: str = "inventory.py"
) -> DefinitionEdit | EditRefused:
    (made,) = edit_definitions(path, text, [NamedCode(name, code)], changes)
    return made


def edited(text: str, name: str, code: str, changes: Sequence[str] = ()) -> str:
    made = edit(text, name, textwrap.dedent(code), changes)
    assert isinstance(made, DefinitionEdit), made
    return spliced(text, made.splices)


def refused(text: str, name: str, code: str, changes: Sequence[str] = ()) -> str:
    made = edit(text, name, textwrap.dedent(code), changes)
    assert isinstance(made, EditRefused), made
    return made.reason


def swapped(old: str, new: str) -> str:
    assert MODULE.count(old) == 1
    return MODULE.replace(old, new)


REMOVE = '        text = """\nleft\n"""\n        return text\n'


@pytest.mark.parametrize(
    ("name", "code", "result"),
    [
        (
            "count",
            "@staticmethod\ndef count(things):\n    return 1\n",
            swapped("    return len(things)\n", "    return 1\n"),
        ),
        # Comments above stay, and are not doubled by a block that repeats them.
        (
            "count",
            "# How many there are.\n@staticmethod\ndef count(things):\n    return 1\n",
            swapped("    return len(things)\n", "    return 1\n"),
        ),
        # Decorators that the block leaves out stay.
        (
            "count",
            "def count(things):\n    return 1\n",
            swapped("    return len(things)\n", "    return 1\n"),
        ),
        (
            "count",
            "@cache\nasync def count(things):\n    return 1\n",
            swapped(
                "@staticmethod\ndef count(things):\n    return len(things)\n",
                "@cache\nasync def count(things):\n    return 1\n",
            ),
        ),
        # A dedented method is indented as in the file, but for the text of its strings.
        (
            "Inventory.remove",
            'def remove(self, name):\n    """Drop\n    it."""\n    return """\nx\n"""\n',
            swapped(REMOVE, '        """Drop\n        it."""\n        return """\nx\n"""\n'),
        ),
        (
            "remove",
            "    def remove(self, name):\n        return name\n",
            swapped(REMOVE, "        return name\n"),
        ),
        (
            "Inventory.size",
            "@size.setter\ndef size(self, value):\n    self.value = 1\n",
            swapped("self.value = value", "self.value = 1"),
        ),
        (
            "Shelf.height",
            "def height(self):\n    return 3\n",
            swapped("            return 2\n", "            return 3\n"),
        ),
        ("root", "def root():\n    return '.'\n", swapped('return "/"', "return '.'")),
        (
            "Inventory.add",
            "def add(self):\n    pass\n",
            swapped(
                "            return 2\n",
                "            return 2\n\n    def add(self):\n        pass\n",
            ),
        ),
        (
            "fresh",
            "def fresh():\n    pass\n",
            swapped('        return "/"\n', '        return "/"\n\n\ndef fresh():\n    pass\n'),
        ),
        # The class around the method is merged: what it does not have stays.
        (
            "Inventory.remove",
            "class Inventory:\n    def remove(self, name):\n        return name\n",
            swapped(REMOVE, "        return name\n"),
        ),
        (
            "Inventory",
            "class Inventory(list):\n    owner: str = 'me'\n    size_limit = 1\n    ...\n",
            swapped("Inventory(dict)", "Inventory(list)").replace(
                '    owner: str = ""\n', "    owner: str = 'me'\n    size_limit = 1\n"
            ),
        ),
        (
            "count",
            "import sys\nfrom os import path\n\ndef count(things):\n    return 1\n",
            swapped("    return len(things)\n", "    return 1\n").replace(
                "from typing import", "import sys\nfrom os import path\nfrom typing import"
            ),
        ),
    ],
)
def test_a_definition_is_replaced_where_it_is_and_added_where_it_is_not(
    name: str, code: str, result: str
) -> None:
    assert edited(MODULE, name, code) == result
    # The same file with CRLF line ends keeps them, and gets no other.
    made = edit(MODULE.replace("\n", "\r\n"), name, code)
    assert isinstance(made, DefinitionEdit)
    assert spliced(MODULE.replace("\n", "\r\n"), made.splices) == result.replace("\n", "\r\n")


@pytest.mark.parametrize(
    ("text", "name", "code", "result"),
    [
        ("", "f", "def f(): pass", "def f(): pass\n"),
        ("x = 1", "f", "def f(): pass", "x = 1\n\n\ndef f(): pass"),
        ("def f(): pass", "f", "def f(): return 1", "def f(): return 1"),
        ("class E(Exception): pass\n", "E.f", "def f(self): ...", None),
        ("class A:\n\tdef f(self):\n\t\treturn 1\n", "A.f", "def f(self):\n    return 2", None),
        ("#!/usr/bin/python\ndef f():\n    pass\n", "f", "import os\ndef f():\n    os\n", None),
    ],
)
def test_odd_files_are_edited_too(text: str, name: str, code: str, result: str | None) -> None:
    after = edited(text, name, code)
    ast.parse(after)
    if result is not None:
        assert after == result
    if "\t" in text:
        assert after == "class A:\n\tdef f(self):\n\t\treturn 2\n"
    if text.startswith("#!"):
        assert after.startswith("#!/usr/bin/python\nimport os\n\n\ndef f():\n    os\n")


@pytest.mark.parametrize(
    ("name", "code", "reason"),
    [
        ("count", "def other(): pass", "names `count`, but the block defines `other`"),
        ("count", "def count(:\n", "the block does not parse"),
        ("size", "x = 1\ndef size(self): pass", "only imports may stand there"),
        ("count", "LIMIT = 3", "names `count`, which the block does not define"),
        ("imports", "print(1)", "which has no name in the file"),
        ("LIMIT", "LIMIT = 3", "changes nothing"),
        ("count", "def count(things):\n    x = 1\n    ...\n", "among its statements"),
        ("count", "def count(things): ...", "`count` has no body"),
        ("count", "@staticmethod\ndef count(things):\n    return len(things)", "changes nothing"),
        ("count", "class count: pass", "is a function in the file"),
        ("count", "import sys as os\ndef count(): pass", "`os` is something else in the file"),
        ("count x", "def count(): pass", "is not a name"),
        ("Lost.count", "def count(self): pass", "no class `Lost`"),
        ("count.inner", "def inner(self): pass", "class `count`"),
        ("size", "def a(): pass\ndef size(self): pass\ndef size(self): pass", "`size` twice"),
    ],
)
def test_what_has_no_one_meaning_is_refused(name: str, code: str, reason: str) -> None:
    assert reason in refused(MODULE, name, code)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("def f(): pass\ndef f(): return 1\n", "defined 2 times, on lines 1 and 2"),
        ("if x:\n    def f(): pass\nelse:\n    def f(): return 1\n", "on lines 2 and 4"),
        ("class A:\n    def f(self): pass\nclass B:\n    def f(self): pass\n", "any of A.f, B.f"),
        ("def f(:\n    pass\n", "does not parse: line 1"),
        ("def f():\r    pass\r", "single CR"),
    ],
)
def test_a_name_that_is_defined_twice_or_a_file_that_does_not_parse_is_refused(
    text: str, reason: str
) -> None:
    assert reason in refused(text, "f", "def f(self):\n    return 5\n")


def test_a_definition_beside_code_that_does_not_parse_is_edited() -> None:
    text = "class A:\n    def f(self): pass\n\nclass B(:\n    def f(self): pass\n\nX = 1\n"
    assert edited(text, "A.f", "def f(self): return 1") == text.replace("pass", "return 1", 1)
    assert "does not parse: line 4" in refused(text, "B.f", "def f(self): return 1")


def test_a_name_that_the_order_changes_may_give_way_to_another() -> None:
    code = "def total(things):\n    return 1\n"
    changed = swapped("def count(things):\n    return len(things)\n", code)
    assert edited(MODULE, "count", code, ["count()"]) == changed


OVERLOADS = """\
@overload
def f(x: int) -> int: ...
@overload
def f(x: str) -> str: ...
def f(x):
    return x
"""


def test_overloads_are_one_definition_and_none_of_them_is_lost() -> None:
    assert edited(OVERLOADS, "f", "def f(x):\n    return 1\n").endswith("def f(x):\n    return 1\n")
    one = "@overload\ndef f(x: int) -> int: ...\ndef f(x):\n    return 1\n"
    assert "has 2 overloads, and the block only 1" in refused(OVERLOADS, "f", one)
    more = OVERLOADS.replace("str", "bytes")
    assert edited(OVERLOADS, "f", more) == more


def test_several_edits_of_one_file_are_made_of_the_same_text() -> None:
    edits = [
        NamedCode("Inventory.Shelf.width", "def width(self): return 1"),
        NamedCode("Inventory.add", "def add(self): return 2"),
        NamedCode("fresh", "def fresh(): return 3"),
    ]
    made = edit_definitions("inventory.py", MODULE, edits, ())
    splices = [each for one in made if isinstance(one, DefinitionEdit) for each in one.splices]
    after = ast.parse(spliced(MODULE, splices))
    inventory = next(node for node in after.body if isinstance(node, ast.ClassDef))
    names = [
        node.name for node in inventory.body if isinstance(node, ast.FunctionDef | ast.ClassDef)
    ]
    assert names == ["remove", "size", "size", "Shelf", "add"]
    assert "width" in ast.unparse(inventory.body[-2])


def test_a_method_without_its_class_goes_into_the_only_class() -> None:
    text = "class A:\n    def f(self):\n        return 1\n"
    made = edit(text, "g", "def g(self):\n    return 2\n")
    assert isinstance(made, DefinitionEdit)
    assert made.repairs == ("`g` was read as `A.g`",)
    two = text + "class B:\n    pass\n"
    assert "write its class before it" in refused(two, "g", "def g(self):\n    return 2\n")


@pytest.mark.parametrize(
    "code",
    [
        "x = " + "a + " * 3000 + "a\ndef f(): pass",
        f"@{'a.' * 3000}a\ndef f(): return 1",
        "(" * 9999,
    ],
)
def test_code_that_is_nested_too_deep_is_an_edit_or_a_reason(code: str) -> None:
    made = edit("@deco\ndef f(): pass\n", "f", code)
    assert made.reason if isinstance(made, EditRefused) else made.splices


@st.composite
def modules(draw: st.DrawFn) -> str:
    """Return a module of functions and classes with strings and comments that mislead."""
    parts: list[str] = ['"""Module.\n\ndef f(): not code\n"""\n\n']
    for number in range(draw(st.integers(1, 4))):
        body = draw(
            st.sampled_from(
                [
                    "return 1",
                    'text = """\ndef f():\nclass g:\n@h\n"""',
                    'return \'#\' # """ def f(',
                    "if x:\n        def inner(): pass",
                    "return {\n'a': 1\n}",
                ]
            )
        )
        is_class = draw(st.booleans())
        decorator = draw(st.sampled_from(["", "@deco\n", "@deco(\n1)\n"]))
        method = textwrap.indent(f"def method(self):\n    {body}\n", "    ", lambda line: True)
        if is_class and '"""' not in body:
            parts.append(f"{decorator}class C{number}:\n{method}\n\n")
        else:
            parts.append(f"{decorator}async def f{number}():\n    {body}\n\n\n")
        parts.append(draw(st.sampled_from(["", "# def f():\n", "VALUE = (\n'''def f():'''\n)\n"])))
    return "".join(parts)


@given(modules())
def test_the_chunks_of_a_module_are_the_module_and_parse_each_by_itself(text: str) -> None:
    chunks = split_chunks(text)
    assert "".join(each.text for each in chunks) == text
    statements = [ast.dump(node) for each in chunks for node in ast.parse(each.text).body]
    assert statements == [ast.dump(node) for node in ast.parse(text).body]


@given(modules(), st.sampled_from(["\n", "\r\n"]), st.booleans(), st.data())
def test_only_the_lines_of_the_named_definition_change(
    text: str, newline: str, final: bool, data: st.DataObject
) -> None:
    tree = ast.parse(text)
    nodes = [node for node in tree.body if isinstance(node, ast.AsyncFunctionDef)]
    if not nodes:
        return
    node = data.draw(st.sampled_from(nodes))
    text = text if final else text.removesuffix("\n")
    lines = text.split("\n")
    start = min([node.lineno, *(each.lineno for each in node.decorator_list)]) - 1
    new = ["@other", f"async def {node.name}(a):", "    return a"]
    expected = newline.join([*lines[:start], *new, *lines[node.end_lineno :]])
    assert edited(text.replace("\n", newline), node.name, "\n".join(new)) == expected


@given(st.text(max_size=60), st.text(max_size=12), modules() | st.text(max_size=60))
def test_whatever_is_written_is_an_edit_or_a_reason(code: str, name: str, text: str) -> None:
    made = edit(text, name, code)
    assert made.reason if isinstance(made, EditRefused) else made.splices


def test_names_are_read_from_lines_that_do_not_parse() -> None:
    fragment = "    return 1\n\ndef f(\n    def inner():\nclass A:\n    def g(self):\nasync def h"
    assert defined_names(fragment) == ("f", "A", "g", "h")


HEAD = (
    '"""Keep things."""\n\nimport os\n\n__all__ = ["count"]\n\n\ndef count():\n    return os.name\n'
)


@pytest.mark.parametrize(
    ("name", "code", "old", "new"),
    [
        ("__all__", '__all__ = ["count", "name"]\n', '["count"]', '["count", "name"]'),
        ("imports", "import os\nimport sys\n", "import os\n", "import os\nimport sys\n"),
        ("imports", '"""Keep all."""\nimport os\n', "Keep things.", "Keep all."),
        ("__doc__", '"""Keep all.\n\nReally.\n"""\n', "Keep things.", "Keep all.\n\nReally.\n"),
        ("LIMIT", "LIMIT: int = 3\n", '["count"]\n', '["count"]\nLIMIT: int = 3\n'),
        (
            "count",
            '__all__ = []\n\ndef count():\n    return ""\n',
            '["count"]\n\n\ndef count():\n    return os.name\n',
            '[]\n\n\ndef count():\n    return ""\n',
        ),
    ],
)
def test_imports_variables_and_the_docstring_have_a_short_form(
    name: str, code: str, old: str, new: str
) -> None:
    assert HEAD.count(old) == 1
    assert edited(HEAD, name, code) == HEAD.replace(old, new)


CLASS = """\
class Box(dict):
    \"\"\"Hold.\"\"\"

    width: int = 1
    # In metres.
    height: int = 2

    def a(self):
        return 1


    # Two lines above.
    @property
    def b(self):
        return 2
    def c(self):
        return 3

    class Lid:
        pass

    def d(self):
        return 4


"""
MEMBERS = {
    "    depth: int = 3\n": ["    # In metres.\n", "    width: int = 1\n"],
    "    def e(self):\n        return 5\n\n": [
        "    def a(self):\n",
        "    # Two lines above.\n",
        "    class Lid:\n",
        "    def d(self):\n",
    ],
}
PLACES = [(member, place) for member, places in MEMBERS.items() for place in places]


@pytest.mark.parametrize(("member", "place"), PLACES)
@pytest.mark.parametrize("below", ["", "\n\nx = 1\n", "class Other:\n    pass\n"])
def test_a_class_that_is_given_whole_reads_as_it_was_given(
    member: str, place: str, below: str
) -> None:
    wanted = CLASS.replace(place, member + place)
    assert edited(CLASS + below, "Box", wanted) == wanted + below


def test_a_new_definition_goes_where_its_block_has_it_or_beside_the_blocks_around_it() -> None:
    text = "def a():\n    return 1\n\n\ndef b():\n    return 2\n\n\ndef c():\n    return 3\n"
    new = "def new():\n    return 0\n"
    between = text.replace("def b", f"{new}\n\ndef b")
    above = edited(text, "a", f"def a():\n    return 1\n\n\n{new}")
    assert above == between
    below = edited(text, "new", f"{new}\n\ndef b():\n    return 2\n")
    assert below == between
    blocks = [NamedCode("a", "def a():\n    return 7\n"), NamedCode("new", new)]
    made = edit_definitions("a.py", text, blocks, ())
    splices = [each for one in made if isinstance(one, DefinitionEdit) for each in one.splices]
    assert spliced(text, splices) == between.replace("return 1", "return 7")
    made = edit_definitions("a.py", text, [blocks[1], NamedCode("b", "def b(): pass")], ())
    splices = [each for one in made if isinstance(one, DefinitionEdit) for each in one.splices]
    assert "return 1\n\n\ndef new():\n    return 0\n\n\ndef b(): pass\n" in spliced(text, splices)
    alone = edit(text, "new", new)
    assert isinstance(alone, DefinitionEdit)
    assert alone.repairs == ("`new` is new, and was put at the end of inventory.py",)


@pytest.mark.parametrize("text", ["#!/usr/bin/env python3", "# coding: utf-8"])
def test_a_file_of_one_comment_gets_its_first_code(text: str) -> None:
    assert edited(text, "imports", "import os\n").startswith(f"{text}\nimport os\n")


def test_a_function_without_self_is_no_method_of_that_name() -> None:
    text = "class Game:\n    def run(self):\n        return 1\n"
    assert (
        edited(text, "run", "def run():\n    return 2\n") == f"{text}\n\ndef run():\n    return 2\n"
    )


def test_a_file_with_a_byte_order_mark_is_edited() -> None:
    text = "\ufeffX = 1\n\n\ndef a():\n    return 1\n"
    assert edited(text, "a", "def a():\n    return 2\n") == text.replace("return 1", "return 2")


@pytest.mark.parametrize("first", ["X = 1\n", "# a comment\nX = 1\n", "def a():\n    return 1\n"])
def test_a_byte_order_mark_stays_before_all_else(first: str) -> None:
    text = edited(f"\ufeff{first}", "imports", "import os\n")
    assert text.startswith("\ufeff") and text.count("\ufeff") == 1 and "import os" in text
