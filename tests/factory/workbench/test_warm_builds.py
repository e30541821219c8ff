"""Packages that a lock names are compiled once, by the real build tools, for all later attempts."""

from __future__ import annotations

import os
import pwd
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from factory.sandbox.detect import Sandbox, open_sandbox
from factory.sandbox.policy import Ended, Policy
from factory.sandbox.toolchain_search import find_toolchains
from factory.workbench.judging_tools import Toolset
from shared.events.events import Event, Noted, Warned
from shared.languages.language_tools import Prepared
from shared.settings.settings import SandboxBackend
from tests.factory.workbench.registries import go_proxy
from tests.factory.workbench.test_installers import (
    environ,
    go_environ,
    needs,
    prepared,
    tree,
)
from tests.fakes import proposal
from tests.harness import Factory, commit_all, order
from tests.real_tools import go_seeds, needs_sandbox

__all__ = ["environ", "go_environ", "go_seeds", "tree"]

pytestmark = needs_sandbox()


@dataclass
class Project:
    """A tree whose packages are prepared, and the sandboxes that its commands get, one a workspace.

    `imports` has the Go sources that are read for what they import.
    """

    root: Path
    found: Prepared
    toolset: Toolset = field(default_factory=Toolset)
    backend: SandboxBackend = SandboxBackend.AUTO
    events: list[Event] = field(default_factory=list)

    def importing(self, *sources: str) -> None:
        self.toolset = self.toolset.with_imports(sources, os.environ["PATH"], self.events.append)

    def policy(self, private: str) -> Policy:
        folder = self.root.parent / private
        folder.mkdir()
        machine = {"HOME": pwd.getpwuid(os.geteuid()).pw_dir, "PATH": os.environ["PATH"]}
        policy = Policy(
            self.root,
            None,
            folder,
            Path(sys.executable),
            read=self.found.read,
            environment=self.found.environment,
            toolchains=find_toolchains(folder, lambda _: None, machine),
        )
        return self.toolset.warm(policy, self.found.builds, self.backend, self.events.append)

    def sandbox(self, private: str) -> Sandbox:
        return open_sandbox(self.backend, self.policy(private))

    def run(self, sandbox: Sandbox, *argv: str) -> Ended:
        return sandbox.run(argv, timeout_seconds=300, log=self.root.parent / "log")

    def said(self, kind: type[Noted | Warned]) -> list[str]:
        return [each.message for each in self.events if isinstance(each, kind)]


def go_project(
    tree: Path, environ: Mapping[str, str], code: str, files: Mapping[str, str]
) -> Project:
    """Return a project in Go that requires the module `example.com/lib` with this code."""
    sums = go_proxy(tree.parent / "proxy", "example.com/lib", "v1.0.0", code)
    manifest = "module demo\n\ngo 1.21\n\nrequire example.com/lib v1.0.0\n"
    project = Project(tree, prepared(tree, {"go.mod": manifest, "go.sum": sums, **files}, environ))
    project.toolset = Toolset(go=Path(str(shutil.which("go"))))
    project.importing('import "testing"\n', *files.values())
    return project


LIB = 'package lib\n\nimport "strings"\n\nfunc Answer() string { return strings.ToUpper("x") }\n'
USE = 'package demo\n\nimport "example.com/lib"\n\nvar X = lib.Answer()\n'
COMPILING = "compiling the packages that the target's lock names, once"


@needs("go")
@pytest.mark.usefixtures("go_seeds")
def test_a_module_that_go_requires_is_compiled_once_for_all_runs(
    tree: Path, go_environ: dict[str, str]
) -> None:
    project = go_project(tree, go_environ, LIB, {"x.go": USE})
    for private in ("first", "second"):
        built = project.run(project.sandbox(private), "go", "build", "-v", "./...")
        assert (built.exit_code, built.stderr.text.split()) == (0, ["demo"])
    assert project.said(Noted).count(COMPILING) == 1
    assert project.said(Warned) == []


@needs("go")
@pytest.mark.usefixtures("go_seeds")
def test_what_no_module_has_and_what_is_for_another_system_stop_nothing(
    tree: Path, go_environ: dict[str, str]
) -> None:
    other = '//go:build plan9\n\npackage demo\n\nimport (\n\t_ "example.com/lib/no"\n)\n'
    files = {"x.go": USE, "x_plan9.go": other, "y.go": 'package demo\n\nimport _ "demo.org/a"\n'}
    project = go_project(tree, go_environ, LIB, files)
    (tree / "y.go").unlink()
    built = project.run(project.sandbox("private"), "go", "build", "-v", "./...")
    assert (built.exit_code, built.stderr.text.split()) == (0, ["demo"])
    assert project.said(Warned) == []


@needs("go")
@pytest.mark.usefixtures("go_seeds")
def test_a_package_that_does_not_compile_is_reported_once_and_the_others_are_kept(
    tree: Path, go_environ: dict[str, str]
) -> None:
    project = go_project(tree, go_environ, f"{LIB}\nvar x int = 1.5\n", {"x.go": USE})
    seeds = [project.policy(private).seeds for private in ("first", "second")]
    assert seeds[0] == seeds[1]
    (warning,) = project.said(Warned)
    assert warning.startswith("not all packages that the target's lock names compile: ")
    assert "x.go:7" in warning


@pytest.mark.rest
@needs("go")
@pytest.mark.usefixtures("go_seeds")
def test_what_an_order_is_the_first_to_import_of_a_module_is_compiled_before_its_commands(
    factory: Factory, go_environ: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("GOPROXY", "GONOSUMDB", "GOSUMDB"):
        monkeypatch.setenv(name, go_environ[name])
    sums = go_proxy(tmp_path / "proxy", "example.com/lib", "v1.0.0", LIB)
    manifest = "module demo\n\ngo 1.21\n\nrequire example.com/lib v1.0.0\n"
    verify = "go build -v ./... 2>&1 | tee /dev/stderr | (! grep example.com)\n"
    files = {"go.mod": manifest, "go.sum": sums, "y.go": "package demo\n"}
    commit_all(factory.repo, {"scripts/verify.sh": verify, **files})
    writes = order(allowed_files=["x.go"], acceptance_commands=["go vet ./..."])
    summary = factory.run(
        writes, [proposal({"x.go": USE})], max_attempts=1, install_dependencies=True
    )
    assert summary.verdict == "PASS"
    assert [each.message for each in factory.seen(Noted)].count(COMPILING) == 1
