"""A repository's own git folder tries to bend a run: its objects, its refs, its config."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from factory.orders.stages import Stage
from factory.preflight import refuse_name
from shared.errors import CommandFailed, ExitCode, PreflightRefused
from shared.events.events import OrderEnded, Warned
from shared.git import commits, refs, trees
from shared.git.client import ConfigEntry, Git, allowed_protocols, without_repo_programs
from tests.factory.audit.test_acceptances import by_hand, take_over
from tests.fakes import proposal
from tests.harness import Factory, commit_all, git, stages, writing

NEW = proposal({"new.txt": "new\n"})


# Objects in the place of others


def a_replaced_blob(repo: Path) -> None:
    forged = git(repo, "hash-object", "-w", "--stdin", stdin=b"GREETING = 'forged'\n")
    git(repo, "replace", git(repo, "rev-parse", "HEAD:src/app.py"), forged)


def a_replaced_tree(repo: Path) -> None:
    git(repo, "replace", git(repo, "rev-parse", "HEAD^{tree}"), f"{forged_commit(repo)}^{{tree}}")


def a_replaced_commit(repo: Path) -> None:
    git(repo, "replace", git(repo, "rev-parse", "HEAD"), forged_commit(repo))


def forged_commit(repo: Path) -> str:
    """Return a commit of other files, which no branch has."""
    before = git(repo, "rev-parse", "HEAD")
    forged = commit_all(repo, {"src/app.py": "GREETING = 'forged'\n"})
    git(repo, "reset", "--quiet", "--hard", before)
    git(repo, "reflog", "expire", "--expire=all", "--all")
    return forged


@pytest.mark.parametrize("forge", [a_replaced_blob, a_replaced_tree, a_replaced_commit])
def test_an_object_in_the_place_of_another_is_not_judged(
    factory: Factory, forge: Callable[[Path], None]
) -> None:
    forge(factory.repo)
    order = writing("new.txt", acceptance_commands=["grep forged src/app.py"])
    summary = factory.run(order, [NEW], max_attempts=1)
    assert stages(summary) == [Stage.ACCEPTANCE_FAILED]
    git(factory.repo, "worktree", "add", "--quiet", "--detach", "plain", "main")
    plain = (factory.repo / "plain/src/app.py").read_text()
    assert "forged" in plain, "the control: plain git checks the other object out"


def test_a_forged_commit_graph_gives_no_commit_another_tree(repo: Path) -> None:
    """Git reads the trees of commits from this file where it is there, and compares nothing."""
    honest = git(repo, "rev-parse", "HEAD^{tree}")
    forged = git(repo, "rev-parse", f"{forged_commit(repo)}^{{tree}}")
    git(repo, "commit-graph", "write", "--reachable")
    graph = repo / ".git/objects/info/commit-graph"
    content = graph.read_bytes().replace(bytes.fromhex(honest), bytes.fromhex(forged))
    graph.chmod(0o644)
    graph.write_bytes(content)
    shown = ("log", "--format=%T", "--max-count=1")
    assert git(repo, *shown) == forged, "the control: plain git believes it"
    assert Git(repo).run(*shown) == honest


def test_a_graft_gives_no_commit_another_parent(repo: Path) -> None:
    first = git(repo, "rev-parse", "HEAD")
    second = commit_all(repo, {"a.txt": "a\n"})
    third = commit_all(repo, {"b.txt": "b\n"})
    (repo / ".git/info").mkdir(exist_ok=True)
    (repo / ".git/info/grafts").write_text(f"{third} {first}\n")
    assert git(repo, "rev-parse", "HEAD^") == first, "the control: plain git believes it"
    asked = Git(repo)
    assert [each.id for each in commits.log(asked, "HEAD", limit=9)] == [third, second, first]
    assert asked.try_run("log").stderr == b""


def test_a_shallow_clone_still_ends_where_it_does(repo: Path, tmp_path: Path) -> None:
    commit_all(repo, {"a.txt": "a\n"})
    git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{repo}", "shallow")
    asked = Git(tmp_path / "shallow")
    (only,) = commits.log(asked, "HEAD", limit=9)
    assert only.parents == () and "a.txt" in trees.files_of(asked, only.id)


# Settings that change what git says


@pytest.mark.parametrize("encoding", ["UTF-16", "UTF-7", "EBCDIC-US", "nonsense"])
def test_no_encoding_of_the_log_changes_what_is_read(repo: Path, encoding: str) -> None:
    git(repo, "config", "i18n.logOutputEncoding", encoding)
    git(repo, "config", "i18n.commitEncoding", encoding)
    plain = subprocess.run(
        ["git", "log", "--format=%H %P%n%B"], cwd=repo, capture_output=True, check=True
    ).stdout
    (only,) = commits.log(Git(repo), "HEAD", limit=9)
    assert only.id == git(repo, "rev-parse", "HEAD") and only.message.strip() == "start"
    if encoding == "UTF-16":
        assert only.id.encode() not in plain, "the control: plain git writes another encoding"


# Refs that lead elsewhere

Ref = str
BRANCH, NOTES, PROOF = "refs/heads/work", "refs/notes/llmch", "refs/notes/llmch-proof"
MAIN = "refs/heads/main"


def to_main(git_dir: Path, ref: Ref) -> None:
    git(git_dir, "symbolic-ref", ref, MAIN)


def to_itself(git_dir: Path, ref: Ref) -> None:
    (git_dir / ref).parent.mkdir(parents=True, exist_ok=True)
    (git_dir / ref).write_text(f"ref: {ref}\n")


def to_a_missing_branch(git_dir: Path, ref: Ref) -> None:
    git(git_dir, "symbolic-ref", ref, "refs/heads/missing")


def to_main_over_a_packed_ref(git_dir: Path, ref: Ref) -> None:
    git(git_dir, "update-ref", ref, MAIN)
    git(git_dir, "pack-refs", "--all")
    git(git_dir, "symbolic-ref", ref, MAIN)


def by_a_link_of_old(git_dir: Path, ref: Ref) -> None:
    """Very old gits wrote a symbolic ref as a link, and today's still read it."""
    (git_dir / ref).parent.mkdir(parents=True, exist_ok=True)
    (git_dir / ref).symlink_to(MAIN)


