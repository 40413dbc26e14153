"""The first process of a sandbox, and the zygote, are killed or stopped at every step.

Whatever is hit, the caller gets a `SandboxError` within its limit, nothing stays behind, and the
next sandbox opens.
"""

import asyncio
import contextlib
import os
import random
import signal

import pytest

from execgym.sandbox import (
    Limits,
    SandboxDiedError,
    SandboxError,
    SandboxSpec,
    SandboxStartError,
    Template,
    close_zygotes,
    open_sandbox,
    run_sync,
)

HIT = Template(modules=("stringprep",))
"""A template that no other test uses: here its zygote is killed."""
SPEC = SandboxSpec(template=HIT, limits=Limits(wall_seconds=0.2), backend="namespace")
SLEEP = "import time\ntime.sleep(1000)"
ECHO = """
import sandbox_channel
while (message := sandbox_channel.receive()) is not None:
    sandbox_channel.send(message)
"""
REQUESTS = {
    "run": lambda sandbox: sandbox.run_python("pass"),
    "command": lambda sandbox: sandbox.run_command(["true"]),
    "start": lambda sandbox: sandbox.start_python("pass"),
    "write": lambda sandbox: sandbox.write_file("a", bytes(1_000_000)),
    "read": lambda sandbox: sandbox.read_file("a"),
    "list": lambda sandbox: sandbox.list_files(),
    "freeze": lambda sandbox: sandbox.freeze(),
    "stats": lambda sandbox: sandbox.stats(),
}
SIGNALS = (signal.SIGKILL, signal.SIGSTOP)
pytestmark = pytest.mark.usefixtures("short_limits")


@pytest.fixture
def victims(victims_of):
    return victims_of(HIT)


async def is_served_again():
    async with await open_sandbox(SPEC) as sandbox:
        result = await sandbox.run_python("print(1)", limits=Limits())
        return result.stdout == b"1\n"


async def dies(call):
    with pytest.raises(SandboxError):
        async with asyncio.timeout(15):
            await call


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("request_name", REQUESTS)
def test_a_guest_that_is_hit_before_its_answer(victims, eventually, request_name, number):
    async def main():
        sandbox = await open_sandbox(SPEC)
        guest = victims.the_guest()
        victims.hit(guest, signal.SIGSTOP)
        call = asyncio.create_task(REQUESTS[request_name](sandbox))
        await asyncio.sleep(0)
        if number == signal.SIGKILL:
            victims.hit(guest, number)
        await dies(call)
        with pytest.raises(SandboxDiedError):
            await sandbox.stats()
        assert await is_served_again()
        await sandbox.close()

    run_sync(main())
    eventually(lambda: not victims.guests())


@pytest.mark.parametrize("request_name", REQUESTS)
def test_a_zygote_that_is_killed_before_an_answer(victims, eventually, request_name):
    async def main():
        sandbox = await open_sandbox(SPEC)
        guest, zygote = victims.the_guest(), victims.zygote
        victims.hit(guest, signal.SIGSTOP)
        call = asyncio.create_task(REQUESTS[request_name](sandbox))
        await asyncio.sleep(0)
        victims.hit(zygote, signal.SIGKILL)
        await dies(call)
        assert await is_served_again()
        assert victims.zygote != zygote
        await sandbox.close()
        return guest

    guest = run_sync(main())
    eventually(lambda: not os.path.exists(f"/proc/{guest}") and not victims.guests())


def test_a_stopped_zygote_leaves_its_sandboxes_alone_and_is_replaced(victims, eventually):
    async def main():
        async with await open_sandbox(SPEC) as sandbox:
            zygote = victims.zygote
            victims.hit(zygote, signal.SIGSTOP)
            await sandbox.write_file("a", b"kept")
            assert await sandbox.read_file("a") == b"kept"
            assert (await sandbox.run_python("print(1)", limits=Limits())).ok
            with pytest.raises(SandboxStartError, match="did not come up"):
                await open_sandbox(SPEC)
            assert await is_served_again()
            assert victims.zygote != zygote
            with pytest.raises(SandboxDiedError):
                await sandbox.stats()
        return zygote

    zygote = run_sync(main())
    eventually(lambda: not os.path.exists(f"/proc/{zygote}") and not victims.guests())


def test_many_that_wait_for_a_stopped_zygote_are_all_told(victims):
    async def main():
        await (await open_sandbox(SPEC)).close()
        victims.hit(victims.zygote, signal.SIGSTOP)
        opened = await asyncio.gather(
            *(open_sandbox(SPEC) for _ in range(20)), return_exceptions=True
        )
        for each in opened:
            if isinstance(each, BaseException):
                assert isinstance(each, SandboxError)
            else:
                await each.close()
        assert await is_served_again()

    run_sync(main())


