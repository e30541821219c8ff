"""Runs one command on a terminal of its own, relayed to the user's: an interactive shell.

The command gets a new pseudo-terminal and never a descriptor of the user's terminal. So it cannot
type into the terminal, and cannot leave it in another mode.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import signal
import socket
import struct
import termios
import threading
import tty
from collections.abc import Iterator

from factory.sandbox.commands.supervision import WARDEN, Exit, Launch, exit_of, job_descriptors

_CHUNK = 65536
_ROWS_AND_COLUMNS = struct.Struct("HHHH")


def attach(launch: Launch, keyboard: int, screen: int) -> Exit:
    """Run `launch` until it ends, with input from `keyboard` and output to `screen`.

    `keyboard` must be a terminal. Its mode is restored at the end, whatever happens. The command
    has no deadline; it is killed where the terminal goes away or an exception ends the wait.
    """
    ours, theirs = os.openpty()
    control, supervisor = socket.socketpair()
    with control, _closing(ours):
        with supervisor, _closing(theirs):
            _copy_size(keyboard, ours)
            fds = [theirs, theirs, supervisor.fileno(), *job_descriptors(launch)]
            WARDEN.request(fds)
        with contextlib.suppress(ConnectionError):  # the supervisor died: no report will come
            control.sendall(launch.job())
        with _raw(keyboard), _following_size(keyboard, ours):
            try:
                reply = _relay(ours, keyboard, screen, control)
            except BaseException:
                _end(control)
                raise
    return exit_of(reply, None, clean=True)


def _relay(ours: int, keyboard: int, screen: int, control: socket.socket) -> bytes:
    """Pass bytes both ways until the supervisor has reported; return its report."""
    poll = select.poll()
    for fd in (ours, keyboard, control.fileno()):
        poll.register(fd, select.POLLIN)
    reply = b""
    while True:
        ready = {fd for fd, _ in poll.poll()}
        if ours in ready and not _pass_on(ours, screen):
            poll.unregister(ours)
        if keyboard in ready and not _pass_on(keyboard, ours):
            poll.unregister(keyboard)
            control.shutdown(socket.SHUT_WR)  # nobody is there any more
        if control.fileno() in ready:
            data = _read(control.fileno())
            reply += data
            if not data or reply.endswith(b"\n"):
                _drain(ours, screen)
                return reply


def _drain(ours: int, screen: int) -> None:
    os.set_blocking(ours, False)
    with contextlib.suppress(BlockingIOError):
        while _pass_on(ours, screen):
            pass


def _pass_on(source: int, target: int) -> bool:
    """Copy what can be read; return False at the end of either side."""
    data = _read(source)
    try:
        while data:
            written = os.write(target, data)
            if written == len(data):
                return True
            data = data[written:]
    except BlockingIOError:
        raise
    except OSError:
        pass
    return False


def _read(fd: int) -> bytes:
    try:
        return os.read(fd, _CHUNK)
    except BlockingIOError:
        raise
    except OSError:  # a pseudo-terminal without any reader, a supervisor that was killed
        return b""


def _end(control: socket.socket) -> None:
    """Have every process of the command killed, and wait for that."""
    with contextlib.suppress(OSError):
        control.shutdown(socket.SHUT_WR)
        control.settimeout(_GRACE_SECONDS)
        while control.recv(_CHUNK):
            pass


_GRACE_SECONDS = 5.0


@contextlib.contextmanager
def _raw(keyboard: int) -> Iterator[None]:
    before = termios.tcgetattr(keyboard)
    tty.setraw(keyboard, termios.TCSADRAIN)  # what was typed ahead is kept
    try:
        yield
    finally:
        termios.tcsetattr(keyboard, termios.TCSADRAIN, before)


@contextlib.contextmanager
def _following_size(keyboard: int, ours: int) -> Iterator[None]:
    """Give the command's terminal the size of the user's whenever that changes."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGWINCH, lambda *_: _copy_size(keyboard, ours))
    try:
        yield
    finally:
        signal.signal(signal.SIGWINCH, before)


def _copy_size(source: int, target: int) -> None:
    with contextlib.suppress(OSError):
        size = fcntl.ioctl(source, termios.TIOCGWINSZ, bytes(_ROWS_AND_COLUMNS.size))
        fcntl.ioctl(target, termios.TIOCSWINSZ, size)


@contextlib.contextmanager
def _closing(fd: int) -> Iterator[None]:
    try:
        yield
    finally:
        os.close(fd)
