"""The toolchains of a run's commands: found, reported, and part of what a verification rests on."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path

import pytest

from factory.sandbox.policy import Backend
from factory.workbench.judging_tools import SandboxRunner
from shared.errors import PreflightRefused, SandboxUnavailable
from shared.events.events import Noted, Warned
from shared.languages.language_tools import ToolMissing
from shared.settings.settings import SandboxSettings
from tests.factory.sandbox import homes
from tests.fakes import proposal
from tests.harness import Factory, commit_all, order

GOOD = proposal({"hello.txt": "hello\n"})


@pytest.fixture(params=[Backend.BWRAP, Backend.LANDLOCK])
def backend(request: pytest.FixtureRequest) -> Backend:
    return Backend(request.param)


def verified_by(factory: Factory, script: str, **files: str) -> None:
    commit_all(factory.repo, {"scripts/verify.sh": script, **files})


def on_path(monkeypatch: pytest.MonkeyPatch, *folders: str) -> None:
    monkeypatch.setenv("PATH", ":".join((*folders, os.environ["PATH"])))


def noted(factory: Factory, text: str) -> list[str]:
    return [each.message for each in factory.seen(Noted) if text in each.message]


def warned(factory: Factory, text: str) -> list[str]:
    return [each.message for each in factory.seen(Warned) if text in each.message]


def test_a_program_that_is_not_shown_is_named_with_the_remedy_that_helps(
    factory: Factory, backend: Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    homes.add_program(tmp_path / "bin/checker-of-ada")
    on_path(monkeypatch, str(tmp_path / "bin"))
    verified_by(factory, "checker-of-ada\n")
    try:
        with pytest.raises(PreflightRefused) as refused:
            factory.run(order(), [], sandbox=SandboxSettings(backend=backend))
    except SandboxUnavailable as error:
        pytest.skip(error.message)
    assert f"--sandbox-path {tmp_path / 'bin'}" in refused.value.hint
    settings = SandboxSettings(backend=backend, path=(tmp_path / "bin",))
    assert factory.run(order(), [GOOD], sandbox=settings).verdict == "PASS"


def test_without_a_sandbox_path_is_as_it_is(
    factory: Factory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    homes.add_program(tmp_path / "bin/checker-of-ada")
    on_path(monkeypatch, str(tmp_path / "bin"))
    verified_by(factory, "checker-of-ada\n")
    assert factory.run(order(), [GOOD]).verdict == "PASS"


def test_a_toolchain_that_is_left_out_is_reported_once(
    factory: Factory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go = homes.add_go(tmp_path / "go-dist")
    Path(go).chmod(0o777)
    on_path(monkeypatch, go)
    factory.run(order(), [proposal({"other.txt": "x\n"}), GOOD])
    assert len(warned(factory, f"{go} of your PATH, which has go, is not shown")) == 1


def test_the_version_that_the_run_s_commit_asks_for_is_reported_where_it_is_missing(
    factory: Factory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    on_path(monkeypatch, homes.add_nvm(tmp_path / "home", "v20.1.0"))
    verified_by(factory, "true\n", **{".nvmrc": "16\n"})
    factory.run(order(), [GOOD])
    assert warned(factory, ".nvmrc asks for Node.js 16")


def test_another_version_of_a_toolchain_has_the_base_verified_again(
    factory: Factory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_path(monkeypatch, homes.add_jdk(tmp_path / "jdk"))
    factory.run(order(), [GOOD], branch="first")
    factory.run(order(), [GOOD], branch="second")
    assert noted(factory, "has passed its verification before")
    homes.add_jdk(tmp_path / "jdk", "17.0.2")
    factory.run(order(), [GOOD], branch="third")
    assert not noted(factory, "has passed its verification before")


COMPILING = "compiling the parts of Go's standard library"


def test_go_s_standard_library_is_compiled_once_for_all_runs(
    factory: Factory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go = homes.add_go(tmp_path / "go-dist")
    made = tmp_path / "made"
    text = f'[ "$1" = vet ] || echo x >> {made}\n'
    text += 'mkdir -p "$GOCACHE/0a"; echo seed > "$GOCACHE/0a/0a1-d"\n'
    Path(go, "go").write_text(f"#!/bin/sh\n{text}")
    on_path(monkeypatch, go)
    check = 'test "$(cat "$GOCACHE"/0a/0a1-d)" = seed && echo forged > "$GOCACHE"/0a/0a1-d\n'
    verified_by(factory, check, **{"go.mod": "module two\n"})
    assert factory.run(order(), [GOOD], branch="first").verdict == "PASS"
    assert len(noted(factory, COMPILING)) == 1
    assert factory.run(order(), [GOOD], branch="second").verdict == "PASS"
    assert noted(factory, COMPILING) == []
    assert made.read_text() == "x\n"


def test_a_go_that_cannot_compile_it_does_not_stop_the_run(
    factory: Factory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go = homes.add_go(tmp_path / "go-dist")
    Path(go, "go").write_text("#!/bin/sh\necho 'no compiler here' >&2; exit 2\n")
    on_path(monkeypatch, go)
    verified_by(factory, "true\n", **{"tools/go.mod": "module two\n"})
    assert factory.run(order(), [GOOD]).verdict == "PASS"
    assert warned(factory, "could not be compiled beforehand: no compiler here")


RING = 'package a\n\nimport "container/ring"\n\nvar R = ring.New(1)\n'


@pytest.mark.rest
def test_what_code_imports_of_go_s_library_is_compiled_once_for_all_tools() -> None:
    files = {"go.mod": "module a\n\ngo 1.21\n", "a.go": RING}
    for _ in range(2):
        with contextlib.closing(SandboxRunner(SandboxSettings())) as runner:
            try:
                built = runner.run(files, ["go", "build", "-v", "."], seconds=120)
            except ToolMissing as missing:
                pytest.skip(str(missing))
            assert (built.exit_code, built.stderr.split()) == (0, ["a"])


@pytest.mark.rest
@pytest.mark.skipif(shutil.which("go") is None, reason="needs Go")
def test_what_an_order_is_the_first_to_import_is_compiled_before_its_commands(
    factory: Factory,
) -> None:
    verified_by(factory, "go build -v ./... 2>&1 | tee /dev/stderr | (! grep list)\n")
    commit_all(factory.repo, {"go.mod": "module a\n\ngo 1.21\n", "b.go": "package a\n"})
    plain = order(allowed_files=["c.go"], acceptance_commands=["test -f c.go"])
    assert factory.run(plain, [proposal({"c.go": "package a\n"})]).verdict == "PASS"
    # What tests import is compiled by now, in this test or in another one.
    listing = 'package a\n\nimport "container/list"\n\nvar L = list.New()\n'
    writes = order(allowed_files=["a.go"], acceptance_commands=["test -f a.go"])
    assert factory.run(writes, [proposal({"a.go": listing})], max_attempts=1).verdict == "PASS"
    assert len(noted(factory, "standard library")) == 1
