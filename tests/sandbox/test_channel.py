"""`start_python`: messages to and from a program while it runs."""

import asyncio
import struct

import pytest

from execgym.sandbox import SandboxDiedError, run_sync

ECHO = """
import sandbox_channel
while (message := sandbox_channel.receive()) is not None:
    sandbox_channel.send(message)
"""
LARGEST = 8 * 1024 * 1024


def test_messages_come_back_in_order(sandbox):
    async def main():
        process = await sandbox.start_python(ECHO)
        for message in (b"", b"a", bytes(range(256)), "é\0\n".encode()):
            await process.send(message)
            assert await process.receive() == message
        return await process.kill()

    result = run_sync(main())
    assert result.signal == 9


def test_the_largest_message_passes_both_ways(sandbox):
    async def main():
        process = await sandbox.start_python(ECHO)
        message = bytes(range(256)) * (LARGEST // 256)
        await process.send(message)
        assert await process.receive() == message
        await process.kill()

    run_sync(main())


def test_a_larger_message_is_refused_on_both_sides(sandbox):
    async def main():
        process = await sandbox.start_python(
            "import sandbox_channel\nsandbox_channel.send(bytes(8 * 1024 * 1024 + 1))"
        )
        with pytest.raises(ValueError, match="at most 8388608 bytes"):
            await process.send(bytes(LARGEST + 1))
        assert await process.receive() is None
        result = await process.wait()
        assert b"ValueError: a message has at most" in result.stderr

    run_sync(main())


def test_large_messages_cross_without_deadlock(sandbox):
    code = """
import sandbox_channel, threading
def send():
    for _ in range(5): sandbox_channel.send(bytes(4_000_000))
threading.Thread(target=send).start()
for _ in range(5): sandbox_channel.receive()
"""

    async def main():
        process = await sandbox.start_python(code)

        async def send():
            for _ in range(5):
                await process.send(bytes(4_000_000))

        sending = asyncio.create_task(send())
        sizes = []
        while (message := await process.receive()) is not None:
            sizes.append(len(message))
        await sending
        assert sizes == [4_000_000] * 5
        assert (await process.wait()).ok

    run_sync(main())


def test_a_flood_is_held_back_and_nothing_is_lost(sandbox):
    code = """
import sandbox_channel
for number in range(200_000): sandbox_channel.send(b'%d' % number)
"""

    async def main():
        process = await sandbox.start_python(code)
        await asyncio.sleep(0)
        number = 0
        while (message := await process.receive()) is not None:
            assert message == b"%d" % number
            number += 1
        assert number == 200_000
        assert (await process.wait()).ok

    run_sync(main())


def test_waiting_throws_away_a_flood_that_nobody_receives(sandbox):
    code = "import sandbox_channel\nfor _ in range(100): sandbox_channel.send(bytes(1_000_000))"

    async def main():
        process = await sandbox.start_python(code)
        return await process.wait()

    assert run_sync(main()).ok


def test_messages_sent_just_before_the_end_arrive(sandbox):
    async def main():
        process = await sandbox.start_python(
            "import os, sandbox_channel\nsandbox_channel.send(b'last')\nos._exit(7)"
        )
        assert await process.receive() == b"last"
        assert await process.receive() is None
        assert await process.receive() is None
        assert (await process.wait()).exit_code == 7
        assert await process.receive() is None

    run_sync(main())


def test_waiting_twice_gives_the_same_result(sandbox):
    async def main():
        process = await sandbox.start_python("print('x')")
        assert await process.wait() is await process.wait()
        assert await process.kill() is await process.wait()

    run_sync(main())


def test_sending_to_an_ended_program_does_nothing(sandbox):
    async def main():
        process = await sandbox.start_python("pass")
        assert await process.receive() is None
        await process.send(b"late")
        assert (await process.wait()).ok
        await process.send(b"later")
        assert (await sandbox.run_python("print(1)")).ok

    run_sync(main())


def test_a_late_message_does_not_reach_the_next_program(sandbox):
    async def main():
        first = await sandbox.start_python("pass")
        await first.send(b"for the first")
        await first.wait()
        second = await sandbox.start_python(ECHO)
        await first.send(b"for the first")
        await second.send(b"for the second")
        assert await second.receive() == b"for the second"
        await second.kill()
        assert await first.receive() is None

    run_sync(main())


def test_killing_reports_how_it_ended(sandbox):
    async def main():
        process = await sandbox.start_python("print('on', flush=True)\nwhile True: pass")
        return await process.kill()

    result = run_sync(main())
    assert (result.signal, result.exit_code) == (9, 137)
    assert not result.ok


@pytest.mark.parametrize("size", [2_000_000, LARGEST])
def test_a_program_that_reads_nothing_can_be_killed_behind_a_large_message(sandbox, size):
    async def main():
        process = await sandbox.start_python("while True: pass")
        async with asyncio.timeout(10):
            await process.send(bytes(size))
            await process.send(bytes(size))
            return await process.kill()

    result = run_sync(main())
    assert (result.signal, result.limit) == (9, "")


def test_sending_to_a_program_that_reads_nothing_ends_with_the_program(open_one):
    sandbox = open_one(wall_seconds=1.0)

    async def main():
        process = await sandbox.start_python("import time\ntime.sleep(1000)")
        for _ in range(20):
            await process.send(bytes(LARGEST))
        return await process.wait()

    assert run_sync(main()).limit == "wall"


def test_limits_end_a_program_with_a_channel(open_one):
    async def main(sandbox):
        process = await sandbox.start_python("while True: pass")
        assert await process.receive() is None
        return await process.wait()

    assert run_sync(main(open_one(cpu_seconds=0.3))).limit == "cpu"
    assert run_sync(main(open_one(wall_seconds=0.3))).limit == "wall"


def test_output_is_kept_apart_from_messages(sandbox):
    async def main():
        process = await sandbox.start_python(
            "import sandbox_channel, sys\nprint('text')\nsandbox_channel.send(b'data')\nsys.exit(4)"
        )
        assert await process.receive() == b"data"
        return await process.wait()

    result = run_sync(main())
    assert (result.stdout, result.exit_code) == (b"text\n", 4)


def test_arguments_reach_the_program(sandbox):
    async def main():
        process = await sandbox.start_python("import sys\nprint(sys.argv[1:])", argv=["x"])
        return await process.wait()

    assert run_sync(main()).stdout == b"['x']\n"


@pytest.mark.parametrize("length", [LARGEST + 1, 0x7FFFFFFF, 0xFFFFFFFF])
def test_a_forged_length_closes_the_channel_only(sandbox, length):
    header = struct.pack(">I", length)

    async def main():
        process = await sandbox.start_python(
            f"import os, time\nos.write(3, {header!r} + b'x' * 100)\nprint('on', flush=True)"
        )
        assert await process.receive() is None
        result = await process.wait()
        assert (result.stdout, result.exit_code) == (b"on\n", 0)
        return await sandbox.run_python("print(1)")

    assert run_sync(main()).ok


def test_half_a_message_at_the_end_is_no_message(sandbox):
    async def main():
        process = await sandbox.start_python("import os\nos.write(3, b'\\0\\0\\0\\x05abc')")
        assert await process.receive() is None
        return await process.wait()

    assert run_sync(main()).ok


def test_a_closed_channel_ends_receiving_while_the_program_goes_on(sandbox):
    async def main():
        process = await sandbox.start_python(
            "import os, time\nos.close(3)\nprint('closed', flush=True)\ntime.sleep(0.2)\n"
            "print('end')"
        )
        assert await process.receive() is None
        await process.send(b"to nobody")
        return await process.wait()

    assert run_sync(main()).stdout == b"closed\nend\n"


def test_the_channel_is_gone_from_plain_runs(sandbox):
    code = """
import sandbox_channel
try: sandbox_channel.send(b'x')
except OSError as error: print(error.errno)
"""
    assert run_sync(sandbox.run_python(code)).stdout == b"9\n"


def test_children_do_not_inherit_the_channel_across_exec(sandbox):
    code = """
import subprocess
print(subprocess.run(['readlink', '/proc/self/fd/3'], close_fds=False).returncode)
"""

    async def main():
        return await (await sandbox.start_python(code)).wait()

    assert run_sync(main()).stdout == b"1\n"


def test_one_program_at_a_time(sandbox):
    async def main():
        process = await sandbox.start_python(ECHO)
        for call in (
            sandbox.start_python(ECHO),
            sandbox.run_python("pass"),
            sandbox.run_command(["true"]),
        ):
            with pytest.raises(RuntimeError, match="still runs"):
                await call
        await process.send(b"still here")
        assert await process.receive() == b"still here"
        await process.kill()
        assert (await sandbox.run_python("print(1)")).ok

    run_sync(main())


def test_receiving_while_another_task_waits_loses_nobody(sandbox):
    async def main():
        process = await sandbox.start_python("import time\ntime.sleep(0.2)")
        async with asyncio.timeout(10):
            message, result = await asyncio.gather(process.receive(), process.wait())
        assert message is None
        assert result.ok

    run_sync(main())


def test_closing_the_sandbox_wakes_a_receiver(sandbox):
    async def main():
        process = await sandbox.start_python("import time\ntime.sleep(1000)")
        receiving = asyncio.create_task(process.receive())
        await asyncio.sleep(0)
        await sandbox.close()
        with pytest.raises(SandboxDiedError):
            await receiving
        with pytest.raises(SandboxDiedError):
            await process.wait()
        with pytest.raises(SandboxDiedError):
            await process.send(b"x")

    run_sync(main())


def test_a_timeout_while_receiving_leaves_the_program_usable(sandbox):
    async def main():
        process = await sandbox.start_python(ECHO)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await process.receive()
        await process.send(b"again")
        assert await process.receive() == b"again"
        await process.kill()

    run_sync(main())


def test_files_and_statistics_are_at_hand_while_a_program_runs(sandbox):
    async def main():
        process = await sandbox.start_python(ECHO)
        await sandbox.write_file("a", b"x")
        assert await sandbox.read_file("a") == b"x"
        assert await sandbox.list_files() == ("a",)
        assert (await sandbox.stats()).processes == 2
        await process.send(b"still here")
        assert await process.receive() == b"still here"
        await process.kill()

    run_sync(main())


def test_freezing_ends_a_running_program(sandbox):
    async def main():
        process = await sandbox.start_python("while True: pass")
        await sandbox.freeze()
        assert (await sandbox.stats()).processes == 1
        assert await process.receive() is None
        assert (await process.wait()).signal == 9

    run_sync(main())


def test_a_request_is_answered_although_nobody_receives_what_a_program_sends(sandbox):
    async def main():
        process = await sandbox.start_python(
            "import sandbox_channel\n"
            "for number in range(5000): sandbox_channel.send(b'%d' % number * 200)\n"
        )
        while not process._program.full:
            await asyncio.sleep(0.01)
        for _ in range(3):
            assert (await sandbox.stats()).processes >= 1
        for number in range(5000):
            assert await process.receive() == b"%d" % number * 200
        assert (await process.wait()).ok

    run_sync(main())
