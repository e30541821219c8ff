"""A run's own folder: its id, its `run.json`, its event log."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from shared.atomic_io import make_folder, write_json, write_refused
from shared.errors import InvalidInput
from shared.events import Event, event_to_json


@dataclass(frozen=True, slots=True)
class RunFolder:
    """Where one run keeps its records. Made once, never reused or overwritten."""

    run_id: str
    path: Path
    started: datetime
    _head: dict[str, Any] = field(default_factory=dict)

    def write_head(self, document: Mapping[str, Any]) -> None:
        """Write `run.json` as the run begins: what runs, on what, with which settings."""
        self._head.update(document)
        write_json(self.path / "run.json", {**self._stamp(), **self._head, "status": "running"})

    def complete_head(self, status: str, results: Mapping[str, Any]) -> None:
        """Write `run.json` once more, last of all: how the run ended."""
        ended = datetime.now(UTC).isoformat(timespec="milliseconds")
        document = {**self._stamp(), **self._head, "status": status, "ended": ended, **results}
        write_json(self.path / "run.json", document)

    def _stamp(self) -> dict[str, str]:
        return {
            "run_id": self.run_id,
            "started": self.started.isoformat(timespec="milliseconds"),
        }


class EventLog:
    """Appends each event to `events.jsonl`, stamped with the seconds since the run began.

    Not synced: it tells what happened, and nothing is decided by it.
    """

    def __init__(self, folder: RunFolder) -> None:
        self._started = folder.started
        path = folder.path / "events.jsonl"
        try:
            self._file = path.open("a", encoding="utf-8", errors="backslashreplace", buffering=1)
        except OSError as error:
            raise write_refused(path, error) from error
        self._lock = threading.Lock()

    def __call__(self, event: Event) -> None:
        seconds = (datetime.now(UTC) - self._started).total_seconds()
        line = json.dumps({"at": round(seconds, 3), **event_to_json(event)}, ensure_ascii=False)
        with self._lock:
            self._file.write(line + "\n")

    def close(self) -> None:
        """End the log; a full disk at this point loses only its tail."""
        self._file.close()


def new_run_folder(artifacts: Path, kind: str) -> RunFolder:
    """Create `artifacts/kind/<ULID>` and return it.

    Raises `CommandFailed` naming the folder where the disk refuses.
    """
    import ulid

    started = datetime.now(UTC)
    run_id = str(ulid.new())
    parent = make_folder(artifacts / kind)
    path = parent / run_id
    try:
        path.mkdir()
    except OSError as error:
        raise write_refused(path, error) from error
    return RunFolder(run_id, path.resolve(), started)


def commit_date(started: datetime, environ: Mapping[str, str] = os.environ) -> str:
    """Return the date that commits of a run carry, in git's raw form.

    It is `SOURCE_DATE_EPOCH` where that is set, so that builds can be reproduced, else the start
    of the run. Raises `InvalidInput` where the variable is no number of seconds.
    """
    given = environ.get("SOURCE_DATE_EPOCH", "")
    if not given:
        return f"{int(started.timestamp())} +0000"
    if not (given.isascii() and given.isdigit()):
        raise InvalidInput(
            f"SOURCE_DATE_EPOCH is {given!r}, not a number of seconds since 1970",
            "set it to digits only, or unset it",
        )
    return f"{given} +0000"
