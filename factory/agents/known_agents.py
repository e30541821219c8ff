"""Finds agents on this machine, and says how each is started so that it asks the relay alone.

A known agent is described as it was tried, with the version that was. No program of an agent is run
to find it: its version comes from its package, and only a program without one is asked.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import json
import os
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from factory.sandbox.detect import open_sandbox
from factory.sandbox.policy import GIB, Backend, Limits, Policy
from factory.sandbox.visible_files import needed_by, virtual_root
from shared.errors import InvalidInput, how_to_install
from shared.settings.setting_values import AGENTS, Proposer

ACP: Final = "acp"
"""The first word of a proposer that is prompted; the others are its command."""
LIMITS: Final = Limits(memory_bytes=8 * GIB, processes=4096)
"""Node and Bun reserve much, and a test suite runs beside the agent."""
_VERSION_SECONDS: Final = 30.0
_VERSION_END: Final = r"[\w.+-]{0,40}"
_FIRST_LINES_BYTES: Final = 512

# What differs between equal runs, in the JSON of a call, by its name.
_CODEX_MASKS: Final = (
    r'"id":"[a-z]{1,6}_(?P<id>[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})"',
    r"<current_date>(?P<date>\d{4}-\d\d-\d\d)</current_date>",
    r"<timezone>(?P<timezone>[\w/+-]{1,40})</timezone>",
    r"Chunk ID: (?P<chunk>[0-9a-f]{6})\\n",
    r"\\nWall time: (?P<time>\d+\.\d+) seconds\\n",
)
_GEMINI_MASKS: Final = (
    r'"id":"\w{1,64}_(?P<id>\d{13}_\d+)"',
    r"Today's date is (?P<date>[A-Z][a-z]+, [A-Z][a-z]+ \d{1,2}, \d{4}) ",
    r"Process Group PGID: (?P<pid>\d+)",
)
_OPENCODE_MASKS: Final = (
    r"\\n +Today's date: (?P<date>[A-Z][a-z]{2} [A-Z][a-z]{2} \d\d \d{4})\\n",
)
_MINI_MASKS: Final = (r"<system_information>\\n(?P<system>[^<]{1,200})\\n</system_information>",)


@dataclass(frozen=True, slots=True)
class Agent:
    """Describe an agent that is on this machine.

    In its words, in the values of its environment and in its files, `{task}`, `{task_file}`,
    `{model}` and `{base_url}` are replaced, and `{in_text}` by what mini-swe-agent's configuration
    for small models is called beside; a word `{files}` stands for the files that the order
    may write. `files` are those of its HOME. It can read `folders`. `masks` say what differs
    between its calls in equal runs. `is_tried` is false for a version that nobody has tried. An
    agent that `speaks_acp` is prompted by the Agent Client Protocol.
    """

    name: str
    words: tuple[str, ...]
    environment: Mapping[str, str | None] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    folders: tuple[Path, ...] = ()
    version: str = ""
    sha256: str = ""
    masks: tuple[str, ...] = ()
    is_tried: bool = True
    speaks_acp: bool = False

    @property
    def title(self) -> str:
        return f"{self.name} {self.version}".strip()


@dataclass(frozen=True, slots=True)
class _Known:
    """Say how an agent is started: its package, and what follows the program's name."""

    package: str
    tried: str
    words: tuple[str, ...]
    environment: Mapping[str, str | None] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    masks: tuple[str, ...] = ()


