"""Finds needs of commands and tests that nothing provides, and commands that cannot fail."""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from shared.errors import quoted
from shared.languages.ecmascript.assertions import weakness_of_code, weakness_of_text
from shared.languages.ecmascript.chosen_tests import MAGIC, cases_of, chosen_files, weakness_of_run
from shared.languages.ecmascript.ecmascript_syntax import (
    MANIFEST,
    PackageManifest,
    find_fault,
    is_builtin,
    is_locked,
    manifest_paths,
    question_path,
    read_manifest,
    tree_of,
)
from shared.languages.ecmascript.imports import Kind, ModuleImport, find_module, imports_of, resolve
from shared.languages.ecmascript.node_commands import (
    CommandRuns,
    CompilerRun,
    FileRun,
    NodeCodeRun,
    PackageScriptRun,
    Run,
    Runner,
    TestRun,
    read_command,
)
from shared.languages.planned_code import Need, missing_module, missing_path, undeclared_package
from shared.languages.read_commands import Weakness

if TYPE_CHECKING:
    from shared.languages.ecmascript.contract_history import History, Moment

_MAX_SCRIPTS: Final = 3  # scripts that run scripts
_SHELL: Final = frozenset("|&;<>$`()*")
# Paths below these folders are made by tools, or are of no concern.
_GENERATED: Final = frozenset(
    {"node_modules", "vendor", "target", "build", "dist", "out", "coverage"}
)


def needs_of_text(history: History, position: int, path: str, text: str) -> Iterator[Need]:
    """Yield the modules and packages that the imports of a text need and do not have."""
    root = tree_of(path, text)
    for each in imports_of(root) if root is not None else ():
        if not (each.is_erased or each.is_guarded or each.is_mocked):
            yield from _needs_of_import(history, position, path, each)


def _needs_of_import(
    history: History, position: int, path: str, each: ModuleImport
) -> Iterator[Need]:
    moment = history.at(position)
    target = resolve(moment, path, each.specifier)
    if target.kind is Kind.MISSING:
        remover = _remover(history, position, path, each.specifier)
        yield history.chain.unmet(
            position,
            lambda after: resolve(history.at(after), path, each.specifier).kind is Kind.FILE,
            "imports",
            missing_module(each.specifier, remover),
        )
    elif target.kind is Kind.PACKAGE and not _is_declared(moment, path, target.name):
        yield undeclared_package("imports", each.specifier, target.name)


def _remover(history: History, position: int, importer: str, specifier: str) -> str:
    """Return the name of the order that removes a module; "" if none does."""
    target = posixpath.normpath(posixpath.join(posixpath.dirname(importer), specifier))
    stem = posixpath.splitext(target)[0]
    removed = (path for path in history.chain.files.removed if path.startswith(stem))
    modules = (path for path in removed if posixpath.splitext(path)[0] in (target, stem))
    names = (history.chain.remover(path, position) for path in modules)
    return next(filter(None, names), "")


def _is_declared(moment: Moment, importer: str, package: str) -> bool:
    """Say whether a manifest or lock file may bring a package, or cannot be read."""
    if moment.is_blind or package in moment.chain.dependencies:
        return True
    # Files below a folder count for a workspace, whose packages the root may hold.
    for path in manifest_paths(importer):
        if not moment.has_file(path):
            continue
        manifest = read_manifest(path, moment.text(path))
        if manifest is None or package in manifest.packages:
            return True
    return (
        is_locked(package, moment.locks)
        or _is_declared_in_types(moment, package)
        or _is_alias(moment, package)
    )


def _is_alias(moment: Moment, package: str) -> bool:
    """Say whether the configuration of a bundler or a test runner may give the name a meaning."""
    word = re.compile(rf"['\"^/]{re.escape(package)}(?![\w-])|\b{re.escape(package)}['\"]?\s*:")
    texts = (moment.text(each) or "" for each in moment.paths if ".config." in each)
    manifest = moment.text(MANIFEST) or ""
    mapped = manifest.partition('"moduleNameMapper"')[2]
    return any(map(word.search, (*texts, mapped)))


def _is_declared_in_types(moment: Moment, package: str) -> bool:
    """Say whether a file of declarations of the repository declares the module itself."""
    files = (each for each in moment.paths if each.endswith(".d.ts"))
    return any(f'"{package}' in t or f"'{package}" in t for e in files if (t := moment.text(e)))


def needs_of_runs(
    history: History, position: int, runs: CommandRuns, depth: int = _MAX_SCRIPTS
) -> Iterator[Need]:
    """Yield what a command needs and does not have, the scripts that it runs included."""
    for package in runs.packages:
        if not _is_declared(history.at(position), "", package) and not is_builtin(package):
            yield undeclared_package("runs", package, package)
    for each in runs.required:
        yield from _needs_of_import(history, position, "", ModuleImport(each, 1))
    for run in runs.runs:
        yield from _needs_of_run(history, position, run, depth)


