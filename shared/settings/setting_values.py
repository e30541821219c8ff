"""Reads one configured value, or refuses it with a message.

The readers are written by hand, without pydantic: commands that never plan or run read the
settings too, and the import of pydantic alone would cost them 150 ms.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from pathlib import Path
from typing import Final, Generic, Literal, TypeAlias, TypeVar

from shared.errors import InvalidInput
from shared.files.paths import PathProblem, check_path, is_git_path
from shared.files.secret_values import is_model_variable, names_a_secret
from shared.git.repos import Identity, parse_identity
from shared.llm.usage import Price
from shared.processes.shell_words import ShellWords, UnsplittableError, is_too_long, split_words

T = TypeVar("T")

Reader = Callable[["RawValue"], T]


@dataclass(frozen=True, slots=True)
class RawValue:
    """Hold a value as it was written.

    `source` is the file, "environment" or "command line", and `name` is the value's name there. A
    relative path starts at `folder`. `as_text` is true for variables and flags, whose numbers and
    lists are written as text; in a file, a text is not a number.
    """

    value: object
    source: str
    name: str
    folder: Path
    as_text: bool = False
    of_repo: bool = False
    """Whether a target repo's own config has the value."""

    def refused(self, wanted: str) -> InvalidInput:
        return InvalidInput(
            f"{self.source}: {self.name} must be {wanted}, not {_shown(self.value)}",
            f"change {self.name} there, or remove it",
        )


def _shown(value: object) -> str:
    match value:
        case str():
            text = repr(value)
        case bool():
            text = str(value).lower()
        case dict():
            text = "a table"
        case list() | tuple():
            text = f"[{', '.join(_shown(each) for each in value[:5])}]"
        case int() if abs(value) >= 10**30:
            text = "a huge number"  # Python refuses to print very large numbers
        case _:
            text = str(value)
    return text if len(text) <= 80 else f"{text[:79]}…"


def read_texts(given: RawValue, separator: str) -> tuple[str, ...]:
    """Return the texts of a list, or the parts of a text; blank parts of a text are dropped."""
    match given.value:
        case str() if given.as_text:
            texts = [each.strip() for each in given.value.split(separator)]
            items: list[object] = [each for each in texts if each]
        case list() | tuple():
            items = list(given.value)
        case _:
            raise given.refused("a list of texts")
    found = []
    for item in items:
        if not (isinstance(item, str) and item.strip() and item.isprintable()):
            raise given.refused("a list of texts")
        found.append(item.strip())
    return tuple(found)


def read_commands(given: RawValue) -> tuple[str, ...]:
    """Return commands from a list, or from a text with one command on each line."""
    commands = read_texts(given, "\n")
    for command in commands:
        words = _split(command, given)
        if words.operator is not None:
            raise InvalidInput(
                f"{given.source}: {given.name} has {words.operator!r} in `{command}`, and no shell "
                "runs it",
                "give each command on its own, or write it as bash -c '...'",
            )
    return commands


def _split(command: str, given: RawValue) -> ShellWords:
    try:
        words = split_words(command)
    except UnsplittableError as error:
        raise InvalidInput(
            f"{given.source}: {given.name}: `{command}` {error}", "close the quote"
        ) from error
    if not words.texts[0] or any(map(is_too_long, words.texts)):
        raise given.refused("commands that can be started")
    return words


E = TypeVar("E", bound=StrEnum)

_EFFORT = re.compile(r"[a-z]{1,20}")


def read_text(given: RawValue) -> str:
    """Return one line of text."""
    value = given.value
    if isinstance(value, str) and value.strip() and value.isprintable():
        return value.strip()
    raise given.refused("a line of text")


@dataclass(frozen=True, slots=True)
class Choice(Generic[E]):
    """Read one of `options`."""

    options: type[E]

    def __call__(self, given: RawValue) -> E:
        found = next((each for each in self.options if each == given.value), None)
        if found is None:
            raise given.refused(f"one of {', '.join(self.options)}")
        return found

    @property
    def range(self) -> str:
        return ", ".join(f"`{each}`" for each in self.options)


def read_switch(given: RawValue) -> bool:
    """Return whether a switch is on."""
    if isinstance(given.value, bool):
        return given.value
    if given.as_text and given.value in ("true", "false"):
        return given.value == "true"
    raise given.refused("true or false")


