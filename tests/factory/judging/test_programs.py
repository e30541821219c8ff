"""Which programs of acceptance commands are missed, and which may still come."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factory.judging.acceptance_evidence import Unfound, programs_not_found
from shared.files.paths import VERIFY_SCRIPT
from shared.projects.build_tools import BRINGING, may_come

NAMES = st.from_regex(r"[a-z][a-z0-9_+-]{1,12}", fullmatch=True)
COMMANDS = st.lists(NAMES | NAMES.map(lambda name: f"./{name}"))


@pytest.mark.rest
@given(COMMANDS, st.frozensets(NAMES))
def test_exactly_what_is_not_on_the_path_is_not_found(
    commands: list[str], there: frozenset[str]
) -> None:
    found = programs_not_found([f"{each} --now 'a b'" for each in commands], there.__contains__)
    missing = [each for each in commands if "/" not in each and each not in there]
    assert [each.program for each in found] == missing


def test_the_command_is_told_as_the_order_has_it() -> None:
    assert programs_not_found(["'my tool' --now"], lambda name: False) == (
        Unfound("'my tool' --now", "my tool"),
    )


@pytest.mark.rest
@given(NAMES, st.lists(NAMES))
def test_a_program_comes_where_a_file_has_its_name(program: str, others: list[str]) -> None:
    files = [f"src/{each}.py" for each in others]
    assert may_come(program, files, (), ()) == (program in others)
    assert may_come(program, files, [f"bin/{program}"], ())
    assert may_come(program, [*files, f"tools/{program}.sh"], (), ())


@given(NAMES, st.text(max_size=40))
def test_a_program_comes_where_the_project_names_it_as_a_word(program: str, text: str) -> None:
    assert may_come(program, (), (), [f"{text}\n{program} = 'app:main'\n"])
    assert not may_come(program, (), (), [f"the-{program}-of-old"])


@given(NAMES, st.sampled_from(BRINGING))
def test_what_may_be_declared_is_waited_for(program: str, path: str) -> None:
    assert may_come(program, (), [path], ()) is (path != VERIFY_SCRIPT)
