"""Versions of a specification compared: which requirement stays the same, and which id it has."""

from __future__ import annotations

import random
from time import process_time

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from planner.spec.requirements import Requirement, derive_requirements
from planner.spec.spec_difference import SpecDifference, compare_requirements


def texts(*said: str) -> tuple[Requirement, ...]:
    """Return requirements with ids derived from their words."""
    found = derive_requirements("\n".join(f"- {each}" for each in said))
    assert len(found) == len(said)
    return found


def own(**said: str) -> tuple[Requirement, ...]:
    """Return requirements with the ids that are the arguments' names."""
    return tuple(Requirement(name, text, given=True) for name, text in said.items())


def stored(requirements: tuple[Requirement, ...]) -> tuple[Requirement, ...]:
    """Return requirements as a plan has them, which does not say whose an id is."""
    return tuple(Requirement(each.id, each.text, each.line) for each in requirements)


def compared(before: tuple[Requirement, ...], after: tuple[Requirement, ...]) -> SpecDifference:
    return compare_requirements(stored(before), after)


def classes(difference: SpecDifference) -> tuple[int, int, int, int]:
    """Return how many are untouched, changed, added, removed."""
    return (
        len(difference.untouched),
        len(difference.changed),
        len(difference.added),
        len(difference.removed),
    )


# Words


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("A word has five letters.", "A  word has five letters"),
        ("A word has five letters.", "A *word* has __five__ letters;"),
        ("A word has five letters.", "a word has five letters!"),
        ("Print the name.", "Print the `name`."),
        ("Refuse a blank name.", "[x] Refuse a blank name."),
    ],
)
def test_white_space_emphasis_case_and_last_punctuation_are_no_change(
    before: str, after: str
) -> None:
    difference = compared(texts(before), texts(after))
    assert classes(difference) == (1, 0, 0, 0)
    assert difference.is_empty


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("It prints `Hello`.", "It prints `hello`."),
        ('It prints "Hello".', 'It prints "HELLO".'),
        ("It reads `a_b`.", "It reads `a b`."),
        ("It deletes `*.tmp` files.", "It deletes `.tmp` files."),
        ("at most 5", "at most 7"),
        ("A game has at most 5 guesses.", "A game has at most 7 guesses."),
        ("Users must log in by mail.", "Users must not log in by mail."),
        ("A before B, sorted by name.", "B before A, sorted by name."),
        ("A failed login is logged with its time.", "A failed login is logged with its address."),
        ("用户可以用邮箱登录系统并查看订单", "用户可以用手机登录系统并查看订单"),
    ],
)
def test_a_requirement_whose_words_change_keeps_its_id(before: str, after: str) -> None:
    old, new = texts("Orders are stored.", before), texts(after, "Orders are stored.")
    difference = compared(old, new)
    assert classes(difference) == (1, 1, 0, 0)
    (changed,) = difference.changed
    assert (changed.before.text, changed.after.text) == (before, after)
    assert changed.before.id == changed.after.id == old[1].id
    assert [each.id for each in difference.requirements] == [old[1].id, old[0].id]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("A word has five letters.", "The maze is drawn with dots."),
        ("The system shall let users create an invoice.", "The system shall let users log out."),
        ("Is it? Or is it not?", "They were there."),
    ],
)
def test_different_requirements_do_not_share_an_id(before: str, after: str) -> None:
    difference = compared(texts(before), texts(after))
    assert classes(difference) == (0, 0, 1, 1)
    assert difference.doubts == ()


def test_everything_replaced_is_all_removed_and_all_added() -> None:
    difference = compared(
        texts("Words have letters.", "Guesses are scored."), texts("Draw a maze.", "Solve it fast.")
    )
    assert classes(difference) == (0, 0, 2, 2)


def test_nothing_on_either_side_is_no_difference() -> None:
    assert compare_requirements((), ()).is_empty
    assert classes(compare_requirements((), texts("Greet."))) == (0, 0, 1, 0)
    assert classes(compare_requirements(texts("Greet."), ())) == (0, 0, 0, 1)


# Ties


def test_of_two_that_are_equally_alike_none_keeps_the_id() -> None:
    old = texts("Log in with a mail address and a password.")
    new = texts("Log in with a mail address and a key.", "Log in with a mail address and a token.")
    difference = compared(old, new)
    assert classes(difference) == (0, 0, 2, 1)
    (doubt,) = difference.doubts
    assert old[0].id in doubt
    assert "line 1 or " in doubt
    assert f"`{old[0].id}: ...`" in doubt


def test_the_remedy_that_a_tie_names_decides_it() -> None:
    old = texts("Log in with a mail address and a password.")
    new = texts(
        "Log in with a mail address and a key.",
        "Log in with a mail address and a token.",
    )
    new = (new[0], Requirement(old[0].id, new[1].text, given=True))
    difference = compared(old, new)
    assert classes(difference) == (0, 1, 1, 0)
    assert difference.changed[0].after.id == old[0].id
    assert difference.doubts == ()


