"""Judges the JavaScript or the TypeScript of plans."""

from __future__ import annotations

from dataclasses import dataclass

from shared.languages.capabilities.chain import Chain, ChainCode
from shared.languages.ecmascript.files import SUFFIXES, suffix_of


@dataclass(frozen=True, slots=True)
class EcmaPlans:
    """Implement `Plans` for the files of `suffixes`. One language reads the commands for both."""

    name: str
    suffixes: tuple[str, ...]
    reads_commands: bool

    @property
    def contracted(self) -> tuple[str, ...]:
        """Return the suffixes of the files that may have an interface, dots included."""
        return self.suffixes

    def has_names_to_declare(self, path: str) -> bool:
        """Return whether other files use the file at `path` by its names."""
        from shared.languages.ecmascript.chain_code import has_names_to_declare

        return has_names_to_declare(path)

    def is_test_file(self, path: str) -> bool:
        """Return whether test runners take the file for tests."""
        from shared.languages.ecmascript.files import is_test_file

        return is_test_file(path)

    def module_name(self, path: str) -> str:
        """Return the last part of the path without its suffix, as imports name the file."""
        name = path.rpartition("/")[2]
        return name.removesuffix(suffix_of(name))

    def read_chain(self, chain: Chain) -> ChainCode:
        """Return what answers for the files of `suffixes` on `chain`."""
        from shared.languages.ecmascript.chain_code import EcmaChain

        assert set(self.suffixes) <= set(SUFFIXES), "the suffixes are those of these languages"
        return EcmaChain(chain, self.name, self.suffixes, self.reads_commands)
