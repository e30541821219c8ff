"""Estimates how many tokens a call may take, before a server has counted them. Pure."""

from __future__ import annotations

from shared.llm.client import Request, Usage

# Where there is a cap, a call without an output limit gets this one. Its worst case would be
# unbounded otherwise.
DEFAULT_OUTPUT_LIMIT = 32_768

# Text in every common script averages more bytes per token than this, so the estimate is high.
_BYTES_PER_TOKEN = 3

# Code and English average about this many bytes per token.
_LIKELY_BYTES_PER_TOKEN = 4

# Many tokenizers make a token of each digit, so a table of numbers has far more tokens than text.
_DIGITS = b"0123456789"

# Servers wrap a prompt into a template: marks of the roles, and often a system prompt of their own
# (that of Qwen2.5 takes about 30 tokens, that of gpt-oss about 70).
TEMPLATE_TOKENS = 100


def estimate_tokens(text: str) -> int:
    """Return a high estimate of the tokens of `text`, from its bytes: no tokenizer is needed."""
    data = text.encode("utf-8", "surrogatepass")
    others = len(data.translate(None, _DIGITS))
    return len(data) - others + others // _BYTES_PER_TOKEN + 1


def most_tokens(size: int) -> int:
    """Return a high estimate of the tokens of a text of `size` bytes that is not known yet."""
    return size // _BYTES_PER_TOKEN + 1


def likely_tokens(size: int) -> int:
    """Return how many tokens a text of `size` bytes probably has."""
    return -(-size // _LIKELY_BYTES_PER_TOKEN)


def estimate_input(request: Request) -> int:
    """Return a high estimate of the input tokens of `request`: prompt, schema and template."""
    tokens = estimate_tokens(request.prompt) + TEMPLATE_TOKENS
    if request.reply_schema is not None:
        tokens += estimate_tokens(str(request.reply_schema.schema))
    return tokens


def total_tokens(usage: Usage) -> int:
    """Return input and output tokens together; cached and reasoning tokens are parts of them."""
    return usage.input_tokens + usage.output_tokens
