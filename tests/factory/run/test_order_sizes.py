"""How long the prompts of a plan will be, measured on the repo as it is."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factory.orders.documents import MAX_CONTEXT_BYTES
from factory.orders.read_orders import LoadedOrder
from factory.proposal.request import NEW_FILE_BYTES
from factory.record.past_usage import PastUsage
from factory.run.forecast import OrderSize, foresee, measure_orders, size_orders
from shared.git import refs
from shared.git.client import Git
from shared.llm.budget import estimate_input, likely_tokens, total_tokens
from shared.settings.settings import Settings
from shared.work_order.parse_order import parse_document
from shared.work_order.work_order import WorkOrder
from tests.fakes import proposal
from tests.harness import Factory, commit_all, order
from tests.test_examples import accepted_plan


def loaded(number: int = 1, **fields: object) -> LoadedOrder:
    return LoadedOrder(parse_document(WorkOrder, order(number, **fields)), None)


def test_files_count_with_the_size_that_they_have() -> None:
    small, large = (
        size_orders([loaded(context_files=["data.txt"])], {"data.txt": size})[0]
        for size in (4_000, 12_000)
    )
    assert large.prompt - small.prompt == 2_000
    assert large.most_prompt - small.most_prompt in (2_666, 2_667)
    assert large.reply == small.reply


def test_a_file_that_is_rewritten_is_expected_in_the_reply() -> None:
    new, short, long = (
        size_orders([loaded(allowed_files=["a.txt"])], sizes)[0]
        for sizes in ({}, {"a.txt": 5_000}, {"a.txt": 80_000})
    )
    assert short.reply - new.reply == (5_000 - NEW_FILE_BYTES) // 4
    assert new.reply < long.reply < short.reply, "of a long file only what changes is written"


def test_an_order_that_only_removes_files_has_no_prompt() -> None:
    (size,) = size_orders([loaded(allowed_files=[], removed_files=["a.txt"])], {"a.txt": 8_000})
    assert (size.prompt, size.most_prompt, size.reply, size.asks_model) == (0, 0, 0, False)


def test_a_file_of_an_earlier_order_is_taken_for_one_of_usual_size() -> None:
    making = loaded(1, allowed_files=["a.txt"])
    reading = loaded(2, allowed_files=["b.txt"], context_files=["a.txt"])
    alone = size_orders([reading], {})[0]
    after = size_orders([making, reading], {})[1]
    assert NEW_FILE_BYTES // 4 - 20 < after.prompt - alone.prompt < NEW_FILE_BYTES // 4 + 20
    assert after.most_prompt - alone.most_prompt > MAX_CONTEXT_BYTES // 3 - 20


def test_the_tests_of_the_plan_are_counted_as_they_are() -> None:
    test = {"path": "test_a.py", "content": "#" * 4_000}
    alone, with_test = (
        size_orders([loaded(acceptance_files=files)], {})[0] for files in ([], [test])
    )
    assert 1_000 <= with_test.prompt - alone.prompt < 1_150
    assert with_test.reply == alone.reply
    later = loaded(2, allowed_files=["b.txt"], context_files=["test_a.py"])
    after = size_orders([loaded(acceptance_files=[test]), later], {})[1]
    assert abs(after.prompt - size_orders([later], {"test_a.py": 4_000})[0].prompt) < 2


@given(st.lists(st.integers(0, 10**9), min_size=3, max_size=3))
def test_no_prompt_is_larger_than_what_may_be_shown(sizes: list[int]) -> None:
    files = {f"{number}.txt": size for number, size in enumerate(sizes)}
    (size,) = size_orders([loaded(context_files=list(files))], files)
    assert size.most_prompt < MAX_CONTEXT_BYTES // 3 + 4_000
    assert size.prompt <= 3 * MAX_CONTEXT_BYTES // 4 + 4_000


@pytest.mark.parametrize("text", ["a line of text\n", "värde\n"])
def test_the_measure_is_that_of_the_real_prompt(factory: Factory, text: str) -> None:
    commit_all(factory.repo, {"notes.txt": text * 400})
    document = order(context_files=["notes.txt"], notes="Greet with care.")
    git = Git(factory.repo)
    (size,) = measure_orders(
        [LoadedOrder(parse_document(WorkOrder, document), None)], git, refs.commit_of(git, "HEAD")
    )
    factory.run(document, [proposal({"hello.txt": "hello\n"})])
    real = estimate_input(factory.model.requests[0])
    assert size.prompt <= real <= size.most_prompt
    assert size.prompt > real / 2


def test_without_a_commit_there_are_no_files(tmp_path: Path) -> None:
    orders = [loaded(context_files=["notes.txt"])]
    assert measure_orders(orders, Git(tmp_path), "") == size_orders(orders, {})


# What was used, and what is expected: both by the same guess of tokens from bytes, because no demo
# was ever answered by a live model.

DEMOS = ("hello", "maze", "wordgame", "wordgame-ts")


@dataclass(frozen=True)
class Used:
    """The orders of a demo, each with its size and with the prompt and reply of each call."""

    sizes: Sequence[OrderSize]
    calls: Sequence[Sequence[tuple[int, int]]]

    def tokens(self, begin: int = 0) -> int:
        return sum(sum(call) for order in self.calls[begin:] for call in order)

    def past(self, end: int) -> PastUsage:
        """What is on record once so many orders have landed."""
        done = self.calls[:end]
        replies = [reply for order in done for _, reply in order]
        return PastUsage(end, len(replies) / end, sum(replies) / len(replies))


def used_by(name: str) -> Used:
    path = Path(__file__).parents[3] / "examples" / name / "transcript.jsonl"
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    asked = {each["key"]: each for each in lines if "request" in each}
    calls: dict[str, list[tuple[int, int]]] = {}
    for each in lines:
        place = asked[each["key"]]["place"] if each["record"] == "response" else {}
        if place.get("role") == "factory":
            texts = (asked[each["key"]]["request"]["prompt"], each["text"])
            prompt, reply = (likely_tokens(len(text.encode())) for text in texts)
            calls.setdefault(place["order"], []).append((prompt, reply))
    drafts = accepted_plan(name).drafts
    orders = [LoadedOrder(each.order, None) for each in drafts if each.order]
    return Used(size_orders(orders, {}), [calls[each.order.id] for each in orders])


def expected(sizes: Sequence[OrderSize], past: PastUsage | None = None) -> int:
    return total_tokens(foresee(sizes, Settings(), past).expected)


@pytest.mark.parametrize("name", DEMOS)
def test_what_is_expected_of_a_demo_is_near_to_what_it_takes(name: str) -> None:
    used = used_by(name)
    for past in (None, used.past(len(used.calls))):
        assert used.tokens() / 1.5 <= expected(used.sizes, past) <= 1.5 * used.tokens()
        bound = total_tokens(foresee(used.sizes, Settings(), past).likely)
        assert used.tokens() <= bound <= 3 * used.tokens()


@pytest.mark.parametrize("landed", [1, 2])
def test_what_is_expected_after_some_orders_is_near_to_what_the_others_take(landed: int) -> None:
    """Of all demos together: a single order has one call or two, and nobody knows which."""
    demos = [used_by(name) for name in DEMOS]
    taken = sum(each.tokens(landed) for each in demos)
    foreseen = sum(expected(each.sizes[landed:], each.past(landed)) for each in demos)
    assert taken / 1.5 <= foreseen <= 1.5 * taken
