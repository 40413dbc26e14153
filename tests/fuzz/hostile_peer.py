"""The real host's end of a connection, played against a peer that says whatever it is given."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import socket
import struct
from collections.abc import Callable, Sequence
from typing import Any

from execgym.sandbox import (
    Limits,
    SandboxDiedError,
    SandboxError,
    SandboxFileError,
    SandboxSpec,
    archive,
    wire,
)
from execgym.sandbox.client import NamespaceSandbox

SPEC = SandboxSpec(limits=Limits(output_bytes=1000))
READY = wire.encode(wire.Frame(wire.READY, 0, {}, b""))
RESULT = {
    "exit_code": 0,
    "signal": 0,
    "limit": "",
    "stdout_length": 2,
    "stdout_dropped": 0,
    "stderr_dropped": 0,
    "cpu_seconds": 0.0,
    "wall_seconds": 0.0,
    "peak_memory_bytes": 0,
}
STATS = {"processes": 1, "memory_bytes": 1, "workspace_bytes": 1, "workspace_inodes": 1}
EMPTY_SNAPSHOT = archive.MAGIC + struct.pack(">BHHqQ", archive.END, 0, 0, 0, 0)
HEADS: tuple[dict[str, Any], ...] = ({}, RESULT, STATS, {"reason": "no"}, {"limit": [], "a": None})
TYPED = (SandboxError, SandboxFileError)
# What arrives is read 256 KiB at a time, on top of one frame that was admitted.
LARGEST_BUFFER = 2 * 256 * 1024 + wire.MAX_BODY_BYTES
LARGEST_QUEUE = 33 * 1024 * 1024
HANG_SECONDS = 20.0
_TURNS = 24

CALLS: dict[str, Callable[[NamespaceSandbox], Any]] = {
    "run": lambda sandbox: sandbox.run_python("pass"),
    "command": lambda sandbox: sandbox.run_command(["true"]),
    "start": lambda sandbox: sandbox.start_python("pass"),
    "write": lambda sandbox: sandbox.write_file("a", b"text"),
    "read": lambda sandbox: sandbox.read_file("a", max_bytes=100),
    "list": lambda sandbox: sandbox.list_files(),
    "freeze": lambda sandbox: sandbox.freeze(),
    "stats": lambda sandbox: sandbox.stats(),
    "snapshot": lambda sandbox: sandbox.snapshot(max_bytes=1000),
    "restore": lambda sandbox: sandbox.restore(EMPTY_SNAPSHOT),
}
OF_A_PROGRAM: dict[str, Callable[[Any], Any]] = {
    "send": lambda process: process.send(b"text"),
    "receive": lambda process: process.receive(),
    "wait": lambda process: process.wait(),
    "kill": lambda process: process.kill(),
}
NAMES = (*CALLS, *OF_A_PROGRAM)


@dataclasses.dataclass(frozen=True, slots=True)
class Exchange:
    """A call, and the pieces in which the peer then sends its bytes.

    Attributes:
        call: One of `NAMES`.
        pieces: What the peer sends once it has been asked.
    """

    call: str
    pieces: tuple[bytes, ...]


async def play(greeting: Sequence[bytes], exchanges: Sequence[Exchange]) -> list[str]:
    """Make the calls one after the other, and hold the host's end to what it promises.

    Only typed errors come out, nothing hangs, and the host holds a bounded number of bytes.

    Returns:
        How each call ended: the name of its error, or `"ok"`.
    """
    ours, theirs = socket.socketpair()
    with theirs:
        theirs.setblocking(False)
        outcomes = []
        connecting = asyncio.ensure_future(NamespaceSandbox.connect(SPEC, ours, ""))
        try:
            sandbox = await _answered(connecting, theirs, greeting)
        except TYPED as error:
            return [type(error).__name__]
        process = None
        for exchange in exchanges:
            if exchange.call in CALLS:
                call = CALLS[exchange.call](sandbox)
            elif process is not None:
                call = OF_A_PROGRAM[exchange.call](process)
            else:
                continue
            try:
                result = await _answered(asyncio.ensure_future(call), theirs, exchange.pieces)
            except TYPED as error:
                outcomes.append(type(error).__name__)
            except RuntimeError as error:
                # The caller's own fault, which a script of calls commits, too.
                if "a started program still runs" not in str(error):
                    raise
                outcomes.append("misuse")
            else:
                outcomes.append("ok")
                process = result if exchange.call == "start" else process
            _check_bounds(sandbox)
        await sandbox.close()
        try:
            await sandbox.stats()
        except SandboxDiedError:
            return outcomes
        raise AssertionError("a closed sandbox answered")


async def _answered(
    waiting: asyncio.Future[Any], peer: socket.socket, pieces: Sequence[bytes]
) -> Any:
    """Send the peer's bytes while a call waits; hang up if they do not end it."""
    await asyncio.sleep(0)
    for piece in pieces:
        with contextlib.suppress(OSError):
            while peer.recv(1 << 20):
                pass
        with contextlib.suppress(OSError):
            peer.sendall(piece)
        await asyncio.sleep(0)
    for _ in range(_TURNS):
        if waiting.done():
            break
        await asyncio.sleep(0)
    else:
        with contextlib.suppress(OSError):
            peer.shutdown(socket.SHUT_RDWR)
    async with asyncio.timeout(HANG_SECONDS):
        return await waiting


def _check_bounds(sandbox: NamespaceSandbox) -> None:
    connection = sandbox._connection
    assert len(connection._decoder._buffer) <= LARGEST_BUFFER
    program = connection.program
    if program is not None:
        assert program.queued_bytes == sum(map(len, program.messages))
        assert program.queued_bytes <= LARGEST_QUEUE
