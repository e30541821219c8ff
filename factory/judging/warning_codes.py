"""Defines the codes of what the factory finds out about a plan by running its commands."""

from __future__ import annotations

from typing import Final

from shared.rule_text import RuleText

W234: Final = RuleText(
    "W234",
    "passes on code that does nothing",
    why=(
        "The factory tries each command on a skeleton of the interfaces, whose functions return "
        "0, [] and the like. A command that passes there would pass on any code."
    ),
    bad=r"""{"allowed_files": ["words.py"],
 "interfaces": [{"path": "words.py", "stub": "def pick(seed: int) -> str: ..."}],
 "acceptance_commands": ["python -c \"from words import pick; assert pick(1) == pick(1)\""]}""",
    good=r"""{"allowed_files": ["words.py"],
 "interfaces": [{"path": "words.py", "stub": "def pick(seed: int) -> str: ..."}],
 "acceptance_commands": ["python -c \"from words import pick; assert pick(1) == 'crane'\""]}""",
    remedy=(
        "Assert what only the right code gives: a value worked out from the specification. With "
        "--strict-acceptance an order that has such a command is not begun."
    ),
)

W252: Final = RuleText(
    "W252",
    "passes before anything is written",
    why=(
        "The factory tries each command on the commit that the order starts from. A command that "
        "passes there already says nothing about what the order adds."
    ),
    bad=r"""{"repo": {"words.py": "WORDS = ['crane']\n"},
 "allowed_files": ["words.py"],
 "acceptance_commands": ["python -c \"from words import WORDS; assert 'crane' in WORDS\""]}""",
    good=r"""{"repo": {"words.py": "WORDS = ['crane']\n"},
 "allowed_files": ["words.py"],
 "regression": ["python -c \"from words import WORDS; assert 'crane' in WORDS\""],
 "acceptance_commands": ["python -c \"from words import WORDS; assert 'crane' in WORDS\"",
   "python -c \"from words import WORDS; assert 'label' in WORDS\""]}""",
    remedy=(
        "Assert what the order adds. A command that is meant to pass before it too, because "
        "something has to stay as it is, is listed in `regression` as well."
    ),
)

FLAGS: Final = (W234, W252)
