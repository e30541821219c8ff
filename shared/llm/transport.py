"""Finds the server and its key, and makes the HTTP calls; the only code that knows the SDK.

Access is checked before anything else, so this module imports nothing that is slow to load.

The SDK authenticates, addresses and sends. Its retries are off and its reading of bodies is
bypassed, because both hide what a caller must know (a stream that just ends, an HTML page).
"""

from __future__ import annotations

import ipaddress
import json
import re
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from shared.errors import InvalidInput, ModelUnavailable
from shared.files.secret_values import redact, secret_values
from shared.llm.call_retry import Clock, parse_retry_after
from shared.llm.model_client import ReplyBroken, ReplyFailed
from shared.llm.reply_bodies import HttpReply
from shared.llm.server_replies import Refusal, Unreachable, parse_error_body

if TYPE_CHECKING:
    import openai
    from openai import APIResponse


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
        return OPENAI_HOST if self.base_url is None else (urlsplit(self.base_url).hostname or "")

    @property
    def is_openai(self) -> bool:
        """Return whether this is OpenAI's own server, which is known to enforce reply schemas."""
        return self.host == OPENAI_HOST or self.host.endswith("." + OPENAI_HOST)

    @property
    def is_local(self) -> bool:
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

    @property
    def secrets(self) -> tuple[str, ...]:
        """Return the key, and what is secret in the base URL; servers quote both."""
        return secret_values(
            {"OPENAI_API_KEY": self.api_key, "OPENAI_BASE_URL": self.base_url or ""}
        )


