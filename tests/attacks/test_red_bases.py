"""On a red base no order lands a failing test of its own, and nothing to run is never green."""

from __future__ import annotations

from pathlib import Path

import pytest

from factory.audit.audit_evidence import Claim, ClaimState
from factory.judging.proof import RedCheck, describe_red, more_failures
from factory.orders.documents import VerifiedBy
from factory.run.run_order import run_order
from factory.sandbox.policy import Backend, Captured, Cause, Ended
from shared.errors import PreflightRefused
from shared.events.events import CommandEnded, Noted
from shared.llm.stack import Mode, ModelSource
from tests.factory.audit.honest import of_claim
from tests.factory.audit.test_rerun import SANDBOXED, rerun
from tests.factory.batch.taking_over import Person
from tests.fakes import proposal
from tests.harness import Factory, commit_all, git, manifest, stages, writing
from tests.real_tools import needs


def red(output: str, exit_code: int = 1, *files: str) -> RedCheck:
    """Return the account of a command that failed with this output on a tree of these files."""
    stream = Captured(output, len(output), False, Path("log"))
    nothing = Captured("", 0, False, Path("log"))
    return RedCheck.of(Ended((), exit_code, Cause.EXITED, stream, nothing, 0.0, Backend.OFF), files)


def pytest_run(*failed: str) -> str:
    lines = "".join(f"FAILED {each} - assert False\n" for each in failed)
    return f"{lines}{len(failed)} failed, 1 passed in 0.02s\n"


def go_run(**packages: str) -> str:
    ends = (
        f"--- FAIL: {test} (0.00s)\nFAIL\nFAIL\t{name}\t0.1s\n" for name, test in packages.items()
    )
    return "".join(ends) + "FAIL\n"


def go_subtest(name: str) -> str:
    inner = f"    --- FAIL: TestAll/{name} (0.00s)\n"
    return f"--- FAIL: TestAll (0.00s)\n{inner}FAIL\tm\t0.1s\nFAIL\n"


def go_events(name: str) -> str:
    test = f'"Package":"m","Test":"{name}"'
    return f'{{"Action":"run",{test}}}\n{{"Action":"fail",{test},"Elapsed":0}}\n'


def node_tap(name: str) -> str:
    inner = f"    # Subtest: {name}\n    not ok 1 - {name}\n    1..1\n"
    return f"{inner}not ok 1 - suite\n# tests 2\n# pass 1\n# fail 1\n"


INFO = "\u2139 tests 2\n\u2139 pass 1\n\u2139 fail 1\n"


def node_spec(name: str) -> str:
    return f"▶ suite\n  ✖ {name} (2.5ms)\n▶ suite (3ms)\n" + INFO


def cargo(name: str) -> str:
    return (
        f"test it::{name} ... FAILED\n"
        "test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out\n"
    )


def jest(name: str) -> str:
    numbers = "Tests:       1 failed, 1 passed, 2 total\n"
    return f"FAIL ./a.test.js (5.1 s)\n  ● suite \u203a {name}\n\n{numbers}"


def vitest(name: str) -> str:
    return f" FAIL  a.test.ts > {name}\n      Tests  1 failed | 1 passed (2)\n"


def mocha(name: str) -> str:
    return f"  1 passing (3ms)\n  1 failing\n\n  1) suite\n       {name}:\n  2) {name}\n"


def ava(name: str) -> str:
    return f"  ✘ [fail]: {name} (12ms)\n  1 test failed\n"


def unittest(name: str) -> str:
    return f"FAIL: {name} (m.T.{name})\nRan 2 tests in 0.001s\n\nFAILED (failures=1)\n"


SWAPS = {
    "pytest": (pytest_run("a.py::test_a"), pytest_run("a.py::test_b")),
    "unittest": (unittest("test_a"), unittest("test_b")),
    "go, another test": (go_run(m="TestA"), go_run(m="TestB")),
    "go, the same name in another package": (go_run(a="TestIt"), go_run(b="TestIt")),
    "go, another subtest": (go_subtest("a"), go_subtest("b")),
    "go, events": (go_events("TestA"), go_events("TestB")),
    "node, TAP": (node_tap("a"), node_tap("b")),
    "node, for people": (node_spec("a"), node_spec("b")),
    "cargo": (cargo("a"), cargo("b")),
    "jest": (jest("a"), jest("b")),
    "vitest": (vitest("a"), vitest("b")),
    "mocha": (mocha("a"), mocha("b")),
    "ava": (ava("a"), ava("b")),
}


@pytest.mark.parametrize("runner", SWAPS)
def test_a_failing_test_in_the_place_of_a_fixed_one_is_seen(runner: str) -> None:
    before, now = map(red, SWAPS[runner])
    assert before.failures is not None
    assert now.failures is not None
    assert before.failures.count == now.failures.count, "the control: numbers alone show nothing"
    assert "did not fail on the base" in more_failures(before, now)
    assert more_failures(before, before) == ""


