"""Files that an order removes: gone before the model is asked, judged so, and committed so."""

from __future__ import annotations

from typing import Any

import pytest

from factory.orders.stages import Stage
from shared.errors import InvalidInput, PreflightRefused
from shared.events.events import AttemptFailed, BatchEnded, WritesApplied
from tests.fakes import proposal
from tests.harness import Factory, Json, commit_all, git, manifest, order, stages, writing

CALLER = "from legacy import old\n\n\ndef total() -> int:\n    return old() + 1\n"
WITHOUT = "def total() -> int:\n    return 2\n"
REPO = {
    "legacy.py": "def old() -> int:\n    return 1\n",
    "tests/test_legacy.py": "from legacy import old\n\n\ndef test_old():\n    assert old() == 1\n",
    "tests/test_total.py": "from app import total\n\n\ndef test_it():\n    assert total() == 2\n",
    "app.py": CALLER,
    "conftest.py": "",
}
GONE = ["legacy.py", "tests/test_legacy.py"]
RUN = "python -m pytest -q tests/test_total.py"


@pytest.fixture
def legacy(factory: Factory) -> Factory:
    """A repo with a module, its test, and a caller of the module."""
    git(factory.repo, "rm", "-r", "-q", "--ignore-unmatch", "scripts")
    commit_all(factory.repo, REPO)
    return factory


def removing(*paths: str, **changes: Any) -> Json:
    fields: Json = {
        "allowed_files": ["app.py"],
        "removed_files": list(paths or GONE),
        "acceptance_commands": [RUN],
        "regression": [RUN],
    }
    return order(**fields | changes)


def files_of(factory: Factory, commit: str = "work") -> list[str]:
    return git(factory.repo, "ls-tree", "-r", "--name-only", commit).splitlines()


# What it is for


@pytest.mark.rest
def test_a_module_and_its_test_go_and_the_caller_is_edited(legacy: Factory) -> None:
    summary = legacy.run(removing(), [proposal({"app.py": WITHOUT})])
    assert summary.verdict == "PASS", summary.failure
    assert (summary.flags, summary.warnings) == ((), ())
    assert git(legacy.repo, "diff", "--name-status", "main", "work").splitlines() == [
        "M\tapp.py",
        "D\tlegacy.py",
        "D\ttests/test_legacy.py",
    ]
    ran = {" ".join(each.command): each.tests for each in summary.attempt_records[0].verify}
    assert [each.ran for each in ran.values() if each is not None] == [1], ran
    assert summary.attempt_records[0].drift == ()


@pytest.mark.rest
def test_a_caller_that_still_uses_the_module_fails_the_verification(legacy: Factory) -> None:
    same = proposal({"app.py": CALLER + "# kept\n"})
    summary = legacy.run(removing(), [same, proposal({"app.py": WITHOUT})])
    assert (summary.verdict, stages(summary)) == ("PASS", [Stage.VERIFY_FAILED, ""])
    brief = summary.attempt_records[0].failure_brief
    assert brief is not None and "legacy" in brief.primary_error_excerpt
    assert "legacy.py" not in files_of(legacy)


@pytest.mark.rest
def test_the_model_is_told_what_is_gone(legacy: Factory) -> None:
    legacy.run(removing(context_files=["conftest.py"]), [proposal({"app.py": WITHOUT})])
    prompt = legacy.prompt()
    assert "These files are removed by this order, and are gone already." in prompt
    assert "- legacy.py\n- tests/test_legacy.py\n" in prompt


def test_the_short_prompt_tells_it_too(legacy: Factory) -> None:
    from factory.proposal.prompt import has_short_prompt, render_short_prompt
    from shared.work_order.parse_order import parse_document
    from shared.work_order.work_order import WorkOrder

    subject = parse_document(WorkOrder, removing())
    assert has_short_prompt(subject, ())
    told = "gone already. Use none of them: legacy.py, tests/test_legacy.py\n"
    assert told in render_short_prompt(subject, ())
    without = parse_document(WorkOrder, removing() | {"removed_files": []})
    assert "gone already" not in render_short_prompt(without, ())


