"""Lists the build tools, and finds what verifies a repository.

The first of these that says anything decides: the setting `verify`; `scripts/verify.sh`; the
manifests, all of them, with a makefile only where no other does; and, where nothing says how the
repository is tested, what is usual for Python, or nothing at all.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePosixPath
from typing import Final

from shared.files.paths import VERIFY_SCRIPT
from shared.projects.manifests import (
    BuildTool,
    Project,
    RepoFiles,
    VerifyCommand,
    is_tracked,
    parse_json,
)
from shared.projects.project_kinds import (
    COMMANDS,
    Cargo,
    DotNet,
    Go,
    Gradle,
    Make,
    Maven,
    Node,
    Python,
    test_script,
)

BUILD_TOOLS: Final[tuple[BuildTool, ...]] = (
    Python(),
    Node(),
    Go(),
    Cargo(),
    Maven(),
    Gradle(),
    DotNet(),
    Make(),
)


def find_projects(files: RepoFiles) -> tuple[Project, ...]:
    """Return the projects at the root of a repository, in the order of `BUILD_TOOLS`."""
    found = (tool.read(files) for tool in BUILD_TOOLS)
    return tuple(each for each in found if each is not None)


# Toolchains, by the file that shows that the project is built with them.
PROGRAMS_BY_FILE: Final[Mapping[str, re.Pattern[str]]] = {
    program: re.compile(pattern)
    for programs, pattern in {
        "node npm npx pnpm yarn bun": r"package\.json",
        "cargo": r"Cargo\.toml",
        "go gofmt": r"go\.mod",
        "make": r"(?:GNUm|[Mm])akefile",
        "mvn": r"pom\.xml",
        "gradle": r"build\.gradle.*",
        "dotnet": r".*\.(?:csproj|fsproj|vbproj|slnx?)",
        "ruby bundle rake": r"Gemfile",
        "php composer": r"composer\.json",
        "cmake ctest": r"CMakeLists\.txt",
        "cc gcc g++ clang": r".*\.(?:c|cc|cpp|cxx)",
        "bats": r".*\.bats",
        "bazel": r"MODULE\.bazel|WORKSPACE(?:\.bazel)?",
        "cabal stack ghc": r".*\.cabal|stack\.yaml",
        "dart flutter": r"pubspec\.yaml",
        "deno": r"deno\.jsonc?",
        "dune": r"dune-project",
        "julia": r"Project\.toml",
        "just": r"[Jj]ustfile",
        "meson ninja": r"meson\.build",
        "mix elixir": r"mix\.exs",
        "R Rscript": r"DESCRIPTION",
        "sbt": r"build\.sbt",
        "swift": r"Package\.swift",
        "zig": r"build\.zig",
    }.items()
    for program in programs.split()
}

# These make files that no listing shows, as do some tools of languages (`makes_files`).
BUILDERS: Final = frozenset({"make", "cmake", "gcc", "cc", "g++", "clang"})
# Tools put files into these folders, and git ignores them, so a listing does not show them.
GENERATED_FOLDERS: Final = frozenset({"node_modules", "vendor", "target", "build", "dist", "venv"})

# Tools rewrite these files as a whole, from everything else in the repo.
LOCK_FILES: Final = frozenset(
    {
        "package-lock.json", "yarn.lock", "pnpm-lock.yaml", "poetry.lock", "uv.lock", "pdm.lock",
        "Pipfile.lock", "Cargo.lock", "go.sum", "Gemfile.lock", "composer.lock",
        "requirements.lock",
    }
)  # fmt: skip

# A plan nearly always depends on these files, so they come first where the repo has them.
LANDMARKS: Final = (
    "scripts/verify.sh", "pyproject.toml", "README.md", "requirements.txt", "package.json",
    "Makefile", "go.mod", "Cargo.toml", "tsconfig.json", "pom.xml", "build.gradle",
)  # fmt: skip

PACKAGE_TOOLS: Final = frozenset({"npm", "pnpm", "yarn", "bun"})
"""The programs that run the scripts of a `package.json`."""

_DECLARING: Final = ("pyproject.toml", "setup.cfg", "setup.py")
BRINGING: Final = (*_DECLARING, VERIFY_SCRIPT)
"""The files of a project that may say which programs its installation brings."""


def may_come(
    program: str, files: Collection[str], allowed: Collection[str], bringing: Iterable[str]
) -> bool:
    """Return whether the project may bring the program before the command runs.

    `files` are the paths of the project, `allowed` those that the order may write, and `bringing`
    are the texts of its files named in `BRINGING`.
    """
    # The verification is not among them: most plans write it, and it installs nothing by itself.
    if any(path in _DECLARING for path in allowed):
        return True
    named = (PurePosixPath(path) for path in (*files, *allowed))
    if any(program in (path.name, path.stem) for path in named):
        return True
    word = re.compile(rf"(?<![\w.-]){re.escape(program)}(?![\w-])")
    return any(word.search(text) for text in bringing)


_NAMED: Final = 3  # manifests that a note is made of; further ones are counted
_LOOKED_AT: Final = 30  # manifests that are considered at all
_PLAIN = re.compile(r"[\w][\w.@+/-]{0,200}")
_OTHERS: Final = re.compile(
    r"(?:^|/)(?:node_modules|vendor|third_party|testdata|fixtures|target|build|dist|examples?|docs?"
    r"|tests?|__tests__|e2e|templates?|\.[^/]*)/"
)
# Each manifest with the command that tests its folder.
_COMMANDS: Final = {
    "package.json": "npm --prefix {0} test",
    "go.mod": "env -C {0} go test ./...",
    "Cargo.toml": "cargo test --manifest-path {0}/Cargo.toml",
    "pom.xml": "mvn --file {0} --batch-mode test",
    "build.gradle": "gradle --no-daemon --project-dir {0} test",
    "build.gradle.kts": "gradle --no-daemon --project-dir {0} test",
}
# Projects at the root that run what is below them. Go runs nothing of a module within a module.
_RUN_BY: Final = {
    "Cargo.toml": frozenset({"Cargo"}),
    "pom.xml": frozenset({"Maven", "Gradle"}),
    "build.gradle": frozenset({"Maven", "Gradle"}),
    "build.gradle.kts": frozenset({"Maven", "Gradle"}),
}
_ENDS: Final = tuple(f"/{name}" for name in _COMMANDS)


def nested_notes(files: RepoFiles, projects: Sequence[Project]) -> Iterator[str]:
    """Yield a note on each of the first manifests below the root whose tests are not run."""
    found = list(_not_run(files, projects))
    for path in found[:_NAMED]:
        folder, _, name = path.rpartition("/")
        command = _COMMANDS[name].format(shlex.quote(folder))
        yield (
            f"{path} is not run: `--verify '{command}'` runs it, and one more --verify each of the "
            "other commands"
        )
    if len(found) > _NAMED:
        yield f"{len(found) - _NAMED} more manifests below the root are not run"


def _not_run(files: RepoFiles, projects: Sequence[Project]) -> Iterator[str]:
    tools = {each.tool for each in projects}
    candidates = [path for path in files.paths if path.endswith(_ENDS)]
    for path in candidates[:_LOOKED_AT]:
        name = path.rpartition("/")[2]
        if _OTHERS.search(path) or not _PLAIN.fullmatch(path):
            continue
        if tools & _RUN_BY.get(name, frozenset()) or _is_run_by_workspace(name, files):
            continue
        if name != "package.json" or _has_tests(files.text(path)):
            yield path


def _has_tests(manifest: str | None) -> bool:
    document = parse_json(manifest)
    return document is not None and test_script(document).runs


def _is_run_by_workspace(name: str, files: RepoFiles) -> bool:
    """Return whether a workspace of npm holds the package, as far as the root says."""
    if name != "package.json":
        return False
    root = parse_json(files.text(name)) if is_tracked(files, name) else None
    return "workspaces" in (root or {}) or is_tracked(files, "pnpm-workspace.yaml")


_SETTING: Final = "the setting verify"
_USUAL: Final = "usual for Python"


class Ground(StrEnum):
    """Name what a verification rests on.

    `USUAL` and `NOTHING` prove nothing about the repository: commits on it rest on acceptance.
    """

    SETTING = "setting"
    SCRIPT = "script"
    MANIFESTS = "manifests"
    USUAL = "usual"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True)
class Verification:
    """Hold the commands that verify a tree, and what they rest on.

    `projects` are those whose manifests were read; empty if these decide nothing. `notes` say
    in sentences what is not run, and why.
    """

    commands: tuple[VerifyCommand, ...]
    ground: Ground
    projects: tuple[Project, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def is_known(self) -> bool:
        """Return whether the user or the repository says how it is verified."""
        return self.ground not in (Ground.USUAL, Ground.NOTHING)

    def describe(self, writes: Sequence[tuple[str, Collection[str]]] = ()) -> str:
        """Return the commands, and where they come from, as one line.

        `writes` are the orders to be made, with the paths that each may write.
        """
        if not self.is_known and (found := _to_come(writes)):
            maker, what, is_first = found
            before = "" if is_first else "; those before it rest on their acceptance commands alone"
            return (
                f"nothing says yet how this repo is verified: {maker} writes {what} "
                f"it and each order after it{before}"
            )
        if not self.is_known:
            return (
                "nothing says how this repo is verified, so commits rest on the acceptance "
                "commands alone: --verify CMD names a command"
            )
        return f"verified by {', '.join(self._by_origin())}"

    def _by_origin(self) -> Iterator[str]:
        for origin in dict.fromkeys(each.origin for each in self.commands):
            texts = [f"`{each.text}`" for each in self.commands if each.origin == origin]
            yield f"{' and '.join(texts)} ({origin})"


_BY_MANIFEST: Final = {
    VERIFY_SCRIPT: "which verifies",
    "go.mod": "so `go test` verifies",
    "Cargo.toml": "so `cargo test` verifies",
    "pom.xml": "so Maven verifies",
    "package.json": "whose test script, if it has one, verifies",
}


def _to_come(writes: Sequence[tuple[str, Collection[str]]]) -> tuple[str, str, bool] | None:
    """Return the first order that says how a repo is verified, by what, and if it comes first."""
    for path, how in _BY_MANIFEST.items():
        for index, (maker, paths) in enumerate(writes):
            if path in paths:
                return maker, f"{path}, {how}", index == 0
    return None


def find_verification(
    files: RepoFiles, chosen: Sequence[str] = (), known: tuple[Project, ...] | None = None
) -> Verification:
    """Return what verifies the tree of `files`; `chosen` is the setting `verify`.

    `known` are the projects of the tree; without them, they are looked for where they count.
    """
    if chosen:
        commands = tuple(VerifyCommand(each, _SETTING) for each in chosen)
        return Verification(commands, Ground.SETTING)
    if files.text(VERIFY_SCRIPT) is not None:
        command = VerifyCommand(f"bash {VERIFY_SCRIPT}", VERIFY_SCRIPT)
        return Verification((command,), Ground.SCRIPT)
    projects = find_projects(files) if known is None else known
    notes = (*_script_notes(files), *_project_notes(projects), *nested_notes(files, projects))
    if commands := _commands_of(projects):
        return Verification(commands, Ground.MANIFESTS, projects, notes)
    if all(each.tool in (Python.name, "make") for each in projects):
        usual = tuple(VerifyCommand(each, _USUAL) for each in COMMANDS)
        return Verification(usual, Ground.USUAL, projects, notes)
    return Verification((), Ground.NOTHING, projects, notes)


def _commands_of(projects: Sequence[Project]) -> tuple[VerifyCommand, ...]:
    """Return the commands of all projects; those of a makefile only where no other has any."""
    own = [each for project in projects if project.tool != "make" for each in project.verify]
    return tuple(own or (each for project in projects for each in project.verify))


def _project_notes(projects: Sequence[Project]) -> Iterator[str]:
    others = any(each.verify for each in projects if each.tool != "make")
    for each in projects:
        if each.tool != "make" or not others:
            yield from each.notes


def _script_notes(files: RepoFiles) -> Iterator[str]:
    if is_tracked(files, VERIFY_SCRIPT):
        yield f"{VERIFY_SCRIPT} is not run: it is a link, too large, or not UTF-8"
