"""A server that wants no call for a while: what one worker was told, all of them know."""

from __future__ import annotations

from factory.fleet.database import Database
from factory.fleet.shared_state import FleetPace
from shared.settings.setting_values import DatabaseUrl
from tests.factory.fleet.cluster import PASSWORD


def test_workers_keep_the_pace_of_a_server_together(url: DatabaseUrl) -> None:
    here, there = (FleetPace(Database(url, "test"), "http://model") for _ in range(2))
    other = FleetPace(Database(url, "test"), "http://another")
    assert here.seconds_left("small") == 0
    here.hold("small", 600)
    there.hold("small", 5)
    assert 300 < there.seconds_left("small") <= 600
    assert there.seconds_left("large") == other.seconds_left("small") == 0
    there.hold("large", 0)
    assert here.seconds_left("large") == 0
    for each in (here, there, other):
        each.database.close()


def test_without_the_database_no_call_waits_for_others() -> None:
    nowhere = DatabaseUrl(f"postgresql://ada:{PASSWORD}@127.0.0.1:1/fleet")
    pace = FleetPace(Database(nowhere, "test"), "http://model")
    pace.hold("small", 600)
    assert pace.seconds_left("small") == 0
