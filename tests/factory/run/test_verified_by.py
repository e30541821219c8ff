"""What a result says of its proof: which commands judged an order, and the tests that they ran."""

from __future__ import annotations

import shutil
from typing import Any

import pytest

from factory.orders.stages import Stage
from factory.record.summary import public_json
from shared.events.events import CommandFlagged, OrderEnded, Warned
from tests.fakes import Reply, proposal
from tests.harness import Factory, Json, commit_all, manifest, order, stages, writing

GOOD = proposal({"hello.txt": "hello\n"})
SCRIPT = "bash scripts/verify.sh"
ONE = (
    "import unittest\n\n\nclass Tests(unittest.TestCase):\n"
    "    def test_one(self) -> None:\n        assert True\n"
)
TESTS = ONE + "\n    def test_two(self) -> None:\n        assert True\n"
SKIPPED = ONE.replace("    def", '    @unittest.skip("later")\n    def')
ALONE = "the verification ran no test: the order rests on its acceptance commands alone"


def with_tests(factory: Factory, text: str = TESTS) -> None:
    """Have the repo verified by these tests; later versions of unittest end with 5 without any."""
    verify = "python -m unittest discover || [ $? = 5 ]\n"
    commit_all(factory.repo, {"scripts/verify.sh": verify, "test_base.py": text})


def rewriting(text: str, *commands: str, **changes: Any) -> tuple[Json, Reply]:
    """Return an order on the tests of the repo, and the reply that gives them this text."""
    document = order(
        allowed_files=["test_base.py"],
        context_files=["test_base.py"],
        acceptance_commands=list(commands) or ["test -f test_base.py"],
        regression=list(commands) or ["test -f test_base.py"],
        **changes,
    )
    return document, proposal({"test_base.py": text})


def test_a_summary_names_each_command_with_its_tests(factory: Factory) -> None:
    with_tests(factory)
    summary = factory.run(order(), [GOOD])
    document: Any = public_json(summary)
    assert document["verified_by"] == {
        "verification": [
            {
                "command": SCRIPT,
                "exit_code": 0,
                "tests": {"passed": 2, "failed": 0, "skipped": 0},
            }
        ],
        "acceptance": [{"command": "test -f hello.txt", "exit_code": 0, "tests": None}],
        "rests_on_acceptance": False,
    }
    (ended,) = factory.seen(OrderEnded)
    assert ended.proof == f"verified by {SCRIPT}: 2 tests"


@pytest.mark.parametrize("tests", ["x = 1\n", SKIPPED])
def test_a_verification_without_a_test_is_not_called_one(factory: Factory, tests: str) -> None:
    with_tests(factory, tests)
    says_that_no_test_ran(factory)


@pytest.mark.rest
def test_neither_is_the_default_where_pytest_finds_no_test(factory: Factory) -> None:
    (factory.repo / "scripts/verify.sh").unlink()
    commit_all(factory.repo)
    says_that_no_test_ran(factory)


def says_that_no_test_ran(factory: Factory) -> None:
    summary = factory.run(order(), [GOOD])
    assert (summary.verdict, summary.warnings) == ("PASS", (ALONE,))
    assert summary.verified_by is not None
    assert summary.verified_by.rests_on_acceptance
    assert [each.message for each in factory.seen(Warned)] == [f"WO-01: {ALONE}"]
    (ended,) = factory.seen(OrderEnded)
    assert ended.proof == "the verification ran no test: the order rests on 1 acceptance command"


def test_a_script_that_counts_nothing_is_named_alone(factory: Factory) -> None:
    summary = factory.run(order(), [GOOD])
    assert (summary.verdict, summary.warnings) == ("PASS", ())
    (ended,) = factory.seen(OrderEnded)
    assert ended.proof == "verified by bash scripts/verify.sh"


@pytest.mark.parametrize("left", ["x = 1\n", SKIPPED])
def test_an_order_that_leaves_no_test_fails(factory: Factory, left: str) -> None:
    with_tests(factory)
    document, reply = rewriting(left)
    summary = factory.run(document, [reply], max_attempts=1)
    assert stages(summary) == [Stage.VERIFY_FAILED]
    assert summary.failure is not None
    words = "`bash scripts/verify.sh` ran 2 tests before this order and none after it."
    assert summary.failure.excerpt.startswith(words)
    assert summary.failure.command == SCRIPT
    assert summary.verified_by is None
    assert factory.tip() == ""


QUIET = "python -m unittest discover 2>/dev/null\n"
SILENCED = (
    "`bash scripts/verify.sh` ran 2 tests before this order; after it, its output does not say how "
    "many"
)


def silencing(**changes: Any) -> tuple[Json, Reply]:
    """Return an order that rewrites the script so that no count is printed, and its reply."""
    script = "scripts/verify.sh"
    acceptance = f"test -f {script}"
    document = order(
        allowed_files=[script],
        context_files=[script],
        acceptance_commands=[acceptance],
        regression=[acceptance],
        **changes,
    )
    return document, proposal({script: QUIET})


