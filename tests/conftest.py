"""Fixtures for everything that needs a real repo or a real run; nothing here depends on the user.

Home, git identity and workspaces point into the test's own folder, so that tests run side by
side and neither read nor write anything of whoever starts them.
"""

from __future__ import annotations

import functools
import gc
import itertools
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from shared.files.secret_values import MODEL_VARIABLES
from tests import processes
from tests.harness import Factory, git
from tests.once import made_once, plain_environment, shared_seeds

_OWN_VARIABLES = (
    *MODEL_VARIABLES,
    *("GIT_", "LLMCH_", "PYTEST_DEBUG_TEMPROOT", "XDG_", "SOURCE_DATE_EPOCH"),
    *(
        "GITHUB_",
        "CI_",
    ),  # the program says other things in a CI job, also where that runs the tests
)


_HOMES = itertools.count(1)

# How long one example takes says more of the machine's load than of the code.
settings.register_profile("any-machine", deadline=None)
settings.load_profile("any-machine")


_MEMORY = Path("/dev/shm")
_ROOM_BYTES = 6 << 30  # the whole suite writes some 3 GB at most


def pytest_configure() -> None:
    """Have this process find what its tests leave running, and interrupt what they start."""
    processes.adopt_orphans()
    # In memory no program waits for a disk.
    if _has_room(_MEMORY):
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(_MEMORY))
    # A shell has what it starts in the background ignore Ctrl-C, and `nohup` the end of the
    # terminal. Children inherit that.
    for number, usual in (
        (signal.SIGINT, signal.default_int_handler),
        (signal.SIGHUP, signal.SIG_DFL),
    ):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, usual)


def _has_room(folder: Path) -> bool:
    return os.access(folder, os.W_OK) and shutil.disk_usage(folder).free >= _ROOM_BYTES


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Have `-m rest` read only the files that have such tests: most have none."""
    quick = config.option.markexpr == "rest" and collection_path.name.startswith("test_")
    return True if quick and not may_hold_rest(collection_path) else None


_LONGEST = frozenset(
    {
        "test_bench",
        "test_chaos",
        "test_changed_spec",
        "test_costs",
        "test_large_plan",
        "test_action",
    }
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse a test that is marked `rest` in a file that `-m rest` would not read."""
    files = {each.path for each in items if each.get_closest_marker("rest")}
    if hidden := [str(each) for each in files if not may_hold_rest(each)]:
        raise pytest.UsageError(f"the word `rest` is missing in {', '.join(hidden)}")
    # Begun at the end, one of these would keep one worker busy when the other has nothing left.
    items.sort(key=lambda each: each.path.stem not in _LONGEST)


@functools.cache
def may_hold_rest(file: Path) -> bool:
    """Return whether a test file names the mark, or the module that sets it by its cases."""
    text = file.read_text("utf-8")
    return "mark.rest" in text or "tests.scale" in text


def pytest_collection_finish() -> None:
    """Have the garbage collector pass over thousands of tests that stay until the end."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def no_process_left() -> Iterator[None]:
    """Fail a test that leaves a process running."""
    with processes.none_left():
        yield


@pytest.fixture(autouse=True)
def own_surroundings(
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    environment: Path,
    types: Path,
    seeds: Path,
) -> Path:
    """Point the environment away from the user; returns the home that tests have instead."""
    # `mktemp` numbers a folder by a look at all others, and there are thousands.
    home = tmp_path_factory.getbasetemp() / "homes" / str(next(_HOMES))
    (home / ".cache/llmch").mkdir(parents=True)
    # What mypy and Go make of their standard libraries takes seconds and is the same for all.
    for own, shared in ((home / ".cache/llmch/types", types), (home / "seeds", seeds)):
        own.symlink_to(shared)
    for name in os.environ:
        if name.startswith(_OWN_VARIABLES):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("VIRTUAL_ENV", str(environment))
    monkeypatch.setenv("LLMCH_WORKSPACES", str(home / "workspaces"))
    return home


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the virtual environment that commands have where a repo has none of its own."""
    return plain_environment(tmp_path_factory)


@pytest.fixture(scope="session")
def types(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of what mypy made of the standard library."""
    return made_once(tmp_path_factory, "types", lambda _: None)


@pytest.fixture(scope="session")
def seeds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of what compilers begin with."""
    return shared_seeds(tmp_path_factory)


@pytest.fixture(scope="session")
def template_repo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small repo with a verification of its own, built once: tests work on copies."""
    repo = tmp_path_factory.mktemp("template") / "repo"
    files = {
        "README.md": "# A project\n",
        ".gitignore": "*.log\n/data/\n.env\n",
        "scripts/verify.sh": "true\n",
        "src/app.py": "GREETING = 'hello'\n",
    }
    for path, text in files.items():
        (repo / path).parent.mkdir(parents=True, exist_ok=True)
        (repo / path).write_text(text)
    git(repo, "init", "--quiet", "--initial-branch=main", "--template=")
    git(repo, "add", ".")
    git(repo, "commit", "--quiet", "--message=start")
    return repo


@pytest.fixture
def repo(template_repo: Path, tmp_path: Path) -> Path:
    """A repo of the test's own: branch `main`, one commit, nothing uncommitted."""
    return Path(shutil.copytree(template_repo, tmp_path / "repo", symlinks=True))


@pytest.fixture
def factory(repo: Path, tmp_path: Path) -> Factory:
    """Runs orders on `repo` with a scripted model, everything else real."""
    return Factory(repo, tmp_path)


@pytest.fixture
def remote(factory: Factory) -> Path:
    """An empty remote of the repo that orders run on, called `origin`."""
    git(factory.scratch, "init", "--quiet", "--bare", "remote")
    git(factory.repo, "remote", "add", "origin", str(factory.scratch / "remote"))
    return factory.scratch / "remote"
