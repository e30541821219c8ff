"""Tests that the plan brings along decide, and nobody whom they judge can change them."""

from __future__ import annotations

import shutil
from typing import Any

import pytest

from factory.landing.stand_in import lacking
from factory.orders.documents import ReplyFormat
from factory.orders.model_choice import ModelChoice, Rung
from factory.orders.stages import Stage
from shared.errors import InvalidInput
from shared.git.client import Git
from shared.work_order.work_order import WorkOrder
from tests.fakes import proposal
from tests.harness import (
    Factory,
    Json,
    blob,
    commit_all,
    git,
    manifest,
    order,
    stages,
    use_rust,
    writing,
)

STUB = "def score(guess: str, answer: str) -> str: ...\n"
TEST = (
    "from score import score\n\n\n"
    "def test_letters_in_place() -> None:\n"
    "    assert score('crane', 'crown') == 'GG-Y-'\n"
)
PATH = "tests/test_score_rules.py"
PATIENT = 120.0  # for the runs before anything is written, on a loaded machine
RUN = f"python -m pytest -q {PATH}"
OWN = "python -m pytest -q tests/test_own.py"

RIGHT = (
    "def score(guess: str, answer: str) -> str:\n"
    "    return ''.join(\n"
    "        'G' if a == b else 'Y' if a in answer else '-'\n"
    "        for a, b in zip(guess, answer)\n"
    "    )\n"
)
WRONG = "def score(guess: str, answer: str) -> str:\n    return 'GGGGG' if guess else ''\n"
HOLLOW = "def score(guess: str, answer: str) -> str:\n    return ''\n"


def own_test(value: str) -> str:
    return (
        "from score import score\n\n\n"
        f"def test_score() -> None:\n    assert score('crane', 'crown') == {value!r}\n"
    )


def scoring(**changes: Any) -> Json:
    """Return an order for `score.py` with a test of the executor and a test of the plan."""
    fields: Json = {
        "allowed_files": ["score.py", "tests/test_own.py"],
        "interfaces": [{"path": "score.py", "stub": STUB}],
        "acceptance_files": [{"path": PATH, "content": TEST}],
        "acceptance_commands": [RUN, OWN],
    }
    return order(**fields | changes)


def writing_both(code: str, value: str) -> Any:
    return proposal({"score.py": code, "tests/test_own.py": own_test(value)})


# What the tests of a plan are for


@pytest.mark.rest
@pytest.mark.parametrize(("code", "value"), [(WRONG, "GGGGG"), (HOLLOW, "")])
def test_code_and_own_tests_that_agree_on_a_wrong_value_fail(
    factory: Factory, code: str, value: str
) -> None:
    without = scoring(acceptance_files=[], acceptance_commands=[OWN])
    assert factory.run(without, [writing_both(code, value)], max_attempts=1).verdict == "PASS"
    summary = factory.run(scoring(), [writing_both(code, value)], max_attempts=1, branch="other")
    assert (summary.verdict, summary.state) == ("FAIL", "failed")
    assert summary.failure is not None and summary.failure.command == RUN
    assert "GG-Y-" in summary.failure.excerpt


@pytest.mark.rest
def test_right_code_passes_and_the_test_is_committed_with_it(factory: Factory) -> None:
    summary = factory.run(scoring(), [writing_both(RIGHT, "GG-Y-")])
    assert summary.verdict == "PASS", summary.failure
    assert (summary.flags, summary.warnings) == ((), ())
    assert blob(factory.repo, "work", PATH).decode() == TEST
    changed = git(factory.repo, "diff", "--name-only", "main", "work").splitlines()
    assert changed == ["score.py", "tests/test_own.py", PATH]


@pytest.mark.rest
def test_the_model_is_shown_the_test_as_one_that_it_may_not_write(factory: Factory) -> None:
    factory.run(scoring(), [writing_both(RIGHT, "GG-Y-")])
    prompt = factory.prompt()
    assert f"## {PATH} (a test that your change has to pass, read only)\n```" in prompt
    assert TEST in prompt
    assert f"a reply that writes one is refused:\n- {PATH}\n" in prompt


