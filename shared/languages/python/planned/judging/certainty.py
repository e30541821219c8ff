"""Says how sure one can be of a type: whether its values may do more, or be of another type too."""

from __future__ import annotations

import datetime
from collections import deque
from dataclasses import dataclass, replace
from typing import Final

from shared.languages.python.planned.judging.backing import Names
from shared.languages.python.stubs.type_text import BUILTINS, TypeText, surely_differ

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

    names: Names
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
