"""Strangers sign statements, and move signed ones: a signature counts only by whom the person
trusts, and only for the commit that the statement is about."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from factory.audit.audit_evidence import Claim, ClaimState
from factory.statement.statement import PROOF_REF
from tests.factory.audit.forging import Forger
from tests.factory.audit.honest import ONE, TWO, Auditor, of_claim
from tests.harness import Factory, commit_all, git, writing

ADA, EVE = "ada@example.org", "eve@example.org"


@pytest.fixture
def keys(factory: Factory, tmp_path: Path) -> Path:
    """Two SSH keys; Ada signs commits, and her own config trusts her key. Return their folder."""
    folder = tmp_path / "keys"
    folder.mkdir()
    for name in ("ada", "eve"):
        made = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(folder / name)]
        subprocess.run(made, check=True)
    (folder / "allowed").write_text(allowing("ada", folder))
    for key, value in {
        "commit.gpgSign": "true",
        "gpg.format": "ssh",
        "user.signingKey": str(folder / "ada"),
        "gpg.ssh.allowedSignersFile": str(folder / "allowed"),
    }.items():
        git(factory.repo, "config", "--global", key, value)
    return folder


def allowing(key: str, folder: Path) -> str:
    """Return a line that has a key stand for Ada."""
    return f"{ADA} {(folder / f'{key}.pub').read_text()}"


def signature(factory: Factory, words: str = "work") -> tuple[ClaimState, str]:
    found = of_claim(Auditor(factory.repo, factory.artifacts).look(words), Claim.SIGNATURE)
    return found.standing, found.text


def plain_git_believes(factory: Factory) -> bool:
    """Return whether plain git takes a commit that Eve signs in this repo for Ada's."""
    eve = ("-c", f"user.signingKey={factory.scratch}/keys/eve", "-c", "gpg.format=ssh")
    git(factory.repo, *eve, "commit", "--quiet", "--allow-empty", "-S", "--message=x")
    done = subprocess.run(["git", "verify-commit", "HEAD"], cwd=factory.repo, capture_output=True)
    return done.returncode == 0 and ADA.encode() in done.stderr


def in_the_repos_config(factory: Factory, keys: Path) -> None:
    git(factory.repo, "config", "gpg.ssh.allowedSignersFile", str(keys / "evil"))


def in_an_included_file(factory: Factory, keys: Path) -> None:
    (factory.repo / ".git/more").write_text(f"[gpg.ssh]\nallowedSignersFile = {keys}/evil\n")
    git(factory.repo, "config", "include.path", "more")


def in_the_config_of_the_tree(factory: Factory, keys: Path) -> None:
    git(factory.repo, "config", "extensions.worktreeConfig", "true")
    git(factory.repo, "config", "--worktree", "gpg.ssh.allowedSignersFile", str(keys / "evil"))


def by_a_relative_path_of_the_person(factory: Factory, keys: Path) -> None:
    commit_all(factory.repo, {"signers": allowing("eve", keys)})
    git(factory.repo, "config", "--global", "gpg.ssh.allowedSignersFile", "signers")


def by_a_path_of_the_person_into_the_tree(factory: Factory, keys: Path) -> None:
    commit_all(factory.repo, {"signers": allowing("eve", keys)})
    path = str(factory.repo / "signers")
    git(factory.repo, "config", "--global", "gpg.ssh.allowedSignersFile", path)


def by_a_link_of_the_person_into_the_git_folder(factory: Factory, keys: Path) -> None:
    (factory.repo / ".git/signers").write_text(allowing("eve", keys))
    (keys / "link").symlink_to(factory.repo / ".git/signers")
    git(factory.repo, "config", "--global", "gpg.ssh.allowedSignersFile", str(keys / "link"))


@pytest.mark.parametrize(
    "trust",
    [
        in_the_repos_config,
        in_an_included_file,
        in_the_config_of_the_tree,
        by_a_relative_path_of_the_person,
        by_a_path_of_the_person_into_the_tree,
        by_a_link_of_the_person_into_the_git_folder,
    ],
)
def test_a_strangers_key_is_not_trusted_on_the_repos_word(
    factory: Factory, keys: Path, trust: Callable[[Factory, Path], None]
) -> None:
    (keys / "evil").write_text(allowing("eve", keys))
    git(factory.repo, "config", "--global", "user.signingKey", str(keys / "eve"))
    git(factory.repo, "branch", "base")
    trust(factory, keys)
    factory.run(writing("one.txt"), [ONE], allow_dirty=True)
    state, text = signature(factory)
    assert state is not ClaimState.PROVEN and ADA not in text.replace(str(keys), "")
    assert plain_git_believes(factory), "the control: plain git trusts the key"


