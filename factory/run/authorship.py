"""Decides what all commits of a run have in common: their author, their date and their form."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from datetime import UTC, datetime

from factory.orders.commit_message import NOBODY, CommitTerms
from factory.record.journal_entries import RunBegun
from shared.git.client import Git
from shared.git.identity import parse_identity, read_identity
from shared.run_record import commit_date
from shared.settings.commit import CommitSettings

_DATE = re.compile(r"@[0-9]{1,12} \+0000")


def commit_terms(
    git: Git,
    settings: CommitSettings,
    continued: RunBegun | None,
    environ: Mapping[str, str] = os.environ,
) -> CommitTerms:
    """Return the terms for the commits of a run that begins now.

    A run that goes on where `continued` was cut off keeps its author and date, so that it makes
    the commits that the other run would have made. What the settings or `SOURCE_DATE_EPOCH` say
    comes before that. Raises `InvalidInput` where that variable is not a number of seconds.
    """
    date = commit_date(datetime.now(UTC), environ)
    kept_author = parse_identity(continued.author) if continued else None
    if continued and _DATE.fullmatch(continued.date) and not environ.get("SOURCE_DATE_EPOCH"):
        date = continued.date
    author = settings.author or kept_author or read_identity(git, environ) or NOBODY
    return CommitTerms(author, date, settings.subject)
