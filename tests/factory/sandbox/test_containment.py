"""What a command that means harm can do, judged by the state of the host.

`arena` is one on each backend, `attacked` also one without a sandbox: there the same attack has
to succeed, or the test would prove nothing.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from glob import glob
from pathlib import Path
from uuid import uuid4

import pytest

from factory.sandbox.policy import Backend, Guarantee
from factory.sandbox.supervision import LOG_BYTES
from tests import processes
from tests.factory.sandbox.sandbox_arena import (
    KEY,
    Arena,
    Driver,
    User,
    opened_arena,
    processes_with,
    snapshot,
    wait_until,
)

MIB = 1024**2

# Each attack on a folder of its own, `here`, that lies outside of what the command may touch.
WRITES = {
    "overwrite": "open(here + '/secret', 'w').write('gone')",
    "append": "open(here + '/secret', 'a').write('more')",
    "truncate": "os.truncate(here + '/secret', 0)",
    "unlink": "os.unlink(here + '/secret')",
    "rename": "os.rename(here + '/secret', here + '/renamed')",
    "take away": "os.rename(here + '/secret', 'taken')",
    "replace": "open('mine', 'w'); os.rename('mine', here + '/secret')",
    "create": "open(here + '/new', 'w')",
    "make a folder": "os.mkdir(here + '/new')",
    "remove a folder": "os.rmdir(here + '/folder')",
    "make a link": "os.symlink('/', here + '/new')",
    "through a link": "os.symlink(here, 'link'); open('link/secret', 'w')",
    "through a hard link": "os.link(here + '/secret', 'hard'); open('hard', 'w')",
    "through a relative path": "open(os.path.relpath(here + '/secret'), 'w')",
    "through /proc": "open('/proc/self/root' + here + '/secret', 'w')",
}
METADATA = {
    "mode": "os.chmod(here + '/secret', 0o777)",
    "times": "os.utime(here + '/secret', (1, 1))",
    "mode of a folder": "os.chmod(here, 0o777)",
}
TRY_ALL = """
import json, os, sys
for name, attack in json.loads(sys.argv[2]).items():
    here = sys.argv[1] + '/' + name
    try: exec(attack)
    except OSError: pass