def test_a_long_list_of_removed_files_is_cut_in_prompts() -> None:
    from factory.proposal.prompt_parts import name_removed

    names = [f"f{n}" for n in range(53)]
    assert name_removed(names)[-2:] == ("f49", "and 3 more")
    assert name_removed(names[:50]) == tuple(names[:50])


# An order that only removes files

UNUSED = {
    "app.py": WITHOUT,
    "unused.py": "def unused() -> int:\n    return 1\n",
    "tests/test_unused.py": "from unused import unused\n\n\ndef test_it():\n    assert unused()\n",
}
ABSENT = "python -c \"from importlib.util import find_spec; assert find_spec('unused') is None\""


def removing_alone(*paths: str, **changes: Any) -> Json:
    fields: Json = {"allowed_files": [], "acceptance_commands": [ABSENT], "regression": []}
    return removing(*(paths or ("unused.py", "tests/test_unused.py")), **fields | changes)


@pytest.mark.rest
def test_no_model_is_asked_where_files_are_only_removed(legacy: Factory) -> None:
    commit_all(legacy.repo, UNUSED)
    summary = legacy.run(removing_alone(), [])
    assert summary.verdict == "PASS", summary.failure
    assert (summary.flags, summary.warnings, summary.usage.calls) == ((), (), 0)
    assert legacy.model.requests == []
    assert git(legacy.repo, "diff", "--name-status", "main", "work").splitlines() == [
        "D\ttests/test_unused.py",
        "D\tunused.py",
    ]
    message = git(legacy.repo, "log", "-1", "--format=%b", "work")
    assert message.startswith("Removes unused.py, tests/test_unused.py.\n")
    note = git(legacy.repo, "notes", "--ref", "llmch", "show", "work")
    assert "model: none\n" in note
    (applied,) = legacy.seen(WritesApplied)
    assert (applied.files, applied.removed) == ((), ("unused.py", "tests/test_unused.py"))


@pytest.mark.rest
def test_a_test_of_the_plan_may_come_with_it(legacy: Factory) -> None:
    commit_all(legacy.repo, UNUSED)
    text = "import os\n\n\ndef test_gone():\n    assert not os.path.exists('unused.py')\n"
    test = {"path": "tests/test_gone.py", "content": text}
    command = "python -m pytest -q tests/test_gone.py"
    plan = removing_alone(acceptance_files=[test], acceptance_commands=[command])
    summary = legacy.run(plan, [])
    assert (summary.verdict, summary.flags) == ("PASS", ()), summary.failure
    assert "tests/test_gone.py" in files_of(legacy)


@pytest.mark.rest
def test_a_command_that_passes_while_the_files_are_there_is_flagged(legacy: Factory) -> None:
    commit_all(legacy.repo, UNUSED)
    summary = legacy.run(removing_alone(acceptance_commands=[RUN, ABSENT]), [])
    assert [(each.code, each.command) for each in summary.flags] == [("W252", RUN)]


@pytest.mark.rest
def test_what_still_uses_the_files_ends_the_order_at_once_and_says_what_helps(
    legacy: Factory,
) -> None:
    """No model is asked, so another attempt would be the same."""
    plan = manifest([removing_alone(*GONE, acceptance_commands=["true"])])
    summary = legacy.run_all(plan, {})
    (order,) = summary.orders
    assert (order.verdict, order.attempts, stages(order)) == ("FAIL", 1, [Stage.VERIFY_FAILED])
    remedy = "WO-01 only removes files, so no model is asked: list in its `allowed_files`"
    assert order.failure is not None and order.failure.remedy.startswith(remedy)
    assert "reply" not in " ".join(legacy.seen(AttemptFailed)[0].facts)
    (ended,) = legacy.seen(BatchEnded)
    assert ended.next_step.startswith(remedy)
    assert ended.next_step.endswith("; then the same command again goes on where this one stopped")
    (patch,) = legacy.artifacts.glob("factory/*/*/attempt_1/rejected.patch")
    assert "--- a/legacy.py\n+++ /dev/null\n" in patch.read_text()


