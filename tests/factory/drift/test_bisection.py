"""Planted histories: the bisection finds what broke, weakened or landed a requirement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from _pytest.mark.structures import ParameterSet

from factory.audit.audit_evidence import AuditEvidence, read_plan
from factory.drift.bisect_requirement import Bisected, Sought, bisect_requirement
from factory.drift.landed_claims import commit_asked_for, read_claims
from factory.preflight import find_repo
from llmch.verbs.drift import assertions_in
from shared.errors import InvalidInput
from tests.factory.drift.landed_shop import (
    CONFTEST,
    GREETING,
    PRICE_TEST,
    SHOP,
    TOTAL_TEST,
    orders,
    plan_of,
)
from tests.harness import Factory, git, write_plan
from tests.scale import sampled

TESTS = "tests/test_shop.py"
PLANNED = f"{PRICE_TEST}\n\n{TOTAL_TEST}"
BROKEN = SHOP.replace("3 * n", "4 * n")
Files = Mapping[str, str | None]


@dataclass(frozen=True)
class Told:
    """A commit of a history: what it writes, `None` for a file that it removes, and by whom."""

    files: Files
    by: str = "Ada"
    says: str = "more"


def other(number: int) -> Told:
    return Told({f"notes/{number}.txt": f"{number}\n"})


OTHERS = [other(each) for each in range(4)]


def tell(repo: Path, story: Sequence[Told], branch: str = "work", since: str = "") -> list[str]:
    """Commit a story on a branch at once, and return its commits, oldest first."""
    lines: list[str] = []
    for number, each in enumerate(story, 1):
        who = f"{each.by} <{each.by.lower()}@example.org> {1_700_000_000 + number} +0000"
        lines += [f"commit refs/heads/{branch}", f"mark :{number}", f"author {who}"]
        lines += [f"committer {who}", f"data {len(each.says)}", each.says]
        if number == 1:
            lines.append(f"from {since or git(repo, 'rev-parse', branch)}")
        for path, text in each.files.items():
            if text is None:
                lines.append(f"D {path}")
            else:
                lines += [f"M 100644 inline {path}", f"data {len(text.encode())}", text]
    git(repo, "fast-import", "--quiet", "--force", stdin="\n".join([*lines, ""]).encode())
    git(repo, "reset", "--quiet", "--hard")
    listed = git(repo, "rev-list", "--reverse", f"--max-count={len(story)}", branch)
    return listed.split()


def bisected(
    repo: Path, what: str = "broken", name: str = "R1", plan: Path | None = None
) -> Bisected:
    place = find_repo(repo)
    evidence = AuditEvidence(place.git, (), (), read_plan(plan, named=True) if plan else None)
    claims = read_claims(evidence, commit_asked_for(place.git, "HEAD"))
    options = Factory(repo, repo.parent).options()
    return bisect_requirement(
        name, Sought(what), claims, assertions_in(claims), evidence, place, options, lambda _: None
    )


QUICK = ("a person", "mended and broken again", "softened by one operator")


def chosen(stories: Mapping[str, object]) -> list[ParameterSet]:
    """Return the names of stories; all but a few of them take long together."""
    return sampled(stories, QUICK)


# Each story, which of its commits is sought, and a part of what failed first.
BREAKS: Mapping[str, tuple[Sequence[Told], int, str]] = {
    "a person": ([*OTHERS, Told({"shop.py": BROKEN}, "Eve"), other(5)], 4, "test_price"),
    "hollowed code": (
        [other(1), Told({"shop.py": SHOP.replace("return 3 * n", "return 0")}, "Eve"), other(2)],
        1,
        "test_a_price_grows",
    ),
    "a file removed": ([*OTHERS, Told({"shop.py": None}, "Eve"), other(5)], 4, ""),
    "a syntax error of its own": (
        [other(1), Told({"shop.py": "def price(\n"}, "Eve"), *OTHERS],
        1,
        "",
    ),
    "mended and broken again": (
        [
            Told({"shop.py": BROKEN}, "Bob"),
            other(1),
            Told({"shop.py": SHOP}, says='Revert "more"'),
            other(2),
            Told({"shop.py": SHOP.replace("3 * n", "5 * n")}, "Eve"),
            other(3),
        ],
        4,
        "test_price",
    ),
    "a helper that no order names": (
        [
            Told({"shop.py": SHOP.replace("3 *", "FACTOR *").replace("def price", "from rates "
                  "import FACTOR\n\n\ndef price", 1), "rates.py": "FACTOR = 3\n"}),
            *OTHERS,
            Told({"rates.py": "FACTOR = 4\n"}, "Eve"),
            other(6),
        ],
        5,
        "test_price",
    ),
    "commits between that cannot be judged": (
        [
            other(1),
            Told({"tests/conftest.py": "def broken(\n"}),
            other(2),
            Told({"tests/conftest.py": CONFTEST}),
            Told({"shop.py": BROKEN}, "Eve"),
            other(3),
        ],
        4,
        "test_price",
    ),
    "a softened test on broken code": (
        [
            other(1),
            Told({"shop.py": BROKEN}, "Eve"),
            other(2),
            Told({TESTS: PLANNED.replace("==", "!=")}),
        ],
        1,
        "test_price",
    ),
}  # fmt: skip


@pytest.mark.rest
@pytest.mark.parametrize("case", chosen(BREAKS))
def test_the_commit_that_broke_it(shop: Path, case: str) -> None:
    story, number, failing = BREAKS[case]
    commits = tell(shop, story)
    found = bisected(shop)
    assert (found.found.id, found.found.author) == (commits[number], "Eve <eve@example.org>")
    assert failing in found.case and found.work_order == "WO-01"
    assert found.candidates == () and found.is_latest


WEAKENS: Mapping[str, tuple[Sequence[Told], int, str]] = {
    "softened by one operator": (
        [*OTHERS, Told({TESTS: PLANNED.replace("price(3) >", "price(3) >=")}, "Eve"), other(5)],
        4,
        "test_a_price_grows",
    ),
    "skipped": (
        [
            other(1),
            Told({TESTS: PLANNED.replace("def test_a", "@pytest.mark.skip\ndef test_a")}, "Eve"),
            other(2),
        ],
        1,
        "test_a_price_grows",
    ),
    "deleted": ([other(1), Told({TESTS: None}, "Eve"), *OTHERS], 1, "is not there"),
    "restored and softened again": (
        [
            Told({TESTS: PLANNED.replace("(2, 6)", "(2, 7)")}, "Bob"),
            Told({TESTS: PLANNED}),
            other(1),
            Told({TESTS: PLANNED.replace("    (1, 3),\n", "")}, "Eve"),
            other(2),
        ],
        3,
        "(1, 3)",
    ),
    "skipped by what is around it": (
        [
            other(1),
            Told({"tests/conftest.py": f"{CONFTEST}\n\ncollect_ignore = ['test_shop.py']\n"}),
            Told({"tests/conftest.py": f"{CONFTEST}\n\n\ndef pytest_collection_modifyitems(items):"
                  "\n    items[:] = items[:1]\n"}, "Eve"),
            other(2),
        ],
        2,
        "test_shop.py",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", chosen(WEAKENS))
def test_the_commit_that_weakened_it(shop: Path, case: str) -> None:
    story, number, failing = WEAKENS[case]
    commits = tell(shop, story)
    found = bisected(shop, "weakened")
    assert (found.found.id, found.found.author) == (commits[number], "Eve <eve@example.org>")
    assert failing in found.case


@pytest.mark.rest
def test_a_merge_that_broke_it(shop: Path) -> None:
    since = git(shop, "rev-parse", "HEAD")
    tell(shop, [*OTHERS])
    tell(shop, [Told({"shop.py": BROKEN}, "Eve"), other(7)], "side", since)
    git(shop, "merge", "--quiet", "--no-ff", "--message=merge", "side")
    merge = git(shop, "rev-parse", "HEAD")
    tell(shop, [other(9)])
    assert bisected(shop).found.id == merge


def test_an_order_that_a_merge_brought_landed_by_it(shop: Path) -> None:
    git(shop, "branch", "--quiet", "--force", "main")
    git(shop, "switch", "--quiet", "--create", "trunk", "work~4")
    tell(shop, [other(1)], "trunk")
    git(shop, "merge", "--quiet", "--no-ff", "--message=merge", "work")
    merge = git(shop, "rev-parse", "HEAD")
    tell(shop, [other(2)], "trunk")
    found = bisected(shop, "landed")
    assert (found.found.id, found.landed, found.work_order) == (
        merge,
        git(shop, "rev-parse", "work~3"),
        "WO-01",
    )
    assert (found.runs, bisected(shop, "landed", "R3").work_order) == (0, "WO-03")


@pytest.mark.rest
def test_a_squashed_order_landed_where_its_tests_first_pass(shop: Path, tmp_path: Path) -> None:
    plan = write_plan(tmp_path / "plan", plan_of(orders()))
    tree = git(shop, "rev-parse", "work^{tree}")
    git(shop, "reset", "--quiet", "--hard", "work~4")
    tell(shop, [other(1), Told({TESTS: "def test():\n    pass\n"})])
    squashed = git(shop, "commit-tree", tree, "-p", "HEAD", "-m", "all of it")
    git(shop, "reset", "--quiet", "--hard", squashed)
    commits = tell(shop, [*OTHERS, Told({"shop.py": BROKEN}, "Eve"), other(5)])
    assert bisected(shop, "landed", plan=plan).found.id == squashed
    assert bisected(shop, plan=plan).found.id == commits[4]


@pytest.mark.rest
def test_commits_that_cannot_be_judged_are_named(shop: Path) -> None:
    commits = tell(
        shop,
        [
            other(1),
            Told({"tests/conftest.py": "def broken(\n"}),
            Told({"shop.py": BROKEN}, "Eve"),
            Told({"tests/conftest.py": CONFTEST}),
            other(3),
        ],
    )
    found = bisected(shop)
    assert found.candidates == tuple(commits[1:4])
    assert {each.commit for each in found.skipped} == {*commits[1:3]}


@pytest.mark.rest
def test_a_failure_by_chance_is_not_the_commit(shop: Path, tmp_path: Path) -> None:
    marker = tmp_path / "once"
    chance = SHOP.replace(
        "    return 3 * n",
        "    import pathlib\n"
        f"    marker = pathlib.Path({str(marker)!r})\n"
        "    if not marker.exists():\n"
        "        marker.write_text('')\n"
        "        return 4 * n\n"
        "    return 3 * n",
    )
    commits = tell(
        shop,
        [
            Told({"shop.py": chance}, "Bob"),
            other(1),
            Told({"shop.py": BROKEN}, "Eve"),
            other(2),
        ],
    )
    found = bisected(shop)
    assert found.found.id == commits[2]
    assert marker.exists()  # it did fail there


def test_nothing_is_found_where_nothing_is_wrong(shop: Path) -> None:
    tell(shop, OTHERS)
    found = bisected(shop)
    assert (found.found.id, str(found.state)) == ("", "proven")
    with pytest.raises(InvalidInput, match="carries out the requirement 'R9'"):
        bisected(shop, name="R9")


@pytest.mark.rest
def test_a_thousand_commits_take_twelve_runs(shop: Path) -> None:
    """Every commit touches the code, so that no run can be spared."""
    code = [GREETING] * 700 + [GREETING.replace("{name}!", "{name}?")] * 300
    story = [Told({"greeting.py": f"{text}\n# {n}\n"}, f"P{n}") for n, text in enumerate(code)]
    commits = tell(shop, story)
    found = bisected(shop, name="R2")
    assert (found.found.id, found.found.author) == (commits[700], "P700 <p700@example.org>")
    assert 10 <= found.runs <= 12
    assert bisected(shop, name="R2").runs < found.runs  # the last ones are kept
