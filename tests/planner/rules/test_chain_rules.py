from __future__ import annotations

from typing import Any

import pytest

from shared.projects.manifests import VerifyCommand
from tests.planner.plans import (
    absent,
    creating,
    exists,
    findings,
    messages,
    of_command,
    order,
    plan,
    requiring,
)

# E101


def test_a_precondition_is_met_by_the_repo_or_by_an_earlier_order() -> None:
    document = plan(creating(1, "a.py"), order(2, preconditions=exists("a.py", "b.py")))
    assert findings(document, repo=["b.py"]) == []


def test_without_a_repo_nothing_is_there_at_first() -> None:
    assert findings(plan(order(preconditions=exists("a.py")))) == ["E101 WO-01 preconditions[0]"]


def test_an_order_does_not_meet_its_own_precondition() -> None:
    document = plan(creating(1, "a.py", preconditions=exists("a.py")))
    assert findings(document) == ["E101 WO-01 preconditions[0]"]


def test_a_later_order_comes_too_late_and_is_named() -> None:
    document = plan(order(1, preconditions=exists("a.py")), creating(2, "a.py"))
    assert findings(document) == ["E101 WO-01 preconditions[0]"]
    assert "WO-02 provides it too late" in messages(document)[0]


def test_a_file_that_must_be_absent_may_not_have_been_created() -> None:
    document = plan(creating(1, "a.py"), order(2, preconditions=absent("a.py", "b.py")))
    assert findings(document) == ["E101 WO-02 preconditions[0]"]
    assert "WO-01 provides it" in messages(document)[0]


def test_a_file_that_must_be_absent_may_not_be_in_the_repo() -> None:
    document = plan(order(preconditions=absent("a.py")))
    assert findings(document) == []
    assert findings(document, repo=["a.py"]) == ["E101 WO-01 preconditions[0]"]
    assert "the repo provides it" in messages(document, repo=["a.py"])[0]


def test_the_same_unmet_precondition_twice_is_one_fault() -> None:
    document = plan(order(preconditions=exists("a.py", "./a.py", "b.py")))
    assert findings(document) == ["E101 WO-01 preconditions[0]", "E101 WO-01 preconditions[2]"]


def test_an_order_with_a_schema_problem_still_counts_as_a_provider() -> None:
    document = plan(creating(1, "a.py", title=3), order(2, preconditions=exists("a.py", "b.py")))
    assert findings(document) == ["E005 WO-01 title", "E101 WO-02 preconditions[1]"]


@pytest.mark.parametrize(
    "broken",
    [
        7,
        order(1, postconditions="a.py"),
        order(1, postconditions=[{"kind": "file_exists"}]),
        order(1, allowed_files=["../a.py"]),
        order(1, allowed_files=[3]),
    ],
)
def test_after_an_order_that_cannot_be_read_nothing_is_called_missing(broken: object) -> None:
    commands = ["python -c 'import a'", "python b.py"]
    later = order(2, preconditions=exists("a.py"), acceptance_commands=commands)
    found = findings(plan(broken, later, verify_contract=requiring("c.py")))
    assert [each[:4] for each in found] in (["E000"], ["E005"])


def test_before_an_order_that_cannot_be_read_missing_files_are_still_found() -> None:
    document = plan(order(1, preconditions=exists("a.py")), 7)
    assert findings(document) == ["E101 WO-01 preconditions[0]", "E000 #2"]


def test_chain_rules_pass_over_an_order_that_does_not_fit_the_schema() -> None:
    document = plan(
        order(
            title=3,
            preconditions=exists("x.py") + absent("x.py"),
            postconditions=exists("y.py"),
            acceptance_commands=["bash scripts/verify.sh"],
        )
    )
    assert findings(document) == ["E005 WO-01 title"]


# E102


def test_contradictory_preconditions_are_one_finding_and_not_also_unmet() -> None:
    document = plan(order(preconditions=exists("a.py") + absent("a.py") + exists("./a.py")))
    assert findings(document) == ["E102 WO-01 preconditions[1]"]
    assert findings(document, repo=["a.py"]) == ["E102 WO-01 preconditions[1]"]


def test_conditions_on_different_paths_do_not_contradict() -> None:
    document = plan(order(preconditions=exists("a.py") + absent("b.py")))
    assert findings(document, repo=["a.py"]) == []


# E103


def test_a_promise_must_be_within_the_allowed_files() -> None:
    document = plan(
        order(allowed_files=["a.py"], postconditions=exists("a.py", "b.py", "./b.py", "c.py"))
    )
    assert findings(document) == ["E103 WO-01 postconditions[1]", "E103 WO-01 postconditions[3]"]


# E104


def test_an_allowed_file_must_be_promised_where_anything_is() -> None:
    document = plan(order(allowed_files=["a.py", "b.py", "./b.py"], postconditions=exists("a.py")))
    assert findings(document) == ["E104 WO-01 allowed_files[1]"]


def test_an_order_without_postconditions_need_not_promise_its_files() -> None:
    assert findings(plan(order(allowed_files=["a.py"]))) == []


# E105


