"""Keeps what was measured: a line of JSON for each reply or run, written as soon as it is there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from shared.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class Result:
    """Hold what came of one task, asked in one way.

    `failures` names, for each attempt that failed, where it failed; an attempt that passed adds
    nothing. `prompt` is the hash of the first prompt, so that a result is known to be of another
    prompt than today's. `texts` are the replies, to be judged again without asking again;
    `repeated` says how many of them equal an earlier one.
    """

    model: str
    variant: str
    task: str
    kind: str
    passed: bool
    failures: tuple[str, ...]
    input_tokens: int
    output_tokens: int
    seconds: float
    repeated: int = 0
    calls: int = 1
    prompt: str = ""
    texts: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[str, str, str]:
        """Return what makes a measurement the same: model, variant and task."""
        return self.model, self.variant, self.task


def read_results(file: Path) -> list[Result]:
    """Return the results in the file, none where there is no file.

    A last line without its end is left out: writing it was interrupted. Raises `InvalidInput`
    where another line is not a result.
    """
    if not file.exists():
        return []
    whole, _, _ = file.read_bytes().rpartition(b"\n")
    return list(_parse(whole, file))


def append_result(file: Path, result: Result) -> None:
    """Add the result to the file, whole and on disk, after the last whole line."""
    with file.open("ab+") as opened:
        opened.seek(0)
        held = opened.read()
        opened.truncate(held.rfind(b"\n") + 1)
        opened.write(json.dumps(asdict(result)).encode() + b"\n")
        opened.flush()


def _parse(lines: bytes, file: Path) -> Iterator[Result]:
    for number, line in enumerate(lines.split(b"\n") if lines else (), start=1):
        try:
            fields = json.loads(line)
            fields["failures"], fields["texts"] = tuple(fields["failures"]), tuple(fields["texts"])
            yield Result(**fields)
        except (ValueError, TypeError, KeyError) as error:
            raise InvalidInput(
                f"{file}, line {number} is not a result: {error}",
                hint="name another file by --results, or delete the line",
            ) from None
