"""The page is served while a real run goes on: to who knows its address, and until the run ends."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from queue import Queue
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import sync_playwright

from llmch.page.run_page import serve_live
from llmch.runs.read_run import read_report
from llmch.runs.run_model import RunView, Standing
from shared.llm.model_client import Request
from tests.fakes import Reply, proposal
from tests.harness import Factory
from tests.llmch.command_line import Say, start
from tests.llmch.page.chromium import launch
from tests.llmch.runs.test_read_run import GOOD, plan, run_two
from tests.real_tools import needs

pytestmark = pytest.mark.rest


_PATIENCE = 120  # seconds; only a failed test waits so long


@dataclass
class Held:
    """A run whose model does not answer for its second order until it is told to."""

    factory: Factory
    asked: threading.Event = field(default_factory=threading.Event)
    released: threading.Event = field(default_factory=threading.Event)

    def reply(self, request: Request) -> str:
        self.asked.set()
        assert self.released.wait(_PATIENCE)
        return GOOD(request)

    def run(self) -> None:
        replies: dict[str, list[Reply]] = {
            "WO-01": [proposal({"one.txt": "one\n"})],
            "WO-02": [self.reply],
        }
        self.factory.run_all(plan(), replies)

    def look(self) -> RunView:
        return read_report(None, self.factory.repo, self.factory.artifacts)


@pytest.fixture
def held(factory: Factory) -> Iterator[Held]:
    run = Held(factory)
    thread = threading.Thread(target=run.run)
    thread.start()
    assert run.asked.wait(_PATIENCE)
    yield run
    run.released.set()
    thread.join(_PATIENCE)


@dataclass
class Served:
    """A page that is served in a thread of its own."""

    address: str
    ended: Queue[RunView]

    def get(self, path: str = "", host: str = "", method: str = "GET") -> tuple[int, str]:
        parts = urlsplit(self.address)
        assert parts.hostname == "127.0.0.1" and parts.port
        connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=_PATIENCE)
        headers = {"Host": host} if host else {}
        connection.request(method, path or parts.path, headers=headers)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, text


def serve(look: Callable[[], RunView]) -> Served:
    addresses: Queue[str] = Queue()
    ended: Queue[RunView] = Queue()
    threading.Thread(
        target=lambda: ended.put(serve_live(look, addresses.put, _PATIENCE)), daemon=True
    ).start()
    return Served(addresses.get(timeout=_PATIENCE), ended)


def test_the_page_is_served_until_the_run_ends(held: Held) -> None:
    served = serve(held.look)
    status, page = served.get()
    assert status == 200 and "This page follows the run" in page and "Running" in page
    status, version = served.get(f"{urlsplit(served.address).path}version")
    assert (status, version) == (200, "1")
    assert f'data-live="{version}"' in page
    held.released.set()
    while "This page follows the run" in served.get()[1]:
        pass  # each answer comes from a server that looks once a second
    run = served.ended.get(timeout=_PATIENCE)
    assert (run.standing, run.landed) == (Standing.PASSED, 2)
    with pytest.raises(OSError):
        served.get()


def test_only_who_knows_the_address_gets_the_page(held: Held) -> None:
    served = serve(held.look)
    path = urlsplit(served.address).path
    for asked in ("/", path[:-2] + "/", f"{path}../", f"{path}x", "/version", path + "?x=1"):
        assert served.get(asked) == (404, "not found\n")
    assert served.get(host="evil.example")[0] == 404  # a name that leads to this machine
    assert served.get(method="POST")[0] == 501
    held.released.set()
    assert served.ended.get(timeout=_PATIENCE).standing is Standing.PASSED


def test_a_run_that_is_over_is_not_watched(say: Say, factory: Factory) -> None:
    run_two(factory)
    said = say(
        "report", "--watch", "--repo", factory.repo, "--artifacts-dir", factory.artifacts, "--json"
    )
    assert said.error["code"] == 2 and "nothing to watch" in said.error["message"]


def test_the_command_names_the_address_and_ends_with_the_run(held: Held) -> None:
    repo, artifacts = held.factory.repo, held.factory.artifacts
    with start("report", "--watch", "--artifacts-dir", artifacts, cwd=repo) as process:
        assert process.stdout is not None
        address = process.stdout.readline().removeprefix("page: ").strip()
        assert Served(address, Queue()).get()[0] == 200
        held.released.set()
        out, err = process.communicate(timeout=_PATIENCE)
    assert (process.returncode, err) == (0, "")
    assert "2 of 2 orders on work" in out


@needs("chromium")
def test_a_browser_follows_the_run_to_its_end(held: Held) -> None:
    served = serve(held.look)
    complaints: list[str] = []
    with sync_playwright() as playwright:
        browser = launch(playwright)
        page = browser.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.goto(served.address)
        assert page.locator(".stamp").inner_text() == "Running"
        page.locator("#WO-02 > details > summary").press("Enter")
        held.released.set()
        page.locator(".stamp", has_text="Passed").wait_for(timeout=_PATIENCE * 1000)
        assert page.locator("#live").count() == 0
        browser.close()
    assert complaints == []
    assert served.ended.get(timeout=_PATIENCE).standing is Standing.PASSED
