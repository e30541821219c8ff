"""With `--push`, the notes go along with the branch, and nobody else's are written over."""

from __future__ import annotations

from pathlib import Path

import pytest

from factory.orders.order_commit import NOTES_REF
from factory.statement.statement import PROOF_REF
from shared.events.events import Noted, Warned
from tests.fakes import proposal
from tests.harness import Factory, git, order

GOOD = proposal({"hello.txt": "hello\n"})
NOTES = [NOTES_REF, PROOF_REF]
DATE = "@1700000000 +0000"


def test_the_notes_on_its_commits_go_along(factory: Factory, remote: Path) -> None:
    factory.run(order(), [GOOD], push=True)
    for ref in NOTES:
        assert git(remote, "rev-parse", ref) == git(factory.repo, "rev-parse", ref)
    (told,) = [each.message for each in factory.seen(Noted) if "pushed" in each.message]
    assert told == "pushed work to origin, with the notes on its commits"
    assert git(factory.repo, "for-each-ref", "--format=%(refname)", "refs/notes").split() == NOTES


def lines_of_notes(repo: Path, ref: str) -> dict[str, list[str]]:
    """Return the lines of each note under a ref, by commit."""
    listed = (line.split() for line in git(repo, "notes", f"--ref={ref}", "list").splitlines())
    return {
        commit: sorted(filter(None, git(repo, "cat-file", "blob", blob).split("\n")))
        for blob, commit in listed
    }


@pytest.mark.parametrize("ref", NOTES)
def test_nobodys_notes_are_written_over(factory: Factory, remote: Path, ref: str) -> None:
    """Somebody else has pushed notes: on another commit, and on the very commit that is made."""
    summary = factory.run(order(), [GOOD], push=True, date=DATE)
    theirs = git(factory.repo, "notes", f"--ref={ref}", "show", summary.commit or "")
    main = factory.tip("main")
    for commit, text in ((main, "on main"), (summary.commit or "", "of somebody else")):
        git(remote, "notes", f"--ref={ref}", "append", f"--message={text}", commit)
    for each in ("refs/heads/work", "refs/remotes/origin/work", *NOTES):
        git(factory.repo, "update-ref", "-d", each)
    again = factory.run(order(), [GOOD], push=True, date=DATE)
    assert (again.commit, again.pushed) == (summary.commit, True)
    ours = git(factory.repo, "notes", f"--ref={ref}", "show", summary.commit or "")
    there = lines_of_notes(remote, ref)
    assert there[main] == ["on main"]
    assert {*theirs.split("\n"), "of somebody else"} - {""} <= {*there[summary.commit or ""]}
    assert there == lines_of_notes(factory.repo, ref)
    assert ours.strip() and not factory.seen(Warned)


def test_a_push_of_notes_that_somebody_else_was_faster_with_is_tried_again(
    factory: Factory, remote: Path
) -> None:
    """A hook of the remote has another note arrive between the look and the push, once."""
    hook = remote / "hooks" / "update"
    hook.parent.mkdir(exist_ok=True)
    main = factory.tip("main")
    hook.write_text(
        '#!/bin/sh\ncase "$1" in refs/notes/*) ;; *) exit 0;; esac\n'
        f'[ -e "$GIT_DIR/raced$1" ] && exit 0\nmkdir -p "$GIT_DIR/raced$1"\n'
        "unset GIT_QUARANTINE_PATH GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES\n"
        'git -c user.name=Eve -c user.email=eve notes --ref="$1" add --message=faster '
        f"{main}\nexit 1\n"
    )
    hook.chmod(0o755)
    git(factory.repo, "push", "--quiet", "origin", "main")
    factory.run(order(), [GOOD], push=True)
    assert [each.message for each in factory.seen(Warned)] == []
    for ref in NOTES:
        assert lines_of_notes(remote, ref)[main] == ["faster"]
        assert git(remote, "rev-parse", ref) == git(factory.repo, "rev-parse", ref)


def test_notes_that_the_remote_refuses_are_a_warning_and_the_branch_is_pushed(
    factory: Factory, remote: Path
) -> None:
    hook = remote / "hooks" / "update"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text('#!/bin/sh\ncase "$1" in refs/notes/*) exit 1;; esac\n')
    hook.chmod(0o755)
    summary = factory.run(order(), [GOOD], push=True)
    assert (summary.verdict, summary.pushed) == ("PASS", True)
    (told,) = [each.message for each in factory.seen(Warned)]
    assert "the notes on the commits" in told and "were not pushed" in told
    assert git(remote, "rev-parse", "work") == summary.commit
