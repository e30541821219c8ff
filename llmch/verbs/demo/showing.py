"""Shows what a demo built: prints the commits, and runs the program in the sandbox."""

from __future__ import annotations

import shlex
import sys
import tempfile
from pathlib import Path

from factory.sandbox import Policy, open_sandbox
from factory.workbench.toolset import toolchains_for
from llmch.console import Console
from llmch.verbs.demo.build import DemoOptions
from shared.events.messages import Warned
from shared.git.client import Git

_TIMEOUT_SECONDS = 60.0


def show_program(repo: Path, branch: str, options: DemoOptions, console: Console) -> bool:
    """Print the branch's commits and run the example's commands on it.

    Returns whether all commands ended with 0. The demo's own fresh repo is switched to the branch,
    so that a person finds the program there.
    """
    git = Git(repo)
    git.run("switch", "--quiet", branch)
    console.remark("", f"$ git switch {branch}", "$ git log --oneline")
    console.remark(git.run("log", "--oneline", "--no-decorate"))
    results = [_run(argv, repo, options, console) for argv in options.example.run]
    return all(results)


def _run(argv: tuple[str, ...], repo: Path, options: DemoOptions, console: Console) -> bool:
    console.remark("", f"$ {shlex.join(argv)}")
    with tempfile.TemporaryDirectory(prefix="llmch-demo-") as scratch:
        private = Path(scratch) / "private"
        private.mkdir()
        policy = Policy(
            workspace=repo,
            git_dir=repo / ".git",
            private=private,
            python=Path(sys.executable),
            toolchains=toolchains_for(repo, repo, options.sandbox),
        )
        sandbox = open_sandbox(options.sandbox.backend, policy)
        ended = sandbox.run(argv, timeout_seconds=_TIMEOUT_SECONDS, log=Path(scratch) / "log")
    console.remark(ended.stdout.text.rstrip("\n"))
    if not ended.ok:
        console.remark(ended.stderr.text.rstrip("\n"))
        console(Warned(f"the program ended with exit code {ended.exit_code}"))
    return ended.ok
