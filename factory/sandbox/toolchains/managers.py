"""Recognises the folders of version managers, and finds the installed version behind them.

Managers put small programs (shims, proxies) on PATH, which look up a version in the user's home.
Commands do not see that home, so they get the folder of the version itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from factory.sandbox.toolchains.found import Toolchain
from factory.sandbox.toolchains.installed import PARTS, is_jdk, jdk_in, node_in
from factory.sandbox.toolchains.pins import Pin, asdf_tools, mise_tools, pinned
from factory.sandbox.toolchains.places import (
    Choice,
    Layout,
    Machine,
    Place,
    choose,
    existing,
    text_at,
    versions_in,
)

_DEFAULT_RUST: Final = re.compile(r'^default_toolchain\s*=\s*"([^"]+)"', re.MULTILINE)
_VOLTA_PARTS: Final = (("npm", "npm"), ("pnpm", "pnpm"), ("yarn", "Yarn"))


def rustup(place: Place, machine: Machine) -> tuple[Toolchain, ...] | None:
    """Return the Rust that rustup would choose, and the programs of `cargo install`.

    The toolchain's own folder comes before rustup's proxies. Nothing else of `~/.cargo` is shown,
    because `credentials.toml` and `config.toml` hold tokens.
    """
    cargo = machine.folder("CARGO_HOME", ".cargo") / "bin"
    if not place.is_at(cargo):
        return None
    programs = Toolchain("programs of cargo install", "", (place.real,), (place.real,))
    home = machine.folder("RUSTUP_HOME", ".rustup")
    default = _DEFAULT_RUST.search(text_at(home / "settings.toml"))
    usual = machine.environ.get("RUSTUP_TOOLCHAIN") or (default[1] if default else "")
    chosen = choose("rust", home / "toolchains", usual, machine, name="Rust")
    if chosen is None:
        return (programs,)
    root = (home / "toolchains" / chosen.version).resolve()
    if not (root / "bin" / "rustc").exists():
        return (programs,)
    read = existing(root, *PARTS)
    return (Toolchain("Rust", chosen.version, (root / "bin",), read, note=chosen.note), programs)


def nvm(place: Place, machine: Machine) -> tuple[Toolchain, ...] | None:
    """Return the Node.js of nvm or fnm; the folder on PATH is that of the user's usual version."""
    root, inner = place.real.parent, Path()
    if root.name == "installation":  # fnm has one more folder
        root, inner = root.parent, Path(root.name)
    kept = root.parent
    if not place.has("node") or kept.name not in ("node", "node-versions"):
        return None
    chosen = choose("node", kept, root.name, machine, name="Node.js")
    if chosen is None:
        return ()
    return (node_in(kept / chosen.version / inner, machine, chosen.version, chosen.note),)


def volta(place: Place, machine: Machine) -> tuple[Toolchain, ...] | None:
    """Return the Node.js and the package managers of Volta."""
    home = machine.folder("VOLTA_HOME", ".volta")
    if not place.is_at(home / "bin"):
        return None
    images = home / "tools" / "image"
    usual = _volta_defaults(home / "tools" / "user" / "platform.json")
    chosen = choose("node", images / "node", usual.get("node", ""), machine, name="Node.js")
    found = []
    for tool, name in _VOLTA_PARTS:
        other = choose(tool, images / tool, usual.get(tool, ""), machine, name=name)
        if other:
            root = (images / tool / other.version).resolve()
            found.append(_installed_in(name, root, other))
    if chosen:
        root = (images / "node" / chosen.version).resolve()
        found.append(node_in(root, machine, chosen.version, chosen.note))
    return tuple(found)


def _volta_defaults(path: Path) -> Mapping[str, str]:
    try:
        document = json.loads(text_at(path))
        node = document.get("node") or {}
        versions = {
            "node": node.get("runtime"),
            "npm": node.get("npm"),
            "pnpm": document.get("pnpm"),
            "yarn": document.get("yarn"),
        }
    except (ValueError, RecursionError, AttributeError):
        return {}
    return {name: each for name, each in versions.items() if isinstance(each, str)}


