"""Formats what an order writes by the project's own formatter, in the sandbox.

Gates of a project refuse code that its formatter would change, and no executor may touch the tests
of a plan. So the formatter that the project's files name, out of its own dependencies, is given
each file that is written on its standard input. It gets no path to write to: only what it prints is
used. What it does elsewhere is undone, and then its output is not used either.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Final

from factory.orders.documents import MAX_WRITE_BYTES, FileWrite
from factory.sandbox.policy import Cause, Ended
from factory.sandbox.supervision import log_files
from factory.workbench.pool import Workbench

_CONFIGS: Final = (
    *("pyproject.toml", "ruff.toml", ".ruff.toml", "tox.ini", "noxfile.py", "Makefile", "justfile"),
    *(".pre-commit-config.yaml", "package.json", "go.mod", "Cargo.toml"),
)
_WORKFLOW: Final = re.compile(r"\.github/workflows/[^/]+\.ya?ml")
_PRETTIER: Final = re.compile(r"\.prettierrc(?:\.\w+)?|prettier\.config\.\w+")
_MOST_CONFIGS: Final = 30
_SCRIPTS: Final = (".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx")
SECONDS: Final = 60.0
"""The limit for all files of an attempt, where a command may take longer."""
_FROM_FILE: Final = ("sh", "-c", 'exec "$@" < "$0"')


@dataclass(frozen=True, slots=True)
class Formatter:
    """Hold a command that prints what it read on its input, formatted.

    `{path}` in `argv` is the path that the text has in the tree.
    """

    name: str
    suffixes: tuple[str, ...]
    argv: tuple[str, ...]

    def command(self, path: str) -> tuple[str, ...]:
        """Return the command for a file of the tree, which it reads on its input."""
        own = f"./{path}"  # a path cannot be read as an option
        return (*_FROM_FILE, own, *(each.replace("{path}", own) for each in self.argv))


def find_formatters(
    paths: Sequence[str] | frozenset[str], read: Callable[[str], str]
) -> tuple[Formatter, ...]:
    """Return the formatters that the files of a project name, at most one for a suffix.

    `read` returns the text of one of its `paths`.
    """
    named = [each for each in _CONFIGS if each in paths]
    named += sorted(each for each in paths if _WORKFLOW.fullmatch(each))[:_MOST_CONFIGS]
    texts = {each: read(each) for each in named}
    said = "\n".join(texts.values())
    return tuple(_found(paths, texts, said))


def _found(
    paths: Sequence[str] | frozenset[str], texts: Mapping[str, str], said: str
) -> Iterator[Formatter]:
    python = ("python", "-m")
    argv: tuple[str, ...]
    if re.search(r"\[tool\.black\]|\bid: black\b|\bblack --check\b", said):
        argv = (*python, "black", "-q", "--stdin-filename", "{path}", "-")
        yield Formatter("black", (".py", ".pyi"), argv)
    elif re.search(r"\[(?:tool\.ruff\.)?format\]|\bid: ruff-format\b|\bruff format\b", said):
        argv = (*python, "ruff", "format", "-q", "--stdin-filename", "{path}", "-")
        yield Formatter("ruff format", (".py", ".pyi"), argv)
    if "go.mod" in texts:
        yield Formatter("gofmt", (".go",), ("gofmt",))
    if "Cargo.toml" in texts and (
        not {"rustfmt.toml", ".rustfmt.toml"}.isdisjoint(paths) or "cargo fmt" in said
    ):
        edition = re.search(r'^edition\s*=\s*"(\d{4})"', texts["Cargo.toml"], re.MULTILINE)
        argv = ("rustfmt", "--quiet", "--edition", edition[1] if edition else "2021")
        yield Formatter("rustfmt", (".rs",), argv)
    tools = "node_modules/.bin"
    if not {"biome.json", "biome.jsonc"}.isdisjoint(paths):
        yield Formatter("biome", _SCRIPTS, (f"{tools}/biome", "format", "--stdin-file-path={path}"))
    elif any(map(_PRETTIER.fullmatch, paths)) or '"prettier": {' in texts.get("package.json", ""):
        yield Formatter("prettier", _SCRIPTS, (f"{tools}/prettier", "--stdin-filepath", "{path}"))


@dataclass(slots=True)
class Formatting:
    """Format files of a workspace in which git has them staged, and `expect` knows them.

    All of it may take as long as one command.

    `formatted` has the new texts by path. `warnings` say in sentences what could not be used.
    """

    bench: Workbench
    log: Path
    seconds: float = SECONDS
    formatted: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    def format(
        self, formatters: Sequence[Formatter], writes: Sequence[FileWrite], tests: frozenset[str]
    ) -> None:
        """Format what is written. The `tests` of the plan have to stay the same code."""
        left, failed = self.seconds, set[str]()
        for number, write in enumerate(writes):
            suffix = PurePosixPath(write.path).suffix
            own = next((each for each in formatters if suffix in each.suffixes), None)
            if own is None or own.name in failed or not write.content.strip():
                continue
            log = self.log.with_name(f"{self.log.name}_{number}")
            argv = own.command(write.path)
            ended = self.bench.sandbox.run(argv, timeout_seconds=max(left, 1.0), log=log)
            left -= ended.duration_seconds
            text, problem = _printed(log) if ended.ok else ("", _why(ended, self.seconds))
            if not problem and self.bench.workspace.undo():
                problem = "it changes other files"
            if (
                not problem
                and write.path in tests
                and not same_code(write.path, write.content, text)
            ):
                problem = f"it changes what {write.path} says, which is a test of the plan"
            if problem:
                self.warnings.append(f"`{own.name}` of the project was not used: {problem}")
                failed.add(own.name)
                self.bench.workspace.undo()
            elif text != write.content:
                self.formatted[write.path] = text


def _printed(log: Path) -> tuple[str, str]:
    """Return what a formatter printed, or why that cannot be a file."""
    out, _ = log_files(log)
    try:
        data = out.read_bytes()
        text = data.decode()
    except (OSError, UnicodeDecodeError):
        return "", "it printed something that is not text"
    if not text.strip() or "\0" in text or len(data) > MAX_WRITE_BYTES:
        return "", f"what it printed is empty, or has over {MAX_WRITE_BYTES:,} bytes"
    return text, ""


def _why(ended: Ended, seconds: float) -> str:
    match ended.cause:
        case Cause.TIMED_OUT:
            return f"it did not end within {seconds:.0f} seconds"
        case Cause.EXITED:
            return f"it failed with exit code {ended.exit_code}; is it installed?"
        case _:
            return "it could not be run"


_TOKEN: Final = re.compile(
    r"""(?P<gap>[ \t]+)|(?P<line>\n)"""
    r"""|(?P<text>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`)"""
    r"""|(?P<note>//[^\n]*|/\*.*?\*/|\#[^\n]*)|(?P<word>\w+)|(?P<sign>[^\w\s])""",
    re.DOTALL,
)
_CODING: Final = re.compile(r"#.*?coding[:=].*")
_ENDS_WITH_LINE: Final = frozenset({"return", "throw", "yield", "break", "continue", "async"})
_CLOSING: Final = frozenset(")]}")


def same_code(path: str, one: str, other: str) -> bool:
    """Return whether two texts of a file are the same code but for its layout.

    Layout is white space, the kind of quotes, commas before a closing bracket, and semicolons of
    scripts that end a line. Python's own parser decides for Python, without docstrings' margins.
    """
    if one == other:
        return True
    suffix = PurePosixPath(path).suffix
    if suffix in (".py", ".pyi"):
        try:
            return _tree(one) == _tree(other)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
    scripts = suffix in _SCRIPTS
    return list(_tokens(one, scripts=scripts)) == list(_tokens(other, scripts=scripts))


def _tree(text: str) -> str:
    tree = ast.parse(text)
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Constant(value=str(said)) as constant):
                constant.value = "\n".join(each.strip() for each in said.strip().split("\n"))
            case _:
                pass
    # A comment on top decides how Python reads the bytes of the file.
    return "".join(_CODING.findall("\n".join(text.split("\n", 2)[:2]))) + ast.dump(tree)


def _tokens(text: str, *, scripts: bool) -> Iterator[str]:
    """Yield what of a text is not layout. A word that a line end ends is another word then."""
    comma, word = False, ""
    for found in _TOKEN.finditer(text):
        kind, part = found.lastgroup, found[0]
        if kind == "line" and word in _ENDS_WITH_LINE:
            yield "\n"
        if kind in ("gap", "line"):
            continue
        word = part if kind == "word" else ""
        if comma and part not in _CLOSING:
            yield ","
        comma = part == ","
        if comma or (scripts and part == ";"):
            continue
        quoted = kind == "text" and part[0] == "'" and not {"\\", '"'} & {*part}
        yield f'"{part[1:-1]}"' if quoted and scripts else part.rstrip()
