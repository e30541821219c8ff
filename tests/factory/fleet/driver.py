"""One worker in a process of its own, whose jobs do what a test says.

It reads the URL of the database from a variable, as a real worker does, and what else it is told
from its argument, as JSON.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from pathlib import Path

from factory.fleet.service import Service, Terms
from factory.fleet.wire import Answer, Job, Kind
from shared.errors import LlmchError
from shared.events.events import Event
from shared.settings.setting_values import DatabaseUrl

_LOOK_EVERY_SECONDS = 0.02


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> int:
    told = json.loads(sys.argv[1])
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    terms = Terms(told["worker"], told["slots"], told["lease_seconds"])

    def emit(event: Event) -> None:
        say(str(getattr(event, "message", event)))

    def perform(job: Job, dropped: threading.Event) -> Answer:
        """Note who began, and wait until the test says go, or die."""
        document = job.document
        if "began" in document:
            with Path(document["began"]).open("a") as began:
                began.write(f"{job.id} {terms.worker}\n")
        if document.get("die"):
            os.kill(os.getpid(), signal.SIGKILL)
        while "go" in document and not Path(document["go"]).exists():
            if dropped.wait(_LOOK_EVERY_SECONDS):
                say(f"dropped {job.id}")
                break
        return {"by": terms.worker, "said": document.get("say", "")}

    url = DatabaseUrl(os.environ.pop("LLMCH_FLEET_DB"))
    unfit = Path(told["unfit"])
    service = Service(
        url,
        terms,
        dict.fromkeys(Kind, perform),
        emit,
        complaint=lambda: "it is unfit" if unfit.exists() else "",
    )
    try:
        service.run(ended)
    except LlmchError as error:
        say(error.message)
        return error.exit_code
    return 0


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    os._exit(code)  # DBOS's threads would hold the process for some seconds
