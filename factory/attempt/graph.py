"""The loop as a graph: propose, apply, judge, conclude. Edges and routing only."""

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
    """Run an order's attempts, yielding the state after each step; the last has a `verdict`."""
    attempts = context.options.settings.factory_attempts
    states = _graph().stream(
        first_state(),
        context=context,
        config={"recursion_limit": _STEPS_PER_ATTEMPT * attempts + _SPARE_STEPS},
        stream_mode="values",
    )
    return cast(Iterator[FactoryState], states)


def prepare_graph() -> None:
    """Import and compile what `attempt_states` needs, so that it need not wait for it.

    Only a head start: what fails here fails again where it is needed. A run that ends early takes
    the interpreter along, and an import in the middle of that is no news to anybody.
    """
    with contextlib.suppress(Exception):
        _graph()


@cache
def _graph() -> Any:
    # Set before the import: traces of prompts and code must not leave the machine because some
    # other program's settings are in the environment.
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
    """A brief skips everything up to the conclusion."""
    return "tr" if state["attempt"].brief is None else "finalize"


def after_apply(state: FactoryState) -> str:
    """Nothing is judged that was not written whole."""
    return "po" if state["attempt"].brief is None else "finalize"


def after_conclude(state: FactoryState) -> str:
    """Without a verdict there is another attempt."""
    return "se" if state["verdict"] is None else "end"
