"""Installed bytecode, to be found where a command's PYTHONPYCACHEPREFIX points.

Where that variable is set, Python reads no bytecode but what lies below it. `target_path` takes
it back as soon as it runs, but after what `.pth` files import; for an editable install made by
setuptools that is half the standard library, and compiling it would cost each start of Python
half a second. So the prefix leads to a mirror: links to the bytecode that is installed.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from factory.sandbox.interpreter import Interpreter

# What every interpreter imports by then, and what the usual .pth files do.
_ALWAYS = frozenset({"__future__", "encodings", "_distutils_hack", "_virtualenv"})
_LIGHT = frozenset({"distutils-precedence.pth", "_virtualenv.pth"})


def write_mirror(interpreter: Interpreter, mirror: Path) -> None:
    """Fill the empty folder `mirror`: with the first imports, or with modules and packages one
    level down where a `.pth` file may import any.
    """
    places = _places(interpreter)
    everything = any(_runs_code(place) for place in places)
    for place in reversed(places):  # the inner have their place before the outer
        links = mirror / place.relative_to("/")
        links.mkdir(parents=True, exist_ok=True)
        for name, target in _compiled(place, f".{interpreter.tag}.pyc"):
            if everything or name.partition(".")[0] in _ALWAYS:
                with contextlib.suppress(FileExistsError):  # `site-packages`, in the library
                    os.symlink(target, f"{links}/{name}")  # noqa: PTH211  # there are hundreds


def link_mirror(interpreter: Interpreter, mirror: Path, prefix: Path) -> None:
    """Lead from `prefix`, which commands can write to, to the mirror, which they cannot."""
    outermost: list[Path] = []
    for place in _places(interpreter):
        if not any(place.is_relative_to(each) for each in outermost):
            outermost.append(place)
            link = prefix / place.relative_to("/")
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(mirror / place.relative_to("/"))


def _places(interpreter: Interpreter) -> list[Path]:
    """The folders that the first imports come from, the outer before the inner."""
    version = interpreter.library.name
    roots = (interpreter.prefixes[0], interpreter.library.parents[1])
    packages = (
        root / "lib" / name / folder
        for root in dict.fromkeys(roots)
        for name in (version, "python3")  # the second is Debian's
        for folder in ("site-packages", "dist-packages")
    )
    places = (interpreter.library, *(each for each in packages if each.is_dir()))
    return sorted(places, key=lambda place: len(place.parts))


def _runs_code(place: Path) -> bool:
    """Whether a `.pth` file of the folder does more than name paths, as far as is not known."""
    for file in place.glob("*.pth"):
        if file.name not in _LIGHT:
            with contextlib.suppress(OSError):
                if any(line.startswith(b"import") for line in file.read_bytes().splitlines()):
                    return True
    return False


def _compiled(place: Path, suffix: str) -> Iterator[tuple[str, str]]:
    """The name and the target of a link for each module and each package in a folder."""
    with contextlib.suppress(FileNotFoundError):
        for entry in os.scandir(place / "__pycache__"):
            if entry.name.endswith(suffix):
                yield entry.name, entry.path
    for entry in os.scandir(place):
        if entry.is_dir(follow_symlinks=False):
            yield entry.name, f"{entry.path}/__pycache__"
