"""A file a person hands us is read whole as UTF-8 text, or refused in words."""

import hashlib
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from shared.errors import ExitCode, InvalidInput
from shared.files.text_sources import read_text_input

NOBODY = 65534


def refusal_of(path: Path, max_bytes: int = 1_000_000) -> InvalidInput:
    with pytest.raises(InvalidInput) as refused:
        read_text_input(path, "spec", max_bytes)
    assert refused.value.exit_code is ExitCode.INVALID
    assert refused.value.hint
    return refused.value


@contextmanager
def as_ordinary_user() -> Iterator[None]:
    """Give up root for the file system, where the tests run as root."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def test_text_comes_back_as_written(tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    file.write_bytes("Grüße, 世界\n\n  indented \n".encode())
    assert read_text_input(file, "spec").text == "Grüße, 世界\n\n  indented \n"


@pytest.mark.parametrize(
    "data",
    [b"one\r\ntwo\r\n", b"one\rtwo\r", b"\xef\xbb\xbfone\ntwo\n", b"\xef\xbb\xbfone\r\ntwo\n"],
    ids=["crlf", "cr", "bom", "bom-crlf"],
)
def test_a_bom_and_the_kind_of_line_ends_make_no_difference(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "a.md"
    file.write_bytes(data)
    assert read_text_input(file, "spec").text == "one\ntwo\n"


def test_only_a_leading_bom_is_dropped(tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    file.write_text("\ufeff\ufeffa\ufeff", encoding="utf-8")
    assert read_text_input(file, "spec").text == "\ufeffa\ufeff"


def test_the_hash_is_of_the_bytes_on_disk(tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    file.write_bytes(b"\xef\xbb\xbfone\r\n")
    assert read_text_input(file, "spec").sha256 == hashlib.sha256(file.read_bytes()).hexdigest()


def test_a_symlink_to_a_file_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("text")
    (tmp_path / "link").symlink_to("real")
    assert read_text_input(tmp_path / "link", "spec").text == "text"


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    refused = refusal_of(tmp_path / "none.md")
    assert refused.message == f"spec {tmp_path}/none.md does not exist"
    assert refused.hint == "give the path of the spec"


def test_a_directory_is_refused(tmp_path: Path) -> None:
    assert refusal_of(tmp_path).message == f"spec {tmp_path} is a directory"


def test_a_fifo_is_refused_without_waiting_for_a_writer(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    refused = refusal_of(tmp_path / "pipe")
    assert refused.message == f"spec {tmp_path}/pipe is a FIFO, not a regular file"


@pytest.mark.parametrize("device", ["/dev/null", "/dev/zero"])
def test_a_device_is_refused(device: str) -> None:
    assert refusal_of(Path(device)).message == f"spec {device} is a device, not a regular file"


def test_a_socket_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # a socket's path may be only about 100 characters long
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("s")
        assert "spec s cannot be read" in refusal_of(Path("s")).message


def test_an_unreadable_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    tmp_path.chmod(0o755)
    file = Path("secret.md")
    file.write_text("text")
    file.chmod(0)
    with as_ordinary_user():
        assert refusal_of(file).message == "spec secret.md cannot be read: Permission denied"


@pytest.mark.parametrize(
    ("name", "reason"),
    [("a" * 300, "File name too long"), ("nul\0", "embedded null byte"), ("f/x", "Not a direct")],
)
def test_a_path_that_cannot_be_opened_is_refused(tmp_path: Path, name: str, reason: str) -> None:
    (tmp_path / "f").write_text("a file")
    assert reason in refusal_of(tmp_path / name).message


def test_a_loop_of_symlinks_is_refused(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    assert "Too many levels of symbolic links" in refusal_of(tmp_path / "loop").message


def test_a_file_of_the_limit_is_read_and_one_byte_more_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    file.write_bytes(b"x" * 100)
    assert len(read_text_input(file, "spec", 100).text) == 100
    file.write_bytes(b"x" * 101)
    assert "is over the limit of 100 bytes: it has 101" in refusal_of(file, 100).message


def test_the_limit_holds_also_where_the_size_is_not_told() -> None:
    # Files of /proc say that their size is 0.
    assert "is over the limit of 1 bytes" in refusal_of(Path("/proc/self/status"), 1).message


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"caf\xe9 au lait", "is not UTF-8: byte 0xe9 at offset 3"),
        (b"\xef\xbb\xbfcaf\xe9", "is not UTF-8: byte 0xe9 at offset 6"),
        (b"cut \xe2\x82", "is not UTF-8: byte 0xe2 at offset 4"),
        ("text".encode("utf-16"), "is UTF-16, not UTF-8: byte 0xff at offset 0"),
        ("text".encode("utf-16-le"), "is not text: NUL byte at offset 1"),
        (b"\xed\xa0\x80", "is not UTF-8: byte 0xed at offset 0"),
    ],
)
def test_what_is_no_utf8_text_is_refused_with_the_offset(
    tmp_path: Path, data: bytes, message: str
) -> None:
    file = tmp_path / "a.md"
    file.write_bytes(data)
    assert refusal_of(file).message == f"spec {file} {message}"
