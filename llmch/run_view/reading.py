"""Reads what a person asks a report of: a run, or a branch whose runs are not on record."""

from __future__ import annotations

from pathlib import Path

from llmch.run_view.branch import read_branch
from llmch.run_view.find import FoundBranch, find_run
from llmch.run_view.model.run import RunView
from llmch.run_view.read import read_run


def read_report(wanted: str | None, repo: Path | None, artifacts: Path) -> RunView:
    """Return the run that `wanted` names; see `find_run`. `repo` is `None` for no repo."""
    found = find_run(wanted, repo, artifacts)
    return read_branch(found) if isinstance(found, FoundBranch) else read_run(found)
