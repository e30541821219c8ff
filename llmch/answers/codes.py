"""Lists all codes that a user may meet: the planner's rules and the factory's flags."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from factory.judging.warning_codes import FLAGS
from planner.rules.catalogue import RULES
from shared.languages.registry import LANGUAGES
from shared.rule_text import Example, RuleText

CODES: Final[dict[str, RuleText]] = {
    each.code: each for each in sorted((*RULES, *FLAGS), key=lambda rule: rule.code)
}


def examples_of(rule: RuleText) -> Mapping[str, Example]:
    """Return the examples of a rule by the name of their language.

    A rule that is the same in every language has one example, under the name "".
    """
    if rule.bad:
        return {"": Example(rule.bad, rule.good)}
    read = {each.name: each.examples.read() for each in LANGUAGES if each.examples is not None}
    return {name: found[rule.code] for name, found in read.items() if rule.code in found}
