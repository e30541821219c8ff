"""Reads a product specification: plain text and Markdown as is, YAML and JSON by their form."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from planner.spec.placeholders import find_placeholders
from planner.spec.requirements import Requirement, derive_requirements
from shared.errors import InvalidInput
from shared.files.text_input import read_text_input

if TYPE_CHECKING:
    from planner.spec.document import SpecDocument

MAX_TITLE = 80  # characters; a title is one line on a terminal


@dataclass(frozen=True, slots=True)
class Spec:
    """Represent a specification of what is to be built.

    `text` is the text that the model gets. `sha256` is the hash of the file's bytes. Each of
    `requirements` says whether its id is the author's.
    """

    path: Path
    title: str
    text: str
    sha256: str
    requirements: tuple[Requirement, ...] = ()

    @property
    def ids_given(self) -> bool:
        """Say whether there are requirements and all their ids are the author's."""
        return bool(self.requirements) and all(each.given for each in self.requirements)


def read_spec(path: Path) -> Spec:
    """Return the spec at `path`; `.yaml`, `.yml` and `.json` have a form, all else is text.

    Raises `InvalidInput` where the file is missing, unreadable, not a regular file, over 1 MB, not
    UTF-8 or blank, departs from the form, gives an id twice, or still has words that `llmch init`
    wrote.
    """
    spec = _read(path)
    left = list(find_placeholders(spec.text))
    if left:
        raise InvalidInput(
            f"spec {path} still has words that `llmch init` wrote: {left[0]!r}",
            "write your own in their place, or remove what you do not need"
            + (f" ({len(left)} such sentences are left)" if len(left) > 1 else ""),
        )
    return spec


def _read(path: Path) -> Spec:
    source = read_text_input(path, "spec")
    if not source.text.strip():
        state = "holds only white space" if source.text else "is empty"
        raise InvalidInput(f"spec {path} {state}", "describe the product in it")
    document = _structured(source.text, path)
    if document is None:
        derived = derive_requirements(source.text, f"spec {path}")
        return Spec(path, _title(source.text, path), source.text, source.sha256, derived)
    requirements = tuple(
        Requirement(entry.id, entry.text.strip(), given=True) for entry in document.requirements
    )
    text = render_document(document)
    return Spec(path, _title(document.name, path), text, source.sha256, requirements)


def render_document(document: SpecDocument) -> str:
    """Return a structured spec as Markdown. The text depends on its values, not on its syntax."""
    parts = [f"# {' '.join(document.name.split())}", document.summary.strip(), "## Requirements"]
    parts.append("\n".join(_item(f"{each.id}: {each.text}") for each in document.requirements))
    if document.constraints:
        parts += ["## Constraints", "\n".join(_item(each) for each in document.constraints)]
    return "\n\n".join(parts) + "\n"


def _structured(text: str, path: Path) -> SpecDocument | None:
    named = f"spec {path}"
    match path.suffix.lower():
        case ".yaml" | ".yml":
            from planner.spec.document import parse_spec_document
            from planner.spec.syntax import parse_spec_yaml

            return parse_spec_document(parse_spec_yaml(text, named), named)
        case ".json":
            from planner.spec.document import parse_spec_document
            from planner.spec.syntax import parse_spec_json

            return parse_spec_document(parse_spec_json(text, named), named)
        case _:
            return None


def _item(text: str) -> str:
    # Further lines are indented, so that a heading inside an entry stays inside its entry.
    return "- " + "\n  ".join(line.rstrip() for line in text.strip().splitlines())


def _title(text: str, path: Path) -> str:
    """Return the first line with a letter or digit, without heading marks and control characters.

    Return the file's name, without its suffix, where the text has no such line.
    """
    for line in text.splitlines():
        if any(character.isalnum() for character in line):
            bare = line.strip().strip("#").strip()
            return "".join(each for each in bare if each.isprintable())[:MAX_TITLE].rstrip()
    return path.stem
