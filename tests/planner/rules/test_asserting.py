"""What asserts a requirement: a test that the plan brings, a command by itself, or nothing."""

from __future__ import annotations

from textwrap import indent
from typing import Any

import pytest

from planner.rules.coverage import PlacedTest, assertions_of, placed_tests
from shared.work_order.parse_order import parse_document
from shared.work_order.work_order import Asserted, WorkOrder
from tests.planner.plans import order

CODE = "python -c \"from score import score; assert score('a') == 1\""
RUN = "python -m pytest -q tests/test_score.py"


def covering(*commands: str, tests: tuple[str, ...] = (), **fields: Any) -> WorkOrder:
    files = [
        {"path": f"tests/test_score{number or ''}.py", "content": text}
        for number, text in enumerate(tests)
    ]
    more = {"covers": ["R1", "R-2"], "acceptance_files": files, **fields}
    return parse_document(WorkOrder, order(acceptance_commands=[*commands], **more))


def asserted_by(order: WorkOrder, requirement: str, *earlier: WorkOrder) -> Asserted:
    before: dict[str, PlacedTest] = {}
    for each in earlier:
        before |= placed_tests(each)
    return assertions_of(order, before)[requirement]


TEST = "def test_score():\n    assert score('a') == 1\n"
JS = "test('score', () => { assert.equal(score('a'), 1); });\n"
GO = 'func TestScore(t *testing.T) {\n\tif score("a") != 1 {\n\t\tt.Error(1)\n\t}\n}\n'
RUST = '#[test]\nfn scores() {\n    assert_eq!(score("a"), 1);\n}\n'


def running(path: str) -> str:
    commands = {"py": f"python -m pytest -q {path}", "go": "go test ./...", "rs": "cargo test"}
    return commands.get(path.rpartition(".")[2], f"node --test {path}")


def test_what_names_no_requirement_tests_its_order_alone() -> None:
    assert asserted_by(covering(RUN, tests=(TEST,)), "R1") is Asserted.ORDER
    assert asserted_by(covering(CODE, tests=(TEST,)), "R1") is Asserted.ORDER
    assert asserted_by(covering(CODE.replace("score('a')", "r1('a')")), "R1") is Asserted.COMMAND


def test_tests_that_the_executor_writes_assert_nothing() -> None:
    assert asserted_by(covering(RUN), "R1") is Asserted.NOTHING
    assert asserted_by(covering("pytest -q"), "R1") is Asserted.NOTHING


@pytest.mark.parametrize(
    ("command", "wanted"),
    [
        (CODE, Asserted.ORDER),
        ("grep -q hello hello.txt", Asserted.ORDER),
        ("grep -q R1 hello.txt", Asserted.COMMAND),
        ("diff wanted.txt out.txt", Asserted.ORDER),
        ("bash -c 'test $(cat x) = 1'", Asserted.ORDER),
        ("python -c 'import score'", Asserted.NOTHING),
        ("test -f score.py", Asserted.NOTHING),
        ("python score.py", Asserted.NOTHING),
        ("python -m compileall -q .", Asserted.NOTHING),
        ("cargo build", Asserted.NOTHING),
        ("npm test", Asserted.NOTHING),
        ("grep -q a b | cat", Asserted.NOTHING),
        ("'", Asserted.NOTHING),
    ],
)
def test_a_command_asserts_where_it_compares_something(command: str, wanted: Asserted) -> None:
    assert asserted_by(covering(command), "R1") is wanted


def test_a_test_that_names_requirements_asserts_these_alone() -> None:
    idle = covering(RUN, CODE, tests=(f"R1 = 'R1'\n{TEST}",))
    assert asserted_by(idle, "R1") is Asserted.COMMENT
    named = covering(RUN, CODE, tests=(f"R1 = 'R1'\n{TEST}\nprint(R1)\n",))
    assert asserted_by(named, "R1") is Asserted.TEST
    assert asserted_by(named, "R-2") is Asserted.NOTHING
    by_function = covering(RUN, tests=("def test_r_2_score():\n    assert score('a') == 1\n",))
    assert asserted_by(by_function, "R-2") is Asserted.TEST
    assert asserted_by(by_function, "R1") is Asserted.NOTHING
    longer = covering(RUN, tests=(f"R11 = 1\n{TEST}",))
    assert asserted_by(longer, "R1") is Asserted.ORDER, "another id is no id of the order"


