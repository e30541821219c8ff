"""Files of a repo, given as texts: `None` stands for a file that cannot be read."""

from __future__ import annotations

from collections.abc import Sequence


class GivenFiles:
    """Offer texts by path, as `RepoFiles` does."""

    def __init__(self, texts: dict[str, str | None]) -> None:
        self._texts = texts

    @property
    def paths(self) -> Sequence[str]:
        return sorted(self._texts)

    def text(self, path: str) -> str | None:
        return self._texts.get(path)
