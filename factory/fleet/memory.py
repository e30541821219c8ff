"""Keeps the memory of a worker flat, however many plans it works for.

What a plan has open (above all the client of its model, with all certificates) is held by cycles of
references. Python collects these when it has made many objects, and does not know how much memory
outside of Python each of them holds.
"""

from __future__ import annotations

import gc


def leave_out_what_stays() -> None:
    """Have later collections not look at what is loaded now, which makes them cheap."""
    gc.freeze()


def free_what_was_closed() -> None:
    """Free what belonged to plans that were closed."""
    gc.collect()
