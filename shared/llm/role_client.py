"""Sends each request to the server of its role, where roles have servers of their own."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Self

from shared.llm.client import Completion, LlmClient, Request, Role


class ByRoleClient:
    """Pass each request to the client of its role, else to `default`.

    As a context manager, it enters and closes all of these clients.
    """

    def __init__(self, default: LlmClient, others: Mapping[Role, LlmClient]) -> None:
        self._default = default
        self._others = dict(others)
        self._opened = contextlib.ExitStack()

    def complete(self, request: Request) -> Completion:
        """Return the reply of the client of the request's role."""
        return self._others.get(request.place.role, self._default).complete(request)

    def __enter__(self) -> Self:
        for client in (self._default, *self._others.values()):
            if isinstance(client, AbstractContextManager):
                self._opened.enter_context(client)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._opened.close()