def test_names_that_a_failing_test_prints_hide_no_other() -> None:
    """Were the names too many to be compared, the numbers would be, and they are equal."""
    before = red(pytest_run("a.py::test_a"))
    now = red("FAILED a.py::test_x - \nFAILED a.py::test_y - \n" + pytest_run("a.py::test_b"))
    assert more_failures(before, now)


def test_a_run_that_stops_at_its_first_failure_hides_no_other() -> None:
    """With `-x`, what comes after the first failure does not run, so it may fail as well."""
    stopped = "!!!!!! stopping after 1 failures !!!!!!\n"
    before = red(pytest_run("a.py::test_a") + stopped)
    assert "not seen to fail: a.py::test_b" in more_failures(
        before, red(pytest_run("a.py::test_b") + stopped)
    )
    assert more_failures(before, before) == ""


@pytest.mark.parametrize(
    ("now", "exit_code"),
    [(pytest_run("a.py::test_a"), 1), ("error: of another kind\n", 2), ("no tests ran in 0.1s", 5)],
)
def test_a_failure_of_another_kind_is_not_what_was_red_before(now: str, exit_code: int) -> None:
    """A linter failed on the base; the order mends that, and brings a test that fails."""
    assert more_failures(red("a.py:1: unused import\n"), red(now, exit_code))


def test_what_cannot_be_compared_by_name_is_said_in_the_record() -> None:
    numbered = red("2 failed, 1 passed in 0.02s\n")
    assert "compared by number alone" in describe_red(numbered, numbered)
    uncounted = red("it failed\n")
    assert "by exit code and names alone" in describe_red(uncounted, uncounted)
    named = red(pytest_run("a.py::test_a"))
    assert describe_red(named, named) == "red before the order too: 1 failed, 1 failed now"


RED = "def test_a():\n    assert open('a.txt').read() == 'good'\n"
GREEN = "def test_b():\n    assert open('b.txt').read() == 'good'\n"


@pytest.mark.rest
def test_an_order_that_fixes_one_test_and_breaks_another_does_not_land(factory: Factory) -> None:
    git(factory.repo, "rm", "--quiet", "scripts/verify.sh")
    files = {"test_a.py": RED, "test_b.py": GREEN, "a.txt": "bad", "b.txt": "good"}
    commit_all(factory.repo, files)
    swap = writing("a.txt", allowed_files=["a.txt", "b.txt"])
    swapped = proposal({"a.txt": "good", "b.txt": "bad"})
    summary = factory.run(swap, [swapped], allow_red=True, max_attempts=1)
    assert stages(summary) == ["verify_failed"]
    assert summary.failure is not None
    assert "These did not fail on the base: test_b.py::test_b" in summary.failure.excerpt
    failed = [each.tests.failed for each in summary.attempt_records[0].verify if each.tests]
    assert failed == [1], "the control: as many as on the base"


# Nothing to verify yet

NOTHING = {
    "pytest": ("no tests ran in 0.01s", 5),
    "pytest, all deselected": ("3 deselected in 0.01s", 5),
    "unittest": ("Ran 0 tests in 0.000s\n\nNO TESTS RAN", 5),
    "go": ("no packages to test", 1),
    "npm's placeholder": ("Error: no test specified", 1),
    "npm without a script": ('npm error Missing script: "test"', 1),
    "jest": ("No tests found, exiting with code 1", 1),
    "vitest": ("No test files found, exiting with code 1", 1),
    "mocha": ('Error: No test files found: "test"', 1),
    "ava": ("  ✘ Couldn\u2019t find any files to test", 1),
    "node": ("Could not find 'test/*.js'", 1),
    "cargo": ("Caused by:\n  no targets specified in the manifest", 101),
    "deno": ("error: No test modules found", 1),
}


@pytest.mark.parametrize("runner", NOTHING)
def test_a_command_that_finds_nothing_to_run_is_neither_red_nor_green(runner: str) -> None:
    output, exit_code = NOTHING[runner]
    found = red(f"before\n{output}\nafter\n", exit_code, "README.md")
    assert found.nothing == output.split("\n")[-1].strip()
    assert more_failures(found, found) == ""
    assert more_failures(red("1 failed in 0.1s\n"), found), "tests that ran have to run again"
    assert more_failures(found, red("error: it does not compile\n")), "a real failure stays red"


REAL = {
    "a test ran": ("1 passed in 0.1s\nNo tests found, exiting with code 1\n", 1),
    "a test failed": ("1 failed in 0.1s\nError: no test specified\n", 1),
    "pytest with a wrong option": ("no tests ran in 0.01s\nERROR: file not found: tests\n", 4),
    "cargo with sources": ("  no targets specified in the manifest\n", 101),
    "go with sources": ("no packages to test\n", 1),
    "in the middle of a line": ("I said: no packages to test, ever\n", 1),
}


