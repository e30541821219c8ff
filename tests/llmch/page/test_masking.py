"""No secret reaches the page, however drawing would escape it or cut it into pieces."""

from __future__ import annotations

import dataclasses
import re
from dataclasses import replace
from enum import Enum
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmch.page.run_page import render_page
from llmch.page.run_words import masked
from llmch.runs.run_model import Change, Judged, SandboxUse, Standing
from shared.files.secret_values import REDACTED, masking
from tests.llmch.page.runs import PATCH, SANDBOX, drawn_run, order_view

_ESCAPED = "p&ss<w>rd'1\"23"
_CUT = "token.of+a-person==/2"  # a highlighter makes several pieces of it


def _shown(page: str) -> str:
    """Return what a person reads on the page, its pieces put together."""
    return unescape(re.sub(r"<[^>]*>", "", page))


@pytest.mark.parametrize("secret", [_ESCAPED, _CUT])
def test_a_secret_in_a_title_and_in_a_change_is_not_on_the_page(secret: str) -> None:
    order = drawn_run(1).orders[0]
    change = Change(PATCH.replace("'new'", secret))
    attempts = tuple(replace(each, change=change) for each in order.attempts)
    order = replace(order, title=f"Say {secret}", attempts=attempts)
    run = replace(drawn_run(1), orders=(order,))
    assert _shown(render_page(run)).count(secret) >= 2
    page = render_page(run, mask=masking({"SOME_TOKEN": secret}))
    assert secret not in page
    assert secret not in _shown(page)
    assert _shown(page).count(REDACTED) >= 2


def test_what_has_no_secret_stays_the_very_same_value() -> None:
    run = drawn_run(2)
    assert masked(run, masking({"SOME_TOKEN": "not in the run"})) is run


def _texts(value: object) -> list[str]:
    if isinstance(value, str) and not isinstance(value, Enum):
        return [value]
    if isinstance(value, tuple):
        return [text for each in value for text in _texts(each)]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = (each.name for each in dataclasses.fields(value))
        return [text for name in names for text in _texts(getattr(value, name))]
    return []


@given(st.characters())
def test_every_text_of_a_run_is_masked_and_nothing_else_changes(mark: str) -> None:
    run = drawn_run(2)
    changed = masked(run, lambda text: text + mark)
    assert _texts(changed) == [text + mark for text in _texts(run)]
    assert changed.standing is run.standing
    assert isinstance(changed.standing, Standing)
    spans = [span for track in changed.tracks for span in track.spans]
    assert all(isinstance(span.judged, Judged) for span in spans)


def test_no_field_of_a_recorded_type_keeps_a_secret() -> None:
    """Briefs, flags and sandboxes are the types of the records, not the page's own."""
    secret = "sk-of-a-record"
    sandbox = SANDBOX.model_copy(update={"guarantees": {secret: True}, "version": secret})
    run = replace(
        drawn_run(1),
        orders=(order_view(1, Judged.FAILED, secret),),
        sandboxes=(SandboxUse(sandbox),),
    )
    assert secret in repr(run.orders[0].failure) and secret in repr(run.orders[0].flags)
    assert secret not in repr(masked(run, masking({"SOME_TOKEN": secret})))