LEADING = [to_main, to_itself, to_a_missing_branch, to_main_over_a_packed_ref, by_a_link_of_old]


@pytest.mark.parametrize("ref", [BRANCH, NOTES, PROOF])
@pytest.mark.parametrize("lead", LEADING)
def test_a_ref_that_leads_elsewhere_is_refused(
    factory: Factory, lead: Callable[[Path, Ref], None], ref: Ref
) -> None:
    before = factory.tip("main")
    lead(factory.repo / ".git", ref)
    with pytest.raises(PreflightRefused, match=f"{ref} of the repo only leads to") as refused:
        factory.run(writing("new.txt"), [NEW])
    assert refused.value.exit_code is ExitCode.PREFLIGHT
    assert (factory.tip("main"), factory.tip("missing")) == (before, "")
    if lead is to_main:
        git(factory.repo, "update-ref", ref, commit_on(factory.repo, MAIN))
        assert factory.tip("main") != before, "the control: plain git follows it"


def commit_on(repo: Path, ref: Ref) -> str:
    """Return a new commit that follows that of `ref`."""
    return git(repo, "commit-tree", "-p", ref, "-m", "more", f"{ref}^{{tree}}")


def test_a_folder_of_branches_that_is_a_link_is_refused(factory: Factory) -> None:
    (factory.repo / ".git/refs/heads/deep").symlink_to(".")
    before = factory.tip("main")
    with pytest.raises(PreflightRefused, match="only leads to refs/heads/work"):
        factory.run(writing("new.txt"), [NEW], branch="deep/work")
    git(factory.repo, "update-ref", "refs/heads/deep/main", commit_on(factory.repo, MAIN))
    assert factory.tip("main") != before, "the control: plain git goes through it"


def test_a_folder_of_refs_that_is_a_link_as_a_whole_is_ordinary(factory: Factory) -> None:
    (factory.repo / ".git/refs").rename(factory.scratch / "refs")
    (factory.repo / ".git/refs").symlink_to(factory.scratch / "refs")
    assert factory.run(writing("new.txt"), [NEW]).verdict == "PASS"


