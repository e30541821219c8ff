"""The real npm, go and cargo, each with a registry on this machine."""

from __future__ import annotations

import fcntl
import json
import os
import pwd
import shutil
import socket
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from pathlib import Path

import pytest

from factory.sandbox.lent_folders import linked_modules
from factory.workbench.dependencies import (
    LocalWorkshop,
    Manifests,
    RegistryUnreachable,
    kept,
    prepare,
)
from shared.errors import EnvironmentFault, InvalidInput
from shared.languages.language_tools import Prepared
from shared.processes.process import Finished, run_tool
from tests.factory.workbench.registries import (
    NpmRegistry,
    cargo_registry,
    go_proxy,
    npm_registry,
    use_registry,
)


def needs(program: str) -> pytest.MarkDecorator:
    missing = shutil.which(program) is None
    return pytest.mark.skipif(missing, reason=f"{program} is not installed")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "tree").mkdir()
    return tmp_path / "tree"


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """The programs of this machine, and an empty HOME."""
    (tmp_path / "home").mkdir()
    # The tests have a HOME of their own, where rustup would look for its toolchains in vain.
    rustup = os.environ.get("RUSTUP_HOME", f"{pwd.getpwuid(os.getuid()).pw_dir}/.rustup")
    kept = {"RUSTUP_HOME": rustup} if Path(rustup).is_dir() else {}
    return {"PATH": os.environ["PATH"], "HOME": str(tmp_path / "home"), **kept}


def prepared(
    tree: Path, files: Mapping[str, str], environ: Mapping[str, str], **changes: frozenset[str]
) -> Prepared:
    for path, text in files.items():
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_text(text)
    cache = tree.parent / "cache"
    return prepare(
        Manifests.of(tree, files), LocalWorkshop(cache, Path(sys.executable), environ, **changes)
    )


def running(*argv: str, tree: Path, variables: Mapping[str, str]) -> Finished:
    return run_tool(argv, cwd=tree, env=variables, timeout_seconds=300)


@pytest.fixture
def registry(environ: dict[str, str]) -> Iterator[NpmRegistry]:
    """The registry that the user has npm use."""
    with npm_registry() as registry:
        environ["npm_config_registry"] = f"{registry.address}/"
        environ["npm_config_fetch_retries"] = "0"
        yield registry


def npm_files(wanted: Mapping[str, str], locked: Mapping[str, object]) -> dict[str, str]:
    packages = {f"node_modules/{name}": entry for name, entry in locked.items()}
    root = {"name": "demo", "dependencies": dict.fromkeys(locked, "^1.0.0")}
    lock = {"name": "demo", "lockfileVersion": 3, "packages": {"": root, **packages}}
    manifest = {"name": "demo", "dependencies": dict(wanted), "scripts": {"prepare": "touch ran"}}
    return {"package.json": json.dumps(manifest), "package-lock.json": json.dumps(lock)}


