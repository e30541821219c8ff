"""Reads what a project's manifests declare."""

from __future__ import annotations

import ast
import configparser
import posixpath
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from shared.errors import InvalidInput
from shared.files.strict_documents import Table, parse_toml, table
from shared.languages.python.python_code import last_part

if TYPE_CHECKING:
    from shared.languages.language_tools import ManifestFiles

_PROJECT: Final = "pyproject.toml"
_REQUIREMENTS = re.compile(r"(?:.*/)?requirements[^/]*\.txt|requirements/[^/]+\.txt")
_NAME = re.compile(r"\s*([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)")
_MISSING = re.compile(r"No module named '?(\w+)")
_SEPARATORS = re.compile(r"[-_.]+")

# Packages whose modules have another name. The most used ones are enough: a module that is
# missing here counts as undeclared.
_MODULES_OF: Final[Mapping[str, frozenset[str]]] = {
    "beautifulsoup4": frozenset({"bs4"}),
    "attrs": frozenset({"attr"}),
    "mysqlclient": frozenset({"MySQLdb"}),
    "opencv-python": frozenset({"cv2"}),
    "pillow": frozenset({"PIL"}),
    "protobuf": frozenset({"google"}),
    "pyjwt": frozenset({"jwt"}),
    "pymupdf": frozenset({"fitz"}),
    "pyserial": frozenset({"serial"}),
    "pyyaml": frozenset({"yaml"}),
    "scikit-image": frozenset({"skimage"}),
    "scikit-learn": frozenset({"sklearn"}),
    "setuptools": frozenset({"pkg_resources"}),
}


def declares(path: str) -> bool:
    return path == _PROJECT or _REQUIREMENTS.fullmatch(path) is not None


def normal_name(name: str) -> str:
    """Return a distribution's name in its normal form, so that two spellings compare equal."""
    return _SEPARATORS.sub("-", name).lower()


def provides(names: Collection[str], module: str) -> bool:
    """Return whether one of these distributions, in normal form, has the top-level `module`.

    A distribution is judged by its name, and by a table of those whose modules have another name.
    """
    wanted = normal_name(module)
    return any(
        name in (wanted, f"python-{wanted}", f"py{wanted}") or module in _MODULES_OF.get(name, ())
        for name in names
    )


@lru_cache(maxsize=16)
def declared(text: str) -> frozenset[str]:
    """Return the normal names of the distributions that a file declares.

    The file is a `pyproject.toml` or a list of requirements. Its text may be anything.
    """
    try:
        lines = tuple(_requirements_of(parse_toml(text)))
    except (ValueError, RecursionError):
        lines = tuple(e for e in text.splitlines() if not e.lstrip().startswith(("#", "-")))
    return frozenset(normal_name(found[1]) for line in lines if (found := _NAME.match(line)))


def not_installed(text: str, output: str) -> tuple[str, ...]:
    """Return the modules that a command's `output` misses and that the file `text` declares."""
    names = declared(text)
    missed = dict.fromkeys(_MISSING.findall(output))
    return tuple(f"The module {each!r}" for each in missed if provides(names, each))


def _requirements_of(project: Mapping[str, object]) -> Iterator[str]:
    """Yield each requirement in a `pyproject.toml`: PEP 621, PEP 735, Poetry, build system."""
    own = table(project, "project")
    poetry = table(project, "tool", "poetry")
    yield from _texts_requirements(own.get("dependencies"))
    yield from _texts_requirements(table(project, "build-system").get("requires"))
    for groups in (table(own, "optional-dependencies"), table(project, "dependency-groups")):
        for group in groups.values():
            yield from _texts_requirements(group)
    yield from table(poetry, "dependencies")
    for group in (poetry, *table(poetry, "group").values()):
        yield from table(group, "dependencies")
        yield from table(group, "dev-dependencies")


def _texts_requirements(value: object) -> Iterator[str]:
    yield from (each for each in value if isinstance(each, str)) if isinstance(value, list) else ()


