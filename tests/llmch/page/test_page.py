"""The page of a run: what it shows, that hostile text stays text, and that its size is bounded."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factory.sandbox.policy import Guarantee
from llmch.page.run_page import fitting_allowance, render_page
from llmch.page.run_words import STANDINGS, Allowance, guarantee_sentence, largest_page
from llmch.runs.read_run import read_report
from llmch.runs.run_model import CallView, Change, Excerpt, Judged, OrderView, RunView, Standing
from tests.harness import Factory
from tests.llmch.page.runs import PATCH, call, command, drawn_run, order_view, planning
from tests.llmch.runs.test_read_run import run_two

_VOID = {"meta", "link", "input", "br"}
_LOADING = {"src", "srcset", "data", "action", "formaction", "background", "poster"}


class Page(HTMLParser):
    """The elements of a page, its visible text, and what is wrong with its structure."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.faults: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()
        self.faults += [f"{each} is not closed" for each in self.open]

    @property
    def text(self) -> str:
        return "".join(self.texts)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            self.attributes.append((tag, name, value or ""))
            if name == "id":
                self.ids.append(value or "")
            if tag == "a" and name == "href":
                self.links.append(value or "")
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in _VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"{tag} closes nothing")

    def handle_data(self, data: str) -> None:
        if self.open[-1:] not in (["script"], ["style"]):
            self.texts.append(data)


def check_structure(text: str) -> Page:
    """Assert that a page is well formed, needs nothing else, and leads nowhere else."""
    page = Page(text)
    assert page.faults == []
    assert len(page.ids) == len(set(page.ids))
    assert all(each.startswith("#") for each in page.links)
    assert {each[1:] for each in page.links} <= set(page.ids)
    assert not [each for each in page.attributes if each[1].startswith("on")]
    assert not [each for each in page.attributes if each[1] in _LOADING | {"style"}]
    return page


def test_the_page_of_a_real_run_shows_what_happened(factory: Factory) -> None:
    run_two(factory)
    text = render_page(read_report(None, factory.repo, factory.artifacts))
    page = check_structure(text)
    for words in (
        "2 of 2 orders on the branch. 1 attempt of 3 was rejected.",
        "Count to two",
        "Acceptance failed",
        "TWO = 'two'",
        "TWO = 2",
        "FR-2",
        factory.tip()[:10],
        "before the work",
    ):
        assert words in page.text
    sections = {"summary", "time", "graph", "requirements", "orders", "usage", "sandbox", "run"}
    assert sections <= set(page.ids)