# The executor and its commands cannot bring a file back


@pytest.mark.rest
@pytest.mark.parametrize("path", ["legacy.py", "LEGACY.py"])
def test_a_reply_that_writes_a_removed_file_is_refused(legacy: Factory, path: str) -> None:
    back = proposal({"app.py": WITHOUT, path: "x = 1\n"})
    summary = legacy.run(removing(), [back, proposal({"app.py": WITHOUT})])
    assert (summary.verdict, stages(summary)) == ("PASS", [Stage.WRITE_SCOPE_VIOLATION, ""])
    assert "is removed by this order" in legacy.prompt(1)
    patch = legacy.record("attempt_1/write_result.json")
    assert patch["removed_files"] == GONE


@pytest.mark.rest
def test_a_command_that_makes_a_removed_file_again_fails_the_attempt(legacy: Factory) -> None:
    code = f"{WITHOUT}\n\nimport pathlib\npathlib.Path('legacy.py').write_text('')\n"
    summary = legacy.run(removing(), [proposal({"app.py": code})], max_attempts=1)
    assert stages(summary) == [Stage.VERIFY_FAILED]
    assert summary.failure is not None
    assert "a command made legacy.py again, which the order removes" in summary.failure.excerpt


@pytest.mark.rest
def test_a_folder_may_take_the_place_of_a_removed_file(legacy: Factory) -> None:
    commit_all(legacy.repo, {"tool": "#!/bin/sh\n"})
    plan = removing("tool", allowed_files=["tool/run.sh"], acceptance_commands=["test -d tool"])
    summary = legacy.run(plan, [proposal({"tool/run.sh": "true\n"})])
    assert summary.verdict == "PASS", summary.failure
    assert "tool/run.sh" in files_of(legacy)


@pytest.mark.rest
def test_a_file_may_take_the_place_of_a_folder_that_is_emptied(legacy: Factory) -> None:
    commit_all(legacy.repo, {"tool/deep/run.sh": "true\n"})
    plan = removing(
        "tool/deep/run.sh", allowed_files=["tool"], acceptance_commands=["test -f tool"]
    )
    summary = legacy.run(plan, [proposal({"tool": "true\n"})])
    assert summary.verdict == "PASS", summary.failure
    assert "tool" in files_of(legacy)


# Before anything is asked


@pytest.mark.rest
def test_folders_that_hold_nothing_any_more_are_gone_for_the_commands(legacy: Factory) -> None:
    commit_all(legacy.repo, {"pkg/deep/a.txt": "a\n"})
    plan = removing("pkg/deep/a.txt", acceptance_commands=["test ! -e pkg"], regression=[])
    summary = legacy.run(plan, [proposal({"app.py": WITHOUT})])
    assert summary.verdict == "PASS", summary.failure


@pytest.mark.rest
def test_both_trial_runs_have_the_files_gone(legacy: Factory) -> None:
    plan = removing(
        acceptance_commands=["test ! -e legacy.py"],
        interfaces=[{"path": "app.py", "stub": "def total() -> int: ...\n"}],
        changes=["old"],
        regression=[],
    )
    summary = legacy.run(plan, [proposal({"app.py": WITHOUT})])
    assert [each.code for each in summary.flags] == ["W252", "W234"]


