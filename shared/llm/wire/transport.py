"""The HTTP edge: the only module that imports the OpenAI SDK, and only when a call is made.

The SDK authenticates, addresses and sends; its retries are off and its reading of bodies is
bypassed, because both hide what a caller must know (a stream that just ends, an HTML page).
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

from shared.errors import ModelUnavailable
from shared.llm.client import ReplyBroken, ReplyFailed
from shared.llm.wire.access import OPENAI_HOST, ModelAccess
from shared.llm.wire.refusals import Refused, Unreachable, parse_error_body
from shared.llm.wire.retry import Clock, parse_retry_after
from shared.secrets.redaction import redact, secret_values

if TYPE_CHECKING:
    import openai
    from openai import APIResponse

_CONNECT_SECONDS = 20.0
_BRIEF_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class HttpReply:
    """An answer with a good status: its media type, and its body as it arrives."""

    media_type: str
    chunks: Iterator[bytes]


class Transport:
    """The calls that this program makes to a model server.

    Each is a context manager that yields an `HttpReply` and closes it. Raises `Unreachable`,
    `Refused`, or `ModelUnavailable` where the SDK cannot be imported, on entering, `ReplyBroken`
    while the body is read. Safe for threads.
    """

    def __init__(self, access: ModelAccess, clock: Clock) -> None:
        self._access = access
        self._clock = clock
        self._lock = threading.Lock()
        self._opened: openai.OpenAI | None = None

    def create_chat(self, body: Mapping[str, Any]) -> AbstractContextManager[HttpReply]:
        """POST /chat/completions."""
        return self._sent(lambda sdk: sdk.chat.completions.with_streaming_response.create(**body))

    def create_response(self, body: Mapping[str, Any]) -> AbstractContextManager[HttpReply]:
        """POST /responses."""
        return self._sent(lambda sdk: sdk.responses.with_streaming_response.create(**body))

    def retrieve_response(self, response_id: str) -> AbstractContextManager[HttpReply]:
        """GET /responses/{id}."""
        return self._sent(lambda sdk: sdk.responses.with_streaming_response.retrieve(response_id))

    def resume_response(
        self, response_id: str, starting_after: int
    ) -> AbstractContextManager[HttpReply]:
        """GET /responses/{id} as a stream of the events after number `starting_after`."""
        return self._sent(
            lambda sdk: sdk.responses.with_streaming_response.retrieve(
                response_id, stream=True, starting_after=starting_after
            )
        )

    def cancel_response(self, response_id: str) -> AbstractContextManager[HttpReply]:
        """POST /responses/{id}/cancel, without much patience."""
        return self._sent(
            lambda sdk: sdk.responses.with_streaming_response.cancel(
                response_id, timeout=_BRIEF_SECONDS
            )
        )

    def models(self) -> AbstractContextManager[HttpReply]:
        """GET /models, without much patience."""
        return self._sent(
            lambda sdk: sdk.models.with_streaming_response.list(timeout=_BRIEF_SECONDS)
        )

    def close(self) -> None:
        """Close all connections."""
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
        # A proxy from the environment knows no way to this machine's own loopback.
        http = openai.DefaultHttpxClient(
            trust_env=not self._access.is_local, timeout=timeout, follow_redirects=True
        )
        return openai.OpenAI(
            base_url=self._access.base_url or f"https://{OPENAI_HOST}/v1",
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
        except openai.APIStatusError as error:
            raise self._refused(error) from None
        except openai.APITimeoutError as error:
            raise self._timed_out(error) from None
        except openai.APIConnectionError as error:
            raise Unreachable(f"no connection to {self._access.host}: {_cause(error)}") from None
        try:
            media_type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
            yield HttpReply(media_type, self._chunks(response))
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
        except Exception as error:  # the SDK's HTTP library is its own affair; so are its errors
            if "Timeout" in type(error).__name__:
                raise ReplyBroken(self._silence()) from None
            raise ReplyBroken(f"the connection broke in the middle of the reply: {error}") from None

    def _refused(self, error: openai.APIStatusError) -> Refused:
        headers = {name.lower(): value for name, value in error.response.headers.items()}
        body = parse_error_body(error.body)
        # Servers quote the key that they refuse, and what they say goes on record.
        secrets = secret_values({"OPENAI_API_KEY": self._access.api_key})
        return Refused(
            error.status_code,
            replace(body, text=redact(body.text, secrets)),
            parse_retry_after(headers, self._clock.wall()),
        )

    def _timed_out(self, error: openai.APITimeoutError) -> Exception:
        if "Connect" in type(error.__cause__).__name__:
            return Unreachable(
                f"no connection to {self._access.host} within {_CONNECT_SECONDS:g} s"
            )
        return ReplyBroken(self._silence())

    def _silence(self) -> str:
        return f"the server was silent for {self._access.stall_seconds:g} seconds"


def _load_sdk() -> None:
    """Import the SDK; raise `ModelUnavailable` where it is missing or broken."""
    try:
        import_module("openai")
    except Exception as error:  # a broken installation fails in whatever way it likes
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise ModelUnavailable(
            f"the package `openai`, which asks the model, cannot be imported ({reason})",
            hint=f"install it again: `{sys.executable} -m pip install --force-reinstall openai`; "
            "a replay (--llm replay) works without it",
        ) from None


def _cause(error: Exception) -> str:
    return str(error.__cause__ or error) or type(error).__name__
