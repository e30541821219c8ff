"""Writes the commit of an order: subject, the model's summary, trailers. Pure.

The title and the summary come from a model. Neither can look like a trailer, and no character of
them depends on the Python version: equal replies have to give equal commits.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from factory.orders.branch_name import short_id
from factory.orders.identity import OrderIdentity
from shared.git.commits import CommitFacts
from shared.git.identity import Identity
from shared.work_order.schemas import WorkOrder

NOBODY: Final = Identity("llmch", "llmch@localhost")
"""The author of commits where the person has no git identity."""

CONVENTIONAL: Final = "conventional"
_SUBJECT_CHARACTERS = 100
_SUMMARY_CHARACTERS = 600
_LINE_CHARACTERS = 72
# Spelled out, because `str.isprintable` depends on the Python version and a commit must not.
_BLANKS_AND_CONTROLS = re.compile("[\x00-\x20\x7f-\xa0\u2028-\u202e\u2066-\u2069\ud800-\udfff]+")
# Git, or a tool that reads mails, takes a line that begins so for a trailer, the start of a patch
# or a comment.
_SPECIAL_LINE = re.compile(r"[A-Za-z0-9-]+ ?:|\(cherry picked|---|-- |diff |#|From |>")
_PREFIXED = re.compile(r"[a-z]+(\([^()]*\))?!?: ")
_FIXES = re.compile(r"(?:fix|correct|repair)", re.IGNORECASE)
_DOCUMENTATION = (".md", ".rst", ".adoc")


@dataclass(frozen=True, slots=True)
class CommitTerms:
    """Hold what all commits of a run have in common; the run records it.

    `date` is spelled as git reads it. `subject` is the form of the setting `commit.subject`.
    """

    author: Identity
    date: str
    subject: str = "{order}: {title}"


def describe_commit(
    order: WorkOrder, identity: OrderIdentity, terms: CommitTerms, summary: str
) -> CommitFacts:
    """Return message, author and date of the commit. Runs on equal input give equal values."""
    covers = ", ".join(dict.fromkeys(order.covers))
    trailers = identity.trailers() + (f"\nLlmch-Covers: {covers}" if covers else "")
    parts = (_subject(order, identity, terms.subject), _body(summary), trailers)
    message = "\n\n".join(filter(None, parts))
    return CommitFacts(f"{message}\n", terms.author.name, terms.author.email, terms.date)


def _subject(order: WorkOrder, identity: OrderIdentity, form: str) -> str:
    title = _one_line(order.title)
    if form == CONVENTIONAL:
        subject = _conventional(order, title or order.id)
    else:
        # The title goes in last: what looks like a field in it is no field.
        subject = form.replace("{order}", order.id)
        subject = subject.replace("{id}", short_id(identity.plan or identity.key))
        subject = subject.replace("{title}", title)
    subject = _one_line(subject).rstrip(": ") or order.id
    return _cut(subject, _SUBJECT_CHARACTERS)


def _conventional(order: WorkOrder, title: str) -> str:
    """Return the title with its type: by the files where all are of one kind, else by the title."""
    if _PREFIXED.match(title):
        return title
    files = order.allowed_files or order.removed_files
    if all(path.endswith(_DOCUMENTATION) for path in files):
        kind = "docs"
    elif all("test" in path.lower() for path in files):
        kind = "test"
    else:
        kind = "fix" if _FIXES.match(title) else "feat"
    # An abbreviation, such as HTML, keeps its capitals.
    begins_plainly = title[1:2].islower() and title[0].isascii()
    return f"{kind}: {title[0].lower() + title[1:] if begins_plainly else title}"


def _body(summary: str) -> str:
    """Return the summary as one paragraph of lines that are only text to git and to mail tools."""
    text = _cut(_one_line(summary), _SUMMARY_CHARACTERS)
    return "\n".join(f" {line}" if _SPECIAL_LINE.match(line) else line for line in _wrap(text))


def _wrap(text: str) -> Iterator[str]:
    """Yield lines of at most 71 characters, so that one may be indented; long words are cut."""
    longest = _LINE_CHARACTERS - 1
    line = ""
    for word in text.split(" "):
        if line and len(line) + 1 + len(word) > longest:
            yield line
            line = ""
        line = f"{line} {word}" if line else word
        while len(line) > longest:
            yield line[:longest]
            line = line[longest:]
    if line:
        yield line


def _one_line(text: str) -> str:
    return _BLANKS_AND_CONTROLS.sub(" ", text).strip()


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 3] + "..."
