"""The record of a command, whatever becomes of it, on each backend and without one."""

from __future__ import annotations

import os
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import uuid4

import pytest

from factory.sandbox.detect import open_sandbox
from factory.sandbox.policy import Backend, Cause, Ended, Limits, Policy
from factory.sandbox.runner import Sandbox
from factory.sandbox.supervision import WARDEN
from shared.errors import SandboxUnavailable
from tests.factory.sandbox.sandbox_arena import processes_with, wait_until
from tests.processes import ended_by_its_deadline


def policy_in(folder: Path, **fields: object) -> Policy:
    for name in ("workspace", "private"):
        (folder / name).mkdir(exist_ok=True)
    python = Path(sys.executable)
    return Policy(folder / "workspace", None, folder / "private", python, **fields)  # type: ignore[arg-type]


@pytest.fixture(params=list(Backend)[1:])
def sandbox(request: pytest.FixtureRequest, tmp_path: Path) -> Sandbox:
    try:
        return open_sandbox(request.param, policy_in(tmp_path))
    except SandboxUnavailable as error:
        pytest.skip(f"{request.param}: {error.message}")


def run(sandbox: Sandbox, tmp_path: Path, *argv: str, timeout: float = 120) -> Ended:
    return sandbox.run(argv, timeout_seconds=timeout, log=tmp_path / uuid4().hex)


def overstaying(sandbox: Sandbox, tmp_path: Path, script: str) -> Ended:
    """Run a script that would sleep on, and that creates the file `begun` before it does."""
    return ended_by_its_deadline(
        lambda timeout: run(sandbox, tmp_path, "sh", "-c", script, timeout=timeout),
        (tmp_path / "workspace" / "begun").exists,
    )


def test_a_command_s_end_and_output_are_recorded(sandbox: Sandbox, tmp_path: Path) -> None:
    ended = run(sandbox, tmp_path, "sh", "-c", "echo a; echo b >&2; exit 4")
    assert (ended.exit_code, ended.cause, ended.backend) == (4, Cause.EXITED, sandbox.backend)
    assert (ended.stdout.text, ended.stderr.text, ended.reason) == ("a\n", "b\n", "")
    assert (ended.stdout.log.read_text(), ended.stderr.log.read_text()) == ("a\n", "b\n")
    assert (ended.stdout.total_bytes, ended.stdout.truncated) == (2, False)
    assert not ended.ok
    assert run(sandbox, tmp_path, "true").ok


def test_output_need_not_be_text(sandbox: Sandbox, tmp_path: Path) -> None:
    ended = run(sandbox, tmp_path, "printf", r"\377\000x")
    assert ended.stdout.text == "\ufffd\0x"
    assert ended.stdout.log.read_bytes() == b"\xff\0x"


@pytest.mark.parametrize(
    "name", ["no-such-program", "./no-such-program", "/no/such/program", "a\0b", ""]
)
def test_a_program_that_is_not_there_is_told_apart(
    sandbox: Sandbox, tmp_path: Path, name: str
) -> None:
    ended = run(sandbox, tmp_path, name)
    assert (ended.exit_code, ended.cause) == (127, Cause.NOT_FOUND)
    assert name in ended.reason


def test_a_script_that_cannot_be_executed_is_no_traceback(sandbox: Sandbox, tmp_path: Path) -> None:
    script = tmp_path / "workspace" / "script"
    script.write_bytes(b"\x00\x01not a program")
    script.chmod(0o755)
    ended = run(sandbox, tmp_path, "./script")
    assert not ended.ok
    script.write_text("#!/no/such/interpreter\n")
    assert not run(sandbox, tmp_path, "./script").ok


