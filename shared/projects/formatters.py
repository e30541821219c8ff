"""Finds the formatter of a project, and says what of a text is layout."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

_CONFIGS: Final = (
    *("pyproject.toml", "ruff.toml", ".ruff.toml", "tox.ini", "noxfile.py", "Makefile", "justfile"),
    *(".pre-commit-config.yaml", "package.json", "go.mod", "Cargo.toml"),
)
_WORKFLOW: Final = re.compile(r"\.github/workflows/[^/]+\.ya?ml")
_PRETTIER: Final = re.compile(r"\.prettierrc(?:\.\w+)?|prettier\.config\.\w+")
_MOST_CONFIGS: Final = 30
_SCRIPTS: Final = (".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx")
_FROM_FILE: Final = ("sh", "-c", 'exec "$@" < "$0"')


@dataclass(frozen=True, slots=True)
class Formatter:
    """Hold a command that prints what it read on its input, formatted.

    `{path}` in `argv` is the path that the text has in the tree. A formatter that is not `named` by
    the project's files is its toolchain's, and may change only the lines that an order writes.
    """

    name: str
    suffixes: tuple[str, ...]
    argv: tuple[str, ...]
    named: bool = True

    def command(self, path: str) -> tuple[str, ...]:
        """Return the command for a file of the tree, which it reads on its input."""
        own = f"./{path}"  # a path cannot be read as an option
        return (*_FROM_FILE, own, *(each.replace("{path}", own) for each in self.argv))


def find_formatters(paths: Collection[str], read: Callable[[str], str]) -> tuple[Formatter, ...]:
    """Return the formatters of a project, at most one for a suffix.

    `read` returns the text of one of its `paths`.
    """
    named = [each for each in _CONFIGS if each in paths]
    named += sorted(each for each in paths if _WORKFLOW.fullmatch(each))[:_MOST_CONFIGS]
    texts = {each: read(each) for each in named}
    said = "\n".join(texts.values())
    return tuple(_found(paths, texts, said))


def _found(paths: Collection[str], texts: Mapping[str, str], said: str) -> Iterator[Formatter]:
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
    if "Cargo.toml" in texts:
        manifest = texts["Cargo.toml"]
        edition = re.search(r'^edition\s*=\s*"(\d{4})"', manifest, re.MULTILINE)
        default = "2015" if "[package]" in manifest else "2021"  # a workspace's members have theirs
        argv = ("rustfmt", "--quiet", "--edition", edition[1] if edition else default)
        named = not {"rustfmt.toml", ".rustfmt.toml"}.isdisjoint(paths) or "cargo fmt" in said
        yield Formatter("rustfmt", (".rs",), argv, named)
    tools = "node_modules/.bin"
    if not {"biome.json", "biome.jsonc"}.isdisjoint(paths):
        yield Formatter("biome", _SCRIPTS, (f"{tools}/biome", "format", "--stdin-file-path={path}"))
    elif not {".oxfmtrc.json", ".oxfmtrc.jsonc"}.isdisjoint(paths):
        yield Formatter("oxfmt", _SCRIPTS, (f"{tools}/oxfmt", "--stdin-filepath", "{path}"))
    elif any(map(_PRETTIER.fullmatch, paths)) or '"prettier": {' in texts.get("package.json", ""):
        yield Formatter("prettier", _SCRIPTS, (f"{tools}/prettier", "--stdin-filepath", "{path}"))


def keeps_lines(before: str, written: str, formatted: str) -> bool:
    """Return whether all lines that formatting changes were written, and not there before."""
    lines, old = Counter(written.splitlines()), Counter(before.splitlines())
    return lines - Counter(formatted.splitlines()) <= lines - old


_TOKEN: Final = re.compile(
    r"""(?P<gap>[ \t]+)|(?P<line>\n)"""
    r"""|(?P<text>"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`)"""
    r"""|(?P<note>//[^\n]*|/\*.*?\*/|\#[^\n]*)|(?P<word>\w+)|(?P<sign>[^\w\s])""",
    re.DOTALL,
)
_CODING: Final = re.compile(r"#.*?coding[:=].*")
_ENDS_WITH_LINE: Final = frozenset({"return", "throw", "yield", "break", "continue", "async"})
_CLOSING: Final = frozenset(")]}")
_GOES_ON: Final = frozenset("([`+-*/.,?:&|^%=<>!")


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
                constant.kind = None
            case ast.Constant():
                node.kind = None  # `u` before a text
            case _:
                pass
    # A comment on top decides how Python reads the bytes of the file.
    return "".join(_CODING.findall("\n".join(text.split("\n", 2)[:2]))) + ast.dump(tree)


def _tokens(text: str, *, scripts: bool) -> Iterator[str]:
    """Yield what of a text is not layout. A word that a line end ends is another word then."""
    comma, word, semicolon = False, "", False
    for found in _TOKEN.finditer(text):
        kind, part = found.lastgroup, found[0]
        if kind == "line" and word in _ENDS_WITH_LINE:
            yield "\n"
        if kind in ("gap", "line"):
            continue
        if semicolon and part[0] in _GOES_ON:
            yield ";"  # without it, the line would go on with this
        semicolon = scripts and part == ";"
        if semicolon and word in _ENDS_WITH_LINE:
            yield "\n"
        word = part if kind == "word" else ""
        if comma and part not in _CLOSING:
            yield ","
        comma = part == ","
        if comma or semicolon:
            continue
        quoted = kind == "text" and part[0] == "'" and not {"\\", '"'} & {*part}
        yield f'"{part[1:-1]}"' if quoted and scripts else part.rstrip()
