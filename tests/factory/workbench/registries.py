"""Registries on this machine that the real package managers install from."""

from __future__ import annotations

import base64
import hashlib
import http.server
import io
import json
import tarfile
import threading
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path


def archive(files: Mapping[str, str]) -> bytes:
    """A gzipped tar archive of text files."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for path, text in files.items():
            member = tarfile.TarInfo(path)
            member.size = len(text.encode())
            tar.addfile(member, io.BytesIO(text.encode()))
    return buffer.getvalue()


class NpmRegistry:
    """An npm registry that serves the packages put into it, and notes what was asked of it."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.answers: dict[str, bytes] = {}
        self.asked: list[tuple[str, str]] = []

    def put(self, name: str, version: str, code: str, **manifest: object) -> dict[str, str]:
        """Serve a package, and return its entry of a lock."""
        document = {"name": name, "version": version, "main": "index.js", **manifest}
        files = {"package/package.json": json.dumps(document), "package/index.js": code}
        tarball = archive(files)
        path = f"/{name}/-/{name}-{version}.tgz"
        integrity = "sha512-" + base64.b64encode(hashlib.sha512(tarball).digest()).decode()
        dist = {"tarball": self.address + path, "integrity": integrity}
        known = json.loads(self.answers.get(f"/{name}", b'{"versions": {}}'))
        versions = {**known["versions"], version: {**document, "dist": dist}}
        served = {"name": name, "dist-tags": {"latest": version}, "versions": versions}
        self.answers |= {path: tarball, f"/{name}": json.dumps(served).encode()}
        return {"version": version, "resolved": dist["tarball"], "integrity": integrity}


@contextmanager
def npm_registry() -> Iterator[NpmRegistry]:
    """Serve a registry on the loopback for as long as the block runs."""

    class Answers(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            registry.asked.append((self.path, self.headers.get("Authorization", "")))
            body = registry.answers.get(self.path.partition("?")[0])
            self.send_response(404 if body is None else 200)
            self.send_header("Content-Length", str(len(body or b"")))
            self.end_headers()
            self.wfile.write(body or b"")

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    registry = NpmRegistry(f"http://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield registry
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def go_proxy(folder: Path, module: str, version: str, code: str) -> str:
    """Lay out a module as GOPROXY=file://... serves it, and return its two lines of `go.sum`."""
    place = folder / module / "@v"
    place.mkdir(parents=True)
    manifest = f"module {module}\n\ngo 1.19\n"
    files = {f"{module}@{version}/go.mod": manifest, f"{module}@{version}/x.go": code}
    with zipfile.ZipFile(place / f"{version}.zip", "w") as zipped:
        for path, text in files.items():
            zipped.writestr(path, text)
    (place / f"{version}.mod").write_text(manifest)
    (place / f"{version}.info").write_text(json.dumps({"Version": version}))
    (place / "list").write_text(f"{version}\n")
    whole, alone = _go_hash(files), _go_hash({"go.mod": manifest})
    return f"{module} {version} {whole}\n{module} {version}/go.mod {alone}\n"


def _go_hash(files: Mapping[str, str]) -> str:
    lines = (
        f"{hashlib.sha256(files[name].encode()).hexdigest()}  {name}\n" for name in sorted(files)
    )
    return "h1:" + base64.b64encode(hashlib.sha256("".join(lines).encode()).digest()).decode()


def use_registry(home: Path, folder: Path) -> None:
    """Make a home of Cargo that takes crates from the local registry in a folder."""
    home.mkdir()
    (home / "config.toml").write_text(
        f'[source.crates-io]\nreplace-with = "here"\n[source.here]\nlocal-registry = "{folder}"\n'
    )


def cargo_registry(folder: Path, name: str, version: str, code: str, build: str = "") -> str:
    """Put a crate into a local registry, and return its entry of a `Cargo.lock`.

    `name` has more than three characters, and `build` is the code of the crate's build script.
    """
    manifest = f'[package]\nname = "{name}"\nversion = "{version}"\nedition = "2018"\n'
    prefix = f"{name}-{version}"
    files = {f"{prefix}/Cargo.toml": manifest, f"{prefix}/src/lib.rs": code}
    crate = archive({**files, **({f"{prefix}/build.rs": build} if build else {})})
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{prefix}.crate").write_bytes(crate)
    checksum = hashlib.sha256(crate).hexdigest()
    line = {"name": name, "vers": version, "deps": [], "cksum": checksum, "features": {}}
    place = folder / "index" / name[:2] / name[2:4] / name
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(json.dumps({**line, "yanked": False}) + "\n")
    source = "registry+https://github.com/rust-lang/crates.io-index"
    return (
        f'[[package]]\nname = "{name}"\nversion = "{version}"\nsource = "{source}"\n'
        f'checksum = "{checksum}"\n\n'
    )
