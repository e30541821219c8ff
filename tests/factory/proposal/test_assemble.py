"""Blocks become whole files, all of them or none; what is refused says why, and where."""

from __future__ import annotations

import itertools
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factory.orders.documents import MAX_EDITED_BYTES
from factory.proposal.assemble_edits import Assembled, Present, assemble
from factory.proposal.edit_blocks import (
    Block,
    DefinitionBlock,
    FileBlock,
    SearchBlock,
    find_placeholder,
)

TEXT = """\
import os


def first(x):
    return x


def second(x):
    return x


class Third:
    def run(self):
        return os.name
"""
PAGE = "# Title\n\nText\n"
PRESENT = Present(("a.py", "page.md", "new.py"), {"a.py": TEXT, "page.md": PAGE, "other.py": "x\n"})


def made(*blocks: Block, present: Present = PRESENT) -> Assembled:
    return assemble(blocks, present)


def test_blocks_of_several_forms_become_whole_files_in_the_replys_sequence() -> None:
    result = made(
        SearchBlock("page.md", "Text\n", "Words\n"),
        FileBlock("new.py", "x = 1\n"),
        DefinitionBlock("a.py", "first", "def first(x):\n    return 1\n"),
        DefinitionBlock("a.py", "run", "def run(self):\n    return 2\n"),
        SearchBlock("page.md", "# Title\n", "# Name\n"),
    )
    text = TEXT.replace("(x):\n    return x", "(x):\n    return 1", 1).replace("os.name", "2")
    assert result.files == (
        ("page.md", "# Name\n\nWords\n"),
        ("new.py", "x = 1\n"),
        ("a.py", text),
    )
    assert result.refusals == ()
    assert result.repairs == ("a.py: `run` was read as `Third.run`",)


@pytest.mark.parametrize(
    ("block", "reason", "line", "matches"),
    [
        (SearchBlock("a.py", "def frist(x):\n", "y\n"), "is not in the file", 3, 0),
        (SearchBlock("a.py", "    return x\n", "y\n"), "matches 2 times, on lines 5, 9", 4, 2),
        (SearchBlock("a.py", " \n", "y\n"), "search text is empty", 0, 0),
        (SearchBlock("a.py", "import os\n", "import os\n"), "changes nothing", 0, 1),
        (
            SearchBlock("a.py", "import os\n", "import os\n# ... rest of the code unchanged ...\n"),
            "stands for lines that are left out",
            0,
            None,
        ),
        (
            SearchBlock("a.py", "def first(x):\n    return x\n", "first = int\n"),
            "`first` is lost",
            0,
            None,
        ),
        (SearchBlock("other.py", "x\n", "y\n"), "may not be written; write only: a.py", 0, None),
        (SearchBlock("new.py", "x\n", "y\n"), "does not exist yet: write the whole file", 0, None),
        (DefinitionBlock("new.py", "f", "def f(): pass"), "does not exist yet", 0, None),
        (DefinitionBlock("page.md", "f", "def f(): pass"), "cannot be named", 0, None),
        (DefinitionBlock("a.py", "first", "def f(x): pass"), "the block defines `f`", 0, None),
        (
            DefinitionBlock("a.py", "first", "def first(x):\n    # existing code here\n    y\n"),
            "`# existing code here` stands for",
            0,
            None,
        ),
        (FileBlock("a.py", "import os\n# ... (rest unchanged)\n"), "stands for lines", 0, None),
    ],
)
def test_a_block_that_cannot_be_applied_is_refused_with_the_nearest_lines(
    block: Block, reason: str, line: int, matches: int | None
) -> None:
    good = FileBlock("new.py", "x = 1\n") if block.path != "new.py" else FileBlock("b", "")
    (refusal,) = made(good, block).refusals
    assert refusal.index == 1
    assert refusal.block == block
    assert reason in refusal.reason
    assert (refusal.line, refusal.matches) == (line, matches)
    assert bool(refusal.nearest) is bool(line)
    if line:
        assert refusal.nearest in f"\n{TEXT}"


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("def x(self) -> int:  # pragma: no cover\n    ...\n", ""),
        ("@overload\ndef x(self) -> int:\n    # as in the base\n    ...\n", ""),
        ("x = 1\n...\n", "..."),
        ("x = 1  # see y:\n...\n", "..."),
        ("def x():\n    # existing code here\n    ...\n", "# existing code here"),
    ],
)
def test_dots_are_the_body_of_what_is_opened_above_them(code: str, found: str) -> None:
    assert find_placeholder("a.py", code, "") == found


