"""Answers and refusals of servers, in whichever of their forms they come."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic_core import to_json

from shared.errors import LlmchError, ModelUnavailable
from shared.events.events import Channel
from shared.llm.budget import asked_text, estimate_tokens, least_tokens
from shared.llm.model_client import (
    ReplyBroken,
    ReplyCutShort,
    ReplyFailed,
    Request,
    ToolCall,
    Usage,
)
from shared.llm.reply_bodies import page_in_words


def well_formed(text: str) -> str:
    """Return `text` with pairs of surrogates joined and lone ones replaced by U+FFFD.

    A server that cuts its reply into pieces may cut a character in two; joined, the halves are one
    again. Text without surrogates costs one encoding.
    """
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def compact_json(document: Mapping[str, Any]) -> str:
    """Return a JSON document without blanks, `well_formed`."""
    try:
        return to_json(document).decode()  # six times as fast
    except ValueError:  # a lone surrogate, or nested deep
        return well_formed(json.dumps(document, ensure_ascii=False, separators=(",", ":")))


_LONGEST_QUOTE = 500
_PAGE = "html_page"
_MAY_PASS = frozenset({408, 409, 425, 429})
_NOT_IMPLEMENTED = 501
_NO_MONEY = frozenset(
    {
        *("insufficient_quota", "billing_hard_limit_reached", "billing_not_active"),
        *("billing_error", "enforced_spend_limit_reached", "credit_balance_exhausted"),
        "quota_of_the_day",
    }
)
# What Anthropic says of an account that is empty or over its own limit, under 400.
_SPENT = re.compile(r"credit balance is too low|reached your specified (?:\w+ ){0,3}usage limits")
_NO_KEY = re.compile(r"api key not valid|api_key_invalid|invalid x-api-key|invalid bearer token")
_TOO_LONG = frozenset({"context_length_exceeded", "string_above_max_length"})
_OVER_LONG = re.compile(
    r"context (?:length|limit|size)|prompt is too long|token count .{0,40}exceeds"
)
_FILTERED = frozenset({"content_filter", "content_policy_violation", "invalid_prompt"})
# Errors under a good status have codes and types in place of one.
_STATUS = {
    **dict.fromkeys(_TOO_LONG | _FILTERED | {"invalid_request_error"}, 400),
    **dict.fromkeys(("authentication_error", "invalid_api_key"), 401),
    "billing_error": 402,
    "permission_error": 403,
    **dict.fromkeys(("not_found_error", "model_not_found"), 404),
    "request_too_large": 413,
    "too_many_requests": 429,
    **dict.fromkeys(("server_is_overloaded", "slow_down"), 503),
    "timeout_error": 504,
    "overloaded_error": 529,
}


@dataclass(frozen=True, slots=True)
class ServerNames:
    """Hold what an error says of a server: its URL, and the variables of its key and its address.

    `why` says in words why its provider was chosen.
    """

    url: str
    key: str = "OPENAI_API_KEY"
    address: str = "OPENAI_BASE_URL"
    why: str = ""

    @property
    def hint(self) -> str:
        ends = ": it usually ends in /v1" if self.address == "OPENAI_BASE_URL" else ""
        return f"check {self.address}{ends}"


class Unreachable(Exception):
    """Raised when no answer came: nothing listens, or the connection broke before the answer."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


@dataclass(frozen=True, slots=True)
class ErrorBody:
    """Hold what an error answer says about itself. A field is empty if the answer lacks it.

    `retry_after` is the wait in seconds that the body asks for.
    """

    text: str
    code: str = ""
    param: str = ""
    retry_after: float | None = None

    @property
    def is_spent(self) -> bool:
        """Return whether the account has no quota left, which no wait of this run mends."""
        return self.code in _NO_MONEY or _SPENT.search(self.text) is not None

    @property
    def is_too_long(self) -> bool:
        """Return whether the prompt exceeds the model's context."""
        return self.code in _TOO_LONG or _OVER_LONG.search(self.text.lower()) is not None


class Refusal(Exception):
    """Raised when a server answered with an error status.

    `retry_after` is the wait in seconds that the server asks for, `None` if it names none.
    """

    def __init__(self, status: int, body: ErrorBody, retry_after: float | None = None) -> None:
        self.status = status
        self.body = body
        self.retry_after = body.retry_after if retry_after is None else retry_after
        self.message = f"HTTP {status}" + (f": {body.text}" if body.text else "")
        super().__init__(self.message)

    @property
    def may_pass(self) -> bool:
        """Return whether the same request may succeed later; an empty account stays empty."""
        transient = self.status in _MAY_PASS or self.status >= 500
        return transient and self.status != _NOT_IMPLEMENTED and not self.body.is_spent