def test_what_no_run_has_asked_for_in_a_month_is_removed(tmp_path: Path) -> None:
    def make(folder: Path) -> None:
        (folder / "read-only").mkdir(parents=True)
        (folder / "read-only/file").touch()
        (folder / "read-only").chmod(0o500)

    folders = {name: kept(tmp_path, name, make) for name in ("unused", "used", "locked")}
    for each in folders.values():
        for path in (each / "complete", each):
            os.utime(path, (0, time.time() - 31 * 24 * 3600))
    kept(tmp_path, "used", make)
    with (tmp_path / f"{folders['locked'].name}.lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        kept(tmp_path, "new", make)
    assert [name for name, folder in folders.items() if folder.exists()] == ["used", "locked"]
    kept(tmp_path, "newer", make)
    assert [name for name, folder in folders.items() if folder.exists()] == ["used"]
    assert not list(tmp_path.glob("trash-*"))


@pytest.mark.rest
@needs("npm")
def test_npm_installs_what_is_locked_and_runs_no_script(
    tree: Path, environ: dict[str, str], registry: NpmRegistry
) -> None:
    code = "module.exports = 42"
    entry = registry.put("thing", "1.0.0", code, scripts={"postinstall": "touch ran"})
    registry.put("thing", "1.1.0", "module.exports = 43")
    files = npm_files({"thing": "^1.0.0"}, {"thing": entry})
    token = "//127.0.0.1/:_authToken=the-secret\nregistry=http://127.0.0.1:1/\n"
    found = prepared(tree, {**files, ".npmrc": token}, environ)
    ((path, modules),) = found.folders.items()
    assert path == "node_modules"
    assert (modules / "thing/index.js").read_text() == code
    assert not list(modules.parent.rglob("ran"))
    assert not list(modules.parent.rglob(".npmrc"))
    assert not any(authorization for _, authorization in registry.asked)
    registry.answers.clear()
    assert prepared(tree, files, environ) == found


@pytest.mark.rest
@needs("npm")
def test_an_archive_that_is_not_what_was_locked_is_refused(
    tree: Path, environ: dict[str, str], registry: NpmRegistry
) -> None:
    entry = registry.put("thing", "1.0.0", "good")
    registry.put("thing", "1.0.0", "evil")
    with pytest.raises(EnvironmentFault, match="EINTEGRITY"):
        prepared(tree, npm_files({"thing": "^1.0.0"}, {"thing": entry}), environ)
    assert not list(tree.parent.rglob("complete"))


@pytest.mark.rest
@needs("npm")
def test_a_package_that_the_lock_lacks_is_installed_and_named(
    tree: Path, environ: dict[str, str], registry: NpmRegistry
) -> None:
    entry = registry.put("thing", "1.0.0", "1")
    registry.put("other", "2.0.0", "2")
    wanted = {"thing": "^1.0.0", "other": ">=1"}
    found = prepared(tree, npm_files(wanted, {"thing": entry}), environ)
    assert (found.folders["node_modules"] / "other/index.js").read_text() == "2"
    (note,) = found.notes
    assert note.startswith("package-lock.json does not have other as package.json declares it")


@pytest.mark.rest
@needs("npm")
def test_workspaces_and_folders_of_the_repo_become_links_into_it(
    tree: Path, environ: dict[str, str], registry: NpmRegistry
) -> None:
    thing = registry.put("thing", "1.0.0", "1")
    other = registry.put("thing", "2.0.0", "2")
    part = {"name": "part", "version": "1.0.0", "dependencies": {"thing": "^2.0.0"}}
    files = npm_files({"thing": "^1.0.0"}, {"thing": thing})
    lock, manifest = json.loads(files["package-lock.json"]), json.loads(files["package.json"])
    manifest["workspaces"] = lock["packages"][""]["workspaces"] = ["parts/*"]
    lock["packages"] |= {
        "node_modules/part": {"resolved": "parts/part", "link": True},
        "parts/part": part,
        "parts/part/node_modules/thing": other,
    }
    files = {
        "package.json": json.dumps(manifest),
        "package-lock.json": json.dumps(lock),
        "parts/part/package.json": json.dumps(part),
    }
    found = prepared(tree, files, environ).folders
    assert set(found) == {"node_modules", "parts/part/node_modules"}
    assert linked_modules("node_modules", found["node_modules"]).leads_back
    assert (found["parts/part/node_modules"] / "thing/index.js").read_text() == "2"


@needs("npm")
def test_what_the_checkout_has_already_is_not_installed(
    tree: Path, environ: dict[str, str], registry: NpmRegistry
) -> None:
    entry = registry.put("thing", "1.0.0", "1")
    files = npm_files({"thing": "^1.0.0"}, {"thing": entry})
    assert prepared(tree, files, environ, present=frozenset({"node_modules"})).folders == {}
    assert registry.asked == []


@pytest.mark.rest
@needs("npm")
def test_a_registry_that_cannot_be_reached_is_said_in_words(
    tree: Path, environ: dict[str, str], registry: NpmRegistry
) -> None:
    entry = registry.put("thing", "1.0.0", "1")
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # bound and not listening: connections are refused
        address = f"http://127.0.0.1:{closed.getsockname()[1]}/"
        locked = {**entry, "resolved": f"{address}thing.tgz"}
        environ["npm_config_registry"] = address
        with pytest.raises(RegistryUnreachable, match="npm could not reach the registry") as told:
            prepared(tree, npm_files({"thing": "^1.0.0"}, {"thing": locked}), environ)
    assert told.value.exit_code == 5


GO_CODE = "package lib\n\nfunc Answer() int { return 42 }\n"
GO_FILES = {
    "go.mod": "module demo\n\ngo 1.19\n\nrequire example.com/lib v1.0.0\n",
    "x.go": 'package demo\n\nimport "example.com/lib"\n\nvar X = lib.Answer()\n',
}


@pytest.fixture
def go_environ(environ: dict[str, str], tmp_path: Path) -> dict[str, str]:
    return {**environ, "GOPROXY": f"file://{tmp_path}/proxy", "GONOSUMDB": "*", "GOSUMDB": "off"}


@needs("go")
def test_go_finds_its_modules_without_a_network(
    tree: Path, go_environ: dict[str, str], tmp_path: Path
) -> None:
    sums = go_proxy(tmp_path / "proxy", "example.com/lib", "v1.0.0", GO_CODE)
    found = prepared(tree, {**GO_FILES, "go.sum": sums}, go_environ)
    assert found.notes == ()
    variables = {
        "PATH": go_environ["PATH"],
        "HOME": str(tmp_path / "home"),
        "GOCACHE": str(tmp_path / "built"),
        **found.environment,
    }
    done = running("go", "build", "./...", tree=tree, variables=variables)
    assert done.exit_code == 0, done.stderr
    assert variables["GOPROXY"] == "off"


@needs("go")
def test_a_module_without_a_hash_is_named(
    tree: Path, go_environ: dict[str, str], tmp_path: Path
) -> None:
    go_proxy(tmp_path / "proxy", "example.com/lib", "v1.0.0", GO_CODE)
    (note,) = prepared(tree, GO_FILES, go_environ).notes
    assert note.startswith("go.sum does not have example.com/lib")


@needs("go")
def test_a_module_that_is_not_what_was_locked_is_refused(
    tree: Path, go_environ: dict[str, str], tmp_path: Path
) -> None:
    sums = go_proxy(tmp_path / "elsewhere", "example.com/lib", "v1.0.0", GO_CODE)
    go_proxy(tmp_path / "proxy", "example.com/lib", "v1.0.0", f"{GO_CODE}// evil\n")
    with pytest.raises(EnvironmentFault, match="checksum mismatch"):
        prepared(tree, {**GO_FILES, "go.sum": sums}, go_environ)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("replace example.com/lib => ../../out", "leads out of the repo"),
        ("replace example.com/lib => /etc", "leads out of the repo"),
        ("replace example.com/lib", "cannot read"),
        ("require example.com/lib ; v1", "cannot read"),
        ("require example.com/lib main", "cannot read"),
    ],
)
def test_a_go_mod_that_is_not_followed_is_refused(
    tree: Path, environ: dict[str, str], line: str, words: str
) -> None:
    with pytest.raises(InvalidInput, match=f"go.mod: .*{words}"):
        prepared(tree, {"go.mod": f"module demo\n\n{line}\n"}, environ)