def test_a_file_of_which_parts_were_shown_is_not_written_whole() -> None:
    present = Present(("a.py",), {"a.py": TEXT}, parted=("a.py",))
    (refusal,) = made(FileBlock("a.py", "x = 1\n"), present=present).refusals
    assert refusal.reason == "only parts of it were shown: write the parts that change"
    edit = SearchBlock("a.py", "import os\n", "import sys\n")
    assert made(edit, present=present).refusals == ()


@pytest.mark.parametrize(
    "line",
    [
        "# ... existing code ...",
        "// rest of the code remains the same",
        "# rest of the file unchanged",
        "# The rest of the class stays as it is.",
        "// existing code...",
        "# keep the rest as before ...",
        "# other methods remain unchanged",
        "# Remaining methods go here",
        "/* ... rest of implementation ... */",
        "-- previous lines: unchanged",
    ],
)
def test_what_stands_for_lines_is_found(line: str) -> None:
    assert find_placeholder("a.py", f"x = 1\n{line}\n", "x = 1\n") == line


@pytest.mark.parametrize(
    "line",
    [
        "# the rest of the line is the value",
        "# The rest of the file is ignored",
        "// Try the other side...",
        "# Keep going until nothing changes...",
        "# loading the remaining pages ...",
        "# existing files are kept for a week",
        "// the remaining methods are for tests",
        "# other fields are ignored",
        "# rest of the body is read lazily",
    ],
)
def test_a_comment_that_says_something_stands_for_no_lines(line: str) -> None:
    assert find_placeholder("a.py", f"x = 1\n{line}\n", "x = 1\n") == ""


@pytest.mark.parametrize(
    ("blocks", "reason"),
    [
        ([FileBlock("a.py", "x\n"), SearchBlock("a.py", "import os\n", "")], "in two ways"),
        (
            [
                DefinitionBlock("a.py", "first", "def first(x):\n    return 1\n"),
                SearchBlock("a.py", "def first(x):\n    return x\n", "def first(x, y):\n    y\n"),
            ],
            "changes the same lines as the search text of a.py that begins with `def first(x):`",
        ),
        (
            [
                DefinitionBlock("a.py", "first", "def first(x): return 1"),
                DefinitionBlock("a.py", "first", "def first(x): return 2"),
            ],
            "changes the same lines as the definition `first` of a.py",
        ),
        (
            [
                SearchBlock("a.py", "import os\n\n\ndef first(x):\n", "def first(x):\n"),
                SearchBlock("a.py", "def first(x):\n    return x\n", "def first(x): pass\n"),
            ],
            "changes the same lines as the search text",
        ),
    ],
)
def test_blocks_that_contradict_each_other_are_all_refused(
    blocks: list[Block], reason: str
) -> None:
    result = made(*blocks)
    assert [each.index for each in result.refusals] == [0, 1]
    assert all(reason in each.reason for each in result.refusals[:1])
    assert result.files == ()


def test_definitions_and_search_texts_of_one_file_are_both_applied_in_any_sequence() -> None:
    blocks: list[Block] = [
        SearchBlock("a.py", "import os\n", "import os\nimport sys\n\n__all__ = ['first']\n"),
        DefinitionBlock("a.py", "Third.stop", "import sys\n\ndef stop(self):\n    sys.exit()\n"),
        SearchBlock("a.py", "class Third:\n", "class Third(int):\n"),
        DefinitionBlock("a.py", "second", "def second(x):\n    return 2\n"),
    ]
    expected = (
        TEXT.replace("import os\n", "import os\nimport sys\n\n__all__ = ['first']\n")
        .replace("second(x):\n    return x", "second(x):\n    return 2")
        .replace("Third:", "Third(int):")
    )
    expected += "\n    def stop(self):\n        sys.exit()\n"
    for sequence in itertools.permutations(blocks):
        result = made(*sequence)
        assert result.refusals == ()
        assert result.files == (("a.py", expected),)