def parse_error_body(body: object, clean: Callable[[str], str] = str) -> ErrorBody:
    """Return what `body` says, which is parsed JSON or text. Servers wrap errors in many ways.

    `clean` is applied before a text is cut: half of a secret would not be recognised.
    """
    while (inner := _inside(body)) is not None:
        body = inner
    match body:
        case {"code": int(), "message": message, "status": str() as status, **rest}:
            return _google_error(_quote(message, clean), status, rest.get("details"))
        case {"detail": inner}:
            return ErrorBody(_quote(inner, clean))
        case {"message": message, **rest}:
            said = _quote(message, clean)
            return ErrorBody(said, _code(rest), _word(rest, "param"), _wait_in(said))
        case str() if page := page_in_words(body):
            return ErrorBody(_quote(page, clean), _PAGE)
        case _:
            return ErrorBody("" if body is None else _quote(body, clean))


def _inside(body: object) -> object:
    """Return the error that a document or a list wraps; `None` where nothing is wrapped."""
    match body:
        case [{"error": inner}, *_] | {"error": inner}:
            return "" if inner is None else inner
        case _:
            return None


_DELAY = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)s")
# OpenAI's words for a wait, such as `1h2m`, `6m0s`, `11.054s` or `120ms`.
_AGAIN = re.compile(
    r"try again in (?=\d)(?:(\d{1,9})h)?(?:(\d{1,9})m(?!s))?(?:(\d{1,9}(?:\.\d{1,9})?)(m?)s)?"
)


def _wait_in(text: str) -> float | None:
    """Return the wait in seconds that an error's words ask for, `None` if they name none."""
    found = _AGAIN.search(text)
    if found is None or not any(found.groups()):
        return None
    hours, minutes, seconds, thousandths = found.groups("0")
    rest = float(seconds) / (1000 if thousandths == "m" else 1)
    return 3600.0 * int(hours) + 60.0 * int(minutes) + rest


def _google_error(text: str, status: str, details: object) -> ErrorBody:
    """Return an error in the form of Google's APIs, whose details say when to ask again.

    They also say whose quota is used up. That of a day is not there again in this run, whatever
    wait is named beside it, and neither is one of 0.
    """
    seconds, spent = None, "limit: 0," in f"{text}," and status == "RESOURCE_EXHAUSTED"
    for detail in details if isinstance(details, list) else ():
        match detail:
            case {"retryDelay": str(delay)} if found := _DELAY.fullmatch(delay):
                seconds = float(found[1])
            case {"violations": [*violations]}:
                named = (e.get("quotaId") for e in violations if isinstance(e, Mapping))
                spent = spent or any("PerDay" in text_of(each) for each in named)
            case {"reason": "API_KEY_INVALID"}:
                status = "API_KEY_INVALID"
            case _:
                pass
    return ErrorBody(text, "quota_of_the_day" if spent else status, retry_after=seconds)


def final_error(refused: Refusal, model: str, server: ServerNames) -> LlmchError | ReplyFailed:
    """Return the error for a refusal that neither waiting nor another form of request resolves."""
    body = refused.body
    chosen = f"; {server.why}" if server.why else ""
    said = f" ({body.text})" if body.text else ""
    if body.code in _FILTERED:
        return ReplyFailed(f"the server refused the prompt by its content policy{said}")
    if body.is_spent or refused.status == 402:
        return ModelUnavailable(
            f"the account at {server.url} has no quota left{said}",
            hint="check the plan and billing of the account, or use another key or server",
        )
    if body.code == _PAGE:
        return ModelUnavailable(
            f"the model server at {server.url} answered {refused.message}",
            hint=f"a proxy, a firewall or a login may have answered in its place; {server.hint}",
        )
    if refused.status in (401, 403) or _NO_KEY.search(f"{body.code} {body.text}".lower()):
        return ModelUnavailable(
            f"the model server at {server.url} refused the key{said}",
            hint=f"check {server.key}, and that the key may use this model{chosen}",
        )
    if body.is_too_long or refused.status == 413:
        return ModelUnavailable(
            f"the prompt does not fit the context of {model}{said}",
            hint="use a model with a longer context, or a smaller spec or fewer context files",
        )
    if refused.status == 404:
        return ModelUnavailable(
            f"the model server at {server.url} does not know {model} or this endpoint{said}",
            hint=f"check the model's name, and {server.hint.removeprefix('check ')}{chosen}",
        )
    return ModelUnavailable(
        f"the model server at {server.url} refused the request: {refused.message}",
        hint="check the model's name and the settings of the call",
    )


def _quote(value: Any, clean: Callable[[str], str] = str) -> str:
    try:
        said = str(value)
    except RecursionError:
        said = "(nested too deep)"
    text = clean(well_formed(" ".join(said.split())))
    return text if len(text) <= _LONGEST_QUOTE else f"{text[: _LONGEST_QUOTE - 3]}..."


def _word(document: Mapping[Any, Any], *names: str) -> str:
    values = (document.get(name) for name in names)
    return next((str(value) for value in values if value and isinstance(value, str | int)), "")


def _code(error: Mapping[Any, Any]) -> str:
    """Return the code of an error; its type where there is none, or where that says more."""
    kind = _word(error, "type")
    return kind if kind in _NO_MONEY else _word(error, "code") or kind


# A function that is called with the channel and the text of each piece of a streamed reply.
Watch = Callable[[Channel, str], None]

JUST_ENDS = "the reply just ends: the server did not say that it is complete"


