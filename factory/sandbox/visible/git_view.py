"""The git directory as a command may see it: history without credentials, nothing writable."""

from __future__ import annotations

import contextlib
import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path

from factory.sandbox.policy import Policy
from factory.sandbox.reclaim import put_aside, regain

# What git needs to read a repo. A list of what to show, since what to hide has no end: tokens
# stand in `config`, in the remote URLs of old reflogs, in files that tools leave there.
_COMMON_PARTS = ("HEAD", "objects", "refs", "packed-refs", "shallow", "info/exclude")
_WORKTREE_PARTS = ("HEAD", "index", "commondir", "gitdir")
# Settings without which git misreads a repo. None can hold a secret or a command.
_SECTION = re.compile(r"\s*\[(core|extensions)\]\s*", re.IGNORECASE)
_SETTING = re.compile(
    r"\s*(repositoryformatversion|filemode|symlinks|ignorecase|precomposeunicode|autocrlf|eol"
    r"|objectformat|refstorage)\s*=\s*\w{1,16}\s*",
    re.IGNORECASE,
)
# A path, at most.
_LONGEST_POINTER = 64 * 1024


@dataclass(frozen=True, slots=True)
class GitView:
    """The git directory `root`: `parts` of it are shown, and `config` in place of its own."""

    root: Path
    parts: tuple[Path, ...]
    config: Path


def git_view(policy: Policy, config: Path) -> GitView | None:
    """The view for a policy, its scrubbed configuration written to `config`."""
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
    """A git configuration with only the settings that say how the repo is stored."""
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
    """Where a linked worktree keeps its index, if that is where git would put it."""
    content = _regular_content(pointer)
    if content is None or not content.startswith(b"gitdir: "):
        return None
    folder = Path(content.removeprefix(b"gitdir: ").strip().decode("utf-8", "surrogateescape"))
    return folder if folder.parent == root / "worktrees" else None


@dataclass(frozen=True, slots=True)
class Pointer:
    """A linked worktree's `.git` file, for backends that cannot make it read-only.

    It says which repo the next git command works on and so, by that repo's configuration, which
    programs it starts. It is compared after each command, when no process of it is left.
    """

    path: Path
    content: bytes | None

    @classmethod
    def of(cls, workspace: Path) -> Pointer:
        """The pointer as it stands now, before any command."""
        return cls(workspace / ".git", _regular_content(workspace / ".git"))

    @property
    def guarded(self) -> bool:
        """Whether there is such a file; a `.git` folder is not put back."""
        return self.content is not None

    def restore(self, aside: Path) -> bool:
        """Put the file back where a command changed it; returns whether it had.

        A folder in its place is moved below `aside`: to delete it may take the command's time
        many times over. Raises OSError when the disk refuses.
        """
        if self.content is None or _regular_content(self.path) == self.content:
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


def _regular_content(path: Path) -> bytes | None:
    """What a small regular file holds; None for anything else, above all a link or a FIFO."""
    with contextlib.suppress(OSError):
        facts = path.lstat()
        if stat.S_ISREG(facts.st_mode) and facts.st_size <= _LONGEST_POINTER:
            return path.read_bytes()
    return None
