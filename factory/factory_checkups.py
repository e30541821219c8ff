"""Checks what the factory relies on: interpreter, sandbox, workspaces, and a repo's state."""

from __future__ import annotations

import contextlib
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from factory.agents import known_agents, launch, run_agent
from factory.preflight import RepoPlace, find_refusals, find_repo, holder, inspect_repo
from factory.run.recovery import find_run_leftovers
from factory.sandbox.detect import find_backends
from factory.sandbox.toolchains import Unshown
from factory.workbench.dependencies import (
    HELPS,
    Manifests,
    choose_python,
    is_remembered,
    ways_to_prepare,
)
from factory.workbench.judging_tools import toolchains_for
from factory.workbench.supplies import find_links
from factory.workbench.workspace import workspaces_root
from shared.errors import InvalidInput, LlmchError
from shared.events.events import Emit, Warned
from shared.files.text_sources import RepoSources
from shared.git.repos import Checkup, Health, check_folder
from shared.git.trees import tracked_files
from shared.processes.process import SYSTEM_PATH, ProgramMissing, ToolFailed, run_tool
from shared.projects.build_tools import find_verification
from shared.settings.settings import SandboxBackend, SandboxSettings, Settings

# The build tools that are asked for their version, and how; others would take a second.
_VERSIONS: Final = {
    "go": "version",
    "cargo": "--version",
    "node": "--version",
    "java": "--version",
    "deno": "--version",
    "bun": "--version",
    "dotnet": "--version",
}
_VERSION_SECONDS: Final = 10.0


def check_interpreter(named: str | None, repo: Path | None = None) -> Checkup:
    """Return which interpreter commands get, and why; the one `named` may not exist."""
    try:
        chosen = choose_python(named, repo)
    except InvalidInput:
        detail = f"{named} was not found"
        return Checkup("python", Health.BROKEN, detail, "correct --python or the setting `python`")
    own = ".".join(map(str, sys.version_info[:3]))
    detail = f"{own}; commands get {chosen.python}: {chosen.why}"
    return Checkup("python", Health.WELL, detail)


def check_sandboxes() -> Iterator[Checkup]:
    """Yield whether each sandbox works; one working sandbox is enough."""
    backends = find_backends()
    works = any(not each.problem for each in backends)
    for each in backends:
        name = f"{each.backend} {each.version}".strip()
        if not each.problem:
            yield Checkup("sandbox", Health.WELL, f"{name} works")
        else:
            health = Health.LIMITED if works else Health.BROKEN
            yield Checkup("sandbox", health, f"{name}: {each.problem}", each.remedy)


def check_toolchains(settings: SandboxSettings, folder: Path | None) -> Iterator[Checkup]:
    """Yield the build tools that commands find, and the folders of PATH that they do not see.

    `folder` is in the repo that may ask for other versions than the usual ones.
    """
    tree = _tree_of(folder) if folder else None
    try:
        toolchains = toolchains_for(tree, tree, settings)
    except LlmchError as error:
        yield Checkup("toolchains", Health.BROKEN, error.message, error.hint)
        return
    bare = settings.backend is SandboxBackend.OFF
    path = toolchains.search_path(SYSTEM_PATH)
    if bare:
        path = ":".join((*map(str, toolchains.named), toolchains.bare_path))
    yield from filter(None, (_check_tool(name, path) for name in _VERSIONS))
    for found in toolchains.found:
        if found.note:
            yield Checkup("toolchain", Health.LIMITED, found.note, "install that version")
    for each in () if bare else toolchains.unshown:
        health = Health.LIMITED if each.programs else Health.WELL
        yield Checkup("path", health, each.describe(), _remedy_for(each))


def check_agents() -> Iterator[Checkup]:
    """Yield the agents that llmch knows and that are here, and whether they work.

    A version that nobody has tried is started once, without a model and a network.
    """
    for name in known_agents.found_agents():
        try:
            launch.require_bwrap()
            agent = known_agents.agent_named((name,))
            problem = run_agent.find_problem(agent)
        except LlmchError as error:
            yield Checkup("agent", Health.LIMITED, f"{name}: {error.message}", error.hint)
            continue
        if problem:
            remedy = f"install version {known_agents.tried_version(name)}, which was tried"
            yield Checkup("agent", Health.LIMITED, f"{agent.title}: {problem}", remedy)
        else:
            yield Checkup("agent", Health.WELL, f"{agent.title} works: --proposer {name}")


def _tree_of(folder: Path) -> Path | None:
    try:
        return find_repo(folder).tree
    except LlmchError:
        return None


def _remedy_for(unshown: Unshown) -> str:
    if not Path(unshown.folder).is_absolute():
        return "put its absolute path on PATH, or pass --sandbox-path"
    if unshown.reason:
        return f"change that, or pass --sandbox-path {unshown.folder} if you trust it"
    return f"pass --sandbox-path {unshown.folder} or set `sandbox.path` if commands need it"


