"""Files of the workspace, read and written by the host in spite of what a program put there."""

from __future__ import annotations

from execgym.sandbox.base import Sandbox
from execgym.sandbox.conformance.suite import (
    Group,
    Sandboxes,
    expect,
    expect_equal,
    expect_raises,
    run_ok,
)
from execgym.sandbox.errors import SandboxFileError

GROUP = Group("files")

_MIB = 1024 * 1024


async def _expect_refused(sandbox: Sandbox, path: str) -> None:
    with expect_raises(SandboxFileError, f"reading {path[:40]!r}"):
        await sandbox.read_file(path)
    with expect_raises(SandboxFileError, f"writing {path[:40]!r}"):
        await sandbox.write_file(path, b"overwritten")


@GROUP.case
async def contents(sandboxes: Sandboxes) -> None:
    """A file comes back as it was written, and writing again replaces all of it."""
    async with sandboxes.shared() as sandbox:
        for data in (bytes(range(256)) * 1000, b"text\n", b""):
            await sandbox.write_file("contents", data)
            expect(await sandbox.read_file("contents") == data, "another content comes back")


@GROUP.case
async def programs_see_them(sandboxes: Sandboxes) -> None:
    """A program sees a written file and may change it."""
    async with sandboxes.shared() as sandbox:
        await sandbox.write_file("seen", b"one")
        await run_ok(
            sandbox, "assert open('seen').read() == 'one'\nopen('seen', 'a').write(' two')"
        )
        expect_equal(await sandbox.read_file("seen"), b"one two", "the file")


@GROUP.case
async def folders(sandboxes: Sandboxes) -> None:
    """Folders are made on the way, and files are listed by sorted relative paths."""
    async with sandboxes.fresh() as sandbox:
        expect_equal(await sandbox.list_files(), (), "the list of a new sandbox")
        await sandbox.write_file("a/b/c.txt", b"deep")
        await sandbox.write_file("/workspace/a/b.txt", b"")
        expect_equal(await sandbox.list_files(), ("a/b.txt", "a/b/c.txt"), "the list")
        expect_equal(await sandbox.read_file("/workspace/a/b/c.txt"), b"deep", "the file")


@GROUP.case
async def odd_names(sandboxes: Sandboxes) -> None:
    """Spaces, newlines, leading dashes, Unicode and 255 bytes make a name like others."""
    names = ("-rf", "a b", "é漢🎉", "a\nb", "*", "x" * 255, "~", ".hidden", "\x1b[31m", "\\", "%s")
    async with sandboxes.fresh() as sandbox:
        for name in names:
            await sandbox.write_file(name, name.encode())
            expect_equal(await sandbox.read_file(name), name.encode(), f"the file {name!r}")
        expect_equal(await sandbox.list_files(), tuple(sorted(names)), "the list")
        result = await sandbox.run_python("import os\nprint(sorted(os.listdir()))")
        expect_equal(result.stdout.decode(), f"{sorted(names)}\n", "what a program sees")


@GROUP.case
async def names_that_are_no_text(sandboxes: Sandboxes) -> None:
    """Names that are no UTF-8 are listed, and can be told apart."""
    async with sandboxes.fresh() as sandbox:
        await run_ok(sandbox, r"for name in (b'\xff', b'\xfe.txt', b'a'): open(name, 'w').close()")
        expect_equal(await sandbox.list_files(), ("a", "\udcfe.txt", "\udcff"), "the list")


@GROUP.case
async def refused_paths(sandboxes: Sandboxes) -> None:
    """A path that is none below the workspace is refused, and nothing is written."""
    paths = (
        *("", ".", "..", "../x", "a/../b", "a/..", "/etc/passwd", "/", "/workspace"),
        *("/workspace/", "/workspace/../etc/passwd", "a//b", "a/", "a\0b", "\ud800"),
        *("x" * 256, "x/" * 3000 + "x", "/workspacex/a", "//workspace/a", "./a"),
    )
    async with sandboxes.fresh() as sandbox:
        for path in paths:
            await _expect_refused(sandbox, path)
        expect_equal(await sandbox.list_files(), (), "the list")


@GROUP.case
async def missing(sandboxes: Sandboxes) -> None:
    """A missing file is said to be missing, by name."""
    async with sandboxes.shared() as sandbox:
        for path in ("nothing-of-this-name", "no-such-folder/x"):
            with expect_raises(SandboxFileError, f"reading {path}", f"{path}: No such file"):
                await sandbox.read_file(path)


