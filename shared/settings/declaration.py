"""Declares settings as fields of dataclasses: name, reader, default, meaning and flag at once.

The type checker sees an ordinary field of an ordinary dataclass, whose type is that of the reader
and of the default. The field's metadata holds everything else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any, TypeVar

from shared.settings.values.given import Reader

PREFIX = "LLMCH_"

_DECLARED = "declared"
_TABLE = "table"

T = TypeVar("T")


class FlagGroup(StrEnum):
    """Name a group of flags; a verb has either all flags of a group or none of them."""

    PLANNER = "planner"
    PLAN_ALONE = "plan alone"
    REVIEW = "review"
    ATTEMPTS = "attempts"
    COMMANDS = "commands"
    SANDBOX = "sandbox"
    BUDGET = "budget"
    RECORD = "record"


class FlagKind(StrEnum):
    """Say how a flag is written."""

    VALUE = "--flag VALUE"
    LIST = "--flag VALUE, as often as needed"
    SWITCH = "--flag or --no-flag"


@dataclass(frozen=True, slots=True)
class Flag:
    """Describe the flag of a setting; `--help` shows `choices`, and the parser enforces them."""

    option: str
    group: FlagGroup
    metavar: str | None = None
    kind: FlagKind = FlagKind.VALUE
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Key:
    """Describe a declared setting; the name of a setting in a table has a dot.

    A target repo's own config may not set a `guarded` key, with two exceptions: entries of a list
    whose last path component is in `harmless`, and a text in `harmless_words`. A higher layer
    overrules a lower one unless `merge` combines their values. A key that nobody sets has the
    value of the key named by `like`, where there is one.
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
        """Return the name of the setting's environment variable."""
        return PREFIX + self.name.upper().replace(".", "_")

    @property
    def option(self) -> str:
        """Return the flag of the setting, as messages name it."""
        if self.flag:
            return self.flag.option
        return "--" + self.name.replace(".", "-").replace("_", "-")

    @property
    def range(self) -> str:
        """Return the allowed values in words; empty where the reader has no bounds."""
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

    `default_words` describes the default in `--help` and in the documentation, where the value
    itself does not.
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
    """Declare a field that holds a table of settings."""
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
