"""Describes E210, E217, E241, E242 and W221: needs of commands that `needs` finds unmet."""

from __future__ import annotations

from planner.rules.model import Rule

E210 = Rule(
    "E210",
    "module of the project that nobody provides",
    why="A command that imports a module which no order creates fails whatever the code does.",
    bad=r"""{"allowed_files": ["game/score.py"],
 "postconditions": [{"kind": "file_exists", "path": "game/score.py"}],
 "interfaces": [{"path": "game/score.py", "stub": "def score(guess: str) -> int: ..."}],
 "acceptance_commands": ["python -c \"from game.scores import score; assert score('a') == 1\""]}""",
    good=r"""{"allowed_files": ["game/score.py"],
 "postconditions": [{"kind": "file_exists", "path": "game/score.py"}],
 "interfaces": [{"path": "game/score.py", "stub": "def score(guess: str) -> int: ..."}],
 "acceptance_commands": ["python -c \"from game.score import score; assert score('a') == 1\""]}""",
    remedy="Correct the module's name, or let this order or an earlier one create its file.",
)

E217 = Rule(
    "E217",
    "declared only by a later order",
    why="Orders are executed in turn, so a module or name from a later order does not exist yet.",
    bad=r"""{"work_orders": [
  {"id": "WO-01", "acceptance_commands":
    ["python -c \"from score import score; assert score('a') == 1\""]},
  {"id": "WO-02", "allowed_files": ["score.py"],
   "postconditions": [{"kind": "file_exists", "path": "score.py"}],
   "interfaces": [{"path": "score.py", "stub": "def score(guess: str) -> int: ..."}],
   "acceptance_commands": ["python -c \"from score import score; assert score('b') == 0\""]}
]}""",
    good=r"""{"work_orders": [
  {"id": "WO-01"},
  {"id": "WO-02", "allowed_files": ["score.py"],
   "postconditions": [{"kind": "file_exists", "path": "score.py"}],
   "interfaces": [{"path": "score.py", "stub": "def score(guess: str) -> int: ..."}],
   "acceptance_commands": ["python -c \"from score import score; assert score('a') == 1\""]}
]}""",
    remedy="Move the command to the order that brings it, or bring it earlier.",
)

E241 = Rule(
    "E241",
    "script or test file that does not exist by then",
    why="pytest fails for a path that does not exist, and so does an interpreter for a script.",
    bad="""{"acceptance_commands": ["python -m pytest -q tests/test_score.py"]}""",
    good="""{"allowed_files": ["tests/test_score.py"],
 "postconditions": [{"kind": "file_exists", "path": "tests/test_score.py"}],
 "acceptance_commands": ["python -m pytest -q tests/test_score.py"]}""",
    remedy=("Correct the path, or add the file to this order's allowed_files and postconditions."),
)

E242 = Rule(
    "E242",
    "module to run that does not exist by then",
    why="`python -m` needs the module itself, or `__main__.py` in the package.",
    bad=r"""{"allowed_files": ["game/__init__.py"],
 "postconditions": [{"kind": "file_exists", "path": "game/__init__.py"}],
 "acceptance_commands": ["python -m game --help"]}""",
    good=r"""{"allowed_files": ["game/__init__.py", "game/__main__.py"],
 "postconditions": [{"kind": "file_exists", "path": "game/__init__.py"},
                    {"kind": "file_exists", "path": "game/__main__.py"}],
 "acceptance_commands": ["python -m game --help"]}""",
    remedy="Correct the module's name, or let this order or an earlier one create its file.",
)

W221 = Rule(
    "W221",
    "third-party module that nobody declares",
    why="Nothing is installed for a command, so a package that nobody declares may be missing.",
    bad=r"""{"acceptance_commands": [
  "python -c \"import numpy; assert numpy.zeros(3).sum() == 0\""
]}""",
    good=r"""{"acceptance_commands": ["python -c \"import math; assert math.gcd(4, 6) == 2\""]}""",
    remedy=(
        "Use the standard library, or declare the package: in pyproject.toml, in a requirements "
        "file, or as `dependencies` of [tool.llmch]."
    ),
)
