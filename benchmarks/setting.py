"""Where the bench works: a scratch folder, children with an environment of their own, repos."""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

from factory.workbench.workspace import seeds_root
from llmch.cli import OBJECTS_BETWEEN_LOOKS
from shared.files.secret_values import MODEL_VARIABLES
from tests.fakes import Reply, proposal

if TYPE_CHECKING:
    from benchmarks.rows import Section


_PROJECT = Path(__file__).resolve().parents[1]
_OWN_VARIABLES = (*MODEL_VARIABLES, "GIT_", "LLMCH_", "XDG_", "PYTHON", "SOURCE_DATE_EPOCH")
FILES_PER_FOLDER = 100
_MANY_FILES = 1_000


@dataclass(frozen=True, slots=True)
class Bench:
    """What every section works with. `quick` asks for the smallest run that still shows a row."""

    scratch: Path
    quick: bool
    environment: Mapping[str, str]
    """Of children: without the user's settings, and free to leave byte code as any start is."""

    def rounds(self, full: int) -> int:
        """Return how often to measure where `full` times is wanted."""
        return 1 if self.quick else full

    def python(self, *arguments: str) -> list[str]:
        """Return the command line of our own interpreter."""
        return [sys.executable, *arguments]

    def folder(self, name: str) -> Path:
        """Return a new empty folder."""
        return Path(tempfile.mkdtemp(prefix=f"{name}-", dir=self.scratch))


def in_own_process(place: str, *, quick: bool) -> Section:
    """Return what the section at `MODULE:FUNCTION` measures, in the surroundings of a command."""
    module, _, function = place.partition(":")
    measure: Callable[[Bench], Section] = getattr(importlib.import_module(module), function)
    gc.set_threshold(OBJECTS_BETWEEN_LOOKS)  # as each command does
    if not quick:
        os.sync()  # what sections before this one wrote is not for it to wait for
    with open_bench(quick=quick) as bench:
        return measure(bench)


@contextlib.contextmanager
def open_bench(*, quick: bool) -> Iterator[Bench]:
    """Make the scratch folder and point our own environment away from the user's settings.

    The user's seeds stay in use: Go's standard library takes half a minute to compile.
    """
    seeds = seeds_root()
    seeds.mkdir(parents=True, exist_ok=True)
    kept = {name: os.environ[name] for name in os.environ if not name.startswith(_OWN_VARIABLES)}
    with tempfile.TemporaryDirectory(prefix="llmch-bench-") as folder:
        scratch = Path(folder)
        (scratch / "home").mkdir()
        (scratch / "seeds").symlink_to(seeds)
        own = {
            "HOME": str(scratch / "home"),
            "LLMCH_WORKSPACES": str(scratch / "workspaces"),
            "GIT_CONFIG_NOSYSTEM": "1",
        }
        children = {
            **kept,
            **own,
            # The checkout that the bench is part of, installed or not.
            "PYTHONPATH": str(_PROJECT),
            "NO_COLOR": "1",
        }
        with mock.patch.dict(os.environ, {**kept, **own}, clear=True):
            yield Bench(scratch, quick, children)


def git(folder: Path, *arguments: str, stdin: bytes = b"") -> str:
    """Run git as a user would, identity given, and return what it says."""
    own = ("user.name=Ada", "user.email=ada@example.org", "maintenance.auto=false")
    settings = [word for each in own for word in ("-c", each)]
    done = subprocess.run(
        ["git", *settings, *arguments], cwd=folder, input=stdin, capture_output=True, check=True
    )
    return done.stdout.decode().strip()


def make_repo(folder: Path, files: int, verify: str = "true") -> Path:
    """Make a repo of so many files, 100 to a folder, that verifies itself by a shell command."""
    (folder / "scripts").mkdir(parents=True)
    (folder / "scripts" / "verify.sh").write_text(f"{verify}\n")
    (folder / "README.md").write_text("# A project\n")
    for number in range(files - 2):
        path = folder / f"part{number // FILES_PER_FOLDER}" / f"module{number}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"NUMBER = {number}\n" * 20)
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message=start")
    if files >= _MANY_FILES:
        os.sync()  # or the first of what is measured waits for these
    return folder


def module_path(number: int) -> str:
    """Return the file that an order writes."""
    return f"src/module_{number}.py"


def order_document(number: int, *, after: int = 0) -> dict[str, Any]:
    """Return an order that creates one module, accepted by a command that does nothing.

    With `after` it needs the module of that number.
    """
    path = module_path(number)
    needed = [module_path(after)] if after else []
    return {
        "id": f"WO-{number:02d}",
        "title": f"Add module {number}",
        "intent": "Write a module that holds its number.",
        "allowed_files": [path],
        "forbidden": [],
        "context_files": [*needed, path],
        "preconditions": [
            {"kind": "file_absent", "path": path},
            *({"kind": "file_exists", "path": each} for each in needed),
        ],
        "postconditions": [{"kind": "file_exists", "path": path}],
        "acceptance_commands": ["true"],
    }


def plan_document(orders: int) -> dict[str, Any]:
    """Return a plan as a model would write it."""
    return {
        "system_overview": ["A row of modules."],
        "verify_contract": {"command": "bash scripts/verify.sh", "requires": []},
        "work_orders": chain(orders),
    }


def chain(length: int) -> list[dict[str, Any]]:
    """Return orders of which each needs the one before."""
    return [order_document(number, after=number - 1) for number in range(1, length + 1)]


def write_orders(folder: Path, orders: Sequence[Mapping[str, Any]]) -> Path:
    """Write orders to a folder, no manifest beside them."""
    for order in orders:
        (folder / f"{order['id']}.json").write_text(json.dumps(order))
    return folder


def replies_to(orders: Sequence[Mapping[str, Any]]) -> dict[str, list[Reply]]:
    """Return what a model would answer, by order."""
    return {
        order["id"]: [proposal({path: f"PATH = {path!r}\n" for path in order["allowed_files"]})]
        for order in orders
    }
