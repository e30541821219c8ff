"""Judges a corpus of wrong and right cases, in whatever language, and prints the figures."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

from shared.languages.acceptance_commands import analyse_command
from shared.languages.capabilities import Language
from shared.languages.language_tools import ToolRunner, Tools
from shared.languages.planned_code import ChainCode
from tests.shared.languages.chains import Case, Order, chain_of

LEAST = 30  # cases of each kind


def planned(language: Language, repo: Mapping[str, str], *orders: Order) -> ChainCode:
    assert language.plans is not None
    return language.plans.read_chain(chain_of(*orders, repo=repo))


def codes_of_tests(code: ChainCode, cases: Sequence[Case], runner: ToolRunner) -> list[set[str]]:
    """Return the codes that are reported for each case, which is one test file of the plan."""
    with Tools(runner) as tools:
        assert not list(code.interface_faults())
        faults = list(code.use_faults(tools))
    reported: list[set[str]] = [set() for _ in cases]
    for each in faults:
        index = each.at.parts[1]
        assert isinstance(index, int)
        reported[index].add(each.code)
    return reported


def codes_of_commands(
    language: Language, repo: Mapping[str, str], order: Order, cases: Sequence[Case]
) -> list[set[str]]:
    """Return the codes that are reported for each case, which is a command of the order."""
    chain = chain_of(order, repo=repo)
    assert language.plans is not None
    assert language.commands is not None
    code = language.plans.read_chain(chain)
    found: list[set[str]] = []
    for case in cases:
        command = analyse_command(case.text.strip())
        missing = [
            each
            for each in language.commands.needed_paths(command)
            if not chain.is_there(each, 1) and not chain.files.may_be_folder(each, 1)
        ]
        missing += [each.name for each in code.needs_of_command(1, command)]
        weak = language.commands.weakness(command) or code.weakness(1, command)
        found.append({"E241"} if missing else {weak.code} if weak else set())
    return found


def assert_told_apart(title: str, cases: Sequence[Case], found: Sequence[set[str]]) -> None:
    """Print how many wrong cases are caught, and have all of them caught and no right one."""
    pairs = list(zip(cases, found, strict=True))
    wrong = [(case, codes) for case, codes in pairs if case.code]
    right = [(case, codes) for case, codes in pairs if not case.code]
    caught = [case for case, codes in wrong if codes == {case.code}]
    false = [case.name for case, codes in right if codes]
    figures = f"{len(caught)} of {len(wrong)} caught, {len(false)} of {len(right)} false"
    sys.stdout.write(f"{title}: {figures}\n")
    assert min(len(wrong), len(right)) >= LEAST
    assert false == []
    assert [(c.name, c.code, codes) for c, codes in wrong if codes != {c.code}] == []
