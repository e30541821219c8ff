from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.harness import order
from tests.llmch.command_line import Say, say_in


@pytest.fixture
def cwd(tmp_path: Path) -> Path:
    """The empty folder that commands are called from."""
    folder = tmp_path / "cwd"
    folder.mkdir()
    return folder


@pytest.fixture
def say(cwd: Path, capsys: pytest.CaptureFixture[str]) -> Say:
    """Runs command lines in this process, from `cwd`."""
    return say_in(cwd, capsys)


@pytest.fixture
def spec(cwd: Path) -> Path:
    path = cwd.parent / "spec.md"
    path.write_text("# Greeter\n\nSay hello.\n")
    return path


@pytest.fixture
def order_file(cwd: Path) -> Path:
    path = cwd.parent / "WO-01.json"
    path.write_text(json.dumps(order()))
    return path
