"""Signals and processes: the first process stands, and nothing outlives its program."""

import signal

import pytest

from execgym.sandbox import run_sync


def test_killing_everyone_kills_only_ones_own(attack):
    code = """
import os, time
if os.fork() == 0: time.sleep(1000)
try: os.kill(-1, 9)
except OSError: pass
print('still here')
"""
    assert attack(code).stdout == b"still here\n"


@pytest.mark.parametrize("number", range(1, 65))
def test_no_signal_reaches_the_first_process(sandbox, number):
    if number in (32, 33):
        code = f"import ctypes\nctypes.CDLL(None).syscall(62, 1, {number})"
    else:
        code = f"import os\nos.kill(1, {number})"
    run_sync(sandbox.run_python(code))
    assert run_sync(sandbox.run_python("print('alive')")).stdout == b"alive\n"


def test_stopping_everyone_does_not_stop_the_clock(attack):
    code = """
import os, signal
for _ in range(3): os.fork()
for target in (os.getppid(), 1, -1, 0, os.getpid()):
    try: os.kill(target, signal.SIGSTOP)
    except OSError: pass
while True: pass
"""
    assert attack(code, wall_seconds=1).limit in ("cpu", "wall")


def test_a_daemon_that_ignores_everything_dies_with_its_program(attack):
    code = """
import os, signal, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for number in range(1, 65):
            try: signal.signal(number, signal.SIG_IGN)
            except (OSError, ValueError): pass
        while True: time.sleep(0.01)
    os._exit(0)
os.wait()
print('left')
"""
    assert attack(code).stdout == b"left\n"


def test_a_daemon_cannot_change_files_after_its_program_has_ended(sandbox):
    code = """
import os, time
if os.fork() == 0:
    os.setsid()
    while True:
        open('mark', 'a').write('x')
open('mark', 'w').close()
"""
    assert run_sync(sandbox.run_python(code)).ok
    first = run_sync(sandbox.read_file("mark", max_bytes=32 * 1024 * 1024))
    run_sync(sandbox.run_python("import time\ntime.sleep(0.1)"))
    assert run_sync(sandbox.read_file("mark", max_bytes=32 * 1024 * 1024)) == first


def test_a_program_in_vfork_cannot_stall_the_end(attack, system_calls):
    code = (
        system_calls
        + """
import signal, time
CLONE_VFORK, CLONE_VM = 0x4000, 0x100
if os.fork() == 0:
    libc = ctypes.CDLL(None)
    libc.vfork()
    time.sleep(1000)
print('done')
"""
    )
    assert attack(code).stdout.endswith(b"done\n")


def test_an_own_signal_is_reported_as_such(attack):
    for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGABRT, signal.SIGSYS):
        result = attack(f"import os\nos.kill(os.getpid(), {int(number)})")
        assert (result.signal, result.limit) == (number, "")
