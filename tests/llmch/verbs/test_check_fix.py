"""`llmch check --fix` repairs on disk what has one certain remedy, and changes nothing else."""

from __future__ import annotations

import json
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shared.work_order.parse_order import manifest_sha256
from tests.harness import as_ordinary_user, fingerprint
from tests.harness import manifest as sealed
from tests.llmch.command_line import Say
from tests.planner.plans import creating, exists, order, plan, requiring

MANIFEST = "WORK_ORDERS_MANIFEST.json"
VERIFY = "bash scripts/verify.sh"
HALF = {"allowed_files": ["a.txt", "b.txt"], "postconditions": exists("a.txt")}


def put(folder: Path, document: Any, *, orders: bool = True, manifest: bool = True) -> Path:
    """Write a plan as a folder has it: a manifest, the orders' files, or both."""
    folder.mkdir(parents=True, exist_ok=True)
    if manifest:
        (folder / MANIFEST).write_text(json.dumps(document))
    if orders:
        for each in document["work_orders"]:
            (folder / f"{each['id']}.json").write_text(json.dumps(each))
    return folder


def read(path: Path) -> Any:
    return json.loads(path.read_text())


@pytest.fixture
def folder(cwd: Path) -> Path:
    return cwd.parent / "plan"


@contextmanager
def full_disk() -> Iterator[None]:
    """No file may grow beyond ten bytes: for root as well."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, hard))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_each_fix_is_told_with_its_code_and_what_stood_there(say: Say, folder: Path) -> None:
    put(folder, plan(order(1, **HALF), order(3, acceptance_commands=[VERIFY, "python -m x"])))
    said = say("check", folder, "--fix")
    assert 'fixed [E104] WO-01 postconditions[1]: nothing -> "file_exists b.txt"' in said.out
    assert 'fixed [E001] WO-02 id: "WO-03" -> "WO-02"' in said.out
    assert f'fixed [E105] WO-02 acceptance_commands[0]: "{VERIFY}" -> nothing' in said.out
    assert "2 work orders, 0 errors, 1 warning, 3 fixed" in said.out
    assert said.code == 0


def test_files_and_manifest_agree_afterwards_and_renamed_orders_move(
    say: Say, folder: Path
) -> None:
    put(folder, plan(order(1), order(3, **HALF), order(7, depends_on=["WO-03"])))
    (folder / "notes.txt").write_text("mine")
    assert say("check", folder, "--fix", "--quiet").code == 0
    assert sorted(each.name for each in folder.iterdir()) == [
        *("WO-01.json", "WO-02.json", "WO-03.json", MANIFEST, "notes.txt")
    ]
    orders = [read(folder / f"WO-0{number}.json") for number in (1, 2, 3)]
    assert read(folder / MANIFEST)["work_orders"] == orders
    assert orders[1]["postconditions"] == exists("a.txt", "b.txt")
    assert orders[2]["depends_on"] == ["WO-02"]
    assert say("check", folder).code == 0


def test_json_lists_the_fixes_and_what_is_left(say: Say, folder: Path) -> None:
    put(folder, plan(order(1, preconditions=exists("none"), **HALF)))
    said = say("check", folder, "--fix", "--json")
    assert said.code == 2
    assert said.document["fixes"] == [
        {
            "code": "E104",
            "order": "WO-01",
            "field": "postconditions[1]",
            "before": None,
            "after": "file_exists b.txt",
        }
    ]
    assert [each["code"] for each in said.document["findings"]] == ["E101"]
    assert read(folder / "WO-01.json")["postconditions"] == exists("a.txt", "b.txt")


def test_a_second_run_changes_nothing(say: Say, folder: Path) -> None:
    put(folder, plan(order(1, **HALF), order(3)))
    say("check", folder, "--fix")
    before = fingerprint(folder)
    stamps = [each.stat().st_mtime_ns for each in sorted(folder.iterdir())]
    assert say("check", folder, "--fix", "--json").document["fixes"] == []
    assert fingerprint(folder) == before
    assert [each.stat().st_mtime_ns for each in sorted(folder.iterdir())] == stamps


@pytest.mark.parametrize(
    "document",
    [
        plan(order(1)),
        plan(order(2), order(1)),
        plan(order(1), order(3, notes="as WO-03 had it")),
        plan(order(1, acceptance_commands=[VERIFY])),
        plan(creating(1, "../a.txt")),
    ],
    ids=["no fault", "two orders", "spoken of", "nothing else proves it", "outside"],
)
def test_what_has_no_fault_or_two_remedies_is_left_as_it_is(
    say: Say, folder: Path, document: Any
) -> None:
    put(folder, document)
    before = fingerprint(folder)
    assert say("check", folder, "--fix", "--json").document["fixes"] == []
    assert fingerprint(folder) == before


def test_without_the_flag_nothing_is_fixed(say: Say, folder: Path) -> None:
    before = fingerprint(put(folder, plan(order(1, **HALF))))
    said = say("check", folder, "--json")
    assert (said.code, said.document["fixes"], fingerprint(folder)) == (2, [], before)


def test_a_manifest_alone_stays_alone(say: Say, folder: Path) -> None:
    put(folder, plan(order(1, **HALF), mood="sunny"), orders=False)
    assert say("check", folder, "--fix").code == 0
    assert [each.name for each in folder.iterdir()] == [MANIFEST]
    assert read(folder / MANIFEST)["mood"] == "sunny", "what nobody objects to is kept"


def test_orders_alone_keep_their_files_until_they_are_renumbered(say: Say, folder: Path) -> None:
    folder.mkdir()
    (folder / "WO-01.json").write_text(json.dumps(order(1, **HALF)))
    (folder / "WO-02.json").write_text(json.dumps(order(2)))
    untouched = (folder / "WO-02.json").read_bytes()
    assert say("check", folder, "--fix").code == 0
    assert read(folder / "WO-01.json")["postconditions"] == exists("a.txt", "b.txt")
    assert (folder / "WO-02.json").read_bytes() == untouched
    (folder / "WO-02.json").rename(folder / "WO-03.json")
    (folder / "WO-03.json").write_text(json.dumps(order(3)))
    assert say("check", folder, "--fix").code == 0
    assert sorted(each.name for each in folder.iterdir()) == ["WO-01.json", "WO-02.json"]


def test_a_planned_manifest_recomputes_to_its_hash_again(say: Say, folder: Path) -> None:
    put(folder, sealed([order(1, **HALF), order(2)]))
    assert say("check", folder, "--fix").code == 0
    document = read(folder / MANIFEST)
    digest = manifest_sha256(document)
    holders = [document, *document["work_orders"], read(folder / "WO-02.json")]
    assert {each["provenance"]["manifest_sha256"] for each in holders} == {digest}
    assert document["provenance"]["planner_run_id"] == "01PLANNERRUN"


def bootstrapping(**first: Any) -> Any:
    """Return a planned manifest whose second order makes verification possible."""
    script = creating(2, "scripts\\check.sh")
    document = sealed([order(1, **first), script, order(3, verify_exempt=True)])
    return document | {"verify_contract": requiring("scripts/check.sh")}


def exempt(folder: Path) -> list[bool]:
    orders = read(folder / MANIFEST)["work_orders"]
    for each in orders:
        assert each.get("provenance", {}).get("bootstrap", False) is each.get(
            "verify_exempt", False
        )
    return [each.get("verify_exempt", False) for each in orders]


def test_no_order_gains_an_exemption_where_the_repo_is_not_known(say: Say, folder: Path) -> None:
    put(folder, bootstrapping(), orders=False)
    say("check", folder, "--fix")
    assert exempt(folder) == [False, False, False]


def test_exemptions_are_computed_anew_for_a_repo(say: Say, folder: Path, repo: Path) -> None:
    put(folder, bootstrapping(), orders=False)
    assert say("check", folder, "--fix", "--repo", repo).code == 0
    assert exempt(folder) == [True, False, False]
    assert read(folder / MANIFEST)["provenance"]["bootstrap"] is True


def test_an_order_that_cannot_be_read_leaves_no_order_exempt(say: Say, folder: Path) -> None:
    document = bootstrapping(verify_exempt=True)
    document["work_orders"].append(order(4, title=7))
    put(folder, document, orders=False)
    assert say("check", folder, "--fix").code == 2
    assert exempt(folder) == [False, False, False, False]


def test_a_full_disk_changes_nothing(say: Say, folder: Path) -> None:
    before = fingerprint(put(folder, plan(order(1, **HALF), order(3))))
    with full_disk():
        said = say("check", folder, "--fix", "--quiet")
    assert said.code == 1
    assert "nothing was changed" in said.err
    assert fingerprint(folder) == before


def test_a_folder_that_may_not_be_written_is_left_alone(
    say: Say, folder: Path, tmp_path: Path
) -> None:
    before = fingerprint(put(folder, plan(order(1, **HALF))))
    folder.chmod(0o555)
    try:
        with as_ordinary_user(tmp_path):
            said = say("check", folder, "--fix", "--json")
    finally:
        folder.chmod(0o755)
    assert said.error["code"] == 1
    assert fingerprint(folder) == before


PATHS = st.sampled_from(["a.txt", "b.txt", "src\\c.txt", "/d", "scripts/verify.sh"])
ORDERS = st.fixed_dictionaries(
    {
        "id": st.sampled_from(["WO-01", "WO-02", "WO-03", "WO-2", "WO-007", "9", "x"]),
        "title": st.just("t"),
        "forbidden": st.just([]),
        "context_files": st.just([]),
        "intent": st.just("i"),
        "allowed_files": st.lists(PATHS, max_size=3),
        "acceptance_commands": st.lists(
            st.sampled_from([VERIFY, "python -m pytest -q", "a | b"]), min_size=1, max_size=3
        ),
    },
    optional={
        "postconditions": st.lists(PATHS, max_size=2).map(lambda paths: exists(*paths)),
        "depends_on": st.lists(st.sampled_from(["WO-01", "WO-2"]), max_size=2),
    },
)


@pytest.mark.rest
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(orders=st.lists(ORDERS, min_size=1, max_size=4))
def test_one_run_is_enough_whatever_the_plan(say: Say, folder: Path, orders: list[Any]) -> None:
    for old in folder.glob("*"):
        old.unlink()
    put(folder, sealed(orders), orders=False)
    said = say("check", folder, "--fix", "--json")
    assert said.code in (0, 2)
    before = fingerprint(folder)
    again = say("check", folder, "--fix", "--json").document
    assert (again["fixes"], again["findings"]) == ([], said.document["findings"])
    assert fingerprint(folder) == before
