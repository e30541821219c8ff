"""Folders of the checkout in a workspace: where they are put, and that they are put back."""

from __future__ import annotations

import shutil
import stat
from pathlib import Path

import pytest

from factory.sandbox.lent_folders import Linked, LinkedFolders, Placement
from shared.errors import CommandFailed


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "checkout" / "web" / "node_modules"
    (folder / "pkg").mkdir(parents=True)
    (folder / "pkg/index.js").write_text("1\n")
    (folder / "bin").symlink_to("pkg/index.js")
    return folder


def opened(source: Path, placement: Placement) -> tuple[LinkedFolders, Path]:
    base = source.parents[2]
    (workspace := base / "workspace").mkdir()
    (base / "aside").mkdir()
    linked = Linked("web/node_modules", source)
    return LinkedFolders([linked], workspace, placement, base / "aside"), workspace


@pytest.mark.parametrize("placement", Placement)
def test_whatever_took_the_place_of_a_folder_goes(source: Path, placement: Placement) -> None:
    folders, workspace = opened(source, placement)
    folders.ensure()
    place = workspace / "web/node_modules"
    right = place.lstat().st_mode
    for spoil in (_remove, _replace_by_a_file, _replace_by_a_folder, _link_the_folder_above):
        spoil(place)
        folders.ensure()
        assert place.lstat().st_mode == right
        assert not (workspace / "web").is_symlink()
        assert not (place / "evil").exists()
    assert (source / "pkg/index.js").read_text() == "1\n"
    assert not list((source.parents[2] / "aside").rglob("index.js")) or placement is Placement.COPY


@pytest.mark.parametrize("placement", Placement)
def test_a_file_is_put_where_it_was_again(source: Path, placement: Placement) -> None:
    base = source.parents[2]
    for name in ("workspace/pkg", "aside"):
        (base / name).mkdir(parents=True)
    (file := base / "_version.py").write_text("1\n")
    linked = Linked("pkg/_version.py", file)
    folders = LinkedFolders([linked], base / "workspace", placement, base / "aside")
    folders.ensure()
    place = base / "workspace/pkg/_version.py"
    for _ in range(2):
        folders.ensure()
        assert place.is_symlink() == (placement is Placement.SYMLINK)
        assert place.read_text() == ("" if placement is Placement.MOUNT else "1\n")
        place.unlink()
        place.write_text("evil")
    assert file.read_text() == "1\n"


def _remove(place: Path) -> None:
    if place.is_symlink():
        place.unlink()
    else:
        shutil.rmtree(place)


def _replace_by_a_file(place: Path) -> None:
    _remove(place)
    place.write_text("evil")


def _replace_by_a_folder(place: Path) -> None:
    _remove(place)
    place.mkdir()
    (place / "evil").write_text("evil")


def _link_the_folder_above(place: Path) -> None:
    place.parent.rename(place.parent.with_name("moved"))
    elsewhere = place.parents[2] / "elsewhere"
    elsewhere.mkdir()
    place.parent.symlink_to(elsewhere)


def test_a_copy_has_no_write_permission_and_leaves_the_original_as_it_was(source: Path) -> None:
    before = (source / "pkg/index.js").stat().st_mode
    folders, workspace = opened(source, Placement.COPY)
    folders.ensure()
    place = workspace / "web/node_modules"
    copied = [path for path in (place, *place.rglob("*")) if not path.is_symlink()]
    assert len(copied) == 3
    assert not any(stat.S_IMODE(path.stat().st_mode) & 0o222 for path in copied)
    assert (place / "bin").is_symlink()
    assert (source / "pkg/index.js").stat().st_mode == before
    assert not (place / "pkg/index.js").samefile(source / "pkg/index.js")


def test_programs_are_looked_for_where_the_host_has_them(source: Path) -> None:
    folders, workspace = opened(source, Placement.MOUNT)
    assert folders.real_path("web/node_modules/bin") == source / "bin"
    assert folders.real_path("./web/../web/node_modules/bin") == source / "bin"
    assert folders.real_path("web/other") == workspace / "web/other"


def test_a_folder_that_is_gone_is_reported_with_a_remedy(source: Path) -> None:
    folders, _ = opened(source, Placement.COPY)
    shutil.rmtree(source)
    with pytest.raises(CommandFailed, match="cannot show web/node_modules") as failed:
        folders.ensure()
    assert "link" in (failed.value.hint or "")
