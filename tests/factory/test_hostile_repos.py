"""A target's own config and history name programs: none of them runs outside the sandbox."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from factory.record.journal_entries import Entry, LandingBegun, RunBegun, render_entry
from shared.errors import LlmchError, PreflightRefused
from tests.fakes import proposal
from tests.harness import Factory, commit_all, fingerprint, git, manifest, write_plan, writing

PLAN = manifest([writing("a.txt", 1), writing("src/app.py", 2)])
REPLIES = {
    "WO-01": [proposal({"a.txt": "a\n"})],
    "WO-02": [proposal({"src/app.py": "GREETING = 'hi'\n"})],
}

Plant = Callable[[Path, str], None]


@pytest.fixture
def target(factory: Factory) -> Factory:
    """The branch is checked out, so that landing goes through the user's tree as well."""
    git(factory.repo, "switch", "--quiet", "--create", "work")
    return factory


def canary(factory: Factory) -> str:
    """Return a command that leaves a mark wherever and however it is started."""
    script = factory.scratch / "canary.sh"
    script.write_text(f"#!/bin/sh\ntouch '{factory.scratch}/ran'\n[ -t 0 ] || cat\nexit 0\n")
    script.chmod(0o755)
    return str(script)


def config(*pairs: tuple[str, str]) -> Plant:
    def plant(repo: Path, command: str) -> None:
        for key, value in pairs:
            git(repo, "config", key, value.replace("CANARY", command))

    return plant


def plant_include(repo: Path, command: str) -> None:
    (repo / ".git/included").write_text(
        f'[core]\n\tfsmonitor = {command}\n[filter "f"]\n\tclean = {command}\n'
        f"\tsmudge = {command}\n\tprocess = {command}\n"
    )
    git(repo, "config", "include.path", "included")
    commit_all_quietly(repo, "* filter=f\n")


def plant_worktree_config(repo: Path, command: str) -> None:
    git(repo, "config", "extensions.worktreeConfig", "true")
    (repo / ".git/config.worktree").write_text(
        f'[core]\n\tfsmonitor = {command}\n[filter "f"]\n\tclean = {command}\n'
        f"\tsmudge = {command}\n\trequired = true\n"
    )
    commit_all_quietly(repo, "* filter=f\n")


def plant_filter(repo: Path, command: str) -> None:
    for key in ("clean", "smudge", "process"):
        git(repo, "config", f"filter.f.{key}", command)
    git(repo, "config", "filter.f.required", "true")
    commit_all_quietly(repo, "* filter=f\n")


def plant_diff_and_merge_drivers(repo: Path, command: str) -> None:
    for key in ("diff.d.command", "diff.d.textconv", "diff.external", "merge.d.driver"):
        git(repo, "config", key, command)
    git(repo, "config", "merge.default", "d")
    commit_all_quietly(repo, "* diff=d merge=d\n")


HOOKS = [
    "post-checkout",
    "pre-commit",
    "commit-msg",
    "post-commit",
    "post-merge",
    "pre-push",
    "reference-transaction",
    "post-index-change",
    "fsmonitor-watchman",
    "post-rewrite",
    "pre-auto-gc",
    "prepare-commit-msg",
]


def plant_hooks(repo: Path, command: str) -> None:
    (repo / ".git/hooks").mkdir(exist_ok=True)
    for name in HOOKS:
        shutil.copy(command, repo / ".git/hooks" / name)


def plant_hooks_path(repo: Path, command: str) -> None:
    plant_hooks(repo, command)
    (repo / ".git/hooks").rename(repo / ".git/other-hooks")
    git(repo, "config", "core.hooksPath", str(repo / ".git/other-hooks"))


def plant_signed_history(repo: Path, command: str) -> None:
    """A commit with a signature has git ask the configured program where it shows signatures."""
    for key in ("gpg.program", "gpg.ssh.program", "gpg.x509.program"):
        git(repo, "config", key, command)
    for key in ("log.showSignature", "commit.gpgSign", "tag.gpgSign", "push.gpgSign"):
        git(repo, "config", key, "true")
    plain = git(repo, "-c", "log.showSignature=false", "cat-file", "commit", "HEAD")
    head, _, message = plain.partition("\n\n")
    signature = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----"
    signed = f"{head}\n{signature}\n\n{message}\n".encode()
    commit = git(repo, "hash-object", "-t", "commit", "-w", "--stdin", stdin=signed)
    git(repo, "update-ref", "refs/heads/work", commit)


