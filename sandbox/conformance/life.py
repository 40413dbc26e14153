"""From opening to closing, and what two sandboxes know of each other."""

from __future__ import annotations

import asyncio
import contextlib
import re

from execgym.sandbox.conformance.suite import (
    Group,
    Sandboxes,
    expect,
    expect_equal,
    expect_raises,
)
from execgym.sandbox.errors import SandboxDiedError
from execgym.sandbox.spec import Limits

GROUP = Group("life")

_SIDE_BY_SIDE = 20


@GROUP.case
async def closing_twice(sandboxes: Sandboxes) -> None:
    """Closing twice is fine, and leaving the context closes."""
    async with sandboxes.fresh() as sandbox:
        async with sandbox:
            expect((await sandbox.run_python("print(1)")).ok, "it does not run")
        with expect_raises(SandboxDiedError, "statistics after leaving the context"):
            await sandbox.stats()
        await sandbox.close()
        await sandbox.close()


@GROUP.case
async def use_after_closing(sandboxes: Sandboxes) -> None:
    """Every call on a closed sandbox says that it is closed."""
    async with sandboxes.fresh() as sandbox:
        await sandbox.close()
        for call in (
            sandbox.run_python("pass"),
            sandbox.run_command(["true"]),
            sandbox.start_python("pass"),
            sandbox.read_file("a"),
            sandbox.write_file("a", b""),
            sandbox.list_files(),
            sandbox.freeze(),
            sandbox.stats(),
        ):
            with expect_raises(SandboxDiedError, "a call on a closed sandbox", "closed"):
                await call


@GROUP.case
async def closing_while_busy(sandboxes: Sandboxes) -> None:
    """Closing ends a call that is under way."""
    async with sandboxes.fresh() as sandbox:
        running = asyncio.create_task(sandbox.run_python("import time\ntime.sleep(1000)"))
        await asyncio.sleep(0.05)
        await sandbox.close()
        with expect_raises(SandboxDiedError, "the call under way"):
            await running


@GROUP.case
async def cancelling_closes(sandboxes: Sandboxes) -> None:
    """Cancelling a call closes the sandbox."""
    async with sandboxes.fresh() as sandbox:
        with expect_raises(TimeoutError, "the call that is cancelled"):
            async with asyncio.timeout(0.1):
                await sandbox.run_python("import time\ntime.sleep(1000)")
        with expect_raises(SandboxDiedError, "the next call", "cancelled"):
            await sandbox.run_python("pass")


@GROUP.case
async def cancelled_opening(sandboxes: Sandboxes) -> None:
    """Opening can be cancelled at any moment, and others open after it."""

    async def open_and_close() -> None:
        async with sandboxes.fresh():
            pass

    for turns in range(6):
        opening = asyncio.create_task(open_and_close())
        for _ in range(turns):
            await asyncio.sleep(0)
        opening.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await opening
    async with sandboxes.fresh() as sandbox:
        expect((await sandbox.run_python("print(1)")).ok, "it does not run")


@GROUP.case
async def one_call_at_a_time(sandboxes: Sandboxes) -> None:
    """A second call while one is under way is refused, and disturbs nothing."""
    async with sandboxes.shared() as sandbox:
        first = asyncio.create_task(sandbox.run_python("import time\ntime.sleep(0.2)\nprint(1)"))
        await asyncio.sleep(0)
        with expect_raises(RuntimeError, "a second call at the same time"):
            await sandbox.run_python("print(2)")
        expect_equal((await first).stdout, b"1\n", "the output of the first")
        expect_equal((await sandbox.run_python("print(3)")).stdout, b"3\n", "the next output")


@GROUP.case
async def specification(sandboxes: Sandboxes) -> None:
    """A sandbox tells the limits that it was opened with."""
    async with sandboxes.fresh(processes=17, wall_seconds=5) as sandbox:
        wanted = Limits(processes=17, wall_seconds=5)
        expect_equal(sandbox.spec.limits, wanted, "spec.limits")