@GROUP.case
async def folders_are_no_files(sandboxes: Sandboxes) -> None:
    """A folder is refused as a file, and a file as a folder."""
    async with sandboxes.shared() as sandbox:
        await sandbox.write_file("folder/file", b"x")
        await _expect_refused(sandbox, "folder")
        await _expect_refused(sandbox, "folder/file/x")
        expect_equal(await sandbox.read_file("folder/file"), b"x", "the file")


@GROUP.case
async def links(sandboxes: Sandboxes) -> None:
    """Links are not followed, wherever they lead, and what they lead to stays as it is."""
    async with sandboxes.fresh() as sandbox:
        await sandbox.write_file("real/file", b"untouched")
        targets = ("/etc/passwd", "real/file", "/proc/1/environ", "/proc/self/mem", "loop-4", "/x")
        folders = ("/etc", "/", "real", "/proc/self/root/workspace/real", "..")
        await run_ok(
            sandbox,
            "import os\n"
            f"for n, target in enumerate({targets}): os.symlink(target, f'loop-{{n}}')\n"
            f"for n, target in enumerate({folders}): os.symlink(target, f'folder-{{n}}')\n",
        )
        for number in range(len(targets)):
            await _expect_refused(sandbox, f"loop-{number}")
        for number in range(len(folders)):
            for name in ("file", "passwd", "etc/passwd", "new"):
                await _expect_refused(sandbox, f"folder-{number}/{name}")
        expect_equal(await sandbox.read_file("real/file"), b"untouched", "the file linked to")
        expect_equal(await sandbox.list_files(), ("real/file",), "the list")


@GROUP.case
async def special_files(sandboxes: Sandboxes) -> None:
    """FIFOs and sockets are refused at once and are not listed."""
    async with sandboxes.fresh() as sandbox:
        await run_ok(
            sandbox,
            "import os, socket\nos.mkfifo('fifo')\nsocket.socket(socket.AF_UNIX).bind('socket')",
        )
        for path in ("fifo", "socket"):
            await _expect_refused(sandbox, path)
        expect_equal(await sandbox.list_files(), (), "the list")


@GROUP.case
async def swapped_while_read(sandboxes: Sandboxes) -> None:
    """A folder that becomes a link while it is read never leads out."""
    code = """
import os
os.makedirs('real', exist_ok=True)
open('real/passwd', 'w').write('inside')
os.symlink('/etc', 'link')
while True:
    os.rename('real', 'x'); os.rename('link', 'real')
    os.rename('real', 'link'); os.rename('x', 'real')
"""
    async with sandboxes.fresh() as sandbox:
        process = await sandbox.start_python(code)
        seen = set()
        for _ in range(200):
            try:
                seen.add(await sandbox.read_file("real/passwd"))
            except SandboxFileError:
                seen.add(b"")
        await process.kill()
        expect(seen <= {b"", b"inside"}, f"it read {seen!r}")


@GROUP.case
async def bound_of_reading(sandboxes: Sandboxes) -> None:
    """A file larger than the caller's bound is refused without being read, sparse ones, too."""
    async with sandboxes.fresh(file_bytes=2**44) as sandbox:
        await sandbox.write_file("five", b"12345")
        expect_equal(await sandbox.read_file("five", max_bytes=5), b"12345", "the file")
        with expect_raises(SandboxFileError, "reading 5 bytes where 4 are asked for", "4 bytes"):
            await sandbox.read_file("five", max_bytes=4)
        await run_ok(sandbox, "open('sparse', 'wb').truncate(2**40)")
        with expect_raises(SandboxFileError, "reading a sparse terabyte"):
            await sandbox.read_file("sparse")
        for bound in (-1, 2**40):
            with expect_raises(ValueError, f"max_bytes={bound}"):
                await sandbox.read_file("five", max_bytes=bound)


