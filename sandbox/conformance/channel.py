"""`start_python`: messages to and from a program while it runs."""

from __future__ import annotations

import asyncio
import os
import struct

from execgym.sandbox.base import Process
from execgym.sandbox.conformance.suite import (
    Group,
    Sandboxes,
    expect,
    expect_equal,
    expect_raises,
)
from execgym.sandbox.errors import SandboxDiedError
from execgym.sandbox.wire import MAX_MESSAGE_BYTES

GROUP = Group("channel")

_ECHO = """
import sandbox_channel
while True:
    message = sandbox_channel.receive()
    if message is None:
        break
    sandbox_channel.send(message)
"""
_SLEEP = "import time\ntime.sleep(1000)"


async def _expect_echo(process: Process, message: bytes) -> None:
    await process.send(message)
    got = await process.receive()
    expect(got == message, f"of a message of {len(message)} bytes another comes back")


@GROUP.case
async def messages_in_order(sandboxes: Sandboxes) -> None:
    """Messages come back in order and byte for byte, empty ones, too."""
    async with sandboxes.shared() as sandbox:
        process = await sandbox.start_python(_ECHO)
        for message in (b"", b"a", bytes(range(256)), "é\0\n".encode()):
            await _expect_echo(process, message)
        expect_equal((await process.kill()).signal, 9, "the signal of a kill")


