"""Explains the settings."""

from __future__ import annotations

from collections.abc import Iterator

from llmch.verbs.help.topic import Part, Term, Topic
from shared.settings.declaration import FlagKind, Key
from shared.settings.settings import KEYS


def explain_settings() -> Topic:
    """Return every setting, with the flag, the variable and the default of each."""
    tables: dict[str, list[Term]] = {}
    for key in KEYS.values():
        table = key.name.partition(".")[0] if "." in key.name else ""
        tables.setdefault(table, []).append(explain_setting(key))
    titles = {table: f"Table [{table}]" if table else "Without a table" for table in tables}
    return Topic(
        "settings",
        (
            "Settings are read from layers; each layer overrules the one before: defaults, "
            "[tool.llmch] in the repo's pyproject.toml, llmch.toml at its root, llmch.toml beside "
            "the specification or the file that LLMCH_CONFIG names, variables, flags.",
            "A repo's own files cannot set what is marked `yours alone`.",
        ),
        tuple(Part(titles[table], tuple(terms)) for table, terms in tables.items()),
        "`llmch init` writes an llmch.toml to begin with.",
    )


def explain_setting(key: Key) -> Term:
    """Return what a setting means, and how it is set."""
    meaning = f"{key.help}{f', {key.range}' if key.range else ''} ({key.default_words})"
    return Term(key.name, (meaning, ", ".join(_ways(key))), "yours alone" if key.guarded else "")


def _ways(key: Key) -> Iterator[str]:
    if key.flag is not None:
        yield _flag(key.flag.option, key.flag.metavar, key.flag.kind)
    yield key.variable


def _flag(option: str, metavar: str | None, kind: FlagKind) -> str:
    if kind is FlagKind.SWITCH:
        return f"{option} or --no-{option.removeprefix('--')}"
    return f"{option} {metavar}" if metavar else option