def test_a_definition_that_moves_or_that_the_order_names_is_not_lost() -> None:
    cut = SearchBlock("a.py", "def first(x):\n    return x\n\n\ndef second", "def second")
    cut = SearchBlock("a.py", "def first(x):\n    return x\n", "")
    moved = SearchBlock("a.py", "import os\n", "import os\n\n\ndef first(x):\n    return x\n")
    assert made(cut, moved).refusals == ()
    meant = Present(PRESENT.allowed, PRESENT.texts, ("first",))
    assert made(cut, present=meant).refusals == ()


def test_an_existing_placeholder_stays_and_a_stub_may_have_one() -> None:
    text = "# ...\nx = 1\n"
    present = Present(("a.py",), {"a.py": text})
    assert made(FileBlock("a.py", "# ...\nx = 2\n"), present=present).refusals == ()
    stub = SearchBlock("a.py", "x = 1\n", "def f(x: int) -> int:\n    ...\n")
    assert made(stub, present=present).refusals == ()


def test_a_file_of_two_megabytes_can_be_changed_and_a_longer_one_cannot() -> None:
    text = "first\n" + "x" * (MAX_EDITED_BYTES - 6)
    block = SearchBlock("a.txt", "first\n", "other\n")
    result = made(block, present=Present(("a.txt",), {"a.txt": text}))
    assert result.files == (("a.txt", text.replace("first", "other")),)
    longer = made(block, present=Present(("a.txt",), {"a.txt": text + "xx"}))
    assert "too many to be changed" in longer.refusals[0].reason


lines = st.lists(st.sampled_from(["a", "b", "c", "d", ""]), min_size=1, max_size=9, unique=True)


@given(lines, st.data())
def test_disjoint_edits_of_a_file_give_what_a_list_of_lines_gives_whatever_their_sequence(
    file: list[str], data: st.DataObject
) -> None:
    new = {
        line: data.draw(st.lists(st.sampled_from(["x", "y", " z"]), max_size=3)) for line in file
    }
    sought = [line for line in file if line]
    blocks = [
        SearchBlock("a.txt", f"{line}\n", "".join(f"{each}\n" for each in new[line]))
        for line in data.draw(st.permutations(sought))
    ]
    text = "".join(f"{line}\n" for line in file)
    result = made(*blocks, present=Present(("a.txt",), {"a.txt": text}))
    assert result.refusals == ()
    expected = [each for line in file for each in (new[line] if line else [line])]
    assert blocks == [] or result.files == (("a.txt", "".join(f"{each}\n" for each in expected)),)


@given(st.data())
def test_one_refused_block_of_a_file_leaves_no_file_of_it(data: st.DataObject) -> None:
    good: list[Block] = [
        SearchBlock("a.py", "import os\n", "import sys\n"),
        SearchBlock("a.py", "class Third:\n", "class Third(int):\n"),
    ]
    bad = SearchBlock(
        "a.py", data.draw(st.sampled_from(["", "def lost():\n", "    return x\n"])), ""
    )
    blocks = data.draw(st.permutations([*good, bad]))
    result = made(*blocks)
    assert result.files == ()
    assert [each.block for each in result.refusals] == [bad]


def test_many_blocks_that_are_not_found_are_refused_in_little_time() -> None:
    text = "".join(f"value_{n} = compute({n}, {n})\n" for n in range(20_000))
    blocks = [SearchBlock("a.py", f"value_{n} = compute({n}, 0)\n", "x\n") for n in range(1, 201)]
    started = time.process_time()
    result = made(*blocks, present=Present(("a.py",), {"a.py": text}))
    assert time.process_time() - started < 10
    assert len(result.refusals) == 200
