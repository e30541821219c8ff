"""Links installed bytecode into the folder that a command's PYTHONPYCACHEPREFIX names.

Where that variable is set, Python reads bytecode only below the folder that it names.
`target_path` resets the prefix as soon as it runs, but `.pth` files have imported modules before
that. For an editable install made by setuptools these are `pathlib` and all that it needs;
compiling them would cost each start of Python a third of a second. So the folder holds links to
the installed bytecode.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from factory.sandbox.visible.interpreter import Interpreter

# By then every interpreter has imported some of these, and the usual .pth files the others.
_ALWAYS = frozenset(("__future__", "encodings", "_distutils_hack", "_virtualenv"))
_USUAL = frozenset(("distutils-precedence.pth", "_virtualenv.pth"))
# The finders of editable installs import these. Not every module is linked, because a file system
# may need half a millisecond for a link.
_OFTEN = frozenset(
    (
        *("collections", "contextlib", "copyreg", "enum", "fnmatch", "functools", "glob"),
        *("importlib", "ipaddress", "keyword", "ntpath", "operator", "pathlib", "re", "reprlib"),
        *("types", "typing", "urllib", "warnings"),
    )
)


def write_mirror(interpreter: Interpreter, mirror: Path) -> None:
    """Fill the empty folder `mirror` with links to installed bytecode.

    The bytecode is that of modules, and of packages one level deep.
    """
    for place, links in _links(interpreter):
        folder = mirror / place.relative_to("/")
        folder.mkdir(parents=True, exist_ok=True)
        for name, target in links:
            os.symlink(target, f"{folder}/{name}")  # noqa: PTH211  # pathlib takes twice as long


@cache
def _links(interpreter: Interpreter) -> tuple[tuple[Path, tuple[tuple[str, str], ...]], ...]:
    """Return the name and the target of each link, for each folder that imports come from.

    They are looked up once for all workbenches. What is installed later is compiled again.
    """
    places = _places(interpreter)
    wanted = _ALWAYS | _OFTEN if any(_runs_code(place) for place in places) else _ALWAYS
    return tuple(
        (
            place,
            tuple(
                (name, target)
                for name, target in _compiled(place, f".{interpreter.tag}.pyc")
                if name.partition(".")[0] in wanted or name.startswith("__editable__")
            ),
        )
        for place in places
    )


def link_mirror(interpreter: Interpreter, mirror: Path, prefix: Path) -> None:
    """Link from `prefix`, where commands can write, to the mirror, where they cannot."""
    outermost: list[Path] = []
    for place in _places(interpreter):
        if not any(place.is_relative_to(each) for each in outermost):
            outermost.append(place)
            link = prefix / place.relative_to("/")
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(mirror / place.relative_to("/"))


def _places(interpreter: Interpreter) -> list[Path]:
    """Return the folders that the first imports come from, outer folders before inner ones."""
    version = interpreter.library.name
    packages = (
        interpreter.prefixes[0] / "lib" / name / folder
        for name in (version, "python3")  # Debian uses the second name
        for folder in ("site-packages", "dist-packages")
    )
    places = (interpreter.library, *(each for each in packages if each.is_dir()))
    return sorted(places, key=lambda place: len(place.parts))


def _runs_code(place: Path) -> bool:
    """Return whether a `.pth` file of the folder, other than the usual ones, imports modules."""
    for file in place.glob("*.pth"):
        if file.name not in _USUAL:
            with contextlib.suppress(OSError):
                if any(line.startswith(b"import") for line in file.read_bytes().splitlines()):
                    return True
    return False


def _compiled(place: Path, suffix: str) -> Iterator[tuple[str, str]]:
    """Yield the name and the target of a link for each module and each package in a folder."""
    with contextlib.suppress(FileNotFoundError):
        for entry in os.scandir(place / "__pycache__"):
            if entry.name.endswith(suffix):
                yield entry.name, entry.path
    for entry in os.scandir(place):
        if entry.is_dir(follow_symlinks=False):
            yield entry.name, f"{entry.path}/__pycache__"