@pytest.mark.parametrize(
    "command",
    [
        "bash scripts/verify.sh",
        "sh scripts/verify.sh",
        "/bin/bash scripts/verify.sh",
        "bash ./scripts//verify.sh",
        "bash src/../scripts/verify.sh",
        "bash -e scripts/verify.sh",
        "bash -eu -o pipefail scripts/verify.sh",
        "bash --norc -x scripts/verify.sh --fast",
        "env CI=1 bash scripts/verify.sh",
        "./scripts/verify.sh",
        "scripts/verify.sh",
        "bash 'scripts/verify.sh'",
        'bash -c "scripts/verify.sh"',
        'bash -ec "cd . && bash scripts/verify.sh"',
        "sh -c '. ./scripts/verify.sh'",
    ],
)
def test_the_verification_script_is_no_acceptance_command_however_spelt(command: str) -> None:
    document = plan(order(acceptance_commands=[command]))
    assert [each[:4] for each in findings(document)].count("E105") == 1


@pytest.mark.parametrize(
    "command",
    [
        "bash -n scripts/verify.sh",
        "bash -en scripts/verify.sh",
        "bash -o noexec scripts/verify.sh",
        "test -f scripts/verify.sh",
        "grep pytest scripts/verify.sh",
        "bash scripts/other.sh scripts/verify.sh",
        "bash other/scripts/verify.sh",
        'bash -c "test -f scripts/verify.sh"',
    ],
)
def test_reading_the_verification_script_is_fine(command: str) -> None:
    assert "E105" not in of_command(command)


def test_an_operator_beside_the_script_is_a_fault_of_its_own() -> None:
    document = plan(order(acceptance_commands=["bash scripts/verify.sh && echo"]))
    assert findings(document, repo=["scripts/verify.sh"]) == [
        "E003 WO-01 acceptance_commands[0]",
        "E105 WO-01 acceptance_commands[0]",
    ]


NPM = VerifyCommand("npm test", "package.json: scripts.test", "node --test")
VERIFIED: dict[str, Any] = {"repo": ["package.json"], "verification": (NPM,)}


@pytest.mark.parametrize(
    "command",
    ["npm test", "npm  'test'", "npm t", "npm run test", "node --test"],
)
def test_what_verifies_the_repo_is_no_acceptance_command(command: str) -> None:
    document = plan(order(acceptance_commands=[command, "test -f a"]))
    assert "E105 WO-01 acceptance_commands[0]" in findings(document, **VERIFIED)
    (message,) = [each for each in messages(document, **VERIFIED) if "verifies" in each]
    assert message == 'runs "npm test", which verifies the repo before these commands anyway'
    assert "E105" not in str(findings(document, ["package.json"]))  # nothing is known


def test_it_may_stay_where_it_is_only_meant_to_keep_passing() -> None:
    document = plan(order(acceptance_commands=["npm test", "test -f a"], regression=["npm test"]))
    assert findings(document, **VERIFIED) == []


@pytest.mark.parametrize("command", ["npm test -- cart.test.js", "node --test cart.test.js"])
def test_a_part_of_the_verification_is_an_acceptance_command(command: str) -> None:
    document = plan(creating(1, "cart.test.js", acceptance_commands=[command]))
    assert findings(document, **VERIFIED) == []


# E106


def test_the_contract_must_be_met_in_the_end() -> None:
    document = plan(
        creating(1, "a.py"), verify_contract=requiring("a.py", "b.py", "c.py", "./c.py")
    )
    assert findings(document, repo=["b.py"]) == ["E106 plan verify_contract.requires[2]"]


def test_each_unmet_requirement_has_its_finding() -> None:
    document = plan(order(), verify_contract=requiring("a.py", "b.py"))
    assert findings(document) == [
        "E106 plan verify_contract.requires[0]",
        "E106 plan verify_contract.requires[1]",
    ]


def test_a_contract_may_require_a_file_to_be_absent() -> None:
    document = plan(creating(1, "a.py"), verify_contract={"requires": absent("a.py", "b.py")})
    assert findings(document) == ["E106 plan verify_contract.requires[0]"]


def test_a_plan_without_a_readable_order_has_no_unmet_contract() -> None:
    assert findings(plan(verify_contract=requiring("a.py"))) == ["E000 plan work_orders"]


@pytest.mark.parametrize(
    ("files", "forbidden", "why"),
    [
        (["a.txt"], ["a.txt"], "is forbidden by"),
        (["docs/a.txt"], ["DOCS"], "is forbidden by"),
        ([".git/hooks/pre-commit"], [], "is git's own"),
        (["a.txt", "A.txt"], [], 'is the same as "a.txt"'),
        (["pkg", "pkg/mod.txt"], [], "is a folder by then"),
        (["pkg/mod.txt/x.txt", "pkg/mod.txt"], [], 'lies below "pkg/mod.txt"'),
        (["src"], [], "is a folder by then"),
        (["data/x.txt"], [], 'lies below "data"'),
        (["a.txt", "a.txt"], [], ""),
        (["other/data/x.txt", "srcs"], ["data"], ""),
    ],
)
def test_an_allowed_file_can_be_written(files: list[str], forbidden: list[str], why: str) -> None:
    document = plan(
        order(1, allowed_files=files, forbidden=forbidden, postconditions=exists(*files))
    )
    codes = findings(document, repo=["src/a.txt", "data"])
    said = messages(document, repo=["src/a.txt", "data"])
    found = [text for code, text in zip(codes, said, strict=True) if code.startswith("E114")]
    assert any(why in each for each in found) if why else not found
