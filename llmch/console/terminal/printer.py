"""Prints to a terminal: lines in colour, and below them a live region with the current work."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable, Iterable, Sequence

from rich.console import Console as RichConsole
from rich.text import Text

from llmch.console.activity import Activity
from llmch.console.line import Line, Weight, lay_out
from llmch.console.stream import Stream
from llmch.console.terminal.region import FRAMES_PER_SECOND, LiveRegion
from llmch.console.terminal.text import folded
from llmch.console.ticker import Ticker
from shared.events.event import Event

# The current line is erased first, and then everything below it. If everything were erased at
# once from the top corner, tmux would take that for a cleared screen and keep a copy of the
# screen in its scroll-back.
_ERASE_BELOW = "\r\x1b[K\n\x1b[J\x1b[A"


class TerminalPrinter:
    """Show lines in colour and, while work is under way, the live region below them.

    The cursor rests at the start of the region, not at its end. It stays there when the window
    changes its width and the terminal folds the region anew, so that the whole region can be
    erased. The cursor is never hidden, so nothing needs to be restored after a SIGKILL.

    `protect` makes a model's text fit to be shown. The printer is safe for threads.
    """

    def __init__(
        self, stream: Stream, activity: Activity, protect: Callable[[str], str], *, colour: bool
    ) -> None:
        self._stream = stream
        self._glyphs = stream.shows_glyphs
        self._activity = activity
        self._lock = threading.Lock()
        self._ticker: Ticker | None = None
        self._live = False
        self._drawn = False
        self._rich = RichConsole(
            file=io.StringIO(),  # rich only renders here; it never writes
            force_terminal=True,
            color_system="standard",  # the sixteen colours of the user's own theme
            no_color=not colour,
            markup=False,
            highlight=False,
            emoji=False,
            legacy_windows=False,
        )
        self._region = LiveRegion(activity, protect, self._rich, glyphs=self._glyphs)

    def show(self, lines: Sequence[Line]) -> None:
        """Print the lines above the live region, except those that the region shows itself."""
        with self._lock:
            self._measure()
            self._draw(
                folded(line, lay_out(line, glyphs=self._glyphs), self._rich)
                for line in lines
                if line.weight is not Weight.PASSING
            )

    def log(self, lines: Sequence[Line]) -> None:
        """Print the lines; whoever sits at the terminal needs no times."""
        self.show(lines)

    def follow(self, event: Event) -> None:
        """Apply the event to the live region, which is shown while work is under way."""
        with self._lock:
            self._activity.take(event)
            self._live = not self._activity.idle
        if not self._live:
            self.close()
        elif self._ticker is None:
            self._ticker = Ticker(1 / FRAMES_PER_SECOND, self._refresh, "live region")

    def close(self) -> None:
        """Remove the live region."""
        ticker, self._ticker = self._ticker, None
        if ticker is not None:
            ticker.close()
        with self._lock:
            self._live = False
            if self._drawn:
                self._draw(())

    def _refresh(self) -> None:
        with self._lock:
            self._measure()
            self._draw(())

    def _measure(self) -> None:
        # The size is read each time: the window may change, but an exported COLUMNS does not.
        self._rich.size = self._stream.size

    def _draw(self, lasting: Iterable[Text]) -> None:
        """Print lasting lines where the region began, and the current region below them."""
        erase = _ERASE_BELOW if self._drawn else ""
        region = self._region.lines() if self._live else []
        back = f"\x1b[{len(region) - 1}A\r" if len(region) > 1 else "\r" if region else ""
        above = "".join(f"{self._render(line)}\n" for line in lasting)
        below = "\n".join(self._render(line) for line in region)
        text = f"{erase}{above}{below}{back}"
        if text:
            self._stream.write(text)
        self._drawn = bool(region)

    def _render(self, line: Text) -> str:
        with self._rich.capture() as rendered:
            self._rich.print(line, soft_wrap=True, end="")
        return rendered.get()
