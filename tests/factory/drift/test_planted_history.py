"""What people do to landed requirements later, and the state that each then has.

The states of a case are those that differ from what holds where nobody did anything.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.factory.drift.landed_shop import (
    CONFTEST,
    GREETING_TEST,
    PYTEST_INI,
    SHOP,
    drift_of,
    row,
    states,
)
from tests.factory.drift.test_bisection import bisected
from tests.harness import commit_all, git
from tests.scale import sampled

PROVEN = {"R1": "proven", "R2": "proven", "R3": "proven", "R4": "unproven"}
SHOP_TEST = "tests/test_shop.py"
Act = Callable[[Path], object]


def rewriting(path: str, edit: Callable[[str], str]) -> Act:
    """Return what commits an edit of a file, which has to change something."""

    def act(repo: Path) -> None:
        before = (repo / path).read_text()
        assert edit(before) != before
        commit_all(repo, {path: edit(before)})

    return act


def replacing(path: str, old: str, new: str) -> Act:
    return rewriting(path, lambda text: text.replace(old, new))


def writing(**files: str) -> Act:
    """Return what commits files; a name has `__` for a slash and `_dot_` for a dot."""
    named = {key.replace("__", "/").replace("_dot_", "."): text for key, text in files.items()}
    return lambda repo: commit_all(repo, named)


def running(*commands: str) -> Act:
    return lambda repo: [git(repo, *each.split(" ")) for each in commands]


def both(*acts: Act) -> Act:
    return lambda repo: [act(repo) for act in acts]


def merging(act: Act) -> Act:
    """Return what does something on a branch of its own, and merges that."""
    return both(
        running("switch --quiet --create side HEAD~1"),
        act,
        running("switch --quiet work", "merge --quiet --no-ff --no-edit side"),
    )


def squashing(repo: Path) -> None:
    """Squash all that landed, as a forge does, into one commit without the orders' trailers."""
    git(repo, "switch", "--quiet", "--create", "squashed", "main")
    git(repo, "merge", "--quiet", "--squash", "work")
    git(repo, "commit", "--quiet", "--message=Everything (#1)")


def reformatted(text: str) -> str:
    text = text.replace("(0, 0),\n    (1, 3),\n    (2, 6),\n", "(0,0), (1,3),\n  (2,6)")
    return re.sub(r"\n\n+", "\n\n", text).replace("    assert price(n)", "  assert price( n )")


PATCHED = f"{CONFTEST}\nimport shop\n\nshop.price = lambda n: 3 * n\n"
SKIPPING = (
    f"{CONFTEST}\n\ndef pytest_collection_modifyitems(items):\n"
    "    for each in items:\n        if 'grows' in each.name:\n"
    "            each.add_marker(pytest.mark.skip(reason='slow'))\n"
)
DROPPING = (
    f"{CONFTEST}\n\ndef pytest_collection_modifyitems(items):\n"
    "    items[:] = [each for each in items if 'grows' not in each.name]\n"
)

