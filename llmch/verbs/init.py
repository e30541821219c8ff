"""Implements `llmch init`: writes settings and a specification to begin with.

All lines are comments, so every default holds: what the repo's files say is found anew at each
run, and a value that was written down today would hide what they say later.

Pure. YAML and JSON give each requirement an id of its own. In a text, ids are derived from words.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shlex
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from importlib import resources
from pathlib import Path
from typing import Final

from factory.run.run_order import BaseTrial
from factory.run_flags import add_trial_arguments
from factory.workbench.dependencies import HELPS
from llmch.console import Console
from llmch.console.document import Block, Document, Outcome, Paragraph, Remark, Shape
from llmch.console.line import count, this_program
from llmch.entry import wiring
from llmch.entry.run_orders import tried_base
from planner.spec.read_spec import CONSTRAINTS, REQUIREMENTS, SUMMARY, read_spec
from planner.spec.spec_folders import find_spec_folder, whole_path
from shared.errors import EXIT_CODE_MEANINGS, InvalidInput, PreflightRefused
from shared.files import atomic_io
from shared.files.text_sources import RepoSources
from shared.git import refs, repos, trees
from shared.git.client import Git
from shared.llm.model_access import model_of_only_key
from shared.projects.build_tools import find_verification
from shared.projects.manifests import Project, VerifyCommand
from shared.projects.project_tools import find_ci_checks
from shared.settings.declaration import FlagGroup, Key
from shared.settings.loading import load_settings
from shared.settings.settings import KEYS, Settings

_CONFIG: Final = "llmch.toml"
_SKILL: Final = ".agents/skills/llmch/SKILL.md"
_DEPS: Final = " --deps auto"
_SPECS: Final = ("spec.yaml", "spec.yml", "spec.json", "spec.md", "spec.txt")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--repo", type=Path, default=Path(), metavar="DIR", help="the git repo (.)")
    parser.add_argument(
        "--spec", type=Path, metavar="FILE",
        help="the specification to begin: .yaml and .json have requirement ids of your own, all "
        "else is text (default: spec.yaml at the root of the repo, or the spec that is there)",
    )  # fmt: skip
    parser.add_argument(
        "--from", dest="kept_spec", type=Path, metavar="DIR",
        help="begin with the specification that spec-kit, OpenSpec or Kiro keeps in this folder, "
        "and write none",
    )  # fmt: skip
    parser.add_argument(
        "--agents", action="store_true",
        help="also write .agents/skills/llmch/SKILL.md, by which coding agents use llmch rightly",
    )  # fmt: skip
    add_trial_arguments(parser)


def execute(args: argparse.Namespace, console: Console) -> Outcome:
    """Write the files that are not there yet. The exit code is 0, also where all of them were."""
    cwd = Path.cwd()
    kept_spec = _kept_spec(args)
    place = look_at(kept_spec.root if kept_spec and args.repo == Path() else args.repo)
    spec = cwd / (args.spec or (kept_spec.path if kept_spec else _spec_in(place.root)))
    files = {place.root / _CONFIG: render_config(place)}
    if kept_spec is None:
        files[spec] = render_spec(place.name, spec.suffix)
    with contextlib.ExitStack() as around:
        if args.agents:
            skill = _place_of_skill(place.root)
            files[skill] = render_skill()
            around.enter_context(_folder_of(skill))
        written = atomic_io.write_new_files(files)
    kept = tuple(each for each in files if each not in written)
    base = None
    if place.git is GitState.READY and place.verify:
        settings = wiring.settings_for(args, console, repo=place.root)
        base = tried_base(args, console, place.root, settings)
    prepares = base is not None and HELPS in base.remedy and args.deps != "auto"
    flags = [*_passed_on(args), *([_DEPS] if prepares else [])]
    steps = tuple(_steps(place, spec, cwd, "".join(flags), kept_spec, prepares=prepares))
    if base and not base.ok and not prepares:
        steps = ("make the base green, as said above", *steps)
    if model := _model_to_name(place.root):
        steps = (f"export LLMCH_MODEL={model}", *steps)
    return Outcome(InitDocument(place, written, kept, steps, cwd, base, kept_spec))


@dataclass(frozen=True, slots=True)
class KeptSpec:
    """Hold a specification that another tool keeps: its folder, its project, and what is in it."""

    path: Path
    root: Path
    kind: str
    requirements: int
    has_tasks: bool


def _kept_spec(args: argparse.Namespace) -> KeptSpec | None:
    """Return the specification of `--from`. Raises `InvalidInput` where it cannot be planned."""
    if args.kept_spec is None:
        return None
    if args.spec is not None:
        raise InvalidInput(
            "--spec begins a specification, and --from takes one that is there", "give one of them"
        )
    if not args.kept_spec.is_dir():
        raise InvalidInput(f"--from {args.kept_spec}: no such folder", "name the spec's folder")
    folder, spec = find_spec_folder(args.kept_spec), read_spec(args.kept_spec)
    has_tasks = folder.tasks is not None and folder.tasks.is_file()
    return KeptSpec(
        whole_path(spec.path), folder.root, folder.kind, len(spec.requirements), has_tasks
    )


def _place_of_skill(root: Path) -> Path:
    """Return where agents look for a skill. Raises `InvalidInput` where a link leads elsewhere."""
    path = root / _SKILL
    if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root)):
        raise InvalidInput(f"{path} leads out of the repo by a link", "remove the link")
    return path


@contextlib.contextmanager
def _folder_of(file: Path) -> Iterator[None]:
    """Make the folder of a file that is about to be written; without the file, it goes again."""
    made = [each for each in file.parents if not os.path.lexists(each)]
    with contextlib.suppress(OSError):  # the file is then refused, in words
        file.parent.mkdir(parents=True, exist_ok=True)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):  # a folder that has a file stays
            for each in made:
                each.rmdir()


def render_skill() -> str:
    """Return the instructions for agents, with the exit codes of this version."""
    codes = "\n".join(f"- {code.value}: {meaning}" for code, meaning in EXIT_CODE_MEANINGS.items())
    text = resources.files(__package__).joinpath("SKILL.md").read_text("utf-8")
    return text.replace("{{EXIT_CODES}}", codes)


def _model_to_name(root: Path) -> str:
    """Return a model of the only vendor whose key is set, where none is configured."""
    model = model_of_only_key(os.environ)
    with contextlib.suppress(InvalidInput):  # a later command says what is wrong with a setting
        settings = load_settings(cwd=Path.cwd(), repo=root).settings if model else Settings()
        usual = Settings()
        if (settings.planner.ladder, settings.factory.ladder) == (
            usual.planner.ladder, usual.factory.ladder
        ):  # fmt: skip
            return model
    return ""


def _passed_on(args: argparse.Namespace) -> Iterator[str]:
    """Yield what a run needs of the flags with which the base was tried."""
    if args.deps == "auto":
        yield _DEPS
    for key in KEYS.values():
        if key.flag and key.flag.group is FlagGroup.SANDBOX:
            given = getattr(args, key.name) or ()
            for each in (given,) if isinstance(given, str) else given:
                yield f" {key.flag.option} {shlex.quote(str(each))}"


def _spec_in(root: Path) -> Path:
    """Return the spec that is at the root already, or the path of a new one."""
    places = [root / each for each in _SPECS]
    return next((each for each in places if os.path.lexists(each)), places[0])


_MOST_FILES: Final = 5000  # that are looked at in a folder without git
_DEEPEST: Final = 3
_SKIPPED: Final = frozenset({"node_modules", "venv", "target", "build", "dist", "__pycache__"})
_INTERPRETERS: Final = (".venv/bin/python", "venv/bin/python")


class GitState(StrEnum):
    """Say how far a folder is from a repo that orders can be run on."""

    NONE = "none"
    NO_COMMIT = "no commit"
    READY = "ready"


@dataclass(frozen=True, slots=True)
class TargetFolder:
    """Hold the folder to write to, and what is known of it.

    `root` is absolute: the root of the working tree, or the folder itself without git.
    `verify` is what the files say of how the repo is verified, and `notes` tell a person more in
    sentences. `interpreter` is the Python of a virtual environment, relative to `root`, or "".
    """

    root: Path
    git: GitState
    projects: tuple[Project, ...] = ()
    verify: tuple[VerifyCommand, ...] = ()
    notes: tuple[str, ...] = ()
    interpreter: str = ""
    checks: tuple[VerifyCommand, ...] = ()
    """What the repo's CI runs beside its tests, which verifies nothing unless it is set."""

    @property
    def name(self) -> str:
        """Return the product's name: that of the first project which has one, or the folder's."""
        return next((each.name for each in self.projects if each.name), self.root.name)


