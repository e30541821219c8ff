"""Ctrl-C and SIGTERM as one exception, and none of them lost on the way."""

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
    """Whether the user has asked for the end."""

    asked: bool = False


@contextlib.contextmanager
def signals_as_exceptions() -> Iterator[Interruption]:
    """Let SIGINT and SIGTERM raise KeyboardInterrupt: all that is open is closed on the way out.

    The exception can come up anywhere, also in code that C calls and that must not raise, as when
    a library is being imported. There it is dropped, or turned into another exception. A dropped
    one is raised once more; where it became another, the yielded value says that the user asked.
    """
    interruption = Interruption()
    hook = sys.unraisablehook

    def interrupt(number: int, frame: FrameType | None) -> None:
        interruption.asked = True
        raise KeyboardInterrupt

    def tell_unless_asked(dropped: sys.UnraisableHookArgs) -> None:
        if not isinstance(dropped.exc_value, KeyboardInterrupt):
            hook(dropped)
            return
        again = threading.Timer(_AGAIN_SECONDS, os.kill, (os.getpid(), signal.SIGINT))
        again.daemon = True
        again.start()

    # A signal that whoever started us has made ignored, as `nohup` does, stays so.
    ours = [each for each in _SIGNALS if signal.getsignal(each) is not signal.SIG_IGN]
    before = {each: signal.signal(each, interrupt) for each in ours}
    sys.unraisablehook = tell_unless_asked
    try:
        yield interruption
    finally:
        sys.unraisablehook = hook
        for each, handler in before.items():
            signal.signal(each, handler)