def test_an_order_after_which_no_test_is_seen_to_run_fails(factory: Factory) -> None:
    with_tests(factory)
    document, reply = silencing()
    summary = factory.run(document, [reply], max_attempts=1)
    assert stages(summary) == [Stage.VERIFY_FAILED]
    assert summary.failure is not None
    assert summary.failure.excerpt.startswith(f"{SILENCED}. Nothing shows that a test ran")
    assert summary.failure.command == SCRIPT
    assert factory.tip() == ""


def test_an_order_that_says_that_it_changes_something_may_silence_its_tests(
    factory: Factory,
) -> None:
    with_tests(factory)
    document, reply = silencing(changes=["scripts/verify.sh"])
    summary = factory.run(document, [reply])
    assert (summary.verdict, summary.warnings) == ("PASS", (SILENCED,))


def test_a_command_that_falls_silent_beside_one_that_counts_is_a_warning(factory: Factory) -> None:
    with_tests(factory)
    both = (SCRIPT, "python -m unittest test_base")
    document, reply = silencing()
    summary = factory.run(document, [reply], verify=both)
    assert (summary.verdict, summary.warnings) == ("PASS", (SILENCED,))


@pytest.mark.rest
@pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed")
def test_a_test_script_that_falls_silent_is_a_warning(factory: Factory) -> None:
    (factory.repo / "scripts/verify.sh").unlink()
    loud = '{"name": "calc", "scripts": {"test": "node --test"}}\n'
    test = "require('node:test').test('adds', () => {});\n"
    commit_all(factory.repo, {"package.json": loud, "new.test.js": test})
    document = writing("package.json", context_files=["package.json"])
    quiet = loud.replace("--test", "--test > /dev/null")
    summary = factory.run(document, [proposal({"package.json": quiet})])
    words = "`npm test` ran 1 test before this order; after it, its output does not say how many"
    assert (summary.verdict, words in summary.warnings) == ("PASS", True)


def test_a_base_that_was_verified_before_is_compared_too(factory: Factory) -> None:
    with_tests(factory)
    factory.run(order(), [GOOD], branch="first")
    document, reply = rewriting("x = 1\n")
    assert stages(factory.run(document, [reply], max_attempts=1)) == [Stage.VERIFY_FAILED]
    assert [each.command for each in factory.seen(CommandFlagged)] == []


def test_fewer_tests_are_a_warning_with_both_numbers(factory: Factory) -> None:
    with_tests(factory)
    document, reply = rewriting(ONE)
    summary = factory.run(document, [reply])
    assert summary.verdict == "PASS"
    words = "`bash scripts/verify.sh` ran 2 tests before this order and 1 after it"
    assert summary.warnings == (words,)
    changed, again = rewriting(ONE, changes=["test_two"])
    assert factory.run(changed, [again], branch="other").warnings == ()


def test_each_order_is_compared_with_the_one_before(factory: Factory) -> None:
    with_tests(factory)
    more = proposal({"test_more.py": TESTS})
    second = writing("test_more.py", 2)
    second["acceptance_commands"] = ["test -f test_more.py"]
    third = writing("test_more.py", 3)
    third["context_files"] = ["test_more.py"]
    less = proposal({"test_more.py": "x = 1\n"})
    plan = manifest([order(1), second, third])
    summary = factory.run_all(plan, {"WO-01": [GOOD], "WO-02": [more], "WO-03": [less]})
    proofs = [each.proof.rpartition(": ")[2] for each in factory.seen(OrderEnded)]
    assert proofs == ["2 tests", "4 tests", "2 tests"]
    assert "ran 4 tests before this order and 2 after it" in summary.orders[2].warnings[-1]


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_a_test_command_that_runs_no_test_fails_as_acceptance(factory: Factory) -> None:
    command = "node --test --test-name-pattern=nothing new.test.js"
    document = writing("new.test.js", acceptance_commands=[command])
    test = "require('node:test').test('adds', () => {\n  if (1 + 1 !== 2) throw Error();\n});\n"
    summary = factory.run(document, [proposal({"new.test.js": test})], max_attempts=1)
    assert stages(summary) == [Stage.ACCEPTANCE_FAILED]
    assert summary.failure is not None
    assert (summary.failure.command, summary.failure.exit_code) == (command, 0)
    assert "so it proves nothing" in summary.failure.excerpt


def test_skipped_tests_alone_prove_nothing_before_an_order_or_after_it(factory: Factory) -> None:
    with_tests(factory)
    commit_all(factory.repo, {"test_new.py": SKIPPED})
    command = "python -m unittest test_new"
    document = order(acceptance_commands=[command, "test -f hello.txt"])
    summary = factory.run(document, [GOOD], max_attempts=1)
    assert stages(summary) == [Stage.ACCEPTANCE_FAILED]
    assert summary.failure is not None
    assert "skipped its only test, so it proves nothing" in summary.failure.excerpt
    assert summary.flags == ()  # the command is not said to pass before anything is written


def test_a_command_that_is_no_test_runner_may_print_what_it_likes(factory: Factory) -> None:
    document = order(acceptance_commands=["echo Ran 0 tests in 0.1s", "test -f hello.txt"])
    document["regression"] = document["acceptance_commands"][:1]
    assert factory.run(document, [GOOD]).verdict == "PASS"
