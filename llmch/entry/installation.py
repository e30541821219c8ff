"""Says which llmch this is: its version, the commit that it was made of, and its extras.

Python's own modules alone are imported, and no process is started.
"""

from __future__ import annotations

import re
from importlib import util
from pathlib import Path
from typing import Final

from llmch import __version__

_PACKAGE: Final = Path(__file__).resolve().parents[1]
_OBJECT_ID: Final = re.compile(r"(?:[0-9a-f]{40}|[0-9a-f]{64})(?: changed)?")
_SHOWN: Final = 12

_EXTRAS: Final = {
    "acp": "acp",
    "fleet": "dbos",
    "html": "jinja2",
    "mcp": "mcp",
    "otel": "opentelemetry",
}
"""The extras of `pyproject.toml`, each with a module that comes with it."""


def render_version() -> str:
    """Return what `llmch --version` prints: a line with version and commit, and one with extras."""
    commit, _, changed = _commit().partition(" ")
    known = f" ({commit[:_SHOWN]}{f', {changed}' if changed else ''})" if commit else ""
    extras = ", ".join(installed_extras()) or "none"
    return f"llmch {__version__}{known}\nextras: {extras}\n"


def installed_extras() -> tuple[str, ...]:
    """Return the extras whose packages are here, in alphabetical order."""
    return tuple(name for name, module in _EXTRAS.items() if util.find_spec(module))


def _commit() -> str:
    """Return the commit that is noted in a wheel, or that a checkout is at; "" if unknown.

    A word after it says that the wheel was built of files that differ from the commit.
    """
    try:
        return _checked((_PACKAGE / "COMMIT").read_text("ascii"))
    except (OSError, UnicodeDecodeError):
        return _checked_out(_PACKAGE.parent / ".git")


def _checked_out(git: Path) -> str:
    """Return the commit that the checkout with the entry `git` is at, from git's own files."""
    try:
        if git.is_file():  # a work tree beside the repository's own
            git = git.parent / git.read_text().partition("gitdir:")[2].strip()
        common = git / "commondir"
        shared = git / common.read_text().strip() if common.is_file() else git
        head = (git / "HEAD").read_text().strip()
        name = head.partition("ref:")[2].strip()
        if not name:
            return _checked(head)
        loose = shared / name
        if loose.is_file():
            return _checked(loose.read_text())
        for line in (shared / "packed-refs").read_text().splitlines():
            if line.endswith(f" {name}"):
                return _checked(line.partition(" ")[0])
    except (OSError, UnicodeDecodeError):
        pass
    return ""


def _checked(text: str) -> str:
    found = text.strip()
    return found if _OBJECT_ID.fullmatch(found) else ""