@GROUP.case
async def large_files(sandboxes: Sandboxes) -> None:
    """32 MiB pass both ways; more than one write holds is refused without harm."""
    async with sandboxes.fresh() as sandbox:
        data = bytes(range(256)) * (32 * _MIB // 256)
        await sandbox.write_file("large", data)
        expect(await sandbox.read_file("large", max_bytes=32 * _MIB) == data, "it has changed")
        with expect_raises(SandboxFileError, "writing 64 MiB and a byte"):
            await sandbox.write_file("larger", bytes(64 * _MIB + 1))
        expect((await sandbox.run_python("print(1)")).ok, "the next program does not run")


@GROUP.case
async def full_workspace(sandboxes: Sandboxes) -> None:
    """Writing into a full workspace is a file error, and what is there can still be read."""
    async with sandboxes.fresh(workspace_bytes=_MIB, workspace_inodes=32) as sandbox:
        await sandbox.write_file("kept", b"kept")
        with expect_raises(SandboxFileError, "writing more than there is room for"):
            await sandbox.write_file("large", bytes(2 * _MIB))
        with expect_raises(SandboxFileError, "making more folders than there are inodes"):
            await sandbox.write_file("/".join("x" * 40), b"")
        expect_equal(await sandbox.read_file("kept"), b"kept", "a file from before")
        expect("kept" in await sandbox.list_files(), "a file from before is not listed")
        expect((await sandbox.run_python("print(1)")).ok, "the next program does not run")


@GROUP.case
async def permissions(sandboxes: Sandboxes) -> None:
    """Files and folders that a program has closed are told and do no harm."""
    async with sandboxes.fresh() as sandbox:
        await run_ok(sandbox, "import os\nopen('x', 'w').close()\nos.chmod('x', 0)")
        with expect_raises(SandboxFileError, "reading a closed file", "Permission denied"):
            await sandbox.read_file("x")
        await run_ok(sandbox, "import os\nos.chmod('/workspace', 0)")
        with expect_raises(SandboxFileError, "reading in a closed workspace"):
            await sandbox.read_file("x")
        expect_equal(await sandbox.list_files(), (), "the list of a closed workspace")
        expect((await sandbox.run_python("print(1)")).ok, "the next program does not run")


@GROUP.case
async def deep_trees(sandboxes: Sandboxes) -> None:
    """A deep tree is listed; one deeper than any path does no harm."""
    code = """
import os
for _ in range({}):
    os.mkdir('d')
    os.chdir('d')
open('leaf', 'w').close()
"""
    async with sandboxes.fresh() as sandbox:
        await run_ok(sandbox, code.format(1500))
        expect_equal(await sandbox.list_files(), ("d/" * 1500 + "leaf",), "the list")
    async with sandboxes.fresh() as sandbox:
        await run_ok(sandbox, code.format(5000))
        await sandbox.write_file("top", b"x")
        expect("top" in await sandbox.list_files(), "a file at the top is not listed")


@GROUP.case
async def many_files(sandboxes: Sandboxes) -> None:
    """More files than can be listed are a file error, and each can still be read."""
    async with sandboxes.fresh(workspace_inodes=20_000) as sandbox:
        await run_ok(sandbox, "for n in range(10_000): open(str(n), 'w').close()")
        with expect_raises(SandboxFileError, "listing 10,000 files"):
            await sandbox.list_files()
        expect_equal(await sandbox.read_file("77"), b"", "a file")


@GROUP.case
async def hard_links(sandboxes: Sandboxes) -> None:
    """Hard links and renamed files are files; what lies outside is not listed."""
    async with sandboxes.fresh() as sandbox:
        await sandbox.write_file("a", b"x")
        await run_ok(
            sandbox,
            "import os\nos.link('a', 'b')\nos.rename('a', 'c')\n"
            "for path in ('/tmp/t', '/dev/shm/s'): open(path, 'w').close()",
        )
        expect_equal(await sandbox.list_files(), ("b", "c"), "the list")


@GROUP.case
async def broken_workspace(sandboxes: Sandboxes) -> None:
    """A program that takes its workspace apart harms itself only."""
    async with sandboxes.fresh() as sandbox:
        await run_ok(
            sandbox,
            "import os, shutil\n"
            "for path in ('/tmp', '/dev/shm'):\n"
            "    try: os.chmod(path, 0)\n"
            "    except OSError: pass\n"
            "for attempt in (os.rmdir, shutil.rmtree, lambda p: os.rename(p, '/tmp/x')):\n"
            "    try: attempt('/workspace')\n"
            "    except OSError: pass\n",
        )
        result = await sandbox.run_python("print(1)")
        expect_equal(result.stdout, b"1\n", f"the next output, stderr {result.stderr!r},")
        expect_equal((await sandbox.stats()).processes, 1, "the number of processes")
