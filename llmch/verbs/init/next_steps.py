"""Says what a user does after `llmch init`, as commands to copy. Pure."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from llmch.verbs.init.place import GitState, Place


def next_steps(place: Place, spec: Path, written: Sequence[Path], cwd: Path) -> tuple[str, ...]:
    """Return the steps from here to verified commits; paths are written as seen from `cwd`."""
    return tuple(_steps(place, spec, written, cwd))


def as_seen(path: Path, cwd: Path) -> str:
    """Return `path` relative to `cwd` where it is near, else absolute."""
    relative = os.path.relpath(path, cwd)
    return str(path) if relative.startswith("../../..") else relative


def _steps(place: Place, spec: Path, written: Sequence[Path], cwd: Path) -> Iterator[str]:
    here = _is_within(cwd, place.root)
    git = "git" if here else f"git -C {_word(place.root, cwd)}"
    repo = "" if here else f" --repo {_word(place.root, cwd)}"
    plan = _word(place.root.parent / f"{place.root.name}-plan", cwd)
    if place.git is GitState.NONE:
        yield f"{git} init"
    yield f"edit {_word(spec, cwd)}"
    own = [each for each in written if _is_within(each, place.root)]
    base = cwd if here else place.root
    if place.git is not GitState.READY:
        yield f"{git} add -A && {git} commit -m start"
    elif own:
        names = " ".join(_word(each, base) for each in own)
        yield f"{git} add {names} && {git} commit -m 'Set up llmch'"
    yield f"llmch plan --spec {_word(spec, cwd)}{repo} --outdir {plan}"
    yield f"llmch run-all{repo} --workdir {plan}"


def _is_within(path: Path, folder: Path) -> bool:
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def _word(path: Path, cwd: Path) -> str:
    return shlex.quote(as_seen(path, cwd))
