"""A person's answers beside a specification: read, refused where they are wrong, written."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from planner.spec.answers import SpecAnswer, answers_path, read_answers, write_answers
from planner.spec.read_spec import read_spec
from planner.spec.requirements import Requirement
from planner.spec.spec_difference import compare_requirements
from shared.errors import InvalidInput
from shared.work_order.work_order import MAX_SAID, question_id

HEAD = "answers:\n"
ENTRY = "  - question: Is Y a vowel?\n    answer: 'never'\n"


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = tmp_path / "spec.md"
    path.write_text("# Words\n\n- Count the vowels.\n")
    return path


def test_an_answer_belongs_to_the_specification(spec: Path) -> None:
    before = read_spec(spec)
    answers_path(spec).write_text(HEAD + ENTRY)
    after = read_spec(spec)
    name = question_id("Is Y a vowel?")
    said = f'- {name}: The answer to "Is Y a vowel?" is: never\n'
    assert after.text == f"{before.text}\n## Answers\n\n{said}"
    assert [each.id for each in after.requirements] == [before.requirements[0].id, name]
    assert (after.title, after.sha256 != before.sha256) == (before.title, True)
    answers_path(spec).write_text(HEAD + ENTRY.replace("never", "always"))
    assert read_spec(spec).sha256 != after.sha256


@pytest.mark.parametrize("text", ["", " \n", "answers: []\n"])
def test_a_file_without_answers_changes_nothing(spec: Path, text: str) -> None:
    before = read_spec(spec)
    answers_path(spec).write_text(text)
    assert read_spec(spec) == before


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("answers: 7\n", "answers: Input should be a valid list"),
        ("answers:\n  - question: Q?\n", "answers[0].answer: Field required"),
        ("answers:\n  - question: Q?\n    answer: yes\n", "answers[0].answer: "),
        (HEAD + ENTRY + "    by: me\n", "answers[0].by: "),
        (HEAD + ENTRY.replace("never", " "), "answers[0].answer: "),
        (HEAD + ENTRY.replace("never", "x" * (MAX_SAID + 1)), "answers[0].answer: "),
        (HEAD + ENTRY * 2, "answers[1]: the question is that of answers[0]"),
        (HEAD + ENTRY + "    id: A-123456\n", "answers[0].id: 'A-123456' is not the id of its"),
        (HEAD + ENTRY * 201, "answers: List should have at most 200 items"),
        ("answers: &a [*a]\n", "an alias"),
        ("- Q?\n", "the document: "),
        ("{", "is not valid YAML"),
    ],
)
def test_a_file_edited_wrongly_is_refused_with_the_place(spec: Path, text: str, said: str) -> None:
    answers_path(spec).write_text(text)
    with pytest.raises(InvalidInput) as refused:
        read_spec(spec)
    assert said in refused.value.message and str(answers_path(spec)) in refused.value.message
    assert refused.value.hint


def test_a_link_or_a_folder_in_its_place_is_not_read(spec: Path) -> None:
    answers_path(spec).mkdir()
    with pytest.raises(InvalidInput, match="answers"):
        read_spec(spec)


@pytest.mark.rest
@given(st.lists(st.tuples(st.text(min_size=1), st.text(min_size=1)), max_size=4))
def test_what_is_written_is_read_again(pairs: list[tuple[str, str]]) -> None:
    asked = {
        each.id: each for q, a in pairs if q.strip() and a.strip() for each in (SpecAnswer(q, a),)
    }
    assume(asked)
    with tempfile.TemporaryDirectory() as folder:
        spec = Path(folder) / "spec.md"
        write_answers(spec, asked.values())
        read, _ = read_answers(spec)
        assert [*read] == [*asked.values()]
        write_answers(spec, [SpecAnswer(each.question, "other") for each in read[:1]])
        again, _ = read_answers(spec)
        assert [each.answer for each in again] == ["other", *(e.answer for e in read[1:])][
            : len(read)
        ]


def test_an_answer_is_never_taken_for_the_requirement_that_it_is_about() -> None:
    old = Requirement("R-123abc", "Is Y a vowel at the end of a word?")
    new = SpecAnswer("Is Y a vowel at the end of a word?", "no").requirement
    difference = compare_requirements([old], [new])
    assert (difference.added, difference.removed) == ((new,), (old,))