CASES: Mapping[str, tuple[Act, Mapping[str, str]]] = {
    "softened by one operator": (
        replacing(SHOP_TEST, "price(n) == cents", "price(n) >= cents"),
        {"R1": "weakened"},
    ),
    "a skip mark": (
        replacing(SHOP_TEST, "def test_a_price", "@pytest.mark.skip\ndef test_a_price"),
        {"R1": "weakened"},
    ),
    "skipped by conftest": (
        writing(tests__conftest_dot_py=SKIPPING),
        {"R1": "weakened", "R3": "weakened"},  # both have the same command
    ),
    "left out by conftest": (
        writing(tests__conftest_dot_py=DROPPING),
        {"R1": "weakened", "R3": "weakened"},
    ),
    "skipped, with tests added that hide it": (
        both(
            writing(tests__conftest_dot_py=SKIPPING),
            rewriting(SHOP_TEST, lambda text: f"{text}\n\ndef test_more():\n    pass\n"),
        ),
        {"R1": "weakened", "R3": "weakened"},
    ),
    "a test deleted": (
        rewriting(SHOP_TEST, lambda text: re.sub(r"(?s)def test_a_price.*?\n\n\n", "", text)),
        {"R1": "weakened"},
    ),
    "a test renamed": (replacing(SHOP_TEST, "test_a_price", "check_a_price"), {"R1": "weakened"}),
    "the test file deleted": (
        running(f"rm --quiet {SHOP_TEST}", "commit --quiet --message=less"),
        {"R1": "weakened", "R3": "weakened"},
    ),
    "a case removed from the table": (
        replacing(SHOP_TEST, "    (1, 3),\n", ""),
        {"R1": "weakened"},
    ),
    "a case changed in the table": (replacing(SHOP_TEST, "(1, 3)", "(1, 3.0)"), {"R1": "weakened"}),
    "a case added to the table": (replacing(SHOP_TEST, "(1, 3),", "(1, 3),\n    (5, 15),"), {}),
    "an import that leads elsewhere": (
        both(
            writing(fake_dot_py="def price(n):\n    return 3 * n\n"),
            replacing(SHOP_TEST, "from shop import price", "from fake import price"),
        ),
        {"R1": "weakened"},
    ),
    "broken code": (replacing("shop.py", "3 * n", "4 * n"), {"R1": "broken", "R3": "broken"}),
    "broken code of one order": (replacing("shop.py", "sum(", "max("), {"R3": "broken"}),
    "broken code and a softened test": (
        both(
            replacing("shop.py", "3 * n", "4 * n"),
            replacing(SHOP_TEST, "price(n) == cents", "price(n) >= cents"),
        ),
        {"R1": "broken", "R3": "broken"},
    ),
    "code and its tests changed alike": (
        both(
            replacing("greeting.py", "{WORD}!", "{WORD}"),
            replacing("tests/test_greeting.py", '"Hello!"', '"Hello"'),
        ),
        {"R2": "broken"},
    ),
    "a data file changed": (writing(word_dot_txt="Bye\n"), {"R2": "broken"}),
    "a fixture changed": (
        writing(tests__conftest_dot_py=CONFTEST.replace("Ada", "Bob")),
        {},
    ),
    "a fixture that is gone": (writing(tests__conftest_dot_py=""), {"R2": "broken"}),
    "code moved": (
        running("mv shop.py prices.py", "commit --quiet --message=move"),
        {"R1": "gone", "R3": "gone"},
    ),
    "code moved into a package": (
        both(
            running("rm --quiet --cached shop.py"),
            lambda repo: (repo / "shop.py").unlink(),
            lambda repo: commit_all(repo, {"shop/__init__.py": SHOP}),
        ),
        {},
    ),
    "code deleted": (
        running("rm --quiet greeting.py", "commit --quiet --message=less"),
        {"R2": "gone"},
    ),
    "code hollowed": (
        writing(greeting_dot_py="def greet(name: str) -> str:\n    return ''\n"),
        {"R2": "broken"},
    ),
    "a patch in conftest instead of the code": (
        both(writing(tests__conftest_dot_py=PATCHED), replacing("shop.py", "3 * n", "0")),
        {"R1": "weakened"},
    ),
    "the test reformatted": (rewriting(SHOP_TEST, reformatted), {}),
    "comments added to the test": (
        replacing(SHOP_TEST, "def test_a_price_grows():", "# !\ndef test_a_price_grows():  # yes"),
        {},
    ),
    "a failing test added beside": (
        rewriting(SHOP_TEST, lambda text: f"{text}\n\ndef test_ours():\n    assert price(1) > 3\n"),
        {},
    ),
    "code refactored": (replacing("shop.py", "3 * n", "n + n + n"), {}),
    "a merge of work beside": (merging(writing(other_dot_txt="x\n")), {}),
    "a merge that breaks": (
        merging(writing(tests__conftest_dot_py="")),
        {"R2": "broken"},
    ),
    "an order reverted": (running("revert --no-edit HEAD~2"), {"R2": "gone"}),
    "a revert reverted": (running("revert --no-edit HEAD~2", "revert --no-edit HEAD"), {}),
    "the test in another encoding": (
        lambda repo: commit_all(
            repo, {"tests/test_greeting.py": b"# \xe4\n" + GREETING_TEST.encode()}
        ),
        {"R2": "weakened"},
    ),
    "the test in an encoding that it names": (
        lambda repo: commit_all(
            repo,
            {"tests/test_greeting.py": b"# coding: latin-1\n# \xe4\n" + GREETING_TEST.encode()},
        ),
        {},
    ),
    "an editor's line ends": (
        lambda repo: commit_all(repo, {SHOP_TEST: _with_crlf(repo / SHOP_TEST)}),
        {},
    ),
    "a link in the place of the test": (
        lambda repo: _link(repo, "tests/test_greeting.py", "test_shop.py"),
        {"R2": "weakened"},
    ),
    "a runner that is told to run less": (
        writing(pytest_dot_ini=f"{PYTEST_INI.strip()} -k greet\n"),
        {"R1": "weakened", "R3": "weakened"},
    ),
}  # fmt: skip
QUICK = ("softened by one operator", "broken code of one order", "a data file changed",
         "skipped by conftest", "a patch in conftest instead of the code", "code moved",
         "comments added to the test", "an order reverted")  # fmt: skip


