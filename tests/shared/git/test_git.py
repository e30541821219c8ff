"""Git is asked and told things in an environment of ours, on real repos."""

from __future__ import annotations

import os
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.errors import CommandFailed
from shared.git import commits, refs, repos, trees
from shared.git.client import (
    ConfigEntry,
    Git,
    GitFailed,
    clean_environment,
    parse_batch,
    repo_filters,
    without_repo_filters,
)
from shared.git.commits import CommitFacts
from shared.git.refs import NO_COMMIT
from tests.harness import as_ordinary_user, commit_all, git

FACTS = CommitFacts("subject\n\nbody\n", "A Name", "a@example.org", "@1 +0000")


@pytest.fixture
def asked(repo: Path) -> Git:
    return Git(repo)


# Surroundings


def test_inherited_git_variables_do_not_lead_to_another_repo(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))
    layout = repos.layout(Git(repo))
    assert layout is not None
    assert layout[0] == repo


def test_keys_and_settings_of_ours_are_not_passed_on() -> None:
    environ = {
        "OPENAI_API_KEY": "k",
        "GROQ_API_KEY": "g",
        "LLMCH_X": "y",
        "GIT_SSH_COMMAND": "z",
        "HOME": "/home/u",
    }
    cleaned = clean_environment(environ)
    assert "k" not in cleaned.values()
    assert not {"OPENAI_API_KEY", "GROQ_API_KEY", "LLMCH_X", "GIT_SSH_COMMAND"} & cleaned.keys()
    assert cleaned["HOME"] == "/home/u"


def test_git_that_is_not_there_is_said_in_words(
    repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CommandFailed, match="cannot run git: No such file") as failed:
        repos.layout(Git(repo))
    assert "install git" in failed.value.hint


def test_a_folder_that_is_gone_is_said_in_words(tmp_path: Path) -> None:
    with pytest.raises(CommandFailed, match=r"cannot run \S*git in .*gone"):
        repos.layout(Git(tmp_path / "gone"))


def test_what_git_says_is_in_the_error(asked: Git) -> None:
    with pytest.raises(GitFailed, match=r"^git cat-file failed: fatal: Not a valid object name"):
        asked.run("cat-file", "blob", "nothing")


# Questions


def test_the_layout_of_a_repo_names_tree_and_git_folders(asked: Git, repo: Path) -> None:
    assert repos.layout(asked) == (repo, repo / ".git", repo / ".git")
    assert repos.layout(asked.at(repo / "src")) == (repo, repo / ".git", repo / ".git")


def test_a_linked_tree_has_a_git_folder_of_its_own(asked: Git, repo: Path, tmp_path: Path) -> None:
    git(repo, "worktree", "add", "--quiet", "--detach", str(tmp_path / "linked"))
    linked = tmp_path / "linked"
    assert repos.layout(asked.at(linked)) == (linked, repo / ".git/worktrees/linked", repo / ".git")


def test_where_there_is_no_working_tree_there_is_no_layout(repo: Path, tmp_path: Path) -> None:
    assert repos.layout(Git(tmp_path)) is None
    assert repos.layout(Git(repo / ".git")) is None
    git(tmp_path, "clone", "--quiet", "--bare", str(repo), "bare")
    bare = Git(tmp_path / "bare")
    assert repos.layout(bare) is None
    assert repos.is_bare(bare)
    assert not repos.is_bare(Git(repo))


def test_a_path_with_a_line_break_is_refused_in_words(repo: Path, tmp_path: Path) -> None:
    odd = repo.rename(tmp_path / "a\nb")
    with pytest.raises(GitFailed) as failed:
        repos.layout(Git(odd))
    assert "line break" in failed.value.hint


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to make a repo another user's")
def test_a_repo_of_another_user_is_not_called_no_repo(repo: Path, tmp_path: Path) -> None:
    with as_ordinary_user(tmp_path):
        pass  # leaves the files to the ordinary user
    with pytest.raises(GitFailed, match="dubious ownership") as failed:
        repos.layout(Git(repo))
    assert "safe.directory" in failed.value.message


def test_a_config_that_git_cannot_read_is_said_in_its_words(repo: Path) -> None:
    (repo / ".git/config").write_text("[core\n")
    with pytest.raises(GitFailed, match="bad config line 1"):
        repos.layout(Git(repo))


