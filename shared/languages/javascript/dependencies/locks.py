"""Checks that a Node lock brings nothing but packages of registries, each with its hash. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Final, TypeAlias
from urllib.parse import urlsplit

from shared.errors import InvalidInput

Table: TypeAlias = Mapping[str, object]

TABLES: Final = ("dependencies", "devDependencies", "optionalDependencies", "peerDependencies")
KNOWN_HOSTS: Final = frozenset({"registry.npmjs.org", "registry.yarnpkg.com"})
_REMEDY: Final = (
    "lock again from a registry, or install in the checkout, whose node_modules commands then see"
)
_MODULES: Final = "node_modules/"
_YARN_FIELD = re.compile(r'^  (?P<name>resolved|integrity) "?(?P<value>[^"\n]+)"?$', re.MULTILINE)


def read_json(path: str, text: str) -> Table:
    """Return a JSON object. Raises `InvalidInput` where the text is none."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{path} is not valid JSON: {error}", "correct it") from error
    if not isinstance(document, dict):
        raise InvalidInput(f"{path} is not a JSON object", "correct it")
    return document


def check_npm_lock(path: str, lock: Table, hosts: Collection[str]) -> tuple[str, ...]:
    """Return the folders of the repo that the lock installs as links, such as workspaces.

    `hosts` are the registries that packages may come from. Raises `InvalidInput`, which names the
    package, for one without integrity or from elsewhere.
    """
    packages = lock.get("packages")
    if not isinstance(packages, dict):
        for name, entry in _nested(lock, 0):
            if not _flag(entry, "bundled"):
                version = str(entry.get("version", ""))
                place = str(entry.get("resolved", version))
                _check(path, name, place, entry.get("integrity"), hosts)
        return ()
    folders = []
    for place, entry in packages.items():
        if not isinstance(entry, dict) or place == "" or _flag(entry, "inBundle", "extraneous"):
            continue
        if _MODULES not in f"/{place}":
            folders.append(_inside(path, place))
        elif not _flag(entry, "link"):
            name = place.rpartition(_MODULES)[2]
            _check(path, name, str(entry.get("resolved", "")), entry.get("integrity"), hosts)
    return tuple(folders)


def _flag(entry: Table, *names: str) -> bool:
    return any(entry.get(name) is True for name in names)


def _nested(lock: Table, depth: int) -> Iterator[tuple[str, Table]]:
    """Yield the packages of a lock of npm 6, which holds them inside each other."""
    inner = lock.get("dependencies")
    for name, entry in inner.items() if isinstance(inner, dict) and depth < 40 else ():
        if isinstance(entry, dict):
            yield str(name), entry
            yield from _nested(entry, depth + 1)


def _inside(path: str, folder: str) -> str:
    if folder.startswith("/") or ".." in folder.split("/") or "\\" in folder or "\0" in folder:
        raise InvalidInput(f"{path}: {folder[:200]!r} leads out of the repo", _REMEDY)
    return folder


def _check(path: str, name: str, place: str, integrity: object, hosts: Collection[str]) -> None:
    # A lock may leave the address out (`omit-lockfile-registry-resolved`): it is the registry's.
    try:
        parts = urlsplit(place)
        host = parts.netloc if parts.scheme in ("https", "http") else ""
    except ValueError:
        host = ""
    if place and (host not in hosts or "@" in host):
        raise InvalidInput(
            f"{path}: {name[:100]} comes from {place[:200]!r}, which is no registry of yours",
            _REMEDY,
        )
    if not (isinstance(integrity, str) and integrity.startswith(("sha512-", "sha256-", "sha1-"))):
        raise InvalidInput(f"{path}: {name[:100]} has no integrity", _REMEDY)


def check_pnpm_lock(path: str, text: str) -> None:
    """Check a `pnpm-lock.yaml`. Raises `InvalidInput`, which names the package, as for npm."""
    lock = _read_yaml(path, text)
    packages = lock.get("packages") if isinstance(lock, dict) else None
    for name, entry in packages.items() if isinstance(packages, dict) else ():
        resolution = entry.get("resolution") if isinstance(entry, dict) else None
        found = resolution if isinstance(resolution, dict) else {}
        elsewhere = next((key for key in ("tarball", "repo", "directory") if key in found), "")
        if elsewhere:
            raise InvalidInput(
                f"{path}: {str(name)[:100]} comes from {elsewhere} "
                f"{str(found[elsewhere])[:200]!r}, which is no registry of yours",
                _REMEDY,
            )
        if not str(found.get("integrity", "")).startswith(("sha512-", "sha256-", "sha1-")):
            raise InvalidInput(f"{path}: {str(name)[:100]} has no integrity", _REMEDY)


