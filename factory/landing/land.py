"""Moves the branch to a verified commit with its statement, here or on a remote.

A landing is stated before the branch moves, so that a kill never leaves a commit of the branch
without its statement. A commit that never lands keeps a note that nothing points to.

A ref of notes has one history for all branches and for everybody. So the notes that are there are
merged first, one by one, and the ref moves only from where it was seen.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

from factory.orders.order_commit import NOTES_REF
from factory.orders.task import OrderResult, OrderTask, Passed
from factory.preflight import checkout_of, name_paths, untracked_in_the_way
from factory.statement.compose_statement import (
    LandingCommit,
    Signed,
    StandingCommit,
    compose_acceptance,
    compose_statement,
)
from factory.statement.statement import (
    PROOF_REF,
    Acceptance,
    Envelope,
    Snapshot,
    Statement,
    payload_of,
    write_envelope,
)
from shared.errors import CommandFailed, LlmchError, PreflightRefused
from shared.events.events import Emit, Warned
from shared.git import commits, refs, repos, trees
from shared.git.client import Checkout, Git, GitFailed
from shared.git.commits import CommitFacts, NotesMerge
from shared.git.repos import Identity
from shared.git.signing import SigningConfig, SigningFailed, read_signing_config, sign

_ON_A_BRANCH = b"ref: refs/heads/"
_STAND_IN = b".invalid"  # the name in HEAD if refs are not kept in files (reftable)
_LONGEST_HEAD = 4096


def surely_not_checked_out(branch: str, common_dir: Path) -> bool:
    """Return whether the HEAD files of all working trees say that none is on `branch`.

    The result is false if a working tree is on `branch`, and also in any case of doubt;
    `Git.checkouts` then gives the certain answer.
    """
    # Some file systems treat names that differ only in case as the same name.
    wanted = branch.encode("utf-8", "surrogateescape").lower()
    try:
        return all(_is_on_another(_read(head), wanted) for head in _heads(common_dir))
    except OSError:
        return False


def _heads(common_dir: Path) -> Iterator[Path]:
    yield common_dir / "HEAD"
    linked = common_dir / "worktrees"
    if linked.is_dir():
        for folder in linked.iterdir():
            yield folder / "HEAD"


def _read(head: Path) -> bytes:
    """Return the content of a HEAD file; b"" if it is a link, as in repos of very old gits."""
    if head.is_symlink():
        return b""
    with head.open("rb") as file:
        return file.read(_LONGEST_HEAD).strip()


def _is_on_another(head: bytes, branch: bytes) -> bool:
    if not head.startswith(_ON_A_BRANCH):
        return len(head) in (40, 64) and head.isalnum()  # detached, at a commit's id
    found = head.removeprefix(_ON_A_BRANCH).lower()
    return found not in (branch, _STAND_IN)


_TRIES = 3  # a further try is needed only if a user switched branches within some milliseconds
_MOVED = "someone else moved it in the meantime"
_STUCK = (
    "git could not move it; see that it can be written, and that a git which was killed has left "
    "no lock file (`BRANCH.lock` below refs/heads)"
)


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

    def check(self, new: str) -> None:
        """Raise `PreflightRefused`, and keep `new` aside, if landing it would write another ref.

        That is so if somebody made the branch or a ref of llmch's own symbolic since the preflight.
        """
        for name in (self.ref, *refs.OWN_REFS):
            if target := refs.leads_to(self.common_dir, name):
                kept = self._keep_aside(new, f"{name} only leads to {target} now")
                raise PreflightRefused(kept.message, kept.hint)

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
                    at = refs.commit_of(self.git, self.ref) or refs.NO_COMMIT
                    raise self._keep_aside(new, _STUCK if at == old else _MOVED)
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
        done = repos.fast_forward(place, new)
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
        before = refs.commit_of(place, "ORIG_HEAD")  # which `git merge` has set
        if refs.commit_of(place, "HEAD") != new or not before:
            return
        try:
            repos.reset_keeping(place, before)
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
        if trees.has_staged(place, new) or not trees.has_staged(place, old):
            return False
        return refs.move(self.git, self.ref, old, new, f"llmch: run {self.run_id}, taken back")

    def _checkout(self) -> Checkout | None:
        if surely_not_checked_out(self.branch, self.common_dir):
            return None
        return checkout_of(self.branch, repos.checkouts(self.git))

    def _keep_aside(self, commit: str, reason: str) -> CommandFailed:
        kept = f"refs/llmch/{self.run_id}"
        self.git.run("update-ref", "--no-deref", kept, commit)
        return CommandFailed(
            f"branch {self.branch!r} was left as it is: {reason}",
            f"the verified commit is kept: `git merge {kept}`, or `git cherry-pick {kept}`",
        )


def land_content(landing: Landing, tip: str, path: str, content: bytes, facts: CommitFacts) -> str:
    """Land a commit that gives one file of `tip` a new content, and return it.

    Raises as `Landing.check` and `Landing.land` do.
    """
    tree = trees.with_content(landing.git, tip, path, content)
    new = commits.write(landing.git, tree, tip, facts)
    landing.check(new)
    landing.land(new, tip)
    return new


def _own_files_at_risk(place: Git, old: str, new: str) -> str:
    """Return which of the person's files in the tree a fast-forward would overwrite; "" if none."""
    written = trees.files_between(place, old, new)
    if changed := sorted(written.intersection(repos.changes(place).changed)):
        return f"it has uncommitted changes in {name_paths(changed)}"
    if untracked := untracked_in_the_way(place, written):
        return f"it has untracked files where the commit writes: {name_paths(untracked)}"
    return ""


