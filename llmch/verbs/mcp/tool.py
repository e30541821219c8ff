"""Describes a tool: what a client may ask it for, and how that becomes the words of a verb."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from llmch.verbs.mcp.grant import Grant
from shared.errors import InvalidInput

_MOST_FAULTS = 5
_MOST_SHOWN = 80  # characters of a name that a client made up


# No name of a file, a branch or a commit has a control character.
Text = Annotated[str, Field(min_length=1, max_length=1000, pattern=r"^[^\x00-\x1f\x7f]+$")]
PathText = Annotated[str, Field(min_length=1, max_length=4000, pattern=r"^[^\x00-\x1f\x7f]+$")]


class Asked(BaseModel):
    """Hold what is common to all tools: unknown parameters and other types are refused."""

    model_config = ConfigDict(extra="forbid", strict=True)

    repo: PathText | None = Field(None, description="the git repo (default: the first)")


Words = Iterator[str]


@dataclass(frozen=True, slots=True)
class Place:
    """Hold the repo of a call, and find the files that the client names."""

    grant: Grant
    repo: Path

    def plan(self, name: str) -> str:
        """Return the folder of a plan."""
        return str(self.grant.readable(self.repo, "plan", name))

    def spec(self, name: str) -> str:
        """Return the path of a specification."""
        return str(self.grant.readable(self.repo, "spec", name))

    def new_plan(self, name: str) -> str:
        """Return a folder that a plan may be saved to."""
        return str(self.grant.writable(self.repo, "save_to", name))


@dataclass(frozen=True, slots=True)
class Tool:
    """Describe a tool: the verb that answers, its parameters, and what its document always has.

    One that `pays` may ask a model; one that `writes` may change a repo or make files.
    """

    verb: str
    title: str
    description: str
    asked: type[Asked]
    words: Callable[[Any, Place], Words]
    keys: tuple[str, ...]
    pays: bool = False
    writes: bool = False

    @property
    def name(self) -> str:
        """Return the name by which a client calls the tool."""
        return self.verb.replace("-", "_")

    def input_schema(self, grant: Grant) -> dict[str, Any]:
        """Return the JSON schema of the parameters; it names the repos that there are."""
        schema = self.asked.model_json_schema()
        properties = {name: _plain(each) for name, each in schema["properties"].items()}
        properties["repo"] = {
            "type": "string",
            "enum": [str(each) for each in grant.repos],
            "default": str(grant.repos[0]),
            "description": "the git repo",
        }
        return {
            "type": "object",
            "properties": properties,
            "required": schema.get("required", []),
            "additionalProperties": False,
        }

    def output_schema(self) -> dict[str, Any]:
        """Return the JSON schema of the document: more keys may come, none of these goes."""
        return {"type": "object", "required": list(self.keys)}

    def command(self, parameters: Mapping[str, Any], grant: Grant) -> tuple[Path, tuple[str, ...]]:
        """Return the repo and the verb's words. Raises `InvalidInput`, which names the faults."""
        asked = _parse(self.asked, self.name, parameters)
        place = Place(grant, grant.repo(asked.repo))
        own = tuple(self.words(asked, place))
        common = (self.verb, "--json", f"--repo={place.repo}", *grant.options[self.verb])
        return place.repo, (*common, *own)


def _plain(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a parameter as many clients need it: without a union with null."""
    described = {**schema, **schema.get("anyOf", [{}])[0]}
    left_out = {"anyOf", "title", *(["default"] if schema.get("default") is None else ())}
    return {key: value for key, value in described.items() if key not in left_out}


def _parse(kind: type[Asked], tool: str, parameters: Mapping[str, Any]) -> Asked:
    try:
        return kind.model_validate(parameters)
    except ValidationError as error:
        faults = [_fault(each["loc"], each["msg"], each["type"]) for each in error.errors()]
        more = "; ..." if len(faults) > _MOST_FAULTS else ""
        raise InvalidInput(
            f"{tool}: {'; '.join(faults[:_MOST_FAULTS])}{more}",
            f"its parameters are {', '.join(kind.model_fields)}",
        ) from None


def _fault(where: tuple[int | str, ...], message: str, kind: str) -> str:
    name = ".".join(str(each)[:_MOST_SHOWN] for each in where)
    return f"{name!r} is not a parameter" if kind == "extra_forbidden" else f"{name}: {message}"
