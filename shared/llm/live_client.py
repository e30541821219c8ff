"""Gets one completion for a request, whatever the server does; resumes broken streams.

A request is not made, and paid for, again as long as the server still has its response.

It combines the form of the request (`request_forms`), the connection (`transport`), the reading of
replies (`server_apis`, `messages_api`, `gemini_api`) and retries (`call_retry`).
"""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Self

from shared.errors import LlmchError, ModelUnavailable
from shared.events.events import Channel, Emit, ModelTextArrived, Noted, Warned, ignore
from shared.files.secret_values import redact
from shared.git.repos import Checkup, Health
from shared.llm import gemini_api, messages_api, relay_wires, server_apis, tool_calls
from shared.llm.budget import asked_text, likely_tokens
from shared.llm.call_retry import (
    Clock,
    OwnPace,
    Pace,
    RetryContext,
    RetryPolicy,
    SystemClock,
    with_retries,
)
from shared.llm.model_access import ModelAccess, check_access
from shared.llm.model_client import (
    Api,
    Completion,
    Provider,
    ReplyBroken,
    ReplyFailed,
    Request,
    ToolCall,
)
from shared.llm.reply_bodies import Document, NotJson, iter_documents, read_document
from shared.llm.request_forms import (
    Quirks,
    adjusted,
    has_no_endpoint,
    initial_quirks,
    native_quirks,
)
from shared.llm.server_replies import (
    Answer,
    Refusal,
    Unreachable,
    Watch,
    answer_usage,
    final_error,
    lost_text,
    well_formed,
)
from shared.llm.transport import Transport

_FIRST_INTERVAL = 1.0
_LONGEST_INTERVAL = 20.0
_INTERVAL_GROWTH = 1.5
_RESUMES = 5

# The server has no response of that id, or no way to fetch one.
_GONE = frozenset({404, 405})


def recover_response(
    transport: Transport,
    stream: server_apis.ResponseStream,
    patience: RetryContext,
    deadline: float,
    reason: str,
) -> Document:
    """Return the final document of the response whose stream broke because of `reason`.

    Raises `ReplyBroken` if the server does not have the response. Raises `ReplyFailed` if
    the response is not final by the `deadline`; the response is then cancelled. Raises
    `ModelUnavailable` if the server cannot be reached.
    """
    assert stream.response_id is not None
    try:
        _resume(transport, stream, patience, reason)
        return stream.final or _poll(transport, stream.response_id, patience, deadline)
    except Refusal as refused:
        if refused.status not in _GONE:
            raise
        raise ReplyBroken(f"{reason}; the server does not have the reply any more") from None


def _resume(
    transport: Transport, stream: server_apis.ResponseStream, patience: RetryContext, reason: str
) -> None:
    """Resume the stream while that brings something new; the stream may still not be final then."""
    assert stream.response_id is not None
    for attempt in range(1, _RESUMES + 1):
        reached = stream.last_sequence
        if reached is None:
            return
        patience.wait(f"{reason}; resuming", attempt, patience.policy.backoff(1))
        try:
            with transport.resume_response(stream.response_id, reached) as reply:
                stream.read(iter_documents(reply))
            return
        except Refusal as refused:
            if refused.status in _GONE:
                raise
            return
        except NotJson:
            return
        except (ReplyBroken, Unreachable) as fault:
            reason = fault.message
        if stream.last_sequence == reached:
            return


def _poll(
    transport: Transport, response_id: str, patience: RetryContext, deadline: float
) -> Document:
    interval = _FIRST_INTERVAL
    while True:
        document = with_retries(lambda: _retrieve(transport, response_id), patience, deadline)
        if not server_apis.is_pending(document):
            return document
        if patience.clock.now() + interval > deadline:
            cancel(transport, response_id)
            raise ReplyFailed("the reply was not complete by the deadline and was cancelled")
        patience.clock.sleep(interval)
        interval = min(_LONGEST_INTERVAL, interval * _INTERVAL_GROWTH)


def cancel(transport: Transport, response_id: str) -> None:
    """Ask the server to stop a response that nobody waits for, so that it costs no more.

    A failure to reach the server is ignored.
    """
    with suppress(Refusal, Unreachable, ReplyFailed), transport.cancel_response(response_id):
        pass


def _retrieve(transport: Transport, response_id: str) -> Document:
    """Return the response in its present state; raise `Unreachable` if the answer broke off.

    Polling is free, so a broken answer may be asked for again.
    """
    try:
        with transport.retrieve_response(response_id) as reply:
            return read_document(reply)
    except ReplyBroken as broken:
        raise Unreachable(broken.message) from None


_NATIVE = {Provider.ANTHROPIC: Api.MESSAGES, Provider.GEMINI: Api.GEMINI}

