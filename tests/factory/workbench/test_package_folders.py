"""`link auto` beyond the root: parts of a larger project, `vendor`, and links between packages."""

from __future__ import annotations

from pathlib import Path

import pytest

from factory.sandbox.detect import find_backends
from factory.sandbox.policy import Backend
from shared.events.events import Warned
from shared.settings.settings import SandboxSettings
from tests.fakes import proposal
from tests.harness import Factory, commit_all, git, order

GOOD = proposal({"hello.txt": "hello\n"})

BACKENDS = [
    pytest.param(
        each.backend, marks=pytest.mark.skipif(bool(each.problem), reason=each.problem or "works")
    )
    for each in find_backends()
] + [pytest.param(Backend.OFF)]


@pytest.fixture(params=BACKENDS)
def sandbox(request: pytest.FixtureRequest) -> SandboxSettings:
    return SandboxSettings(backend=request.param)


def put(repo: Path, path: str, text: str = "1\n") -> None:
    (repo / path).parent.mkdir(parents=True, exist_ok=True)
    (repo / path).write_text(text)


@pytest.fixture
def workspaces(factory: Factory) -> Path:
    """A project of two packages, installed as npm does: the one is a link in `node_modules`."""
    commit_all(
        factory.repo,
        {
            ".gitignore": "node_modules/\n",
            "package.json": '{"workspaces": ["packages/*"]}\n',
            "package-lock.json": "{}\n",
            "packages/a/package.json": '{"name": "a"}\n',
            "packages/a/index.js": "old\n",
        },
    )
    put(factory.repo, "node_modules/x/index.js")
    (factory.repo / "node_modules/a").symlink_to("../packages/a")
    put(factory.repo, "packages/a/node_modules/y/index.js")
    return factory.repo


def warnings_of(factory: Factory) -> list[str]:
    return [each.message for each in factory.seen(Warned)]


def passes(factory: Factory, *commands: str, sandbox: SandboxSettings | None = None) -> bool:
    chosen = {} if sandbox is None else {"sandbox": sandbox}
    summary = factory.run(order(acceptance_commands=list(commands)), [GOOD], **chosen)
    return summary.verdict == "PASS"


def test_the_packages_of_each_part_are_shown(
    factory: Factory, workspaces: Path, sandbox: SandboxSettings
) -> None:
    shown = ("test -f node_modules/x/index.js", "test -f packages/a/node_modules/y/index.js")
    assert passes(factory, *shown, sandbox=sandbox)
    assert warnings_of(factory) == []


def test_a_link_to_a_package_of_the_repo_leads_to_the_workspace_s(
    factory: Factory, workspaces: Path, sandbox: SandboxSettings
) -> None:
    document = order(
        allowed_files=["packages/a/index.js"],
        acceptance_commands=["grep -q new node_modules/a/index.js"],
        postconditions=[{"kind": "file_exists", "path": "packages/a/index.js"}],
    )
    reply = proposal({"packages/a/index.js": "new\n"})
    assert factory.run(document, [reply], sandbox=sandbox).verdict == "PASS"


def test_a_lock_above_that_differs_ends_the_showing_of_all_parts(
    factory: Factory, workspaces: Path
) -> None:
    git(workspaces, "switch", "--quiet", "--create", "work")
    commit_all(workspaces, {"package-lock.json": '{"lockfileVersion": 3}\n'})
    git(workspaces, "switch", "--quiet", "main")
    gone = "sh -c '! test -e node_modules/x && ! test -e packages/a/node_modules/y'"
    assert passes(factory, gone)
    assert len(warnings_of(factory)) == 2
    assert all("package-lock.json of the branch differs" in each for each in warnings_of(factory))


def test_a_package_that_is_linked_from_elsewhere_is_reported_by_name(
    factory: Factory, workspaces: Path
) -> None:
    put(factory.scratch, "elsewhere/index.js")
    (workspaces / "node_modules/@own").mkdir()
    (workspaces / "node_modules/@own/far").symlink_to(factory.scratch / "elsewhere")
    assert passes(factory, "test -f node_modules/x/index.js")
    (warning,) = warnings_of(factory)
    assert warning.startswith("node_modules/@own/far is a link that leads out of the repo")


@pytest.mark.rest
@pytest.mark.parametrize(
    ("files", "shown"),
    [
        ({"go.mod": "module m\n", "go.sum": "x\n"}, True),
        ({"composer.json": "{}\n", "composer.lock": "{}\n"}, True),
        ({"Gemfile": "\n"}, True),
        ({}, False),
    ],
)
def test_vendor_is_shown_where_git_ignores_it_and_a_manifest_says_what_it_is(
    factory: Factory, files: dict[str, str], shown: bool
) -> None:
    commit_all(factory.repo, {".gitignore": "vendor/\n", **files})
    put(factory.repo, "vendor/thing.txt")
    test = "test -f vendor/thing.txt"
    assert passes(factory, test if shown else f"sh -c '! {test}'")


def test_a_folder_that_a_tool_builds_into_is_not_shown(factory: Factory) -> None:
    files = {".gitignore": "target/\n", "Cargo.toml": "[package]\n", "Cargo.lock": "\n"}
    commit_all(factory.repo, files)
    put(factory.repo, "target/debug/thing")
    assert passes(factory, "sh -c '! test -e target'")
