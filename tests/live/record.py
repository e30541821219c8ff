"""Records an example's factory stage from a real model: `python -m tests.live.record`.

The plan is the authored one, so that the orders stay the same; what the factory is told and replies
is the model's own, mistakes included. A run that does not build the example records nothing.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from llmch.verbs.demo.examples import Example, find_example
from shared.events import AttemptFailed, AttemptStarted, Event, OrderEnded
from shared.llm.access import check_access
from shared.llm.live import LiveClient
from shared.llm.reply_format import ReplyFormat
from tests.authoring import build_example
from tests.live.local_server import serving
from tests.live.weights import MODELS, SERVER, Weights

_DEFAULT = "1.5b"


def record(example: Example, weights: Weights) -> bool:
    """Put what the model replies into the example's transcript; whether it built the example."""
    origin = {
        "origin": "live",
        "planner_model": "authored",
        "factory_model": weights.served_name,
        "reply_format": ReplyFormat.FILES.value,
        "server": SERVER.replace("==", " "),
        "date": datetime.now(UTC).date().isoformat(),
    }
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "transcript.jsonl"
        with (
            serving(weights, Path(folder) / "server.log") as url,
            LiveClient(check_access({"OPENAI_BASE_URL": url})) as client,
        ):
            result = build_example(example, Path(folder), client, origin, made, _tell)
        if result.summary is None or result.summary.verdict != "PASS":
            return False
        example.transcript.write_bytes(made.read_bytes())
    return True


def _tell(event: Event) -> None:
    if isinstance(event, AttemptStarted | AttemptFailed | OrderEnded):
        sys.stdout.write(f"{event}\n")
        sys.stdout.flush()


def main() -> int:
    """Record the named example, hello by default."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", nargs="?", default="hello")
    parser.add_argument("--model", choices=sorted(MODELS), default=_DEFAULT)
    args = parser.parse_args()
    example = find_example(args.name)
    if not record(example, MODELS[args.model]):
        sys.stdout.write(f"{example.name} was not built; its transcript stays as it was\n")
        return 1
    sys.stdout.write(f"{example.transcript}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
