"""Finds what backs a name in a complaint, and how certain its type is."""

from __future__ import annotations

import ast
import datetime
import re
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Final

from shared.languages.python.python_code import base_names, decorator_names, name_behind
from shared.languages.python.signatures import normal
from shared.languages.python.stubs import FunctionNode
from shared.languages.python.type_text import BUILTINS, TypeText, parse_type, surely_differ

if TYPE_CHECKING:
    from shared.languages.python.code_facts import ImportedName
    from shared.languages.python.module_views import Module, ModuleView
    from shared.languages.python.stubs import BoundName

# Class decorators that a checker knows, or that leave a class as it is.
_KNOWN_DECORATORS: Final = frozenset(
    {"dataclass", "total_ordering", "final", "runtime_checkable", "unique", "override", "verify"}
)
_KNOWN_METACLASSES: Final = frozenset({"ABCMeta", "EnumMeta", "EnumType", "type"})
# An `__init_subclass__` with one of these words may give classes another constructor.
_MAKING_CONSTRUCTORS: Final = frozenset({"__init__", "__new__", "setattr", "dataclass"})
# Function decorators that a checker knows, or that leave the parameters as they are.
_SIGNATURE_KEEPING: Final = frozenset(
    {"abstractmethod", "asynccontextmanager", "cache", "cached_property", "classmethod",
     "contextmanager", "deprecated", "final", "lru_cache", "overload", "override", "property",
     "setter", "singledispatch", "singledispatchmethod", "staticmethod", "wraps"}
)  # fmt: skip
# Bases that let other values pass for the class, or that only a checker treats as special.
_LOOSE_BASES: Final = frozenset({"TypedDict", "Protocol", "NamedTuple"})
_ABSTRACT_BASES: Final = frozenset({"ABC", "Protocol"})


# Code that contains one of these words may set attributes that its text does not show.
_DYNAMIC_WORDS: Final = frozenset(
    {"setattr", "__dict__", "__getattr__", "__getattribute__", "metaclass"}
)


class Backing(StrEnum):
    """List how sure one can be of a name.

    `CONTRACT`: an interface declares the name. `SOURCE`: the repo's code has the name, and no order
    writes that file. `LOOSE`: an order may have changed the name. `NONE`: the project has no such
    name.
    """

    CONTRACT = "contract"
    SOURCE = "source"
    LOOSE = "loose"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Owner:
    """Hold a class or function of the project, with the module that has it."""

    module: Module
    declaration: BoundName

    @property
    def node(self) -> ast.stmt:
        return self.declaration.nodes[-1]


