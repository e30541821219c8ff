"""Finds the tools that a project runs beside its tests: formatters, and what its CI checks.

The workflow files are data: nothing of them runs. A command is found only in a form that changes no
file and needs no shell, at the root of the repository.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import PurePosixPath
from typing import Final

from shared.files.strict_documents import Table, table
from shared.projects.manifests import RepoFiles, VerifyCommand, parse_json

_CONFIGS: Final = (
    *("pyproject.toml", "ruff.toml", ".ruff.toml", "tox.ini", "noxfile.py", "Makefile", "justfile"),
    *(".pre-commit-config.yaml", "package.json", "Cargo.toml"),
)
_WORKFLOWS: Final = ".github/workflows/"
_BLACK: Final = re.compile(r"\[tool\.black\]|\bid: black\b|\bblack --check\b")
_RUFF: Final = re.compile(r"\[(?:tool\.ruff\.)?format\]|\bid: ruff-format\b|\bruff format\b")
_SCRIPT_CONFIGS: Final = ("js", "cjs", "mjs", "ts", "cts", "mts")
_PRETTIER: Final = (
    ".prettierrc",
    *(f".prettierrc.{each}" for each in ("json", "json5", "yaml", "yml", "toml")),
    *(f"{each}.{kind}" for each in (".prettierrc", "prettier.config") for kind in _SCRIPT_CONFIGS),
)
_RUSTFMT: Final = ("rustfmt.toml", ".rustfmt.toml")
_BIOME: Final = ("biome.json", "biome.jsonc")
_OXFMT: Final = (".oxfmtrc.json", ".oxfmtrc.jsonc")
_TELLING: Final = (*_CONFIGS, "go.mod", *_RUSTFMT, *_BIOME, *_OXFMT, *_PRETTIER)
"""The names of all files that say something of a formatter."""
_EDITION: Final = re.compile(r'^edition\s*=\s*"(\d{4})"', re.MULTILINE)
_OF_WORKSPACE: Final = re.compile(r"^edition\s*(?:\.\s*workspace\b|=\s*\{)", re.MULTILINE)
_MOST_CONFIGS: Final = 30
_PYTHON: Final = (".py", ".pyi")
_SCRIPTS: Final = (".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx")
_FORMATTED: Final = (*_PYTHON, ".go", ".rs", *_SCRIPTS)
_FROM_FILE: Final = ("sh", "-c", 'cd "$0" && input=$1 && shift && exec "$@" < "$input"')
# Workspaces have the tools of a package beside it, or in a folder above.
_FROM_NODE: Final = (
    *("sh", "-c"),
    'at=$PWD/$1; cd "$0" && input=$2 && tool=node_modules/.bin/$3 && shift 3 || exit; '
    'while [ ! -x "${at%/*}/$tool" ] && [ "${at%/*}" != "$OLDPWD" ]; do at=${at%/*}; done; '
    'exec "${at%/*}/$tool" "$@" < "$input"',
)


@dataclass(frozen=True, slots=True)
class Formatter:
    """Hold a command that prints what it read on its input, formatted.

    It runs in the folder of the tree whose files name it. `{path}` in `argv` is the path that the
    text has from there. `in_node` says that the first word is a tool among packages of node.
    A formatter that is not `named` by the project's files is its toolchain's, and may change only
    the lines that an order writes.
    """

    name: str
    argv: tuple[str, ...]
    folder: str = ""
    in_node: bool = False
    named: bool = True

    def command(self, path: str) -> tuple[str, ...]:
        """Return the command for a file of the tree, which it reads on its input."""
        below = path.removeprefix(f"{self.folder}/")
        own = f"./{below}"  # a path cannot be read as an option
        place = (f"./{self.folder}", *([path] if self.in_node else []), own)
        words = (each.replace("{path}", own) for each in self.argv)
        return (*(_FROM_NODE if self.in_node else _FROM_FILE), *place, *words)


def find_formatters(
    paths: Collection[str], read: Callable[[str], str], written: Iterable[str]
) -> dict[str, Formatter]:
    """Return the formatter of each `written` file for which a project has one.

    The nearest folder around a file decides. `read` returns the text of one of the `paths`.
    """
    around = {path: _folders_around(path) for path in written if path.endswith(_FORMATTED)}
    if not around:
        return {}
    there = frozenset(paths)  # of a tree of any size, only names that tell something are looked up
    workflows = sorted(each for each in there if each.startswith(_WORKFLOWS) and _is_workflow(each))
    known = {
        folder: _read_folder(folder, there, read, () if folder else workflows[:_MOST_CONFIGS])
        for folder in {*chain.from_iterable(around.values())}
    }
    found = {path: _found(path, [known[each] for each in around[path]]) for path in around}
    return {path: each for path, each in found.items() if each}


def _is_workflow(path: str) -> bool:
    return path.endswith((".yml", ".yaml")) and path.count("/") == _WORKFLOWS.count("/")


def _folders_around(path: str) -> list[str]:
    """Return the folders that hold a file, the nearest one first; "" is the tree itself."""
    return [str(each) if each.parts else "" for each in PurePosixPath(path).parents]


@dataclass(frozen=True, slots=True)
class _Folder:
    """Hold what the files in a folder of the tree say, all of them together in `said`."""

    path: str
    names: frozenset[str]
    texts: Mapping[str, str]
    said: str

    def has(self, *names: str) -> bool:
        return not self.names.isdisjoint(names)


def _read_folder(
    path: str, there: frozenset[str], read: Callable[[str], str], others: Iterable[str]
) -> _Folder:
    above = f"{path}/" if path else ""
    own = frozenset(each for each in _TELLING if f"{above}{each}" in there)
    texts: dict[str, str] = {each: read(f"{above}{each}") for each in _CONFIGS if each in own}
    return _Folder(path, own, texts, "\n".join((*texts.values(), *map(read, others))))


def _found(path: str, around: Sequence[_Folder]) -> Formatter | None:
    """Return the formatter of a file with these folders around it, the nearest one first."""
    suffix = PurePosixPath(path).suffix
    if suffix == ".go":
        return Formatter("gofmt", ("gofmt",)) if any(e.has("go.mod") for e in around) else None
    if suffix == ".rs":
        return _rustfmt(around)
    language = _python_formatter if suffix in _PYTHON else _script_formatter
    return next(filter(None, map(language, around)), None)


def _python_formatter(folder: _Folder) -> Formatter | None:
    # Both find the configuration of a file by its path.
    if _BLACK.search(folder.said):
        return Formatter(
            "black", ("python", "-m", "black", "-q", "--stdin-filename", "{path}", "-")
        )
    if _RUFF.search(folder.said):
        argv = ("python", "-m", "ruff", "format", "-q", "--stdin-filename", "{path}", "-")
        return Formatter("ruff format", argv)
    return None


def _rustfmt(around: Sequence[_Folder]) -> Formatter | None:
    crates = [each for each in around if each.has("Cargo.toml")]
    if not crates:
        return None
    named = any(each.has(*_RUSTFMT) or "cargo fmt" in each.said for each in around)
    edition = next(filter(None, (_edition(each.texts["Cargo.toml"]) for each in crates)), "2021")
    argv = ("rustfmt", "--quiet", "--edition", edition)
    return Formatter("rustfmt", argv, crates[0].path, named=named)


def _edition(manifest: str) -> str:
    """Return the edition that a manifest says; "" where it is for another manifest to say."""
    if found := _EDITION.search(manifest):
        return found[1]
    return "" if "[package]" not in manifest or _OF_WORKSPACE.search(manifest) else "2015"


def _script_formatter(folder: _Folder) -> Formatter | None:
    if folder.has(*_BIOME):
        argv: tuple[str, ...] = ("biome", "format", "--stdin-file-path={path}")
        return Formatter("biome", argv, folder.path, in_node=True)
    if folder.has(*_OXFMT):
        argv = ("oxfmt", "--stdin-filepath", "{path}")
        return Formatter("oxfmt", argv, folder.path, in_node=True)
    manifest = parse_json(folder.texts.get("package.json")) or {}
    if manifest.get("prettier") or folder.has(*_PRETTIER):
        argv = ("prettier", "--stdin-filepath", "{path}")
        return Formatter("prettier", argv, folder.path, in_node=True)
    return None


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
    if suffix in _PYTHON:
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


def code_tokens(path: str, text: str) -> Iterator[str]:
    """Yield what of a text is neither layout nor a comment of `//` or `/*`, for `same_code`."""
    for each in _tokens(text, scripts=path.endswith(_SCRIPTS)):
        if each[:2] not in ("//", "/*") and each.strip():
            yield each


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


# No workflow of GitHub's has merge keys, and nested ones multiply without end.
_MERGED: Final = re.compile(r"<<\s*['\"]?\s*:")


def _parsed(text: str) -> Table:
    import yaml  # costs 20 ms, and few verbs look at workflows

    if len(text) > _MOST_CHARACTERS or _MERGED.search(text):
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
