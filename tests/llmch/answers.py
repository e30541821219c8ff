"""A document of any content, as a verb might return it."""

from __future__ import annotations

from collections.abc import Iterable

from llmch.console.document import Block, Document


class Answer(Document):
    """Returns the JSON and the blocks that it was made with."""

    def __init__(self, document: object, *blocks: Block) -> None:
        self._document = document
        self._blocks = blocks

    def to_json(self) -> object:
        return self._document

    def blocks(self) -> Iterable[Block]:
        return self._blocks