@pytest.mark.parametrize(
    ("content", "mode", "why"),
    [
        ("#!/bin/bash\nexit 0\n", 0o644, "is not executable: run it by `bash script.sh`"),
        ("#!/no/such/interpreter\n", 0o755, "its interpreter '/no/such/interpreter' is not"),
        ("#!/bin/bash\r\nexit 0\r\n", 0o755, "its lines end as on Windows"),
        ("exit 0\n", 0o755, "no first line names its interpreter"),
    ],
    ids=["mode", "interpreter", "line ends", "no first line"],
)
def test_a_script_that_cannot_be_started_is_reported_as_what_it_is(
    sandbox: Sandbox, tmp_path: Path, content: str, mode: int, why: str
) -> None:
    script = tmp_path / "workspace" / "script.sh"
    script.write_text(content)
    script.chmod(mode)
    ended = run(sandbox, tmp_path, "./script.sh")
    assert (ended.exit_code, ended.cause) == (-1, Cause.NOT_STARTED)
    assert "./script.sh is there, but" in ended.reason
    assert why in ended.reason
    assert run(sandbox, tmp_path, "bash", "script.sh").cause is Cause.EXITED


def test_control_a_script_that_can_be_started_is(sandbox: Sandbox, tmp_path: Path) -> None:
    script = tmp_path / "workspace" / "script.sh"
    script.write_text("#!/bin/bash\nexit 3\n")
    script.chmod(0o755)
    assert run(sandbox, tmp_path, "./script.sh").exit_code == 3


@pytest.mark.parametrize("argument", ["a\0b", "\ud800", "x" * 200_000, "\udcff"])
def test_arguments_that_no_program_can_be_given_are_no_traceback(
    sandbox: Sandbox, tmp_path: Path, argument: str
) -> None:
    ended = run(sandbox, tmp_path, "printf", "%s", argument)
    if argument == "\udcff":  # a byte that is no UTF-8, as file names may have
        assert ended.stdout.log.read_bytes() == b"\xff"
    else:
        assert ended.cause in (Cause.NOT_STARTED, Cause.EXITED)
        assert not ended.ok


def test_a_signal_is_told_from_an_exit(sandbox: Sandbox, tmp_path: Path) -> None:
    ended = run(sandbox, tmp_path, "sh", "-c", "kill -SEGV $$")
    assert (ended.exit_code, ended.cause) == (139, Cause.SIGNALLED)
    assert "SIGSEGV" in ended.reason


def test_a_command_that_overstays_is_ended_at_once(sandbox: Sandbox, tmp_path: Path) -> None:
    ended = overstaying(sandbox, tmp_path, "trap '' TERM INT HUP; touch begun; sleep 600")
    assert (ended.exit_code, ended.cause) == (137, Cause.TIMED_OUT)
    assert ended.duration_seconds < 300


def test_output_up_to_the_deadline_is_kept(sandbox: Sandbox, tmp_path: Path) -> None:
    ended = overstaying(sandbox, tmp_path, "echo before; touch begun; sleep 600")
    assert ended.stdout.text == "before\n"


def test_commands_may_run_side_by_side(sandbox: Sandbox, tmp_path: Path) -> None:
    def one(number: int) -> str:
        return run(sandbox, tmp_path, "sh", "-c", f"echo {number} $(cat)").stdout.text

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(one, range(24))) == [f"{number}\n" for number in range(24)]


def test_an_interrupt_leaves_nothing_running(sandbox: Sandbox, tmp_path: Path) -> None:
    marker = uuid4().hex
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in background jobs

    def interrupt() -> None:
        wait_until(lambda: bool(processes_with(marker)))
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        run(sandbox, tmp_path, "sh", "-c", "sleep 60; :", marker)
    thread.join()
    signal.signal(signal.SIGINT, before)
    assert not processes_with(marker)


