"""Tests that a plan brings along: where they stand, what runs them, and what they call."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.plan.parse_plan import parse_plan
from planner.rules.acceptance import run_files
from planner.rules.judge_plan import judge
from shared.languages.acceptance_commands import analyse_command
from tests.planner.plans import Document, creating, exists, findings, messages, order, plan

PATH = "tests/test_score.py"
RUN = f"python -m pytest -q {PATH}"
TEST = "from score import score\n\n\ndef test_score():\n    assert score('a') == 1\n"
STUB = "def score(guess: str) -> int: ..."


def scored(number: int = 1, content: str = TEST, path: str = PATH, **fields: Any) -> Document:
    """Return an order that creates `score.py`, with one acceptance file that a command runs."""
    given: Document = {
        "interfaces": [{"path": "score.py", "stub": STUB}],
        "acceptance_files": [{"path": path, "content": content}],
        "acceptance_commands": [f"python -m pytest -q {path}"],
    }
    return {**creating(number, "score.py", **given), **fields}


def file(path: str = PATH, content: str = TEST) -> Document:
    return {"path": path, "content": content}


def test_a_test_of_its_own_is_no_fault() -> None:
    assert findings(plan(scored())) == []


# E005, E004: what the schema says


@pytest.mark.parametrize(
    ("entry", "field"),
    [
        (file("../x.py"), "path"),
        (file("/x.py"), "path"),
        (file(".git/hooks/x.py"), "path"),
        (file(".GIT/x.py"), "path"),
        (file(content=""), "content"),
        (file(content=" \n"), "content"),
        (file(content="x\0"), "content"),
        (file(content="x = 1\r\n"), "content"),
        (file(content="#" * (16 * 1024 + 1)), "content"),
        (file(content="\ud800"), "content"),
        ({"path": PATH}, "content"),
        ({"path": PATH, "content": ["x"]}, "content"),
    ],
)
def test_path_and_content_fit_the_schema(entry: Document, field: str) -> None:
    found = findings(plan(scored(acceptance_files=[entry])))
    assert found == [f"E005 WO-01 acceptance_files[0].{field}"]


def test_an_order_has_ten_of_them_at_most() -> None:
    many = [file(f"tests/test_{number}.py") for number in range(11)]
    found = findings(plan(scored(acceptance_files=many, acceptance_commands=["pytest -q tests"])))
    assert found == ["E005 WO-01 acceptance_files"]
    assert (
        findings(plan(scored(acceptance_files=many[:10], acceptance_commands=["pytest -q tests"])))
        == []
    )


def test_a_pattern_is_a_fault_of_its_own() -> None:
    found = findings(plan(scored(path="tests/test_*.py", acceptance_commands=["pytest -q tests"])))
    assert found == ["E004 WO-01 acceptance_files[0].path"]


def test_a_misspelt_key_is_named() -> None:
    entry = file() | {"mode": "755"}
    assert findings(plan(scored(acceptance_files=[entry]))) == [
        "W102 WO-01 acceptance_files[0].mode"
    ]


# E107


def test_the_order_itself_may_not_write_the_test() -> None:
    found = findings(plan(scored(allowed_files=["score.py", PATH], postconditions=[])))
    assert found == ["E107 WO-01 acceptance_files[0].path"]


def test_a_path_that_a_file_system_takes_for_the_test_is_the_test() -> None:
    found = findings(plan(scored(allowed_files=["score.py", "Tests/Test_Score.py"],
                                 postconditions=[])))  # fmt: skip
    assert found == ["E107 WO-01 acceptance_files[0].path"]


def test_no_later_order_may_write_the_test() -> None:
    later = order(2, allowed_files=[PATH])
    assert findings(plan(scored(), later)) == ["E107 WO-02 allowed_files[0]"]


# E108


def test_the_test_replaces_no_file_of_the_repo() -> None:
    assert findings(plan(scored()), repo=[PATH]) == ["E108 WO-01 acceptance_files[0].path"]


def test_the_test_replaces_no_file_of_an_earlier_order() -> None:
    found = findings(plan(creating(1, PATH), scored(2)))
    assert found == ["E108 WO-02 acceptance_files[0].path"]
    assert "WO-01 has it" in messages(plan(creating(1, PATH), scored(2)))[0]


def test_the_test_of_an_earlier_order_may_be_replaced() -> None:
    second = order(2, acceptance_files=[file()], acceptance_commands=[RUN])
    assert findings(plan(scored(), second)) == []


def test_one_path_stands_once() -> None:
    found = findings(plan(scored(acceptance_files=[file(), file("tests//test_score.py")])))
    assert found == ["E108 WO-01 acceptance_files[1].path"]


# E113


ADDED = "import os\nfrom score import score\n\n\ndef test_new():\n    assert score(os.sep) == 1\n"
OLD = "from score import score\n\n\ndef test_old():\n    assert score('a') == 0\n"


def adding(code: str = ADDED, number: int = 1, **fields: Any) -> Document:
    return scored(number, acceptance_files=[{"path": PATH, "append": code}], **fields)


def judged(*orders: Document, repo: dict[str, str] | None = None) -> list[str]:
    sources = {PATH: OLD} if repo is None else repo
    found = judge(parse_plan(plan(*orders)), sources, sources).findings
    return [f"{each.code} {each.order} {each.field} {each.message}" for each in found]


def test_a_test_may_be_added_to_a_file_of_the_repo_or_of_an_earlier_order() -> None:
    assert judged(adding()) == []
    second = adding(ADDED.replace("new", "newer"), 2, allowed_files=["score.py"], interfaces=[])
    assert not [each for each in judged(adding(), second) if each.startswith("E1")]
    assert not [each for each in judged(scored(), second, repo={}) if each.startswith("E1")]


def test_the_file_is_judged_as_it_will_be() -> None:
    (wrong,) = judged(adding(ADDED.replace("score(os.sep)", "score(1, 2)")))
    assert wrong.startswith("E212 WO-01 acceptance_files[0].content")
    (broken,) = judged(adding("def test_new(:\n    pass\n"))
    assert broken.startswith("E206 WO-01 acceptance_files[0].content")


@pytest.mark.parametrize(
    ("orders", "repo", "reason"),
    [
        ([adding()], {}, "is no text of at most 200,000 bytes that is there"),
        ([adding(ADDED.replace("new", "old"))], None, "has `test_old` already"),
        ([adding(), adding(number=2)], None, "has `test_new` already"),
        ([adding("import sys as score\n\n\ndef test_new(): pass\n")], None, "imports of the test"),
        ([order(1, allowed_files=[PATH]), adding(number=2)], None, "allowed_files of WO-01"),
    ],
)
def test_a_test_that_cannot_be_added_is_a_finding(
    orders: list[Document], repo: dict[str, str] | None, reason: str
) -> None:
    found = [each for each in judged(*orders, repo=repo) if each.startswith("E113")]
    assert len(found) == 1
    assert "acceptance_files[0].append" in found[0]
    assert reason in found[0]


TABLE = (
    "import pytest\nfrom score import score\n\n\n"
    '@pytest.mark.parametrize(("word", "wanted"), [("a", 0), ("b", 0)])\n'
    "def test_old(word, wanted):\n    assert score(word) == wanted\n"
)


@pytest.mark.parametrize(
    ("code", "table", "finding"),
    [
        ('("c", 1)', "test_old", ""),
        ('("c", 1)', "test_new", "E113 WO-01 acceptance_files[0].append"),
        ('("a", 0),', "test_old", "E113 WO-01 acceptance_files[0].append"),
        ('("c", 1)], ids=["x"', "test_old", "E113 WO-01 acceptance_files[0].append"),
        ("(score(1, 2), 1)", "test_old", "E212 WO-01 acceptance_files[0].content"),
    ],
)
def test_cases_are_judged_in_the_table_that_they_are_added_to(
    code: str, table: str, finding: str
) -> None:
    added = {"path": PATH, "append": code, "table": table}
    found = judged(scored(acceptance_files=[added]), repo={PATH: TABLE})
    assert [each[: len(finding)] for each in found] == [finding] * bool(finding)


def test_a_table_is_of_a_file_that_is_added_to() -> None:
    given = {"path": PATH, "content": TEST, "table": "test_score"}
    assert findings(plan(scored(acceptance_files=[given]))) == [
        "E005 WO-01 acceptance_files[0].content"
    ]


BESIDE = "pub fn sum() -> i32 {\n    1\n}\n\n#[cfg(test)]\nmod tests {\n    use super::*;\n}\n"
IN_RUST = "#[test]\nfn sums() {\n    assert_eq!(sum(), 2);\n}\n"


def test_only_tests_beside_code_are_added_to_a_file_that_the_order_writes() -> None:
    inside = {"path": "src/lib.rs", "append": IN_RUST}
    fields: dict[str, Any] = {"interfaces": [], "acceptance_files": [inside]}
    fields["acceptance_commands"] = ["cargo test sums"]
    repo = {"src/lib.rs": BESIDE, "Cargo.toml": '[package]\nname = "sums"\nversion = "0.1.0"\n'}
    within = judged(order(1, allowed_files=["src/lib.rs"], **fields), repo=repo)
    assert not [each for each in within if each.startswith("E")]
    apart = judged(adding(allowed_files=["score.py", PATH]))
    assert [each for each in apart if each.startswith("E107 WO-01")]


def test_a_file_is_either_given_or_added_to() -> None:
    both = {"path": PATH, "append": ADDED, "content": TEST}
    assert findings(plan(scored(acceptance_files=[both]))) == [
        "E005 WO-01 acceptance_files[0].content"
    ]
    empty = {"path": PATH, "append": " "}
    assert findings(plan(scored(acceptance_files=[empty]))) == [
        "E005 WO-01 acceptance_files[0].append"
    ]


def test_nobody_else_may_write_a_file_that_a_test_is_added_to() -> None:
    assert judged(adding(allowed_files=["score.py", PATH], postconditions=[]))[0].startswith("E107")
    assert judged(adding(), order(2, allowed_files=[PATH]))[0].startswith("E107 WO-02")


# E109


@pytest.mark.parametrize(
    "command",
    [
        RUN,
        "pytest",
        "pytest -q tests",
        "python -m pytest -q ./tests/",
        f"python -m pytest -q {PATH}::test_score",
        "python -m unittest tests.test_score",
        "python -m unittest tests.test_score.TestScore.test_it",
        "python -m unittest discover -s tests",
        f"python {PATH}",
        "bash tests/test_score.py",
        "make check",
        "python -m pytest -q tests && true",  # it has to be written anew: E003
        "",  # E007
    ],
)
def test_a_command_that_may_run_the_test_is_enough(command: str) -> None:
    assert run_files([analyse_command(command)], {PATH: TEST}) == {PATH}


@pytest.mark.parametrize(
    "command",
    [
        "python -m pytest -q tests/test_other.py",
        "python -m pytest -q other",
        f"python -m pytest --collect-only {PATH}",
        f"python -m py_compile {PATH}",
        f"test -f {PATH}",
        f"cat {PATH}",
        f"bash -n {PATH}",
        "python -m compileall -q .",
        "python -c \"from score import score; assert score('a') == 1\"",
    ],
)
def test_a_command_that_does_not_run_the_test_is_not(command: str) -> None:
    assert run_files([analyse_command(command)], {PATH: TEST}) == frozenset()


@pytest.mark.parametrize(
    ("command", "is_run"),
    [
        ("bash -c 'npx tsc && node --test build/test/score.test.js'", True),
        ("node --test dist/score.test.js", True),
        ("node --test build/test/total.test.js", False),
        ("node --test other/score.test.ts", False),
    ],
)
def test_a_test_is_run_by_what_a_compiler_makes_of_it(command: str, is_run: bool) -> None:
    test = {"test/score.test.ts": "import { score } from '../src/score.ts';\n"}
    assert (run_files([analyse_command(command)], test) == test.keys()) == is_run


@pytest.mark.parametrize(
    ("command", "is_run"),
    [
        ("./gradlew test --tests game.ScoreTest", True),
        ("gradle test --tests 'game.ScoreTest.counts'", True),
        ("mvn test -Dtest=game.ScoreTest", True),
        ("gradle test --tests game.WordsTest", False),
    ],
)
def test_a_class_that_a_command_names_is_in_the_file_of_its_name(
    command: str, is_run: bool
) -> None:
    test = {"src/test/kotlin/game/ScoreTest.kt": "class ScoreTest\n"}
    assert (run_files([analyse_command(command)], test) == test.keys()) == is_run


def test_what_a_test_uses_is_run_with_it() -> None:
    texts = {
        PATH: "from tests.cases import CASES\n",
        "tests/cases.py": "TABLE = 'tests/table.csv'\n",
        "tests/table.csv": "a,b\n",
        "tests/conftest.py": "x = 1\n",
        "tests/unused.py": "x = 1\n",
        "other/conftest.py": "x = 1\n",
    }
    assert run_files([analyse_command(RUN)], texts) == texts.keys() - {
        "tests/unused.py",
        "other/conftest.py",
    }


@pytest.mark.parametrize(
    ("code", "is_used"),
    [
        ("CASES = sorted(Path('tests/cases').glob('*.json'))", True),
        ("CASES = (Path(__file__).parent / 'cases').iterdir()", True),
        ("CASES = Path('other').glob('*.json')", False),
    ],
)
def test_a_folder_that_a_test_reads_has_the_data_in_it(code: str, is_used: bool) -> None:
    texts = {PATH: code, "tests/cases/one.json": "{}\n"}
    assert (run_files([analyse_command(RUN)], texts) == texts.keys()) == is_used


def test_snapshots_are_read_unasked_by_the_tests_beside_them() -> None:
    texts = {PATH: "x = 1\n", "tests/__snapshots__/a.ambr": "x\n", "b/__snapshots__/a.ambr": "x\n"}
    used = run_files([analyse_command(RUN)], texts)
    assert used == {PATH, "tests/__snapshots__/a.ambr"}


def test_the_mark_of_a_package_of_tests_may_be_empty() -> None:
    deep = file("tests/deep/test_a.py")
    command = "python -m pytest tests/deep/test_a.py"
    for path, found in (
        ("tests/deep/__init__.py", []),
        ("other/__init__.py", ["E109 WO-01 acceptance_files[1].path"]),
        ("tests/deep/cases.py", ["E005 WO-01 acceptance_files[1].content"]),
    ):
        files = [deep, file(path, content="")]
        assert (
            findings(plan(scored(acceptance_files=files, acceptance_commands=[command]))) == found
        )


def test_a_test_that_nothing_runs_is_a_fault() -> None:
    commands = ["python -c \"from score import score; assert score('a') == 1\""]
    found = findings(plan(scored(acceptance_commands=commands)))
    assert found == ["E109 WO-01 acceptance_files[0].path"]


@given(st.text(max_size=80), st.text(max_size=40))
@settings(max_examples=200, deadline=None)
def test_no_command_and_no_text_stops_the_search(command: str, text: str) -> None:
    files = {PATH: text, "tests/cases.py": text}
    assert run_files([analyse_command(command)], files) <= files.keys()


# E110


@pytest.mark.parametrize("entry", [PATH, "tests", "tests/*", "./tests/", "TESTS"])
def test_the_order_does_not_forbid_its_own_test(entry: str) -> None:
    assert findings(plan(scored(forbidden=[entry]))) == ["E110 WO-01 acceptance_files[0].path"]


def test_what_is_forbidden_elsewhere_does_not_matter() -> None:
    assert findings(plan(scored(forbidden=["src", "tests/data"]))) == []


# E206, and what the test calls


def test_a_test_that_does_not_parse_is_named_with_its_line() -> None:
    broken = plan(scored(content="import score\n\ndef test_score()\n    pass\n"))
    assert findings(broken) == ["E206 WO-01 acceptance_files[0].content"]
    assert messages(broken) == [f"{PATH} does not parse at line 3: `def test_score()`"]


def test_a_test_in_an_unknown_language_is_not_judged() -> None:
    other = plan(scored(path="tests/score.lua", content="this is ((\n",
                        acceptance_commands=["make check"]))  # fmt: skip
    assert findings(other, repo=["Makefile"]) == []


@pytest.mark.rest
@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("assert score('a', 2) == 1", "E212"),
        ("assert score(['a']) == 1", "E213"),
        ("assert score('a')[0] == 1", "E214"),
        ("assert score('a') == POINTS", "E216"),
        ("from score import scores", "E211"),
        ("import scores", "E210"),
    ],
)
def test_a_test_keeps_to_the_interfaces_as_commands_do(line: str, code: str) -> None:
    content = (
        "import pytest\nfrom score import score\n\n\n"
        "def test_refusal():\n    with pytest.raises(TypeError):\n        score(7, 8)\n\n\n"
        f"def test_it():\n    {line}\n"
    )
    faulty = plan(scored(content=content), order(2, allowed_files=["scores/x.txt"]))
    if code == "E210":
        faulty = plan(creating(1, "pkg/a.py", acceptance_files=[file(content=content.replace(
            "import scores", "import pkg.b").replace("from score import score", "import pkg.a"
            ).replace("score(7, 8)", "pkg.a(7)"))], acceptance_commands=[RUN]))  # fmt: skip
    found = findings(faulty)
    assert f"{code} WO-01 acceptance_files[0].content" in found, found
    assert len([each for each in found if each.startswith("E")]) == 1
    said = next(each for each in messages(faulty) if "line 1" in each)
    assert said.startswith(f'"{PATH}" line 11')


def test_fixtures_marks_and_expected_failures_are_no_faults() -> None:
    content = """\
