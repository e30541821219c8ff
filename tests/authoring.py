"""Makes the examples' transcripts from their readable sources: `python -m tests.authoring`.

The replies are authored, and the header of each transcript says so. Everything else happens as in
a real run, so a transcript also proves that the example works.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
import tomllib
from pathlib import Path

from llmch.demo import DemoOptions, build_demo
from llmch.demo_replies import recorded_models
from llmch.examples import Example, list_examples
from shared.events import ignore
from shared.hashing import EMPTY_SHA256
from shared.llm.client import Completion, Request, Role, Usage
from shared.llm.stack import Mode, ModelSource

ORIGIN = {"origin": "authored", "model": "authored"}
_SHOWN = re.compile(r"^## (\S+).*\nbase_sha256: (\w+)", re.MULTILINE)
_STALE = "0" * 64


class AuthoredModel:
    """Answers with an example's written replies, base hashes read off the prompt."""

    def __init__(self, example: Example) -> None:
        self._replies = example.folder / "replies"

    def complete(self, request: Request) -> Completion:
        place = request.place
        if place.role is Role.PLANNER:
            text = (self._replies / f"plan-{place.attempt}.json").read_text("utf-8")
        else:
            text = self._proposal(self._replies / f"{place.order}-{place.attempt}", request.prompt)
        return Completion(text=text, model=request.model, usage=Usage())

    def _proposal(self, folder: Path, prompt: str) -> str:
        reply = tomllib.loads((folder / "reply.toml").read_text("utf-8"))
        shown = dict(_SHOWN.findall(prompt))
        stale = set(reply.get("stale", ()))
        root = folder / "files"
        writes = []
        for file in sorted(path for path in root.rglob("*") if path.is_file()):
            path = file.relative_to(root).as_posix()
            base = _STALE if path in stale else shown.get(path, EMPTY_SHA256)
            content = file.read_bytes().decode("utf-8")
            writes.append({"path": path, "base_sha256": base, "content": content})
        return json.dumps({"summary": reply["summary"], "writes": writes}, ensure_ascii=False)


def make_transcript(example: Example, target: Path) -> None:
    """Run the example with its authored replies and record them at `target`."""
    target.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        source = ModelSource(
            Mode.LIVE, lambda emit: AuthoredModel(example), target, origin=ORIGIN, dated=False
        )
        planner, factory = recorded_models(ORIGIN)
        options = DemoOptions(
            example=example,
            folder=Path(scratch) / example.name,
            artifacts=Path(scratch) / "artifacts",
            planner=planner,
            factory=factory,
        )
        result = build_demo(options, source, ignore)
    if result.summary is None or result.summary.verdict != "PASS":
        raise SystemExit(f"{example.name}: the authored replies do not build it")


def main() -> int:
    """Make all transcripts anew, in place."""
    for example in list_examples():
        make_transcript(example, example.transcript)
        sys.stdout.write(f"{example.transcript}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
