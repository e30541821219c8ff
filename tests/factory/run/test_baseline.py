"""The base is verified before a model is paid; what is red there is not the model's fault."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from factory.orders.stages import Stage
from factory.sandbox.policy import Backend
from shared.errors import CommandFailed, PreflightRefused
from shared.events.events import CommandEnded, CommandStarted, Noted
from shared.llm.stack import Mode, ModelSource
from shared.settings.settings import SandboxSettings
from tests.fakes import proposal
from tests.harness import Factory, commit_all, git, manifest, order, stages, writing

GOOD = proposal({"hello.txt": "hello\n"})
SCRIPT = "bash scripts/verify.sh"


def verified_by(factory: Factory, script: str, **files: str) -> None:
    commit_all(factory.repo, {"scripts/verify.sh": script, **files})


def with_tests(factory: Factory, text: str) -> None:
    """Have the repo verified by pytest, which runs these tests."""
    (factory.repo / "scripts/verify.sh").unlink()
    commit_all(factory.repo, {"test_base.py": text})


def with_documents_alone(factory: Factory, **files: str) -> None:
    git(factory.repo, "rm", "--quiet", "-r", ".")
    commit_all(factory.repo, {"README.md": "# Later\n", ".gitignore": "build/\n", **files})


def base_commands(factory: Factory) -> list[str]:
    return [each.command for each in factory.seen(CommandStarted) if each.order == "base"]


def said_of_the_base(factory: Factory) -> str:
    return "\n".join(each.message for each in factory.seen(Noted) if "the base" in each.message)


# Refused, or not


def test_a_base_without_code_may_fail_the_command_of_the_user(factory: Factory) -> None:
    with_documents_alone(factory)
    for branch in ("first", "second"):  # nothing is kept of a base that failed
        summary = factory.run(order(), [GOOD], branch=branch, verify=("grep -q hello hello.txt",))
        assert summary.verdict == "PASS"
        assert "has no code yet: each order has to make it pass" in said_of_the_base(factory)
        assert base_commands(factory) == ["grep -q hello hello.txt"]


def test_the_first_order_on_such_a_base_has_to_pass_the_command(factory: Factory) -> None:
    with_documents_alone(factory)
    summary = factory.run(order(), [GOOD], verify=("test -f other.txt",), max_attempts=1)
    assert stages(summary) == [Stage.VERIFY_FAILED]
    assert factory.tip() == ""


@pytest.mark.parametrize(
    ("command", "path"),
    [("test -f other.txt", "main.c"), ("no-such-program --all", "NOTES.md"), ("sleep 9", "a.md")],
)
def test_code_a_missing_program_and_a_time_out_are_refused_all_the_same(
    factory: Factory, command: str, path: str
) -> None:
    with_documents_alone(factory, **{path: "x\n"})
    with pytest.raises(PreflightRefused, match="verification is red on the base"):
        factory.run(order(), [], verify=(command,), timeout_seconds=2)
    assert factory.model.requests == []


def test_a_red_base_is_refused_before_a_model_is_asked(factory: Factory) -> None:
    verified_by(factory, "echo 'two is not three' >&2; exit 3\n")
    with pytest.raises(PreflightRefused) as refused:
        factory.run(order(), [])
    assert factory.model.requests == []
    assert f"`{SCRIPT}` ended with exit code 3\n  | two is not three" in refused.value.message
    assert "commit a fix to the base" in refused.value.hint
    assert "--allow-red" in refused.value.hint
    assert factory.tip() == ""
    assert factory.record("base/verify_result.json")[0]["exit_code"] == 3
    assert factory.record("run_summary.json")["verdict"] == "ERROR"


def test_a_red_base_without_its_packages_is_first_told_to_prepare_them(factory: Factory) -> None:
    verified_by(factory, "exit 3\n", **{"requirements.txt": "no-such-plugin\n"})
    with pytest.raises(PreflightRefused) as refused:
        factory.run(order(), [])
    first, _, rest = refused.value.hint.partition(", or ")
    assert first.endswith("what is declared and not here: no-such-plugin")
    assert rest.startswith("commit a fix")


def test_a_base_that_needs_the_files_of_a_submodule_is_red_with_that_reason(
    factory: Factory,
) -> None:
    allow = ("-c", "protocol.file.allow=always")
    git(factory.repo, *allow, "submodule", "--quiet", "add", str(factory.repo), "cases/of")
    verified_by(factory, "cat cases/of/README.md\n")
    with pytest.raises(PreflightRefused) as refused:
        factory.run(order(), [])
    assert refused.value.hint.startswith("pass a --verify without the submodule cases/of")


def test_a_plan_is_refused_too(factory: Factory) -> None:
    verified_by(factory, "exit 1\n")
    with pytest.raises(PreflightRefused):
        factory.run_all(manifest([writing("1.txt", 1)]), {})
    assert factory.model.requests == []


@pytest.mark.rest
def test_a_verification_that_hangs_on_the_base_is_ended(factory: Factory) -> None:
    verified_by(factory, "sleep 600\n")
    with pytest.raises(PreflightRefused, match="timed out"):
        factory.run(order(), [], timeout_seconds=1)


@pytest.mark.rest
@pytest.mark.parametrize("files", [{}, {"src/app.py": "x = 1\n"}, {"main.go": "package main\n"}])
def test_a_repo_with_nothing_to_verify_is_fine(factory: Factory, files: dict[str, str]) -> None:
    git(factory.repo, "rm", "--quiet", "-r", ".")
    commit_all(factory.repo, files)
    assert factory.run(order(), [GOOD]).verdict == "PASS"


def test_an_exempt_order_begins_where_only_the_code_compiles(factory: Factory) -> None:
    """Its plan makes the verification, so there is none on the base that could be red."""
    (factory.repo / "scripts/verify.sh").unlink()
    commit_all(factory.repo, {"red.py": "assert False\n"})
    plan = manifest([writing("1.txt", 1, verify_exempt=True)])
    assert factory.run_all(plan, {"WO-01": [proposal({"1.txt": "x\n"})]}).verdict == "PASS"
    assert base_commands(factory) == ["python -m compileall -q ."]


def test_an_order_that_writes_the_verification_needs_none_before(factory: Factory) -> None:
    (factory.repo / "scripts/verify.sh").unlink()
    commit_all(factory.repo, {"red.py": "assert False\n"})
    script = proposal({"scripts/verify.sh": "true\n"})
    assert factory.run(writing("scripts/verify.sh"), [script]).verdict == "PASS"
    assert base_commands(factory) == ["python -m compileall -q ."]


@pytest.mark.rest
def test_an_order_that_writes_the_verification_keeps_the_tests_that_are_there(
    factory: Factory,
) -> None:
    with_tests(factory, "def test_no():\n    assert False\n")
    with pytest.raises(PreflightRefused, match="test_no"):
        factory.run(writing("scripts/verify.sh"), [])


def test_a_plan_that_is_on_the_branch_verifies_nothing(factory: Factory) -> None:
    plan = manifest([writing("1.txt", 1)])
    factory.run_all(plan, {"WO-01": [proposal({"1.txt": "x\n"})]})
    factory.run_all(plan, {})
    assert base_commands(factory) == []
    assert said_of_the_base(factory) == ""


def test_a_replay_pays_for_nothing_and_verifies_no_base(factory: Factory, tmp_path: Path) -> None:
    from factory.run.run_order import run_order

    factory.run(order(), [GOOD])
    transcript = factory.run_folder / "transcript.jsonl"
    factory.events.clear()
    source = ModelSource(Mode.REPLAY, transcript=transcript)
    options = factory.options(branch="replayed", patience_seconds=0)
    summary = run_order(factory.save(order()), options, source, factory.events.append)
    assert summary.verdict == "PASS"
    assert base_commands(factory) == []


def test_a_flaky_base_is_tried_as_often_as_the_user_says(factory: Factory) -> None:
    count = factory.scratch / "count"
    verified_by(factory, f"echo x >> {count}; test $(wc -l < {count}) -ge 2\n")
    assert factory.run(order(), [GOOD], retry_flaky=1).verdict == "PASS"


# The remedy


def environment_with_a_module(folder: Path, module: str) -> Path:
    """Make a virtual environment that has one module more than the tests' own interpreter."""
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", "--system-site-packages", folder],
        check=True,
    )
    (site,) = folder.glob("lib/python3*/site-packages")
    (site / f"{module}.py").write_text("")
    return folder / "bin/python"


