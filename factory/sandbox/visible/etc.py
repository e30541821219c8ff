"""What of /etc programs need to run, without what it keeps of this machine's users and services."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterable
from pathlib import Path

ROOT = Path("/etc")

# Trees: shown as they are.
FOLDERS = tuple(
    ROOT / name
    for name in ("alternatives", "java", "pki/ca-trust", "pki/tls/certs", "ssl/certs", "terminfo")
)
# Name lookup, shared libraries, time zone, file types, TLS: what C libraries and runtimes read.
FILES = tuple(
    ROOT / name
    for name in (
        "group",
        "hosts",
        "ld.so.cache",
        "localtime",
        "mime.types",
        "nsswitch.conf",
        "os-release",
        "passwd",
        "pki/tls/cert.pem",
        "protocols",
        "resolv.conf",
        "services",
        "ssl/cert.pem",
        "ssl/openssl.cnf",
        "timezone",
    )
)


def copy_to(folder: Path, places: Iterable[Path]) -> None:
    """Fill the empty `folder` with the files, and with an empty thing for each of `places`.

    One mount of it then stands for fifteen, each of which would cost every command a fifth of a
    millisecond. A file that is missing or unreadable here is left out there.
    """
    for source in FILES:
        place = folder / source.relative_to(ROOT)
        with contextlib.suppress(OSError):
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, place, follow_symlinks=source != ROOT / "localtime")
    for source in places:
        place = folder / source.relative_to(ROOT)
        if source.is_dir():
            place.mkdir(parents=True, exist_ok=True)
        else:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.touch()