def test_changes_are_told_apart_by_kind(asked: Git, repo: Path) -> None:
    before = repos.changes(asked)
    assert not (before.changed or before.untracked)
    (repo / "README.md").write_text("changed")
    (repo / "staged").write_text("x")
    git(repo, "add", "staged")
    git(repo, "rm", "--quiet", "src/app.py")
    (repo / "new dir").mkdir()
    (repo / "new dir/with\nline").write_text("x")
    (repo / "some.log").write_text("ignored")
    changes = repos.changes(asked)
    assert changes.branch == "main"
    assert changes.head == git(repo, "rev-parse", "HEAD")
    assert changes.changed == ("README.md", "src/app.py", "staged")
    assert changes.untracked == ("new dir/",)
    assert repos.changes(asked, own_tree=True).untracked == ("new dir/with\nline",)


def test_asking_for_changes_leaves_the_users_index_alone(asked: Git, repo: Path) -> None:
    os.utime(repo / "README.md")
    before = (repo / ".git/index").read_bytes()
    assert repos.changes(asked).changed == ()
    assert (repo / ".git/index").read_bytes() == before


def test_a_conflict_is_a_change(asked: Git, repo: Path) -> None:
    git(repo, "switch", "--quiet", "--create", "other")
    commit_all(repo, {"README.md": "theirs\n"})
    git(repo, "switch", "--quiet", "main")
    commit_all(repo, {"README.md": "ours\n"})
    with pytest.raises(AssertionError, match="git merge"):
        git(repo, "merge", "other")
    assert repos.changes(asked).changed == ("README.md",)


def test_head_and_branch_are_empty_where_there_is_none(
    asked: Git, repo: Path, tmp_path: Path
) -> None:
    git(repo, "checkout", "--quiet", "--detach")
    assert repos.changes(asked).branch == ""
    git(tmp_path, "init", "--quiet", "unborn")
    assert repos.changes(Git(tmp_path / "unborn")).head == ""


def test_settings_are_listed_with_where_they_were_set(
    asked: Git, repo: Path, own_surroundings: Path
) -> None:
    (own_surroundings / ".gitconfig").write_text('[filter "lfs"]\n\tclean = git-lfs\n')
    (repo / ".git/more").write_text('[filter "a.b"]\n\tclean = one\\ntwo\n')
    git(repo, "config", "include.path", "more")
    entries = repos.read_config(asked)
    assert ConfigEntry("global", "filter.lfs.clean", "git-lfs") in entries
    assert ConfigEntry("local", "filter.a.b.clean", "one\ntwo") in entries
    assert repos.setting(asked, "filter.lfs.clean") == "git-lfs"
    assert repos.setting(asked, "filter.lfs.nothing") == ""


@pytest.mark.parametrize(
    ("name", "allowed"),
    [
        ("work", True),
        ("factory/01X", True),
        ("arbeit-für-zwei", True),
        ("@", True),
        ("@{-1}", False),
        ("-x", False),
        ("HEAD", False),
        ("", False),
        ("a b", False),
        ("a..b", False),
        ("a.lock", False),
        ("a/", False),
        ("/a", False),
        ("a//b", False),
        ("a^", False),
        ("a\nb", False),
        ("a\0b", False),
        ("x" * 250, True),
        ("a/" + "x" * 251, False),
    ],
)
def test_a_name_for_a_branch_is_taken_or_refused_as_it_stands(
    asked: Git, repo: Path, name: str, allowed: bool
) -> None:
    git(repo, "switch", "--quiet", "--create", "before")
    git(repo, "switch", "--quiet", "main")
    assert refs.branch_name_allowed(asked, name) is allowed


def test_a_name_stands_for_a_commit_or_for_none(asked: Git, repo: Path) -> None:
    head = git(repo, "rev-parse", "HEAD")
    assert refs.commit_of(asked, "main") == head
    assert refs.commit_of(asked, head[:10]) == head
    assert refs.commit_of(asked, "--all") == ""
    assert refs.commit_of(asked, "main:README.md") == ""
    assert refs.commit_of(asked, "no-such") == ""


