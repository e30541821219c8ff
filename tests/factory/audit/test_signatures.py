"""Statements are signed as git signs, and a signature is worth what git's config says."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from factory.audit.audit_evidence import Claim, ClaimState
from factory.statement.statement import PROOF_REF, Envelope, parse_envelope
from shared.events.events import Warned
from shared.git.client import Git
from shared.git.signing import read_signing_config
from shared.work_order.parse_order import canonical_json
from tests.factory.audit.forging import Forger
from tests.factory.audit.honest import ONE, TWO, Auditor, contradictions, make_branch, of_claim
from tests.harness import Factory, git, writing

TWICE = writing("two.txt", 2)
NAMES = {"ada": "ada@example.org", "eve": "eve@example.org"}


def signature(factory: Factory, words: str = "work") -> ClaimState:
    """Return what the signature of a commit's statement is worth."""
    found = Auditor(factory.repo, factory.artifacts).look(words)
    return of_claim(found, Claim.SIGNATURE).standing


def envelope(repo: Path, commit: str) -> Envelope:
    return parse_envelope(git(repo, "notes", f"--ref={PROOF_REF}", "show", commit).encode())


def said(factory: Factory) -> list[str]:
    """Return the warnings about statements."""
    return [each.message for each in factory.seen(Warned) if "statement" in each.message]


# SSH


@pytest.fixture
def ssh(factory: Factory, tmp_path: Path) -> Path:
    """A person who signs commits with an SSH key that is trusted here; returns the keys' folder."""
    folder = tmp_path / "keys"
    folder.mkdir()
    for name, mail in NAMES.items():
        made = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", mail, "-f", str(folder / name)]
        subprocess.run(made, check=True)
    (folder / "allowed").write_text(f"{NAMES['ada']} {(folder / 'ada.pub').read_text()}")
    for key, value in {
        "commit.gpgSign": "true",
        "gpg.format": "ssh",
        "user.signingKey": str(folder / "ada"),
        "gpg.ssh.allowedSignersFile": str(folder / "allowed"),
    }.items():
        git(factory.repo, "config", "--global", key, value)
    return folder


@pytest.mark.rest
@pytest.mark.usefixtures("ssh")
def test_a_statement_that_a_trusted_key_signed_is_proven(factory: Factory) -> None:
    commits = make_branch(factory)
    found = Auditor(factory.repo, factory.artifacts).look()
    assert {of_claim(found, Claim.SIGNATURE, each).standing for each in range(4)} == {
        ClaimState.PROVEN
    }
    assert NAMES["ada"] in of_claim(found, Claim.SIGNATURE).text
    assert contradictions(found) == []
    assert all(envelope(factory.repo, each).signatures for each in commits)
    assert b"gpgsig" not in git(factory.repo, "cat-file", "commit", commits[0]).encode()


def test_without_a_file_of_allowed_signers_nothing_is_decided(factory: Factory, ssh: Path) -> None:
    factory.run(writing("one.txt"), [ONE])
    git(factory.repo, "config", "--global", "--unset", "gpg.ssh.allowedSignersFile")
    assert signature(factory) is ClaimState.NOT_PROVABLE
    git(factory.repo, "config", "--global", "gpg.ssh.allowedSignersFile", str(ssh / "nowhere"))
    assert signature(factory) is ClaimState.NOT_PROVABLE


def test_a_strangers_key_is_contradicted(factory: Factory, ssh: Path) -> None:
    git(factory.repo, "config", "user.signingKey", str(ssh / "eve"))
    factory.run(writing("one.txt"), [ONE])
    assert signature(factory) is ClaimState.CONTRADICTED


@pytest.mark.usefixtures("ssh")
def test_a_signed_statement_that_was_changed_is_contradicted(factory: Factory) -> None:
    commit = factory.run(writing("one.txt"), [ONE]).commit or ""
    signed = envelope(factory.repo, commit)
    forger = Forger(factory.repo, factory.artifacts, (commit,))
    statement = forger.statement(commit)
    statement["predicate"]["attempts"] = 7
    forger.attach(commit, statement, signed.signatures)
    assert signature(factory) is ClaimState.CONTRADICTED