def plant_submodule(repo: Path, command: str) -> None:
    """Its own config has a filter, and a changed file has git run it to see whether it changed."""
    library = repo.parent / "library"
    git(repo.parent, "clone", "--quiet", str(repo), str(library))
    commit_all(library, {".gitattributes": "* filter=f\n"})
    allow = ("-c", "protocol.file.allow=always")
    git(repo, *allow, "submodule", "--quiet", "add", str(library), "lib")
    commit_all(repo)
    for key in ("filter.f.clean", "core.fsmonitor"):
        git(repo / "lib", "config", key, command)
    (repo / "lib/README.md").write_text("# A changed\n")
    git(repo, "config", "submodule.recurse", "true")
    git(repo, "config", "status.submoduleSummary", "true")


def commit_all_quietly(repo: Path, attributes: str) -> None:
    """Commit attributes without running what they ask for."""
    (repo / ".gitattributes").write_text(attributes)
    off = [part for key in ("clean", "smudge", "process") for part in ("-c", f"filter.f.{key}=")]
    off += ["-c", "filter.f.required=false", "-c", "core.fsmonitor=false"]
    git(repo, *off, "add", "--all")
    git(repo, *off, "commit", "--quiet", "--message=attributes")


HOSTILE: dict[str, Plant] = {
    "a file system monitor": config(("core.fsmonitor", "CANARY")),
    "a monitor hook": config(("core.fsmonitor", "CANARY"), ("core.fsmonitorHookVersion", "1")),
    "filters": plant_filter,
    "an included file": plant_include,
    "a config of the working tree": plant_worktree_config,
    "drivers": plant_diff_and_merge_drivers,
    "hooks": plant_hooks,
    "hooks elsewhere": plant_hooks_path,
    "signatures": plant_signed_history,
    "a submodule": plant_submodule,
    "editors": config(
        ("core.editor", "CANARY"),
        ("sequence.editor", "CANARY"),
        ("core.pager", "CANARY"),
        ("pager.log", "CANARY"),
        ("pager.status", "CANARY"),
        ("core.askPass", "CANARY"),
    ),
    "ways to a remote": config(
        ("core.sshCommand", "CANARY"),
        ("core.gitProxy", "CANARY"),
        ("credential.helper", "!CANARY"),
        ("core.alternateRefsCommand", "CANARY"),
    ),
    "aliases": config(
        ("alias.status", "!CANARY"),
        ("alias.add", "!CANARY"),
        ("alias.commit-tree", "!CANARY"),
        ("alias.worktree", "!CANARY"),
    ),
    "trailers and templates": config(
        ("trailer.x.command", "CANARY"), ("commit.template", "/dev/zero")
    ),
}


@pytest.mark.rest
@pytest.mark.parametrize("name", HOSTILE)
def test_nothing_that_the_target_names_is_started(target: Factory, name: str) -> None:
    HOSTILE[name](target.repo, canary(target))
    (target.scratch / "ran").unlink(missing_ok=True)
    summary = target.run_all(write_plan(target.scratch / "plan", PLAN), REPLIES)
    assert summary.verdict == "PASS"
    assert not (target.scratch / "ran").exists()
    assert (target.repo / "src/app.py").read_text() == "GREETING = 'hi'\n"


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("a file system monitor", "status"),
        ("filters", "status"),
        ("an included file", "status"),
        ("a config of the working tree", "status"),
        ("hooks", "commit --allow-empty --message=x"),
        ("hooks elsewhere", "commit --allow-empty --message=x"),
        ("drivers", "diff"),
        ("signatures", "log"),
        ("a submodule", "status"),
        ("editors", "commit --allow-empty"),
        ("aliases", "status-of-mine"),
    ],
)
def test_the_canary_sings_where_git_is_not_told_otherwise(
    target: Factory, name: str, command: str
) -> None:
    HOSTILE[name](target.repo, canary(target))
    (target.repo / "src/app.py").write_text("GREETING = 'hallo'\n")
    git(target.repo, "config", "alias.status-of-mine", "!" + canary(target))
    ada = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    subprocess.run(
        ["git", *ada, *command.split()], cwd=target.repo, capture_output=True, timeout=120
    )
    assert (target.scratch / "ran").exists()


@pytest.mark.parametrize("name", ["filters", "drivers", "hooks", "a submodule", "signatures"])
def test_nothing_is_started_where_orders_are_merged_either(target: Factory, name: str) -> None:
    HOSTILE[name](target.repo, canary(target))
    (target.scratch / "ran").unlink(missing_ok=True)
    summary = target.run_all(write_plan(target.scratch / "plan", PLAN), REPLIES, jobs=2)
    assert summary.verdict == "PASS"
    assert not (target.scratch / "ran").exists()


