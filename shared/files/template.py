"""Fills the `{{NAME}}` placeholders of a prompt text."""

from __future__ import annotations

import re
from collections.abc import Mapping

PLACE = re.compile(r"\{\{([A-Z_]+)\}\}")


def fill(template: str, values: Mapping[str, str]) -> str:
    """Return `template` with each `{{NAME}}` replaced for which `values` has a value.

    The text is replaced in one pass: a value that itself contains `{{NAME}}` stays as it is.
    """
    return PLACE.sub(lambda place: values.get(place[1], place[0]), template)
