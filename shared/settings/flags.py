"""Makes argparse flags from the declarations of the settings."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from shared.settings.declaration import Flag, FlagGroup, FlagKind, Key
from shared.settings.settings import KEYS


def add_setting_flags(
    parser: argparse.ArgumentParser | argparse._ArgumentGroup, group: FlagGroup
) -> None:
    """Add the flags of one group of settings to `parser`.

    Values stay text, so that each value is read, and refused, in the same way as in a file.
    """
    for key in KEYS.values():
        if key.flag and key.flag.group is group:
            _add_flag(parser, key, key.flag)


def flags_given(args: argparse.Namespace) -> Mapping[str, object]:
    """Return the flags that are settings, by setting name; `None` stands for an unused flag."""
    return {name: value for name, value in vars(args).items() if name in KEYS}


def _add_flag(
    parser: argparse.ArgumentParser | argparse._ArgumentGroup, key: Key, flag: Flag
) -> None:
    words = key.help
    if key.range and not flag.choices:
        words += f", {key.range}"
    text = f"{words} ({key.default_words})".replace("%", "%%")
    match flag.kind:
        case FlagKind.SWITCH:
            parser.add_argument(
                flag.option,
                dest=key.name,
                action=argparse.BooleanOptionalAction,
                default=None,
                help=text,
            )
        case FlagKind.LIST:
            parser.add_argument(
                flag.option, dest=key.name, action="append", metavar=flag.metavar, help=text
            )
        case FlagKind.VALUE:
            parser.add_argument(
                flag.option,
                dest=key.name,
                choices=flag.choices or None,
                metavar=flag.metavar,
                help=text,
            )