@pytest.mark.parametrize(
    ("name", "named"),
    [
        ("test_fr1", "FR-1"),
        ("TestFR1", "FR-1"),
        ("TestFR1Score", "FR-1"),
        ("test_fr_1", "FR-1"),
        ("test_fr11", "FR-11"),
        ("TestFR11", "FR-11"),
        ("TestReqAuth7", "REQ-AUTH-7"),
        ("TestREQAUTH7", "REQ-AUTH-7"),
        ("test_r1_2", "R-1.2"),
        ("test_r12", "R-12"),
        ("test_fr1a", ""),
    ],
)
def test_a_name_has_an_id_with_its_separators_or_without(name: str, named: str) -> None:
    ids = ("FR-1", "FR-11", "REQ-AUTH-7", "R-1.2", "R-12", "X-1")
    beside = "def test_x_1():\n    assert score('a') == 1\n"
    text = f"{beside}def {name}():\n    assert score('a') == 1\n"
    if name[0] == "T":
        text = f"{beside}class {name}:\n{indent(TEST.replace('()', '(self)'), '  ')}"
    made = covering(RUN, tests=(text,), covers=[*ids])
    found = assertions_of(made, {})
    assert {each for each in ids if found[each] is Asserted.TEST} == {named, "X-1"} - {""}


@pytest.mark.parametrize(
    ("path", "text", "wanted"),
    [
        ("tests/test_score.py", "# R1: standard library only\n" + TEST, Asserted.COMMENT),
        ("tests/test_score.py", TEST.replace("== 1", "== 1  # R1"), Asserted.COMMENT),
        ("tests/test_score.py", TEST.replace("score()", "r1()", 1), Asserted.TEST),
        ("tests/test_score.py", f'"""R1: standard library only."""\n{TEST}', Asserted.COMMENT),
        ("tests/test_score.py", TEST.replace("\n", "\n    'R1'\n", 1), Asserted.COMMENT),
        ("tests/score.test.js", f"// R1\n{JS}", Asserted.COMMENT),
        ("tests/score.test.js", "/* R1\n * and ** more */\ntest('s', f);\n", Asserted.COMMENT),
        ("tests/score.test.js", JS.replace("score", "R1: see http://a.b", 1), Asserted.TEST),
        ("tests/score.test.ts", JS.replace("score", "R1: see http://a.b", 1), Asserted.TEST),
        ("score_test.go", f"package a\n// R1\n{GO}", Asserted.COMMENT),
        ("score_test.go", f"package a\n{GO.replace('Score', 'R1', 1)}", Asserted.TEST),
        ("tests/score.rs", f"/// R1\n{RUST}", Asserted.COMMENT),
        ("tests/score.rs", RUST.replace("scores", "r1_scores", 1), Asserted.TEST),
    ],
)
def test_a_comment_mentions_a_requirement_and_asserts_nothing(
    path: str, text: str, wanted: Asserted
) -> None:
    made = covering(running(path), acceptance_files=[{"path": path, "content": text}])
    assert asserted_by(made, "R1") is wanted
    assert asserted_by(made, "R-2") is Asserted.NOTHING


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("tests/test_score.py", "def test_r1():\n    pass\n"),
        ("tests/test_score.py", "def test_r1():\n    assert True\n"),
        ("tests/test_score.py", "class TestR1:\n    def test_a(self):\n        score('a')\n"),
        ("tests/test_score.py", "@pytest.mark.skip\ndef test_r1():\n    assert score('a') == 1\n"),
        *(
            ("tests/test_score.py", f"{mark}\ndef test_r1():\n    assert score('a') == 1\n")
            for mark in (
                "@pytest.mark.xfail",
                "@pytest.mark.xfail(reason='later', strict=True)",
                "@pytest.mark.skipif(True, reason='later')",
                "@unittest.skipUnless(False, 'later')",
                "@unittest.expectedFailure",
            )
        ),
        *(
            (
                "tests/test_score.py",
                f"{mark}class TestR1:\n{inside}    def test_a(self):\n"
                f"{first}        assert score('a') == 1\n",
            )
            for mark, inside, first in (
                ("@unittest.skip('later')\n", "", ""),
                ("", "    pytestmark = [pytest.mark.slow, pytest.mark.skip]\n", ""),
                ("", "", "        pytest.skip('later')\n"),
                ("", "", "        a = score('b')\n        self.skipTest('later')\n"),
                ("", "", "        raise unittest.SkipTest('later')\n"),
            )
        ),
        ("tests/test_score.py", "def idle():\n    pass\n\ndef test_r1():\n    idle()\n"),
        ("tests/score.test.js", "test('R1', () => {});\n"),
        ("tests/score.test.js", "test('R1', () => { assert.ok(true); });\n"),
        ("tests/score.test.ts", "describe('a', () => { it.skip('R1', () => { f(1); }); });\n"),
        ("score_test.go", "func TestR1(t *testing.T) {\n\tscore()\n}\n"),
        ("score_test.go", "func TestR1(t *testing.T) {\n\tt.Skip()\n\tt.Fatal()\n}\n"),
        ("tests/score.rs", "#[test]\nfn r1() {\n    score();\n}\n"),
        ("tests/score.rs", "#[test]\n#[ignore]\nfn r1() {\n    assert_eq!(score(), 1);\n}\n"),
    ],
)
def test_a_test_that_cannot_fail_only_mentions_what_it_names(path: str, text: str) -> None:
    sound = {"py": TEST, "js": JS, "ts": JS, "go": GO, "rs": RUST}[path.rpartition(".")[2]]
    head = "package a\n" if path.endswith(".go") else ""
    for code in (text, f"{sound}\n{text}"):
        made = covering(running(path), acceptance_files=[{"path": path, "content": head + code}])
        assert asserted_by(made, "R1") is Asserted.COMMENT
        assert asserted_by(made, "R-2") is Asserted.NOTHING
    alone = text.replace("R1", "A").replace("r1", "a")
    idle = covering(running(path), acceptance_files=[{"path": path, "content": head + alone}])
    assert asserted_by(idle, "R1") is Asserted.NOTHING


