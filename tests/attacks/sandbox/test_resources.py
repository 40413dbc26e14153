"""Bombs and floods: they end at a limit, and nobody else notices."""

import pytest

from execgym.sandbox import Limits, run_sync

MIB = 1024 * 1024

BUSY_FORKS = """
import os
while True:
    try:
        os.fork()
    except OSError:
        pass
"""


def available_bytes():
    with open("/proc/meminfo") as file:
        return next(int(line.split()[1]) * 1024 for line in file if "MemAvailable" in line)


def test_a_fork_bomb_ends_at_a_limit(attack):
    assert attack(BUSY_FORKS, cpu_seconds=1, wall_seconds=10).limit in ("cpu", "wall")


def test_forks_that_leave_their_parents_and_sessions_end_too(attack):
    code = """
import os, signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
while True:
    try:
        if os.fork() == 0:
            os.setsid()
        elif os.getpid() % 3 == 0:
            os._exit(0)
    except OSError:
        pass
"""
    result = attack(code, cpu_seconds=1, wall_seconds=10)
    assert result.limit in ("", "cpu", "wall")


def test_a_shell_fork_bomb_ends_at_a_limit(open_one):
    sandbox = open_one(cpu_seconds=1, wall_seconds=5)
    result = run_sync(sandbox.run_command(["bash", "-c", ":(){ :|:& };:; wait"]))
    assert result.limit in ("", "cpu", "wall")
    assert run_sync(sandbox.run_python("print(1)")).ok


def test_a_thread_bomb_ends(attack):
    code = """
import threading, time
while True:
    try:
        threading.Thread(target=time.sleep, args=(1000,)).start()
    except RuntimeError:
        pass
"""
    assert attack(code, cpu_seconds=1, wall_seconds=3).limit in ("cpu", "wall")


def test_a_stack_bomb_ends(attack):
    code = "import sys, threading\nsys.setrecursionlimit(10**9)\ndef f(): f()\nf()"
    result = attack(code, cpu_seconds=3, memory_bytes=64 * MIB)
    assert not result.ok


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("heap", "x = []\nwhile True: x.append(bytearray(1_000_000))"),
        ("one allocation", "bytearray(2**40)"),
        (
            "private map",
            "import mmap\nx = mmap.mmap(-1, 2**36, flags=mmap.MAP_PRIVATE)\nx.write(bytes(2**34))",
        ),
        (
            "shared map",
            "import mmap\nx = []\n"
            "while True:\n    m = mmap.mmap(-1, 2**24)\n    m.write(b'x' * 2**24)\n    x.append(m)",
        ),
        (
            "one shared map",
            "import mmap\nm = mmap.mmap(-1, 2**33)\nblock = b'x' * 2**20\n"
            "while True: m.write(block)",
        ),
        (
            "many processes",
            "import os, time\nfor _ in range(5): os.fork()\n"
            "x = []\ntry:\n    while True: x.append(b'x' * 1_000_000)\n"
            "except MemoryError: time.sleep(1000)",
        ),
        (
            "unmapped memory",
            "import os\n"
            "for n in range(10_000):\n    fd = os.memfd_create(str(n))\n"
            "    os.write(fd, bytes(2**20))",
        ),
        (
            "temporary files",
            "n = 0\nwhile True:\n    n += 1\n    open(f'/tmp/{n}', 'wb').write(bytes(2**20))",
        ),
        (
            "shared memory files",
            "n = 0\nwhile True:\n    n += 1\n    open(f'/dev/shm/{n}', 'wb').write(bytes(2**20))",
        ),
        (
            "pipes",
            "import os, fcntl\nx = []\nwhile True:\n    r, w = os.pipe()\n"
            "    os.set_blocking(w, False)\n    x.append((r, w))\n"
            "    try:\n        while True: os.write(w, bytes(65536))\n"
            "    except BlockingIOError: pass",
        ),
        (
            "socket pairs",
            "import os, socket, time\n"
            "for _ in range(5): os.fork()\n"
            "x = []\ntry:\n    while True:\n        x.append(socket.socketpair())\n"
            "        for end in x[-1]:\n            end.setblocking(False)\n"
            "            try:\n                while True: end.send(bytes(2**17))\n"
            "            except BlockingIOError: pass\n"
            "except OSError: time.sleep(1000)",
        ),
        (
            "connections",
            "import os, socket, time\n"
            "server = socket.create_server(('127.0.0.1', 0), backlog=999)\n"
            "for _ in range(5): os.fork()\n"
            "x = []\ntry:\n    while True:\n"
            "        x.append(socket.create_connection(server.getsockname()))\n"
            "        x.append(server.accept()[0])\n"
            "        for end in x[-2:]:\n            end.setblocking(False)\n"
            "            try:\n                while True: end.send(bytes(2**17))\n"
            "            except BlockingIOError: pass\n"
            "except OSError: time.sleep(1000)",
        ),
        (
            "files in flight",
            "import os, socket\na, b = socket.socketpair()\na.setblocking(False)\n"
            "while True:\n    fd = os.open('/dev/null', 0)\n"
            "    socket.send_fds(a, [b'x'], [fd])\n    os.close(fd)",
        ),
        (
            "page tables",
            "import mmap\nx = []\nwhile True:\n"
            "    m = mmap.mmap(-1, 2**40, flags=mmap.MAP_SHARED | 0x4000, prot=1)\n"
            "    x.append([m[i] for i in range(0, 2**40, 2**21)])",
        ),
        ("environment", "import os\nwhile True: os.environ[str(len(os.environ))] = 'x' * 100_000"),
    ],
    ids=lambda value: value if len(value) < 30 else "",
)
def test_a_memory_bomb_ends_and_the_host_keeps_its_memory(attack, name, code):
    before = available_bytes()
    result = attack(
        code, memory_bytes=128 * MIB, workspace_bytes=16 * MIB, cpu_seconds=5, wall_seconds=15
    )
    assert not result.ok
    assert result.peak_memory_bytes < 1024 * MIB
    assert before - available_bytes() < 2048 * MIB


