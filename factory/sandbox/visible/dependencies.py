"""Makes an environment with the target's dependencies, before the sandbox and outside the repo.

This is done only on request (`--deps auto`), because it uses the network. Files of the target
declare what is installed, and a model may have written them. So only names and versions are taken
from these files, and only wheels are installed: nobody's code runs outside the sandbox.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
import stat
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

from factory.sandbox.visible.interpreter import interpreter_of
from shared.errors import CommandFailed, InvalidInput
from shared.process import Finished, ToolFailed, ToolMissing, run_tool

INSTALL_SECONDS = 900.0
"""The limit for each step of the installation: numeric libraries on a slow line stay below it."""

_PROJECT_FILE = "pyproject.toml"
_REQUIREMENTS_FILE = "requirements.txt"
_LONGEST_FILE = 1024 * 1024
# Extras and groups whose names say that tests need them.
_TEST_NAMES = ("test", "tests", "testing", "dev")

# A name, extras, versions, a marker and hashes, as in PEP 508 but without `@ URL`. No other
# option of pip's requirements files is accepted, because those fetch or run things.
_REQUIREMENT = re.compile(
    r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)"
    r"(\s*\[[A-Za-z0-9._,\s-]*\])?"
    r"\s*\(?(\s*(===|==|~=|!=|<=|>=|<|>)\s*[A-Za-z0-9.*+!_-]+\s*,?)*\s*\)?"
    r"(\s*;[\w\s.'\"<>=!(),-]+?)?"
    r"(?P<hashes>(\s+--hash=sha256:[0-9a-f]{64})*)\s*"
)
_LONGEST_REQUIREMENT = 20_000  # a requirement with the hashes of a hundred wheels fits

_PASSED_ON = re.compile(
    r"PATH|HOME|LANG|(PIP|UV|SSL|XDG)_\w+|REQUESTS_CA_BUNDLE|(https?|no|all)_proxy", re.IGNORECASE
)


def wanted_by(tree: Path) -> tuple[str, ...]:
    """Return the requirements that a tree declares, sorted; none where it declares nothing.

    Raises `InvalidInput` for a file that cannot be read or a line that is not just a name with
    versions.
    """
    declared = [*_from_project(tree / _PROJECT_FILE), *_from_list(tree / _REQUIREMENTS_FILE)]
    for place, line in declared:
        if len(line) > _LONGEST_REQUIREMENT or not _REQUIREMENT.fullmatch(line):
            raise InvalidInput(
                f"{place}: cannot install {line[:200]!r}",
                "declare it by name and version, or prepare an environment and pass --python",
            )
    return tuple(sorted({line for _, line in declared}))


def prepare_dependencies(
    tree: Path, python: Path, cache: Path, environ: Mapping[str, str] = os.environ
) -> Path:
    """Return the interpreter of an environment that has what `tree` declares, and pytest.

    The environment is made with `python` below `cache` the first time, and found there by the
    declaration's hash from then on. Where nothing is declared, `python` itself is returned. Where
    a requirement has hashes, pytest is not added. Raises `InvalidInput` as `wanted_by` does, and
    `CommandFailed` with the installer's own words.
    """
    wanted = wanted_by(tree)
    if not wanted:
        return python
    if not any("--hash=" in each or _named(each, "pytest") for each in wanted):
        wanted = (*wanted, "pytest")  # it verifies a tree that has no script of its own
    base = interpreter_of(python.absolute())
    key = json.dumps([wanted, str(base.executable), base.tag]).encode()
    folder = cache / hashlib.sha256(key).hexdigest()[:24]
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / f"{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another run may be making the environment
        done = folder / "complete"
        if not done.exists():
            shutil.rmtree(folder, ignore_errors=True)
            _make(folder, base.executable, wanted, environ)
            done.touch()
    return folder / "bin" / "python"


def _named(requirement: str, name: str) -> bool:
    match = _REQUIREMENT.fullmatch(requirement)
    return match is not None and match["name"].lower() == name


def _make(folder: Path, python: Path, wanted: tuple[str, ...], environ: Mapping[str, str]) -> None:
    env = {name: value for name, value in environ.items() if _PASSED_ON.fullmatch(name)}
    listed = folder.with_suffix(".txt")
    listed.write_text("\n".join(wanted) + "\n")
    own = str(folder / "bin" / "python")
    uv = shutil.which("uv", path=env.get("PATH", os.defpath))
    if uv:
        make = [uv, "venv", "--no-config", "--seed", "--python", str(python), str(folder)]
        install = [uv, "pip", "install", "--no-config", "--python", own, "--compile-bytecode"]
    else:
        make = [str(python), "-I", "-m", "venv", str(folder)]
        install = [own, "-I", "-m", "pip", "install", "--no-input", "--disable-pip-version-check"]
    for argv in (make, [*install, "--only-binary", ":all:", "--requirement", str(listed)]):
        done = _run(argv, folder.parent, env)
        if done.timed_out or done.exit_code != 0:
            said = (done.stderr or done.stdout).decode("utf-8", "replace").strip()[-2000:]
            reason = "the installer took too long" if done.timed_out else said
            raise CommandFailed(
                f"the target's dependencies could not be installed: {reason}",
                "prepare an environment and pass --python, or leave out --deps auto",
            )


def _run(argv: list[str], cwd: Path, env: Mapping[str, str]) -> Finished:
    try:
        return run_tool(argv, cwd=cwd, env=env, timeout_seconds=INSTALL_SECONDS)
    except (ToolMissing, ToolFailed) as error:
        raise CommandFailed(str(error), "pass another --python") from error


def _from_project(path: Path) -> Iterator[tuple[str, str]]:
    """Yield each declared requirement after the place that declares it."""
    text = _read(path)
    try:
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InvalidInput(f"{path.name} is not valid TOML: {error}", "correct it") from error
    project = document.get("project", {})
    groups: object = document.get("dependency-groups", {})
    extras = project.get("optional-dependencies", {}) if isinstance(project, dict) else {}
    declared = project.get("dependencies", []) if isinstance(project, dict) else []
    yield from _strings(f"{path.name}: project.dependencies", declared)
    for place, table in (("project.optional-dependencies", extras), ("dependency-groups", groups)):
        for name in _TEST_NAMES:
            listed = table.get(name, []) if isinstance(table, dict) else []
            yield from _strings(f"{path.name}: {place}.{name}", listed)


def _strings(place: str, listed: object) -> Iterator[tuple[str, str]]:
    """Yield the strings of a list. A table in a group includes another group and is skipped."""
    if isinstance(listed, list):
        yield from ((place, each.strip()) for each in listed if isinstance(each, str))


def _from_list(path: Path) -> Iterator[tuple[str, str]]:
    joined = _read(path).replace("\\\n", " ")
    for number, line in enumerate(joined.splitlines(), start=1):
        requirement = re.sub(r"(^|\s)#.*", "", line).strip()
        if requirement:
            yield f"{path.name}:{number}", requirement


def _read(path: Path) -> str:
    """Return the text of a regular file, or an empty string for anything else, such as a link.

    Raises `InvalidInput` for a file that is too large or is not UTF-8.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return ""
    with os.fdopen(fd, "rb") as file:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return ""
        data = file.read(_LONGEST_FILE + 1)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path.name} is not UTF-8", "correct it") from error
    if len(data) > _LONGEST_FILE:
        raise InvalidInput(f"{path.name} is over {_LONGEST_FILE} bytes", "shorten it")
    return text
