"""Renders a run as the text of an HTML page."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from llmch.console.figures import count, duration, short
from llmch.page import words
from llmch.page.allowance import (
    Allowance,
    brief_text,
    cut,
    cut_excerpt,
    first_allowance,
    largest_page,
)
from llmch.page.drawn_patch import draw_patch
from llmch.page.figures import figures_of
from llmch.page.graph_layout import draw_graph
from llmch.page.masking import masked
from llmch.page.time_bars import lay_out
from llmch.run_view.model.run import RunView, calls_of

if TYPE_CHECKING:
    from jinja2 import Environment

GENERATOR = "llmch report"
"""The maker that a page names in its head; a file that does so may be overwritten."""
_FEW_ORDERS = 5  # with so many, all of them are open when the page is


def render_page(run: RunView, live: str = "", mask: Callable[[str], str] = str) -> str:
    """Return the page. Long texts in it are cut, with words, until it is small enough.

    `live` is the version of a page that is served while the run goes on, "" for a file. `mask`
    takes secrets out of a text.
    """
    run = masked(run, mask)
    allowance = first_allowance(tuple(calls_of(run)), len(run.orders))
    while True:
        page = _render(run, allowance, live)
        if len(page.encode()) <= largest_page(len(run.orders)) or allowance.is_least:
            return page
        allowance = allowance.smaller()


def _render(run: RunView, allowance: Allowance, live: str) -> str:
    style, script = _asset("page.css"), _asset("page.js")
    return (
        _environment()
        .get_template("page.html")
        .render(
            run=run,
            allowance=allowance,
            live=live,
            generator=GENERATOR,
            style=style,
            script=script,
            policy=_policy(style, script, live=bool(live)),
            figures=figures_of(run),
            timeline=lay_out(run.tracks, run.planning.spans if run.planning else ()),
            graph=draw_graph(run.orders),
            all_open=len(run.orders) <= _FEW_ORDERS,
        )
    )


def _policy(style: str, script: str, *, live: bool) -> str:
    """Return a policy by which the browser runs what the page itself brings, and nothing else."""
    rules = (
        "default-src 'none'",
        f"style-src '{_digest(style)}'",
        f"script-src '{_digest(script)}'",
        "img-src data:",
        "connect-src 'self'" if live else "",
        "base-uri 'none'",
        "form-action 'none'",
    )
    return "; ".join(filter(None, rules))


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


@cache
def _asset(name: str) -> str:
    return resources.files("llmch.page").joinpath("templates", name).read_text("utf-8")


@cache
def _environment() -> Environment:
    """Return the templates' environment: every value is escaped and has no unseen characters."""
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(
        loader=FunctionLoader(_asset),
        autoescape=True,
        finalize=_finalized,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {
        "count": count,
        "cut": cut,
        "cut_excerpt": cut_excerpt,
        "draw_patch": draw_patch,
        "short": short,
        "standings": words.STANDINGS,
        "words": words,
        "duration": duration,
    }
    return environment


def _finalized(value: Any) -> Any:
    return brief_text(value) if type(value) is str else value
