"""Exporting a plan: what is refused before a model is paid, and what the export leaves."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from planner.compile.compile_record import check_export, export_plan
from shared.errors import CommandFailed, EnvironmentFault, InvalidInput
from shared.work_order.parse_order import parse_document
from shared.work_order.work_order import Manifest
from tests.planner.plans import order, plan

NAMES = ["WO-01.json", "WO-02.json", "WORK_ORDERS_MANIFEST.json"]
OUTPUT = Path("run/output")
PLAN = parse_document(Manifest, plan(order(1), order(2)))


def names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


@pytest.mark.parametrize("name", ["WO-01.json", "WO-100.json", "WORK_ORDERS_MANIFEST.json"])
def test_any_file_of_a_plan_counts_as_a_plan_in_the_way(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("{}")
    with pytest.raises(InvalidInput, match=f"already holds a plan \\({name}\\)"):
        check_export(tmp_path, overwrite=False)
    check_export(tmp_path, overwrite=True)


@pytest.mark.parametrize("name", ["README.md", "WO-01.json.bak", "xWO-01.json", "WO-.json"])
def test_other_files_are_no_plan(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("{}")
    check_export(tmp_path, overwrite=False)
    export_plan(tmp_path, PLAN, OUTPUT)
    assert names(tmp_path) == sorted([*NAMES, name])


@pytest.mark.parametrize("name", ["new", "new/below/it"])
def test_a_folder_may_be_new(tmp_path: Path, name: str) -> None:
    check_export(tmp_path / name, overwrite=False)
    export_plan(tmp_path / name, PLAN, OUTPUT)
    assert names(tmp_path / name) == NAMES


def test_a_name_that_no_disk_takes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="File name too long"):
        check_export(tmp_path / ("x" * 300), overwrite=False)


@pytest.mark.parametrize("below", [".", "below"])
def test_a_file_in_the_place_of_a_folder_is_refused(tmp_path: Path, below: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidInput, match="is not a directory"):
        check_export(tmp_path / "file" / below, overwrite=True)


def test_a_link_to_a_folder_is_a_folder(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    check_export(tmp_path / "link", overwrite=False)
    export_plan(tmp_path / "link", PLAN, OUTPUT)
    assert names(tmp_path / "real") == NAMES


def test_orders_of_the_old_plan_do_not_stay_behind(tmp_path: Path) -> None:
    longer = plan(*[order(number) for number in range(1, 13)])
    export_plan(tmp_path, parse_document(Manifest, longer), OUTPUT)
    export_plan(tmp_path, PLAN, OUTPUT)
    assert names(tmp_path) == NAMES


def test_an_export_cut_short_leaves_no_manifest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder in the place of an order's file stops the export where it stands."""
    export_plan(tmp_path, PLAN, OUTPUT)
    (tmp_path / "WO-02.json").unlink()
    (tmp_path / "WO-02.json").mkdir()
    with pytest.raises(CommandFailed, match=r"WO-02\.json") as failed:
        export_plan(tmp_path, PLAN, OUTPUT)
    assert str(OUTPUT) in failed.value.hint
    assert "WORK_ORDERS_MANIFEST.json" not in names(tmp_path)


def test_an_export_onto_a_full_disk_ends_as_full_disks_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_args: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(EnvironmentFault) as failed:
        export_plan(tmp_path / "plan", PLAN, OUTPUT)
    assert str(OUTPUT) in failed.value.hint


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_may_not_be_written_is_refused_unasked(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(InvalidInput, match="is not writable"):
        check_export(tmp_path / "plan", overwrite=False)
