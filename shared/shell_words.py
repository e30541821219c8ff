"""Splitting a command line into words as a POSIX shell quotes them, without a shell.

The words are those of `shlex.split`, read by one regular expression because a plan has many.
What `shlex` cannot tell is told as well: which words had no quotes, and where a shell would have
seen an operator. No shell ever runs these lines, so an operator would be an argument.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_PIECE = re.compile(
    r"""(?P<space>[ \t\r\n]++) | (?P<bare>[^ \t\r\n'"\\]++) | '(?P<single>[^']*+)'
      | "(?P<double>(?:[^"\\]++|\\.)*+)" | \\(?P<escaped>.)""",
    re.VERBOSE | re.DOTALL,
)
_IN_DOUBLE_QUOTES = re.compile(r'\\(["\\])')
_OPERATOR = re.compile(r"&&|\|\||;;|\|&|&>>?|[0-9]*[<>]{1,3}[&|]?[0-9]*|[;&|]")


class UnsplittableError(ValueError):
    """A command line that no shell would take: a quote or an escape is left open."""


@dataclass(frozen=True, slots=True)
class Words:
    """The words of a command line.

    `quoted` says of each word whether any of it was quoted or escaped; `operator` is the first
    shell operator outside quotes, also one glued to a word (`a;`, `2>&1`).
    """

    texts: tuple[str, ...]
    quoted: tuple[bool, ...]
    operator: str | None


def split_words(line: str) -> Words:
    """Return the words of `line`. Raises `UnsplittableError` where a quote is left open."""
    texts: list[str] = []
    quoted: list[bool] = []
    operator: str | None = None
    inside = False
    end = 0
    for piece in _PIECE.finditer(line):
        if piece.start() != end:
            break
        end = piece.end()
        kind = piece.lastgroup
        if kind == "space":
            inside = False
            continue
        text = piece[kind]  # type: ignore[index]  # each alternative has a name
        if kind == "bare":
            if operator is None and (found := _OPERATOR.search(text)):
                operator = found[0]
        elif kind == "double" and "\\" in text:
            text = _IN_DOUBLE_QUOTES.sub(r"\1", text)
        if inside:
            texts[-1] += text
            quoted[-1] |= kind != "bare"
        else:
            texts.append(text)
            quoted.append(kind != "bare")
            inside = True
    if end != len(line):
        raise UnsplittableError(_complaint(line[end]))
    return Words(tuple(texts), tuple(quoted), operator)


def _complaint(opening: str) -> str:
    if opening == "\\":
        return "ends in a backslash that escapes nothing"
    return f"has an unbalanced quote ({opening})"