def check_access(environ: Mapping[str, str], base_url: str | None = None) -> ModelAccess:
    """Return the access that the environment gives; `base_url` wins over `OPENAI_BASE_URL`.

    Raises `ModelUnavailable` if a key is missing, and `InvalidInput` if the URL or the key
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


# What base URLs end in, and paths of wires begin with.
_VERSION = re.compile(r"(/v1(beta)?)?(/openai)?/*$")

_CONNECT_SECONDS = 20.0
_BRIEF_SECONDS = 5.0
_MOST_REDIRECTS = 5

# Of an error's body, 500 characters are quoted. A longer body, or one that trickles in, is cut.
_LONGEST_ERROR_BYTES = 64 * 1024
_ERROR_BODY_SECONDS = 30.0


class Transport:
    """Make the calls of this program to a model server. Safe for threads.

    Each call is a context manager that yields an `HttpReply` and closes it. Entering it raises
    `Unreachable` if no answer comes, `Refusal` for an error status, `ReplyBroken` if the
    server stays silent, and `ModelUnavailable` if the SDK cannot be imported. Reading the body
    raises `ReplyBroken` if it breaks off, and `ReplyFailed` past the deadline.
    """

    def __init__(self, access: ModelAccess, clock: Clock) -> None:
        self._access = access
        self._clock = clock
        self._lock = threading.Lock()
        self._opened: openai.OpenAI | None = None

    def create_chat(self, body: Mapping[str, Any]) -> AbstractContextManager[HttpReply]:
        return self._sent(lambda sdk: sdk.chat.completions.with_streaming_response.create(**body))

    def create_response(self, body: Mapping[str, Any]) -> AbstractContextManager[HttpReply]:
        return self._sent(lambda sdk: sdk.responses.with_streaming_response.create(**body))

    def relay(
        self, path: str, body: Mapping[str, Any], headers: Mapping[str, str]
    ) -> AbstractContextManager[HttpReply]:
        """Call POST `path` below the server's address; a header without a value gets the key."""
        url = _VERSION.sub("", self._sdk_url) + path
        sent = {name: value or self._access.api_key for name, value in headers.items()}

        @contextmanager
        def posted(sdk: openai.OpenAI) -> Iterator[APIResponse[Any]]:
            # The header is how the SDK's own methods ask for a body that has not been read.
            options: Any = {"headers": {**sent, "X-Stainless-Raw-Response": "stream"}}
            answer: Any = sdk.post(url, cast_to=object, body=dict(body), options=options)
            with closing(answer):
                yield answer

        return self._sent(posted)

    def retrieve_response(self, response_id: str) -> AbstractContextManager[HttpReply]:
        return self._sent(lambda sdk: sdk.responses.with_streaming_response.retrieve(response_id))

    def resume_response(
        self, response_id: str, starting_after: int
    ) -> AbstractContextManager[HttpReply]:
        """Call GET /responses/{id} for a stream of the events after number `starting_after`."""
        return self._sent(
            lambda sdk: sdk.responses.with_streaming_response.retrieve(
                response_id, stream=True, starting_after=starting_after
            )
        )

    def cancel_response(self, response_id: str) -> AbstractContextManager[HttpReply]:
        """Call POST /responses/{id}/cancel, with a timeout of 5 seconds."""
        return self._sent(
            lambda sdk: sdk.responses.with_streaming_response.cancel(
                response_id, timeout=_BRIEF_SECONDS
            )
        )

    def models(self) -> AbstractContextManager[HttpReply]:
        """Call GET /models, with a timeout of 5 seconds."""
        return self._sent(
            lambda sdk: sdk.models.with_streaming_response.list(timeout=_BRIEF_SECONDS)
        )

    def close(self) -> None:
        with self._lock:
            if self._opened is not None:
                self._opened.close()
                self._opened = None

    def _sdk(self) -> openai.OpenAI:
        with self._lock:
            if self._opened is None:
                self._opened = self._open()
            return self._opened

    def _open(self) -> openai.OpenAI:
        import openai

        timeout = openai.Timeout(self._access.stall_seconds, connect=_CONNECT_SECONDS)
        # A proxy from the environment cannot reach this machine's own loopback.
        http = openai.DefaultHttpxClient(
            trust_env=not self._access.is_local,
            timeout=timeout,
            follow_redirects=True,
            max_redirects=_MOST_REDIRECTS,
            # They see each request before it is sent, and each answer before its body is read.
            event_hooks={"request": [self._check_origin], "response": [self._check_answer]},
        )
        return openai.OpenAI(
            base_url=self._sdk_url,
            api_key=self._access.api_key,
            max_retries=0,
            timeout=timeout,
            http_client=http,
        )

    @contextmanager
    def _sent(
        self, send: Callable[[openai.OpenAI], AbstractContextManager[APIResponse[Any]]]
    ) -> Iterator[HttpReply]:
        _load_sdk()
        import openai

        call = send(self._sdk())
        try:
            response = call.__enter__()
        except openai.APITimeoutError as error:
            raise self._timed_out(error) from None
        except _ErrorAnswer as answer:
            raise self._refused(answer) from None
        except openai.APIConnectionError as error:
            raise self._not_connected(error) from None
        try:
            media_type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
            yield HttpReply(media_type, self._chunks(response), self._access.secrets)
        finally:
            call.__exit__(None, None, None)

    def _chunks(self, response: APIResponse[Any]) -> Iterator[bytes]:
        deadline = self._clock.now() + self._access.deadline_seconds
        try:
            for chunk in response.iter_bytes():
                if self._clock.now() > deadline:
                    raise ReplyFailed("the reply trickled in and was not complete by the deadline")
                yield chunk
        except ReplyFailed:
            raise
        except Exception as error:  # which HTTP library the SDK uses, and its errors, may change
            if "Timeout" in type(error).__name__:
                raise ReplyBroken(self._silence()) from None
            cause = self._clean(str(error))
            raise ReplyBroken(f"the connection broke in the middle of the reply: {cause}") from None

    def _check_origin(self, request: Any) -> None:
        """Refuse to send a request to another server than the chosen one, wherever it redirects."""
        if (wanted := _origin(self._sdk_url)) != (target := _origin(str(request.url))):
            raise ModelUnavailable(
                f"the model server at {wanted} redirects to {target}: "
                "a prompt is sent to no other server than the one that you chose",
                hint="if that server is meant, point OPENAI_BASE_URL at it",
            )

    def _check_answer(self, response: Any) -> None:
        """Drop the body of a redirect, and raise the start of an error's body as `_ErrorAnswer`.

        The SDK and its HTTP library read both whole.
        """
        if response.has_redirect_location:
            _drop_body(response)
        elif response.status_code >= 300:
            raise _ErrorAnswer(response.status_code, response.headers, self._start_of(response))

    def _start_of(self, response: Any) -> bytes:
        start = bytearray()
        deadline = self._clock.now() + _ERROR_BODY_SECONDS
        with suppress(Exception):  # what came before the body broke off is all there is
            for chunk in response.iter_bytes():
                start += chunk
                if len(start) >= _LONGEST_ERROR_BYTES or self._clock.now() > deadline:
                    break
        return bytes(start[:_LONGEST_ERROR_BYTES])

    @property
    def _sdk_url(self) -> str:
        return self._access.base_url or f"https://{OPENAI_HOST}/v1"

    def _refused(self, answer: _ErrorAnswer) -> Refusal:
        headers = {name.lower(): value for name, value in answer.headers.items()}
        text = answer.body.decode("utf-8", "replace")
        try:
            body = parse_error_body(json.loads(text), self._clean)
        except (ValueError, RecursionError):
            body = parse_error_body(text, self._clean)
        return Refusal(answer.status, body, parse_retry_after(headers, self._clock.wall()))

    def _clean(self, text: str) -> str:
        return redact(text, self._access.secrets)

    def _not_connected(self, error: openai.APIConnectionError) -> Exception:
        if type(error.__cause__).__name__ == "TooManyRedirects":
            return ModelUnavailable(
                f"the model server at {self._access.display_url} redirects in a circle",
                hint="check OPENAI_BASE_URL: it usually ends in /v1",
            )
        return Unreachable(f"no connection to {self._access.host}: {self._clean(_cause(error))}")

    def _timed_out(self, error: openai.APITimeoutError) -> Exception:
        if "Connect" in type(error.__cause__).__name__:
            return Unreachable(
                f"no connection to {self._access.host} within {_CONNECT_SECONDS:g} s"
            )
        return ReplyBroken(self._silence())

    def _silence(self) -> str:
        return f"the server was silent for {self._access.stall_seconds:g} seconds"


class _ErrorAnswer(Exception):
    def __init__(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        super().__init__(status)
        self.status, self.headers, self.body = status, headers, body


def _origin(url: str) -> str:
    """Return scheme, host and port of a URL, which hold no credentials."""
    parts = urlsplit(url)
    port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    return f"{parts.scheme}://{parts.hostname}:{port}"


def _drop_body(response: Any) -> None:
    # The class of an empty body is taken from the HTTP library that the SDK uses.
    library = import_module(type(response).__module__.partition(".")[0])
    response.stream.close()
    response.headers.pop("content-encoding", None)
    response.stream = library.ByteStream(b"")


def _load_sdk() -> None:
    """Import the SDK; raise `ModelUnavailable` if it is missing or broken."""
    try:
        import_module("openai")
    except Exception as error:  # a broken installation can fail in any way
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise ModelUnavailable(
            f"the package `openai`, which asks the model, cannot be imported ({reason})",
            hint=f"install it again: `{sys.executable} -m pip install --force-reinstall openai`; "
            "a replay (--llm replay) works without it",
        ) from None


def _cause(error: Exception) -> str:
    return str(error.__cause__ or error) or type(error).__name__
