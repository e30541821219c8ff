"""Runs a verb, prints its answer, and turns errors and signals into exit codes."""

from __future__ import annotations

import argparse
import atexit
import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import FrameType
from typing import TypeVar

from llmch import telemetry
from llmch.ci import run_reports
from llmch.console import Color, Console, Format, Verbosity, open_console
from llmch.console.console import protection
from llmch.console.document import Outcome
from llmch.console.plain_printer import runs_in_actions
from llmch.entry.command_line import find_verb, output_arguments, parser_of
from shared.errors import (
    CommandFailed,
    EnvironmentFault,
    ExitCode,
    Interrupted,
    InterruptedRun,
    InvalidInput,
    LlmchError,
    how_to_install,
)
from shared.files.atomic_io import is_disk_full
from shared.files.secret_values import masking

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_AGAIN_SECONDS = 0.05
_UNSEEN_SECONDS = 0.25


@dataclass(slots=True)
class Interruption:
    """Record whether the user has asked the command to end."""

    asked: bool = False


@contextlib.contextmanager
def signals_as_exceptions() -> Iterator[Interruption]:
    """Let signals that ask for the end raise KeyboardInterrupt, so that files are closed first.

    The exception can be raised anywhere, also in code that C calls and that must not raise, for
    example while a library is being imported. Python then drops the exception, or the library
    turns it into another one. A dropped exception is raised again. Where it was turned into
    another one, the yielded value still says that the user asked for the end.
    """
    signals = _Signals(Interruption(), sys.unraisablehook)
    # A signal that our parent process set to be ignored, as `nohup` does, stays ignored.
    ours = [each for each in _SIGNALS if signal.getsignal(each) is not signal.SIG_IGN]
    before = {each: signal.signal(each, signals.interrupt) for each in ours}
    sys.unraisablehook = signals.raise_again
    try:
        yield signals.interruption
    finally:
        sys.unraisablehook = signals.hook
        signals.raised.set()  # the command has ended by another way: its exit code is to stay
        signals.seen.set()
        for each, handler in before.items():
            signal.signal(each, handler)


@dataclass(slots=True)
class _Signals:
    """Raise an interrupt for a signal, and again where Python dropped it."""

    interruption: Interruption
    hook: Callable[[sys.UnraisableHookArgs], object]
    raised: threading.Event = field(default_factory=threading.Event)
    seen: threading.Event = field(default_factory=threading.Event)
    _is_hooked: bool = False
    _is_doubled: bool = False
    _is_noting: bool = False

    def interrupt(self, number: int, frame: FrameType | None) -> None:
        # A terminal that closes says so through the shell, and then itself.
        is_known = number == signal.SIGHUP and self.interruption.asked
        is_known = is_known or (self._is_doubled and self.raised.is_set())
        is_new = not (self._is_hooked or is_known)
        if self._is_noting:
            return  # it came in the midst of the other one, which holds the lock of an event
        self._is_noting = True
        if is_new:
            self.raised.set()
        self.seen.set()
        self._is_noting = False
        if is_new:
            self.interruption.asked = True
            raise KeyboardInterrupt

    def raise_again(self, dropped: sys.UnraisableHookArgs) -> None:
        if not isinstance(dropped.exc_value, KeyboardInterrupt):
            self.hook(dropped)
            return
        self._is_hooked = True  # what is raised in here is dropped as well
        self.raised.clear()
        threading.Thread(target=self._ask_again, daemon=True).start()
        self._is_hooked = False

    def _ask_again(self) -> None:
        main = threading.main_thread().ident
        assert main is not None, "it has started"
        while not self.raised.wait(_AGAIN_SECONDS):
            self.seen.clear()
            signal.pthread_kill(main, signal.SIGINT)
            # One that comes just before the main thread begins to wait is seen after that wait
            # only, unless another one ends it. Two on their way are to be one interrupt.
            while not self.seen.wait(_UNSEEN_SECONDS):
                self._is_doubled = True
                signal.pthread_kill(main, signal.SIGINT)
        if self._is_doubled:
            time.sleep(_UNSEEN_SECONDS)
            self._is_doubled = False


VARIABLE = "LLMCH_TELEMETRY"
_OFF = ("", "off", "0")
_ON = ("on", "1")
_CONTENT = "content"


def is_asked_for(environ: Mapping[str, str] = os.environ) -> bool:
    return environ.get(VARIABLE, "").lower() not in _OFF


@contextlib.contextmanager
def traced(verb: str, console: Console, environ: Mapping[str, str] = os.environ) -> Iterator[None]:
    """Draw what happens in the block as a trace, where the person asked for it.

    Raises `InvalidInput` if the variable has another value, and `CommandFailed` if the
    package is not installed.
    """
    if not is_asked_for(environ):
        yield
        return
    asked = environ[VARIABLE].lower()
    if asked not in (*_ON, _CONTENT):
        raise InvalidInput(
            f"{VARIABLE}={asked[:100]!r} has no meaning",
            f"set it to {_ON[0]}, to {_CONTENT} (texts of models, too) or to {_OFF[1]}",
        )
    protect = protection(masking(environ))
    try:
        tracing = telemetry.Tracing(
            verb, content=asked == _CONTENT, protect=protect, environ=environ
        )
    except ModuleNotFoundError as error:
        raise CommandFailed(
            f"the package {error.name} is not installed, which {VARIABLE}={asked} needs",
            f"{how_to_install('otel')}; or unset {VARIABLE}",
        ) from error
    console.listen(tracing)
    try:
        yield
    except LlmchError as error:
        tracing.end(error.exit_code.name)
        raise
    except KeyboardInterrupt:
        tracing.end("INTERRUPTED")
        raise
    except BaseException:
        tracing.end("INTERNAL")
        raise
    else:
        tracing.end()


