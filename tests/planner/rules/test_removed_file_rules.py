"""Files that orders remove: which may be removed, and what later orders see of that."""

from __future__ import annotations

from typing import Any

import pytest

from planner.plan.parse_plan import parse_plan
from planner.plan.plan_edits import left_out
from planner.rules.judge_plan import judge
from shared.work_order.work_order import Asserted
from tests.planner.plans import Document, absent, creating, exists, findings, messages, order, plan

OLD = "pkg/old.py"


def removing(number: int = 1, *paths: str, **fields: Any) -> Document:
    return order(number, removed_files=list(paths or (OLD,)), **fields)


def test_a_file_of_the_repo_may_be_removed() -> None:
    assert findings(plan(removing()), [OLD]) == []
    assert findings(plan(removing(preconditions=exists(OLD))), [OLD]) == []


def test_a_file_of_an_earlier_order_may_be_removed_also_its_test() -> None:
    test = {"path": "test_old.py", "content": "def test_old():\n    assert 1 + 1 == 2\n"}
    stub = {"path": OLD, "stub": "OLD: int"}
    first = creating(
        1,
        OLD,
        acceptance_files=[test],
        acceptance_commands=["python -m pytest -q test_old.py"],
        interfaces=[stub],
    )
    assert findings(plan(first, removing(2, OLD, "test_old.py"))) == []


def test_manifests_and_lock_files_may_be_removed() -> None:
    files = ["package.json", "package-lock.json"]
    assert findings(plan(removing(1, *files)), files) == []


# E111: it has to be there


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("old.py", "does not exist by then: nobody provides it"),
        ("pkg", "is a folder: name each of its files"),
        (".git/config", "does not exist by then: nobody provides it"),
        ("new.py", "does not exist by then: only WO-02 provides it"),
    ],
)
def test_what_is_not_there_cannot_be_removed(path: str, why: str) -> None:
    document = plan(removing(1, path), creating(2, "new.py", interfaces=[]))
    assert findings(document, [OLD]) == ["E111 WO-01 removed_files[0]"]
    assert messages(document, [OLD]) == [f'"{path}" {why}']


def test_a_file_is_removed_once() -> None:
    document = plan(removing(1, OLD, OLD), removing(2))
    assert findings(document, [OLD]) == ["E111 WO-02 removed_files[0]"]
    assert messages(document, [OLD]) == [f'"{OLD}" is gone already: WO-01 removes it']


def test_an_order_that_cannot_be_read_may_have_written_the_file() -> None:
    broken = {"id": "WO-01", "allowed_files": [7]}
    found = findings(plan(broken, removing(2)))
    assert not [each for each in found if each.startswith("E111")]


@pytest.mark.parametrize(
    ("path", "code"), [("pkg/*.py", "E004"), ("../x", "E005"), ("/x", "E005"), (7, "E005")]
)
def test_paths_are_checked_like_others(path: object, code: str) -> None:
    document = plan(order(1, removed_files=[path]))
    assert findings(document, [OLD]) == [f"{code} WO-01 removed_files[0]"]


# E112: nobody uses it


@pytest.mark.parametrize(
    "fields",
    [
        {"allowed_files": [OLD]},
        {"allowed_files": ["pkg/OLD.py"]},
        {"context_files": [OLD]},
        {"allowed_files": [OLD, "notes.txt"], "postconditions": exists(OLD, "notes.txt")},
    ],
)
def test_an_order_does_not_use_what_it_removes(fields: Document) -> None:
    found = findings(plan(removing(1, OLD, **fields)), [OLD, "notes.txt"])
    assert found == ["E112 WO-01 removed_files[0]"]


