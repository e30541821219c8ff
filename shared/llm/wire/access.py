"""Where the model is and what lets us in. Imports nothing heavy: it is checked before all else."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit

from shared.errors import InvalidInput, ModelUnavailable

OPENAI_HOST = "api.openai.com"

# The SDK demands a key even where the server wants none.
PLACEHOLDER_KEY = "local"


@dataclass(frozen=True, slots=True)
class ModelAccess:
    """A server and the key to it; `base_url` is `None` for OpenAI's own.

    `stall_seconds` is how long a server may stay silent in the middle of a call: local models read
    a long prompt for minutes before they answer. `deadline_seconds` bounds a call in all, waiting
    between retries included.
    """

    base_url: str | None
    api_key: str = field(repr=False)
    stall_seconds: float = 600.0
    deadline_seconds: float = 2400.0

    @property
    def host(self) -> str:
        """The server's name, without port, path or credentials."""
        return OPENAI_HOST if self.base_url is None else (urlsplit(self.base_url).hostname or "")

    @property
    def is_openai(self) -> bool:
        """Whether this is OpenAI's own server, whose schemas can be trusted to bind."""
        return self.host == OPENAI_HOST or self.host.endswith("." + OPENAI_HOST)

    @property
    def is_local(self) -> bool:
        """Whether the server runs on this machine."""
        return is_loopback(self.host)

    @property
    def display_url(self) -> str:
        """The base URL as it may be shown: without credentials and query."""
        if self.base_url is None:
            return f"https://{OPENAI_HOST}/v1"
        parts = urlsplit(self.base_url)
        return parts._replace(
            netloc=parts.netloc.rpartition("@")[2], query="", fragment=""
        ).geturl()


def check_access(environ: Mapping[str, str], base_url: str | None = None) -> ModelAccess:
    """Return the access that the environment gives; `base_url` wins over `OPENAI_BASE_URL`.

    Raises `ModelUnavailable` where a key is missing, `InvalidInput` for a URL that is none. Needs
    no network.
    """
    url = base_url or environ.get("OPENAI_BASE_URL", "").strip() or None
    access = ModelAccess(base_url=url, api_key=environ.get("OPENAI_API_KEY", "").strip())
    if url is not None:
        _check_url(access)
    if not _is_plain(access.api_key):
        raise InvalidInput(
            "OPENAI_API_KEY holds characters that no key has: blanks, or others than ASCII",
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
    """Return whether requests go to OpenAI's own server, whose schemas bind."""
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
            "the base URL of the model server is no http or https URL",
            hint="set OPENAI_BASE_URL to something like http://127.0.0.1:8080/v1",
        )