RUST_CODE = "pub fn answer() -> i32 { 42 }\n"
CARGO_TOML = '[package]\nname = "demo"\nversion = "0.1.0"\nedition = "2018"\n[dependencies]\n'


@pytest.fixture
def cargo_environ(environ: dict[str, str], tmp_path: Path) -> dict[str, str]:
    """A user who has Cargo use a registry in a folder."""
    use_registry(tmp_path / "home" / ".cargo", tmp_path / "registry")
    return {**environ, "CARGO_HOME": str(tmp_path / "home" / ".cargo")}


def cargo_lock(*entries: str) -> str:
    names = "".join(f' "{each.split(chr(34))[1]}",\n' for each in entries)
    demo = f'[[package]]\nname = "demo"\nversion = "0.1.0"\ndependencies = [\n{names}]\n\n'
    return "version = 3\n\n" + demo + "".join(entries)


def cargo_files(lock: str, *wanted: str) -> dict[str, str]:
    return {
        "Cargo.toml": CARGO_TOML + "".join(f'{name} = "1"\n' for name in wanted),
        "Cargo.lock": lock,
        "src/lib.rs": "pub fn x() -> i32 { thing::answer() }\n",
        "build.rs": 'fn main() { std::fs::write("ran", "").unwrap() }\n',
        ".cargo/config.toml": '[source.crates-io]\nreplace-with = "evil"\n',
    }


