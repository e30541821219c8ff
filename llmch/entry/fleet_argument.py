"""Finds the fleet that a person has set up: its database, which no flag names."""

from __future__ import annotations

import os

from shared.errors import FleetUnavailable
from shared.settings.settings import KEYS, Settings
from shared.settings.values.database import DatabaseUrl


def fleet_of(settings: Settings) -> DatabaseUrl:
    """Return the database that the settings name, and drop it from the environment.

    What this process starts does not inherit the variable. Raises `FleetUnavailable`.
    """
    variable = KEYS["fleet.db"].variable
    os.environ.pop(variable, None)
    if settings.fleet.db is None:
        raise FleetUnavailable(
            "no fleet is set up: nothing says where its database is",
            f"put `db` into the [fleet] table of your llmch.toml, or set {variable}",
        )
    return settings.fleet.db
