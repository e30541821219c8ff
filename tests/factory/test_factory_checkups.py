"""What the factory contributes to `doctor`."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from factory.factory_checkups import check_interpreter, check_toolchains
from shared.git.repos import Checkup, Health
from shared.settings.settings import SandboxBackend, SandboxSettings


def test_an_interpreter_that_was_named_has_to_be_there() -> None:
    found = check_interpreter("no-such-python")
    assert (found.health, found.detail) == (Health.BROKEN, "no-such-python was not found")
    assert "--python" in found.remedy


def test_without_a_name_commands_get_the_interpreter_that_runs_us(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("VIRTUAL_ENV")
    found = check_interpreter(None)
    assert found.health is Health.WELL
    assert sys.executable in found.detail


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of PATH that holds two programs, one of them a build tool, in no known layout."""
    for name, text in (("deno", "echo deno 1.2.3"), ("mine", "true")):
        (tmp_path / "tools").mkdir(exist_ok=True)
        (tmp_path / "tools" / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / "tools" / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'tools'}:/usr/bin:/bin:nowhere")
    return tmp_path / "tools"


def checked(name: str, settings: SandboxSettings, text: str) -> list[Checkup]:
    found = check_toolchains(settings, None)
    return [each for each in found if each.name == name and text in each.detail]


def test_a_folder_of_path_that_commands_do_not_see_is_named(tools: Path) -> None:
    (unshown,) = checked("path", SandboxSettings(), str(tools))
    assert "which has deno, is not shown" in unshown.detail
    assert unshown.health is Health.LIMITED
    assert f"--sandbox-path {tools}" in unshown.remedy
    (relative,) = checked("path", SandboxSettings(), "nowhere")
    assert relative.health is Health.WELL
    assert not checked("toolchain", SandboxSettings(), "deno")


@pytest.mark.parametrize("backend", [SandboxBackend.AUTO, SandboxBackend.OFF])
def test_what_commands_find_is_named_with_version_and_place(
    tools: Path, backend: SandboxBackend
) -> None:
    named = (tools,) if backend is SandboxBackend.AUTO else ()  # without a sandbox all is seen
    settings = SandboxSettings(backend=backend, path=named)
    (found,) = checked("toolchain", settings, "deno")
    assert found.detail == f"deno: deno 1.2.3 ({tools / 'deno'})"
    assert not checked("path", settings, str(tools))


def test_a_build_tool_that_fails_is_no_failure_of_ours(tools: Path) -> None:
    (tools / "deno").write_text("#!/bin/sh\necho broken >&2; exit 3\n")
    (found,) = checked("toolchain", SandboxSettings(path=(tools,)), "deno")
    assert (found.health, found.detail) == (
        Health.LIMITED,
        f"{tools / 'deno'} does not say its version: broken",
    )


def test_a_folder_that_is_named_and_missing_is_reported(tmp_path: Path) -> None:
    (found,) = check_toolchains(SandboxSettings(path=(tmp_path / "missing",)), None)
    assert found.health is Health.BROKEN
    assert "--sandbox-path" in found.remedy
