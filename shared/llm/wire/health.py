"""Checks for `doctor` whether the model of a role can be asked."""

from __future__ import annotations

import os

from shared.errors import LlmchError
from shared.health import Checkup, Health
from shared.llm.wire.access import ModelAccess, check_access

_MAX_NAMES = 8


def check_model(name: str, model: str, base_url: str | None, *, online: bool) -> Checkup:
    """Return whether there is access to `model`; with `online`, also whether its server answers.

    `name` is the role that the model has, such as `planner`.
    """
    try:
        access = check_access(os.environ, base_url)
    except LlmchError as error:
        return Checkup(name, Health.BROKEN, error.message, error.hint)
    where = f"{model} at {access.display_url}"
    if not online:
        return Checkup(name, Health.WELL, f"{where} (not asked; --online asks it)")
    return _ask(name, model, access, where)


def _ask(name: str, model: str, access: ModelAccess, where: str) -> Checkup:
    from shared.llm.wire.live_client import list_models

    try:
        names = list_models(access)
    except LlmchError as error:
        return Checkup(name, Health.BROKEN, f"{where}: {error.message}", error.hint)
    if model in names:
        return Checkup(name, Health.WELL, f"{where} answers")
    listed = ", ".join(sorted(names)[:_MAX_NAMES])
    remedy = f"the server lists {listed}" if names else "the server lists no models at all"
    return Checkup(name, Health.LIMITED, f"{where} answers, but does not list this model", remedy)
