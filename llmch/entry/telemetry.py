"""Decides, by a variable of the person's, whether a command is drawn as a trace."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping

from llmch.console import Console
from llmch.console.console import protection
from shared.errors import CommandFailed, InvalidInput, LlmchError
from shared.secrets.redaction import masking

VARIABLE = "LLMCH_TELEMETRY"
_OFF = ("", "off", "0")
_ON = ("on", "1")
_CONTENT = "content"


def is_asked_for(environ: Mapping[str, str] = os.environ) -> bool:
    """Return whether the person asked for traces."""
    return environ.get(VARIABLE, "").lower() not in _OFF


@contextlib.contextmanager
def traced(verb: str, console: Console, environ: Mapping[str, str] = os.environ) -> Iterator[None]:
    """Draw what happens in the block as a trace, where the person asked for it.

    Raises `InvalidInput` where the variable has another value, and `CommandFailed` where the
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
    from llmch.telemetry.tracing import Tracing

    protect = protection(masking(environ))
    try:
        tracing = Tracing(verb, content=asked == _CONTENT, protect=protect, environ=environ)
    except ModuleNotFoundError as error:
        raise CommandFailed(
            f"the package {error.name} is not installed, which {VARIABLE}={asked} needs",
            f"pip install 'llmch[otel]', or unset {VARIABLE}",
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
