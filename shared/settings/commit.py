"""Declares how the commits of orders read: who their author is, and the form of their subject."""

from __future__ import annotations

from dataclasses import dataclass

from shared.git.identity import Identity
from shared.settings.declaration import setting
from shared.settings.values.commits import read_author, read_subject


@dataclass(frozen=True, slots=True)
class CommitSettings:
    """Say how commits are written. `author` is `None` for the identity that git has."""

    author: Identity | None = setting(
        read_author,
        None,
        "author of commits, as `Name <mail>`",
        name="commit.author",
        default_words="your git identity",
        guarded=True,
    )
    subject: str = setting(
        read_subject,
        "{order}: {title}",
        "first line of commits: a text with `{order}`, `{title}` or `{id}` (the digits in the "
        "branch's name), or `conventional`",
        name="commit.subject",
        default_words="`{order}: {title}`",
    )