def _read_yaml(path: str, text: str) -> object:
    import yaml  # few runs read any, and the import takes 20 ms

    try:
        return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise InvalidInput(f"{path} is not valid YAML", "correct it") from error


def check_yarn_lock(path: str, text: str, hosts: Collection[str]) -> None:
    """Check a `yarn.lock` of Yarn 1. Raises `InvalidInput`, which names the package, as for npm."""
    for block in re.split(r"\n(?=\S)", text):
        name = block.partition(":")[0].strip('"\n ')
        if not name or name.startswith("#") or "\n" not in block.strip():
            continue
        fields = {each["name"]: each["value"] for each in _YARN_FIELD.finditer(block)}
        _check(path, name, fields.get("resolved", ""), fields.get("integrity"), hosts)


def reduced_manifest(path: str, text: str) -> Table:
    """Return what an installer needs of a `package.json`: names and versions, and nothing to run.

    Raises `InvalidInput` for a dependency that comes from elsewhere than a registry or the repo.
    """
    document = read_json(path, text)
    kept: dict[str, object] = {"private": True}
    for key in ("name", "version"):
        if isinstance(document.get(key), str):
            kept[key] = document[key]
    for key in ("workspaces", "overrides", "resolutions"):
        if key in document:
            kept[key] = _harmless(path, key, document[key], 0)
    for key in TABLES:
        wanted = document.get(key)
        if isinstance(wanted, dict):
            kept[key] = {name: _versions(path, name, text) for name, text in wanted.items()}
    for key in ("bundleDependencies", "peerDependenciesMeta"):
        if key in document:
            kept[key] = document[key]
    return kept


def _harmless(path: str, key: str, value: object, depth: int) -> object:
    """Return patterns of folders, or versions, in lists and tables as they are nested."""
    if isinstance(value, dict) and depth < 20:
        return {name: _harmless(path, key, each, depth + 1) for name, each in value.items()}
    if isinstance(value, list) and depth < 20:
        return [_harmless(path, key, each, depth + 1) for each in value]
    if value is True or value is False:
        return value
    if isinstance(value, str) and key == "workspaces":
        return _inside(path, value)
    return _versions(path, key, value)


def reduced_workspace(path: str, text: str) -> str:
    """Return the folders and versions of a `pnpm-workspace.yaml`, as JSON, which is YAML too."""
    document = _read_yaml(path, text)
    found = document if isinstance(document, dict) else {}
    kept: dict[str, object] = {
        key: _harmless(path, key, found[key], 0) for key in ("catalog", "catalogs") if key in found
    }
    kept["packages"] = _harmless(path, "workspaces", found.get("packages", []), 0)
    return json.dumps(kept)


_VERSIONS = re.compile(
    r"(?:workspace:|catalog:|npm:(?:@[\w.-]+/)?[\w.-]+@)?[\w.*^~<>=|+ -]*|\$[\w@/.-]+"
)
_OF_THE_REPO = re.compile(r"(?:file|link):(?!/|~|\\|[A-Za-z]:)(?P<folder>[^\0]*)")


def _versions(path: str, name: str, text: object) -> object:
    if isinstance(text, str) and _VERSIONS.fullmatch(text):
        return text
    local = _OF_THE_REPO.fullmatch(text) if isinstance(text, str) else None
    if local and not local["folder"].endswith((".tgz", ".tar.gz", ".tar")):
        return text
    raise InvalidInput(
        f"{path}: cannot install {name[:100]!r} from {str(text)[:200]!r}",
        "declare it by name and version, or install in the checkout",
    )


def unsynchronised(manifest: Table, lock: Table) -> tuple[str, ...]:
    """Return the packages that an npm lock of the manifest does not have as they are declared."""
    packages = lock.get("packages")
    root = packages.get("") if isinstance(packages, dict) else None
    if not isinstance(root, dict):
        return ()  # npm 6: `npm ci` compares by itself
    differing: set[str] = set()
    for key in TABLES[:3]:
        wanted, locked = manifest.get(key), root.get(key)
        before = locked if isinstance(locked, dict) else {}
        for name, versions in wanted.items() if isinstance(wanted, dict) else ():
            if before.get(name) != versions:
                differing.add(str(name))
    return tuple(sorted(differing))
