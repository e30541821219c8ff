"""Points out in Rust what a person would: functions without a body, and names that do not exist."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from shared.languages.capabilities.notes import Unwritten
from shared.languages.declared.model import Declared
from shared.languages.declared.notes import find_unwritten as find
from shared.languages.declared.notes import offer
from shared.languages.rust.planned import is_test_file
from shared.languages.rust.source import read_rust

_PLACEHOLDER: Final = re.compile(
    r"(?:todo|unimplemented)!\s*\(.*\)\s*;?"
    r'|panic!\s*\("[^"]*(?:not (?:yet )?implement|todo)[^"]*"\)\s*;?',
    re.IGNORECASE,
)
_CONSTANT: Final = re.compile(
    r"(?:return )?(?:true|false|None|-?\d[\w.]*|\"[^\"]*\"|String::new\(\)|Vec::new\(\)|vec!\[\]"
    r"|Default::default\(\)|Ok\(\(\)\)|\"[^\"]*\"\.to_string\(\))\s*;?"
)
_MISSING: Final = re.compile(
    r"error\[E04(?:25|12|32)\]: (?:cannot find (?P<kind>[a-z ]+) `(?P<name>\w{1,100})`"
    r"|unresolved import `(?P<path>[\w:]{1,300})`)"
)
_NO_MEMBER: Final = re.compile(
    r"error\[E0(?:599|609)\]: no (?:method|field|function or associated item|associated item"
    r"|variant[\w ,]*) (?:named )?`(?P<name>\w{1,100})` (?:found for|on) [\w ]*"
    r"`&?(?:mut )?(?P<type>\w{1,100})"
)
_MAX_NOTES: Final = 20
_MAX_BODY: Final = 200


def find_unwritten(path: str, before: str, after: str) -> tuple[Unwritten, ...]:
    """Return the functions of a file that have nothing in them; tests may be empty."""
    if is_test_file(path):
        return ()
    return find(path, read_rust(before), read_rust(after), _problem)


def _problem(item: Declared, body: str) -> tuple[str, bool] | None:
    if " for " in item.around and not body:
        return None  # a trait may ask for a function that has nothing to do
    if not body:
        return ("has no statements in its body", bool(item.result))
    if len(body) > _MAX_BODY:
        return None
    if _PLACEHOLDER.fullmatch(body):
        return (f"has only `{body[:60]}` for a body", True)
    has_parameters = not re.search(r"\(\s*(?:&?\s*(?:mut )?self)?\s*\)", item.opening)
    if has_parameters and _CONSTANT.fullmatch(body):
        return (f"has only `{body[:60]}` for a body, whatever it is given", False)
    return None


def note_errors(output: str, sources: Mapping[str, str], files: Iterable[str]) -> tuple[str, ...]:
    """Return a sentence for each error of the compiler about a name that does not exist."""
    known = {path: text for path, text in sources.items() if path.endswith(".rs")}
    notes: dict[str, None] = {}
    for pattern, note in ((_MISSING, _missing), (_NO_MEMBER, _no_member)):
        for number, found in enumerate(pattern.finditer(output)):
            if number == _MAX_NOTES:
                break
            notes.update(dict.fromkeys(note(found, known)))
    return tuple(notes)


def _missing(found: re.Match[str], known: Mapping[str, str]) -> Iterator[str]:
    name = found["name"] or found["path"].rpartition("::")[2]
    for path, text in known.items():
        for item in read_rust(text).items:
            if item.name == name:
                yield f"`{name}` is in {path}: `{item.head}`."
                return
    if found["path"] and "::" in found["path"]:
        module = found["path"].split("::")[-2]
        for path, text in known.items():
            if path.endswith((f"/{module}.rs", f"/{module}/mod.rs")):
                names = [e.name for e in read_rust(text).items if e.is_public and not e.owner]
                yield f"{path} has no `{name}`. {offer(name, names)}"
                return


def _no_member(found: re.Match[str], known: Mapping[str, str]) -> Iterator[str]:
    owner, name = found["type"], found["name"]
    members: set[str] = set()
    place = ""
    for path, text in known.items():
        for item in read_rust(text).items:
            if item.name == owner and item.kind == "type":
                place = path
                members |= set(item.members)
            elif item.owner == owner:
                members.add(item.last_name)
    if place and name not in members:
        yield f"The type `{owner}` in {place} has no `{name}`. {offer(name, members)}"
