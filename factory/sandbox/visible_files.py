"""Selects the host's files that a command can see, with the interpreter that starts it.

Each backend also shows the part of /etc that `etc` selects.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import re
import shlex
import shutil
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from factory.sandbox.lent_folders import put_aside, regain
from factory.sandbox.policy import Policy
from shared.errors import InvalidInput
from shared.processes.process import ProgramMissing, ToolFailed, run_tool

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
        return virtual_root(self.executable) is not None


@functools.cache
def interpreter_of(python: Path) -> Interpreter:
    """Ask `python` where it is installed. Raises `InvalidInput` if it does not work."""
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
    except (ProgramMissing, ToolFailed) as error:
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


def write_program(python: Path, path: Path, source: Path) -> None:
    """Write the Python in `source` as a program, which imports nothing but its own library."""
    text = source.read_text("utf-8")
    line = f"#!{python} -IS\n"
    if _is_shebang(line, python):
        _write_script(path, line + text)
        return
    code = path.with_suffix(".py")
    code.write_text(text, "utf-8")
    _write_script(path, f'#!/bin/sh\nexec {shlex.join([str(python), "-IS", str(code)])} "$@"\n')


def _is_shebang(line: str, python: Path) -> bool:
    return len(os.fsencode(line)) <= _SHEBANG_BYTES and not any(c.isspace() for c in str(python))


def _module_script(python: Path, module: str) -> str:
    line = f"#!{python}\n"
    if not _is_shebang(line, python):
        return f'#!/bin/sh\nexec {shlex.quote(str(python))} -m {module} "$@"\n'
    return (
        f'{line}import runpy\n\nrunpy.run_module("{module}", run_name="__main__", alter_sys=True)\n'
    )


def _write_script(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", errors="surrogateescape")
    path.chmod(0o755)


@cache
def python_paths(python: Path) -> Mapping[str, str]:
    """Return a map from an interpreter's paths in tracebacks to the text that replaces each."""
    names = {str(python): "python"}
    for prefix in {python.parent.parent, python.resolve().parent.parent}:
        names[f"{prefix}/lib/python".replace("//", "/")] = "<python>/lib/python"
        if len(prefix.parts) > _PARTS_OF_A_COMMON_PREFIX:
            names[str(prefix)] = "<python>"
    return names


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
    """Return the policy's view. Raises `InvalidInput` if it names a path that does not exist."""
    named = (*policy.read, *policy.write)
    for path in named:
        if not path.exists():
            raise InvalidInput(
                f"the sandbox cannot show {path}: no such file or folder",
                "correct --sandbox-read, --sandbox-write or these settings in the configuration",
            )
    own = (part for prefix in interpreter.prefixes for part in _parts(prefix))
    linked = (path for each in policy.linked for path in needed_by(each.source))
    named_read = (*policy.read, *linked, *policy.toolchains.read)
    read = (*map(Path, _SYSTEM), *own, interpreter.executable, *named_read, programs)
    shown = (each for each in read if each.exists() or each == programs)  # `programs` is made later
    own_tree = () if policy.place else (policy.workspace,)
    write = (*own_tree, *policy.named_caches.values(), *policy.write)
    return SandboxView(tuple(dict.fromkeys(shown)), write)


def _parts(prefix: Path) -> tuple[Path, ...]:
    """Return a Python prefix, or just Python's folders in it if it is the user's home or above."""
    if not Path("~").expanduser().is_relative_to(prefix):
        return (prefix,)
    return tuple(prefix / name for name in ("bin", "lib", "lib64", "include", "pyvenv.cfg"))


def needed_by(source: Path) -> Iterator[Path]:
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


ROOT = Path("/etc")

# These folders are shown as they are.
FOLDERS = tuple(
    ROOT / name
    for name in (
        *("alternatives", "java", "maven/logging", "pki/ca-trust", "pki/tls/certs", "ssl/certs"),
        "terminfo",
    )
) + tuple(sorted(ROOT.glob("java-*/security")))
# C libraries and runtimes read these: name lookup, shared libraries, time zone, file types, TLS.
_NAMES = (
    "group", "hosts", "ld.so.cache", "localtime", "maven/m2.conf", "mime.types", "nsswitch.conf",
    "os-release", "passwd", "pki/tls/cert.pem", "protocols", "resolv.conf", "services",
    "ssl/cert.pem", "ssl/openssl.cnf", "timezone",
)  # fmt: skip
FILES = tuple(ROOT / name for name in _NAMES) + tuple(
    # Debian's Java keeps its configuration here. `management`, beside these, may hold passwords.
    sorted(each for kind in ("cfg", "properties") for each in ROOT.glob(f"java-*/*.{kind}"))
)


