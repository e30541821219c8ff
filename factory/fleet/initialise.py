"""Sets up a fleet's database, for its administrator; the same call again changes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from factory.fleet.database import Cursor, Database, with_names
from factory.fleet.engine.queue import prepare_engine
from factory.fleet.schema import (
    ENGINE_SCHEMA,
    GRANTS,
    SCHEMA_VERSION,
    TABLES,
    Roles,
    found_version,
    refuse_newer,
)
from shared.errors import FleetUnavailable
from shared.settings.values.database import DatabaseUrl
from shared.version import VERSION

# Any number that only this file uses: two administrators take turns.
_LOCK = 0x6C6C6D6368


@dataclass(frozen=True, slots=True)
class Initialised:
    """Say what a fleet's database has now, and what of it was made or changed just now."""

    database: str
    schema_version: int
    roles: Roles
    done: tuple[str, ...]


def initialise(url: DatabaseUrl) -> Initialised:
    """Make the tables and the roles that are missing, and grant the roles what they need.

    Raises `FleetUnavailable` where the database has tables of something else, or of a newer llmch,
    and where its user may not do this.
    """
    database = Database(url, "fleet init")
    try:
        with database.session() as cursor:
            cursor.execute("SELECT pg_advisory_lock(%s)", (_LOCK,))
            done = tuple(_initialise(cursor, database))
            roles = Roles(_name_of(cursor))
    finally:
        database.close()
    return Initialised(str(url), SCHEMA_VERSION, roles, done)


def _initialise(cursor: Cursor, database: Database) -> Iterator[str]:
    before = found_version(cursor)
    if before is None:
        _refuse_foreign(cursor, database)
    else:
        refuse_newer(database, *before)
    roles = Roles(_name_of(cursor))
    cursor.execute(TABLES)
    cursor.execute(
        "INSERT INTO llmch.fleet (schema_version, llmch_version) VALUES (%s, %s) "
        "ON CONFLICT (one) DO UPDATE SET schema_version = EXCLUDED.schema_version, "
        "llmch_version = EXCLUDED.llmch_version WHERE llmch.fleet.schema_version < %s",
        (SCHEMA_VERSION, VERSION, SCHEMA_VERSION),
    )
    if before is None:
        yield f"made the tables, schema {SCHEMA_VERSION}"
    elif before[0] < SCHEMA_VERSION:
        yield f"brought the tables from schema {before[0]} to {SCHEMA_VERSION}"
    if prepare_engine(database.url):
        yield f"made the queue's tables in {ENGINE_SCHEMA}"
    for role in (roles.member, roles.reader):
        if not cursor.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (role,)).fetchone():
            cursor.execute(with_names("CREATE ROLE {role} NOLOGIN", role=role))
            yield f"made the role {role}"
    cursor.execute(
        with_names(
            GRANTS,
            database=roles.database,
            engine=ENGINE_SCHEMA,
            member=roles.member,
            reader=roles.reader,
        )
    )


def _refuse_foreign(cursor: Cursor, database: Database) -> None:
    row = cursor.execute(
        "SELECT schemaname || '.' || tablename FROM pg_tables "
        "WHERE schemaname NOT IN ('pg_catalog', 'information_schema') ORDER BY 1 LIMIT 1"
    ).fetchone()
    if row:
        raise FleetUnavailable(
            f"{database.url} is not a fleet's database: it has a table {row[0]}",
            "make a database for the fleet alone by `createdb NAME`, and name that one",
        )


def _name_of(cursor: Cursor) -> str:
    row = cursor.execute("SELECT current_database()").fetchone()
    assert row is not None, "the query has one row"
    return str(row[0])
