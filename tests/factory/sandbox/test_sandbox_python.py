"""Which Python a command gets, and that what it imports is the workspace."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from factory.sandbox.policy import Backend
from tests.factory.sandbox.sandbox_arena import Arena, Driver, User, opened_arena


@pytest.fixture(params=list(Backend)[1:])
def target(request: pytest.FixtureRequest, driver_of: Callable[[User], Driver]) -> Iterator[Arena]:
    """On each backend and on none: what is verified must be the workspace everywhere."""
    user = User.ORDINARY if os.geteuid() else User.ROOT
    with opened_arena(request.param, user, driver_of(user)) as arena:
        yield arena


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with a `pytest` and a `pip` of its own."""
    folder = tmp_path_factory.mktemp("template") / "virtual"
    create = [sys.executable, "-m", "venv", "--without-pip", "--symlinks", str(folder)]
    subprocess.run(create, check=True)
    for name in ("pytest", "pip"):
        package = site(folder) / name
        package.mkdir()
        (package / "__main__.py").write_text(SAYS)
        (package / "__init__.py").touch()
    return folder


SAYS = "import sys; print(__package__, sys.prefix, *sys.argv[1:])"


@pytest.fixture
def virtual(target: Arena, template: Path) -> Path:
    """Such an environment, outside the workspace."""
    return shutil.copytree(template, target.base / "virtual", symlinks=True)


def site(virtual: Path) -> Path:
    (folder,) = virtual.glob("lib/python3*/site-packages")
    return folder


def use(target: Arena, virtual: Path, **fields: object) -> None:
    target.open(python=str(virtual / "bin" / "python"), **fields)


