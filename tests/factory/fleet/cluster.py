"""A PostgreSQL of the tests' own: in a temporary folder, on loopback, as a user that may run it."""

from __future__ import annotations

import contextlib
import itertools
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from shared.settings.setting_values import DatabaseUrl
from tests import processes

PASSWORD = "p4ss-of-the-tests"
_ANSWERS_WITHIN_SECONDS = 60.0
_LOOK_EVERY_SECONDS = 0.02


def programs() -> Path | None:
    """Return the folder of PostgreSQL's programs, the newest version first; `None` without any."""
    if found := shutil.which("initdb"):
        return Path(found).resolve().parent
    versions = Path("/usr/lib/postgresql").glob("*/bin/initdb")
    return max((each.parent for each in versions), key=_version, default=None)


def _version(folder: Path) -> int:
    return int(folder.parent.name) if folder.parent.name.isdigit() else 0


class Cluster:
    """Run a server that can be stopped and started; each test has a database of its own."""

    def __init__(self, folder: Path, bin_folder: Path, host: str = "127.0.0.1") -> None:
        self.folder = folder
        self.host = host
        self.port = _free_port()
        self._bin = bin_folder
        self._names = itertools.count(1)
        self._server: subprocess.Popen[Any] | None = None
        # PostgreSQL refuses to run as root.
        self._user = _ordinary_user() if os.geteuid() == 0 else None
        if self._user:
            shutil.chown(folder, self._user)
        self._initialise()

    def url(self, database: str, user: str = "admin", password: str = PASSWORD) -> DatabaseUrl:
        """Return the URL of a database of this server."""
        return DatabaseUrl(f"postgresql://{user}:{password}@{self.host}:{self.port}/{database}")

    def new_database(self, template: str = "template1") -> str:
        """Make a database and return its name."""
        name = f"fleet{next(self._names)}"
        self.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
        return name

    def execute(self, statement: str, database: str = "postgres", *values: Any) -> list[Any]:
        """Run a statement as the administrator and return its rows."""
        import psycopg

        with psycopg.connect(self.url(database).text, autocommit=True) as connection:
            cursor = connection.execute(statement, values or None)
            return cursor.fetchall() if cursor.description else []

    def start(self) -> None:
        """Start the server and wait until it answers."""
        command: list[str | Path] = [
            *(self._bin / "postgres", "-D", self.folder / "data", "-k", self.folder),
            *("-c", f"listen_addresses={self.host}", "-p", str(self.port), "-c", "fsync=off"),
            *("-c", "max_connections=200"),
        ]
        with processes.lasting_ones(), (self.folder / "log").open("ab") as log:
            self._server = processes.start(
                command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, user=self._user, cwd="/"
            )
        until = time.monotonic() + _ANSWERS_WITHIN_SECONDS
        while True:
            try:
                self.execute("SELECT 1")
            except Exception:
                log_text = (self.folder / "log").read_text()
                assert self._server.poll() is None and time.monotonic() < until, log_text
                time.sleep(_LOOK_EVERY_SECONDS)
            else:
                return

    def stop(self, *, at_once: bool = True) -> None:
        """Stop the server: all connections break."""
        if self._server is not None:
            # SIGQUIT has it end without a last checkpoint, as after a crash.
            self._server.send_signal(3 if at_once else 2)
            self._server.wait()
            self._server = None

    def _initialise(self) -> None:
        secret = self.folder / "password"
        secret.write_text(PASSWORD)
        if self._user:
            shutil.chown(secret, self._user)
        subprocess.run(
            [
                *(self._bin / "initdb", "-D", self.folder / "data", "-U", "admin", "-A"),
                *("scram-sha-256", "--pwfile", secret, "--no-sync", "--locale=C", "-E", "UTF8"),
            ],
            check=True,
            capture_output=True,
            user=self._user,
            cwd="/",
        )
        with (self.folder / "data" / "pg_hba.conf").open("a") as allowed:
            allowed.write(f"host all all {self.host}/24 scram-sha-256\n")


def prepared(cluster: Cluster) -> str:
    """Make a fleet's database with a member of it, `ada`, and return its name."""
    from factory.fleet.fleet_admin import initialise

    name = cluster.new_database()
    roles = initialise(cluster.url(name)).roles
    cluster.execute(f"CREATE ROLE ada LOGIN PASSWORD '{PASSWORD}'")
    cluster.execute(f"GRANT {roles.member} TO ada")
    return name


@contextlib.contextmanager
def running_cluster(bin_folder: Path, host: str = "127.0.0.1") -> Iterator[Cluster]:
    """Run a server while the block does, and remove all of it afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="llmch-postgres-"))
    try:
        cluster = Cluster(folder, bin_folder, host)
        try:
            cluster.start()
            yield cluster
        finally:
            cluster.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _ordinary_user() -> str:
    names = {each.pw_name for each in pwd.getpwall()}
    return next(each for each in ("postgres", "nobody") if each in names)


def _free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])