@pytest.mark.rest
def test_the_remedy_for_a_missing_module_helps(factory: Factory) -> None:
    verified_by(
        factory, "python -c 'import yaml_of_old'\n",
        **{"requirements.txt": "yaml_of_old>=1\n", ".gitignore": "/.venv/\n"},
    )  # fmt: skip
    python = environment_with_a_module(factory.repo / ".venv", "yaml_of_old")
    with pytest.raises(PreflightRefused) as refused:
        factory.run(order(), [])
    assert "The module 'yaml_of_old' is not installed" in refused.value.hint
    assert f"pass --python {python}" in refused.value.hint
    assert "--deps auto" in refused.value.hint
    assert factory.run(order(), [GOOD], python=python).verdict == "PASS"


def test_the_remedy_for_a_missing_program_names_it(factory: Factory) -> None:
    verified_by(factory, "no-such-linter .\n")
    with pytest.raises(PreflightRefused) as refused:
        factory.run(order(), [])
    assert "There is no program 'no-such-linter' here." in refused.value.hint


def test_a_missing_package_manager_is_needed_with_the_packages(factory: Factory) -> None:
    package = '{"scripts": {"test": "exit 0"}, "devDependencies": {"left": "^1.0.0"}}'
    verified_by(factory, "yarn test\n", **{"package.json": package, "yarn.lock": "# yarn v1\n"})
    with pytest.raises(PreflightRefused) as refused:
        factory.run(order(), [])
    first, _, rest = refused.value.hint.partition(", and ")
    assert "There is no program 'yarn' here. To fix it," in first
    assert rest.startswith(("pass --deps auto", "prepare it yourself"))


