"""Describes E211 to E216, E299, W222 and W224: the type checker compares commands to contracts."""

from __future__ import annotations

from typing import Final

from planner.rules.model import Rule


def _example(command: str, stub: str = "def score(guess: str) -> int: ...") -> str:
    """Return a plan of one order that declares `score.py` and has this command."""
    return f"""{{"allowed_files": ["score.py"],
 "postconditions": [{{"kind": "file_exists", "path": "score.py"}}],
 "interfaces": [{{"path": "score.py", "stub": "{stub}"}}],
 "acceptance_commands": ["python -c \\"{command}\\""]}}"""


_GOOD: Final = _example("from score import score; assert score('a') == 1")

E211 = Rule(
    "E211",
    "unknown attribute or name",
    why="A name that no interface declares will not exist when the command runs.",
    bad=_example("from score import scores; assert scores('a') == 1"),
    good=_GOOD,
    remedy="Use the name as it is declared, or declare this one in the file's interface.",
)

E212 = Rule(
    "E212",
    "wrong number or name of arguments",
    why="A call that does not fit the declared signature fails whatever the code does.",
    bad=_example("from score import score; assert score('a', 2) == 1"),
    good=_GOOD,
    remedy="Call it as it is declared, or correct the declaration and name it in `changes`.",
)

E213 = Rule(
    "E213",
    "argument of the wrong type",
    why="The executor writes the function for the declared type; another type breaks it.",
    bad=_example("from score import score; assert score(['a']) == 1"),
    good=_GOOD,
    remedy="Pass what the signature declares, or correct the declaration.",
)

E214 = Rule(
    "E214",
    "result used as what it is not",
    why="A result of the declared type cannot do what the command asks of it.",
    bad=_example("from score import score; assert score('a')[0] == 1"),
    good=_GOOD,
    remedy="Use the result as the type it is declared to be, or correct the declaration.",
)

E216 = Rule(
    "E216",
    "undefined name in a command",
    why="Each command runs by itself, and has only the names that it imports or defines.",
    bad=_example("from score import score; assert score('a') == POINTS"),
    good=_GOOD,
    remedy="Import or define the name in the same command, or correct it.",
)

E299 = Rule(
    "E299",
    "type checker failed",
    why="A plan that could not be judged is not accepted as a good one.",
    bad=r"""{"work_orders": [
  {"id": "WO-01", "allowed_files": ["types.py"],
   "postconditions": [{"kind": "file_exists", "path": "types.py"}],
   "interfaces": [{"path": "types.py", "stub": "class Word: ..."}],
   "acceptance_commands": ["python -c \"from types import Word; assert Word() == Word()\""]}
]}""",
    good=r"""{"work_orders": [
  {"id": "WO-01", "allowed_files": ["words.py"],
   "postconditions": [{"kind": "file_exists", "path": "words.py"}],
   "interfaces": [{"path": "words.py", "stub": "class Word: ..."}],
   "acceptance_commands": ["python -c \"from words import Word; assert Word() == Word()\""]}
]}""",
    remedy=(
        "Rename a file that has the name of a standard module; else the message says what the "
        "checker stumbled on. Where neither helps, report it."
    ),
)

W222 = Rule(
    "W222",
    "type suspicion that no contract backs",
    why=(
        "The suspicion rests on existing code or on an inference. It may be right, but no "
        "interface declares what it assumes."
    ),
    bad=_example(
        "import random; from score import score; assert score(random.choice(['a', 1])) == 1"
    ),
    good=_GOOD,
    remedy="Look at it again; declare what is meant in the file's interface.",
)

W224 = Rule(
    "W224",
    "code that could not be judged",
    why=(
        "What a file of the repo declares is unknown where the file cannot be read, and nothing "
        "is known of code whose compiler is missing. What uses such code is not judged."
    ),
    bad=r"""{"repo": {"old.py": "def broken(:"},
 "acceptance_commands": ["python -c \"from old import broken; assert broken() == 1\""]}""",
    good=r"""{"repo": {"old.py": "def fixed(): return 1"},
 "acceptance_commands": ["python -c \"from old import fixed; assert fixed() == 1\""]}""",
    remedy=(
        "Fix the file's syntax, or install what the message names; the plan itself may be fine. "
        "Files of Python are read in the syntax of Python 3.11, whatever runs them."
    ),
)
