"""Reads from git's config how a person signs, and with which programs. Programs are not started."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from shared.git import repos
from shared.git.client import Git, text_of
from shared.git.config import ConfigEntry

_TRUSTED: Final = ("system", "global")


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
class SigningConfig:
    """Hold what git's config says about signatures.

    `key` is empty where the config names none. `key_command` prints one. `allowed_signers` is the
    file of keys that are trusted for SSH signatures, if the config names one.
    """

    signs_commits: bool
    format: SignatureFormat
    programs: dict[SignatureFormat, str]
    key: str
    key_command: tuple[str, ...]
    allowed_signers: Path | None


def read_signing_config(git: Git) -> SigningConfig:
    """Return what git's config says. Raises `ValueError`, which says why it is no use.

    Programs count only where the user's or the system's config names them. What the repo's own
    config names is code of the repo, which never runs outside of the sandbox.
    """
    entries = repos.read_config(git)
    name = _value(entries, "gpg.format") or SignatureFormat.OPENPGP
    try:
        form = SignatureFormat(name)
    except ValueError:
        raise ValueError(f"git's gpg.format is {name!r}, which is not known") from None
    signs = git.try_run("config", "--type=bool", "--get", "commit.gpgSign")
    own = [each for each in entries if each.scope in _TRUSTED]
    command = _value(own, "gpg.ssh.defaultkeycommand")
    return SigningConfig(
        signs_commits=signs.stdout.strip() == b"true",
        format=form,
        programs={each: _program(own, each) for each in SignatureFormat},
        key=_path_or_name(git, "user.signingKey"),
        key_command=tuple(shlex.split(command)) if command else (),
        allowed_signers=_allowed_signers(git),
    )


def _program(own: Iterable[ConfigEntry], form: SignatureFormat) -> str:
    entries = tuple(own)
    named = _value(entries, f"gpg.{form}.program")
    if not named and form is SignatureFormat.OPENPGP:
        named = _value(entries, "gpg.program")
    return named or _PROGRAMS[form]


def _value(entries: Iterable[ConfigEntry], key: str) -> str:
    """Return the value that counts for a key: git takes the last one."""
    values = [each.value for each in entries if each.key == key]
    return values[-1] if values else ""


def _path_or_name(git: Git, key: str) -> str:
    """Return a value in which git has put the home folder for a `~`."""
    done = git.try_run("config", "--type=path", "--get", key)
    return "" if done.exit_code else text_of(done.stdout).removesuffix("\n")


def _allowed_signers(git: Git) -> Path | None:
    named = _path_or_name(git, "gpg.ssh.allowedSignersFile")
    return git.folder / named if named else None
