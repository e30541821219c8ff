"""Lists all rules, in the order of their codes."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from planner.rules.acceptance import W230, W231, W232, W233
from planner.rules.acceptance_files import E107, E108, E109, E110, E206
from planner.rules.advice import W101
from planner.rules.chain import E101, E102, E103, E104, E105, E106
from planner.rules.command_form import E003, E006, E007, E215
from planner.rules.contracts import E211, E212, E213, E214, E216, E299, W222, W224
from planner.rules.coverage import E301, E302, W302
from planner.rules.following import E310, E311, E314, E316
from planner.rules.following_coverage import E312, E313, E315
from planner.rules.interfaces import E201, E202, E203, E204, W223
from planner.rules.model import Pass, Rule, passes_of
from planner.rules.passes import PASSES
from planner.rules.programs import E240
from planner.rules.provisions import E210, E217, E241, E242, W221
from planner.rules.references import E243, E246, W245
from planner.rules.removed_files import E111, E112
from planner.rules.structure import E000, E001, E004, E005, W102

RULES: Final[tuple[Rule, ...]] = (
    *(E000, E001, E003, E004, E005, E006, E007),
    *(E101, E102, E103, E104, E105, E106, E107, E108, E109, E110, E111, E112),
    *(E201, E202, E203, E204, E206, E210, E211, E212, E213, E214, E215, E216, E217),
    *(E240, E241, E242, E243, E246, E299),
    *(E301, E302, E310, E311, E312, E313, E314, E315, E316),
    *(W101, W102),
    *(W221, W222, W223, W224, W230, W231, W232, W233, W245, W302),
)

# Every judge of a plan imports this: a code without an owner, or with two, makes the import fail.
OWNERS: Final[tuple[Pass, ...]] = passes_of(RULES, PASSES)

# What these say of an order that landed or is kept, they say of the reply that changes it.
OF_REPLIES: Final = frozenset({"E310", "E311", "E314"})

RULE_BY_CODE: Final[Mapping[str, Rule]] = MappingProxyType({rule.code: rule for rule in RULES})
