"""Runs the tools that judge code, and finds their toolchains.

A compiler may run what it compiles: build scripts and macros are a stranger's code.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from factory.sandbox.lent_folders import (
    WITHOUT_C,
    go_seed,
    keep_files,
    kept_seed,
    most_alike,
    required_imports,
    seed_folder,
    seed_is_kept,
    standard_imports,
)
from factory.sandbox.policy import GO_CACHE, Cause, Policy
from factory.sandbox.toolchain_search import find_toolchains, with_named
from factory.sandbox.toolchains import NO_TOOLCHAINS, ToolchainHome, Toolchains, changed_ns
from factory.workbench.workspace import Workspace, remove_tree, seeds_root
from shared.errors import CommandFailed, LlmchError
from shared.events.events import Emit, Noted, Warned
from shared.files.paths import path_inside
from shared.files.text_sources import RepoSources
from shared.languages.language_tools import ToolMissing, ToolResult, WarmBuild
from shared.processes.pinned_tools import tools_root
from shared.processes.process import SYSTEM_PATH
from shared.settings.settings import SandboxBackend, SandboxNet, SandboxSettings

if TYPE_CHECKING:
    from factory.sandbox.runner import Sandbox


_KEPT = "target"  # where a compiler keeps what it has compiled
_MOST_BYTES = 4 * 1024 * 1024  # of each stream; a compiler that complains more says nothing new


@dataclass(frozen=True, slots=True)
class _Opened:
    """Hold a sandbox, with the folder of its files and that of its logs."""

    sandbox: Sandbox
    files: Path
    logs: Path


class SandboxRunner:
    """Implement `ToolRunner`: each program has a sandbox without network, made when it is asked.

    Several threads may ask; they take turns. `close` removes all folders.
    """

    def __init__(
        self, settings: SandboxSettings, checkout: Path | None = None, python: Path | None = None
    ) -> None:
        """Run tools as `settings` say; none is taken from the folder `checkout`.

        They find the interpreter `python`, and without one that which runs llmch.

        Tools have no network and write to no path of the settings, whatever these allow commands.
        """
        self._settings = settings
        self._checkout = checkout
        self._python = python or Path(sys.executable)
        self._lock = threading.Lock()
        self._folders: list[Path] = []
        self._opened: dict[str, _Opened] = {}
        self._toolset = Toolset()

    def run(self, files: Mapping[str, str], argv: Sequence[str], *, seconds: float) -> ToolResult:
        """Run `argv` on `files`; the folder `target` of the last run is there, too.

        Raises `ToolMissing` if the program, or a sandbox for it, is not there.
        """
        with self._lock:
            try:
                return self._run(files, argv, seconds)
            except (LlmchError, OSError) as error:
                raise ToolMissing(f"{argv[0]} could not be run: {error}") from error

    def _run(self, files: Mapping[str, str], argv: Sequence[str], seconds: float) -> ToolResult:
        opened = self._opened.get(argv[0]) or self._open(argv[0])
        if argv[0] == "go" and (seed := self._seed_for(files)) is not None:
            opened.sandbox.reseed({GO_CACHE: seed})
        _clear(opened.files)
        _write(opened.files, files)
        log = opened.logs / "tool"
        ended = opened.sandbox.run(argv, timeout_seconds=seconds, log=log)
        exit_code = ended.exit_code if ended.cause is Cause.EXITED else None
        return ToolResult(exit_code, _text(log, "stdout"), _text(log, "stderr"))

    def _seed_for(self, files: Mapping[str, str]) -> Path | None:
        """Return a new seed of Go's cache, where files import what the last one does not have."""
        path = path_of(self._toolset.toolchains, self._settings)
        before, sources = self._toolset.go_seed, (files[each] for each in files)
        self._toolset = self._toolset.with_imports((*sources, _TESTING), path, lambda _: None)
        return self._toolset.go_seed if self._toolset.go_seed != before else None

    def _open(self, program: str) -> _Opened:
        from factory.sandbox.detect import open_sandbox

        folder = Path(tempfile.mkdtemp(prefix="llmch-tools-"))
        self._folders.append(folder)
        files, private, logs = (folder / name for name in ("files", "private", "logs"))
        for each in (files, private, logs):
            each.mkdir(mode=0o700)
        sandbox = open_sandbox(self._settings.backend, self._policy(program, files, private))
        if not sandbox.has_program(program):
            raise ToolMissing(f"{program} is not installed")
        self._opened[program] = _Opened(sandbox, files, logs)
        return self._opened[program]

    def _policy(self, program: str, files: Path, private: Path) -> Policy:
        settings = self._settings
        if Path(program).is_relative_to(tools_root()):  # fetched, and shown to no other command
            settings = replace(settings, path=(*settings.path, Path(program).parent))
        toolchains = toolchains_for(None, self._checkout, settings)
        if program == "go":
            go = shutil.which("go", path=path_of(toolchains, settings))
            self._toolset = Toolset(toolchains, go=Path(go) if go else None)
        named = {name: os.environ[name] for name in settings.env if name in os.environ}
        crates = fetched_crates(files.with_name("cargo")) if program == "cargo" else ()
        if crates:
            named["CARGO_HOME"] = str(crates[0])
        return Policy(
            workspace=files,
            git_dir=None,
            private=private,
            python=self._python,
            network=SandboxNet.NONE,
            read=(*settings.read, *crates),
            environment=named,
            toolchains=toolchains,
        )

    def close(self) -> None:
        """Remove the folders. No tool may be running."""
        with self._lock:
            self._opened.clear()
            while self._folders:
                shutil.rmtree(self._folders.pop(), ignore_errors=True)


