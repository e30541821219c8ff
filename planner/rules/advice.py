"""Describes W101: an acceptance command needs something that nobody is known to provide."""

from __future__ import annotations

from planner.rules.model import Rule

W101 = Rule(
    "W101",
    "acceptance needs what nobody provides",
    why="A command that imports a missing module fails whatever the code does.",
    bad="""{"acceptance_commands": [
  "python -c \\"from game.score import score; assert score(3) == 9\\""
]}""",
    good="""{"allowed_files": ["game/score.py"],
 "postconditions": [{"kind": "file_exists", "path": "game/score.py"}],
 "interfaces": [{"path": "game/score.py", "stub": "def score(number: int) -> int: ..."}],
 "acceptance_commands": ["python -c \\"from game.score import score; assert score(3) == 9\\""]}""",
    remedy=(
        "Let this order or an earlier one provide the module or script, move the command to the "
        "order that does, or correct the name."
    ),
)
