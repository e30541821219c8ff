"""A verification at which candidates wait until a test lets them pass; the base passes at once."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tests.factory.fleet.fleet_of_processes import until
from tests.harness import git

_SCRIPT = """\
ls *.txt > {folder}/seen 2> {folder}/none || exit 0
echo *.txt >> {folder}/waiting
while [ ! -e {folder}/open ]; do sleep 0.05; done
"""


@dataclass(frozen=True)
class Gate:
    """Stop candidates while they are verified."""

    folder: Path

    def stand_in(self, repo: Path) -> None:
        """Have a repo, which has no remote yet, verify itself by this gate."""
        self.folder.mkdir()
        (repo / "scripts" / "verify.sh").write_text(_SCRIPT.format(folder=self.folder))
        git(repo, "commit", "--quiet", "--all", "--message=gate")

    def has_waiting(self, count: int = 1) -> None:
        """Wait until so many candidates have come to the gate, since it was closed."""
        until(lambda: len(self._came()) >= count, f"{count} candidates are being judged")

    def open(self) -> None:
        (self.folder / "open").touch()

    def close(self) -> None:
        (self.folder / "open").unlink(missing_ok=True)
        (self.folder / "waiting").unlink(missing_ok=True)

    def _came(self) -> list[str]:
        path = self.folder / "waiting"
        return path.read_text().splitlines() if path.exists() else []