@needs("cargo")
def test_cargo_finds_its_crates_without_a_network(
    tree: Path, cargo_environ: dict[str, str], tmp_path: Path
) -> None:
    entry = cargo_registry(tmp_path / "registry", "thing", "1.0.0", RUST_CODE)
    found = prepared(tree, cargo_files(cargo_lock(entry), "thing"), cargo_environ)
    assert found.notes == ()
    assert not list(tmp_path.rglob("ran"))
    shutil.rmtree(tree / ".cargo")
    target = {"CARGO_TARGET_DIR": str(tmp_path / "target")}
    variables = {**cargo_environ, **found.environment, **target}
    done = running("cargo", "check", "--locked", tree=tree, variables=variables)
    assert done.exit_code == 0, done.stderr


@needs("cargo")
def test_each_crate_has_the_versions_of_its_own_lock(
    tree: Path, cargo_environ: dict[str, str], tmp_path: Path
) -> None:
    registry = tmp_path / "registry"
    entries = [cargo_registry(registry, "thing", "1.0.0", RUST_CODE)]
    index = registry / "index/th/in/thing"
    before = index.read_text()
    entries.append(cargo_registry(registry, "thing", "1.1.0", RUST_CODE))
    index.write_text(before + index.read_text())
    code = "pub fn x() -> i32 { thing::answer() }\n"
    member = CARGO_TOML.replace("demo", "member") + "thing.workspace = true\n"
    above = '[workspace]\nmembers = ["member"]\n[workspace.dependencies]\nthing = "1"\n'
    lock = cargo_lock(entries[1]).replace('"demo"', '"member"')
    files = {
        **{f"one/{path}": text for path, text in cargo_files(cargo_lock(entries[0])).items()},
        "one/Cargo.toml": f'{CARGO_TOML}thing = "1"\n',
        "many/Cargo.toml": above,
        "many/Cargo.lock": lock,
        "many/member/src/lib.rs": code,
        "many/member/Cargo.toml": member,
        "many/member/Cargo.lock": "version = 3\n",  # Cargo does not read it
    }
    found = prepared(tree, files, cargo_environ)
    assert found.notes == ()
    crates = sorted(each.name for each in (found.read[0] / "crates").iterdir())
    assert crates == ["thing-1.0.0", "thing-1.1.0"]
    shutil.rmtree(tree / "one/.cargo")
    target = {"CARGO_TARGET_DIR": str(tmp_path / "target")}
    variables = {**cargo_environ, **found.environment, **target}
    for folder in ("one", "many"):
        done = running("cargo", "check", "--locked", tree=tree / folder, variables=variables)
        assert done.exit_code == 0, done.stderr


@pytest.mark.parametrize(
    ("path", "is_read"),
    [
        ("Cargo.lock", True),
        ("a/in/Cargo.lock", False),
        ("a/own/Cargo.lock", True),
        ("a/own/deep/Cargo.lock", True),
        ("elsewhere/Cargo.lock", False),
    ],
)
def test_a_lock_is_that_of_the_workspace_or_of_a_crate_apart_from_it(
    tree: Path, path: str, *, is_read: bool
) -> None:
    files = {"Cargo.toml": '[workspace]\nexclude = ["a/own/"]\n', "Cargo.lock": "version = 3\n"}
    files |= {f"{each}/Cargo.toml": CARGO_TOML for each in ("a/in", "a/own", "a/own/deep")}
    files[path] = '[[package]]\nname = "evil"\nversion = "1.0.0"\nsource = "git+https://x"\n'
    refused = pytest.raises(InvalidInput, match=f"^{path}: evil comes")
    with refused if is_read else nullcontext():
        assert not prepared(tree, files, {}).read


