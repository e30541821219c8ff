"""Files that a person names, or whose names are in what they ask for, are shown whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.repo.planned_repo import named_files
from shared.files.text_sources import RepoSources

FILES = {
    "src/shop.py": "SHOP = 1\n",
    "src/till.py": "TILL = 1\n",
    "a/util.py": "A = 1\n",
    "b/util.py": "B = 1\n",
    "big.py": "x = 1\n" * 1000,
}


@pytest.mark.parametrize(
    ("first", "words", "shown"),
    [
        ((), "Make shop.py faster.", ["src/shop.py"]),
        ((), "in `src/till.py`, not in src/shop.py.", ["src/till.py", "src/shop.py"]),
        ((), "util.py is slow", []),  # which of the two is meant cannot be known
        ((), "a/util.py is slow", ["a/util.py"]),
        (("src/till.py", "new.py"), "shop.py", ["src/till.py", "src/shop.py"]),
        (("big.py", "src/shop.py"), "", ["src/shop.py"]),
        ((), "the shop, e.g. on 1.5 of ../../etc/passwd", []),
    ],
)
def test_named_files_are_shown_as_far_as_they_fit(
    tmp_path: Path, first: tuple[str, ...], words: str, shown: list[str]
) -> None:
    for path, text in FILES.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    found = named_files(RepoSources(tmp_path, tuple(FILES)), first, words, 1_000)
    assert [*found] == shown
    assert all(FILES[path] in text and path in text for path, text in found.items())
