"""Prepares the private folder of commands: layout, environment, bytecode.

Where PYTHONPYCACHEPREFIX is set, Python reads bytecode only below the folder that it names.
`target_path` resets the prefix as soon as it runs, but `.pth` files have imported modules before
that. For an editable install made by setuptools these are `pathlib` and all that it needs;
compiling them would cost each start of Python a third of a second. So the folder holds links to
the installed bytecode.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TypeAlias

from factory.sandbox.go_end import __file__ as go_end_file
from factory.sandbox.lent_folders import SeededCache, put_aside
from factory.sandbox.policy import GO_CACHE, Policy
from factory.sandbox.target_path import __file__ as target_path_file
from factory.sandbox.visible_files import (
    GitView,
    Interpreter,
    SandboxView,
    git_view,
    interpreter_of,
    view_of,
    write_program,
    write_programs,
)
from shared.errors import InvalidInput
from shared.files.secret_values import names_a_secret
from shared.processes.process import SYSTEM_PATH
from shared.settings.settings import SandboxNet

BYTECODE = "pycache"  # in the private /tmp
NODE_END = "own_end.cjs"
GO_END = "llmch-go-exec"
# Git shows commands a part of the repo, which Go's stamp of the commit trips over.
_GO_FLAGS = "-buildvcs=false"
# As `-v`, for `go test` alone: without it, only packages could be counted.
_GO_NAMES_TESTS = "-test.v"


def import_roots(workspace: Path) -> tuple[Path, Path]:
    """Return the folders of the target's modules; an order may be the first to write `src`."""
    return workspace, workspace / "src"


def build(
    *, workspace: Path, temporary: Path, path: str, site: Path, extra: Mapping[str, str]
) -> dict[str, str]:
    """Return all variables of a command, with paths as the command sees them.

    `path` is the command's PATH; `site` holds what each Python and each Node loads first. Raises
    `InvalidInput` if a name in `extra` looks like that of a secret.
    """
    for name in extra:
        if names_a_secret(name):
            raise InvalidInput(
                f"the sandbox does not pass {name} on: commands run code that a model wrote",
                "take it out of the sandbox's environment",
            )
    roots = (site, *import_roots(workspace))
    return {
        **_for_build_tools(temporary),
        **extra,
        # Cargo reads `.cargo/config.toml` in every folder above, and fails at one that it may see
        # and not read, as the user's own is under Landlock. It knows no other way to stop it.
        "__CARGO_TEST_ROOT": str(workspace),
        "NODE_OPTIONS": f"{_required(site)} {extra.get('NODE_OPTIONS', '')}".rstrip(),
        "GOFLAGS": f"{extra.get('GOFLAGS', _GO_FLAGS)} -exec={GO_END} {_GO_NAMES_TESTS}",
        "PATH": path,
        "LANG": "C.UTF-8",
        "HOME": str(temporary),
        "TMPDIR": str(temporary),
        "PYTHONPATH": ":".join(map(str, roots)),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPYCACHEPREFIX": str(temporary / BYTECODE),
        # The langsmith plugin comes with the graph library; many a test suite runs in less time
        # than its import takes.
        "PYTEST_ADDOPTS": "-p no:cacheprovider -p no:langsmith_plugin",
    }


def _required(site: Path) -> str:
    """Return the option by which each Node loads what tells an exit of the code under test."""
    path = str(site / NODE_END).replace("\\", "\\\\").replace('"', '\\"')
    return f'--require "{path}"'


