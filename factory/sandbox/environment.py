"""The command's environment: an allow-list, so that no key can be in it by accident."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def python_path(workspace: Path) -> str:
    """The workspace and its `src`, in the form PYTHONPATH takes."""
    source = workspace / "src"
    return f"{workspace}:{source}" if source.is_dir() else str(workspace)


def build(
    *, workspace: Path, private: Path, programs: Path, extra: Mapping[str, str]
) -> dict[str, str]:
    """All variables of a command. `private` and `programs` are named as the command sees them."""
    return {
        **extra,
        "PATH": f"{programs}:{SYSTEM_PATH}",
        "LANG": "C.UTF-8",
        "HOME": str(private),
        "TMPDIR": str(private),
        "PYTHONPATH": python_path(workspace),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPYCACHEPREFIX": str(private / "pycache"),
        "PYTEST_ADDOPTS": "-p no:cacheprovider",
    }