def test_an_order_does_not_remove_its_own_test() -> None:
    test = {"path": "test_a.py", "content": "def test_a():\n    assert 1 + 1 == 2\n"}
    run = ["python -m pytest -q test_a.py"]
    first = order(1, acceptance_files=[test], acceptance_commands=run)
    second = removing(2, "test_a.py", acceptance_files=[test], acceptance_commands=run)
    assert findings(plan(first, second)) == ["E112 WO-02 removed_files[0]"]


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"allowed_files": [OLD]}, "allowed_files[0]"),
        ({"allowed_files": [OLD], "postconditions": exists(OLD)}, "allowed_files[0]"),
    ],
)
def test_a_removed_file_is_not_written_again(fields: Document, field: str) -> None:
    document = plan(removing(1), order(2), order(3, **fields), order(4, context_files=[OLD]))
    assert findings(document, [OLD]) == [f"E112 WO-03 {field}"]
    assert messages(document, [OLD])[0].endswith("was removed by WO-01, and is written again here")


def test_a_removed_file_is_not_written_again_under_a_name_that_some_systems_take_for_it() -> None:
    document = plan(removing(1), order(2, allowed_files=["pkg/Old.py"]))
    assert findings(document, [OLD]) == ["E112 WO-02 allowed_files[0]"]


def test_a_removed_test_of_the_plan_is_not_written_again() -> None:
    test = {"path": "test_a.py", "content": "def test_a():\n    assert 1 + 1 == 2\n"}
    run = ["python -m pytest -q test_a.py"]
    first = order(1, acceptance_files=[test], acceptance_commands=run)
    as_test = order(3, acceptance_files=[test], acceptance_commands=run)
    as_file = creating(3, "test_a.py")
    for third, field in ((as_test, "acceptance_files[0].path"), (as_file, "allowed_files[0]")):
        assert findings(plan(first, removing(2, "test_a.py"), third)) == [f"E112 WO-03 {field}"]


def test_the_script_that_verifies_is_never_removed() -> None:
    script = "scripts/verify.sh"
    assert findings(plan(removing(1, script)), [script]) == ["E112 WO-01 removed_files[0]"]


# What others see: the file is gone


@pytest.mark.parametrize(
    ("fields", "found", "said"),
    [
        ({"preconditions": exists(OLD)}, "E101 WO-02 preconditions[0]", "must exist, but WO-01"),
        ({"context_files": [OLD]}, "E243 WO-02 context_files[0]", "by then: WO-01 removes it"),
        (
            {"acceptance_commands": [f"python {OLD}"]},
            "E241 WO-02 acceptance_commands[0]",
            "which WO-01 removes",
        ),
        (
            {"acceptance_commands": [f"python -m pytest -q {OLD}"]},
            "E241 WO-02 acceptance_commands[0]",
            "which WO-01 removes",
        ),
    ],
)
def test_a_later_order_that_needs_the_file_has_a_finding(
    fields: Document, found: str, said: str
) -> None:
    document = plan(removing(1), order(2, **fields))
    assert findings(document, [OLD]) == [found]
    assert said in messages(document, [OLD])[0]


def test_the_order_itself_is_judged_without_the_file() -> None:
    document = plan(removing(1, acceptance_commands=[f"python {OLD}"]))
    assert findings(document, [OLD]) == ["E241 WO-01 acceptance_commands[0]"]


def test_a_later_order_may_rely_on_the_absence() -> None:
    assert findings(plan(removing(1), order(2, preconditions=absent(OLD))), [OLD]) == []


def test_the_verify_contract_cannot_need_a_removed_file() -> None:
    contract = {"command": "bash scripts/verify.sh", "requires": exists(OLD)}
    document = plan(removing(1), verify_contract=contract)
    assert findings(document, [OLD]) == ["E106 plan verify_contract.requires[0]"]
    assert messages(document, [OLD])[0].endswith(": WO-01 removes it")


def test_a_file_that_comes_between_two_removals_comes_too_late() -> None:
    document = plan(
        order(1, acceptance_commands=["python tools/run.py"]),
        removing(2, "b"),
        creating(3, "tools/run.py", interfaces=[{"path": "tools/run.py", "stub": ""}]),
        removing(4, "tools/run.py"),
        removing(5, "c"),
    )
    assert findings(document, ["b", "c"]) == ["E217 WO-01 acceptance_commands[0]"]


# Its names are gone as well


def using(number: int, code: str, **fields: Any) -> Document:
    return order(number, acceptance_commands=[f'python -c "{code}"'], **fields)