@given(
    name=st.lists(
        st.sampled_from(
            ["a", "Z9", ".", "..", "/", "//", "-", "_", ".lock", "@", "{", "~", " ", "é"]
        ),
        min_size=1,
        max_size=6,
    ).map("".join)
)
@settings(max_examples=60)
def test_a_name_is_allowed_as_git_says(name: str) -> None:
    here = Git(Path(__file__).parent)
    asked = here.try_run("check-ref-format", f"refs/heads/{name}").exit_code == 0
    assert refs.branch_name_allowed(here, name) is (asked and not name.startswith("-"))


def test_many_names_are_looked_up_at_once(asked: Git, repo: Path) -> None:
    head = git(repo, "rev-parse", "HEAD")
    git(repo, "update-ref", "refs/remotes/origin/far", head)
    later = commit_all(repo, {"new.txt": "x"})
    names = ("refs/heads/no", "HEAD", "refs/remotes/origin/far", "HEAD:new.txt", head[:10])
    assert refs.commits_of(asked, *names) == ("", later, head, "", head)
    assert refs.commits_of(asked, "a\nb", "HEAD") == ("", later)
    assert refs.tip_to_follow(asked, "far") == head
    assert refs.tip_to_follow(asked, "main") == refs.tip_to_follow(asked, "new") == later
    assert refs.tip_to_follow(asked, "main^") == later, "no name of a branch"


def test_a_branch_is_in_the_way_of_those_below_and_above_it(asked: Git, repo: Path) -> None:
    git(repo, "branch", "a/b")
    assert refs.in_the_way(asked, "refs/heads/a") == ("refs/heads/a/b",)
    assert refs.in_the_way(asked, "refs/heads/a/b/c") == ("refs/heads/a/b",)
    assert refs.in_the_way(asked, "refs/heads/a/c") == ()
    assert refs.in_the_way(asked, "refs/heads/ab") == ()


def test_working_trees_are_listed_with_their_branches(
    asked: Git, repo: Path, tmp_path: Path
) -> None:
    git(repo, "worktree", "add", "--quiet", "-b", "other", str(tmp_path / "a\nb"))
    git(repo, "worktree", "add", "--quiet", "--detach", str(tmp_path / "c"))
    found = [(each.path.name, each.branch) for each in repos.checkouts(asked)]
    assert found == [("repo", "main"), ("a\nb", "other"), ("c", "")]


def test_a_working_tree_that_is_being_made_meanwhile_is_waited_for(
    asked: Git, repo: Path, tmp_path: Path
) -> None:
    git(repo, "worktree", "add", "--quiet", "--detach", str(tmp_path / "c"))
    place = repo / ".git" / "worktrees" / "c" / "commondir"
    made = place.rename(place.with_name("made"))
    os.mkfifo(place)

    def finish() -> None:
        with place.open("w"):  # git has begun to read, and reads nothing
            made.rename(place)

    with ThreadPoolExecutor() as other:
        finished = other.submit(finish)
        assert [each.path.name for each in repos.checkouts(asked)] == ["repo", "c"]
        finished.result()


@pytest.mark.rest
def test_a_working_tree_that_stays_half_made_is_an_error_with_a_hint(
    asked: Git, repo: Path, tmp_path: Path
) -> None:
    git(repo, "worktree", "add", "--quiet", "--detach", str(tmp_path / "c"))
    (repo / ".git" / "worktrees" / "c" / "commondir").write_text("")
    with pytest.raises(GitFailed, match="worktrees/c/commondir") as error:
        repos.checkouts(asked)
    assert "remove the folder" in error.value.hint


def test_files_of_a_commit_come_with_any_name(asked: Git, repo: Path) -> None:
    commit_all(repo, {"a\nb": "x", "ä": "x", " ": "x", "\udcff": "x", '"q"': "x"})
    names = trees.files_of(asked, "HEAD")
    assert {"a\nb", "ä", " ", "\udcff", '"q"', "src/app.py"} <= set(names)
    assert trees.tracked_files(asked) == names


