"""What must hold before anything is changed: each refusal in words, and nothing touched by it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from factory.preflight import BranchPolicy, find_refusals, find_repo, hold, inspect_repo
from shared.errors import CommandFailed, ExitCode, InvalidInput, LlmchError, PreflightRefused
from shared.events.events import Warned
from tests.fakes import proposal
from tests.harness import (
    Factory,
    as_ordinary_user,
    commit_all,
    fingerprint,
    git,
    manifest,
    order,
    write_plan,
    writing,
)

GOOD = proposal({"hello.txt": "hello\n"})


def git_state(repo: Path) -> dict[str, tuple[str, int, str]]:
    """Everything of git's own that says something: refs, index, config, worktrees."""
    common = repo / ".git" if (repo / ".git").is_dir() else repo
    ours = ("llmch", "objects")
    return {path: facts for path, facts in fingerprint(common).items() if not path.startswith(ours)}


def refused(factory: Factory, *, exit_code: ExitCode = ExitCode.PREFLIGHT, **options: Any) -> str:
    """Return why a run is refused, having seen that it changed nothing."""
    repo = factory.repo
    before = (fingerprint(repo), git_state(repo)) if repo.is_dir() else None
    with pytest.raises(LlmchError) as error:
        factory.run(order(), [], **options)
    assert error.value.exit_code is exit_code
    assert error.value.hint, "a refusal says what to do"
    if before is not None:
        assert (fingerprint(repo), git_state(repo)) == before
    assert not factory.workspaces.exists()
    return error.value.message


# The repo


def test_a_folder_that_is_missing(factory: Factory) -> None:
    factory.repo = factory.scratch / "none"
    assert "no such folder" in refused(factory, exit_code=ExitCode.INVALID)


def test_a_folder_that_is_no_repo(factory: Factory) -> None:
    factory.repo = factory.scratch / "plain"
    factory.repo.mkdir()
    assert "is not a git repo" in refused(factory)


def test_a_repo_without_commits(factory: Factory) -> None:
    factory.repo = factory.scratch / "fresh"
    git(factory.scratch, "init", "--quiet", "fresh")
    assert "has no commits yet" in refused(factory)


def test_a_bare_repo(factory: Factory) -> None:
    git(factory.scratch, "clone", "--quiet", "--bare", str(factory.repo), "bare")
    factory.repo = factory.scratch / "bare"
    assert "is a bare repo" in refused(factory)


def test_a_git_folder_itself(factory: Factory) -> None:
    factory.repo = factory.repo / ".git"
    assert "is not a git repo" in refused(factory)


def test_a_detached_head(factory: Factory) -> None:
    git(factory.repo, "checkout", "--quiet", "--detach")
    assert "HEAD of" in refused(factory, branch=None)


def test_a_detached_head_works_where_a_branch_is_named(factory: Factory) -> None:
    git(factory.repo, "checkout", "--quiet", "--detach")
    assert factory.run(order(), [GOOD], branch="work").verdict == "PASS"
    assert git(factory.repo, "rev-parse", "work~1") == git(factory.repo, "rev-parse", "HEAD")


@pytest.mark.rest
def test_a_branch_that_only_origin_has_is_gone_on_with_and_named(factory: Factory) -> None:
    factory.run(order(), [GOOD], branch="work")
    clone = factory.scratch / "clone"
    git(factory.scratch, "clone", "--quiet", str(factory.repo), "clone")
    tip, factory.repo = factory.tip("work"), clone
    summary = factory.run(writing("two.txt", 2), [proposal({"two.txt": "2\n"})], branch="work")
    assert summary.verdict == "PASS"
    assert git(clone, "rev-parse", "work~1") == tip
    named = [each.message for each in factory.seen(Warned)]
    assert f"work goes on from origin/work at {tip[:10]}" in named


def test_all_that_a_run_would_refuse_is_found_at_once(factory: Factory) -> None:
    git(factory.repo, "checkout", "--quiet", "--detach")
    (factory.repo / "README.md").write_text("changed")
    place = find_repo(factory.repo)
    dirty, detached = (each.message for each in find_refusals(place))
    assert detached.endswith("is detached") and dirty.endswith("README.md")
    assert len(find_refusals(place, allow_detached=True)) == 1


