"""The host against a guest that lies: the test itself holds the guest's end of the connection."""

import asyncio
import json
import socket
import struct

import pytest

from execgym.sandbox import (
    Limits,
    ProtocolViolationError,
    SandboxDiedError,
    SandboxError,
    SandboxFileError,
    SandboxSpec,
    SandboxStartError,
    archive,
    wire,
)
from execgym.sandbox.client import NamespaceSandbox

LIMITS = Limits(output_bytes=1000, wall_seconds=5)
READY = wire.encode(wire.Frame(wire.READY, 0, {}, b""))
RESULT = {
    "exit_code": 0,
    "signal": 0,
    "limit": "",
    "stdout_length": 0,
    "stdout_dropped": 0,
    "stderr_dropped": 0,
    "cpu_seconds": 0.0,
    "wall_seconds": 0.0,
    "peak_memory_bytes": 0,
}
STATS = {"processes": 1, "memory_bytes": 1, "workspace_bytes": 1, "workspace_inodes": 1}


def frame(kind, number=1, head=None, body=b""):
    return wire.encode(wire.Frame(kind, number, head or {}, body))


def raw(kind, number=1, head=b"", body=b"", head_length=None, body_length=None):
    lengths = (
        len(head) if head_length is None else head_length,
        len(body) if body_length is None else body_length,
    )
    return wire.HEADER.pack(wire.MAGIC, kind, number, *lengths) + head + body


class Guest:
    """The guest's end: says what it is told to once the host has asked."""

    def __init__(self, connection):
        self._connection = connection
        connection.setblocking(False)

    async def answer(self, *answers):
        loop = asyncio.get_running_loop()
        await loop.sock_recv(self._connection, 1 << 20)
        for data in answers:
            await loop.sock_sendall(self._connection, data)

    def close(self):
        self._connection.shutdown(socket.SHUT_RDWR)

    async def is_cut_off(self):
        """Wait until the host has hung up."""
        loop = asyncio.get_running_loop()
        try:
            while await loop.sock_recv(self._connection, 1 << 20):
                pass
        except ConnectionError:
            pass
        return True


def play(scene, first=READY):
    """Connect a sandbox to a hostile guest and run a scene with both."""

    async def main():
        ours, theirs = socket.socketpair()
        with theirs:
            guest = Guest(theirs)
            theirs.send(first)
            async with asyncio.timeout(20):
                sandbox = await NamespaceSandbox.connect(SandboxSpec(limits=LIMITS), ours, "")
                async with sandbox:
                    await scene(sandbox, guest)

    asyncio.run(main())


def violates(call, *answers):
    """Check that these answers to a call are a violation, which ends that sandbox."""

    async def scene(sandbox, guest):
        answering = asyncio.create_task(guest.answer(*answers))
        with pytest.raises(ProtocolViolationError, match="broke the protocol"):
            await call(sandbox)
        with pytest.raises(SandboxDiedError):
            await sandbox.run_python("print(1)")
        assert await guest.is_cut_off()
        answering.cancel()

    play(scene)


def run(sandbox):
    return sandbox.run_python("pass")


def test_an_answer_before_the_whole_request_was_sent_ends_the_sandbox():
    violates(lambda sandbox: sandbox.write_file("large", bytes(8_000_000)), frame(wire.DONE))


def test_a_guest_that_takes_only_half_a_request_is_dead_in_time(monkeypatch):
    monkeypatch.setattr("execgym.sandbox.client._ANSWER_SECONDS", 0.2)

    async def scene(sandbox, guest):
        with pytest.raises(SandboxDiedError, match="did not answer"):
            await sandbox.write_file("large", bytes(8_000_000))

    play(scene)


def test_a_guest_that_hangs_up_in_the_middle_of_a_request_is_dead():
    async def scene(sandbox, guest):
        async def hang_up():
            await guest.answer()
            guest.close()

        leaving = asyncio.create_task(hang_up())
        with pytest.raises(SandboxDiedError):
            await sandbox.write_file("large", bytes(8_000_000))
        await leaving

    play(scene)


def test_an_honest_answer_is_taken():
    async def scene(sandbox, guest):
        head = {**RESULT, "exit_code": 3, "stdout_length": 2}
        answering = asyncio.create_task(guest.answer(frame(wire.RESULT, 1, head, b"outerr")))
        result = await sandbox.run_python("pass")
        assert (result.exit_code, result.stdout, result.stderr) == (3, b"ou", b"terr")
        await answering

    play(scene)