@dataclass(frozen=True)
class BackedNames:
    """Look up the declarations of the modules in view by the names that a message uses."""

    view: ModuleView

    @cached_property
    def _roots(self) -> frozenset[str]:
        return frozenset(each.split(".", 1)[0] for each in self.view.modules)

    def is_own(self, imported: ImportedName) -> bool:
        return imported.module.split(".", 1)[0] in self._roots

    def is_loose(self, imported: ImportedName) -> bool:
        """Say whether an order may change what is imported, and declares nothing of its file."""
        dotted = f"{imported.module}.{imported.attribute}" if imported.attribute else ""
        if not imported.attribute or dotted in self.view.modules:
            return False  # which name of the module is used is seen where it is used
        return self.backing(imported.attribute) is Backing.LOOSE

    @cached_property
    def loose_members(self) -> frozenset[str]:
        """Return names, and names of members, that an order may change without declaring them."""
        return frozenset(
            name
            for owner, owners in self._owners.items()
            for each in owners
            if each.module.is_written
            for name in (owner, *each.declaration.members)
            if not _is_contracted(each, name, owner)
        )

    @cached_property
    def _owners(self) -> Mapping[str, tuple[Owner, ...]]:
        found: dict[str, tuple[Owner, ...]] = {}
        for module in self.view.modules.values():
            for name, declaration in module.declared.items():
                if declaration.kind != "import":
                    found[name] = (*found.get(name, ()), Owner(module, declaration))
        return found

    def backing(self, name: str, owner: str | None = None) -> Backing:
        """Return what backs a function or class, or a member of the class `owner`.

        Where several share the name, the least certain one counts.
        """
        top = owner or name
        found = [_backing(each, name, owner) for each in self._owners.get(top, ())]
        for level in (Backing.LOOSE, Backing.SOURCE, Backing.CONTRACT):
            if level in found:
                return level
        return Backing.NONE

    def owners(self, name: str) -> tuple[Owner, ...]:
        return self._owners.get(name, ())

    def owns(self, of: TypeText) -> bool:
        classes = self.classes(of.head)
        if of.module:
            return any(of.head in each.declared for each in self._modules_named(of.module))
        if of.args and of.head in BUILTINS:
            return any(isinstance(base, ast.Subscript) for each in classes for base in each.bases)
        return bool(classes)

    def _modules_named(self, name: str) -> list[Module]:
        return [m for dotted, m in self.view.modules.items() if name in (dotted, m.path)]

    def has_member(self, of_class: str, name: str) -> bool:
        pending, seen = [of_class], {of_class}
        while pending:
            for each in self.owners(pending.pop()):
                if name in each.declaration.members:
                    return True
                bases = base_names(each.node) - seen
                seen |= bases
                pending += sorted(bases)
        return False

    def variants(self, name: str, owner: str | None = None) -> list[tuple[TypeText, ...]]:
        """Return the types of the positional parameters of each overload of a function.

        With `owner`, the function is a method of that class. A parameter without annotation may be
        anything. The list is empty if not exactly one class or function has the name.
        """
        found = self.owners(owner or name)
        if len(found) != 1:
            return []
        declaration = found[0].declaration
        function = declaration.members.get(name) if owner else declaration
        return [
            tuple(_type_of(each) for each in _positional(node, is_method=owner is not None))
            for node in (function.nodes if function is not None else ())
            if isinstance(node, FunctionNode)
        ]

    def is_typed_dict(self, name: str) -> bool:
        """Say whether any class of that name is a plain dict to Python."""
        return any("TypedDict" in base_names(each) for each in self.classes(name))

    def member_owners(self, name: str) -> tuple[str, ...]:
        return tuple(
            of_class
            for of_class, owners in self._owners.items()
            if any(name in each.declaration.members for each in owners)
        )

    def classes(self, name: str) -> list[ast.ClassDef]:
        return [each.node for each in self.owners(name) if isinstance(each.node, ast.ClassDef)]

    def is_plain_class(self, name: str) -> bool:
        """Say whether only its own instances pass for the class, to the checker and to Python."""
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

    def is_whole(self, name: str, attribute: str | None = None) -> bool:
        """Say whether a class has no members beyond the known ones.

        A contract must declare the class. Where the repo's source has the class too, the source
        must set attributes plainly, and `attribute` must not occur in it: the contract may have
        replaced the method that sets it.
        """
        return all(
            name in each.module.contracted
            and (
                not _in_source(each.module, name)
                or (_is_plain_source(each.module, attribute) and self._has_whole_bases(each))
            )
            for each in self.owners(name)
        )

    def _has_whole_bases(self, owner: Owner) -> bool:
        return all(
            self.is_whole(base)
            for base in base_names(owner.node)
            if base != owner.declaration.name and self.classes(base)
        )

    def has_plain_head(self, name: str) -> bool:
        """Say whether a checker knows how the class is made.

        Neither it nor a base of the project's has a foreign decorator or metaclass, or an
        `__init_subclass__` that makes constructors; and no order may change a base.
        """
        pending, seen = [name], {name}
        while pending:
            each = pending.pop()
            if each != name and self.backing(each) is Backing.LOOSE:
                return False
            for node in self.classes(each):
                if not _is_made_plainly(node):
                    return False
                bases = base_names(node) - seen
                seen |= bases
                pending += sorted(bases)
        return True

    def is_called_as_written(self, name: str, owner: str | None = None) -> bool:
        """Say whether a function takes what it is written to take.

        A foreign decorator may fill in arguments, whatever type it is annotated with. The fields of
        a named tuple may be computed, and in a block, the code may be meant for another system.
        """
        top = owner or name
        owners = self.owners(top)
        found = (each.declaration for each in owners)
        declared = (each.members.get(name) if owner else each for each in found)
        return not any(top in each.module.unseen for each in owners) and all(
            _takes_as_written(node) for each in declared if each for node in each.nodes
        )

    def is_frozen(self, name: str) -> bool:
        """Say whether a contract declares that no attribute of the class can be set."""
        return bool(self.classes(name)) and all(
            each.declaration.name in each.module.contracted
            and isinstance(each.node, ast.ClassDef)
            and ("NamedTuple" in base_names(each.node) or _is_frozen_dataclass(each.node))
            for each in self.owners(name)
        )

    def may_be_extended(self, name: str) -> bool:
        """Say whether a value declared as the class may be of a class with more attributes."""
        if any(not base_names(each).isdisjoint(_ABSTRACT_BASES) for each in self.classes(name)):
            return True
        return any(
            name in base_names(each.node)
            for owners in self._owners.values()
            for each in owners
            if isinstance(each.node, ast.ClassDef)
        )


