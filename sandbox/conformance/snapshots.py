"""Snapshots of the workspace, whatever a program has made of it."""

from __future__ import annotations

import os

from execgym.sandbox.base import MAX_SNAPSHOT_BYTES
from execgym.sandbox.conformance.suite import (
    Group,
    Sandboxes,
    expect,
    expect_equal,
    expect_raises,
    run_ok,
)
from execgym.sandbox.errors import SnapshotError

GROUP = Group("snapshots")

_MIB = 1024 * 1024
_MAKE_A_TREE = r"""
import os
os.makedirs(b'a/b/\xff', 0o750)
os.mkdir('empty')
open('a/script', 'w').write('#!/bin/sh\necho it runs\n')
os.chmod('a/script', 0o751)
open(b'a/b/\xff/line\nbreak', 'wb').write(bytes(range(256)) * 400)
open('-rf', 'w').close()
open('closed', 'w').write('nobody reads this')
os.symlink('a/script', 'link')
os.symlink('/etc/passwd', 'a/out')
os.symlink('../../../nowhere', 'a/b/dangling')
os.chmod('closed', 0)
for n, (folder, folders, files) in enumerate(sorted(os.walk('.', topdown=False))):
    for m, name in enumerate(folders + files):
        times = (5, 10**18 + n * 1000 + m)
        os.utime(os.path.join(folder, name), ns=times, follow_symlinks=False)
os.chmod('a/b', 0)
"""
_DESCRIBE = r"""
import os, stat
def describe(folder):
    for name in sorted(os.listdir(folder)):
        path = folder + b'/' + name
        found = os.lstat(path)
        print(path, oct(found.st_mode), found.st_mtime_ns)
        mode = stat.S_IMODE(found.st_mode)
        if stat.S_ISLNK(found.st_mode):
            print(os.readlink(path))
            continue
        os.chmod(path, 0o700)
        if stat.S_ISDIR(found.st_mode):
            describe(path)
        else:
            print(open(path, 'rb').read())
        os.chmod(path, mode)
describe(b'.')
"""


@GROUP.case
async def whole_trees(sandboxes: Sandboxes) -> None:
    """A tree comes back in another sandbox: contents, names, modes, times, links, empty folders."""
    async with sandboxes.fresh() as sandbox:
        await run_ok(sandbox, _MAKE_A_TREE)
        before = await run_ok(sandbox, _DESCRIBE)
        snapshot = await sandbox.snapshot()
        expect_equal(await run_ok(sandbox, _DESCRIBE), before, "the tree after its snapshot")
    for _ in range(2):
        async with sandboxes.fresh() as sandbox:
            await sandbox.restore(snapshot)
            expect_equal(await run_ok(sandbox, _DESCRIBE), before, "the tree in another sandbox")
            result = await sandbox.run_command(["a/script"])
            expect_equal(result.stdout, b"it runs\n", "what its script says")
            expect_equal(await sandbox.snapshot(), snapshot, "the snapshot of what was restored")


@GROUP.case
async def going_back(sandboxes: Sandboxes) -> None:
    """Restoring takes away what has come since, and an empty snapshot takes away everything."""
    async with sandboxes.fresh() as sandbox:
        empty = await sandbox.snapshot()
        await sandbox.write_file("kept/file", b"first")
        snapshot = await sandbox.snapshot()
        await sandbox.write_file("kept/file", b"second, and longer")
        await sandbox.write_file("later/file", b"x")
        await run_ok(sandbox, "import os\nos.symlink('/', 'root')\nos.mkfifo('kept/fifo')")
        await sandbox.restore(snapshot)
        expect_equal(await sandbox.list_files(), ("kept/file",), "the list")
        expect_equal(await sandbox.read_file("kept/file"), b"first", "the file")
        await sandbox.restore(empty)
        expect_equal(await run_ok(sandbox, "import os\nprint(os.listdir())"), b"[]\n", "the folder")


@GROUP.case
async def hostile_trees(sandboxes: Sandboxes) -> None:
    """Trees made to be in the way, deep, closed or full of links, are taken away all the same."""
    async with sandboxes.fresh() as sandbox:
        await sandbox.write_file("kept", b"kept")
        snapshot = await sandbox.snapshot()
        await run_ok(
            sandbox,
            "import os\n"
            "for n in range(3000):\n"
            "    os.mkdir('x' * 200)\n"
            "    os.chdir('x' * 200)\n"
            "    if n % 500 == 0:\n"
            "        open('file', 'w').close()\n"
            "        os.mkdir('execgym-%d' % n)\n"
            "        open('execgym-%d/f' % n, 'w').close()\n"
            "os.chdir('/workspace')\n"
            "for n in range(1, 9):\n"
            "    open('execgym-%d' % n, 'w').close()\n"
            "os.makedirs('execgym-9/execgym-10')\n"
            "os.makedirs('closed/within')\n"
            "os.symlink('/tmp', 'closed/link')\n"
            "open('/tmp/outside', 'w').close()\n"
            "os.mkfifo('fifo', 0)\n"
            "os.chmod('closed/within', 0)\n"
            "os.chmod('closed', 0)\n"
            "os.chmod('x' * 200, 0)\n"
            "os.chmod('.', 0)\n",
        )
        with expect_raises(SnapshotError, "a snapshot of 3,000 folders within one another"):
            await sandbox.snapshot()
        await sandbox.restore(snapshot)
        expect_equal(
            await run_ok(sandbox, "import os\nprint(os.listdir(), os.listdir('/tmp'))"),
            b"['kept'] ['outside']\n",
            "what is left",
        )