def look_at(folder: Path) -> TargetFolder:
    """Return what is known of `folder`, without changing anything or running any of its code.

    Raises `InvalidInput` if it is not a folder, and `PreflightRefused` inside a bare repo or
    git's own folder.
    """
    if not folder.is_dir():
        raise InvalidInput(f"--repo {folder}: no such folder", "make it first, or name another one")
    git = Git(folder.resolve())
    layout = repos.layout(git)
    if layout is None:
        if repos.is_inside_git(git):
            raise PreflightRefused(
                f"{folder.resolve()} is a bare repo or git's own folder",
                "clone the repo, and run `llmch init` in the clone",
            )
        return _described(git.folder, GitState.NONE, tuple(_files_below(git.folder)))
    git = git.at(layout[0])
    if refs.commit_of(git, "HEAD"):
        return _described(layout[0], GitState.READY, trees.tracked_files(git))
    return _described(layout[0], GitState.NO_COMMIT, trees.files_not_ignored(git))


def _described(root: Path, git: GitState, files: tuple[str, ...]) -> TargetFolder:
    sources = RepoSources(root, files)
    found = find_verification(sources)
    verify = found.commands if found.is_known else ()
    named = {each.text for each in verify}
    checks = tuple(each for each in find_ci_checks(sources) if each.text not in named)
    there = (each for each in _INTERPRETERS if (root / each).is_file())
    return TargetFolder(root, git, found.projects, verify, found.notes, next(there, ""), checks)