def test_a_log_that_cannot_be_written_leaves_nothing_running(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    marker = uuid4().hex
    (tmp_path / "log.stdout.log").symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space left"):
        sandbox.run(
            ["sh", "-c", "yes | head -c 200000; sleep 60; :", marker],
            timeout_seconds=120,
            log=tmp_path / "log",
        )
    assert not processes_with(marker)


def test_a_killed_warden_ends_no_command_and_is_replaced(sandbox: Sandbox, tmp_path: Path) -> None:
    started = tmp_path / "workspace" / "started"
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(
            run, sandbox, tmp_path, "sh", "-c", "touch started; read _ < go; echo end"
        )
        os.mkfifo(tmp_path / "workspace" / "go")
        assert wait_until(started.exists)
        os.kill(warden_pid(), signal.SIGKILL)
        os.waitid(os.P_PID, warden_pid(), os.WEXITED | os.WNOWAIT)
        with (tmp_path / "workspace" / "go").open("w") as go:
            go.write("on\n")
        assert running.result().stdout.text == "end\n"
    assert run(sandbox, tmp_path, "true").ok


def test_a_killed_supervisor_takes_its_command_with_it(sandbox: Sandbox, tmp_path: Path) -> None:
    marker = uuid4().hex
    both = "(read _ < never) & touch begun; read _ < never"  # a child and a grandchild
    os.mkfifo(tmp_path / "workspace" / "never")
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(run, sandbox, tmp_path, "sh", "-c", both, marker)
        assert wait_until((tmp_path / "workspace" / "begun").exists)
        [supervisor] = filter(_children_of, _children_of(warden_pid()))  # another one is idle
        os.kill(supervisor, signal.SIGKILL)
        ended = running.result()
    assert wait_until(lambda: not processes_with(marker))
    assert (ended.cause, ended.ok) == (Cause.NOT_STARTED, False)
    assert "supervisor was killed" in ended.reason


def test_commands_leave_no_descriptor_and_no_zombie_behind(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    run(sandbox, tmp_path, "true")
    before = sorted(Path("/proc/self/fd").iterdir())
    for _ in range(5):
        run(sandbox, tmp_path, "sh", "-c", "sleep 0 & true")
        run(sandbox, tmp_path, "no-such-program")
    assert sorted(Path("/proc/self/fd").iterdir()) == before
    assert wait_until(lambda: len(_children_of(warden_pid())) == 1)  # which waits for a request


def test_a_supervisor_that_is_killed_before_it_has_a_command_is_replaced(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    run(sandbox, tmp_path, "true")
    assert wait_until(lambda: len(_children_of(warden_pid())) == 1)
    [idle] = _children_of(warden_pid())
    os.kill(idle, signal.SIGKILL)
    assert wait_until(lambda: _children_of(warden_pid()) not in ([idle], []))
    assert run(sandbox, tmp_path, "true").ok


def warden_pid() -> int:
    assert WARDEN.pid is not None
    return WARDEN.pid


def _children_of(pid: int) -> list[int]:
    return list(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))


def test_the_description_names_what_holds_and_what_does_not(sandbox: Sandbox) -> None:
    line = sandbox.describe()
    assert "\n" not in line
    held, _, missing = line.partition("does not hold: ")
    for guarantee, holds in sandbox.guarantees.items():
        assert (guarantee in held) is holds
        assert (guarantee in missing) is not holds


def test_a_private_directory_may_be_used_again(tmp_path: Path) -> None:
    for _ in range(2):
        sandbox = open_sandbox(Backend.OFF, policy_in(tmp_path))
        assert run(sandbox, tmp_path, "python", "-c", "pass").ok


def test_the_limits_on_record_are_the_policy_s(tmp_path: Path) -> None:
    limits = Limits(processes=7)
    assert open_sandbox(Backend.OFF, policy_in(tmp_path, limits=limits)).limits == limits


def test_the_answer_comes_as_soon_as_the_command_ends(sandbox: Sandbox, tmp_path: Path) -> None:
    run(sandbox, tmp_path, "true")
    ended = run(sandbox, tmp_path, "sh", "-c", "sleep 600 & true", timeout=500)
    assert (ended.cause, ended.exit_code) == (Cause.EXITED, 0)
    assert ended.duration_seconds < 300


def test_a_command_has_no_descriptors_but_its_streams(sandbox: Sandbox, tmp_path: Path) -> None:
    code = """
import os
def is_open(number):
    try: return bool(os.fstat(number))
    except OSError: return False
print([number for number in range(256) if is_open(number)])
"""
    assert run(sandbox, tmp_path, "python", "-c", code).stdout.text == "[0, 1, 2]\n"


def test_what_a_command_leaves_in_tmp_is_there_until_it_is_cleared(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    write = 'echo left > "$TMPDIR/file"; mkdir -p "$TMPDIR/a/b"; chmod 000 "$TMPDIR/a" "$TMPDIR"'
    run(sandbox, tmp_path, "sh", "-c", f"echo x > ~/kept && {write}")
    sandbox.clear()
    ended = run(sandbox, tmp_path, "sh", "-c", 'ls "$TMPDIR" ~; echo new > ~/new && cat ~/new')
    assert "kept" not in ended.stdout.text
    assert ended.stdout.text.endswith("new\n"), ended.stderr.text


def test_what_a_command_leaves_in_tmp_is_not_kept_on_the_disk(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    run(sandbox, tmp_path, "sh", "-c", 'mkdir -p "$TMPDIR/a/b"; echo x > "$TMPDIR/a/b/file"')
    sandbox.renew_temporary()
    assert [*tmp_path.rglob("b")] == []


@pytest.mark.parametrize(
    "change",
    [
        'chmod 700 "$TMPDIR/pycache"',
        'cd "$TMPDIR/pycache" && link=$(find . -type l | head -1) && ln -sfn / "$link"',
        'cd "$TMPDIR/pycache" && rm "$(find . -type l | head -1)"',
        'mkdir "$TMPDIR/pycache/empty"',
    ],
)
def test_a_small_change_of_tmp_is_undone_when_it_is_cleared(
    sandbox: Sandbox, tmp_path: Path, change: str
) -> None:
    look = 'cd "$TMPDIR/pycache" && find . -printf "%p %m %l\\n" | sort'
    before = run(sandbox, tmp_path, "sh", "-c", look).stdout.text
    changed = run(sandbox, tmp_path, "sh", "-c", f"({change}) && {look}")
    assert changed.ok and changed.stdout.text != before, changed.stderr.text
    sandbox.clear()
    assert run(sandbox, tmp_path, "sh", "-c", look).stdout.text == before


def test_nothing_is_written_through_what_a_command_planted_in_tmp(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    plant = f'rm -rf "$TMPDIR/pycache"; ln -s {outside} "$TMPDIR/pycache"'
    run(sandbox, tmp_path, "sh", "-c", plant)
    sandbox.clear()
    open_sandbox(sandbox.backend, policy_in(tmp_path))
    assert list(outside.iterdir()) == []


def test_a_workspace_made_unusable_is_usable_for_the_next_command(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    run(sandbox, tmp_path, "chmod", "000", ".")
    assert run(sandbox, tmp_path, "touch", "made").ok
    assert (tmp_path / "workspace" / "made").exists()


DRAWN = """
from hypothesis import given, settings, strategies as st
assert settings.default.derandomize and settings.default.deadline is None
assert settings.default.database is None
@given(st.lists(st.integers()))
def draw(values):
    print(values)
    assert sum(values) != 7_777_777
draw()
"""


@pytest.mark.rest
def test_generated_inputs_are_equal_in_each_run_and_leave_no_file(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    workspace = tmp_path / "workspace"
    (workspace / "draw.py").write_text(DRAWN)
    first, second = (run(sandbox, tmp_path, "python", "draw.py") for _ in range(2))
    assert first.ok, first.stderr.text
    assert first.stdout.text == second.stdout.text
    assert len({*first.stdout.text.splitlines()}) > 20
    assert [each.name for each in workspace.iterdir()] == ["draw.py"]