@pytest.mark.parametrize(
    "answer",
    [
        frame(wire.RESULT, 2, RESULT),
        frame(wire.RESULT, 0, RESULT),
        frame(wire.RESULT, 2**32 - 1, RESULT),
        frame(wire.DONE, 1),
        frame(wire.STARTED, 1),
        frame(wire.READY, 0),
        frame(wire.READY, 1),
        frame(wire.FAILED, 1),
        frame(wire.RUN, 1),
        frame(wire.TO_PROGRAM, 1),
        frame(wire.FROM_PROGRAM, 1, {}, b"message"),
        frame(wire.PROGRAM_CLOSED, 1),
        frame(wire.FROM_PROGRAM, 0, {}, b"message"),
        b"\0" * 17,
        b"HTTP/1.1 200 OK\r\n\r\n",
        raw(wire.RESULT, head=b"[]"),
        raw(wire.RESULT, head=b"{" + b" " * 100),
        raw(wire.RESULT, head=json.dumps(RESULT).replace("0.0", "NaN").encode()),
        raw(wire.RESULT, head=json.dumps(RESULT).replace("0.0", "1e999").encode()),
        raw(wire.RESULT, head_length=2**32 - 1),
        raw(wire.RESULT, body_length=2**32 - 1),
        raw(wire.RESULT, head_length=wire.MAX_HEAD_BYTES),
        raw(wire.RESULT, body_length=wire.MAX_BODY_BYTES),
        raw(wire.RESULT, body_length=2001),
        raw(wire.RESULT),
    ],
    ids=lambda answer: answer[4:60].hex(),
)
def test_a_frame_out_of_turn_or_shape_ends_the_sandbox(answer):
    violates(run, answer)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("exit_code", -1),
        ("exit_code", 256),
        ("exit_code", True),
        ("exit_code", 1.0),
        ("exit_code", "0"),
        ("exit_code", None),
        ("exit_code", [0]),
        ("signal", 65),
        ("signal", -9),
        ("limit", "speed"),
        ("limit", None),
        ("limit", []),
        ("limit", {}),
        ("limit", True),
        ("stdout_length", -1),
        ("stdout_length", 1),
        ("stdout_length", 10**30),
        ("stdout_length", False),
        ("stdout_dropped", -1),
        ("stdout_dropped", 2**63),
        ("stderr_dropped", 0.5),
        ("cpu_seconds", -0.1),
        ("cpu_seconds", True),
        ("cpu_seconds", "1"),
        ("cpu_seconds", 1e300),
        ("wall_seconds", None),
        ("wall_seconds", 10**400),
        ("peak_memory_bytes", -1),
        ("peak_memory_bytes", 1.5),
    ],
)
def test_a_result_with_a_lie_ends_the_sandbox(name, value):
    violates(run, frame(wire.RESULT, 1, {**RESULT, name: value}))


@pytest.mark.parametrize("name", sorted(RESULT))
def test_a_result_that_lacks_something_ends_the_sandbox(name):
    head = {key: value for key, value in RESULT.items() if key != name}
    violates(run, frame(wire.RESULT, 1, head))


def test_output_beyond_the_limit_ends_the_sandbox():
    head = {**RESULT, "stdout_length": 1001}
    violates(run, frame(wire.RESULT, 1, head, bytes(1500)))
    violates(run, frame(wire.RESULT, 1, {**RESULT, "stdout_length": 10}, bytes(1500)))


def test_a_second_result_ends_the_sandbox():
    async def scene(sandbox, guest):
        answer = frame(wire.RESULT, 1, RESULT)
        answering = asyncio.create_task(guest.answer(answer, answer))
        result = await sandbox.run_python("pass")
        assert result.exit_code == 0
        await answering
        assert await guest.is_cut_off()
        with pytest.raises(SandboxDiedError, match="broke the protocol"):
            await sandbox.run_python("pass")

    play(scene)


def test_an_answer_before_the_question_ends_the_sandbox():
    async def scene(sandbox, guest):
        assert await guest.is_cut_off()
        with pytest.raises(SandboxDiedError, match="broke the protocol"):
            await sandbox.run_python("pass")

    play(scene, READY + frame(wire.RESULT, 1, RESULT))


def test_a_hang_up_instead_of_an_answer_is_a_death_and_no_violation():
    async def scene(sandbox, guest):
        async def hang_up():
            await guest.answer()
            guest._connection.shutdown(socket.SHUT_RDWR)

        hanging_up = asyncio.create_task(hang_up())
        with pytest.raises(SandboxDiedError):
            await sandbox.run_python("pass")
        await hanging_up

    play(scene)


