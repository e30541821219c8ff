"""Exchanges the commits of a run between machines, by refs below `refs/llmch/` on the remote."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from shared.errors import CommandFailed
from shared.git import remote_refs
from shared.git.client import Git
from shared.git.refs import commit_of

ALL_REFS = "refs/llmch/"
_PATIENCE_SECONDS: Final = 30.0
_AGAIN_AFTER_SECONDS: Final = 1.0
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


@dataclass(slots=True)
class RunRefs:
    """Offer commits of a run to the others, and bring theirs here."""

    git: Git
    remote: str
    run: str
    _offered: set[str] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def offer(self, *commits: str) -> None:
        """Push commits that the others have to find. Raises `CommandFailed`."""
        with self._lock:
            new = set(filter(None, commits)) - self._offered
            refs = {self._ref(each): each for each in new}
            _patiently(lambda: remote_refs.push_refs(self.git, self.remote, refs))
            self._offered |= new

    def bring(self, *commits: str) -> None:
        """Fetch those of the commits that are not here yet. Raises `CommandFailed`."""
        with self._lock:
            missing = [each for each in filter(None, commits) if not commit_of(self.git, each)]
            refs = [self._ref(each) for each in missing]
            _patiently(lambda: remote_refs.fetch_refs(self.git, self.remote, refs))

    def withdraw(self, commit: str) -> None:
        """Delete the ref of a commit that nobody wants. Raises `CommandFailed`."""
        with self._lock:
            self._offered.discard(commit)
            ref = self._ref(commit)
            left = remote_refs.list_refs(self.git, self.remote, ref)
            remote_refs.push_refs(self.git, self.remote, dict.fromkeys(left, ""))

    def sweep(self) -> None:
        """Delete all refs of the run on the remote. Raises `CommandFailed`."""
        _patiently(self._sweep)

    def _sweep(self) -> None:
        # Another run may be sweeping, too: what it deleted meanwhile is not there the next time.
        left = remote_refs.list_refs(self.git, self.remote, f"{ALL_REFS}{self.run}/")
        remote_refs.push_refs(self.git, self.remote, dict.fromkeys(left, ""))

    def _ref(self, commit: str) -> str:
        # Another machine may have named the commit; anything else could be a refspec to git.
        if not _COMMIT.fullmatch(commit):
            raise CommandFailed(f"{commit[:100]!r} is not the id of a commit")
        return f"{ALL_REFS}{self.run}/{commit}"


def _patiently(ask: Callable[[], None]) -> None:
    """Ask the remote again for a while where it refuses: a server may be restarting."""
    until = time.monotonic() + _PATIENCE_SECONDS
    while True:
        try:
            return ask()
        except remote_refs.NoCredential:
            raise
        except CommandFailed:
            if time.monotonic() > until:
                raise
        time.sleep(_AGAIN_AFTER_SECONDS)


def run_of_ref(ref: str) -> str:
    """Return the run that a ref belongs to; "" where it is of another form."""
    run, _, commit = ref.removeprefix(ALL_REFS).partition("/")
    return run if _COMMIT.fullmatch(commit) else ""