"""


def harmed_by(arena: Arena, attacks: dict[str, str]) -> set[str]:
    """The attacks after which their folder is not what it was."""
    for name in attacks:
        (arena.outside / name / "folder").mkdir(parents=True)
        (arena.outside / name / "secret").write_text("the-secret-outside")
    arena.own()
    before = {name: snapshot(arena.outside / name) for name in attacks}
    arena.python(TRY_ALL, arena.outside, json.dumps(attacks))
    return {name for name in attacks if snapshot(arena.outside / name) != before[name]}


def test_files_outside_keep_their_bytes(attacked: Arena) -> None:
    harmed = harmed_by(attacked, WRITES)
    attacked.check(Guarantee.FILES, harmed=bool(harmed))
    assert not harmed or harmed == set(WRITES)  # without a sandbox every one of them works


def test_files_outside_keep_their_metadata(attacked: Arena) -> None:
    harmed = harmed_by(attacked, METADATA)
    attacked.check(Guarantee.METADATA, harmed=bool(harmed))
    assert not harmed or harmed == set(METADATA)


def test_the_workspace_and_tmp_can_be_written_and_nothing_else_of_the_host_s(
    arena: Arena,
) -> None:
    ended = arena.run(
        "sh", "-c", 'echo kept > file && echo other > "$TMPDIR/file" && cat file && touch ~/home'
    )
    assert (arena.workspace / "file").read_text() == "kept\n", ended.stderr.text
    assert (arena.private / "tmp" / "file").read_text() == "other\n"
    assert (arena.private / "tmp" / "home").exists()
    for place in ("/", "/usr", "/etc", "/dev/shm", "/var/tmp", arena.private / "programs" / "bin"):
        name = Path(place) / f"planted-{uuid4().hex}"
        try:
            arena.run("sh", "-c", f"echo planted > {name}")
            arena.check(Guarantee.FILES, harmed=name.exists())
        finally:
            name.unlink(missing_ok=True)


def test_writing_elsewhere_does_not_even_seem_to_succeed(arena: Arena) -> None:
    for place in ("/", "/usr", "/etc", arena.private / "programs"):
        name = Path(place) / f"planted-{uuid4().hex}"
        try:
            arena.run("sh", "-c", f"echo x > {name} && echo {name} >> believed")
        finally:
            name.unlink(missing_ok=True)
    arena.check(Guarantee.FILES, harmed=(arena.workspace / "believed").exists())


def test_the_host_s_tmp_is_another(arena: Arena) -> None:
    name = Path(f"/tmp/planted-{uuid4().hex}")
    try:
        arena.run("sh", "-c", f"echo planted > {name}")
        assert not name.exists()
    finally:
        name.unlink(missing_ok=True)


def test_files_outside_cannot_be_read(attacked: Arena) -> None:
    ended = attacked.run("sh", "-c", f"cat {attacked.outside}/secret; ls {attacked.outside}")
    printed = ended.stdout.text + ended.stderr.text
    attacked.check(Guarantee.SECRETS, harmed="the-secret-outside" in printed)
    attacked.check(Guarantee.SECRETS, harmed="folder" in ended.stdout.text)


def test_the_system_s_secrets_cannot_be_read(arena: Arena) -> None:
    ended = arena.run("sh", "-c", "cat /etc/shadow /etc/gshadow /etc/machine-id")
    assert ended.stdout.text == ""


def test_the_key_is_not_in_the_environment(arena: Arena) -> None:
    ended = arena.run("env")
    assert KEY not in ended.stdout.text
    names = {line.partition("=")[0] for line in ended.stdout.text.splitlines()}
    assert names - {"PWD", "SHLVL", "_"} == {
        *("PATH", "LANG", "HOME", "TMPDIR", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE"),
        *("PYTHONPYCACHEPREFIX", "PYTEST_ADDOPTS"),
        *("GOCACHE", "GOFLAGS", "GOTELEMETRY", "GOTOOLCHAIN", "NODE_OPTIONS"),
        *("CARGO_NET_OFFLINE", "__CARGO_TEST_ROOT"),
        *("__TOX_ENVIRONMENT_VARIABLE_ORIGINAL_CI", "HYPOTHESIS_STORAGE_DIRECTORY"),
        *("PROPTEST_RNG_SEED", "PROPTEST_DISABLE_FAILURE_PERSISTENCE"),
        *("GRADLE_USER_HOME", "MAVEN_OPTS", "DOTNET_CLI_TELEMETRY_OPTOUT", "DOTNET_NOLOGO"),
        *("npm_config_fund", "npm_config_offline", "npm_config_update_notifier", "COREPACK_ROOT"),
    }


def test_the_key_cannot_be_had_from_another_process(attacked: Arena) -> None:
    ended = attacked.python(
        "import pathlib, sys\n"
        "for each in ('environ', 'cmdline'):\n"
        "    for file in [pathlib.Path('/proc', sys.argv[1], each),\n"
        "                 *pathlib.Path('/proc').glob('[0-9]*/' + each)]:\n"
        "        try: print(file.read_bytes())\n"
        "        except OSError: pass\n",
        attacked.driver.process.pid,
    )
    attacked.check(Guarantee.PROCESSES, harmed=KEY in ended.stdout.text)
    attacked.check(Guarantee.PROCESSES, harmed="sandbox_driver" in ended.stdout.text)


def test_no_tcp_to_the_host(attacked: Arena) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        attacked.python(
            "import socket, sys; socket.create_connection(('127.0.0.1', int(sys.argv[1])), 2)",
            server.getsockname()[1],
        )
        server.settimeout(0)
        attacked.check(Guarantee.NETWORK, harmed=_accepted(server))


def test_no_udp_to_the_host(attacked: Arena) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        attacked.python(
            "import socket, sys\n"
            "socket.socket(socket.AF_INET, socket.SOCK_DGRAM)"
            ".sendto(b'hello', ('127.0.0.1', int(sys.argv[1])))",
            server.getsockname()[1],
        )
        server.settimeout(0)
        try:
            harmed = bool(server.recv(10))
        except BlockingIOError:
            harmed = False
        attacked.check(Guarantee.NETWORK, harmed=harmed)


@pytest.mark.parametrize("kind", ["path", "abstract"])
def test_no_unix_socket_of_the_host(attacked: Arena, kind: str) -> None:
    name = str(attacked.outside / "socket") if kind == "path" else f"\0{uuid4().hex}"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(name)
        server.listen()
        if kind == "path":
            Path(name).chmod(0o777)
        attacked.python(
            "import socket, sys\n"
            "socket.socket(socket.AF_UNIX).connect(sys.argv[1].replace('@', chr(0)))",
            name.replace("\0", "@"),
        )
        server.settimeout(0)
        attacked.check(Guarantee.UNIX_SOCKETS, harmed=_accepted(server))


def _accepted(server: socket.socket) -> bool:
    try:
        server.accept()[0].close()
    except BlockingIOError:
        return False
    return True


@pytest.mark.parametrize("family", ["AF_VSOCK", "AF_PACKET", "AF_ALG"])
def test_no_socket_that_no_namespace_holds(arena: Arena, family: str) -> None:
    number = getattr(socket, family)
    arena.python(
        f"import socket; socket.socket({number}, 3 if {number} == 17 else 1); open('made', 'w')"
    )
    arena.python(
        f"import socket; socket.socket({number}, 5 if {number} == 38 else 2); open('made', 'w')"
    )
    arena.check(Guarantee.NETWORK, harmed=(arena.workspace / "made").exists())


def test_its_own_loopback_works(arena: Arena) -> None:
    arena.python(
        "import socket\n"
        "server = socket.create_server(('127.0.0.1', 0))\n"
        "client = socket.create_connection(server.getsockname(), 5)\n"
        "client.send(b'x'); open('served', 'wb').write(server.accept()[0].recv(1))"
    )
    arena.check(Guarantee.LOOPBACK, harmed=not (arena.workspace / "served").exists())


def test_multiprocessing_works(arena: Arena) -> None:
    (arena.workspace / "pool.py").write_text(
        "import multiprocessing\n"
        "if __name__ == '__main__':\n"
        "    for method in ('fork', 'spawn'):\n"
        "        with multiprocessing.get_context(method).Pool(2) as pool:\n"
        "            print(sum(pool.map(abs, [-1, -2])), file=open(method, 'w'))\n"
    )
    arena.run("python", "pool.py")
    worked = all((arena.workspace / method).exists() for method in ("fork", "spawn"))
    arena.check(Guarantee.MULTIPROCESSING, harmed=not worked)


def test_asyncio_and_child_processes_work(arena: Arena) -> None:
    arena.python(
        "import asyncio, sys\n"
        "async def main():\n"
        "    child = await asyncio.create_subprocess_exec(\n"
        "        'echo', 'spoken', stdout=asyncio.subprocess.PIPE)\n"
        "    open('heard', 'wb').write((await child.communicate())[0])\n"
        "    await asyncio.gather(asyncio.to_thread(open, 'thread', 'w'))\n"
        "asyncio.run(main())"
    )
    assert (arena.workspace / "heard").read_text() == "spoken\n"
    assert (arena.workspace / "thread").exists()


def test_stdin_is_empty(arena: Arena) -> None:
    arena.run("sh", "-c", "cat > got")
    assert (arena.workspace / "got").read_bytes() == b""


BOMB = """
import os, sys, time
count = 0
for _ in range(int(sys.argv[1])):
    try:
        if os.fork() == 0:
            os.setsid()
            time.sleep(600)
            os._exit(0)
        count += 1
    except OSError:
        break
