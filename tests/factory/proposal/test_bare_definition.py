"""A block without a header is the definition that was asked for, or it is asked for again."""

from __future__ import annotations

import pytest

from factory.orders.documents import ReplyFormat
from factory.proposal.read_reply import BlocksRefused, parse_proposal
from factory.proposal.scope import FileKind, FileState
from factory.proposal.shown_code import Focus
from shared.work_order.parse_order import sha256_bytes

TEXT = '''"""Shapes."""

import math


class Circle:
    def area(self):
        return 3 * self.r**2

    def name(self):
        return "circle"


class Square:
    def area(self):
        return self.a * self.a


def total(shapes):
    return sum(each.area() for each in shapes)
'''
AREA = "    def area(self):\n        return 3 * self.r**2"
FOCUS = Focus("shapes.py", "Circle.area", AREA)


def read(*blocks: str, text: str = TEXT, focus: Focus = FOCUS) -> str:
    """Return the file that a reply of these blocks makes of `text`."""
    reply = "Here it is:\n\n" + "\n".join(f"```python\n{each}```\n" for each in blocks)
    shown = {focus.path: FileState(FileKind.FILE, sha256_bytes(text.encode()))}
    (write,) = parse_proposal(
        reply, ReplyFormat.EDITS, shown, [focus.path], texts={focus.path: text}, focus=focus
    ).proposal.writes
    assert write.path == focus.path
    return write.content


BETTER = TEXT.replace("3 * self.r", "math.pi * self.r", 1)


@pytest.mark.parametrize(
    "code",
    [
        "def area(self):\n    return math.pi * self.r**2\n",
        "    def area(self):\n        return math.pi * self.r**2\n",
        "import math\n\n\ndef area(self):\n    return math.pi * self.r**2\n",
        "class Circle:\n    def area(self):\n        return math.pi * self.r**2\n",
        BETTER,
    ],
    ids=["at the margin", "as in the file", "with an import", "in its class", "in its file"],
)
def test_the_definition_that_was_asked_for_goes_where_it_was(code: str) -> None:
    assert read(code) == BETTER


def test_another_definition_of_which_there_is_one_is_taken_by_its_name() -> None:
    code = "def total(shapes):\n    return sum(each.area() for each in shapes if each)\n"
    assert read(code) == TEXT.replace("for each in shapes)", "for each in shapes if each)")


def test_several_blocks_are_several_definitions() -> None:
    name = "def name(self):\n    return 'disc'\n"
    expected = BETTER.replace('"circle"', "'disc'")
    assert read("def area(self):\n    return math.pi * self.r**2\n", name) == expected


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("def volume(self):\n    return 0\n", "does not have it: give the whole of `Circle.area`"),
        ("return math.pi * self.r**2\n", "it defines nothing: give the whole of `Circle.area`"),
        ("def area(self):\n    return 3 * self.r**2\n", "changes nothing"),
        ("def area(self):\n    ...\n    return 3\n", "write all of them"),
        ("def area(self:\n", "does not parse"),
    ],
    ids=["not in the file", "no definition", "as it is", "left out", "no code"],
)
def test_what_cannot_be_applied_is_said_precisely(code: str, reason: str) -> None:
    with pytest.raises(BlocksRefused, match=reason.replace("(", r"\(")):
        read(code)


def test_a_name_of_two_definitions_is_not_guessed() -> None:
    total = Focus("shapes.py", "total", "def total(shapes):\n    return 0")
    with pytest.raises(BlocksRefused, match=r"may be any of Circle\.area, Square\.area"):
        read("def area(self):\n    return 1\n", focus=total)


def test_a_header_is_read_as_ever() -> None:
    reply = "```shapes.py::Square.area\ndef area(self):\n    return self.a**2\n```\n"
    shown = {"shapes.py": FileState(FileKind.FILE, sha256_bytes(TEXT.encode()))}
    texts = {"shapes.py": TEXT}
    (write,) = parse_proposal(
        reply, ReplyFormat.EDITS, shown, ["shapes.py"], texts=texts, focus=FOCUS
    ).proposal.writes
    assert write.content == TEXT.replace("self.a * self.a", "self.a**2")


def test_a_method_of_javascript_is_taken_by_its_name() -> None:
    text = (
        "class Game {\n  play(n) {\n    return n;\n  }\n\n  end() {\n    return 0;\n  }\n}\n\n"
        "class Match {\n  play(n) {\n    return 0;\n  }\n}\n\nexport { Game, Match };\n"
    )
    focus = Focus("game.js", "Game.play", "  play(n) {\n    return n;\n  }")
    code = "  play(n) {\n    return n + 1;\n  }\n"
    assert read(code, text=text, focus=focus) == text.replace("return n;", "return n + 1;")
