"""Looks for what plans on a fleet leave behind: refs, rows, folders, and trees never verified."""

from __future__ import annotations

import os
from pathlib import Path

from tests.factory.fleet.cluster import Cluster
from tests.factory.fleet.small_fleet import SmallFleet
from tests.harness import git

_ENGINE = ("workflow_status", "workflow_input", "workflow_output")
_OURS = ("candidates", "events", "intents", "spending", "takeovers")


def rows_left(cluster: Cluster, database: str) -> dict[str, int]:
    """Return the tables of jobs and runs that have rows; replies and the dead stay on record."""
    tables = [f"llmch_engine.{each}" for each in _ENGINE] + [f"llmch.{each}" for each in _OURS]
    counts = {
        each: cluster.execute(f"SELECT count(*) FROM {each}", database)[0][0] for each in tables
    }
    return {table: count for table, count in counts.items() if count}


def folders_left(fleet: SmallFleet) -> list[str]:
    """Return what workers, and runs of the person, have left below their caches."""
    caches = [*fleet.folder.glob("*/cache/*"), Path(os.environ["LLMCH_WORKSPACES"])]
    return [str(each) for cache in caches if cache.exists() for each in cache.iterdir()]


def verifying(account: Path, seconds: float) -> str:
    """Return a verification that takes a while, and notes the tree at its end."""
    return f"sleep {seconds:g}\necho *.txt >> {account}\n"


def unverified(fleet: SmallFleet, tip: str, account: Path) -> list[str]:
    """Return the landed commits whose trees `verifying` has not noted: each order adds a file."""
    noted = set(account.read_text().splitlines())
    commits = git(fleet.repo, "rev-list", f"main..{tip}").splitlines()
    trees = {each: git(fleet.repo, "ls-tree", "--name-only", each).split() for each in commits}
    texts = {
        commit: " ".join(sorted(each for each in names if each.endswith(".txt")))
        for commit, names in trees.items()
    }
    return [commit for commit, files in texts.items() if files not in noted]
