"""Makes an environment with what a project declares, and reads what commands miss."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from shared.errors import InvalidInput
from shared.files.strict_documents import Table, read_toml, table
from shared.languages.capabilities import Installable, Lack
from shared.languages.language_tools import ManifestFiles, Prepared, Workshop
from shared.languages.python.declared_requirements import (
    REQUIREMENT,
    DeclaredRequirement,
    check_declared,
    from_lists,
    from_pyproject,
    from_setup_cfg,
    from_setup_py,
    normal_name,
    provides,
)
from shared.languages.python.locks import (
    LockedEdge,
    PackageLock,
    edge_of,
    from_pipfile,
    pinned,
    read_pdm_lock,
    read_pipfile_lock,
    read_poetry_lock,
    read_uv_lock,
)
from shared.processes.process import SYSTEM_PATH

_IMPORT_FAILED = re.compile(
    r"^(?:E\s+)?ModuleNotFoundError: No module named '(\w+)'\s*$", re.MULTILINE
)
_RUN_FAILED = re.compile(r"^\S+: No module named (\w+)\s*$", re.MULTILINE)  # python -m NAME
_TOOLS: Final = frozenset({"pip", "pytest"})  # what verification runs, declared or not
# Options that many projects have in their configuration and that only a plugin of pytest knows.
_PLUGIN_OPTIONS: Final = {
    "--asyncio": "pytest-asyncio",
    "--benchmark": "pytest-benchmark",
    "--cov": "pytest-cov",
    "--dist": "pytest-xdist",
    "--ds": "pytest-django",
    "--html": "pytest-html",
    "--mypy": "pytest-mypy",
    "--numprocesses": "pytest-xdist",
    "--randomly": "pytest-randomly",
    "--reruns": "pytest-rerunfailures",
    "--timeout": "pytest-timeout",
    "-n": "pytest-xdist",
}
_UNKNOWN_OPTIONS = re.compile(
    r"^(?:ERROR: )?usage: .*\[file_or_dir\].*\n.*error: unrecognized arguments: (.+)$", re.MULTILINE
)
_LEAVE_OUT: Final = (
    "pass a --verify that leaves its options out (`python -m pytest -q -o addopts=`)"
)
_MISSING_PLUGINS = re.compile(r"^ERROR: Missing required plugins: ([\w.-]+)", re.MULTILINE)


def find_lack(output: str, project: Installable) -> Lack | None:
    """Return the module, else the plugin of pytest, that is not installed; `None` without any."""
    names = project.declared | {normal_name(each) for each in project.allowed}
    if module := next(_missing_modules(output, names), ""):
        ways = _ways_to_install(module, provides(names, module), project)
        return Lack(f"The module {module!r} is not installed for the Python of commands.", ways)
    if plugin := next(_missing_plugins(output, project), ""):
        ways = (*_ways_to_install(plugin, plugin in names, project), _LEAVE_OUT)
        what = f"The plugin {plugin!r} of pytest is not installed for the Python of commands."
        return Lack(what, ways)
    return None


def ways_to_program(program: str, *, is_command: bool) -> tuple[str, ...]:
    """Return nothing: environments have programs, and those are named in any case."""
    return ()


def _ways_to_install(name: str, declared: bool, project: Installable) -> tuple[str, ...]:
    ways = [f"pass --python {each} if that environment has it" for each in project.environments]
    if declared:
        return (*ways, "pass --deps auto, which installs what the project declares")
    return (*ways, f"install {name} in the environment of --python")


def _missing_modules(output: str, names: frozenset[str]) -> Iterator[str]:
    run, imported = _RUN_FAILED.findall(output), _IMPORT_FAILED.findall(output)
    yield from (each for each in run if each in _TOOLS or provides(names, each))
    yield from (each for each in imported if provides(names, each))


def _missing_plugins(output: str, project: Installable) -> Iterator[str]:
    """Yield plugins that options need or a project demands, and that the code did not bring in."""
    for options in _UNKNOWN_OPTIONS.findall(output):
        for option in re.findall(r"(?:^|\s)(--?[a-z]+)", options):
            if option in _PLUGIN_OPTIONS and not project.brought(option):
                yield _PLUGIN_OPTIONS[option]
    yield from (e for e in _MISSING_PLUGINS.findall(output) if not project.brought(e))


_PROJECT: Final = "pyproject.toml"
_PIPFILE: Final = "Pipfile"
_LOCKS: Final[Mapping[str, Callable[[str, Table], PackageLock]]] = {
    "uv.lock": read_uv_lock,
    "poetry.lock": read_poetry_lock,
    "pdm.lock": read_pdm_lock,
    "Pipfile.lock": read_pipfile_lock,
}
_PIN = re.compile(r"===?\s*([A-Za-z0-9.!+_-]+)")


@dataclass(frozen=True, slots=True)
class WantedPackages:
    """Hold the lines to install, the versions that other lines allow, and notes for a person."""

    lines: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def read_wishes(files: ManifestFiles, environment: Mapping[str, str]) -> WantedPackages:
    """Return what the tree declares; nothing where it declares nothing.

    `environment` holds the values of PEP 508's markers for the interpreter. A lock decides where it
    has all that the project declares. Raises `InvalidInput` for a file that cannot be read, a line
    that is more than a name with versions, and two places that pin different versions.
    """
    own = read_toml(_PROJECT, files.text(_PROJECT) or "")
    computed, notes = from_setup_py(files)
    pipfile = read_toml(_PIPFILE, files.text(_PIPFILE) or "")
    written = (*from_pyproject(own, files), *from_setup_cfg(files))
    project = [*written, *computed, *from_pipfile(pipfile)]
    listed = [each for each in from_lists(files) if not each.constraint]
    constraints = [each for each in from_lists(files) if each.constraint]
    declared = [check_declared(each) for each in (*project, *listed, *constraints)]
    _refuse_contradictions(declared)
    lock = _read_lock(files)
    if lock and project:
        lacking = lock.lacking([each.name for each in (*project, *listed)])
        if not lacking:
            edges = [_edge(each) for each in (*project, *listed)]
            if lock.is_complete:
                edges = [LockedEdge(name) for name in lock.packages]
            return WantedPackages(pinned(lock, edges, environment), notes=tuple(notes))
        notes.append(
            f"{lock.path} does not have {', '.join(lacking[:5])}, so versions are chosen anew: "
            "lock again before you merge."
        )
    return WantedPackages(_lines((*project, *listed)), _lines(constraints), tuple(notes))


def _read_lock(files: ManifestFiles) -> PackageLock | None:
    for name, read in _LOCKS.items():
        if (text := files.text(name)) is not None:
            parse = _read_json if name.startswith(_PIPFILE) else read_toml
            return read(name, parse(name, text))
    return None


def _read_json(path: str, text: str) -> Table:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{path} is not valid JSON: {error}", "lock again") from error
    return document if isinstance(document, dict) else {}


def _lines(declared: Iterable[DeclaredRequirement]) -> tuple[str, ...]:
    return tuple(sorted({each.line for each in declared}))


def _edge(declared: DeclaredRequirement) -> LockedEdge:
    found = edge_of(re.sub(r"\s+--hash=\S+", "", declared.line))
    return found or LockedEdge(normal_name(declared.name))


def _refuse_contradictions(declared: Iterable[DeclaredRequirement]) -> None:
    """Raise `InvalidInput` if two places pin one package to two versions."""
    pins: dict[str, tuple[str, str]] = {}
    for each in declared:
        match = REQUIREMENT.fullmatch(each.line)
        pin = _PIN.fullmatch((match["versions"] or "").strip()) if match else None
        if not match or not pin or match["marker"]:
            continue
        place, version = pins.setdefault(normal_name(match["name"]), (each.place, pin[1]))
        if version != pin[1]:
            raise InvalidInput(
                f"{each.place} pins {match['name']} to {pin[1]}, but {place} pins it to {version}",
                "make them agree, or prepare an environment and pass --python",
            )


_OWN_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_OWN_VERSION: Final = re.compile(r"\d[A-Za-z0-9.+!-]*")
_REFERENCE: Final = re.compile(r"([A-Za-z_][\w.]*)(?::([A-Za-z_][\w.]*))?(?:\s*\[[\w,\s-]*\])?")
_MODULE_PATH: Final = re.compile(r"(?:[A-Za-z_]\w*/)*[A-Za-z_]\w*\.py")
_UNKNOWN_VERSION: Final = "0.0.0"  # of a project whose version its build takes from git


@dataclass(frozen=True, slots=True)
class OwnDistribution:
    """Hold what an installed copy of the project has beside its code; no code of it runs for this.

    `points` are entry points, by group and name, and `generated` the paths of the modules that its
    build writes the version to.
    """

    name: str = ""
    version: str = _UNKNOWN_VERSION
    points: tuple[tuple[str, str, str], ...] = ()
    generated: tuple[str, ...] = ()

    def write(self, folder: Path) -> None:
        """Write metadata and programs into an environment, in the place of any other version's."""
        for path in self.generated:
            place = folder / "generated" / path
            place.parent.mkdir(parents=True, exist_ok=True)
            parts = tuple(int(each) if each.isdigit() else each for each in self.version.split("."))
            place.write_text(
                f"__version__ = version = {self.version!r}\n"
                f"__version_tuple__ = version_tuple = {parts!r}\n__commit_id__ = commit_id = None\n"
            )
        site = next(folder.glob("lib/python3*/site-packages"))
        plain = normal_name(self.name).replace("-", "_")
        if not self.name:
            return
        for other in site.glob("*.dist-info"):  # a dependency may have brought another version
            if other.name.partition("-")[0].lower() == plain:
                shutil.rmtree(other)
        (info := site / f"{plain}-{self.version}.dist-info").mkdir()
        metadata = f"Metadata-Version: 2.1\nName: {self.name}\nVersion: {self.version}\n"
        (info / "METADATA").write_text(metadata)
        (info / "INSTALLER").write_text("llmch\n")
        (info / "RECORD").touch()
        groups = dict.fromkeys(group for group, _, _ in self.points)
        lines = (
            line
            for group in groups
            for line in (f"[{group}]", *(f"{n} = {v}" for g, n, v in self.points if g == group))
        )
        (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
        for group, name, value in self.points:
            match, program = _REFERENCE.fullmatch(value), folder / "bin" / name
            if group == "console_scripts" and match and match[2] and not _is_taken(program):
                program.write_text(
                    f"#!{folder}/bin/python\nimport sys\nfrom operator import attrgetter\n"
                    f"import {match[1]}\nsys.exit(attrgetter({match[2]!r})({match[1]})())\n"
                )
                program.chmod(0o755)


# These may be anywhere on this machine.
_OF_TOOLCHAINS: Final = frozenset((
    "bun", "cargo", "deno", "go", "gradle", "java", "mvn", "node", "npm", "npx", "pnpm", "yarn",
))  # fmt: skip


def _is_taken(program: Path) -> bool:
    """Return whether a project's program would take the place of another one.

    Commands find the environment's programs before the system's, so a manifest could say what
    `bash` or `node` is.
    """
    there = program.exists() or shutil.which(program.name, path=SYSTEM_PATH)
    return bool(there) or program.name in _OF_TOOLCHAINS


def read_own(document: Table) -> OwnDistribution:
    """Return what the manifests say of the project itself; names of another form are left out."""
    project, poetry = table(document, "project"), table(document, "tool", "poetry")
    name, version = (
        next((v for part in (project, poetry) if isinstance(v := part.get(key), str)), "")
        for key in ("name", "version")
    )
    tables = {**table(project, "entry-points"), **table(poetry, "plugins")}
    tables["console_scripts"] = {**table(project, "scripts"), **table(poetry, "scripts")}
    points = (
        (group, str(key), value)
        for group, listed in tables.items()
        for key, value in (listed.items() if isinstance(listed, dict) else ())
        if _OWN_NAME.fullmatch(group) and _OWN_NAME.fullmatch(str(key))
        if isinstance(value, str) and _REFERENCE.fullmatch(value)
    )
    tool, hatch = table(document, "tool"), table(document, "tool", "hatch", "build", "hooks", "vcs")
    written = (
        *(table(tool, "setuptools_scm").get(key) for key in ("version_file", "write_to")),
        hatch.get("version-file"),
    )
    return OwnDistribution(
        name if _OWN_NAME.fullmatch(name) else "",
        version if _OWN_VERSION.fullmatch(version) else _UNKNOWN_VERSION,
        tuple(points),
        tuple(each for each in written if isinstance(each, str) and _MODULE_PATH.fullmatch(each)),
    )


_REMEDY: Final = "prepare an environment and pass --python, or leave out --deps auto"


def prepare_python(files: ManifestFiles, workshop: Workshop) -> Prepared:
    """Return an environment that has what the tree declares, and pytest.

    Where nothing is declared, the base interpreter stays. Where a requirement has hashes, pytest is
    not added. Raises `InvalidInput` as `read_wishes` does, and `EnvironmentFault` with the
    installer's own words.
    """
    base = workshop.base_python()
    wishes = read_wishes(files, _markers_of(base.tag))
    own = read_own(read_toml(_PROJECT, files.text(_PROJECT) or ""))
    wanted = wishes.lines
    if not wanted and not own.generated:
        return Prepared(notes=wishes.notes)
    names = {DeclaredRequirement("", each).name.lower() for each in wanted}
    if "pytest" not in names and not any("--hash=" in each for each in wanted):
        wanted = (*wanted, "pytest")  # it verifies a tree that has no script of its own
    wishes = WantedPackages(wanted, wishes.constraints, wishes.notes)

    def make(folder: Path) -> None:
        _make(folder, base.executable, wishes, workshop)
        own.write(folder)

    packages = json.dumps([wanted, wishes.constraints])
    key = json.dumps([packages, str(base.executable), base.tag, repr(own)])
    itself = dict.fromkeys(own.generated, "")
    folder = workshop.kept(key, make, {**dict(map(_pin_of, wanted)), **itself})
    generated = {path: folder / "generated" / path for path in own.generated}
    return Prepared(python=folder / "bin" / "python", folders=generated, notes=wishes.notes)


def _pin_of(requirement: str) -> tuple[str, str]:
    match = REQUIREMENT.fullmatch(requirement)
    assert match is not None, "every line was checked"
    pin = _PIN.fullmatch(match["versions"].strip())
    return normal_name(match["name"]), pin[1] if pin else ""


def _markers_of(tag: str) -> Mapping[str, str]:
    """Return the values of markers for an interpreter of this machine, by its cache tag."""
    from packaging.markers import default_environment  # slow to import

    values = {name: str(value) for name, value in default_environment().items()}
    digits = tag.rpartition("-")[2]
    if digits.isdigit() and len(digits) > 1:
        version = f"{digits[0]}.{digits[1:]}"
        if version != values["python_version"]:
            full = {"python_full_version", "implementation_version"}
            values |= {"python_version": version, **dict.fromkeys(full, f"{version}.0")}
    return values


def _make(folder: Path, python: Path, wishes: WantedPackages, workshop: Workshop) -> None:
    listed, allowed = folder.with_suffix(".txt"), folder.with_suffix(".constraints.txt")
    listed.write_text("\n".join(wishes.lines) + "\n")
    allowed.write_text("\n".join(wishes.constraints) + "\n")
    own = str(folder / "bin" / "python")
    uv = workshop.program("uv")
    if uv:
        make = [uv, "venv", "--no-config", "--seed", "--python", str(python), str(folder)]
        install = [uv, "pip", "install", "--no-config", "--python", own, "--compile-bytecode"]
    else:
        make = [str(python), "-I", "-m", "venv", str(folder)]
        install = [own, "-I", "-m", "pip", "install", "--no-input", "--disable-pip-version-check"]
    files = ["--requirement", str(listed)]
    if all("--hash=" in each for each in wishes.lines):
        # They are all that is needed. A package may require the project itself, which has no hash.
        files.append("--no-deps")
    files += ["--constraint", str(allowed)] if wishes.constraints else []
    for argv in (make, [*install, "--only-binary", ":all:", *files]):
        workshop.run(argv, folder.parent, workshop.variables, remedy=_REMEDY)
