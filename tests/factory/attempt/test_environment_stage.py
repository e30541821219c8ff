"""A fault of the environment ends an order at once; a fault of the model is tried again."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from factory.orders.documents import RunSummary
from factory.orders.stages import Stage
from factory.record.run_status import read_status, status_document
from shared.events.events import AttemptFailed
from tests.fakes import Reply, proposal
from tests.harness import Factory, commit_all, manifest, order, stages, writing

GOOD = proposal({"hello.txt": "hello\n"})
WRITES_CODE = writing("src/new.py", acceptance_commands=["python -c 'import src.new'"])


def importing(module: str) -> Reply:
    return proposal({"src/new.py": f"import {module}\n"})


def remedy_of(summary: RunSummary) -> str:
    assert summary.failure is not None
    return summary.failure.remedy


def test_a_missing_program_ends_the_order_at_once(factory: Factory) -> None:
    summary = factory.run(order(acceptance_commands=["no-such-program --now"]), [])
    assert stages(summary) == [Stage.ENVIRONMENT]
    assert "install no-such-program" in remedy_of(summary)
    (failed,) = factory.seen(AttemptFailed)
    assert failed.next_step == f"no attempt would fix this: {remedy_of(summary)}"
    assert factory.record("run_summary.json")["failure"]["remedy"] == remedy_of(summary)
    assert factory.record("attempt_1/failure_brief.json")["remedy"] == remedy_of(summary)


def test_the_status_knows_stage_and_remedy(factory: Factory) -> None:
    factory.run(order(acceptance_commands=["no-such-program --now"]), [])
    common = factory.repo / ".git"
    status = read_status(common)
    assert status is not None
    (shown,) = status_document(status, common)["orders"]
    assert shown["last_failure"] == "environment"
    assert "install no-such-program" in shown["failure"]["remedy"]


def test_a_declared_module_that_is_not_installed_is_no_fault_of_the_model(
    factory: Factory,
) -> None:
    commit_all(factory.repo, {"requirements.txt": "nowhere-installed==1.0\n"})
    summary = factory.run(WRITES_CODE, [importing("nowhere_installed")])
    assert stages(summary) == [Stage.ENVIRONMENT]
    assert "--deps auto" in remedy_of(summary)


def test_a_module_that_the_model_made_up_is_its_own_fault(factory: Factory) -> None:
    commit_all(factory.repo, {"requirements.txt": "something-else==1.0\n"})
    summary = factory.run(WRITES_CODE, [importing("made_up"), importing("json")])
    assert stages(summary) == [Stage.ACCEPTANCE_FAILED, ""]


def test_a_declaration_that_the_model_made_up_is_its_own_fault(factory: Factory) -> None:
    document = writing(
        "src/new.py",
        allowed_files=["src/new.py", "requirements.txt"],
        acceptance_commands=["python -c 'import src.new'"],
    )
    made_up = proposal({"src/new.py": "import made_up\n", "requirements.txt": "made_up\n"})
    summary = factory.run(document, [made_up, importing("json")])
    assert stages(summary) == [Stage.ACCEPTANCE_FAILED, ""]


def test_a_program_that_only_the_models_script_calls_is_its_own_fault(factory: Factory) -> None:
    scripts = [proposal({"scripts/verify.sh": text}) for text in ("no-such-tool\n", "true # now\n")]
    summary = factory.run(writing("scripts/verify.sh"), scripts)
    assert stages(summary) == [Stage.VERIFY_FAILED, ""]


def test_a_program_that_the_repos_script_calls_is_not(factory: Factory) -> None:
    script = "test -e hello.txt || exit 0\nno-such-tool\n"
    commit_all(factory.repo, {"scripts/verify.sh": script})
    summary = factory.run(order(), [GOOD])
    assert stages(summary) == [Stage.ENVIRONMENT]


def own_environment(folder: Path) -> Path:
    """Make a virtual environment, whose programs commands find, and return its interpreter."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    return folder / "bin/python"


def install(program: str, python: Path) -> None:
    (python.parent / program).write_text("#!/bin/sh\n")
    (python.parent / program).chmod(0o755)


def test_once_the_environment_is_fixed_the_same_reply_is_used(factory: Factory) -> None:
    commit_all(factory.repo, {"scripts/verify.sh": "test -e hello.txt || exit 0\ngreet\n"})
    python = own_environment(factory.scratch / "environment")
    assert stages(factory.run(order(), [GOOD], python=python)) == [Stage.ENVIRONMENT]
    install("greet", python)
    assert factory.run(order(), [], python=python).verdict == "PASS"
    assert factory.model.requests == []


# A program that an acceptance command names is missed before a model is paid


def test_a_missing_program_is_found_before_the_model_is_asked(factory: Factory) -> None:
    document = order(acceptance_commands=["test -f hello.txt", "greet --now"])
    python = own_environment(factory.scratch / "environment")
    summary = factory.run(document, [], python=python)
    assert (factory.model.requests, stages(summary)) == ([], [Stage.ENVIRONMENT])
    assert summary.failure is not None
    assert summary.failure.excerpt == (
        "There is no program 'greet' here.\n"
        "The acceptance command `greet --now` cannot run, so no model was asked."
    )
    install("greet", python)
    assert factory.run(document, [GOOD], python=python).verdict == "PASS"