open('forked', 'w').write(str(count))
"""


def test_a_fork_bomb_is_bounded_and_leaves_nothing(arena: Arena) -> None:
    arena.open(limits={"processes": 20})
    marker = uuid4().hex
    ended = arena.python(BOMB, 60, marker)
    forked = int((arena.workspace / "forked").read_text())
    arena.check(Guarantee.PROCESS_LIMIT, harmed=forked > 20)
    arena.check(Guarantee.SURVIVORS, harmed=bool(processes_with(marker)))
    assert ended.duration_seconds < 300


DAEMON = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork():
        os._exit(0)
    os.execvp('sh', ['sh', '-c', 'trap "" TERM HUP INT; while :; do sleep 60; done', sys.argv[1]])
open('started', 'w')
time.sleep(float(sys.argv[2]))
"""


def test_a_daemon_does_not_outlive_a_normal_end(arena: Arena) -> None:
    marker = uuid4().hex
    ended = arena.python(DAEMON, marker, 0)
    assert (arena.workspace / "started").exists()
    arena.check(Guarantee.SURVIVORS, harmed=bool(processes_with(marker)))
    assert (ended.cause, ended.exit_code) == ("exited", 0)


def test_a_daemon_that_holds_the_output_does_not_outlive_the_deadline(arena: Arena) -> None:
    marker = uuid4().hex
    ended = processes.ended_by_its_deadline(
        lambda timeout: arena.python(DAEMON, marker, 600, timeout=timeout),
        lambda: (arena.workspace / "started").exists(),
    )
    assert ended.duration_seconds < 300
    assert ended.cause == "timed_out"
    arena.check(Guarantee.SURVIVORS, harmed=bool(processes_with(marker)))


