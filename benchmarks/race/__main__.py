"""`python -m benchmarks.race`: the same model through several tools, judged by hidden tests."""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from benchmarks.race.contestants import CONTESTANTS, CannotRun, Server, is_here
from benchmarks.race.judging import files_beside, passes
from benchmarks.race.outcomes import Outcome, add_outcome, read_outcomes, render_race
from benchmarks.race.tasks import Task, read_tasks
from benchmarks.setting import git
from shared.errors import ExitCode, InvalidInput, LlmchError
from shared.llm.model_access import check_access

_OUTPUTS: Final = Path(__file__).resolve().parents[2] / "artifacts/race"
_UNFIT: Final = re.compile(r"[^A-Za-z0-9._-]+")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the race, go on with one that was interrupted, and print the table of what is there."""
    args = _parser().parse_args(argv)
    args.outcomes = args.outcomes or args.out / "outcomes.jsonl"
    try:
        if not args.table:
            _race(args)
        sys.stdout.write(render_race(read_outcomes(args.outcomes)))
    except LlmchError as error:
        sys.stderr.write(f"{error.message}\n{error.hint}\n".rstrip() + "\n")
        return error.exit_code
    except KeyboardInterrupt:
        sys.stderr.write(f"\ninterrupted; {args.out} keeps what is done\n")
        return ExitCode.INTERRUPTED
    return ExitCode.OK


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.race", description=__doc__)
    parser.add_argument("--model", help="as the server at OPENAI_BASE_URL lists it")
    parser.add_argument("--tasks", type=Path, action="append", default=[], metavar="DIR|FILE")
    parser.add_argument("--tools", default=",".join(CONTESTANTS), metavar="T,T")
    parser.add_argument("--limit", type=int, help="so many tasks (all)")
    parser.add_argument("--minutes", type=float, help="begin nothing after so many minutes")
    parser.add_argument("--task-minutes", type=float, default=20.0, help="the most for one (20)")
    parser.add_argument("--out", type=Path, default=_OUTPUTS, help="what is kept, task by task")
    parser.add_argument(
        "--outcomes", type=Path, help="the file to go on with (outcomes.jsonl in the former)"
    )
    parser.add_argument(
        "--table", action="store_true", help="print the table of what is there only"
    )
    parser.epilog = f"tools: {', '.join(CONTESTANTS)}"
    return parser


def _race(args: argparse.Namespace) -> None:
    tools = args.tools.split(",")
    if unknown := [each for each in tools if each not in CONTESTANTS]:
        raise InvalidInput(f"no tool {unknown[0]!r}", f"there are {', '.join(CONTESTANTS)}")
    if not args.model or not args.tasks:
        raise InvalidInput("a race needs --model and --tasks", "see docs/race.md")
    missing = [each for each in tools if not is_here(each)]
    for each in missing:
        sys.stderr.write(f"{each} is left out: its program is not on PATH\n")
    tools = [each for each in tools if each not in missing]
    tasks = read_tasks(args.tasks)[: args.limit]
    access = check_access(os.environ)
    server = Server(args.model, access.base_url or "", access.api_key, args.task_minutes)
    deadline = time.monotonic() + args.minutes * 60 if args.minutes else float("inf")
    done = {each.key for each in read_outcomes(args.outcomes)}
    # Task by task, so that a race that is cut short has compared all tools on the same tasks.
    for task in tasks:
        for tool in tools:
            if (args.model, tool, task.name) in done or time.monotonic() >= deadline:
                continue
            outcome = _run(
                tool, task, args.out / _named(args.model) / tool / _named(task.name), server
            )
            add_outcome(args.outcomes, outcome)
            _tell(outcome)


def _run(tool: str, task: Task, folder: Path, server: Server) -> Outcome:
    """Run one task by one tool, and keep what it said and left."""
    folder.mkdir(parents=True, exist_ok=True)
    scratch = folder / f"try-{time.time_ns()}"  # one that was cut off stays to be looked at
    scratch.mkdir()
    entry = CONTESTANTS[tool](task, scratch, server)
    if 0 < entry.counted.calls == entry.counted.refused:
        raise CannotRun(f"{tool} got no reply on {task.name}", f"see that {server.model} answers")
    (folder / "said.txt").write_text(entry.said, "utf-8", "replace")
    beside = files_beside(task, entry.repo)
    begin = task.commit or git(entry.repo, "rev-list", "--max-parents=0", "HEAD")
    (folder / "left.patch").write_text(git(entry.repo, "diff", "--cached", begin), "utf-8")
    return Outcome(
        model=server.model,
        tool=tool,
        task=task.name,
        kind=task.kind,
        solved=passes(task, entry.repo, scratch / "hidden"),
        claimed=entry.claimed,
        beside=beside,
        calls=entry.counted.calls,
        input_tokens=entry.counted.input_tokens,
        output_tokens=entry.counted.output_tokens,
        seconds=round(entry.seconds, 1),
    )


def _named(text: str) -> str:
    return _UNFIT.sub("-", text).strip(".-") or "unnamed"


def _tell(outcome: Outcome) -> None:
    solved = "solved" if outcome.solved else "wrong" if outcome.claimed else "given up"
    sys.stderr.write(
        f"{outcome.task}, {outcome.tool}: {solved}, {outcome.calls} calls, "
        f"{outcome.tokens:,} tokens, {outcome.seconds:.0f} s\n"
    )


if __name__ == "__main__":
    raise SystemExit(main())
