"""Reads JSON values as the types that wrote them: dataclasses and pydantic models.

A record is read by the type that wrote it, so that a field is named in one place. Keys that the
type does not have are ignored: a later version may have written them. A key that is missing or
null has the field's default. A value of another type is never converted: it is named.

Pydantic is not used for reading. It refuses texts with lone surrogates, which is how Python holds
a path that is not UTF-8, and it refuses a whole record where one field is wrong.
"""

from __future__ import annotations

import dataclasses
import json
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from functools import cache
from math import isfinite
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeVar, Union, cast

from shared.errors import InvalidInput
from shared.files.strict_documents import MAX_DOCUMENT_BYTES
from shared.files.text_sources import read_regular_file

T = TypeVar("T")

_TOO_LARGE: Final = 10**15  # no duration, count or cost comes near
_LONGEST_QUOTE: Final = 60  # characters of a value
_MOST_FAULTS: Final = 20  # of one record; who reads them wants the first ones


class Misfit(ValueError):
    """Report a value that is not of the wanted type; `place` names it within the record."""

    def __init__(self, said: str, place: str = "") -> None:
        self.said = said
        self.place = place
        super().__init__(f"{place!r} {said}" if place else f"the record {said}")

    def below(self, place: str) -> Misfit:
        """Return the same report, seen from the value that holds this one."""
        inner = self.place if not self.place or self.place.startswith("[") else f".{self.place}"
        return Misfit(self.said, f"{place}{inner}")


@dataclasses.dataclass(slots=True)
class Faults:
    """Collect what was left out of a record because it was not of the wanted type.

    A field that has a default gets the default, and an item of a list is left out. A word that an
    enumeration does not have is kept as text, because another version may have that member.
    """

    named: list[str] = dataclasses.field(default_factory=list)

    def add(self, fault: Misfit) -> None:
        """Note a fault; the first ones are kept."""
        if len(self.named) < _MOST_FAULTS:
            self.named.append(str(fault))


_Read = Callable[[Any, Faults | None], Any]


def read_as(kind: type[T], value: object, faults: Faults | None = None) -> T:
    """Return a JSON value as a dataclass, a model or another type.

    Raises `Misfit` if it is not of that type. With `faults`, as little as possible is refused,
    and what was left out is noted there.
    """
    found: T = _reader(cast(Any, kind))(value, faults)
    return found


def read_record(path: Path, kind: type[T], faults: Faults) -> T | None:
    """Return the record in a JSON file, as far as it can be read; `None` if it cannot be.

    A missing file is not a fault. Each other reason is noted, with the name of the file.
    """
    try:
        data = read_regular_file(path, "record", MAX_DOCUMENT_BYTES + 1).data
    except InvalidInput as error:
        if path.exists() or path.is_symlink():
            faults.add(Misfit(f"cannot be read: {error.message}", path.name))
        return None
    if len(data) > MAX_DOCUMENT_BYTES:
        faults.add(Misfit(f"has over {MAX_DOCUMENT_BYTES:,} bytes", path.name))
        return None
    found = Faults()
    try:
        return read_as(kind, json.loads(data), found)
    except Misfit as fault:
        found.named.insert(0, str(fault))
    except (ValueError, RecursionError):
        found.named.insert(0, "it is not JSON")
    finally:
        for each in found.named:
            faults.add(Misfit(f"cannot be read: {each}", path.name))
    return None


@cache
def _reader(kind: Any) -> _Read:
    if kind in _PLAIN:
        return _PLAIN[kind]
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if origin is Annotated:
        return _reader(parts[0])
    if origin is Literal:
        return _reader_of_choices({each: each for each in parts})
    if origin in (Union, types.UnionType):
        return _reader_of_union(tuple(map(_reader, parts)))
    if origin in (tuple, frozenset):
        return _reader_of_items(origin, _reader(parts[0]))
    if origin is not None and issubclass(origin, Mapping):
        return _reader_of_mapping(_reader(parts[1]))
    if isinstance(kind, type) and issubclass(kind, Enum):
        return _reader_of_choices({each.value: each for each in kind})
    return _reader_of_fields(kind)


def _text(value: Any, faults: Faults | None) -> str:
    if not isinstance(value, str):
        raise Misfit("is not a string")
    return value


