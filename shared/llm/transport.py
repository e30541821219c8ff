"""Makes the HTTP calls; the only code that knows the SDK and the HTTP library below it.

The SDK authenticates, addresses and sends on OpenAI's wires. Its retries are off and its reading of
bodies is bypassed, because both hide what a caller must know (a stream that just ends, an HTML
page). Other wires need no SDK: their calls go through the same HTTP client, with the same bounds.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit

from shared.errors import ModelUnavailable
from shared.files.secret_values import redact
from shared.llm.call_retry import Clock, parse_retry_after
from shared.llm.model_access import ModelAccess, native_url, relayed_url
from shared.llm.model_client import Provider, ReplyBroken, ReplyFailed
from shared.llm.reply_bodies import HttpReply
from shared.llm.server_replies import Refusal, Unreachable, compact_json, parse_error_body

if TYPE_CHECKING:
    import ssl

    import httpx2
    import openai
    from openai import APIResponse


_CONNECT_SECONDS = 20.0
_BRIEF_SECONDS = 5.0
_MOST_REDIRECTS = 5
_ALL_MODELS = {Provider.ANTHROPIC: "limit=1000", Provider.GEMINI: "pageSize=1000"}

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
        self._http: httpx2.Client | None = None
        self._opened: openai.OpenAI | None = None

    def create_chat(self, body: Mapping[str, Any]) -> AbstractContextManager[HttpReply]:
        return self._asked(lambda sdk: sdk.chat.completions.with_streaming_response.create(**body))

    def create_response(self, body: Mapping[str, Any]) -> AbstractContextManager[HttpReply]:
        return self._asked(lambda sdk: sdk.responses.with_streaming_response.create(**body))

    def create_native(
        self, path: str, body: Mapping[str, Any]
    ) -> AbstractContextManager[HttpReply]:
        """Call POST `path` of the provider's own wire."""
        content = compact_json(body).encode()
        return self._sent(
            self._posted(native_url(self._access, path), content, self._access.headers)
        )

    def relay(
        self, path: str, body: bytes, headers: Mapping[str, str]
    ) -> AbstractContextManager[HttpReply]:
        """Call POST `path` below the server's address; a header without a value gets the key.

        `body` is JSON.
        """
        access = self._access
        url = relayed_url(access, path)
        if access.provider is not Provider.OPENAI:
            # Beside its own wire, each of them speaks Chat Completions, whose key is a token.
            own = {**access.headers, **{name: each for name, each in headers.items() if each}}
            return self._sent(self._posted(url, body, own if headers else access.bearer))
        sent = {name: value or self._access.api_key for name, value in headers.items()}

        @contextmanager
        def posted(sdk: openai.OpenAI) -> Iterator[APIResponse[Any]]:
            # The header is how the SDK's own methods ask for a body that has not been read.
            json_type = {"Content-Type": "application/json"}
            options: Any = {"headers": {**sent, **json_type, "X-Stainless-Raw-Response": "stream"}}
            answer: Any = sdk.post(url, cast_to=object, content=body, options=options)
            with closing(answer):
                yield answer

        return self._asked(posted)

    def retrieve_response(self, response_id: str) -> AbstractContextManager[HttpReply]:
        return self._asked(lambda sdk: sdk.responses.with_streaming_response.retrieve(response_id))

    def resume_response(
        self, response_id: str, starting_after: int
    ) -> AbstractContextManager[HttpReply]:
        """Call GET /responses/{id} for a stream of the events after number `starting_after`."""
        return self._asked(
            lambda sdk: sdk.responses.with_streaming_response.retrieve(
                response_id, stream=True, starting_after=starting_after
            )
        )

    def cancel_response(self, response_id: str) -> AbstractContextManager[HttpReply]:
        """Call POST /responses/{id}/cancel, with a timeout of 5 seconds."""
        return self._asked(
            lambda sdk: sdk.responses.with_streaming_response.cancel(
                response_id, timeout=_BRIEF_SECONDS
            )
        )

    def models(self) -> AbstractContextManager[HttpReply]:
        """Call GET /models, with a timeout of 5 seconds."""
        if self._access.provider is not Provider.OPENAI:
            url = native_url(self._access, "/models") + f"?{_ALL_MODELS[self._access.provider]}"
            return self._sent(self._posted(url, None, self._access.headers))
        return self._asked(
            lambda sdk: sdk.models.with_streaming_response.list(timeout=_BRIEF_SECONDS)
        )

    def close(self) -> None:
        with self._lock:
            if self._http is not None:
                self._http.close()
            self._http = self._opened = None

    def _sdk(self) -> openai.OpenAI:
        http = self._client()
        with self._lock:
            if self._opened is None:
                import openai

                access = self._access
                self._opened = openai.OpenAI(
                    base_url=access.plain_url,
                    api_key=access.api_key,
                    max_retries=0,
                    timeout=http.timeout,
                    http_client=http,
                    default_query=access.query,
                    # Azure takes its keys in this header alone.
                    default_headers={"api-key": access.api_key} if _is_azure(access) else None,
                )
            return self._opened

    def _client(self) -> httpx2.Client:
        with self._lock:
            if self._http is None:
                _load("httpx2")
                import httpx2

                self._http = httpx2.Client(
                    # A proxy from the environment cannot reach this machine's own loopback.
                    trust_env=not self._access.is_local,
                    verify=self._trusted(),
                    timeout=httpx2.Timeout(self._access.stall_seconds, connect=_CONNECT_SECONDS),
                    limits=httpx2.Limits(max_connections=1000, max_keepalive_connections=100),
                    follow_redirects=True,
                    max_redirects=_MOST_REDIRECTS,
                    # They see each request before it is sent, each answer before its body is read.
                    event_hooks={
                        "request": [self._check_origin, self._check_method],
                        "response": [self._check_answer],
                    },
                )
            return self._http

    def _trusted(self) -> ssl.SSLContext | bool:
        """Return whose certificates are believed: nobody's where no connection has one.

        To read those of the machine takes longer than to open such a connection.
        """
        if self._access.is_local and self._access.url.startswith("http://"):
            import ssl

            return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        return True

    def _asked(
        self, send: Callable[[openai.OpenAI], AbstractContextManager[APIResponse[Any]]]
    ) -> AbstractContextManager[HttpReply]:
        _load("openai")
        return self._sent(send(self._sdk()))

    @contextmanager
    def _posted(
        self, url: str, body: bytes | None, headers: Mapping[str, str]
    ) -> Iterator[httpx2.Response]:
        """Send a body without the SDK; without a body, get a short document."""
        http = self._client()
        timeout, query = http.timeout if body is not None else _BRIEF_SECONDS, self._access.query
        sent = {"content-type": "application/json", "user-agent": "llmch", **headers}
        answer = http.send(
            http.build_request(
                "GET" if body is None else "POST",
                f"{url}{'&' if '?' in url else '?'}{urlencode(query)}" if query else url,
                content=body,
                headers=sent,
                timeout=timeout,
            ),
            stream=True,
        )
        with closing(answer):
            yield answer

    @contextmanager
    def _sent(self, call: AbstractContextManager[Any]) -> Iterator[HttpReply]:
        try:
            response = call.__enter__()
        except _ErrorAnswer as answer:
            raise self._refused(answer) from None
        except Exception as error:
            raise self._not_sent(error) from None
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
        if (wanted := _origin(self._access.url)) != (target := _origin(str(request.url))):
            raise ModelUnavailable(
                f"the model server at {wanted} redirects to {target}: "
                "a prompt is sent to no other server than the one that you chose",
                hint=f"if that server is meant, point {self._access.vendor.address} at it",
            )

    def _check_method(self, request: Any) -> None:
        """Refuse to follow a redirect that would drop the body, as all but 307 and 308 do.

        A redirected request has the extensions of the first one.
        """
        if request.extensions.setdefault("llmch_method", request.method) != request.method:
            path = self._clean(request.url.path)[:100]
            raise ModelUnavailable(
                f"the model server at {self._access.display_url} redirects to {path} with a status "
                "(301, 302 or 303) that would drop the prompt",
                hint=f"point {self._access.vendor.address} at the address that it redirects to",
            )

    def _check_answer(self, response: Any) -> None:
        """Drop the body of a redirect, and raise the start of an error's body as `_ErrorAnswer`.

        The SDK and its HTTP library read both whole.
        """
        if response.has_redirect_location:
            _drop_body(response)
        elif response.status_code >= 300:
            body, is_whole = self._start_of(response)
            raise _ErrorAnswer(response.status_code, response.headers, body, is_whole)

    def _start_of(self, response: Any) -> tuple[bytes, bool]:
        """Return the start of a body, and whether that is all of it."""
        start, is_whole = bytearray(), False
        deadline = self._clock.now() + _ERROR_BODY_SECONDS
        with suppress(Exception):  # what came before the body broke off is all there is
            for chunk in response.iter_bytes():
                start += chunk
                if len(start) >= _LONGEST_ERROR_BYTES or self._clock.now() > deadline:
                    break
            else:
                is_whole = True
        return bytes(start[:_LONGEST_ERROR_BYTES]), is_whole

    def _refused(self, answer: _ErrorAnswer) -> Refusal:
        headers = {name.lower(): value for name, value in answer.headers.items()}
        text = answer.body.decode("utf-8", "replace")
        try:
            body = parse_error_body(json.loads(text), self._clean)
        except (ValueError, RecursionError):
            # The last word of a text that was cut may be half a secret, which nobody recognises.
            said = text if answer.is_whole else " ".join(text.split()[:-1])
            body = parse_error_body(said, self._clean)
        return Refusal(answer.status, body, parse_retry_after(headers, self._clock.wall()))

    def _clean(self, text: str) -> str:
        return redact(text, self._access.secrets)

    def _not_sent(self, error: Exception) -> Exception:
        """Return the error for a call that got no answer; the SDK wraps the HTTP library's own."""
        cause = error if _library(error) == "httpx2" else error.__cause__ or error
        if not {_library(error), _library(cause)} & {"httpx2", "openai"}:
            return error
        name = type(cause).__name__
        if name == "TooManyRedirects":
            return ModelUnavailable(
                f"the model server at {self._access.display_url} redirects in a circle",
                hint=self._access.names.hint,
            )
        if name == "ConnectTimeout":
            return Unreachable(
                f"no connection to {self._access.host} within {_CONNECT_SECONDS:g} s"
            )
        if "Timeout" in name:
            return ReplyBroken(self._silence())
        said = self._clean(str(cause) or name)
        return Unreachable(f"no connection to {self._access.host}: {said}")

    def _silence(self) -> str:
        return f"the server was silent for {self._access.stall_seconds:g} seconds"


class _ErrorAnswer(Exception):
    def __init__(
        self, status: int, headers: Mapping[str, str], body: bytes, is_whole: bool
    ) -> None:
        super().__init__(status)
        self.status, self.headers, self.body, self.is_whole = status, headers, body, is_whole


def _library(error: BaseException) -> str:
    return type(error).__module__.partition(".")[0]


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


def _is_azure(access: ModelAccess) -> bool:
    return access.host.endswith((".azure.com", ".azure.us", ".azure.cn"))


def _load(package: str) -> None:
    """Import a package; raise `ModelUnavailable` if it is missing or broken."""
    try:
        import_module(package)
    except Exception as error:  # a broken installation can fail in any way
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise ModelUnavailable(
            f"the package `{package}`, which asks the model, cannot be imported ({reason})",
            hint=f"install it again: `{sys.executable} -m pip install --force-reinstall {package}`;"
            " a replay (--llm replay) works without it",
        ) from None
