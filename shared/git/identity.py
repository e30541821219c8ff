"""Finds out who a person is to git: the name and address that git itself would put on a commit."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass

from shared.git.client import Git

_FORM = re.compile(r"(?P<name>[^<>\n\0]+?) *<(?P<email>[^<>\s\0]+)>")
_GIVEN = ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL")
_LONGEST = 200


@dataclass(frozen=True, slots=True)
class Identity:
    """Hold the name and the mail address of an author."""

    name: str
    email: str

    def __str__(self) -> str:
        return f"{self.name} <{self.email}>"


def parse_identity(text: str) -> Identity | None:
    """Return the identity in a text such as `Ada <ada@example.org>`; `None` for any other text."""
    match = _FORM.fullmatch(text.strip())
    if match is None or len(text) > _LONGEST or not text.isprintable():
        return None
    return Identity(match["name"].strip(), match["email"])


def read_identity(git: Git, environ: Mapping[str, str] = os.environ) -> Identity | None:
    """Return the identity that git has for the person, by its variables and its config.

    The result is `None` where nobody has said who they are: what git would guess from the login
    and the machine's name does not count.
    """
    given = {name: environ[name] for name in _GIVEN if environ.get(name)}
    asked = git.with_config((("user.useConfigOnly", "true"),))
    done = asked.try_run("var", "GIT_AUTHOR_IDENT", environment=given)
    if done.exit_code:
        return None
    line = done.stdout.decode("utf-8", "replace").strip()
    return parse_identity(line.rpartition(">")[0] + ">")  # after it comes the time