@pytest.mark.rest
@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("absent.py", "does not exist"),
        ("tests", "is a folder"),
        ("legacy.py/x", "lies below something that is no folder"),
        ("Legacy.py", "does not exist"),
        ("link/a.txt", "lies behind a symbolic link"),
    ],
)
def test_what_is_no_file_there_ends_the_order_before_a_call(
    legacy: Factory, path: str, why: str
) -> None:
    (legacy.repo / "link").symlink_to("tests")
    commit_all(legacy.repo)
    summary = legacy.run(removing("conftest.py", path), [])
    assert (summary.verdict, stages(summary)) == ("FAIL", [Stage.PREFLIGHT])
    assert summary.failure is not None
    assert f"the order removes '{path}', which {why}" in summary.failure.excerpt


@pytest.mark.rest
def test_a_link_is_removed_itself_and_not_what_it_points_to(legacy: Factory) -> None:
    outside = legacy.repo.parent / "outside.txt"
    outside.write_text("mine\n")
    (legacy.repo / "out").symlink_to(outside)
    (legacy.repo / "folder").symlink_to("tests")
    commit_all(legacy.repo)
    summary = legacy.run(removing("out", "folder"), [proposal({"app.py": WITHOUT})])
    assert summary.verdict == "PASS", summary.failure
    assert outside.read_text() == "mine\n"
    assert {"out", "folder"}.isdisjoint(files_of(legacy))
    assert "tests/test_total.py" in files_of(legacy)


@pytest.mark.rest
def test_a_submodule_is_not_removed(legacy: Factory) -> None:
    inner = legacy.repo.parent / "inner"
    inner.mkdir()
    git(inner, "init", "--quiet")
    commit_all(inner, {"a.txt": "a\n"})
    git(
        legacy.repo, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner), "sub"
    )
    commit_all(legacy.repo)
    for path, why in (("sub", "is a folder"), ("sub/a.txt", "lies in a submodule")):
        summary = legacy.run(removing(path), [], branch=f"b{len(path)}")
        assert summary.failure is not None and why in summary.failure.excerpt


@pytest.mark.rest
def test_a_file_that_git_does_not_know_is_not_there(legacy: Factory) -> None:
    commit_all(legacy.repo, {".gitignore": "ignored.txt\n"})
    (legacy.repo / "ignored.txt").write_text("mine\n")
    (legacy.repo / "untracked.txt").write_text("mine\n")
    for path in ("ignored.txt", "untracked.txt"):
        summary = legacy.run(removing(path), [], branch=path)
        assert stages(summary) == [Stage.PREFLIGHT]
        assert (legacy.repo / path).read_text() == "mine\n"


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"removed_files": [".git/config"]}, "belongs to git"),
        ({"removed_files": ["sub/.GIT/config"]}, "belongs to git"),
        ({"removed_files": ["../x"]}, "leads outside"),
        ({"removed_files": ["a*"]}, "glob characters"),
        ({"removed_files": ["app.py"]}, "is in allowed_files too"),
        ({"removed_files": ["APP.py"]}, "is in allowed_files too"),
        ({"context_files": ["legacy.py"]}, "is in context_files too"),
        ({"removed_files": ["scripts/verify.sh"]}, "no order may remove it"),
    ],
)
def test_an_order_that_could_not_be_carried_out_is_not_read(
    legacy: Factory, changes: Json, why: str
) -> None:
    with pytest.raises(InvalidInput, match=why):
        legacy.run(removing(**changes), [])


# Verification without the files


@pytest.mark.rest
def test_the_last_test_may_be_removed_and_that_is_said(legacy: Factory) -> None:
    plan = removing(
        "legacy.py",
        *("tests/test_legacy.py", "tests/test_total.py"),
        acceptance_commands=['python -c "from app import total; assert total() == 2"'],
    )
    summary = legacy.run(plan, [proposal({"app.py": WITHOUT})])
    assert summary.verdict == "PASS", summary.failure
    assert "ran no test" in " ".join(summary.warnings)