@pytest.mark.rest
def test_a_reply_that_writes_the_test_is_refused_with_words(factory: Factory) -> None:
    softer = proposal({"score.py": WRONG, PATH: "def test_nothing():\n    assert 1 + 1 == 2\n"})
    summary = factory.run(scoring(), [softer, writing_both(RIGHT, "GG-Y-")])
    assert (summary.verdict, stages(summary)) == ("PASS", [Stage.WRITE_SCOPE_VIOLATION, ""])
    brief = summary.attempt_records[0].failure_brief
    assert brief is not None
    assert "is a test of the plan" in brief.primary_error_excerpt
    assert "is a test of the plan" in factory.prompt(1)
    assert blob(factory.repo, "work", PATH).decode() == TEST


@pytest.mark.rest
def test_a_command_that_changes_the_test_fails_the_attempt(factory: Factory) -> None:
    code = f"{RIGHT}\n\nimport pathlib\npathlib.Path({PATH!r}).write_text('')\n"
    summary = factory.run(scoring(), [writing_both(code, "GG-Y-")], max_attempts=1)
    assert stages(summary) == [Stage.ACCEPTANCE_FAILED]
    assert summary.failure is not None
    assert f"a command changed the plan's own test {PATH}" in summary.failure.excerpt
    assert "byte for byte" in summary.failure.excerpt


# Before anything is written


@pytest.mark.rest
def test_a_test_that_proves_something_is_red_before_and_on_empty_code(factory: Factory) -> None:
    factory.run(scoring(), [writing_both(RIGHT, "GG-Y-")], patience_seconds=PATIENT)
    for folder in ("baseline", "hollow"):
        results = factory.record(f"{folder}/acceptance_result.json")
        ran = {" ".join(each["command"]): each["exit_code"] for each in results}
        assert ran[RUN] == (2 if folder == "baseline" else 1), ran


@pytest.mark.rest
def test_a_test_that_proves_nothing_is_flagged(factory: Factory) -> None:
    idle = "def test_nothing() -> None:\n    assert 1 == 1\n"
    empty = "from score import score\n\n\ndef test_it() -> None:\n    assert score('', '') == ''\n"
    for content, codes in ((idle, ["W252", "W234"]), (empty, ["W234"])):
        plan = scoring(
            acceptance_files=[{"path": PATH, "content": content}], acceptance_commands=[RUN]
        )
        reply, branch = writing_both(RIGHT, "GG-Y-"), f"b{len(codes)}"
        summary = factory.run(plan, [reply], branch=branch, patience_seconds=PATIENT)
        assert [(each.code, each.command) for each in summary.flags] == [
            (code, RUN) for code in codes
        ]


@pytest.mark.rest
def test_verification_has_the_test_in_place(factory: Factory) -> None:
    script = f"set -eu\ntest -f {PATH}\n"
    commit_all(factory.repo, {"scripts/verify.sh": "true\n"})
    plan = scoring(
        allowed_files=["score.py", "tests/test_own.py", "scripts/verify.sh"],
        acceptance_commands=[RUN],
    )
    files = {
        "score.py": RIGHT, "tests/test_own.py": own_test("GG-Y-"), "scripts/verify.sh": script,
    }  # fmt: skip
    assert factory.run(plan, [proposal(files)]).verdict == "PASS"


# Where the test stands


def test_a_test_never_replaces_a_file_of_the_repo(factory: Factory) -> None:
    before = commit_all(factory.repo, {PATH: "def test_mine(): pass\n"})
    summary = factory.run(scoring(), [])
    assert (summary.verdict, stages(summary)) == ("FAIL", [Stage.PREFLIGHT])
    assert summary.failure is not None
    assert "no earlier order of the plan placed it" in summary.failure.excerpt
    assert git(factory.repo, "rev-parse", "main") == before


