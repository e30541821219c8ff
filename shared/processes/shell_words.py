"""Splits a command line into words by the quoting of a POSIX shell, without a shell.

The words are those of `shlex.split`, read by one regular expression because a plan has many
commands. Unlike `shlex`, the module also reports which words had no quotes, and where a shell
would have seen an operator. No shell ever runs these lines, so an operator would be an argument.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

# A word is nearly always plain or quoted as a whole; only a mixed word is split into pieces.
_WORD = re.compile(
    r"""(?P<plain>[^ \t\r\n'"\\]++)(?=[ \t\r\n]|\Z)
      | "(?P<double>[^"\\]*+)"(?=[ \t\r\n]|\Z)
      | '(?P<single>[^']*+)'(?=[ \t\r\n]|\Z)
      | (?P<mixed>(?:[^ \t\r\n'"\\]++|'[^']*+'|"(?:[^"\\]++|\\.)*+"|\\.)++)
      | (?P<open>['"\\])""",
    re.VERBOSE | re.DOTALL,
)
_PIECE = re.compile(
    r"""(?P<bare>[^'"\\]++) | '(?P<single>[^']*+)' | "(?P<double>(?:[^"\\]++|\\.)*+)"
      | \\(?P<escaped>.)""",
    re.VERBOSE | re.DOTALL,
)
_IN_DOUBLE_QUOTES = re.compile(r'\\(["\\])')
_OPERATOR = re.compile(r"&&|\|\||;;|\|&|&>>?|[0-9]*[<>]{1,3}[&|]?[0-9]*|[;&|]")


# The longest single argument that Linux takes (MAX_ARG_STRLEN: 32 pages, with the closing NUL).
MAX_ARGUMENT_BYTES: Final = 128 * 1024 - 1


def is_too_long(argument: str) -> bool:
    """Return whether the argument is too long for any program, however it is quoted."""
    # A character takes at most four bytes, so a short argument need not be encoded to know.
    if len(argument) * 4 <= MAX_ARGUMENT_BYTES:
        return False
    return len(argument.encode(errors="replace")) > MAX_ARGUMENT_BYTES


class UnsplittableError(ValueError):
    """Say that a command line leaves a quote or an escape open, so that no shell would take it."""


@dataclass(frozen=True, slots=True)
class ShellWords:
    """Hold the words of a command line.

    `quoted` says for each word whether any part of it was quoted or escaped. `operator` is the
    first shell operator outside quotes, also where it touches a word (`a;`, `2>&1`).
    """

    texts: tuple[str, ...]
    quoted: tuple[bool, ...]
    operator: str | None


def split_words(line: str) -> ShellWords:
    """Return the words of `line`. Raises `UnsplittableError` if a quote is left open."""
    texts: list[str] = []
    quoted: list[bool] = []
    operator: str | None = None
    for word in _WORD.finditer(line):
        match word.lastgroup:
            case "plain":
                text = word["plain"]
                operator = operator or _first_operator(text)
            case "mixed":
                text, bare = _unquoted(word["mixed"])
                operator = operator or _first_operator(bare)
            case "open":
                raise UnsplittableError(_complaint(word["open"]))
            case kind:
                text = word[kind or 0]
        texts.append(text)
        quoted.append(word.lastgroup != "plain")
    return ShellWords(tuple(texts), tuple(quoted), operator)


def _unquoted(word: str) -> tuple[str, str]:
    """Return the text of a word, and its parts outside quotes joined by blanks."""
    texts: list[str] = []
    bare: list[str] = []
    for piece in _PIECE.finditer(word):
        text = piece[piece.lastgroup or 0]
        if piece.lastgroup == "bare":
            bare.append(text)
        elif piece.lastgroup == "double":
            text = _IN_DOUBLE_QUOTES.sub(r"\1", text)
        texts.append(text)
    return "".join(texts), " ".join(bare)


def _first_operator(text: str) -> str | None:
    found = _OPERATOR.search(text)
    return found[0] if found else None


def _complaint(opening: str) -> str:
    if opening == "\\":
        return "ends in a backslash that escapes nothing"
    return f"has an unbalanced quote ({opening})"
