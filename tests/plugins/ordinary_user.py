"""Runs Python as an ordinary user, whose rights the tests of an unprivileged sandbox need.

Where the tests run as root, the interpreter and the checkout may lie below folders that are closed
to others (`/root`): they are bound into open ones of the same name, in a mount namespace of their
own.
"""

import os
import pathlib
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Mapping, Sequence

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
NOBODY = 65534

_BECOME_ORDINARY = """
import ctypes, os, sys
uid, paths, arguments = int(sys.argv[1]), sys.argv[2].split(":"), sys.argv[3:]
libc = ctypes.CDLL(None, use_errno=True)
def check(result):
    if result != 0: raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
check(libc.unshare(0x20000))
check(libc.mount(None, b"/", None, 0x44000, None))
closed = {}
for path in paths:
    for top in [path[:n] for n in range(1, len(path)) if path[n] == "/"]:
        if os.stat(top).st_mode & 0o005 != 0o005:
            closed.setdefault(top, []).append((path, os.open(path, os.O_PATH)))
            break
for top, inner in closed.items():
    check(libc.mount(b"tmpfs", top.encode(), b"tmpfs", 0, b"mode=0755"))
    for path, fd in inner:
        os.makedirs(path, exist_ok=True)
        check(libc.mount(b"/proc/self/fd/%d" % fd, path.encode(), None, 0x5000, None))
os.setgroups([])
os.setresgid(uid, uid, uid)
os.setresuid(uid, uid, uid)
os.chdir("/")
os.execv(sys.executable, [sys.executable, *arguments])
"""


@pytest.fixture(scope="session")
def as_ordinary_user() -> Callable[..., str]:
    """A function that runs Python with arguments as an ordinary user and returns its output."""

    def run(
        arguments: Sequence[str],
        *,
        uid: int = NOBODY,
        environment: Mapping[str, str] | None = None,
        seconds: float = 120,
    ) -> str:
        paths = (sys.base_prefix, sys.prefix, str(ROOT), sysconfig.get_paths()["purelib"])
        command = [sys.executable, *arguments]
        if os.geteuid() == 0:
            places = ":".join(dict.fromkeys(paths))
            command = [sys.executable, "-c", _BECOME_ORDINARY, str(uid), places, *arguments]
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
            env={"HOME": "/nonexistent", **(environment or {})},
        )
        assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-5000:]
        return done.stdout

    return run
