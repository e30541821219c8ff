"""Real toolchains in commands, with each backend and none; the home around them is hidden."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from uuid import uuid4

import pytest

from factory.sandbox.detect import open_sandbox
from factory.sandbox.lent_folders import go_seed
from factory.sandbox.policy import Backend, Ended, Policy
from factory.sandbox.runner import Sandbox
from factory.sandbox.toolchain_search import find_toolchains
from shared.errors import SandboxUnavailable
from shared.processes.process import SYSTEM_PATH
from tests.factory.sandbox import homes
from tests.real_tools import add_real_rust, kept_seeds, needs


@pytest.fixture(params=list(Backend)[1:])
def backend(request: pytest.FixtureRequest) -> Backend:
    return Backend(request.param)


def opened(
    backend: Backend, home: Path, *path: str, seed: Path | None = None, pins: str = ""
) -> Sandbox:
    """Open a sandbox for a user with this home and this PATH."""
    folder = home.parent
    for name in ("workspace", "private", "checkout"):
        (folder / name).mkdir(exist_ok=True)
    environ = {"HOME": str(home), "PATH": ":".join((*path, SYSTEM_PATH))}
    policy = Policy(
        folder / "workspace",
        None,
        folder / "private",
        Path(sys.executable),
        toolchains=find_toolchains(folder / "checkout", {".nvmrc": pins}.get, environ),
        seeds={"GOCACHE": seed} if seed else {},
    )
    try:
        return open_sandbox(backend, policy)
    except SandboxUnavailable as error:
        pytest.skip(f"{backend}: {error.message}")


def run(sandbox: Sandbox, home: Path, *argv: str) -> Ended:
    return sandbox.run(argv, timeout_seconds=600, log=home.parent / uuid4().hex)


def assert_hidden(sandbox: Sandbox, home: Path) -> None:
    """No secret of the home can be read, where the backend promises that."""
    secrets = [str(home / name) for name in homes.SECRETS]
    ended = run(sandbox, home, "cat", *secrets)
    if sandbox.backend is Backend.OFF:
        assert homes.TOKEN in ended.stdout.text
    else:
        assert homes.TOKEN not in ended.stdout.text
        assert homes.TOKEN not in run(sandbox, home, "grep", "-r", "token", str(home)).stdout.text


@needs("cargo")
def test_cargo_works_behind_rustup_and_its_credentials_stay_hidden(
    home: Path, backend: Backend
) -> None:
    sandbox = opened(backend, home, add_real_rust(home))
    workspace = home.parent / "workspace"
    homes.add_file(
        workspace / "Cargo.toml", '[package]\nname = "two"\nversion = "0.1.0"\nedition = "2021"\n'
    )
    homes.add_file(
        workspace / "src/lib.rs",
        "//! ```\n//! assert_eq!(two::two(), 2);\n//! ```\npub fn two() -> i32 { 2 }\n"
        "#[test]\nfn it_is_two() { assert_eq!(two(), 2); }\n",
    )
    ended = run(sandbox, home, "cargo", "test", "--quiet")
    assert ended.ok, ended.stderr.text
    assert "1 passed" in ended.stdout.text
    assert_hidden(sandbox, home)


@needs("node")
def test_the_node_of_nvm_is_the_one_that_the_repo_asks_for(home: Path, backend: Backend) -> None:
    path = homes.add_nvm(home, "v20.1.0", "v18.2.0")
    program = home / ".nvm/versions/node/v18.2.0/bin/node"
    program.unlink()
    shutil.copy(Path(shutil.which("node") or "").resolve(), program)
    sandbox = opened(backend, home, path, pins="18")
    ended = run(sandbox, home, "node", "-p", "process.execPath")
    if backend is Backend.OFF:  # the user's PATH stays as it is
        assert ended.stdout.text == "v20.1.0\n"
    else:
        assert ended.stdout.text == f"{program}\n", ended.stderr.text
    assert_hidden(sandbox, home)


@pytest.fixture
def seed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    go = Path(shutil.which("go") or "")
    return go_seed(go, "", frozenset(), kept_seeds(tmp_path_factory, go))


@pytest.mark.rest
@needs("go")
def test_a_later_attempt_does_not_compile_go_s_standard_library_again(
    home: Path, backend: Backend, seed: Path
) -> None:
    sandbox = opened(backend, home, str(Path(shutil.which("go") or "").parent), seed=seed)
    workspace = home.parent / "workspace"
    homes.add_file(workspace / "go.mod", "module two\n\ngo 1.18\n")
    homes.add_file(workspace / "two.go", 'package two\n\nimport "fmt"\n\nvar Two = fmt.Sprint(2)\n')
    homes.add_file(
        workspace / "two_test.go",
        'package two\n\nimport "testing"\n\n'
        'func TestTwo(t *testing.T) {\n\tif Two != "2" {\n\t\tt.Fatal(Two)\n\t}\n}\n',
    )
    for _ in ("first attempt", "second attempt"):
        ended = run(sandbox, home, "go", "test", "-x", "./...")
        assert ended.ok, ended.stderr.text
        assert "(cached)" not in ended.stdout.text
        assert "-p two " in ended.stderr.text
        assert "-p fmt " not in ended.stderr.text
        sandbox.clear()


@pytest.mark.rest
@needs("java")
def test_java_finds_its_configuration(home: Path, backend: Backend) -> None:
    sandbox = opened(backend, home)
    homes.add_file(
        home.parent / "workspace/Two.java",
        "import java.security.MessageDigest;\n"
        "class Two { public static void main(String[] args) throws Exception {\n"
        '  System.out.println(MessageDigest.getInstance("SHA-256").getDigestLength()); } }\n',
    )
    ended = run(sandbox, home, "java", "Two.java")
    assert ended.stdout.text == "32\n", ended.stderr.text


def test_path_has_the_toolchains_between_the_interpreter_and_the_system(
    home: Path, backend: Backend
) -> None:
    go, tools = homes.add_go(home / "go-dist"), str(home / "tools")
    homes.add_program(home / "tools/private")
    sandbox = opened(backend, home, tools, go)
    path = run(sandbox, home, "printenv", "PATH").stdout.text.strip()
    first = f"{home.parent / 'private/programs/bin'}:{Path(sys.executable).parent}"
    if backend is Backend.OFF:
        assert path == f"{first}:{tools}:{go}:{SYSTEM_PATH}"
        assert run(sandbox, home, "private").ok
    else:
        assert path == f"{first}:{go}:{SYSTEM_PATH}"
        assert run(sandbox, home, "private").exit_code == 127
        assert not run(sandbox, home, str(home / "tools/private")).ok
        assert not run(sandbox, home, "touch", str(home / "go-dist/bin/more")).ok


def test_a_tool_without_a_network_fails_at_once(home: Path, backend: Backend) -> None:
    sandbox = opened(backend, home)
    said = run(sandbox, home, "printenv", "npm_config_offline", "CARGO_NET_OFFLINE").stdout.text
    assert said == ("" if backend is Backend.OFF else "true\ntrue\n")