@needs("cargo")
def test_a_crate_that_the_lock_lacks_is_vendored_and_named(
    tree: Path, cargo_environ: dict[str, str], tmp_path: Path
) -> None:
    entry = cargo_registry(tmp_path / "registry", "thing", "1.0.0", RUST_CODE)
    cargo_registry(tmp_path / "registry", "other", "1.2.0", "")
    files = cargo_files(cargo_lock(entry), "thing", "other")
    found = prepared(tree, files, cargo_environ)
    assert (found.read[0] / "crates/other-1.2.0").is_dir()
    (note,) = found.notes
    assert note.startswith("Cargo.lock does not have other")


@needs("cargo")
def test_a_crate_that_is_not_what_was_locked_is_refused(
    tree: Path, cargo_environ: dict[str, str], tmp_path: Path
) -> None:
    entry = cargo_registry(tmp_path / "elsewhere", "thing", "1.0.0", RUST_CODE)
    cargo_registry(tmp_path / "registry", "thing", "1.0.0", "// evil\n")
    with pytest.raises(EnvironmentFault, match="checksum"):
        prepared(tree, cargo_files(cargo_lock(entry), "thing"), cargo_environ)


@pytest.mark.parametrize(
    ("lock", "words"),
    [
        ('source = "git+https://example.com/x#abc"', "evil comes from 'git"),
        ('source = "registry+https://example.com/index"', "evil comes from 'registry"),
        ('source = "registry+https://github.com/rust-lang/crates.io-index"', "no checksum"),
    ],
)
def test_a_crate_from_elsewhere_is_refused_by_name(
    tree: Path, environ: dict[str, str], lock: str, words: str
) -> None:
    entry = f'[[package]]\nname = "evil"\nversion = "1.0.0"\n{lock}\n'
    with pytest.raises(InvalidInput, match=f"Cargo.lock: evil.*{words.removeprefix('evil ')}"):
        prepared(tree, {"Cargo.toml": CARGO_TOML, "Cargo.lock": entry}, environ)


@pytest.mark.parametrize("wish", ['{git = "https://x"}', '{version = "1", registry = "evil"}'])
def test_a_declared_crate_from_elsewhere_is_refused_by_name(
    tree: Path, environ: dict[str, str], wish: str
) -> None:
    with pytest.raises(InvalidInput, match=r"Cargo\.toml: dependencies\.evil comes from"):
        prepared(tree, {"Cargo.toml": f"{CARGO_TOML}evil = {wish}\n"}, environ)


def test_a_program_that_is_missing_is_said_in_words(tree: Path) -> None:
    files = {**GO_FILES, **npm_files({"x": "1"}, {}), "Cargo.toml": f'{CARGO_TOML}x = "1"\n'}
    notes = prepared(tree, files, {"PATH": "/nowhere"}).notes
    assert [each.partition(":")[0] for each in notes] == [
        "package-lock.json asks for packages, but there is no program npm here",
        "go.mod requires modules, but there is no program go here.",
        "Cargo.toml asks for crates, but there is no program cargo here.",
    ]


def test_a_repo_that_declares_nothing_is_told_so(tree: Path, environ: dict[str, str]) -> None:
    (note,) = prepared(tree, {}, environ).notes
    assert "found nothing to install" in note


@pytest.mark.parametrize("lock", ["bun.lock", "bun.lockb"])
def test_a_lock_of_bun_is_named_and_no_version_is_chosen_instead(
    tree: Path, environ: dict[str, str], lock: str
) -> None:
    manifest = json.dumps({"name": "demo", "dependencies": {"left": "^1.0.0"}})
    found = prepared(tree, {"package.json": manifest, lock: "{}"}, environ)
    assert found.folders == {}
    (note,) = found.notes
    assert note.startswith(f"{lock} of Bun is not read, so nothing is prepared: install in the")
