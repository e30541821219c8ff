"""Implements `llmch graph`: shows which of a plan's orders need which."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from factory.batch import order_graph
from factory.orders import read_orders
from llmch.console import Console
from llmch.console.document import Block, Document, Outcome, Paragraph
from shared.files import atomic_io


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("dir", type=Path, metavar="DIR", help="the folder of the plan")
    parser.add_argument(
        "--format",
        choices=("tree", "mermaid", "dot", "json"),
        default="tree",
        help="how the graph is printed (tree)",
    )


@dataclass(frozen=True, slots=True)
class GraphDocument(Document):
    """Represent the answer of `graph`: the graph, and the format that the user asked for."""

    graph: order_graph.OrderGraph
    format: order_graph.GraphFormat

    def to_json(self) -> object:
        return order_graph.graph_document(self.graph)

    def blocks(self) -> Iterator[Block]:
        match self.format:
            case order_graph.GraphFormat.MERMAID:
                yield Paragraph(tuple(order_graph.render_mermaid(self.graph)))
            case order_graph.GraphFormat.DOT:
                yield Paragraph(tuple(order_graph.render_dot(self.graph)))
            case order_graph.GraphFormat.JSON:
                yield Paragraph(tuple(atomic_io.render_json(self.to_json()).splitlines()))
            case order_graph.GraphFormat.TREE:
                yield Paragraph(tuple(order_graph.render_tree(self.graph)))


def execute(args: argparse.Namespace, console: Console) -> Outcome:
    graph = order_graph.derive_graph([each.order for each in read_orders.read_workdir(args.dir)])
    return Outcome(GraphDocument(graph, order_graph.GraphFormat(args.format)))
