"""Moves the branch to a verified commit, but only from the commit where it was expected."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from factory.landing.heads import surely_not_checked_out
from factory.repo.in_the_way import untracked_in_the_way
from factory.repo.path_names import name_paths
from factory.repo.preflight import checkout_of
from shared.errors import CommandFailed
from shared.git import index, patches, refs, worktrees
from shared.git.answers import Checkout
from shared.git.client import Git, GitFailed

_TRIES = 3  # a further try is needed only if a user switched branches within some milliseconds
_MOVED = "someone else moved it in the meantime"


@dataclass(frozen=True, slots=True)
class Landing:
    """Land the commits of one run on one branch."""

    git: Git
    common_dir: Path
    branch: str
    run_id: str

    @property
    def ref(self) -> str:
        return f"refs/heads/{self.branch}"

    def land(self, new: str, old: str) -> Path | None:
        """Move the branch from `old` to `new`; zeros in `old` mean that it does not exist yet.

        If a working tree has the branch checked out, the tree moves with the branch by
        fast-forward, and the folder of the tree is returned. Raises `CommandFailed` if someone
        else moved the branch or if local changes are in the way. The commit then stays on
        `refs/llmch/<run id>`.
        """
        for _ in range(_TRIES):
            checkout = self._checkout()
            if checkout is None:
                if not refs.move(self.git, self.ref, new, old, f"llmch: run {self.run_id}"):
                    raise self._keep_aside(new, _MOVED)
                if not self._undo_if_checked_out(new, old):
                    return None
            elif self._move_with_tree(checkout, new, old):
                return checkout.path
        raise self._keep_aside(new, "working trees keep switching to it and away from it")

    def _move_with_tree(self, checkout: Checkout, new: str, old: str) -> bool:
        """Move the branch together with the tree that has it checked out, and return true.

        Return false, without moving the branch, if the tree has switched to another branch.
        """
        if refs.commit_of(self.git, self.ref) != old:
            raise self._keep_aside(new, _MOVED)
        if not checkout.path.is_dir():
            raise self._keep_aside(new, f"{checkout.path}, where it is checked out, is gone")
        place = self.git.at(checkout.path)
        done = worktrees.fast_forward(place, new)
        tip = refs.commit_of(self.git, self.ref)
        if tip == new:
            return True
        if done.exit_code == 0:
            # The tree switched to another branch at that moment, and that branch moved instead.
            self._move_back(place, new)
            return False
        if tip == old and self._checkout() != checkout:
            return False
        reason = _own_files_at_risk(place, old, new) or done.stderr.decode(errors="replace").strip()
        raise self._keep_aside(new, f"{checkout.path} could not follow: {reason}")

    def _move_back(self, place: Git, new: str) -> None:
        """Move the branch that was moved by mistake back; local changes stay as they are."""
        before = refs.commit_of(place, "ORIG_HEAD")  # which `git merge` has set
        if refs.commit_of(place, "HEAD") != new or not before:
            return
        try:
            worktrees.reset_keeping(place, before)
        except GitFailed as failed:
            reason = f"{place.folder} just switched to another branch, which moved instead"
            raise self._keep_aside(new, f"{reason}; {failed.message}") from failed

    def _undo_if_checked_out(self, new: str, old: str) -> bool:
        """Undo the move if someone checked the branch out just before; return whether it is undone.

        Their tree holds the commit that the branch was at then, so it would now appear changed.
        """
        checkout = self._checkout()
        if checkout is None or not checkout.path.is_dir():
            return False
        place = self.git.at(checkout.path)
        if index.has_staged(place, new) or not index.has_staged(place, old):
            return False
        return refs.move(self.git, self.ref, old, new, f"llmch: run {self.run_id}, taken back")

    def _checkout(self) -> Checkout | None:
        if surely_not_checked_out(self.branch, self.common_dir):
            return None
        return checkout_of(self.branch, worktrees.checkouts(self.git))

    def _keep_aside(self, commit: str, reason: str) -> CommandFailed:
        kept = f"refs/llmch/{self.run_id}"
        self.git.run("update-ref", kept, commit)
        return CommandFailed(
            f"branch {self.branch!r} was left as it is: {reason}",
            f"the verified commit is kept: `git merge {kept}`, or `git cherry-pick {kept}`",
        )


def _own_files_at_risk(place: Git, old: str, new: str) -> str:
    """Return which of the person's files in the tree a fast-forward would overwrite; "" if none."""
    written = patches.files_between(place, old, new)
    if changed := sorted(written.intersection(worktrees.changes(place).changed)):
        return f"it has uncommitted changes in {name_paths(changed)}"
    if untracked := untracked_in_the_way(place, written):
        return f"it has untracked files where the commit writes: {name_paths(untracked)}"
    return ""
