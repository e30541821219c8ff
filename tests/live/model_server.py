"""The model server that a person offers for tests and recordings; nothing is downloaded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from shared.llm.model_access import ModelAccess, check_access

URL = "OPENAI_BASE_URL"
KEY = "OPENAI_API_KEY"
MODEL = "LLMCH_TEST_MODEL"
MISSING = f"set {URL} and {MODEL} to try a model server (and {KEY}, unless it is on this machine)"


@dataclass(frozen=True, slots=True)
class ModelServer:
    """A server, the model to ask there, and the variables that lead a process of its own there."""

    access: ModelAccess
    model: str

    @property
    def environment(self) -> dict[str, str]:
        """The variables that name this server and the key to it."""
        return {URL: self.access.base_url or "", KEY: self.access.api_key}


def named_server(environ: Mapping[str, str]) -> ModelServer | None:
    """Return the server that the environment names, or `None` where it names none.

    A base URL alone is not enough: a person may have one set for work, and tests would spend
    their money. Raises `LlmchError` where the URL or the key cannot be used.
    """
    model = environ.get(MODEL, "").strip()
    if not model or not environ.get(URL, "").strip():
        return None
    return ModelServer(check_access(environ), model)