# In tokens; Ollama's was 2,048 for long.
_SMALLEST_CONTEXT = 2_000
_USAGE_ESTIMATED = "the server reports no usage; tokens are estimated"
_USAGE_NOT_BELIEVED = "the server reports a usage that cannot be true; tokens are estimated"


@dataclass(frozen=True, slots=True)
class _Learned:
    """Hold the form that a model accepts, and in words each change that led to that form."""

    quirks: Quirks
    words: tuple[str, ...] = ()


class LiveClient:
    """Ask one model server, and remember what its models refuse. Safe for threads.

    The client sends nothing and loads nothing before a call; close it after use. It emits arriving
    text, waits and changes of form to `emit`. Where `emit` is not `ignore`, chat replies are
    streamed. A server that has had too many calls for a model gets no other one before it wants it,
    also none of others who share `pace`.
    """

    def __init__(
        self,
        access: ModelAccess,
        emit: Emit = ignore,
        *,
        policy: RetryPolicy | None = None,
        clock: Clock | None = None,
        pace: Pace | None = None,
    ) -> None:
        self._access = access
        self._emit = emit
        self._watched = emit is not ignore
        clock = clock or SystemClock()
        pace = pace or OwnPace(clock.now)
        self._patience = RetryContext(policy or RetryPolicy(), clock, emit, pace=pace)
        self._transport = Transport(access, clock)
        self._lock = threading.Lock()
        self._learned: dict[tuple[str, Api, str], _Learned] = {}
        self._cut: set[str] = set()

    def complete(self, request: Request) -> Completion:
        try:
            answer, adjustments = self._in_accepted_form(request)
        except ReplyFailed as failed:
            failed.message = self._cleaned(failed.message)
            failed.lost = tuple(map(self._cleaned, failed.lost))
            raise
        except NotJson as fault:
            raise ModelUnavailable(
                f"the server at {self._access.display_url} answered with {fault.what}, "
                "not with a model's reply",
                hint=self._access.names.hint,
            ) from None
        self._warn_where_cut(request, answer)
        usage = answer_usage(answer, request)
        if usage.estimated_calls:
            words = _USAGE_ESTIMATED if answer.usage is None else _USAGE_NOT_BELIEVED
            adjustments = (*adjustments, words)
        calls = answer.calls or tool_calls.calls_in_text(answer.text, request.tools)
        return Completion(
            text="" if answer.document else self._cleaned(answer.text),
            model=well_formed(answer.model),
            usage=usage,
            reasoning=self._cleaned(answer.reasoning),
            adjustments=adjustments,
            document=answer.document,
            calls=tuple(map(self._cleaned_call, calls)),
            sealed=self._cleaned(answer.sealed),
        )

    def _warn_where_cut(self, request: Request, answer: Answer) -> None:
        """Warn once of a model whose server counts far fewer tokens than the prompt has.

        Some servers drop what exceeds the context that they were started with, and say nothing.
        """
        if request.relayed:  # pictures and sealed reasoning have more letters than tokens
            return
        counted = answer.usage.input_tokens if answer.usage else 0
        asked = likely_tokens(len(asked_text(request).encode("utf-8", "replace")))
        if not _SMALLEST_CONTEXT <= counted < asked / 2:
            return
        with self._lock:
            if request.model in self._cut:
                return
            self._cut.add(request.model)
        self._emit(
            Warned(
                f"{request.model}: the server counts {counted:,} tokens of a prompt that has about "
                f"{asked:,}, so it may have read a part alone; start it with a longer context "
                "(Ollama: OLLAMA_CONTEXT_LENGTH)"
            )
        )

    def _cleaned(self, text: str) -> str:
        # A stream may have cut a secret into two pieces, in which it was not found.
        return redact(well_formed(text), self._access.secrets)

    def _cleaned_call(self, call: ToolCall) -> ToolCall:
        return ToolCall(*map(self._cleaned, (call.id, call.name, call.arguments)))

    def close(self) -> None:
        self._transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *ended: object) -> None:
        self.close()

    def _in_accepted_form(self, request: Request) -> tuple[Answer, tuple[str, ...]]:
        """Ask, and after each refusal that names a part of the request ask in another form.

        Returns the answer with the words for each change of form.
        """
        deadline = self._patience.clock.now() + self._access.deadline_seconds
        tried: set[Quirks] = set()
        room: int | None = None
        own: tuple[str, ...] = ()
        while True:
            learned = self._learned_of(request)
            quirks = replace(learned.quirks, room=room)
            tried.add(quirks)
            try:
                return self._ask(request, quirks, deadline), (*learned.words, *own)
            except Refusal as refused:
                change = adjusted(quirks, request, refused)
                is_other = (
                    change is not None and request.relayed and change.quirks.api != quirks.api
                )
                if change is None or change.quirks in tried or is_other:
                    raise self._final_error(refused, request) from None
                if change.quirks.room == room:
                    self._learn(request, replace(change.quirks, room=None), change.words)
                else:
                    room, own = change.quirks.room, (change.words,)
                    self._emit(Noted(f"{request.model}: {change.words}"))

    def _final_error(self, refused: Refusal, request: Request) -> LlmchError | ReplyFailed:
        """Return the error for a refusal; what is refused of a relayed call may be the agent's."""
        if request.relayed and has_no_endpoint(refused):
            return _speaks_not(request.relayed.route, self._access)
        if request.relayed and refused.status in (400, 413, 422):
            return ReplyFailed(f"the model server refused the agent's call: {refused.message}")
        return final_error(refused, request.model, self._access.names)

    def _relay(self, request: Request, quirks: Quirks) -> Answer:
        assert request.relayed is not None
        wire = relay_wires.wire_of(request.relayed.route)
        if wire not in _spoken(self._access):
            raise _speaks_not(request.relayed.route, self._access)
        path, body = relay_wires.sent_path(request), relay_wires.sent_body(request, quirks)
        if wire is relay_wires.CHAT and self._access.provider is not Provider.OPENAI:
            path = self._access.vendor.chat_path
        with self._transport.relay(path, body, wire.headers) as reply:
            return relay_wires.read_relayed(reply, request, self._cleaned)

    def _ask(self, request: Request, quirks: Quirks, deadline: float) -> Answer:
        try:
            match quirks.api:
                case _ if request.relayed:
                    ask = partial(self._relay, request, quirks)
                case Api.CHAT:
                    ask = partial(self._ask_chat, request, quirks)
                case Api.RESPONSES:
                    ask = partial(self._ask_responses, request, quirks, deadline)
                case Api.MESSAGES | Api.GEMINI:
                    ask = partial(self._ask_native, request, quirks)
            return with_retries(ask, self._patience_for(request), deadline)
        except ReplyFailed as failed:
            if not failed.usage.input_tokens:  # the server has the prompt, and may bill it
                failed.usage = answer_usage(Answer("", "", request.model, None), request)
            raise

    def _ask_chat(self, request: Request, quirks: Quirks) -> Answer:
        body = server_apis.chat_body(request, quirks)
        with self._transport.create_chat(body) as reply:
            return server_apis.read_chat(iter_documents(reply), request, self._watcher(request))

    def _ask_native(self, request: Request, quirks: Quirks) -> Answer:
        watch = self._watcher(request)
        if quirks.api is Api.MESSAGES:
            body = messages_api.message_body(request, quirks)
            with self._transport.create_native(messages_api.PATH, body) as reply:
                return messages_api.read_message(iter_documents(reply), request, quirks, watch)
        path = gemini_api.generate_path(request, quirks)
        body = gemini_api.generate_body(request, quirks)
        with self._transport.create_native(path, body) as reply:
            return gemini_api.read_generated(iter_documents(reply), request, watch)

    def _ask_responses(self, request: Request, quirks: Quirks, deadline: float) -> Answer:
        stream = server_apis.ResponseStream(self._watcher(request))
        try:
            final = self._final_response(request, quirks, stream, deadline)
        except ReplyFailed as failed:
            failed.lost = failed.lost or lost_text("", stream.text)
            raise
        except KeyboardInterrupt:
            # A response in the background would go on, and cost money, with nobody waiting for it.
            if quirks.background and stream.response_id is not None:
                cancel(self._transport, stream.response_id)
            raise
        # A stream holds the whole text only if it was read to its end.
        return server_apis.read_response(final, request, stream.text if stream.final else "")

    def _final_response(
        self, request: Request, quirks: Quirks, stream: server_apis.ResponseStream, deadline: float
    ) -> Document:
        body = server_apis.response_body(request, quirks)
        try:
            with self._transport.create_response(body) as reply:
                stream.read(iter_documents(reply))
        except ReplyBroken as broken:
            if stream.response_id is None or not quirks.background:
                partial = Answer(stream.text, "", request.model, None)
                broken.usage = answer_usage(partial, request)
                raise
            patience = self._patience_for(request)
            # Without a stream nothing broke: the server is still making the reply.
            reason = broken.message if quirks.stream else "the reply is made in the background"
            return recover_response(self._transport, stream, patience, deadline, reason)
        assert stream.final is not None
        return stream.final

    def _patience_for(self, request: Request) -> RetryContext:
        return self._patience.of(request.place.order, request.model)

    def _watcher(self, request: Request) -> Watch:
        order = request.place.order

        def watch(channel: Channel, piece: str) -> None:
            self._emit(ModelTextArrived(channel, well_formed(piece), order))

        return watch

    def _learned_of(self, request: Request) -> _Learned:
        with self._lock:
            known = self._learned.get(_form(request))
        if known:
            return known
        if api := _NATIVE.get(self._access.provider):
            return _Learned(native_quirks(api, request.model))
        return _Learned(
            initial_quirks(request.api, is_openai=self._access.is_openai, watched=self._watched)
        )

    def _learn(self, request: Request, quirks: Quirks, words: str) -> None:
        key = _form(request)
        with self._lock:
            known = self._learned.get(key)
            if known is not None and known.quirks == quirks:
                return  # another thread met the same refusal
            before = known.words if known is not None else ()
            self._learned[key] = _Learned(quirks, (*before, words))
        self._emit(Noted(f"{request.model}: {words}"))