@GROUP.case
async def largest_message(sandboxes: Sandboxes) -> None:
    """A message of 8 MiB passes both ways, a larger one is refused on both sides."""
    async with sandboxes.shared() as sandbox:
        process = await sandbox.start_python(_ECHO)
        await _expect_echo(process, bytes(range(256)) * (MAX_MESSAGE_BYTES // 256))
        with expect_raises(ValueError, "a larger message"):
            await process.send(bytes(MAX_MESSAGE_BYTES + 1))
        await _expect_echo(process, b"still here")
        await process.kill()
        process = await sandbox.start_python(
            f"import sandbox_channel\nsandbox_channel.send(bytes({MAX_MESSAGE_BYTES} + 1))"
        )
        expect_equal(await process.receive(), None, "what comes of a larger message")
        result = await process.wait()
        expect(b"ValueError" in result.stderr, f"stderr says {result.stderr!r}")


@GROUP.case
async def crossing_messages(sandboxes: Sandboxes) -> None:
    """Large messages that cross do not wait for each other."""
    code = """
import sandbox_channel, threading
def send():
    for _ in range(3): sandbox_channel.send(bytes(4_000_000))
threading.Thread(target=send).start()
for _ in range(3): sandbox_channel.receive()
"""
    async with sandboxes.shared() as sandbox:
        process = await sandbox.start_python(code)

        async def send() -> None:
            for _ in range(3):
                await process.send(bytes(4_000_000))

        sending = asyncio.create_task(send())
        sizes = []
        while (message := await process.receive()) is not None:
            sizes.append(len(message))
        await sending
        expect_equal(sizes, [4_000_000] * 3, "the messages")
        expect((await process.wait()).ok, "the program failed")


@GROUP.case
async def messages_beside_large_files(sandboxes: Sandboxes) -> None:
    """Messages go to and fro while large files are written and read, and nothing is mixed up."""
    data = os.urandom(6 * 1024 * 1024)
    async with sandboxes.fresh() as sandbox:
        process = await sandbox.start_python(_ECHO)

        async def move_files() -> None:
            for _ in range(3):
                await sandbox.write_file("large", data)
                found = await sandbox.read_file("large", max_bytes=len(data))
                expect(found == data, "a file changed on its way")

        moving = asyncio.create_task(move_files())
        count = 0
        while not moving.done():
            message = b"%d" % count * 1000
            await process.send(message)
            expect_equal(await process.receive(), message, "the message that came back")
            count += 1
        await moving
        await process.kill()


@GROUP.case
async def flood_is_held_back(sandboxes: Sandboxes) -> None:
    """A flood of messages is held back, and nothing of it is lost or put in another order."""
    code = "import sandbox_channel\nfor n in range(50_000): sandbox_channel.send(b'%d' % n)"
    async with sandboxes.shared() as sandbox:
        process = await sandbox.start_python(code)
        number = 0
        while (message := await process.receive()) is not None:
            expect_equal(message, b"%d" % number, "a message")
            number += 1
        expect_equal(number, 50_000, "the number of messages")
        expect((await process.wait()).ok, "the program failed")


@GROUP.case
async def waiting_discards_messages(sandboxes: Sandboxes) -> None:
    """Waiting for the end throws away what nobody has received."""
    code = "import sandbox_channel\nfor _ in range(50): sandbox_channel.send(bytes(1_000_000))"
    async with sandboxes.shared() as sandbox:
        process = await sandbox.start_python(code)
        expect((await process.wait()).ok, "the program failed")


@GROUP.case
async def last_message(sandboxes: Sandboxes) -> None:
    """A message sent just before the end arrives; after it there is none, however often asked."""
    async with sandboxes.shared() as sandbox:
        process = await sandbox.start_python(
            "import os, sandbox_channel\nsandbox_channel.send(b'last')\nos._exit(7)"
        )
        messages = [await process.receive() for _ in range(3)]
        expect_equal(messages, [b"last", None, None], "the messages")
        expect_equal((await process.wait()).exit_code, 7, "the status")
        expect_equal(await process.receive(), None, "a message after the end")


@GROUP.case
async def result_is_kept(sandboxes: Sandboxes) -> None:
    """Waiting and killing after the end give the same result again."""
    async with sandboxes.shared() as sandbox:
        process = await sandbox.start_python("print('x')\nraise SystemExit(4)")
        first = await process.wait()
        expect_equal((first.stdout, first.exit_code), (b"x\n", 4), "(stdout, status)")
        expect_equal((await process.wait(), await process.kill()), (first, first), "the results")


@GROUP.case
async def late_messages(sandboxes: Sandboxes) -> None:
    """A message to a program that has ended does nothing, to the next program neither."""
    async with sandboxes.shared() as sandbox:
        first = await sandbox.start_python("pass")
        await first.send(b"for the first")
        await first.wait()
        second = await sandbox.start_python(_ECHO)
        await first.send(b"for the first")
        await _expect_echo(second, b"for the second")
        await second.kill()
        expect_equal(await first.receive(), None, "a message of the first")


@GROUP.case
async def kill(sandboxes: Sandboxes) -> None:
    """A kill ends a busy program, behind large messages that it never read, too."""
    async with sandboxes.shared() as sandbox:
        process = await sandbox.start_python("print('on', flush=True)\nwhile True: pass")
        async with asyncio.timeout(20):
            await process.send(bytes(2_000_000))
            result = await process.kill()
        told = result.signal, result.exit_code, result.limit
        expect_equal(told, (9, 137, ""), "(signal, status, limit)")


@GROUP.case
async def limits_apply(sandboxes: Sandboxes) -> None:
    """A program with a channel ends at its limits as others do."""
    async with sandboxes.fresh(cpu_seconds=0.3, wall_seconds=60) as sandbox:
        process = await sandbox.start_python("while True: pass")
        expect_equal(await process.receive(), None, "a message of a busy loop")
        expect_equal((await process.wait()).limit, "cpu", "the limit")


@GROUP.case
async def output_apart(sandboxes: Sandboxes) -> None:
    """Output and messages are kept apart, and arguments reach the program."""
    async with sandboxes.shared() as sandbox:
        process = await sandbox.start_python(
            "import sandbox_channel, sys\nprint(sys.argv[1:])\nsandbox_channel.send(b'data')",
            argv=["x"],
        )
        expect_equal(await process.receive(), b"data", "the message")
        expect_equal((await process.wait()).stdout, b"['x']\n", "the output")


@GROUP.case
async def forged_length(sandboxes: Sandboxes) -> None:
    """A message that claims to be larger than any closes the channel and nothing else."""
    async with sandboxes.shared() as sandbox:
        for length in (MAX_MESSAGE_BYTES + 1, 0xFFFFFFFF):
            header = struct.pack(">I", length)
            process = await sandbox.start_python(
                f"import os\nos.write(3, {header!r} + b'x' * 100)\nprint('on', flush=True)"
            )
            expect_equal(await process.receive(), None, "what comes of it")
            result = await process.wait()
            expect_equal((result.stdout, result.exit_code), (b"on\n", 0), "(stdout, status)")
        expect((await sandbox.run_python("print(1)")).ok, "the next program does not run")


@GROUP.case
async def half_a_message(sandboxes: Sandboxes) -> None:
    """Half a message at the end is no message."""
    async with sandboxes.shared() as sandbox:
        process = await sandbox.start_python("import os\nos.write(3, b'\\0\\0\\0\\x05abc')")
        expect_equal(await process.receive(), None, "what comes of it")
        expect((await process.wait()).ok, "the program failed")


@GROUP.case
async def closed_channel(sandboxes: Sandboxes) -> None:
    """A program may close its channel and go on."""
    async with sandboxes.shared() as sandbox:
        process = await sandbox.start_python("import os\nos.close(3)\nprint('end')")
        expect_equal(await process.receive(), None, "a message over a closed channel")
        await process.send(b"to nobody")
        expect_equal((await process.wait()).stdout, b"end\n", "the output")


@GROUP.case
async def no_channel(sandboxes: Sandboxes) -> None:
    """A plain run has no channel, and a program that is executed inherits none."""
    async with sandboxes.shared() as sandbox:
        result = await sandbox.run_python(
            "import sandbox_channel\ntry: sandbox_channel.send(b'x')\n"
            "except OSError as error: print(error.errno)"
        )
        expect_equal(result.stdout, b"9\n", "the error of sending in a plain run")
        process = await sandbox.start_python(
            "import subprocess\n"
            "print(subprocess.run(['test', '-e', '/proc/self/fd/3'], close_fds=False).returncode)"
        )
        expect_equal((await process.wait()).stdout, b"1\n", "whether a child has the channel")


@GROUP.case
async def one_program_at_a_time(sandboxes: Sandboxes) -> None:
    """While a program runs no other is started, and it goes on; files are at hand."""
    async with sandboxes.shared() as sandbox:
        process = await sandbox.start_python(_ECHO)
        for call in (
            sandbox.start_python(_ECHO),
            sandbox.run_python("pass"),
            sandbox.run_command(["true"]),
        ):
            with expect_raises(RuntimeError, "a second program"):
                await call
        await sandbox.write_file("beside", b"x")
        expect_equal(await sandbox.read_file("beside"), b"x", "a file beside a program")
        expect_equal((await sandbox.stats()).processes, 2, "the number of processes")
        await _expect_echo(process, b"still here")
        await process.kill()
        expect((await sandbox.run_python("print(1)")).ok, "the next program does not run")


@GROUP.case
async def receiving_can_be_given_up(sandboxes: Sandboxes) -> None:
    """A receive that is given up leaves the program usable."""
    async with sandboxes.shared() as sandbox:
        process = await sandbox.start_python(_ECHO)
        with expect_raises(TimeoutError, "receiving what never comes"):
            async with asyncio.timeout(0.05):
                await process.receive()
        await _expect_echo(process, b"again")
        await process.kill()


@GROUP.case
async def receiving_while_waiting(sandboxes: Sandboxes) -> None:
    """A receiver and a waiter both learn of the end."""
    async with sandboxes.shared() as sandbox:
        process = await sandbox.start_python("import time\ntime.sleep(0.2)")
        message, result = await asyncio.gather(process.receive(), process.wait())
        expect_equal((message, result.ok), (None, True), "(message, ok)")


@GROUP.case
async def freezing_ends_it(sandboxes: Sandboxes) -> None:
    """Freezing ends the program that runs."""
    async with sandboxes.shared() as sandbox:
        process = await sandbox.start_python("while True: pass")
        await sandbox.freeze()
        expect_equal((await sandbox.stats()).processes, 1, "the number of processes")
        expect_equal(await process.receive(), None, "a message of a frozen program")
        expect_equal((await process.wait()).signal, 9, "the signal")


@GROUP.case
async def closing_wakes_everyone(sandboxes: Sandboxes) -> None:
    """Closing the sandbox wakes a receiver, and every later call says that it is closed."""
    async with sandboxes.fresh() as sandbox:
        process = await sandbox.start_python(_SLEEP)
        receiving = asyncio.create_task(process.receive())
        await asyncio.sleep(0)
        await sandbox.close()
        for call in (receiving, process.wait(), process.send(b"x")):
            with expect_raises(SandboxDiedError, "a call on a closed sandbox's program"):
                await call
