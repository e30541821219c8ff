"""Programs that are links: the remedy for a missing one names all that it needs."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import pytest

from factory.judging.environment_faults import Surroundings, find_fault
from factory.sandbox.detect import open_sandbox
from factory.sandbox.policy import Backend, Ended, Policy
from factory.sandbox.toolchain_search import find_toolchains, hidden_programs, with_named
from factory.sandbox.toolchains import needed_beside
from shared.errors import SandboxUnavailable
from shared.processes.process import SYSTEM_PATH


def program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def linked(link: Path, target: str) -> Path:
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(target)
    return link


def global_prefix(home: Path) -> Path:
    """Make what `npm install --global` leaves; a package uses another one."""
    packages = home / "prefix/lib/node_modules"
    program(packages / "shout/lib/words.sh", "word=loud")
    program(packages / "shout/bin/cli.sh", f". '{packages}/shout/lib/words.sh'; echo $word")
    return linked(home / "prefix/bin/shout", "../lib/node_modules/shout/bin/cli.sh")


def packages_of_a_project(home: Path) -> Path:
    packages = home / "tools/node_modules"
    program(packages / "words/words.sh", "word=loud")
    program(packages / "shout/cli.sh", f". '{packages}/words/words.sh'; echo $word")
    return linked(packages / ".bin/shout", "../shout/cli.sh")


def pipx(home: Path) -> Path:
    venv = home / ".local/share/pipx/venvs/shout"
    program(venv / "lib/words.sh", "word=loud")
    made = program(venv / "bin/shout", f". '{venv}/lib/words.sh'; echo $word")
    return linked(home / ".local/bin/shout", str(made))


def link_to_a_link(home: Path) -> Path:
    made = program(home / "opt/shout-2/bin/shout", "echo loud")
    linked(home / "opt/current/shout", str(made))
    return linked(home / "bin/shout", "../opt/current/shout")


def plain_program(home: Path) -> Path:
    return program(home / "scripts/shout", "echo loud")


LAYOUTS = (global_prefix, packages_of_a_project, pipx, link_to_a_link, plain_program)


def run_shout(backend: Backend, home: Path, link: Path, *options: str) -> tuple[Ended, str]:
    """Run `shout` with the options of a remedy; return how it ended, and the remedy."""
    named: dict[str, list[Path]] = {"--sandbox-path": [], "--sandbox-read": []}
    for name, value in zip(options[::2], options[1::2], strict=True):
        named[name].append(Path(value))
    folder = home.parent
    for name in ("workspace", "private"):
        (folder / name).mkdir(exist_ok=True)
    environ = {"HOME": str(home), "PATH": f"{link.parent}:{SYSTEM_PATH}"}
    toolchains = find_toolchains(None, lambda _: None, environ)
    policy = Policy(
        folder / "workspace",
        None,
        folder / "private",
        Path(sys.executable),
        read=tuple(named["--sandbox-read"]),
        toolchains=with_named(toolchains, tuple(named["--sandbox-path"])),
    )
    try:
        sandbox = open_sandbox(backend, policy)
    except SandboxUnavailable as error:
        pytest.skip(f"{backend}: {error.message}")
    ended = sandbox.run(("shout",), timeout_seconds=60, log=folder / uuid4().hex)
    fault = find_fault(ended, Surroundings(hidden=hidden_programs(toolchains)))
    return ended, fault.remedy if fault else ""


@pytest.mark.parametrize("backend", [Backend.BWRAP, Backend.LANDLOCK])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_following_the_remedy_makes_the_program_run(
    tmp_path: Path, layout: Callable[[Path], Path], backend: Backend
) -> None:
    home = tmp_path / "home of ada"
    home.mkdir()
    link = layout(home)
    _, remedy = run_shout(backend, home, link)
    assert remedy, "the program is not seen"
    words = shlex.split(re.split(r" or set |: your PATH", remedy.removeprefix("pass "))[0])
    ended, _ = run_shout(backend, home, link, *words)
    assert ended.stdout.text == "loud\n", (words, ended.stderr.text)


def test_no_more_is_shown_than_the_program_is_part_of(tmp_path: Path) -> None:
    made = program(tmp_path / "bin/shout", "echo loud")
    link = linked(tmp_path / ".local/bin/shout", str(made))
    assert needed_beside(link) == (tmp_path / "bin",)
    assert needed_beside(made) == ()
    assert needed_beside(linked(tmp_path / "bin/sh", "/usr/bin/sh")) == ()
    assert needed_beside(linked(tmp_path / "bin/loud", "shout")) == ()


def test_a_link_in_a_circle_needs_a_bounded_number_of_folders(tmp_path: Path) -> None:
    first = linked(tmp_path / "a/x", "../b/x")
    linked(tmp_path / "b/x", "../a/x")
    assert needed_beside(first) == (tmp_path / "b",)
