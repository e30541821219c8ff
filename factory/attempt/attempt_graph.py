"""Builds one attempt as a graph: propose, apply, judge, conclude.

An attempt is left with its proposal and taken up again once the commit is known that its own is to
follow. Meanwhile it holds neither a workspace nor a thread.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, cast

from factory.attempt.attempt_state import FactoryContext, FactoryState, StateUpdate, first_state


def attempt_states(
    context: FactoryContext, state: FactoryState | None = None
) -> Iterator[FactoryState]:
    """Take an order one step further from `state`, and yield the state after each node.

    The last state has a proposal that is to be judged, a `verdict`, or a new attempt.
    """
    states = _graph().stream(
        state or first_state(),
        context=context,
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
    from langgraph.runtime import get_runtime

    from factory.attempt.apply_proposal import apply
    from factory.attempt.judge_attempt import conclude, judge
    from factory.attempt.propose import propose

    def node(step: Callable[[FactoryState, FactoryContext], StateUpdate]) -> Any:
        return lambda state: step(state, get_runtime(FactoryContext).context)

    graph = StateGraph(FactoryState, context_schema=FactoryContext)
    graph.add_node("se", node(propose))
    graph.add_node("tr", node(apply))
    graph.add_node("po", node(judge))
    graph.add_node("finalize", node(conclude))
    graph.add_conditional_edges(START, first_node, ["se", "tr"])
    graph.add_conditional_edges("se", after_propose, {"end": END, "finalize": "finalize"})
    graph.add_conditional_edges("tr", after_apply, ["po", "finalize"])
    graph.add_edge("po", "finalize")
    graph.add_edge("finalize", END)
    return graph.compile()


def first_node(state: FactoryState) -> str:
    """Return the node at which a step begins: a proposal that is there is applied and judged."""
    return "se" if state["attempt"].proposal is None else "tr"


def after_propose(state: FactoryState) -> str:
    """Return the next node: a proposal waits for its parent, and a brief is concluded at once."""
    return "end" if state["attempt"].brief is None else "finalize"


def after_apply(state: FactoryState) -> str:
    """Return the next node: only a proposal that was written whole is judged."""
    return "po" if state["attempt"].brief is None else "finalize"
