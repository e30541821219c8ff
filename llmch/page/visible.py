"""Makes text that models and commands wrote safe to look at: nothing in it acts unseen. Pure.

A page escapes markup, but a browser would still obey characters that turn the direction of text
or that nobody sees. They stand on the page as their names.
"""

from __future__ import annotations

import re

# Control characters but newline and tab; soft hyphen, bidi marks, embeddings, overrides and
# isolates, zero-width characters, tags, and what no text file can hold: lone surrogates.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\ud800-\udfff\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
# Control sequences of terminals (ECMA-48), as programs print them to colour their output.
_SEQUENCES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)")
_BREAKS = re.compile(r"\r\n?")
_PICTURES = 0x2400  # the block of Unicode that shows control characters as small letters
_DELETE = 0x7F


def visible(text: str) -> str:
    """Return `text` with each unseen character replaced by a picture or the number of it."""
    return _UNSEEN.sub(lambda found: _name(ord(found[0])), text)


def printed(text: str) -> str:
    """Return what a command printed, without the colours and cursor movements of a terminal."""
    return visible(_BREAKS.sub("\n", _SEQUENCES.sub("", text)))


def _name(code: int) -> str:
    if code < 0x20:
        return chr(_PICTURES + code)
    return "\u2421" if code == _DELETE else f"\u27e8U+{code:04X}\u27e9"