def in_a_linked_tree(factory: Factory) -> Path:
    git(factory.repo, "worktree", "add", "--quiet", "-b", "side", str(factory.scratch / "linked"))
    git(factory.repo, "symbolic-ref", BRANCH, MAIN)
    return factory.scratch / "linked"


def in_a_submodule(factory: Factory) -> Path:
    allow = ("-c", "protocol.file.allow=always")
    git(factory.scratch, "clone", "--quiet", str(factory.repo), "outer")
    git(factory.scratch / "outer", *allow, "submodule", "--quiet", "add", str(factory.repo), "in")
    git(factory.scratch / "outer/in", "symbolic-ref", BRANCH, MAIN)
    return factory.scratch / "outer/in"


@pytest.mark.parametrize("place", [in_a_linked_tree, in_a_submodule])
def test_a_symbolic_branch_is_found_where_git_is_a_file(
    factory: Factory, place: Callable[[Factory], Path]
) -> None:
    tree = place(factory)
    assert (tree / ".git").is_file()
    with pytest.raises(PreflightRefused, match=f"{BRANCH} of the repo only leads to {MAIN}"):
        factory.run(writing("new.txt"), [NEW], repo=tree)


def test_a_branch_that_a_protected_one_leads_to_is_refused(factory: Factory) -> None:
    git(factory.repo, "branch", "work")
    git(factory.repo, "switch", "--quiet", "--create", "other")
    git(factory.repo, "symbolic-ref", MAIN, BRANCH)
    with pytest.raises(PreflightRefused, match="protected, since 'main' leads to it"):
        factory.run(writing("new.txt"), [NEW])


@pytest.mark.parametrize("ref", [BRANCH, NOTES, PROOF])
def test_a_ref_that_is_made_symbolic_before_the_landing_is_not_followed(
    factory: Factory, ref: Ref
) -> None:
    before = factory.tip("main")
    git(factory.repo, "switch", "--quiet", "--create", "other")
    factory.at_stage("apply", lambda _: git(factory.repo, "symbolic-ref", ref, MAIN))
    with pytest.raises(PreflightRefused, match=f"{ref} only leads to {MAIN} now") as refused:
        factory.run(writing("new.txt"), [NEW])
    assert factory.tip("main") == before
    kept = refused.value.hint.split("`")[1].removeprefix("git merge ")
    assert git(factory.repo, "cat-file", "blob", f"{kept}:new.txt") == "new"


def test_a_symbolic_ref_is_not_followed_by_the_move_itself(repo: Path) -> None:
    """Somebody may make it symbolic after the last look at it."""
    old, new = git(repo, "rev-parse", MAIN), commit_on(repo, MAIN)
    git(repo, "symbolic-ref", BRANCH, MAIN)
    assert refs.move(Git(repo), BRANCH, new, old, "landed")
    assert (git(repo, "rev-parse", MAIN), git(repo, "rev-parse", BRANCH)) == (old, new)


@pytest.mark.parametrize("ref", [NOTES, PROOF])
def test_a_commit_is_not_accepted_through_a_symbolic_ref(factory: Factory, ref: Ref) -> None:
    person = take_over(factory)
    commit = by_hand(person)
    before = factory.tip("main")
    git(factory.repo, "symbolic-ref", ref, MAIN)
    with pytest.raises(PreflightRefused, match=f"{ref} of the repo only leads to {MAIN}"):
        person.accept("WO-02", commit, allow_more=True)
    assert factory.tip("main") == before
    git(factory.repo, "notes", f"--ref={ref}", "add", "--message=x", commit)
    assert factory.tip("main") != before, "the control: plain git writes the note onto main"


# What is pushed


@pytest.fixture
def remote(factory: Factory) -> Path:
    """A remote that has `main`, and a person who works on another branch."""
    bare = factory.scratch / "remote.git"
    git(factory.scratch, "clone", "--quiet", "--bare", str(factory.repo), str(bare))
    git(factory.repo, "remote", "add", "origin", str(bare))
    git(factory.repo, "switch", "--quiet", "--create", "other")
    return bare


