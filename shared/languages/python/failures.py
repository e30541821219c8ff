"""Tells which module or plugin of pytest a failed command lacks, by what it printed. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from shared.languages.capabilities.failures import Installable, Lack
from shared.languages.python.requirements import normal_name, provides_module

_IMPORT_FAILED = re.compile(
    r"^(?:E\s+)?ModuleNotFoundError: No module named '(\w+)'\s*$", re.MULTILINE
)
_RUN_FAILED = re.compile(r"^\S+: No module named (\w+)\s*$", re.MULTILINE)  # python -m NAME
_TOOLS: Final = frozenset({"pip", "pytest"})  # what verification runs, declared or not
# Options that many projects have in their configuration and that only a plugin of pytest knows.
_PLUGIN_OPTIONS: Final = {
    "--asyncio": "pytest-asyncio",
    "--benchmark": "pytest-benchmark",
    "--cov": "pytest-cov",
    "--dist": "pytest-xdist",
    "--ds": "pytest-django",
    "--html": "pytest-html",
    "--mypy": "pytest-mypy",
    "--numprocesses": "pytest-xdist",
    "--randomly": "pytest-randomly",
    "--reruns": "pytest-rerunfailures",
    "--timeout": "pytest-timeout",
    "-n": "pytest-xdist",
}
_UNKNOWN_OPTIONS = re.compile(
    r"^(?:ERROR: )?usage: .*\[file_or_dir\].*\n.*error: unrecognized arguments: (.+)$", re.MULTILINE
)
_LEAVE_OUT: Final = (
    "pass a --verify that leaves its options out (`python -m pytest -q -o addopts=`)"
)
_MISSING_PLUGINS = re.compile(r"^ERROR: Missing required plugins: ([\w.-]+)", re.MULTILINE)


def find_lack(output: str, project: Installable) -> Lack | None:
    """Return the module, else the plugin of pytest, that is not installed; `None` without any."""
    names = project.declared | {normal_name(each) for each in project.allowed}
    if module := next(_missing_modules(output, names), ""):
        ways = _ways_to_install(module, provides_module(names, module), project)
        return Lack(f"The module {module!r} is not installed for the Python of commands.", ways)
    if plugin := next(_missing_plugins(output, project), ""):
        ways = (*_ways_to_install(plugin, plugin in names, project), _LEAVE_OUT)
        what = f"The plugin {plugin!r} of pytest is not installed for the Python of commands."
        return Lack(what, ways)
    return None


def _ways_to_install(name: str, declared: bool, project: Installable) -> tuple[str, ...]:
    ways = [f"pass --python {each} if that environment has it" for each in project.environments]
    if declared:
        return (*ways, "pass --deps auto, which installs what the project declares")
    return (*ways, f"install {name} in the environment of --python")


def _missing_modules(output: str, names: frozenset[str]) -> Iterator[str]:
    for module in _RUN_FAILED.findall(output):
        if module in _TOOLS or provides_module(names, module):
            yield module
    for module in _IMPORT_FAILED.findall(output):
        if provides_module(names, module):
            yield module


def _missing_plugins(output: str, project: Installable) -> Iterator[str]:
    """Yield plugins that options need or a project demands, and that the code did not bring in."""
    for options in _UNKNOWN_OPTIONS.findall(output):
        for option in re.findall(r"(?:^|\s)(--?[a-z]+)", options):
            if option in _PLUGIN_OPTIONS and not project.brought(option):
                yield _PLUGIN_OPTIONS[option]
    for plugin in _MISSING_PLUGINS.findall(output):
        if not project.brought(plugin):
            yield plugin
