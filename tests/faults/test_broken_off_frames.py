"""A guest that stops in the middle of a frame: it stalls or hangs up. The host gives it up."""

import asyncio
import socket

import pytest

from execgym.sandbox import Limits, SandboxDiedError, SandboxSpec, SandboxStartError, client, wire
from execgym.sandbox.client import NamespaceSandbox

SPEC = SandboxSpec(limits=Limits(wall_seconds=0.1, output_bytes=1000))
READY = wire.encode(wire.Frame(wire.READY, 0, {}, b""))
RESULT = {
    "exit_code": 0,
    "signal": 0,
    "limit": "",
    "stdout_length": 4,
    "stdout_dropped": 0,
    "stderr_dropped": 0,
    "cpu_seconds": 0.0,
    "wall_seconds": 0.0,
    "peak_memory_bytes": 0,
}
STATS = {"processes": 1, "memory_bytes": 1, "workspace_bytes": 1, "workspace_inodes": 1}
REQUESTS = {
    "run": (lambda box: box.run_python("pass"), wire.RESULT, RESULT, b"text"),
    "start": (lambda box: box.start_python("pass"), wire.STARTED, {"a": 1}, b""),
    "write": (lambda box: box.write_file("a", b"x"), wire.DONE, {"a": 1}, b""),
    "read": (lambda box: box.read_file("a"), wire.DONE, {"a": 1}, b"text"),
    "list": (lambda box: box.list_files(), wire.DONE, {"a": 1}, b"a\0b"),
    "freeze": (lambda box: box.freeze(), wire.DONE, {"a": 1}, b""),
    "stats": (lambda box: box.stats(), wire.DONE, STATS, b""),
    "refused": (lambda box: box.read_file("a"), wire.REFUSED, {"reason": "no"}, b""),
}
CUTS = {
    "nothing": lambda _: 0,
    "half a header": lambda _: wire.HEADER.size // 2,
    "a header": lambda _: wire.HEADER.size,
    "half a head": lambda _: wire.HEADER.size + 2,
    "all but a byte": lambda data: len(data) - 1,
}


@pytest.fixture(autouse=True)
def limits_of_a_moment(monkeypatch):
    # Nothing here is answered in time, so no load can make an answer late.
    for name in ("_START_SECONDS", "_ANSWER_SECONDS", "_GRACE_SECONDS"):
        monkeypatch.setattr(client, name, 0.1)


def play(scene, first=READY):
    async def main():
        ours, theirs = socket.socketpair()
        with theirs:
            theirs.setblocking(False)
            theirs.send(first)
            async with (
                asyncio.timeout(20),
                await NamespaceSandbox.connect(SPEC, ours, "") as sandbox,
            ):
                await scene(sandbox, theirs)

    asyncio.run(main())


async def is_cut_off(end):
    try:
        while await asyncio.get_running_loop().sock_recv(end, 1 << 20):
            pass
    except ConnectionError:
        pass
    return True


@pytest.mark.parametrize("closes", [False, True], ids=["stalls", "closes"])
@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("request_name", REQUESTS)
def test_an_answer_that_breaks_off_is_a_death(request_name, cut, closes):
    request, kind, head, body = REQUESTS[request_name]
    answer = wire.encode(wire.Frame(kind, 1, head, body))

    async def scene(sandbox, end):
        call = asyncio.create_task(request(sandbox))
        await asyncio.get_running_loop().sock_recv(end, 1 << 20)
        end.send(answer[: CUTS[cut](answer)])
        if closes:
            end.shutdown(socket.SHUT_RDWR)
        with pytest.raises(SandboxDiedError):
            await call
        with pytest.raises(SandboxDiedError):
            await sandbox.stats()
        assert await is_cut_off(end)

    play(scene)


@pytest.mark.parametrize("closes", [False, True], ids=["stalls", "closes"])
@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("step", ["receive", "wait", "kill"])
def test_a_message_that_breaks_off_is_a_death(step, cut, closes):
    message = wire.encode(wire.Frame(wire.FROM_PROGRAM, 1, {"a": 1}, b"message"))

    async def scene(sandbox, end):
        starting = asyncio.create_task(sandbox.start_python("pass"))
        await asyncio.get_running_loop().sock_recv(end, 1 << 20)
        end.send(wire.encode(wire.Frame(wire.STARTED, 1, {}, b"")))
        process = await starting
        end.send(message[: CUTS[cut](message)])
        if closes:
            end.shutdown(socket.SHUT_RDWR)
        with pytest.raises(SandboxDiedError):
            await getattr(process, step)()
        assert await is_cut_off(end)

    play(scene)


def test_a_guest_that_reads_no_message_is_given_up():
    async def scene(sandbox, end):
        starting = asyncio.create_task(sandbox.start_python("pass"))
        await asyncio.get_running_loop().sock_recv(end, 1 << 20)
        end.send(wire.encode(wire.Frame(wire.STARTED, 1, {}, b"")))
        process = await starting
        with pytest.raises(SandboxDiedError, match="did not end"):
            await flood(process)

    play(scene)


async def flood(process):
    while True:
        await process.send(bytes(1_000_000))


@pytest.mark.parametrize("closes", [False, True], ids=["stalls", "closes"])
@pytest.mark.parametrize("length", [0, 1, wire.HEADER.size - 1])
def test_a_greeting_that_breaks_off_is_no_sandbox(length, closes):
    async def main():
        ours, theirs = socket.socketpair()
        with theirs:
            theirs.send(READY[:length])
            if closes:
                theirs.shutdown(socket.SHUT_RDWR)
            with pytest.raises((SandboxStartError, SandboxDiedError)):
                await NamespaceSandbox.connect(SPEC, ours, "")
            theirs.setblocking(False)
            assert await is_cut_off(theirs)

    asyncio.run(main())
