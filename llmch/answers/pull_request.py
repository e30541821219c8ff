"""Says what became of a pull request that was asked for."""

from __future__ import annotations

from dataclasses import dataclass

OPENED = "opened"
UPDATED = "updated"


@dataclass(frozen=True, slots=True)
class PullRequestAnswer:
    """Hold the address of the request, or why there is none and the commands that open it."""

    url: str = ""
    action: str = ""
    problem: str = ""
    commands: tuple[str, ...] = ()

    def to_json(self) -> dict[str, object]:
        """Return it as the value of `pull_request` in the document of a run."""
        return {
            "url": self.url or None,
            "action": self.action or None,
            "problem": self.problem or None,
            "commands": list(self.commands),
        }