def _files_below(root: Path) -> Iterator[str]:
    """Yield the first files of a folder that git does not know, relative to it."""
    left = _MOST_FILES
    for folder, folders, names in os.walk(root):
        inner = Path(folder).relative_to(root)
        depth = len(inner.parts)
        folders[:] = [
            each
            for each in folders
            if depth < _DEEPEST and each not in _SKIPPED and not each.startswith(".")
        ]
        for name in names[:left]:
            yield str(inner / name)
        left -= len(names)
        if left <= 0:
            return


def as_seen(path: Path, cwd: Path) -> str:
    """Return `path` relative to `cwd` where it is near, else absolute."""
    relative = os.path.relpath(path, cwd)
    return str(path) if relative.startswith("../../..") else relative


def _steps(
    place: TargetFolder,
    spec: Path,
    cwd: Path,
    flags: str,
    kept_spec: KeptSpec | None = None,
    *,
    prepares: bool,
) -> Iterator[str]:
    """Yield the steps from here to verified commits; paths are written as seen from `cwd`."""
    here = Path(os.path.realpath(cwd)).is_relative_to(os.path.realpath(place.root))
    git = "git" if here else f"git -C {_word(place.root, cwd)}"
    repo = "" if here else f" --repo {_word(place.root, cwd)}"
    plan = _word(place.root.parent / f"{place.root.name}-plan", cwd)
    if place.git is GitState.NONE:
        yield f"{git} init"
    program = this_program()
    if prepares:
        yield f"{program} init{repo} --base{flags}"
    if kept_spec is None:
        yield f"edit {_word(spec, cwd)}"
    if place.git is not GitState.READY:  # files that git does not track stop no run
        yield f"{git} add -A && {git} commit -m start"
    yield f"{program} plan --spec {_word(spec, cwd)}{repo} --outdir {plan}"
    yield f"{program} run-all{repo} --workdir {plan}{flags}"
    if kept_spec is not None and kept_spec.has_tasks:
        yield f"{program} report --coverage {plan}{repo} --tick {_word(spec, cwd)}"