@pytest.mark.parametrize("path", ["old.py", "old/__init__.py"])
def test_a_removed_module_cannot_be_imported(path: str) -> None:
    repo = {path: "def f() -> int:\n    return 1\n"}
    use = using(2, "from old import f; assert f() == 1")
    before = plan(order(1), use)
    after = plan(removing(1, path), use)
    assert findings(before, [*repo], sources=repo) == []
    assert findings(after, [*repo], sources=repo) == ["E210 WO-02 acceptance_commands[0]"]
    assert messages(after, [*repo], sources=repo)[0].endswith("this project that WO-01 removes")


def test_a_removed_module_cannot_be_run() -> None:
    repo = {"old.py": "print(1)\n"}
    document = plan(removing(1, "old.py"), order(2, acceptance_commands=["python -m old"]))
    assert findings(document, [*repo], sources=repo) == ["E242 WO-02 acceptance_commands[0]"]


def test_the_checker_does_not_see_what_a_removed_module_declared() -> None:
    repo = {"pkg/__init__.py": "", "pkg/old.py": "def f() -> int:\n    return 1\n"}
    use = using(2, "import pkg.old; assert pkg.old.f() == 1")
    document = plan(removing(1, "pkg/old.py"), use)
    assert findings(document, [*repo], sources=repo) == ["E210 WO-02 acceptance_commands[0]"]


@pytest.mark.rest
def test_a_module_takes_the_place_of_a_removed_one() -> None:
    repo = {"game.py": "def play() -> int:\n    return 1\n"}
    package = creating(
        1,
        "game/__init__.py",
        removed_files=["game.py"],
        interfaces=[{"path": "game/__init__.py", "stub": "def play(times: int) -> int: ..."}],
        acceptance_commands=['python -c "from game import play; assert play(2) == 2"'],
    )
    assert findings(plan(package), [*repo], sources=repo) == []
    wrong = {**package, "acceptance_commands": ['python -c "import game; assert game.play() == 1"']}
    assert findings(plan(wrong), [*repo], sources=repo) == ["E212 WO-01 acceptance_commands[0]"]


def test_a_removed_javascript_module_cannot_be_imported() -> None:
    repo = {"src/old.mjs": "export const a = 1;\n", "package.json": "{}"}
    test = {
        "path": "tests/a.test.mjs",
        "content": "import test from 'node:test';\nimport assert from 'node:assert/strict';\n"
        "import { a } from '../src/old.mjs';\ntest('a', () => { assert.equal(a, 1); });\n",
    }
    use = order(2, acceptance_files=[test], acceptance_commands=["node --test tests/a.test.mjs"])
    document = plan(removing(1, "src/old.mjs"), use)
    found = list(judge(parse_plan(document), [*repo], repo).findings)
    assert [each.code for each in found if each.code == "E210"] == ["E210"]
    assert "WO-01 removes" in next(each.message for each in found if each.code == "E210")


def test_a_removed_test_asserts_nothing_any_more() -> None:
    from planner.rules.coverage import _assertions
    from shared.work_order.parse_order import parse_document
    from shared.work_order.work_order import WorkOrder

    test = {"path": "test_a.py", "content": "def test_a():\n    assert 1 + 1 == 2\n"}
    run = ["python -m pytest -q"]
    documents = [
        order(1, covers=["R1"], acceptance_files=[test], acceptance_commands=run),
        order(2, covers=["R2"], acceptance_commands=run),
        removing(3, "test_a.py", covers=["R3"], acceptance_commands=run),
    ]
    orders = [parse_document(WorkOrder, each) for each in documents]
    found = [dict(each) for each in _assertions(orders)]
    assert found == [{"R1": Asserted.ORDER}, {"R2": Asserted.ORDER}, {"R3": Asserted.NOTHING}]


def test_an_order_that_also_removes_files_is_not_left_out_as_bootstrap() -> None:
    script = "scripts/verify.sh"
    for removed, expected in (([], 1), ([OLD], 0)):
        document = plan(creating(1, script, removed_files=removed), order(2))
        assert len(left_out(parse_plan(document), [script, OLD])) == expected
