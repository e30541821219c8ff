"""Reads what `pyproject.toml` declares: PEP 621, PEP 735, Poetry, PDM and Hatch."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from shared.errors import InvalidInput
from shared.files.toml_tables import Table, table
from shared.languages.python.dependencies.requirements import Declared
from shared.languages.python.requirements import normal_name

TEST_NAMES: Final = ("test", "tests", "testing", "dev")
"""The extras, groups and environments whose names say that tests need them."""

_FILE: Final = "pyproject.toml"
_HATCH_ENVIRONMENTS: Final = ("default", "hatch-test", *TEST_NAMES)
_NUMBERS = re.compile(r"\d+(?:\.\d+)*")
_FOREIGN: Final = ("git", "path", "url", "file")


def from_pyproject(document: Table) -> Iterator[Declared]:
    """Yield what the project and its tests require.

    Raises `InvalidInput` for a package that comes from elsewhere than an index.
    """
    project = table(document, "project")
    yield from _texts("project.dependencies", project.get("dependencies"))
    extras = table(project, "optional-dependencies")
    for name in TEST_NAMES:
        yield from _texts(f"project.optional-dependencies.{name}", extras.get(name))
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


def _texts(place: str, listed: object) -> Iterator[Declared]:
    for each in listed if isinstance(listed, list) else ():
        if isinstance(each, str):
            yield Declared(f"{_FILE}: {place}", each.strip())


def _from_group(groups: Table, name: str, above: frozenset[str]) -> Iterator[Declared]:
    """Yield a group with the groups that it includes; a group inside itself adds nothing."""
    if name in above:
        return
    spelled = {normal_name(each): listed for each, listed in groups.items()}
    listed = spelled.get(normal_name(name))
    yield from _texts(f"dependency-groups.{name}", listed)
    for each in listed if isinstance(listed, list) else ():
        included = each.get("include-group") if isinstance(each, dict) else None
        if isinstance(included, str):
            yield from _from_group(groups, included, above | {name})


def _from_poetry(poetry: Table) -> Iterator[Declared]:
    tables = {
        "dependencies": table(poetry, "dependencies"),
        "dev-dependencies": table(poetry, "dev-dependencies"),
    }
    for name in TEST_NAMES:
        key = f"group.{name}.dependencies"
        tables[key] = table(poetry, "group", name, "dependencies")
    for key, wanted in tables.items():
        place = f"{_FILE}: tool.poetry.{key}"
        for name, constraint in wanted.items():
            if name != "python":
                for each in constraint if isinstance(constraint, list) else [constraint]:
                    yield from from_constraint(place, name, each)


def from_constraint(place: str, name: str, constraint: object) -> Iterator[Declared]:
    """Yield a package as Poetry and Pipenv declare it: versions, or a table with them.

    Raises `InvalidInput` for one that comes from elsewhere than an index.
    """
    if isinstance(constraint, str):
        yield Declared(place, name + versions_of_poetry(constraint))
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
    yield Declared(place, f"{name}{named}{versions_of_poetry(str(version))}{condition}")


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
