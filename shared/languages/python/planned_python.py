"""Reads the stubs, tests, packages and modules of a planned chain."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from shared.errors import quoted
from shared.files.paths import path_inside
from shared.languages.declared.declarations import normal_changes
from shared.languages.planned_code import (
    AcceptanceText,
    Chain,
    DeclaredStub,
    Need,
    OrderCode,
    TextFault,
    missing_module,
    provided_later,
    undeclared_package,
    unprovided,
)
from shared.languages.python import declared_requirements
from shared.languages.python.merge_stubs import merge
from shared.languages.python.module_views import Change, ModuleHistory
from shared.languages.python.python_code import read_code
from shared.languages.python.stubs import parse_stub

if TYPE_CHECKING:
    from shared.languages.read_commands import Code, Command, Import

SUFFIXES = (".py", ".pyi")


@dataclass(frozen=True, slots=True)
class PlannedOrder:
    """Hold one order with its Python.

    These are the stubs that it declares, parsed, and the tests that it brings, as far as they
    compile.
    """

    order: OrderCode
    interfaces: tuple[tuple[DeclaredStub, ast.Module | TextFault], ...]
    tests: tuple[tuple[AcceptanceText, Code], ...]

    @property
    def position(self) -> int:
        return self.order.position


@dataclass(frozen=True, slots=True)
class PlannedProject:
    """Hold a chain of orders, and the Python at every point of it."""

    chain: Chain
    orders: tuple[PlannedOrder, ...]
    history: ModuleHistory


def read_project(chain: Chain) -> PlannedProject:
    orders = tuple(
        PlannedOrder(
            order,
            tuple((e, _parsed(e)) for e in order.interfaces if e.path.endswith(SUFFIXES)),
            tuple(_compiled(order.acceptance_files)),
        )
        for order in chain.orders
    )
    removed: dict[int, list[str]] = {}
    for path, position in chain.files.removed.items():
        removed.setdefault(position, []).append(path)
    changes = [_change(each, removed.get(each.position, ())) for each in orders]
    history = ModuleHistory(chain.listing, chain.sources, changes, portable=True)
    return PlannedProject(chain, orders, history)


def _parsed(declared: DeclaredStub) -> ast.Module | TextFault:
    return TextFault(declared.problem) if declared.problem else parse_stub(declared.text)


def _compiled(files: Sequence[AcceptanceText]) -> Iterator[tuple[AcceptanceText, Code]]:
    read = ((each, read_code(each.text)) for each in files if each.path.endswith(SUFFIXES))
    return ((each, code) for each, code in read if code.problem is None)


def _change(planned: PlannedOrder, removed: Sequence[str]) -> Change:
    stubs: dict[str, list[ast.stmt]] = {}
    for each, stub in planned.interfaces:
        if isinstance(stub, ast.Module):
            stubs[each.path] = merge(stubs.get(each.path, ()), stub.body)
    order = planned.order
    return Change(
        writes=frozenset((*order.writes, *order.may_write)),
        stubs=stubs,
        changed=normal_changes(order.changes),
        removes=removed,
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
class DeclaredPackages:
    """Hold the packages that the repo and the user declare.

    `complete` is true where there is a declaration, so that a package it leaves out is not
    declared. From the order at `unknown_from` on, there may be declarations that cannot be read.
    """

    names: frozenset[str]
    complete: bool
    unknown_from: int | None

    def provides(self, module: str, after: int) -> bool:
        if self.unknown_from is not None and self.unknown_from <= after:
            return True
        wanted = declared_requirements.normal_name(module)
        return declared_requirements.provides(self.names, module) or any(
            wanted in name.split("-") for name in self.names
        )

    def must_declare(self, module: str, after: int) -> bool:
        """Say whether the module, which is not the project's, needs a declaration and has none."""
        return not self.provides(module, after) and (self.complete or module in _WELL_KNOWN)


# Files that may declare packages as well, each in its own way: any word of them may be a package.
_ALSO_DECLARING: Final = frozenset(
    {"setup.py", "setup.cfg", "Pipfile", "environment.yml", "tox.ini", "noxfile.py"}
)
_WORD = re.compile(r"[A-Za-z][\w.-]*")


def read_dependencies(chain: Chain) -> DeclaredPackages:
    """Return the packages that are declared, and the first order that may write a declaration."""
    files = sorted(path for path in chain.listing if declared_requirements.declares(path))
    declared = [chain.sources[path] for path in files if path in chain.sources]
    names = {declared_requirements.normal_name(each) for each in chain.dependencies}
    for text in declared:
        names |= declared_requirements.declared(text)
    for path in _ALSO_DECLARING.intersection(chain.listing) if declared else ():
        words = _WORD.findall(chain.sources.get(path) or "")
        names |= set(map(declared_requirements.normal_name, words))
    written = [
        position
        for table in (chain.files.first, chain.files.possible)
        for path, position in table.items()
        if position > 0 and declared_requirements.declares(path)
    ]
    unread = [0] if len(declared) < len(files) else []
    return DeclaredPackages(
        frozenset(names), bool(names) or bool(declared), min(written + unread, default=None)
    )