@pytest.mark.parametrize("case", REAL)
def test_a_real_failure_stays_red_whatever_else_is_printed(case: str) -> None:
    output, exit_code = REAL[case]
    assert red(output, exit_code, "src/lib.rs", "a.go").nothing == ""


def only(factory: Factory, files: dict[str, str]) -> None:
    git(factory.repo, "rm", "--quiet", "-r", ".")
    commit_all(factory.repo, files)


def proof(found: VerifiedBy | None) -> VerifiedBy:
    assert found is not None
    return found


@needs("go")
@pytest.mark.rest
def test_a_go_module_without_packages_is_worked_on_and_not_told_as_verified(
    factory: Factory,
) -> None:
    only(factory, {"go.mod": "module example.org/m\n\ngo 1.20\n"})
    summary = factory.run(writing("NOTES.md"), [proposal({"NOTES.md": "notes\n"})])
    assert summary.verdict == "PASS"
    assert proof(summary.verified_by).rests_on_acceptance
    assert any("nothing to verify yet" in each.message for each in factory.seen(Noted))
    noted = [each.note for each in factory.seen(CommandEnded) if each.exit_code]
    assert noted
    assert all("nothing to verify yet" in each for each in noted)


RUNNER = "import os, sys\nif not os.path.exists('a.test'):\n    "


def test_a_runner_without_tests_is_no_reason_to_refuse_a_repo(factory: Factory) -> None:
    runner = f"{RUNNER}sys.exit(print('No tests found, exiting with code 1') or 1)\n"
    only(factory, {"run.py": f"{runner}sys.exit(open('a.test').read() != 'good')\n"})
    verify = ("python run.py",)
    plain = factory.run(writing("a.md"), [proposal({"a.md": "a\n"})], verify=verify)
    assert plain.verdict == "PASS"
    assert proof(plain.verified_by).rests_on_acceptance
    bad = factory.run(
        writing("a.test", 2), [proposal({"a.test": "bad"})], verify=verify, max_attempts=1
    )
    assert stages(bad) == ["verify_failed"]


NOTHING_YET = "test -e a.test && exit\necho 'No tests found, exiting with code 1'\nexit 1\n"


@pytest.mark.rest
def test_a_rerun_and_a_replay_find_nothing_to_run_as_the_run_did(factory: Factory) -> None:
    commit_all(factory.repo, {"scripts/verify.sh": NOTHING_YET})
    order = writing("a.md")
    factory.run(order, [proposal({"a.md": "a\n"})], sandbox=SANDBOXED)
    checks = of_claim(rerun(factory.repo, factory.artifacts), Claim.CHECKS)
    assert checks.standing is ClaimState.PROVEN
    assert "ran no test" in checks.text
    source = ModelSource(Mode.REPLAY, transcript=factory.run_folder / "transcript.jsonl")
    options = factory.options(branch="replayed", patience_seconds=0)
    assert run_order(factory.save(order), options, source, lambda _: None).verdict == "PASS"


def test_a_commit_that_goes_back_to_nothing_is_not_accepted(factory: Factory) -> None:
    commit_all(factory.repo, {"scripts/verify.sh": NOTHING_YET, "a.test": "good"})
    git(factory.repo, "switch", "--quiet", "--create", "work")
    removal = writing("a.test", allowed_files=["b.md"], removed_files=["a.test"])
    factory.run_all(manifest([removal]), {"WO-01": [proposal({"c.md": ""})]}, max_attempts=1)
    git(factory.repo, "rm", "--quiet", "a.test")
    commit_all(factory.repo, {"b.md": "b\n"})
    refused = Person(factory).accept("WO-01")
    assert refused.failure is not None
    assert refused.failure.stage == "verify_failed"


def test_a_first_order_may_bring_a_verification_that_has_nothing_to_run_yet(
    factory: Factory,
) -> None:
    only(factory, {"README.md": "# It\n"})
    script = "echo 'No tests found, exiting with code 1'\nexit 1\n"
    summary = factory.run(writing("scripts/verify.sh"), [proposal({"scripts/verify.sh": script})])
    assert summary.verdict == "PASS"
    assert proof(summary.verified_by).rests_on_acceptance


def test_an_order_does_not_go_back_to_nothing(factory: Factory) -> None:
    runner = f"{RUNNER}sys.exit(print('No tests found, exiting with code 1') or 1)\n"
    only(factory, {"run.py": runner, "a.test": "good"})
    removal = writing("a.test", allowed_files=[], removed_files=["a.test"])
    summary = factory.run(removal, [], verify=("python run.py",), max_attempts=1)
    assert stages(summary) == ["verify_failed"]


def test_a_broken_base_is_refused_as_ever(factory: Factory) -> None:
    commit_all(factory.repo, {"scripts/verify.sh": "echo 'no tests here'\nexit 1\n"})
    with pytest.raises(PreflightRefused, match="verification is red on the base"):
        factory.run(writing("a.md"), [])