@pytest.mark.parametrize(
    ("path", "text", "said"),
    [
        ("pyproject.toml", '[project]\nname = "a"\nrequires-python = ">=3.99"\n', "Python >=3.99"),
        ("package.json", '{"engines": {"node": "^98.1 || >=99"}}', "Node.js ^98.1 || >=99"),
        ("go.mod", "module a.test/a\n\ngo 1.99\n", "Go 1.99"),
    ],
)
def test_a_version_that_the_base_asks_for_and_does_not_get_is_named(
    factory: Factory, path: str, text: str, said: str
) -> None:
    program = said.partition(" ")[0].removesuffix(".js").lower()
    if shutil.which(program) is None:
        pytest.skip(f"needs {program}")
    verified_by(factory, "exit 3\n", **{path: text})
    with pytest.raises(PreflightRefused) as refused:
        factory.run(order(), [])
    assert f"install {said}, which {path} asks for: commands have " in refused.value.hint


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("node_modules/@types/node/url.d.ts(12,3): error TS1005", "a version of @types/node whose"),
        ("node_modules/left/index.d.mts:3:1", "a version of left whose"),
        ("src/node_modules.d.ts:3:1", "commit a fix to the base"),
    ],
)
def test_a_package_in_which_a_red_base_finds_a_fault_is_named(
    factory: Factory, place: str, said: str
) -> None:
    verified_by(factory, f"echo '  {place}'\nexit 1\n")
    with pytest.raises(PreflightRefused) as refused:
        factory.run(order(), [])
    assert said in refused.value.hint


# Tests to pass

HELLO_TEST = "from pathlib import Path\n\n\ndef test_hello():\n    Path('hello.txt').read_text()\n"
TO_PASS = ("python -m pytest -q test_hello.py",)
READ_AT_ONCE = (
    "from pathlib import Path\n\nTEXT = Path('hello.txt').read_text()\n\n\n"
    "def test_hello():\n    assert TEXT\n"
)


@pytest.mark.parametrize("test", [HELLO_TEST, READ_AT_ONCE])
def test_a_base_may_fail_by_the_tests_to_pass(factory: Factory, test: str) -> None:
    """The second is not collected, and pytest runs no other test then."""
    with_tests(factory, "def test_base():\n    pass\n")
    commit_all(factory.repo, {"test_hello.py": test})
    document = order(acceptance_commands=list(TO_PASS))
    assert factory.run(document, [GOOD], to_pass=TO_PASS).verdict == "PASS"
    assert "fails by the tests that are to pass, and has to pass" in said_of_the_base(factory)
    assert factory.run(document, [GOOD], branch="other", to_pass=TO_PASS).verdict == "PASS"
    assert base_commands(factory) == []
    with pytest.raises(PreflightRefused):
        factory.run(document, [], branch="third")


