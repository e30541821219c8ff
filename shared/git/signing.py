"""Signs bytes and checks signatures as git does.

The bytes need not be a commit. Keys stay where their programs keep them, and no program can ask on
the terminal: an agent has to know the key.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum, StrEnum, auto
from pathlib import Path
from typing import Final

from shared.errors import CommandFailed
from shared.git import repos
from shared.git.client import SCOPES_OF_THE_PERSON, ConfigEntry, Git, text_of
from shared.processes.process import Finished, ProgramMissing, ToolFailed, run_tool


class SignatureFormat(StrEnum):
    """Name a form of signature, as `gpg.format` does."""

    OPENPGP = "openpgp"
    X509 = "x509"
    SSH = "ssh"


_PROGRAMS: Final = {
    SignatureFormat.OPENPGP: "gpg",
    SignatureFormat.X509: "gpgsm",
    SignatureFormat.SSH: "ssh-keygen",
}


@dataclass(frozen=True, slots=True)
class TrustConfig:
    """Hold whom the person trusts: files for SSH signatures, and how far a key of gpg has to be.

    `problem` says why SSH signatures cannot be judged; the files count only without one.
    """

    allowed_signers: Path | None
    revoked: Path | None
    least: str
    problem: str


@dataclass(frozen=True, slots=True)
class SigningConfig:
    """Hold what git's config says about signatures.

    `key` is empty if the config names none. `key_command` prints one.
    """

    signs_commits: bool
    format: SignatureFormat
    programs: dict[SignatureFormat, str]
    key: str
    key_command: tuple[str, ...]
    trust: TrustConfig


def read_signing_config(git: Git) -> SigningConfig:
    """Return what git's config says. Raises `ValueError`, which says why it cannot be used.

    Programs and whom to trust count only if the user's or the system's config names them. A program
    that the repo's own config names is code of the repo, which never runs outside of the sandbox,
    and a signer whom it names is whoever wrote it.
    """
    entries = repos.read_config(git)
    name = _value(entries, "gpg.format") or SignatureFormat.OPENPGP
    try:
        form = SignatureFormat(name)
    except ValueError:
        raise ValueError(f"git's gpg.format is {name!r}, which is not known") from None
    own = [each for each in entries if each.scope in SCOPES_OF_THE_PERSON]
    command = _value(own, "gpg.ssh.defaultkeycommand")
    return SigningConfig(
        signs_commits=_read_as(git, entries, "bool", "commit.gpgSign") == "true",
        format=form,
        programs={each: _program(own, each) for each in SignatureFormat},
        key=_read_as(git, entries, "path", "user.signingKey"),  # with a home for its `~`
        key_command=tuple(shlex.split(command)) if command else (),
        trust=_trust(git, entries, own),
    )


def _program(own: Iterable[ConfigEntry], form: SignatureFormat) -> str:
    entries = tuple(own)
    named = _value(entries, f"gpg.{form}.program")
    if not named and form is SignatureFormat.OPENPGP:
        named = _value(entries, "gpg.program")
    return named or _PROGRAMS[form]


def _value(entries: Iterable[ConfigEntry], key: str) -> str:
    values = [each.value for each in entries if each.key == key]
    return values[-1] if values else ""


def _read_as(git: Git, entries: Iterable[ConfigEntry], kind: str, key: str) -> str:
    """Return a value as git reads one of this kind; empty if it is not set, or is none."""
    if all(each.key != key.lower() for each in entries):
        return ""
    done = git.try_run("config", f"--type={kind}", "--get", key)
    return "" if done.exit_code else text_of(done.stdout).removesuffix("\n")


_SIGNERS: Final = "gpg.ssh.allowedSignersFile"
_REVOKED: Final = "gpg.ssh.revocationFile"


def _trust(git: Git, entries: Iterable[ConfigEntry], own: Sequence[ConfigEntry]) -> TrustConfig:
    signers, revoked = (_file(git, _value(own, key.lower())) for key in (_SIGNERS, _REVOKED))
    problem = next(
        filter(None, (_fault(git, _SIGNERS, signers), _fault(git, _REVOKED, revoked))), ""
    )
    if signers is None:
        problem = f"git's config names no {_SIGNERS}"
        if _value(entries, _SIGNERS.lower()):
            problem = (
                f"only the repo's own config names {_SIGNERS}, and whoever made the repo wrote it"
            )
    least = _value(own, "gpg.mintrustlevel").lower() or _LEVELS[0]
    return TrustConfig(signers, revoked, least, problem)


def _file(git: Git, named: str) -> Path | None:
    with contextlib.suppress(RuntimeError):  # a `~name` of nobody is a name as any other
        return git.folder / Path(named).expanduser() if named else None
    return git.folder / named


def _fault(git: Git, key: str, path: Path | None) -> str:
    """Return why a file of trust does not count; "" if it does, or there is none."""
    if path is None:
        return ""
    *trees, common = repos.layout(git) or (git.folder, git.folder)
    real = Path(os.path.realpath(path))
    # Beside the git folder that linked trees share is the tree of the repo itself.
    for each in (*trees, common, common.parent if common.name == ".git" else common):
        if real.is_relative_to(os.path.realpath(each)):
            return f"the file that {key} names lies in the repo, and whoever changes that writes it"
    return "" if path.is_file() else f"the file {path} that {key} names is missing"


# Somebody may have to touch a token or to type into the window of an agent.
_TIMEOUT_SECONDS: Final = 60.0
_NAMESPACE: Final = "git"  # so that the file of allowed signers of git's own signatures holds
_HEADS: Final = {
    b"-----BEGIN SSH SIGNATURE-----": SignatureFormat.SSH,
    b"-----BEGIN PGP SIGNATURE-----": SignatureFormat.OPENPGP,
    b"-----BEGIN PGP MESSAGE-----": SignatureFormat.OPENPGP,
    b"-----BEGIN SIGNED MESSAGE-----": SignatureFormat.X509,
}
_LEVELS: Final = ("undefined", "never", "marginal", "fully", "ultimate")  # of `gpg.minTrustLevel`
_LEVEL = re.compile(r"^\[GNUPG:\] TRUST_(\w+)", re.MULTILINE)
_GOOD = re.compile(r"^\[GNUPG:\] GOODSIG \S+ (.*)$", re.MULTILINE)
_BAD = re.compile(r"^\[GNUPG:\] (BADSIG|EXPKEYSIG|REVKEYSIG|EXPSIG|TRUST_NEVER)\b", re.MULTILINE)
_UNKNOWN = re.compile(r"^\[GNUPG:\] NO_PUBKEY (\S+)", re.MULTILINE)


class SigningFailed(CommandFailed):
    """Say why no signature was made."""


class Trust(Enum):
    """Say what a signature is worth here."""

    GOOD = auto()
    BAD = auto()
    UNKNOWN = auto()


@dataclass(frozen=True, slots=True)
class SignatureCheck:
    """Hold what a signature is worth here, and in words by whom it is, or what is wrong."""

    trust: Trust
    text: str


def sign(git: Git, config: SigningConfig, data: bytes, person: str) -> bytes:
    """Return the armoured signature of `data`.

    `person` names the key where the config names none, as `Ada <ada@example.org>`. Raises
    `SigningFailed` if the key is missing, or the program fails, refuses or waits too long.
    """
    program = config.programs[config.format]
    if config.format is not SignatureFormat.SSH:
        key = config.key or person
        return _armoured(_run(git, [program, "--status-fd=2", "-bsau", key], data))
    key = config.key or _default_key(git, config)
    if not key:
        raise SigningFailed("git's config names no key (user.signingKey) for SSH signatures")
    asked = [program, "-q", "-Y", "sign", "-n", _NAMESPACE]
    literal = key.removeprefix("key::")
    if literal == key and not key.startswith(("ssh-", "ecdsa-", "sk-")):
        return _armoured(_run(git, [*asked, "-f", key], data))
    with tempfile.TemporaryDirectory(prefix="llmch-key-") as folder:
        public = Path(folder) / "key.pub"
        public.write_text(literal + "\n")
        return _armoured(_run(git, [*asked, "-U", "-f", str(public)], data))


def check_signature(git: Git, config: SigningConfig, data: bytes, armour: bytes) -> SignatureCheck:
    """Return what the signature of `data` is worth here. No failure is raised."""
    form = next((each for head, each in _HEADS.items() if armour.startswith(head)), None)
    if form is None:
        return SignatureCheck(Trust.BAD, "it is not a signature of a kind that git knows")
    with tempfile.TemporaryDirectory(prefix="llmch-signature-") as folder:
        path = Path(folder) / "signature"
        path.write_bytes(armour)
        try:
            if form is SignatureFormat.SSH:
                return _check_ssh(git, config, data, path)
            return _check_gpg(git, config.programs[form], config.trust.least, data, path)
        except SigningFailed as failed:
            return SignatureCheck(Trust.UNKNOWN, failed.message)


def _check_ssh(git: Git, config: SigningConfig, data: bytes, path: Path) -> SignatureCheck:
    program, trust = config.programs[SignatureFormat.SSH], config.trust
    about = ["-n", _NAMESPACE, "-s", str(path)]
    done = _try(git, [program, "-Y", "check-novalidate", *about], data)
    if done.exit_code:
        return SignatureCheck(Trust.BAD, f"the signature is not one of these bytes: {_said(done)}")
    key = _said(done).rpartition(" ")[2]
    if trust.problem:
        return SignatureCheck(Trust.UNKNOWN, f"it is signed by the key {key}, and {trust.problem}")
    signers = str(trust.allowed_signers)
    revoked = ["-r", str(trust.revoked)] if trust.revoked else []
    found = _try(git, [program, "-Y", "find-principals", "-f", signers, "-s", str(path)], b"")
    for name in filter(None, found.stdout.decode(errors="replace").splitlines()):
        asked = [program, "-Y", "verify", "-f", signers, "-I", name, *revoked, *about]
        if not _try(git, asked, data).exit_code:
            return SignatureCheck(Trust.GOOD, f"signed by {name} with the key {key}")
    return SignatureCheck(Trust.BAD, f"the key {key} is not among the allowed signers in {signers}")


def _check_gpg(git: Git, program: str, least: str, data: bytes, path: Path) -> SignatureCheck:
    done = _try(git, [program, "--status-fd=1", "--verify", str(path), "-"], data)
    status = done.stdout.decode(errors="replace")
    if bad := _BAD.search(status):
        return SignatureCheck(Trust.BAD, f"{program} refuses it: {bad[1]}")
    level = found[1].lower() if (found := _LEVEL.search(status)) else _LEVELS[0]
    if level not in _LEVELS[_LEVELS.index(least) if least in _LEVELS else -1 :]:
        return SignatureCheck(Trust.UNKNOWN, f"its key is trusted {level}, and you ask for {least}")
    if (good := _GOOD.search(status)) and not done.exit_code:
        return SignatureCheck(Trust.GOOD, f"signed by {good[1]}")
    if unknown := _UNKNOWN.search(status):
        return SignatureCheck(Trust.UNKNOWN, f"{program} does not have the key {unknown[1]}")
    return SignatureCheck(Trust.UNKNOWN, f"{program} cannot check it: {_said(done)}")


def _default_key(git: Git, config: SigningConfig) -> str:
    if not config.key_command:
        return ""
    lines = _run(git, config.key_command, b"").stdout.decode(errors="replace").splitlines()
    return next((each for each in lines if each.startswith(("key::", "ssh-"))), "")


def _armoured(done: Finished) -> bytes:
    if not done.stdout.startswith(tuple(_HEADS)):
        raise SigningFailed(f"{done.argv[0]} printed no signature")
    return done.stdout


def _run(git: Git, argv: Sequence[str], data: bytes) -> Finished:
    done = _try(git, argv, data)
    if done.timed_out:
        raise SigningFailed(f"{argv[0]} made no signature within {_TIMEOUT_SECONDS:.0f} seconds")
    if done.exit_code:
        raise SigningFailed(f"{argv[0]} failed: {_said(done)}")
    return done


def _try(git: Git, argv: Sequence[str], data: bytes) -> Finished:
    # An agent that is started here goes on after us, so it must not hold our descriptors.
    environment = {**git.environment, "SSH_ASKPASS_REQUIRE": "never"}
    try:
        return run_tool(
            argv, cwd=git.folder, env=environment, timeout_seconds=_TIMEOUT_SECONDS, stdin=data
        )
    except (ProgramMissing, ToolFailed) as error:
        raise SigningFailed(str(error)) from error


def _said(done: Finished) -> str:
    text = (done.stderr.strip() or done.stdout.strip()).decode(errors="replace")
    lines = [each for each in text.splitlines() if not each.startswith("[GNUPG:]")]
    return lines[-1].strip() if lines else f"exit code {done.exit_code}"