def _is_contracted(owner: Owner, name: str, top: str) -> bool:
    qualified = name if name == top else f"{top}.{name}"
    return qualified in owner.module.contracted


def _is_made_plainly(node: ast.ClassDef) -> bool:
    decorated = all(name_behind(each) in _KNOWN_DECORATORS for each in node.decorator_list)
    made_by = (each.value for each in node.keywords if each.arg == "metaclass")
    hooks = (e for e in node.body if getattr(e, "name", "") == "__init_subclass__")
    words = {word for hook in hooks for word in re.findall(r"\w+", ast.unparse(hook))}
    return (
        decorated
        and all(name_behind(each) in _KNOWN_METACLASSES for each in made_by)
        and words.isdisjoint(_MAKING_CONSTRUCTORS)
    )


def _takes_as_written(node: ast.stmt) -> bool:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            return decorator_names(node) <= _SIGNATURE_KEEPING
        case ast.Assign(value=ast.Call(args=[_, *fields], keywords=keywords) as call) if (
            name_behind(call) == "namedtuple"
        ):
            given = (*fields, *(each.value for each in keywords))
            computed = (ast.Name, ast.BinOp, ast.Starred, ast.comprehension)
            names = (each for value in given for each in ast.walk(value))
            return not any(isinstance(each, computed) for each in names)
        case _:
            return True


def _positional(node: FunctionNode, *, is_method: bool) -> list[ast.arg]:
    is_bound = is_method and "staticmethod" not in decorator_names(node)
    return [*node.args.posonlyargs, *node.args.args][is_bound:]


def _type_of(parameter: ast.arg) -> TypeText:
    annotation = parameter.annotation
    return parse_type("Any" if annotation is None else normal(annotation))


def _is_frozen_dataclass(node: ast.ClassDef) -> bool:
    return any(
        option.arg == "frozen" and isinstance(option.value, ast.Constant) and option.value.value
        for each in node.decorator_list
        if isinstance(each, ast.Call) and name_behind(each) == "dataclass"
        for option in each.keywords
    )


def _backing(owner: Owner, name: str, of_class: str | None) -> Backing:
    module = owner.module
    qualified = f"{of_class}.{name}" if of_class else name
    if qualified in module.contracted and not _is_built_in_source(owner, name, of_class):
        return Backing.CONTRACT
    if of_class and of_class in module.contracted and not _in_source(module, of_class):
        return Backing.CONTRACT  # a member inherited by a class that a contract declares
    return Backing.LOOSE if module.is_written else Backing.SOURCE


def _is_built_in_source(owner: Owner, name: str, of_class: str | None) -> bool:
    """Say whether a class has a constructor that only the source shows."""
    return (
        of_class is None
        and owner.declaration.kind == "class"
        and _in_source(owner.module, name)
        and f"{name}.__init__" not in owner.module.contracted
    )


def _is_plain_source(module: Module, attribute: str | None) -> bool:
    source = module.source
    if source is None or not isinstance(source.parsed, ast.Module) or source.is_dynamic:
        return False
    words = frozenset(re.findall(r"\w+", source.text))
    return attribute not in words and words.isdisjoint(_DYNAMIC_WORDS)


def _in_source(module: Module, name: str) -> bool:
    parsed = module.source.parsed if module.source else None
    return isinstance(parsed, ast.Module) and any(
        isinstance(each, ast.ClassDef) and each.name == name for each in parsed.body
    )