def fetched_crates(home: Path) -> tuple[Path, ...]:
    """Make `home` a home of Cargo that has the crates which were fetched on this machine.

    Neither the person's settings of Cargo nor their credentials are in it. Return the folders that
    are to be shown, `home` first; none where nothing was fetched.
    """
    registry = ToolchainHome(Path.home(), os.environ).folder("CARGO_HOME", ".cargo") / "registry"
    if not registry.is_dir():
        return ()
    home.mkdir()
    (home / "registry").symlink_to(registry.resolve())
    return home, registry.resolve()


def _clear(folder: Path) -> None:
    """Remove what the last run left. A link of the tool must not lead the next files elsewhere."""
    for each in folder.iterdir():
        is_folder = each.is_dir() and not each.is_symlink()
        if not is_folder:
            each.unlink()
        elif each.name != _KEPT:
            shutil.rmtree(each)


def _write(folder: Path, files: Mapping[str, str]) -> None:
    """Write the files. Raises `OSError` for a path that is not one of a file in the folder."""
    for path, text in files.items():
        if path_inside(path) != path or path.split("/", 1)[0] == _KEPT:
            raise OSError(f"{path} cannot be shown to a tool")
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8", errors="replace")


def _text(log: Path, stream: str) -> str:
    with suppress(OSError), log.with_name(f"{log.name}.{stream}.log").open("rb") as file:
        return file.read(_MOST_BYTES).decode("utf-8", "replace")
    return ""


_MOST_SOURCES: Final = 2_000  # Go files that are read for their imports
_MOST_SCRIPTS: Final = 100
_SCRIPT: Final = re.compile(
    r"(?:^|/)(?:(?:GNUm|M|m)akefile|[Jj]ustfile|Taskfile\.ya?ml)$|\.(?:sh|mk)$"
)
_SETS_NO_C: Final = re.compile(r"\bCGO_ENABLED\s*(?:[:?]?=|:)\s*[\"']?0\b")


@dataclass(frozen=True, slots=True)
class Toolset:
    """Hold the toolchains that commands see, and the seed of Go's cache where the repo has Go.

    `packages` are those of Go's standard library that are in the seed, by the program `go`, and
    `required` are the others that were imported.
    """

    toolchains: Toolchains = NO_TOOLCHAINS
    go_seed: Path | None = None
    go: Path | None = None
    packages: frozenset[str] = frozenset()
    required: frozenset[str] = frozenset()

    def with_imports(self, sources: Iterable[str], path: str, emit: Emit) -> Toolset:
        """Return the toolset with a seed that has what Go sources import besides, compiled once.

        `path` is the PATH of commands.
        """
        sources = tuple(sources)
        if self.go is None or not sources:
            return self
        required = self.required | required_imports(sources)
        packages = self.packages | standard_imports(sources, self.go)
        if packages == self.packages and (packages or self.go_seed):
            return replace(self, required=required)
        seed = _seed(self.go, path, packages, emit) or self.go_seed
        return replace(self, packages=packages, required=required, go_seed=seed)

    def warm(
        self, policy: Policy, builds: Iterable[WarmBuild], backend: SandboxBackend, emit: Emit
    ) -> Policy:
        """Return the policy with the seeds of its caches, in which the builds were made.

        A build is made once a machine, in a sandbox without network that shows no file of the repo.
        """
        seeds = {} if self.go_seed is None else {GO_CACHE: self.go_seed}
        imports = sorted(self.packages | self.required) if self.required else []
        for build in builds:
            if imports or not build.takes_imports:
                argv = (*build.argv, *(imports if build.takes_imports else ()))
                alone = replace(policy, seeds=seeds)
                made = _made(replace(build, argv=argv), alone, backend, emit)
                seeds |= {build.cache: made} if made else {}
        return replace(policy, seeds=seeds)


def find_toolset(
    workspace: Workspace, checkout: Path, settings: SandboxSettings, emit: Emit
) -> Toolset:
    """Return the toolset for a workspace whose tree is its baseline.

    No folder inside `checkout`, the user's own tree, is taken for a toolchain. Raises
    `InvalidInput` if the setting `sandbox.path` names something else than a folder.
    """
    toolchains = toolchains_for(workspace.root, checkout, settings)
    files = sorted(workspace.listings.files_of(workspace.git, workspace.baseline))
    path = path_of(toolchains, settings)
    go = shutil.which("go", path=path)
    if go is None or not any(each.rpartition("/")[2] == "go.mod" for each in files):
        return Toolset(toolchains, go=Path(go) if go else None)
    sources = RepoSources(workspace.root)
    without = compiles_without_c(sources, files, settings)
    toolset = Toolset(toolchains, None, Path(go), frozenset({WITHOUT_C} if without else ()))
    return toolset.with_imports((*go_sources(sources, files), _TESTING), path, emit)


