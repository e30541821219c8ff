"""A verified commit reaches the branch from exactly where it was expected, or is kept aside."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from factory.orders.documents import RunSummary
from factory.record.summary import public_json
from shared.errors import CommandFailed
from shared.events.events import Noted, Warned
from shared.llm.model_client import Request
from tests.fakes import Reply, proposal, refused
from tests.harness import Factory, blob, commit_all, fingerprint, git, manifest, order, writing

GOOD = proposal({"hello.txt": "hello\n"})


def while_asked(act: Callable[[], object], reply: Callable[[Request], str] = GOOD) -> Reply:
    """Return a reply that comes after `act` was done by someone else."""

    def answer(request: Request) -> str:
        act()
        return reply(request)

    return answer


def kept_aside(factory: Factory, reply: Reply, **options: object) -> tuple[str, str]:
    """Run an order whose commit cannot land; return the ref that keeps it, and why it did not."""
    with pytest.raises(CommandFailed) as error:
        factory.run(order(), [reply], **options)
    summary = factory.record("run_summary.json")
    assert (summary["verdict"], summary["state"], summary["commit"]) == ("ERROR", "failed", None)
    ref = f"refs/llmch/{summary['run_id']}"
    assert f"`git merge {ref}`" in error.value.hint
    assert blob(factory.repo, ref, "hello.txt") == b"hello\n"
    assert list(factory.workspaces.iterdir()) == []
    return ref, error.value.message


# A branch that nobody has checked out


def test_a_branch_that_is_not_checked_out_moves_and_no_tree_changes(factory: Factory) -> None:
    before = fingerprint(factory.repo)
    summary = factory.run(order(), [GOOD])
    assert factory.tip() == summary.commit
    assert fingerprint(factory.repo) == before
    assert git(factory.repo, "status", "--porcelain") == ""
    reason = git(factory.repo, "reflog", "-1", "--format=%gs", "work")
    assert reason == f"llmch: run {summary.run_id}"


def test_a_branch_that_someone_moved_is_left_where_they_put_it(factory: Factory) -> None:
    git(factory.repo, "branch", "work")

    def move() -> None:
        git(factory.repo, "update-ref", "refs/heads/work", commit_all(factory.repo))

    ref, message = kept_aside(factory, while_asked(move))
    assert "someone else moved it" in message
    assert factory.tip() == git(factory.repo, "rev-parse", "main")
    assert git(factory.repo, "rev-parse", f"{ref}^") == git(factory.repo, "rev-parse", "main^")


def test_a_lock_file_on_the_branch_is_named_and_nobody_is_blamed(factory: Factory) -> None:
    git(factory.repo, "branch", "work")
    lock = factory.repo / ".git/refs/heads/work.lock"
    _, message = kept_aside(factory, while_asked(lock.touch))
    lock.unlink()
    assert "git could not move it" in message and "someone else" not in message


def test_a_branch_that_someone_made_meanwhile_is_left_alone(factory: Factory) -> None:
    kept_aside(factory, while_asked(lambda: git(factory.repo, "branch", "work")))
    assert factory.tip() == git(factory.repo, "rev-parse", "main")


def test_a_branch_that_someone_removed_is_not_made_again(factory: Factory) -> None:
    git(factory.repo, "branch", "work")
    kept_aside(factory, while_asked(lambda: git(factory.repo, "branch", "-D", "work")))
    assert factory.tip() == ""


def test_what_was_kept_aside_can_be_had_as_the_hint_says(factory: Factory) -> None:
    ref, _ = kept_aside(factory, while_asked(lambda: git(factory.repo, "branch", "work")))
    git(factory.repo, "switch", "--quiet", "work")
    git(factory.repo, "merge", "--quiet", "--ff-only", ref)
    assert (factory.repo / "hello.txt").read_text() == "hello\n"


# A branch that the user has checked out


@pytest.fixture
def checked_out(factory: Factory) -> Factory:
    git(factory.repo, "switch", "--quiet", "--create", "work")
    return factory


def test_the_users_tree_follows_and_differs_by_the_commit_alone(checked_out: Factory) -> None:
    repo = checked_out.repo
    (repo / ".env").write_text("SECRET=1\n")
    (repo / "src/app.py").chmod(0o600)
    before = fingerprint(repo)
    document = order(allowed_files=["hello.txt", "src/app.py"])
    files = {"hello.txt": "hello\n", "src/app.py": "GREETING = 'hi'\n"}
    summary = checked_out.run(document, [proposal(files)])
    assert git(repo, "rev-parse", "HEAD") == summary.commit
    assert git(repo, "symbolic-ref", "--short", "HEAD") == "work"
    assert git(repo, "status", "--porcelain") == ""
    after = fingerprint(repo)
    assert {path for path in before | after if before.get(path) != after.get(path)} == set(files)


def test_edits_that_are_not_in_the_way_are_kept(checked_out: Factory) -> None:
    repo = checked_out.repo

    def edit() -> None:
        (repo / "README.md").write_text("mine\n")
        (repo / "notes.txt").write_text("mine too\n")

    assert checked_out.run(order(), [while_asked(edit)]).verdict == "PASS"
    assert (repo / "README.md").read_text() == "mine\n"
    assert (repo / "notes.txt").read_text() == "mine too\n"
    assert (repo / "hello.txt").read_text() == "hello\n"


def leave_untracked(repo: Path) -> None:
    (repo / "hello.txt").write_text("mine\n")


def leave_staged(repo: Path) -> None:
    (repo / "hello.txt").write_text("mine\n")
    git(repo, "add", "hello.txt")


def leave_ignored(repo: Path) -> None:
    (repo / ".git/info").mkdir(exist_ok=True)
    (repo / ".git/info/exclude").write_text("hello.txt\n")
    (repo / "hello.txt").write_text("mine\n")


def leave_folder(repo: Path) -> None:
    (repo / "hello.txt").mkdir()
    (repo / "hello.txt/mine").write_text("mine\n")


@pytest.mark.rest
@pytest.mark.parametrize(
    ("leave", "reason"),
    [
        (leave_untracked, "it has untracked files where the commit writes: hello.txt"),
        (leave_staged, "it has uncommitted changes in hello.txt"),
        (leave_ignored, "it has untracked files where the commit writes: hello.txt"),
        (leave_folder, "it has untracked files where the commit writes: hello.txt/"),
    ],
)
def test_edits_in_the_way_are_kept_and_the_commit_too(
    checked_out: Factory, leave: Callable[[Path], None], reason: str
) -> None:
    repo, tip = checked_out.repo, checked_out.tip()
    left: list[object] = []

    def edit() -> None:
        leave(repo)
        left.append(fingerprint(repo))

    _, message = kept_aside(checked_out, while_asked(edit))
    assert message.endswith(f"{repo} could not follow: {reason}")
    assert fingerprint(repo) == left[0]
    assert checked_out.tip() == tip == git(repo, "rev-parse", "HEAD")


def test_a_tracked_file_edited_meanwhile_is_kept(checked_out: Factory) -> None:
    repo = checked_out.repo
    commit_all(repo, {"hello.txt": "old\n"})
    kept_aside(checked_out, while_asked(lambda: (repo / "hello.txt").write_text("mine\n")))
    assert (repo / "hello.txt").read_text() == "mine\n"


def test_a_commit_of_the_user_on_the_branch_is_kept(checked_out: Factory) -> None:
    repo = checked_out.repo
    kept_aside(checked_out, while_asked(lambda: commit_all(repo, {"mine.txt": "mine\n"})))
    assert git(repo, "log", "-1", "--format=%s") == "more"
    assert not (repo / "hello.txt").exists()


def test_a_user_who_went_to_another_branch_stays_there(checked_out: Factory) -> None:
    repo = checked_out.repo
    before = fingerprint(repo)
    switch = while_asked(lambda: git(repo, "switch", "--quiet", "main"))
    summary = checked_out.run(order(), [switch])
    assert checked_out.tip() == summary.commit
    assert git(repo, "symbolic-ref", "--short", "HEAD") == "main"
    assert fingerprint(repo) == before


def test_another_tree_that_has_the_branch_follows_too(factory: Factory) -> None:
    linked = factory.scratch / "linked"
    git(factory.repo, "worktree", "add", "--quiet", "-b", "work", str(linked))
    before = fingerprint(factory.repo)
    factory.run(order(), [GOOD])
    assert (linked / "hello.txt").read_text() == "hello\n"
    assert git(linked, "status", "--porcelain") == ""
    assert fingerprint(factory.repo) == before


def test_a_tree_that_goes_away_meanwhile_does_not_lose_the_commit(factory: Factory) -> None:
    linked = factory.scratch / "linked"
    git(factory.repo, "worktree", "add", "--quiet", "-b", "work", str(linked))
    leave = while_asked(lambda: linked.rename(factory.scratch / "moved"))
    _, message = kept_aside(factory, leave)
    assert f"{linked}, where it is checked out, is gone" in message


def test_a_lock_of_the_users_own_git_does_not_lose_the_commit(checked_out: Factory) -> None:
    lock = checked_out.repo / ".git/index.lock"
    kept_aside(checked_out, while_asked(lock.touch))
    lock.unlink()
    assert git(checked_out.repo, "status", "--porcelain") == ""


# Notes and pushes come after, and undo nothing


def test_a_note_that_git_refuses_is_told_and_changes_nothing(factory: Factory) -> None:
    git(factory.repo, "update-ref", "refs/notes/llmch/in-the-way", "HEAD")
    summary = factory.run(order(), [GOOD])
    assert (summary.verdict, summary.commit) == ("PASS", factory.tip())
    assert any("no note was added" in each.message for each in factory.seen(Warned))


def test_a_branch_is_pushed_where_that_is_asked_for(factory: Factory, remote: Path) -> None:
    summary = factory.run(order(), [GOOD], push=True)
    assert git(remote, "rev-parse", "work") == summary.commit
    assert (summary.pushed, factory.record("run.json")["summary"]["pushed"]) == (True, True)
    assert git(factory.repo, "rev-parse", "--abbrev-ref", "work@{upstream}") == "origin/work"
    assert any(each.message.startswith("pushed work to origin") for each in factory.seen(Noted))


def test_nothing_is_pushed_unasked_or_after_a_failure(factory: Factory, remote: Path) -> None:
    factory.run(order(), [GOOD])
    factory.run(writing("x"), [refused()], push=True, max_attempts=1)
    assert git(remote, "for-each-ref") == ""


@pytest.mark.parametrize("url", [None, "/no/such/repo", "https://me:s3cret@127.0.0.1:1/x.git"])
def test_a_push_that_fails_is_told_and_changes_nothing(factory: Factory, url: str | None) -> None:
    if url:
        git(factory.repo, "remote", "add", "origin", url)
    summary = factory.run(order(), [GOOD], push=True)
    assert (summary.verdict, summary.state, summary.pushed) == ("PASS", "landed", False)
    (told,) = [each.message for each in factory.seen(Warned)]
    assert told.startswith("the branch was not pushed: ")
    assert "s3cret" not in told


def test_a_plan_says_whether_its_branch_was_pushed(factory: Factory, remote: Path) -> None:
    plan, replies = manifest([order()]), {"WO-01": [GOOD]}
    assert "pushed" not in public_json(factory.run_all(plan, replies))
    assert factory.run_all(plan, {}, push=True).pushed is True
    git(factory.repo, "remote", "set-url", "origin", "/no/such/repo")
    assert public_json(factory.run_all(plan, {}, push=True))["pushed"] is False


def test_a_push_that_is_rejected_does_not_force(factory: Factory, remote: Path) -> None:
    git(factory.repo, "push", "--quiet", "origin", "main:work")
    commit_all(factory.repo, {"x": "x"})
    git(factory.repo, "push", "--quiet", "origin", "main:work")
    ahead = git(remote, "rev-parse", "work")
    git(factory.repo, "reset", "--quiet", "--hard", "HEAD^")
    git(factory.repo, "update-ref", "-d", "refs/remotes/origin/work")  # nobody has fetched it
    summary: RunSummary = factory.run(order(), [GOOD], push=True)
    assert summary.verdict == "PASS"
    assert git(remote, "rev-parse", "work") == ahead


def test_hooks_of_the_target_do_not_run(checked_out: Factory) -> None:
    hooks = checked_out.repo / ".git/hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("post-checkout", "pre-commit", "post-merge", "reference-transaction", "pre-push"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {checked_out.scratch}/ran-{name}\nexit 1\n")
        (hooks / name).chmod(0o755)
    assert checked_out.run(writing("a"), [proposal({"a": "x\n"})], push=True).verdict == "PASS"
    assert list(checked_out.scratch.glob("ran-*")) == []