# Acceptance runs where pytest and pip are installed, whatever the project depends on.
_ALWAYS_THERE: Final = sys.stdlib_module_names | {"pytest", "_pytest", "pip", "__main__"}
_MODULE_SUFFIXES: Final = (".py", "/__init__.py", "/__init__.pyi", ".pyi")
# A package whose code contains one of these texts decides itself where its modules are.
_FINDS_ITS_OWN: Final = ("__path__", "sys.modules", "declare_namespace")
_COMPILED: Final = (".c", ".cc", ".cpp", ".cxx", ".pyx", ".rs")
# What says how modules are made that git does not hold.
_BUILD_FILES: Final = frozenset(
    {"pyproject.toml", "setup.py", "setup.cfg", "meson.build", "CMakeLists.txt", ".gitignore"}
)


@dataclass(frozen=True, slots=True)
class Layout:
    """Hold facts about the whole chain that all code needs.

    `packages` are the folders with Python files in them, and all folders above those. `stems` are
    the paths of files without their suffixes, but for modules that an order removes. `removed` are
    the paths of these modules without their suffixes.
    """

    packages: frozenset[str]
    stems: frozenset[str]
    removed: frozenset[str]
    dependencies: DeclaredPackages


@dataclass(frozen=True, slots=True)
class PlacedCode:
    """Hold a place in the plan: behind the order at `after`, with imports from the folders `roots`.

    Each of `roots` has its closing slash.
    """

    project: PlannedProject
    layout: Layout
    after: int
    roots: tuple[str, ...]

    @property
    def chain(self) -> Chain:
        return self.project.chain


def layout_of(chain: Chain) -> Layout:
    """Return the facts about a chain that its files and its dependencies give."""
    paths = (*chain.files.first, *chain.files.possible)
    packages = {
        folder
        for path in paths
        if path.endswith(SUFFIXES)
        for folder in accumulate(path.split("/")[:-1], lambda above, name: f"{above}/{name}")
    }
    removed = frozenset(path for path in chain.files.removed if path.endswith(SUFFIXES))
    staying = (path for path in paths if path not in removed)
    return Layout(
        frozenset(packages),
        frozenset(map(_stem, staying)),
        frozenset(map(_stem, removed)),
        read_dependencies(chain),
    )


def _stem(path: str) -> str:
    folder, slash, name = path.rpartition("/")
    return f"{folder}{slash}{name.split('.', 1)[0]}"


def unmet_import(placed: PlacedCode, needed: Import) -> Iterator[Need]:
    if needed.module.split(".", 1)[0] in _ALWAYS_THERE:
        return
    missing = _missing_module(needed, placed, placed.after)
    if missing is None:
        return
    later = placed.chain.first_with(
        placed.after, lambda after: _missing_module(needed, placed, after) is None
    )
    root = missing.split(".", 1)[0]
    if later is not None:
        yield provided_later("imports", missing, placed.chain.source(later))
    elif _is_own(root, placed):
        if _is_certain(missing, placed):
            yield missing_module(missing, _remover(missing, placed))
        else:
            yield unprovided("imports", missing)
    else:
        yield from _unmet_package("imports", missing, placed)


def _unmet_package(verb: str, module: str, placed: PlacedCode) -> Iterator[Need]:
    root = module.split(".", 1)[0]
    dependencies = placed.layout.dependencies
    if _is_elsewhere(module, placed):
        return
    if dependencies.must_declare(root, placed.after):
        yield undeclared_package(verb, module, root)
    elif not dependencies.provides(root, placed.after):
        yield unprovided(verb, module)


def _is_elsewhere(module: str, placed: PlacedCode) -> bool:
    """Say whether a folder that is no package has the module: it may be one that is searched.

    So are those of a `conftest.py`, of `pythonpath`, and of the members of a workspace.
    """
    stems = placed.layout.stems
    path = f"/{module.replace('.', '/')}"
    found = (each.removesuffix("/__init__") for each in stems if path in each)
    return any(
        f"{each.removesuffix(path)}/__init__" not in stems
        and _has_module(each, placed, placed.after)
        for each in found
        if each.endswith(path)
    )