Compose = Callable[[Signed], Statement | Acceptance]
"""Composes a statement that says in which form it is signed, if it is."""


@dataclass(slots=True)
class Notary:
    """Write the statements of one run. No failure here keeps a commit from landing."""

    git: Git
    run_id: str
    emit: Emit
    _config: SigningConfig | None = field(default=None, init=False)
    _asked: bool = field(default=False, init=False)
    _before: Snapshot | None = field(default=None, init=False)
    """The commit of the statement before, on which the next one mostly follows."""

    def attest(self, task: OrderTask, result: OrderResult, parent: str) -> None:
        """Attach a statement to the commit of a result that passed on `parent`.

        A warning says so where that fails, or where the statement stays unsigned.
        """
        passed = result.verdict
        if isinstance(passed, Passed):
            self._attach(
                task,
                passed.commit,
                lambda: partial(
                    compose_statement, self._described(task, passed, parent), result.records
                ),
            )

    def attest_acceptance(self, commit: StandingCommit) -> None:
        """State that a person's commit was accepted for an order, with the same warnings.

        Other statements on the commit stay: it may be accepted for several orders.
        """
        self._attach(commit.task, commit.result.commit, lambda: partial(compose_acceptance, commit))

    def _attach(self, task: OrderTask, commit: str, prepare: Callable[[], Compose]) -> None:
        try:
            envelope = self._sealed(prepare(), task)
            write_envelope(self.git, commit, envelope.render(), task.commit_facts(""))
        except (LlmchError, ValueError) as error:
            said = error.message if isinstance(error, LlmchError) else str(error)
            self.emit(Warned(f"no statement was added to {commit[:12]}: {said}"))

    def _described(self, task: OrderTask, passed: Passed, parent: str) -> LandingCommit:
        git, before = self.git, self._before
        self._before = Snapshot(commit=passed.commit, tree=passed.tree)
        return LandingCommit(
            task=task,
            passed=passed,
            base=before
            if before and before.commit == parent
            else Snapshot(commit=parent, tree=trees.tree_of(git, parent)),
            written={
                **passed.stored,
                **trees.hashes_of_files(
                    git,
                    passed.commit,
                    [each for each in passed.files if each not in passed.stored],
                ),
            },
            run_id=self.run_id,
        )

    def _sealed(self, compose: Compose, task: OrderTask) -> Envelope:
        config = self._signing()
        if config is not None:
            envelope = Envelope(payload_of(compose(config.format.value)))
            try:
                person = str(task.terms.author)
                signature = sign(self.git, config, envelope.signed_bytes, person)
                return Envelope(envelope.payload, (signature,))
            except SigningFailed as failed:
                # A person who did not answer once is not asked again for each order.
                self._config = None
                self._warn(failed.message)
        return Envelope(payload_of(compose(None)))

    def _signing(self) -> SigningConfig | None:
        if not self._asked:
            self._asked = True
            try:
                config = read_signing_config(self.git)
                self._config = config if config.signs_commits else None
            except GitFailed as failed:
                self._warn(failed.message)
            except ValueError as useless:
                self._warn(str(useless))
        return self._config

    def _warn(self, why: str) -> None:
        self.emit(
            Warned(
                "you sign commits, and the statements about the commits of this run are not "
                f"signed from here on: {why}"
            )
        )