def warnings(factory: Factory) -> str:
    return "\n".join(each.message for each in factory.seen(Warned))


def test_a_symbolic_branch_of_the_remote_is_not_pushed_to(factory: Factory, remote: Path) -> None:
    git(remote, "symbolic-ref", BRANCH, MAIN)
    before = git(remote, "rev-parse", MAIN)
    summary = factory.run(writing("new.txt"), [NEW], push=True)
    assert (summary.verdict, summary.pushed) == ("PASS", False)
    assert f"{BRANCH} of the remote only leads to {MAIN}" in warnings(factory)
    assert git(remote, "rev-parse", MAIN) == before
    git(factory.repo, "push", "--quiet", "origin", "work")
    assert git(remote, "rev-parse", MAIN) == summary.commit, "the control: plain git moves main"


def test_a_symbolic_notes_ref_of_the_remote_is_not_pushed_to(
    factory: Factory, remote: Path
) -> None:
    git(remote, "branch", "aside", "main")
    git(remote, "symbolic-ref", PROOF, "refs/heads/aside")
    summary = factory.run(writing("new.txt"), [NEW], push=True)
    assert summary.pushed and "were not pushed" in warnings(factory)
    assert git(remote, "rev-parse", "aside") == git(remote, "rev-parse", MAIN)


def test_a_branch_that_is_made_symbolic_before_the_push_is_not_pushed(
    factory: Factory, remote: Path
) -> None:
    def lead(event: object) -> None:
        if isinstance(event, OrderEnded):
            git(factory.repo, "symbolic-ref", BRANCH, MAIN)

    factory.on_event = lead
    assert factory.run(writing("new.txt"), [NEW], push=True).pushed is False
    assert f"{BRANCH} of the repo only leads to {MAIN}" in warnings(factory)
    assert git(remote, "for-each-ref", BRANCH) == ""


# Programs of the repo's own config


@pytest.fixture
def server() -> Iterator[tuple[str, list[str]]]:
    """A server that wants a password; its address, and the requests that it got."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="x"')
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield f"127.0.0.1:{running.server_port}", asked
        running.shutdown()
        thread.join()


def canary(factory: Factory, answer: str = "") -> str:
    """Return a program that leaves a mark, and says `answer`."""
    program = factory.scratch / "canary"
    program.write_text(f"#!/bin/sh\ntouch '{factory.scratch}/ran'\necho '{answer}'\nexit 1\n")
    program.chmod(0o755)
    return str(program)


WAYS: dict[str, tuple[str, dict[str, str]]] = {
    "receivepack": ("BARE", {"remote.origin.receivepack": "CANARY"}),
    "uploadpack": ("BARE", {"remote.origin.uploadpack": "CANARY"}),
    "a vcs": ("CANARY", {"remote.origin.vcs": "ext"}),
    "a url": ("ext::CANARY", {}),
    "a pushurl": ("BARE", {"remote.origin.pushurl": "ext::CANARY"}),
    "insteadOf": ("BARE", {"url.ext::CANARY %S .insteadOf": "/"}),
    "pushInsteadOf": ("BARE", {"url.ext::CANARY %S .pushInsteadOf": "/"}),
    "settings of the url": ("file://BARE", {"remote.file://BARE.receivepack": "CANARY"}),
    "an ssh command": ("ssh://a.invalid/x", {"core.sshCommand": "CANARY"}),
    "a proxy program": ("git://a.invalid/x", {"core.gitProxy": "CANARY"}),
    "a helper": ("http://SERVER/x", {"credential.helper": "!CANARY"}),
    "a helper of the url": ("http://SERVER/x", {"credential.http://SERVER.helper": "!CANARY"}),
    "a question for a password": ("http://SERVER/x", {"core.askPass": "CANARY"}),
}


def point(factory: Factory, way: str, server: str) -> None:
    """Have the repo's own config name the canary for the remote."""

    def filled(text: str) -> str:
        bare = str(factory.scratch / "remote.git")
        return (
            text.replace("CANARY", canary(factory)).replace("BARE", bare).replace("SERVER", server)
        )

    url, pairs = WAYS[way]
    for key, value in {"protocol.ext.allow": "always", **pairs}.items():
        git(factory.repo, "config", filled(key), filled(value))
    git(factory.repo, "config", "remote.origin.url", filled(url))