def test_a_link_or_a_folder_in_the_place_of_the_test_ends_the_order(factory: Factory) -> None:
    commit_all(factory.repo, {f"{PATH}/inner.txt": "x\n"})
    summary = factory.run(scoring(), [])
    assert stages(summary) == [Stage.PREFLIGHT]
    assert summary.failure is not None and "is a folder" in summary.failure.excerpt


@pytest.mark.rest
def test_a_later_order_replaces_the_test_of_an_earlier_one(factory: Factory) -> None:
    stricter = TEST + "\n\ndef test_none() -> None:\n    assert score('a', 'b') == '-'\n"
    second = order(
        2,
        allowed_files=["score.py"],
        context_files=["score.py"],
        acceptance_files=[{"path": PATH, "content": stricter}],
        acceptance_commands=[RUN],
    )
    plan = manifest([scoring(), second])
    replies = {
        "WO-01": [writing_both(RIGHT, "GG-Y-")],
        "WO-02": [proposal({"score.py": RIGHT + "\n# seen\n"})],
    }
    summary = factory.run_all(plan, replies)
    assert summary.verdict == "PASS", [each.failure for each in summary.orders]
    assert blob(factory.repo, "work", PATH).decode() == stricter


def test_an_order_whose_executor_could_change_the_test_is_not_read(factory: Factory) -> None:
    plan = scoring(allowed_files=["score.py", PATH.replace("rules", "RULES")])
    with pytest.raises(InvalidInput, match="in allowed_files too"):
        factory.run(plan, [])


def test_untracked_work_at_the_place_of_the_test_is_not_lost(factory: Factory) -> None:
    target = factory.repo / PATH
    target.parent.mkdir()
    target.write_text("mine\n")
    from shared.errors import PreflightRefused

    with pytest.raises(PreflightRefused, match="test_score_rules"):
        factory.run(scoring(), [])
    assert target.read_text() == "mine\n"


@pytest.mark.rest
def test_an_order_waits_for_what_its_test_imports(factory: Factory) -> None:
    """The second order lists nothing of the first; only its test names the module."""
    user = order(
        2,
        allowed_files=["notes.txt"],
        acceptance_files=[{"path": PATH, "content": TEST}],
        acceptance_commands=[RUN],
    )
    first = writing("score.py", acceptance_commands=["test -f score.py"])
    replies = {
        "WO-01": [proposal({"score.py": RIGHT})],
        "WO-02": [proposal({"notes.txt": "x\n"})],
    }
    summary = factory.run_all(manifest([first, user]), replies, jobs=2)
    assert summary.verdict == "PASS", [each.failure for each in summary.orders]


@pytest.mark.rest
def test_a_reply_in_blocks_that_writes_the_test_is_refused_as_well(factory: Factory) -> None:
    models = ModelChoice((Rung("scripted"),), reply_format=ReplyFormat.FILES)
    own = own_test("GG-Y-")
    right = f"Summary: x\n\n```score.py\n{RIGHT}```\n\n```tests/test_own.py\n{own}```\n"
    with_test = f"{right}\n```{PATH}\ndef test_it():\n    assert 1 + 1 == 2\n```\n"
    summary = factory.run(scoring(), [with_test, right], models=models)
    assert (summary.verdict, stages(summary)) == ("PASS", [Stage.WRITE_SCOPE_VIOLATION, ""])
    assert blob(factory.repo, "work", PATH).decode() == TEST


# A test that is added to a file that is there

OLD = "import math\n\n\ndef test_old() -> None:\n    assert math.pi > 3\n"
NEW = "def test_new() -> None:\n    assert score('a', 'a') == 'G'\n"
ADDED = f"from score import score\n\n\n{NEW}"
WHOLE = OLD.replace("math\n", "math\nfrom score import score\n", 1) + f"\n\n{NEW}"


def adding(**changes: Any) -> Json:
    return scoring(acceptance_files=[{"path": PATH, "append": ADDED}], **changes)


