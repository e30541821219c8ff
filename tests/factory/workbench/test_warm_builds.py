"""Packages that a lock names are compiled once, by the real build tools, for all later attempts."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from factory.sandbox.toolchains import Toolchains
from factory.workbench.judging_tools import Toolset
from shared.events.events import Noted, Warned
from shared.languages.language_tools import Prepared, WarmBuild
from shared.settings.settings import SandboxSettings
from tests.factory.sandbox import homes
from tests.factory.workbench.registries import cargo_registry, go_proxy
from tests.factory.workbench.test_installers import (
    cargo_environ,
    environ,
    go_environ,
    needs,
    tree,
)
from tests.factory.workbench.warm_projects import (
    RUST,
    THING,
    Project,
    cargo_project,
    go_project,
    rust_files,
)
from tests.fakes import proposal
from tests.harness import Factory, commit_all, order, stages
from tests.real_tools import needs_sandbox, sandbox

__all__ = ["cargo_environ", "environ", "go_environ", "sandbox", "tree"]

pytestmark = needs_sandbox()


LIB = 'package lib\n\nimport "strings"\n\nfunc Answer() string { return strings.ToUpper("x") }\n'
USE = 'package demo\n\nimport "example.com/lib"\n\nvar X = lib.Answer()\n'
COMPILING = "compiling the packages that the target's lock names, once"


@pytest.mark.rest
@needs("go")
def test_a_module_that_go_requires_is_compiled_once_for_all_runs(
    tree: Path, go_environ: dict[str, str], sandbox: SandboxSettings
) -> None:
    project = go_project(tree, go_environ, LIB, {"x.go": USE})
    project.backend = sandbox.backend
    for private in ("first", "second"):
        built = project.run(project.sandbox(private), "go", "build", "-v", "./...")
        assert (built.exit_code, built.stderr.text.split()) == (0, ["demo"])
    assert project.said(Noted).count(COMPILING) == 1
    assert project.said(Warned) == []


@pytest.mark.rest
@needs("go")
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


def compiled(project: Project, folder: str, *words: str) -> list[str]:
    """Return the crates that a build of a new workspace compiles."""
    built = project.run(project.sandbox(folder), "cargo", "test", "--no-run", *words)
    assert built.ok, built.stderr.text
    lines = (each.split() for each in built.stderr.text.splitlines())
    return [words[1] for words in lines if words[:1] == ["Compiling"]]


@needs("cargo")
def test_the_crates_of_a_lock_are_compiled_once_for_all_runs(
    tree: Path, cargo_environ: dict[str, str], sandbox: SandboxSettings
) -> None:
    project = cargo_project(tree, cargo_environ, {}, build="fn main() {}\n")
    project.backend = sandbox.backend
    assert compiled(project, "first") == ["demo"]
    assert compiled(project, "second") == ["demo"]
    assert project.said(Noted).count(COMPILING) == 1
    assert project.said(Warned) == []


@pytest.mark.rest
@needs("cargo")
def test_crates_of_a_workspace_are_replaced_by_empty_ones_and_their_features_count(
    tree: Path, cargo_environ: dict[str, str]
) -> None:
    root = (
        '[workspace]\nmembers = ["crates/*"]\nresolver = "2"\n'
        '[workspace.package]\nedition = "2021"\n'
        '[workspace.dependencies]\nmacros = { path = "crates/macros" }\n'
        "[profile.dev]\nopt-level = 1\n"
    )
    library = (
        '[package]\nname = "library"\nedition.workspace = true\nversion = "0.1.0"\n'
        '[features]\ndefault = ["more"]\nmore = ["dep:thing"]\n'
        '[dependencies]\nthing = { version = "1", optional = true }\nmacros.workspace = true\n'
        "[target.'cfg(unix)'.build-dependencies]\nthing = \"1\"\n"
    )
    macros = '[package]\nname = "macros"\nedition = "2021"\nversion = "0.1.0"\n'
    macros += "[lib]\nproc-macro = true\n"
    broken = 'compile_error!("no code of the project is compiled beforehand");\n'
    files = {
        "Cargo.toml": root,
        "crates/library/Cargo.toml": library,
        "crates/library/src/lib.rs": f"{broken}",
        "crates/library/build.rs": broken,
        "crates/macros/Cargo.toml": macros,
        "crates/macros/src/lib.rs": broken,
    }
    project = cargo_project(tree, cargo_environ, files)
    project.policy("first")
    assert project.said(Warned) == []
    for path in ("library/src/lib.rs", "library/build.rs", "macros/src/lib.rs"):
        (tree / "crates" / path).write_text("fn main() {}\n" if "build" in path else "")
    assert "thing" not in compiled(project, "second", "--workspace")


@needs("cargo")
def test_a_seed_belongs_to_the_folders_that_commands_may_read_besides(
    tree: Path, cargo_environ: dict[str, str], tmp_path: Path
) -> None:
    project = cargo_project(tree, cargo_environ, {})
    alone = project.policy("first").seeds["target/"]
    (tmp_path / "more").mkdir()
    project.found = replace(project.found, read=(*project.found.read, tmp_path / "more"))
    assert project.policy("second").seeds["target/"] != alone


def test_another_version_of_the_tool_has_another_seed(tmp_path: Path) -> None:
    tool = homes.add_program(tmp_path / "bin/builder-of-ada")
    build = WarmBuild(tool.name, "target/", {}, ("sh", "-c", "mkdir target && echo 1 > target/x"))
    (tmp_path / "tree").mkdir()
    project = Project(tmp_path / "tree", Prepared())
    policy = replace(project.policy("first"), toolchains=Toolchains(named=(tmp_path / "bin",)))
    seeds = []
    for when in (1, 1, 2):
        os.utime(tool, (when, when))
        warm = Toolset().warm(policy, [build], project.backend, project.events.append)
        seeds.append(warm.seeds["target/"])
    assert seeds[0] == seeds[1] != seeds[2]
    assert (seeds[2] / "x").read_text() == "1\n"


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (".gitignore", "*.rs.bk\n"),
        (".gitignore", "target\n!target/keep\n"),
        ("Cargo.toml", '[package]\nname = "demo"\n[patch.crates-io]\nthing = { path = "x" }\n'),
    ],
)
@needs("cargo")
def test_nothing_is_compiled_beforehand_where_it_could_be_the_project_s(
    tree: Path, cargo_environ: dict[str, str], path: str, text: str
) -> None:
    assert cargo_project(tree, cargo_environ, {path: text}).found.builds == ()


@pytest.mark.rest
@needs("cargo")
def test_each_attempt_of_an_order_begins_with_the_crates_that_its_lock_names(
    factory: Factory, cargo_environ: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("CARGO_HOME", "RUSTUP_HOME"):
        if name in cargo_environ:
            monkeypatch.setenv(name, cargo_environ[name])
    entry = cargo_registry(tmp_path / "registry", "thing", "1.0.0", THING)
    verify = "cargo test 2>&1 | tee /dev/stderr | (! grep -e 'Compiling thing' -e error)\n"
    files = {**rust_files(entry), "src/lib.rs": "", "scripts/verify.sh": verify}
    commit_all(factory.repo, files)
    writes = order(allowed_files=["src/lib.rs"], acceptance_commands=["cargo test says"])
    good = RUST["src/lib.rs"]
    replies = [proposal({"src/lib.rs": text}) for text in (good.replace("thing", "none"), good)]
    summary = factory.run(writes, replies, max_attempts=2, install_dependencies=True)
    assert (stages(summary), summary.verdict) == (["verify_failed", ""], "PASS")
    assert [each.message for each in factory.seen(Noted)].count(COMPILING) == 1
