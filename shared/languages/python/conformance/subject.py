"""Represents one file of a project: what is declared for it, and what it has."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from shared.languages.python.files import ROOTS
from shared.languages.python.stubs.declarations import Declaration, declarations, plain_declarations

_PROBES: Final = "llmch_probes/"


@dataclass(frozen=True, slots=True)
class Subject:
    """Hold one file with its declared names (`stub`) and the names that it has (`had`).

    `module` is its dotted name, `imports` are the import statements of the stub, made absolute, and
    `tree` is its syntax tree. Where it `is_open`, the file may have names that the tree does not
    show, as by a star import.
    """

    path: str
    module: str
    stub: Mapping[str, Declaration]
    imports: tuple[str, ...]
    tree: ast.Module
    had: Mapping[str, Declaration]
    is_open: bool

    @property
    def probe_path(self) -> str:
        """Return the path of the file's probe module, for the type checker."""
        return f"{_PROBES}{self.module.replace('.', '__')}.py"


def subject_of(path: str, body: Sequence[ast.stmt], tree: ast.Module, *, is_open: bool) -> Subject:
    """Return the file at `path`, declared by the statements of `body` and written as `tree`."""
    stem = path.removesuffix(".pyi").removesuffix(".py").removesuffix("/__init__")
    module = stem.removeprefix(ROOTS[1]).replace("/", ".")
    is_package = path.endswith(("/__init__.py", "/__init__.pyi"))
    package = module.split(".") if is_package else module.split(".")[:-1]
    return Subject(
        path,
        module,
        plain_declarations(body),
        tuple(_absolute_imports(body, package)),
        tree,
        declarations(tree.body),
        is_open,
    )


def _absolute_imports(body: Sequence[ast.stmt], package: Sequence[str]) -> Iterator[str]:
    """Yield the import statements of a stub, with relative imports made absolute by `package`."""
    for statement in body:
        match statement:
            case ast.Import():
                yield ast.unparse(statement)
            case ast.ImportFrom(module=base, names=names, level=level) if base != "__future__":
                start = list(package[: len(package) - level + 1]) if level else []
                module = ".".join([*start, *([base] if base else [])])
                if module:
                    yield ast.unparse(ast.ImportFrom(module, names, 0))
            case _:
                continue