def _spoken(access: ModelAccess) -> tuple[relay_wires.Wire, ...]:
    """Return the wires that a server may speak, as far as its provider tells."""
    match access.provider:
        case Provider.ANTHROPIC:
            return (relay_wires.MESSAGES, relay_wires.CHAT)
        case Provider.GEMINI:
            return (relay_wires.GEMINI, relay_wires.CHAT)
        case _ if access.is_openai:
            return (relay_wires.CHAT, relay_wires.RESPONSES)
        case _:
            return (
                relay_wires.CHAT,
                relay_wires.RESPONSES,
                relay_wires.MESSAGES,
                relay_wires.GEMINI,
            )


def _form(request: Request) -> tuple[str, Api, str]:
    return request.model, request.api, request.relayed.route if request.relayed else ""


def _speaks_not(route: str, access: ModelAccess) -> ModelUnavailable:
    return ModelUnavailable(
        f"the model server at {access.display_url} does not speak "
        f"{relay_wires.wire_of(route).name}, as the agent does",
        hint="choose an agent that speaks what the server does, or another server",
    )


def list_models(access: ModelAccess) -> frozenset[str]:
    """Return the names of the models that the server lists; none if its list is not readable.

    Raises `ModelUnavailable` if the server cannot be reached, refuses the request or does not
    answer with JSON.
    """
    transport = Transport(access, SystemClock())
    try:
        with transport.models() as reply:
            document = read_document(reply)
    except Refusal as refused:
        error = final_error(refused, "", access.names)
        raise error if isinstance(error, ModelUnavailable) else _no_answer(access) from None
    except (Unreachable, ReplyFailed, NotJson) as fault:
        raise _no_answer(access, str(fault)) from None
    finally:
        transport.close()
    listed = document.get("data", document.get("models"))
    entries = listed if isinstance(listed, list) else ()
    names = (each.get("id", each.get("name")) for each in entries if isinstance(each, dict))
    return frozenset(name.removeprefix("models/") for name in names if isinstance(name, str))