def copy_to(folder: Path, places: Iterable[Path]) -> None:
    """Copy the files to the empty `folder`, and make an empty file or folder for each of `places`.

    One mount of `folder` replaces fifteen mounts, each of which would cost every command a fifth
    of a millisecond. A file that is missing or unreadable on the host is left out.
    """
    for source in FILES:
        place = folder / source.relative_to(ROOT)
        with contextlib.suppress(OSError):
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, place, follow_symlinks=source != ROOT / "localtime")
    for source in places:
        place = folder / source.relative_to(ROOT)
        if source.is_dir():
            place.mkdir(parents=True, exist_ok=True)
        else:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.touch()


# Git needs these to read a repo. All else is hidden, because no list of what to hide would be
# complete: `config`, remote URLs in old reflogs and files that tools leave contain tokens.
_COMMON_PARTS = ("HEAD", "objects", "refs", "packed-refs", "shallow", "info/exclude")
_WORKTREE_PARTS = ("HEAD", "index", "commondir", "gitdir")
# Settings without which git misreads a repo. None can hold a secret or a command.
_SECTION = re.compile(r"\s*\[(core|extensions)\]\s*", re.IGNORECASE)
_SETTING = re.compile(
    r"\s*(repositoryformatversion|filemode|symlinks|ignorecase|precomposeunicode|autocrlf|eol"
    r"|objectformat|refstorage)\s*=\s*\w{1,16}\s*",
    re.IGNORECASE,
)
# Such a file holds a path and nothing else.
_LONGEST_POINTER = 64 * 1024


@dataclass(frozen=True, slots=True)
class GitView:
    """Describe what is shown of the git directory `root`: `parts`, and `config` as its config."""

    root: Path
    parts: tuple[Path, ...]
    config: Path


def git_view(policy: Policy, config: Path) -> GitView | None:
    """Return the view for a policy, or None if the policy has no git directory.

    The scrubbed configuration is written to `config`.
    """
    root = policy.git_dir
    if root is None:
        return None
    with contextlib.suppress(OSError):
        text = (root / "config").read_text(encoding="utf-8", errors="replace")
        config.write_text(scrubbed(text), encoding="utf-8")
    own = _worktree_dir(policy.workspace / ".git", root)
    parts = [root / name for name in _COMMON_PARTS]
    if own is not None:
        parts += [own / name for name in _WORKTREE_PARTS]
    return GitView(root, tuple(parts), config)


def scrubbed(config: str) -> str:
    """Return a git configuration with only the settings that say how the repo is stored."""
    kept: list[str] = []
    wanted = False
    for line in config.splitlines():
        if line.lstrip().startswith("["):
            wanted = _SECTION.fullmatch(line) is not None
            kept += [line] if wanted else []
        elif wanted and _SETTING.fullmatch(line):
            kept.append(line)
    return "\n".join(kept) + "\n"


def _worktree_dir(pointer: Path, root: Path) -> Path | None:
    """Return the git folder of a linked worktree, or None if `pointer` names none in `root`."""
    content = _regular_content(pointer)
    if content is None or not content.startswith(b"gitdir: "):
        return None
    folder = Path(content.removeprefix(b"gitdir: ").strip().decode("utf-8", "surrogateescape"))
    return folder if folder.parent == root / "worktrees" else None


@dataclass(frozen=True, slots=True)
class Pointer:
    """Hold a linked worktree's `.git` file, for backends that cannot make it read-only.

    The file decides which repo the next git command works on and so, by that repo's configuration,
    which programs git starts. It is compared after each command, when no process of the command
    is left, and read only where the system says that it was changed: a read means that a command
    asked git.
    """

    path: Path
    content: bytes | None
    changed: tuple[int, ...]

    @classmethod
    def of(cls, workspace: Path) -> Pointer:
        """Return the pointer as it is now, before any command."""
        path = workspace / ".git"
        return cls(path, _regular_content(path), _changed(path))

    @property
    def guarded(self) -> bool:
        """Return whether there is such a file; a `.git` folder is not put back."""
        return self.content is not None

    def restore(self, aside: Path) -> bool:
        """Put the file back where a command changed it, and return whether that was so.

        A folder in its place is moved below `aside`, because deleting it may take much longer
        than the command did. Raises OSError if the file system refuses.
        """
        if self.content is None or _changed(self.path) == self.changed:
            return False
        if _regular_content(self.path) == self.content:
            return False
        regain(self.path.parent)
        if self.path.is_dir() and not self.path.is_symlink():
            put_aside(self.path, aside)
        else:
            self.path.unlink(missing_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(self.path, flags, 0o644), "wb") as file:
            file.write(self.content)
        return True


def _changed(path: Path) -> tuple[int, ...]:
    """Return which file this is and when it was last changed, which no command can set."""
    try:
        facts = path.lstat()
    except OSError:
        return ()
    return facts.st_dev, facts.st_ino, facts.st_ctime_ns


def _regular_content(path: Path) -> bytes | None:
    """Return what a small regular file holds; None for anything else, such as a link or a FIFO."""
    with contextlib.suppress(OSError):
        facts = path.lstat()
        if stat.S_ISREG(facts.st_mode) and facts.st_size <= _LONGEST_POINTER:
            return path.read_bytes()
    return None