# Classes of the standard library: no value of another type is taken for one of these.
_PLAIN_STANDARD: Final = frozenset(
    {"Path", "PurePath", "PosixPath", "datetime", "date", "timedelta", "Decimal", "Fraction",
     "UUID", "Random", "Namespace", "Counter", "deque", "OrderedDict", "defaultdict",
     "ArgumentParser", "Connection", "Cursor", "Logger", "Pattern", "Match", "Thread", "Queue",
     "ZipFile", "time", "timezone", "tzinfo"}
)  # fmt: skip
# No value of one of these types has an item, a length or an operator beyond the type's own.
_CLOSED_STANDARD: Final = frozenset(
    {"Iterator", "Generator", "AsyncIterator", "AsyncGenerator", "Coroutine", "Callable",
     "_GeneratorContextManager", "_AsyncGeneratorContextManager",
     "Path", "PurePath", "PosixPath", "datetime", "date", "timedelta", "Decimal", "Fraction",
     "UUID", "dict_keys", "dict_values", "dict_items"}
)  # fmt: skip
# Attributes that a value declared as a base class may have: a `dict` may be a `Counter`.
_OF_SUBCLASSES: Final = {
    "dict": frozenset({"most_common", "elements", "subtract", "total", "move_to_end",
                       "default_factory"}),
    "str": frozenset({"name", "value"}),
    "int": frozenset({"name", "value"}),
    "date": frozenset(dir(datetime.datetime)),
}  # fmt: skip
# Values of these types may have any attribute but those of data, such as `append`, which no
# iterator or function has.
_OPAQUE: Final = frozenset({"Iterator", "AsyncIterator", "Callable"})
DATA_ATTRIBUTES: Final = frozenset(
    name for each in (str, list, dict, set, int, tuple, deque) for name in dir(each)
) - {"real", "imag"}
_NUMBERS: Final = frozenset({"int", "float", "bool", "complex"})
_GENERIC: Final = frozenset({"list", "dict", "set", "frozenset", "tuple"})
_ITERATION: Final = ("__iter__", "__getitem__")


@dataclass(frozen=True)
class Certainty:
    """Judge what is certain of types, in a command that defines `local_classes` itself."""

    names: BackedNames
    local_classes: frozenset[str]

    def is_certain(self, of: TypeText) -> bool:
        """Say whether a value of this type can do no more than the type says."""
        if of.head in self.local_classes:
            return False
        if self.names.owns(of):
            return self._is_closed(of.head)
        return of.is_builtin or of.head in _CLOSED_STANDARD

    def differ(self, actual: TypeText, expected: TypeText) -> bool:
        """Say whether no value of the type `actual` is of the type `expected`."""
        if expected.head == "|":
            return all(self.differ(actual, each) for each in expected.args)
        if {actual.head, expected.head} & self.local_classes:
            return False
        if self.names.owns(expected):
            if self.names.is_typed_dict(expected.head):
                return actual.is_builtin and actual.head != "dict"
        elif expected.head == "Iterable" and self.names.owns(actual) and self._has_items(actual):
            return False
        elif actual.head == expected.head and expected.module:
            return False  # a class of the project may stand in for one of the same name
        return surely_differ(
            self._named(actual), self._named(expected), self._is_plain, self.is_certain
        )

    def _named(self, of: TypeText) -> TypeText:
        """Return a type, with its module where it is a project's class with a built-in name."""
        if of.head not in _GENERIC or of.module or not self.names.owns(of):
            return of
        return replace(of, module=self.names.owners(of.head)[0].module.path)

    def lacks_attribute(self, of: TypeText, name: str) -> bool:
        """Say whether no value of this type, which is not the project's, has the attribute."""
        if name in _OF_SUBCLASSES.get(of.head, ()):
            return False
        if of.head in _OPAQUE:
            return name in DATA_ATTRIBUTES
        # A value declared as a tuple may be a named tuple.
        return of.head != "tuple" and (of.is_builtin or of.head in _CLOSED_STANDARD)

    def lacks_items(self, of: TypeText) -> bool:
        """Say whether a value of this type surely cannot be iterated over."""
        if self.names.owns(of):
            return self.is_certain(of) and not self._has_items(of)
        return of.is_builtin and of.head in _NUMBERS

    def is_not_iterable(self, of: TypeText) -> bool:
        """Say whether the checker is right that a value of this type cannot be iterated over.

        The checker does not know that Python also iterates by `__getitem__` alone.
        """
        return self.is_certain(of) and not (self.names.owns(of) and self._has_items(of))

    def _has_items(self, of: TypeText) -> bool:
        return any(self.names.has_member(of.head, each) for each in _ITERATION)

    def _is_closed(self, head: str) -> bool:
        return (
            not any(each.module.is_open for each in self.names.owners(head))
            and self.names.is_whole(head)
            and not self.names.may_be_extended(head)
            and not self.names.is_typed_dict(head)
        )

    def _is_plain(self, of: TypeText) -> bool:
        if self.names.owns(of):
            return self.names.is_plain_class(of.head)
        return of.head in _PLAIN_STANDARD or (bool(of.module) and of.head in BUILTINS)