def read_effort(given: RawValue) -> str:
    """Return a reasoning effort: any word such as `medium`, because servers know different ones."""
    text = read_text(given)
    if not _EFFORT.fullmatch(text):
        raise given.refused("a word such as low, medium or high")
    return text


def read_url(given: RawValue) -> str:
    """Return an http or https URL without credentials."""
    from urllib.parse import urlsplit

    text = read_text(given)
    try:
        parts = urlsplit(text)
        well_formed = parts.scheme in ("http", "https") and bool(parts.hostname)
        secret = parts.username is not None or parts.password is not None
        _ = parts.port  # raises where the text is not a port
    except ValueError:
        well_formed, secret = False, False
    if secret:
        # The message leaves the URL out, because the URL holds the secret.
        raise InvalidInput(
            f"{given.source}: {given.name} holds credentials", "put the key in OPENAI_API_KEY"
        )
    if not well_formed:
        raise given.refused("an http or https URL such as http://127.0.0.1:8080/v1")
    return text


_FIELD = re.compile(r"\{(?:order|title|id)\}")
_LONGEST_SUBJECT = 100


def read_author(given: RawValue) -> Identity:
    identity = parse_identity(given.value) if isinstance(given.value, str) else None
    if identity is None:
        raise given.refused("an author such as `Ada <ada@example.org>`")
    return identity


def read_subject(given: RawValue) -> str:
    """Return the form of a commit's subject: a word for a style, or a text with fields."""
    text = read_text(given)
    if text in ("repository", "conventional"):
        return text
    around, fields = _FIELD.subn("", text)
    if not fields or "{" in around or "}" in around or len(text) > _LONGEST_SUBJECT:
        raise given.refused(
            "`repository`, `conventional` or a short text with {order}, {title} or {id}"
        )
    return text


@dataclass(frozen=True, slots=True)
class DatabaseUrl:
    """Hold the URL of a PostgreSQL database. No text form of this value has the URL's secrets."""

    text: str = field(repr=False)

    def __str__(self) -> str:
        """Return where the database is and whom it knows: `fleet on db.example as ada`."""
        from urllib.parse import unquote, urlsplit

        parts = urlsplit(self.text)
        user = f" as {unquote(parts.username)}" if parts.username else ""
        place = f" on {parts.hostname}" if parts.hostname else ""
        port = f":{parts.port}" if parts.port else ""
        return f"{unquote(parts.path.strip('/')) or 'the default database'}{place}{port}{user}"


def read_database(given: RawValue) -> DatabaseUrl:
    """Return the URL of a PostgreSQL database. The error never repeats what was given."""
    from urllib.parse import urlsplit

    text = given.value.strip() if isinstance(given.value, str) else ""
    try:
        parts = urlsplit(text)
        named = parts.scheme in ("postgresql", "postgres") and text.isprintable()
        _ = parts.port  # raises where the text is not a port
    except ValueError:
        named = False
    if not named:
        raise InvalidInput(
            f"{given.source}: {given.name} is not the URL of a PostgreSQL database",
            "write it as postgresql://USER:PASSWORD@HOST/DATABASE?sslmode=verify-full",
        )
    return DatabaseUrl(text)


@dataclass(frozen=True, slots=True)
class WholeNumber:
    """Read a whole number from `low` to `high`."""

    low: int
    high: int

    def __call__(self, given: RawValue) -> int:
        number = _number(given)
        inside = number is not None and self.low <= number <= self.high
        if number is None or number != number.to_integral_value() or not inside:
            raise given.refused(f"a whole number from {self.low} to {self.high:,}")
        return int(number)

    @property
    def range(self) -> str:
        return f"{self.low} to {self.high:,}"


@dataclass(frozen=True, slots=True)
class Number:
    """Read a number from `low` to `high`."""

    low: float
    high: float

    def __call__(self, given: RawValue) -> float:
        number = _number(given)
        if number is None or not self.low <= number <= self.high:
            raise given.refused(f"a number from {self.range}")
        return float(number)

    @property
    def range(self) -> str:
        return f"{self.low:g} to {self.high:g}"


