"""Estimates how many tokens a call may take, before a server has counted them. Pure."""

from __future__ import annotations

from shared.llm.client import Request, Usage

# Where there is a cap, a call without an output limit gets this one. Its worst case would be
# unbounded otherwise.
DEFAULT_OUTPUT_LIMIT = 32_768

# Text in every common script averages more bytes per token than this, so the estimate is high.
_BYTES_PER_TOKEN = 3


def estimate_tokens(text: str) -> int:
    """Return a high estimate of the tokens of `text`, from its bytes: no tokenizer is needed."""
    return len(text.encode("utf-8", "surrogatepass")) // _BYTES_PER_TOKEN + 1


def worst_case(request: Request) -> Usage:
    """Return the most that one call of `request` should take, if it uses up its output limit."""
    prompt = estimate_tokens(request.prompt)
    if request.reply_schema is not None:
        prompt += estimate_tokens(str(request.reply_schema.schema))
    output = request.max_output_tokens or DEFAULT_OUTPUT_LIMIT
    return Usage(calls=1, input_tokens=prompt, output_tokens=output)


def total_tokens(usage: Usage) -> int:
    """Return input and output tokens together; cached and reasoning tokens are parts of them."""
    return usage.input_tokens + usage.output_tokens
