"""Orders as users hand them over: read whole, or refused with the file and field at fault."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from factory.orders.read_orders import (
    NOT_EXEMPT,
    Exemption,
    LoadedOrder,
    TreeFacts,
    exemption_of,
    read_order,
    read_workdir,
)
from shared.errors import ExitCode, InvalidInput
from tests.fakes import proposal
from tests.harness import (
    Factory,
    Json,
    as_ordinary_user,
    commit_all,
    git,
    hashed,
    manifest,
    order,
    write_plan,
)


def written(folder: Path, content: object) -> Path:
    path = folder / "WO-01.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def refusal(path: Path) -> str:
    read = read_workdir if path.is_dir() else read_order
    with pytest.raises(InvalidInput) as refused:
        read(path)
    assert refused.value.exit_code is ExitCode.INVALID
    assert refused.value.hint
    return refused.value.message


# One file


def test_an_order_is_read_with_what_it_leaves_out_filled_in(tmp_path: Path) -> None:
    loaded = read_order(written(tmp_path, order()))
    assert loaded.order.allowed_files == ("hello.txt",)
    assert (loaded.order.context_files, loaded.order.verify_exempt) == ((), False)
    assert (loaded.plan, loaded.warnings) == (None, ())


def test_an_unknown_key_is_told_and_ignored(tmp_path: Path) -> None:
    loaded = read_order(written(tmp_path, order(colour="red")))
    assert loaded.warnings == ("WO-01.json: unknown key 'colour' ignored",)


FILES = {
    "is no JSON": ("{'id': 1}", "not JSON"),
    "is empty": ("", "not JSON"),
    "is a list": ([order()], "is not a JSON object"),
    "has a key twice": ('{"id": "WO-01", "id": "WO-02"}', '"id" stands twice'),
    "is nested without end": ('{"a":' + "[" * 5000 + "]" * 5000 + "}", "deep"),
    "is over 10 MB": (order(notes="x" * 10_500_000), "is over 10 MB"),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_refused_that(tmp_path: Path, name: str) -> None:
    content, reason = FILES[name]
    path = written(tmp_path, content)
    message = refusal(path)
    assert str(path) in message
    assert reason in message


def test_a_file_that_is_missing_or_no_file_is_refused(tmp_path: Path) -> None:
    assert "does not exist" in refusal(tmp_path / "none.json")
    os.mkfifo(tmp_path / "fifo.json")
    assert "is a FIFO" in refusal(tmp_path / "fifo.json")
    (tmp_path / "latin.json").write_bytes(b'{"id": "\xe9"}')
    assert "not UTF-8" in refusal(tmp_path / "latin.json")


FIELDS: Json = {
    "id": "1",
    "title": 3,
    "allowed_files": "hello.txt",
    "allowed_files[0]": ["../outside"],
    "allowed_files[1]": ["fine", "src/*.py"],
    "allowed_files[2]": ["a", "b", ".git/hooks/pre-commit"],
    "acceptance_commands": [],
    "acceptance_commands[0]": ["python -c 'print("],
    "acceptance_commands[1]": ["true", "  "],
    "context_files": [f"f{number}" for number in range(11)],
    "context_files[0]": [".GIT/config"],
    "context_files[1]": ["fine", "/abs/[x]"],
    "preconditions[0].path": [{"kind": "file_exists"}],
    "preconditions[0].kind": [{"kind": "file_maybe", "path": "a"}],
    "postconditions[0].kind": [{"kind": "file_absent", "path": "a"}],
    "forbidden": "secrets",
    "verify_exempt": "yes",
    "notes": 7,
}


@pytest.mark.parametrize("field", FIELDS)
def test_the_field_at_fault_is_named(tmp_path: Path, field: str) -> None:
    changed = field.partition("[")[0]
    message = refusal(written(tmp_path, order(**{changed: FIELDS[field]})))
    assert f"\n  {field}: " in message
    assert message.count("\n  ") == 1, "one fault, one line"


@pytest.mark.parametrize(
    "field",
    ["id", "title", "intent", "allowed_files", "forbidden", "context_files", "acceptance_commands"],
)
def test_a_field_that_is_left_out_is_named(tmp_path: Path, field: str) -> None:
    document = order()
    del document[field]
    assert f"\n  {field}: is missing" in refusal(written(tmp_path, document))


def test_only_the_first_of_many_faults_are_listed(tmp_path: Path) -> None:
    message = refusal(written(tmp_path, order(allowed_files=[3] * 15)))
    assert message.count("must be a string") == 10
    assert message.endswith("and 5 more")


def test_nothing_is_changed_by_an_order_that_is_refused(factory: Factory) -> None:
    with pytest.raises(InvalidInput):
        factory.run(order(acceptance_commands=['"']), [])
    assert not factory.artifacts.exists()
    assert not factory.workspaces.exists()
    assert factory.tip() == ""


# A folder


def chain(count: int) -> list[Json]:
    return [order(number) for number in range(1, count + 1)]


def test_a_plans_orders_come_in_sequence_however_many(tmp_path: Path) -> None:
    folder = write_plan(tmp_path / "plan", manifest(chain(101)))
    ids = [loaded.order.id for loaded in read_workdir(folder)]
    assert ids[:2] == ["WO-01", "WO-02"]
    assert ids[98:] == ["WO-99", "WO-100", "WO-101"]


def test_orders_without_a_manifest_make_a_plan_too(tmp_path: Path) -> None:
    folder = write_plan(tmp_path / "plan", manifest(chain(2)))
    (folder / "WORK_ORDERS_MANIFEST.json").unlink()
    assert [loaded.plan for loaded in read_workdir(folder)] == [None, None]


def test_a_manifest_without_order_files_is_a_plan_too(tmp_path: Path) -> None:
    folder = write_plan(tmp_path / "plan", manifest(chain(2)))
    for path in folder.glob("WO-*.json"):
        path.unlink()
    loaded = read_workdir(folder)
    assert [each.order.id for each in loaded] == ["WO-01", "WO-02"]
    assert all(each.plan for each in loaded)


def test_other_files_beside_the_orders_are_left_alone(tmp_path: Path) -> None:
    folder = write_plan(tmp_path / "plan", manifest(chain(1)))
    for name in ("README.md", "WO-02.json.bak", "xWO-02.json", "compile_summary.json"):
        (folder / name).write_text("{")
    assert len(read_workdir(folder)) == 1


def test_a_folder_without_orders_is_refused(tmp_path: Path) -> None:
    assert "holds no work orders" in refusal(tmp_path)
    write_plan(tmp_path, manifest([]))
    assert "holds no work orders" in refusal(tmp_path)
    with pytest.raises(InvalidInput, match="is not a directory"):
        read_workdir(tmp_path / "none")


def test_a_folder_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with as_ordinary_user(tmp_path):
        (tmp_path / "plan").mkdir(mode=0)
        with pytest.raises(InvalidInput, match="cannot be read"):
            read_workdir(tmp_path / "plan")
        (tmp_path / "plan").chmod(0o700)


def test_a_gap_between_orders_is_refused(tmp_path: Path) -> None:
    folder = write_plan(tmp_path / "plan", manifest([order(1), order(3)]))
    assert "expected WO-02, found WO-03" in refusal(folder)


def test_a_plan_that_begins_late_is_refused(tmp_path: Path) -> None:
    folder = write_plan(tmp_path / "plan", manifest([order(2)]))
    assert "expected WO-01, found WO-02" in refusal(folder)


def test_an_order_in_the_file_of_another_one_is_refused(tmp_path: Path) -> None:
    (tmp_path / "WO-02.json").write_text(json.dumps(order(1)))
    assert "WO-02.json holds the order WO-01" in refusal(tmp_path)


def test_two_orders_of_one_id_are_refused(tmp_path: Path) -> None:
    document = manifest([order(1), order(1, title="Another")])
    (tmp_path / "WORK_ORDERS_MANIFEST.json").write_text(json.dumps(document))
    assert "two work orders have the same id" in refusal(tmp_path)


def file_too_many(folder: Path, document: Json) -> None:
    (folder / "WO-03.json").write_text(json.dumps(order(3)))


def file_edited(folder: Path, document: Json) -> None:
    edited = document["work_orders"][1] | {"intent": "Something else."}
    (folder / "WO-02.json").write_text(json.dumps(edited))


def test_a_file_of_the_manifest_that_is_not_there_is_missing(tmp_path: Path) -> None:
    folder = write_plan(tmp_path / "plan", manifest(chain(2)))
    (folder / "WO-02.json").unlink()
    message = refusal(folder)
    assert "WO-02.json" in message and "disagree" not in message


@pytest.mark.parametrize("change", [file_too_many, file_edited])
def test_a_manifest_that_disagrees_with_its_orders_is_refused(tmp_path: Path, change: Any) -> None:
    document = manifest(chain(2))
    folder = write_plan(tmp_path / "plan", document)
    change(folder, document)
    message = refusal(folder)
    assert "WORK_ORDERS_MANIFEST.json disagree" in message
    assert ("WO-03.json" if change is file_too_many else "WO-02.json") in message


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"work_orders": 3}', '{"work_orders": [3]}'])
def test_a_manifest_that_is_none_is_refused(tmp_path: Path, content: str) -> None:
    folder = write_plan(tmp_path / "plan", manifest(chain(1)))
    (folder / "WORK_ORDERS_MANIFEST.json").write_text(content)
    assert "WORK_ORDERS_MANIFEST.json" in refusal(folder)


# Exemption from verification


def exempt_order(folder: Path, **changes: Any) -> Path:
    document = manifest([order(1, verify_exempt=True), order(2)])
    return write_plan(folder, document | changes) / "WO-01.json"


def decided(loaded: LoadedOrder, *, allow: bool = False, bare: bool = True) -> Exemption:
    return exemption_of(loaded, allow=allow, is_bare=lambda: bare)


def test_an_order_that_asks_for_no_exemption_gets_none(tmp_path: Path) -> None:
    loaded = read_order(written(tmp_path, order()))
    assert decided(loaded, allow=True) == decided(loaded) == NOT_EXEMPT


def test_a_person_vouches_for_any_order(tmp_path: Path) -> None:
    loaded = read_order(written(tmp_path, order(verify_exempt=True)))
    assert decided(loaded, allow=True, bare=False).granted == "--allow-verify-exempt"


def test_nothing_else_vouches_for_an_order_on_files_that_are_verified(tmp_path: Path) -> None:
    assert decided(read_order(exempt_order(tmp_path / "plan")), bare=False) == NOT_EXEMPT


def test_what_an_exemption_waits_for_is_what_the_manifest_says(tmp_path: Path) -> None:
    requires = [{"kind": "file_exists", "path": "a"}, {"kind": "file_absent", "path": "b"}]
    document = manifest([order(1, verify_exempt=True)]) | {
        "verify_contract": {"requires": requires}
    }
    path = write_plan(tmp_path / "plan", hashed(document)) / "WO-01.json"
    exemption = decided(read_order(path))
    verified, bare = TreeFacts(("a", "b"), is_verified=True), TreeFacts(("c",), is_verified=False)
    assert exemption.reason(bare, verified) == "what verifies its tree still waits for `b` to go"
    assert exemption.reason(bare, TreeFacts(("a",), is_verified=True)) == ""


@pytest.mark.parametrize("contract", [7, {"requires": "a"}, {"requires": [{"path": "a"}]}, []])
def test_a_contract_that_cannot_be_read_waits_for_nothing(tmp_path: Path, contract: object) -> None:
    document = manifest([order(1, verify_exempt=True)]) | {"verify_contract": contract}
    loaded = read_order(write_plan(tmp_path / "plan", hashed(document)) / "WO-01.json")
    assert loaded.plan is not None
    assert decided(loaded).requires == ()


def test_a_manifest_that_was_changed_is_refused(tmp_path: Path) -> None:
    path = exempt_order(tmp_path / "plan", system_overview=["changed"])
    for read, place in ((read_order, path), (read_workdir, path.parent)):
        with pytest.raises(InvalidInput, match="its hash does not recompute") as refused:
            read(place)
        assert f"`llmch check {path.parent} --accept-edits`" in refused.value.hint


def test_an_exempt_order_is_only_compiled(factory: Factory) -> None:
    git(factory.repo, "rm", "--quiet", "scripts/verify.sh")
    commit_all(factory.repo)
    path = exempt_order(factory.scratch / "plan")
    summary = factory.run(path, [proposal({"hello.txt": "hello\n"})])
    assert [each.command for each in summary.attempt_records[0].verify] == [
        ("python", "-m", "compileall", "-q", ".")
    ]
    assert "python -m compileall -q ." in factory.prompt()
    assert "verify.sh" not in factory.prompt()
