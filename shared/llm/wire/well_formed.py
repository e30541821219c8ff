"""Makes text encodable. JSON can spell half characters, which UTF-8 cannot. Pure."""

from __future__ import annotations

REPLACEMENT = "\ufffd"


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
