"""Shows the planner's model what the manifests of a repo say. Manifests are a stranger's text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from planner.prompts.template import fenced
from shared.projects.base import Project, VerifyCommand

_MAX_PROJECTS: Final = 20
_MAX_SCRIPTS: Final = 20
_MAX_LINE: Final = 200
_MAX_LIST: Final = 1_000  # characters of the dependencies of one manifest


def render_manifests(projects: Sequence[Project], room: int) -> str:
    """Return a paragraph on the projects: name, scripts and dependencies of each manifest.

    The result has at most `room` characters. It is empty where there is no project, or no room.
    """
    shown = [each for each in projects[:_MAX_PROJECTS] if _facts(each)]
    while shown:
        blocks = "\n".join("\n".join((_head(each), *_facts(each))) for each in shown)
        text = f"What the manifests say:\n\n{fenced(blocks)}"
        if len(text) <= room:
            return text
        shown.pop()
    return ""


def render_commands(commands: Sequence[VerifyCommand]) -> str:
    """Return the commands that verify a repo, with their origins, one a line in a fence."""
    named = [_line(f"{each.text} ({each.origin})") for each in commands[:_MAX_SCRIPTS]]
    return fenced("\n".join(named)) if named else ""


def _head(project: Project) -> str:
    name = f", name {project.name}" if project.name else ""
    return _line(f"{project.manifest} ({project.tool}){name}")


def _facts(project: Project) -> tuple[str, ...]:
    """Return the lines below the head of a project; none where its manifest says nothing."""
    return tuple(_lines(project))


def _lines(project: Project) -> Iterator[str]:
    for name, command in sorted(project.scripts.items())[:_MAX_SCRIPTS]:
        yield _line(f"  script {name}: {command}")
    left = len(project.scripts) - _MAX_SCRIPTS
    if left > 0:
        yield f"  ... and {left:,} scripts more"
    if project.dependencies:
        yield f"  depends on {_listed(project.dependencies)}"


def _listed(names: Sequence[str]) -> str:
    """Return the names as a list, as far as they fit, and how many are left out."""
    kept: list[str] = []
    room = _MAX_LIST
    for name in names:
        short = _line(name)
        room -= len(short) + 2
        if room < 0:
            return f"{', '.join(kept)} and {len(names) - len(kept):,} more"
        kept.append(short)
    return ", ".join(kept)


def _line(text: str) -> str:
    """Return the text on one printable line, cut to `_MAX_LINE` characters."""
    start = text[: _MAX_LINE + 1]
    line = "".join(c if c.isprintable() else " " for c in start)
    return line if len(line) <= _MAX_LINE else f"{line[: _MAX_LINE - 4]} ..."