@pytest.mark.rest
def test_a_test_is_added_to_the_file_of_the_repo_and_nothing_else_of_it_changes(
    factory: Factory,
) -> None:
    commit_all(factory.repo, {PATH: OLD})
    summary = factory.run(adding(), [writing_both(RIGHT, "GG-Y-")])
    assert summary.verdict == "PASS", summary.failure
    assert blob(factory.repo, "work", PATH).decode() == WHOLE
    assert WHOLE in factory.prompt()


def test_cases_are_added_to_the_table_of_a_test_of_the_repo(factory: Factory) -> None:
    table = (
        "import pytest\nfrom score import score\n\n\n"
        '@pytest.mark.parametrize(("guess", "wanted"), [\n    ("b", "-"),\n])\n'
        "def test_score(guess: str, wanted: str) -> None:\n"
        "    assert score(guess, 'a') == wanted\n"
    )
    commit_all(factory.repo, {PATH: table, "score.py": "def score(a, b):\n    return '-'\n"})
    case = {"path": PATH, "append": '("a", "G")', "table": "test_score"}
    right = proposal({"score.py": "def score(a, b):\n    return 'G' if a == b else '-'\n"})
    fields: Json = {"allowed_files": ["score.py"], "acceptance_commands": [RUN]}
    summary = factory.run(order(acceptance_files=[case], **fields), [right])
    assert summary.verdict == "PASS", summary.failure
    whole = table.replace('"-"),\n', '"-"),\n    ("a", "G"),\n')
    assert blob(factory.repo, "work", PATH).decode() == whole
    assert whole in factory.prompt()


def test_a_test_that_does_not_fit_the_file_as_it_is_now_ends_the_order(factory: Factory) -> None:
    commit_all(factory.repo, {PATH: OLD.replace("test_old", "test_new")})
    summary = factory.run(adding(), [])
    assert stages(summary) == [Stage.PREFLIGHT]
    assert summary.failure is not None
    assert "it has `test_new` already" in summary.failure.excerpt


@pytest.mark.rest
def test_a_reply_that_writes_the_file_that_a_test_is_added_to_is_refused(factory: Factory) -> None:
    commit_all(factory.repo, {PATH: OLD})
    softer = proposal({"score.py": WRONG, PATH: OLD})
    summary = factory.run(adding(), [softer, writing_both(RIGHT, "GG-Y-")])
    assert (summary.verdict, stages(summary)) == ("PASS", [Stage.WRITE_SCOPE_VIOLATION, ""])


@pytest.mark.rest
def test_two_orders_add_to_one_file_one_after_the_other(factory: Factory) -> None:
    commit_all(factory.repo, {PATH: OLD})
    more = "def test_more() -> None:\n    assert score('a', 'b') == '-'\n"
    second = order(
        2,
        allowed_files=["notes.txt"],
        acceptance_files=[{"path": PATH, "append": more}],
        acceptance_commands=[RUN],
        regression=[RUN],
    )
    replies = {
        "WO-01": [writing_both(RIGHT, "GG-Y-")],
        "WO-02": [proposal({"notes.txt": "x\n"})],
    }
    summary = factory.run_all(manifest([adding(), second]), replies, jobs=2)
    assert summary.verdict == "PASS", [each.failure for each in summary.orders]
    tip = summary.orders[-1].commit
    assert tip is not None
    assert blob(factory.repo, tip, PATH).decode() == f"{WHOLE}\n\n{more}"


# A test that is added to the file of code which the order writes

LIB = "src/lib.rs"
RUST = "pub fn add(a: i32, b: i32) -> i32 {\n    a\n}\n"
INSIDE = (
    "\n#[cfg(test)]\nmod tests {\n    use super::*;\n\n    fn one() -> i32 {\n        1\n    }\n}\n"
)
IN_RUST = "#[test]\nfn adds() {\n    assert_eq!(add(one(), 2), 3);\n}\n"
ADDS = "\n    #[test]\n    fn adds() {\n        assert_eq!(add(one(), 2), 3);\n    }\n}\n"
BETTER = RUST.replace("    a\n", "    a + b\n")


