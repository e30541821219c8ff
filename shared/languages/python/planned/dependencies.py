"""Finds which third-party packages a repo declares, and whether they may provide a module."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from shared.languages.capabilities.chain import Chain
from shared.languages.python.requirements import (
    declares_requirements,
    normal_name,
    provides_module,
    required_names,
)

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
        wanted = normal_name(module)
        return provides_module(self.names, module) or any(
            wanted in name.split("-") for name in self.names
        )

    def must_declare(self, module: str, after: int) -> bool:
        """Say whether the module, which is not the project's, needs a declaration and has none."""
        return not self.provides(module, after) and (self.complete or module in _WELL_KNOWN)


def read_dependencies(chain: Chain) -> Dependencies:
    """Return the packages that are declared, and the first order that may write a declaration."""
    files = sorted(path for path in chain.listing if declares_requirements(path))
    declared = [chain.sources[path] for path in files if path in chain.sources]
    names = {normal_name(each) for each in chain.dependencies}
    for text in declared:
        names |= required_names(text)
    written = [
        position
        for table in (chain.files.first, chain.files.possible)
        for path, position in table.items()
        if position > 0 and declares_requirements(path)
    ]
    unread = [0] if len(declared) < len(files) else []
    return Dependencies(
        frozenset(names), bool(names) or bool(declared), min(written + unread, default=None)
    )
