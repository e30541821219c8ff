"""Reads the texts of the replies in a transcript, whatever was asked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from shared.errors import InvalidInput
from shared.llm.record.lines import Response, parse_record


def reply_texts(path: Path) -> Iterator[str]:
    """Yield each reply on record. Lines that are not of a transcript are left out.

    Raises `InvalidInput` where the file cannot be read.
    """
    if not path.is_file():  # opening a FIFO would wait for a writer
        raise InvalidInput(f"transcript {path} is not a file", "name a transcript of a run")
    try:
        with path.open("rb") as file:
            for line in file:
                try:
                    record = parse_record(line)
                except ValueError:
                    continue
                if isinstance(record, Response):
                    yield record.completion.text
    except OSError as error:
        raise InvalidInput(
            f"cannot read the transcript {path}: {error.strerror}", "name a transcript of a run"
        ) from error
