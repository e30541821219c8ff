"""Repos and machines that are not as they should be: clear words, exit codes, nothing leaked.

Each is tried by `llmch run` from the outside. The rooms' own tests have the many forms of each.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.factory.sandbox import homes
from tests.factory.workbench.registries import NpmRegistry, npm_registry
from tests.harness import commit_all, git, order
from tests.llmch.command_line import Said, model_server, say_in, snapshot, write_reply
from tests.real_tools import needs, needs_sandbox
from tests.shared.llm.scripted_server import ScriptedServer

pytestmark = [pytest.mark.rest, needs_sandbox()]

TOKEN = "the-token-of-the-user"
Run = Callable[..., Said]


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    folder.mkdir()
    git(folder, "init", "--quiet", "--initial-branch=main", "--template=")
    return folder


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedServer]:
    """A model that writes what the order asks for, once."""
    with model_server(monkeypatch, write_reply({"hello.txt": "hello\n"})) as server:
        yield server


@pytest.fixture
def run(
    repo: Path, tmp_path: Path, server: ScriptedServer, capsys: pytest.CaptureFixture[str]
) -> Run:
    """Runs an order on the repo; what it commits is on the branch `work`."""

    def run(*flags: str | Path, acceptance: str = "test -f hello.txt") -> Said:
        document = order(acceptance_commands=[acceptance])
        (tmp_path / "WO-01.json").write_text(json.dumps(document))
        return say_in(repo, capsys)(
            *("run", "--work-order", "../WO-01.json", "--artifacts-dir", "../artifacts"),
            *("--branch", "work", "--reply-format", "json", "--max-attempts", "1", "--json"),
            *flags,
        )

    return run


def node_project(script: str = "", **manifest: Any) -> dict[str, str]:
    scripts = {"test": script} if script else {}
    return {"package.json": json.dumps({"name": "shop", "scripts": scripts, **manifest})}


def written_below(folder: Path) -> bytes:
    """Return the content of all files below a folder, one after the other."""
    files = (each for each in folder.rglob("*") if each.is_file() and not each.is_symlink())
    return b"\n".join(each.read_bytes() for each in files)


def assert_landed(said: Said, repo: Path) -> None:
    assert said.code == 0, said.out + said.err
    assert git(repo, "show", "work:hello.txt") == "hello"


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("", "package.json has no script `test`"),
        ("echo 'Error: no test specified' && exit 1", "npm's placeholder, which tests nothing"),
        ("vitest watch", "`vitest watch` watches or serves and never ends"),
    ],
)
def test_a_test_script_that_cannot_be_run_is_named_and_the_order_rests_on_acceptance(
    run: Run, repo: Path, script: str, words: str
) -> None:
    commit_all(repo, node_project(script))
    said = run()
    assert_landed(said, repo)
    assert words in said.err
    assert "commits rest on the acceptance commands alone" in said.err
    assert said.document["verified_by"]["rests_on_acceptance"] is True


@needs("npm")
def test_a_test_script_that_never_ends_is_ended_and_named(
    run: Run, repo: Path, server: ScriptedServer
) -> None:
    code = "console.log('Watching for file changes...'); setInterval(() => {}, 1000);\n"
    commit_all(repo, {**node_project("node test.js"), "test.js": code})
    before = snapshot(repo)
    said = run("--timeout-seconds", "5")
    assert (said.code, said.error["name"]) == (5, "PREFLIGHT")
    assert "`npm test` failed: timed out" in said.error["message"]
    assert "it watches for changes" in said.error["hint"]
    assert (server.received, snapshot(repo)) == ([], before)


@needs("npm")
def test_a_test_script_that_needs_the_network_is_named_with_the_way_to_have_it(
    run: Run, repo: Path, server: ScriptedServer
) -> None:
    code = "require('https').get('https://registry.example.org/')\n"
    commit_all(repo, {**node_project("node test.js"), "test.js": code})
    before = snapshot(repo)
    said = run()
    assert (said.code, said.error["name"]) == (5, "PREFLIGHT")
    assert "needs the network, which the sandbox does not have" in said.error["hint"]
    assert "--sandbox-net host" in said.error["hint"]
    assert (server.received, snapshot(repo)) == ([], before)


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[NpmRegistry]:
    with npm_registry() as registry:
        monkeypatch.setenv("npm_config_registry", f"{registry.address}/")
        yield registry


def locked(entry: Mapping[str, str]) -> dict[str, str]:
    """Return a project that depends on `thing`, with this entry of its lock."""
    wanted = {"name": "shop", "dependencies": {"thing": "^1.0.0"}}
    packages = {"": wanted, "node_modules/thing": dict(entry)}
    lock = {"name": "shop", "lockfileVersion": 3, "packages": packages}
    return {
        **node_project("node -e \"require('thing')\"", dependencies=wanted["dependencies"]),
        "package-lock.json": json.dumps(lock),
        ".gitignore": "node_modules/\n.npmrc\n",
    }


@needs("npm")
def test_a_lock_without_integrity_is_refused_before_anything_is_fetched(
    run: Run, repo: Path, registry: NpmRegistry, server: ScriptedServer
) -> None:
    entry = registry.put("thing", "1.0.0", "module.exports = 1;\n")
    del entry["integrity"]
    commit_all(repo, locked(entry))
    before = snapshot(repo)
    said = run("--deps", "auto")
    assert (said.code, said.error["name"]) == (2, "INVALID")
    assert "package-lock.json: thing has no integrity" in said.error["message"]
    assert said.error["hint"]
    assert (registry.asked, server.received, snapshot(repo)) == ([], [], before)


@needs("npm")
def test_a_token_of_npm_reaches_no_command_no_model_and_no_record(
    run: Run,
    repo: Path,
    tmp_path: Path,
    registry: NpmRegistry,
    server: ScriptedServer,
    own_surroundings: Path,
) -> None:
    """The user has one in the home folder, and one in the checkout that git ignores."""
    commit_all(repo, locked(registry.put("thing", "1.0.0", "module.exports = 1;\n")))
    host = registry.address.removeprefix("http:")
    for folder in (own_surroundings, repo):
        (folder / ".npmrc").write_text(f"{host}/:_authToken={TOKEN}\n")
    looking = f"bash -c 'cat {own_surroundings}/.npmrc {repo}/.npmrc .npmrc; test -f hello.txt'"
    said = run("--deps", "auto", acceptance=looking)
    assert_landed(said, repo)
    seen = written_below(tmp_path / "artifacts") + written_below(own_surroundings / "workspaces")
    assert b"No such file or directory" in seen
    for text in (seen.decode(errors="replace"), str(server.bodies), said.out, said.err):
        assert TOKEN not in text


def test_a_setup_py_is_read_and_not_run(run: Run, repo: Path, tmp_path: Path) -> None:
    code = f"open({str(tmp_path / 'ran')!r}, 'w')\nfrom setuptools import setup\nsetup()\n"
    commit_all(repo, {"setup.py": code, "app.py": "x = 1\n"})
    assert_landed(run("--deps", "auto"), repo)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("where", ["data", "node_modules"])
def test_a_link_that_leads_out_of_the_repo_shows_nothing_of_what_it_leads_to(
    run: Run, repo: Path, tmp_path: Path, where: str
) -> None:
    """One link is committed; the other is a folder of packages that git ignores."""
    outside = homes.add_file(tmp_path / "outside/secret", TOKEN)
    commit_all(repo, {".gitignore": "/node_modules\n", "package.json": "{}"})
    (repo / where).symlink_to(outside.parent)
    commit_all(repo)
    said = run(acceptance=f"bash -c 'cat {where}/secret; test -f hello.txt'")
    assert_landed(said, repo)
    assert TOKEN.encode() not in written_below(tmp_path / "artifacts")
    assert outside.read_text() == TOKEN
    if where == "node_modules":
        assert "node_modules is a symbolic link" in said.err


def test_a_toolchain_that_everybody_may_write_to_is_not_used(
    run: Run, repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_folder = homes.add_go(tmp_path / "go-dist")
    Path(open_folder).chmod(0o777)
    monkeypatch.setenv("PATH", f"{open_folder}:{os.environ['PATH']}")
    commit_all(repo, {"README.md": "# Shop\n"})
    said = run(acceptance="bash -c 'echo $PATH; test -f hello.txt'")
    assert_landed(said, repo)
    why = "which has go, is not shown to commands: everybody may write to it"
    assert f"{open_folder} of your PATH, {why}" in said.err
    seen = written_below(tmp_path / "artifacts")
    assert b":/usr/bin:" in seen
    assert f"{open_folder}:".encode() not in seen


def test_a_path_with_relative_empty_and_missing_entries_is_searched_without_them(
    run: Run, repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit_all(repo, {"scripts/verify.sh": "true\n", "tools/bin/test": "#!/bin/sh\ntouch ran\n"})
    (repo / "tools/bin/test").chmod(0o755)
    commit_all(repo)
    odd = f"tools/bin::.:{tmp_path}/missing:~/bin:{repo}/tools/bin"
    monkeypatch.setenv("PATH", f"{odd}:{os.environ['PATH']}")
    assert_landed(run(acceptance="env test -f hello.txt"), repo)
    assert not list(tmp_path.rglob("ran"))


def test_locks_that_disagree_are_named(run: Run, repo: Path) -> None:
    commit_all(repo, {**node_project(), "package-lock.json": "{}", "yarn.lock": "\n"})
    said = run()
    assert_landed(said, repo)
    assert "package-lock.json and yarn.lock disagree: npm is used" in said.err


def test_manifests_that_pin_one_package_twice_are_refused(
    run: Run, repo: Path, server: ScriptedServer
) -> None:
    project = '[project]\nname = "shop"\nversion = "1"\ndependencies = ["six==1.16.0"]\n'
    commit_all(repo, {"pyproject.toml": project, "requirements.txt": "six==1.15.0\n"})
    before = snapshot(repo)
    said = run("--deps", "auto")
    assert (said.code, said.error["name"]) == (2, "INVALID")
    assert said.error["message"] == (
        "requirements.txt:1 pins six to 1.15.0, but pyproject.toml: project.dependencies pins it "
        "to 1.16.0"
    )
    assert said.error["hint"]
    assert (server.received, snapshot(repo)) == ([], before)