def _codex() -> _Known:
    provider = '{name="llmch",base_url="{base_url}/v1",wire_api="responses",request_max_retries=1}'
    settings = (
        *('model_provider="llmch"', f"model_providers.llmch={provider}", 'web_search="disabled"'),
        *("analytics.enabled=false", "check_for_update_on_startup=false"),
        *("skills.bundled.enabled=false", "project_doc_max_bytes=0"),
    )
    # It would ask GitHub for plugins, and wait for a server without end.
    features = ("plugins", "apps", "multi_agent", "goals", "unbounded_connection_retries")
    return _Known(
        "@openai/codex",
        "0.169.0",
        (
            *("exec", "--json", "--ephemeral", "--skip-git-repo-check", "--ignore-user-config"),
            # Its own sandbox cannot be made inside another one.
            *("--ignore-rules", "-s", "danger-full-access", "-m", "{model}"),
            *(word for each in settings for word in ("-c", each)),
            *(word for each in features for word in ("--disable", each)),
            "{task}",
        ),
        masks=_CODEX_MASKS,
    )


def _opencode() -> _Known:
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "llmch",
        "options": {"baseURL": "{base_url}/v1", "apiKey": "none"},
        "models": {"{model}": {"name": "{model}"}},
    }
    settings = {
        "provider": {"llmch": provider},
        "enabled_providers": ["llmch"],
        # It would ask nobody, and end; the sandbox holds it.
        "permission": {"external_directory": "allow", "doom_loop": "allow"},
        **dict.fromkeys(("model", "small_model"), "llmch/{model}"),
        **dict.fromkeys(("snapshot", "lsp", "formatter", "autoupdate"), False),
    }
    disabled = (
        *("AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS", "PROJECT_CONFIG"),
        *("CLAUDE_CODE", "EXTERNAL_SKILLS"),
    )
    return _Known(
        "opencode-ai",
        "1.18.33",
        ("run", "--format", "json", "--pure", "--title", "task", "{task}"),
        {
            "OPENCODE_CONFIG_CONTENT": json.dumps(settings),
            **{f"OPENCODE_DISABLE_{each}": "1" for each in disabled},
        },
        masks=_OPENCODE_MASKS,
    )


def _gemini() -> _Known:
    words = ("-m", "{model}", "--skip-trust", "--approval-mode", "yolo", "-o", "stream-json")
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "general": {"disableAutoUpdate": True, "disableUpdateNag": True},
        "privacy": {"usageStatisticsEnabled": False},
    }
    return _Known(
        "@google/gemini-cli",
        "0.61.0",
        (*words, "-p", "{task}"),
        # WebAssembly would reserve more memory than the sandbox gives.
        {"NODE_OPTIONS": "--disable-wasm-trap-handler"},
        {".gemini/settings.json": json.dumps(settings)},
        _GEMINI_MASKS,
    )


def _mini() -> _Known:
    # Small models write no calls of tools, so it has a form in which a command is a fenced block.
    settings = (
        *("mini{in_text}.yaml", "model.model_class=litellm{in_text}"),
        "model.model_kwargs.api_base={base_url}/v1",
    )
    return _Known(
        "mini-swe-agent",
        "2.4.6",
        (
            *("-y", "--exit-immediately", "-m", "openai/{model}"),
            *(word for each in settings for word in ("-c", each)),
            *("-c", "model.model_kwargs.api_key=none", "-o", "/tmp/trajectory.json"),  # noqa: S108
            *("-t", "{task}"),
        ),
        {
            "MSWEA_CONFIGURED": "true",
            "MSWEA_COST_TRACKING": "ignore_errors",
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        },
        masks=_MINI_MASKS,
    )


def _aider() -> _Known:
    facts = {"max_input_tokens": 128_000, "max_output_tokens": 16_000, "mode": "chat"}
    facts |= {"litellm_provider": "openai", "input_cost_per_token": 0, "output_cost_per_token": 0}
    return _Known(
        "aider-chat",
        "0.86.2",
        (
            *("--model", "openai/{model}", "--openai-api-base", "{base_url}/v1"),
            *("--openai-api-key", "none", "--yes-always", "--no-auto-commits"),
            *("--no-dirty-commits", "--no-check-update", "--analytics-disable", "--no-gitignore"),
            *("--no-show-release-notes", "--no-detect-urls", "--no-suggest-shell-commands"),
            *("--no-pretty", "--no-stream", "--map-tokens", "1024"),
            *("--chat-history-file", "/tmp/chat.md", "--input-history-file", "/tmp/input"),  # noqa: S108
            *("--model-metadata-file", "/tmp/models.json"),  # noqa: S108
            *("--message", "{task}", "{files}"),
        ),
        # By the seed, the files that it adds to the chat have the same order in each run.
        {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "PYTHONHASHSEED": "0"},
        {
            "models.json": json.dumps({"openai/{model}": facts}),
            ".gitconfig": "[user]\n\tname = llmch\n\temail = llmch@localhost\n",
        },
    )