# A name, extras, versions, a marker and hashes, as in PEP 508 but without `@ URL`. No other
# option of pip's requirements files is accepted, because those fetch or run things.
REQUIREMENT: Final = re.compile(
    r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*+)"
    r"(?:\s*+\[[A-Za-z0-9._,\s-]*+\])?+(?:\s*+\()?+"
    r"(?P<versions>(?:\s*+(?:===|==|~=|!=|<=|>=|<|>)\s*+[A-Za-z0-9.*+!_-]++(?:\s*+,)?+)*+)"
    r"(?:\s*+\))?+"
    r"(?P<marker>\s*+;(?:(?!\s--)[\w\s.'\"<>=!~|/+*(),-])++)?+"
    r"(?P<hashes>(?:\s++--hash=sha256:[0-9a-f]{64})*+)\s*+"
)
_COMMENT: Final = re.compile(r"(?:^|\s)#.*")
_LONGEST: Final = 20_000  # a requirement with the hashes of a hundred wheels fits
_MOST_INCLUDES: Final = 20
_INCLUDE: Final = re.compile(r"(?:-r|--requirement|-c|--constraint)[\s=]+(?P<file>\S+)")
# The project itself, as one installs it to work on it. Commands find its code in the workspace.
_ITSELF: Final = re.compile(r"(?:-e\s*|--editable[\s=]+)?\.(?:\[[\w,\s.-]*\])?")

_LISTS: Final = re.compile(
    r"requirements\.txt|requirements[-_.](?:dev|test|tests|testing)\.txt"
    r"|(?:dev|test|tests)[-_.]requirements\.txt"
    r"|requirements/(?:base|main|dev|test|tests|testing)\.txt"
)


@dataclass(frozen=True, slots=True)
class DeclaredRequirement:
    """Hold a requirement as it is written, and the place that declares it."""

    place: str
    line: str
    constraint: bool = False

    @property
    def name(self) -> str:
        """Return the package's name as written; "" if the line is not a requirement."""
        match = REQUIREMENT.fullmatch(self.line)
        return match["name"] if match else ""


def check_declared(declared: DeclaredRequirement) -> DeclaredRequirement:
    """Return what was given. Raises `InvalidInput` for more than a name and versions."""
    if len(declared.line) > _LONGEST or not REQUIREMENT.fullmatch(declared.line):
        raise InvalidInput(
            f"{declared.place}: cannot install {declared.line[:200]!r}",
            "declare it by name and version, or prepare an environment and pass --python",
        )
    return declared


def from_lists(files: ManifestFiles) -> Iterator[DeclaredRequirement]:
    """Yield what the usual lists of requirements declare, with the lists that they include.

    Raises `InvalidInput` for an include that leads out of the repo or to no file.
    """
    seen: set[tuple[str, bool]] = set()
    for path in files.paths:
        if _LISTS.fullmatch(path):
            yield from _from_list(files, path, seen, constraint=False)


def _from_list(
    files: ManifestFiles, path: str, seen: set[tuple[str, bool]], *, constraint: bool
) -> Iterator[DeclaredRequirement]:
    if (path, constraint) in seen or len(seen) > _MOST_INCLUDES:
        return
    seen.add((path, constraint))
    joined = (files.text(path) or "").replace("\\\n", " ")
    for number, line in enumerate(joined.splitlines(), start=1):
        requirement = _COMMENT.sub("", line).strip()
        include = _INCLUDE.fullmatch(requirement)
        if include:
            target = _included(files, path, number, include["file"])
            only = constraint or requirement.startswith(("-c", "--c"))
            yield from _from_list(files, target, seen, constraint=only)
        elif requirement and not _ITSELF.fullmatch(requirement):
            yield DeclaredRequirement(f"{path}:{number}", requirement, constraint)


def _included(files: ManifestFiles, path: str, number: int, named: str) -> str:
    folder = posixpath.dirname(path) if number else ""  # a place without a line is of the root
    target = posixpath.normpath(posixpath.join(folder, named))
    outside = named.startswith("/") or target.startswith("../") or ":" in named
    if outside or files.text(target) is None:
        reason = "leads out of the repo" if outside else "names no file of the repo"
        line = f":{number}" if number else ""
        raise InvalidInput(
            f"{path}{line}: the include {named[:200]!r} {reason}",
            "correct it, or prepare an environment and pass --python",
        )
    return target


_FILES: Final = re.compile(r"\s*file:")
_SETUPTOOLS_FILES_LISTS: Final = ("install_requires", "tests_require")


def from_setup_cfg(files: ManifestFiles) -> Iterator[DeclaredRequirement]:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(files.text("setup.cfg") or "")
    except configparser.Error as error:
        words = str(error).splitlines()[0]
        raise InvalidInput(f"setup.cfg cannot be read: {words}", "correct it") from error
    for key in _SETUPTOOLS_FILES_LISTS:
        text = parser.get("options", key, fallback="")
        yield from _lines(files, f"setup.cfg: options.{key}", text)
    for name in TEST_NAMES:
        text = parser.get("options.extras_require", name, fallback="")
        yield from _lines(files, f"setup.cfg: options.extras_require.{name}", text)