def read_share(given: RawValue) -> float:
    """Read a share of a whole: a number from 0 to 1, or a percentage such as `80%`."""
    text = given.value.strip() if isinstance(given.value, str) else ""
    is_percentage = text.endswith("%")
    number = _number(replace(given, value=text[:-1], as_text=True) if is_percentage else given)
    share = number / 100 if number is not None and is_percentage else number
    if share is None or not 0 <= share <= 1:
        raise given.refused("a number from 0 to 1, or a percentage such as 80%")
    return float(share)


@dataclass(frozen=True, slots=True)
class Clamped:
    """Read a whole number of any size; `clamp` brings it into bounds with a warning."""

    low: int
    high: int

    def __call__(self, given: RawValue) -> int:
        return WholeNumber(-(2**31), 2**31)(given)

    def clamp(self, number: int, name: str) -> tuple[int, str | None]:
        """Return `number` in bounds, and a warning where it was out of them.

        `name` names the setting in the warning.
        """
        clamped = min(max(number, self.low), self.high)
        if clamped == number:
            return number, None
        bounds = f"the limits are {self.low} and {self.high}"
        return clamped, f"{name} is {number}: {clamped} attempts are made, {bounds}"

    @property
    def range(self) -> str:
        return f"{self.low} to {self.high}"


def read_dollars(given: RawValue) -> Decimal:
    """Return an amount in US dollars, with exactly the digits that were written."""
    number = _number(given)
    if number is None or number < 0:
        raise given.refused("an amount in US dollars, 0 or more")
    return number


def _number(given: RawValue) -> Decimal | None:
    """Return the value as a finite number of at most 30 digits, or `None` if it is not one."""
    match given.value:
        case bool():
            return None
        case str() if not given.as_text:
            return None
        case int() | float() | Decimal() | str():
            try:
                number = Decimal(str(given.value).strip())
            except (InvalidOperation, ValueError):
                return None
            return number if number.is_finite() and number.adjusted() < 30 else None
        case _:
            return None


_WINDOW = WholeNumber(1, 100_000_000)


def read_prices(given: RawValue) -> Mapping[str, Price]:
    """Return prices by model, from tables of `input`, `cached_input`, `cache_write`, `output`."""
    if not isinstance(given.value, dict):
        raise given.refused("a table of models")
    return {name: _price(name, entry, given) for name, entry in given.value.items()}


def _price(model: str, entry: object, given: RawValue) -> Price:
    at = replace(given, value=entry, name=f"{given.name}.{model}")
    if not isinstance(entry, dict) or not {"input", "output"} <= entry.keys():
        raise at.refused("a table with input and output, in US dollars per million tokens")
    if unknown := entry.keys() - {"input", "cached_input", "cache_write", "output"}:
        raise InvalidInput(
            f"{given.source}: {at.name} has the unknown key {min(unknown)}",
            "a price has input, cached_input, cache_write and output",
        )
    figures = {
        part: read_dollars(replace(at, value=value, name=f"{at.name}.{part}"))
        for part, value in entry.items()
    }
    # Without a price for cached input, cached input costs as much as other input.
    return Price(**{"cached_input": figures["input"], **figures})


def read_windows(given: RawValue) -> Mapping[str, int]:
    """Return the windows of models, in tokens, from a table of whole numbers."""
    if not isinstance(given.value, dict):
        raise given.refused("a table of models")
    return {
        name: _WINDOW(replace(given, value=entry, name=f"{given.name}.{name}"))
        for name, entry in given.value.items()
    }


Proposer: TypeAlias = tuple[str, ...]
"""Who proposes: a name that llmch knows as its only word, or the words of a command."""

MODEL: Final = "model"
TOOLS: Final = "tools"
AGENTS: Final = ("codex", "opencode", "gemini", "mini", "aider")
"""The agents that llmch knows by name; any other one is given by the words of its command."""


def read_proposer(given: RawValue) -> tuple[Proposer, ...]:
    """Return who proposes from a name, or from the words of a command, as a list or as a text."""
    if isinstance(given.value, list | tuple):
        words = read_texts(given, " ")
        if not words:
            raise given.refused("a name or a command")
        return (words,)
    return (_proposer(read_text(given), given),)


def read_proposers(given: RawValue) -> tuple[Proposer, ...]:
    """Return who proposes on each attempt, from a list or from a text with commas."""
    return tuple(_proposer(each, given) for each in read_texts(given, ","))


