"""The page in a real browser: keyboard, console, requests, accessibility, 200 orders.

Needs Debian's `chromium` (apt install chromium). Nothing is fetched: no browser of Playwright's
own, and axe-core comes with `make node-tools`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from llmch.page.run_page import render_page
from llmch.runs.read_run import read_report
from llmch.runs.run_model import RunView
from tests.harness import Factory
from tests.llmch.page.chromium import launch
from tests.llmch.page.runs import drawn_run
from tests.llmch.page.test_page import HOSTILE, with_text
from tests.llmch.runs.test_read_run import run_two
from tests.real_tools import NODE_TOOLS, needs

pytestmark = [pytest.mark.rest, needs("chromium")]
AXE = NODE_TOOLS / "axe-core" / "axe.min.js"
SECTIONS = (
    "summary",
    "time",
    "planning",
    "graph",
    "requirements",
    "orders",
    "usage",
    "sandbox",
    "run",
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        started = launch(playwright)
        yield started
        started.close()


class Opened:
    """A page in the browser, with what it printed to the console and what it asked for."""

    def __init__(self, browser: Browser, path: Path, scheme: Any = "light") -> None:
        self.context = browser.new_context(color_scheme=scheme, offline=True)
        self.page: Page = self.context.new_page()
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: self.complaints.append(f"dialog {dialog.message}"))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.as_uri())

    def check(self) -> None:
        """Assert that nothing went wrong and that nothing but the page itself was asked for."""
        assert self.complaints == []
        asked = {each for each in self.requests if not each.startswith("data:")}
        assert asked == {self.page.url.partition("#")[0]}

    def close(self) -> None:
        self.context.close()


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Iterator[Any]:
    """Opens runs in the browser, and asserts in the end that none of them misbehaved."""
    pages: list[Opened] = []

    def look(run: RunView, scheme: str = "light") -> Page:
        path = tmp_path / f"page-{len(pages)}.html"
        path.write_text(render_page(run))
        pages.append(Opened(browser, path, scheme))
        return pages[-1].page

    yield look
    for each in pages:
        each.check()
        each.close()


def test_a_real_run_is_drawn_without_a_complaint(opened: Any, factory: Factory) -> None:
    run_two(factory)
    page = opened(read_report(None, factory.repo, factory.artifacts))
    assert page.locator("h1").inner_text() == "Begin"
    assert page.locator("article.order").count() == 2
    assert page.locator("rect.attempt").count() == 3
    assert page.locator(".file ins").first.is_visible()


def test_every_section_is_reached_by_the_keyboard(opened: Any) -> None:
    page = opened(drawn_run(6))
    reached: set[str] = set()
    for _ in range(200):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement === document.body"):
            break
        reached |= set(
            page.evaluate(
                "[...document.querySelectorAll('[id]')].filter("
                "each => each.contains(document.activeElement)).map(each => each.id)"
            )
        )
    # The summary and the facts of the run have nothing to operate: the side bar leads there.
    assert reached >= {*SECTIONS} - {"summary", "sandbox", "run"}
    for name in SECTIONS:
        page.locator(f"nav a[href='#{name}']").focus()
        page.keyboard.press("Enter")
        page.wait_for_url(f"**#{name}")


def test_the_first_key_leads_past_the_side_bar(opened: Any) -> None:
    page = opened(drawn_run(3))
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the report"
    page.keyboard.press("Enter")
    page.locator("#main:focus").wait_for()


def test_orders_are_walked_opened_and_filtered_by_keys(opened: Any) -> None:
    page = opened(drawn_run(8))
    page.keyboard.press("j")
    page.keyboard.press("j")
    assert "WO-02" in page.evaluate("document.activeElement.textContent")
    page.keyboard.press("o")
    assert page.locator("#WO-02 > details").get_attribute("open") is not None
    page.keyboard.press("k")
    assert "WO-01" in page.evaluate("document.activeElement.textContent")
    page.keyboard.press("/")
    page.keyboard.type("failed")
    assert page.locator("article.order:visible").count() == 1
    assert page.locator("#matches").inner_text() == "1 of 8"
    page.keyboard.press("Escape")
    assert page.locator("article.order:visible").count() == 8


def test_a_link_opens_the_order_that_it_leads_to(opened: Any) -> None:
    page = opened(drawn_run(8))
    assert page.locator("#WO-03 > details").get_attribute("open") is None
    page.locator(".graph a[href='#WO-03']").press("Enter")
    page.locator("#WO-03 > details[open]").wait_for()


@pytest.mark.skipif(not AXE.is_file(), reason="needs axe-core: make build/node/.installed")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nobody_is_shut_out(browser: Browser, tmp_path: Path, scheme: Any) -> None:
    """The page's own policy refuses foreign scripts, so axe is let in by the browser's debugger."""
    path = tmp_path / "page.html"
    path.write_text(render_page(drawn_run(6)))
    context = browser.new_context(color_scheme=scheme, bypass_csp=True)
    page = context.new_page()
    page.goto(path.as_uri())
    page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
    page.add_script_tag(path=AXE)
    found = page.evaluate("axe.run()")
    faults = [
        f"{each['id']}: {each['help']}: {[node['html'][:200] for node in each['nodes'][:3]]}"
        for each in found["violations"]
    ]
    assert faults == [], "\n".join(faults)
    context.close()


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_does_nothing(opened: Any, text: str) -> None:
    page = opened(with_text(text))
    page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
    assert page.evaluate("document.scripts.length") == 1
    assert page.locator("img, iframe, object, embed").count() == 0


PAINTED = (
    "new Promise(done => new PerformanceObserver(list => {"
    " const found = list.getEntriesByName('first-contentful-paint');"
    " if (found.length) done(found[0].startTime); }).observe({type: 'paint', buffered: true}))"
)


def painted(browser: Browser, path: Path) -> float:
    """Return after how many seconds the browser first showed something of a page."""
    context = browser.new_context()
    page = context.new_page()
    page.goto(path.as_uri())
    milliseconds: float = page.evaluate(PAINTED)
    context.close()
    return milliseconds / 1000


def test_two_hundred_orders_are_shown_about_as_soon_as_an_empty_page(
    browser: Browser, tmp_path: Path
) -> None:
    """The two are measured in turns, so that a loaded machine slows down both of them."""
    large, empty = tmp_path / "large.html", tmp_path / "empty.html"
    large.write_text(render_page(drawn_run(200)))
    empty.write_text("<!doctype html><title>empty</title><p>x</p>")
    taken = [(painted(browser, large), painted(browser, empty)) for _ in range(5)]
    assert min(each[0] for each in taken) < 1 + min(each[1] for each in taken) * 20


def test_the_page_is_read_without_script_too(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(render_page(drawn_run(8)))
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(path.as_uri())
    page.locator("#WO-03 > details > summary").click()
    assert page.locator("#WO-03 .intent").is_visible()
    assert not page.locator(".tools").is_visible()
    context.close()


def test_a_table_scrolls_in_a_narrow_window_and_breaks_no_word(opened: Any) -> None:
    page = opened(drawn_run(12))
    page.set_viewport_size({"width": 500, "height": 800})
    size = "e => [e.scrollWidth, e.clientWidth]"
    whole, shown = page.locator(".wide:has(.numbers)").evaluate(size)
    assert whole > shown
    line = page.locator(".numbers tfoot th").bounding_box()["height"]
    assert page.locator(".numbers tbody td").first.bounding_box()["height"] < line * 1.5


@pytest.mark.parametrize("width", [360, 768, 1400])
def test_no_width_makes_the_page_scroll_sideways(opened: Any, width: int) -> None:
    page = opened(drawn_run(12))
    page.set_viewport_size({"width": width, "height": 800})
    page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
