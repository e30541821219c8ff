"""Decides which names of environment variables say that the value is a secret."""

from __future__ import annotations

import re
from functools import lru_cache

# The URL of the fleet's database has a password in it.
# "KEY" and "PAT" (a personal access token) count only as whole words: they are also parts of
# innocent words such as KEYBOARD and PATH.
_WORDS = frozenset({"KEY", "PAT"})
_PARTS = re.compile(r"API_?KEY|TOKEN|SECRET|PASSW|CREDENTIAL|PRIVATE_?KEY|FLEET_DB")


@lru_cache(maxsize=1024)
def names_a_secret(name: str) -> bool:
    """Return whether the value of a variable called `name` is to be treated as a secret."""
    name = name.upper()
    return bool(_PARTS.search(name)) or not _WORDS.isdisjoint(name.split("_"))
