"""Builds a command's environment from an allow-list, so that no key is in it by accident."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from shared.errors import InvalidInput
from shared.secrets.names import names_a_secret

SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
BYTECODE = "pycache"  # in the private /tmp


def import_roots(workspace: Path) -> tuple[Path, Path]:
    """Return the folders of the target's modules; an order may be the first to write `src`."""
    return workspace, workspace / "src"


def build(
    *,
    workspace: Path,
    temporary: Path,
    path: str,
    site: Path,
    extra: Mapping[str, str],
) -> dict[str, str]:
    """Return all variables of a command, with paths as the command sees them.

    `path` is the command's PATH; `site` holds the command's `sitecustomize`. Raises `InvalidInput`
    where a name in `extra` looks like that of a secret.
    """
    for name in extra:
        if names_a_secret(name):
            raise InvalidInput(
                f"the sandbox does not pass {name} on: commands run code that a model wrote",
                "take it out of the sandbox's environment",
            )
    roots = (site, *import_roots(workspace))
    return {
        **_for_build_tools(temporary),
        **extra,
        # Cargo reads `.cargo/config.toml` in every folder above, and fails at one that it may see
        # and not read, as the user's own is under Landlock. It knows no other way to stop it.
        "__CARGO_TEST_ROOT": str(workspace),
        "PATH": path,
        "LANG": "C.UTF-8",
        "HOME": str(temporary),
        "TMPDIR": str(temporary),
        "PYTHONPATH": ":".join(map(str, roots)),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPYCACHEPREFIX": str(temporary / BYTECODE),
        # The langsmith plugin comes with the graph library; many a test suite runs in less time
        # than its import takes.
        "PYTEST_ADDOPTS": "-p no:cacheprovider -p no:langsmith_plugin",
    }


def _for_build_tools(temporary: Path) -> dict[str, str]:
    """Return variables that keep build tools from downloading, reporting, and leaving HOME."""
    return {
        "GOTOOLCHAIN": "local",
        "GOTELEMETRY": "off",
        # Git shows commands a part of the repo, which Go's stamp of the commit trips over.
        "GOFLAGS": "-buildvcs=false",
        "npm_config_update_notifier": "false",
        "npm_config_fund": "false",
        "DOTNET_CLI_TELEMETRY_OPTOUT": "1",
        "DOTNET_NOLOGO": "1",
        # Java looks its user's home up in the system's list of users and ignores HOME.
        "GRADLE_USER_HOME": str(temporary / ".gradle"),
        "MAVEN_OPTS": f"-Duser.home={temporary}",
    }


def offline() -> dict[str, str]:
    """Return variables by which tools fail at once where they would wait for a network."""
    return {"npm_config_offline": "true", "CARGO_NET_OFFLINE": "true"}
