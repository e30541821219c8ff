"""Renders the order graph as a tree, as Mermaid, for Graphviz, or as JSON. Pure."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from factory.batch.order_graph import OrderGraph


class GraphFormat(StrEnum):
    """Name a format in which a graph is printed."""

    TREE = "tree"
    MERMAID = "mermaid"
    DOT = "dot"
    JSON = "json"


def render_tree(graph: OrderGraph) -> list[str]:
    """Return a line for each order with what it needs, and at the end the critical path."""
    critical = set(graph.critical_path)
    width = max((len(each) for each in graph.ids), default=0)
    lines = []
    for position, name in enumerate(graph.ids):
        needs = ", ".join(graph.ids[each] for each in sorted(graph.needs[position]))
        mark = "*" if position in critical else " "
        after = f"  (after {needs})" if needs else "  (at once)"
        title = " ".join(graph.titles[position].split())
        lines.append(f"{mark} {name:<{width}}  {title}{after}")
    path = " -> ".join(graph.ids[each] for each in graph.critical_path)
    count = len(graph.critical_path)
    lines += ["", f"* critical path, {count} of {len(graph.ids)} orders: {path}"]
    return lines


def render_mermaid(graph: OrderGraph) -> list[str]:
    """Return the graph as a Mermaid flowchart."""
    lines = ["flowchart TD"]
    for position, name in enumerate(graph.ids):
        title = " ".join(graph.titles[position].split()).replace('"', "#quot;")
        lines.append(f'    {name}["{name} {title}"]')
    lines += [f"    {before} --> {after}" for before, after in _edges(graph)]
    return lines


def render_dot(graph: OrderGraph) -> list[str]:
    """Return the graph in Graphviz's language."""
    lines = ["digraph orders {", "    node [shape=box];"]
    for position, name in enumerate(graph.ids):
        title = " ".join(graph.titles[position].split())
        label = f"{name} {title}".replace("\\", "\\\\").replace('"', '\\"')
        lines.append(f'    "{name}" [label="{label}"];')
    lines += [f'    "{before}" -> "{after}";' for before, after in _edges(graph)]
    return [*lines, "}"]


def graph_document(graph: OrderGraph) -> dict[str, Any]:
    """Return the graph as JSON: each order with what it needs and what it blocks."""
    return {
        "orders": [
            {
                "id": name,
                "title": graph.titles[position],
                "needs": [graph.ids[each] for each in sorted(graph.needs[position])],
                "blocks": [graph.ids[each] for each in sorted(graph.blocks[position])],
            }
            for position, name in enumerate(graph.ids)
        ],
        "critical_path": [graph.ids[each] for each in graph.critical_path],
    }


def _edges(graph: OrderGraph) -> list[tuple[str, str]]:
    return [
        (graph.ids[before], graph.ids[after])
        for after, needed in enumerate(graph.needs)
        for before in sorted(needed)
    ]
