"""Lists the host's files that a command can see; each backend shows them in its own way.

Each backend also shows the part of /etc that `etc` selects.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from factory.sandbox.policy import Policy
from factory.sandbox.visible.interpreter import Interpreter
from shared.errors import InvalidInput

_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store")


@dataclass(frozen=True, slots=True)
class SandboxView:
    """Hold paths as the command names them; each of them exists on the host."""

    read: tuple[Path, ...]
    write: tuple[Path, ...]

    def writable(self, path: Path) -> bool:
        """Return whether `path` lies in a folder that can be written."""
        return any(path.is_relative_to(each) for each in self.write)

    def readable(self, path: Path) -> bool:
        """Return whether `path` lies in a folder that can be read."""
        return self.writable(path) or any(path.is_relative_to(each) for each in self.read)


def view_of(policy: Policy, interpreter: Interpreter, programs: Path) -> SandboxView:
    """Return the policy's view. Raises `InvalidInput` where it names a path that does not exist."""
    named = (*policy.read, *policy.write)
    for path in named:
        if not path.exists():
            raise InvalidInput(
                f"the sandbox cannot show {path}: no such file or folder",
                "correct --sandbox-read, --sandbox-write or these settings in the configuration",
            )
    own = (part for prefix in interpreter.prefixes for part in _parts(prefix))
    linked = (path for each in policy.linked for path in _needed_by(each.source))
    named_read = (*policy.read, *linked, *policy.toolchains.read)
    read = (*map(Path, _SYSTEM), *own, interpreter.executable, *named_read, programs)
    shown = (each for each in read if each.exists() or each == programs)  # `programs` is made later
    write = (policy.workspace, policy.go_cache, *policy.write)
    return SandboxView(tuple(dict.fromkeys(shown)), write)


def _parts(prefix: Path) -> tuple[Path, ...]:
    """Return a Python prefix, or just Python's folders in it if it is the user's home or above."""
    if not Path("~").expanduser().is_relative_to(prefix):
        return (prefix,)
    return tuple(prefix / name for name in ("bin", "lib", "lib64", "include", "pyvenv.cfg"))


def _needed_by(source: Path) -> Iterator[Path]:
    """Yield a linked folder under its own name and, for a virtual environment, its base Python.

    Scripts of an environment name its interpreter by the path where it was installed.
    """
    yield source
    executable = source / "bin" / "python"
    if (source / "pyvenv.cfg").is_file() and executable.is_file():
        yield executable
        prefix = executable.resolve().parent.parent
        # The link may lead to anything; only what looks like an installed Python is shown.
        if any(prefix.glob("lib/python3*/os.py")):
            yield from _parts(prefix)


def links_on(path: Path) -> tuple[tuple[Path, str], ...]:
    """Return the symbolic links on the way to `path`'s file, each with its target as written."""
    links: list[tuple[Path, str]] = []
    done, todo = Path("/"), list(path.parts[1:])
    while todo and len(links) < 40:  # as many as the kernel follows
        name = todo.pop(0)
        if name == "..":
            done = done.parent
            continue
        here = done / name
        try:
            target = str(here.readlink())
        except OSError:
            done = here
            continue
        links.append((here, target))
        parts = Path(target).parts
        if target.startswith("/"):
            done, parts = Path("/"), parts[1:]
        todo = [*parts, *todo]
    return tuple(links)
