"""Declares the options of `llmch init`, and writes its files."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Final

from llmch.console import Console
from llmch.console.document import Outcome

_CONFIG: Final = "llmch.toml"
_SPECS: Final = ("spec.yaml", "spec.yml", "spec.json", "spec.md", "spec.txt")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `init`."""
    parser.add_argument("--repo", type=Path, default=Path(), metavar="DIR", help="the git repo (.)")
    parser.add_argument(
        "--spec", type=Path, metavar="FILE",
        help="the specification to begin: .yaml and .json have requirement ids of your own, all "
        "else is text (default: spec.yaml at the root of the repo, or the spec that is there)",
    )  # fmt: skip


def execute(args: argparse.Namespace, console: Console) -> Outcome:
    """Write the files that are not there yet. The exit code is 0, also where all of them were."""
    from llmch.verbs.init.config_text import render_config
    from llmch.verbs.init.document import InitDocument
    from llmch.verbs.init.next_steps import next_steps
    from llmch.verbs.init.place import look_at
    from llmch.verbs.init.spec_text import render_spec
    from shared.files.new_files import write_new_files

    cwd = Path.cwd()
    place = look_at(args.repo)
    spec = cwd / args.spec if args.spec else _spec_in(place.root)
    config = place.root / _CONFIG
    files = {config: render_config(place), spec: render_spec(place.name, spec.suffix)}
    written = write_new_files(files)
    kept = tuple(each for each in files if each not in written)
    steps = next_steps(place, spec, written, cwd)
    return Outcome(InitDocument(place, written, kept, steps, cwd))


def _spec_in(root: Path) -> Path:
    """Return the spec that is at the root already, or the path of a new one."""
    places = [root / each for each in _SPECS]
    return next((each for each in places if os.path.lexists(each)), places[0])
