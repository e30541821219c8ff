"""What a command costs before it does anything."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.measure import interleave, run_child
from benchmarks.rows import Aim, Row, Section, timed
from benchmarks.setting import Bench, make_repo, plan_document

_LONGEST_SCRIPT = 1000
_HEAVY = ("openai", "langgraph", "rich")
# What reads no documents of its own does not wait for their library either.
_QUICK = (*_HEAVY, "pydantic")
_LOADED_BY = """
import sys
from llmch.cli import main
try:
    main(sys.argv[1:])
except SystemExit:
    pass
finally:
    sys.stdout.write("\\n" + " ".join(each for each in {heavy} if each in sys.modules))
"""


def measure_start(bench: Bench) -> Section:
    """Return how long the shortest command takes, and what each quick verb loads."""
    return Section("Start", (*_help_rows(bench), *_import_rows(bench)))


def llmch_command(bench: Bench) -> list[str]:
    """Return how a user starts llmch: the installed script, where there is one."""
    script = shutil.which("llmch", path=str(Path(sys.executable).parent))
    return [script] if script else bench.python("-m", "llmch")


def _help_rows(bench: Bench) -> list[Row]:
    installed = llmch_command(bench)
    commands = {
        "llmch --help": [*installed, "--help"],
        "its own part: main(['--help'])": bench.python(
            "-c", "from llmch.cli import main; main(['--help'])"
        ),
        "pass": bench.python("-c", "pass"),
    }

    def seconds(argv: Sequence[str]) -> float:
        return run_child(argv, bench.environment).seconds

    for argv in commands.values():
        seconds(argv)  # leaves byte code behind
    cases = {name: (lambda argv=argv: seconds(argv)) for name, argv in commands.items()}
    taken = interleave(cases, bench.rounds(25))
    bare = taken.pop("pass")
    return [
        timed(
            name,
            samples,
            bare,
            "python -c pass",
            Aim(factor=1.5),
            notes=_script_remark(commands[name][0]),
        )
        for name, samples in taken.items()
    ]


def _script_remark(program: str) -> str:
    """Say where the installer's script is what takes the time: those of older pips import `re`."""
    text = Path(program).read_bytes()[:_LONGEST_SCRIPT]
    return "the script of this pip imports re" if b"\nimport re\n" in text else ""


def _import_rows(bench: Bench) -> list[Row]:
    folder = bench.folder("check")
    (folder / "WORK_ORDERS_MANIFEST.json").write_text(json.dumps(plan_document(3)))
    repo = make_repo(bench.folder("repo") / "project", 10)
    verbs = (
        (["--help"], _QUICK),
        (["--version"], _QUICK),
        (["explain", "E101"], _QUICK),
        (["status", "--repo", str(repo)], _QUICK),
        (["check", str(folder)], _HEAVY),
    )
    return [_import_row(bench, arguments, heavy) for arguments, heavy in verbs]


def _import_row(bench: Bench, arguments: Sequence[str], heavy: Sequence[str]) -> Row:
    code = _LOADED_BY.format(heavy=tuple(heavy))
    done = run_child([*bench.python("-c", code), *arguments], bench.environment)
    assert done.exit_code == 0, f"llmch {' '.join(arguments)} failed"
    loaded = done.stdout.decode().rpartition("\n")[2].split()
    return Row(
        name=f"llmch {arguments[0]}: heavy libraries loaded",
        value=len(loaded),
        unit="",
        aim=Aim(extra=0),
        counted=True,
        notes=", ".join(loaded) or f"none of {', '.join(heavy)}; output piped",
    )