def _word(path: Path, cwd: Path) -> str:
    return shlex.quote(as_seen(path, cwd))


_CI_CHECKS = "they verify orders as well if you remove the # before `verify` in {}"
_NO_VERIFY = "nothing that llmch knows says how this repo is verified"


_COMMAND = Shape("command=text", "origin")


@dataclass(frozen=True, slots=True)
class InitDocument(Document):
    """Represent the answer of `init`: what was found, written and kept, and the next steps."""

    shape = Shape(
        "ok",
        "root=place.root",
        "git=place.git",
        "written",
        "kept",
        "projects=place.projects",
        "verify=place.verify",
        "checks=place.checks",
        "notes=place.notes",
        "next=steps",
        "base",
        "spec=kept_spec",
        spec=Shape("path", "kind", "requirements"),
        base=Shape("ok", "commit?", "tests", "detail", "remedy?"),
        projects=Shape("tool", "manifest", "name"),
        verify=_COMMAND,
        checks=_COMMAND,
    )

    place: TargetFolder
    written: tuple[Path, ...]
    kept: tuple[Path, ...]
    steps: tuple[str, ...]
    cwd: Path
    base: BaseTrial | None = None
    kept_spec: KeptSpec | None = None
    ok: bool = True

    def blocks(self) -> Iterator[Block]:
        yield Remark(tuple(self._found()))
        files = [f"wrote     {as_seen(each, self.cwd)}" for each in self.written]
        files += [f"kept      {as_seen(each, self.cwd)}  (it was there)" for each in self.kept]
        yield Paragraph(tuple(files))
        if self.base:
            mark = "base      " if self.base.ok else "base red  "
            remedy = (f"          {line}" for line in (self.base.remedy or "").splitlines())
            yield Remark((f"{mark}{self.base.detail}", *remedy))
        yield Remark(("next:", *(f"  {each}" for each in self.steps)))

    def _found(self) -> Iterator[str]:
        place = self.place
        yield f"folder    {place.root}{_GIT_WORDS[place.git]}"
        if spec := self.kept_spec:
            named = as_seen(spec.path, self.cwd)
            yield f"spec      {named}  ({spec.kind}, {count(spec.requirements, 'requirement')})"
        for project in place.projects:
            yield f"found     {project.tool}  ({project.manifest})"
        for each in place.verify:
            yield f"verify    {each.text}  ({each.origin})"
        if not place.verify:
            yield f"verify    {_NO_VERIFY}"
        for each in place.checks:
            yield f"CI runs   {each.text}  ({each.origin})"
        if place.checks:
            yield f"          {_CI_CHECKS.format(_CONFIG)}"
        for note in place.notes:
            yield f"note      {note}"


_GIT_WORDS = {
    GitState.NONE: "  (not a git repo)",
    GitState.NO_COMMIT: "  (a git repo without a commit)",
    GitState.READY: "",
}


def one_line(text: str) -> str:
    """Return `text` without anything that could end the line or that nobody sees."""
    return "".join(each if each.isprintable() else " " for each in text).strip()


def quoted(text: str) -> str:
    """Return the printable part of `text` in double quotes, as TOML, YAML and JSON read it."""
    return json.dumps(one_line(text), ensure_ascii=False)


_WIDTH: Final = 96
_SHOWN: Final = (
    "verify", "timeout_seconds", "max_cost", "protected_branches", "programs", "dependencies",
    "model", "planner.model", "factory.model", "factory.attempts", "commit.subject",
)  # fmt: skip
# For settings whose default is nothing that could be written down.
_EXAMPLES: Final[Mapping[str, object]] = {"max_cost": 2.5, "model": "gpt-5.2"}


def render_config(place: TargetFolder) -> str:
    """Return a text of comments: what was found, and settings with their defaults."""
    parts = ["\n".join(_head(place)), *(_setting(key, place) for key in _shown_keys())]
    return "\n\n".join([*parts, "\n".join(_tail(place))]) + "\n"


def _shown_keys() -> Iterator[Key]:
    return (KEYS[name] for name in _SHOWN if name in KEYS and not KEYS[name].guarded)


