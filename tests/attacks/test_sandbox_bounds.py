"""Commands against what bounds them: other processes, attributes, watches, memory.

`attacked` is also an arena without a sandbox, where each attack has to work: that is its control.
"""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import subprocess
import sys

import pytest

from factory.sandbox.policy import Backend, Guarantee
from tests.factory.sandbox.conftest import (  # noqa: F401
    arena,
    attacked,
    backend,
    driver_of,
    new_driver,
    user,
)
from tests.factory.sandbox.sandbox_arena import Arena

MIB = 1024**2
_IOPRIO_GET, _IOPRIO_SET = 252, 251  # of x86-64
_IDLE = 3 << 13

_ON_ANOTHER = f"""
import ctypes, os, sys
call = ctypes.CDLL(None, use_errno=True).syscall
pid = int(sys.argv[1])
for attack in (
    lambda: os.setpriority(os.PRIO_PROCESS, pid, 19),
    lambda: os.sched_setaffinity(pid, {{0}}),
    lambda: os.sched_setscheduler(pid, os.SCHED_IDLE, os.sched_param(0)),
    lambda: call({_IOPRIO_SET}, 1, pid, {_IDLE}),
):
    try: attack()
    except OSError: pass
"""
_ON_ITSELF = """
import os
os.setpriority(os.PRIO_PROCESS, 0, 5)
os.sched_setaffinity(0, {0})
os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
os.nice(1)
print('done')
"""


def _rank(pid: int) -> tuple[object, ...]:
    """Return how the kernel treats a process: its nice value, CPUs, policy and I/O class."""
    io = ctypes.CDLL(None).syscall(_IOPRIO_GET, 1, pid)
    nice = os.getpriority(os.PRIO_PROCESS, pid)
    return nice, len(os.sched_getaffinity(pid)), os.sched_getscheduler(pid), io


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the numbers of calls are x86-64's")
def test_another_process_of_the_user_keeps_its_rank(attacked: Arena) -> None:  # noqa: F811
    with attacked.bystander() as other:
        before = _rank(other.pid)
        attacked.python(_ON_ANOTHER, other.pid)
        after = _rank(other.pid)
    attacked.check(Guarantee.PROCESSES, harmed=after != before)
    if attacked.backend is Backend.OFF:
        assert after == (19, 1, os.SCHED_IDLE, _IDLE), "each of the four works"


_READS_MEMORY = """
import ctypes, sys
call = ctypes.CDLL(None, use_errno=True).syscall
pid, buffer = int(sys.argv[1]), ctypes.create_string_buffer(8)
class Piece(ctypes.Structure):
    _fields_ = [('base', ctypes.c_void_p), ('size', ctypes.c_size_t)]
ours, theirs = Piece(ctypes.addressof(buffer), 8), Piece(4096, 8)
def word(value): return ctypes.c_ulong(value) if isinstance(value, int) else value
for number, rest in ((310, (ctypes.byref(ours), 1, ctypes.byref(theirs), 1, 0)),
                     (279, (0, None, None, None, 0))):
    words = map(word, (number, pid, *rest))
    print(ctypes.get_errno() if call(*words) < 0 else 0)
"""


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the numbers of calls are x86-64's")
def test_the_memory_of_another_process_is_out_of_reach(attacked: Arena) -> None:  # noqa: F811
    with attacked.bystander() as other:
        said = attacked.python(_READS_MEMORY, other.pid).stdout.text.split()
    refused = (str(errno.EPERM), str(errno.ESRCH))
    attacked.check(Guarantee.PROCESSES, harmed=any(each not in refused for each in said))


def test_a_command_still_ranks_itself(arena: Arena) -> None:  # noqa: F811
    assert arena.python(_ON_ITSELF).stdout.text == "done\n"


_ON_ATTRIBUTES = """
import os, sys
for attack in (
    lambda: print(os.listxattr(sys.argv[1])),
    lambda: print(os.getxattr(sys.argv[1], 'user.token')),
    lambda: os.setxattr(sys.argv[1], 'user.planted', b'x'),
):
    try: attack()
    except OSError: pass
"""


def test_attributes_of_files_that_may_not_be_read_are_neither_read_nor_written(
    attacked: Arena,  # noqa: F811
) -> None:
    secret = attacked.outside / "secret"
    try:
        os.setxattr(secret, "user.token", b"the-attribute")
    except OSError:
        pytest.skip("the file system has no attributes")
    said = attacked.python(_ON_ATTRIBUTES, secret).stdout.text
    attacked.check(Guarantee.SECRETS, harmed="token" in said or "the-attribute" in said)
    attacked.check(Guarantee.FILES, harmed="user.planted" in os.listxattr(secret))


def test_programs_copy_files_where_attributes_cannot_be_asked_for(
    arena: Arena,  # noqa: F811
) -> None:
    ended = arena.run("sh", "-c", "echo x > a && cp -a a b && ls -l b && mv b c && cat c")
    assert ended.stdout.text.endswith("x\n"), ended.stderr.text
    ended = arena.python("import shutil; shutil.copy2('c', 'd'); print('copied')")
    assert ended.stdout.text == "copied\n", ended.stderr.text


_WATCH = """
import ctypes, sys
libc = ctypes.CDLL(None)
print(libc.inotify_add_watch(libc.inotify_init(), sys.argv[1].encode(), 0x100))
"""


def test_folders_that_may_not_be_read_are_watched_only_where_the_record_says_so(
    attacked: Arena,  # noqa: F811
) -> None:
    said = attacked.python(_WATCH, attacked.outside).stdout.text
    attacked.check(Guarantee.WATCHES, harmed=said == "1\n")


_FILL = """
import os, sys
folder, written = sys.argv[1], 0
try:
    for number in range(3):
        with open(f'{folder}/{number}', 'wb', 0) as file:
            for _ in range(64):
                written += file.write(bytes(1 << 20))
except OSError as error:
    print(error.strerror, end=' ')
for number in range(3):
    if os.path.exists(f'{folder}/{number}'): os.unlink(f'{folder}/{number}')
print(written >> 20)
"""


def test_dev_shm_and_dev_have_no_more_room_than_the_limit(arena: Arena) -> None:  # noqa: F811
    arena.open(limits={"shared_bytes": 100 * MIB})
    for folder in ("/dev/shm", "/dev"):
        said = arena.python(_FILL, folder).stdout.text
        assert int(said.split()[-1]) <= 100, (folder, said)


def test_control_bwrap_by_itself_bounds_neither() -> None:
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        pytest.skip("bwrap is not installed")
    words = [bwrap, "--ro-bind", "/", "/", "--dev", "/dev", sys.executable, "-c", _FILL, "/dev"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.stdout == "192\n", done.stderr
