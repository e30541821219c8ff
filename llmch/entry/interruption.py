"""Turns Ctrl-C and SIGTERM into one exception, and makes sure that none of them is lost."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_AGAIN_SECONDS = 0.05


@dataclass(slots=True)
class Interruption:
    """Record whether the user has asked the command to end."""

    asked: bool = False


@contextlib.contextmanager
def signals_as_exceptions() -> Iterator[Interruption]:
    """Let SIGINT and SIGTERM raise KeyboardInterrupt, so that open files are closed on the way out.

    The exception can be raised anywhere, also in code that C calls and that must not raise, for
    example while a library is being imported. Python then drops the exception, or the library
    turns it into another one. A dropped exception is raised again. Where it was turned into
    another one, the yielded value still says that the user asked for the end.
    """
    interruption = Interruption()
    hook = sys.unraisablehook

    def interrupt(number: int, frame: FrameType | None) -> None:
        interruption.asked = True
        raise KeyboardInterrupt

    def raise_again(dropped: sys.UnraisableHookArgs) -> None:
        if not isinstance(dropped.exc_value, KeyboardInterrupt):
            hook(dropped)
            return
        again = threading.Timer(_AGAIN_SECONDS, os.kill, (os.getpid(), signal.SIGINT))
        again.daemon = True
        again.start()

    # A signal that our parent process set to be ignored, as `nohup` does, stays ignored.
    ours = [each for each in _SIGNALS if signal.getsignal(each) is not signal.SIG_IGN]
    before = {each: signal.signal(each, interrupt) for each in ours}
    sys.unraisablehook = raise_again
    try:
        yield interruption
    finally:
        sys.unraisablehook = hook
        for each, handler in before.items():
            signal.signal(each, handler)