@pytest.mark.usefixtures("ssh")
def test_the_signature_of_another_statement_is_contradicted(factory: Factory) -> None:
    first = factory.run(writing("one.txt"), [ONE]).commit or ""
    second = factory.run(writing("two.txt", 2), [TWO]).commit or ""
    forger = Forger(factory.repo, factory.artifacts, (first, second))
    statement = forger.statement(second)
    forger.attach(second, statement, envelope(factory.repo, first).signatures)
    assert signature(factory) is ClaimState.CONTRADICTED


@pytest.mark.usefixtures("ssh")
def test_a_signature_that_was_taken_away_is_contradicted(factory: Factory) -> None:
    commit = factory.run(writing("one.txt"), [ONE]).commit or ""
    forger = Forger(factory.repo, factory.artifacts, (commit,))
    forger.attach(commit, forger.statement(commit))
    assert signature(factory) is ClaimState.CONTRADICTED


def test_a_wrong_signature_beside_a_good_one_is_contradicted(factory: Factory, ssh: Path) -> None:
    commit = factory.run(writing("one.txt"), [ONE]).commit or ""
    good = envelope(factory.repo, commit)
    forger = Forger(factory.repo, factory.artifacts, (commit,))
    forger.note(commit, Envelope(good.payload, (*good.signatures, b"no armour")).render())
    assert signature(factory) is ClaimState.CONTRADICTED


def test_a_key_that_is_not_there_loses_no_commit(factory: Factory, ssh: Path) -> None:
    git(factory.repo, "config", "user.signingKey", str(ssh / "nobody"))
    commits = make_branch(factory)
    assert factory.tip() == commits[-1]
    assert len(said(factory)) == 1 and "not signed" in said(factory)[0]
    assert signature(factory) is ClaimState.NOT_PROVABLE


def test_a_program_that_only_the_repo_names_is_not_run(factory: Factory, tmp_path: Path) -> None:
    program = tmp_path / "evil"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    program.chmod(0o755)
    for key in ("gpg.program", "gpg.ssh.program", "gpg.ssh.defaultKeyCommand"):
        git(factory.repo, "config", key, str(program))
    git(factory.repo, "config", "commit.gpgSign", "true")
    for form, order, reply in (("ssh", writing("one.txt"), ONE), ("openpgp", TWICE, TWO)):
        git(factory.repo, "config", "gpg.format", form)
        assert factory.run(order, [reply]).commit
    assert signature(factory) is ClaimState.NOT_PROVABLE
    assert not (tmp_path / "ran").exists()


def test_a_form_that_nobody_knows_is_said(factory: Factory) -> None:
    git(factory.repo, "config", "gpg.format", "carrier-pigeon")
    with pytest.raises(ValueError, match="carrier-pigeon"):
        read_signing_config(Git(factory.repo))


def test_who_does_not_sign_commits_signs_no_statement(factory: Factory, ssh: Path) -> None:
    git(factory.repo, "config", "commit.gpgSign", "false")
    commit = factory.run(writing("one.txt"), [ONE]).commit or ""
    assert envelope(factory.repo, commit).signatures == ()
    assert said(factory) == []


# OpenPGP