def plain_git(repo: Path, *words: str) -> None:
    """Run git as a person would, whatever comes of it."""
    plain = {**os.environ, "GIT_TERMINAL_PROMPT": "0"}
    subprocess.run(["git", *words], cwd=repo, env=plain, capture_output=True, timeout=60)


@pytest.mark.rest
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.usefixtures("remote")
def test_no_program_of_the_repos_own_config_runs_for_a_remote(
    factory: Factory, way: str, server: tuple[str, list[str]]
) -> None:
    point(factory, way, server[0])
    asked = Git(factory.repo)
    git(factory.repo, "branch", "work")
    for ask in (
        lambda: refs.push(asked, "origin", "work"),
        lambda: refs.list_refs(asked, "origin", "refs/heads/"),
        lambda: refs.fetch_refs(asked, "origin", (MAIN,)),
        lambda: refs.push_refs(
            asked, refs.url_of(asked, "origin"), {BRANCH: asked.run("rev-parse", MAIN)}
        ),
    ):
        try:
            ask()
        except CommandFailed:
            continue
    assert not (factory.scratch / "ran").exists()
    for words in (["push", "origin", "work"], ["fetch", "origin"]):
        plain_git(factory.repo, *words)
    if way == "settings of the url":
        plain_git(factory.repo, "push", f"file://{factory.scratch}/remote.git", "work")
    assert (factory.scratch / "ran").exists(), "the control: plain git runs it"


@pytest.mark.usefixtures("remote")
def test_what_is_set_aside_for_a_push_is_said_once(factory: Factory) -> None:
    git(factory.repo, "config", "core.sshCommand", canary(factory))
    git(factory.repo, "config", "http.https://a.invalid/.proxy", "http://b.invalid")
    assert factory.run(writing("new.txt"), [NEW], push=True).pushed
    said = [each for each in factory.seen(Warned) if "core.sshcommand" in each.message]
    assert len(said) == 1 and "http.https://a.invalid/.proxy" in said[0].message


@pytest.mark.usefixtures("remote")
@pytest.mark.parametrize("own", [False, True])
def test_programs_of_the_persons_config_go_on_working(
    factory: Factory, server: tuple[str, list[str]], own: bool
) -> None:
    """They do, whether or not the repo's own config names others in their place."""
    for key in ("core.sshCommand", "credential.helper"):
        git(factory.repo, "config", "--global", key, canary(factory))
        if own:
            git(factory.repo, "config", key, "/nowhere")
    for url in ("ssh://a.invalid/x", f"http://{server[0]}/x"):
        (factory.scratch / "ran").unlink(missing_ok=True)
        with pytest.raises(CommandFailed):
            refs.list_refs(Git(factory.repo), url, "refs/heads/")
        assert (factory.scratch / "ran").exists()


@pytest.mark.usefixtures("remote")
def test_a_proxy_of_the_repo_sees_no_request(
    factory: Factory, server: tuple[str, list[str]]
) -> None:
    address, asked = server
    for key in ("http.proxy", "http.http://a.invalid/.proxy"):
        git(factory.repo, "config", key, f"http://{address}")
    with pytest.raises(CommandFailed):
        refs.list_refs(Git(factory.repo), "http://a.invalid/x", "refs/heads/")
    assert asked == []
    plain_git(factory.repo, "ls-remote", "http://a.invalid/x")
    assert asked, "the control: plain git asks the proxy"


@pytest.mark.parametrize(
    "spelled", ["./evil.git", "TREE/evil.git", "file://TREE/%65vil.git", "evil"]
)
def test_a_remote_in_the_repo_itself_runs_no_hook(factory: Factory, spelled: str) -> None:
    evil = factory.repo / "evil.git"
    git(factory.repo, "init", "--quiet", "--bare", str(evil))
    (evil / "hooks").mkdir(exist_ok=True)
    Path(canary(factory)).rename(evil / "hooks/pre-receive")
    git(factory.repo, "remote", "add", "origin", spelled.replace("TREE", str(factory.repo)))
    git(factory.repo, "branch", "work")
    with pytest.raises(CommandFailed, match="lies in the repo itself"):
        refs.push(Git(factory.repo), "origin", "work")
    assert not (factory.scratch / "ran").exists()
    plain_git(factory.repo, "push", "origin", "work")
    assert (factory.scratch / "ran").exists(), "the control: plain git has it run"


