"""The wheel, installed into an environment of its own: it works far from this checkout."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from dataclasses import dataclass
from email.parser import Parser
from importlib import import_module
from pathlib import Path

import pytest

import llmch
from llmch.entry import installation
from llmch.verbs.demo import list_examples
from tests.harness import git
from tests.once import made_once

pytestmark = pytest.mark.rest


ROOT = Path(llmch.__file__).parents[1]
DEPENDENCIES = sysconfig.get_path("purelib")


@dataclass(frozen=True)
class Installed:
    """An environment with the wheel in it, and a folder far from the checkout."""

    wheel: Path
    program: Path
    elsewhere: Path

    def __call__(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run the installed program; nothing of the checkout is on Python's path."""
        environment = {
            name: value for name, value in os.environ.items() if not name.startswith("PYTHON")
        }
        # Dependencies lie outside of the environment here, where the sandbox shows nothing.
        environment["LLMCH_SANDBOX_READ"] = DEPENDENCIES
        return subprocess.run(
            [self.program, *arguments],
            cwd=self.elsewhere,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The wheel, built and installed once; its dependencies are those of this environment."""
    folder = made_once(tmp_path_factory, "package", _install)
    (wheel,) = folder.glob("*.whl")
    return Installed(wheel, folder / "venv" / "bin" / "llmch", folder / "elsewhere")


def _install(folder: Path) -> None:
    quiet("-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT))
    (wheel,) = folder.glob("*.whl")
    python = folder / "venv" / "bin" / "python"
    quiet("-m", "venv", "--without-pip", str(folder / "venv"))
    quiet("-m", "pip", "--python", str(python), "install", "--no-deps", "--no-index", str(wheel))
    (site,) = (folder / "venv").glob("lib/python*/site-packages")
    (site / "dependencies.pth").write_text(f"{DEPENDENCIES}\n")
    (folder / "elsewhere").mkdir()


def parts(requirement: str) -> list[str]:
    """Return a requirement's name, and what it says of versions, as names and operators."""
    return re.findall(r"[\w.-]+|[<>=!~]+", requirement)


def quiet(*arguments: str) -> None:
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_program_under_test_is_the_installed_one(installed: Installed) -> None:
    python = installed.program.with_name("python")
    done = subprocess.run(
        [python, "-c", "import llmch; print(llmch.__file__)"],
        cwd=installed.elsewhere,
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=True,
    )
    assert Path(done.stdout.strip()).is_relative_to(python.parents[1])


def test_the_installed_program_answers(installed: Installed) -> None:
    first, extras = installed("--version").stdout.splitlines()
    has_git = (ROOT / ".git").exists()
    head = has_git and git(ROOT, "rev-parse", "HEAD")
    changed = ", changed" * bool(has_git and git(ROOT, "status", "--porcelain", "-uno"))
    assert first == f"llmch {llmch.__version__}" + (f" ({head[:12]}{changed})" if head else "")
    assert extras == "extras: acp, fleet, html, mcp, otel"
    assert installed("explain", "E101").stdout.startswith("E101")
    assert installed("demo", "--list").returncode == 0


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not a checkout")
def test_an_archive_of_a_host_knows_its_commit(tmp_path: Path) -> None:
    subprocess.run(
        [
            "git",
            "-C",
            str(ROOT),
            "archive",
            "--prefix=llmch/",
            "--output",
            tmp_path / "a.tar",
            "HEAD",
        ],
        check=True,
    )
    with tarfile.open(tmp_path / "a.tar") as archive:
        archive.extractall(tmp_path, filter="data")
    source = tmp_path / "llmch"
    quiet("-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path), str(source))
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as built:
        assert built.read("llmch/COMMIT").decode().strip() == git(ROOT, "rev-parse", "HEAD")


def test_a_build_of_changed_files_says_so(tmp_path: Path) -> None:
    hook = import_module("hatch_build")
    git(tmp_path, "init", "--quiet")
    (file := tmp_path / "a.txt").write_text("a\n")
    git(tmp_path, "add", "--all")
    git(tmp_path, "commit", "--quiet", "--message=Start")
    head = git(tmp_path, "rev-parse", "HEAD")
    (tmp_path / "untracked.txt").touch()
    assert hook._commit_of(tmp_path) == head
    file.write_text("b\n")
    assert hook._commit_of(tmp_path) == f"{head} changed"
    assert hook._commit_of(tmp_path / "elsewhere") == ""


@pytest.mark.parametrize(
    ("noted", "shown"),
    [("0" * 40, " (000000000000)"), (f"{'0' * 40} changed", " (000000000000, changed)"),
     ("$Format:%H$", ""), ("0" * 40 + "; rm", "")],
)  # fmt: skip
def test_a_noted_commit_is_shown_where_it_is_one(
    noted: str, shown: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "COMMIT").write_text(f"{noted}\n")
    monkeypatch.setattr(installation, "_PACKAGE", tmp_path)
    assert installation.render_version().splitlines()[0] == f"llmch {llmch.__version__}{shown}"


def test_the_examples_travel(installed: Installed) -> None:
    listed = [line.split()[0] for line in installed("demo", "--list").stdout.splitlines()]
    assert listed == [each.name for each in list_examples()]


def test_a_demo_runs_far_from_the_checkout(installed: Installed) -> None:
    done = installed("demo", "hello")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Hello, Ada!" in done.stdout
    assert (installed.elsewhere / "llmch-demo" / "hello" / "hello" / "greeting.py").is_file()


def test_the_wheel_holds_the_program_and_nothing_else(installed: Installed) -> None:
    with zipfile.ZipFile(installed.wheel) as wheel:
        names = set(wheel.namelist())
    assert {
        "planner/prompts/PLANNER_PROMPT.md",
        "planner/prompts/REVISION_PROMPT.md",
        "planner/prompts/REPLAN_PROMPT.md",
        "planner/prompts/DOCTRINE.md",
        "planner/spec/spec_schema.json",
        "factory/proposal/FACTORY_PROMPT.md",
        "llmch/py.typed",
        "llmch/_examples/hello/transcript.jsonl",
    } <= names
    top = {name.partition("/")[0] for name in names}
    dist_info = f"llmch-{llmch.__version__}.dist-info"
    assert top == {"llmch", "planner", "factory", "shared", dist_info}


def test_every_file_that_code_reads_travels(installed: Installed) -> None:
    """Whatever lies beside the modules of a package is there to be read at run time."""
    with zipfile.ZipFile(installed.wheel) as wheel:
        names = set(wheel.namelist())
    beside = {
        str(path.relative_to(ROOT))
        for package in ("llmch", "planner", "factory", "shared")
        for path in (ROOT / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert beside - names == set()


def test_the_metadata_bounds_every_dependency(installed: Installed) -> None:
    with zipfile.ZipFile(installed.wheel) as wheel:
        (name,) = (each for each in wheel.namelist() if each.endswith("/METADATA"))
        metadata = Parser().parsestr(wheel.read(name).decode())
    needed = metadata.get_all("Requires-Dist") or []
    assert {"openai", "pydantic", "langgraph", "ulid-py", "pytest"} <= {
        parts(each)[0] for each in needed
    }
    loose = [each for each in needed if "==" not in each and not {"<", ">="} <= set(parts(each))]
    assert loose == []
    assert metadata["Requires-Python"] == ">=3.11"
    assert metadata["License-Expression"] == "MIT"


def test_a_build_is_equal_byte_for_byte_also_from_the_source_archive(
    installed: Installed, tmp_path: Path
) -> None:
    quiet("-m", "build", "--no-isolation", "--outdir", str(tmp_path), str(ROOT))
    (wheel,) = tmp_path.glob("*.whl")  # made of the archive
    assert wheel.read_bytes() == installed.wheel.read_bytes()
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as source:
        top = {name.split("/")[1] for name in source.getnames()}
    assert top == {
        *("llmch", "planner", "factory", "shared", "examples", "hatch_build.py", "pyproject.toml"),
        *("CHANGELOG.md", "LICENSE", "README.md", "PKG-INFO", "COMMIT", ".gitignore"),
    }