def _lines(files: ManifestFiles, place: str, text: str) -> Iterator[DeclaredRequirement]:
    if (found := _FILES.match(text)) is not None:
        yield from _from_files(files, place, text[found.end() :].replace("\n", ",").split(","))
        return
    lines = (_COMMENT.sub("", each).strip() for each in text.replace("\n", ";;").split(";;"))
    yield from (DeclaredRequirement(place, line) for line in lines if line)


def _from_files(
    files: ManifestFiles, place: str, names: Iterable[str]
) -> Iterator[DeclaredRequirement]:
    """Yield what the lists declare that setuptools is to read instead of a list in place."""
    seen: set[tuple[str, bool]] = set()
    for named in filter(None, map(str.strip, names)):
        target = _included(files, place, 0, named)
        yield from _from_list(files, target, seen, constraint=False)


def from_setup_py(files: ManifestFiles) -> tuple[list[DeclaredRequirement], list[str]]:
    """Return what `setup.py` requires as far as it is written there, and notes on what is not.

    Only lists of texts are read: in the call of `setup`, or in a variable that it names.
    """
    text = files.text("setup.py")
    try:
        module = ast.parse(text or "")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return [], ["setup.py cannot be parsed, so what it requires is not known."]
    variables = dict(_assignments(module))
    declared: list[DeclaredRequirement] = []
    notes: list[str] = []
    for keyword in _keywords_of_setup(module):
        values: dict[str, ast.expr] = {}
        if keyword.arg in _SETUPTOOLS_FILES_LISTS:
            values = {keyword.arg: keyword.value}
        elif keyword.arg == "extras_require":
            values = _extras(_resolved(keyword.value, variables))
        for name, value in values.items():
            place = f"setup.py: {name}"
            texts = _texts_setuptools_files(_resolved(value, variables))
            if texts is None:
                notes.append(f"{place} is computed, and setup.py is not run to find out.")
            declared.extend(
                DeclaredRequirement(place, each.strip()) for each in texts or () if each.strip()
            )
    return declared, notes


def _keywords_of_setup(module: ast.Module) -> Iterator[ast.keyword]:
    for node in ast.walk(module):
        if isinstance(node, ast.Call) and last_part(node.func) == "setup":
            yield from node.keywords