def test_a_hang_up_within_a_frame_is_a_death():
    async def scene(sandbox, guest):
        async def hang_up():
            await guest.answer(frame(wire.RESULT, 1, RESULT)[:-5])
            guest._connection.shutdown(socket.SHUT_RDWR)

        hanging_up = asyncio.create_task(hang_up())
        with pytest.raises(SandboxDiedError):
            await sandbox.run_python("pass")
        await hanging_up

    play(scene)


@pytest.mark.parametrize(
    ("first", "error"),
    [
        (frame(wire.FAILED, 0, {"reason": "no space"}), SandboxStartError),
        (frame(wire.FAILED, 0, {"reason": ["x" * 60_000]}), SandboxStartError),
        (frame(wire.FAILED, 0), SandboxStartError),
        (frame(wire.DONE, 0), ProtocolViolationError),
        (frame(wire.READY, 7), ProtocolViolationError),
        (b"garbage that is long enough", ProtocolViolationError),
    ],
)
def test_a_bad_start_is_told_and_leaves_no_connection(first, error):
    async def scene(sandbox, guest):
        raise AssertionError("it came up")

    with pytest.raises(error) as caught:
        play(scene, first)
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize(
    "head",
    [
        {},
        {**STATS, "processes": -1},
        {**STATS, "memory_bytes": True},
        {**STATS, "workspace_bytes": "1"},
        {**STATS, "workspace_inodes": 1.0},
        {**STATS, "processes": 10**30},
    ],
)
def test_lying_statistics_end_the_sandbox(head):
    violates(lambda sandbox: sandbox.stats(), frame(wire.DONE, 1, head))


@pytest.mark.parametrize(
    "names",
    [b"../x", b"a/../../x", b"/etc/passwd", b"a//b", b".", b"a\0..", b"a/./b"],
)
def test_a_listed_path_that_leaves_the_workspace_ends_the_sandbox(names):
    violates(lambda sandbox: sandbox.list_files(), frame(wire.DONE, 1, {}, names))


def test_a_file_larger_than_asked_for_ends_the_sandbox():
    violates(
        lambda sandbox: sandbox.read_file("x", max_bytes=10), frame(wire.DONE, 1, {}, bytes(11))
    )


def test_a_written_file_has_no_answer_with_a_body():
    violates(lambda sandbox: sandbox.write_file("x", b""), frame(wire.DONE, 1, {}, b"x"))


def test_the_reason_of_a_refusal_is_cut():
    async def scene(sandbox, guest):
        answer = frame(wire.REFUSED, 1, {"reason": "x" * 60_000})
        answering = asyncio.create_task(guest.answer(answer))
        with pytest.raises(SandboxFileError) as caught:
            await sandbox.read_file("x")
        assert len(str(caught.value)) < 1000
        await answering

    play(scene)


async def start(sandbox, guest, *more):
    answering = asyncio.create_task(guest.answer(frame(wire.STARTED, 1), *more))
    process = await sandbox.start_python("pass")
    await answering
    return process


@pytest.mark.parametrize(
    "data",
    [
        frame(wire.FROM_PROGRAM, 2, {}, b"x"),
        frame(wire.PROGRAM_CLOSED, 0),
        frame(wire.STARTED, 1),
        frame(wire.DONE, 1),
        frame(wire.REFUSED, 1),
        frame(wire.RESULT, 2, RESULT),
        frame(wire.PROGRAM_CLOSED, 1) + frame(wire.PROGRAM_CLOSED, 1),
        frame(wire.PROGRAM_CLOSED, 1) + frame(wire.FROM_PROGRAM, 1, {}, b"late"),
        raw(wire.FROM_PROGRAM, body_length=wire.MAX_MESSAGE_BYTES + 1),
        raw(wire.RESULT, head_length=wire.MAX_HEAD_BYTES),
        raw(wire.RESULT, body_length=2001),
        b"\0" * 100,
    ],
    ids=lambda data: data[4:40].hex(),
)
def test_a_programs_frame_out_of_turn_ends_the_sandbox(data):
    async def scene(sandbox, guest):
        process = await start(sandbox, guest, data)
        with pytest.raises(SandboxError, match="broke the protocol"):
            await process.wait()
        assert await guest.is_cut_off()

    play(scene)