@pytest.fixture
def gpg(factory: Factory, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A person who signs commits with an OpenPGP key; returns the folder of the keys."""
    if shutil.which("gpg") is None or shutil.which("gpgconf") is None:
        pytest.skip("gpg is not installed")
    # The socket of the agent has a short path at most.
    home = Path(os.environ["HOME"]) / ".gnupg"
    home.mkdir(mode=0o700)
    quick = ["--quick-generate-key", f"Ada <{NAMES['ada']}>", "ed25519", "sign"]
    made = subprocess.run(
        ["gpg", "--batch", "--quiet", "--passphrase", "", "--pinentry-mode", "loopback", *quick],
        capture_output=True,
        check=False,
    )
    try:
        if made.returncode:
            pytest.skip(f"gpg makes no key here: {made.stderr.decode()}")
        git(factory.repo, "config", "commit.gpgSign", "true")
        git(factory.repo, "config", "user.signingKey", NAMES["ada"])
        yield home
    finally:
        subprocess.run(["gpgconf", "--kill", "all"], check=False)


def _check_a_signed_run(factory: Factory) -> None:
    commit = factory.run(writing("one.txt"), [ONE]).commit or ""
    assert said(factory) == []
    assert signature(factory) is ClaimState.PROVEN
    forger = Forger(factory.repo, factory.artifacts, (commit,))
    signed = envelope(factory.repo, commit)
    changed = {**forger.statement(commit), "more": True}
    forger.note(commit, Envelope(canonical_json(changed), signed.signatures).render())
    assert signature(factory) is ClaimState.CONTRADICTED


@pytest.mark.usefixtures("gpg")
def test_openpgp_signs_and_checks(factory: Factory) -> None:
    _check_a_signed_run(factory)


def test_an_openpgp_key_that_is_not_known_decides_nothing(factory: Factory, gpg: Path) -> None:
    factory.run(writing("one.txt"), [ONE])
    subprocess.run(["gpgconf", "--kill", "all"], check=False)
    shutil.rmtree(gpg)
    gpg.mkdir(mode=0o700)
    assert signature(factory) is ClaimState.NOT_PROVABLE


# X.509


@pytest.fixture
def x509(factory: Factory, tmp_path: Path) -> Iterator[None]:
    """A person who signs commits with an X.509 key, whose certificate is trusted here."""
    for program in ("openssl", "gpgsm", "gpgconf"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    home = Path(os.environ["HOME"]) / ".gnupg"
    home.mkdir(mode=0o700)
    (home / "gpgsm.conf").write_text("disable-crl-checks\n")
    (home / "gpg-agent.conf").write_text("allow-loopback-pinentry\n")
    key, certificate, both = (str(tmp_path / each) for each in ("key", "certificate", "both"))
    made = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=Ada"]
    usage = ["-addext", "keyUsage=digitalSignature,keyCertSign"]
    mail = ["-addext", f"subjectAltName=email:{NAMES['ada']}"]
    exported = ["pkcs12", "-export", "-legacy", "-passout", "pass:"]
    loopback = ["--batch", "--pinentry-mode", "loopback", "--passphrase-fd", "0"]
    try:
        for command in (
            ["openssl", *made, *usage, *mail, "-keyout", key, "-out", certificate],
            ["openssl", *exported, "-inkey", key, "-in", certificate, "-out", both],
            ["gpgsm", *loopback, "--import", both],
        ):
            nothing = subprocess.DEVNULL
            done = subprocess.run(command, stdin=nothing, capture_output=True, check=False)
            if done.returncode:
                pytest.skip(f"{command[0]} makes no key here: {done.stderr.decode()}")
        listed = ["gpgsm", "--with-colons", "--list-secret-keys"]
        keys = subprocess.run(listed, capture_output=True, check=True).stdout.decode()
        (fingerprint,) = re.findall(r"^fpr:+(\w+):", keys, re.MULTILINE)
        (home / "trustlist.txt").write_text(f"{fingerprint} S relax\n")
        subprocess.run(["gpgconf", "--kill", "all"], check=False)
        for name, value in (("commit.gpgSign", "true"), ("gpg.format", "x509")):
            git(factory.repo, "config", name, value)
        git(factory.repo, "config", "user.signingKey", NAMES["ada"])
        yield
    finally:
        subprocess.run(["gpgconf", "--kill", "all"], check=False)


@pytest.mark.usefixtures("x509")
def test_x509_signs_and_checks(factory: Factory) -> None:
    _check_a_signed_run(factory)
