"""A model's server that counts what it is asked, and looks whether it had to be asked."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler

from shared.llm.transcript_lines import Intent, parse_record
from tests.factory.fleet.cluster import Cluster
from tests.factory.fleet.small_fleet import AnsweringServer
from tests.shared.llm.scripted_server import Act, Received


@dataclass(frozen=True)
class Delayed:
    """Do something after a while: a model takes its time."""

    act: Act
    seconds: float

    def play(self, handler: BaseHTTPRequestHandler, stop: threading.Event) -> None:
        time.sleep(self.seconds)
        self.act.play(handler, stop)


class CountingServer(AnsweringServer):
    """Answers slowly, and keeps an account of its calls by prompt."""

    def __init__(self, on_record: Callable[[str], frozenset[str]], seconds: float) -> None:
        """`on_record` returns the prompts whose replies are on record now for a branch."""
        super().__init__(())
        self.calls: Counter[str] = Counter()
        self.needless: list[str] = []
        """The prompts that came although their replies were on record."""
        self.branch = "work"
        self._on_record = on_record
        self._seconds = seconds

    def begin(self, branch: str) -> None:
        """Begin a new account, of a plan that is to land on a branch."""
        self.branch = branch
        self.calls.clear()

    @property
    def repeated(self) -> int:
        """How many calls were made again."""
        return sum(self.calls.values()) - len(self.calls)

    def _next(self, received: Received) -> Act:
        prompt = "\n".join(str(each["content"]) for each in received.body["messages"])
        with self._lock:
            self.calls[prompt] += 1
        if prompt in self._on_record(self.branch):
            self.needless.append(prompt)
        return Delayed(super()._next(received), self._seconds)


def prompts_on_record(cluster: Cluster, database: str, branch: str) -> frozenset[str]:
    """Return the prompts whose replies a fleet has on record for a branch."""
    rows = cluster.execute(
        "SELECT record FROM llmch.replies WHERE plan LIKE %s", database, f"%:{branch}"
    )
    intents = [parse_record(record.encode().splitlines()[0]) for (record,) in rows]
    return frozenset(each.request.prompt for each in intents if isinstance(each, Intent))
