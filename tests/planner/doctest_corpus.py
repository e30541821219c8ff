"""The standard library's own doctests as commands that are right, on stubs that others wrote.

Each module becomes one of the project's own: its interface is its typeshed stub, and each of its
docstrings with examples is a command that imports what it uses from there.
"""

from __future__ import annotations

import ast
import contextlib
import doctest
import importlib.util
import io
import sysconfig
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from shared.languages.python.stubs import declarations

# Modules with examples, each with the one that its stub is called by.
SMALL: Final = {
    each: each
    for each in (
        "statistics",
        "textwrap",
        "fractions",
        "collections",
        "bisect",
        "difflib",
        "random",
    )
}
ALL: Final = SMALL | {
    each: each
    for each in (
        "base64", "calendar", "contextlib", "copy", "csv", "dataclasses", "doctest", "enum",
        "functools", "graphlib", "heapq", "html", "inspect", "ipaddress", "json", "operator",
        "pickle", "pprint", "re", "reprlib", "shlex", "string", "timeit", "types", "uuid",
        "weakref", "zipfile",
    )
} | {"_pydecimal": "decimal"}  # fmt: skip
PACKAGE: Final = "corpus"


def stub_of(module: str) -> str:
    """Return the typeshed stub that comes with the type checker."""
    spec = importlib.util.find_spec("mypy")
    assert spec is not None
    assert spec.origin is not None
    folder = Path(spec.origin).parent / "typeshed" / "stdlib"
    found = [folder / f"{module}.pyi", folder / module / "__init__.pyi"]
    return next(each for each in found if each.exists()).read_text("utf-8")


def commands_of(source: str, module: str) -> Iterator[str]:
    """Yield the code of each docstring of `source` whose examples run to their end."""
    declared = _public_names(stub_of(module))
    for docstring in _docstrings(source):
        code = "".join(_examples(docstring))
        used = _names_in(code) & declared
        if not used or "._" in code:  # no contract declares what is private
            continue
        imported = f"{module} import {', '.join(sorted(used))}\n{code}"
        if _runs(f"from {imported}"):
            yield f"from {PACKAGE}.{imported}"


def _names_in(code: str) -> set[str]:
    try:
        return {node.id for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name)}
    except SyntaxError:
        return set()


def _runs(code: str) -> bool:
    """Say whether the code is right, on the module itself."""
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(code, {"__name__": "__doctest__"})
        except Exception:
            return False
    return True


def source_of(module: str) -> str:
    """Return the text of a module of the standard library."""
    folder = Path(sysconfig.get_path("stdlib"))
    found = [folder / f"{module}.py", folder / module / "__init__.py"]
    return next(each for each in found if each.exists()).read_text("utf-8")


def _docstrings(module: str) -> Iterator[str]:
    tree = ast.parse(source_of(module))
    documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    for node in ast.walk(tree):
        if isinstance(node, documented) and (text := ast.get_docstring(node)):
            yield text


def _examples(docstring: str) -> Iterator[str]:
    try:
        examples = doctest.DocTestParser().get_examples(docstring)
    except ValueError:
        return
    yield from (each.source for each in examples if each.exc_msg is None)


def _public_names(stub: str) -> frozenset[str]:
    return frozenset(declarations(ast.parse(stub).body))
