"""Reading a plan's folder as `check` does: faults become findings, disagreement is refused."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from planner.plan.plan_edits import read_plan_folder
from planner.rules.judge_plan import judge
from shared.errors import InvalidInput
from tests.planner.plans import creating, order, plan

MANIFEST = "WORK_ORDERS_MANIFEST.json"


def write(folder: Path, **documents: Any) -> Path:
    """Write files by name without `.json`; what is no text is written as JSON."""
    for name, document in documents.items():
        text = document if isinstance(document, str) else json.dumps(document)
        (folder / f"{name.replace('WO_', 'WO-')}.json").write_text(text)
    return folder


def findings(folder: Path) -> list[str]:
    return [each.code for each in judge(read_plan_folder(folder)).findings]


def ids(folder: Path) -> list[str]:
    return [draft.label for draft in read_plan_folder(folder).drafts]


def refusal(folder: Path) -> str:
    with pytest.raises(InvalidInput) as refused:
        read_plan_folder(folder)
    assert refused.value.hint
    return refused.value.message


def test_a_manifest_with_its_orders_is_read(tmp_path: Path) -> None:
    document = plan(order(1), order(2))
    write(tmp_path, WO_01=order(1), WO_02=order(2), WORK_ORDERS_MANIFEST=document)
    assert ids(tmp_path) == ["WO-01", "WO-02"]
    assert findings(tmp_path) == []


def test_a_manifest_alone_will_do(tmp_path: Path) -> None:
    assert ids(write(tmp_path, WORK_ORDERS_MANIFEST=plan(order(1)))) == ["WO-01"]


def test_orders_alone_will_do_in_the_sequence_of_their_numbers(tmp_path: Path) -> None:
    for number in (100, 2, 99, 10, 1):
        write(tmp_path, **{f"WO_{number:02d}": order(number)})
    assert ids(tmp_path) == ["WO-01", "WO-02", "WO-10", "WO-99", "WO-100"]


def test_the_contract_comes_from_the_manifest(tmp_path: Path) -> None:
    contract = {"requires": [{"kind": "file_exists", "path": "a"}]}
    write(tmp_path, WORK_ORDERS_MANIFEST=plan(order(1), verify_contract=contract))
    assert findings(tmp_path) == ["E106"]


def test_an_order_that_creates_what_is_there_is_not_dropped(tmp_path: Path) -> None:
    write(tmp_path, WO_01=creating(1, "scripts/verify.sh"))
    assert ids(tmp_path) == ["WO-01"]


MALFORMED = {
    "no JSON": "{",
    "nothing": "",
    "prose": "hello",
    "duplicate keys": '{"id": "WO-01", "id": "WO-01"}',
    "a lone surrogate": '{"id": "\\ud800"}',
    "deep nesting": "[" * 100_000 + "]" * 100_000,
    "too long": json.dumps("x" * 10_485_760),
    "NaN": '{"id": NaN}',
}


@pytest.mark.parametrize("text", MALFORMED.values(), ids=MALFORMED)
def test_a_malformed_order_is_a_finding_that_names_its_file(tmp_path: Path, text: str) -> None:
    subject = read_plan_folder(write(tmp_path, WO_01=order(1), WO_02=text))
    (finding,) = judge(subject).findings
    assert finding.code == "E000"
    assert finding.message.startswith("WO-02.json: ")


@pytest.mark.parametrize("text", MALFORMED.values(), ids=MALFORMED)
def test_a_malformed_manifest_is_a_finding_that_names_it(tmp_path: Path, text: str) -> None:
    subject = read_plan_folder(write(tmp_path, WORK_ORDERS_MANIFEST=text))
    (finding,) = judge(subject).findings
    assert finding.code == "E000"
    assert finding.message.startswith(f"{MANIFEST}: ")


def test_bytes_that_are_no_text_are_a_finding(tmp_path: Path) -> None:
    (tmp_path / "WO-01.json").write_bytes(b'{"id": "\xff"}')
    assert findings(tmp_path) == ["E000"]


@pytest.mark.parametrize("document", [[], 7, "text", None])
def test_a_document_that_is_no_object_is_a_finding(tmp_path: Path, document: Any) -> None:
    assert findings(write(tmp_path, WO_01=document)) == ["E000"]
    assert findings(write(tmp_path, WO_01="{}", WORK_ORDERS_MANIFEST=document)) == ["E000"]


def test_a_gap_is_a_finding(tmp_path: Path) -> None:
    assert findings(write(tmp_path, WO_01=order(1), WO_03=order(3))) == ["E001"]


def test_an_order_that_stands_in_the_file_of_another_one_is_refused(tmp_path: Path) -> None:
    message = refusal(write(tmp_path, WO_01=order(1), WO_02=order(1)))
    assert "WO-02.json holds the order WO-01" in message
    (tmp_path / "WO-01.json").unlink()
    assert "WO-02.json holds the order WO-01" in refusal(tmp_path)


DISAGREEMENTS = {
    "another text": (plan(order(1, title="Another")), {"WO_01": order(1)}, "WO-01.json"),
    "an order without its file": (plan(order(1), order(2)), {"WO_01": order(1)}, "WO-02.json"),
    "a file without its order": (plan(order(1)), {"WO_01": order(1), "WO_02": order(2)}, "WO-02"),
    "a file under another name": (plan(order(1)), {"WO_02": order(1)}, "WO-01.json"),
}


@pytest.mark.parametrize(("manifest", "files", "named"), DISAGREEMENTS.values(), ids=DISAGREEMENTS)
def test_a_manifest_that_disagrees_with_its_orders_is_refused(
    tmp_path: Path, manifest: Any, files: dict[str, Any], named: str
) -> None:
    write(tmp_path, **files, WORK_ORDERS_MANIFEST=manifest)
    message = refusal(tmp_path)
    assert "disagree" in message
    assert named in message


def test_a_folder_without_orders_is_refused(tmp_path: Path) -> None:
    write(tmp_path, notes="{}")
    assert "holds no work orders" in refusal(tmp_path)


def test_what_is_no_folder_is_refused(tmp_path: Path) -> None:
    assert "is not a directory" in refusal(tmp_path / "none")
    write(tmp_path, WO_01=order(1))
    assert "is not a directory" in refusal(tmp_path / "WO-01.json")


@pytest.mark.parametrize("name", ["WO-01.json", MANIFEST])
@pytest.mark.parametrize("kind", ["is a directory", "is a FIFO", "does not exist"])
def test_what_is_no_regular_file_is_refused_and_never_waited_for(
    tmp_path: Path, name: str, kind: str
) -> None:
    """A link to nothing does not exist."""
    match kind:
        case "is a directory":
            (tmp_path / name).mkdir()
        case "is a FIFO":
            os.mkfifo(tmp_path / name)
        case _:
            (tmp_path / name).symlink_to("nowhere")
    message = refusal(tmp_path)
    assert name in message
    assert kind in message
