"""What code did to a contract."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

DOES_NOT_PARSE: Final = "does not parse"
"""How the message begins of a file that the Python that runs this cannot read."""


@dataclass(frozen=True, slots=True)
class ContractViolation:
    """A declared name that the code does not have as declared.

    `name` is qualified (`Game.play`), empty where the file as a whole is meant; `message` says
    how, fit for whoever wrote the code.
    """

    path: str
    name: str
    message: str