@GROUP.case
async def fingerprint(sandboxes: Sandboxes) -> None:
    """A sandbox names what it was made from by a digest, the same for all of an image."""
    async with sandboxes.shared() as first, sandboxes.fresh() as second:
        digest = first.fingerprint
        expect(re.fullmatch("sha256:[0-9a-f]{64}", digest) is not None, f"it is {digest!r}")
        expect_equal(second.fingerprint, digest, "the second one's")


@GROUP.case
async def statistics(sandboxes: Sandboxes) -> None:
    """Statistics tell the processes, the memory and what the workspace holds."""
    async with sandboxes.fresh() as sandbox:
        before = await sandbox.stats()
        await sandbox.write_file("a", bytes(1_000_000))
        after = await sandbox.stats()
        expect_equal((before.processes, after.processes), (1, 1), "the processes")
        expect(before.memory_bytes > 0, "no memory is used")
        grown = after.workspace_bytes - before.workspace_bytes
        expect(1_000_000 <= grown < 1_100_000, f"a file of 1,000,000 bytes takes {grown}")
        expect_equal(after.workspace_inodes - before.workspace_inodes, 1, "the inodes of it")


@GROUP.case
async def freezing(sandboxes: Sandboxes) -> None:
    """Freezing ends everything and keeps the files, however often it is done."""
    async with sandboxes.fresh() as sandbox:
        await sandbox.write_file("a", b"kept")
        await sandbox.start_python("import os, time\nos.fork()\nos.setsid()\ntime.sleep(1000)")
        await sandbox.freeze()
        await sandbox.freeze()
        expect_equal((await sandbox.stats()).processes, 1, "the number of processes")
        expect_equal(await sandbox.read_file("a"), b"kept", "the file")


@GROUP.case
async def state_between_commands(sandboxes: Sandboxes) -> None:
    """Files stay from one command to the next, in /tmp and /dev/shm, too; processes do not."""
    async with sandboxes.fresh() as sandbox:
        code = (
            "for folder in ('/workspace', '/tmp', '/dev/shm'): open(folder + '/x', 'w').write('1')"
        )
        expect((await sandbox.run_python(code)).ok, "the files cannot be written")
        result = await sandbox.run_command(["sh", "-c", "cat x /tmp/x /dev/shm/x"])
        expect_equal(result.stdout, b"111", "the files in the next command")
        result = await sandbox.run_python(
            "import os\nprint(sum(name.isdigit() for name in os.listdir('/proc')))"
        )
        expect_equal(result.stdout, b"2\n", "the processes that a program sees")


@GROUP.case
async def nothing_between_two(sandboxes: Sandboxes) -> None:
    """Two sandboxes share no file, process, socket or variable."""
    leave = """
import os, socket, time
for path in ('mine', '/tmp/mine', '/dev/shm/mine'): open(path, 'w').write('x')
keep = socket.socket(socket.AF_UNIX)
keep.bind('\\0left behind')
keep.listen()
server = socket.create_server(('127.0.0.1', 8765))
import sandbox_channel
sandbox_channel.send(b'left')
time.sleep(1000)
"""
    look = """
import os, socket
print([path for path in ('mine', '/tmp/mine', '/dev/shm/mine') if os.path.exists(path)])
print(sorted(int(name) for name in os.listdir('/proc') if name.isdigit())[:1])
for family, address in ((socket.AF_UNIX, '\\0left behind'), (socket.AF_INET, ('127.0.0.1', 8765))):
    try: socket.socket(family).connect(address); print('reached')
    except OSError: pass
"""
    async with sandboxes.fresh() as first, sandboxes.fresh() as second:
        process = await first.start_python(leave)
        expect_equal(await process.receive(), b"left", "the first's message")
        expect_equal((await second.run_python(look)).stdout, b"[]\n[1]\n", "what the second sees")
        await process.kill()
    async with sandboxes.fresh() as third:
        expect_equal((await third.run_python(look)).stdout, b"[]\n[1]\n", "what a later one sees")