def test_a_base_with_other_failures_beside_the_tests_to_pass_is_red(factory: Factory) -> None:
    with_tests(factory, "def test_base():\n    assert False\n")
    for test in (HELLO_TEST, READ_AT_ONCE):
        commit_all(factory.repo, {"test_hello.py": test})
        with pytest.raises(PreflightRefused):
            factory.run(order(), [], to_pass=TO_PASS)
    assert factory.model.requests == []


def test_the_verification_has_to_pass_with_the_tests_to_pass(factory: Factory) -> None:
    """A pass of the tests alone is not enough, as it would be with --allow-red."""
    with_tests(factory, "def test_base():\n    pass\n")
    more = HELLO_TEST + "\n\ndef test_more():\n    Path('more.txt').read_text()\n"
    commit_all(factory.repo, {"test_hello.py": more})
    document = order(acceptance_commands=["python -m pytest -q test_hello.py::test_hello"])
    summary = factory.run(document, [GOOD], to_pass=TO_PASS, max_attempts=1)
    assert stages(summary) == [Stage.VERIFY_FAILED]


# Kept


def test_an_equal_tree_is_not_verified_twice(factory: Factory) -> None:
    factory.run(order(), [GOOD])
    assert base_commands(factory) == [SCRIPT]
    factory.run(order(), [GOOD], branch="other")
    assert base_commands(factory) == []
    assert "has passed its verification before" in said_of_the_base(factory)


@pytest.mark.parametrize(
    "changes",
    [
        {"timeout_seconds": 599.0},
        {"sandbox": SandboxSettings(backend=Backend.OFF, env=("LLMCH_X",))},
        {"link": ("data",)},
    ],
)
def test_another_environment_is_verified_again(
    factory: Factory, changes: dict[str, object]
) -> None:
    (factory.repo / "data").mkdir()
    factory.run(order(), [GOOD])
    factory.run(order(), [GOOD], branch="other", **changes)
    assert base_commands(factory) == [SCRIPT]


def test_another_tree_is_verified_again(factory: Factory) -> None:
    factory.run(order(), [GOOD])
    commit_all(factory.repo, {"more.txt": "more\n"})
    factory.run(order(), [GOOD], branch="other")
    assert base_commands(factory) == [SCRIPT]


def test_a_red_base_is_looked_at_again_each_time(factory: Factory) -> None:
    """What makes it red may lie outside of the repo."""
    there = factory.scratch / "there"
    verified_by(factory, f"test -e {there}\n")
    with pytest.raises(PreflightRefused):
        factory.run(order(), [])
    there.touch()
    assert factory.run(order(), [GOOD]).verdict == "PASS"


def kept(factory: Factory) -> Path:
    return factory.repo / ".git/llmch/verified.json"


@pytest.mark.parametrize(
    "garbage",
    [b"", b"{", b"[]", b'{"verified": 1}', b'{"verified": [1, "x", null]}', b"\xff", b"[" * 99999],
)
def test_garbage_in_the_list_of_verified_trees_counts_as_nothing(
    factory: Factory, garbage: bytes
) -> None:
    kept(factory).parent.mkdir()
    kept(factory).write_bytes(garbage)
    factory.run(order(), [GOOD])
    assert base_commands(factory) == [SCRIPT]
    assert len(json.loads(kept(factory).read_text())["verified"]) == 2, "the base, what landed"


def test_no_link_and_no_fifo_is_read_as_the_list(factory: Factory) -> None:
    kept(factory).parent.mkdir()
    os.mkfifo(kept(factory))
    factory.run(order(), [GOOD])
    assert kept(factory).is_file()


