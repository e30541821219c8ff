"""Shows commands the git directory: history without credentials, and nothing writable."""

from __future__ import annotations

import contextlib
import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path

from factory.sandbox.policy import Policy
from factory.sandbox.reclaim import put_aside, regain

# Git needs these to read a repo. All else is hidden, because no list of what to hide would be
# complete: tokens stand in `config`, in remote URLs of old reflogs, in files that tools leave.
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
    """Return the view for a policy, or None where the policy has no git directory.

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
    """Return the git folder of a linked worktree, or None where `pointer` names none in `root`."""
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
    is left.
    """

    path: Path
    content: bytes | None

    @classmethod
    def of(cls, workspace: Path) -> Pointer:
        """Return the pointer as it is now, before any command."""
        return cls(workspace / ".git", _regular_content(workspace / ".git"))

    @property
    def guarded(self) -> bool:
        """Return whether there is such a file; a `.git` folder is not put back."""
        return self.content is not None

    def restore(self, aside: Path) -> bool:
        """Put the file back where a command changed it, and return whether that was so.

        A folder in its place is moved below `aside`, because deleting it may take much longer
        than the command did. Raises OSError where the file system refuses.
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
    """Return what a small regular file holds; None for anything else, such as a link or a FIFO."""
    with contextlib.suppress(OSError):
        facts = path.lstat()
        if stat.S_ISREG(facts.st_mode) and facts.st_size <= _LONGEST_POINTER:
            return path.read_bytes()
    return None