@GROUP.case
async def side_by_side(sandboxes: Sandboxes) -> None:
    """Twenty sandboxes at once do not mix files, input or output."""

    async def one(number: int) -> None:
        async with sandboxes.fresh() as sandbox:
            await sandbox.write_file("number", b"%d" % number)
            code = "import sys\nprint(open('number').read(), sys.stdin.read() * 1000)"
            result = await sandbox.run_python(code, stdin=b"<%d>" % number)
            wanted = b"%d " % number + b"<%d>" % number * 1000 + b"\n"
            expect_equal(result.stdout, wanted, f"the output of sandbox {number}")
            expect_equal((await sandbox.stats()).processes, 1, "the number of processes")

    await asyncio.gather(*(one(number) for number in range(_SIDE_BY_SIDE)))


@GROUP.case
async def same_world(sandboxes: Sandboxes) -> None:
    """Two sandboxes show a program the same world: numbers, names, variables, hashes, limits."""
    # Its user may have another number in each: what the kernel counts by users is theirs alone.
    code = """
import os, resource, socket, sys
print(os.getuid(), os.getgid(), *os.getgroups())
print(os.getpid(), os.getppid(), socket.gethostname())
print(os.getcwd(), os.umask(0), hash('text'), sorted(os.environ.items()), sys.path, sys.argv)
print([resource.getrlimit(kind) for kind in range(16)], os.getpriority(os.PRIO_PROCESS, 0))
print(sorted(os.listdir('/proc/self/fd')), os.getsid(0) == os.getpid())
"""
    async with sandboxes.fresh() as first, sandboxes.fresh() as second:
        one, other = await first.run_python(code), await second.run_python(code)
        expect(one.ok, f"the program failed: {one.stderr!r}")
        (ids, *world), (_, *other_world) = one.stdout.splitlines(), other.stdout.splitlines()
        expect_equal(other_world, world, "what the second one shows")
        expect(min(map(int, ids.split())) >= 1000, f"the program's user and groups are {ids!r}")
        expect_equal(world[0].split()[2], b"sandbox", "the host's name")


@GROUP.case
async def other_randomness(sandboxes: Sandboxes) -> None:
    """No two programs get the same random numbers, identifiers or temporary names."""
    code = """
import os, random, secrets, tempfile, uuid
print(random.random(), uuid.uuid4(), secrets.token_hex(8), os.urandom(8).hex(), tempfile.mktemp())
"""
    seen = []
    for _ in range(2):
        async with sandboxes.fresh() as sandbox:
            for _ in range(2):
                seen.append((await sandbox.run_python(code)).check().stdout.split())
    for values in zip(*seen, strict=True):
        expect_equal(len(set(values)), 4, f"the number of different values in {values}")


@GROUP.case
async def no_privilege(sandboxes: Sandboxes) -> None:
    """A program has no capability, no new privileges, a seccomp filter and no network."""
    code = """
import re
status = open('/proc/self/status').read()
print(set(re.findall('Cap.*:\\t([0-9a-f]+)', status)), re.findall('NoNewPrivs:\\t(.)', status))
print(re.findall('Seccomp:\\t(.)', status))
print([line.split(':')[0].strip() for line in open('/proc/net/dev').readlines()[2:]])
"""
    async with sandboxes.shared() as sandbox:
        result = await sandbox.run_python(code)
        wanted = b"{'0000000000000000'} ['1']\n['2']\n['lo']\n"
        expect_equal(result.stdout, wanted, f"the status, stderr {result.stderr!r},")


@GROUP.case
async def read_only_system(sandboxes: Sandboxes) -> None:
    """Only /workspace, /tmp and /dev/shm can be written."""
    code = """
import os
own = ('/proc', '/workspace', '/tmp', '/dev/shm', '/sandbox')
for top, folders, _ in os.walk('/'):
    if top.startswith(own): folders[:] = []; continue
    if top.count('/') > 3: folders[:] = []
    try: open(os.path.join(top, 'x'), 'w').close(); print(top)
    except OSError: pass
"""
    async with sandboxes.shared() as sandbox:
        result = await sandbox.run_python(code)
        expect_equal((result.stdout, result.exit_code), (b"", 0), "what can be written")
