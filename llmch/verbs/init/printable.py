"""Makes text of a stranger's manifests fit for one line of a file. Pure."""

from __future__ import annotations

import json


def one_line(text: str) -> str:
    """Return `text` without anything that could end the line or that nobody sees."""
    return "".join(each if each.isprintable() else " " for each in text).strip()


def quoted(text: str) -> str:
    """Return the printable part of `text` in double quotes, as TOML, YAML and JSON read it."""
    return json.dumps(one_line(text), ensure_ascii=False)
