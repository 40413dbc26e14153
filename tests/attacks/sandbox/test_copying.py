"""What a program leaves in its workspace, and the host that copies it out (classes 12 and 13)."""

import contextlib
import dataclasses
import time

import pytest

from execgym.sandbox import SandboxFileError, run_sync

MIB = 1024 * 1024


@dataclasses.dataclass(frozen=True)
class Trap:
    """Something that a program leaves for the host.

    Attributes:
        name: What it is.
        code: Makes it.
        path: What the host then reads, and writes.
        reads: What the host may get; None where it must be refused.
        listed: Whether it may be listed.
    """

    name: str
    code: str
    path: str = "x"
    reads: bytes | None = None
    listed: bool = False

    def __str__(self) -> str:
        return self.name


TRAPS = (
    Trap("link to a password file", "os.symlink('/etc/passwd', 'x')"),
    Trap("link to a shadow file", "os.symlink('/etc/shadow', 'x')"),
    Trap("link to a device", "os.symlink('/dev/zero', 'x')"),
    Trap("link to the first process", "os.symlink('/proc/1/environ', 'x')"),
    Trap("link to its own memory", "os.symlink('/proc/self/mem', 'x')"),
    Trap("link to itself", "os.symlink('x', 'x')"),
    Trap("link to nothing", "os.symlink('/no/such', 'x')"),
    Trap("link to a file beside it", "open('y', 'w').close(); os.symlink('y', 'x')"),
    Trap("folder that is a link", "os.symlink('/etc', 'd')", "d/passwd"),
    Trap("folder that is a link to the root", "os.symlink('/', 'd')", "d/etc/passwd"),
    Trap("folder that is a link up", "os.symlink('..', 'd')", "d/etc/passwd"),
    Trap(
        "folder that is a link through /proc", "os.symlink('/proc/self/root', 'd')", "d/etc/passwd"
    ),
    Trap(
        "deep folder that is a link",
        "os.makedirs('a/b'); os.symlink('/etc', 'a/b/c')",
        "a/b/c/passwd",
    ),
    Trap("FIFO", "os.mkfifo('x')"),
    Trap("FIFO with a writer", "os.mkfifo('x'); os.open('x', os.O_RDWR)"),
    Trap("socket", "socket.socket(socket.AF_UNIX).bind('x')"),
    Trap("folder", "os.mkdir('x')"),
    Trap("file without rights", "open('x', 'w').close(); os.chmod('x', 0)", listed=True),
    Trap(
        "folder without rights", "os.mkdir('d'); open('d/x', 'w').close(); os.chmod('d', 0)", "d/x"
    ),
    Trap("sparse terabyte", "open('x', 'wb').truncate(2**40)", listed=True),
    Trap("hard link", "open('y', 'w').write('own'); os.link('y', 'x')", reads=b"own", listed=True),
    Trap(
        "set-user-id file",
        "open('x', 'w').write('own'); os.chmod('x', 0o6755)",
        reads=b"own",
        listed=True,
    ),
    Trap(
        "file of another time",
        "open('x', 'w').close(); os.utime('x', (-1, 2**33))",
        reads=b"",
        listed=True,
    ),
    Trap("name of 255 bytes", "open('x' * 255, 'w').close()", "x" * 255, b"", listed=True),
    Trap("name with a newline", r"open('a\nb', 'w').close()", "a\nb", b"", listed=True),
    Trap("name with a leading dash", "open('-rf', 'w').close()", "-rf", b"", listed=True),
    Trap(
        "name that a terminal obeys", r"open('\x1b[2J', 'w').close()", "\x1b[2J", b"", listed=True
    ),
    Trap("name that reverses", r"open('\u202egpj', 'w').close()", "\u202egpj", b"", listed=True),
    Trap(
        "name that looks absolute",
        r"open('\\etc\\passwd', 'w').close()",
        r"\etc\passwd",
        b"",
        listed=True,
    ),
    Trap(
        "name that is a URL",
        "os.mkdir('file:'); open('file:/x', 'w').close()",
        "file:/x",
        b"",
        listed=True,
    ),
    Trap(
        "content that is no text",
        r"open('x', 'wb').write(b'\0\xff\xfe\xed\xa0\x80\x1b[2J')",
        reads=b"\0\xff\xfe\xed\xa0\x80\x1b[2J",
        listed=True,
    ),
    Trap(
        "content that looks like a frame",
        "open('x', 'wb').write(b'XG1\\x01' * 99)",
        reads=b"XG1\x01" * 99,
        listed=True,
    ),
    Trap(
        "names that are no text",
        r"open(b'x', 'w').close(); open(b'\xff', 'w').close()",
        reads=b"",
        listed=True,
    ),
    Trap("file that was deleted", "open('x', 'w').close(); os.unlink('x')"),
    Trap("folder in the place of a file", "open('x', 'w').close(); os.unlink('x'); os.mkdir('x')"),
    Trap("workspace without rights", "open('x', 'w').close(); os.chmod('/workspace', 0)"),
)


@pytest.mark.parametrize("trap", TRAPS, ids=str)
def test_a_trap_in_the_workspace_is_refused_or_read_as_it_is(arena, trap):
    with arena.victim(file_bytes=2**44) as sandbox:
        limits = dataclasses.replace(sandbox.spec.limits, file_bytes=2**44)
        made = run_sync(sandbox.run_python(f"import os, socket\n{trap.code}", limits=limits))
        assert made.ok, made.stderr
        started = time.monotonic()
        if trap.reads is None:
            with pytest.raises(SandboxFileError):
                run_sync(sandbox.read_file(trap.path))
        else:
            assert run_sync(sandbox.read_file(trap.path)) == trap.reads
        assert (trap.path in run_sync(sandbox.list_files())) == trap.listed
        if trap.reads is None and not trap.listed and trap.name != "file that was deleted":
            with pytest.raises(SandboxFileError):
                run_sync(sandbox.write_file(trap.path, b"overwritten"))
        # None of it waits for the program: a FIFO would for ever.
        assert time.monotonic() - started < 20
        looked = run_sync(sandbox.run_python("print('overwritten' in open('/etc/passwd').read())"))
        assert looked.stdout == b"False\n"


@pytest.mark.parametrize("target", ["/etc", "/proc/self", "."])
def test_a_folder_swapped_for_a_link_while_it_is_read_never_leads_out(arena, target):
    code = f"""
import os
os.makedirs('real', exist_ok=True)
open('real/passwd', 'w').write('inside')
os.symlink({target!r}, 'link')
while True:
    os.rename('real', 'x'); os.rename('link', 'real')
    os.rename('real', 'link'); os.rename('x', 'real')
"""

    async def race(sandbox):
        process = await sandbox.start_python(code)
        seen = set()
        for _ in range(100):
            try:
                seen.add(await sandbox.read_file("real/passwd"))
            except SandboxFileError:
                seen.add(b"")
        for _ in range(100):
            with contextlib.suppress(SandboxFileError):
                await sandbox.write_file("real/new", b"x")
        await process.kill()
        return seen

    with arena.victim() as sandbox:
        assert run_sync(race(sandbox)) <= {b"", b"inside"}


def test_a_file_that_grows_while_it_is_read_is_not_read_for_ever(arena):
    code = "while True: open('x', 'ab').write(bytes(1 << 16))"

    async def race(sandbox):
        process = await sandbox.start_python(code)
        await sandbox.write_file("x", bytes(MIB))
        with pytest.raises(SandboxFileError):
            await sandbox.read_file("x", max_bytes=1000)
        await process.kill()

    with arena.victim() as sandbox:
        run_sync(race(sandbox))
