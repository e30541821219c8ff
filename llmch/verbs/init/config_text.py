"""Renders the `llmch.toml` that `llmch init` writes. Pure.

All lines are comments, so every default holds: what the repo's files say is found anew at each
run, and a value that was written down today would hide what they say later.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from llmch.verbs.init.place import Place
from llmch.verbs.init.printable import one_line, quoted
from shared.settings.declaration import Key
from shared.settings.settings import KEYS

_WIDTH: Final = 96
_SHOWN: Final = (
    "verify",
    "timeout_seconds",
    "max_cost",
    "protected_branches",
    "programs",
    "dependencies",
    "planner.model",
    "factory.model",
    "factory.attempts",
    "commit.subject",
)
# For settings whose default is nothing that could be written down.
_EXAMPLES: Final[Mapping[str, object]] = {"max_cost": 2.5}


def render_config(place: Place) -> str:
    """Return a text of comments: what was found, and settings with their defaults."""
    parts = ["\n".join(_head(place)), *(_setting(key, place) for key in _shown_keys())]
    return "\n\n".join([*parts, "\n".join(_tail(place))]) + "\n"


def _shown_keys() -> Iterator[Key]:
    return (KEYS[name] for name in _SHOWN if name in KEYS and not KEYS[name].guarded)


def _head(place: Place) -> Iterator[str]:
    yield from _comment("Settings of llmch for this repo. All lines are comments: defaults hold.")
    yield from _comment("To set a value, remove the # before its line.")
    yield "#"
    yield from _comment(
        "When this file was made, the files of the repo said this. They are read again at each "
        "run, so nothing here has to follow them."
    )
    projects = [f"{each.tool} ({each.manifest})" for each in place.projects]
    yield f"#   built with   {one_line(', '.join(projects)) or 'no manifest that llmch reads'}"
    for each in place.verify:
        yield f"#   verified by  {one_line(each.text)}  ({one_line(each.origin)})"
    if not place.verify:
        yield "#   verified by  no command that llmch knows"
    for note in place.notes:
        yield from _comment(one_line(note), "#   note         ", "#                ")


def _setting(key: Key, place: Place) -> str:
    value = [each.text for each in place.verify] if key.name == "verify" else key.default
    shown = _EXAMPLES.get(key.name, value)
    return "\n".join([*_comment(key.help), f"# {key.name} = {_toml(shown)}"])


def _tail(place: Place) -> Iterator[str]:
    refused = ", ".join(name for name, key in KEYS.items() if _is_refused(key) and "." not in name)
    yield from _comment(
        f"This file can come with a clone, so it cannot set {refused}, base_url and the "
        "sandbox. Set these by a flag, an LLMCH_ variable, or a file of your own that "
        "LLMCH_CONFIG names."
    )
    if place.interpreter:
        yield from _comment(f"A Python of this repo's own is there: --python {place.interpreter}")


def _is_refused(key: Key) -> bool:
    return key.guarded and not key.harmless_words


def _comment(text: str, first: str = "# ", others: str = "# ") -> Iterable[str]:
    return textwrap.wrap(
        text,
        _WIDTH,
        initial_indent=first,
        subsequent_indent=others,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _toml(value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case int() | float():
            return f"{value:g}"
        case frozenset():
            return _toml(sorted(value))
        case tuple() | list():
            return f"[{', '.join(map(_toml, value))}]"
        case _:
            return quoted(str(value))
