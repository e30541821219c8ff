"""Looks at a proposal before anything runs, and says why it is not worth judging. Pure.

A doubt is a reason to ask again, not a verdict: a model that insists on its reply is judged by it,
unless these files were judged before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from factory.orders.documents import WriteProposal
from factory.orders.past_attempt import PastAttempt
from factory.orders.stages import Stage
from factory.proposal.edits.question import render_question, render_refusals
from factory.proposal.read_reply import BlocksRefused
from factory.proposal.scope import FileKind
from factory.proposal.shown import ShownFile

_EXACTLY = "Reply in exactly the format that is asked for, and nothing else."


class DoubtKind(StrEnum):
    """Name the reason why a reply is not worth judging.

    Blocks are refused that do not fit the file; the other blocks are kept. More is wanted where the
    reply asks to see more of a large file.
    """

    UNREADABLE = "unreadable"
    UNCHANGED = "unchanged"
    REPEATED = "repeated"
    HOLLOW = "hollow"
    BLOCKS_REFUSED = "blocks refused"
    MORE_WANTED = "more wanted"


@dataclass(frozen=True, slots=True)
class Doubt:
    """Hold why a reply is not worth judging, and the note that tells the model.

    `repeats` is the attempt whose files were given again. `quote` shows a reply that could not be
    read to a person.
    """

    kind: DoubtKind
    note: str
    repeats: int | None = None
    quote: str = ""


def doubt_unreadable(problem: str, quote: str) -> Doubt:
    """Return the doubt about a reply that is not a proposal."""
    note = f"Your last reply could not be read: {problem}\n{_EXACTLY}"
    return Doubt(DoubtKind.UNREADABLE, note, quote=quote)


def doubt_refused(refused: BlocksRefused, *, with_format: bool = True) -> Doubt:
    """Return the doubt about a reply some of whose blocks do not fit the files.

    `with_format` says whether the note asks for these blocks alone, and how they are written; a
    note without it says only what was wrong.
    """
    render = render_question if with_format else render_refusals
    return Doubt(DoubtKind.BLOCKS_REFUSED, render(refused.refusals, len(refused.reply.blocks)))


def doubt_about(
    proposal: WriteProposal,
    shown: Sequence[ShownFile],
    past: Sequence[PastAttempt],
    hollow: Sequence[str],
) -> Doubt | None:
    """Return the first doubt about a proposal, if there is one.

    `hollow` are the sentences that say which parts of it do nothing.
    """
    earlier = next((each for each in past if _is_the_same(each, proposal)), None)
    if earlier is not None:
        note = (
            f"You gave the same files as in attempt {earlier.number}, and they fail in the same "
            "way. Change what is wrong in them."
        )
        return Doubt(DoubtKind.REPEATED, note, earlier.number)
    if _changes_nothing(proposal, shown):
        note = (
            "Your last reply left every file as it is. Make the change that the task asks for, "
            "and give the file with it."
        )
        return Doubt(DoubtKind.UNCHANGED, note)
    return Doubt(DoubtKind.HOLLOW, "\n".join(hollow)) if hollow else None


def files_of(proposal: WriteProposal) -> frozenset[tuple[str, str]]:
    """Return paths and contents: what two proposals must share to be the same."""
    return frozenset((each.path, each.content) for each in proposal.writes)


def _is_the_same(earlier: PastAttempt, proposal: WriteProposal) -> bool:
    # Stale hashes, and a disk that refused, say nothing about the files themselves.
    if earlier.proposal is None or earlier.brief.stage in (
        Stage.STALE_CONTEXT,
        Stage.WRITE_FAILED,
        Stage.REPEATED,
    ):
        return False
    return files_of(earlier.proposal) == files_of(proposal)


def _changes_nothing(proposal: WriteProposal, shown: Sequence[ShownFile]) -> bool:
    there = {each.path: each.text for each in shown if each.state.kind is FileKind.FILE}
    return all(there.get(each.path) == each.content for each in proposal.writes)