def test_the_disk_cannot_be_filled_beyond_the_workspace(attack):
    code = """
import os
fd = os.open('big', os.O_CREAT | os.O_RDWR)
try:
    os.posix_fallocate(fd, 0, 10**9)
except OSError as error:
    print(error.errno)
"""
    assert attack(code, workspace_bytes=8 * MIB, file_bytes=2**40).stdout == b"28\n"


def test_a_million_files_cannot_be_made(attack):
    code = """
import os
made = 0
try:
    while made < 1_000_000:
        os.mkdir(str(made))
        made += 1
except OSError as error:
    print(error.errno, made < 200)
"""
    assert attack(code, workspace_inodes=200).stdout == b"28 True\n"


def test_floods_on_both_streams_end_at_a_limit_and_are_counted(attack):
    code = """
import os
block = b'x' * 65536
while True:
    os.write(1, block)
    os.write(2, block)
"""
    result = attack(code, cpu_seconds=0.5, output_bytes=1000)
    assert result.limit == "cpu"
    assert len(result.stdout) == len(result.stderr) == 1000
    assert result.stdout_dropped > 1_000_000
    assert result.stderr_dropped > 1_000_000


def test_a_flood_by_many_processes_ends_at_a_limit(attack):
    code = """
import os
for _ in range(4): os.fork()
while True: os.write(1, b'x' * 65536)
"""
    assert attack(code, cpu_seconds=1, wall_seconds=10).limit in ("cpu", "wall")


def test_a_flood_of_single_bytes_ends_at_a_limit(attack):
    assert attack("import os\nwhile True: os.write(1, b'x')", cpu_seconds=0.5).limit == "cpu"


def test_a_flood_on_the_channel_ends_at_a_limit(sandbox):
    code = "import sandbox_channel\nwhile True: sandbox_channel.send(bytes(100_000))"

    async def main():
        process = await sandbox.start_python(code, limits=Limits(cpu_seconds=0.3, wall_seconds=10))
        return await process.wait()

    assert run_sync(main()).limit in ("cpu", "wall")
    assert run_sync(sandbox.run_python("print(1)")).ok


def test_a_flood_on_the_channel_that_nobody_reads_ends_at_a_limit(sandbox):
    code = "import sandbox_channel\nwhile True: sandbox_channel.send(bytes(1_000_000))"

    async def main():
        process = await sandbox.start_python(code, limits=Limits(wall_seconds=1))
        assert await process.receive() == bytes(1_000_000)
        return await process.wait()

    assert run_sync(main()).limit in ("cpu", "wall")


def test_signals_sent_in_a_flood_do_no_harm(attack):
    code = """
import os, signal
while True:
    for number in range(1, 65):
        if number not in (9, 19):
            try: os.kill(1, number)
            except OSError: pass
"""
    assert attack(code, cpu_seconds=0.5, wall_seconds=10).limit in ("cpu", "wall")


def test_orphans_in_masses_do_not_hide_cpu_time(attack):
    code = """
import os, signal, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
end = time.monotonic() + 8
while time.monotonic() < end:
    try:
        if os.fork() == 0:
            stop = time.process_time() + 0.2
            while time.process_time() < stop: pass
            os._exit(0)
    except OSError:
        time.sleep(0.01)
"""
    assert attack(code, cpu_seconds=1, wall_seconds=20, processes=8).limit == "cpu"


def test_the_watch_over_the_limits_cannot_be_put_to_sleep(attack, system_calls):
    code = (
        system_calls
        + """
before = os.getpriority(os.PRIO_PROCESS, 1)
for name, attempt in {
    'nice': lambda: os.setpriority(os.PRIO_PROCESS, 1, 19),
    'nice group': lambda: os.setpriority(os.PRIO_PGRP, os.getpgid(1), 19),
    'nice user': lambda: os.setpriority(os.PRIO_USER, 0, 19),
    'idle': lambda: os.sched_setscheduler(1, os.SCHED_IDLE, os.sched_param(0)),
    'batch': lambda: os.sched_setscheduler(1, os.SCHED_BATCH, os.sched_param(0)),
    'stop': lambda: os.kill(1, 19) or os.kill(1, 9),
}.items():
    try:
        attempt()
    except OSError:
        pass
print(os.getpriority(os.PRIO_PROCESS, 1) - before, os.sched_getscheduler(1), flush=True)
for _ in range(5): os.fork()
while True: pass
"""
    )
    result = attack(code, cpu_seconds=1, wall_seconds=10)
    assert result.limit in ("cpu", "wall")
    assert result.stdout == b"0 0\n"