def test_a_repo_that_names_nobody_leaves_the_persons_trust_as_it_is(
    factory: Factory, keys: Path
) -> None:
    git(factory.repo, "config", "gpg.ssh.allowedSignersFile", str(keys / "nowhere"))
    git(factory.repo, "config", "gpg.ssh.revocationFile", str(keys / "ada.pub"))
    factory.run(writing("one.txt"), [ONE])
    assert signature(factory)[0] is ClaimState.PROVEN


def test_a_key_that_the_person_revoked_is_not_trusted(factory: Factory, keys: Path) -> None:
    factory.run(writing("one.txt"), [ONE])
    assert signature(factory)[0] is ClaimState.PROVEN
    git(factory.repo, "config", "--global", "gpg.ssh.revocationFile", str(keys / "ada.pub"))
    assert signature(factory)[0] is ClaimState.CONTRADICTED
    # The repo cannot take it back.
    (keys / "nobody").touch()
    git(factory.repo, "config", "gpg.ssh.revocationFile", str(keys / "nobody"))
    assert signature(factory)[0] is ClaimState.CONTRADICTED
    git(factory.repo, "config", "--global", "gpg.ssh.revocationFile", str(keys / "missing"))
    assert signature(factory)[0] is ClaimState.NOT_PROVABLE


def scripted_gpg(factory: Factory, level: str) -> None:
    """Have the person's gpg say that a signature is good, by a key that is trusted so far."""
    program = factory.scratch / "gpg"
    program.write_text(
        "#!/bin/sh\ncase \"$*\" in *-bsau*) echo '-----BEGIN PGP SIGNATURE-----' ;; *)\n"
        f"printf '[GNUPG:] GOODSIG 1 Eve\\n[GNUPG:] TRUST_{level} 0 pgp\\n' ;; esac\n"
    )
    program.chmod(0o755)
    for key, value in (("gpg.program", str(program)), ("commit.gpgSign", "true")):
        git(factory.repo, "config", "--global", key, value)


@pytest.mark.parametrize(
    ("level", "least", "trusted"),
    [
        ("FULLY", "marginal", True),
        ("UNDEFINED", "marginal", False),
        ("NEVER", "", False),
        ("UNDEFINED", "", True),
    ],
)
def test_the_least_trust_of_a_key_is_what_the_person_asks_for(
    factory: Factory, level: str, least: str, trusted: bool
) -> None:
    scripted_gpg(factory, level)
    if least:
        git(factory.repo, "config", "--global", "gpg.minTrustLevel", least)
    git(factory.repo, "config", "gpg.minTrustLevel", "undefined")
    factory.run(writing("one.txt"), [ONE])
    assert (signature(factory)[0] is ClaimState.PROVEN) is trusted


# Signed statements in other notes


@pytest.fixture
def two(factory: Factory, keys: Path) -> Forger:
    """Two commits with statements that Ada signed, by a key in `keys`."""
    first = factory.run(writing("one.txt"), [ONE]).commit or ""
    second = factory.run(writing("two.txt", 2), [TWO]).commit or ""
    assert signature(factory)[0] is ClaimState.PROVEN
    return Forger(factory.repo, factory.artifacts, (first, second))


def test_a_signed_statement_proves_nothing_of_another_commit(factory: Factory, two: Forger) -> None:
    first, second = two.commits
    git(two.repo, "notes", f"--ref={PROOF_REF}", "copy", "--force", first, second)
    (audited,) = Auditor(two.repo, two.artifacts).look("work").commits
    states = {each.claim: each.standing for each in audited.rulings}
    assert states[Claim.STATEMENT] is ClaimState.CONTRADICTED
    assert Claim.SIGNATURE not in states, "which fails whoever requires it"
    assert ClaimState.PROVEN not in states.values()


def test_a_signed_statement_lends_its_signature_to_none_beside_it(
    factory: Factory, two: Forger
) -> None:
    """A bundle: what is about the commit is unsigned, and what is signed is about another."""
    first, second = two.commits
    statement = two.statement(second)
    statement["predicate"]["signed"] = None
    two.attach(second, statement)
    git(two.repo, "notes", f"--ref={PROOF_REF}", "append", "-C", note_of(two.repo, first), second)
    (audited,) = Auditor(two.repo, two.artifacts).look("work").commits
    states = {each.claim: each.standing for each in audited.rulings}
    assert states[Claim.SIGNATURE] is ClaimState.NOT_PROVABLE
    assert states[Claim.STATEMENT] is ClaimState.CONTRADICTED


def note_of(repo: Path, commit: str) -> str:
    """Return the blob of a commit's note."""
    return git(repo, "notes", f"--ref={PROOF_REF}", "list", commit)