def test_the_list_of_verified_trees_stays_short(factory: Factory) -> None:
    kept(factory).parent.mkdir()
    known = [f"{n:064x}" for n in range(500)]
    document = {"verified": known, "tests": {key: {} for key in known}}
    kept(factory).write_text(json.dumps(document))
    factory.run(order(), [GOOD])
    keys = json.loads(kept(factory).read_text())["verified"]
    assert len(keys) == 200
    assert keys[-3] == f"{499:064x}"


# What landed was verified, so it is not verified again as a base


NEXT = writing("next.txt", 2)


def test_what_landed_is_not_verified_again_as_a_base(factory: Factory) -> None:
    factory.run(order(), [GOOD])
    next_reply = proposal({"next.txt": "next\n"})
    assert factory.run(NEXT, [next_reply]).verdict == "PASS"
    assert base_commands(factory) == []
    tip = factory.tip()[:10]
    factory.run(writing("third.txt", 3), [proposal({"third.txt": "x\n"})])
    assert base_commands(factory) == []
    assert f"the base {tip} has passed" in said_of_the_base(factory)


def test_a_plan_that_goes_on_does_not_verify_what_it_landed(factory: Factory) -> None:
    plan = manifest([writing("1.txt", 1), writing("2.txt", 2)])
    one, two, bad = (proposal({f"{name}.txt": "x\n"}) for name in ("1", "2", "3"))
    factory.run_all(plan, {"WO-01": [one], "WO-02": [bad]}, max_attempts=1)
    assert factory.run_all(plan, {"WO-02": [two]}).verdict == "PASS"
    assert base_commands(factory) == []


def test_what_was_merged_on_the_tip_is_not_verified_again(factory: Factory) -> None:
    plan = manifest([writing("1.txt", 1), writing("2.txt", 2)])
    replies = {f"WO-0{n}": [proposal({f"{n}.txt": "x\n"})] for n in (1, 2)}
    assert factory.run_all(plan, replies, jobs=2).verdict == "PASS"
    assert factory.run(writing("3.txt", 3), [proposal({"3.txt": "x\n"})]).verdict == "PASS"
    assert base_commands(factory) == []


def test_in_another_environment_what_landed_is_verified(factory: Factory) -> None:
    factory.run(order(), [GOOD])
    factory.run(NEXT, [proposal({"next.txt": "next\n"})], timeout_seconds=599.0)
    assert base_commands(factory) == [SCRIPT]


def test_what_landed_on_a_red_base_is_verified_again(factory: Factory) -> None:
    verified_by(factory, "exit 3\n")
    factory.run(order(), [GOOD], allow_red=True)
    assert not kept(factory).exists()
    with pytest.raises(PreflightRefused):
        factory.run(NEXT, [])


def test_what_an_order_made_green_counts_as_verified(factory: Factory) -> None:
    verified_by(factory, "test -e hello.txt\n")
    factory.run(order(), [GOOD], allow_red=True)
    assert factory.run(NEXT, [proposal({"next.txt": "next\n"})]).verdict == "PASS"
    assert base_commands(factory) == []


@pytest.mark.rest
def test_what_was_only_compiled_is_verified_as_a_base(factory: Factory) -> None:
    git(factory.repo, "rm", "--quiet", "scripts/verify.sh")
    commit_all(factory.repo)
    plan = manifest([writing("1.txt", 1, verify_exempt=True), writing("2.txt", 2)])
    one, two, bad = (proposal({f"{name}.txt": "x\n"}) for name in ("1", "2", "3"))
    factory.run_all(plan, {"WO-01": [one], "WO-02": [bad]}, max_attempts=1)
    factory.run_all(plan, {"WO-02": [two]})
    assert base_commands(factory)[-1] == "python -m pytest -q"


def test_a_commit_that_did_not_land_is_not_kept(factory: Factory) -> None:
    """Someone else moves the branch while the order is made."""
    factory.run(order(), [GOOD])
    keys = kept(factory).read_bytes()
    factory.at_stage("commit", lambda workspace: git(factory.repo, "branch", "-f", "work", "main"))
    with pytest.raises(CommandFailed):
        factory.run(NEXT, [proposal({"next.txt": "next\n"})])
    assert kept(factory).read_bytes() == keys


# With --allow-red

ONE_RED = "def test_red():\n    assert False\n\ndef test_green():\n    assert open('a').read()\n"
TWO_RED = f"{ONE_RED}\ndef test_red_too():\n    assert open('b').read()\n"


