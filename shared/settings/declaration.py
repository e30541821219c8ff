"""Declares settings as fields of dataclasses: name, reader, default, meaning and flag at once.

The type checker sees an ordinary field of an ordinary dataclass, whose type is that of the reader
and of the default. Everything else is found in the field's metadata.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any, TypeVar

from shared.settings.values import Reader

PREFIX = "LLMCH_"

_DECLARED = "declared"
_TABLE = "table"

T = TypeVar("T")


class FlagGroup(StrEnum):
    """The flags that a verb takes or leaves together."""

    PLANNER = "planner"
    PLAN_ALONE = "plan alone"
    REVIEW = "review"
    ATTEMPTS = "attempts"
    COMMANDS = "commands"
    SANDBOX = "sandbox"
    BUDGET = "budget"
    RECORD = "record"


class FlagKind(StrEnum):
    """How a flag is written."""

    VALUE = "--flag VALUE"
    LIST = "--flag VALUE, as often as needed"
    SWITCH = "--flag or --no-flag"


@dataclass(frozen=True, slots=True)
class Flag:
    """The flag of a setting; `choices` are those that `--help` and the parser know."""

    option: str
    group: FlagGroup
    metavar: str | None = None
    kind: FlagKind = FlagKind.VALUE
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Key:
    """A declared setting: its name is dotted where it stands in a table.

    A `guarded` one may not be set by a target repo's own config, but for a list's entries whose
    last path component is in `harmless`, and for a text in `harmless_words`. Layers overrule each
    other unless there is a `merge`. Where nobody sets the key, it is as the key named by `like`.
    """

    name: str
    read: Reader[object]
    default: object
    help: str
    default_words: str
    guarded: bool
    harmless: frozenset[str]
    harmless_words: frozenset[str]
    flag: Flag | None
    merge: Callable[[Any, Any], object] | None
    like: str

    @property
    def variable(self) -> str:
        """The environment variable of the setting."""
        return PREFIX + self.name.upper().replace(".", "_")

    @property
    def option(self) -> str:
        """The flag of the setting, as messages call it."""
        if self.flag:
            return self.flag.option
        return "--" + self.name.replace(".", "-").replace("_", "-")

    @property
    def range(self) -> str:
        """The values that are taken, in words; empty where the reader knows no bounds."""
        return str(getattr(self.read, "range", ""))


Keys = Mapping[str, Key]


def setting(
    read: Reader[T],
    default: T,
    help: str,  # noqa: A002  # as argparse calls it
    *,
    name: str,
    default_words: str = "",
    guarded: bool = False,
    harmless: frozenset[str] = frozenset(),
    harmless_words: frozenset[str] = frozenset(),
    flag: Flag | None = None,
    merge: Callable[[T, T], T] | None = None,
    like: str = "",
) -> T:
    """Declare a setting as the field of a dataclass.

    `default_words` says in `--help` and in the documentation what the default is, where its value
    does not.
    """
    key = Key(
        name=name,
        read=read,
        default=default,
        help=help,
        default_words=default_words or (f"as `{like}`" if like else _in_words(default)),
        guarded=guarded,
        harmless=harmless,
        harmless_words=harmless_words,
        flag=flag,
        merge=merge,
        like=like,
    )
    return field(default_factory=lambda: default, metadata={_DECLARED: key})


def _in_words(default: object) -> str:
    match default:
        case float():
            return f"{default:g}"
        case tuple():
            return ", ".join(map(str, default))
        case _:
            return str(default)


def table(kind: Callable[[], T]) -> T:
    """Declare a field that holds settings of its own."""
    return field(default_factory=kind, metadata={_TABLE: kind})


def keys_of(kind: type) -> Iterator[Key]:
    """Yield all settings that the dataclass `kind` and its tables declare, in their order."""
    for each in fields(kind):
        if inner := each.metadata.get(_TABLE):
            yield from keys_of(inner)
        elif key := each.metadata.get(_DECLARED):
            yield key


def fill(kind: Callable[..., T], value_of: Callable[[Key], object]) -> T:
    """Return the dataclass `kind`, filled with the values of its settings."""
    values: dict[str, object] = {}
    for each in fields(kind):  # type: ignore[arg-type]  # a class of settings is a dataclass
        if inner := each.metadata.get(_TABLE):
            values[each.name] = fill(inner, value_of)
        elif key := each.metadata.get(_DECLARED):
            values[each.name] = value_of(key)
    return kind(**values)
