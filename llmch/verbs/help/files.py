"""Explains what runs leave."""

from __future__ import annotations

from llmch.verbs.help.layout import LAYOUT
from llmch.verbs.help.topic import Part, Term, Topic


def explain_files() -> Topic:
    """Return the files of runs and the state of a repository, folder by folder."""
    parts = tuple(
        Part(
            f"{folder.place} ({folder.aside})" if folder.aside else folder.place,
            tuple(Term(name, (holds,)) for name, holds in folder.files.items()),
        )
        for folder in LAYOUT
    )
    return Topic(
        "files",
        (
            "A run's folder is never overwritten. --artifacts-dir moves the root of records. The "
            "values of variables whose names speak of a secret are masked in every record.",
            "<id> is the id of a run, N a number, and * any text.",
        ),
        parts,
        "`llmch report` shows a run, and `llmch status` where it stands.",
    )
