"""What stands behind a name that a checker's message mentions: a contract, a source, or neither."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Final

from planner.interfaces.code_facts import Imported
from shared.interfaces.declarations import Declaration
from shared.interfaces.modules import Module
from shared.interfaces.probe import base_names, last_name
from shared.interfaces.views import View

# Class decorators that a checker knows, or that leave a class as it is.
_KNOWN_DECORATORS: Final = frozenset(
    {"dataclass", "total_ordering", "final", "runtime_checkable", "unique", "override", "verify"}
)
# Bases that let other values pass for the class, or that only a checker tells from a plain one.
_LOOSE_BASES: Final = frozenset({"TypedDict", "Protocol", "NamedTuple"})
_ABSTRACT_BASES: Final = frozenset({"ABC", "Protocol"})
# Of the standard library: no value of another type is taken for one of these.
_PLAIN_STANDARD: Final = frozenset(
    {"Path", "PurePath", "PosixPath", "datetime", "date", "timedelta", "Decimal", "Fraction",
     "UUID", "Random", "Namespace", "Counter", "deque", "OrderedDict", "defaultdict"}
)  # fmt: skip
_TYPE_VARIABLES: Final = frozenset({"TypeVar", "TypeVarTuple", "ParamSpec"})


class Backing(StrEnum):
    """How sure one can be of a name.

    `CONTRACT`: an interface declares it. `SOURCE`: the repo's code has it, and no order touches
    that. `LOOSE`: an order may have changed it. `NONE`: it is nobody's own.
    """

    CONTRACT = "contract"
    SOURCE = "source"
    LOOSE = "loose"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Owner:
    """A class or function of the project, with the file that has it."""

    module: Module
    declaration: Declaration

    @property
    def node(self) -> ast.stmt:
        return self.declaration.nodes[-1]


@dataclass(frozen=True)
class Names:
    """The names of the modules in view, by what a message calls them."""

    view: View

    @cached_property
    def _roots(self) -> frozenset[str]:
        return frozenset(each.split(".", 1)[0] for each in self.view.modules)

    def is_own(self, imported: Imported) -> bool:
        """Say whether a name of a command comes from the project."""
        return imported.module.split(".", 1)[0] in self._roots

    @cached_property
    def _owners(self) -> Mapping[str, tuple[Owner, ...]]:
        found: dict[str, tuple[Owner, ...]] = {}
        for module in self.view.modules.values():
            for name, declaration in module.declared.items():
                if declaration.kind != "import":
                    found[name] = (*found.get(name, ()), Owner(module, declaration))
        return found

    def backing(self, name: str, owner: str | None = None) -> Backing:
        """Return what is behind a function or class, or behind a member of the class `owner`.

        Of several that share the name, the least certain counts.
        """
        top = owner or name
        found = [_backing(each, name, owner) for each in self._owners.get(top, ())]
        for level in (Backing.LOOSE, Backing.SOURCE, Backing.CONTRACT):
            if level in found:
                return level
        return Backing.NONE

    def owners(self, name: str) -> tuple[Owner, ...]:
        """Return the classes and functions of that name."""
        return self._owners.get(name, ())

    def classes(self, name: str) -> list[ast.ClassDef]:
        """Return the classes of that name."""
        return [each.node for each in self.owners(name) if isinstance(each.node, ast.ClassDef)]

    def takes_type_variables(self, name: str, owner: str | None = None) -> bool:
        """Say whether a function, or a member of `owner`, takes what a type variable stands for.

        Of a class, its constructor counts.
        """
        functions = [
            function
            for each in self.owners(owner or name)
            for function in _functions(each.node, name if owner else "__init__")
        ]
        return any(
            isinstance(node, ast.Name) and self._is_type_variable(node.id)
            for function in functions
            for node in ast.walk(function.args)
        )

    def _is_type_variable(self, name: str) -> bool:
        return any(
            isinstance(each.node, ast.Assign) and last_name(each.node.value) in _TYPE_VARIABLES
            for each in self.owners(name)
        )

    def is_plain_class(self, name: str) -> bool:
        """Say whether nothing but its own values are of that type, here and to Python alike."""
        if name in _PLAIN_STANDARD:
            return True
        classes = self.classes(name)
        return bool(classes) and all(
            base_names(each).isdisjoint(_LOOSE_BASES) and not self._inherits_loosely(each)
            for each in classes
        )

    def _inherits_loosely(self, node: ast.ClassDef) -> bool:
        return any(
            not base_names(base).isdisjoint(_LOOSE_BASES)
            for name in base_names(node)
            for base in self.classes(name)
            if name != node.name
        )

    def has_plain_head(self, name: str) -> bool:
        """Say whether all that makes such a class is known to a checker: no foreign decorator."""
        return all(
            last_name(each) in _KNOWN_DECORATORS
            for node in self.classes(name)
            for each in node.decorator_list
        )

    def may_be_extended(self, name: str) -> bool:
        """Say whether a value declared of the class may be of a class with more attributes."""
        if any(not base_names(each).isdisjoint(_ABSTRACT_BASES) for each in self.classes(name)):
            return True
        return any(
            name in base_names(each.node)
            for owners in self._owners.values()
            for each in owners
            if isinstance(each.node, ast.ClassDef)
        )


def _functions(node: ast.stmt, member: str) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield the function that `node` is, or those of that name in the class that it is."""
    if isinstance(node, ast.ClassDef):
        for each in node.body:
            if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef) and each.name == member:
                yield each
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        yield node


def _backing(owner: Owner, name: str, of_class: str | None) -> Backing:
    module = owner.module
    qualified = f"{of_class}.{name}" if of_class else name
    if qualified in module.contracted and not _is_built_in_source(owner, name, of_class):
        return Backing.CONTRACT
    if of_class and of_class in module.contracted and not _in_source(module, of_class):
        return Backing.CONTRACT  # a member inherited by a class that a contract declares
    return Backing.LOOSE if module.is_written else Backing.SOURCE


def _is_built_in_source(owner: Owner, name: str, of_class: str | None) -> bool:
    """Say whether a class is made by a constructor that only the source tells."""
    return (
        of_class is None
        and owner.declaration.kind == "class"
        and _in_source(owner.module, name)
        and f"{name}.__init__" not in owner.module.contracted
    )


def _in_source(module: Module, name: str) -> bool:
    parsed = module.source.parsed if module.source else None
    return isinstance(parsed, ast.Module) and any(
        isinstance(each, ast.ClassDef) and each.name == name for each in parsed.body
    )
