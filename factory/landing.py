"""Moving the branch to a verified commit, and only from where it was expected."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from factory.preflight import checkout_of
from shared.errors import CommandFailed
from shared.git import Checkout, Git
from shared.git_heads import surely_not_checked_out


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
        checkout = self._checkout()
        if checkout is None:
            if not self.git.move_ref(self.ref, new, old, f"llmch: run {self.run_id}"):
                raise self._kept_aside(new, "it was moved by someone else in the meantime")
            return None
        if self.git.commit_of(self.ref) != old:
            raise self._kept_aside(new, "it was moved by someone else in the meantime")
        if not checkout.path.is_dir():
            raise self._kept_aside(new, f"{checkout.path}, where it is checked out, is gone")
        done = self.git.at(checkout.path).fast_forward(new)
        if done.exit_code:
            said = done.stderr.decode(errors="replace").strip()
            raise self._kept_aside(new, f"{checkout.path} could not follow: {said}")
        return checkout.path

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
