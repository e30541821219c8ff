"""Keeps the decisions of people about orders, in the repo's git folder.

Only the holder of the repo's lock writes. What is on file is never guessed at: an order that
somebody left out would be made and paid for.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from factory.orders.decision import NOTHING_DECIDED, AcceptedCommit, Decision, DecisionKey
from shared.errors import Busy
from shared.files.atomic_io import make_folder, write_json

_FORMAT: Final = 1
_MOST_BYTES: Final = 10_000_000


def decisions_path(common_dir: Path) -> Path:
    """Return the path of the decisions in a repo's git folder."""
    return common_dir / "llmch" / "decisions.json"


def read_decisions(common_dir: Path) -> Mapping[DecisionKey, Decision]:
    """Return all decisions that are on file; none where there is no file.

    Raises `Busy` if the file cannot be understood.
    """
    path = decisions_path(common_dir)
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise Busy(f"cannot read {path}: {error.strerror}", "make the file readable") from error
    try:
        return _parse(json.loads(data))
    except (ValueError, TypeError, KeyError, RecursionError) as fault:
        raise Busy(
            f"{path} cannot be understood: {type(fault).__name__}: {fault}",
            "restore the file, or remove it: its hints, accepted commits and left-out orders are "
            "then forgotten",
        ) from fault


def write_decision(common_dir: Path, key: DecisionKey, decision: Decision) -> None:
    """Put a decision in the place of the one before; an empty one is removed.

    The write is durable, and whole or not at all. The caller holds the repo's lock. Raises as
    `read_decisions` does, and `CommandFailed` if the disk refuses.
    """
    before = read_decisions(common_dir)
    if before.get(key, NOTHING_DECIDED) == decision:
        return
    now = {each: made for each, made in before.items() if each != key}
    if not decision.is_empty:
        now[key] = decision
    path = decisions_path(common_dir)
    make_folder(path.parent)
    rows = [{**asdict(each), **_render(made)} for each, made in now.items()]
    write_json(path, {"format": _FORMAT, "decisions": rows})


def _render(decision: Decision) -> dict[str, Any]:
    return {name: value for name, value in asdict(decision).items() if value}


def _parse(document: Any) -> dict[DecisionKey, Decision]:
    if document["format"] != _FORMAT:
        raise ValueError("it was written by another version")
    return {_key(row): _decision(row) for row in document["decisions"]}


def _key(row: Any) -> DecisionKey:
    return DecisionKey(*(_text(row[name]) for name in ("branch", "plan", "order", "key")))


def _decision(row: Any) -> Decision:
    accepted = row.get("accepted")
    return Decision(
        hint=_text(row.get("hint", "")),
        left_out=_text(row.get("left_out", "")),
        accepted=None if accepted is None else _accepted(accepted),
    )


def _accepted(row: Any) -> AcceptedCommit:
    return AcceptedCommit(
        commit=_text(row["commit"]),
        title=_text(row["title"]),
        covers=tuple(map(_text, row["covers"])),
        beyond=tuple(map(_text, row["beyond"])),
    )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is not a text")
    return value
