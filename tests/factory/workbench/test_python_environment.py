"""`--deps auto`: what a target may ask for, and the environment that it gets."""

from __future__ import annotations

import os
import re
import shutil
import socket
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factory.workbench.dependencies import LocalWorkshop, Manifests, RegistryUnreachable
from shared.errors import EnvironmentFault, InvalidInput
from shared.languages.language_tools import Prepared
from shared.languages.python.declared_requirements import REQUIREMENT
from shared.languages.python.python_packages import WantedPackages, prepare_python, read_wishes
from shared.processes.process import run_tool
from shared.work_order.parse_order import sha256_bytes

PYTHON = Path(sys.executable)
WHEEL = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def wheel(folder: Path, name: str, code: str = "", requires: str = "") -> str:
    """A wheel of one module, as an index would serve it; return its hash."""
    info = f"{name}-1.0.dist-info"
    path = folder / f"{name}-1.0-py3-none-any.whl"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"
    metadata += f"Requires-Dist: {requires}\n" if requires else ""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{name}.py", code)
        archive.writestr(f"{info}/METADATA", metadata)
        archive.writestr(f"{info}/WHEEL", WHEEL)
        archive.writestr(f"{info}/RECORD", "")
    return sha256_bytes(path.read_bytes())


def prepared(tree: Path, cache: Path, environ: Mapping[str, str]) -> Prepared:
    tracked = [str(each.relative_to(tree)) for each in tree.rglob("*")]
    return prepare_python(Manifests.of(tree, tracked), LocalWorkshop(cache, PYTHON, environ))


def python_of(tree: Path, cache: Path, environ: Mapping[str, str]) -> Path:
    python = prepared(tree, cache, environ).python
    assert python is not None
    return python


def wishes(tree: Path, **markers: str) -> WantedPackages:
    tracked = [str(each.relative_to(tree)) for each in tree.rglob("*")]
    environment = {"python_version": "3.11", "sys_platform": "linux", **markers}
    return read_wishes(Manifests.of(tree, tracked), environment)


def lines(tree: Path) -> list[str]:
    return [re.sub(r"\s+", " ", each) for each in wishes(tree).lines]


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """An index of two packages, and no uv."""
    index = tmp_path / "index"
    index.mkdir()
    wheel(index, "pytest")
    wheel(index, "lib", "answer = 42")
    return {"PATH": os.defpath, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(index)}


@pytest.mark.rest
def test_what_is_declared_is_installed_once(tmp_path: Path, environ: dict[str, str]) -> None:
    tree, cache = tmp_path / "tree", tmp_path / "cache"
    tree.mkdir()
    (tree / "requirements.txt").write_text("lib>=1  # the answer\n")
    python = python_of(tree, cache, environ)
    answer = [str(python), "-c", "import lib, pytest, sys; print(lib.answer, sys.prefix)"]
    done = run_tool(answer, cwd=tmp_path, env={}, timeout_seconds=120)
    assert done.stdout.decode().split() == ["42", str(python.parent.parent)], done.stderr
    assert python.is_relative_to(cache)
    without_index = {"PATH": os.defpath, "PIP_NO_INDEX": "1"}
    assert python_of(tree, cache, without_index) == python


OWN = """\
[project]
name = "My.Tool"
dynamic = ["version"]
dependencies = ["lib"]
scripts = {my-tool = "mine:main", evil = "mine; import os", "../x" = "mine:main"}
[tool.setuptools_scm]
version_file = "mine_version.py"
write_to = "../../outside.py"
"""
MAIN = """\
import importlib.metadata as m, mine_version
def main():
    points = [each.name for each in m.entry_points(module="mine")]
    print(m.version("my-tool"), mine_version.version, points)
"""


@pytest.mark.rest
def test_the_project_itself_is_there_as_if_it_were_installed(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "pyproject.toml").write_text(OWN)
    (tree / "mine.py").write_text(MAIN)
    found = prepared(tree, tmp_path / "cache", environ)
    assert list(found.folders) == ["mine_version.py"]
    shutil.copy(found.folders["mine_version.py"], tree)
    assert found.python is not None
    program = [str(found.python.with_name("my-tool"))]
    done = run_tool(program, cwd=tree, env={"PYTHONPATH": str(tree)}, timeout_seconds=60)
    assert done.stdout.decode() == "0.0.0 0.0.0 ['my-tool']\n", done.stderr


def test_what_builds_the_documentation_is_not_installed(tmp_path: Path) -> None:
    groups = 'dev = [{include-group = "docs"}, {include-group = "test"}]\ntest = ["lib"]'
    text = f'[dependency-groups]\n{groups}\ndocs = ["sphinx>=9"]\n'
    (tmp_path / "pyproject.toml").write_text(text)
    assert lines(tmp_path) == ["lib"]


