"""Finds which third-party packages a repo declares, and whether they may provide a module."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from planner.plan.projection import Projection
from planner.plan.target import TargetRepo

_PROJECT: Final = "pyproject.toml"
_REQUIREMENTS = re.compile(r"(?:.*/)?requirements[^/]*\.txt|requirements/[^/]+\.txt")
_NAME = re.compile(r"\s*([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)")
_SEPARATORS = re.compile(r"[-_.]+")

# Packages whose modules have another name. The most used ones are enough, because only a warning
# depends on them.
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

# Module names that no project gives to its own code. So an import of one is reported as an
# undeclared package even where the repo declares no dependencies at all.
_WELL_KNOWN_NAMES: Final = """
    PIL aiohttp alembic anthropic attr attrs bcrypt black boto3 bs4 celery click colorama
    coverage cryptography cv2 dateutil django dotenv fastapi flake8 flask freezegun gunicorn gym
    gymnasium httpx hypothesis isort jax jinja2 jsonschema jwt keras langchain langgraph lightgbm
    loguru lxml marshmallow matplotlib msgpack mypy networkx nltk nox numba numpy openai openpyxl
    orjson pandas paramiko pkg_resources playwright plotly polars psutil psycopg psycopg2 pyarrow
    pydantic pygame pylint pymongo pymysql pytest_mock pytz redis regex requests rich ruff scipy
    scrapy seaborn selenium setuptools simplejson skimage sklearn spacy sqlalchemy starlette
    statsmodels streamlit structlog sympy tabulate tensorflow tomlkit torch tox tqdm transformers
    trio typer ujson urllib3 uvicorn websockets werkzeug wheel xgboost yaml
"""
_WELL_KNOWN: Final = frozenset(_WELL_KNOWN_NAMES.split())


@dataclass(frozen=True, slots=True)
class Dependencies:
    """Hold the packages that the repo and the user declare.

    `complete` is true where there is a declaration, so that a package it leaves out is not
    declared. From the order at `unknown_from` on, there may be declarations that cannot be read.
    """

    names: frozenset[str]
    complete: bool
    unknown_from: int | None

    def provides(self, module: str, after: int) -> bool:
        """Say whether a declared package may have the module, judged by its name."""
        if self.unknown_from is not None and self.unknown_from <= after:
            return True
        wanted = _normal(module)
        return any(
            name in (wanted, f"python-{wanted}", f"py{wanted}")
            or module in _MODULES_OF.get(name, ())
            or wanted in name.split("-")
            for name in self.names
        )

    def must_declare(self, module: str, after: int) -> bool:
        """Say whether the module, which is not the project's, needs a declaration and has none."""
        return not self.provides(module, after) and (self.complete or module in _WELL_KNOWN)


def read_dependencies(target: TargetRepo, chain: Projection) -> Dependencies:
    """Return the packages that are declared, and the first order that may write a declaration."""
    files = sorted(path for path in target.files if _declares(path))
    declared = [target.sources[path] for path in files if path in target.sources]
    names = {_normal(each) for each in target.allowed.dependencies}
    for text in declared:
        names |= _names_in(text)
    written = [
        position
        for table in (chain.first, chain.possible)
        for path, position in table.items()
        if position > 0 and _declares(path)
    ]
    unread = [0] if len(declared) < len(files) else []
    return Dependencies(
        frozenset(names), bool(names) or bool(declared), min(written + unread, default=None)
    )


def _declares(path: str) -> bool:
    return path == _PROJECT or _REQUIREMENTS.fullmatch(path) is not None


@lru_cache(maxsize=16)
def _names_in(text: str) -> frozenset[str]:
    try:
        lines = tuple(_requirements_of(tomllib.loads(text)))
    except (tomllib.TOMLDecodeError, RecursionError):
        lines = tuple(
            line for line in text.splitlines() if not line.lstrip().startswith(("#", "-"))
        )
    return frozenset(_normal(found[1]) for line in lines if (found := _NAME.match(line)))


def _requirements_of(project: Mapping[str, object]) -> Iterator[str]:
    """Yield each requirement in a `pyproject.toml`: PEP 621, PEP 735, Poetry, build system."""
    own = _table(project, "project")
    poetry = _table(_table(project, "tool"), "poetry")
    yield from _texts(own.get("dependencies"))
    yield from _texts(_table(project, "build-system").get("requires"))
    for groups in (_table(own, "optional-dependencies"), _table(project, "dependency-groups")):
        for group in groups.values():
            yield from _texts(group)
    yield from _table(poetry, "dependencies")
    for group in (poetry, *_table(poetry, "group").values()):
        if isinstance(group, dict):
            yield from _table(group, "dependencies")
            yield from _table(group, "dev-dependencies")


def _table(parent: Mapping[str, object], key: str) -> Mapping[str, object]:
    found = parent.get(key)
    return found if isinstance(found, dict) else {}


def _texts(value: object) -> Iterator[str]:
    yield from (each for each in value if isinstance(each, str)) if isinstance(value, list) else ()


def _normal(name: str) -> str:
    return _SEPARATORS.sub("-", name).lower()