def test_submodules_of_a_commit_are_found_at_any_depth(asked: Git, repo: Path) -> None:
    assert trees.submodules_of(asked, "HEAD") == ()
    for path in ("vendor/one", "two"):
        git(repo, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},{path}")
    git(repo, "commit", "--quiet", "--message=submodules")
    assert trees.submodules_of(asked, "HEAD") == ("two", "vendor/one")
    files, submodules = trees.files_and_submodules_of(asked, "HEAD")
    assert (tuple(sorted(files)), set(submodules)) == (
        trees.files_of(asked, "HEAD"),
        {"two", "vendor/one"},
    )


def test_messages_come_newest_first_and_whole(asked: Git, repo: Path) -> None:
    git(repo, "commit", "--quiet", "--allow-empty", "--message=one\n\nbody\nmore")
    found = commits.log(asked, "HEAD", limit=10)
    assert [each.message.strip() for each in found] == ["one\n\nbody\nmore", "start"]
    assert found[0].id == git(repo, "rev-parse", "HEAD")
    assert [each.parents for each in found] == [(found[1].id,), ()]
    assert len(commits.log(asked, "HEAD", limit=1)) == 1


def test_a_merge_is_followed_along_its_first_parent(asked: Git, repo: Path) -> None:
    start = git(repo, "rev-parse", "HEAD")
    git(repo, "switch", "--quiet", "--create", "side")
    git(repo, "commit", "--quiet", "--allow-empty", "--message=side")
    side = git(repo, "rev-parse", "HEAD")
    git(repo, "switch", "--quiet", "main")
    git(repo, "merge", "--quiet", "--no-ff", "--no-edit", "side")
    merge = git(repo, "rev-parse", "HEAD")
    history = commits.log(asked, merge, limit=10)
    assert {each.id for each in history} == {merge, side, start}
    assert commits.first_parents(history, merge) == (merge, start)
    assert commits.ids_since(asked, start, merge, limit=10) == (side,)
    assert commits.merge_base(asked, side, merge) == side


def test_attributes_are_told_by_path(asked: Git, repo: Path) -> None:
    (repo / ".gitattributes").write_text("*.txt text eol=crlf\n*.bin -text\n")
    found = trees.attributes_of(asked, ["-a.txt", "b.bin", "c"], ["text", "eol"])
    assert found["-a.txt"] == {"text": "set", "eol": "crlf"}
    assert found["b.bin"] == {"text": "unset", "eol": "unspecified"}
    assert found["c"]["text"] == "unspecified"


# Acts


def test_only_named_files_are_staged_whatever_their_names(asked: Git, repo: Path) -> None:
    names = ["-n", ":(top)x", "*", "some.log", "with space", '"q"', "ä"]
    for name in (*names, "other"):
        (repo / name).write_text("x")
    trees.stage(asked, names)
    assert sorted(git(repo, "-c", "core.quotePath=false", "diff", "--cached", "--name-only",
                      "-z").strip("\0").split("\0")) == sorted(names)  # fmt: skip
    entries = trees.entries_of(asked, trees.write_tree(asked), [*names, "other"])
    assert set(entries) == set(names)
    assert {each.mode for each in entries.values()} == {"100644"}


def test_equal_facts_make_equal_commits(asked: Git, repo: Path) -> None:
    tree = git(repo, "rev-parse", "HEAD^{tree}")
    one, two = (commits.write(asked, tree, "HEAD", FACTS) for _ in range(2))
    assert one == two
    shown = git(repo, "log", "-1", "--format=%an|%ae|%at|%cn|%ce|%ct|%B", one)
    assert shown.strip() == "A Name|a@example.org|1|A Name|a@example.org|1|subject\n\nbody"


def test_a_ref_moves_only_from_where_it_was_expected(asked: Git, repo: Path) -> None:
    first = git(repo, "rev-parse", "HEAD")
    second = commit_all(repo)
    assert refs.move(asked, "refs/heads/w", first, NO_COMMIT, "made")
    assert not refs.move(asked, "refs/heads/w", second, NO_COMMIT, "made again")
    assert not refs.move(asked, "refs/heads/w", second, second, "from elsewhere")
    assert refs.move(asked, "refs/heads/w", second, first, "moved")
    assert git(repo, "reflog", "-1", "--format=%gs", "refs/heads/w") == "moved"


