"""Represents how a server can refuse or fail to answer, and what that means for the run. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from shared.errors import LlmchError, ModelUnavailable
from shared.llm.client import ReplyFailed
from shared.llm.wire.well_formed import well_formed

_LONGEST_QUOTE = 500
_MAY_PASS = frozenset({408, 409, 425, 429})
_NO_MONEY = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"})
_TOO_LONG = frozenset({"context_length_exceeded", "string_above_max_length"})
_FILTERED = frozenset({"content_filter", "content_policy_violation", "invalid_prompt"})


class Unreachable(Exception):
    """Raised when no answer came: nothing listens, or the connection broke before the answer."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


@dataclass(frozen=True, slots=True)
class ErrorBody:
    """Hold what an error answer says about itself. A field is empty where the answer lacks it."""

    text: str
    code: str = ""
    param: str = ""


class Refused(Exception):
    """Raised when a server answered with an error status.

    `retry_after` is the wait in seconds that the server asks for, `None` where it names none.
    """

    def __init__(self, status: int, body: ErrorBody, retry_after: float | None = None) -> None:
        self.status = status
        self.body = body
        self.retry_after = retry_after
        self.message = f"HTTP {status}" + (f": {body.text}" if body.text else "")
        super().__init__(self.message)

    @property
    def may_pass(self) -> bool:
        """Return whether the same request may succeed later; an empty account stays empty."""
        transient = self.status in _MAY_PASS or self.status >= 500
        return transient and self.body.code not in _NO_MONEY


def parse_error_body(body: object) -> ErrorBody:
    """Return what `body` says, which is parsed JSON or text. Servers wrap errors in many ways."""
    match body:
        case {"error": inner}:
            return parse_error_body(inner)
        case {"detail": inner}:
            return ErrorBody(_quote(inner))
        case {"message": message, **rest}:
            return ErrorBody(_quote(message), _word(rest, "code", "type"), _word(rest, "param"))
        case _:
            return ErrorBody("" if body is None else _quote(body))


def final_error(refused: Refused, model: str, server: str) -> LlmchError | ReplyFailed:
    """Return the error for a refusal that neither waiting nor another form of request resolves."""
    body = refused.body
    said = f" ({body.text})" if body.text else ""
    if body.code in _FILTERED:
        return ReplyFailed(f"the server refused the prompt by its content policy{said}")
    if body.code in _NO_MONEY or refused.status == 402:
        return ModelUnavailable(
            f"the account at {server} has no quota left{said}",
            hint="check the plan and billing of the account, or use another key or server",
        )
    if refused.status in (401, 403):
        return ModelUnavailable(
            f"the model server at {server} refused the key{said}",
            hint="check OPENAI_API_KEY, and that the key may use this model",
        )
    if body.code in _TOO_LONG or refused.status == 413 or "context length" in body.text.lower():
        return ModelUnavailable(
            f"the prompt does not fit the context of {model}{said}",
            hint="use a model with a longer context, or a smaller spec or fewer context files",
        )
    if refused.status == 404:
        return ModelUnavailable(
            f"the model server at {server} does not know {model} or this endpoint{said}",
            hint="check the model's name and OPENAI_BASE_URL (it usually ends in /v1)",
        )
    return ModelUnavailable(
        f"the model server at {server} refused the request: {refused.message}",
        hint="check the model's name and the settings of the call",
    )


def _quote(value: Any) -> str:
    text = well_formed(" ".join(str(value).split()))
    return text if len(text) <= _LONGEST_QUOTE else f"{text[: _LONGEST_QUOTE - 3]}..."


def _word(document: Mapping[Any, Any], *names: str) -> str:
    values = (document.get(name) for name in names)
    return next((str(value) for value in values if value), "")
