"""Reads projects by their manifests: Python, Node, Go, Cargo, Maven, Gradle, .NET, make."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from shared.files.strict_documents import Table, table
from shared.projects.manifests import (
    Project,
    RepoFiles,
    VerifyCommand,
    bounded,
    first_tracked,
    is_tracked,
    one_line,
    pairs_at,
    parse_json,
    parse_toml,
    text_at,
    texts_at,
    unreadable,
)

COMPILE: Final = "python -m compileall -q ."
PYTEST: Final = "python -m pytest -q"
INSTALLER: Final = "python -m pip --version"
COMMANDS: Final = (COMPILE, INSTALLER, PYTEST)
"""The commands that verify a Python project: all of it compiles, and its tests pass."""

_PYPROJECT: Final = "pyproject.toml"
_MANIFESTS: Final = (_PYPROJECT, "setup.cfg", "setup.py", "requirements.txt", "Pipfile")
_TEST_FILE = re.compile(r"(?:^|/)(?:test_[^/]*|[^/]*_test)\.py$")
_PYTHON_TABLES: Final = ("project", "build-system", "dependency-groups")
_TOOLS: Final = ("poetry", "pdm", "hatch", "flit", "setuptools", "uv", "pytest")
# A file that only pytest reads, and the heading that says so in a file that others read as well.
_PYTEST_FILES: Final = {
    "pytest.ini": "[pytest]",
    "tox.ini": "[pytest]",
    "setup.cfg": "[tool:pytest]",
}
# These install packages from the network before they run a test, which commands cannot do.
_RUNNERS: Final = {"tox.ini": "tox", "noxfile.py": "nox", "manage.py": "python manage.py test"}


class Python:
    """Read what the files of a Python project say."""

    name = "Python"

    def read(self, files: RepoFiles) -> Project | None:
        """Return the project, which may also be known by nothing but its tests."""
        text = files.text(_PYPROJECT)
        document = parse_toml(text)
        tested = _tests_of(files, document or {})
        manifest = _manifest_of(files, document)
        if not manifest and not tested:
            return None
        facts = document or {}
        broken = manifest == _PYPROJECT and document is None
        return Project(
            tool=self.name,
            manifest=manifest or tested,
            name=text_at(table(facts, "project"), "name")
            or text_at(table(facts, "tool", "poetry"), "name"),
            scripts=dict(pairs_at(table(facts, "project"), "scripts")),
            dependencies=bounded(_dependencies_of_python(files, facts)),
            verify=tuple(VerifyCommand(each, tested) for each in COMMANDS) if tested else (),
            notes=tuple(_notes(files, tested=bool(tested), broken=broken)),
        )


def _manifest_of(files: RepoFiles, pyproject: Table | None) -> str:
    """Return the file that makes this a Python project; "" if there is none.

    Many projects of other languages have a `pyproject.toml` for a linter alone.
    """
    found = first_tracked(files, _MANIFESTS)
    if found != _PYPROJECT or pyproject is None:
        return found
    own = any(each in pyproject for each in _PYTHON_TABLES)
    if own or any(each in table(pyproject, "tool") for each in _TOOLS):
        return found
    return first_tracked(files, _MANIFESTS[1:])


def _tests_of(files: RepoFiles, pyproject: Table) -> str:
    """Return the place that shows that there are tests, "" if there are none."""
    if table(pyproject, "tool", "pytest"):
        return f"{_PYPROJECT}: tool.pytest"
    for path, heading in _PYTEST_FILES.items():
        if path == "pytest.ini" and first_tracked(files, (path,)):
            return path
        if heading in (files.text(path) or ""):
            return f"{path}: {heading}"
    names = (path for path in files.paths if "test" in path)
    return one_line(next((path for path in names if _TEST_FILE.search(path)), ""))


def _dependencies_of_python(files: RepoFiles, pyproject: Table) -> Iterator[str]:
    yield from texts_at(table(pyproject, "project"), "dependencies")
    for name, version in pairs_at(table(pyproject, "tool", "poetry"), "dependencies"):
        yield f"{name} {version}"
    for line in (files.text("requirements.txt") or "").splitlines()[:1000]:
        requirement = line.partition(" #")[0].strip()
        if requirement and not requirement.startswith(("#", "-")):
            yield one_line(requirement)


def _notes(files: RepoFiles, *, tested: bool, broken: bool) -> Iterator[str]:
    if broken:
        yield f"{_PYPROJECT} cannot be read as TOML: what it says is not known"
    if tested:
        return
    other = first_tracked(files, _RUNNERS)
    if other:
        command = _RUNNERS[other]
        yield f"{other} is not run: `--verify '{command}'` runs it, if commands find what it needs"
    else:
        yield "the Python project has no tests that pytest finds"


PACKAGE_JSON: Final = "package.json"

# Each lock file with the package manager that writes it, and how that runs the script `test`.
_MANAGERS: Final = {
    "package-lock.json": ("npm", "npm test"),
    "npm-shrinkwrap.json": ("npm", "npm test"),
    "pnpm-lock.yaml": ("pnpm", "pnpm test"),
    "yarn.lock": ("yarn", "yarn test"),
    "bun.lock": ("bun", "bun run test"),
    "bun.lockb": ("bun", "bun run test"),
}
_COMMANDS: Final = dict(_MANAGERS.values())
_TABLES: Final = ("dependencies", "devDependencies", "optionalDependencies", "peerDependencies")
_PHASES: Final = ("pretest", "test", "posttest")  # what `npm test` runs, in this order
_LOCAL_PROGRAMS: Final = 'PATH="$PWD/node_modules/.bin:$PATH"'
_PLACEHOLDER = re.compile(r"echo .*no test specified.* exit 1")
# A script with one of these ends what it started.
_ENDS_ITSELF = re.compile(r"start-server-and-test|concurrently|wait-on|server-test")
_NEVER_ENDS = re.compile(
    r"--watch(?:-?all)?(?=$|[ \"']|=true)|\bnodemon\b|\bwebpack-dev-server\b|\bonchange\b"
    r"|\b(?:webpack|ng|vue-cli-service|parcel) serve\b|\b(?:next|nuxt|vitest) (?:dev|watch)\b"
    r"|\b(?:mocha|ava|tsc)\b[^&|;]* -w\b|^vite$",
    re.IGNORECASE,
)
# These watch on a developer's machine, and run once where CI is set.
_ENDS_ON_CI = re.compile(r"\breact-scripts test\b|\bcraco test\b|\bvitest\b(?! run\b)")


class Node:
    """Read what `package.json` says, with npm, pnpm, yarn or bun as the package manager."""

    name = "npm"

    def read(self, files: RepoFiles) -> Project | None:
        """Return the project; `tool` is the package manager."""
        if not is_tracked(files, PACKAGE_JSON):
            return None
        document = parse_json(files.text(PACKAGE_JSON))
        if document is None:
            return Project(self.name, PACKAGE_JSON, notes=(unreadable(PACKAGE_JSON),))
        manager, doubts = _manager_of(files, document)
        test = test_script(document)
        command = _command_of(document, manager) if test.runs else None
        return Project(
            tool=manager,
            manifest=PACKAGE_JSON,
            name=text_at(document, "name"),
            scripts=dict(pairs_at(document, "scripts")),
            dependencies=bounded(_dependencies_of(document)),
            verify=(command,) if command else (),
            notes=(*doubts, *([test.problem] if test.problem else [])),
        )


@dataclass(frozen=True, slots=True)
class TestScript:
    """Say whether the script `test` is one to run; `problem` says why it is not."""

    runs: bool
    problem: str = ""
    on_ci: bool = False


def test_script(document: Table) -> TestScript:
    """Return what there is to say of the script `test` of a parsed `package.json`."""
    if not isinstance(document.get("scripts", {}), dict):
        return TestScript(
            False, f"{PACKAGE_JSON}: scripts is not a table, so nothing is run for it"
        )
    text = text_at(table(document, "scripts"), "test")
    if not text:
        return TestScript(False, _without_script(document))
    if _PLACEHOLDER.search(text):
        problem = f"{PACKAGE_JSON}: scripts.test is npm's placeholder, which tests nothing"
        return TestScript(False, problem)
    if _ENDS_ITSELF.search(text):
        return TestScript(True)
    if _NEVER_ENDS.search(text):
        return TestScript(
            False,
            f"{PACKAGE_JSON}: scripts.test is not run, because `{text[:80]}` watches or serves and "
            "never ends: `--verify CMD` names a command that ends",
        )
    return TestScript(True, on_ci=_ENDS_ON_CI.search(text) is not None)


def _without_script(document: Table) -> str:
    if "workspaces" in document:
        return (
            f"{PACKAGE_JSON} has workspaces and no script `test` of its own: "
            "`--verify 'npm test --workspaces --if-present'` runs theirs"
        )
    return f"{PACKAGE_JSON} has no script `test`"


def _manager_of(files: RepoFiles, document: Table) -> tuple[str, tuple[str, ...]]:
    """Return the package manager, and a note where the files disagree on it."""
    locks = [lock for lock in _MANAGERS if is_tracked(files, lock)]
    locked = tuple(dict.fromkeys(_MANAGERS[lock][0] for lock in locks))
    declared = text_at(document, "packageManager").partition("@")[0]
    named = declared if declared in _COMMANDS else ""
    manager = named or (locked[0] if locked else "npm")
    if len(locked) > 1 or (named and locked and named not in locked):
        said = [*locks, *([f"packageManager {named}"] if named else [])]
        return manager, (f"{' and '.join(said)} disagree: {manager} is used",)
    return manager, ()


def _command_of(document: Table, manager: str) -> VerifyCommand:
    scripts = table(document, "scripts")
    command = _COMMANDS[manager]
    if test_script(document).on_ci:
        command = f"env CI=true {command}"
    return VerifyCommand(command, f"{PACKAGE_JSON}: scripts.test", _as_defined(scripts))


def _as_defined(scripts: Table) -> str:
    """Return a command that runs what the script runs now; "" if it is not a short line."""
    phases = [each for each in map(scripts.get, _PHASES) if isinstance(each, str) and each]
    if any(each != one_line(each) for each in phases):
        return ""
    script = " && ".join(phases)
    return f"bash -c {shlex.quote(f'{_LOCAL_PROGRAMS}; {script}')}"


def _dependencies_of(document: Table) -> Iterator[str]:
    for each in _TABLES:
        yield from (f"{name} {version}" for name, version in pairs_at(document, each))


GO_MOD: Final = "go.mod"
_WORKSPACE: Final = "go.work"
# The output of a build is thrown away: a module of one program would leave it in the tree. Vet is
# left out, because its checks of format strings refuse code that is right.
_GO_COMMANDS: Final = ("go build -o /dev/null ./...", "go test -vet=off ./...")


class Go:
    """Read what the module at the root says."""

    name = "Go"

    def read(self, files: RepoFiles) -> Project | None:
        """Return the module. A workspace without a module at its root has no commands."""
        if not is_tracked(files, GO_MOD):
            if not is_tracked(files, _WORKSPACE):
                return None
            note = f"{_WORKSPACE} has no module beside it: `--verify CMD` names what tests it"
            return Project(self.name, _WORKSPACE, notes=(note,))
        text = files.text(GO_MOD)
        if text is None:
            return Project(self.name, GO_MOD, notes=(unreadable(GO_MOD),))
        tested = any(path.endswith("_test.go") for path in files.paths)
        return Project(
            tool=self.name,
            manifest=GO_MOD,
            name=next(_following("module", text), ""),
            dependencies=bounded(_requirements_of(text)),
            verify=tuple(VerifyCommand(each, GO_MOD) for each in _GO_COMMANDS),
            notes=() if tested else ("the Go module has no tests, so it is only built",),
        )


def _requirements_of(text: str) -> Iterator[str]:
    within = False
    for line in _lines(text):
        if line.startswith("require ("):
            within = True
        elif line == ")":
            within = False
        elif within:
            yield one_line(line)
    yield from _following("require", text)


def _following(word: str, text: str) -> Iterator[str]:
    """Yield the rest of each line that begins with `word` and goes on with a name."""
    for line in _lines(text):
        first, _, rest = line.partition(" ")
        if first == word and rest and not rest.startswith("("):
            yield one_line(rest.strip('"'))


def _lines(text: str) -> Iterator[str]:
    yield from (line.partition("//")[0].strip() for line in text.splitlines())


CARGO_TOML: Final = "Cargo.toml"
_RUST_TABLES: Final = ("dependencies", "dev-dependencies", "build-dependencies")


class Cargo:
    """Read what the crate or the workspace at the root says."""

    name = "Cargo"

    def read(self, files: RepoFiles) -> Project | None:
        """Return the crate; a workspace is tested as a whole."""
        if not is_tracked(files, CARGO_TOML):
            return None
        document = parse_toml(files.text(CARGO_TOML))
        if document is None:
            return Project(self.name, CARGO_TOML, notes=(unreadable(CARGO_TOML),))
        whole = " --workspace" if "workspace" in document else ""
        return Project(
            tool=self.name,
            manifest=CARGO_TOML,
            name=text_at(table(document, "package"), "name"),
            dependencies=bounded(_dependencies_of_rust(document)),
            verify=(VerifyCommand(f"cargo test{whole}", CARGO_TOML),),
        )


def _dependencies_of_rust(document: Table) -> Iterator[str]:
    for parent in (document, table(document, "workspace")):
        for each in _RUST_TABLES:
            for name, value in table(parent, each).items():
                version = value if isinstance(value, str) else _version_in(value)
                yield one_line(f"{name} {version}")


def _version_in(value: object) -> str:
    return text_at(value, "version") if isinstance(value, dict) else ""


POM: Final = "pom.xml"
_GRADLE_FILES: Final = (
    "build.gradle",
    "build.gradle.kts",
    "settings.gradle",
    "settings.gradle.kts",
)
_GRADLE_NAME = re.compile(
    r"^[ \t]*rootProject\.name[ \t]*=[ \t]*[\"']([^\"'\n]{1,200})[\"']", re.MULTILINE
)
_GRADLE_DEPENDENCY = re.compile(
    r"^[ \t]*(?:api|implementation|testImplementation|compileOnly|runtimeOnly)[ \t(]+"
    r"[\"']([^\"'\n]{1,200})[\"']",
    re.MULTILINE,
)
_SET_BY_OTHERS = re.compile(r"<(?:parent|dependencies|build|profiles|modules)\b")


class Maven:
    """Read `pom.xml` with patterns: a parser of XML would expand what a stranger wrote."""

    name = "Maven"

    def read(self, files: RepoFiles) -> Project | None:
        """Return the project; its wrapper is preferred to the installed Maven."""
        if not is_tracked(files, POM):
            return None
        text = files.text(POM)
        if text is None:
            return Project(self.name, POM, notes=(unreadable(POM),))
        program = "./mvnw" if is_tracked(files, "mvnw") else "mvn"
        own = text.partition("<parent>")[0] + text.partition("</parent>")[2]
        return Project(
            tool=self.name,
            manifest=POM,
            name=_element("artifactId", _SET_BY_OTHERS.split(own, maxsplit=1)[0]),
            dependencies=bounded(_dependencies_of_jvm(own)),
            verify=(VerifyCommand(f"{program} --batch-mode test", POM),),
        )


def _dependencies_of_jvm(text: str) -> Iterator[str]:
    for part in text.split("<dependency>")[1:]:
        within = part.partition("</dependency>")[0]
        names = (_element(each, within) for each in ("groupId", "artifactId", "version"))
        yield ":".join(filter(None, names))


def _element(name: str, text: str) -> str:
    return one_line(text.partition(f"<{name}>")[2].partition(f"</{name}>")[0])


class Gradle:
    """Read the build files of Gradle with patterns: they are programs, which nothing here runs."""

    name = "Gradle"

    def read(self, files: RepoFiles) -> Project | None:
        """Return the project; where Maven builds it as well, Gradle has no commands."""
        manifest = first_tracked(files, _GRADLE_FILES)
        if not manifest:
            return None
        program = "./gradlew" if is_tracked(files, "gradlew") else "gradle"
        command = f"{program} --no-daemon test"
        texts = "\n".join(files.text(path) or "" for path in _GRADLE_FILES)
        named = _GRADLE_NAME.search(texts)
        doubled = is_tracked(files, POM)
        note = f"{manifest} is not run, because {POM} is: `--verify '{command}'` runs it instead"
        return Project(
            tool=self.name,
            manifest=manifest,
            name=one_line(named[1]) if named else "",
            dependencies=bounded(map(one_line, _GRADLE_DEPENDENCY.findall(texts))),
            verify=() if doubled else (VerifyCommand(command, manifest),),
            notes=(note,) if doubled else (),
        )


_SOLUTIONS: Final = (".sln", ".slnx")
_PROJECTS: Final = (".csproj", ".fsproj", ".vbproj")
_PACKAGE = re.compile(
    r"<PackageReference\s+Include=\"([^\"\n]{1,200})\"(?:\s+Version=\"([^\"\n]{1,60})\")?"
)


class DotNet:
    """Read which solution or project the root holds."""

    name = ".NET"

    def read(self, files: RepoFiles) -> Project | None:
        """Return the solution, or the project where a solution is missing.

        Where there are several, `dotnet test` needs the name of one, so the first is named.
        """
        found = _at_root(files, _SOLUTIONS) or _at_root(files, _PROJECTS)
        if not found:
            return None
        several = len(found) > 1
        command = f"dotnet test {shlex.quote(found[0])}" if several else "dotnet test"
        named = [f"{name} {version}".strip() for name, version in _packages(files)]
        others = ", ".join(found[1:4])
        note = f"{others} not run: `--verify 'dotnet test FILE'` names another"
        return Project(
            tool=self.name,
            manifest=one_line(found[0]),
            name=one_line(found[0].rpartition(".")[0]),
            dependencies=bounded(map(one_line, named)),
            verify=(VerifyCommand(command, one_line(found[0])),),
            notes=(note,) if several else (),
        )


def _at_root(files: RepoFiles, suffixes: tuple[str, ...]) -> list[str]:
    """Return the files of these kinds at the root, without those whose name is not a plain word."""
    named = (path for path in files.paths if "/" not in path and path.endswith(suffixes))
    return [path for path in named if path == one_line(path)]


def _packages(files: RepoFiles) -> list[tuple[str, str]]:
    texts = (files.text(path) or "" for path in _at_root(files, _PROJECTS))
    return [found for text in texts for found in _PACKAGE.findall(text)]


_NAMES: Final = ("GNUmakefile", "makefile", "Makefile")  # in the order in which make looks
# `test` first: in many projects `check` is a linter.
_WANTED: Final = ("test", "check")
_NAMES_OF_RULE = re.compile(r"[A-Za-z0-9_.][A-Za-z0-9_. -]{0,300}")


class Make:
    """Read a makefile. It counts only where no other tool says how the project is tested."""

    name = "make"

    def read(self, files: RepoFiles) -> Project | None:
        """Return the project, with its targets as scripts."""
        manifest = first_tracked(files, _NAMES)
        if not manifest:
            return None
        text = files.text(manifest)
        if text is None:
            return Project(self.name, manifest, notes=(unreadable(manifest),))
        named = bounded(_targets_of(text))
        wanted = next((each for each in _WANTED if each in named), "")
        command = VerifyCommand(f"make {wanted}", f"{manifest}: {wanted}")
        return Project(
            tool=self.name,
            manifest=manifest,
            scripts={each: f"make {each}" for each in named},
            verify=(command,) if wanted else (),
            notes=() if wanted else (f"{manifest} has no target `test` or `check`",),
        )


def _targets_of(text: str) -> Iterator[str]:
    for line in text.splitlines():
        names, colon, rest = line.partition(":")
        # `name := value` and `name ::= value` define variables.
        if colon and not rest.lstrip(":").startswith("=") and _NAMES_OF_RULE.fullmatch(names):
            yield from (each for each in names.split() if not each.startswith("."))