_KNOWN: Final = {
    "codex": _codex,
    "opencode": _opencode,
    "gemini": _gemini,
    "mini": _mini,
    "aider": _aider,
}


def agent_named(words: Proposer) -> Agent:
    """Return the agent of a setting.

    Raises `InvalidInput` if it is not here or cannot be used, and `SandboxUnavailable` where a
    program has to be asked for its version and bubblewrap does not work.
    """
    if words[0] == ACP:
        return _prompted(words)
    found = _on_path(words[0])
    if found is None:
        raise InvalidInput(
            f"no agent can be started by {shlex.join(words)}: {words[0]} is not found",
            f"install it, or give the path of its program; {', '.join(AGENTS)} are known by name",
        )
    try:
        return _known(words[0], found) if words in _NAMES else _of_command(words, found)
    except OSError as error:
        raise InvalidInput(
            f"the agent {shlex.join(words)} cannot be used: {error.strerror}: {error.filename}",
            "its files have to be there and readable",
        ) from error


_NAMES: Final = frozenset((each,) for each in AGENTS)


def _of_command(words: Proposer, found: Path) -> Agent:
    named = (Path(each) for each in words[1:] if each.startswith("/"))
    folders = (found, *(each for each in named if each.exists()))
    argv = (str(found), *words[1:])
    return Agent(shlex.join(words), argv, folders=folders, sha256=_sha256_of(found))


def _known(name: str, found: Path) -> Agent:
    known = _KNOWN[name]()
    installed = _installed(name, found, known.package)
    return Agent(
        name,
        (*installed.words, *known.words),
        known.environment,
        known.files,
        installed.folders,
        installed.version,
        _sha256_of(installed.evidence),
        known.masks,
        installed.version == known.tried,
    )


def _prompted(words: Proposer) -> Agent:
    """Return an agent that is prompted; one that llmch knows gets its settings and files too."""
    command = words[1:]
    if not command:
        raise InvalidInput(
            "the proposer acp has no command", 'name the agent\'s, as in "acp opencode acp"'
        )
    if importlib.util.find_spec("acp") is None:
        raise InvalidInput(
            "the package agent-client-protocol is not installed, which the proposer acp needs",
            how_to_install("acp"),
        )
    is_known = command[0] in AGENTS
    agent = agent_named(command[:1] if is_known else command)
    if is_known:
        given = len(_KNOWN[command[0]]().words)
        agent = replace(agent, words=(*agent.words[:-given], *command[1:]), is_tried=True)
    return replace(agent, name=shlex.join(words), speaks_acp=True)


def tried_version(name: str) -> str:
    """Return the version of a known agent that was tried; empty for any other one."""
    return _KNOWN[name]().tried if name in _KNOWN else ""


def found_agents() -> Iterator[str]:
    """Yield the names of the known agents that are on PATH."""
    return (name for name in AGENTS if _on_path(name))


def _on_path(program: str) -> Path | None:
    """Return a program's path; a relative folder of PATH may be the target repo's, and is left."""
    folders = os.environ.get("PATH", os.defpath).split(":")
    found = shutil.which(program, path=":".join(each for each in folders if each.startswith("/")))
    return Path(found).absolute() if found else None