def _assignments(module: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    for node in module.body:
        if isinstance(node, ast.Assign):
            names = (each.id for each in node.targets if isinstance(each, ast.Name))
            yield from ((name, node.value) for name in names)


def _resolved(value: ast.expr, variables: Mapping[str, ast.expr]) -> ast.expr:
    return variables.get(value.id, value) if isinstance(value, ast.Name) else value


def _extras(value: ast.expr) -> dict[str, ast.expr]:
    if not isinstance(value, ast.Dict):
        return {"extras_require": value}
    named = zip(value.keys, value.values, strict=True)
    return {
        f"extras_require.{key.value}": each
        for key, each in named
        if isinstance(key, ast.Constant) and key.value in TEST_NAMES
    }


def _texts_setuptools_files(value: ast.expr) -> tuple[str, ...] | None:
    """Return the texts of a literal list, `None` if it is anything else."""
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        return tuple(value.value.splitlines())
    if not isinstance(value, ast.List | ast.Tuple):
        return None
    texts = (each.value for each in value.elts if isinstance(each, ast.Constant))
    strings = tuple(each for each in texts if isinstance(each, str))
    return strings if len(strings) == len(value.elts) else None


TEST_NAMES: Final = ("test", "tests", "testing", "dev")
"""The extras, groups and environments whose names say that tests need them."""

_HATCH_ENVIRONMENTS: Final = ("default", "hatch-test", *TEST_NAMES)
_NUMBERS = re.compile(r"\d{1,9}(?!\d)(?:\.\d{1,9}(?!\d))*+")
_FOREIGN: Final = ("git", "path", "url", "file")


def from_pyproject(document: Table, files: ManifestFiles) -> Iterator[DeclaredRequirement]:
    """Yield what the project and its tests require.

    Raises `InvalidInput` for a package that comes from elsewhere than an index.
    """
    project = table(document, "project")
    yield from _texts("project.dependencies", project.get("dependencies"))
    extras = table(project, "optional-dependencies")
    for name in TEST_NAMES:
        yield from _texts(f"project.optional-dependencies.{name}", extras.get(name))
    dynamic = table(document, "tool", "setuptools", "dynamic")
    extras = table(dynamic, "optional-dependencies")
    for each in (table(dynamic, "dependencies"), *(table(extras, name) for name in TEST_NAMES)):
        named = each.get("file")
        lists = [named] if isinstance(named, str) else _texts_requirements(named)
        yield from _from_files(files, "pyproject.toml: tool.setuptools.dynamic", lists)
    groups = table(document, "dependency-groups")
    for name in TEST_NAMES:
        yield from _from_group(groups, name, frozenset())
    for name, listed in table(document, "tool", "pdm", "dev-dependencies").items():
        yield from _texts(f"tool.pdm.dev-dependencies.{name}", listed)
    yield from _from_poetry(table(document, "tool", "poetry"))
    for name in _HATCH_ENVIRONMENTS:
        environment = table(document, "tool", "hatch", "envs", name)
        for key in ("dependencies", "extra-dependencies"):
            yield from _texts(f"tool.hatch.envs.{name}.{key}", environment.get(key))


def _texts(place: str, listed: object) -> Iterator[DeclaredRequirement]:
    for each in listed if isinstance(listed, list) else ():
        if isinstance(each, str):
            yield DeclaredRequirement(f"{_PROJECT}: {place}", each.strip())


def _from_group(groups: Table, name: str, above: frozenset[str]) -> Iterator[DeclaredRequirement]:
    """Yield a group with the groups that it includes; a group inside itself adds nothing.

    Documentation is not verified, and what builds it often needs a newer Python.
    """
    if name in above or normal_name(name) in ("doc", "docs"):
        return
    spelled = {normal_name(each): listed for each, listed in groups.items()}
    listed = spelled.get(normal_name(name))
    yield from _texts(f"dependency-groups.{name}", listed)
    for each in listed if isinstance(listed, list) else ():
        included = each.get("include-group") if isinstance(each, dict) else None
        if isinstance(included, str):
            yield from _from_group(groups, included, above | {name})


def _from_poetry(poetry: Table) -> Iterator[DeclaredRequirement]:
    keys: list[tuple[str, ...]] = [("dependencies",), ("dev-dependencies",)]
    for key in (*keys, *(("group", name, "dependencies") for name in TEST_NAMES)):
        place = f"{_PROJECT}: tool.poetry.{'.'.join(key)}"
        for name, constraint in table(poetry, *key).items():
            if name != "python":
                for each in constraint if isinstance(constraint, list) else [constraint]:
                    yield from from_constraint(place, name, each)


def from_constraint(place: str, name: str, constraint: object) -> Iterator[DeclaredRequirement]:
    """Yield a package as Poetry and Pipenv declare it: versions, or a table with them.

    Raises `InvalidInput` for one that comes from elsewhere than an index.
    """
    if isinstance(constraint, str):
        yield DeclaredRequirement(place, name + versions_of_poetry(constraint))
    if not isinstance(constraint, dict) or constraint.get("optional") is True:
        return
    foreign = next((key for key in _FOREIGN if key in constraint), "")
    if foreign:
        raise InvalidInput(
            f"{place}: cannot install {name!r}, which comes from {foreign} = "
            f"{str(constraint[foreign])[:200]!r}",
            "declare it by name and version, or prepare an environment and pass --python",
        )
    extras = constraint.get("extras")
    named = f"[{','.join(map(str, extras))}]" if isinstance(extras, list) and extras else ""
    version, marker = constraint.get("version", "*"), constraint.get("markers", "")
    condition = f" ; {marker}" if marker else ""
    yield DeclaredRequirement(place, f"{name}{named}{versions_of_poetry(str(version))}{condition}")


def versions_of_poetry(constraint: str) -> str:
    """Return Poetry's constraint as pip reads it: `^1.2` becomes `>=1.2,<2`.

    Alternatives (`||`) come to no constraint, because pip cannot say them; a lock decides then.
    """
    if "||" in constraint or constraint.strip() in ("*", ""):
        return ""
    return ",".join(_one_version(each.strip()) for each in constraint.split(",") if each.strip())


def _one_version(text: str) -> str:
    sign, version = text[0], text[1:].strip()
    numbers = _NUMBERS.match(version)
    if sign == "^" and numbers:
        return f">={version},<{_next_breaking(numbers[0])}"
    if sign == "~" and numbers and not text.startswith("~="):
        parts = numbers[0].split(".")
        return f">={version},<{_raised(parts[:2])}"
    return f"=={text}" if text[0].isdigit() else text.replace(" ", "")


def _next_breaking(version: str) -> str:
    """Return the first version that may break: the leftmost number that is not 0 goes up."""
    parts = version.split(".")
    kept = next((at for at, part in enumerate(parts) if int(part)), len(parts) - 1)
    return _raised(parts[: kept + 1])


def _raised(parts: list[str]) -> str:
    return ".".join([*parts[:-1], str(int(parts[-1]) + 1)])
