"""Declares the flags that several verbs share, each of them once."""

from __future__ import annotations

import argparse
from pathlib import Path

from shared.settings.declaration import FlagGroup
from shared.settings.flags import add_setting_flags


def add_model_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags that say where replies come from and what they may cost."""
    group = parser.add_argument_group("model")
    group.add_argument(
        "--llm", choices=("live", "replay"), default="live",
        help="ask a model, or answer from --transcript alone (default: live)",
    )  # fmt: skip
    group.add_argument(
        "--transcript", type=Path, metavar="FILE",
        help="the record to replay from, or to continue and record to",
    )  # fmt: skip
    add_setting_flags(group, FlagGroup.BUDGET)


def add_record_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flag that says where the run's record goes."""
    add_setting_flags(parser, FlagGroup.RECORD)
