"""Recovers a response whose stream broke: resumes the stream, or polls for the response.

A request is not made, and paid for, again as long as the server still has its response.
"""

from __future__ import annotations

from contextlib import suppress

from shared.llm.client import ReplyBroken, ReplyFailed
from shared.llm.wire.refusals import Refused, Unreachable
from shared.llm.wire.responses import ResponseStream, is_pending
from shared.llm.wire.retry import RetryContext, with_retries
from shared.llm.wire.sse import Document, NotJson, iter_documents, read_document
from shared.llm.wire.transport import Transport

_FIRST_INTERVAL = 1.0
_LONGEST_INTERVAL = 20.0
_INTERVAL_GROWTH = 1.5
_RESUMES = 5

# The server has no response of that id, or no way to fetch one.
_GONE = frozenset({404, 405})


def recover_response(
    transport: Transport,
    stream: ResponseStream,
    patience: RetryContext,
    deadline: float,
    reason: str,
) -> Document:
    """Return the final document of the response whose stream broke because of `reason`.

    Raises `ReplyBroken` where the server does not have the response. Raises `ReplyFailed` where
    the response is not final by the `deadline`; the response is then cancelled. Raises
    `ModelUnavailable` where the server cannot be reached.
    """
    assert stream.response_id is not None
    try:
        _resume(transport, stream, patience, reason)
        return stream.final or _poll(transport, stream.response_id, patience, deadline)
    except Refused as refused:
        if refused.status not in _GONE:
            raise
        raise ReplyBroken(f"{reason}; the server does not have the reply any more") from None


def _resume(
    transport: Transport, stream: ResponseStream, patience: RetryContext, reason: str
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
        except Refused as refused:
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
        if not is_pending(document):
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
    with suppress(Refused, Unreachable, ReplyFailed), transport.cancel_response(response_id):
        pass


def _retrieve(transport: Transport, response_id: str) -> Document:
    """Return the response in its present state; raise `Unreachable` where the answer broke off.

    Polling is free, so a broken answer may be asked for again.
    """
    try:
        with transport.retrieve_response(response_id) as reply:
            return read_document(reply)
    except ReplyBroken as broken:
        raise Unreachable(broken.message) from None
