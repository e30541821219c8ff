"""Lists all codes that a user may meet: the planner's rules and the factory's flags."""

from __future__ import annotations

from typing import Final

from factory.judging.warning_codes import FLAGS
from planner.rules.catalogue import RULES
from shared.rule_text import RuleText

CODES: Final[dict[str, RuleText]] = {
    each.code: each for each in sorted((*RULES, *FLAGS), key=lambda rule: rule.code)
}