def test_a_process_whose_first_thread_has_left_does_not_survive(arena: Arena) -> None:
    marker = uuid4().hex
    code = (
        "import ctypes, os, threading, time\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    threading.Thread(target=time.sleep, args=(60,)).start()\n"
        "    ctypes.CDLL(None).pthread_exit(None)\n"
        "time.sleep(0.1)"
    )
    arena.python(code, marker)
    assert not _threads_with(marker)


def _threads_with(marker: str) -> list[str]:
    found = []
    # Other processes end meanwhile: `glob` passes over their folders, `Path.glob` raises.
    for task in glob("/proc/[0-9]*/task/*/cmdline"):  # noqa: PTH207
        try:
            if marker.encode() in Path(task).read_bytes():
                found.append(task)
        except OSError:
            pass
    return found


def test_nothing_outlives_a_sigkill_of_llmch(
    backend: Backend, user: User, new_driver: Callable[[User], Driver]
) -> None:
    driver = new_driver(user)
    with opened_arena(backend, user, driver) as arena:
        marker = uuid4().hex
        driver.send(arena.request(["python", "-c", DAEMON, marker, "60"], 60))
        assert wait_until(lambda: bool(processes_with(marker)))
        driver.process.kill()
        assert wait_until(lambda: not processes_with(marker))


def test_its_parent_llmch_and_the_user_s_other_processes_cannot_be_killed(
    backend: Backend, user: User, new_driver: Callable[[User], Driver]
) -> None:
    # Named processes of this test only: were the sandbox broken, `kill -1` would end the machine's.
    driver = new_driver(user)
    with opened_arena(backend, user, driver) as arena, arena.bystander() as bystander:
        arena.run("true")
        warden = Path(f"/proc/{driver.process.pid}/task/{driver.process.pid}/children").read_text()
        victims = [driver.process.pid, int(warden), bystander.pid]
        ended = arena.python(
            "import os, signal, sys\n"
            "for pid in (os.getppid(), *map(int, sys.argv[1:])):\n"
            "    try: os.kill(pid, signal.SIGKILL)\n"
            "    except OSError: pass\n",
            *victims,
        )
        harmed = any(process.poll() is not None for process in (driver.process, bystander))
        arena.check(Guarantee.PROCESSES, harmed or "still run" in ended.reason)
        assert arena.run("echo", "still here").stdout.text == "still here\n"


def test_another_process_s_limits_stay(attacked: Arena) -> None:
    pid = attacked.driver.process.pid
    limits = Path(f"/proc/{pid}/limits")
    before = limits.read_text()
    attacked.python(
        "import resource as r, sys\n"
        "pid = int(sys.argv[1])\n"
        "soft, hard = r.prlimit(pid, r.RLIMIT_NOFILE)\n"
        "r.prlimit(pid, r.RLIMIT_NOFILE, (soft - 1, hard))",
        pid,
    )
    attacked.check(Guarantee.PROCESSES, harmed=limits.read_text() != before)


