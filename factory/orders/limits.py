"""Defines the limits of what the factory shows to a model and accepts from it."""

from __future__ import annotations

from typing import Final

MAX_CONTEXT_BYTES: Final = 200 * 1024
"""The limit of one context file, and of all context files of an order together."""
MAX_WRITE_BYTES: Final = 200 * 1024
"""The limit of one proposed file."""
MAX_PROPOSAL_BYTES: Final = 500 * 1024
"""The limit of all files of a proposal together."""
MAX_EXCERPT_CHARACTERS: Final = 2000
"""The limit of the output of a failed command, as a failure brief quotes it."""
MAX_QUOTED_CHARACTERS: Final = 240
"""The limit of what is quoted of a reply that could not be read."""
