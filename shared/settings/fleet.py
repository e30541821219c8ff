"""Declares where a fleet's database and remote are, and how its workers keep in step."""

from __future__ import annotations

from dataclasses import dataclass

from shared.settings.declaration import setting
from shared.settings.values.database import DatabaseUrl, read_database
from shared.settings.values.numbers import Number, WholeNumber
from shared.settings.values.words import read_text


@dataclass(frozen=True, slots=True)
class FleetSettings:
    """Say where the fleet is. There is no flag for the database: other users can read flags."""

    db: DatabaseUrl | None = setting(
        read_database,
        None,
        "the fleet's PostgreSQL database, as a URL; in a file of yours or the variable alone",
        name="fleet.db",
        default_words="none",
        guarded=True,
    )
    remote: str = setting(
        read_text,
        "origin",
        "the git remote that all of the fleet reaches, by its name in the repo",
        name="fleet.remote",
        guarded=True,
    )
    lease_seconds: float = setting(
        Number(1, 3600),
        30.0,
        "how long a worker may be silent before others take over its work",
        name="fleet.lease_seconds",
        guarded=True,
    )
    train: int = setting(
        WholeNumber(1, 100),
        8,
        "orders of one plan that the fleet works on at a time",
        name="fleet.train",
        guarded=True,
    )
