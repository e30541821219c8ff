"""Makes the HTTP calls. It alone imports the OpenAI SDK, and only when a call is made.

The SDK authenticates, addresses and sends. Its retries are off and its reading of bodies is
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
    """Hold an answer with a good status: its media type, and the chunks of its body."""

    media_type: str
    chunks: Iterator[bytes]


class Transport:
    """Make the calls of this program to a model server. Safe for threads.

    Each call is a context manager that yields an `HttpReply` and closes it. Entering it raises
    `Unreachable` where no answer comes, `Refused` for an error status, `ReplyBroken` where the
    server stays silent, and `ModelUnavailable` where the SDK cannot be imported. Reading the body
    raises `ReplyBroken` where it breaks off, and `ReplyFailed` past the deadline.
    """

    def __init__(self, access: ModelAccess, clock: Clock) -> None:
        self._access = access
        self._clock = clock
        self._lock = threading.Lock()
        self._opened: openai.OpenAI | None = None

    def create_chat(self, body: Mapping[str, Any]) -> AbstractContextManager[HttpReply]:
        """Call POST /chat/completions."""
        return self._sent(lambda sdk: sdk.chat.completions.with_streaming_response.create(**body))

    def create_response(self, body: Mapping[str, Any]) -> AbstractContextManager[HttpReply]:
        """Call POST /responses."""
        return self._sent(lambda sdk: sdk.responses.with_streaming_response.create(**body))

    def retrieve_response(self, response_id: str) -> AbstractContextManager[HttpReply]:
        """Call GET /responses/{id}."""
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
        # A proxy from the environment cannot reach this machine's own loopback.
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
        except Exception as error:  # which HTTP library the SDK uses, and its errors, may change
            if "Timeout" in type(error).__name__:
                raise ReplyBroken(self._silence()) from None
            raise ReplyBroken(f"the connection broke in the middle of the reply: {error}") from None

    def _refused(self, error: openai.APIStatusError) -> Refused:
        headers = {name.lower(): value for name, value in error.response.headers.items()}
        body = parse_error_body(error.body)
        # Servers quote the key that they refuse, and their words are recorded.
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
    except Exception as error:  # a broken installation can fail in any way
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise ModelUnavailable(
            f"the package `openai`, which asks the model, cannot be imported ({reason})",
            hint=f"install it again: `{sys.executable} -m pip install --force-reinstall openai`; "
            "a replay (--llm replay) works without it",
        ) from None


def _cause(error: Exception) -> str:
    return str(error.__cause__ or error) or type(error).__name__
