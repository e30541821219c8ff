"""Asks the TypeScript compiler about folders of files.

A run of the compiler reads the standard library first, which takes longer than most questions.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from shared.languages.language_tools import CheckerFailed, ToolMissing, ToolRunner
from shared.processes.pinned_tools import TSC, installed_program

CONFIG: Final = "llmch.tsconfig.json"
GLOBALS: Final = "llmch-globals.d.ts"

# Loose on purpose: a test may rely on what a strict compiler forbids and a program allows.
_OPTIONS: Final[Mapping[str, object]] = {
    "noEmit": True,
    "strict": False,
    "strictNullChecks": False,
    "noImplicitAny": False,
    "noImplicitThis": False,
    "target": "esnext",
    "lib": ["esnext", "dom", "dom.iterable"],
    "module": "preserve",
    "moduleResolution": "bundler",
    "moduleDetection": "force",
    "allowJs": True,
    "checkJs": True,
    "allowImportingTsExtensions": True,
    "allowUnreachableCode": True,
    "allowUnusedLabels": True,
    "resolveJsonModule": True,
    "skipLibCheck": True,
    "jsx": "preserve",
    "types": [],
    "experimentalDecorators": True,
    "noErrorTruncation": True,
}
_DIAGNOSTIC = re.compile(r"(?P<path>.+?)\((?P<line>\d+),(?P<column>\d+)\): error TS(?P<code>\d+): ")
_INNER_NAME = re.compile(r"\.llmch\d+")
_ABSOLUTE = re.compile(r'import\("[^"]*/llmch-view-[0-9a-f]+/')
# Names that a runtime, a browser or a test runner gives; what they offer is not judged.
_GLOBAL_VALUES: Final = """
    process Buffer global globalThis require module exports __dirname __filename setImmediate
    clearImmediate gc describe suite context test it specify before after beforeEach afterEach
    beforeAll afterAll expect jest vi assert expectTypeOf assertType onTestFinished onTestFailed
    xdescribe xit xtest fdescribe fit ftest pending fail chai should sinon cy Cypress Bun Deno
    setTimeout clearTimeout setInterval clearInterval $ jQuery React
"""
_BUILTINS_IN_CODE: Final = """
    async_hooks buffer child_process cluster crypto dgram dns domain events fs http http2 https
    inspector net os path perf_hooks punycode querystring readline repl stream string_decoder timers
    tls trace_events tty url util v8 vm wasi worker_threads zlib diagnostics_channel