_TESTING: Final = 'import "testing"\n'  # so that there is a seed where nothing is imported


def path_of(toolchains: Toolchains, settings: SandboxSettings) -> str:
    """Return the PATH of commands."""
    bare = settings.backend is SandboxBackend.OFF
    return toolchains.search_path((bare and toolchains.bare_path) or SYSTEM_PATH)


def toolchains_for(
    tree: Path | None, checkout: Path | None, settings: SandboxSettings
) -> Toolchains:
    """Return the toolchains for the commands of the repo whose files are in `tree`, if any.

    Raises `InvalidInput` as `find_toolset` does.
    """
    text_of = RepoSources(tree).read if tree else _no_text
    return with_named(find_toolchains(checkout, text_of), settings.path)


def _no_text(path: str) -> None:
    return None


def go_sources(sources: RepoSources, files: Iterable[str]) -> Iterator[str]:
    paths = [each for each in files if each.endswith(".go")][:_MOST_SOURCES]
    return (text for each in paths if (text := sources.read(each)) is not None)


def compiles_without_c(
    sources: RepoSources, files: Iterable[str], settings: SandboxSettings
) -> bool:
    """Return whether commands may set `CGO_ENABLED=0`, by the settings or by the repo's scripts."""
    name, _, value = WITHOUT_C.partition("=")
    if name in settings.env and os.environ.get(name) == value:
        return True
    paths = [each for each in files if _SCRIPT.search(each)][:_MOST_SCRIPTS]
    return any(_SETS_NO_C.search(sources.read(each) or "") for each in paths)


def _seed(go: Path, path: str, packages: frozenset[str], emit: Emit) -> Path | None:
    """Return the seed of Go's cache; without one, each attempt compiles the standard library."""
    kept = seeds_root()
    try:
        if not seed_is_kept(go, packages, kept):
            emit(Noted("compiling the parts of Go's standard library that the repo imports, once"))
        return go_seed(go, path, packages, kept)
    except (CommandFailed, OSError) as error:
        reason = error.message if isinstance(error, CommandFailed) else error.strerror or str(error)
        emit(Warned(f"Go's standard library could not be compiled beforehand: {reason}"))
        return None


_BUILD_SECONDS: Final = 1_800.0  # what locks name may take far longer than a standard library


def _made(build: WarmBuild, policy: Policy, backend: SandboxBackend, emit: Emit) -> Path | None:
    """Return the seed of a build; without one, each attempt compiles what the lock names."""
    tools = policy.toolchains
    tool = Path(shutil.which(build.tool, path=tools.search_path(SYSTEM_PATH)) or build.tool)
    own = [build.cache, dict(build.files), dict(policy.environment), changed_ns(tool)]
    seen = [*map(str, policy.read)]  # code of a lock may copy what it reads into what is kept
    by = json.dumps([*own, seen, tools.identity(), backend], sort_keys=True)
    folder = seed_folder(seeds_root(), by, " ".join(build.argv))
    if not folder.is_dir():
        emit(Noted("compiling the packages that the target's lock names, once"))
    try:
        return kept_seed(folder, lambda: _make(build, policy, backend, folder, emit))
    except (LlmchError, OSError) as error:
        emit(Warned(f"the target's packages could not be compiled beforehand: {error}"))
        return None


def _make(
    build: WarmBuild, policy: Policy, backend: SandboxBackend, folder: Path, emit: Emit
) -> None:
    """Have a build fill a cache, and keep that as the seed `folder`.

    What a build compiled before it failed is kept, too, and nothing of one with too many bytes:
    the next run would come no further. Raises what a sandbox raises.
    """
    from factory.sandbox.detect import open_sandbox

    making = Path(tempfile.mkdtemp(dir=folder.parent, prefix="making-"))
    files, private, kept = (making / name for name in ("files", "private", "kept"))
    try:
        for each in (files, private, kept):
            each.mkdir(mode=0o700)
        _write(files, build.files)
        seeds = dict(policy.seeds)
        for alike in most_alike(folder):
            seeds[build.cache] = alike
        alone = replace(
            policy,
            workspace=files,
            git_dir=None,
            private=private,
            python=Path(sys.executable),
            network=SandboxNet.NONE,
            write=(),
            linked=(),
            seeds=seeds,
        )
        sandbox = open_sandbox(backend, alone)
        ended = sandbox.run(build.argv, timeout_seconds=_BUILD_SECONDS, log=making / "log")
        if not ended.ok:
            said = ended.reason or ended.stderr.text or ended.stdout.text
            reason = said.strip()[-500:] or ended.cause
            emit(Warned(f"not all packages that the target's lock names compile: {reason}"))
        if not keep_files(alone.cache(build.cache), kept):
            emit(
                Warned("compiled, the packages that the target's lock names are too large to keep")
            )
        kept.rename(folder)
    finally:
        remove_tree(files)
