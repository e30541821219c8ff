"""Implements `llmch graph`: shows which of a plan's orders need which."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from llmch.console import Console
from llmch.console.document import Block, Document, Outcome, Paragraph

if TYPE_CHECKING:
    from factory.batch.order_graph import GraphFormat, OrderGraph


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

    graph: OrderGraph
    format: GraphFormat

    def to_json(self) -> object:
        from factory.batch.order_graph import graph_document

        return graph_document(self.graph)

    def blocks(self) -> Iterator[Block]:
        from factory.batch.order_graph import GraphFormat, render_dot, render_mermaid, render_tree
        from shared.files.atomic_io import render_json

        match self.format:
            case GraphFormat.MERMAID:
                yield Paragraph(tuple(render_mermaid(self.graph)))
            case GraphFormat.DOT:
                yield Paragraph(tuple(render_dot(self.graph)))
            case GraphFormat.JSON:
                yield Paragraph(tuple(render_json(self.to_json()).splitlines()))
            case GraphFormat.TREE:
                yield Paragraph(tuple(render_tree(self.graph)))


def execute(args: argparse.Namespace, console: Console) -> Outcome:
    from factory.batch.order_graph import GraphFormat, derive_graph
    from factory.orders.read_orders import read_workdir

    graph = derive_graph([each.order for each in read_workdir(args.dir)])
    return Outcome(GraphDocument(graph, GraphFormat(args.format)))
