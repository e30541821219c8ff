"""Installed bytecode, to be found where a command's PYTHONPYCACHEPREFIX points.

Where that variable is set, Python reads no bytecode but what lies below it. `target_path` takes
it back as soon as it runs, but after what `.pth` files import; for an editable install made by
setuptools that is `pathlib` with all that it needs, and compiling it would cost each start of
Python a third of a second. So the prefix leads to links to the bytecode that is installed.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from factory.sandbox.visible.interpreter import Interpreter

# What every interpreter imports by then, and what the usual .pth files do.
_ALWAYS = frozenset(("__future__", "encodings", "_distutils_hack", "_virtualenv"))
_USUAL = frozenset(("distutils-precedence.pth", "_virtualenv.pth"))
# What the finders of editable installs import. Not all there is: a link costs a file system up to
# half a millisecond.
_OFTEN = frozenset(
    (
        *("collections", "contextlib", "copyreg", "enum", "fnmatch", "functools", "glob"),
        *("importlib", "ipaddress", "keyword", "ntpath", "operator", "pathlib", "re", "reprlib"),
        *("types", "typing", "urllib", "warnings"),
    )
)


def write_mirror(interpreter: Interpreter, mirror: Path) -> None:
    """Fill the empty folder `mirror` with links to the bytecode of modules, and of packages as far
    as one level down.
    """
    places = _places(interpreter)
    wanted = _ALWAYS | _OFTEN if any(_runs_code(place) for place in places) else _ALWAYS
    for place in places:
        links = mirror / place.relative_to("/")
        links.mkdir(parents=True, exist_ok=True)
        for name, target in _compiled(place, f".{interpreter.tag}.pyc"):
            if name.partition(".")[0] in wanted or name.startswith("__editable__"):
                (links / name).symlink_to(target)


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
    packages = (
        interpreter.prefixes[0] / "lib" / name / folder
        for name in (version, "python3")  # the second is Debian's
        for folder in ("site-packages", "dist-packages")
    )
    places = (interpreter.library, *(each for each in packages if each.is_dir()))
    return sorted(places, key=lambda place: len(place.parts))


def _runs_code(place: Path) -> bool:
    """Whether a `.pth` file of the folder does more than name paths, as far as is not known."""
    for file in place.glob("*.pth"):
        if file.name not in _USUAL:
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
