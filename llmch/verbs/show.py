"""Implements `llmch show`: shows what a plan will do, before anybody pays for it."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from factory.batch import order_graph
from factory.orders import read_orders
from llmch.console import Console
from llmch.console.document import Block, Document, Outcome, Paragraph
from llmch.entry import run_orders, wiring
from llmch.entry.command_line import add_optional_repo, repo_meant
from llmch.previews import preview_document
from planner.plan import plan_edits
from shared.errors import ExitCode, InvalidInput
from shared.files import atomic_io


@dataclass(frozen=True, slots=True)
class GraphDocument(Document):
    """Represent the answer of `show --graph`: the graph, in the format that was asked for."""

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


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "dir", type=Path, metavar="DIR", nargs="?",
        help="the folder of the plan (default: the latest plan of the repo)",
    )  # fmt: skip
    add_optional_repo(parser, "the repo that the plan is meant for")
    parser.add_argument(
        "--branch", metavar="B",
        help="the branch that the orders land on (default: the one that `run-all` chooses)",
    )  # fmt: skip
    parser.add_argument(
        "--check", action="store_true",
        help="judge the plan by all rules too, as `check` does, which may start a type checker",
    )  # fmt: skip
    parser.add_argument(
        "--graph", action="store_true", help="instead, show which of the orders need which"
    )
    parser.add_argument(
        "--format", choices=tuple(order_graph.GraphFormat),
        help="with --graph: how it is printed (tree)",
    )  # fmt: skip


def execute(args: argparse.Namespace, console: Console) -> Outcome:
    """Show the plan. The exit code is 2 if it could not be executed, and else 0."""
    folder = args.dir
    if folder is None:
        here = args.repo or Path()
        early = wiring.settings_for(args, lambda _: None, repo=here)  # its warnings come later
        folder = run_orders.latest_plan(here, early.artifacts_dir)
    if args.graph:
        return Outcome(_graph(folder, order_graph.GraphFormat(args.format or "tree")))
    if args.format:
        raise InvalidInput("--format belongs to --graph", "add --graph, or leave it out")
    repo = repo_meant(args, console, "the plan is shown for an empty one")
    settings = wiring.settings_for(args, console, repo=repo)
    report = None
    if args.check:
        tree = wiring.tree_of(args, repo, settings, console)
        with wiring.judging(args, repo, settings, tree) as judge:
            report = judge(plan_edits.read_plan_folder(folder))
    preview = preview_document.read_preview(folder, repo, args.branch, settings, report)
    code = ExitCode.OK if preview.executable else ExitCode.INVALID
    return Outcome(preview_document.PreviewDocument(preview), code)


def _graph(folder: Path, form: order_graph.GraphFormat) -> GraphDocument:
    orders = [each.order for each in read_orders.read_workdir(folder)]
    return GraphDocument(order_graph.derive_graph(orders), form)
