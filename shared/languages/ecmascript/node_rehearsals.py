"""Says how to see whether a test runner of Node runs here before the code exists.

The command is run as it is, with tests in the place of the plan's that import nothing of the
project and always pass. They are written in the plan's language and in its kind of modules.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Final

from shared.languages.ecmascript import node_commands
from shared.languages.ecmascript.ecmascript_syntax import MANIFEST, TYPED_SUFFIXES, is_code
from shared.languages.ecmascript.node_commands import Runner
from shared.languages.planned_code import CannotRun, PlannedFiles, Rehearsal
from shared.languages.read_commands import Command, program_argv

if TYPE_CHECKING:
    from shared.languages.language_tools import ToolResult

_IMPORTS: Final = re.compile(r"^\s*(?:import|export)\b", re.MULTILINE)
_MODULES: Final = {Runner.NODE: "node:test", Runner.VITEST: "vitest", Runner.BUN: "bun:test"}
_CONFIGURES = re.compile(
    r"(?:jest|vitest|vite|babel)\.(?:config|workspace)\.\w+|\.(?:mocharc|babelrc)\S*"
)
_SAYS = re.compile(
    r"\bE[A-Z]+_[A-Z_]+\]|Error\b|bad option|[Uu]nknown|[Cc]annot |[Cc]ould not|not found"
    r"|No tests?\b"
)
_NOT_INSTALLED = re.compile(r"ENOTCACHED|could not determine executable|EAI_AGAIN|ENOTFOUND")
_RAN_NONE = re.compile(r"^\S tests 0$", re.MULTILINE)


_VERSIONS: Final = """
const { existsSync } = require('node:fs');
const flag = '--experimental-strip-types';
let typed = 'no TypeScript: `node --test x.test.ts` fails';
if (process.features.typescript) typed = 'TypeScript files too, as they are';
else if (process.allowedNodeEnvironmentFlags.has(flag)) typed = `TypeScript files with ${flag}`;
const missed = process.argv.slice(1).filter((each) => !existsSync(`node_modules/${each}`));
const lacks = missed.length ? `; declared and not installed: ${missed.join(', ')}` : '';
console.log(`Node ${process.version}, which runs JavaScript and ${typed}${lacks}`);
"""


def version_argv(packages: Sequence[str]) -> tuple[str, ...]:
    return ("node", "-e", _VERSIONS, *packages)


def rehearsal(command: Command, planned: PlannedFiles) -> Rehearsal | None:
    """Return a run of the command on a test that passes, where it runs files of the plan."""
    read = node_commands.read_command(program_argv(command))
    if read is None or read.problem or len(read.runs) != 1:
        return None
    run = read.runs[0]
    if not isinstance(run, node_commands.TestRun) or run.only_lists or not run.patterns:
        return None
    if run.runner is not Runner.NODE and _is_configured_later(planned):
        return None
    if not all(is_code(each) and planned.has(each) for each in run.patterns):
        return None
    # The path does not matter to Node, so that one run can answer for many commands.
    renamed = {each: _short(each) if run.runner is Runner.NODE else each for each in run.patterns}
    title = next(iter(run.filters), "nothing")
    files = {renamed[each]: _test(each, run.runner, title, planned) for each in run.patterns}
    if MANIFEST not in planned.listing and (kind := _kind(run.patterns, planned)):
        files[MANIFEST] = f'{{"private": true, "type": "{kind}"}}\n'
    declared = _declares(planned, read.packages)

    def refusal(done: ToolResult) -> CannotRun | None:
        said = f"{done.stdout}\n{done.stderr}"
        if done.exit_code == 0 and run.runner is Runner.NODE and _RAN_NONE.search(said):
            return CannotRun("E402", "it ran no test")
        if done.exit_code in {0, None}:
            return None
        if read.packages and _NOT_INSTALLED.search(said):
            package = f"the package {read.packages[0]} is not installed, and {MANIFEST} has it not"
            return None if declared else CannotRun("E402", package)
        return CannotRun("E402", _words(said))

    return Rehearsal(tuple(renamed.get(each, each) for each in command.argv), files, refusal)


def _name(word: str) -> str:
    return word.rpartition("/")[2]


def _short(path: str) -> str:
    name = _name(path)
    return f"nothing{name[name.find('.') :]}"


def _is_configured_later(planned: PlannedFiles) -> bool:
    """Return whether orders bring what the runner needs, so that nothing can be learnt."""
    return planned.may_write(MANIFEST) or any(
        _CONFIGURES.fullmatch(posixpath.basename(path)) for path in planned.written
    )


def _test(path: str, runner: Runner, title: str, planned: PlannedFiles) -> str:
    """Return a test that passes, in the language and the kind of modules of the one at `path`."""
    call = "it" if runner is Runner.MOCHA else "test"
    module = _MODULES.get(runner, "node:path")
    name = call if runner in _MODULES else "sep"
    head = f"const {{ {name} }} = require('{module}');"
    if _is_module(path, planned):
        head = f"import {{ {name} }} from '{module}';"
    typed = "const nothing: string = '';\n" if path.endswith(TYPED_SUFFIXES) else ""
    shown = re.sub(r"[^\w .:-]", " ", title)
    return f"{head}\n\n{typed}{call}('{shown}', () => {{}});\n"


def _is_module(path: str, planned: PlannedFiles) -> bool:
    text = planned.tests.get(path) or (planned.repo.get(path) if path in planned.listing else None)
    if text is not None:
        return _IMPORTS.search(text) is not None
    return not path.endswith((".cjs", ".cts"))


def _kind(paths: Collection[str], planned: PlannedFiles) -> str:
    """Return the type that an order may give to its package; "" where it writes no manifest."""
    if not planned.may_write(MANIFEST):
        return ""
    return "module" if any(_is_module(each, planned) for each in paths) else "commonjs"


def _declares(planned: PlannedFiles, packages: Collection[str]) -> bool:
    manifests = (each for each in planned.listing if _name(each) == MANIFEST)
    texts = [planned.repo.get(each) or "" for each in manifests]
    return any(f'"{package}"' in text for text in texts for package in packages)


def _words(said: str) -> str:
    lines = [line.strip().lstrip("# ").strip() for line in said.splitlines()]
    telling = (line for line in lines if _SAYS.search(line) and not line.startswith("at "))
    return next(telling, next(filter(None, lines), "it fails without a word"))
