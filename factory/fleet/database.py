"""Defines the fleet's database: one connection and the tables.

No other file knows psycopg. Every statement that goes through `Database.run` may be run twice: a
connection that breaks at the commit does not say whether the commit was made.
"""

from __future__ import annotations

import contextlib
import importlib.util
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, LiteralString, TypeAlias, TypeVar

from shared import VERSION
from shared.errors import FleetUnavailable, InvalidInput, how_to_install
from shared.settings.setting_values import DatabaseUrl

if TYPE_CHECKING:
    import psycopg.sql


T = TypeVar("T")

Cursor: TypeAlias = "psycopg.Cursor[tuple[Any, ...]]"

# A server that does not answer at all is named after this time.
_CONNECT_SECONDS = 10
_AGAIN_AFTER_SECONDS = 0.2
# Lines of a message that do not say what happened.
_ASIDE = ("DETAIL", "HINT", "\tIs the server running")
_PACKAGES = ("psycopg", "dbos")


class Database:
    """Run transactions in the fleet's database. Threads take turns."""

    def __init__(self, url: DatabaseUrl, purpose: str) -> None:
        """Remember where the database is; `purpose` names this process to administrators."""
        self.url = url
        self._purpose = purpose
        self._lock = threading.Lock()
        self._connection: psycopg.Connection[tuple[Any, ...]] | None = None

    def run(self, work: Callable[[Cursor], T], *, patience_seconds: float = 0.0) -> T:
        """Run `work` in one transaction and return its answer.

        Where the database cannot be reached, this tries again for `patience_seconds` and then
        raises `FleetUnavailable`.
        """
        until = time.monotonic() + patience_seconds
        while True:
            try:
                with self._lock, self._transaction() as cursor:
                    return work(cursor)
            except FleetUnavailable:
                if time.monotonic() >= until:
                    raise
            time.sleep(_AGAIN_AFTER_SECONDS)

    def change(
        self, statement: LiteralString, values: Sequence[object], *, patience_seconds: float = 0.0
    ) -> int:
        """Run one statement as `run` does, and return how many rows it changed."""
        return self.run(
            lambda cursor: cursor.execute(statement, values).rowcount,
            patience_seconds=patience_seconds,
        )

    def rows(
        self,
        statement: LiteralString,
        values: Sequence[object] = (),
        *,
        patience_seconds: float = 0.0,
    ) -> Sequence[tuple[Any, ...]]:
        """Run one statement as `run` does, and return the rows that it finds."""
        return self.run(
            lambda cursor: cursor.execute(statement, values).fetchall(),
            patience_seconds=patience_seconds,
        )

    @contextlib.contextmanager
    def session(self) -> Iterator[Cursor]:
        """Give the connection for statements that are each a transaction of their own."""
        with self._lock, self._errors_in_words():
            connection = self._open()
            connection.autocommit = True
            try:
                with connection.cursor() as cursor:
                    yield cursor
            finally:
                if not connection.closed:
                    connection.autocommit = False

    def close(self) -> None:
        """Close the connection; the next transaction opens another one."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[Cursor]:
        with self._errors_in_words():
            connection = self._open()
            with connection.transaction(), connection.cursor() as cursor:
                yield cursor

    @contextlib.contextmanager
    def _errors_in_words(self) -> Iterator[None]:
        import_driver()
        import psycopg

        try:
            yield
        except psycopg.errors.InsufficientPrivilege as refused:
            raise FleetUnavailable(
                f"{self.url}: {said_by(refused)}",
                "have the fleet's administrator grant the role that `llmch fleet init` names",
            ) from None
        # A server that became a standby is read-only, which is no error of operation.
        except (psycopg.OperationalError, psycopg.InternalError) as error:
            self._forget()
            raise lost(self.url, error) from None
        except (psycopg.DataError, UnicodeEncodeError) as error:
            raise InvalidInput(
                f"{self.url} cannot store this: {str(error).splitlines()[0]}",
                "leave out what is no text, as a NUL or half a character",
            ) from None

    def _forget(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _open(self) -> psycopg.Connection[tuple[Any, ...]]:
        if self._connection is None or self._connection.closed:
            self._connection = connect(self.url, self._purpose)
        return self._connection


def require_packages() -> None:
    """Raise `InvalidInput` unless what the fleet needs is installed; nothing is imported."""
    if any(importlib.util.find_spec(each) is None for each in _PACKAGES):
        raise packages_missing()


def packages_missing() -> InvalidInput:
    """Return the error for packages that are not installed, or not whole."""
    return InvalidInput("the fleet's packages are not installed here", how_to_install("fleet"))


def import_driver() -> None:
    """Import what talks to the server. Raises `InvalidInput` if it is not installed."""
    try:
        import psycopg  # noqa: F401
    except ImportError:
        raise packages_missing() from None


def with_names(statement: LiteralString, **names: str) -> psycopg.sql.Composed:
    """Return a statement with names of tables and roles in the place of its `{fields}`."""
    from psycopg import sql

    return sql.SQL(statement).format(**{key: sql.Identifier(each) for key, each in names.items()})


def connect(url: DatabaseUrl, purpose: str) -> psycopg.Connection[tuple[Any, ...]]:
    """Return a new connection. Raises `FleetUnavailable` with the reason if that fails."""
    import psycopg

    try:
        connection = psycopg.connect(
            url.text,
            connect_timeout=_CONNECT_SECONDS,
            application_name=f"llmch {purpose}",
            # A server that vanished without a word is noticed within a minute.
            keepalives_idle=20,
            keepalives_interval=10,
            keepalives_count=3,
        )
    except psycopg.OperationalError as error:
        raise _refused(url, said_by(error)) from None
    except psycopg.Error:  # an option of the URL is wrong; the message might repeat the URL
        raise FleetUnavailable(
            f"the URL of the fleet's database {url} has an option that PostgreSQL does not know",
            "write it as postgresql://USER:PASSWORD@HOST/DATABASE?sslmode=verify-full",
        ) from None
    if (encoding := connection.info.parameter_status("server_encoding")) != "UTF8":
        connection.close()
        raise FleetUnavailable(
            f"the fleet's database {url} keeps text as {encoding}, which does not hold all of it",
            "make it by `createdb --encoding=UTF8 --template=template0 NAME`",
        )
    return connection


def _refused(url: DatabaseUrl, said: str) -> FleetUnavailable:
    if "password authentication failed" in said or "no password supplied" in said:
        return FleetUnavailable(
            f"the fleet's database refuses the user or the password: {url}",
            "correct `fleet.db` in your llmch.toml, or LLMCH_FLEET_DB",
        )
    if "does not exist" in said and "database" in said:
        return FleetUnavailable(
            f"there is no database {url}",
            "have it made by `createdb NAME`, and then set up by `llmch fleet init`",
        )
    return FleetUnavailable(
        f"the fleet's database cannot be reached: {url}: {said}",
        "see that PostgreSQL runs there and can be reached from this machine",
    )


def is_loss(error: BaseException) -> bool:
    """Return whether an error means that the server went away, or was not there."""
    import psycopg

    return isinstance(error, psycopg.OperationalError)


def lost(url: DatabaseUrl, error: BaseException) -> FleetUnavailable:
    """Return the error for a server that went away, or was not there."""
    return FleetUnavailable(
        f"lost the fleet's database {url}: {said_by(error)}",
        "see that PostgreSQL runs there and can be reached from this machine",
    )


def said_by(error: BaseException) -> str:
    """Return what the server said on one line; it never repeats a password."""
    said = getattr(getattr(error, "diag", None), "message_primary", None) or str(error)
    lines = [each.strip() for each in said.splitlines() if not each.startswith(_ASIDE)]
    return next((each for each in reversed(lines) if each), type(error).__name__)


SCHEMA_VERSION = 5
ENGINE_SCHEMA = "llmch_engine"

# Each statement can be run again: `fleet init` runs them all, on a new database and on an old one.
# The clock is the database's own everywhere, so the machines of a fleet may disagree about time.
# The triggers take the real time, not that of the transaction, which a member can keep open for a
# week, and they find functions in `pg_catalog` alone, where no member can put one of its own.
TABLES = """
CREATE SCHEMA IF NOT EXISTS llmch;
CREATE TABLE IF NOT EXISTS llmch.fleet (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    schema_version integer NOT NULL,
    llmch_version text NOT NULL,
    made timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE IF NOT EXISTS llmch.workers (
    id text PRIMARY KEY,
    host text NOT NULL,
    pid integer NOT NULL,
    slots integer NOT NULL,
    lease_seconds double precision NOT NULL,
    protocol integer NOT NULL,
    llmch_version text NOT NULL,
    started timestamptz NOT NULL DEFAULT now(),
    seen timestamptz NOT NULL DEFAULT now(),
    dead timestamptz,
    cause text NOT NULL DEFAULT ''
);
ALTER TABLE llmch.workers ADD COLUMN IF NOT EXISTS submission text NOT NULL DEFAULT '';
CREATE TABLE IF NOT EXISTS llmch.takeovers (
    job text NOT NULL,
    worker text NOT NULL,
    taken timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (job, worker)
);
CREATE TABLE IF NOT EXISTS llmch.intents (
    plan text NOT NULL,
    key text NOT NULL,
    worker text NOT NULL,
    begun timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (plan, key)
);
CREATE TABLE IF NOT EXISTS llmch.replies (
    plan text NOT NULL,
    key text NOT NULL,
    record text NOT NULL,
    worker text NOT NULL,
    kept timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (plan, key)
);
CREATE TABLE IF NOT EXISTS llmch.failures (
    plan text NOT NULL,
    work_order text NOT NULL,
    run text NOT NULL,
    ended timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (plan, work_order, run)
);
CREATE TABLE IF NOT EXISTS llmch.candidates (
    run text NOT NULL,
    commit text NOT NULL,
    job text NOT NULL,
    known text,
    announced timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (commit, job)
);
CREATE INDEX IF NOT EXISTS candidates_of_run ON llmch.candidates (run);
CREATE TABLE IF NOT EXISTS llmch.spending (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    run text NOT NULL,
    worker text NOT NULL,
    usage text NOT NULL,
    settled boolean NOT NULL DEFAULT false
);
CREATE INDEX IF NOT EXISTS spending_of_run ON llmch.spending (run);
CREATE TABLE IF NOT EXISTS llmch.pauses (
    server text NOT NULL,
    model text NOT NULL,
    until timestamptz NOT NULL,
    PRIMARY KEY (server, model)
);
CREATE TABLE IF NOT EXISTS llmch.events (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    run text NOT NULL,
    job text NOT NULL,
    worker text NOT NULL,
    number integer NOT NULL,
    event text NOT NULL,
    UNIQUE (job, worker, number)
);
CREATE OR REPLACE FUNCTION llmch.stay_dead() RETURNS trigger LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF NEW.id <> OLD.id THEN
        RAISE EXCEPTION 'worker % keeps its id', OLD.id;
    END IF;
    IF OLD.dead IS NOT NULL AND (NEW.dead IS DISTINCT FROM OLD.dead
        OR (NEW.cause <> OLD.cause AND OLD.slots > 0)) THEN
        RAISE EXCEPTION 'worker % was declared dead', OLD.id;
    END IF;
    IF OLD.dead IS NULL AND NEW.dead IS NOT NULL THEN
        NEW.dead := clock_timestamp();
    END IF;
    IF NEW.seen <> OLD.seen THEN
        NEW.seen := clock_timestamp();
    END IF;
    RETURN NEW;
END $$;
CREATE OR REPLACE TRIGGER stay_dead BEFORE UPDATE ON llmch.workers
    FOR EACH ROW EXECUTE FUNCTION llmch.stay_dead();
CREATE OR REPLACE FUNCTION llmch.stay_on_record() RETURNS trigger LANGUAGE plpgsql
    SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF OLD.dead IS NULL OR OLD.dead > clock_timestamp() - interval '168 hours' THEN
        RAISE EXCEPTION 'worker % stays on record for 7 days after its end', OLD.id;
    END IF;
    RETURN OLD;
END $$;
CREATE OR REPLACE TRIGGER stay_on_record BEFORE DELETE ON llmch.workers
    FOR EACH ROW EXECUTE FUNCTION llmch.stay_on_record();
"""


@dataclass(frozen=True, slots=True)
class Roles:
    """Name the roles of a fleet. Each fleet's database has its own."""

    database: str

    @property
    def member(self) -> str:
        """Return the role of workers and of those who submit plans: they share one trust."""
        return f"{self.database}_member"

    @property
    def reader(self) -> str:
        """Return the role that may see `llmch fleet status` and nothing else."""
        return f"{self.database}_reader"


# Only the administrator makes, changes or empties tables. A member cannot take back a recorded
# reply, nor the declaration that a worker is dead, which may be deleted after a week. So a member
# enters workers without an end, and changes nothing by which a worker is known.
GRANTS = """
REVOKE ALL ON DATABASE {database} FROM PUBLIC;
GRANT CONNECT ON DATABASE {database} TO {member}, {reader};
REVOKE CREATE ON SCHEMA public FROM PUBLIC;
GRANT USAGE ON SCHEMA llmch, {engine} TO {member}, {reader};
GRANT SELECT ON llmch.fleet, llmch.workers, llmch.takeovers TO {member}, {reader};
REVOKE INSERT, UPDATE ON llmch.workers FROM {member};
GRANT INSERT (id, host, pid, slots, lease_seconds, protocol, llmch_version, submission),
    UPDATE (seen, dead, cause), DELETE ON llmch.workers TO {member};
GRANT INSERT, DELETE ON llmch.takeovers TO {member};
GRANT SELECT, INSERT, UPDATE, DELETE ON llmch.intents, llmch.candidates, llmch.spending,
    llmch.pauses TO {member};
GRANT SELECT, INSERT ON llmch.replies, llmch.failures TO {member};
GRANT SELECT, INSERT, DELETE ON llmch.events TO {member};
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {engine} TO {member};
REVOKE INSERT, UPDATE, DELETE ON {engine}.dbos_migrations, {engine}.queues FROM {member};
GRANT SELECT ON {engine}.workflow_status TO {reader};
"""


def check_schema(database: Database) -> None:
    """Raise `FleetUnavailable` unless the database is a fleet's, and of this llmch's schema."""
    found = database.run(found_version)
    if found is None:
        raise FleetUnavailable(
            f"{database.url} is not a fleet's database",
            "have its administrator set it up by `llmch fleet init`, or correct `fleet.db`",
        )
    version, made_by = found
    if version < SCHEMA_VERSION:
        raise FleetUnavailable(
            f"{database.url} has the older schema {version} of llmch {made_by}; "
            f"llmch {VERSION} needs {SCHEMA_VERSION}",
            f"end all workers, and have its administrator run `llmch fleet init` of {VERSION}",
        )
    refuse_newer(database, version, made_by)


def refuse_newer(database: Database, version: int, made_by: str) -> None:
    """Raise `FleetUnavailable` if a newer llmch has set up the database."""
    if version > SCHEMA_VERSION:
        raise FleetUnavailable(
            f"{database.url} has the newer schema {version} of llmch {made_by}; "
            f"this is llmch {VERSION}, which knows {SCHEMA_VERSION}",
            f"install llmch {made_by} or newer here",
        )


def found_version(cursor: Cursor) -> tuple[int, str] | None:
    """Return the schema's version and the llmch that made it; `None` if this is not a fleet."""
    there = cursor.execute("SELECT to_regclass('llmch.fleet') IS NOT NULL").fetchone()
    if there is None or not there[0]:
        return None
    row = cursor.execute("SELECT schema_version, llmch_version FROM llmch.fleet").fetchone()
    return (int(row[0]), str(row[1])) if row else None
