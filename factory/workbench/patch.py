"""Renders what a proposal changes as a patch, by git's own diff, also where it was never written.

A patch is a record for people. Nothing is decided by it.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from factory.orders.documents import WriteProposal
from factory.record.attempts_on_record import AttemptOnRecord
from shared.errors import PreflightRefused
from shared.files.paths import PathProblem, check_path, is_git_path
from shared.git import patches, refs, trees
from shared.git.client import Git

_MOST_FILES = 200
"""The most files of an unwritten proposal that are compared; an order names far fewer."""
# Git names both sides of a new file by the folder that has it. No line of content begins like this.
_NEW_FILE = re.compile(rb'^(diff --git "?)b/', re.MULTILINE)
_FILE_MODES = {"100644": 0o644, "100755": 0o755}


def patch_of_proposal(
    git: Git,
    baseline: str,
    proposal: WriteProposal,
    tree: str = "",
    *,
    removed: Sequence[str] = (),
) -> bytes:
    """Return the patch from the commit `baseline` to the proposal's files.

    `removed` are files that the order removes beside them. `tree` is the tree that git made of all
    that, if it made one. Without it, the files are
    compared with those of the baseline outside of any repo. A file that cannot be compared is
    named on a line of its own, above the patch. Raises `GitFailed` if git cannot read the baseline.
    """
    if tree:
        return patches.between(git, baseline, tree)
    writes = {each.path: each.content.encode() for each in proposal.writes}
    problems = {path: _problem_with(path) for path in (*writes, *removed)}
    compared = [path for path in problems if not problems[path]]
    problems |= dict.fromkeys(compared[_MOST_FILES:], f"is beyond the first {_MOST_FILES} files")
    compared = compared[:_MOST_FILES]
    before = trees.entries_of(git, baseline, compared) if compared else {}
    contents = trees.blobs(
        git, [each.object_id for each in before.values() if each.mode in _FILE_MODES]
    )
    with tempfile.TemporaryDirectory(prefix="llmch-patch-") as name:
        folder = Path(name)
        for side in ("a", "b"):
            (folder / side).mkdir()
        for path in compared:
            mode = _FILE_MODES.get(before[path].mode if path in before else "", 0o644)
            old = contents.get(before[path].object_id) if path in before else None
            try:
                if path in writes:
                    _put(folder / "b" / path, writes[path], mode)
                if old is not None:  # after the write, which may be refused
                    _put(folder / "a" / path, old, mode)
            except OSError as error:
                problems[path] = error.strerror or str(error)
        patch = patches.of_folders(git.at(folder), "a", "b")
    return "".join(_left_out(problems)).encode() + _NEW_FILE.sub(rb"\1a/", patch)


def patch_of_attempt(git: Git, attempt: AttemptOnRecord) -> bytes:
    """Return what an attempt on record changed; empty where it proposed nothing.

    The patch on record is taken where there is one. Raises `PreflightRefused` where there is none
    and the commit that the attempt began from is gone.
    """
    if (patch := attempt.patch) is not None:
        return patch
    if attempt.proposal is None:
        return b""
    baseline = baseline_of(git, attempt)
    return patch_of_proposal(git, baseline, attempt.proposal, removed=attempt.removed)


def baseline_of(git: Git, attempt: AttemptOnRecord) -> str:
    """Return the commit that an attempt began from.

    Raises `PreflightRefused` where the record does not name it or the repo does not have it.
    """
    if attempt.baseline and refs.commit_of(git, attempt.baseline):
        return attempt.baseline
    named = f"the commit {attempt.baseline[:12]}" if attempt.baseline else "the commit"
    why = "is not in this repo any more" if attempt.baseline else "is not on record"
    raise PreflightRefused(
        f"{named} that {attempt.describe()} began from {why}",
        f"the files that it proposed are whole in {attempt.folder / 'proposed_writes.json'}",
    )


def _put(path: Path, content: bytes, mode: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    path.chmod(mode)


def _problem_with(path: str) -> str:
    """Return why no file of this path can stand in a folder; "" if it can."""
    try:
        normal = check_path(path)
    except PathProblem as problem:
        return str(problem)
    if is_git_path(path):
        return "belongs to git"
    return "" if normal == path else "is not normalised"


def _left_out(problems: Mapping[str, str]) -> Iterator[str]:
    """Yield a line for each file that is missing in the patch; `git apply` skips these lines."""
    for path, problem in problems.items():
        if problem:
            yield f"# {path!a} is not in this patch: it {problem}\n"