def pyenv(place: Place, machine: Machine) -> tuple[Toolchain, ...] | None:
    """Return the Pythons that pyenv would choose."""
    home = machine.folder("PYENV_ROOT", ".pyenv").resolve()
    if not place.real.is_relative_to(home):
        return None
    if place.real.parent.parent == home / "versions":
        return (_installed_in("Python", place.real.parent, Choice(place.real.parent.name)),)
    if place.real != home / "shims":
        return ()  # pyenv itself
    usual = machine.environ.get("PYENV_VERSION", "").replace(":", " ") or text_at(home / "version")
    first, *others = usual.split() or [""]
    chosen = choose("python", home / "versions", first, machine, name="Python")
    versions = [chosen] if chosen else []
    versions += [Choice(each) for each in others if each in set(versions_in(home / "versions"))]
    roots = ((home / "versions" / each.version).resolve() for each in versions)
    return tuple(_installed_in("Python", *each) for each in zip(roots, versions, strict=True))


def uv_python(place: Place, machine: Machine) -> tuple[Toolchain, ...] | None:
    """Return a Python that uv installed."""
    kept = machine.data("UV_PYTHON_INSTALL_DIR", "uv/python").resolve()
    root = place.real.parent
    if root.parent != kept:
        return None
    return (_installed_in("Python", root, Choice(root.name)),)


def sdkman(place: Place, machine: Machine) -> tuple[Toolchain, ...] | None:
    """Return the candidate of SDKMAN! whose `bin` this is."""
    candidates = machine.folder("SDKMAN_DIR", ".sdkman").resolve() / "candidates"
    root = place.real.parent
    kept = root.parent
    if kept.parent != candidates:
        return None
    chosen = choose(kept.name, kept, root.name, machine)
    return (_installed(kept.name, kept, chosen),) if chosen else ()


def asdf(place: Place, machine: Machine) -> tuple[Toolchain, ...] | None:
    """Return the tools that asdf would choose."""
    home = machine.folder("ASDF_DATA_DIR", ".asdf")
    if not place.is_at(home / "shims"):
        return None
    listed = text_at(machine.home / ".tool-versions")
    return tuple(_chosen_tools(home / "installs", asdf_tools(listed, "~/.tool-versions"), machine))


def mise(place: Place, machine: Machine) -> tuple[Toolchain, ...] | None:
    """Return the tools that mise would choose, or the one whose folder stands on PATH."""
    home = machine.data("MISE_DATA_DIR", "mise")
    installs = home.resolve() / "installs"
    if place.real.is_relative_to(installs) and place.real != installs:
        tool, version, *_ = (*place.real.relative_to(installs).parts, "", "")
        chosen = choose(_common_name(tool), installs / tool, version, machine, name=tool)
        return (_installed(tool, installs / tool, chosen),) if chosen else ()
    if not place.is_at(home / "shims"):
        return None
    config = machine.folder("XDG_CONFIG_HOME", ".config") / "mise" / "config.toml"
    listed = (
        *mise_tools(text_at(config), "mise's config.toml"),
        *asdf_tools(text_at(machine.home / ".tool-versions"), "~/.tool-versions"),
    )
    return tuple(_chosen_tools(installs, iter(listed), machine))


def _chosen_tools(installs: Path, usual: Iterator[Pin], machine: Machine) -> Iterator[Toolchain]:
    defaults = tuple(usual)
    for tool in sorted(versions_in(installs)):
        default = pinned(defaults, _common_name(tool))
        chosen = choose(
            _common_name(tool), installs / tool, default.version if default else "", machine,
            name=tool,
        )  # fmt: skip
        if chosen:
            yield _installed(tool, installs / tool, chosen)


def _common_name(tool: str) -> str:
    return {"nodejs": "node", "golang": "go"}.get(tool, tool)


def _installed(tool: str, kept: Path, chosen: Choice) -> Toolchain:
    """Return the chosen version of a tool; the plugin for Go has one more folder."""
    root = (kept / chosen.version).resolve()
    if is_jdk(root):
        return jdk_in(root, chosen.note)
    if _common_name(tool) == "go" and (root / "go" / "bin").is_dir():
        root = root / "go"
    if (root / "src" / "runtime").is_dir():
        return Toolchain("Go", chosen.version, (root / "bin",), (root,), note=chosen.note)
    return _installed_in(tool, root, chosen)


def _installed_in(name: str, root: Path, chosen: Choice) -> Toolchain:
    programs = (root / "bin") if (root / "bin").is_dir() else root
    read = existing(root, *PARTS, "boot") if programs != root else (root,)
    version = chosen.version.removeprefix("v")
    return Toolchain(name, version, (programs,), read, note=chosen.note)


MANAGERS: Final[tuple[Layout, ...]] = (
    rustup,
    nvm,
    volta,
    pyenv,
    uv_python,
    sdkman,
    asdf,
    mise,
)