_NOTES_ON_REMOTE_TRIES: Final = (
    20  # a further try is needed only if another run pushed notes within milliseconds
)
_REFUSALS: Final = 3  # without any such notes: the remote refuses, and asking again is of no use
_MERGED_BY: Final = {NOTES_REF: NotesMerge.TEXTS, PROOF_REF: NotesMerge.LINES}


def publish_notes(git: Git, remote: str, author: Identity) -> None:
    """Bring the notes for people, and those with statements, to a remote, and its own here.

    Where a commit has a note here and another one there, it has both afterwards. `author` makes the
    merge. Raises `CommandFailed` if the remote refuses, and `GitFailed` if a merge fails.
    """
    for ref, how in _MERGED_BY.items():
        _publish(git, remote, ref, how, author)


def _publish(git: Git, remote: str, ref: str, how: NotesMerge, author: Identity) -> None:
    if not refs.commit_of(git, ref):
        return None
    seen: list[str] = []
    while True:
        theirs = refs.list_refs(git, remote, ref).get(ref, "")
        if theirs == refs.commit_of(git, ref):
            return None
        if theirs:
            refs.fetch_refs(git, remote, (ref,))
            commits.merge_notes(git, ref, theirs, how, author)
        try:
            return refs.move_ref(git, remote, ref, refs.commit_of(git, ref), theirs)
        except CommandFailed:
            seen.append(theirs)
            if len(seen) >= _NOTES_ON_REMOTE_TRIES or seen.count(theirs) >= _REFUSALS:
                raise


_PATIENCE_SECONDS: Final = 30.0
_AGAIN_AFTER_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class LandingOnRemote:
    """Land the commits of one run on a branch of `remote`, and then `here`, in a clone.

    `author` signs the commits of the notes, where others have added notes at the same time.
    """

    here: Landing
    remote: str
    author: Identity

    @property
    def branch(self) -> str:
        return self.here.branch

    def check(self, new: str) -> None:
        """Raise `PreflightRefused` as `Landing.check` does."""
        self.here.check(new)

    def land(self, new: str, old: str) -> Path | None:
        """Move the remote's branch from `old` to `new`, and then the clone's.

        A branch that is at `new` already was moved by this call, whose answer was lost, or by a run
        that made the same commit. Raises `CommandFailed` if someone else moved it, and if the
        remote refuses for half a minute. The notes on what landed before go along.
        """
        with contextlib.suppress(CommandFailed):  # they are tried again at the next landing
            self.publish_notes()
        self._push(new, "" if old == refs.NO_COMMIT else old)
        return self.here.land(new, old)

    def publish_notes(self) -> None:
        """Bring the notes on commits to the remote; see `factory.landing.land`."""
        publish_notes(self.here.git, self.remote, self.author)

    def _push(self, new: str, old: str) -> None:
        """Move the remote's branch; a remote that refuses is asked again for a while."""
        git, ref = self.here.git, self.here.ref
        until = time.monotonic() + _PATIENCE_SECONDS
        while True:
            try:
                return refs.move_ref(git, self.remote, ref, new, old)
            except refs.NoCredential:
                raise
            except CommandFailed as refused:
                error = refused
            found = self._standing(otherwise=old)
            if found == new:
                return None
            if found != old:
                raise CommandFailed(
                    f"branch {self.branch!r} of the remote was left as it is: someone else moved "
                    "it in the meantime",
                    "what has landed stays; the same plan again goes on from the branch's tip",
                )
            if time.monotonic() > until:
                raise error
            time.sleep(_AGAIN_AFTER_SECONDS)

    def _standing(self, *, otherwise: str) -> str:
        """Return where the remote's branch is; `otherwise` where the remote does not answer."""
        ref = self.here.ref
        with contextlib.suppress(CommandFailed):
            return refs.list_refs(self.here.git, self.remote, ref).get(ref, "")
        return otherwise
