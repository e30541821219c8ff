"""`python -m benchmarks`: measure, and print the table."""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from benchmarks.agents import measure_agents
from benchmarks.contracts import measure_contracts
from benchmarks.dependencies import measure_dependencies
from benchmarks.edits import measure_edits
from benchmarks.fleet import measure_fleet
from benchmarks.hints import measure_hints
from benchmarks.looking import measure_looking
from benchmarks.one_change import measure_one_change
from benchmarks.open_plans import measure_open_plans
from benchmarks.outlines import measure_outlines
from benchmarks.planning import measure_planning
from benchmarks.relay import measure_relay
from benchmarks.replanning import measure_replanning
from benchmarks.rows import Section, lost, render_table, table_document
from benchmarks.run_all import measure_run_all
from benchmarks.run_one import measure_run
from benchmarks.sandboxes import measure_sandboxes
from benchmarks.setting import Bench, in_own_process
from benchmarks.side_by_side import measure_side_by_side
from benchmarks.start import measure_start
from benchmarks.strength import measure_strength
from benchmarks.toolchains import measure_toolchains
from benchmarks.typescript import measure_typescript
from benchmarks.verification import measure_verification
from benchmarks.wires import measure_wires

SECTIONS: Mapping[str, Callable[[Bench], Section]] = {
    "start": measure_start,
    "planning": measure_planning,
    "replanning": measure_replanning,
    "plans": measure_open_plans,
    "contracts": measure_contracts,
    "typescript": measure_typescript,
    "edits": measure_edits,
    "verification": measure_verification,
    "strength": measure_strength,
    "dependencies": measure_dependencies,
    "outlines": measure_outlines,
    "hints": measure_hints,
    "run": measure_run,
    "do": measure_one_change,
    "run-all": measure_run_all,
    "jobs": measure_side_by_side,
    "fleet": measure_fleet,
    "looking": measure_looking,
    "wires": measure_wires,
    "relay": measure_relay,
    "sandbox": measure_sandboxes,
    "agents": measure_agents,
    "toolchains": measure_toolchains,
}


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print. The exit code is 1 where an aim is lost.

    With `--quick` that holds for counts alone: one sample of a time says nothing about an aim.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="the smallest run that shows each row, in seconds"
    )
    parser.add_argument("--json", action="store_true", help="one JSON document instead of a table")
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=f"{', '.join(SECTIONS)}")
    args = parser.parse_args(argv)
    unknown = [each for each in args.sections if each not in SECTIONS]
    if unknown:
        parser.error(f"no section {unknown[0]!r}: there are {', '.join(SECTIONS)}")
    started = time.perf_counter()
    sections: list[Section] = []
    failed: list[str] = []
    chosen = [name for name in SECTIONS if not args.sections or name in args.sections]
    for name in chosen:
        sys.stderr.write(f"{name} ...\n")
        try:
            # In a process of its own, as commands are: not beside what other sections left.
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
                done = pool.submit(in_own_process, SECTIONS[name], quick=args.quick)
                sections.append(done.result())
        except Exception:  # the table of the others is worth its minutes
            traceback.print_exc()
            failed.append(name)
    seconds = time.perf_counter() - started
    if args.json:
        document = table_document(sections, machine=_machine(), quick=args.quick, seconds=seconds)
        sys.stdout.write(json.dumps(document, indent=2) + "\n")
    else:
        sys.stdout.write(f"{_machine()}, {seconds:.0f} s\n\n{render_table(sections)}")
    for name in failed:
        sys.stderr.write(f"{name} could not be measured: its error is above\n")
    return 1 if failed or lost(sections, counted_only=args.quick) else 0


def _machine() -> str:
    git = subprocess.run(["git", "version"], capture_output=True, check=True, text=True).stdout
    facts = (
        f"{os.cpu_count()} cores",
        f"load {os.getloadavg()[0]:.1f}",
        f"Python {platform.python_version()}",
        git.strip(),
    )
    return ", ".join(facts)


if __name__ == "__main__":
    raise SystemExit(main())
