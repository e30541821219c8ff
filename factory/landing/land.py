"""Moving the branch to a verified commit, and only from where it was expected."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from factory.landing.heads import surely_not_checked_out
from factory.repo.preflight import checkout_of
from shared.errors import CommandFailed
from shared.git.answers import Checkout
from shared.git.client import Git, GitFailed

_TRIES = 3  # each but the first because a user switched branches within some milliseconds
_MOVED = "it was moved by someone else in the meantime"


@dataclass(frozen=True, slots=True)
class Landing:
    """Lands commits of one run on one branch."""

    git: Git
    common_dir: Path
    branch: str
    run_id: str

    @property
    def ref(self) -> str:
        return f"refs/heads/{self.branch}"

    def land(self, new: str, old: str) -> Path | None:
        """Move the branch from `old` (zeros: not there yet) to `new`.

        Where a working tree has the branch checked out, that tree moves with it, by fast-forward,
        and its folder is returned. Raises `CommandFailed` where someone else moved the branch or
        local changes stand in the way; the commit then stays on `refs/llmch/<run id>`.
        """
        for _ in range(_TRIES):
            checkout = self._checkout()
            if checkout is None:
                if not self.git.move_ref(self.ref, new, old, f"llmch: run {self.run_id}"):
                    raise self._kept_aside(new, _MOVED)
                if not self._overtaken(new, old):
                    return None
            elif self._lead(checkout, new, old):
                return checkout.path
        raise self._kept_aside(new, "it is being checked out and left again and again")

    def _lead(self, checkout: Checkout, new: str, old: str) -> bool:
        """Move the branch with the tree that has it, or return false where that has left it."""
        if self.git.commit_of(self.ref) != old:
            raise self._kept_aside(new, _MOVED)
        if not checkout.path.is_dir():
            raise self._kept_aside(new, f"{checkout.path}, where it is checked out, is gone")
        place = self.git.at(checkout.path)
        done = place.fast_forward(new)
        tip = self.git.commit_of(self.ref)
        if tip == new:
            return True
        if done.exit_code == 0:
            # Another branch was switched to at that moment, and it was that which moved.
            self._take_back(place, new)
            return False
        if tip == old and self._checkout() != checkout:
            return False
        said = done.stderr.decode(errors="replace").strip()
        raise self._kept_aside(new, f"{checkout.path} could not follow: {said}")

    def _take_back(self, place: Git, new: str) -> None:
        """Bring what was moved by mistake back to where it was; local changes stay as they are."""
        before = place.commit_of("ORIG_HEAD")  # as git merge has left it
        if place.commit_of("HEAD") != new or not before:
            return
        try:
            place.reset_keeping(before)
        except GitFailed as failed:
            reason = f"another was checked out in {place.folder} just then, and moved in its place"
            raise self._kept_aside(new, f"{reason}; {failed.message}") from failed

    def _overtaken(self, new: str, old: str) -> bool:
        """Take the move back where someone checked the branch out just before, and tell so.

        Their tree is what the branch held then, and would seem changed now.
        """
        checkout = self._checkout()
        if checkout is None or not checkout.path.is_dir():
            return False
        place = self.git.at(checkout.path)
        if place.has_staged(new) or not place.has_staged(old):
            return False
        return self.git.move_ref(self.ref, old, new, f"llmch: run {self.run_id}, taken back")

    def _checkout(self) -> Checkout | None:
        if surely_not_checked_out(self.branch, self.common_dir):
            return None
        return checkout_of(self.branch, self.git.checkouts())

    def _kept_aside(self, commit: str, reason: str) -> CommandFailed:
        kept = f"refs/llmch/{self.run_id}"
        self.git.run("update-ref", kept, commit)
        return CommandFailed(
            f"branch {self.branch!r} was left as it is: {reason}",
            f"the verified commit is kept: `git merge {kept}`, or `git cherry-pick {kept}`",
        )
