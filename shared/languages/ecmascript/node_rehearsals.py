"""Says how to see whether a test runner of Node runs here before the code exists.

The command is run as it is, with tests in the place of the plan's that import nothing of the
project and pass, unless this Node lacks what the plan's import of it. They are written in the
plan's language and in its kind of modules.
"""

from __future__ import annotations

import itertools
import json
import posixpath
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from shared.languages.declared.declarations import text_of
from shared.languages.ecmascript import node_commands
from shared.languages.ecmascript.ecmascript_syntax import (
    MANIFEST,
    TYPED_SUFFIXES,
    is_builtin,
    is_code,
    is_test_file,
    manifest_paths,
    package_of,
    read_manifest,
    tree_of,
)
from shared.languages.ecmascript.imports import imports_of
from shared.languages.ecmascript.node_commands import Runner
from shared.languages.planned_code import REHEARSED, CannotRun, PlannedFiles, Rehearsal
from shared.languages.read_commands import Command, program_argv
from shared.processes.shell_words import UnsplittableError, split_words

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
_NOT_INSTALLED = re.compile(
    r"ENOTCACHED|could not determine executable|EAI_AGAIN|ENOTFOUND"
    r"|Cannot find (?:package|module) '"
)
_LACKS: Final = re.compile(r"No such built-in module|does not provide an export named")
_REQUIRES: Final = re.compile(r"(?:const|let|var)\s[^=()]*=\s*require\(['\"](node:[\w/]+)['\"]\)")
_OF_NODE: Final = re.compile(r"node:[\w/]+ [\w$]*(?<!node:test test)")
_PATH: Final = re.compile(r"[\w./-]*\.[A-Za-z]\w*")
_PACKAGE: Final = re.compile(r"(?:@[\w.-]+/)?\w[\w.-]*")
# npm runs a script in a shell, which puts other words in the place of these.
_EXPANDS: Final = re.compile(r"[*?\[{$~`\\]")
_LITERAL: Final = re.compile(r"'[^']*'|\"[^\"$`\\]*\"")
_MOST_TESTS: Final = 20
_MOST_PACKAGES: Final = 500  # words of one command
# Where `npx` finds packages and their programs: beside the files of the repo, or beside Node. The
# words after `--` are packages of the repo: one that is not installed may have any program.
_FIND: Final = """
const { existsSync } = require('node:fs');
const { join } = require('node:path');
const own = join(process.execPath, '../../lib');
const roots = ['.', own, '/usr/local/lib', '/usr/lib'].map((each) => join(each, 'node_modules'));
const places = [...roots, 'node_modules/.bin', join(process.execPath, '..')];
const missed = (each) => !places.some((place) => existsSync(join(place, each)));
const words = process.argv.slice(1);
const end = words.indexOf('--');
if (words.slice(end + 1).some(missed)) process.exit();
console.log(words.slice(0, end).filter(missed).join(' '));
"""
_RAN_NONE = re.compile(r"^\S tests 0$", re.MULTILINE)


# With one of these packages, tests in TypeScript run on a Node that reads none, or are compiled.
_RUN_TYPESCRIPT: Final = [
    "vitest", "tsx", "ts-node", "ts-jest", "@swc/jest", "@babel/preset-typescript", "tap", "next",
    "@swc-node/register", "esbuild-register", "jest-expo", "jest-preset-angular", "react-scripts",
    "typescript",
]  # fmt: skip
_VERSIONS: Final = """
const { existsSync, readdirSync } = require('node:fs');
const inside = (folder) => {
  try { return readdirSync(folder, { withFileTypes: true }); } catch { return []; }
};
const below = (folder) => inside(folder)
  .filter((each) => each.isDirectory() && !/^\\.|^node_modules$/.test(each.name))
  .map((each) => `${folder}/${each.name}`).slice(0, 100);
const places = ['.', ...below('.')].flatMap((each) => [each, ...below(each)]);
const roots = places.map((each) => `${each}/node_modules`).filter((each) => existsSync(each));
const found = (each) => roots.some((root) => existsSync(`${root}/${each}`));
const flag = '--experimental-strip-types';
const missed = process.argv.slice(1).filter((each) => !found(each));
let typed = 'no TypeScript: `node --test x.test.ts` fails';
if (!DECLARED && !RUNNERS.some(found)) typed += ', and no package is here that runs it';
if (process.features.typescript) typed = 'TypeScript files too, as they are';
else if (process.allowedNodeEnvironmentFlags.has(flag)) typed = `TypeScript files with ${flag}`;
const lacks = missed.length ? `; declared and not installed: ${missed.join(', ')}` : '';
console.log(`Node ${process.version}, which runs JavaScript and ${typed}${lacks}`);
"""