def _needs_of_run(history: History, position: int, run: Run, depth: int) -> Iterator[Need]:
    match run:
        case NodeCodeRun(text=text):
            yield from needs_of_text(history, position, question_path(typed=run.is_typed), text)
        case FileRun(path=path):
            yield from _path("runs", path, history, position)
        case CompilerRun(project=project) if project:
            yield from _path("names", project, history, position)
        case TestRun():
            yield from _needs_of_tests(history, position, run)
        case PackageScriptRun():
            yield from _needs_of_script(history, position, run, depth)
        case _:
            pass


def _path(verb: str, written: str, history: History, position: int) -> Iterator[Need]:
    """Yield a file or folder that is named and not there by then, if it is missing."""
    path = posixpath.normpath(written)
    is_outside = path.startswith(("/", ".", "-")) or not path
    if is_outside or _GENERATED.intersection(path.split("/")[:1]):
        return
    if not _is_there(path, history.at(position)):
        missing = missing_path(verb, path, history.chain.remover(path, position))
        yield history.chain.unmet(
            position, lambda after: _is_there(path, history.at(after)), verb, missing
        )


def _is_there(path: str, moment: Moment) -> bool:
    return bool(moment.has_file(path) or moment.has_folder(path) or find_module(moment, path))


def _needs_of_tests(history: History, position: int, run: TestRun) -> Iterator[Need]:
    """Yield the patterns of a test command that match no file, if that makes it fail."""
    chosen = chosen_files(run, history.at(position))
    if not chosen.is_known:
        return
    for pattern in chosen.unmatched:
        if run.runner in {Runner.NODE, Runner.MOCHA}:
            if not MAGIC.search(pattern):
                yield from _path("names", pattern, history, position)
            elif run.runner is Runner.MOCHA:
                yield missing_path("names", pattern)
            continue
        if chosen.files or run.passes_empty:
            continue  # the other patterns choose something, or nothing is fine

        def matches(after: int) -> bool:
            return not chosen_files(run, history.at(after)).unmatched

        yield history.chain.unmet(position, matches, "names", missing_path("names", pattern))


def _needs_of_script(
    history: History, position: int, run: PackageScriptRun, depth: int
) -> Iterator[Need]:
    moment = history.at(position)
    if moment.is_blind or not moment.has_file(MANIFEST):
        return  # without a manifest, the program is not to be had (E240)
    manifest = read_manifest(MANIFEST, moment.text(MANIFEST))
    if manifest is None:
        return
    if run.name not in manifest.scripts:
        # `npm start` runs server.js if the script is missing.
        if not run.may_lack and run.name not in {"start", "restart"}:
            message = f"runs the script {quoted(run.name)}, which {MANIFEST} does not have by then"
            yield Need("E241", f"script {run.name}", message)
        return
    inner = runs_of_script(manifest, run) if depth else None
    if inner is not None:
        bare = CommandRuns(inner.runs)  # the packages of a script are the project's own
        yield from needs_of_runs(history, position, bare, depth - 1)


def runs_of_script(manifest: PackageManifest, run: PackageScriptRun) -> CommandRuns | None:
    """Return what a script runs with its arguments; `None` if a shell is needed to know."""
    text = manifest.scripts.get(run.name, "")
    if _SHELL.intersection(text):
        return None
    try:
        words = shlex.split(text)
    except ValueError:
        return None
    while words and "=" in words[0]:
        words = words[1:]
    if words[:1] == ["cross-env"]:
        return None
    return read_command([*words, *run.arguments])


def weakness_of_runs(history: History, position: int, runs: CommandRuns) -> Weakness | None:
    """Return why a command can hardly fail by the files that are there, if they show a reason."""
    found = [_weakness(history, position, each, _MAX_SCRIPTS) for each in runs.runs]
    return found[0] if found and all(found) else None


def _weakness(history: History, position: int, run: Run, depth: int) -> Weakness | None:
    match run:
        case FileRun(only_parses=False, path=path):
            return _of_file(history, position, path)
        case TestRun():
            return weakness_of_run(run, history.at(position))
        case PackageScriptRun():
            return _of_script(history, position, run, depth)
        case _:
            # Within a script, the text counts as if it were the command's.
            return weakness_of_text(CommandRuns((run,))) if depth < _MAX_SCRIPTS else None


def _of_file(history: History, position: int, path: str) -> Weakness | None:
    """Return why a file that is run by itself proves little, where its text is known."""
    text = history.at(position).text(path)
    root = tree_of(path, text) if text is not None else None
    if root is None or find_fault(root) is not None or cases_of(root):
        return None
    found = weakness_of_code(root)
    return found if found is not None and found.code in {"W232", "W233"} else None


def _of_script(
    history: History, position: int, run: PackageScriptRun, depth: int
) -> Weakness | None:
    moment = history.at(position)
    manifest = read_manifest(MANIFEST, moment.text(MANIFEST))
    if manifest is None or moment.is_blind:
        return None
    if run.name not in manifest.scripts:
        message = f"does nothing: {MANIFEST} has no script {quoted(run.name)}"
        return Weakness("W232", message) if run.if_present else None
    inner = runs_of_script(manifest, run) if depth else None
    if inner is None or len(inner.runs) != 1:
        return None
    return _weakness(history, position, inner.runs[0], depth - 1)
