"""Text that can be encoded. JSON can spell half characters; UTF-8 and terminals know none. Pure."""

from __future__ import annotations

REPLACEMENT = "\ufffd"


def well_formed(text: str) -> str:
    """Return `text` with pairs of surrogates joined and lone ones replaced by U+FFFD.

    A server that cuts its reply into pieces may cut a character in two; joined, the halves are one
    again. Costs one encoding where there is nothing to mend.
    """
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
