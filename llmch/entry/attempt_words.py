"""Reads which attempt a command line means: `[RUN] ORDER [ATTEMPT]`."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from llmch.entry.arguments import add_record_arguments
from shared.errors import InvalidInput

if TYPE_CHECKING:
    from factory.record.attempts_on_record import AttemptOnRecord
    from factory.repo.preflight import RepoPlace
    from shared.settings.settings import Settings

_MOST_DIGITS = 4


@dataclass(frozen=True, slots=True)
class AttemptWords:
    """Hold the words of a command line that name an attempt; `None` stands for the latest."""

    run: str | None
    order: str
    attempt: int | None


def add_attempt_arguments(parser: argparse.ArgumentParser, or_else: str = "") -> None:
    """Declare the words that name an attempt, and the options that say where records are.

    `or_else` says in the help what else the words may name.
    """
    parser.add_argument(
        "attempt", nargs="+", metavar="[RUN] ORDER [ATTEMPT]",
        help="an order, as in WO-01; its run, by id, the beginning of an id, or `latest` (default: "
        "the newest run that made the order); the number of its attempt (default: the last)"
        + or_else,
    )  # fmt: skip
    parser.add_argument("--repo", type=Path, default=Path(), metavar="DIR", help="the git repo (.)")
    add_record_arguments(parser)


def parse_attempt_words(words: list[str]) -> AttemptWords:
    """Return what the words name. Raises `InvalidInput` where they cannot name an attempt."""
    match words:
        case [order]:
            return AttemptWords(None, order, None)
        case [order, number] if _is_number(number):
            return AttemptWords(None, order, int(number))
        case [run, order]:
            return AttemptWords(run, order, None)
        case [run, order, number] if _is_number(number):
            return AttemptWords(run, order, int(number))
        case [_, _, wrong]:
            raise InvalidInput(
                f"{wrong!r} is not the number of an attempt", "attempts are counted from 1"
            )
        case _:
            raise InvalidInput(
                f"there are {len(words)} words, and at most three name an attempt",
                "give them as [RUN] ORDER [ATTEMPT]",
            )


def attempt_asked_for(
    args: argparse.Namespace, settings: Settings, place: RepoPlace
) -> AttemptOnRecord:
    """Return the attempt that the command line means. Raises `InvalidInput` as `find_attempt`."""
    from factory.record.attempts_on_record import find_attempt

    words = parse_attempt_words(args.attempt)
    run = getattr(args, "run", None)
    if run is not None and words.run is not None:
        raise InvalidInput(
            f"both {words.run!r} and --run {run} name the run", "leave one of them out"
        )
    return find_attempt(
        settings.artifacts_dir,
        place.common_dir,
        place.tree,
        run if run is not None else words.run,
        words.order,
        words.attempt,
    )


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS
