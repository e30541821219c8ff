"""Real shells on a terminal, into which a test types a command line and has it completed."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import select
import shlex
import shutil
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import pytest

from tests import processes

DEADLINE_SECONDS = 120.0
SHELLS = ("bash", "zsh", "fish")

# In place of llmch, a function shows the words that it gets.
_SHOW = "llmch() { printf 'GOT'; printf '<%s>' \"$@\"; printf 'END\\n'; }"
_BASH = f"""
PS1='ready> '
unset HISTFILE
bind 'set enable-bracketed-paste off'
{_SHOW}
"""
# The key inserts all that could stand in the word's place, as M-* does in bash.
_ZSH = f"""
PS1='ready> '
autoload -U compinit
compinit -u -d "$ZDOTDIR/dump"
zle -C all-matches complete-word _generic
bindkey '^X*' all-matches
zstyle ':completion:all-matches:*' insert yes
zstyle ':completion:all-matches::::' completer _all_matches _complete
unset zle_bracketed_paste
{_SHOW}
"""


class Shell(Protocol):
    """Completes command lines."""

    def offered(self, line: str) -> set[str]:
        """Return the words that the shell offers for the last word of `line`, in place of it.

        The names of folders have no slash at their end here.
        """


@dataclass
class TypedInto:
    """A shell that shows its words when its line is entered."""

    master: int
    all_of_them: bytes
    text: str = field(default="", repr=False)

    def offered(self, line: str) -> set[str]:
        *before, typed = _words(f"{line}|")
        found = self._entered(line.encode() + self.all_of_them)[len(before) - 1 :]
        # A word without any completion stays as it was typed.
        return {each.removesuffix("/") for each in found} - {typed.removesuffix("|")}

    def _entered(self, keys: bytes) -> list[str]:
        self.text = ""
        os.write(self.master, keys + b"\r")
        return re.findall("<(.*?)>", self.read_until(r"GOT(.*)END\r?\n")[1])

    def read_until(self, pattern: str) -> re.Match[str]:
        deadline = time.monotonic() + DEADLINE_SECONDS
        while not (found := re.search(pattern, self.text, re.DOTALL)):
            left = deadline - time.monotonic()
            ready, _, _ = select.select([self.master], [], [], max(0.0, left))
            assert ready, f"no {pattern!r} in {self.text[-2000:]!r}"
            self.text += os.read(self.master, 65536).decode(errors="replace")
        return found


def _words(line: str) -> list[str]:
    """Return the words of a line, whose last quote may be open."""
    with contextlib.suppress(ValueError):
        return shlex.split(line)
    return shlex.split(f'{line}"')


@dataclass
class Fish:
    """Asks fish, which answers without a terminal."""

    script: Path
    folder: Path
    environment: dict[str, str]

    def offered(self, line: str) -> set[str]:
        command = f"source {shlex.quote(str(self.script))}; complete -C {shlex.quote(line)}"
        done = subprocess.run(
            ["fish", "--no-config", "-c", command],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stderr == ""
        return {each.partition("\t")[0].removesuffix("/") for each in done.stdout.splitlines()}


@contextlib.contextmanager
def open_shell(name: str, script: str, folder: Path, home: Path) -> Iterator[Shell]:
    """Open a shell in `folder` that has read `script`; skip the test where it is not installed."""
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed")
    home.mkdir()
    path = home / f"llmch.{name}"
    path.write_text(script)
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "ZDOTDIR": str(home),
        "TERM": "dumb",
        "LC_ALL": "C.UTF-8",
    }
    if name == "fish":
        yield Fish(path, folder, environment)
        return
    rc = home / (".zshrc" if name == "zsh" else "bashrc")
    rc.write_text(f"{_ZSH if name == 'zsh' else _BASH}\nsource {shlex.quote(str(path))}\n")
    own = ["-d", "-i"] if name == "zsh" else ["--noprofile", "--rcfile", str(rc), "-i"]
    master, slave = pty.openpty()
    process = processes.start(
        [name, *own], cwd=folder, env=environment, stdin=slave, stdout=slave, stderr=slave,
        start_new_session=True,
    )  # fmt: skip
    os.close(slave)
    shell = TypedInto(master, b"\x18*" if name == "zsh" else b"\x1b*")
    try:
        shell.read_until("ready> ")
        yield shell
    finally:
        process.kill()
        process.wait()
        os.close(master)
