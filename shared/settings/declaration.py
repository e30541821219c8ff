"""Declares settings as fields, and lists the other variables and folders that are known.

The type checker sees an ordinary field of an ordinary dataclass, whose type is that of the reader
and of the default. The field's metadata holds everything else.

`llmch help environment` and `docs/settings.md` both show these texts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from typing import Any, Final, TypeVar, cast

from shared.settings.setting_values import Reader

PREFIX = "LLMCH_"

_DECLARED = "declared"

T = TypeVar("T")


class FlagGroup(StrEnum):
    """Name a group of flags; a verb has either all flags of a group or none of them."""

    PLANNER = "planner"
    PLAN_ALONE = "plan alone"
    REVIEW = "review"
    ATTEMPTS = "attempts"
    COMMANDS = "commands"
    SANDBOX = "sandbox"
    MODEL = "model"
    RECORD = "record"


class FlagKind(StrEnum):
    """Say how a flag is written."""

    VALUE = "--flag VALUE"
    LIST = "--flag VALUE, as often as needed"
    SWITCH = "--flag or --no-flag"


@dataclass(frozen=True, slots=True)
class Flag:
    """Describe the flag of a setting. `old` is a former spelling: it is read, and not listed."""

    option: str
    group: FlagGroup
    metavar: str | None = None
    kind: FlagKind = FlagKind.VALUE
    old: str = ""


@dataclass(frozen=True, slots=True)
class Key:
    """Describe a declared setting; the name of a setting in a table has a dot.

    A target repo's own config may not set a `guarded` key, with two exceptions: entries of a list
    whose last path component is in `harmless`, and a text in `harmless_words`. A higher layer
    overrules a lower one unless `merge` combines their values. A key that nobody sets has the
    value of the key named by `like`, where there is one and none of `unless` is set. The key named
    by `general` sets this one too: a value of this one counts more, but not against a flag of the
    other. A key that `costs` decides what calls of models cost: what a target repo's own config
    sets there is shown before the first call.
    """

    name: str
    read: Reader[object]
    default: object
    help: str
    default_words: str
    guarded: bool
    harmless: frozenset[str]
    harmless_words: frozenset[str]
    flag: Flag | None
    merge: Callable[[Any, Any], object] | None
    like: str
    unless: tuple[str, ...]
    general: str
    costs: bool

    @property
    def variable(self) -> str:
        return PREFIX + self.name.upper().replace(".", "_")

    @property
    def option(self) -> str:
        if self.flag:
            return self.flag.option
        return "--" + self.name.replace(".", "-").replace("_", "-")

    @property
    def choices(self) -> tuple[str, ...]:
        """Return the values among which a flag chooses; empty if others are allowed."""
        return tuple(getattr(self.read, "options", ()))

    @property
    def range(self) -> str:
        """Return the allowed values in words; empty if the reader has no bounds."""
        return str(getattr(self.read, "range", ""))


Keys = Mapping[str, Key]


def setting(
    read: Reader[T],
    default: T,
    help: str,  # noqa: A002  # as argparse calls it
    *,
    name: str = "",
    default_words: str = "",
    guarded: bool = False,
    harmless: frozenset[str] = frozenset(),
    harmless_words: frozenset[str] = frozenset(),
    flag: Flag | None = None,
    merge: Callable[[T, T], T] | None = None,
    like: str = "",
    unless: tuple[str, ...] = (),
    general: str = "",
    costs: bool = False,
) -> T:
    """Declare a setting as the field of a dataclass.

    Its name is that of the field, after the name of its table, unless `name` says another.
    `default_words` describes the default in `--help` and in the documentation, where the value
    itself does not.
    """
    key = Key(
        name=name,
        read=read,
        default=default,
        help=help,
        default_words=default_words or (f"as `{like}`" if like else _in_words(default)),
        guarded=guarded,
        harmless=harmless,
        harmless_words=harmless_words,
        flag=flag,
        merge=merge,
        like=like,
        unless=unless,
        general=general,
        costs=costs,
    )
    return field(default_factory=lambda: default, metadata={_DECLARED: key})


def _in_words(default: object) -> str:
    match default:
        case float():
            return f"{default:g}"
        case tuple():
            return ", ".join(map(str, default))
        case _:
            return str(default)


def table(kind: Callable[[], T]) -> T:
    return field(default_factory=kind, metadata={_DECLARED: kind})


def _declared(kind: type, table: str) -> Iterator[tuple[str, Key | type]]:
    """Yield the name of each field with its setting, or with the class of its table."""
    for each in fields(kind):
        declared = each.metadata[_DECLARED]
        if isinstance(declared, Key):
            declared = replace(declared, name=declared.name or table + each.name)
        yield each.name, declared


def keys_of(kind: type, table: str = "") -> Iterator[Key]:
    """Yield all settings that the dataclass `kind` and its tables declare, in their order."""
    for name, declared in _declared(kind, table):
        if isinstance(declared, Key):
            yield declared
        else:
            yield from keys_of(declared, f"{table}{name}.")


def fill(kind: Callable[..., T], value_of: Callable[[Key], object], table: str = "") -> T:
    """Return the dataclass `kind`, filled with the values of its settings."""
    values: dict[str, object] = {}
    for name, declared in _declared(cast(type, kind), table):
        if isinstance(declared, Key):
            values[name] = value_of(declared)
        else:
            values[name] = fill(declared, value_of, f"{table}{name}.")
    return kind(**values)


VARIABLES: Final = {
    "OPENAI_API_KEY": "the key for the model's server; a server on this machine needs none",
    "OPENAI_BASE_URL": "the model's server, where it is not OpenAI's own",
    "ANTHROPIC_API_KEY": "the key for Anthropic's server, with a model of Anthropic's in "
    "`LLMCH_MODEL`; `ANTHROPIC_AUTH_TOKEN` is a token in its place, as gateways want it",
    "ANTHROPIC_BASE_URL": "the server that speaks Anthropic Messages, where it is not Anthropic's",
    "GEMINI_API_KEY": "the key for Google's server, with a model of Google's in `LLMCH_MODEL`; so "
    "is `GOOGLE_API_KEY`",
    "GOOGLE_GEMINI_BASE_URL": "the server that speaks Gemini, where it is not Google's own",
    "LLMCH_CONFIG": "your own file of settings, in place of the `llmch.toml` beside the "
    "specification",
    "LLMCH_WORKSPACES": "the folder for working trees, in place of one in your cache folder",
    "LLMCH_TOOLS": "the folder for programs that `llmch doctor --fetch` fetches, in place of one "
    "in your cache folder",
    "LLMCH_DEBUG": "where it is not empty, a fault of llmch itself ends with its traceback",
    "LLMCH_TELEMETRY": "`on` draws commands as spans of OpenTelemetry, and `content` adds the "
    "texts of models",
    "NO_COLOR": "where it is not empty, nothing is coloured",
    "TERM": "where it is empty, `dumb` or `unknown`, a terminal gets plain lines",
    "SOURCE_DATE_EPOCH": "the date of commits, as seconds since 1970; equal replies on an equal "
    "base then give equal commit ids",
    "GIT_AUTHOR_NAME": "the author of commits, as for git; the setting `commit.author` counts more",
    "GIT_AUTHOR_EMAIL": "the author's address, as for git",
    "VIRTUAL_ENV": "the environment that you activated: `python` means its interpreter to "
    "commands, where the repo has none of its own and `--python` names none",
    "PATH": "where git is found, and the build tools that commands are shown",
    "JAVA_HOME": "the JDK that commands are shown",
    "RUSTUP_TOOLCHAIN": "the toolchain of Rust that commands get",
    "PYENV_VERSION": "the version of Python that pyenv gives to commands",
    "XDG_CACHE_HOME": "your cache folder (`~/.cache`)",
    "HOME": "where your cache folder and the managers of toolchains are",
    "GITHUB_ACTIONS": "where it is `true`, a run is reported in the file that GITHUB_STEP_SUMMARY "
    "names",
    "GITHUB_STEP_SUMMARY": "the summary of a job of GitHub Actions; GitHub sets it",
}
"""The meaning of each variable."""


@dataclass(frozen=True, slots=True)
class PackageFolder:
    """Name a folder of installed packages and the patterns of files that describe its content.

    The files lie beside the folder, or above it for a part of a larger project. `manifests` name
    the wanted packages; they count only without a lock file, which names the versions that
    were chosen. A folder whose name is used for other things too, `vendor`, needs one of the files.
    """

    name: str
    locks: tuple[str, ...]
    manifests: tuple[str, ...]
    needs_files: bool = False


_NODE = (
    (
        "package-lock.json",
        "npm-shrinkwrap.json",
        "pnpm-lock.yaml",
        "yarn.lock",
        "bun.lock",
        "bun.lockb",
    ),
    ("package.json",),
)
_PYTHON = (
    ("uv.lock", "poetry.lock", "pdm.lock", "Pipfile.lock", "pylock*.toml", "requirements*.txt"),
    ("pyproject.toml", "setup.cfg", "setup.py", "Pipfile"),
)

PACKAGE_FOLDERS = (
    PackageFolder("node_modules", *_NODE),
    PackageFolder(".venv", *_PYTHON),
    PackageFolder("venv", *_PYTHON),
    PackageFolder("__pypackages__", *_PYTHON),
    PackageFolder(
        "vendor",
        ("go.sum", "composer.lock", "Gemfile.lock"),
        ("go.mod", "composer.json", "Gemfile"),
        needs_files=True,
    ),
)
