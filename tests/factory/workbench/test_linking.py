"""Folders of the user's checkout that commands find in their workspace: `link`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from factory.sandbox import bwrap
from factory.sandbox.detect import find_backends
from factory.sandbox.policy import Backend
from shared.errors import PreflightRefused
from shared.events.events import CommandTried, Warned
from shared.settings.settings import SandboxSettings
from tests.fakes import Reply, proposal
from tests.harness import Factory, Json, commit_all, fingerprint, git, manifest, order

GOOD = proposal({"hello.txt": "hello\n"})
SHOWN = "test -f .venv/lib/thing.py"

BACKENDS = [
    pytest.param(
        each.backend, marks=pytest.mark.skipif(bool(each.problem), reason=each.problem or "works")
    )
    for each in find_backends()
] + [pytest.param(Backend.OFF)]


def install(repo: Path, folder: str = ".venv") -> None:
    """Put a folder of packages into the checkout, as a package manager would."""
    (repo / folder / "lib").mkdir(parents=True)
    (repo / folder / "lib" / "thing.py").write_text("THING = 1\n")


@pytest.fixture
def checkout(factory: Factory) -> Path:
    """A checkout with a lock file and, ignored by git, a folder of installed packages."""
    commit_all(factory.repo, {".gitignore": ".venv/\nnode_modules/\n", "uv.lock": "one\n"})
    install(factory.repo)
    return factory.repo


def accepting(*commands: str, **changes: Any) -> Json:
    return order(acceptance_commands=list(commands), **changes)


def warnings_of(factory: Factory) -> list[str]:
    return [each.message for each in factory.seen(Warned)]


@pytest.fixture(params=BACKENDS)
def sandbox(request: pytest.FixtureRequest) -> SandboxSettings:
    return SandboxSettings(backend=request.param)


def test_commands_find_installed_packages_and_the_commit_does_not(
    factory: Factory, checkout: Path, sandbox: SandboxSettings
) -> None:
    before = fingerprint(checkout)
    summary = factory.run(accepting(SHOWN), [GOOD], sandbox=sandbox)
    assert summary.verdict == "PASS"
    assert git(checkout, "diff", "--name-only", "main", "work").split() == ["hello.txt"]
    assert fingerprint(checkout) == before
    assert warnings_of(factory) == []


def test_a_second_attempt_and_the_runs_before_the_first_find_them_too(
    factory: Factory, checkout: Path, sandbox: SandboxSettings
) -> None:
    document = accepting(f"sh -c '{SHOWN} && grep -q hello hello.txt'", SHOWN)
    replies = [proposal({"hello.txt": "no\n"}), GOOD]
    summary = factory.run(document, replies, sandbox=sandbox)
    assert (summary.verdict, summary.attempts) == ("PASS", 2)
    on_baseline = {each.command: each.exit_code for each in factory.seen(CommandTried)}
    assert on_baseline[SHOWN] == 0


SPOILING = [
    "rm -rf .venv/lib",
    "sh -c 'echo spoilt > .venv/lib/thing.py'",
    "sh -c 'mv .venv gone && mkdir -p .venv'",
    "git clean -fdx",
    "python -c \"import shutil; shutil.rmtree('.venv', ignore_errors=True)\"",
]


@pytest.mark.rest
@pytest.mark.parametrize("spoiling", SPOILING)
def test_a_command_cannot_change_them_in_the_checkout_or_for_the_next_command(
    factory: Factory, checkout: Path, sandbox: SandboxSettings, spoiling: str
) -> None:
    if sandbox.backend is Backend.OFF and os.geteuid() == 0:
        pytest.skip("without a sandbox, root may write to the copy")
    before = fingerprint(checkout)
    quoted = spoiling.replace("'", "'\"'\"'")
    document = accepting(f"sh -c '{quoted} || true'", "grep -q THING .venv/lib/thing.py")
    summary = factory.run(document, [GOOD], sandbox=sandbox)
    assert summary.verdict == "PASS"
    assert fingerprint(checkout) == before


def test_a_tool_keeps_a_cache_beside_its_packages_and_nobody_sees_it_later(
    factory: Factory, checkout: Path, sandbox: SandboxSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    if sandbox.backend is Backend.OFF:
        pytest.skip("without a sandbox, the copy is read-only")
    before = fingerprint(checkout)
    caching = "mkdir .venv/.cache && echo spoilt > .venv/.cache/x && cat .venv/.cache/x"
    document = accepting(f"sh -c '{caching} >&2'", "test ! -e .venv/.cache", SHOWN)
    assert factory.run(document, [GOOD], sandbox=sandbox).verdict == "PASS"
    monkeypatch.setattr(bwrap, "layers_work", lambda: False)
    document["acceptance_commands"].append("sh -c '! touch .venv/lib/x'")
    assert factory.run(document, [GOOD], sandbox=sandbox, branch="two").verdict == "PASS"
    assert fingerprint(checkout) == before


def test_a_generated_file_can_be_named_and_is_shown(
    factory: Factory, sandbox: SandboxSettings
) -> None:
    commit_all(factory.repo, {".gitignore": "_version.py\n"})
    (factory.repo / "src/_version.py").write_text("V = 1\n")
    document = accepting("grep -q V src/_version.py")
    options = {"sandbox": sandbox, "link": ("src/_version.py",)}
    assert factory.run(document, [GOOD], **options).verdict == "PASS"
    assert git(factory.repo, "diff", "--name-only", "main", "work").split() == ["hello.txt"]


def test_a_command_that_moves_the_folder_above_them_takes_nothing_along(
    factory: Factory, checkout: Path, sandbox: SandboxSettings
) -> None:
    install(checkout, "web/node_modules")
    elsewhere = factory.scratch / "elsewhere"
    elsewhere.mkdir()
    before = fingerprint(checkout)
    moving = f"sh -c 'mv web away && ln -s {elsewhere} web'"
    document = accepting(moving, "grep -q THING web/node_modules/lib/thing.py")
    options = {"sandbox": sandbox, "link": ("web/node_modules",), "max_attempts": 1}
    summary = factory.run(document, [GOOD], **options)
    # Without mounts the move succeeds, and what was moved is found and held against the command.
    moved = sandbox.backend is not Backend.BWRAP
    assert summary.verdict == ("FAIL" if moved else "PASS")
    assert fingerprint(checkout) == before
    assert not list(elsewhere.iterdir())


def test_without_a_sandbox_what_a_command_does_to_them_stays_out_of_the_checkout(
    factory: Factory, checkout: Path
) -> None:
    before = fingerprint(checkout)
    factory.run(accepting("rm -rf .venv"), [GOOD], sandbox=SandboxSettings(backend=Backend.OFF))
    assert fingerprint(checkout) == before


def test_a_folder_whose_lock_differs_on_the_branch_is_reported_and_not_shown(
    factory: Factory, checkout: Path
) -> None:
    git(checkout, "switch", "--quiet", "--create", "work")
    commit_all(checkout, {"uv.lock": "two\n"})
    git(checkout, "switch", "--quiet", "main")
    summary = factory.run(accepting(f"sh -c '! {SHOWN}'"), [GOOD])
    assert summary.verdict == "PASS"
    (warning,) = warnings_of(factory)
    assert warning.startswith(".venv is not shown to commands: uv.lock of the branch differs")


def test_a_lock_that_an_order_lands_ends_the_showing(factory: Factory, checkout: Path) -> None:
    relock = order(1, allowed_files=["uv.lock"], acceptance_commands=[SHOWN], title="Lock again")
    after = order(2, acceptance_commands=[f"sh -c '! {SHOWN}'"])
    replies: dict[str, list[Reply]] = {
        "WO-01": [proposal({"uv.lock": "two\n"})],
        "WO-02": [GOOD],
    }
    summary = factory.run_all(manifest([relock, after]), replies)
    assert summary.verdict == "PASS"
    assert len(warnings_of(factory)) == 1


def test_a_folder_that_git_does_not_ignore_belongs_to_the_project(factory: Factory) -> None:
    commit_all(factory.repo, {"venv/thing.py": "x = 1\n"})
    summary = factory.run(accepting("test -f venv/thing.py"), [GOOD])
    assert summary.verdict == "PASS"
    assert warnings_of(factory) == []


def test_a_folder_that_ignores_itself_is_ignored(factory: Factory) -> None:
    install(factory.repo)
    (factory.repo / ".venv/.gitignore").write_text("*\n")
    assert factory.run(accepting(SHOWN), [GOOD]).verdict == "PASS"


def test_named_folders_are_shown_whatever_their_lock_says(factory: Factory, checkout: Path) -> None:
    install(checkout, "web/node_modules")
    document = accepting("test -f web/node_modules/lib/thing.py", f"sh -c '! {SHOWN}'")
    summary = factory.run(document, [GOOD], link=("web/node_modules",))
    assert summary.verdict == "PASS"


def test_nothing_is_shown_where_that_is_declined(factory: Factory, checkout: Path) -> None:
    assert factory.run(accepting(f"sh -c '! {SHOWN}'"), [GOOD], link=()).verdict == "PASS"


def refusal(factory: Factory, *link: str) -> str:
    with pytest.raises(PreflightRefused) as refused:
        factory.run(order(), [GOOD], link=link)
    assert refused.value.hint
    assert not git(factory.repo, "branch", "--list", "work")
    return refused.value.message


def test_what_cannot_be_shown_is_refused_before_anything_is_done(
    factory: Factory, checkout: Path
) -> None:
    commit_all(checkout, {".gitignore": ".venv/\nnode_modules\n"})
    (checkout / "node_modules").symlink_to(factory.scratch)
    assert "names missing, which cannot be shown" in refusal(factory, "missing")
    assert "the checkout does not contain it" in refusal(factory, ".venv", "missing")
    assert "node_modules is a symbolic link" in refusal(factory, "node_modules")
    assert "git does not ignore it" in refusal(factory, "src")
    assert "git does not ignore it" in refusal(factory, "uv.lock")


def test_by_default_a_link_that_leads_out_of_the_repo_is_reported_and_not_followed(
    factory: Factory, checkout: Path
) -> None:
    commit_all(checkout, {".gitignore": ".venv/\nnode_modules\n"})
    (checkout / "node_modules").symlink_to(factory.scratch)
    summary = factory.run(accepting("sh -c '! test -e node_modules'"), [GOOD])
    assert summary.verdict == "PASS"
    message = "node_modules is not shown to commands: node_modules is a symbolic link"
    assert warnings_of(factory) == [message]


def test_a_proposal_cannot_write_into_what_is_shown(factory: Factory, checkout: Path) -> None:
    document = accepting("true", allowed_files=[".venv/lib/evil.py"])
    summary = factory.run(document, [proposal({".venv/lib/evil.py": "x\n"})], max_attempts=1)
    assert summary.verdict == "FAIL"
    assert not (checkout / ".venv/lib/evil.py").exists()
    brief = summary.attempt_records[-1].failure_brief
    assert brief is not None
    assert "installed packages" in brief.primary_error_excerpt


def test_what_is_shown_is_not_compiled_by_the_verification(
    factory: Factory, checkout: Path, sandbox: SandboxSettings
) -> None:
    (checkout / ".venv/lib/broken.py").write_text("no python\n")
    summary = factory.run(accepting("true"), [GOOD], sandbox=sandbox)
    assert summary.verdict == "PASS"


def test_a_virtual_environment_works_at_its_place_and_by_its_scripts(
    factory: Factory, sandbox: SandboxSettings
) -> None:
    import subprocess
    import sys

    commit_all(factory.repo, {".gitignore": ".venv/\n"})
    place = factory.repo / ".venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", place], check=True)
    (script := place / "bin/hello").write_text(
        f"#!{place}/bin/python\nimport sys\nprint(sys.prefix)\n"
    )
    script.chmod(0o755)
    inside = "import sys; assert sys.prefix.endswith('.venv')"
    document = accepting(f'.venv/bin/python -c "{inside}"', ".venv/bin/hello")
    assert factory.run(document, [GOOD], sandbox=sandbox).verdict == "PASS"


def test_a_submodule_with_the_name_of_a_package_folder_is_the_projects(
    factory: Factory,
) -> None:
    git(factory.repo, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},vendor")
    (factory.repo / "vendor").mkdir()
    git(factory.repo, "commit", "--quiet", "--message=a submodule")
    assert factory.run(order(), [GOOD]).verdict == "PASS"
    with pytest.raises(PreflightRefused, match=r"vendor.*git does not ignore it"):
        factory.run(order(), [GOOD], link=("vendor",), branch="other")
