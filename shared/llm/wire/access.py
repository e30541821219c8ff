"""Finds the model's server and the key to it.

Access is checked before anything else, so this module imports nothing that is slow to load.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit

from shared.errors import InvalidInput, ModelUnavailable

OPENAI_HOST = "api.openai.com"

# The SDK demands a key even where the server needs none.
PLACEHOLDER_KEY = "local"


@dataclass(frozen=True, slots=True)
class ModelAccess:
    """Hold a server and the key to it; `base_url` is `None` for OpenAI's own server.

    `stall_seconds` is how long a server may stay silent during a call: local models read a long
    prompt for minutes before they answer. `deadline_seconds` bounds a whole call, including the
    waits between retries.
    """

    base_url: str | None
    api_key: str = field(repr=False)
    stall_seconds: float = 600.0
    deadline_seconds: float = 2400.0

    @property
    def host(self) -> str:
        """Return the server's host name, without port, path or credentials."""
        return OPENAI_HOST if self.base_url is None else (urlsplit(self.base_url).hostname or "")

    @property
    def is_openai(self) -> bool:
        """Return whether this is OpenAI's own server, which is known to enforce reply schemas."""
        return self.host == OPENAI_HOST or self.host.endswith("." + OPENAI_HOST)

    @property
    def is_local(self) -> bool:
        """Return whether the server runs on this machine."""
        return is_loopback(self.host)

    @property
    def display_url(self) -> str:
        """Return the base URL without credentials, query and fragment, fit to be shown."""
        if self.base_url is None:
            return f"https://{OPENAI_HOST}/v1"
        parts = urlsplit(self.base_url)
        return parts._replace(
            netloc=parts.netloc.rpartition("@")[2], query="", fragment=""
        ).geturl()


def check_access(environ: Mapping[str, str], base_url: str | None = None) -> ModelAccess:
    """Return the access that the environment gives; `base_url` wins over `OPENAI_BASE_URL`.

    Raises `ModelUnavailable` where a key is missing, and `InvalidInput` where the URL or the key
    is malformed. Needs no network.
    """
    url = base_url or environ.get("OPENAI_BASE_URL", "").strip() or None
    access = ModelAccess(base_url=url, api_key=environ.get("OPENAI_API_KEY", "").strip())
    if url is not None:
        _check_url(access)
    if not _is_plain(access.api_key):
        raise InvalidInput(
            "OPENAI_API_KEY holds characters that no key has: "
            "blanks, control characters or characters outside ASCII",
            hint="copy the key again",
        )
    if access.api_key:
        return access
    if access.is_local:
        return replace(access, api_key=PLACEHOLDER_KEY)
    raise ModelUnavailable(
        f"no key for the model server at {access.host}: OPENAI_API_KEY is not set",
        hint="set OPENAI_API_KEY, or point OPENAI_BASE_URL at a local server "
        "(http://127.0.0.1:PORT/v1 needs no key), or replay a transcript with --llm replay",
    )


def is_openai(environ: Mapping[str, str], base_url: str | None = None) -> bool:
    """Return whether requests go to OpenAI's own server, which enforces reply schemas."""
    url = base_url or environ.get("OPENAI_BASE_URL", "").strip() or None
    return ModelAccess(base_url=url, api_key="").is_openai


def is_loopback(host: str) -> bool:
    """Return whether `host` names this machine."""
    name = host.lower().rstrip(".")
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def _is_plain(text: str) -> bool:
    return text.isascii() and text.isprintable() and " " not in text


def _check_url(access: ModelAccess) -> None:
    assert access.base_url is not None
    try:
        parts = urlsplit(access.base_url)
        (parts.hostname or "").encode("idna")
        _ = parts.port
        well_formed = (
            parts.scheme in ("http", "https")
            and bool(parts.hostname)
            and _is_plain(access.base_url)
        )
    except ValueError:
        well_formed = False
    if not well_formed:
        raise InvalidInput(
            "the base URL of the model server is not an http or https URL",
            hint="set OPENAI_BASE_URL to something like http://127.0.0.1:8080/v1",
        )
