"""Says which variables are secret, and keeps records free of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
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


REDACTED = "[redacted]"

# Shorter values ("yes", "1234") would be found inside innocent words.
_SHORTEST_SECRET = 8


def secret_values(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the values of the variables whose names say that they are secret, longest first."""
    # Every record calls this function, so only the values of secret variables are fetched.
    found = {environ[name] for name in environ if names_a_secret(name)}
    values = (value for value in found if len(value) >= _SHORTEST_SECRET)
    return tuple(sorted(values, key=lambda value: (-len(value), value)))


def masking(environ: Mapping[str, str]) -> Callable[[str], str]:
    """Return what masks the secrets of an environment in a text."""
    secrets = secret_values(environ)
    return lambda text: redact(text, secrets)


def redact(text: str, secrets: Iterable[str]) -> str:
    """Return `text` with each of `secrets` replaced by `[redacted]`."""
    for secret in secrets:
        text = text.replace(secret, REDACTED)
    return text