@pytest.mark.parametrize(
    ("files", "allowed"),
    [
        ({"pyproject.toml": '[project.scripts]\ngreet = "app:main"\n'}, []),
        ({"scripts/verify.sh": "install -D bin/x /opt/bin/greet || true\n"}, []),
        ({"tools/greet.py": "x = 1\n"}, []),
        ({}, ["tools/greet"]),
        ({}, ["pyproject.toml"]),
    ],
)
def test_a_program_that_the_project_may_bring_is_waited_for(
    factory: Factory, files: dict[str, str], allowed: list[str]
) -> None:
    commit_all(factory.repo, files)
    document = order(allowed_files=["hello.txt", *allowed], acceptance_commands=["greet"])
    summary = factory.run(document, [GOOD])
    assert (len(factory.model.requests), stages(summary)) == (1, [Stage.ENVIRONMENT])


def test_a_program_by_its_path_is_the_orders_own(factory: Factory) -> None:
    document = order(acceptance_commands=["./hello.txt"])
    summary = factory.run(document, [GOOD], max_attempts=1)
    assert stages(summary) == [Stage.ACCEPTANCE_FAILED]


def test_a_program_that_an_earlier_order_brings_is_no_fault_of_the_plan(factory: Factory) -> None:
    """Its verification installs the program, which is so on the path of the orders after it."""
    python = own_environment(factory.scratch / "environment")
    script = f"install -m 755 greet.sh {python.parent}/greet\n"
    plan = manifest(
        [
            order(1, allowed_files=["greet.sh", "scripts/verify.sh"], acceptance_commands=["true"]),
            writing("2.txt", 2, acceptance_commands=["greet"]),
        ]
    )
    one = proposal({"greet.sh": "#!/bin/sh\n", "scripts/verify.sh": script})
    replies = {"WO-01": [one], "WO-02": [proposal({"2.txt": "x\n"})]}
    assert factory.run_all(plan, replies, python=python).verdict == "PASS"


def test_an_order_of_a_plan_that_lacks_a_program_is_not_asked_for(factory: Factory) -> None:
    plan = manifest(
        [writing("1.txt", 1), writing("2.txt", 2, acceptance_commands=["no-such-program"])]
    )
    summary = factory.run_all(plan, {"WO-01": [proposal({"1.txt": "x\n"})]})
    assert [each.state for each in summary.orders] == ["landed", "failed"]
    assert remedy_of(summary.orders[1]).startswith("install no-such-program")


def test_a_node_program_is_to_be_called_by_npx(factory: Factory) -> None:
    commit_all(factory.repo, {"package.json": '{"devDependencies": {"jest": "1"}}'})
    summary = factory.run(order(acceptance_commands=["no-such-jest"]), [])
    assert "write `npx no-such-jest`" in remedy_of(summary)


@pytest.mark.skipif(shutil.which("npm") is None, reason="needs npm")
def test_a_change_that_takes_the_old_runner_away_is_told_so(factory: Factory) -> None:
    """No installation brings it back: the change may be meant to replace it."""
    (factory.repo / "scripts/verify.sh").unlink()
    scripts = [{"test": "test -e old.json || no-such-runner"}, {"test": "true"}]
    before, after = (json.dumps({"scripts": each}) for each in scripts)
    commit_all(factory.repo, {"package.json": before, "old.json": "{}\n"})
    document = writing("package.json", removed_files=["old.json"])
    summary = factory.run(document, [proposal({"package.json": after})])
    assert stages(summary) == [Stage.ENVIRONMENT]
    assert remedy_of(summary).startswith("`npm test` ran this before the change")
    assert "pass --verify 'npm test'" in remedy_of(summary)


def test_a_plan_stops_at_the_environment(factory: Factory) -> None:
    plan = manifest(
        [writing("1.txt", 1, acceptance_commands=["no-such-program"]), writing("2.txt", 2)]
    )
    summary = factory.run_all(plan, {})
    assert [each.state for each in summary.orders] == ["failed", "pending"]
    assert json.loads((factory.run_folder / "run_summary.json").read_text())["verdict"] == "FAIL"


@pytest.mark.parametrize("jobs", [1, 2])
def test_behind_another_order_the_environment_is_billed_too(factory: Factory, jobs: int) -> None:
    """The second order fails only together with the first, for want of a program."""
    script = "if test -e 1.txt && test -e 2.txt; then no-such-tool; fi\n"
    commit_all(factory.repo, {"scripts/verify.sh": script})
    plan = manifest([writing("1.txt", 1), writing("2.txt", 2)])
    replies = {f"WO-0{n}": [proposal({f"{n}.txt": "x\n"})] for n in (1, 2)}
    summary = factory.run_all(plan, replies, jobs=jobs)
    assert [each.state for each in summary.orders] == ["landed", "failed"]
    assert "install no-such-tool" in remedy_of(summary.orders[1])
    assert len(factory.model.requests) == 2
