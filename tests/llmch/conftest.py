from __future__ import annotations

from pathlib import Path

import pytest

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