def with_a_red_test(factory: Factory, tests: str = ONE_RED) -> None:
    (factory.repo / "a").write_text("text\n")
    (factory.repo / "b").touch()
    with_tests(factory, tests)


@pytest.mark.rest
def test_an_order_may_leave_red_what_was_red(factory: Factory) -> None:
    with_a_red_test(factory)
    summary = factory.run(order(), [GOOD], allow_red=True)
    assert summary.verdict == "PASS"
    last = summary.attempt_records[0].verify[-1]
    assert (last.exit_code, last.note) == (1, "red before the order too: 1 failed, 1 failed now")
    on_the_base = [each.note for each in factory.seen(CommandEnded) if each.order == "base"]
    assert on_the_base[-1] == "red before any order: 1 failed"


@pytest.mark.rest
def test_an_order_may_not_break_more(factory: Factory) -> None:
    with_a_red_test(factory)
    document = writing("a", acceptance_commands=["true"])
    worse, fine = (proposal({"a": text}) for text in ("", "fine\n"))
    summary = factory.run(document, [worse, fine], allow_red=True)
    assert stages(summary) == [Stage.VERIFY_FAILED, ""]
    brief = summary.attempt_records[0].failure_brief
    assert brief is not None
    assert brief.primary_error_excerpt.startswith(
        "These did not fail on the base: test_base.py::test_green."
    )


@pytest.mark.rest
def test_what_was_green_stays_green(factory: Factory) -> None:
    """The compilation passed on the base, so that it has to pass whatever pytest did there."""
    with_a_red_test(factory)
    broken = proposal({"new.py": "def (:\n"})
    summary = factory.run(writing("new.py"), [broken], allow_red=True, max_attempts=1)
    assert stages(summary) == [Stage.VERIFY_FAILED]


def test_a_script_without_counts_may_stay_red(factory: Factory) -> None:
    verified_by(factory, "exit 3\n")
    assert factory.run(order(), [GOOD], allow_red=True).verdict == "PASS"


def test_acceptance_is_as_strict_as_ever(factory: Factory) -> None:
    verified_by(factory, "exit 3\n")
    document = order(acceptance_commands=[SCRIPT])
    summary = factory.run(document, [GOOD], allow_red=True, max_attempts=1)
    assert stages(summary) == [Stage.ACCEPTANCE_FAILED]


@pytest.mark.rest
@pytest.mark.parametrize("jobs", [1, 2])
def test_what_one_order_fixed_the_next_may_not_break(factory: Factory, jobs: int) -> None:
    with_a_red_test(factory, TWO_RED)
    plan = manifest([writing("b", 1), writing("b", 2)])
    summary = factory.run_all(
        plan,
        {"WO-01": [proposal({"b": "fixed\n"})], "WO-02": [proposal({"b": ""})]},
        allow_red=True, max_attempts=1, jobs=jobs,
    )  # fmt: skip
    assert [each.state for each in summary.orders] == ["landed", "failed"]
    assert "test_red_too" in str(summary.orders[1].failure)


@pytest.mark.rest
def test_what_was_red_holds_where_orders_are_verified_again_on_the_tip(factory: Factory) -> None:
    with_a_red_test(factory)
    plan = manifest([writing("1.txt", 1), writing("2.txt", 2)])
    replies = {f"WO-0{n}": [proposal({f"{n}.txt": "x\n"})] for n in (1, 2)}
    summary = factory.run_all(plan, replies, allow_red=True, jobs=2, max_attempts=1)
    assert summary.verdict == "PASS"


@pytest.mark.rest
def test_a_plan_goes_on_over_a_red_base(factory: Factory) -> None:
    with_a_red_test(factory)
    plan = manifest([writing("1.txt", 1), writing("2.txt", 2)])
    one, two, bad = (proposal({f"{name}.txt": "x\n"}) for name in ("1", "2", "3"))
    first = factory.run_all(plan, {"WO-01": [one], "WO-02": [bad]}, allow_red=True, max_attempts=1)
    assert first.verdict == "FAIL"
    again = factory.run_all(plan, {"WO-02": [two]}, allow_red=True, max_attempts=1)
    assert again.verdict == "PASS"
