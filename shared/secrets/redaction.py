"""Finds the secrets in this process's environment, and masks them in text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from shared.secrets.names import names_a_secret

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
