"""Defines how the texts of a tree's files are read, wherever the tree is."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

MAX_SOURCE_BYTES = 200_000


class TreeSources(Mapping[str, str]):
    """Map paths to texts, which are read on demand; a file that cannot be read is absent.

    Links and the files behind them are absent. So are files that are not regular, exceed
    `MAX_SOURCE_BYTES`, or are not UTF-8.
    """

    def __init__(self, files: Collection[str]) -> None:
        """Offer `files`, as git lists them."""
        self._files = frozenset(files)
        self._paths = tuple(sorted(self._files))
        self._texts: dict[str, str | None] = {}

    def __getitem__(self, path: str) -> str:
        text = self.text(path)
        if text is None:
            raise KeyError(path)
        return text

    def __contains__(self, path: object) -> bool:
        return isinstance(path, str) and self.text(path) is not None

    def __iter__(self) -> Iterator[str]:
        return (path for path in self._paths if self.text(path) is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    @property
    def paths(self) -> Sequence[str]:
        """Return the paths of all files that are offered, sorted, readable or not."""
        return self._paths

    def text(self, path: str) -> str | None:
        """Return the text of an offered file, `None` where it cannot be read."""
        if path not in self._files:
            return None
        if path not in self._texts:
            self.load([path])
        return self._texts[path]

    def load(self, paths: Iterable[str]) -> None:
        """Read those of `paths` that are offered, all at once where that is quicker."""
        wanted = [path for path in paths if path in self._files and path not in self._texts]
        if wanted:
            self._texts |= self._read_all(wanted)

    @abstractmethod
    def _read_all(self, paths: Sequence[str]) -> Mapping[str, str | None]:
        """Return the text of each of `paths`, `None` where it cannot be read."""
