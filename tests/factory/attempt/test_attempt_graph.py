"""The graph that LangGraph runs is the loop that the documentation shows."""

from __future__ import annotations

import re
from pathlib import Path

from factory.attempt.attempt_graph import build_graph

ARCHITECTURE = Path(__file__).parents[3] / "docs" / "architecture.md"


def drawing() -> str:
    return str(build_graph().get_graph().draw_mermaid()).strip()


def test_the_documentation_shows_what_langgraph_draws() -> None:
    section = ARCHITECTURE.read_text("utf-8").split("## The graph\n")[1].split("\n## ")[0]
    (shown,) = re.findall(r"```mermaid\n(.*?)```", section, re.DOTALL)

    assert shown.strip() == drawing()


def test_an_order_is_proposed_applied_judged_and_concluded_and_tried_again() -> None:
    edges = {(each.source, each.target) for each in build_graph().get_graph().edges}

    assert edges == {
        ("__start__", "se"),
        ("se", "tr"),
        ("se", "finalize"),
        ("tr", "po"),
        ("tr", "finalize"),
        ("po", "finalize"),
        ("finalize", "se"),
        ("finalize", "__end__"),
    }


def test_only_the_nodes_that_need_a_workspace_of_their_own_wait() -> None:
    waiting = re.findall(r"(\w+)\(\w+<hr/><small><em>__interrupt = before", drawing())

    assert waiting == ["se", "tr"]
