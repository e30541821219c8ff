"""Code that tries to decide a later judgement by what it leaves in a cache of compiled packages."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.factory.workbench.test_installers import environ, go_environ, needs, tree
from tests.factory.workbench.test_warm_builds import Project, go_project
from tests.real_tools import go_seeds, needs_sandbox

__all__ = ["environ", "go_environ", "go_seeds", "tree"]

pytestmark = needs_sandbox()

LIB = 'package lib\n\n//go:noinline\nfunc Answer() string { return "an honest answer" }\n'
TEST = """package demo

import (
	"testing"

	"example.com/lib"
)

func TestAnswer(t *testing.T) { t.Log(lib.Answer()) }
"""
# Go compares neither the content of an entry with its name nor that of a package with its hash.
FORGES = """sed -i 's/an honest answer/a forged answer!/' "$(go list -export -f '{{.Export}}' $1)"
"""


def _answer(project: Project, folder: str, *, forging: bool) -> tuple[str, str]:
    """Return what a test of a new workspace prints, then again in the next attempt."""
    sandbox = project.sandbox(folder)
    if forging:
        forged = project.run(sandbox, "sh", "-c", FORGES, "sh", "example.com/lib")
        assert forged.ok, forged.stderr.text
    first = project.run(sandbox, "go", "test", "-count=1", "./...").stdout.text
    sandbox.clear()
    return first, project.run(sandbox, "go", "test", "-count=1", "./...").stdout.text


@needs("go")
@pytest.mark.usefixtures("go_seeds")
def test_a_compiled_module_that_a_command_forged_is_seen_by_no_later_attempt(
    tree: Path, go_environ: dict[str, str]
) -> None:
    project = go_project(tree, go_environ, LIB, {"x.go": "package demo\n", "x_test.go": TEST})
    own, next_attempt = _answer(project, "first", forging=True)
    assert "a forged answer!" in own, "control: Go believes what it finds"
    assert "an honest answer" in next_attempt
    assert all("an honest answer" in each for each in _answer(project, "second", forging=False))


MARK = """package lib

import "os"

func init() { os.WriteFile(os.Getenv("GOCACHE")+"/forged", []byte("x"), 0o600) }

func Answer() string { return "" }
"""


@needs("go")
@pytest.mark.usefixtures("go_seeds")
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
