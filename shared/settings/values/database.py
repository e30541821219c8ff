"""Reads the URL of a database, which holds a password and is therefore never shown."""

from __future__ import annotations

from dataclasses import dataclass, field

from shared.errors import InvalidInput
from shared.settings.values.given import Given


@dataclass(frozen=True, slots=True)
class DatabaseUrl:
    """Hold the URL of a PostgreSQL database. No text form of this value has the URL's secrets."""

    text: str = field(repr=False)

    def __str__(self) -> str:
        """Return where the database is and whom it knows: `fleet on db.example as ada`."""
        from urllib.parse import unquote, urlsplit

        parts = urlsplit(self.text)
        user = f" as {unquote(parts.username)}" if parts.username else ""
        place = f" on {parts.hostname}" if parts.hostname else ""
        port = f":{parts.port}" if parts.port else ""
        return f"{unquote(parts.path.strip('/')) or 'the default database'}{place}{port}{user}"


def read_database(given: Given) -> DatabaseUrl:
    """Return the URL of a PostgreSQL database. The error never repeats what was given."""
    from urllib.parse import urlsplit

    text = given.value.strip() if isinstance(given.value, str) else ""
    try:
        parts = urlsplit(text)
        named = parts.scheme in ("postgresql", "postgres") and text.isprintable()
        _ = parts.port  # raises where the text is not a port
    except ValueError:
        named = False
    if not named:
        raise InvalidInput(
            f"{given.source}: {given.name} is not the URL of a PostgreSQL database",
            "write it as postgresql://USER:PASSWORD@HOST/DATABASE?sslmode=verify-full",
        )
    return DatabaseUrl(text)
