"""Talks to the fleet's database: one connection, opened again where it was lost.

No other file knows psycopg. Every statement that goes through `Database.run` may be run twice: a
connection that breaks at the commit does not say whether the commit was made.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, LiteralString, TypeAlias, TypeVar

from shared.errors import FleetUnavailable
from shared.settings.values.database import DatabaseUrl

if TYPE_CHECKING:
    import psycopg.sql

T = TypeVar("T")

Cursor: TypeAlias = "psycopg.Cursor[tuple[Any, ...]]"

# A server that does not answer at all is named after this time.
_CONNECT_SECONDS = 10
_AGAIN_AFTER_SECONDS = 0.2
# Lines of a message that do not say what happened.
_ASIDE = ("DETAIL", "HINT", "\tIs the server running")
_EXTRA = "pip install 'llmch[fleet]'"


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
        import psycopg

        try:
            yield
        except psycopg.errors.InsufficientPrivilege as refused:
            raise FleetUnavailable(
                f"{self.url}: {said_by(refused)}",
                "have the fleet's administrator grant the role that `llmch fleet init` names",
            ) from None
        except psycopg.OperationalError as error:
            self._forget()
            raise lost(self.url, error) from None

    def _forget(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _open(self) -> psycopg.Connection[tuple[Any, ...]]:
        if self._connection is None or self._connection.closed:
            self._connection = connect(self.url, self._purpose)
        return self._connection


def import_driver() -> None:
    """Import what talks to the server. Raises `ImportError` where it is not installed."""
    import psycopg  # noqa: F401


def with_names(statement: LiteralString, **names: str) -> psycopg.sql.Composed:
    """Return a statement with names of tables and roles in the place of its `{fields}`."""
    from psycopg import sql

    return sql.SQL(statement).format(**{key: sql.Identifier(each) for key, each in names.items()})


def connect(url: DatabaseUrl, purpose: str) -> psycopg.Connection[tuple[Any, ...]]:
    """Return a new connection. Raises `FleetUnavailable`, which says why there is none."""
    try:
        import psycopg
    except ImportError:
        raise FleetUnavailable(
            "the fleet's packages are not installed here", f"install them by {_EXTRA}"
        ) from None
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
    """Return what to say where the server went away, or was not there."""
    return FleetUnavailable(
        f"lost the fleet's database {url}: {said_by(error)}",
        "see that PostgreSQL runs there and can be reached from this machine",
    )


def said_by(error: BaseException) -> str:
    """Return what the server said on one line; it never repeats a password."""
    said = getattr(getattr(error, "diag", None), "message_primary", None) or str(error)
    lines = [each.strip() for each in said.splitlines() if not each.startswith(_ASIDE)]
    return next((each for each in reversed(lines) if each), type(error).__name__)