def _path(value: Any, faults: Faults | None) -> Path:
    if "\0" in _text(value, faults):
        raise Misfit("is not a path")
    return Path(value)


def _flag(value: Any, faults: Faults | None) -> bool:
    if not isinstance(value, bool):
        raise Misfit("is not true or false")
    return value


def _whole(value: Any, faults: Faults | None) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) >= _TOO_LARGE:
        raise Misfit("is not a whole number")
    return value


def _number(value: Any, faults: Faults | None) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Misfit("is not a number")
    if abs(value) >= _TOO_LARGE or not isfinite(value):
        raise Misfit("is not a number of a possible size")
    return float(value)


def _nothing(value: Any, faults: Faults | None) -> None:
    if value is not None:
        raise Misfit("is not null")


_PLAIN: Final[Mapping[Any, _Read]] = {
    str: _text,
    Path: _path,
    bool: _flag,
    int: _whole,
    float: _number,
    type(None): _nothing,
    None: _nothing,
    Any: lambda value, faults: value,
    object: lambda value, faults: value,
}


def _reader_of_choices(choices: Mapping[Any, Any]) -> _Read:
    def read(value: Any, faults: Faults | None) -> Any:
        if not isinstance(value, str):
            raise Misfit("is not a string")
        if value not in choices and faults is None:
            raise Misfit(f"has the unknown value {value[:_LONGEST_QUOTE]!r}")
        return choices.get(value, value)

    return read


def _reader_of_union(readers: tuple[_Read, ...]) -> _Read:
    def read(value: Any, faults: Faults | None) -> Any:
        first: Misfit | None = None
        for each in readers:
            try:
                return each(value, faults)
            except Misfit as fault:
                first = first or fault
        assert first is not None, "a union has members"
        raise first

    return read


def _reader_of_items(made: Callable[[list[Any]], Any], item: _Read) -> _Read:
    def read(value: Any, faults: Faults | None) -> Any:
        if not isinstance(value, list):
            raise Misfit("is not a list")
        return made(list(_each(enumerate(value), item, faults)))

    return read


def _each(items: Iterator[tuple[int, Any]], item: _Read, faults: Faults | None) -> Iterator[Any]:
    for number, value in items:
        try:
            yield item(value, faults)
        except Misfit as fault:
            if faults is None:
                raise fault.below(f"[{number}]") from None
            faults.add(fault.below(f"[{number}]"))


def _reader_of_mapping(item: _Read) -> _Read:
    def read(value: Any, faults: Faults | None) -> Any:
        found = {}
        for name, each in _object(value).items():
            try:
                found[name] = item(each, faults)
            except Misfit as fault:
                if faults is None:
                    raise fault.below(name) from None
                faults.add(fault.below(name))
        return found

    return read


def _object(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise Misfit("is not a JSON object")
    return value


_Field = tuple[str, _Read, bool]
"""The name of a field, how it is read, and whether it has a default, so that it may be missing."""


def _reader_of_fields(kind: Any) -> _Read:
    fields = tuple(_fields_of(kind))
    # The values are of the right types by now, and a record may break a limit of its time.
    make: Callable[..., Any] = getattr(kind, "model_construct", kind)

    # A journal has thousands of records, so this loop makes no call that it can do without.
    def read(value: Any, faults: Faults | None) -> Any:
        document = _object(value)
        found = {}
        for name, read_value, has_default in fields:
            given = document.get(name)
            if given is None and (has_default or name not in document):
                if has_default:
                    continue
                raise Misfit("is missing", name)
            try:
                found[name] = read_value(given, faults)
            except Misfit as fault:
                if faults is None or not has_default:
                    raise fault.below(name) from None
                faults.add(fault.below(name))
        return make(**found)

    return read


def _fields_of(kind: Any) -> Iterator[_Field]:
    hints = typing.get_type_hints(kind, include_extras=True)
    if dataclasses.is_dataclass(kind):
        missing = dataclasses.MISSING
        for each in dataclasses.fields(kind):
            if not each.compare:  # such as a function: no document has it
                continue
            is_given = each.default is missing and each.default_factory is missing
            yield each.name, _reader(hints[each.name]), not is_given
        return
    for name, info in kind.model_fields.items():
        yield info.alias or name, _reader(hints[name]), not info.is_required()
