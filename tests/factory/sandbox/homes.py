"""Builds a home folder with toolchains in it, as their installers lay them out."""

from __future__ import annotations

from pathlib import Path

TOKEN = "the-token-of-the-user"  # what must not be read from inside
SECRETS = (
    *(".cargo/credentials.toml", ".cargo/config.toml", ".npmrc", ".m2/settings.xml"),
    *(".config/gh/hosts.yml", ".gradle/gradle.properties", ".ssh/id_ed25519", ".netrc"),
)


def add_program(path: Path, says: str = "") -> Path:
    """Make a program that says something, and return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho {says or path.name}\n")
    path.chmod(0o755)
    return path


def add_secrets(home: Path) -> None:
    for name in SECRETS:
        add_file(home / name, TOKEN)


def add_file(path: Path, text: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def add_rust(home: Path, *toolchains: str, default: str = "") -> str:
    """Make rustup's layout, and return the folder for PATH."""
    proxies = home / ".cargo" / "bin"
    add_program(proxies / "rustup")
    (proxies / "cargo").symlink_to("rustup")
    add_file(home / ".rustup/settings.toml", f'default_toolchain = "{default or toolchains[0]}"\n')
    for each in toolchains:
        for name in ("cargo", "rustc"):
            add_program(home / ".rustup/toolchains" / each / "bin" / name, f"{name} {each}")
    return str(proxies)


def add_nvm(home: Path, *versions: str) -> str:
    """Make nvm's layout, and return the folder of the first version for PATH."""
    kept = home / ".nvm/versions/node"
    for each in versions:
        add_program(kept / each / "bin" / "node", each)
        add_file(kept / each / "etc" / "npmrc", TOKEN)
    return str(kept / versions[0] / "bin")


def add_fnm(home: Path, *versions: str) -> str:
    """Make fnm's layout, and return the link to the first version that a shell has on PATH."""
    kept = home / ".local/share/fnm/node-versions"
    for each in versions:
        add_program(kept / each / "installation/bin/node", each)
    shell = home / ".local/state/fnm_multishells/77_88"
    shell.parent.mkdir(parents=True)
    shell.symlink_to(kept / versions[0] / "installation")
    return str(shell / "bin")


def add_volta(home: Path, default: str, *others: str) -> str:
    add_program(home / ".volta/bin/node", "shim")
    images = home / ".volta/tools/image"
    for each in (default, *others):
        add_program(images / "node" / each / "bin/node", each)
    add_program(images / "yarn/1.22.0/bin/yarn")
    text = f'{{"node": {{"runtime": "{default}", "npm": null}}, "yarn": "1.22.0"}}'
    add_file(home / ".volta/tools/user/platform.json", text)
    return str(home / ".volta/bin")


def add_asdf(home: Path) -> str:
    add_program(home / ".asdf/shims/node", "shim")
    for tool, version in (("nodejs", "20.1.0"), ("nodejs", "18.2.0"), ("ruby", "3.3.0")):
        add_program(home / ".asdf/installs" / tool / version / "bin" / tool, version)
    add_program(home / ".asdf/installs/golang/1.21.0/go/bin/go")
    add_file(home / ".asdf/installs/golang/1.21.0/go/src/runtime/proc.go")
    add_file(home / ".asdf/installs/ruby/3.3.0/credentials.toml", TOKEN)
    add_file(home / ".tool-versions", "nodejs 20.1.0\nruby 3.3.0 # as ever\ngolang 1.21.0\n")
    return str(home / ".asdf/shims")


def add_mise(home: Path) -> str:
    """Make mise's layout, and return the folder of a version that its shell hook puts on PATH."""
    for version in ("20.1.0", "18.2.0"):
        add_program(home / ".local/share/mise/installs/node" / version / "bin/node", version)
    return str(home / ".local/share/mise/installs/node/20.1.0/bin")


def add_mise_shims(home: Path) -> str:
    add_mise(home)
    add_program(home / ".local/share/mise/shims/node", "shim")
    add_file(home / ".config/mise/config.toml", '[tools]\nnode = "20"\n[settings]\nnode = "1"\n')
    return str(home / ".local/share/mise/shims")


def add_pyenv(home: Path, *versions: str) -> str:
    add_program(home / ".pyenv/shims/python", "shim")
    for each in versions:
        add_program(home / ".pyenv/versions" / each / "bin/python", each)
    add_file(home / ".pyenv/version", f"{versions[0]}\n")
    return str(home / ".pyenv/shims")


def add_jdk(root: Path, version: str = "17.0.1") -> str:
    add_program(root / "bin/java", version)
    add_file(root / "release", f'IMPLEMENTOR="Someone"\nJAVA_VERSION="{version}"\n')
    return str(root / "bin")


def add_sdkman(home: Path) -> str:
    kept = home / ".sdkman/candidates/java"
    add_jdk(kept / "17.0.1-tem", "17.0.1")
    add_jdk(kept / "21.0.2-tem", "21.0.2")
    (kept / "current").symlink_to("17.0.1-tem")
    return str(kept / "current/bin")


def add_go(root: Path, version: str = "1.22.1") -> str:
    add_program(root / "bin/go")
    add_file(root / "VERSION", f"go{version}\ntime 2024-01-01\n")
    add_file(root / "src/runtime/proc.go")
    return str(root / "bin")


def add_maven(root: Path) -> str:
    add_program(root / "bin/mvn")
    add_file(root / "boot/plexus.jar")
    add_file(root / "lib/maven.jar")
    add_file(root / "conf/settings.xml", TOKEN)
    return str(root / "bin")


def add_node(root: Path) -> str:
    add_program(root / "bin/node")
    header = "\n".join(
        f"#define NODE_{part}_VERSION {number}"
        for part, number in (("MAJOR", 22), ("MINOR", 3), ("PATCH", 0))
    )
    add_file(root / "include/node/node_version.h", header)
    add_file(root / "etc/npmrc", TOKEN)
    return str(root / "bin")


def add_dotnet(home: Path) -> str:
    add_program(home / ".dotnet/dotnet")
    add_file(home / ".dotnet/shared/core.dll")
    add_file(home / ".dotnet/corefx/cryptography/x509stores/my/key.pfx", TOKEN)
    return str(home / ".dotnet")
