"""The target's Python: which one it is, where it lives, and the programs that lead to it."""

from __future__ import annotations

import functools
import json
import os
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path

from shared.errors import InvalidInput
from shared.process import ToolFailed, ToolMissing, run_tool

_QUESTION = """
import json, sys
print(json.dumps([sys.executable, sys.prefix, sys.base_prefix, sys.exec_prefix,
                  sys.base_exec_prefix, getattr(sys, "_base_executable", sys.executable)]))
"""
# The kernel reads no more of a script's first line (BINPRM_BUF_SIZE).
_SHEBANG_BYTES = 255


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A Python that answered: its own path and every directory it loads itself from."""

    executable: Path
    prefixes: tuple[Path, ...]

    @property
    def is_virtual(self) -> bool:
        """Whether it is a virtual environment's, known by the file beside or above it."""
        folder = self.executable.parent
        return any((place / "pyvenv.cfg").is_file() for place in (folder, folder.parent))


@functools.cache
def interpreter_of(python: Path) -> Interpreter:
    """Ask `python` where it lives. Raises `InvalidInput` when it is no working interpreter."""
    if python == Path(sys.executable):
        base = getattr(sys, "_base_executable", sys.executable)
        places = [sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix]
        return _interpreter(sys.executable, places, base)
    hint = "name a working interpreter with --python"
    try:
        done = run_tool(
            [str(python), "-I", "-c", _QUESTION], cwd=Path("/"), env={}, timeout_seconds=30
        )
        answer = done.stdout.splitlines()[-1]  # before it comes what its start-up prints
        executable, *places, base = json.loads(answer)
    except (ToolMissing, ToolFailed) as error:
        raise InvalidInput(str(error), hint) from error
    except (ValueError, IndexError) as error:
        said = done.stderr.decode("utf-8", "replace").strip()[-300:]
        raise InvalidInput(f"{python} is no working Python interpreter: {said}", hint) from error
    return _interpreter(executable, places, base)


def _interpreter(executable: str, places: list[str], base: str) -> Interpreter:
    folders = [Path(each) for each in places] + [Path(base).parent]
    return Interpreter(Path(executable), tuple(dict.fromkeys(folders)))


def write_programs(interpreter: Interpreter, folder: Path) -> None:
    """Fill `folder` so that, with the interpreter's own folder next on PATH, the usual names
    mean this interpreter.

    A link to a virtual environment's python would lose the environment (`pyvenv.cfg` is looked
    for beside the path as called), so its names are left to its own folder where they are there.
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