def _for_build_tools(temporary: Path) -> dict[str, str]:
    """Return variables that keep tools from downloading, reporting, chance, and leaving HOME."""
    return {
        # Tests on generated inputs are to try equal ones on equal trees, and leave no files behind.
        # By the name that tox gives to `CI` and no other tool reads, hypothesis takes its profile
        # without chance, deadline and database; older versions keep their database out of the tree.
        "__TOX_ENVIRONMENT_VARIABLE_ORIGINAL_CI": "llmch",
        "HYPOTHESIS_STORAGE_DIRECTORY": str(temporary / "hypothesis"),
        "PROPTEST_RNG_SEED": "1",
        "PROPTEST_DISABLE_FAILURE_PERSISTENCE": "1",
        "GOTOOLCHAIN": "local",
        "GOTELEMETRY": "off",
        "npm_config_update_notifier": "false",
        "npm_config_fund": "false",
        # pnpm 10 would otherwise fetch the version that `packageManager` names, unless it was
        # Corepack that chose it. Scripts of pnpm do not see an `npm_config_` variable.
        "COREPACK_ROOT": "none",
        "DOTNET_CLI_TELEMETRY_OPTOUT": "1",
        "DOTNET_NOLOGO": "1",
        # Java looks its user's home up in the system's list of users and ignores HOME.
        "GRADLE_USER_HOME": str(temporary / ".gradle"),
        "MAVEN_OPTS": f"-Duser.home={temporary}",
    }


def offline() -> dict[str, str]:
    """Return variables by which tools fail at once where they would wait for a network."""
    return {"npm_config_offline": "true", "CARGO_NET_OFFLINE": "true"}


# By then every interpreter has imported some of these, and the usual .pth files the others.
_ALWAYS = frozenset(("__future__", "encodings", "_distutils_hack", "_virtualenv"))
_USUAL = frozenset(("distutils-precedence.pth", "_virtualenv.pth"))
# The finders of editable installs import these. Not every module is linked, because a file system
# may need half a millisecond for a link.
_OFTEN = frozenset(
    (
        *("collections", "contextlib", "copyreg", "enum", "fnmatch", "functools", "glob"),
        *("importlib", "ipaddress", "keyword", "ntpath", "operator", "pathlib", "re", "reprlib"),
        *("types", "typing", "urllib", "warnings"),
    )
)


def write_mirror(interpreter: Interpreter, mirror: Path) -> None:
    """Fill the empty folder `mirror` with links to installed bytecode.

    The bytecode is that of modules, and of packages one level deep.
    """
    for place, links in _links(interpreter):
        folder = mirror / place.relative_to("/")
        folder.mkdir(parents=True, exist_ok=True)
        for name, target in links:
            os.symlink(target, f"{folder}/{name}")  # noqa: PTH211  # pathlib takes twice as long


@cache
def _links(interpreter: Interpreter) -> tuple[tuple[Path, tuple[tuple[str, str], ...]], ...]:
    """Return the name and the target of each link, for each folder that imports come from.

    They are looked up once for all workbenches. Modules installed later are compiled each time.
    """
    places = _places(interpreter)
    wanted = _ALWAYS | _OFTEN if any(_runs_code(place) for place in places) else _ALWAYS
    return tuple(
        (
            place,
            tuple(
                (name, target)
                for name, target in _compiled(place, f".{interpreter.tag}.pyc")
                if name.partition(".")[0] in wanted or name.startswith("__editable__")
            ),
        )
        for place in places
    )


def link_mirror(interpreter: Interpreter, mirror: Path, prefix: Path) -> None:
    """Link from `prefix`, where commands can write, to the mirror, where they cannot."""
    for place in _outermost(interpreter):
        link = prefix / place.relative_to("/")
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(mirror / place.relative_to("/"))


@cache
def _outermost(interpreter: Interpreter) -> tuple[Path, ...]:
    """Return the folders that the first imports come from, without those inside another one."""
    found: list[Path] = []
    for place in _places(interpreter):
        if not any(place.is_relative_to(each) for each in found):
            found.append(place)
    return tuple(found)


_Facts: TypeAlias = tuple[int, str]
"""The mode of a file or folder, and where it leads if it is a link."""


