"""Puts the commit that a wheel or a source archive is made of into it, for `llmch --version`."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# `git archive`, and so the archive of a release that a host offers, puts the commit here.
_ARCHIVED = "$Format:%H$"


class CommitHook(BuildHookInterface[Any]):
    """Add the commit of the checkout, or pass on the one that a source archive has."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return  # a checkout moves on, and is asked itself
        file = Path(self.root) / "COMMIT"  # as an archive has it
        if not file.is_file():
            commit = _commit_of(Path(self.root)) or ("" if _ARCHIVED.startswith("$") else _ARCHIVED)
            if not commit:
                return
            file = self._made
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"{commit}\n")
        place = "COMMIT" if self.target_name == "sdist" else "llmch/COMMIT"
        build_data["force_include"][str(file)] = place

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        self._made.unlink(missing_ok=True)

    @property
    def _made(self) -> Path:
        return Path(self.directory) / "COMMIT"


def _commit_of(root: Path) -> str:
    """Return the commit of the checkout, "" where `root` is not the root of one.

    A word after it says that tracked files differ from the commit.
    """
    if not (root / ".git").exists():
        return ""
    commit = _git(root, "rev-parse", "HEAD")
    changed = commit and _git(root, "status", "--porcelain", "--untracked-files=no")
    return f"{commit} changed" if changed else commit


def _git(root: Path, *words: str) -> str:
    try:
        asked = subprocess.run(
            ["git", "-C", str(root), *words], capture_output=True, text=True, check=False
        )
    except OSError:
        return ""
    return asked.stdout.strip() if asked.returncode == 0 else ""
