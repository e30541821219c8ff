"""Holds the connections of a process to a fleet."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

from factory.fleet.database import Database
from factory.fleet.engine.queue import Queue
from factory.fleet.schema import check_schema
from shared.settings.values.database import DatabaseUrl


@dataclass(frozen=True, slots=True)
class Link:
    """Hold a fleet's tables and its queue. Threads may share them."""

    database: Database
    queue: Queue


@contextlib.contextmanager
def linked(url: DatabaseUrl, purpose: str) -> Iterator[Link]:
    """Connect to a fleet while the block runs; `purpose` names this process to administrators.

    Raises `FleetUnavailable` where that fails, or where the fleet is none of this llmch.
    """
    with contextlib.closing(Database(url, purpose)) as database:
        check_schema(database)
        with contextlib.closing(Queue(url)) as queue:
            yield Link(database, queue)
