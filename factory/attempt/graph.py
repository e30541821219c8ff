"""Builds the loop of attempts as a graph: propose, apply, judge, conclude."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from functools import cache
from typing import Any, cast

from factory.attempt.state import FactoryContext, FactoryState, first_state

_STEPS_PER_ATTEMPT = 4
_SPARE_STEPS = 8


def attempt_states(context: FactoryContext) -> Iterator[FactoryState]:
    """Run an order's attempts and yield the state after each step; the last has a `verdict`."""
    attempts = context.options.settings.factory_attempts
    states = _graph().stream(
        first_state(),
        context=context,
        config={"recursion_limit": _STEPS_PER_ATTEMPT * attempts + _SPARE_STEPS},
        stream_mode="values",
    )
    return cast(Iterator[FactoryState], states)


def prepare_graph() -> None:
    """Import and compile what `attempt_states` needs, so that it does not have to wait.

    An error here is ignored, because it comes again where the graph is needed. The interpreter may
    also end in the middle of the import when a run ends early, and nobody needs to know of that.
    """
    with contextlib.suppress(Exception):
        _graph()


@cache
def _graph() -> Any:
    # These are set before the import: traces of prompts and code must not leave the machine because
    # some other program's settings are in the environment.
    os.environ.update(LANGSMITH_TRACING="false", LANGCHAIN_TRACING_V2="false")
    from langgraph.graph import END, START, StateGraph

    from factory.attempt.apply import apply
    from factory.attempt.conclude import conclude
    from factory.attempt.judge import judge
    from factory.attempt.propose import propose

    graph = StateGraph(FactoryState, context_schema=FactoryContext)
    graph.add_node("se", propose)
    graph.add_node("tr", apply)
    graph.add_node("po", judge)
    graph.add_node("finalize", conclude)
    graph.add_edge(START, "se")
    graph.add_conditional_edges("se", after_propose, ["tr", "finalize"])
    graph.add_conditional_edges("tr", after_apply, ["po", "finalize"])
    graph.add_edge("po", "finalize")
    graph.add_conditional_edges("finalize", after_conclude, {"se": "se", "end": END})
    return graph.compile()


def after_propose(state: FactoryState) -> str:
    """Return the next node: a brief skips everything up to the conclusion."""
    return "tr" if state["attempt"].brief is None else "finalize"


def after_apply(state: FactoryState) -> str:
    """Return the next node: only a proposal that was written whole is judged."""
    return "po" if state["attempt"].brief is None else "finalize"


def after_conclude(state: FactoryState) -> str:
    """Return the next node: without a verdict there is another attempt."""
    return "se" if state["verdict"] is None else "end"
