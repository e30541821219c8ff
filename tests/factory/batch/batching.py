"""Plans of small orders, what a scripted model says to them, and what came of it."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from factory.orders.documents import BatchSummary
from shared.llm.model_client import Request, ToolCall
from tests.fakes import Reply, proposal, refused
from tests.harness import Factory, Json, git, writing


def step(number: int, **changes: Any) -> Json:
    """Return an order that writes a file of its own and has nothing to do with any other."""
    return writing(f"{number}.txt", number, **changes)


def wrote(number: int, text: str = "") -> Reply:
    """Return the reply that writes the file of an order."""
    return proposal({f"{number}.txt": text or f"{number}\n"})


def wrong(request: Request) -> str:
    """Propose what may not be written, and something else on each attempt."""
    return refused(request.place.attempt)(request)


def each_writes(*numbers: int) -> dict[str, Sequence[Reply]]:
    """Return the replies by which each order writes its file at once."""
    return {f"WO-{number:02d}": [wrote(number)] for number in numbers}


def after(seconds: float, reply: Reply) -> Reply:
    """Return the reply of a model that takes its time."""

    def late(request: Request) -> str:
        time.sleep(seconds)
        return answer(reply, request)

    return late


def answer(reply: Reply, request: Request) -> str:
    """Return what a reply says to a request."""
    assert not isinstance(reply, Exception | ToolCall)
    return reply if isinstance(reply, str) else reply(request)


def loose_orders(folder: Path, *documents: Json) -> Path:
    """Write orders without a manifest: each can be changed without making the others new."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for each in documents:
        (folder / f"{each['id']}.json").write_text(json.dumps(each))
    return folder


def copy_of(factory: Factory, name: str) -> Factory:
    """Return the same repo in another place, with records of its own."""
    scratch = factory.scratch / name
    shutil.copytree(factory.repo, scratch / "repo", symlinks=True)
    return Factory(scratch / "repo", scratch)


def states(summary: BatchSummary) -> list[str]:
    return [str(each.state) for each in summary.orders]


def landed_on(repo: Path, branch: str = "work") -> list[str]:
    """Return the ids of the orders on a branch, oldest first, one for each trailer."""
    form = "--format=%(trailers:key=Llmch-Work-Order,valueonly,separator=%x20)"
    return git(repo, "log", "--reverse", "--first-parent", form, f"main..{branch}").split()


def asked(factory: Factory) -> list[str]:
    """Return the orders for which the model was asked, in the order of asking."""
    return [str(each.place.order) for each in factory.model.requests]


def counted(factory: Factory) -> Mapping[str, int]:
    return {name: asked(factory).count(name) for name in dict.fromkeys(asked(factory))}