def version_argv(packages: Sequence[str], *, sees: bool = True) -> tuple[str, ...]:
    declared = json.dumps(any(each in _RUN_TYPESCRIPT for each in packages))
    code = _VERSIONS.replace("DECLARED", declared).replace("RUNNERS", json.dumps(_RUN_TYPESCRIPT))
    return ("node", "-e", code, *(packages if sees else ()))


def rehearsal(command: Command, planned: PlannedFiles) -> Rehearsal | None:
    """Return a run of the command on tests that pass, where it runs files of the plan.

    Of a package that an order may bring, it is only asked whether it is there.
    """
    words = program_argv(command)
    before = command.argv[: len(command.argv) - len(words)]
    if script := _script(words, planned):
        words, before = script, ()
    read = node_commands.read_command(words)
    if read is None or read.problem or len(read.runs) != 1:
        return None
    run, needed = read.runs[0], (*read.packages, *map(package_of, read.required))
    if "" in needed:
        return None  # a file of the project is loaded first
    renamed = _renamed(run, planned) if isinstance(run, node_commands.TestRun) else None
    if renamed is not None and _names_missing(words, renamed.files, planned):
        renamed = None
    if needed and (renamed is None or _is_configured_later(planned)):
        return _search(needed, planned)
    if renamed is None or not isinstance(run, node_commands.TestRun):
        return None
    title = next(iter(run.filters), "nothing")
    files = {new: _test(old, run.runner, title, planned) for old, new in renamed.files.items()}
    if run.runner is Runner.NODE and not needed:  # another package may drop unused imports
        files = {new: text + _loads(renamed, new, planned) for new, text in files.items()}
    files |= _packages(renamed.files, run.runner, planned)
    declared = _declares(planned, needed)

    def refusal(done: ToolResult) -> CannotRun | None:
        said = f"{done.stdout}\n{done.stderr}"
        if done.exit_code == 0 and run.runner is Runner.NODE and _RAN_NONE.search(said):
            return CannotRun("E402", "it ran no test")
        if done.exit_code in {0, None}:
            return None
        if needed and _NOT_INSTALLED.search(said):
            return None if declared else CannotRun("E402", _not_installed(needed[0]))
        return CannotRun("E403" if _LACKS.search(said) else "E402", _words(said))

    argv = (*before, *(renamed.words.get(each, each) for each in words))
    return Rehearsal(argv, files, refusal)


def _script(words: Sequence[str], planned: PlannedFiles) -> tuple[str, ...]:
    """Return what a script of the repo's manifest runs, where no order may change that."""
    read = node_commands.read_command(words)
    match read.runs if read is not None and not planned.may_write(MANIFEST) else ():
        case (node_commands.PackageScriptRun(name=name, arguments=arguments),):
            manifest = read_manifest(MANIFEST, planned.repo.get(MANIFEST))
        case _:
            return ()
    script = manifest.scripts.get(name, "") if manifest is not None else ""
    try:
        split = split_words(script)
    except UnsplittableError:
        return ()
    if split.operator or not split.texts or _EXPANDS.search(_LITERAL.sub("", script)):
        return ()
    npx = ("npx",) if split.texts[0] in node_commands.READERS else ()
    return (*npx, *split.texts, *arguments)


@dataclass(frozen=True, slots=True)
class _Renamed:
    """Hold the files whose places tests take, with the paths of these, and words to replace."""

    files: Mapping[str, str]
    words: Mapping[str, str]