def test_the_better_of_two_candidates_is_taken() -> None:
    old = texts("Rows are sorted by name, ascending.", "Rows are sorted by date, ascending.")
    new = texts("Rows are sorted by date, descending.", "Rows are sorted by name, descending.")
    difference = compared(old, new)
    assert [(each.after.text, each.after.id) for each in difference.changed] == [
        (new[0].text, old[1].id),
        (new[1].text, old[0].id),
    ]


# The author's ids


def test_a_given_id_stays_with_its_requirement_whatever_the_words() -> None:
    difference = compared(
        own(R1="Words have five letters.", R2="Draw a maze."),
        own(R2="Print an invoice.", R1="Words have five letters."),
    )
    assert classes(difference) == (1, 1, 0, 0)
    assert difference.changed[0].after.text == "Print an invoice."


def test_two_given_ids_are_two_requirements_even_if_their_words_are_alike() -> None:
    difference = compared(
        own(R1="A game has at most 5 guesses."), own(R2="A game has at most 7 guesses.")
    )
    assert classes(difference) == (0, 0, 1, 1)


def test_renumbered_requirements_are_changed_and_the_author_is_asked() -> None:
    difference = compared(
        own(R1="Words have letters.", R2="Draw a maze."),
        own(R1="Greet all.", R2="Words have letters.", R3="Draw a maze."),
    )
    assert classes(difference) == (0, 2, 1, 0)
    (doubt,) = difference.doubts
    assert doubt.startswith("R2: the words were those of another id before")


def test_a_requirement_that_is_given_an_id_keeps_the_one_that_orders_name() -> None:
    old, new = texts("Words have five letters."), own(R1="Words have five letters.")
    first = compared(old, new)
    assert classes(first) == (1, 0, 0, 0)
    assert first.requirements == (Requirement(old[0].id, "R1: Words have five letters."),)
    assert f"{old[0].id} (R1)" in first.doubts[0]
    later = compared(first.requirements, own(R1="Draw a maze."))
    assert later.changed[0].after == Requirement(old[0].id, "R1: Draw a maze.")
    assert later.doubts == ()


def test_a_requirement_that_loses_its_id_keeps_it_in_the_plan() -> None:
    old = own(R1="Words have five letters.", R2="Draw a maze.")
    new = texts("Draw a maze.", "Words have six letters.")
    assert [each.id for each in compared(old, new).requirements] == ["R2", "R1"]


def test_ids_count_as_given_where_the_caller_says_so() -> None:
    old, new = texts("Words have letters."), (Requirement("R-000000", "Words have letters."),)
    assert compare_requirements(old, new, ids_given=True).requirements[0].id == old[0].id
    kept = (Requirement(old[0].id, "Draw a maze."),)
    assert classes(compare_requirements(old, kept, ids_given=True)) == (0, 1, 0, 0)


# Ids stay unique


def test_words_that_return_get_a_longer_id_while_the_first_one_is_taken() -> None:
    first = texts("A game has at most 5 guesses.")
    kept = compared(first, texts("A game has at most 7 guesses.")).requirements
    again = compared(kept, texts("A game has at most 7 guesses.", "A game has at most 5 guesses."))
    one, other = again.requirements
    assert one.id == first[0].id
    assert other.id.startswith(first[0].id)
    assert len(other.id) > len(first[0].id)


def test_a_removed_id_is_not_used_for_another_requirement() -> None:
    before = (Requirement(texts("Draw a maze.")[0].id, "Print an invoice in euros."),)
    difference = compare_requirements(before, texts("Draw a maze.", "Print an invoice in dollars."))
    assert len({each.id for each in difference.requirements}) == 2
    assert difference.requirements[1].id == before[0].id


# Any two versions

WORDS = "the a of must 5 7 12 word maze guess row column file print draw refuse sort name"
sentences = st.lists(st.sampled_from(WORDS.split()), min_size=1, max_size=9).map(" ".join)
any_text = sentences | st.text(max_size=12)
ids = st.sampled_from(["R1", "R2", "R-aaaaaa", "R-bbbbbb", "R-aaaaaaaaaaaa", "2.1-cccccc", "A-7"])


@st.composite
def versions(draw: st.DrawFn) -> tuple[Requirement, ...]:
    names = draw(st.lists(ids, unique=True, max_size=7))
    return tuple(
        Requirement(name, draw(any_text), draw(st.none() | st.integers(1, 99)), draw(st.booleans()))
        for name in names
    )


