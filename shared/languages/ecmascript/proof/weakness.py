"""Defines why a command or test proves little."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Weakness:
    """Represent why a command proves little: the code of a rule, and the text of its message."""

    code: Literal["W230", "W231", "W232", "W233"]
    message: str