def write(folder: Path, **modules: str) -> None:
    for name, text in modules.items():
        path = folder / (re.sub(r"(?<=\w)__(?=\w)", "/", name) + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")


def printed(target: Arena, code: str) -> str:
    ended = target.python(code)
    return str(ended.stdout.text or ended.stderr.text)


def test_the_usual_names_mean_the_chosen_environment(target: Arena, virtual: Path) -> None:
    use(target, virtual)
    for name in ("python", "python3"):
        assert target.run(name, "-c", "import sys; print(sys.prefix)").stdout.text == f"{virtual}\n"
    for name in ("pytest", "pip"):
        assert target.run(name, "-x").stdout.text == f"{name} {virtual} -x\n"
        assert target.run("python", "-m", name, "-x").stdout.text == f"{name} {virtual} -x\n"


def test_an_environment_may_lack_the_usual_names(target: Arena, virtual: Path) -> None:
    programs = virtual / "bin"
    base = (programs / "python").resolve()
    for link in programs.glob("python*"):
        link.unlink()
    odd = programs / "py"
    odd.symlink_to(base)
    target.open(python=str(odd))
    for name in ("python", "python3"):
        assert target.run(name, "-c", "import sys; print(sys.prefix)").stdout.text == f"{virtual}\n"
    assert target.run("pytest").stdout.text == f"pytest {virtual}\n"


def test_an_interpreter_behind_a_chain_of_links_is_found(target: Arena) -> None:
    folder = target.base / "chain"
    (folder / "real").mkdir(parents=True)
    (folder / "real" / "one").symlink_to(target.driver.python.resolve())
    (folder / "link").symlink_to("real")
    (folder / "two").symlink_to("link/one")
    target.open(python=str(folder / "two"))
    assert target.run("python", "-c", "print('ran')").stdout.text == "ran\n"
    assert target.run("python3", "-c", "import json; print('ran')").stdout.text == "ran\n"


def test_a_path_with_spaces_is_no_trouble(target: Arena, virtual: Path) -> None:
    spaced = target.base / "with a space"
    shutil.copytree(virtual, spaced, symlinks=True)
    use(target, spaced)
    assert target.run("pytest", "a b").stdout.text == f"pytest {spaced} a b\n"


def test_what_is_no_interpreter_is_refused(target: Arena) -> None:
    for python in ("/bin/true", "/nonexistent/python"):
        opened = target.open(python=python)
        assert opened["exit_code"] == 2
        assert python in opened["refused"]


@pytest.mark.parametrize("layout", ["package", "namespace", "in src"])
def test_a_target_may_use_the_names_of_llmch_s_packages(
    target: Arena, virtual: Path, layout: str
) -> None:
    sources = target.driver.sources
    (site(virtual) / "llmch.pth").write_text(f"{sources}\n")
    root = target.workspace / "src" if layout == "in src" else target.workspace
    write(root, shared__errors="print('target')")
    if layout == "package":
        (target.workspace / "shared" / "__init__.py").touch()
    use(target, virtual, read=[str(sources)])  # so that only the import order stands between
    assert printed(target, "import shared.errors") == "target\n"


def test_llmch_s_packages_do_not_exist_for_a_target_without_such(
    target: Arena, virtual: Path
) -> None:
    sources = target.driver.sources
    (site(virtual) / "llmch.pth").write_text(f"{sources}\n")
    use(target, virtual, read=[str(sources)])
    assert "No module named 'shared'" in printed(target, "import shared.errors")


def by_path(site: Path, checkout: Path) -> None:
    (site / "__editable__.target.pth").write_text(f"{checkout}\n")


def by_finder(position: str) -> Callable[[Path, Path], None]:
    def install(site: Path, checkout: Path) -> None:
        (site / "__editable___target_finder.py").write_text(
            "import sys\n"
            "from importlib.machinery import PathFinder\n"
            "class Finder:\n"
            "    @classmethod\n"
            "    def find_spec(cls, name, path=None, target=None):\n"
            f"        return None if path else PathFinder.find_spec(name, [{str(checkout)!r}])\n"
            f"def install(): sys.meta_path.{position}\n"
        )
        (site / "__editable__.target.pth").write_text(
            "import __editable___target_finder; __editable___target_finder.install()\n"
        )

    return install


EDITABLE = {
    "path": by_path,
    "finder asked last": by_finder("append(Finder)"),
    "finder asked first": by_finder("insert(0, Finder)"),
}


@pytest.mark.rest
@pytest.mark.parametrize("how", EDITABLE)
def test_an_editable_install_of_the_target_yields_to_the_workspace(
    target: Arena, virtual: Path, how: str
) -> None:
    checkout = target.base / "checkout"
    write(checkout, target__kept="print('checkout')", target__dropped="", alone="", loose__part="")
    (checkout / "target" / "__init__.py").touch()
    EDITABLE[how](site(virtual), checkout)
    write(target.workspace, target__kept="print('workspace')", loose__other="")
    (target.workspace / "target" / "__init__.py").touch()
    use(target, virtual)
    assert printed(target, "import target.kept") == "workspace\n"
    for gone in ("target.dropped", "alone", "loose.part"):
        assert "ModuleNotFoundError" in printed(target, f"import {gone}"), gone


@pytest.mark.parametrize("how", EDITABLE)
def test_an_editable_install_of_what_the_policy_shows_works(
    target: Arena, virtual: Path, how: str
) -> None:
    sibling = target.base / "sibling"
    write(sibling, sibling="print('sibling')")
    EDITABLE[how](site(virtual), sibling)
    use(target, virtual, read=[str(sibling)])
    assert printed(target, "import sibling") == "sibling\n"


def test_the_environment_s_own_sitecustomize_still_runs(target: Arena, virtual: Path) -> None:
    write(site(virtual), sitecustomize="print('customized')")
    code = "import sitecustomize; print(sitecustomize.__file__)"  # a system's comes before it
    alone = subprocess.run([virtual / "bin" / "python", "-c", code], capture_output=True, text=True)
    if not alone.stdout.startswith("customized"):
        pytest.skip(f"this system has one that comes first: {alone.stdout}")
    use(target, virtual)
    assert printed(target, code) == alone.stdout


def test_a_script_s_own_folder_comes_before_the_workspace(target: Arena) -> None:
    write(target.workspace, near="print('workspace')", scripts__near="print('script')")
    write(target.workspace, scripts__run="import near")
    assert target.run("python", "scripts/run.py").stdout.text == "script\n"


def test_bytecode_stays_out_of_the_workspace(target: Arena) -> None:
    write(target.workspace, module="x = 1", package__inner="y = 2")
    before = sorted(target.workspace.rglob("*"))
    assert target.run("python", "-m", "compileall", "-q", ".").exit_code == 0
    target.python("import module, package.inner")
    assert sorted(target.workspace.rglob("*")) == before
    assert list((target.private / "tmp" / "pycache").rglob("inner*.pyc"))


def test_a_syntax_error_is_found_by_compileall(target: Arena) -> None:
    write(target.workspace, broken="def")
    assert target.run("python", "-m", "compileall", "-q", ".").exit_code == 1


def test_installed_bytecode_is_read(target: Arena, virtual: Path) -> None:
    write(site(virtual), installed="")
    subprocess.run([virtual / "bin" / "python", "-c", "import installed"], check=True, cwd="/")
    use(target, virtual)
    code = "import installed, sys; print(installed.__cached__)"
    assert printed(target, code).startswith(f"{site(virtual)}/__pycache__/installed.")


def test_a_program_of_the_workspace_runs_by_its_path(target: Arena) -> None:
    tool = target.workspace / "tools" / "tool"
    tool.parent.mkdir()
    tool.write_text("#!/usr/bin/env python\nprint('tool')\n")
    ended = target.run("./tools/tool")
    assert ended.cause == "not_started"
    tool.chmod(0o755)
    assert target.run("./tools/tool").stdout.text == "tool\n"
    assert target.run("tools/tool").stdout.text == "tool\n"


def test_programs_cannot_be_replaced_for_the_commands_that_follow(target: Arena) -> None:
    if target.backend is Backend.OFF:
        pytest.skip("off: nothing is contained")
    target.run("sh", "-c", 'echo exit 0 > "$(command -v pytest)"; rm -f "$(command -v pip)"')
    programs = target.private / "programs" / "bin"
    assert "runpy" in (programs / "pytest").read_text()
    assert (programs / "pip").exists()


def test_a_workspace_with_a_colon_in_its_name_is_imported_from(target: Arena) -> None:
    target.workspace = target.workspace.rename(target.base / "repo:name, odd")
    write(target.workspace, module="print('found')", src__other="print('found too')")
    target.open()
    assert printed(target, "import module, other") == "found\nfound too\n"


def test_what_a_pth_file_imports_is_not_compiled_at_each_start(
    target: Arena, virtual: Path
) -> None:
    (site(virtual) / "odd.pth").write_text("import pathlib, typing\n")
    use(target, virtual)
    code = (
        "import collections, os, pathlib, typing\n"
        "for module in (collections, pathlib, typing):\n"
        "    print(os.environ['PYTHONPYCACHEPREFIX'] in module.__cached__,\n"
        "          os.path.exists(module.__cached__))"
    )
    assert printed(target, code) == "True True\n" * 3