@pytest.mark.parametrize(
    "late",
    [
        frame(wire.RESULT, 1, RESULT),
        frame(wire.FROM_PROGRAM, 1, {}, b"late"),
        frame(wire.PROGRAM_CLOSED, 1),
    ],
)
def test_a_frame_after_a_programs_end_ends_the_sandbox(late):
    async def scene(sandbox, guest):
        process = await start(sandbox, guest, frame(wire.RESULT, 1, RESULT), late)
        assert (await process.wait()).ok
        assert await guest.is_cut_off()
        with pytest.raises(SandboxDiedError):
            await sandbox.run_python("pass")

    play(scene)


def test_a_programs_lying_result_ends_the_sandbox():
    async def scene(sandbox, guest):
        lie = frame(wire.RESULT, 1, {**RESULT, "exit_code": -1})
        process = await start(sandbox, guest, lie)
        with pytest.raises(ProtocolViolationError):
            await process.wait()
        assert await guest.is_cut_off()

    play(scene)


def test_a_programs_message_before_its_start_ends_the_sandbox():
    violates(
        lambda sandbox: sandbox.start_python("pass"),
        frame(wire.FROM_PROGRAM, 1, {}, b"x") + frame(wire.STARTED, 1),
    )


def test_a_flood_of_messages_is_not_read_further_than_the_bound():
    async def scene(sandbox, guest):
        process = await start(sandbox, guest)
        loop = asyncio.get_running_loop()
        message = frame(wire.FROM_PROGRAM, 1, {}, bytes(1_000_000))
        sent = 0

        async def flood():
            nonlocal sent
            while True:
                await loop.sock_sendall(guest._connection, message)
                sent += 1

        flooding = asyncio.create_task(flood())
        previous = -1
        while sent != previous:
            previous = sent
            for _ in range(100):
                await asyncio.sleep(0)
            await asyncio.sleep(0.05)
        assert 5 <= sent <= 30
        for _ in range(50):
            assert await process.receive() == bytes(1_000_000)
        flooding.cancel()

    play(scene)


def test_a_guest_that_never_answers_is_given_up(monkeypatch):
    from execgym.sandbox import client

    monkeypatch.setattr(client, "_GRACE_SECONDS", 0.2)

    async def scene(sandbox, guest):
        with pytest.raises(SandboxDiedError, match="did not answer"):
            await sandbox.run_python("pass", limits=Limits(wall_seconds=0.1))
        assert await guest.is_cut_off()

    play(scene)


def test_a_program_that_never_ends_is_given_up(monkeypatch):
    from execgym.sandbox import client

    monkeypatch.setattr(client, "_GRACE_SECONDS", 0.2)

    async def scene(sandbox, guest):
        process = await start(sandbox, guest)
        with pytest.raises(SandboxDiedError, match="did not end"):
            await process.kill()
        assert await guest.is_cut_off()

    play(scene)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"no snapshot",
        archive.MAGIC,
        archive.MAGIC + struct.pack(">BHHqQ", archive.FILE, 2, 0, 0, 0) + b"..",
        archive.MAGIC + bytes(1000),
    ],
)
def test_a_snapshot_that_is_none_ends_the_sandbox(body):
    violates(lambda sandbox: sandbox.snapshot(), frame(wire.DONE, 1, {}, body))


def test_a_snapshot_beyond_its_bound_ends_the_sandbox():
    data = archive.MAGIC + struct.pack(">BHHqQ", archive.END, 0, 0, 0, 0)
    size = len(data) - 1
    violates(lambda sandbox: sandbox.snapshot(max_bytes=size), frame(wire.DONE, 1, {}, data))


def test_one_lying_guest_does_not_touch_another():
    async def main():
        pairs = [socket.socketpair() for _ in range(2)]
        for _, theirs in pairs:
            theirs.send(READY)
        (bad, bad_end), (good, good_end) = pairs
        with bad_end, good_end:
            spec = SandboxSpec(limits=LIMITS)
            async with (
                await NamespaceSandbox.connect(spec, bad, "") as liar,
                await NamespaceSandbox.connect(spec, good, "") as honest,
            ):
                answering = asyncio.gather(
                    Guest(bad_end).answer(b"\0" * 100),
                    Guest(good_end).answer(frame(wire.RESULT, 1, RESULT)),
                )
                lie, result = await asyncio.gather(
                    liar.run_python("pass"), honest.run_python("pass"), return_exceptions=True
                )
                assert isinstance(lie, ProtocolViolationError)
                assert result.ok
                await answering

    asyncio.run(main())


def test_the_length_of_a_message_is_the_frames():
    async def scene(sandbox, guest):
        inner = struct.pack(">I", 99)
        process = await start(sandbox, guest, frame(wire.FROM_PROGRAM, 1, {}, inner))
        assert await process.receive() == inner

    play(scene)