def _check_tool(name: str, path: str) -> Checkup | None:
    """Return which version of a build tool commands find, by its own word; `None` without it."""
    program = shutil.which(name, path=path)
    if program is None:
        return None
    env = {"PATH": path, "HOME": "/", "LC_ALL": "C", "GOTOOLCHAIN": "local"}
    argv = [program, _VERSIONS[name]]
    try:
        done = run_tool(argv, cwd=Path("/"), env=env, timeout_seconds=_VERSION_SECONDS)
    except (ProgramMissing, ToolFailed) as error:
        return Checkup("toolchain", Health.LIMITED, str(error))
    said = (done.stdout or done.stderr).decode("utf-8", "replace").strip().partition("\n")[0]
    if done.timed_out or done.exit_code:
        return Checkup("toolchain", Health.LIMITED, f"{program} does not say its version: {said}")
    return Checkup("toolchain", Health.WELL, f"{name}: {said[:80]} ({program})")


def warn_before_plan(
    folder: Path, settings: Settings, emit: Emit, *, branch: str | None = None
) -> bool:
    """Report what `run-all` would refuse in the repo of `folder`, as far as it is seen cheaply.

    Return whether `--deps auto` would install packages that are missing.
    """
    with contextlib.suppress(LlmchError):  # whoever plans then says it in other words
        place = find_repo(folder)
        for refused in find_refusals(place, allow_detached=branch is not None):
            emit(Warned(f"run-all would refuse this repo: {refused.message} ({refused.hint})"))
        if ways := ways_to_make_ready(place, settings):
            emit(Warned(f"run-all may need packages that are not here: {'; '.join(ways)}"))
            return any(HELPS in each for each in ways)
    return False


def ways_to_make_ready(place: RepoPlace, settings: Settings) -> tuple[str, ...]:
    """Return what a person can do about declared packages that commands would not find."""
    repo = inspect_repo(place, allow_dirty=True, allow_detached=True)
    files = Manifests.of(place.tree, tracked_files(place.git))
    linked = (each.linked.path for each in find_links(settings.link, repo).candidates)
    python = choose_python(settings.python, place.tree).python
    return tuple(ways_to_prepare(files, python, frozenset(linked), missed=False))


def check_dependencies(folder: Path, settings: Settings) -> Iterator[Checkup]:
    """Yield which declared packages commands would not find, and what helps, if any."""
    with contextlib.suppress(LlmchError):  # the checkup of the repo says it
        ways = ways_to_make_ready(find_repo(folder), settings)
        if ways and is_remembered(folder):
            detail = "runs prepare what is declared (--deps auto), as you answered for this repo"
            yield Checkup("dependencies", Health.WELL, detail)
        elif ways:
            detail = "verification may need declared packages that are not here"
            yield Checkup("dependencies", Health.LIMITED, detail, "; ".join(ways))


def check_workspaces() -> Checkup:
    """Return whether the folder for working trees can be written and has room."""
    return check_folder("workspaces", workspaces_root(), "LLMCH_WORKSPACES")


def check_repo(folder: Path, chosen: Sequence[str] = ()) -> Iterator[Checkup]:
    """Yield whether a run could start in the repo at `folder`, and what an earlier run left.

    `chosen` is the setting `verify`.
    """
    try:
        place = find_repo(folder)
        repo = inspect_repo(place, allow_dirty=True, allow_detached=True)
    except LlmchError as error:
        yield Checkup("repo", Health.BROKEN, error.message, error.hint)
        return
    refusals = find_refusals(place)
    if not refusals:
        yield Checkup("repo", Health.WELL, f"{repo.tree} on {repo.branch} at {repo.head[:10]}")
    for refused in refusals:
        yield Checkup("repo", Health.LIMITED, refused.message, refused.hint)
    if repo.ignored_filters:
        names = ", ".join(repo.ignored_filters)
        detail = f"filters that only the repo's own config defines do not run: {names}"
        yield Checkup("repo", Health.LIMITED, detail, "trust them with --allow-repo-filters")
    yield from _check_verification(place, chosen)
    yield _check_leftovers(place)


def _check_verification(place: RepoPlace, chosen: Sequence[str]) -> Iterator[Checkup]:
    files = RepoSources(place.tree, tracked_files(place.git))
    found = find_verification(files, chosen)
    health = Health.WELL if found.is_known else Health.LIMITED
    yield Checkup("verification", health, found.describe())
    for note in found.notes:
        detail, _, remedy = note.partition(": `--verify ")
        yield Checkup(
            "verification", Health.LIMITED, detail, f"`--verify {remedy}" if remedy else ""
        )


def _check_leftovers(place: RepoPlace) -> Checkup:
    pid = holder(place.common_dir)
    if pid is not None:
        detail = f"a run holds the repo (pid {pid})"
        return Checkup("lock", Health.LIMITED, detail, "wait until that run ends")
    trees = len(find_run_leftovers(place).workspaces)
    if not trees:
        return Checkup("leftovers", Health.WELL, "none")
    detail = f"{trees} working {'tree' if trees == 1 else 'trees'} of a run that was cut off"
    remedy = "the next run removes them, and so does `llmch reset`"
    return Checkup("leftovers", Health.LIMITED, detail, remedy)
