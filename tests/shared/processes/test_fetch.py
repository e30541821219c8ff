"""Programs are fetched from a registry, and kept only where their hash is right."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import io
import platform
import tarfile
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from shared.processes.pinned_tools import (
    MARK,
    TSC,
    Build,
    FetchFailed,
    PinnedTool,
    fetch,
    folder_of,
    installed_program,
    registry,
)


def _archive(**files: str) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as package:
        for name, text in files.items():
            member = tarfile.TarInfo(name.replace("__", "/"))
            member.size = len(text)
            package.addfile(member, io.BytesIO(text.encode()))
        link = tarfile.TarInfo("package/link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        package.addfile(link)
    return made.getvalue()


ARCHIVE = _archive(
    package__lib__tsc="#!/bin/sh\necho yes\n", package__LICENSE="free", **{"..__outside": "no"}
)


ASKED: list[str] = []


class _Registry(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        ASKED.append(self.path)
        self.send_response(200)
        self.end_headers()
        self.wfile.write(ARCHIVE)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def environ(tmp_path: Path) -> Iterator[dict[str, str]]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Registry)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    yield {"LLMCH_TOOLS": str(tmp_path / "tools"), "npm_config_registry": address}
    server.shutdown()
    server.server_close()


def _tool(archive: bytes = ARCHIVE) -> PinnedTool:
    digest = base64.b64encode(hashlib.sha512(archive).digest()).decode()
    builds = {platform.machine(): Build("@typescript/typescript-linux-x64", digest)}
    return dataclasses.replace(TSC, builds=builds)


def test_a_program_with_the_right_hash_is_kept_and_fetched_once(environ: dict[str, str]) -> None:
    ASKED.clear()

    program = fetch(_tool(), environ)

    assert program.read_text() == "#!/bin/sh\necho yes\n"
    assert program.stat().st_mode & 0o100
    assert fetch(_tool(), environ) == program == installed_program(_tool(), environ)
    assert ASKED == ["/@typescript/typescript-linux-x64/-/typescript-linux-x64-7.0.2.tgz"]


def test_only_plain_files_of_the_package_are_unpacked(environ: dict[str, str]) -> None:
    folder = fetch(_tool(), environ).parents[1]

    found = {str(e.relative_to(folder)) for e in folder.rglob("*") if not e.is_dir()}
    assert found == {"lib/tsc", "LICENSE", MARK}
    assert [each.name for each in folder.parent.iterdir()] == [folder.name]


def test_another_hash_is_refused_and_nothing_is_kept(environ: dict[str, str]) -> None:
    with pytest.raises(FetchFailed, match="does not have the pinned hash"):
        fetch(_tool(b"another archive"), environ)

    assert installed_program(_tool(), environ) is None
    assert not folder_of(_tool(), environ).exists()


def test_a_registry_that_does_not_answer_is_named(environ: dict[str, str]) -> None:
    gone = environ | {"npm_config_registry": "http://127.0.0.1:9/"}

    with pytest.raises(FetchFailed, match=r"http://127\.0\.0\.1:9/.* could not be fetched"):
        fetch(_tool(), gone)


def test_a_machine_without_a_build_is_refused(environ: dict[str, str]) -> None:
    with pytest.raises(FetchFailed, match="tsc does not exist for this machine"):
        fetch(dataclasses.replace(TSC, builds={}), environ)


def test_the_registry_is_that_of_npm_unless_its_variable_names_another() -> None:
    assert registry({}) == "https://registry.npmjs.org/"
    assert registry({"npm_config_registry": "https://mirror.example"}) == "https://mirror.example/"