def unmet_module_run(placed: PlacedCode, module: str) -> Iterator[Need]:
    """Yield what is missing to run `module` with `-m`, if anything is."""
    root = module.split(".", 1)[0]
    if root in _ALWAYS_THERE or _can_be_run(module, placed, placed.after):
        return
    if not _is_own(root, placed):
        yield from _unmet_package("runs the module", module, placed)
        return
    later = placed.chain.first_with(placed.after, lambda after: _can_be_run(module, placed, after))
    stems = [f"{each}{module.replace('.', '/')}" for each in placed.roots]
    is_package = any(_has_module(stem, placed, placed.after) for stem in stems)
    if later is not None:
        yield provided_later("runs", module, placed.chain.source(later), f"-m {module}")
    elif is_package:
        message = f"runs the package {quoted(module)}, which has no `__main__.py` by then"
        yield Need("E242", f"-m {module}", message)
    elif _is_certain(module, placed):
        message = f"runs the module {quoted(module)}, which does not exist by then"
        yield Need("E242", f"-m {module}", message)
    else:
        yield unprovided("runs the module", module)


def _can_be_run(module: str, placed: PlacedCode, after: int) -> bool:
    stem = module.replace(".", "/")
    return any(
        placed.chain.is_there(f"{root}{stem}{ending}", after)
        for root in placed.roots
        for ending in (".py", "/__main__.py")
    )


def import_roots(command: Command) -> tuple[str, ...]:
    """Return the folders in which modules are looked up, each with its closing slash."""
    given = dict(command.environment).get("PYTHONPATH", "")
    named = [folder for each in given.split(":") if (folder := path_inside(each))]
    return ("", "src/", *(f"{folder}/" for folder in named))


def _missing_module(needed: Import, placed: PlacedCode, after: int) -> str | None:
    """Return the module that the import needs and nothing provides, if there is one."""
    stems = [root + needed.module.replace(".", "/") for root in placed.roots]
    if any(_has_module(stem, placed, after) for stem in stems):
        return None
    folders = [stem for stem in stems if placed.chain.files.may_be_folder(stem, after)]
    if not folders:
        return needed.module
    # Only the modules in a folder without `__init__.py` can be imported from it.
    for name in needed.names:
        inside = [f"{folder}/{name}" for folder in folders]
        is_folder = any(placed.chain.files.may_be_folder(stem, after) for stem in inside)
        is_there = is_folder or any(_has_module(stem, placed, after) for stem in inside)
        if name != "*" and not is_there:
            return f"{needed.module}.{name}"
    return None


def _has_module(stem: str, placed: PlacedCode, after: int) -> bool:
    return any(placed.chain.is_there(stem + suffix, after) for suffix in _MODULE_SUFFIXES)


def _is_own(root: str, placed: PlacedCode) -> bool:
    """Say whether the repo or any order of the plan has a top-level module of that name.

    An installed package goes before a folder of the same name without `__init__.py`.
    """
    last, removed = len(placed.chain.orders), placed.layout.removed
    stems = [folder + root for folder in placed.roots]
    if any(_has_module(stem, placed, last) for stem in stems) or any(
        stem in removed or f"{stem}/__init__" in removed for stem in stems
    ):
        return True
    dependencies = placed.layout.dependencies
    if dependencies.provides(root, placed.after) or dependencies.must_declare(root, placed.after):
        return False
    return any(stem in placed.layout.packages for stem in stems)


def _remover(module: str, placed: PlacedCode) -> str:
    stems = [root + module.replace(".", "/") for root in placed.roots]
    paths = (stem + suffix for stem in stems for suffix in _MODULE_SUFFIXES)
    return next(filter(None, (placed.chain.remover(path, placed.after) for path in paths)), "")


def _is_certain(module: str, placed: PlacedCode) -> bool:
    """Say whether nothing but a plain source file could have provided the module."""
    if any(root + module.replace(".", "/") in placed.layout.stems for root in placed.roots):
        return False  # compiled, or made by a tool
    if _is_built(module, placed.chain) or compiles(placed.chain, placed.after):
        return False
    package = module.split(".", 1)[0]
    known = placed.project.history.find(package, placed.after)
    text = known.source.text if known is not None and known.source is not None else ""
    return not any(each in text for each in _FINDS_ITS_OWN)


def _is_built(module: str, chain: Chain) -> bool:
    """Say whether a build of the repo may make the module, by what its files say.

    They name it by its dotted name or by its path, or there is a `.proto` file that it is made of.
    """
    message = re.sub(r"_pb2(_grpc)?$", ".proto", module.rpartition(".")[2])
    named = re.compile(rf"\b{re.escape(module)}\b|\b{re.escape(module.replace('.', '/'))}\b")
    return any(
        named.search(chain.sources.get(path) or "") if name in _BUILD_FILES else name == message
        for path in chain.listing
        if (name := path.rpartition("/")[2]) in _BUILD_FILES or name.endswith(".proto")
    )


def compiles(chain: Chain, after: int) -> bool:
    """Return whether an order up to `after` may write the source of an extension module."""
    written = (each for o in chain.orders[:after] for each in (*o.writes, *o.may_write))
    return any(each.endswith(_COMPILED) for each in written)