@pytest.mark.rest
def test_tests_that_vanish_by_themselves_still_fail_the_order(legacy: Factory) -> None:
    """Removing a module is no leave to switch the tests off."""
    plan = removing("legacy.py", allowed_files=["pytest.ini"], acceptance_commands=["true"])
    off = "[pytest]\npython_files = nothing_*.py\n"
    summary = legacy.run(plan, [proposal({"pytest.ini": off})], max_attempts=1)
    assert stages(summary) == [Stage.VERIFY_FAILED]


@pytest.mark.rest
def test_a_manifest_that_is_removed_no_longer_says_how_to_verify(legacy: Factory) -> None:
    commit_all(legacy.repo, {"Makefile": "other:\n\ttrue\n", "package.json": "{}"})
    summary = legacy.run(removing("package.json", "Makefile"), [proposal({"app.py": WITHOUT})])
    assert summary.verdict == "PASS", summary.failure


# What is kept of it


@pytest.mark.rest
def test_the_rejected_patch_has_the_removal(legacy: Factory) -> None:
    wrong = proposal({"app.py": CALLER + "# kept\n"})
    outside = proposal({"other.py": "x\n"})
    summary = legacy.run(removing(), [wrong, outside], max_attempts=2)
    assert stages(summary) == [Stage.VERIFY_FAILED, Stage.WRITE_SCOPE_VIOLATION]
    for number in (1, 2):
        folder = next(legacy.artifacts.glob(f"factory/*/attempt_{number}"))
        patch = (folder / "rejected.patch").read_text()
        assert "--- a/legacy.py\n+++ /dev/null\n" in patch, patch
        git(legacy.repo, "apply", "--check", str(folder / "rejected.patch"))


def test_a_change_of_a_person_in_the_removed_file_is_not_lost(legacy: Factory) -> None:
    git(legacy.repo, "switch", "--quiet", "--create", "work")
    (legacy.repo / "legacy.py").write_text("mine\n")
    with pytest.raises(PreflightRefused):
        legacy.run(removing(), [proposal({"app.py": WITHOUT})])
    assert (legacy.repo / "legacy.py").read_text() == "mine\n"


# In a plan


@pytest.mark.rest
def test_orders_at_once_land_as_if_one_after_the_other(legacy: Factory) -> None:
    """The second removes what the first reads, and the third is made without it."""
    first = writing(
        "reader.py",
        1,
        context_files=["legacy.py"],
        acceptance_commands=['python -c "import reader; assert reader.ONE == 1"'],
    )
    second = removing("legacy.py", "tests/test_legacy.py", "reader.py") | {"id": "WO-02"}
    third = writing("c.txt", 3, preconditions=[{"kind": "file_absent", "path": "legacy.py"}])
    replies = {
        "WO-01": [proposal({"reader.py": "from legacy import old\n\nONE = old()\n"})],
        "WO-02": [proposal({"app.py": WITHOUT})],
        "WO-03": [proposal({"c.txt": "c\n"})],
    }
    summary = legacy.run_all(manifest([first, second, third]), replies, jobs=3)
    assert summary.verdict == "PASS", [each.failure for each in summary.orders]
    assert {"legacy.py", "reader.py"}.isdisjoint(files_of(legacy))
    again = legacy.run_all(manifest([first, second, third]), {}, jobs=3)
    assert again.verdict == "PASS", "everything has landed, so nothing is asked"


@pytest.mark.rest
def test_a_commit_made_on_an_older_base_is_judged_again_without_the_files(legacy: Factory) -> None:
    """The orders have nothing in common, so they are made at once and the later one is merged."""
    first = writing("a.txt", 1)
    second = removing(*GONE) | {"id": "WO-02"}
    replies = {
        "WO-01": [proposal({"a.txt": "a\n"})],
        "WO-02": [proposal({"app.py": WITHOUT})],
    }
    summary = legacy.run_all(manifest([first, second]), replies, jobs=2)
    assert summary.verdict == "PASS", [each.failure for each in summary.orders]
    assert {*GONE}.isdisjoint(files_of(legacy))
    assert "a.txt" in files_of(legacy)