def _facts_below(folder: str) -> Iterator[tuple[str, _Facts]]:
    """Yield the path and the facts of the folder and of all that it holds; no link is followed."""
    yield "", (os.lstat(folder).st_mode, "")
    waiting = [""]
    while waiting:
        here = waiting.pop()
        with os.scandir(folder + here) as entries:
            for entry in entries:
                path = f"{here}/{entry.name}"
                link = os.readlink(entry.path) if entry.is_symlink() else ""  # noqa: PTH115
                yield path, (entry.stat(follow_symlinks=False).st_mode, link)
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(path)


def _places(interpreter: Interpreter) -> list[Path]:
    """Return the folders that the first imports come from, outer folders before inner ones."""
    version = interpreter.library.name
    packages = (
        interpreter.prefixes[0] / "lib" / name / folder
        for name in (version, "python3")  # Debian uses the second name
        for folder in ("site-packages", "dist-packages")
    )
    places = (interpreter.library, *(each for each in packages if each.is_dir()))
    return sorted(places, key=lambda place: len(place.parts))


def _runs_code(place: Path) -> bool:
    """Return whether a `.pth` file of the folder, other than the usual ones, imports modules."""
    for file in place.glob("*.pth"):
        if file.name not in _USUAL:
            with contextlib.suppress(OSError):
                if any(line.startswith(b"import") for line in file.read_bytes().splitlines()):
                    return True
    return False


def _compiled(place: Path, suffix: str) -> Iterator[tuple[str, str]]:
    with contextlib.suppress(FileNotFoundError):
        for entry in os.scandir(place / "__pycache__"):
            if entry.name.endswith(suffix):
                yield entry.name, entry.path
    for entry in os.scandir(place):
        if entry.is_dir(follow_symlinks=False):
            yield entry.name, f"{entry.path}/__pycache__"


_OWN_PACKAGES = ("llmch", "planner", "factory", "shared")


@dataclass(frozen=True, slots=True)
class Layout:
    """Hold a policy with its paths resolved and everything it needs on the disk."""

    policy: Policy
    interpreter: Interpreter
    view: SandboxView
    git: GitView | None
    caches: Mapping[str, SeededCache]
    """The build caches, by their names in the policy."""
    _laid_out: dict[str, _Facts] = field(default_factory=dict)
    """The content of the command's /tmp before the first command."""

    @property
    def programs(self) -> Path:
        """Return the folder of programs, where no command can write.

        It holds `bin` (python, pytest, pip), `site` (the command's sitecustomize) and `bytecode`
        (a mirror of the installed bytecode).
        """
        return self.policy.private / "programs"

    @property
    def aside(self) -> Path:
        """Return the folder for what commands left, until the private directory is deleted."""
        return self.policy.private / "aside"

    def environment(self, temporary: Path) -> dict[str, str]:
        """Return the variables of a contained command that has its /tmp at `temporary`."""
        toolchains = self.policy.toolchains
        path = toolchains.search_path(SYSTEM_PATH)
        variables = dict(toolchains.variables)
        if self.policy.network is SandboxNet.NONE:
            variables |= offline()
        return self._build(temporary, path, variables)

    def bare_environment(self) -> dict[str, str]:
        """Return the variables of a command without a sandbox: the user's PATH stays as it is."""
        toolchains = self.policy.toolchains
        path = ":".join((*map(str, toolchains.named), toolchains.bare_path or SYSTEM_PATH))
        return self._build(self.policy.temporary, path, toolchains.bare_variables)

    def _build(self, temporary: Path, path: str, variables: Mapping[str, str]) -> dict[str, str]:
        caches = {name: str(folder) for name, folder in self.policy.named_caches.items()}
        return build(
            workspace=self.policy.seen,
            temporary=temporary,
            path=f"{self.programs / 'bin'}:{self.interpreter.executable.parent}:{path}",
            site=self.programs / "site",
            extra={**caches, **variables, **self.policy.environment},
        )

    def renew_temporary(self) -> bool:
        """Replace the command's /tmp by an empty directory; return whether there is a new one.

        A /tmp in which no command left anything stays: to look takes a tenth of making a new one.
        """
        if self._is_untouched():
            return False
        self._lay_out_temporary()
        return True

    def restore_caches(self) -> None:
        """Replace each build cache by its seed."""
        for each in self.caches.values():
            each.restore(self.aside)

    def _is_untouched(self) -> bool:
        """Return whether /tmp holds what it held before any command, and nothing else."""
        seen = 0
        try:
            for path, facts in _facts_below(str(self.policy.temporary)):
                if self._laid_out.get(path) != facts:
                    return False
                seen += 1
        except OSError:  # a folder that a command locked, or none at all
            return False
        return seen == len(self._laid_out)

    def _lay_out_temporary(self) -> None:
        temporary = self.policy.temporary
        # What a command made takes less time to delete than it took to make. Put aside, it would
        # fill the disk until the run ends; that is for what refuses, such as folders too deep.
        with contextlib.suppress(RecursionError):
            shutil.rmtree(temporary, ignore_errors=True)
        if temporary.exists():
            put_aside(temporary, self.aside)
        temporary.mkdir(mode=0o700)
        prefix = temporary / BYTECODE
        if self.policy.keeps_bytecode:
            link_mirror(self.interpreter, self.programs / "bytecode", prefix)
        self._laid_out.clear()
        self._laid_out.update(_facts_below(str(temporary)))