def test_what_the_policy_allows_is_what_the_page_brings() -> None:
    text = render_page(drawn_run(2))
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', text)
    assert policy is not None
    rules = policy[1].replace("&#39;", "'")
    assert "default-src 'none'" in rules and "unsafe" not in rules
    for tag in ("style", "script"):
        content = re.search(f"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        assert content is not None
        digest = base64.b64encode(hashlib.sha256(content[1].encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in rules


HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'; alert(1)//",
    "</style></script></textarea><h1>forged</h1>",
    "{{ 7 * 7 }}{% include 'x' %}",
    "\x1b[31mred\x1b[0m\x1b]0;title\x07",
    "abc\u202egpj.exe\u2066",
    "zero\u200bwidth\ufeff",
    "nul\0and\x7f",
    "lone \ud800 surrogate",
    "javascript:alert(1)",
    "&lt;b&gt;",
)
_ACTING = re.compile("[\x00-\x08\x0b-\x1f\x7f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff\ud800]")


def with_text(text: str) -> RunView:
    """Return a run that has `text` wherever a record can hold text."""
    order = order_view(1, Judged.FAILED, text)
    patch = PATCH.replace("one.py", text.replace("\n", " ")).replace("value", text)
    order = replace(
        order,
        change=Change(patch, missing=text, command=text),
        commit=text,
        covers=(text,),
        maker=text,
        stated=(command(text),),
    )
    run = drawn_run(1)
    return replace(
        run,
        orders=(order, order_view(2, Judged.PASSED, text)),
        title=text,
        branch=text,
        error=text,
        gaps=(text,),
        messages=(text,),
        overview=(text,),
        settings=((text, text),),
        planning=planning(text),
    )


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_shown_as_text(text: str) -> None:
    page = render_page(with_text(text))
    shown = check_structure(page)
    assert not _ACTING.search(page)
    assert page.count("<script") == 1
    plain = _ACTING.split(text)[0]
    assert plain in shown.text


@pytest.mark.rest
@given(text=st.text(max_size=60))
def test_no_text_breaks_the_page(text: str) -> None:
    page = render_page(with_text(text))
    check_structure(page)
    assert page.count("<script") == 1
    assert not _ACTING.search(page)
    page.encode()


@pytest.mark.rest
def test_fifty_orders_with_long_changes_and_output_fit_into_two_megabytes() -> None:
    long = "".join(
        f"+line {number} of a very long change = {number} * 2\n" for number in range(4000)
    )
    patch = f"{PATCH.partition('@@')[0]}@@ -0,0 +1,4000 @@\n{long}"
    orders = tuple(
        replace(order_view(number, Judged.PASSED, "a line of output\n" * 400), change=Change(patch))
        for number in range(1, 51)
    )
    page = render_page(replace(drawn_run(1), orders=orders))
    assert len(page.encode()) < 2_000_000
    assert "more lines are not shown" in page
    assert "characters left out" in page
    check_structure(page)


@pytest.mark.rest
def test_how_much_of_long_changes_fits_is_known_before_the_page_is_drawn() -> None:
    lines = "".join(f"+value_{number} = compute({number}, 'text')\n" for number in range(4_000))
    head = PATCH.partition("@@")[0]
    orders = tuple(
        replace(each, change=Change(f"{head}@@ -0,0 +1,4000 @@\n{lines}"))
        for each in drawn_run(50).orders
    )
    run = replace(drawn_run(50), orders=orders)
    fitting = fitting_allowance(run, Allowance())
    assert fitting.patch < Allowance().patch
    page = render_page(run)
    assert len(page.encode()) <= largest_page(50)
    shown = page.count("<ins data-n=") / len(orders)
    assert fitting.patch * 0.9 < shown * len(lines) / 4_000 < fitting.patch * 1.1, "the first page"
    assert fitting_allowance(drawn_run(50), Allowance()) == Allowance(), (
        "short ones are shown whole"
    )


PROMPT = "a line of a long prompt, which repeats the files\n" * 600


def with_calls(orders: int, text: str = PROMPT) -> RunView:
    """Return a run in which each attempt has two calls with long texts."""
    views = []
    for number in range(1, orders + 1):
        order = order_view(number)
        calls = (
            CallView(Excerpt(text[:16_000], text[-8_000:], 9_999, "p.txt"), Excerpt(text)),
        ) * 2
        attempts = tuple(replace(each, calls=calls) for each in order.attempts)
        views.append(replace(order, attempts=attempts))
    return replace(drawn_run(1), orders=tuple(views))


def test_prompts_and_replies_are_shown_and_the_page_says_where_the_rest_is() -> None:
    run = drawn_run(1)
    shown = check_structure(render_page(run))
    for words in ("Question 1: prompt and reply", "no reply on record", "WO-01/attempt_1/p.txt"):
        assert words in shown.text
    long = replace(run.orders[0].attempts[0], calls=(call(PROMPT, cut=True),))
    run = replace(run, orders=(replace(run.orders[0], attempts=(long,)),))
    shown = check_structure(render_page(run))
    assert "characters left out; all of it is in WO-01/attempt_1/p.txt" in shown.text
    assert shown.text.count("a line of a long prompt") > 300


@pytest.mark.parametrize("orders", [1, 50, 120])
def test_prompts_give_way_before_what_was_changed(orders: int) -> None:
    page = render_page(with_calls(orders))
    assert len(page.encode()) < 2_000_000 * max(50, orders) / 50
    assert page.count('class="file"') >= 2 * orders, "every change is there"
    assert "more lines are not shown" not in page
    assert ("a line of a long prompt" in page) and "left out" in page
    check_structure(page)


def test_where_no_room_is_left_prompts_are_named() -> None:
    order = with_calls(1).orders[0]
    attempts = tuple(replace(each, calls=each.calls * 3) for each in order.attempts)
    orders = tuple(
        replace(order, id=f"WO-{number:02d}", attempts=attempts) for number in range(1, 51)
    )
    page = check_structure(render_page(replace(drawn_run(1), orders=orders)))
    assert "The prompt is not shown, because the page would be too large." in page.text
    assert "It is in p.txt" in page.text


def test_the_planning_has_a_lane_and_says_what_the_rules_found() -> None:
    shown = check_structure(render_page(drawn_run(3)))
    for words in (
        "planning, before the run",
        "Attempt 1 at the plan rejected",
        "3 orders · 200 errors, 1 warning",
        "E101 words",
        "and 199 more, in compile/validation_errors_attempt_1.json",
        "Attempt 3 at the plan was not judged",
        "1 claim counted, 2 dismissed",
        "3 model calls, 1 replayed",
    ):
        assert words in shown.text, words
    assert "planning" in shown.ids


def test_without_the_planners_records_nothing_is_said_of_them() -> None:
    shown = check_structure(render_page(replace(drawn_run(3), planning=None)))
    assert "planning" not in shown.ids and "at the plan" not in shown.text


@pytest.mark.parametrize("standing", [*Standing])
def test_each_standing_has_a_page(standing: Standing) -> None:
    page = check_structure(render_page(replace(drawn_run(3), standing=standing)))
    assert STANDINGS[standing] in page.text


def test_an_empty_record_has_a_page_that_says_so() -> None:
    run = RunView(run_id="01X", title="", standing=Standing.CUT_OFF, gaps=("run.json is gone",))
    page = check_structure(render_page(run))
    assert "run.json is gone" in page.text and "No order is on record." in page.text


def test_a_page_is_the_same_each_time() -> None:
    assert render_page(drawn_run(7)) == render_page(drawn_run(7))


def test_an_order_that_never_began_is_listed() -> None:
    run = replace(drawn_run(1), orders=(OrderView("WO-01", "", "waiting"),))
    assert "not begun" in check_structure(render_page(run)).text


def test_every_guarantee_of_a_sandbox_has_its_words() -> None:
    for each in Guarantee:
        held, missing = (guarantee_sentence(each, holds=holds) for holds in (True, False))
        assert held != missing and held.endswith(".") and missing.endswith(".")


def test_what_a_branch_does_not_tell_is_not_drawn() -> None:
    orders = tuple(replace(each, needs=()) for each in drawn_run(3).orders)
    run = replace(drawn_run(3), run_id="", standing=Standing.NOT_ON_RECORD, tracks=(), roles=())
    run = replace(run, planning=None, orders=orders)
    page = check_structure(render_page(run))
    assert "Commits only" in page.text and "Attempts" not in page.text
    assert not {"graph", "time", "run"} & set(page.ids)
