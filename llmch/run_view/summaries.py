"""Reads the summaries of orders: what speaks for a commit, what was flagged, what calls took."""

from __future__ import annotations

from collections.abc import Iterator

from factory.record.runs_on_record import RunOnRecord
from llmch.run_view.documents import read_fields
from llmch.run_view.fields import Fields
from llmch.run_view.model.orders import Flag
from llmch.run_view.model.usage import UsageView

_MOST_LISTED = 100  # warnings or flags of an order


def summary_of(run: RunOnRecord, order: str) -> Fields:
    """Return the summary of an order, out of its own folder or out of that of the run."""
    if own := read_fields(run.summary_folder_of(order) / "run_summary.json"):
        return own
    whole = Fields(run.head).fields("summary")
    return next((each for each in whole.many("orders") if each.text("work_order") == order), own)


def proof_of(summary: Fields) -> str:
    """Return what verified the order's commit, in one line; "" where the summary does not say."""
    verified = summary.fields("verified_by")
    if verified.is_true("rests_on_acceptance"):
        number = len(verified.many("acceptance"))
        return (
            "the verification ran no test: the order rests on "
            f"{number} acceptance command{'' if number == 1 else 's'}"
        )
    commands = verified.many("verification")
    tested = [each for each in commands if each.fields("tests")] or commands
    return f"verified by {'; '.join(map(_with_tests, tested))}" if tested else ""


def warnings_of(summary: Fields) -> Iterator[str]:
    """Yield the first warnings, as many as a person may read, and how many more there are."""
    warnings = summary.texts("warnings")
    yield from warnings[:_MOST_LISTED]
    if len(warnings) > _MOST_LISTED:
        yield f"and {len(warnings) - _MOST_LISTED:,} more"


def flags_of(summary: Fields) -> Iterator[Flag]:
    """Yield the commands that prove less than they should."""
    for each in summary.many("flags")[:_MOST_LISTED]:
        yield Flag(each.text("code"), each.text("command"), each.text("message"))


def usage_of(record: Fields) -> UsageView:
    """Return the usage that a record states; its cost is unknown where it states none."""
    return UsageView(
        calls=record.whole("calls") or 0,
        replayed=record.whole("replayed_calls") or 0,
        input_tokens=record.whole("input_tokens") or 0,
        cached_tokens=record.whole("cached_tokens") or 0,
        output_tokens=record.whole("output_tokens") or 0,
        reasoning_tokens=record.whole("reasoning_tokens") or 0,
        cost_usd=record.number("cost_usd"),
    )


def _with_tests(command: Fields) -> str:
    passed = command.fields("tests").whole("passed")
    if passed is None:
        return command.text("command")
    return f"{command.text('command')}: {passed:,} test{'' if passed == 1 else 's'}"