@pytest.mark.rest
@given(versions(), versions(), st.booleans())
@settings(max_examples=400)
def test_each_requirement_is_in_exactly_one_class_and_ids_are_unique(
    before: tuple[Requirement, ...], after: tuple[Requirement, ...], ids_given: bool
) -> None:
    difference = compare_requirements(before, after, ids_given=ids_given)
    new = [
        *difference.untouched,
        *(each.after for each in difference.changed),
        *difference.added,
    ]
    assert sorted(map(repr, new)) == sorted(map(repr, difference.requirements))
    assert len({each.id for each in difference.requirements}) == len(after)
    assert [each.line for each in difference.requirements] == [each.line for each in after]
    kept = {each.id for each in (*difference.untouched, *(c.after for c in difference.changed))}
    assert kept | {each.id for each in difference.removed} == {each.id for each in before}
    assert all(each.before.id == each.after.id for each in difference.changed)
    assert not {each.id for each in difference.added} & {each.id for each in before}
    assert difference.to_json()["untouched"] == [e.id for e in difference.untouched]


@pytest.mark.rest
@given(st.lists(sentences, unique=True, min_size=1, max_size=12), st.randoms())
def test_another_order_of_the_same_words_is_no_difference(
    said: list[str], rng: random.Random
) -> None:
    moved = rng.sample(said, len(said))
    old, new = derived(said), derived(moved)
    difference = compare_requirements(old, new)
    assert difference.is_empty
    assert difference.doubts == ()
    assert {each.id: each.text for each in difference.requirements} == {e.id: e.text for e in old}


@pytest.mark.rest
@given(versions(), versions())
@settings(max_examples=200)
def test_a_second_comparison_with_the_same_version_is_empty(
    before: tuple[Requirement, ...], after: tuple[Requirement, ...]
) -> None:
    kept = compare_requirements(before, after).requirements
    again = compare_requirements(stored(kept), after)
    assert again.is_empty
    assert [(e.id, e.text) for e in again.requirements] == [(e.id, e.text) for e in kept]


@given(st.lists(sentences, unique=True, max_size=8), st.lists(sentences, unique=True, max_size=8))
def test_what_is_added_one_way_is_removed_the_other_way(old: list[str], new: list[str]) -> None:
    forth = compare_requirements(derived(old), derived(new))
    back = compare_requirements(derived(new), derived(old))
    assert sorted(e.text for e in forth.added) == sorted(e.text for e in back.removed)
    assert sorted(e.text for e in forth.removed) == sorted(e.text for e in back.added)
    assert len(forth.changed) == len(back.changed)


@pytest.mark.rest
@given(st.randoms(use_true_random=False))
def test_requirements_with_a_few_words_changed_keep_their_ids(rng: random.Random) -> None:
    said = [f"The system shall {some_words(rng, 10)}" for _ in range(20)]
    edited = [with_changed_words(each, rng, 3) for each in said]
    old = derived(said)
    difference = compare_requirements(old, derived(edited))
    assert [each.id for each in difference.requirements] == [each.id for each in old]


def test_three_hundred_are_compared_with_three_hundred_in_half_a_second() -> None:
    rng = random.Random(0)
    said = [f"The system shall allow users to {some_words(rng, 15)}" for _ in range(300)]
    old, new = texts(*said), texts(*(with_changed_words(each, rng, 4) for each in said))
    started = process_time()
    difference = compare_requirements(old, new)
    assert process_time() - started < 0.5
    assert classes(difference) == (0, 300, 0, 0)


def derived(said: list[str]) -> tuple[Requirement, ...]:
    found = derive_requirements("\n".join(f"- {each}" for each in said))
    assume(len(found) == len(said))
    return found


def some_words(rng: random.Random, count: int) -> str:
    return " ".join("".join(rng.choices("abcdefghij", k=6)) for _ in range(count))


def with_changed_words(text: str, rng: random.Random, count: int) -> str:
    words = text.split()
    for at in rng.sample(range(3, len(words)), count):
        words[at] = some_words(rng, 1)
    return " ".join(words)


# For programs


def test_programs_see_what_changed() -> None:
    difference = compared(
        own(R1="Greet\nall.", R2="A game has 5 guesses.", R3="Draw."),
        (
            Requirement("R2", "A game has \x1b[31m7 guesses.", 4, given=True),
            Requirement("R4", "Sort.", 9, given=True),
            Requirement("R3", "Draw!", 10, given=True),
        ),
    )
    assert difference.to_json() == {
        "added": [{"id": "R4", "text": "Sort.", "line": 9}],
        "changed": [
            {
                "id": "R2",
                "before": "A game has 5 guesses.",
                "after": "A game has \x1b[31m7 guesses.",
                "line": 4,
            }
        ],
        "removed": [{"id": "R1", "text": "Greet\nall."}],
        "untouched": ["R3"],
        "doubts": [],
    }
