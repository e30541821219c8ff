"""Defines what a language shows of the rules that it decides: wrong and right plans."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from shared.rule_text import Example

_FILE: Final = "EXAMPLES.toml"


@dataclass(frozen=True, slots=True)
class Examples:
    """Say where a language's examples of rules stand: `package` has the file `EXAMPLES.toml`."""

    package: str

    def read(self) -> Mapping[str, Example]:
        """Return the language's example of each rule that it decides, by the rule's code."""
        import tomllib
        from importlib import resources

        text = resources.files(self.package).joinpath(_FILE).read_text("utf-8")
        return {
            code: Example(each["bad"].strip(), each["good"].strip())
            for code, each in tomllib.loads(text).items()
        }