def _head(place: TargetFolder) -> Iterator[str]:
    yield from _comment("Settings of llmch for this repo. All lines are comments: defaults hold.")
    yield from _comment("To set a value, remove the # before its line.")
    yield "#"
    yield from _comment(
        "When this file was made, the files of the repo said this. They are read again at each "
        "run, so nothing here has to follow them."
    )
    projects = [f"{each.tool} ({each.manifest})" for each in place.projects]
    yield f"#   built with   {one_line(', '.join(projects)) or 'no manifest that llmch reads'}"
    for each in place.verify:
        yield f"#   verified by  {one_line(each.text)}  ({one_line(each.origin)})"
    if not place.verify:
        yield "#   verified by  no command that llmch knows"
    for each in place.checks:
        yield f"#   CI runs      {one_line(each.text)}  ({one_line(each.origin)})"
    for note in place.notes:
        yield from _comment(one_line(note), "#   note         ", "#                ")


def _setting(key: Key, place: TargetFolder) -> str:
    value, help_text = key.default, key.help
    if key.name == "verify":
        value = [each.text for each in (*place.verify, *place.checks)]
        help_text += ". This is what was found, with what CI runs" if place.checks else ""
    shown = _EXAMPLES.get(key.name, value)
    return "\n".join([*_comment(help_text), f"# {key.name} = {_toml(shown)}"])


def _tail(place: TargetFolder) -> Iterator[str]:
    refused = ", ".join(name for name, key in KEYS.items() if _is_refused(key) and "." not in name)
    yield from _comment(
        f"This file can come with a clone, so it cannot set {refused}, base_url and the "
        "sandbox. Set these by a flag, an LLMCH_ variable, or a file of your own that "
        "LLMCH_CONFIG names."
    )
    if place.interpreter:
        yield from _comment(f"A Python of this repo's own is there: --python {place.interpreter}")


def _is_refused(key: Key) -> bool:
    return key.guarded and not key.harmless_words


def _comment(text: str, first: str = "# ", others: str = "# ") -> Iterable[str]:
    return textwrap.wrap(
        text,
        _WIDTH,
        initial_indent=first,
        subsequent_indent=others,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _toml(value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case int() | float():
            return f"{value:g}"
        case frozenset():
            return _toml(sorted(value))
        case tuple() | list():
            return f"[{', '.join(map(_toml, value))}]"
        case _:
            return quoted(str(value))


_MAX_NAME: Final = 100
_REQUIREMENTS: Final = {f"REQ-{number}": text for number, text in enumerate(REQUIREMENTS, 1)}


def render_spec(name: str, suffix: str) -> str:
    """Return a specification of the product `name`, with words to be replaced by one's own."""
    title = one_line(name)[:_MAX_NAME].strip() or "product"
    match suffix.lower():
        case ".yaml" | ".yml":
            return _yaml(title)
        case ".json":
            return _json(title)
        case _:
            return _markdown(title)


def _yaml(title: str) -> str:
    entries = (f"  - id: {each}\n    text: {quoted(text)}" for each, text in _REQUIREMENTS.items())
    return "\n".join(
        [
            "# What is to be built. Replace the words in quotes with your own.",
            f"name: {quoted(title)}",
            f"summary: {quoted(SUMMARY)}",
            "",
            "# Orders and commits name these ids. An id stays the same when its text changes.",
            "requirements:",
            *entries,
            "",
            "# This list can be left out.",
            "constraints:",
            *(f"  - {quoted(each)}" for each in CONSTRAINTS),
            "",
        ]
    )


def _json(title: str) -> str:
    document = {
        "name": title,
        "summary": SUMMARY,
        "requirements": [{"id": each, "text": text} for each, text in _REQUIREMENTS.items()],
        "constraints": list(CONSTRAINTS),
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _markdown(title: str) -> str:
    parts = [f"# {title}", SUMMARY]
    parts += ["## Requirements", "\n".join(f"- {each}" for each in _REQUIREMENTS.values())]
    parts += ["## Constraints", "\n".join(f"- {each}" for each in CONSTRAINTS)]
    return "\n\n".join(parts) + "\n"
