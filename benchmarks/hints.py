"""What it takes to find out what a model is shown of a large repository, once and again."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Final

from benchmarks.measure import interleave, seconds_of
from benchmarks.rows import Aim, Section, timed
from benchmarks.setting import FILES_PER_FOLDER, Bench, git
from planner.compile.inputs import PlannerModel, PlanOptions, gather_inputs

_SECONDS: Final = 1.5
_KEPT_SECONDS: Final = 0.5
_WORDS: Final = (
    "# Parts\n\n`weigh_77` of part 77 returns twice its number, and `weigh_78` as well.\n"
)
_CODE: Final = '''"""Weighs part {0}."""


class Part{0}:
    """Hold a part of kind {0}."""

    def weight(self, number: int) -> int:
        return {0} * number


def weigh_{0}(number: int) -> int:
    """Return the weight of so many parts."""
    return Part{0}().weight(number)
'''


def measure_hints(bench: Bench) -> Section:
    """Return the rows of a commit's files listed, read, ranked and shown, and of the same again."""
    files = 1_000 if bench.quick else 20_000
    repo, spec = _repo(bench.folder("repo"), files), bench.folder("spec") / "spec.md"
    spec.write_text(_WORDS)
    options = PlanOptions(
        spec, bench.scratch, PlannerModel("any", None, None), 1, repo, start="HEAD"
    )
    hints = gather_inputs(options).repo.hints
    assert "def weigh_77" in hints and "return Part77" in hints
    taken = interleave(
        {
            "anew": partial(_anew, bench, options),
            "again": partial(seconds_of, partial(gather_inputs, options)),
        },
        bench.rounds(7),
    )
    rows = (
        ("anew", "hints of", _SECONDS),
        ("again", "hints of the same commit again,", _KEPT_SECONDS),
    )
    return Section(
        "What a planner's model is shown",
        tuple(
            timed(f"{title} {files:,} files", taken[case], aim=Aim(extra=aim), unit="s")
            for case, title, aim in rows
        ),
    )


def _anew(bench: Bench, options: PlanOptions) -> float:
    kept = Path(bench.scratch / "home/.cache/llmch/hints")
    for each in kept.iterdir():
        each.unlink()
    return seconds_of(partial(gather_inputs, options))


def _repo(folder: Path, files: int) -> Path:
    for number in range(files):
        path = folder / f"part_{number // FILES_PER_FOLDER}" / f"module_{number}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(_CODE.format(number))
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message=start")
    return folder
