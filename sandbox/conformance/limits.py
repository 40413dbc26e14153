"""Each limit ends or refuses what goes beyond it, and says which one it was."""

from __future__ import annotations

from typing import Any

from execgym.sandbox.base import CommandResult
from execgym.sandbox.conformance.suite import (
    Group,
    Sandboxes,
    expect,
    expect_equal,
    expect_raises,
)
from execgym.sandbox.spec import Limits

GROUP = Group("limits")

_MIB = 1024 * 1024


async def _run(sandboxes: Sandboxes, code: str, **limits: Any) -> CommandResult:
    """Run code in the shared sandbox with these limits for the one call."""
    async with sandboxes.shared() as sandbox:
        return await sandbox.run_python(code, limits=Limits(**limits))


@GROUP.case
async def cpu(sandboxes: Sandboxes) -> None:
    """A busy loop ends at the CPU limit."""
    result = await _run(sandboxes, "while True: pass", cpu_seconds=0.3)
    told = result.limit, result.signal, result.exit_code
    expect_equal(told, ("cpu", 9, 137), "(limit, signal, status)")
    expect(0.3 <= result.cpu_seconds < 3, f"{result.cpu_seconds} CPU seconds for 0.3")


@GROUP.case
async def cpu_of_children(sandboxes: Sandboxes) -> None:
    """Children count against the CPU limit, whether they live, are waited for or are left."""
    codes = (
        "import os\nos.fork()\nos.fork()\nwhile True: pass",
        "import os, time\nwhile True:\n    if os.fork() == 0:\n"
        "        while time.process_time() < 0.05: pass\n        os._exit(0)\n    os.wait()",
        "import threading, zlib\ndef burn():\n    while True: zlib.compress(bytes(1_000_000))\n"
        "for _ in range(3): threading.Thread(target=burn).start()",
    )
    for code in codes:
        result = await _run(sandboxes, code, cpu_seconds=0.4, wall_seconds=60)
        expect_equal(result.limit, "cpu", f"the limit that ends {code!r}")


@GROUP.case
async def wall(sandboxes: Sandboxes) -> None:
    """Sleeping ends at the wall limit."""
    result = await _run(sandboxes, "import time\ntime.sleep(1000)", wall_seconds=0.3)
    expect_equal((result.limit, result.signal), ("wall", 9), "(limit, signal)")
    expect(result.wall_seconds >= 0.3, f"{result.wall_seconds} wall seconds for 0.3")


@GROUP.case
async def no_defence(sandboxes: Sandboxes) -> None:
    """Ignoring every signal, or stopping oneself, does not help against a limit."""
    for code in (
        "import signal, time\nfor number in range(1, 65):\n"
        "    try: signal.signal(number, signal.SIG_IGN)\n    except (OSError, ValueError): pass\n"
        "while True: time.sleep(1)",
        "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)",
    ):
        result = await _run(sandboxes, code, wall_seconds=0.3)
        expect_equal(result.limit, "wall", f"the limit that ends {code!r}")


@GROUP.case
async def children_die_too(sandboxes: Sandboxes) -> None:
    """At a time limit the children die with the program, those in other sessions, too."""
    code = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        while True:
            open('/workspace/heartbeat', 'a').write('x')
            time.sleep(0.01)
    os._exit(0)
time.sleep(1000)
"""
    async with sandboxes.shared() as sandbox:
        result = await sandbox.run_python(code, limits=Limits(wall_seconds=0.3))
        expect_equal(result.limit, "wall", "the limit")
        expect_equal((await sandbox.stats()).processes, 1, "the number of processes")
        first = await sandbox.read_file("heartbeat")
        await sandbox.run_python("import time\ntime.sleep(0.1)")
        expect_equal(await sandbox.read_file("heartbeat"), first, "the file of a dead child")


@GROUP.case
async def partial_output(sandboxes: Sandboxes) -> None:
    """What was printed before a limit struck is kept, of children, too."""
    code = (
        "import subprocess, sys, time\nprint('out', flush=True)\n"
        "print('err', file=sys.stderr, flush=True)\nsubprocess.run(['echo', 'child'])\n"
        "time.sleep(1000)"
    )
    result = await _run(sandboxes, code, wall_seconds=0.7)
    told = result.stdout, result.stderr, result.limit
    expect_equal(told, (b"out\nchild\n", b"err\n", "wall"), "(stdout, stderr, limit)")


@GROUP.case
async def held_pipes(sandboxes: Sandboxes) -> None:
    """A child that holds the pipes open does not hold up the end."""
    code = "import subprocess\nsubprocess.Popen(['sleep', '1000'])\nprint('done')"
    result = await _run(sandboxes, code)
    expect_equal((result.stdout, result.limit), (b"done\n", ""), "(stdout, limit)")


@GROUP.case
async def limits_of_one_call(sandboxes: Sandboxes) -> None:
    """The limits of one call replace the sandbox's for that call only, of a command, too."""
    async with sandboxes.shared() as sandbox:
        result = await sandbox.run_command(["sleep", "1000"], limits=Limits(wall_seconds=0.2))
        expect_equal(result.limit, "wall", "the limit that ends sleep")
        argv = ["sh", "-c", "while :; do :; done"]
        result = await sandbox.run_command(argv, limits=Limits(cpu_seconds=0.2))
        expect_equal(result.limit, "cpu", "the limit that ends a busy shell")
        result = await sandbox.run_command(["sleep", "0.3"])
        expect(result.ok, "the limits of one call stay for the next")


