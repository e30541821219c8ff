"""Reads the replies of one attempt, each in the light of the ones before. Pure.

The same replies to the same questions give the same proposals, now and when a commit is verified.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from factory.orders.reply_format import ReplyFormat
from factory.proposal.focus import Focus
from factory.proposal.read_again import read_again
from factory.proposal.read_reply import BlocksRefused, ParsedReply, parse_proposal
from factory.proposal.shown import ShownFile, hashes_of, texts_of
from shared.work_order.schemas import WorkOrder


@dataclass(slots=True)
class ReplyReader:
    """Hold what the last reply left open: `refused` are blocks that were asked for again."""

    order: WorkOrder
    refused: BlocksRefused | None = field(default=None, init=False)

    def read(
        self, reply: str, shown: Sequence[ShownFile], asked: ReplyFormat, focus: Focus | None
    ) -> ParsedReply:
        """Return the proposal in a reply. Raises `BlocksRefused` and `ProposalInvalid`.

        `shown` are the files that the prompt showed, `asked` is the format that it asked for, and
        `focus` the definition that it asked for alone, if it did.
        """
        try:
            parsed = self._parse(reply, shown, asked, focus)
        except BlocksRefused as refused:
            # The one definition is asked for whole again, so that no block has to be kept.
            self.refused = None if focus else refused
            raise
        self.refused = None
        return parsed

    def _parse(
        self, reply: str, shown: Sequence[ShownFile], asked: ReplyFormat, focus: Focus | None
    ) -> ParsedReply:
        order, hashes, texts = self.order, hashes_of(shown), texts_of(shown)
        allowed, changes = order.allowed_files, order.changes
        if self.refused:
            return read_again(self.refused, reply, hashes, allowed, texts=texts, changes=changes)
        return parse_proposal(
            reply, asked, hashes, allowed, texts=texts, changes=changes, focus=focus
        )
