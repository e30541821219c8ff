"""Reads JSON and YAML strictly: only plain text, lists and objects.

It refuses duplicate and non-text keys, YAML aliases (a few lines can stand for gigabytes), tags,
several documents in one file, and deep nesting. A value that is not text is kept as `NotText`:
a spec holds only text, and `version: 1.10` must not silently turn into 1.1.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from shared.errors import InvalidInput

if TYPE_CHECKING:
    import yaml

MAX_DEPTH = 8  # a spec needs three levels; the rest is room for better messages

_YAML_KINDS = {
    "tag:yaml.org,2002:bool": "true or false",
    "tag:yaml.org,2002:float": "a number",
    "tag:yaml.org,2002:int": "a number",
    "tag:yaml.org,2002:null": "empty",
    "tag:yaml.org,2002:timestamp": "a date",
}
_YAML_TEXT = "tag:yaml.org,2002:str"


@dataclass(frozen=True, slots=True)
class NotText:
    """Represent a scalar that is not text; `kind` names it in words, such as "a number"."""

    kind: str

    def __str__(self) -> str:
        return self.kind


Tree = str | NotText | list["Tree"] | dict[str, "Tree"]


@dataclass(frozen=True, slots=True)
class _Pairs:
    """Represent an object as written: keys may repeat, and need not be text."""

    items: tuple[tuple[_Raw, _Raw], ...]


_Raw = str | NotText | list["_Raw"] | _Pairs


def parse_spec_json(text: str, named: str) -> Tree:
    """Return the document's values; `named` is what messages call the file.

    Raises `InvalidInput` with the place of the fault.
    """
    try:
        raw = json.loads(
            text,
            object_pairs_hook=lambda items: _Pairs(tuple(items)),
            # Numbers are not converted: Python refuses thousands of digits with a bare error.
            parse_int=lambda _: NotText("a number"),
            parse_float=lambda _: NotText("a number"),
            parse_constant=lambda _: NotText("a number"),
        )
    except json.JSONDecodeError as error:
        raise InvalidInput(
            f"{named} is not valid JSON: {error.msg} at line {error.lineno}, column {error.colno}",
            "correct it there",
        ) from error
    except RecursionError as error:
        raise _too_deep(named) from error
    return _checked(raw, named, "", 0)


def parse_spec_yaml(text: str, named: str) -> Tree:
    """Return the document's values; `named` is what messages call the file.

    Raises `InvalidInput` with the place of the fault.
    """
    import yaml  # costs 20 ms, and most specs are Markdown

    try:
        # The Python parser, not libyaml's: it yields events one by one without recursion, and
        # words its errors alike on every machine. A megabyte takes it about 1.5 s.
        raw = _compose(yaml.parse(text, Loader=yaml.SafeLoader), named)
    except yaml.YAMLError as error:
        raise _yaml_refused(error, named) from error
    except (ValueError, OverflowError) as error:  # an escape such as "\UFFFFFFFF"
        raise InvalidInput(f"{named} is not valid YAML: {error}", "correct it") from error
    return _checked(raw, named, "", 0)


def _compose(events: Iterable[yaml.Event], named: str) -> _Raw:
    """Build the tree of the one document in `events`, without recursion."""
    import yaml

    resolver = yaml.resolver.Resolver()
    open_nodes: list[list[_Raw]] = [[]]
    documents = 0
    for event in events:
        match event:
            case yaml.AliasEvent():
                raise _not_allowed("an alias (*name)", "write the value out", event, named)
            case yaml.DocumentStartEvent():
                documents += 1
                if documents > 1:
                    raise _not_allowed("a second document (---)", "keep one", event, named)
            case yaml.NodeEvent() if getattr(event, "tag", None) is not None:
                raise _not_allowed("a tag (!name)", "remove it", event, named)
            case yaml.ScalarEvent():
                open_nodes[-1].append(_scalar(event, resolver))
            case yaml.SequenceStartEvent() | yaml.MappingStartEvent():
                if len(open_nodes) > MAX_DEPTH:
                    raise _too_deep(named)
                open_nodes.append([])
            case yaml.SequenceEndEvent():
                items = open_nodes.pop()
                open_nodes[-1].append(items)
            case yaml.MappingEndEvent():
                flat = open_nodes.pop()
                pairs = tuple(zip(flat[::2], flat[1::2], strict=True))
                open_nodes[-1].append(_Pairs(pairs))
            case _:
                pass  # stream and document marks carry no value
    return open_nodes[0][0] if open_nodes[0] else NotText("empty")


def _scalar(event: yaml.ScalarEvent, resolver: yaml.resolver.Resolver) -> str | NotText:
    import yaml

    text: str = event.value
    if event.style is not None:  # quoted or a block: text, whatever it looks like
        return text
    tag: str = resolver.resolve(yaml.ScalarNode, text, (True, False))  # type: ignore[no-untyped-call]
    return text if tag == _YAML_TEXT else NotText(_YAML_KINDS.get(tag, "a special value"))


def _checked(raw: object, named: str, where: str, depth: int) -> Tree:
    match raw:
        case str():
            return _encodable(raw, named, where)
        case list() | _Pairs() if depth == MAX_DEPTH:
            raise _too_deep(named)
        case list():
            return [_checked(each, named, f"{where}[{i}]", depth + 1) for i, each in enumerate(raw)]
        case _Pairs():
            return _checked_object(raw, named, where, depth)
        case NotText():
            return raw
        case None:
            return NotText("empty")
        case _:
            return NotText("true or false")


def _checked_object(raw: _Pairs, named: str, where: str, depth: int) -> dict[str, Tree]:
    at = f" at {where}" if where else ""
    tree: dict[str, Tree] = {}
    for key, value in raw.items:
        if not isinstance(key, str):
            kind = key if isinstance(key, NotText) else "a list or an object"
            raise InvalidInput(
                f"{named} has a key that is {kind}, not text{at}", "put the key in quotes"
            )
        name = _encodable(key, named, where)
        if name in tree:
            raise InvalidInput(f"{named} gives the key {name!r} twice{at}", "keep one of the two")
        tree[name] = _checked(value, named, f"{where}.{name}" if where else name, depth + 1)
    return tree


def _encodable(text: str, named: str, where: str) -> str:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InvalidInput(
            f"{named} holds half a surrogate pair{f' at {where}' if where else ''}",
            "write the character itself instead of \\u escapes",
        ) from error
    return text


def _yaml_refused(error: yaml.YAMLError, named: str) -> InvalidInput:
    import yaml

    problem, place = str(error), ""
    if isinstance(error, yaml.MarkedYAMLError):
        problem = error.problem or error.context or "it cannot be parsed"
        mark = error.problem_mark or error.context_mark
        place = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
    elif isinstance(error, yaml.reader.ReaderError):
        problem, place = "a character that YAML forbids", f" at offset {error.position}"
    return InvalidInput(f"{named} is not valid YAML: {problem}{place}", "correct it there")


def _not_allowed(what: str, remedy: str, event: yaml.Event, named: str) -> InvalidInput:
    at = f" at line {event.start_mark.line + 1}" if event.start_mark else ""
    return InvalidInput(f"{named} has {what}{at}, which a spec may not use", remedy)


def _too_deep(named: str) -> InvalidInput:
    return InvalidInput(f"{named} is nested more than {MAX_DEPTH} levels deep", "flatten it")