def _no_answer(access: ModelAccess, why: str = "") -> ModelUnavailable:
    return ModelUnavailable(
        f"no usable answer from {access.display_url}{f': {why}' if why else ''}",
        hint=f"check {access.vendor.address} and that the server runs",
    )


_MAX_NAMES = 8


def check_model(
    name: str,
    model: str,
    base_url: str | None,
    provider: Provider = Provider.AUTO,
    key_variable: str | None = None,
    *,
    online: bool,
) -> Checkup:
    """Return whether there is access to `model`; with `online`, also whether its server answers.

    `name` is the role that the model has, such as `planner`.
    """
    try:
        access = check_access(os.environ, base_url, model, provider, key_variable)
    except LlmchError as error:
        return Checkup(name, Health.BROKEN, error.message, error.hint)
    where = f"{model} at {access.display_url}"
    if access.provider is not Provider.OPENAI or access.key_name != "OPENAI_API_KEY":
        where += f" ({access.provider}, as {access.why}; key from {access.key_name})"
    if not online:
        return Checkup(name, Health.WELL, f"{where} (not asked; --online asks it)")
    return _ask(name, model, access, where)


def _ask(name: str, model: str, access: ModelAccess, where: str) -> Checkup:

    try:
        names = list_models(access)
    except LlmchError as error:
        return Checkup(name, Health.BROKEN, f"{where}: {error.message}", error.hint)
    if model.removeprefix("models/") in names:
        return Checkup(name, Health.WELL, f"{where} answers")
    listed = ", ".join(sorted(names)[:_MAX_NAMES])
    remedy = f"the server lists {listed}" if names else "the server lists no models at all"
    return Checkup(name, Health.LIMITED, f"{where} answers, but does not list this model", remedy)
