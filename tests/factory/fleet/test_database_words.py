"""What the server of the database says is passed on in one line that says what happened."""

from __future__ import annotations

import psycopg
import pytest
from sqlalchemy.exc import OperationalError

from factory.fleet.database import is_loss, said_by
from factory.fleet.job_queue import errors_in_words
from shared.errors import FleetUnavailable
from shared.settings.setting_values import DatabaseUrl

REFUSED = (
    'connection failed: connection to server at "127.0.0.1", port 5 failed: Connection refused'
)
QUESTION = "\tIs the server running on that host and accepting TCP/IP connections?"
URL = DatabaseUrl("postgresql://ada:secret@127.0.0.1:5/fleet")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (f"{REFUSED}\n{QUESTION}", REFUSED),
        ("FATAL:  no room\nDETAIL:  none\nHINT:  more\n\n", "FATAL:  no room"),
        (
            "All failures were:\n- host: a\n- host: b",
            "- host: b",
        ),
        ("", "OperationalError"),
    ],
)
def test_the_line_that_says_what_happened_is_passed_on(text: str, line: str) -> None:
    assert said_by(psycopg.OperationalError(text)) == line


def test_the_queue_names_a_lost_database_as_everybody_does_and_other_errors_as_its_own() -> None:
    cause = psycopg.OperationalError(f"{REFUSED}\n{QUESTION}")
    with pytest.raises(FleetUnavailable) as lost, errors_in_words(URL):
        raise OperationalError("SELECT 1", {}, cause)
    assert lost.value.message == f"lost the fleet's database {URL}: {REFUSED}"
    assert "secret" not in lost.value.message
    other = psycopg.errors.UndefinedTable("there is no such table")
    assert not is_loss(other)
    with pytest.raises(FleetUnavailable) as refused, errors_in_words(URL):
        raise OperationalError("SELECT 1", {}, other)
    assert refused.value.message.endswith("does not answer: there is no such table")