@dataclass(frozen=True, slots=True)
class _Installed:
    """Hold how a program is started, what it reads, and the file whose hash says which it is."""

    words: tuple[str, ...]
    folders: tuple[Path, ...]
    evidence: Path
    version: str


def _installed(name: str, found: Path, package: str) -> _Installed:
    program = found.resolve()
    with program.open("rb") as file:
        first = file.read(_FIRST_LINES_BYTES).decode("utf-8", "replace")
    folder = next((each for each in program.parents if _is_package(each, package)), None)
    if folder is not None:
        said = str(json.loads((folder / "package.json").read_text("utf-8")).get("version"))
        version = said if re.fullmatch(rf"\d{_VERSION_END}", said) else ""
        return _of_node(program, folder, version, first)
    if script := re.match(r"#!(?:/bin/sh\n'''exec' [\"']?)?(/[^\s\"']*/python[\d.]*)", first):
        return _of_python(name, program, Path(script[1]), package)
    return _Installed(
        (str(program),), (program,), program, _said_version(program, *_state(program))
    )


def _is_package(folder: Path, package: str) -> bool:
    try:
        document = json.loads((folder / "package.json").read_text("utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(document, dict) and document.get("name") == package


def _of_node(program: Path, folder: Path, version: str, first: str) -> _Installed:
    """Return a program of npm's. Codex's only starts another one, which is in its own package."""
    roots = [each for each in program.parents if each.name == "node_modules"]
    modules = roots[-1] if roots else folder
    native = sorted(folder.parent.glob("codex-*/vendor/*/bin/codex"))
    native = native or sorted(folder.glob("node_modules/@openai/codex-*/vendor/*/bin/codex"))
    if native:
        return _Installed((str(native[0]),), (native[0].parent.parent,), native[0], version)
    if not first.startswith("#!"):
        return _Installed((str(program),), (modules,), program, version)
    node = _on_path("node")
    if node is None:
        raise InvalidInput(f"{program} needs Node, which is not found", "put node on PATH")
    node = node.resolve()
    return _Installed((str(node), str(program)), (modules, node), program, version)


def _of_python(name: str, program: Path, python: Path, package: str) -> _Installed:
    root = virtual_root(python) or python.resolve().parent.parent
    pattern = f"lib/python3*/site-packages/{package.replace('-', '_')}-*.dist-info/RECORD"
    records = sorted(root.glob(pattern))
    if not records:
        raise InvalidInput(
            f"{name} is not installed where {python} finds it without your home folder",
            f"install {package} into an environment of its own, as pipx and uv tool do",
        )
    version = records[0].parent.name.removesuffix(".dist-info").rpartition("-")[2]
    folders = tuple(dict.fromkeys((*needed_by(root), program)))
    return _Installed((str(program),), folders, records[0], version)


@functools.cache
def _said_version(program: Path, *_: int) -> str:
    """Return the version that a program says it has, in a sandbox; empty if it does not say one."""
    with tempfile.TemporaryDirectory(prefix="llmch-version-", ignore_cleanup_errors=True) as name:
        folder, place = Path(name), Path(name, "place")
        for each in (place, folder / "private"):
            each.mkdir()
        policy = Policy(place, None, folder / "private", Path(sys.executable))
        policy = replace(policy, read=(program,), limits=LIMITS)
        sandbox = open_sandbox(Backend.BWRAP, policy)
        words = (str(program), "--version")
        done = sandbox.run(words, timeout_seconds=_VERSION_SECONDS, log=folder / "version")
    found = re.search(rf"\d+(?:\.\d+)+{_VERSION_END}", done.stdout.text) if done.ok else None
    return found[0] if found else ""


def _state(path: Path) -> tuple[int, int]:
    """Return what differs where a file was replaced, so that what is known of it is asked anew."""
    facts = path.stat()
    return facts.st_size, facts.st_mtime_ns


def _sha256_of(path: Path) -> str:
    return _digest(path, *_state(path))


@functools.cache
def _digest(path: Path, *_: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
