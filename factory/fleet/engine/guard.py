"""Makes DBOS safe to use: no pickle is read, nothing is printed, and errors come in words.

A row of DBOS may be a pickle, whatever the serializer, and reading one runs code. So this is
refused before anything is read.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from factory.fleet.database import import_driver, is_loss, lost, said_by
from factory.fleet.schema import ENGINE_SCHEMA
from shared.errors import FleetUnavailable
from shared.settings.values.database import DatabaseUrl

if TYPE_CHECKING:
    from dbos import DBOSClient

APPLICATION: Final = "llmch"
CONNECTIONS: Final = 5
"""How many connections a process keeps beside those of its jobs."""


_importing: Final = threading.Lock()


class PickleRefused(Exception):
    """Say that a row of the queue is a pickle, which is never read."""


def version_of(protocol: int) -> str:
    """Return the mark by which the engine keeps apart the jobs of different protocols."""
    return f"llmch-{protocol}"


def open_client(url: DatabaseUrl) -> DBOSClient:
    """Return a client of the queue. Raises what DBOS raises; see `errors_in_words`."""
    from dbos import DBOSClient, DBOSPortableJSONSerializer

    return DBOSClient(
        system_database_url=text_of(url),
        dbos_system_schema=ENGINE_SCHEMA,
        serializer=DBOSPortableJSONSerializer(),
        application_name=APPLICATION,
        system_database_pool_size=CONNECTIONS,
        retry_connection_errors=False,
    )


def text_of(url: DatabaseUrl) -> str:
    """Return the URL in the form that DBOS understands."""
    return "postgresql://" + url.text.partition("://")[2]


@contextlib.contextmanager
def errors_in_words(url: DatabaseUrl) -> Iterator[None]:
    """Make DBOS safe to import, and its errors `FleetUnavailable`."""
    _refuse_pickles()
    from dbos._error import DBOSException
    from sqlalchemy.exc import SQLAlchemyError

    try:
        yield
    except (SQLAlchemyError, DBOSException) as error:
        cause = getattr(error, "orig", None) or error
        if is_loss(cause):
            raise lost(url, cause) from None
        raise FleetUnavailable(
            f"the fleet's queue in {url} does not answer: {said_by(cause)}",
            "see that PostgreSQL runs there, and that `llmch fleet init` of this llmch was run",
        ) from None


def import_engine() -> None:
    """Import DBOS and the driver, which takes long, so that nobody has to wait for it later.

    An error here is ignored, because it comes again where the queue is opened.
    """
    with contextlib.suppress(Exception):
        import_driver()
        _refuse_pickles()


def _refuse_pickles() -> None:
    with _importing:
        _refuse_pickles_once()


@cache
def _refuse_pickles_once() -> None:
    """Import DBOS so that it neither reads pickles nor prints."""
    logger = logging.getLogger("dbos")
    logger.addHandler(logging.NullHandler())  # else DBOS adds one that prints
    logger.propagate = False
    try:
        from dbos import _serialization as written
    except ImportError:
        raise FleetUnavailable(
            "the fleet's packages are not installed here",
            "install them by pip install 'llmch[fleet]'",
        ) from None

    def refuse(self: object, serialized_data: str) -> Any:
        raise PickleRefused("the row is a pickle, which llmch never reads")

    def in_plain_text(self: object, data: object) -> str:
        return str(data)  # what DBOS records about a row that was refused

    written.DefaultSerializer.deserialize = refuse  # type: ignore[method-assign,assignment]
    written.DefaultSerializer.serialize = in_plain_text  # type: ignore[method-assign]
    del written.pickle  # type: ignore[attr-defined]  # whatever else might use it fails
