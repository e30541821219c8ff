"""Decides what a reply to an order may hold: whole files, or edits of them. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from factory.orders.reply_format import Form, Offer, ReplyFormat, WritableFile, choose_offer
from factory.proposal.focus import Focus, focus_of
from factory.proposal.shown import ShownFile
from shared.languages.registry import language_of
from shared.work_order.schemas import WorkOrder


def offer_for(
    order: WorkOrder,
    shown: Sequence[ShownFile],
    asked: ReplyFormat,
    forced: ReplyFormat | None,
    model: str,
    misfits: Iterable[tuple[str, Form]],
) -> Offer:
    """Return how `model` is asked for the files of an order.

    `asked` and `forced` are those of `choose_offer`. `misfits` names by path the forms in which
    earlier replies could not be applied.
    """
    focus = focus_of(order, shown)
    failed: dict[str, Collection[Form]] = {}
    for path, form in misfits:
        failed[path] = {*failed.get(path, ()), form}
    files = [_writable(each, order, focus) for each in shown if each.path in order.allowed_files]
    return choose_offer(asked, forced, files, model, failed)


def _writable(file: ShownFile, order: WorkOrder, focus: Focus | None) -> WritableFile:
    named = any(each.path == file.path for each in order.interfaces) or bool(order.changes)
    language = language_of(file.path)
    return WritableFile(
        path=file.path,
        lines=len(file.text.splitlines()),
        size=len(file.text.encode()),
        has_outline=language is not None and language.edits is not None,
        is_named=named,
        has_focus=focus is not None and focus.path == file.path,
    )
