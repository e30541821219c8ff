"""A clock that is wrong: a library that shifts what a process is told of the time of day.

Debian's libfaketime has `clock_nanosleep` fail in our processes, or shifts the monotonic clock.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

_SOURCE = """\
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

static long shift(void) { return atol(getenv("TEST_CLOCK_SHIFT")); }

int clock_gettime(clockid_t clock, struct timespec *now) {
    int (*real)(clockid_t, struct timespec *) = dlsym(RTLD_NEXT, "clock_gettime");
    int failed = real(clock, now);
    if (!failed && clock == CLOCK_REALTIME) now->tv_sec += shift();
    return failed;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    int (*real)(struct timeval *, void *) = dlsym(RTLD_NEXT, "gettimeofday");
    int failed = real(now, zone);
    if (!failed) now->tv_sec += shift();
    return failed;
}
"""
_ASK = [sys.executable, "-c", "import time; print(time.time())"]


@dataclass(frozen=True)
class ShiftedClock:
    """Hold the library, which is loaded before all others."""

    library: Path

    def showing(self, seconds: int) -> dict[str, str]:
        """Return the variables of a process whose clock is ahead by `seconds`."""
        return {"LD_PRELOAD": str(self.library), "TEST_CLOCK_SHIFT": str(seconds)}


def shifted_clock(folder: Path) -> ShiftedClock:
    """Return such a clock; skip the test where it cannot be made, or changes nothing."""
    if (compiler := shutil.which("cc")) is None:
        pytest.skip("there is no C compiler to make a shifted clock")
    (folder / "clock.c").write_text(_SOURCE)
    clock = ShiftedClock(folder / "clock.so")
    into = ["-o", str(clock.library), str(folder / "clock.c"), "-ldl"]
    subprocess.run([compiler, "-shared", "-fPIC", *into], check=True)
    true = subprocess.run(_ASK, capture_output=True, check=True).stdout
    shown = subprocess.run(_ASK, env=clock.showing(3600), capture_output=True, check=True).stdout
    if float(shown) - float(true) < 3000:
        pytest.skip("the clock of this Python cannot be shifted")
    return clock
