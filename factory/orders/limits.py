"""Defines the limits of what the factory shows to a model and accepts from it."""

from __future__ import annotations

from typing import Final

MAX_CONTEXT_BYTES: Final = 200 * 1024
"""The limit of what a prompt shows of files."""
MAX_WRITE_BYTES: Final = 200 * 1024
"""The limit of one new file."""
MAX_EDITED_BYTES: Final = 2 * 1024 * 1024
"""The limit of one existing file that a proposal changes."""
MAX_PROPOSAL_BYTES: Final = 500 * 1024
"""The limit of all new files of a proposal together."""
MAX_EDITED_IN_ALL_BYTES: Final = 4 * 1024 * 1024
"""The limit of all existing files that a proposal changes."""
MAX_REPLY_CHARACTERS: Final = 4 * 1024 * 1024
"""The limit of a reply: a whole proposal in JSON, each of its characters escaped, is shorter."""
MAX_BLOCKS: Final = 200
"""The limit of the parts that a reply changes."""
MAX_EXCERPT_CHARACTERS: Final = 2000
"""The limit of the output of a failed command, as a failure brief quotes it."""
MAX_FACTS: Final = 6
"""The limit of the facts that a failure brief tells."""
MAX_FACT_CHARACTERS: Final = 400
"""The limit of one fact of a failure brief."""
MAX_QUOTED_CHARACTERS: Final = 240
"""The limit of what is quoted of a reply that could not be read."""
