"""Keeps which trees passed their verification, so that an equal tree is not verified again.

Only success is kept, with the tests that each command reported. A failure is looked at again each
time, because the user may have fixed its cause outside of the repo.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from factory.orders.verified_by import CountedTests

_MOST_KEPT: Final = 200
_LARGEST_FILE: Final = 256 * 1024  # bytes; 200 keys with the tests of three commands take 60,000
# O_NONBLOCK, because opening a FIFO would otherwise wait for a writer that never comes.
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_WRITE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_KEY = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class KeptBases:
    """Keep the keys of verified trees in a repo's git folder. Only the holder of the lock writes.

    What else stands in the file, or in its place, counts as nothing and is replaced.
    """

    path: Path

    @classmethod
    def of(cls, common_dir: Path) -> KeptBases:
        """Return the keys that the repo with this git folder keeps."""
        return cls(common_dir / "llmch" / "verified.json")

    def tests_of(self, key: str) -> dict[str, CountedTests] | None:
        """Return the tests of a verified tree by command; `None` where the key is not kept.

        A key that an older version kept without the tests counts as not kept.
        """
        return self._read().get(key)

    def add(self, key: str, tests: Mapping[str, CountedTests]) -> None:
        """Keep a key with the tests that ran, and forget the oldest keys.

        A disk that refuses is no error. A file that a crash leaves torn counts as nothing, so it
        need not be written atomically.
        """
        kept = self._read()
        kept.pop(key, None)
        newest = list({**kept, key: tests}.items())[-_MOST_KEPT:]
        document = {
            "verified": [each for each, _ in newest],
            "tests": {
                each: {text: counted.model_dump(mode="json") for text, counted in ran.items()}
                for each, ran in newest
            },
        }
        with contextlib.suppress(OSError):
            self.path.parent.mkdir(exist_ok=True)
            self.path.unlink(missing_ok=True)
            try:
                with os.fdopen(os.open(self.path, _WRITE, 0o644), "w") as file:
                    json.dump(document, file)
            except OSError:
                self.path.unlink(missing_ok=True)

    def _read(self) -> dict[str, dict[str, CountedTests]]:
        try:
            with os.fdopen(os.open(self.path, _READ), "rb") as file:
                document = json.loads(file.read(_LARGEST_FILE))
        except (OSError, ValueError, RecursionError):
            return {}
        document = document if isinstance(document, dict) else {}
        listed, tests = document.get("verified"), document.get("tests")
        keys = listed if isinstance(listed, list) else []
        tests = tests if isinstance(tests, dict) else {}
        return {
            each: _parse_tests(tests[each])
            for each in keys
            if isinstance(each, str) and _KEY.fullmatch(each) and isinstance(tests.get(each), dict)
        }


def _parse_tests(document: Mapping[str, object]) -> dict[str, CountedTests]:
    """Return the tests by command; what is not understood counts as nothing."""
    found: dict[str, CountedTests] = {}
    for text, each in document.items():
        with contextlib.suppress(ValidationError):
            found[text] = CountedTests.model_validate(each)
    return found
