"""`python -m tests.bench`: measure, and print the table."""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence

from tests.bench.contracts import measure_contracts
from tests.bench.dependencies import measure_dependencies
from tests.bench.edits import measure_edits
from tests.bench.fleet import measure_fleet
from tests.bench.looking import measure_looking
from tests.bench.outlines import measure_outlines
from tests.bench.planning import measure_planning
from tests.bench.replanning import measure_replanning
from tests.bench.rows import Section, render_table, table_document
from tests.bench.run_all import measure_run_all
from tests.bench.run_one import measure_run
from tests.bench.sandboxes import measure_sandboxes
from tests.bench.setting import Bench, open_bench
from tests.bench.side_by_side import measure_side_by_side
from tests.bench.start import measure_start
from tests.bench.toolchains import measure_toolchains
from tests.bench.typescript import measure_typescript
from tests.bench.verification import measure_verification

SECTIONS: Mapping[str, Callable[[Bench], Section]] = {
    "start": measure_start,
    "planning": measure_planning,
    "replanning": measure_replanning,
    "contracts": measure_contracts,
    "typescript": measure_typescript,
    "edits": measure_edits,
    "verification": measure_verification,
    "dependencies": measure_dependencies,
    "outlines": measure_outlines,
    "run": measure_run,
    "run-all": measure_run_all,
    "jobs": measure_side_by_side,
    "fleet": measure_fleet,
    "looking": measure_looking,
    "sandbox": measure_sandboxes,
    "toolchains": measure_toolchains,
}


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print; an aim that is missed is told, and no error: machines differ."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="the smallest run that shows each row")
    parser.add_argument("--json", action="store_true", help="one JSON document instead of a table")
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=f"{', '.join(SECTIONS)}")
    args = parser.parse_args(argv)
    unknown = [each for each in args.sections if each not in SECTIONS]
    if unknown:
        parser.error(f"no section {unknown[0]!r}: there are {', '.join(SECTIONS)}")
    started = time.perf_counter()
    sections = []
    with open_bench(quick=args.quick) as bench:
        for name, measure in SECTIONS.items():
            if not args.sections or name in args.sections:
                sys.stderr.write(f"{name} ...\n")
                sections.append(measure(bench))
    seconds = time.perf_counter() - started
    if args.json:
        document = table_document(sections, machine=_machine(), quick=args.quick, seconds=seconds)
        sys.stdout.write(json.dumps(document, indent=2) + "\n")
    else:
        sys.stdout.write(f"{_machine()}, {seconds:.0f} s\n\n{render_table(sections)}")
    return 0


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