def test_a_new_ref_can_be_made_in_a_repo_with_longer_ids(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet", "--object-format=sha256", "long")
    commit = commit_all(tmp_path / "long", {"a": "x"})
    assert len(commit) == 64
    assert refs.move(Git(tmp_path / "long"), "refs/heads/w", commit, NO_COMMIT, "made")


def test_a_fast_forward_keeps_what_is_in_its_way(asked: Git, repo: Path) -> None:
    start = git(repo, "rev-parse", "HEAD")
    ahead = commit_all(repo, {"new.txt": "theirs\n"})
    git(repo, "reset", "--quiet", "--hard", start)
    (repo / "new.txt").write_text("mine\n")
    assert repos.fast_forward(asked, ahead).exit_code != 0
    assert (repo / "new.txt").read_text() == "mine\n"
    assert git(repo, "rev-parse", "HEAD") == start


def test_a_fast_forward_moves_the_branch_whatever_its_options_say(asked: Git, repo: Path) -> None:
    start = git(repo, "rev-parse", "HEAD")
    ahead = commit_all(repo, {"new.txt": "theirs\n"})
    git(repo, "reset", "--quiet", "--hard", start)
    branch = git(repo, "symbolic-ref", "--short", "HEAD")
    git(repo, "config", f"branch.{branch}.mergeOptions", "--squash --no-ff")
    assert repos.fast_forward(asked, ahead).exit_code == 0
    assert git(repo, "rev-parse", "HEAD") == ahead and git(repo, "status", "--porcelain") == ""


def test_no_program_of_the_config_says_who_wrote_a_line(asked: Git, repo: Path) -> None:
    commit = commit_all(repo, {"a.py": "x = 1\n", ".gitattributes": "*.py diff=foo\n"})
    git(repo, "config", "diff.foo.textconv", "touch ran; cat")
    assert trees.lines_from(asked, "HEAD", commit, "a.py") == {1}
    assert not (repo / "ran").exists()
    assert trees.lines_from(asked, "HEAD", commit, "gone.py") == set()
    git(repo, "config", "blame.ignoreRevsFile", "missing")
    with pytest.raises(GitFailed, match="missing"):
        trees.lines_from(asked, "HEAD", commit, "a.py")


def test_many_paths_are_looked_up_in_the_whole_tree(asked: Git, repo: Path) -> None:
    names = [f"d{n % 7}/{n}.txt" for n in range(600)]
    commit = commit_all(repo, dict.fromkeys(names, "x\n"))
    few = [*names[:3], "d3", "absent"]
    many = [*names, "d1", "absent"]
    assert trees.entries_of(asked, commit, few).keys() == {*names[:3], "d3"}
    assert trees.entries_of(asked, commit, many).keys() == {*names, "d1"}
    assert trees.sizes_of(asked, commit, many) == dict.fromkeys(names, 2)
    assert trees.hashes_of(asked, commit, many).keys() == set(names)
    assert trees.sizes_of(asked, commit, []) == {}


@given(st.lists(st.binary(max_size=20), max_size=5))
def test_objects_are_read_whatever_is_in_them(contents: list[bytes]) -> None:
    output = b"x y missing\n".join(
        b"%040x blob %d\n%s\n" % (n, len(each), each) for n, each in enumerate(contents)
    )
    found = [each.content for each in parse_batch(output) if each.kind]
    assert found == contents


def test_an_ignored_file_is_kept_too(asked: Git, repo: Path) -> None:
    start = git(repo, "rev-parse", "HEAD")
    (repo / ".env").write_text("theirs\n")
    git(repo, "add", "--force", ".env")
    git(repo, "commit", "--quiet", "--message=env")
    ahead = git(repo, "rev-parse", "HEAD")
    git(repo, "reset", "--quiet", "--hard", start)
    (repo / ".env").write_text("mine\n")
    assert repos.fast_forward(asked, ahead).exit_code != 0
    assert (repo / ".env").read_text() == "mine\n"


def test_a_note_replaces_the_one_before(asked: Git, repo: Path) -> None:
    head = git(repo, "rev-parse", "HEAD")
    for text in ("one", "two"):
        commits.add_note(asked, "refs/notes/llmch", head, text, FACTS)
    assert git(repo, "notes", "--ref=llmch", "show", head) == "two"
    assert commits.notes(asked, "refs/notes/llmch", {head}) == {head: "two\n"}
    assert commits.notes(asked, "refs/notes/llmch", {"0" * 40}) == {}
    assert commits.notes(asked, "refs/notes/nobody", {head}) == {}


# Filters


def entry(scope: str, key: str, value: str = "x") -> ConfigEntry:
    return ConfigEntry(scope, f"filter.{key}", value)


def test_only_filters_of_the_repos_own_config_are_undone() -> None:
    entries = [
        entry("global", "lfs.clean", "git-lfs clean"),
        entry("global", "lfs.process", "git-lfs process"),
        entry("local", "lfs.process", "evil"),
        entry("local", "own.smudge", "evil"),
        entry("local", "own.required", "true"),
        entry("worktree", "a.b.clean", "evil"),
        ConfigEntry("local", "filter.nameless", "x"),
        ConfigEntry("local", "core.bare", "false"),
    ]
    assert repo_filters(entries) == ("a.b", "lfs", "own")
    assert without_repo_filters(entries) == (
        ("filter.a.b.clean", ""),
        ("filter.lfs.process", "git-lfs process"),
        ("filter.own.required", "false"),
        ("filter.own.smudge", ""),
    )


@pytest.mark.parametrize("name", ["evil", "e=vil", "e.vil"])
def test_a_filter_undone_does_not_run_and_one_of_the_user_does(
    asked: Git, repo: Path, tmp_path: Path, own_surroundings: Path, name: str
) -> None:
    shout = f'{sys.executable} -c "import sys; sys.stdout.write(sys.stdin.read().upper())"'
    git(repo, "config", "--global", "filter.shout.clean", shout)
    git(repo, "config", "filter.shout.required", "true")
    git(repo, "config", f"filter.{name}.clean", f"touch {tmp_path}/ran; cat")
    attributes = f"*.txt filter=shout\n*.md filter={name}\n"
    commit_all(repo, {".gitattributes": attributes})
    shutil.rmtree(tmp_path / "ran", ignore_errors=True)
    (tmp_path / "ran").unlink(missing_ok=True)
    safe = asked.with_config(without_repo_filters(repos.read_config(asked)))
    (repo / "a.txt").write_text("quiet\n")
    (repo / "b.md").write_text("quiet\n")
    trees.stage(safe, ["a.txt", "b.md"])
    assert git(repo, "cat-file", "blob", ":a.txt") == "QUIET"
    assert git(repo, "cat-file", "blob", ":b.md") == "quiet"
    assert not (tmp_path / "ran").exists()


def test_a_commit_gives_the_sizes_of_its_files(repo: Path) -> None:
    names = ["a b.txt", "-v", "föld/x", "*"]
    commit = commit_all(repo, {name: "x" * size for size, name in enumerate(names)})
    asked = Git(repo)
    sizes = {name: size for size, name in enumerate(names)}
    assert trees.sizes_of(asked, commit, [*names, "föld", "absent"]) == sizes


# The HEAD of a workspace


def test_the_commit_of_a_tree_of_our_own_is_written_without_git(repo: Path, tmp_path: Path) -> None:
    git(repo, "worktree", "add", "--quiet", "--detach", str(tmp_path / "own"))
    own, new = Git(tmp_path / "own"), git(repo, "commit-tree", "HEAD^{tree}", "-m", "new")
    head = repos.head_file(own.folder)
    assert head == repo / ".git" / "worktrees" / "own" / "HEAD"
    repos.detach_head(own, new, head)
    assert own.run("rev-parse", "HEAD") == new


@pytest.mark.parametrize("state", ["on a branch", "a link", "missing", "a repo of its own"])
def test_git_is_asked_where_no_file_alone_has_the_commit(
    repo: Path, tmp_path: Path, state: str
) -> None:
    git(repo, "worktree", "add", "--quiet", "--detach", str(tmp_path / "own"))
    head, folder = repo / ".git" / "worktrees" / "own" / "HEAD", tmp_path / "own"
    match state:
        case "on a branch":
            git(folder, "switch", "--quiet", "-c", "some")
        case "a link":
            head.rename(tmp_path / "elsewhere")
            head.symlink_to(tmp_path / "elsewhere")
        case "missing":
            (folder / ".git").unlink()
        case _:
            folder = repo
    assert repos.head_file(folder) is None
