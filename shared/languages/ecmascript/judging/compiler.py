"""Asks the TypeScript compiler about a folder of files, and reads its answer."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

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
_ABSOLUTE = re.compile(r'import\("[^"]*/llmch-view/')
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
class Complaint:
    """Hold one error of the compiler; `line` and `column` count from 1, in UTF-16 units."""

    path: str
    line: int
    column: int
    code: int
    message: str
    details: tuple[str, ...] = ()

    @property
    def is_about_syntax(self) -> bool:
        """Return whether the file does not parse, so that no file's types are looked at."""
        return 1000 <= self.code < 1500 or 8002 <= self.code <= 8017 or 17000 <= self.code < 17020


class Compiler(Protocol):
    """Run the compiler on files in a private folder."""

    def compile(self, files: Mapping[str, str], config: str) -> str:
        """Return what the compiler prints about `files`, by the configuration at `config`.

        Raises `CheckerFailed` where it gives no answer.
        """


def ask(
    compiler: Compiler,
    files: Mapping[str, str],
    targets: Sequence[str],
    aliases: Mapping[str, str],
) -> tuple[Complaint, ...]:
    """Return the complaints about `targets`, which are among `files`.

    `aliases` has the file of each module that is named otherwise than by its path. A target that
    does not parse hides the faults of all others, so the others are asked about once more.
    """
    waiting = sorted(targets)
    found: list[Complaint] = []
    while waiting:
        given = {**files, CONFIG: _config(waiting, aliases), GLOBALS: _globals()}
        told = [e for e in parse_output(compiler.compile(given, CONFIG)) if e.path in targets]
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


def parse_output(text: str) -> tuple[Complaint, ...]:
    """Return the complaints in what the compiler printed; lines that are none are left out."""
    found: list[Complaint] = []
    for line in text.splitlines():
        shape = _DIAGNOSTIC.match(line)
        if shape is not None:
            path = shape["path"].rpartition("llmch-view/")[2]
            line_number, column, code = (int(shape[e]) for e in ("line", "column", "code"))
            message = _cleaned(line[shape.end() :])
            found.append(Complaint(path, line_number, column, code, message))
        elif found and line.startswith("  "):
            last = found[-1]
            details = (*last.details, _cleaned(line.strip()))
            found[-1] = Complaint(
                last.path, last.line, last.column, last.code, last.message, details
            )
    return tuple(found)


def _cleaned(message: str) -> str:
    """Return a message without the names that only the private folder has."""
    return _INNER_NAME.sub("", _ABSOLUTE.sub('import("', message))