@GROUP.case
async def no_more_than_the_sandbox(sandboxes: Sandboxes) -> None:
    """A command may not have more memory or processes than its sandbox."""
    async with sandboxes.fresh(memory_bytes=64 * _MIB, processes=8) as sandbox:
        for limits in (
            Limits(memory_bytes=65 * _MIB, processes=8),
            Limits(memory_bytes=64 * _MIB, processes=9),
        ):
            with expect_raises(ValueError, f"a command with {limits}"):
                await sandbox.run_command(["true"], limits=limits)
        expect((await sandbox.run_command(["true"])).ok, "the next command does not run")


@GROUP.case
async def memory(sandboxes: Sandboxes) -> None:
    """Too much memory is a `MemoryError` in the program; what the limit allows can be used."""
    code = "try:\n    x = bytearray(300_000_000)\nexcept MemoryError:\n    print('refused')"
    result = await _run(sandboxes, code, memory_bytes=100 * _MIB)
    expect_equal(result.stdout, b"refused\n", "the output")
    code = "x = bytearray(80_000_000)\nprint(len(x))"
    result = await _run(sandboxes, code, memory_bytes=100 * _MIB)
    expect_equal(result.stdout, b"80000000\n", "the output within the limit")
    code = "x = []\nwhile True: x.append(bytearray(10**6))"
    result = await _run(sandboxes, code, memory_bytes=50 * _MIB)
    expect_equal(result.exit_code, 1, "the status of an unhandled MemoryError")
    expect(b"MemoryError" in result.stderr, "no MemoryError is told")


@GROUP.case
async def memory_of_all(sandboxes: Sandboxes) -> None:
    """All processes together may have twice the limit; beyond it the command ends."""
    code = """
import os, time
for _ in range(8):
    if os.fork() == 0:
        x = bytearray(50 << 20)
        for i in range(0, len(x), 4096): x[i] = 1
        break
time.sleep(60)
"""
    result = await _run(sandboxes, code, memory_bytes=60 * _MIB, wall_seconds=60)
    expect_equal(result.limit, "memory", "the limit")


@GROUP.case
async def processes(sandboxes: Sandboxes) -> None:
    """Processes beyond the limit cannot be made, and threads count as such."""
    fork = """
import os, time
made = 0
try:
    for _ in range(100):
        if os.fork() == 0: time.sleep(1000)
        made += 1
except BlockingIOError: pass
print(made)
"""
    result = await _run(sandboxes, fork, processes=10)
    expect_equal(result.stdout, b"9\n", "the children of a limit of 10 processes")
    thread = """
import threading, time
made = 0
try:
    for _ in range(100):
        threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
        made += 1
except RuntimeError: pass
print(made)
"""
    result = await _run(sandboxes, thread, processes=10)
    expect_equal(result.stdout, b"9\n", "the threads of a limit of 10 processes")
    result = await _run(sandboxes, "print(1)", processes=1)
    expect_equal(result.stdout, b"1\n", "the output with a limit of one process")


@GROUP.case
async def ended_orphans(sandboxes: Sandboxes) -> None:
    """Orphans that have ended give their place back while the program runs."""
    code = """
import os
for _ in range(100):
    while True:
        try:
            pid = os.fork()
            break
        except BlockingIOError: pass
    if pid == 0:
        try: os.fork()
        except OSError: pass
        os._exit(0)
    os.wait()
print('done')
"""
    result = await _run(sandboxes, code, processes=8, cpu_seconds=30)
    expect_equal(result.stdout, b"done\n", "the output")


@GROUP.case
async def open_files(sandboxes: Sandboxes) -> None:
    """Open files beyond the limit are refused with EMFILE."""
    code = """
files = []
try:
    while True: files.append(open('/dev/null'))
except OSError as error: print(error.errno, len(files))
"""
    result = await _run(sandboxes, code, open_files=32)
    number, count = map(int, result.stdout.split())
    expect(number == 24 and 20 <= count < 32, f"errno {number} after {count} files")


