"""Finds the linters, type checkers and formatters that a repository's CI runs.

The workflow files are data: nothing of them runs. A command is found only in a form that changes no
file and needs no shell, at the root of the repository.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from shared.projects.manifests import RepoFiles, Table, VerifyCommand, parse_json, table

_WORKFLOW: Final = re.compile(r"\.github/workflows/[^/]+\.ya?ml")
_MOST_WORKFLOWS: Final = 20
_MOST_CHARACTERS: Final = 64_000  # of a workflow; the parser takes a second for some 100,000
_MOST_CHECKS: Final = 10
_LONGEST: Final = 200

_FOLDER: Final = "working-directory"
_RUNNER: Final = re.compile(r"(?:uv|poetry|pdm|pipenv|rye) run (?!-)")
_QUOTED: Final = re.compile(r"""'[^']*'|"[^"`\\]*\"""")
_SHELL: Final = re.compile(r"[$`|&;<>(){}*?~#\\]")
_CHANGES: Final = re.compile(r" (?:--(?:fix|write|apply|in-place|install-types)|-w)\b")
_CHECK: Final = re.compile(
    r"(?:python -m )?(?:ruff check|ruff format .*--(?:check|diff)|black .*--check"
    r"|isort .*--check(?:-only)?|flake8|mypy|pyright|basedpyright|pylint|codespell)(?= |$).*"
    r"|(?:npx |pnpm (?:exec )?|yarn )?(?:eslint|xo|standard|oxlint|prettier .*(?:--check|-c)"
    r"|biome (?:ci|check|lint|format)|tsc .*--noEmit)(?= |$).*"
    r"|(?:cargo (?:fmt .*--check|clippy)|go vet|golangci-lint run|staticcheck)(?= |$).*"
)
_SCRIPT: Final = re.compile(r"(?:npm run|pnpm(?: run)?|yarn(?: run)?) ([\w:.-]+)")
_OF_CHECKS: Final = re.compile(r".*(?:lint|format|fmt|prettier|type-?check|types|tsc).*")
_ACTIONS: Final = {
    "astral-sh/ruff-action": "ruff check",
    "psf/black": "black --check .",
    "golangci/golangci-lint-action": "golangci-lint run",
}


def find_ci_checks(files: RepoFiles) -> tuple[VerifyCommand, ...]:
    """Return the checks that workflows run beside tests, each once, with the workflow's path."""
    found: dict[str, str] = {}
    for path in [each for each in files.paths if _WORKFLOW.fullmatch(each)][:_MOST_WORKFLOWS]:
        for line in _lines(files.text(path) or ""):
            check = _RUNNER.sub("", " ".join(line.split()), count=1)
            if _is_check(check, files):
                found.setdefault(check, path)
    return tuple(VerifyCommand(*each) for each in found.items())[:_MOST_CHECKS]


def _lines(text: str) -> Iterator[str]:
    """Yield the commands of the steps that run at the root; none where the text is no workflow."""
    for step in _steps(_parsed(text)):
        script, action = step.get("run"), step.get("uses")
        if isinstance(script, str):
            for line in script.replace("\\\n", " ").splitlines():
                yield from line.split(" && ")
        elif isinstance(action, str) and "with" not in step:
            yield _ACTIONS.get(action.partition("@")[0], "")


def _parsed(text: str) -> Table:
    import yaml  # costs 20 ms, and few verbs look at workflows

    if len(text) > _MOST_CHARACTERS:
        return {}
    try:
        # The Python parser raises an error at any depth, where libyaml's ends the process.
        found = yaml.load(text, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, ValueError, TypeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _steps(workflow: Table) -> Iterator[Table]:
    for job in table(workflow, "jobs").values():
        if isinstance(job, dict) and not _is_elsewhere(workflow) and not _is_elsewhere(job):
            steps = job.get("steps")
            for step in steps if isinstance(steps, list) else ():
                if isinstance(step, dict) and _FOLDER not in step:
                    yield step


def _is_elsewhere(part: Table) -> bool:
    return _FOLDER in table(part, "defaults", "run")


def _is_check(command: str, files: RepoFiles) -> bool:
    if len(command) > _LONGEST or not command.isprintable():
        return False
    bare = _QUOTED.sub("", command)
    if "$" in command or _SHELL.search(bare) or not {"'", '"'}.isdisjoint(bare):
        return False
    if script := _SCRIPT.fullmatch(command):
        scripts = table(parse_json(files.text("package.json")) or {}, "scripts")
        does = scripts.get(script[1])
        is_one = isinstance(does, str) and _OF_CHECKS.fullmatch(script[1])
        return bool(is_one) and not _CHANGES.search(str(does))
    return _CHECK.fullmatch(command) is not None and not _CHANGES.search(command)
