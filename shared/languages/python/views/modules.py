"""Represents one Python file by its source and its contracts, before any order writes it."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from shared.languages.capabilities.commands import CodeProblem
from shared.languages.python.stubs.declarations import Declaration, declarations, qualified
from shared.languages.python.stubs.merge import loosened, merge
from shared.languages.python.stubs.shadowing import with_outer_types
from shared.languages.python.views.sources import Source

ANYTHING: Final = "from typing import Any\ndef __getattr__(name: str) -> Any: ...\n"


@dataclass(frozen=True)
class Module:
    """Represent a file at one point of the chain of orders.

    `contract` has the statements that interfaces declare for the file. `loose` has the qualified
    names that an order changes without declaring how. `is_written` is true once an order wrote to
    the file without declaring anything: the file may then have more names than are known, and
    names known from the source alone may have changed.
    """

    path: str
    source: Source | None = None
    contract: tuple[ast.stmt, ...] | None = None
    loose: frozenset[str] = frozenset()
    is_written: bool = False

    def declare(self, stub: Sequence[ast.stmt]) -> Module:
        """Return the file after an order that declares `stub` for it."""
        contract = tuple(merge(self.contract or (), stub))
        names = qualified(declarations(stub))
        return replace(self, contract=contract, loose=self.loose - names)

    def loosen(self, names: frozenset[str]) -> Module:
        """Return the file after an order that changes or removes `names`."""
        return replace(self, loose=self.loose | names)

    def write(self) -> Module:
        """Return the file after an order that may have written anything to it."""
        return replace(self, is_written=True)

    @cached_property
    def body(self) -> Sequence[ast.stmt] | None:
        """Return the known statements of the file; `None` where nothing is known of it."""
        parsed = self.source.parsed if self.source else None
        source = parsed.body if isinstance(parsed, ast.Module) else None
        if source is None and self.contract is None:
            return None
        body = merge(source, self.contract or ()) if source is not None else self.contract or ()
        return loosened(body, self.loose) if self.loose else body

    @cached_property
    def declared(self) -> dict[str, Declaration]:
        """Return the declarations of all known names of the file."""
        return declarations(self.body or ())

    @cached_property
    def contracted(self) -> frozenset[str]:
        """Return the qualified names that a contract declares, except loose ones."""
        return qualified(declarations(self.contract or ())) - self.loose

    @cached_property
    def is_open(self) -> bool:
        """Return whether the file may have names beyond the known ones."""
        dynamic = self.source is not None and self.source.is_dynamic
        return self.body is None or self.is_written or dynamic or "__getattr__" in self.declared

    @cached_property
    def imports(self) -> tuple[tuple[int, str, tuple[str, ...]], ...]:
        """Return level, module and names of each import in the file; `import a` has no names."""
        found: list[tuple[int, str, tuple[str, ...]]] = []
        for statement in self.body or ():
            for node in ast.walk(statement):
                match node:
                    case ast.Import(names=names):
                        found += [(0, each.name, ()) for each in names]
                    case ast.ImportFrom(module=base, names=names, level=level):
                        found.append((level, base or "", tuple(each.name for each in names)))
                    case _:
                        pass
        return tuple(found)

    @property
    def problem(self) -> CodeProblem | None:
        """Return why the source cannot be read; `None` where it can or there is no source."""
        parsed = self.source.parsed if self.source else None
        return parsed if isinstance(parsed, CodeProblem) else None

    @property
    def checked_path(self) -> str:
        """Return the path for a type checker: that of a stub, unless there is readable source."""
        if self.source is not None and isinstance(self.source.parsed, ast.Module):
            return self.path
        return self.path.removesuffix(".pyi").removesuffix(".py") + ".pyi"

    @cached_property
    def text(self) -> str:
        """Return the text for a type checker at `checked_path`."""
        if self.body is None:
            return ANYTHING
        if self.source is not None and self.contract is None and not self.loose:
            return self.source.text
        body = with_outer_types(self.body)
        return render_stub(body) if self.checked_path.endswith(".pyi") else _unparse(body)


def render_stub(body: Sequence[ast.stmt]) -> str:
    """Return stub code in which each import is visible from outside.

    PEP 484 hides `from .a import f` in a stub, although the module behind the stub has `f`.
    """
    return _unparse([_visible(each) for each in body])


def _visible(statement: ast.stmt) -> ast.stmt:
    match statement:
        case ast.ImportFrom(module=module, names=names, level=level) if module != "__future__":
            shown = [ast.alias(each.name, each.asname or _own_name(each.name)) for each in names]
            return ast.ImportFrom(module, shown, level)
        case ast.Import(names=names):
            shown = [ast.alias(each.name, each.asname or _own_name(each.name)) for each in names]
            return ast.Import(shown)
        case _:
            return statement


def _own_name(name: str) -> str | None:
    return name if name.isidentifier() else None


def _unparse(body: Sequence[ast.stmt]) -> str:
    return ast.unparse(ast.fix_missing_locations(ast.Module(list(body), []))) + "\n"