@GROUP.case
async def file_size(sandboxes: Sandboxes) -> None:
    """A file beyond its size limit is refused with EFBIG at the byte."""
    code = """
import os
try:
    with open('too-large', 'wb', buffering=0) as file:
        while True: file.write(bytes(65536))
except OSError as error: print(error.errno, os.path.getsize('too-large'))
os.remove('too-large')
"""
    result = await _run(sandboxes, code, file_bytes=1_000_000)
    expect_equal(result.stdout, b"27 1000000\n", "(errno, size)")


@GROUP.case
async def workspace_bytes(sandboxes: Sandboxes) -> None:
    """The workspace, /tmp and /dev/shm together hold no more bytes than allowed."""
    code = """
import os
total = number = 0
folders = ['/workspace', '/tmp', '/dev/shm']
while folders:
    folder = folders[number % len(folders)]
    try:
        with open(f'{folder}/f{number}', 'wb', buffering=0) as file:
            total += file.write(bytes(100_000))
    except OSError as error:
        folders.remove(folder)
        if error.errno != 28: print('errno', error.errno)
    number += 1
print(total)
"""
    async with sandboxes.fresh(workspace_bytes=4 * _MIB) as sandbox:
        told = (await sandbox.run_python(code)).stdout
        expect(told.strip().isdigit(), f"{told!r}, and not ENOSPC")
        total = int(told)
        expect(3_000_000 < total <= 4 * _MIB, f"{total} bytes of {4 * _MIB}")
        result = await sandbox.run_python(
            "import os\nos.remove('f0')\nopen('new', 'w').write('ok')\nprint(open('new').read())"
        )
        expect_equal(result.stdout, b"ok\n", "the output after making room")


@GROUP.case
async def workspace_inodes(sandboxes: Sandboxes) -> None:
    """The workspace holds no more files, folders and links than allowed."""
    code = """
import os
kinds = (lambda name: open(name, 'w').close(), os.mkdir, lambda name: os.symlink('x', name))
made = 0
try:
    while True:
        kinds[made % 3](f'f{made}')
        made += 1
except OSError as error: print(error.errno, made)
"""
    async with sandboxes.fresh(workspace_inodes=100) as sandbox:
        number, made = map(int, (await sandbox.run_python(code)).stdout.split())
        expect(number == 28, f"errno {number}, and not ENOSPC")
        expect(80 <= made <= 100, f"{made} files with 100 inodes")


@GROUP.case
async def output(sandboxes: Sandboxes) -> None:
    """Too much output keeps head and tail, and the bytes between are counted exactly."""
    for stream in ("stdout", "stderr"):
        code = f"import sys\nsys.{stream}.write('a' * 10_000 + 'b' * 100_000 + 'c' * 10_000)"
        result = await _run(sandboxes, code, output_bytes=1001)
        kept, dropped = getattr(result, stream), getattr(result, f"{stream}_dropped")
        expect_equal(kept, b"a" * 501 + b"c" * 500, f"what is kept of {stream}")
        expect_equal(dropped, 120_000 - 1001, f"what is dropped of {stream}")


@GROUP.case
async def output_at_its_limit(sandboxes: Sandboxes) -> None:
    """Output as long as allowed is whole, a byte more drops a byte; one byte is a limit."""
    for size, limit, kept, dropped in ((999, 1000, 1000, 0), (1000, 1000, 1000, 1), (3, 1, 1, 3)):
        result = await _run(sandboxes, f"print('x' * {size})", output_bytes=limit)
        told = len(result.stdout), result.stdout_dropped
        expect_equal(told, (kept, dropped), f"(kept, dropped) of {size + 1} bytes at {limit}")
    with expect_raises(ValueError, "an output limit that no answer holds"):
        await _run(sandboxes, "pass", output_bytes=2**30)


@GROUP.case
async def floods(sandboxes: Sandboxes) -> None:
    """A flood on both streams ends at a limit, and its bytes are counted."""
    code = "import os\nwhile True:\n    for fd in (1, 2): os.write(fd, bytes(65536))"
    result = await _run(sandboxes, code, cpu_seconds=0.3, output_bytes=1000)
    expect_equal(result.limit, "cpu", "the limit")
    expect_equal((len(result.stdout), len(result.stderr)), (1000, 1000), "the bytes kept")
    least = min(result.stdout_dropped, result.stderr_dropped)
    expect(least > 100_000, f"only {least} bytes of a flood are counted")


@GROUP.case
async def no_core(sandboxes: Sandboxes) -> None:
    """A crash leaves no core file."""
    async with sandboxes.fresh() as sandbox:
        expect_equal((await sandbox.run_python("import os\nos.abort()")).signal, 6, "the signal")
        expect_equal(await sandbox.list_files(), (), "the list")