def _with_crlf(path: Path) -> bytes:
    return path.read_bytes().replace(b"\n", b"\r\n")


def _link(repo: Path, path: str, target: str) -> None:
    (repo / path).unlink()
    (repo / path).symlink_to(target)
    commit_all(repo)


@pytest.mark.rest
@pytest.mark.parametrize("name", sampled(CASES, QUICK))
def test_each_later_change_gives_its_state(name: str, known_shop: Path) -> None:
    act, expected = CASES[name]
    act(known_shop)
    found = drift_of(known_shop)
    assert states(found) == {**PROVEN, **expected}, [
        (each.id, each.state, each.detail) for each in found.requirements
    ]


# What brings a state about, and stays on the first parents of HEAD.
SOUGHT = {
    name: next(each for each in expected.items() if each[1] in ("broken", "weakened"))
    for name, (_, expected) in CASES.items()
    if {*expected.values()} & {"broken", "weakened"}
}


@pytest.mark.parametrize("name", sampled(SOUGHT, (), one_in=6))
def test_the_commit_that_brought_the_state_about_is_found(name: str, known_shop: Path) -> None:
    act, (requirement, what) = CASES[name][0], SOUGHT[name]
    for number in range(3):
        commit_all(known_shop, {f"before/{number}.txt": "so\n"})
    before = git(known_shop, "rev-parse", "HEAD")
    act(known_shop)
    theirs = git(known_shop, "rev-list", "--first-parent", f"{before}..HEAD").split()
    for number in range(3):
        commit_all(known_shop, {f"after/{number}.txt": "so\n"})
    found = bisected(known_shop, what, requirement)
    assert found.found.id in theirs, found
    assert (found.state, found.is_latest) == (what, True)


def test_a_landed_plan_is_proven_and_a_squashed_one_is_named(known_shop: Path) -> None:
    assert states(drift_of(known_shop)) == PROVEN
    squashing(known_shop)
    found = drift_of(known_shop)
    assert not found.requirements
    assert "as after a squash" in " ".join(found.gaps)


@pytest.mark.rest
def test_what_is_wrong_is_named_by_file_line_and_case(known_shop: Path) -> None:
    replacing(SHOP_TEST, "price(n) == cents", "price(n) >= cents")(known_shop)
    softened = row(drift_of(known_shop), "R1")
    line = (known_shop / SHOP_TEST).read_text().split("\n").index(
        '@pytest.mark.parametrize("n, cents", CASES)'
    ) + 1  # fmt: skip
    assert f"{SHOP_TEST}:{line} has another `test_price`" in softened.detail
    replacing("shop.py", "3 * n", "2 * n")(known_shop)
    broken = row(drift_of(known_shop), "R1")
    assert "test_price[1-3]" in broken.detail and "assert 2 == 3" in broken.detail
    assert "has another `test_price`" in broken.detail
