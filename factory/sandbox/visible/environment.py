"""The command's environment: an allow-list, so that no key can be in it by accident."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from shared.errors import InvalidInput
from shared.secrets.names import names_a_secret

SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
BYTECODE = "pycache"  # in the private /tmp


def import_roots(workspace: Path) -> tuple[Path, Path]:
    """Where the target's modules are looked for; its `src` may come with the first order."""
    return workspace, workspace / "src"


def build(
    *,
    workspace: Path,
    temporary: Path,
    path: tuple[Path, ...],
    site: Path,
    extra: Mapping[str, str],
) -> dict[str, str]:
    """All variables of a command; the places as the command sees them.

    `path` comes before the system's on PATH, `site` holds the command's `sitecustomize`. Raises
    `InvalidInput` where `extra` names what looks like a key.
    """
    for name in extra:
        if names_a_secret(name):
            raise InvalidInput(
                f"the sandbox does not pass {name} on: commands run code that a model wrote",
                "take it out of the sandbox's environment",
            )
    roots = (site, *import_roots(workspace))
    return {
        **extra,
        "PATH": ":".join((*map(str, path), SYSTEM_PATH)),
        "LANG": "C.UTF-8",
        "HOME": str(temporary),
        "TMPDIR": str(temporary),
        "PYTHONPATH": ":".join(map(str, roots)),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPYCACHEPREFIX": str(temporary / BYTECODE),
        # The second comes with the graph library: its import takes longer than many a test suite.
        "PYTEST_ADDOPTS": "-p no:cacheprovider -p no:langsmith_plugin",
    }