def test_clearing_up_after_a_crash_starts_nothing_either(target: Factory) -> None:
    HOSTILE["filters"](target.repo, canary(target))
    head = git(target.repo, "rev-parse", "HEAD")
    (target.repo / "src/app.py").write_text("half checked out\n")
    folder = target.repo / ".git/llmch"
    folder.mkdir()
    steps: list[Entry] = [
        RunBegun("01X", 1, "", Path("/none"), (), "work", head, Path("/none")),
        LandingBegun("WO-01", "work", head, head[:-1] + "0"),
    ]
    (folder / "journal.jsonl").write_text("".join(render_entry(step) + "\n" for step in steps))
    (target.scratch / "ran").unlink(missing_ok=True)
    with pytest.raises(PreflightRefused, match="uncommitted changes"):
        target.run_all(write_plan(target.scratch / "plan", PLAN), REPLIES)
    assert not (target.scratch / "ran").exists()


def test_a_partial_clone_fetches_nothing(target: Factory) -> None:
    """Where an object is missing, git would start the command that the target's config names."""
    repo = target.repo
    git(repo, "config", "core.repositoryFormatVersion", "1")
    git(repo, "config", "extensions.partialClone", "origin")
    git(repo, "config", "remote.origin.url", str(repo.parent / "nowhere"))
    git(repo, "config", "remote.origin.promisor", "true")
    git(repo, "config", "remote.origin.uploadpack", canary(target))
    git(repo, "config", "protocol.file.allow", "always")
    missing = git(repo, "rev-parse", "HEAD:README.md")
    (repo / ".git/objects" / missing[:2] / missing[2:]).unlink()
    with pytest.raises(LlmchError):
        target.run_all(write_plan(target.scratch / "plan", PLAN), REPLIES)
    assert not (target.scratch / "ran").exists()
    assert list(target.workspaces.iterdir()) == []


def test_a_damaged_object_is_an_error_in_words(target: Factory) -> None:
    broken = git(target.repo, "rev-parse", "HEAD:src/app.py")
    path = target.repo / ".git/objects" / broken[:2] / broken[2:]
    path.chmod(0o644)
    path.write_bytes(b"damaged")
    with pytest.raises(LlmchError, match="git worktree failed"):
        target.run_all(write_plan(target.scratch / "plan", PLAN), REPLIES)
    assert list(target.workspaces.iterdir()) == []


def test_signatures_that_the_user_demands_keep_the_commit_aside(target: Factory) -> None:
    git(target.repo, "config", "merge.verifySignatures", "true")
    git(target.repo, "config", "gpg.program", canary(target))
    before = fingerprint(target.repo)
    with pytest.raises(LlmchError, match="could not follow"):
        target.run_all(write_plan(target.scratch / "plan", PLAN), REPLIES)
    assert fingerprint(target.repo) == before
    assert not (target.scratch / "ran").exists()


def test_a_submodules_files_are_untouched(target: Factory) -> None:
    plant_submodule(target.repo, canary(target))
    before = fingerprint(target.repo / "lib")
    target.run_all(write_plan(target.scratch / "plan", PLAN), REPLIES)
    assert fingerprint(target.repo / "lib") == before


def test_a_lock_that_is_a_link_leads_nowhere(target: Factory) -> None:
    victim = target.scratch / "victim"
    victim.write_text("precious\n")
    (target.repo / ".git/llmch").mkdir()
    (target.repo / ".git/llmch/lock").symlink_to(victim)
    with pytest.raises(LlmchError):
        target.run_all(write_plan(target.scratch / "plan", PLAN), REPLIES)
    assert victim.read_text() == "precious\n"


def test_files_with_names_of_any_kind_are_carried_along(target: Factory) -> None:
    names = ["-rf", "a\nb", "\udcff\udcfe", " ", "*", "ü", "u\u0308x", '"', "\t", "A", "x" * 255]
    commit_all(target.repo, dict.fromkeys(names, "x\n"))
    summary = target.run_all(write_plan(target.scratch / "plan", PLAN), REPLIES)
    assert summary.verdict == "PASS"
    listed = git(target.repo, "ls-tree", "-z", "--name-only", "HEAD").split("\0")
    assert set(names) <= set(listed)


def test_a_tree_with_odd_things_in_it_is_carried_along(target: Factory) -> None:
    """Links of all kinds and an executable come through as they are."""
    repo = target.repo
    (repo / "dangling").symlink_to("/nowhere")
    (repo / "loop").symlink_to("loop")
    (repo / "up").symlink_to("..")
    (repo / "tool").write_text("#!/bin/sh\n")
    (repo / "tool").chmod(0o755)
    commit_all(repo)
    before = git(repo, "ls-tree", "-r", "HEAD").splitlines()
    target.run_all(write_plan(target.scratch / "plan", PLAN), REPLIES)
    after = git(repo, "ls-tree", "-r", "HEAD").splitlines()
    assert {line for line in before if "src/app.py" not in line} <= set(after)
    assert git(repo, "status", "--porcelain") == ""
