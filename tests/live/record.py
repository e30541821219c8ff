"""Records an example's factory stage from a real model: `python -m tests.live.record`.

The model is asked at the server that `OPENAI_BASE_URL` names, under the name in
`LLMCH_TEST_MODEL`. The plan is the authored one, so that the orders stay the same; what the factory
is told and replies is the model's own, mistakes included. A run that does not build the example
records nothing.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from factory.orders.documents import ReplyFormat
from llmch.verbs.demo import Example, find_example
from shared.errors import LlmchError
from shared.events.events import AttemptFailed, AttemptStarted, Event, OrderEnded
from shared.llm.live_client import LiveClient
from shared.llm.transcript_lines import OriginKind, ReplyOrigin
from tests.authoring import build_example
from tests.live.model_server import MISSING, ModelServer, named_server


def record(example: Example, server: ModelServer, target: Path, server_name: str = "") -> bool:
    """Write what the model replies to the transcript `target`; return whether it built the example.

    `server_name` is how the transcript's header names the program that served the model.
    """
    origin = ReplyOrigin(
        OriginKind.LIVE,
        planner_model="authored",
        factory_model=server.model,
        reply_format=ReplyFormat.FILES.value,
        server=server_name,
        date=datetime.now(UTC).date().isoformat(),
    )
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "transcript.jsonl"
        with LiveClient(server.access) as client:
            result = build_example(example, Path(folder), client, origin, made, _tell)
        if result.summary is None or result.summary.verdict != "PASS":
            return False
        target.write_bytes(made.read_bytes())
    return True


def _tell(event: Event) -> None:
    if isinstance(event, AttemptStarted | AttemptFailed | OrderEnded):
        sys.stdout.write(f"{event}\n")
        sys.stdout.flush()


def main() -> int:
    """Record the named example, hello by default."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", nargs="?", default="hello")
    parser.add_argument("--server", default="", help="how the header names the serving program")
    args = parser.parse_args()
    try:
        server, example = named_server(os.environ), find_example(args.name)
    except LlmchError as error:
        parser.error(f"{error.message}: {error.hint}")
    if server is None:
        parser.error(MISSING)
    if not record(example, server, example.transcript, args.server):
        sys.stdout.write(f"{example.name} was not built; its transcript stays as it was\n")
        return 1
    sys.stdout.write(f"{example.transcript}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
