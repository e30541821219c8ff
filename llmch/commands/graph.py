"""`llmch graph`: show which of a plan's orders need which."""

from __future__ import annotations

import argparse
from pathlib import Path

from llmch.arguments import add_output_arguments
from llmch.console import Console
from shared.errors import ExitCode


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of `graph`."""
    parser.add_argument("dir", type=Path, metavar="DIR", help="the folder of the plan")
    parser.add_argument(
        "--format", choices=("tree", "mermaid", "dot", "json"), default="tree", help="(tree)"
    )
    add_output_arguments(parser)


def execute(args: argparse.Namespace, console: Console) -> ExitCode:
    """Print the graph."""
    from factory.batch.graph_rendering import (
        graph_document,
        render_dot,
        render_mermaid,
        render_tree,
    )
    from factory.batch.order_graph import derive_graph
    from factory.orders import read_workdir
    from shared.atomic_io import render_json

    graph = derive_graph([each.order for each in read_workdir(args.dir)])
    document = graph_document(graph)
    match args.format:
        case "mermaid":
            lines = render_mermaid(graph)
        case "dot":
            lines = render_dot(graph)
        case "json":
            lines = render_json(document).splitlines()
        case _:
            lines = render_tree(graph)
    if not args.json:
        console.lines(*lines)
    console.result(document)
    return ExitCode.OK