def lay_out(policy: Policy) -> Layout:
    """Fill the policy's private directory, replace what an earlier call left, return the layout.

    Raises `InvalidInput` for an interpreter or a path that cannot be used.
    """
    policy = _resolved(policy)
    interpreter = interpreter_of(policy.python)
    programs = policy.private / "programs"
    layout = Layout(
        policy=policy,
        interpreter=interpreter,
        view=view_of(policy, interpreter, programs),
        git=git_view(policy, policy.private / "git-config"),
        caches={
            name: SeededCache(policy.cache(name), policy.seeds.get(name), trims=name == GO_CACHE)
            for name in dict.fromkeys((GO_CACHE, *policy.seeds))
        },
    )
    shutil.rmtree(programs, ignore_errors=True)
    for folder in (programs, programs / "bin", programs / "site", programs / "bytecode"):
        folder.mkdir()
    layout.aside.mkdir(exist_ok=True)
    layout.renew_temporary()
    layout.restore_caches()
    write_programs(interpreter, programs / "bin")
    write_program(interpreter.executable, programs / "bin" / GO_END, Path(go_end_file))
    if policy.keeps_bytecode:
        write_mirror(interpreter, programs / "bytecode")
    _write_site(policy, programs / "site")
    return layout


def _resolved(policy: Policy) -> Policy:
    own_git = policy.workspace / ".git"
    git_dir = policy.git_dir or (own_git if own_git.is_dir() else None)
    return replace(
        policy,
        workspace=policy.workspace.resolve(),
        git_dir=git_dir and git_dir.resolve(),
        private=policy.private.resolve(),
        python=policy.python.absolute(),  # resolved, it would leave its virtual environment
        read=tuple(each.absolute() for each in policy.read),
        write=tuple(each.absolute() for each in policy.write),
    )


def _write_site(policy: Policy, folder: Path) -> None:
    root = Path(__file__).resolve().parents[2]
    own = {name: str(root / name) for name in _OWN_PACKAGES}
    roots = [str(each) for each in import_roots(policy.seen)]
    visible = [str(each) for each in (*policy.read, *policy.write)]
    source = Path(target_path_file).read_text(encoding="utf-8")
    call = f"\n\ninstall({own!r}, {roots!r}, {visible!r})\n"
    (folder / "sitecustomize.py").write_text(source + call, encoding="utf-8")
    source = Path(__file__).with_name(NODE_END).read_text(encoding="utf-8")
    call = f"\nwatch({json.dumps(f'{policy.seen}/')});\n"
    (folder / NODE_END).write_text(source + call, encoding="utf-8")