@pytest.mark.parametrize(
    "head", ["pytestmark = pytest.mark.skip\n", "pytest.skip('later', allow_module_level=True)\n"]
)
def test_the_tests_of_a_module_that_is_skipped_only_mention_what_they_name(head: str) -> None:
    text = head + TEST.replace("test_score", "test_r1", 1)
    assert asserted_by(covering(RUN, tests=(text,)), "R1") is Asserted.COMMENT


@pytest.mark.parametrize(
    "mark",
    [
        "@pytest.mark.skipif(sys.platform == 'win32', reason='a')\n",
        "@pytest.mark.xfail(sys.platform == 'win32')\n",
        "@unittest.skipIf(False, 'never')\n",
        "@pytest.mark.skipif('sys.platform == 1')\n",
    ],
)
def test_a_test_that_is_skipped_in_some_places_asserts_what_it_names(mark: str) -> None:
    text = mark + TEST.replace("test_score", "test_r1", 1)
    assert asserted_by(covering(RUN, tests=(text,)), "R1") is Asserted.TEST
    late = "def test_r1():\n    assert score('a') == 1\n    pytest.skip('the rest')\n"
    assert asserted_by(covering(RUN, tests=(late,)), "R1") is Asserted.TEST


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("tests/test_score.py", "@pytest.mark.requirement('R1')\n" + TEST),
        ("tests/test_score.py", TEST.replace("== 1", "== 1, 'R1'")),
        ("tests/test_score.py", f"class TestR1:\n{indent(TEST.replace('()', '(self)'), '  ')}"),
        ("tests/test_score.py", "def same(a):\n    assert a\n\ndef test_r1():\n    same(1)\n"),
        (
            "tests/test_score.py",
            "def test_r1():\n    with pytest.warns(UserWarning):\n        f()\n",
        ),
        (
            "tests/test_score.py",
            f"CASES = [('R1', 1)]\n{TEST.replace('score()', 'score(c=CASES)')}",
        ),
        (
            "tests/score.test.js",
            "const same = (a) => { assert.ok(a); };\ntest('R1', () => same(1));\n",
        ),
        ("tests/score.test.js", "test('R1', made('a'));\n"),
        ("score_test.go", "package a\nfunc TestR1(t *testing.T) {\n\tsame(t, 1)\n}\n"),
        ("tests/score.rs", "proptest! {\n    #[test]\n    fn r1(a in 0..9) { f(a); }\n}\n"),
        (
            "tests/score.rs",
            "fn same(a: u8) { assert!(a > 1); }\n#[test]\nfn r1() {\n    same(1);\n}\n",
        ),
    ],
)
def test_a_test_names_a_requirement_in_any_of_its_code(path: str, text: str) -> None:
    made = covering(running(path), acceptance_files=[{"path": path, "content": text}])
    assert asserted_by(made, "R1") is Asserted.TEST
    assert asserted_by(made, "R-2") is Asserted.NOTHING


