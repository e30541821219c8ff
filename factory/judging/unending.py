"""Says why a command that was ended after its time probably never ends, by its output. Pure."""

from __future__ import annotations

import re
from typing import Final

_END: Final = 4000  # characters; what a program waits for stands at the end of its output
_WATCHES = re.compile(
    r"watch(?:ing)? (?:for|mode|usage|files)|press \w+ to (?:quit|exit|rerun|show help)"
    r"|waiting for (?:file )?changes|\bnodemon\b|\[watch\]",
    re.IGNORECASE,
)
_SERVES = re.compile(
    r"\blistening (?:on|at)\b|\b(?:server|app)(?: is)? (?:running|started|listening|ready)\b"
    r"|\bserving\b.*\b(?:on|at)\b|\blocal:\s+http",
    re.IGNORECASE,
)


def likely_cause(output: str) -> str:
    """Return the likely cause as a sentence with its remedy; "" where the output shows none."""
    end = output[-_END:]
    if _WATCHES.search(end):
        what = "it watches for changes, as its output says, and never ends"
    elif _SERVES.search(end):
        what = "it serves, as its output says, and never ends"
    else:
        return ""
    return f"The likely cause: {what}. A command that ends is needed (--verify CMD names one)."
