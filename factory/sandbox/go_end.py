"""Runs what `go test` starts, and says where a test binary ended before its tests.

A copy of this file is a program of the sandbox, which `go` starts by its option `-exec`. It runs
in the folder of the package, imports nothing of llmch, and leaves other programs alone. A binary
whose tests passed prints `PASS`, whatever its options; `os.Exit(0)` in an `init` or in the code
under test prints nothing, and go reports the package as `ok`. A `TestMain` may leave the tests out
on purpose. The package then counts as one without tests.
"""

from __future__ import annotations

import os
import select
import signal
import sys

NO_TESTS = b"\ntesting: warning: no tests to run\n"
EARLY = (
    b"\nThe command ended before its own end: os.Exit(0) in the code under test ended the tests of "
    b"this package. Return there, so that the caller goes on.\n"
)
IGNORED = b"\nThe tests of this package failed, but its TestMain exits with 0.\n"


def run(argv: list[str]) -> tuple[int, bytes]:
    """Run a test binary, pass on what it prints, and return its exit code and its last word.

    The word of the binary itself comes after all that its tests print.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        together = os.path.samestat(os.fstat(1), os.fstat(2))
        os.dup2(writing, 1)
        if together:  # so that lines of both keep their sequence
            os.dup2(writing, 2)
        os.execv(argv[0], argv)  # noqa: S606
    os.close(writing)
    for number in (signal.SIGQUIT, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _: os.kill(child, number))
    word = b""
    line, status = b"", None
    while status is None or select.select([reading], [], [], 0)[0]:
        if select.select([reading], [], [], 0.05)[0]:
            data = os.read(reading, 65536)
            if not data:
                break
            write(data)
            *lines, line = (line + data).split(b"\n")
            said = [each.strip(b"\x16\r") for each in lines]
            word = next((each for each in reversed(said) if each in (b"PASS", b"FAIL")), word)
            line = line[-64:]
        elif status is None:
            ended, found = os.waitpid(child, os.WNOHANG)
            status = found if ended else None
    if status is None:
        status = os.waitpid(child, 0)[1]
    return os.waitstatus_to_exitcode(status), word


def write(data: bytes) -> None:
    while data:
        data = data[os.write(1, data) :]


def has_test_main() -> bool:
    """Return whether a test file of the package decides by itself whether its tests run."""
    for name in os.listdir():  # noqa: PTH208  # pathlib is slow to import
        if name.endswith("_test.go"):
            with open(name, "rb") as file:  # noqa: PTH123
                if b"func TestMain(" in file.read():
                    return True
    return False


def main() -> None:
    argv = sys.argv[1:]
    if not argv[0].endswith(".test") or any(each.startswith("-test.list") for each in argv):
        os.execv(argv[0], argv)  # noqa: S606
    code, word = run(argv)
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    if code == 0 and word == b"FAIL":
        write(IGNORED)
        code = 1
    elif code == 0 and word != b"PASS":
        skipped = has_test_main()
        write(NO_TESTS if skipped else EARLY)
        code = 0 if skipped else 1
    os._exit(code)


if __name__ == "__main__":
    main()