def touch(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    return path


DIRT: dict[str, Callable[[Path], object]] = {
    "src/app.py": lambda repo: (repo / "src/app.py").write_text("changed"),
    "README.md": lambda repo: (repo / "README.md").unlink(),
    "scripts/verify.sh": lambda repo: (repo / "scripts/verify.sh").chmod(0o755),
    "staged": lambda repo: (touch(repo / "staged"), git(repo, "add", "staged")),
    "'\\udcff\\n'": lambda repo: (touch(repo / "\udcff\n"), git(repo, "add", ".")),
}


@pytest.mark.parametrize("path", DIRT)
def test_uncommitted_changes_of_any_kind(factory: Factory, path: str) -> None:
    DIRT[path](factory.repo)
    assert refused(factory).endswith(f"has uncommitted changes: {path}")


def test_many_uncommitted_changes_are_counted(factory: Factory) -> None:
    for number in range(8):
        (factory.repo / f"new{number}").touch()
    git(factory.repo, "add", ".")
    message = refused(factory)
    assert "new0, new1, new2, new3, new4 and 3 more" in message


def start_conflict(repo: Path, act: str) -> None:
    git(repo, "switch", "--quiet", "--create", "theirs")
    commit_all(repo, {"README.md": "theirs\n"})
    git(repo, "switch", "--quiet", "main")
    commit_all(repo, {"README.md": "ours\n"})
    with pytest.raises(AssertionError):
        git(repo, act, "theirs")


@pytest.mark.parametrize("act", ["merge", "rebase", "cherry-pick", "revert"])
def test_something_under_way(factory: Factory, act: str) -> None:
    start_conflict(factory.repo, act)
    assert f"a {act} is under way" in refused(factory)


def test_a_bisect_under_way(factory: Factory) -> None:
    git(factory.repo, "bisect", "start")
    assert "a bisect is under way" in refused(factory)


def test_a_merge_without_conflicts_that_waits_for_its_commit(factory: Factory) -> None:
    git(factory.repo, "switch", "--quiet", "--create", "theirs")
    commit_all(factory.repo, {"theirs.txt": "x"})
    git(factory.repo, "switch", "--quiet", "main")
    git(factory.repo, "merge", "--quiet", "--no-commit", "--no-ff", "theirs")
    assert "a merge is under way" in refused(factory)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to make a repo another user's")
def test_a_repo_of_another_user(factory: Factory) -> None:
    with as_ordinary_user(factory.scratch):
        pass  # leaves the files to the ordinary user
    assert "dubious ownership" in refused(factory)


def test_a_config_that_git_cannot_read(factory: Factory) -> None:
    (factory.repo / ".git/config").write_text("[core\n")
    with pytest.raises(PreflightRefused, match="bad config line 1"):
        factory.run(order(), [])


def test_a_machine_without_git(factory: Factory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(factory.scratch))
    with pytest.raises(PreflightRefused, match="cannot run git"):
        find_repo(factory.repo)


@pytest.mark.parametrize("path", DIRT)
def test_uncommitted_changes_beside_which_a_run_may_work(factory: Factory, path: str) -> None:
    DIRT[path](factory.repo)
    before = fingerprint(factory.repo), git(factory.repo, "diff", "--cached")
    summary = factory.run(order(), [GOOD], allow_dirty=True)
    assert summary.verdict == "PASS"
    assert summary.parent == git(factory.repo, "rev-parse", "main")
    assert git(factory.repo, "diff", "--name-only", "main", "work") == "hello.txt"
    assert (fingerprint(factory.repo), git(factory.repo, "diff", "--cached")) == before
    assert f"uncommitted changes are not part of this run: {path}" in [
        each.message for each in factory.seen(Warned)
    ]


def test_uncommitted_changes_where_the_branch_is_checked_out(factory: Factory) -> None:
    git(factory.repo, "switch", "--quiet", "--create", "work")
    (factory.repo / "README.md").write_text("changed")
    message = refused(factory, allow_dirty=True)
    assert message.endswith("with uncommitted changes: README.md")
    assert "branch 'work' is checked out in" in message


def test_no_refusal_proposes_to_stash(factory: Factory) -> None:
    touch(factory.repo / ".venv/bin/python")
    (factory.repo / "README.md").write_text("changed")
    with pytest.raises(PreflightRefused) as error:
        factory.run(order(), [])
    assert ".venv" not in error.value.message
    assert "stash" not in error.value.hint


# What looks odd and is fine


def test_a_linked_worktree_is_a_repo_like_any_other(factory: Factory) -> None:
    main = factory.repo
    factory.repo = factory.scratch / "linked"
    git(main, "worktree", "add", "--quiet", "-b", "side", str(factory.repo))
    (main / "uncommitted").touch()
    assert factory.run(order(), [GOOD]).verdict == "PASS"
    assert (main / "uncommitted").exists()


def test_a_worktree_of_a_bare_repo_is_a_repo_like_any_other(factory: Factory) -> None:
    git(factory.scratch, "clone", "--quiet", "--bare", str(factory.repo), "bare")
    factory.repo = factory.scratch / "linked"
    git(factory.scratch / "bare", "worktree", "add", "--quiet", "-b", "work", str(factory.repo))
    assert factory.run(order(), [GOOD]).verdict == "PASS"
    assert (factory.repo / "hello.txt").read_text() == "hello\n"


def test_a_subfolder_stands_for_its_repo(factory: Factory) -> None:
    summary = factory.run(order(), [GOOD], repo=factory.repo / "src")
    assert summary.verdict == "PASS"
    assert "hello.txt" in git(factory.repo, "ls-tree", "--name-only", "work").split("\n")


def test_starting_from_a_protected_branch_is_normal(factory: Factory) -> None:
    summary = factory.run(order(), [GOOD], branch=None)
    assert summary.branch.startswith("factory/say-hello-")
    assert summary.parent == git(factory.repo, "rev-parse", "main")


def test_ignored_files_are_no_uncommitted_changes(factory: Factory) -> None:
    (factory.repo / ".env").write_text("KEY=1\n")
    assert factory.run(order(), [GOOD]).verdict == "PASS"


def test_what_changed_inside_a_submodule_is_its_own_matter(factory: Factory) -> None:
    git(factory.scratch, "clone", "--quiet", str(factory.repo), "library")
    git(factory.repo, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add",
        str(factory.scratch / "library"), "library")  # fmt: skip
    commit_all(factory.repo)
    (factory.repo / "library/README.md").write_text("changed")
    assert factory.run(order(), [GOOD]).verdict == "PASS"


def test_a_repo_with_longer_ids_works_to_the_end(factory: Factory) -> None:
    factory.repo = factory.scratch / "long"
    git(factory.scratch, "init", "--quiet", "--object-format=sha256", "-b", "main", "long")
    commit_all(factory.repo, {"scripts/verify.sh": "true\n"})
    summary = factory.run(order(), [GOOD])
    assert (summary.verdict, len(summary.commit or "")) == ("PASS", 64)


# The branch


@pytest.mark.parametrize("name", ["main", "master", "release"])
def test_a_protected_branch(factory: Factory, name: str) -> None:
    protected = frozenset({"main", "master", "release"})
    assert f"branch '{name}' is protected" in refused(factory, branch=name, protected=protected)


@pytest.mark.parametrize("name", ["a b", "-x", "@{-1}", "a..b", "x.lock", "", "HEAD", "x/" * 3])
def test_a_name_that_git_refuses(factory: Factory, name: str) -> None:
    git(factory.repo, "switch", "--quiet", "--create", "before")
    git(factory.repo, "switch", "--quiet", "main")
    if name:
        assert f"git refuses {name!r}" in refused(factory, branch=name)


def test_a_branch_that_must_not_exist_and_does(factory: Factory) -> None:
    git(factory.repo, "branch", "work")
    assert "branch 'work' exists already" in refused(factory, policy=BranchPolicy.CREATE)


def test_a_branch_that_must_exist_and_does_not(factory: Factory) -> None:
    assert "branch 'work' does not exist" in refused(factory, policy=BranchPolicy.REUSE)


@pytest.mark.parametrize(("name", "there"), [("work/one", "work"), ("work", "work/one")])
def test_a_branch_that_another_is_in_the_way_of(factory: Factory, name: str, there: str) -> None:
    git(factory.repo, "branch", there)
    assert f"cannot be made: refs/heads/{there} is in its way" in refused(factory, branch=name)


def test_a_branch_checked_out_in_a_folder_that_is_gone(factory: Factory) -> None:
    away = factory.scratch / "away"
    git(factory.repo, "worktree", "add", "--quiet", "-b", "work", str(away))
    away.rename(factory.scratch / "moved")
    assert f"is checked out in {away}, which does not exist" in refused(factory)


def test_a_commit_to_start_from_that_is_none(factory: Factory) -> None:
    assert "does not name a commit" in refused(factory, start="0" * 40)
    assert "does not name a commit" in refused(factory, start="--all")
    assert "does not name a commit" in refused(factory, start="main:README.md")


def test_a_commit_to_start_from_where_the_branch_is_elsewhere(factory: Factory) -> None:
    first = git(factory.repo, "rev-parse", "HEAD")
    commit_all(factory.repo)
    git(factory.repo, "branch", "work")
    assert f"not at {first[:12]}" in refused(factory, start=first)


def test_a_new_branch_starts_where_it_is_told(factory: Factory) -> None:
    first = git(factory.repo, "rev-parse", "HEAD")
    commit_all(factory.repo, {"later.txt": "x"})
    summary = factory.run(order(), [GOOD], start=first[:12], policy=BranchPolicy.CREATE)
    assert summary.parent == first
    assert "later.txt" not in git(factory.repo, "ls-tree", "--name-only", "work")


def test_a_branch_that_is_there_is_continued(factory: Factory) -> None:
    git(factory.repo, "branch", "work")
    commit_all(factory.repo, {"later.txt": "x"})
    summary = factory.run(order(), [GOOD], policy=BranchPolicy.REUSE)
    assert summary.parent == git(factory.repo, "rev-parse", "main~1")


# Where records go


@pytest.mark.parametrize("inside", ["out", "src/../out", ".git/out"])
def test_an_export_into_the_repo(factory: Factory, inside: str) -> None:
    out = factory.repo / inside
    assert "is inside the target repo" in refused(factory, exit_code=ExitCode.INVALID, out=out)
    assert not out.exists()


def test_an_export_into_the_repo_by_way_of_a_link(factory: Factory) -> None:
    link = factory.scratch / "link"
    link.symlink_to(factory.repo)
    assert "is inside the target repo" in refused(
        factory, exit_code=ExitCode.INVALID, out=link / "out"
    )


def test_an_export_goes_to_a_folder_that_is_made_for_it(factory: Factory) -> None:
    out = factory.scratch / "new/out"
    summary = factory.run(order(), [GOOD], out=out)
    assert (out / f"{summary.run_id}.json").is_file()


@pytest.mark.parametrize("option", ["artifacts", "out"])
def test_a_place_for_records_that_is_no_folder(factory: Factory, option: str) -> None:
    (factory.scratch / "file").touch()
    place = {option: factory.scratch / "file/below"}
    message = refused(factory, exit_code=ExitCode.FAILED, **place)
    assert f"cannot write {place[option]}" in message


def test_a_place_for_records_that_may_not_be_written(factory: Factory) -> None:
    with as_ordinary_user(factory.scratch):
        (factory.scratch / "locked").mkdir(mode=0o500)
        with pytest.raises(CommandFailed, match=r"cannot write .*locked.*Permission denied"):
            factory.run(order(), [], artifacts=factory.scratch / "locked")
    assert not factory.workspaces.exists()


def test_records_in_the_repo_do_not_make_it_dirty(factory: Factory) -> None:
    summary = factory.run(order(), [GOOD], artifacts=factory.repo / "artifacts")
    assert summary.verdict == "PASS"
    assert git(factory.repo, "status", "--porcelain") == ""


@pytest.mark.parametrize("name", ["", "objects", "refs/heads"])
def test_a_git_folder_that_may_not_be_written(factory: Factory, name: str) -> None:
    place = find_repo(factory.repo)
    with as_ordinary_user(factory.scratch):
        (place.common_dir / name).chmod(0o500)
        with pytest.raises(PreflightRefused, match="cannot write to") as caught:
            hold(place.common_dir).__enter__()
        (place.common_dir / name).chmod(0o700)
        assert f"chown -R {os.geteuid()} {place.common_dir}" in caught.value.hint
    assert f"{place.common_dir}/{name}" in caught.value.message


def test_a_date_for_commits_that_is_none(factory: Factory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "yesterday")
    message = refused(factory, exit_code=ExitCode.INVALID)
    assert "SOURCE_DATE_EPOCH is 'yesterday'" in message


def test_a_workdir_is_refused_as_early_as_an_order(factory: Factory) -> None:
    (factory.repo / "README.md").write_text("dirt")
    plan = write_plan(factory.scratch / "plan", manifest([order()]))
    with pytest.raises(PreflightRefused, match=r"uncommitted changes: README.md"):
        factory.run_all(plan, {})
    with pytest.raises(InvalidInput, match="is not a directory"):
        factory.run_all(factory.scratch / "none", {})
    assert not factory.artifacts.exists()


# Filters


def test_filters_of_the_repos_own_that_are_asked_for_are_named(factory: Factory) -> None:
    git(factory.repo, "config", "filter.own.clean", "cat")
    git(factory.repo, "config", "filter.unused.clean", "cat")
    commit_all(factory.repo, {".gitattributes": "*.bin filter=own\n*.x filter=gone -filter\n"})
    assert inspect_repo(find_repo(factory.repo)).ignored_filters == ("own",)
    allowed = find_repo(factory.repo, allow_repo_filters=True)
    assert inspect_repo(allowed).ignored_filters == ()
    factory.run(order(), [GOOD])
    told = [each.message for each in factory.events if hasattr(each, "message")]
    assert any("filters of the repo's own config do not run here: own" in each for each in told)
