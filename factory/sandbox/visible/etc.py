"""Selects the part of /etc that programs need; the rest, on users and services, stays hidden."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterable
from pathlib import Path

ROOT = Path("/etc")

# These folders are shown as they are.
FOLDERS = tuple(
    ROOT / name
    for name in (
        *("alternatives", "java", "maven/logging", "pki/ca-trust", "pki/tls/certs", "ssl/certs"),
        "terminfo",
    )
) + tuple(sorted(ROOT.glob("java-*/security")))
# C libraries and runtimes read these: name lookup, shared libraries, time zone, file types, TLS.
FILES = tuple(
    ROOT / name
    for name in (
        "group",
        "hosts",
        "ld.so.cache",
        "localtime",
        "maven/m2.conf",
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
) + tuple(
    # Debian's Java keeps its configuration here. `management`, beside these, may hold passwords.
    sorted(each for kind in ("cfg", "properties") for each in ROOT.glob(f"java-*/*.{kind}"))
)


def copy_to(folder: Path, places: Iterable[Path]) -> None:
    """Copy the files to the empty `folder`, and make an empty file or folder for each of `places`.

    One mount of `folder` replaces fifteen mounts, each of which would cost every command a fifth
    of a millisecond. A file that is missing or unreadable on the host is left out.
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
