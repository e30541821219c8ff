"""Measures the prompts of a plan's orders before any of them is run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from factory.orders.limits import MAX_CONTEXT_BYTES
from factory.orders.read import LoadedOrder
from factory.orders.reply_format import Offer, ReplyFormat
from factory.proposal.prompt import render_prompt
from factory.proposal.reply_size import NEW_FILE_BYTES, likely_reply_tokens
from factory.proposal.scope import FileKind, FileState
from factory.proposal.shown import ShownFile
from shared.git import trees
from shared.git.client import Git
from shared.llm.cost.estimates import TEMPLATE_TOKENS, likely_tokens, most_tokens
from shared.work_order.hashing import EMPTY_SHA256
from shared.work_order.schemas import WorkOrder

# The commands that verify the tree, and the hashes and the schema of the format `json`.
_ASIDE_BYTES = 3_000


@dataclass(frozen=True, slots=True)
class OrderSize:
    """Hold the tokens of an order's first prompt and of its reply.

    `most_prompt` is a bound that holds whatever the orders before write. All are 0 where no model
    is asked.
    """

    prompt: int
    most_prompt: int
    reply: int

    @property
    def asks_model(self) -> bool:
        return self.prompt > 0


def measure_orders(orders: Sequence[LoadedOrder], git: Git, commit: str) -> tuple[OrderSize, ...]:
    """Return the sizes of the orders on the files of `commit`, which may be empty for no files."""
    paths = sorted({path for each in orders for path in _paths(each.order)})
    sizes = trees.sizes_of(git, commit, paths) if commit and paths else {}
    return size_orders(orders, sizes)


def size_orders(orders: Sequence[LoadedOrder], sizes: Mapping[str, int]) -> tuple[OrderSize, ...]:
    """Return the sizes of the orders; `sizes` are the bytes of the files that there are now.

    A file that an earlier order creates is taken for one of usual size. Pure.
    """
    likely, most = dict(sizes), dict(sizes)
    found: list[OrderSize] = []
    for loaded in orders:
        found.append(_measure(loaded, likely, most))
        for path in loaded.order.allowed_files:
            likely.setdefault(path, NEW_FILE_BYTES)
            most[path] = MAX_CONTEXT_BYTES
        for file in loaded.order.acceptance_files:
            likely[file.path] = most[file.path] = len(file.content.encode())
    return tuple(found)


def _measure(loaded: LoadedOrder, likely: Mapping[str, int], most: Mapping[str, int]) -> OrderSize:
    """Return the sizes of an order on files that are likely to be so large, and at most so large.

    An order starts without what it writes itself, also on a later attempt.
    """
    order, paths = loaded.order, _paths(loaded.order)
    if not order.asks_model:
        return OrderSize(0, 0, 0)
    prompt = _prompt_bytes(loaded, {path: likely.get(path, 0) for path in paths})
    bare = _prompt_bytes(loaded, dict.fromkeys(paths, 0))
    files = min(sum(most.get(path, 0) for path in paths), MAX_CONTEXT_BYTES)
    return OrderSize(
        prompt=likely_tokens(prompt) + TEMPLATE_TOKENS,
        most_prompt=most_tokens(bare + files + _ASIDE_BYTES) + TEMPLATE_TOKENS,
        reply=likely_reply_tokens(likely.get(path) for path in order.allowed_files),
    )


def _prompt_bytes(loaded: LoadedOrder, sizes: Mapping[str, int]) -> int:
    """Return the size of the first prompt where the files that it shows have these sizes."""
    shown = [_stand_in(path, min(size, MAX_CONTEXT_BYTES)) for path, size in sizes.items()]
    shown += [
        _stand_in(each.path, len(each.content.encode())) for each in loaded.order.acceptance_files
    ]
    prompt = render_prompt(loaded.order, shown, (), Offer(ReplyFormat.FILES), loaded.known)
    return len(prompt.encode())


def _stand_in(path: str, size: int) -> ShownFile:
    """Return a file of the given size, absent where that is 0: only its length counts."""
    kind = FileKind.FILE if size else FileKind.ABSENT
    return ShownFile(path, FileState(kind, EMPTY_SHA256), "x" * size)


def _paths(order: WorkOrder) -> tuple[str, ...]:
    placed = {each.path for each in order.acceptance_files}
    paths = dict.fromkeys((*order.context_files, *order.allowed_files))
    return tuple(path for path in paths if path not in placed)
