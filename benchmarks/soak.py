"""Thousands of episodes of every kind, with a table of what the machine holds meanwhile.

    python benchmarks/soak.py --episodes 20000

Ends with status 1 when something has grown that episodes could have left behind.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import dataclasses
import os
import pathlib
import signal
import sys
import time

from execgym.sandbox import (
    CommandResult,
    Limits,
    Sandbox,
    SandboxError,
    SandboxSpec,
    close_zygotes,
    open_sandbox,
)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "faults"))
from ledger import Ledger, take

MIB = 1024 * 1024
SLACK = Ledger(
    processes=0,
    namespaces=0,
    mounts=0,
    cgroups=0,
    descriptors=0,
    keys=0,
    shared_memory_kib=0,
    sockets=0,
    folders=0,
    containers=0,
)
"""What may have grown where the machine is this program's alone: nothing."""
SHARED_SLACK = dataclasses.replace(
    SLACK, mounts=50, cgroups=200, keys=50, shared_memory_kib=256 * 1024, sockets=300, folders=100
)
"""The same where others use the machine, of whom some counts tell, too."""
SETTLING_SECONDS = 20.0
RESIDUE = """
import os, mmap, socket, subprocess, sys
open("file", "wb").write(bytes(200_000))
open("/dev/shm/file", "wb").write(bytes(100_000))
os.makedirs("/tmp/a/b/c")
os.mkfifo("/tmp/fifo")
socket.socket(socket.AF_UNIX).bind("\\0name")
if os.fork() == 0:
    os.setsid()
    import time
    time.sleep(1000)
print("done")
"""


async def normal(sandbox: Sandbox) -> None:
    """Leave files, sockets and a process behind."""
    await sandbox.write_file("input", b"text")
    assert (await sandbox.run_python(RESIDUE)).stdout == b"done\n"
    await sandbox.list_files()
    await sandbox.freeze()


async def messages(sandbox: Sandbox) -> None:
    """Close while a program with a channel runs."""
    process = await sandbox.start_python(
        "import sandbox_channel\nsandbox_channel.send(sandbox_channel.receive())"
        "\nimport time\ntime.sleep(1000)"
    )
    await process.send(b"message")
    assert await process.receive() == b"message"


async def timed_out(sandbox: Sandbox) -> None:
    """Run into the wall limit."""
    result = await sandbox.run_python(
        "import os, time\nos.fork()\ntime.sleep(1000)", limits=Limits(wall_seconds=0.05)
    )
    assert result.limit == "wall"


async def out_of_memory(sandbox: Sandbox) -> None:
    """Run out of the memory of a process, and of that of all together."""
    result: CommandResult = await sandbox.run_python(
        "import os, time\nfor _ in range(4): os.fork()\nx = b'x' * (40 << 20)\ntime.sleep(9)",
        limits=Limits(memory_bytes=64 * MIB, wall_seconds=5),
    )
    assert not result.ok


async def cancelled(sandbox: Sandbox) -> None:
    """Cancel a call."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(0.02):
            await sandbox.run_python("import time\ntime.sleep(1000)")


async def killed(sandbox: Sandbox) -> None:
    """Be killed from outside while a program runs."""
    running = asyncio.create_task(sandbox.run_python("import time\ntime.sleep(1000)"))
    await asyncio.sleep(0.01)
    await sandbox.close()
    with contextlib.suppress(SandboxError):
        await running


KINDS = (normal, messages, normal, cancelled, normal, killed, normal, timed_out, normal, normal)


async def episode(number: int, backend: str) -> None:
    """Play one episode of the kind that is its number's turn."""
    # Memory bombs are rare: one takes as long as a hundred others.
    kind = out_of_memory if number % 200 == 77 else KINDS[number % len(KINDS)]
    limits = Limits(memory_bytes=64 * MIB) if kind is out_of_memory else Limits()
    async with await open_sandbox(SandboxSpec(limits=limits, backend=backend)) as sandbox:
        await kind(sandbox)


async def play(first: int, count: int, at_once: int, backend: str) -> None:
    """Play episodes, some of them at a time."""
    numbers = iter(range(first, first + count))

    async def worker() -> None:
        for number in numbers:
            await episode(number, backend)

    await asyncio.gather(*(worker() for _ in range(at_once)))


def settled(before: Ledger, slack: Ledger, containers: bool) -> Ledger:
    """Return the ledger once nothing more goes away, or nothing is left that has to."""
    deadline = time.monotonic() + SETTLING_SECONDS
    while True:
        now = take(containers=containers)
        if not now.grown(before, slack) or time.monotonic() > deadline:
            return now
        time.sleep(0.2)


def row(number: int, seconds: float, ledger: Ledger) -> str:
    """Return a line of the table."""
    counts = " ".join(f"{value:>{len(name)}}" for name, value in _fields(ledger))
    return f"{number:>8} {seconds:>7.0f} {counts}"


def _fields(ledger: Ledger) -> list[tuple[str, int]]:
    return [(field.name, getattr(ledger, field.name)) for field in dataclasses.fields(ledger)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--episodes", type=int, default=20_000)
    parser.add_argument("--every", type=int, default=1_000, help="episodes between two lines")
    parser.add_argument("--at-once", type=int, default=8)
    parser.add_argument("--backend", default="namespace")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so long")
    parser.add_argument("--shared", action="store_true", help="others use this machine, too")
    arguments = parser.parse_args()
    slack = SHARED_SLACK if arguments.shared else SLACK
    containers = arguments.backend.startswith("docker")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(2))
    names = " ".join(name for name, _ in _fields(SLACK))
    print(f"episodes seconds {names}", flush=True)
    started = time.monotonic()
    # What is made once and kept, such as the zygote and its groups, is there before the first line.
    asyncio.run(play(0, 200 + 4 * arguments.at_once, arguments.at_once, arguments.backend))
    time.sleep(1)
    before = take(containers=containers)
    print(row(0, time.monotonic() - started, before), flush=True)
    done = 0
    grown: dict[str, int] = {}
    while done < arguments.episodes and time.monotonic() - started < arguments.seconds:
        count = min(arguments.every, arguments.episodes - done)
        asyncio.run(play(done, count, arguments.at_once, arguments.backend))
        done += count
        now = settled(before, slack, containers)
        print(row(done, time.monotonic() - started, now), flush=True)
        grown = now.grown(before, slack)
    seconds = time.monotonic() - started
    close_zygotes()
    print(
        f"{done} episodes in {seconds:.0f} s: {done / seconds:.0f} a second, {os.cpu_count()} CPUs"
    )
    for name, more in grown.items():
        print(f"LEAK: {name} grew by {more}")
    return 1 if grown else 0


if __name__ == "__main__":
    sys.exit(main())
