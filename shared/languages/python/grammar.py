"""Finds the f-strings that Python 3.11 does not read, so that every Python judges code alike.

llmch runs on several versions of Python, and the code that it judges runs on whichever version
the target project has. All of them read the grammar of `OLDEST`: plans are held to that grammar,
whichever Python judges them. `ast.parse` can be held to an older grammar in all but f-strings;
f-strings are scanned here by the rules that Python 3.11 had for them. The answer depends on the
text alone and not on the Python that is asked.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

OLDEST: Final = (3, 11)

_F_STRING = re.compile(r"(?:[fF][rR]?|[rR][fF])['\"]")
# A comment, a name (which may be the prefix of a string), or the quotes that open a string.
_TOKEN = re.compile(r"#[^\n]*|[^\W\d]\w*|'''|\"\"\"|'|\"")
_PREFIXES: Final = frozenset({"r", "u", "b", "br", "rb", "f", "fr", "rf"})
# The end of a string, by its quotes. An escaped character is matched too and does not end it. The
# end of a line cuts off a string in single quotes, and does nothing to one in triple quotes.
_ENDS: Final = {
    quotes: re.compile(rf"\\.|{quotes}" + (r"|\n" if len(quotes) == 1 else ""), re.DOTALL)
    for quotes in ("'", '"', "'''", '"""')
}
_NAMED_CHARACTER = re.compile(r"\\N\{[^}]*\}?")
_OPENING: Final = {")": "(", "]": "[", "}": "{"}
_CONVERSIONS: Final = ("s", "r", "a")
_BLANKS: Final = " \t\n\r\f\v"
_MAX_SPEC_DEPTH: Final = 2
_NEVER_CLOSES: Final = "the braces of an f-string do not close before its own quotes do"


@dataclass(frozen=True, slots=True)
class FStringFault:
    """Hold the reason why Python 3.11 does not read an f-string, and its first line, from 1."""

    reason: str
    line: int


def f_string_fault(source: str) -> FStringFault | None:
    """Return the fault of the first f-string in `source` that Python 3.11 does not read, if any.

    Code that Python 3.11 compiles has no fault, with one exception: a `=` in the braces of a format
    is a fault, because early releases of Python 3.12 fail on it. Never raises. Takes linear time.
    """
    if not _F_STRING.search(source):
        return None
    try:
        _scan_code(re.sub(r"\r\n?", "\n", source))
    except _Refused as refused:
        return FStringFault(refused.reason, refused.line)
    return None


class _Refused(Exception):
    """Raised at an f-string that Python 3.11 does not read."""

    def __init__(self, reason: str, line: int = 1) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line


def _scan_code(code: str) -> None:
    """Read each f-string in `code`, also those within the braces of another f-string."""
    position, prefix = 0, ""
    while token := _TOKEN.search(code, position):
        text, position = token[0], token.end()
        if text not in _ENDS:
            is_prefix = text.lower() in _PREFIXES and code[position : position + 1] in ("'", '"')
            prefix = text.lower() if is_prefix else ""
            continue
        start, position = position, _string_end(code, text, position)
        if position < 0 and "f" not in prefix:
            return  # the code ends within a string, which the compiler reports better
        if "f" in prefix:
            try:
                if position < 0:
                    raise _Refused(_NEVER_CLOSES)
                _FString(code[start : position - len(text)], is_raw="r" in prefix).read()
            except _Refused as refused:
                line = code.count("\n", 0, start) + 1
                raise _Refused(refused.reason, line) from None
        prefix = ""


def _string_end(code: str, quotes: str, start: int) -> int:
    """Return the end of the string whose text begins at `start`, or -1 where it never ends."""
    for found in _ENDS[quotes].finditer(code, start):
        if found[0] == "\n":
            break
        if found[0] == quotes:
            return found.end()
    return -1


class _FString:
    """Read the text of an f-string as the parser of Python 3.11 does, from left to right.

    Raises `_Refused` where that parser refuses the text.
    """

    def __init__(self, text: str, *, is_raw: bool) -> None:
        self._text = text
        self._is_raw = is_raw
        self._at = 0

    def read(self, depth: int = 0) -> None:
        """Read literal text and replacement fields in turn, to the end of the text or format."""
        while True:
            self._skip_literal(depth)
            if self._next in ("", "}"):
                return
            self._read_field(depth)

    @property
    def _next(self) -> str:
        return self._text[self._at : self._at + 1]

    def _skip_literal(self, depth: int) -> None:
        while character := self._next:
            if character == "\\" and not self._is_raw:
                named = _NAMED_CHARACTER.match(self._text, self._at)
                if named is not None:
                    self._at = named.end()
                    continue
                self._at += 1
                if self._next not in ("{", "}"):
                    self._at += 1
            elif character not in "{}":
                self._at += 1
            elif depth == 0 and self._text[self._at + 1 : self._at + 2] == character:
                self._at += 2
            elif depth == 0 and character == "}":
                raise _Refused("an f-string holds a single `}`")
            else:
                return

    def _read_field(self, depth: int) -> None:
        if depth >= _MAX_SPEC_DEPTH:
            raise _Refused("the formats of an f-string are nested too deeply")
        self._at += 1
        _scan_code(self._read_expression())
        if self._next == "=":
            if depth:
                raise _Refused("an f-string holds a `=` in the braces of a format")
            self._at += 1
            while self._next and self._next in _BLANKS:
                self._at += 1
        if self._next == "!":
            self._at += 1
            if self._next not in _CONVERSIONS:
                raise _Refused("an f-string holds a conversion other than !s, !r and !a")
            self._at += 1
        if self._next == ":":
            self._at += 1
            self.read(depth + 1)
        if self._next != "}":
            raise _Refused(_NEVER_CLOSES)
        self._at += 1

    def _read_expression(self) -> str:
        """Return the expression in a field, and move to the character that ends it."""
        text, start, quotes, open_brackets = self._text, self._at, "", []
        while character := self._next:
            if character == "\\":
                raise _Refused("an f-string holds a backslash within its braces")
            if quotes:
                if text.startswith(quotes, self._at):
                    self._at += len(quotes) - 1
                    quotes = ""
            elif character in "'\"":
                triple = character * 3
                quotes = triple if text.startswith(triple, self._at) else character
                self._at += len(quotes) - 1
            elif character == "#":
                raise _Refused("an f-string holds a `#` within its braces")
            elif character in "([{":
                open_brackets.append(character)
            elif not open_brackets and character in "!:}=<>":
                if character in "!=<>" and text[self._at + 1 : self._at + 2] == "=":
                    self._at += 1
                elif character not in "<>":
                    return text[start : self._at]
            elif character in ")]}" and (
                not open_brackets or open_brackets.pop() != _OPENING[character]
            ):
                raise _Refused("the brackets in an f-string do not match")
            self._at += 1
        raise _Refused(_NEVER_CLOSES)