ROUND = "def test_r1():\n    run_case(score('a'))\n"
CALL = "test('R1', async () => { await runCase(score('a')); });\n"


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("tests/test_score.py", f"from tests.rounds import run_case\n{ROUND}"),
        ("tests/test_score.py", f"from .rounds import run_case\n{ROUND}"),
        ("tests/test_score.py", f"from rounds import run as run_case\n{ROUND}"),
        ("tests/test_score.py", ROUND.replace("()", "(golden)", 1).replace("run_", "golden.to_")),
        ("tests/test_score.py", ROUND.replace("()", "(run_case)", 1)),
        (
            "tests/test_score.py",
            "from rounds import Golden\n\n@pytest.fixture\ndef own():\n    return Golden()\n\n"
            + ROUND.replace("()", "(own)", 1).replace("run_", "own.to_"),
        ),
        ("tests/score.test.js", f"import {{ runCase }} from './rounds.js';\n{CALL}"),
        ("tests/score.test.js", f"const {{ runCase }} = require('./rounds');\n{CALL}"),
        (
            "tests/score.test.ts",
            "import * as rounds from 'rounds';\nit('R1', () => rounds.runCase(score(1)));\n",
        ),
        (
            "tests/score.test.js",
            "import { runCase } from './rounds.js';\nfunction same(a) { runCase(a); }\n"
            "test('R1', () => { same(1); });\n",
        ),
    ],
)
def test_what_is_imported_or_given_and_is_no_product_may_assert(path: str, text: str) -> None:
    made = covering(running(path), acceptance_files=[{"path": path, "content": text}])
    assert asserted_by(made, "R1") is Asserted.TEST
    again = covering(running(path), allowed_files=["rounds.py"])
    assert asserted_by(again, "R1", made) is Asserted.TEST, "a test is read with its own order"


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("tests/test_score.py", "from score import score\n\ndef test_r1():\n    score('a')\n"),
        ("tests/test_score.py", "import subprocess\n\ndef test_r1():\n    subprocess.run('a')\n"),
        ("tests/test_score.py", "def test_r1(tmp_path):\n    tmp_path.joinpath('a').touch()\n"),
        ("tests/test_score.py", "from rounds import one\n\ndef test_r1():\n    score(one())\n"),
        ("game/test_score.py", f"from .score import run_case\n{ROUND}"),
        (
            "tests/test_score.py",
            "@pytest.mark.parametrize('text', ['a'])\ndef test_r1(text):\n    text.strip()\n",
        ),
        (
            "tests/test_score.py",
            "from score import Game\n\n@pytest.fixture\ndef game():\n    return Game()\n\n"
            "def test_r1(game):\n    game.move(1)\n",
        ),
        ("tests/score.test.js", f"import {{ runCase }} from '../score.js';\n{CALL}"),
        ("tests/score.test.js", f"import {{ execSync as runCase }} from 'child_process';\n{CALL}"),
        (
            "tests/score.test.js",
            "import { one } from './rounds.js';\ntest('R1', () => { score(one()); });\n",
        ),
    ],
)
def test_the_product_and_what_is_known_assert_nothing(path: str, text: str) -> None:
    file = {"path": path, "content": text}
    made = covering(running(path), acceptance_files=[file], allowed_files=["score.py"])
    assert asserted_by(made, "R1") is Asserted.COMMENT


@pytest.mark.parametrize(
    ("added", "wanted"),
    [
        ({"append": "def test_r1():\n    assert score('a') == 1\n"}, Asserted.TEST),
        ({"append": TEST}, Asserted.ORDER),
        ({"append": "def test_r1():\n    pass\n"}, Asserted.COMMENT),
        ({"append": "('R1', 1),\n", "table": "test_score"}, Asserted.TEST),
        ({"append": "('a', 1),  # R1\n", "table": "test_score"}, Asserted.COMMENT),
    ],
)
def test_what_is_added_to_a_file_asserts_as_well(added: Any, wanted: Asserted) -> None:
    file = {"path": "tests/test_score.py", **added}
    assert asserted_by(covering(RUN, acceptance_files=[file]), "R1") is wanted


def test_a_test_of_an_earlier_order_that_is_run_again_counts() -> None:
    first = covering(RUN, tests=(TEST,))
    assert asserted_by(covering(RUN), "R1", first) is Asserted.ORDER


def test_the_strongest_assertion_comes_first() -> None:
    assert list(Asserted) == [
        *(Asserted.TEST, Asserted.COMMAND, Asserted.ORDER, Asserted.COMMENT, Asserted.NOTHING)
    ]
