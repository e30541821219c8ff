"""Goes through the user's PATH, also through version managers, for toolchains that commands may
see.

Only the folders that a distribution consists of are shown. Configuration beside them may hold
tokens: `etc/npmrc` of a Node, `conf/settings.xml` of a Maven, `~/.dotnet/corefx`.

Managers put small programs (shims, proxies) on PATH, which look up a version in the user's home.
Commands do not see that home, so they get the folder of the version itself.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from factory.sandbox.toolchains import (
    ChosenVersion,
    Hidden,
    Layout,
    PathFolder,
    Pin,
    TextOf,
    Toolchain,
    ToolchainHome,
    Toolchains,
    Unshown,
    asdf_tools,
    choose,
    common_name,
    existing,
    mise_tools,
    needed_beside,
    pinned,
    read_pins,
    reason_against,
    text_at,
    versions_in,
)
from shared.errors import InvalidInput
from shared.processes.process import SYSTEM_PATH

PARTS: Final = ("bin", "lib", "lib64", "libexec", "include", "share")
_JAVA_VERSION: Final = re.compile(r'^JAVA_VERSION="([^"]{1,40})"', re.MULTILINE)


def go_distribution(place: PathFolder, machine: ToolchainHome) -> tuple[Toolchain, ...] | None:
    """Return the Go whose `bin` this is."""
    root = place.real.parent
    if not (place.has("go") and (root / "VERSION").is_file() and (root / "src/runtime").is_dir()):
        return None
    version = text_at(root / "VERSION", 100).split() or [""]
    return (Toolchain("Go", version[0].removeprefix("go"), (place.real,), (root,)),)


def go_programs(place: PathFolder, machine: ToolchainHome) -> tuple[Toolchain, ...] | None:
    """Return the programs that `go install` put there."""
    if not place.is_at(machine.folder("GOPATH", "go") / "bin"):
        return None
    return (Toolchain("programs of go install", "", (place.real,), (place.real,)),)


def node_distribution(place: PathFolder, machine: ToolchainHome) -> tuple[Toolchain, ...] | None:
    """Return the Node.js whose `bin` this is."""
    root = place.real.parent
    if not place.has("node") or not (root / "include" / "node").is_dir():
        return None
    return (node_in(root, machine),)


def node_in(root: Path, machine: ToolchainHome, version: str = "", note: str = "") -> Toolchain:
    """Return the Node.js in the folder `root`, with what corepack has installed for the user."""
    corepack = machine.folder("COREPACK_HOME", ".cache", "node", "corepack")
    more = (corepack.resolve(),) if corepack.is_dir() else ()
    variables = {"COREPACK_ENABLE_NETWORK": "0"} | ({"COREPACK_HOME": str(*more)} if more else {})
    read = (*existing(root, *PARTS), *more)
    version = version or _node_version(root)
    return Toolchain("Node.js", version.removeprefix("v"), (root / "bin",), read, variables, note)


def _node_version(root: Path) -> str:
    header = text_at(root / "include" / "node" / "node_version.h")
    numbers = re.findall(r"^#define NODE_(?:MAJOR|MINOR|PATCH)_VERSION (\d+)", header, re.MULTILINE)
    return ".".join(numbers)


def java_kit(place: PathFolder, machine: ToolchainHome) -> tuple[Toolchain, ...] | None:
    """Return the JDK whose `bin` this is."""
    return (jdk_in(place.real.parent),) if is_jdk(place.real.parent) else None


def is_jdk(root: Path) -> bool:
    """Return whether a JDK is unpacked in the folder `root`."""
    return (root / "bin" / "java").is_file() and (root / "release").is_file()


def jdk_in(root: Path, note: str = "") -> Toolchain:
    """Return the JDK in the folder `root`."""
    found = _JAVA_VERSION.search(text_at(root / "release"))
    version = found[1] if found else ""
    return Toolchain("Java", version, (root / "bin",), (root,), {"JAVA_HOME": str(root)}, note)


def maven(place: PathFolder, machine: ToolchainHome) -> tuple[Toolchain, ...] | None:
    """Return the Maven whose `bin` this is."""
    root = place.real.parent
    if not place.has("mvn") or not (root / "boot").is_dir():
        return None
    parts = ("bin", "boot", "lib", "conf/logging")
    return (Toolchain("Maven", "", (place.real,), existing(root, *parts)),)


def gradle(place: PathFolder, machine: ToolchainHome) -> tuple[Toolchain, ...] | None:
    """Return the Gradle whose `bin` this is."""
    root = place.real.parent
    if not place.has("gradle") or not (root / "lib").is_dir():
        return None
    return (Toolchain("Gradle", "", (place.real,), existing(root, "bin", "lib")),)


def dotnet(place: PathFolder, machine: ToolchainHome) -> tuple[Toolchain, ...] | None:
    """Return the .NET in this folder."""
    if not place.has("dotnet") or not (place.real / "shared").is_dir():
        return None
    parts = ("dotnet", "host", "packs", "sdk", "sdk-manifests", "shared", "templates")
    variables = {"DOTNET_ROOT": str(place.real)}
    return (Toolchain(".NET", "", (place.real,), existing(place.real, *parts), variables),)


def single_programs(place: PathFolder, machine: ToolchainHome) -> tuple[Toolchain, ...] | None:
    """Return Deno, Bun or pnpm, which install one program into a folder of their own."""
    for name, folder in _own_folders(machine):
        if place.has(name.lower()) and place.is_at(folder):
            read = existing(place.real, name.lower(), f"{name.lower()}x", ".tools")
            return (Toolchain(name, "", (place.real,), read),)
    return None


def _own_folders(machine: ToolchainHome) -> Iterator[tuple[str, Path]]:
    yield "Deno", machine.folder("DENO_INSTALL", ".deno") / "bin"
    yield "Bun", machine.folder("BUN_INSTALL", ".bun") / "bin"
    yield "pnpm", machine.data("PNPM_HOME", "pnpm")


INSTALLED: Final[tuple[Layout, ...]] = (
    go_distribution, go_programs, node_distribution, java_kit, maven, gradle, dotnet,
    single_programs,
)  # fmt: skip


_DEFAULT_RUST: Final = re.compile(r'^default_toolchain\s*=\s*"([^"]+)"', re.MULTILINE)
_VOLTA_PARTS: Final = (("npm", "npm"), ("pnpm", "pnpm"), ("yarn", "Yarn"))


def rustup(place: PathFolder, machine: ToolchainHome) -> tuple[Toolchain, ...] | None:
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
    return (_installed_in("Rust", root, chosen), programs)


def nvm(place: PathFolder, machine: ToolchainHome) -> tuple[Toolchain, ...] | None:
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


def volta(place: PathFolder, machine: ToolchainHome) -> tuple[Toolchain, ...] | None:
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


def pyenv(place: PathFolder, machine: ToolchainHome) -> tuple[Toolchain, ...] | None:
    """Return the Pythons that pyenv would choose."""
    home = machine.folder("PYENV_ROOT", ".pyenv").resolve()
    if not place.real.is_relative_to(home):
        return None
    if place.real.parent.parent == home / "versions":
        return (_installed_in("Python", place.real.parent, ChosenVersion(place.real.parent.name)),)
    if place.real != home / "shims":
        return ()  # pyenv itself
    usual = machine.environ.get("PYENV_VERSION", "").replace(":", " ") or text_at(home / "version")
    first, *others = usual.split() or [""]
    chosen = choose("python", home / "versions", first, machine, name="Python")
    there = set(versions_in(home / "versions"))
    versions = [chosen] if chosen else []
    versions += [ChosenVersion(each) for each in others if each in there]
    roots = ((home / "versions" / each.version).resolve() for each in versions)
    return tuple(_installed_in("Python", *each) for each in zip(roots, versions, strict=True))


def uv_python(place: PathFolder, machine: ToolchainHome) -> tuple[Toolchain, ...] | None:
    """Return a Python that uv installed."""
    kept = machine.data("UV_PYTHON_INSTALL_DIR", "uv/python").resolve()
    root = place.real.parent
    if root.parent != kept:
        return None
    return (_installed_in("Python", root, ChosenVersion(root.name)),)


def sdkman(place: PathFolder, machine: ToolchainHome) -> tuple[Toolchain, ...] | None:
    """Return the candidate of SDKMAN! whose `bin` this is."""
    candidates = machine.folder("SDKMAN_DIR", ".sdkman").resolve() / "candidates"
    root = place.real.parent
    kept = root.parent
    if kept.parent != candidates:
        return None
    chosen = choose(kept.name, kept, root.name, machine)
    return (_installed(kept.name, kept, chosen),) if chosen else ()


def asdf(place: PathFolder, machine: ToolchainHome) -> tuple[Toolchain, ...] | None:
    """Return the tools that asdf would choose."""
    home = machine.folder("ASDF_DATA_DIR", ".asdf")
    if not place.is_at(home / "shims"):
        return None
    listed = text_at(machine.home / ".tool-versions")
    return tuple(_chosen_tools(home / "installs", asdf_tools(listed, "~/.tool-versions"), machine))


def mise(place: PathFolder, machine: ToolchainHome) -> tuple[Toolchain, ...] | None:
    """Return the tools that mise would choose, or the one whose folder is on PATH."""
    home = machine.data("MISE_DATA_DIR", "mise")
    installs = home.resolve() / "installs"
    if place.real.is_relative_to(installs) and place.real != installs:
        tool, version, *_ = (*place.real.relative_to(installs).parts, "", "")
        chosen = choose(common_name(tool), installs / tool, version, machine, name=tool)
        return (_installed(tool, installs / tool, chosen),) if chosen else ()
    if not place.is_at(home / "shims"):
        return None
    config = machine.folder("XDG_CONFIG_HOME", ".config") / "mise" / "config.toml"
    listed = (
        *mise_tools(text_at(config), "mise's config.toml"),
        *asdf_tools(text_at(machine.home / ".tool-versions"), "~/.tool-versions"),
    )
    return tuple(_chosen_tools(installs, iter(listed), machine))


def _chosen_tools(
    installs: Path, usual: Iterator[Pin], machine: ToolchainHome
) -> Iterator[Toolchain]:
    defaults = tuple(usual)
    for tool in sorted(versions_in(installs)):
        default = pinned(defaults, common_name(tool))
        chosen = choose(
            common_name(tool), installs / tool, default.version if default else "", machine,
            name=tool,
        )  # fmt: skip
        if chosen:
            yield _installed(tool, installs / tool, chosen)


def _installed(tool: str, kept: Path, chosen: ChosenVersion) -> Toolchain:
    root = (kept / chosen.version).resolve()
    if is_jdk(root):
        return jdk_in(root, chosen.note)
    if common_name(tool) == "go" and (root / "go" / "bin").is_dir():
        root = root / "go"
    if (root / "src" / "runtime").is_dir():
        return Toolchain("Go", chosen.version, (root / "bin",), (root,), note=chosen.note)
    return _installed_in(tool, root, chosen)


def _installed_in(name: str, root: Path, chosen: ChosenVersion) -> Toolchain:
    programs = (root / "bin") if (root / "bin").is_dir() else root
    read = existing(root, *PARTS, "boot") if programs != root else (root,)
    version = chosen.version.removeprefix("v")
    return Toolchain(name, version, (programs,), read, note=chosen.note)


MANAGERS: Final[tuple[Layout, ...]] = (rustup, nvm, volta, pyenv, uv_python, sdkman, asdf, mise)


BUILD_TOOLS: Final = (
    *("bun", "cargo", "cmake", "deno", "dotnet", "go", "gradle", "java", "javac", "just", "mvn"),
    *("node", "npm", "npx", "pnpm", "poetry", "pytest", "rustc", "ruby", "tox", "uv", "yarn"),
)
_LAYOUTS: Final = (*MANAGERS, *INSTALLED)
# These are shown as they are; what lies in them needs a place on PATH and nothing else.
_SYSTEM: Final = tuple(map(Path, ("/usr", "/bin", "/sbin", "/nix/store")))
_SYSTEM_PATH: Final = frozenset(Path(each).resolve() for each in SYSTEM_PATH.split(":"))
_MOST_FOLDERS: Final = 100
_MOST_PROGRAMS: Final = 5_000
# Where version managers look for their files, unless a variable says otherwise.
_HOMES: Final = {
    "ASDF_DATA_DIR": ".asdf",
    "MISE_DATA_DIR": ".local/share/mise",
    "PYENV_ROOT": ".pyenv",
    "RUSTUP_HOME": ".rustup",
    "SDKMAN_DIR": ".sdkman",
    "VOLTA_HOME": ".volta",
}


@dataclass(frozen=True, slots=True)
class _SeenFolder:
    """Hold what one folder of PATH turned out to be."""

    toolchains: tuple[Toolchain, ...] = ()
    unshown: tuple[Unshown, ...] = ()


def find_toolchains(
    repo: Path | None, text_of: TextOf, environ: Mapping[str, str] = os.environ
) -> Toolchains:
    """Return the toolchains on the user's PATH, in the versions that the repo asks for.

    Only installed versions count, and no program is run. `text_of` reads the repo's files.
    """
    home = Path(environ.get("HOME") or "~").expanduser()
    machine = ToolchainHome(home, environ, read_pins(text_of))
    folders = list(dict.fromkeys(environ.get("PATH", "").split(":")))[:_MOST_FOLDERS]
    last = next((at for at, each in enumerate(folders) if each == "/usr/bin"), len(folders))
    seen = [_look_at(each, repo, machine) for each in folders]
    before = tuple(each for part in seen[:last] for each in part.toolchains)
    after = tuple(each for part in seen[last:] for each in part.toolchains)
    # A JDK that JAVA_HOME names comes first, because it is the one whose variable counts.
    found = (*_java_home(repo, machine), *before, *after)
    return Toolchains(
        before=tuple(dict.fromkeys(path for each in before for path in each.path)),
        after=tuple(dict.fromkeys(path for each in after for path in each.path)),
        found=_distinct(found),
        unshown=tuple(each for part in seen for each in part.unshown),
        bare_path=environ.get("PATH", ""),
        bare_variables=_homes(machine),
    )


def _look_at(text: str, repo: Path | None, machine: ToolchainHome) -> _SeenFolder:
    try:
        return _look_into(text, repo, machine)
    except _UNREADABLE as error:
        return _SeenFolder(unshown=(Unshown(text, f"it cannot be looked at ({error})"),))


# Folders of others raise the first; `Path.resolve` raises the second for links in a circle.
_UNREADABLE: Final = (OSError, RuntimeError)


def _ask(layout: Layout, place: PathFolder, machine: ToolchainHome) -> tuple[Toolchain, ...] | None:
    """Return what a layout finds; a manager whose own folder cannot be read finds nothing."""
    try:
        return layout(place, machine)
    except _UNREADABLE:
        return None


def _look_into(text: str, repo: Path | None, machine: ToolchainHome) -> _SeenFolder:
    folder = Path(text)
    if not folder.is_absolute():
        return _refused(text or ".", "it is relative to wherever a command runs", Path.cwd() / text)
    if not folder.is_dir() or folder.resolve() in _SYSTEM_PATH:
        return _SeenFolder()
    if reason := reason_against(folder, machine.home, repo):
        return _refused(text, reason, folder)
    place = PathFolder(folder, folder.resolve())
    answers = (_ask(layout, place, machine) for layout in _LAYOUTS)
    found = next((each for each in answers if each is not None), None)
    if found is None:
        if any(place.real.is_relative_to(each) for each in _SYSTEM):
            return _SeenFolder((Toolchain("programs", "", (place.real,), ()),))
        return _SeenFolder(unshown=(Unshown(text, programs=_programs_in(folder)),))
    return _trusted(text, found, repo, machine)


def _trusted(
    text: str, found: tuple[Toolchain, ...], repo: Path | None, machine: ToolchainHome
) -> _SeenFolder:
    """Return the toolchains whose own folders can be trusted, which may lie elsewhere."""
    kept, refused = [], []
    for each in found:
        paths = dict.fromkeys((*each.path, *each.read))
        reasons = ((path, reason_against(path, machine.home, repo)) for path in paths)
        path, reason = next(((path, why) for path, why in reasons if why), (None, ""))
        if path is None:
            kept.append(each)
        else:
            programs = _programs_in(each.path[0])
            refused.append(Unshown(text, f"{path}: {reason}", programs or (each.name,)))
    return _SeenFolder(tuple(kept), tuple(refused))


def _refused(text: str, reason: str, folder: Path) -> _SeenFolder:
    return _SeenFolder(unshown=(Unshown(text, reason, _programs_in(folder)),))


def _programs_in(folder: Path) -> tuple[str, ...]:
    there = set(programs_in(folder))
    return tuple(name for name in BUILD_TOOLS if name in there)


def _java_home(repo: Path | None, machine: ToolchainHome) -> Iterator[Toolchain]:
    """Yield the JDK that JAVA_HOME names, which need not be on PATH."""
    named = Path(machine.environ.get("JAVA_HOME", ""))
    with contextlib.suppress(*_UNREADABLE):
        if named.is_absolute() and is_jdk(named) and not reason_against(named, machine.home, repo):
            yield jdk_in(named.resolve())


def _distinct(toolchains: tuple[Toolchain, ...]) -> tuple[Toolchain, ...]:
    """Return each toolchain once; two folders of PATH may lead to the same one."""
    distinct: dict[object, Toolchain] = {}
    for each in toolchains:
        distinct.setdefault((each.name, each.path), each)
    return tuple(distinct.values())


def _homes(machine: ToolchainHome) -> Mapping[str, str]:
    places = {name: machine.folder(name, *usual.split("/")) for name, usual in _HOMES.items()}
    homes = {
        name: str(place) for name, place in places.items() if os.access(place, os.R_OK | os.X_OK)
    }
    java = machine.environ.get("JAVA_HOME", "")
    return {**homes, "JAVA_HOME": java} if java else homes


def hidden_programs(toolchains: Toolchains) -> Mapping[str, Hidden]:
    """Return the programs in the folders of PATH that commands do not see, by their names."""
    hidden: dict[str, Hidden] = {}
    for each in toolchains.unshown:
        folder = Path(each.folder)
        if folder.is_absolute():
            for name in programs_in(folder):
                program = folder / name
                hidden.setdefault(name, Hidden(program, each.reason, needed_beside(program)))
    return hidden


def programs_in(folder: Path) -> Iterator[str]:
    """Yield the names of the programs in a folder; none where it cannot be read."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in itertools.islice(entries, _MOST_PROGRAMS):
            if entry.is_file() and os.access(entry.path, os.X_OK):
                yield entry.name


def with_named(toolchains: Toolchains, folders: tuple[Path, ...]) -> Toolchains:
    """Return the toolchains with the folders that the user names, which come first on PATH.

    Raises `InvalidInput` for one that is not a folder.
    """
    for each in folders:
        if not each.is_dir():
            raise InvalidInput(
                f"the sandbox cannot show {each}: it is not a folder",
                "correct --sandbox-path or the setting `sandbox.path`",
            )
    places = {str(each) for each in folders}
    shown = (Toolchain("programs", "", (each,), (each,)) for each in folders)
    return replace(
        toolchains,
        named=folders,
        found=(*shown, *toolchains.found),
        unshown=tuple(each for each in toolchains.unshown if each.folder not in places),
    )