def _renamed(run: node_commands.TestRun, planned: PlannedFiles) -> _Renamed | None:
    """Return where the tests of a run are; `None` where nothing can be learnt of them."""
    if run.only_lists:
        return None
    if run.patterns and all(is_code(each) and planned.has(each) for each in run.patterns):
        # The path does not matter to Node, so that one run can answer for many commands.
        is_free = run.runner is Runner.NODE
        paths = {each: _free(each, planned) if is_free else each for each in run.patterns}
        return _Renamed(paths, paths)
    if run.runner is not Runner.NODE or len(run.patterns) > 1:
        return None
    folder = next(iter(run.patterns), "").removeprefix("./")
    fixed = re.split(r"[*?\[{]", folder)[0]
    below = folder if fixed == folder else fixed.rpartition("/")[0]
    below = f"{below.rstrip('/')}/" if below not in {"", "."} else ""
    tests = [each for each in (*planned.tests, *sorted(planned.written)) if is_test_file(each)]
    own = [each for each in planned.listing if is_test_file(each)]
    if not below:  # Node looks everywhere, and would run the repo's own tests
        return (
            _Renamed({each: _alike(each) for each in tests[:_MOST_TESTS]}, {}) if not own else None
        )
    inside = [each for each in (*tests, *own) if each.startswith(below)]
    if not inside or (is_code(folder) and fixed == folder):
        return None
    places = {each: _alike(each) if fixed == folder else each for each in inside[:_MOST_TESTS]}
    moved = {old: f"{REHEARSED}/{new}" for old, new in places.items()}
    return _Renamed(moved, {run.patterns[0]: f"{REHEARSED}/{folder}"})


def _search(packages: Sequence[str], planned: PlannedFiles) -> Rehearsal | None:
    """Return a look for packages that only the user's answer would install, if for any."""
    brought = planned.may_write(MANIFEST)
    known = {*planned.dependencies, *(each for each in packages if _declares(planned, (each,)))}
    asked = [each for each in packages if each not in known and _PACKAGE.fullmatch(each)]
    if not asked or (brought and planned.installs):
        return None
    manifests = (read_manifest(each, planned.repo.get(each)) for each in _manifests(planned))
    own = {name for each in manifests if each is not None for name in each.packages}
    doubtful = sorted(own) if not node_commands.CERTAIN.issuperset(asked) else []
    if len(doubtful) > _MOST_PACKAGES:
        return None

    def refusal(done: ToolResult) -> CannotRun | None:
        missed = done.stdout.split() if done.exit_code == 0 else []
        return CannotRun("E402", _not_installed(missed[0], brought=brought)) if missed else None

    return Rehearsal(("node", "-e", _FIND, *asked, "--", *doubtful), {}, refusal)


def _not_installed(package: str, *, brought: bool = False) -> str:
    why = "only --deps auto would install it" if brought else f"{MANIFEST} has it not"
    return f"the package {package} is not installed, and {why}"


def _name(word: str) -> str:
    return word.rpartition("/")[2]


def _short(path: str) -> str:
    name = _name(path)
    return f"nothing{name[name.find('.') :]}"


def _free(path: str, planned: PlannedFiles) -> str:
    package = _nearest(path, planned).removesuffix(MANIFEST)
    return f"{REHEARSED}/{package}{_short(path)}" if package else _short(path)


def _alike(path: str) -> str:
    """Return a path that Node finds as it finds this one, so that one run answers for many."""
    folder, slash, name = path.rpartition("/")
    return f"{folder}{slash}{_short(path)}" if re.search(r"\.test\.\w+$", name) else path


def _is_configured_later(planned: PlannedFiles) -> bool:
    """Return whether orders bring what the runner needs, so that nothing can be learnt."""
    return planned.may_write(MANIFEST) or any(
        _CONFIGURES.fullmatch(posixpath.basename(path)) for path in planned.written
    )


