"""Builds the loop of an order as a graph: propose, apply, judge, conclude, and try again.

Two nodes work on a commit that may have to be waited for: `se` on the order's base, and `tr` on the
commit that the order's own is to follow. The graph is interrupted before such a node, and resumed
with a workspace of that commit. The state is all that it goes on from, so an order that waits holds
neither a workspace nor a thread, and another process can resume it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, Final, cast
from uuid import uuid4

# These are set before the import: traces of prompts and code must not leave the machine because
# some other program's settings are in the environment.
os.environ.update(LANGSMITH_TRACING="false", LANGCHAIN_TRACING_V2="false")

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import get_runtime

from factory.attempt.apply_proposal import apply
from factory.attempt.attempt_state import FactoryState, StateUpdate, Step
from factory.attempt.judge_attempt import conclude, judge
from factory.attempt.propose import propose

SE: Final = "se"
TR: Final = "tr"
PO: Final = "po"
FINALIZE: Final = "finalize"


def walk_graph(step: Step, state: FactoryState) -> Iterator[FactoryState]:
    """Walk the graph from where `state` left it, and yield the state after each node.

    The walk ends with a verdict, or before a node for which the workspace has the wrong commit:
    with a proposal that is to be judged, or, once it was judged, with a new attempt.
    """
    if state["attempt"].waits_for_parent:
        return _resume(step, state)
    walk = build_graph().stream(state, context=step, stream_mode="values", interrupt_before=[TR])
    return cast(Iterator[FactoryState], walk)


def _resume(step: Step, state: FactoryState) -> Iterator[FactoryState]:
    """Resume the graph where it was interrupted before `tr`, here or in another process."""
    graph = build_resumable_graph()
    thread = str(uuid4())
    try:
        interrupted = graph.update_state({"configurable": {"thread_id": thread}}, state, as_node=SE)
        yield from graph.stream(
            None,
            interrupted,
            context=step,
            stream_mode="values",
            interrupt_before=[SE],
            durability="exit",
        )
    finally:
        graph.checkpointer.delete_thread(thread)


@cache
def build_graph() -> Any:
    """Return the compiled graph, whose picture is in `docs/architecture.md`."""

    def node(run: Callable[[FactoryState, Step], StateUpdate]) -> Any:
        return lambda state: run(state, get_runtime(Step).context)

    graph = StateGraph(FactoryState, context_schema=Step)
    graph.add_node(SE, node(propose))
    graph.add_node(TR, node(apply))
    graph.add_node(PO, node(judge))
    graph.add_node(FINALIZE, node(conclude))
    graph.add_edge(START, SE)
    graph.add_conditional_edges(SE, _go_on_or_fail, {"proposal": TR, "failed": FINALIZE})
    graph.add_conditional_edges(TR, _go_on_or_fail, {"proposal": PO, "failed": FINALIZE})
    graph.add_edge(PO, FINALIZE)
    graph.add_conditional_edges(FINALIZE, _end_or_retry, {"retry": SE, "verdict": END})
    return graph.compile(interrupt_before=[SE, TR])


def _go_on_or_fail(state: FactoryState) -> str:
    return "proposal" if state["attempt"].brief is None else "failed"


def _end_or_retry(state: FactoryState) -> str:
    return "retry" if state["verdict"] is None else "verdict"


@cache
def build_resumable_graph() -> Any:
    """Return the same graph with a place for the state that it is resumed from."""
    return build_graph().copy({"checkpointer": InMemorySaver(serde=_Unserialized())})


class _Unserialized:
    """Keep a checkpoint's values as they are, because they never leave this process."""

    def dumps_typed(self, value: Any) -> tuple[str, Any]:
        return "", value

    def loads_typed(self, data: tuple[str, Any]) -> Any:
        return data[1]
