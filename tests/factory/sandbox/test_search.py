"""Which toolchains are found on a PATH, and what of them is shown."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from factory.sandbox.toolchain_search import find_toolchains, hidden_programs, with_named
from factory.sandbox.toolchains import Toolchains
from shared.errors import InvalidInput
from tests.factory.sandbox import homes
from tests.harness import as_ordinary_user


def find(home: Path, *path: str, files: dict[str, str] | None = None, **environ: str) -> Toolchains:
    repo = home.parent / "repo"
    repo.mkdir(exist_ok=True)
    variables = {"HOME": str(home), "PATH": ":".join(path), **environ}
    return find_toolchains(repo, (files or {}).get, variables)


def found(toolchains: Toolchains) -> dict[str, str]:
    return {each.name: each.version for each in toolchains.found}


LAYOUTS: dict[str, tuple[Callable[[Path], str], str, str]] = {
    "rustup": (lambda home: homes.add_rust(home, "stable-x86_64"), "Rust", "stable-x86_64"),
    "nvm": (lambda home: homes.add_nvm(home, "v20.1.0"), "Node.js", "20.1.0"),
    "fnm": (lambda home: homes.add_fnm(home, "v20.1.0"), "Node.js", "20.1.0"),
    "volta": (lambda home: homes.add_volta(home, "20.1.0"), "Node.js", "20.1.0"),
    "volta's yarn": (lambda home: homes.add_volta(home, "20.1.0"), "Yarn", "1.22.0"),
    "asdf": (homes.add_asdf, "nodejs", "20.1.0"),
    "asdf's Go": (homes.add_asdf, "Go", "1.21.0"),
    "mise": (homes.add_mise, "Node.js", "20.1.0"),
    "mise's shims": (homes.add_mise_shims, "node", "20.1.0"),
    "pyenv": (lambda home: homes.add_pyenv(home, "3.12.1"), "Python", "3.12.1"),
    "SDKMAN!": (homes.add_sdkman, "Java", "17.0.1"),
    "a JDK": (lambda home: homes.add_jdk(home / "opt/jdk"), "Java", "17.0.1"),
    "Go": (lambda home: homes.add_go(home / "sdk/go"), "Go", "1.22.1"),
    "Maven": (lambda home: homes.add_maven(home / "opt/maven"), "Maven", ""),
    "Node.js": (lambda home: homes.add_node(home / "opt/node"), "Node.js", "22.3.0"),
    ".NET": (homes.add_dotnet, ".NET", ""),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_toolchain_is_found_and_nothing_else_of_the_home_is_shown(
    home: Path, layout: str
) -> None:
    add, name, version = LAYOUTS[layout]
    toolchains = find(home, add(home))
    assert found(toolchains)[name] == version
    assert toolchains.warnings == ()
    secret = [
        each for each in home.rglob("*") if each.is_file() and homes.TOKEN in each.read_text()
    ]
    assert len(secret) >= len(homes.SECRETS)
    for each in secret:
        assert not any(each.is_relative_to(shown) for shown in toolchains.read), each
    (toolchain,) = (each for each in toolchains.found if each.name == name)
    programs = tuple(toolchain.path[0].iterdir())
    assert any(each.is_relative_to(shown) for each in programs for shown in toolchain.read)


CHOICES: dict[str, tuple[Callable[[Path], str], dict[str, str], str, str]] = {
    "rustup": (
        lambda home: homes.add_rust(home, "stable-x86_64", "1.70.0-x86_64"),
        {"rust-toolchain.toml": '[toolchain]\nchannel = "1.70"\n'},
        "Rust",
        "1.70.0-x86_64",
    ),
    "nvm": (
        lambda home: homes.add_nvm(home, "v20.1.0", "v18.2.0"),
        {".nvmrc": "18\n"},
        "Node.js",
        "18.2.0",
    ),
    "fnm": (
        lambda home: homes.add_fnm(home, "v20.1.0", "v18.2.0"),
        {".node-version": "v18.2.0"},
        "Node.js",
        "18.2.0",
    ),
    "volta": (
        lambda home: homes.add_volta(home, "20.1.0", "18.2.0"),
        {"package.json": '{"volta": {"node": "18.2.0"}}'},
        "Node.js",
        "18.2.0",
    ),
    "asdf": (homes.add_asdf, {".tool-versions": "nodejs 18.2.0\n"}, "nodejs", "18.2.0"),
    "mise": (homes.add_mise, {"mise.toml": '[tools]\nnode = "18"\n'}, "Node.js", "18.2.0"),
    "pyenv": (
        lambda home: homes.add_pyenv(home, "3.12.1", "3.11.7"),
        {".python-version": "3.11\n"},
        "Python",
        "3.11.7",
    ),
    "SDKMAN!": (homes.add_sdkman, {".sdkmanrc": "java=21.0.2-tem\n"}, "Java", "21.0.2"),
}


@pytest.mark.parametrize("manager", CHOICES)
def test_the_repo_chooses_among_the_installed_versions(home: Path, manager: str) -> None:
    add, files, name, version = CHOICES[manager]
    toolchains = find(home, add(home), files=files)
    assert found(toolchains)[name] == version
    assert toolchains.warnings == ()


def test_a_version_that_is_not_installed_is_reported_and_the_usual_one_is_used(home: Path) -> None:
    toolchains = find(home, homes.add_nvm(home, "v20.1.0"), files={".nvmrc": "16.4"})
    assert found(toolchains) == {"Node.js": "20.1.0"}
    (warning,) = toolchains.warnings
    assert ".nvmrc asks for Node.js 16.4, which is not installed: commands get v20.1.0" in warning


def test_the_toolchain_comes_before_rustup_s_proxies(home: Path) -> None:
    toolchains = find(home, homes.add_rust(home, "stable-x86_64"))
    assert toolchains.before == (
        home / ".rustup/toolchains/stable-x86_64/bin",
        home / ".cargo/bin",
    )


def test_java_home_counts_even_off_the_path(home: Path) -> None:
    named = home / "opt/jdk-21"
    homes.add_jdk(named, "21.0.2")
    toolchains = find(home, homes.add_jdk(home / "opt/jdk-17"), JAVA_HOME=str(named))
    assert toolchains.variables["JAVA_HOME"] == str(named)
    assert named in toolchains.read
    assert toolchains.before == (home / "opt/jdk-17/bin",)


def test_the_order_of_the_user_s_path_is_kept(home: Path) -> None:
    first, second = homes.add_go(home / "a"), homes.add_jdk(home / "b")
    toolchains = find(home, first, "/usr/bin", second, first)
    assert toolchains.search_path("SYSTEM") == f"{first}:SYSTEM:{second}"


def test_a_folder_that_is_no_toolchain_is_not_shown(home: Path) -> None:
    homes.add_program(home / "bin/tox")
    homes.add_program(home / "bin/private")
    toolchains = find(home, str(home / "bin"), str(home / "missing"), "/usr/bin")
    assert toolchains.read == ()
    (unshown,) = toolchains.unshown
    assert (unshown.folder, unshown.reason, unshown.programs) == (str(home / "bin"), "", ("tox",))
    assert toolchains.warnings == ()
    assert hidden_programs(toolchains)["private"].path == home / "bin/private"


def refused(toolchains: Toolchains) -> str:
    assert toolchains.read == ()
    (warning,) = toolchains.warnings
    return warning


def test_a_folder_that_everybody_may_write_to_is_left_out(home: Path) -> None:
    path = homes.add_go(home / "go-dist")
    Path(path).chmod(0o777)
    assert "which has go, is not shown to commands: everybody may write to it" in refused(
        find(home, path)
    )


def test_so_is_one_below_such_a_folder_unless_that_is_sticky(home: Path) -> None:
    path = homes.add_go(home / "shared/go")
    (home / "shared").chmod(0o777)
    assert f"everybody may write to {home / 'shared'}" in refused(find(home, path))
    (home / "shared").chmod(0o1777)
    assert found(find(home, path)) == {"Go": "1.22.1"}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to another user")
def test_what_another_user_made_in_a_sticky_folder_is_left_out(home: Path) -> None:
    path = homes.add_go(home / "shared/go")
    (home / "shared").chmod(0o1777)
    os.chown(home / "shared/go", 4321, 4321)
    assert "another user made it" in refused(find(home, path))


def test_a_toolchain_behind_a_trusted_folder_must_be_trusted_too(home: Path) -> None:
    path = homes.add_rust(home, "stable-x86_64")
    (home / ".rustup/toolchains/stable-x86_64/bin").chmod(0o777)
    toolchains = find(home, path)
    assert "Rust" not in found(toolchains)
    assert "everybody may write to it" in "".join(toolchains.warnings)


def test_a_folder_of_the_repo_is_left_out_even_behind_a_link(home: Path) -> None:
    inside = homes.add_go(home.parent / "repo/tools/go")
    assert "it is inside the repo" in refused(find(home, inside))
    link = home / "link"
    link.symlink_to(inside)
    assert "it is inside the repo" in refused(find(home, str(link)))


def test_a_relative_folder_is_left_out(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    homes.add_go(tmp_path / "here/go")
    monkeypatch.chdir(tmp_path / "here")
    assert "it is relative to wherever a command runs" in refused(find(home, "go/bin"))


def test_the_home_itself_is_left_out(home: Path) -> None:
    homes.add_program(home / "cargo")
    assert "it is your home folder" in refused(find(home, str(home)))
    homes.add_program(home.parent / "cargo")
    assert "it holds your home" in refused(find(home, str(home.parent)))


@pytest.mark.parametrize("path", ["", "::", "/nonexistent", "x" * 5000, "/proc/self/fd"])
def test_odd_entries_are_no_trouble(home: Path, path: str) -> None:
    assert find(home, path).read == ()


def test_a_link_that_leads_to_itself_is_no_trouble(home: Path) -> None:
    (home / "loop").symlink_to(home / "loop")
    assert find(home, str(home / "loop")).read == ()


def test_a_folder_that_the_user_names_comes_first(home: Path) -> None:
    homes.add_program(home / "bin/tox")
    go = homes.add_go(home / "go-dist")
    toolchains = with_named(find(home, go, str(home / "bin")), (home / "bin",))
    assert toolchains.search_path("SYSTEM") == f"{home / 'bin'}:{go}:SYSTEM"
    assert home / "bin" in toolchains.read
    assert toolchains.unshown == ()
    with pytest.raises(InvalidInput, match="not a folder"):
        with_named(toolchains, (home / "missing",))


@pytest.mark.parametrize("variable", ["PYENV_ROOT", "SDKMAN_DIR", "JAVA_HOME"])
def test_a_manager_whose_folder_cannot_be_read_hides_no_other(home: Path, variable: str) -> None:
    loop = home / "loop"
    loop.symlink_to(loop)
    path = homes.add_nvm(home, "v20.1.0")
    with as_ordinary_user(home.parent):
        (locked := home / "locked").mkdir(mode=0)
        for folder in (str(loop), str(locked / "in")):
            environ = {"HOME": str(home), "PATH": f"{folder}:{path}", variable: folder}
            assert found(find_toolchains(None, lambda _: None, environ))["Node.js"] == "20.1.0"