def _proposer(text: str, given: RawValue) -> Proposer:
    words = tuple(_split(text, given).texts)
    if len(words) == 1 and "/" not in text and text not in (MODEL, TOOLS, *AGENTS):
        raise InvalidInput(
            f"{given.source}: {given.name} is {text!r}, which names none of "
            f"{', '.join((MODEL, TOOLS, *AGENTS))}",
            "give one of these names, or a command: a list of its words, or a text with a blank "
            "or a slash",
        )
    return words


_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PROGRAM = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*")
_PACKAGE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")


def read_ladder(given: RawValue) -> tuple[str, ...]:
    """Return names of models from a list, or from a text with commas: `small,large`."""
    names = read_texts(replace(given, as_text=True), ",")
    if not names:
        raise given.refused("the name of a model, or several with commas")
    return names


def read_model(given: RawValue) -> tuple[str, ...]:
    """Return a ladder of a single model."""
    names = read_ladder(given)
    if len(names) != 1:
        raise given.refused("one model: only the factory takes several")
    return names


def read_associations(given: RawValue) -> tuple[str, ...]:
    """Return what people may be to a repository, as GitHub calls it."""
    wanted = "some of owner, member, collaborator, contributor"
    return _matching(given, re.compile("owner|member|collaborator|contributor"), wanted)


def read_branches(given: RawValue) -> frozenset[str]:
    return frozenset(read_texts(given, ","))


def read_programs(given: RawValue) -> tuple[str, ...]:
    return _matching(given, _PROGRAM, "names of programs, without folders")


def read_packages(given: RawValue) -> tuple[str, ...]:
    return _matching(given, _PACKAGE, "names of packages, without versions")


def read_variables(given: RawValue) -> tuple[str, ...]:
    """Return names of environment variables; refuse those that may hold a secret or our keys."""
    names = _matching(given, _VARIABLE, "names of environment variables")
    for name in names:
        is_own = is_model_variable(name) or name.upper().startswith("LLMCH_")
        if is_own or names_a_secret(name):
            raise InvalidInput(
                f"{given.source}: {given.name} names {name}, which commands never get",
                f"remove {name} from it",
            )
    return names


def read_key_variable(given: RawValue) -> str:
    """Return the name of a variable that holds a key.

    Its name has to say so: what says so is kept from all that is started, and out of records. The
    value is not repeated, because it may be the key itself.
    """
    name = read_text(given)
    if not (_VARIABLE.fullmatch(name) and is_model_variable(name) and names_a_secret(name)):
        raise InvalidInput(
            f"{given.source}: {given.name} must be the name of a variable that holds a key, with "
            "API_KEY in it, such as GROQ_API_KEY",
            "put the key into such a variable, and its name here",
        )
    return name


def _matching(given: RawValue, pattern: re.Pattern[str], wanted: str) -> tuple[str, ...]:
    names = read_texts(given, ",")
    if not all(pattern.fullmatch(name) for name in names):
        raise given.refused(wanted)
    return names


Links: TypeAlias = tuple[str, ...] | Literal["auto"]


def read_path(given: RawValue) -> Path:
    """Return an absolute path; `~` is the home folder."""
    return _absolute(read_text(given), given)


def read_paths(given: RawValue) -> tuple[Path, ...]:
    """Return absolute paths from a list, or from a text with the separator of `PATH`."""
    return tuple(_absolute(each, given) for each in read_texts(given, os.pathsep))


def read_folders(given: RawValue) -> tuple[str, ...]:
    """Return folders inside the target repo, as normalised relative paths."""
    folders = []
    for text in read_texts(given, ","):
        try:
            folder = check_path(text.rstrip("/"))
        except PathProblem:
            folder = ""
        if not folder or is_git_path(folder):
            raise given.refused("folders inside the repo, such as .venv")
        folders.append(folder)
    return tuple(folders)


def read_links(given: RawValue) -> Links:
    """Return folders inside the target repo, or `auto`; `none` means no folder."""
    if given.value == "auto":
        return "auto"
    return () if given.value == "none" else read_folders(given)


def _absolute(text: str, given: RawValue) -> Path:
    try:
        return given.folder / Path(text).expanduser()
    except RuntimeError:  # `~name` names a user that does not exist
        raise given.refused("a path") from None