def _names_missing(words: Sequence[str], tests: Collection[str], planned: PlannedFiles) -> bool:
    """Return whether an option names a file that is not there: an order or a person brings it."""
    values = [word.partition("=")[2] for word in words if word[:1] == "-"]
    pairs = itertools.pairwise(words)
    values += [word for option, word in pairs if option[:1] == "-" and "=" not in option]
    paths = {posixpath.normpath(each) for each in values if _PATH.fullmatch(each)}
    return not paths - {posixpath.normpath(each) for each in tests} <= planned.listing


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


def _loads(renamed: _Renamed, new: str, planned: PlannedFiles) -> str:
    """Return lines that load what the tests for which the one at `new` stands load of Node."""
    tests = [old for old, place in renamed.files.items() if place == new]
    loaded = sorted({each for test in tests for each in _loaded(test, planned)})
    if not _is_module(tests[-1], planned):
        return "".join(f"require('{module}');\n" for module in dict(loaded))
    return "".join(
        f"import {f'{{ {name} as own{number} }} from ' if name else ''}'{module}';\n"
        for number, (module, name) in enumerate(loaded)
    )


def _loaded(path: str, planned: PlannedFiles) -> Iterator[tuple[str, str]]:
    """Yield the modules of Node that a test of the plan always loads, with a name that it takes.

    The name is empty where the module is enough. What every version has is left out.
    """
    root = tree_of(path, planned.tests.get(path, ""))
    for node in root.named_children if root is not None else ():
        if node.type == "import_statement":
            found = [each for each in imports_of(node) if not each.is_erased]
            named = [(each.specifier, name) for each in found for name in each.names or ("",)]
        else:  # a name that is missing is no error here
            required = _REQUIRES.match(text_of(node))
            named = [(required[1], "")] if required else []
        for module, name in named:
            is_old = is_builtin(module.removeprefix("node:")) and name in {"", "default"}
            if not is_old and _OF_NODE.fullmatch(f"{module} {name}"):
                yield module, name


def _is_module(path: str, planned: PlannedFiles) -> bool:
    text = planned.tests.get(path) or (planned.repo.get(path) if path in planned.listing else None)
    if text is not None:
        return _IMPORTS.search(text) is not None
    return not path.endswith((".cjs", ".cts"))


def _nearest(path: str, planned: PlannedFiles) -> str:
    """Return the manifest that says the kind of modules of a file; "" if there is none."""
    return next(filter(planned.has, manifest_paths(path)), "")


def _packages(moved: Mapping[str, str], runner: Runner, planned: PlannedFiles) -> Mapping[str, str]:
    """Return the manifests for tests at their new places.

    One that an order may write may say what the tests need. Other runners than Node may read more
    of a manifest than the kind of modules.
    """
    found: dict[str, str] = {}
    for manifest in {_nearest(each, planned) for each in moved} - {""}:
        tests = [each for each in moved if _nearest(each, planned) == manifest]
        is_moved = manifest != MANIFEST and moved[tests[0]].startswith(f"{REHEARSED}/")
        place = f"{REHEARSED}/{manifest}" if is_moved else manifest
        is_listed = manifest in planned.listing
        if manifest in planned.written and (runner is Runner.NODE or not is_listed):
            are = all(_is_module(each, planned) or each[-4:-2] == ".c" for each in tests)
            found[place] = json.dumps({"private": True} | ({"type": "module"} if are else {}))
        elif is_moved:
            found[place] = planned.repo.get(manifest) or "{}"
    return found


def _manifests(planned: PlannedFiles) -> list[str]:
    return [each for each in planned.listing if _name(each) == MANIFEST]


def _declares(planned: PlannedFiles, packages: Collection[str]) -> bool:
    texts = [planned.repo.get(each) or "" for each in _manifests(planned)]
    return any(f'"{package}"' in text for text in texts for package in packages)


def _words(said: str) -> str:
    said = said.replace(f"{REHEARSED}/", "")
    lines = [line.strip().lstrip("# ").strip() for line in said.splitlines()]
    telling = (line for line in lines if _SAYS.search(line) and not line.startswith("at "))
    return next(telling, next(filter(None, lines), "it fails without a word"))