def test_a_zygote_that_answers_is_not_replaced_for_a_guest_that_does_not(victims, eventually):
    async def main():
        neighbour = await open_sandbox(SPEC)
        for _ in range(3):
            await (await open_sandbox(SPEC)).close()
        while not (spares := victims.guests("spare")):
            await asyncio.sleep(0.01)
        zygote = victims.zygote
        for spare in spares:
            victims.hit(spare, signal.SIGSTOP)
        with pytest.raises(SandboxStartError, match="did not come up"):
            await open_sandbox(SPEC)
        assert await is_served_again()
        assert victims.zygote == zygote
        assert (await neighbour.stats()).processes == 1
        await neighbour.close()

    run_sync(main())
    eventually(lambda: not victims.guests())


@pytest.mark.parametrize("of", ["guest", "zygote"])
def test_a_kill_at_any_moment_of_an_opening(victims, eventually, of):
    generator = random.Random(of)

    async def main():
        for _ in range(10 if of == "zygote" else 25):
            # One that waited ready may have been killed the last time.
            with contextlib.suppress(SandboxError):
                await (await open_sandbox(SPEC)).close()
            opening = asyncio.create_task(open_sandbox(SPEC))
            await asyncio.sleep(generator.uniform(0, 0.006))
            guests = victims.guests() | victims.guests("spare")
            for pid in guests if of == "guest" else {victims.zygote}:
                with contextlib.suppress(ProcessLookupError):
                    victims.hit(pid, signal.SIGKILL)
            with contextlib.suppress(SandboxError):
                async with asyncio.timeout(15):
                    await (await opening).close()
        with contextlib.suppress(SandboxError):
            await is_served_again()
        assert await is_served_again()

    run_sync(main())
    eventually(lambda: not victims.guests())


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("step", ["receive", "send", "wait", "kill"])
def test_a_guest_that_is_hit_during_messages(victims, eventually, step, number):
    async def main():
        sandbox = await open_sandbox(SPEC)
        process = await sandbox.start_python(ECHO, limits=Limits(wall_seconds=5))
        await process.send(b"one")
        assert await process.receive() == b"one"
        process._limits = SPEC.limits
        guest = victims.the_guest()
        victims.hit(guest, signal.SIGSTOP)
        calls = {
            "receive": process.receive,
            "send": lambda: flood(process),
            "wait": process.wait,
            "kill": process.kill,
        }
        call = asyncio.create_task(calls[step]())
        await asyncio.sleep(0)
        if number == signal.SIGKILL:
            victims.hit(guest, number)
        await dies(call)
        for again in (process.receive, process.wait, process.kill):
            await dies(again())
        assert await is_served_again()
        await sandbox.close()

    run_sync(main())
    eventually(lambda: not victims.guests())


async def flood(process):
    while True:
        await process.send(bytes(1_000_000))


@pytest.mark.parametrize("number", SIGNALS)
@pytest.mark.parametrize("of", ["guest", "zygote"])
def test_what_is_hit_before_close_is_closed_all_the_same(victims, eventually, of, number):
    async def main():
        sandbox = await open_sandbox(SPEC)
        await sandbox.start_python(SLEEP, limits=Limits(wall_seconds=100))
        guest, zygote = victims.the_guest(), victims.zygote
        victims.hit(guest if of == "guest" else zygote, number)
        async with asyncio.timeout(10):
            await sandbox.close()
            await sandbox.close()
        return guest, zygote

    guest, zygote = run_sync(main())
    # A child of a stopped zygote is collected when that is replaced or ends.
    close_zygotes()
    eventually(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in (guest, zygote)))


def test_a_zygote_that_ends_while_it_is_closed_holds_up_nobody(victims):
    async def main():
        await (await open_sandbox(SPEC)).close()
        victims.hit(victims.zygote, signal.SIGSTOP)

    run_sync(main())
    zygote = victims.zygote
    close_zygotes()
    assert not os.path.exists(f"/proc/{zygote}")


def test_a_zygote_collects_its_sandboxes_before_it_ends(victims):
    async def main():
        sandboxes = [await open_sandbox(SPEC) for _ in range(10)]
        victims.hit(min(victims.guests()), signal.SIGSTOP)
        return sandboxes, victims.guests()

    sandboxes, guests = run_sync(main())
    assert len(guests) == 10
    close_zygotes()
    assert not any(os.path.exists(f"/proc/{guest}") for guest in guests)
    for sandbox in sandboxes:
        run_sync(sandbox.close())