@pytest.mark.rest
def test_a_locked_package_may_require_the_project_itself(tmp_path: Path) -> None:
    (index := tmp_path / "index").mkdir()
    digest = wheel(index, "plugin", requires="mine==2.0")
    (tree := tmp_path / "tree").mkdir()
    (tree / "requirements.txt").write_text(f"plugin==1.0 --hash=sha256:{digest}\n")
    environ = {"PATH": os.defpath, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(index)}
    assert python_of(tree, tmp_path / "cache", environ).exists()


def test_the_installer_s_own_words_are_passed_on_and_nothing_half_made_is_used(
    tmp_path: Path,
) -> None:
    uv = tmp_path / "bin" / "uv"  # one that cannot find what it is to install
    uv.parent.mkdir()
    uv.write_text("#!/bin/sh\ncase $1 in pip) echo no such package >&2; exit 1;; esac\n")
    uv.chmod(0o755)
    (tmp_path / "requirements.txt").write_text("lib\n")
    for _ in range(2):
        with pytest.raises(EnvironmentFault, match="no such package") as refused:
            prepared(tmp_path, tmp_path / "cache", {"PATH": str(uv.parent)})
        assert refused.value.exit_code == 5


@pytest.mark.rest
def test_an_index_that_cannot_be_reached_is_said_in_words(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("lib\n")
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # bound and not listening: connections are refused
        index = f"http://127.0.0.1:{closed.getsockname()[1]}/simple"
        environ = {"PATH": os.defpath, "PIP_INDEX_URL": index, "PIP_RETRIES": "1"}
        with pytest.raises(RegistryUnreachable, match="could not reach the registry") as refused:
            prepared(tmp_path, tmp_path / "cache", environ)
    assert refused.value.exit_code == 5
    assert "network" in refused.value.hint


def test_a_target_that_declares_nothing_keeps_its_interpreter(tmp_path: Path) -> None:
    assert prepared(tmp_path, tmp_path / "cache", {}) == Prepared()
    assert not (tmp_path / "cache").exists()


def test_all_places_of_a_declaration_are_read(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(
        "[project]\n"
        'dependencies = ["rich>=13,<15", "attrs"]\n'
        "[project.optional-dependencies]\n"
        'test = ["hypothesis"]\n'
        'docs = ["sphinx"]\n'
        "[dependency-groups]\n"
        'dev = ["ruff==0.5.*", {include-group = "test"}]\n'
    )
    (tmp_path / "requirements.txt").write_text(
        "# pinned\nrich>=13,<15\nPyYAML[x] ~= 6.0 ; python_version < '4'\n"
        f"six==1.16.0 \\\n    --hash=sha256:{'0' * 64}\n"
    )
    assert lines(tmp_path) == [
        "PyYAML[x] ~= 6.0 ; python_version < '4'",
        "attrs",
        "hypothesis",
        "rich>=13,<15",
        "ruff==0.5.*",
        f"six==1.16.0 --hash=sha256:{'0' * 64}",
    ]


@pytest.mark.parametrize(
    "line",
    [
        "evil @ https://example.com/evil.whl",
        "https://example.com/evil.whl",
        "git+https://example.com/evil",
        "./evil",
        "../evil.whl",
        "/etc/passwd",
        "file:///etc/passwd",
        "-e ..",
        "-e ./part",
        "--index-url https://example.com",
        "-r /etc/passwd",
        "lib --config-settings=x",
        "lib --global-option=x",
        "lib ; @ https://example.com",
        "-",
        "lib\x00",
    ],
)
def test_anything_but_names_and_versions_is_refused(tmp_path: Path, line: str) -> None:
    (tmp_path / "requirements.txt").write_text(f"fine\n{line}\n")
    with pytest.raises(InvalidInput, match=r"requirements\.txt:2"):
        wishes(tmp_path)


@pytest.mark.parametrize("text", [b"\xff", b"[project", b"a = 1\n" * 3_000_000])
def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "pyproject.toml").write_bytes(text)
    with pytest.raises(InvalidInput, match=r"pyproject\.toml"):
        wishes(tmp_path)


@pytest.mark.parametrize("document", ["project = 1", "[project]\ndependencies = {}", "[[project]]"])
def test_a_document_of_another_shape_declares_nothing(tmp_path: Path, document: str) -> None:
    (tmp_path / "pyproject.toml").write_text(document)
    assert wishes(tmp_path).lines == ()


def test_links_and_pipes_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("the-secret\n")
    (tmp_path / "requirements.txt").symlink_to("secret")
    os.mkfifo(tmp_path / "pyproject.toml")
    assert wishes(tmp_path).lines == ()


@given(st.text(alphabet="ab-@/:+ .=<>;[]#'\\-_~!,()", max_size=40))
def test_no_address_and_no_option_ever_passes(line: str) -> None:
    match = REQUIREMENT.fullmatch(line)
    if match:
        assert "@" not in line
        assert "/" not in line
        assert not line.startswith("-")