T = TypeVar("T")

_BUG_HINT = "this is a bug in llmch; the traceback is in the run's folder, or set LLMCH_DEBUG=1"


def run_verb(arguments: Sequence[str], let_through: Callable[[], object] = bool) -> int:
    """Parse and run one verb's command line and return its exit code.

    `let_through` is called where signals that were held back until then can be answered.
    """
    try:
        with open_console_for(arguments) as console, signals_as_exceptions() as interruption:
            return guarded(arguments, console, interruption, let_through)
    except KeyboardInterrupt:  # a second one, raised while the first was still being handled
        return ExitCode.INTERRUPTED


def end_process(code: int) -> None:
    """End the process with `code`, once the threads have ended that have to be waited for.

    All that has to be closed is closed. To take Python down takes longer than many a command, and
    cuts off the threads that need not be waited for. In the midst of an import, a library that is
    not written in Python aborts the process for that.
    """
    try:
        # What Python itself does at its end, before it takes anything down.
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:  # the caller has closed it
                stream.flush()
    except OSError:
        return  # Python says it, and ends with a code of its own
    except KeyboardInterrupt:
        code = ExitCode.INTERRUPTED
    os._exit(code)


def guarded(
    arguments: Sequence[str],
    console: Console,
    interruption: Interruption,
    let_through: Callable[[], object] = bool,
) -> ExitCode:
    """Run a verb, print its answer or the error that ended it, and return the exit code."""

    def show() -> ExitCode:
        let_through()
        outcome = answer(arguments, console)
        console.show(outcome.document)
        return outcome.exit_code

    ended = or_error(show, arguments, interruption)
    return ended if isinstance(ended, ExitCode) else _report(console, ended)


def or_error(
    work: Callable[[], T], arguments: Sequence[str], interruption: Interruption
) -> T | LlmchError:
    """Return what the work of a verb returns, or the error that ended it, whatever it was."""
    try:
        return work()
    except InterruptedRun as interrupt:
        return Interrupted("interrupted", interrupt.hint)
    except KeyboardInterrupt:
        return _interrupted(arguments)
    except Exception as error:
        if os.environ.get("LLMCH_DEBUG") and not isinstance(error, LlmchError):
            raise
        if interruption.asked:  # a library may have turned the interrupt into its own error
            return _interrupted(arguments)
        return _in_words(error)


def _in_words(error: Exception) -> LlmchError:
    match error:
        case LlmchError():
            return error
        case OSError():
            return _refused(error)
        case _:
            return _Bug(f"{type(error).__name__}: {error}", _BUG_HINT)


def _interrupted(arguments: Sequence[str]) -> LlmchError:
    return Interrupted("interrupted", _after_interruption(arguments))


def _after_interruption(arguments: Sequence[str]) -> str:
    """Return what a user can do after an interrupt outside of a run of orders."""
    match arguments[0]:
        case "do" | "plan" | "build" if "--anew" in arguments:
            return "the same command without --anew goes on; no reply on record is paid for again"
        case "do" | "plan" | "build":
            return "the same command goes on; no reply on record is paid for again"
        case "run" | "run-all" | "retry":
            return "no order was begun; the same command again begins"
        case _:
            return ""


def _refused(error: OSError) -> LlmchError:
    """Return the error to report when the system refused something and no caller explained it."""
    what = f"{error.filename}: " if error.filename else ""
    refused = EnvironmentFault if is_disk_full(error) else CommandFailed
    return refused(
        f"{what}{error.strerror or error}", "check the path, your permissions and the free space"
    )


class _Bug(LlmchError):
    exit_code = ExitCode.INTERNAL


def _report(console: Console, error: LlmchError) -> ExitCode:
    console.error(error.message, error.hint, error.exit_code, error.exit_code.name)
    if runs_in_actions(os.environ):
        console.annotate([run_reports.error_annotation(error, run_reports.mask_secrets)])
    return error.exit_code


def answer(arguments: Sequence[str], console: Console) -> Outcome:
    """Parse and run one verb's command line and return its answer.

    Raises `LlmchError` if the command line is wrong or the verb cannot go on.
    """
    name, *rest = arguments
    verb = find_verb(name)
    args = parser_of(name, verb).parse(rest)
    with traced(name, console):
        return verb.execute(args, console)


def open_console_for(arguments: Sequence[str]) -> Console:
    """Return the console that the command line asks for."""
    args = output_arguments(arguments)
    return open_console(
        verbosity=_verbosity(args),
        color=Color.NEVER if args.no_color else Color.AUTO,
        output=_format(args),
        stdout=sys.stdout,
        stderr=sys.stderr,
        environ=os.environ,
        mask=masking(os.environ),
        now=lambda: datetime.now(UTC),
    )


def _format(args: argparse.Namespace) -> Format:
    try:
        return Format(args.output_format or Format.TEXT)
    except ValueError:
        return Format.TEXT  # the verb's own parser refuses it


def _verbosity(args: argparse.Namespace) -> Verbosity:
    if args.quiet:
        return Verbosity.QUIET
    return Verbosity.VERBOSE if args.verbose else Verbosity.NORMAL