@pytest.mark.usefixtures("remote")
def test_a_file_of_old_does_not_say_what_a_url_is(factory: Factory) -> None:
    (factory.repo / ".git/remotes").mkdir()
    (factory.repo / ".git/remotes/host:x").write_text(f"URL: ext::{canary(factory)}\n")
    git(factory.repo, "config", "protocol.ext.allow", "always")
    git(factory.repo, "config", "remote.origin.url", "host:x")
    with pytest.raises(CommandFailed, match="a file of old"):
        refs.list_refs(Git(factory.repo), "origin", "refs/heads/")
    assert not (factory.scratch / "ran").exists()
    plain_git(factory.repo, "fetch", "host:x")
    assert (factory.scratch / "ran").exists(), "the control: plain git reads it"


def test_no_refspec_of_the_repo_moves_a_branch_here(factory: Factory, remote: Path) -> None:
    before = factory.tip("main")
    git(factory.repo, "config", "remote.origin.fetch", f"+{BRANCH}:{MAIN}")
    summary = factory.run(writing("new.txt"), [NEW], push=True)
    assert summary.pushed and git(remote, "rev-parse", BRANCH) == summary.commit
    assert factory.tip("main") == before
    git(factory.repo, "push", "--quiet", "--force", "origin", "work")
    assert factory.tip("main") == summary.commit, "the control: a plain push moves main"


def entry(scope: str, key: str, value: str) -> ConfigEntry:
    return ConfigEntry(scope, key, value)


def test_helpers_of_the_person_come_back_in_their_sequence() -> None:
    found = [
        entry("system", "credential.helper", "store"),
        entry("global", "credential.https://a.example.helper", ""),
        entry("global", "credential.https://a.example.helper", "!gh auth git-credential"),
        entry("local", "credential.helper", "!evil"),
    ]
    undone = without_repo_programs(found)
    assert undone[-4:] == (
        ("credential.helper", ""),
        *((each.key, each.value) for each in found[:3]),
    )


def test_protocols_are_gits_own_and_those_that_the_person_allows() -> None:
    found = [
        entry("global", "protocol.codecommit.allow", "always"),
        entry("global", "protocol.ext.allow", "always"),
        entry("local", "protocol.evil.allow", "always"),
    ]
    assert allowed_protocols(found) == "file:git:http:https:ssh:codecommit"


# Names of branches

OTHER_SPELLINGS = [
    *("Main", "MASTER", "heads/main", "refs/heads/main", "refs/heads/heads/Main", "origin/main"),
    *("remotes/origin/main", "refs/remotes/up/master", "ma\u200bin", "\uff4dain", "RELEASE-\u00e9"),
]


@pytest.mark.parametrize("name", OTHER_SPELLINGS)
def test_a_protected_branch_in_another_spelling_is_refused(factory: Factory, name: str) -> None:
    protected = frozenset({"main", "master", "release-e\u0301"})
    git(factory.repo, "update-ref", f"refs/heads/{name}", "HEAD")
    with pytest.raises(PreflightRefused, match="is protected, as another spelling of"):
        factory.run(writing("new.txt"), [NEW], branch=name, protected=protected)


@pytest.mark.parametrize("name", ["@", "HEAD", "head", "heads/@"])
def test_a_name_of_what_is_checked_out_is_refused(factory: Factory, name: str) -> None:
    git(factory.repo, "update-ref", f"refs/heads/{name}", "HEAD")
    with pytest.raises(PreflightRefused, match=r"git refuses|means what is checked out"):
        factory.run(writing("new.txt"), [NEW], branch=name)


@pytest.mark.parametrize("name", ["mainly", "team/main-page", "origin/work", "heads-up"])
def test_a_name_that_only_looks_like_a_protected_one_is_taken(repo: Path, name: str) -> None:
    refuse_name(Git(repo), name, ("main", "master"))