import pytest
from score import score


@pytest.fixture
def guess():
    return "a"


@pytest.mark.parametrize(("text", "wanted"), [("a", 1), ("", 0)])
def test_table(text, wanted):
    assert score(text) == wanted


def test_fixture(guess, tmp_path, monkeypatch):
    (tmp_path / "x").write_text(str(score(guess)))


@pytest.mark.xfail(raises=TypeError)
def test_later():
    assert score(3) == 1


def test_refused():
    with pytest.raises(TypeError):
        score(3)


class TestScore:
    def test_it(self):
        assert score("a") == 1
"""
    assert findings(plan(scored(content=content))) == []


def test_what_only_a_later_order_brings_is_e217() -> None:
    early = order(1, acceptance_files=[file()], acceptance_commands=[RUN])
    assert findings(plan(early, creating(2, "score.py"))) == [
        "E217 WO-01 acceptance_files[0].content"
    ]


def test_a_neighbour_in_the_folder_of_the_test_can_be_imported() -> None:
    files = [file(content="from cases import CASES\n\n\ndef test_it():\n    assert CASES == [1]\n"),
             file("tests/cases.py", "CASES = [1]\n")]  # fmt: skip
    assert findings(plan(scored(acceptance_files=files))) == []


# The files are there afterwards


def test_later_orders_have_the_test() -> None:
    later = order(2, context_files=[PATH], preconditions=exists(PATH), acceptance_commands=[RUN])
    assert findings(plan(scored(), later)) == []


def test_the_order_may_promise_its_test() -> None:
    assert findings(plan(scored(postconditions=exists("score.py", PATH)))) == []


def test_a_test_uses_what_the_order_creates() -> None:
    report = judge(parse_plan(plan(scored())), ())
    assert not [each for each in report.findings if each.code == "W245"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["path", "content", "x"]), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


@given(JSON)
@settings(max_examples=150, deadline=None)
def test_whatever_a_model_writes_there_is_judged_and_never_raises(value: object) -> None:
    document = plan(scored(acceptance_files=value, interfaces=[]))
    json.dumps(judge(parse_plan(document), ()).to_json())