@dataclass(frozen=True, slots=True)
class Answer:
    """Hold a model's whole reply, usable or not; `usage` is `None` if the server omits it.

    `document` is the body of the reply to an agent's call.
    """

    text: str
    reasoning: str
    model: str
    usage: Usage | None
    document: str = ""
    calls: tuple[ToolCall, ...] = ()
    sealed: str = ""


def answer_usage(answer: Answer, request: Request) -> Usage:
    """Return the usage of the answer: what the server reports, as far as that can be true.

    What it does not report is estimated, and what it reports too low is raised to the least that
    the texts can take: caps must end a run also where a server lies. The cost is left out: prices
    are applied where usage is counted.
    """
    reported = answer.usage or Usage()
    asked, said = reported.input_tokens, reported.output_tokens
    input_tokens = _believable(asked, asked_text(request))
    output_tokens = _believable(said, answer.reasoning + answer.text)
    return Usage(
        calls=1,
        input_tokens=input_tokens,
        cached_tokens=min(reported.cached_tokens, input_tokens),
        output_tokens=output_tokens,
        reasoning_tokens=min(reported.reasoning_tokens, output_tokens),
        cost_usd=None,
        estimated_calls=int((input_tokens, output_tokens) != (asked, said)),
        written_tokens=min(reported.written_tokens, input_tokens),
    )


# Images and sealed reasoning in an agent's call, which take fewer tokens than their letters would.
_SEALED = re.compile(r"(?<![A-Za-z0-9+/=_-])[A-Za-z0-9+/=_-]{512,}")


def _believable(reported: int, text: str) -> int:
    """Return the tokens of `text`; `reported` is 0 where the server gives no usable number."""
    if not reported:
        return estimate_tokens(text) if text else 0
    if reported >= least_tokens(text):
        return reported
    return max(reported, least_tokens(_SEALED.sub("", text)))


# As long as a log may be.
_LONGEST_LOST = 8 * 1024 * 1024


def lost_text(reasoning: str, text: str) -> tuple[str, ...]:
    """Return what came of a reply that cannot be used, as it is kept; nothing if nothing came."""
    said = well_formed("\n".join(filter(None, (reasoning, text))))
    return (said[:_LONGEST_LOST],) if said else ()


def failed(answer: Answer, request: Request, message: str) -> ReplyFailed:
    """Return the failure for an `answer` that is not usable, with its usage."""
    lost = lost_text(answer.reasoning, answer.text)
    return ReplyFailed(_quote(message), answer_usage(answer, request), lost=lost)


def cut_short(answer: Answer, request: Request) -> ReplyCutShort:
    """Return the failure for an answer that reached its output limit, with its usage."""
    usage = answer_usage(answer, request)
    return ReplyCutShort(
        f"the reply reached its limit before it was complete, after {usage.output_tokens:,} tokens",
        usage,
        lost=lost_text(answer.reasoning, answer.text),
    )


def just_ended(answer: Answer, request: Request, message: str = JUST_ENDS) -> ReplyBroken:
    """Return the failure for an answer that the server did not bring to its end, with its usage."""
    lost = lost_text(answer.reasoning, answer.text)
    return ReplyBroken(_quote(message), answer_usage(answer, request), lost=lost)


def read_through(
    documents: Iterable[Mapping[str, Any]],
    take: Callable[[Mapping[str, Any]], None],
    answer: Callable[[], Answer],
    request: Request,
) -> Answer:
    """Return the answer once all documents of a reply are taken.

    A failure on the way counts what came before it.
    """
    try:
        for document in documents:
            take(document)
    except ReplyFailed as broken:
        partial = answer()
        broken.usage = answer_usage(partial, request)
        broken.lost = lost_text(partial.reasoning, partial.text)
        raise
    return answer()


def error_document(error: Mapping[str, Any]) -> Refusal:
    """Return the refusal in an error document that came under a good HTTP status.

    The code says the status, by its number or its name; the type does where the code says none.
    """
    body = parse_error_body({**error, "message": error.get("message") or ""})
    named = (_status(_word(error, name)) for name in ("code", "type"))
    return Refusal(next(filter(None, named), 500), body)


def _status(word: str) -> int | None:
    if "rate_limit" in word or "quota" in word:
        return 429
    if re.fullmatch(r"[45]\d\d", word, re.ASCII):
        return int(word)
    return _STATUS.get(word)


# A hundred times the largest window of any model: more is a mistake or a lie.
_MOST_TOKENS = 100_000_000


def count(value: object) -> int:
    """Return `value` as a number of tokens, or 0 where it cannot be one."""
    return value if type(value) is int and 0 < value <= _MOST_TOKENS else 0


def detail_count(details: object, name: str) -> int:
    """Return the count of `name` in the details of a usage, or 0 where it is missing."""
    return count(details.get(name)) if isinstance(details, Mapping) else 0


def text_of(value: object) -> str:
    """Return `value` where it is text, the joined texts of a list of content parts, else ""."""
    match value:
        case str():
            return value
        case list():
            return "".join(text_of(part.get("text")) for part in value if isinstance(part, dict))
        case _:
            return ""