def beside(**changes: Any) -> Json:
    fields = {"acceptance_commands": ["grep -q 'a + b' src/lib.rs"], **changes}
    return order(allowed_files=[LIB], acceptance_files=[{"path": LIB, "append": IN_RUST}], **fields)


def test_a_test_is_added_to_the_code_that_the_order_writes(factory: Factory) -> None:
    commit_all(factory.repo, {LIB: RUST + INSIDE})
    summary = factory.run(beside(), [proposal({LIB: BETTER + INSIDE})])
    assert summary.verdict == "PASS", summary.failure
    assert blob(factory.repo, "work", LIB).decode() == BETTER + INSIDE[:-2] + ADDS


@pytest.mark.parametrize(
    "inside",
    [
        INSIDE[:-2] + ADDS,  # with the plan's test
        INSIDE.replace("        1\n", "        3\n"),
        INSIDE.replace("cfg(test)", "cfg(all(test, unix))"),
        INSIDE.replace(
            "    use super::*;", "    fn add(_: i32, _: i32) -> i32 {\n        3\n    }"
        ),
        "",
        f"{INSIDE}\n#![cfg(windows)]\n",
        f"macro_rules! assert_eq {{ ($($any:tt)*) => {{}}; }}\n{INSIDE}",
        f"use crate::kind::{{self, assert_eq}};\n{INSIDE}",
    ],
    ids=[
        "the test",
        "its helper",
        "its condition",
        "what it calls",
        "none",
        "the file's condition",
        "a macro of its own",
        "a macro of another file",
    ],
)
def test_a_reply_that_changes_the_tests_beside_its_code_is_refused(
    factory: Factory, inside: str
) -> None:
    commit_all(factory.repo, {LIB: RUST + INSIDE})
    replies = [proposal({LIB: BETTER + inside}), proposal({LIB: BETTER + INSIDE})]
    summary = factory.run(beside(), replies)
    assert (summary.verdict, stages(summary)) == ("PASS", [Stage.WRITE_SCOPE_VIOLATION, ""])
    assert "that is added to it" in factory.prompt(1)


def test_tests_apart_from_the_code_are_not_the_orders_to_write(factory: Factory) -> None:
    commit_all(factory.repo, {PATH: OLD})
    with pytest.raises(InvalidInput, match="the model could change it"):
        factory.run(adding(allowed_files=["score.py", PATH]), [])


@pytest.mark.rest
@pytest.mark.skipif(shutil.which("cargo") is None, reason="needs cargo")
def test_a_unit_test_of_rust_is_run_beside_the_code_that_it_judges(
    factory: Factory, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_rust(monkeypatch)
    crate = 'name = "sums"\nversion = "0.1.0"\n'
    files = {
        LIB: RUST + INSIDE,
        "Cargo.toml": f'[package]\n{crate}edition = "2021"\n',
        "Cargo.lock": f"version = 3\n\n[[package]]\n{crate}",
        ".gitignore": "target\n",
    }
    commit_all(factory.repo, files)
    wrong = BETTER.replace("a + b", "a - b")
    replies = [proposal({LIB: wrong + INSIDE}), proposal({LIB: BETTER + INSIDE})]
    summary = factory.run(beside(acceptance_commands=["cargo test --offline adds"]), replies)
    assert (summary.verdict, stages(summary)) == ("PASS", [Stage.ACCEPTANCE_FAILED, ""])


def test_a_commit_is_looked_at_for_the_tests_beside_its_code(factory: Factory) -> None:
    base = commit_all(factory.repo, {LIB: RUST + INSIDE})
    loaded = WorkOrder.model_validate(beside())
    whole = INSIDE[:-2] + ADDS
    right = commit_all(factory.repo, {LIB: BETTER + whole})
    softer = commit_all(factory.repo, {LIB: BETTER + whole.replace("        1\n", "        3\n")})
    none = commit_all(factory.repo, {LIB: BETTER})
    where = Git(factory.repo)
    assert [*lacking(where, loaded, right, base)] == []
    for other in (softer, none):
        (said,) = lacking(where, loaded, other, base)
        assert "are not those of before and the plan's" in said
