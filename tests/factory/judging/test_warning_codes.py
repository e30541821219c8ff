"""The examples of the factory's own codes, run as the factory runs any order."""

from __future__ import annotations

import json
from typing import Any

import pytest

from factory.judging.proof import FLAGS
from shared.errors import RuleText
from tests.fakes import proposal
from tests.harness import Factory, commit_all, order

EVERY_FLAG = pytest.mark.parametrize("flag", FLAGS, ids=lambda flag: flag.code)


def flags_of(factory: Factory, example: str) -> set[str]:
    """Return the codes that an order with these fields gets, on a repo as the example says."""
    fields: dict[str, Any] = json.loads(example)
    commit_all(factory.repo, fields.pop("repo", {}))
    paths = fields["allowed_files"]
    fields["postconditions"] = [{"kind": "file_exists", "path": each} for each in paths]
    fields["context_files"] = []
    reply = proposal(dict.fromkeys(paths, "WORDS = ['crane', 'label']\n"))
    return {
        each.code for each in factory.run(order(**fields), [reply, reply], max_attempts=1).flags
    }


@EVERY_FLAG
def test_the_bad_example_of_a_flag_gets_it_and_no_other(factory: Factory, flag: RuleText) -> None:
    assert flags_of(factory, flag.bad) == {flag.code}


@EVERY_FLAG
def test_the_good_example_of_a_flag_gets_none(factory: Factory, flag: RuleText) -> None:
    assert flags_of(factory, flag.good) == set()
