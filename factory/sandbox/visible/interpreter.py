"""Finds out where the target's Python is installed, and writes the programs that start it."""

from __future__ import annotations

import functools
import json
import os
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from shared.errors import InvalidInput
from shared.process import ToolFailed, ToolMissing, run_tool

# Any interpreter but llmch's own runs this, in a process of its own whose output is the answer. So
# it prints, and is written for every version of Python 3.
_QUESTION = """
import json, os, sys
print(json.dumps([sys.executable, getattr(sys, "_base_executable", sys.executable),
                  sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix,
                  os.path.dirname(os.__file__), sys.implementation.cache_tag]))
"""
_ANSWER_SECONDS = 30.0
# The kernel reads no more of a script's first line (BINPRM_BUF_SIZE).
_SHEBANG_BYTES = 255
# `/`, `/usr` and `/usr/local` are the prefix of far more than an interpreter.
_PARTS_OF_A_COMMON_PREFIX = 3


@dataclass(frozen=True, slots=True)
class Interpreter:
    """Describe a Python that answered: its own path and every directory it loads itself from."""

    executable: Path
    prefixes: tuple[Path, ...]
    library: Path
    """The folder of its standard library."""
    tag: str
    """The cache tag in the names of its bytecode files."""

    @property
    def is_virtual(self) -> bool:
        """Return whether it belongs to a virtual environment."""
        return virtual_root(self.executable) is not None


@functools.cache
def interpreter_of(python: Path) -> Interpreter:
    """Ask `python` where it is installed. Raises `InvalidInput` where it does not work."""
    if python == Path(sys.executable):
        base = getattr(sys, "_base_executable", sys.executable)
        prefixes = (sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix)
        library, tag = str(Path(os.__file__).parent), sys.implementation.cache_tag or ""
        return _interpreter(sys.executable, base, *prefixes, library, tag)
    hint = "name a working interpreter with --python"
    question = [str(python), "-I", "-S", "-c", _QUESTION]  # -S: its .pth files may run anything
    env = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}  # for shims
    try:
        done = run_tool(question, cwd=Path("/"), env=env, timeout_seconds=_ANSWER_SECONDS)
        return _interpreter(*json.loads(done.stdout))
    except (ToolMissing, ToolFailed) as error:
        raise InvalidInput(str(error), hint) from error
    except (ValueError, TypeError) as error:
        said = done.stderr.decode("utf-8", "replace").strip()[-300:]
        raise InvalidInput(f"{python} is not a working Python interpreter: {said}", hint) from error


def _interpreter(executable: str, base: str, *rest: str) -> Interpreter:
    *prefixes, library, tag = rest
    root = virtual_root(Path(executable))
    folders = [root] if root else []
    folders += map(Path, (*prefixes, str(Path(base).parent)))
    return Interpreter(Path(executable), tuple(dict.fromkeys(folders)), Path(library), tag)


def virtual_root(python: Path) -> Path | None:
    """Return the virtual environment of an interpreter: the folder of its `pyvenv.cfg`, or None."""
    places = (python.parent, python.parent.parent)
    return next((place for place in places if (place / "pyvenv.cfg").is_file()), None)


def write_programs(interpreter: Interpreter, folder: Path) -> None:
    """Fill `folder` with programs, so that the usual names on PATH mean this interpreter.

    The interpreter's own folder is next on PATH, and a name that it has is left to it. In a
    virtual environment a missing name becomes a script, because a link would lose the
    environment: Python looks for `pyvenv.cfg` beside the path as called.
    """
    python = interpreter.executable
    for name in ("python", "python3"):
        if not _same_file(python.parent / name, python):
            if interpreter.is_virtual:
                _write_script(folder / name, f'#!/bin/sh\nexec {shlex.quote(str(python))} "$@"\n')
            else:
                (folder / name).symlink_to(python)
    for module in ("pytest", "pip"):
        _write_script(folder / module, _module_script(python, module))


def _same_file(first: Path, second: Path) -> bool:
    try:
        return first.samefile(second)
    except OSError:
        return False


def _module_script(python: Path, module: str) -> str:
    line = f"#!{python}\n"
    if len(os.fsencode(line)) > _SHEBANG_BYTES or any(c.isspace() for c in str(python)):
        return f'#!/bin/sh\nexec {shlex.quote(str(python))} -m {module} "$@"\n'
    return (
        f'{line}import runpy\n\nrunpy.run_module("{module}", run_name="__main__", alter_sys=True)\n'
    )


def _write_script(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", errors="surrogateescape")
    path.chmod(0o755)


def python_paths(python: Path) -> Mapping[str, str]:
    """Return a map from an interpreter's paths in tracebacks to the text that stands for each."""
    names = {str(python): "python"}
    for prefix in {python.parent.parent, python.resolve().parent.parent}:
        names[f"{prefix}/lib/python".replace("//", "/")] = "<python>/lib/python"
        if len(prefix.parts) > _PARTS_OF_A_COMMON_PREFIX:
            names[str(prefix)] = "<python>"
    return names
