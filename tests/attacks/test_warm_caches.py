"""Code that tries to decide a later judgement by what it leaves in a cache of compiled packages."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from shared.events.events import Warned
from tests.factory.workbench.test_installers import (
    cargo_environ,
    environ,
    go_environ,
    needs,
    tree,
)
from tests.factory.workbench.warm_projects import RUST, Project, cargo_project, go_project
from tests.real_tools import needs_sandbox

__all__ = ["cargo_environ", "environ", "go_environ", "tree"]

pytestmark = needs_sandbox()

LIB = 'package lib\n\n//go:noinline\nfunc Answer() string { return "an honest answer" }\n'
TEST = """package demo

import (
	"testing"

	"example.com/lib"
)

func TestAnswer(t *testing.T) { t.Log(lib.Answer()) }
"""
# Neither tool compares the content of what it compiled with any hash.
FORGES = "sed -i 's/an honest answer/a forged answer!/' "
GO_ENTRY = "$(go list -export -f '{{.Export}}' example.com/lib)"


def _answers(project: Project, folder: str, test: str, forges: str = ":") -> tuple[str, str]:
    """Return what a test of a new workspace prints, then again in the next attempt."""
    sandbox = project.sandbox(folder)
    forged = project.run(sandbox, "sh", "-ec", forges)
    assert forged.ok, forged.stderr.text
    first = project.run(sandbox, *test.split()).stdout.text
    sandbox.clear()
    return first, project.run(sandbox, *test.split()).stdout.text


def _is_seen_by_its_own_attempt_alone(project: Project, test: str, forges: str) -> None:
    own, next_attempt = _answers(project, "first", test, forges)
    assert "a forged answer!" in own, "control: the build tool believes what it finds"
    assert "an honest answer" in next_attempt
    assert all("an honest answer" in each for each in _answers(project, "second", test))


@pytest.mark.rest
@needs("go")
def test_a_compiled_module_that_a_command_forged_is_seen_by_no_later_attempt(
    tree: Path, go_environ: dict[str, str]
) -> None:
    project = go_project(tree, go_environ, LIB, {"x.go": "package demo\n", "x_test.go": TEST})
    _is_seen_by_its_own_attempt_alone(project, "go test -count=1 ./...", FORGES + GO_ENTRY)


@pytest.mark.rest
@needs("cargo")
def test_a_compiled_crate_that_a_command_forged_is_seen_by_no_later_attempt(
    tree: Path, cargo_environ: dict[str, str]
) -> None:
    project = cargo_project(tree, cargo_environ, {})
    forges = f"{FORGES} target/debug/deps/libthing-*"
    _is_seen_by_its_own_attempt_alone(project, "cargo test -- --nocapture", forges)


MARK = """package lib

import "os"

func init() { os.WriteFile(os.Getenv("GOCACHE")+"/forged", []byte("x"), 0o600) }

func Answer() string { return "" }
"""


@pytest.mark.rest
@needs("go")
def test_no_code_of_a_module_runs_while_it_is_compiled_beforehand(
    tree: Path, go_environ: dict[str, str]
) -> None:
    project = go_project(tree, go_environ, MARK, {"x.go": "package demo\n", "x_test.go": TEST})
    sandbox = project.sandbox("first")
    (seed,) = project.policy("second").seeds.values()
    assert not list(seed.glob("forged"))
    cache = tree.parent / "first" / "cache-gocache"
    assert not list(cache.glob("forged"))
    assert project.run(sandbox, "go", "test", "./...").ok
    assert list(cache.glob("forged")), "control: it would write there"


LEAVES = """
use std::{fs, io::Write, os::unix::fs::symlink, process::Command};

fn main() {
    let out = std::env::var("OUT_DIR").unwrap();
    symlink("SECRET", format!("{out}/link")).unwrap();
    symlink("FOLDER", format!("{out}/folder")).unwrap();
    Command::new("mkfifo").arg(format!("{out}/fifo")).status().unwrap();
    fs::create_dir_all(format!("{out}/locked/{}", "d/".repeat(600))).unwrap();
    fs::File::create(format!("{out}/left")).unwrap().write_all(b"x").unwrap();
    Command::new("chmod").args(["0", &format!("{out}/locked")]).status().unwrap();
}
"""


def _left(target: Path) -> dict[str, Path]:
    return {each.name: each for each in target.glob("debug/build/thing-*/out/*")}


@pytest.mark.rest
@needs("cargo")
def test_what_a_build_script_leaves_leads_nobody_out_of_the_sandbox(
    tree: Path, cargo_environ: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "token").write_text("the person's own")
    build = LEAVES.replace("SECRET", f"{tmp_path}/secrets/token")
    build = build.replace("FOLDER", f"{tmp_path}/secrets")
    project = cargo_project(tree, cargo_environ, {}, build)
    sandbox = project.sandbox("first")
    assert set(_left(tree / "target")) == {"left"}
    assert project.said(Warned) == []
    cold = Project(tree, replace(project.found, builds=()))
    shutil.rmtree(tree / "target")
    assert project.run(cold.sandbox("cold"), "cargo", "build").ok
    left = _left(tree / "target")
    assert left["link"].read_text() == "the person's own", "control: whoever copies reads it"
    assert set(left) == {"left", "link", "folder", "fifo", "locked"}
    sandbox.clear()
    assert set(_left(tree / "target")) == {"left"}


FORGES_OTHERS = """
fn main() {
    let out = std::path::PathBuf::from(std::env::var("OUT_DIR").unwrap());
    std::fs::write(out.ancestors().nth(3).unwrap().join("forged"), "x").unwrap();
}
"""


@pytest.mark.rest
@needs("cargo")
def test_what_a_build_script_forges_reaches_no_build_with_another_lock(
    tree: Path, cargo_environ: dict[str, str], tmp_path: Path
) -> None:
    evil = cargo_project(tree, cargo_environ, {}, FORGES_OTHERS)
    evil.sandbox("evil")
    assert (tree / "target/debug/forged").exists(), "control: it does so to its own lock's builds"
    shutil.rmtree(tmp_path / "registry")
    cargo_project(tree, cargo_environ, RUST).sandbox("good")
    assert not (tree / "target/debug/forged").exists()
    assert list((tree / "target/debug/deps").glob("libthing-*.rlib"))