@GROUP.case
async def what_belongs_to_programs(sandboxes: Sandboxes) -> None:
    """FIFOs and sockets are left out, and nothing waits for them."""
    async with sandboxes.fresh() as sandbox:
        await run_ok(
            sandbox,
            "import os, socket\n"
            "os.mkfifo('fifo')\n"
            "socket.socket(socket.AF_UNIX).bind('socket')\n"
            "open('file', 'w').close()",
        )
        await sandbox.restore(await sandbox.snapshot())
        expect_equal(
            await run_ok(sandbox, "import os\nprint(os.listdir())"), b"['file']\n", "the folder"
        )


@GROUP.case
async def bounds(sandboxes: Sandboxes) -> None:
    """A snapshot beyond the caller's bound is refused without being read, sparse files, too."""
    async with sandboxes.fresh(file_bytes=2**44) as sandbox:
        await sandbox.write_file("file", bytes(1000))
        whole = await sandbox.snapshot()
        expect_equal(
            await sandbox.snapshot(max_bytes=len(whole)), whole, "a snapshot of just that size"
        )
        with expect_raises(SnapshotError, "a snapshot beyond its bound", f"{len(whole) - 1} bytes"):
            await sandbox.snapshot(max_bytes=len(whole) - 1)
        await run_ok(sandbox, "open('sparse', 'wb').truncate(2**40)")
        with expect_raises(SnapshotError, "a snapshot of a sparse terabyte"):
            await sandbox.snapshot()
        for bound in (0, -1, MAX_SNAPSHOT_BYTES + 1):
            with expect_raises(ValueError, f"max_bytes={bound}"):
                await sandbox.snapshot(max_bytes=bound)
        expect((await sandbox.run_python("print(1)")).ok, "the next program does not run")


@GROUP.case
async def large_trees(sandboxes: Sandboxes) -> None:
    """Thirty megabytes in two thousand files come back."""
    async with sandboxes.fresh() as sandbox:
        await run_ok(
            sandbox,
            "import os\n"
            "for n in range(2000):\n"
            "    os.makedirs('folder-%d' % (n % 50), exist_ok=True)\n"
            "    open('folder-%d/%d' % (n % 50, n), 'wb').write(bytes([n % 256]) * 15000)\n",
        )
        snapshot = await sandbox.snapshot()
        await sandbox.restore(snapshot)
        expect(await sandbox.snapshot() == snapshot, "it has changed")
        expect_equal(len(await sandbox.list_files()), 2000, "the number of files")


@GROUP.case
async def too_large_to_restore(sandboxes: Sandboxes) -> None:
    """What does not fit is refused and leaves the workspace empty and usable."""
    async with sandboxes.fresh() as sandbox:
        await sandbox.write_file("large", os.urandom(2 * _MIB))
        large = await sandbox.snapshot()
        await run_ok(sandbox, "for n in range(200): open('file-%d' % n, 'w').close()")
        many = await sandbox.snapshot()
    async with sandboxes.fresh(workspace_bytes=_MIB, workspace_inodes=64) as sandbox:
        for snapshot in (large, many):
            await sandbox.write_file("before", b"x")
            with expect_raises(SnapshotError, "more than there is room for", "empty"):
                await sandbox.restore(snapshot)
            expect_equal(await sandbox.list_files(), (), "the list")
        await sandbox.write_file("after", b"y")
        expect((await sandbox.run_python("print(open('after').read())")).ok, "no program runs")


@GROUP.case
async def no_snapshots(sandboxes: Sandboxes) -> None:
    """Bytes that are no snapshot are refused, and nothing has changed."""
    async with sandboxes.fresh() as sandbox:
        await sandbox.write_file("file", b"there")
        snapshot = await sandbox.snapshot()
        for data in (b"", b"no snapshot", snapshot[:-1], snapshot + b"x", bytes(1000)):
            with expect_raises(SnapshotError, f"restoring {data[:20]!r}", "no snapshot"):
                await sandbox.restore(data)
        expect_equal(await sandbox.read_file("file"), b"there", "the file")


@GROUP.case
async def while_a_program_runs(sandboxes: Sandboxes) -> None:
    """A snapshot stops a running program for a moment only; a restore asks for its end first."""
    code = """
import os, sandbox_channel
numbers = 0
while True:
    message = sandbox_channel.receive()
    if message is None:
        break
    numbers += 1
    open('numbers', 'w').write(str(numbers))
    sandbox_channel.send(b'%d' % numbers)
"""
    async with sandboxes.fresh() as sandbox:
        process = await sandbox.start_python(code)
        for number in (b"1", b"2", b"3"):
            await process.send(b"")
            expect_equal(await process.receive(), number, "the program's answer")
            snapshot = await sandbox.snapshot()
        with expect_raises(RuntimeError, "restoring while a program runs", "still runs"):
            await sandbox.restore(snapshot)
        await process.send(b"")
        expect_equal(await process.receive(), b"4", "the program's answer")
        await process.kill()
        await sandbox.restore(snapshot)
        expect_equal(await sandbox.read_file("numbers"), b"3", "the file")


@GROUP.case
async def while_it_writes(sandboxes: Sandboxes) -> None:
    """Two files that a program writes one after the other are never an update apart twice."""
    code = """
import os, sandbox_channel
sandbox_channel.send(b'')
n = 0
while True:
    n += 1
    for name in ('first', 'second'):
        open('new', 'w').write(str(n))
        os.rename('new', name)
"""
    async with sandboxes.fresh() as sandbox, sandboxes.fresh() as other:
        process = await sandbox.start_python(code)
        await process.receive()
        for _ in range(20):
            await other.restore(await sandbox.snapshot())
            names = await other.list_files()
            if {"first", "second"} <= set(names):
                first, second = [int(await other.read_file(n)) for n in ("first", "second")]
                expect(0 <= first - second <= 1, f"it has {first} and {second}")
        await process.kill()