def test_memory_is_bounded(arena: Arena) -> None:
    arena.open(limits={"memory_bytes": 200 * MIB})
    arena.python(
        "x = bytearray(100 << 20); open('little', 'w'); bytearray(300 << 20); open('much', 'w')"
    )
    assert (arena.workspace / "little").exists()
    arena.check(Guarantee.LIMITS, harmed=(arena.workspace / "much").exists())


def test_file_size_is_bounded(arena: Arena) -> None:
    arena.open(limits={"file_bytes": MIB})
    arena.run("sh", "-c", "head -c 3000000 /dev/zero > large")
    arena.check(Guarantee.LIMITS, harmed=(arena.workspace / "large").stat().st_size > MIB)


@pytest.mark.rest
def test_cpu_time_is_bounded(arena: Arena) -> None:
    arena.open(limits={"cpu_seconds": 1})
    ended = arena.run("sh", "-c", "while :; do :; done")
    assert ended.cause == "cpu_limit"


def test_a_flood_of_output_is_cut_and_ended(arena: Arena) -> None:
    arena.open(limits={"output_bytes": 2 * LOG_BYTES})
    ended = arena.run("yes", "flood")
    assert ended.cause == "output_limit"
    assert ended.stdout.truncated
    assert len(ended.stdout.text) < MIB
    assert ended.stdout.text.startswith("flood\n")
    assert Path(ended.stdout.log).stat().st_size < LOG_BYTES + MIB


def test_no_namespaces_of_its_own(attacked: Arena) -> None:
    for flag in ("-U", "-m", "-n", "-p"):
        attacked.run("unshare", flag, "-r", "touch", "nested")
        attacked.run("unshare", flag, "touch", "nested")
    attacked.check(Guarantee.NAMESPACES, harmed=(attacked.workspace / "nested").exists())


def test_nothing_can_be_mounted(arena: Arena) -> None:
    arena.run("sh", "-c", "mkdir here; mount -t tmpfs none here && touch mounted")
    assert not (arena.workspace / "mounted").exists()


def test_kernel_settings_stay(arena: Arena) -> None:
    setting = Path("/proc/sys/vm/page-cluster")
    before = setting.read_text()
    try:
        arena.run("sh", "-c", f"echo {int(before) + 1} > {setting}")
        arena.check(Guarantee.FILES, harmed=setting.read_text() != before)
    finally:
        if setting.read_text() != before:
            setting.write_text(before)


def test_no_keyring_and_no_shared_memory_of_the_host(arena: Arena) -> None:
    ended = arena.python(
        "import ctypes, platform\n"
        "calls = {'x86_64': (248, 250), 'aarch64': (217, 219)}[platform.machine()]\n"
        "libc = ctypes.CDLL(None)\n"
        "print(libc.syscall(calls[0], b'user', b'llmch', b'x', 1, -4))\n"
        "print(libc.syscall(calls[1], 0, -4, 0))"
    )
    assert ended.stdout.text == "-1\n-1\n"


def test_a_bwrap_of_the_repo_s_own_is_not_used(
    user: User, new_driver: Callable[[User], Driver]
) -> None:
    driver = new_driver(user)
    arena = Arena(driver, Backend.BWRAP)
    try:
        fake = arena.workspace / "bin" / "bwrap"
        fake.parent.mkdir()
        fake.write_text(f"#!/bin/sh\ntouch {arena.outside}/ran\necho bubblewrap 0.11.0\n")
        fake.chmod(0o755)
        arena.open()
        if "refused" not in arena.opened:
            arena.run("true")
        assert not (arena.outside / "ran").exists()
    finally:
        arena.close()


def test_a_sandbox_that_cannot_start_runs_nothing(arena: Arena) -> None:
    shown = arena.base / "shown"
    shown.mkdir()
    arena.open(read=[str(shown)])
    shown.rmdir()
    if arena.backend is Backend.LANDLOCK:
        pytest.skip("landlock: its ruleset is complete before the first command")
    ended = arena.run("touch", "ran")
    assert (ended.cause, ended.exit_code) == ("not_started", -1)
    assert "shown" in ended.reason
    assert not (arena.workspace / "ran").exists()
