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
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from benchmarks.rows import Section, lost, render_table, table_document
from benchmarks.setting import in_own_process

SECTIONS: Mapping[str, str] = {
    "start": "benchmarks.start:measure_start",
    "planning": "benchmarks.planning:measure_planning",
    "replanning": "benchmarks.replanning:measure_replanning",
    "plans": "benchmarks.open_plans:measure_open_plans",
    "contracts": "benchmarks.contracts:measure_contracts",
    "typescript": "benchmarks.typescript:measure_typescript",
    "edits": "benchmarks.edits:measure_edits",
    "verification": "benchmarks.verification:measure_verification",
    "strength": "benchmarks.strength:measure_strength",
    "dependencies": "benchmarks.dependencies:measure_dependencies",
    "outlines": "benchmarks.outlines:measure_outlines",
    "hints": "benchmarks.hints:measure_hints",
    "run": "benchmarks.run_one:measure_run",
    "do": "benchmarks.one_change:measure_one_change",
    "run-all": "benchmarks.run_all:measure_run_all",
    "jobs": "benchmarks.side_by_side:measure_side_by_side",
    "fleet": "benchmarks.fleet:measure_fleet",
    "looking": "benchmarks.looking:measure_looking",
    "wires": "benchmarks.wires:measure_wires",
    "relay": "benchmarks.relay:measure_relay",
    "sandbox": "benchmarks.sandboxes:measure_sandboxes",
    "agents": "benchmarks.agents:measure_agents",
    "toolchains": "benchmarks.toolchains:measure_toolchains",
}
"""Where each section is measured: a module, which its own process imports, and a function."""


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