"""
_REDECLARED: Final = frozenset(
    {"setTimeout", "clearTimeout", "setInterval", "clearInterval", "globalThis", "crypto"}
)


@dataclass(frozen=True, slots=True)
class TscComplaint:
    """Hold one error of the compiler; `line` and `column` count from 1, in UTF-16 units."""

    path: str
    line: int
    column: int
    code: int
    message: str
    details: tuple[str, ...] = ()

    @property
    def is_about_syntax(self) -> bool:
        """Return whether the file does not parse; then the compiler checks no types at all."""
        return 1000 <= self.code < 1500 or 8002 <= self.code <= 8017 or 17000 <= self.code < 17020


def ask(
    runner: ToolRunner | None,
    files: Mapping[str, str],
    targets: Sequence[str],
    aliases: Mapping[str, str],
) -> tuple[TscComplaint, ...]:
    """Return the complaints about `targets`, which are among `files`.

    `aliases` has the file of each module that is named otherwise than by its path. A target that
    does not parse hides the faults of all others, so the others are asked about once more. Raises
    `ToolMissing` without a runner or the compiler, and `CheckerFailed` if it gives no answer.
    """
    waiting = sorted(targets)
    found: list[TscComplaint] = []
    while waiting:
        given = {**files, CONFIG: _config(waiting, aliases), GLOBALS: _globals()}
        told = [e for e in _complaints(runner, given) if e.path in waiting]
        broken = {each.path for each in told if each.is_about_syntax}
        if not broken:
            return (*found, *told)
        found += [each for each in told if each.path in broken and each.is_about_syntax]
        waiting = [each for each in waiting if each not in broken]
    return tuple(found)


def _config(targets: Sequence[str], aliases: Mapping[str, str]) -> str:
    paths = {name: [f"./{path}"] for name, path in sorted(aliases.items())}
    options = {**_OPTIONS, "paths": paths} if paths else _OPTIONS
    return json.dumps({"compilerOptions": options, "files": [GLOBALS, *targets]})


def _globals() -> str:
    plain = [*_GLOBAL_VALUES.split(), *_BUILTINS_IN_CODE.split()]
    values = ", ".join(f"{name}: any" for name in plain if name not in _REDECLARED)
    return (
        f"declare var {values};\n"
        "declare type Buffer = any; declare type BufferEncoding = any;\n"
        "declare namespace NodeJS { type Timeout = any; type ProcessEnv = any; type Process = any; "
        "type ErrnoException = any; type ReadableStream = any; type WritableStream = any; "
        "type EventEmitter = any; type Dict<T> = any; type Immediate = any; type Timer = any; "
        "type Signals = any; type Platform = any; type Global = any }\n"
        "interface ImportMeta { [key: string]: any }\n"
        "interface ErrorConstructor { captureStackTrace: any; stackTraceLimit: any }\n"
        "interface Number { unref: any; ref: any; hasRef: any }\n"
    )


def parse_output(text: str, folder: str) -> tuple[TscComplaint, ...]:
    """Return the complaints in what the compiler printed about the files below `folder`.

    All other lines are left out. The compiler quotes types as they are, so a type can bring lines
    of its own, which only look like complaints.
    """
    found: list[TscComplaint] = []
    for line in text.splitlines():
        shape = _DIAGNOSTIC.match(line)
        if shape is not None:
            above, inside, path = shape["path"].rpartition(f"{folder}/")
            if above or not inside:
                continue
            line_number, column, code = (int(shape[e]) for e in ("line", "column", "code"))
            message = _cleaned(line[shape.end() :])
            found.append(TscComplaint(path, line_number, column, code, message))
        elif found and line.startswith("  "):
            details = (*found[-1].details, _cleaned(line.strip()))
            found[-1] = replace(found[-1], details=details)
    return tuple(found)


def _cleaned(message: str) -> str:
    """Return a message without the names that only the private folder has."""
    return _INNER_NAME.sub("", _ABSOLUTE.sub('import("', message))


_MAX_BYTES: Final = 8_000_000  # of the files of one run
_FOLDER: Final = "llmch-order"
_FOLDERS: Final = re.compile(rf"\b{_FOLDER}\d+/")
# A global declaration in one file would hold for the files of other questions, too.
_GLOBAL: Final = re.compile(r"\bdeclare\s+(?:global|module)\b|^\s*///", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class CompilerQuestion:
    """Hold a question: files by path, the targets among them, and files of modules by alias."""

    files: Mapping[str, str]
    targets: tuple[str, ...]
    aliases: Mapping[str, str]


def ask_together(
    runner: ToolRunner | None, asked: Sequence[CompilerQuestion]
) -> tuple[tuple[TscComplaint, ...], ...]:
    """Return the complaints about the targets of each question, in the order of the questions.

    Questions are answered in one run of the compiler, as far as they cannot disturb each other.
    Raises what `ask` raises.
    """
    found: dict[int, list[TscComplaint]] = {index: [] for index in range(len(asked))}
    for batch in _batches(asked):
        if len(batch) == 1:
            each = asked[batch[0]]
            if each.targets:
                found[batch[0]] += ask(runner, each.files, each.targets, each.aliases)
            continue
        files = {f"{_FOLDER}{i}/{path}": t for i in batch for path, t in asked[i].files.items()}
        targets = [f"{_FOLDER}{i}/{path}" for i in batch for path in asked[i].targets]
        for complaint in ask(runner, files, targets, {}):
            folder, _, path = complaint.path.partition("/")
            message, *details = (
                _FOLDERS.sub("", e) for e in (complaint.message, *complaint.details)
            )
            plain = replace(complaint, path=path, message=message, details=tuple(details))
            found[int(folder.removeprefix(_FOLDER))].append(plain)
    return tuple(tuple(found[index]) for index in range(len(asked)))


def _batches(asked: Sequence[CompilerQuestion]) -> Iterator[tuple[int, ...]]:
    """Yield the positions of the questions that one run answers."""
    together: list[int] = []
    size = 0
    for index, each in enumerate(asked):
        own = sum(map(len, each.files.values()))
        if not each.targets:
            continue
        if each.aliases or any(map(_GLOBAL.search, each.files.values())):
            yield (index,)
            continue
        if together and size + own > _MAX_BYTES:
            yield tuple(together)
            together, size = [], 0
        together.append(index)
        size += own
    if together:
        yield tuple(together)


_SECONDS: Final = 60.0  # cold, on a loaded machine, for fifty files


def private_folder(files: Mapping[str, str]) -> str:
    """Return the name of the folder in which the compiler finds `files`.

    No text among them can hold it, since it is made of a hash of them all.
    """
    digest = hashlib.sha256(json.dumps(sorted(files.items())).encode()).hexdigest()
    return f"llmch-view-{digest[:32]}"


def _complaints(runner: ToolRunner | None, files: Mapping[str, str]) -> tuple[TscComplaint, ...]:
    """Return the compiler's complaints about files in a private folder."""
    program = installed_program(TSC)
    if runner is None:
        raise ToolMissing("the TypeScript compiler is not run without a sandbox")
    if program is None:
        raise ToolMissing(
            f"the TypeScript compiler {TSC.version} is not there; "
            "`llmch doctor --fetch tsc` fetches it"
        )
    folder = private_folder(files)
    placed = {f"{folder}/{path}": text for path, text in files.items()}
    argv = [str(program), "--pretty", "false", "-p", f"{folder}/{CONFIG}"]
    done = runner.run(placed, argv, seconds=_SECONDS)
    if done.exit_code not in {0, 1, 2}:
        ended = "ran out of time" if done.exit_code is None else f"ended by {done.exit_code}"
        raise CheckerFailed(f"the TypeScript compiler {ended}: {done.stderr[-200:].strip()}")
    return parse_output(done.stdout, folder)
