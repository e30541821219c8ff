"""Keeps the records of a judgement whose outcome nobody wants apart from those that count."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from shared.files.atomic_io import make_folder, write_refused

_ATTEMPT: Final = re.compile("attempt_([1-9][0-9]*)")
# What was asked and answered before the attempt was judged stays where it is.
_OF_THE_PROPOSAL: Final = ("se_prompt", "raw_llm_response", "proposed_writes")


def set_aside(folder: Path, attempt: int, number: int) -> None:
    """Move what was recorded of an order since `attempt` was proposed to its folder `dropped_N`.

    `number` is how often the order was dropped. Where nothing was recorded since, nothing happens.
    Raises `CommandFailed` where the disk refuses.
    """
    aside = folder / f"dropped_{number}"
    try:
        for each in tuple(_recorded_since(folder, attempt)):
            target = aside / each.relative_to(folder)
            make_folder(target.parent)
            each.rename(target)
    except OSError as error:
        raise write_refused(aside, error) from error


def _recorded_since(folder: Path, attempt: int) -> Iterator[Path]:
    for each in folder.iterdir():
        found = _ATTEMPT.fullmatch(each.name)
        if found is None:
            continue
        if int(found[1]) > attempt:
            yield each
        elif int(found[1]) == attempt:
            yield from (one for one in each.iterdir() if not one.name.startswith(_OF_THE_PROPOSAL))
