"""The host's end of a sandbox. Everything that it receives is hostile."""

from __future__ import annotations

import asyncio
import collections
import contextlib
import os
import socket
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from execgym.sandbox import archive, wire
from execgym.sandbox.base import MAX_SNAPSHOT_BYTES, CommandResult, SandboxStats
from execgym.sandbox.errors import (
    ProtocolViolationError,
    SandboxDiedError,
    SandboxError,
    SandboxFileError,
    SandboxStartError,
    SnapshotError,
    TemplateError,
)
from execgym.sandbox.spec import Limits, SandboxSpec

_P = ParamSpec("_P")
_T = TypeVar("_T")

# Generous, since they only end what has hung: a loaded machine makes everything slow.
_START_SECONDS = 60.0
_ANSWER_SECONDS = 60.0
_GRACE_SECONDS = 30.0
_MAX_HEAD_BYTES = 64 * 1024
_PIECE_BYTES = 128 * 1024
MAX_READ_BYTES = 32 * 1024 * 1024
_MAX_OUTPUT_BYTES = 16 * 1024 * 1024
_MAX_QUEUED_MESSAGES = 256
_MAX_QUEUED_BYTES = 16 * 1024 * 1024
# What an honest guest may have sent before it read a request: its buffer, and one message.
_MAX_MESSAGES_AHEAD = 128 * 1024
_MAX_BYTES_AHEAD = 16 * 1024 * 1024
_PROGRAM_BODIES = {wire.FROM_PROGRAM: wire.MAX_MESSAGE_BYTES, wire.PROGRAM_CLOSED: 0}
_LIMIT_NAMES = frozenset({"", "cpu", "wall", "memory"})


class _Program:
    """What the host knows of a started program."""

    def __init__(self, number: int, largest_result: int) -> None:
        self.number = number
        self.largest_result = largest_result
        self.started = False
        self.closed = False
        self.messages: collections.deque[bytes] = collections.deque()
        self.queued_bytes = 0
        self.result: wire.Frame | None = None

    @property
    def full(self) -> bool:
        """Whether as much is queued as may be before somebody receives."""
        return len(self.messages) >= _MAX_QUEUED_MESSAGES or self.queued_bytes >= _MAX_QUEUED_BYTES

    @property
    def flooding(self) -> bool:
        """Whether more is queued than can lie between a request and its answer."""
        return (
            len(self.messages) >= _MAX_QUEUED_MESSAGES + _MAX_MESSAGES_AHEAD
            or self.queued_bytes >= _MAX_QUEUED_BYTES + _MAX_BYTES_AHEAD
        )


class Connection(asyncio.Protocol):
    """The state machine of one connection: one request at a time, and messages of a program."""

    def __init__(self) -> None:
        self._decoder = wire.Decoder(self._admit)
        self._transport: asyncio.Transport | None = None
        self._owner = os.getpid()
        self._number = 0
        self._expected: frozenset[int] = frozenset({wire.READY, wire.FAILED})
        self._largest_body = 0
        self._answer: asyncio.Future[wire.Frame] = asyncio.get_running_loop().create_future()
        self._lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._error: SandboxError | None = None
        self._program: _Program | None = None
        # Set whenever something happened that a waiter of a program may be waiting for.
        self._news = asyncio.Event()
        self._writable = asyncio.Event()
        self._writable.set()
        # Held while the frame of a request is sent, piece by piece.
        self._sending = asyncio.Lock()

    # ---- asyncio's side -----------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the transport."""
        assert isinstance(transport, asyncio.Transport)  # noqa: S101
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Take bytes from the sandbox."""
        if self._error is not None:
            return
        self._decoder.feed(data)
        try:
            while (frame := self._decoder.next_frame()) is not None:
                self._take(frame)
        except wire.FrameError as error:
            self.fail(ProtocolViolationError(f"the guest broke the protocol: {error}"))

    def connection_lost(self, exc: Exception | None) -> None:
        """The sandbox is gone."""
        self.fail(SandboxDiedError("the sandbox's connection ended"))
        self._lost.set_result(None)

    def pause_writing(self) -> None:
        """The sandbox reads more slowly than the host writes."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """The sandbox has caught up."""
        self._writable.set()

    # ---- the state machine --------------------------------------------------------------------

    def _admit(self, kind: int, number: int, head_length: int, body_length: int) -> None:
        """Refuse a frame that may not come now before its bytes are waited for."""
        program = self._program
        if program is not None and program.started and number == program.number:
            largest = _PROGRAM_BODIES.get(kind, program.largest_result)
        elif kind in self._expected and number == self._number:
            largest = self._largest_body
        else:
            raise wire.FrameError(f"a frame of kind {kind} came out of turn")
        if head_length > _MAX_HEAD_BYTES or body_length > largest:
            raise wire.FrameError(f"a frame of kind {kind} is larger than it may be")

    def _take(self, frame: wire.Frame) -> None:
        program = self._program
        if program is not None and program.started and frame.number == program.number:
            self._take_from_program(program, frame)
        elif (
            frame.kind in self._expected
            and frame.number == self._number
            and not self._answer.done()
            and not self._sending.locked()
        ):
            self._expected = frozenset()
            if frame.kind == wire.STARTED and program is not None:
                program.started = True
            self._answer.set_result(frame)
            if program is not None:
                self._pause_where_full(program)
        else:
            raise wire.FrameError(f"a frame of kind {frame.kind} came out of turn")

    def _take_from_program(self, program: _Program, frame: wire.Frame) -> None:
        if program.result is not None:
            raise wire.FrameError("a frame came from a program that had ended")
        if frame.kind == wire.RESULT:
            program.result = frame
            program.closed = True
        elif frame.kind == wire.PROGRAM_CLOSED and not program.closed:
            program.closed = True
        elif frame.kind == wire.FROM_PROGRAM and not program.closed:
            program.messages.append(frame.body)
            program.queued_bytes += len(frame.body)
            if self._expected and program.flooding:
                raise wire.FrameError("more of a program's messages came than an answer can follow")
            self._pause_where_full(program)
        else:
            raise wire.FrameError(f"a program's frame of kind {frame.kind} came out of turn")
        self._news.set()

    def _pause_where_full(self, program: _Program) -> None:
        # An answer that is waited for comes behind messages that nobody may be receiving.
        if program.full and not self._expected and self._transport is not None:
            self._transport.pause_reading()

    def fail(self, error: SandboxError) -> None:
        """End the connection; every waiter, now and later, gets the error."""
        if self._error is None:
            self._error = error
        if self._transport is not None:
            self._hang_up(self._transport)
        if not self._answer.done():
            self._answer.set_exception(self._error)
            # Nobody may be waiting for it, which is no fault.
            self._answer.exception()
        self._news.set()
        self._writable.set()

    def _hang_up(self, transport: asyncio.Transport) -> None:
        # A fork of this process has the socket, too: closing alone would not reach the sandbox. In
        # the fork itself the sandbox is the parent's.
        if not transport.is_closing() and self._owner == os.getpid():
            with contextlib.suppress(OSError):
                transport.get_extra_info("socket").shutdown(socket.SHUT_RDWR)
        transport.abort()

    async def close(self) -> None:
        """End the connection and wait until its socket is closed."""
        self.fail(SandboxDiedError("the sandbox has been closed"))
        await asyncio.shield(self._lost)

    def _check(self) -> asyncio.Transport:
        if self._error is not None or self._transport is None:
            raise SandboxDiedError(str(self._error)) from self._error
        return self._transport

    async def ready(self) -> None:
        """Wait for the sandbox to come up."""
        async with asyncio.timeout(_START_SECONDS):
            frame = await self._answer
        if frame.kind == wire.FAILED:
            if frame.head.get("stage") == "template":
                raise TemplateError(f"the template cannot be built: {_reason(frame)}")
            raise SandboxStartError(f"the sandbox did not come up: {_reason(frame)}")

    async def request(
        self,
        kind: int,
        head: dict[str, Any],
        body: bytes,
        expected: frozenset[int],
        seconds: float,
        largest_body: int,
    ) -> wire.Frame:
        """Send a request and wait for its answer.

        Raises:
            ValueError: The request is too large for one frame.
            SandboxError: The sandbox failed, or another call waits for its answer.
        """
        transport = self._check()
        if self._expected:
            raise RuntimeError(
                "a sandbox answers one call at a time: await the one under way first"
            )
        running = self._program is not None and self._program.result is None
        if running and kind in (wire.RUN, wire.START, wire.RESTORE):
            raise RuntimeError(
                "a started program still runs in this sandbox: wait for it or kill it"
            )
        try:
            start = wire.encode_beginning(kind, self._number + 1, head, len(body))
        except wire.FrameError:
            raise ValueError(
                "the request is too large: its code, input and data have at most "
                f"{wire.MAX_BODY_BYTES} bytes, its arguments and variables {wire.MAX_HEAD_BYTES}"
            ) from None
        self._number += 1
        self._expected = expected
        self._largest_body = largest_body
        self._answer = asyncio.get_running_loop().create_future()
        if kind == wire.START:
            self._program = _Program(self._number, largest_body)
        transport.resume_reading()
        try:
            async with asyncio.timeout(seconds):
                await self._send(transport, start, body)
                frame = await self._answer
        except TimeoutError:
            self.fail(SandboxDiedError(f"the guest did not answer within {seconds:.0f} s"))
            raise SandboxDiedError(f"the guest did not answer within {seconds:.0f} s") from None
        except asyncio.CancelledError:
            self.fail(SandboxDiedError("the call was cancelled, which closes the sandbox"))
            raise
        if kind == wire.START and frame.kind == wire.REFUSED:
            self._program = None
        return frame

    async def _send(self, transport: asyncio.Transport, start: bytes, body: bytes) -> None:
        if len(body) <= _PIECE_BYTES:
            transport.write(start + body)
            return
        # All at once would have the transport copy what the sandbox does not take right away.
        async with self._sending:
            transport.write(start)
            view = memoryview(body)
            while view and self._error is None:
                transport.write(view[:_PIECE_BYTES])
                view = view[_PIECE_BYTES:]
                await self._writable.wait()

    # ---- a program with messages --------------------------------------------------------------

    @property
    def program(self) -> _Program | None:
        """The program that was started last."""
        return self._program

    async def send_message(self, program: _Program, message: bytes) -> None:
        """Send a message to a program. Nothing happens when it has ended."""
        transport = self._check()
        if program.result is None:
            async with self._sending:
                transport.write(
                    wire.encode(wire.Frame(wire.TO_PROGRAM, program.number, {}, message))
                )
            await self._writable.wait()

    async def receive_message(self, program: _Program) -> bytes | None:
        """Return the next message of a program, or None when there will be none."""
        while not program.messages:
            if program.closed:
                return None
            await self._next_news()
        message = program.messages.popleft()
        program.queued_bytes -= len(message)
        if self._transport is not None and not program.full:
            self._transport.resume_reading()
        return message

    async def program_result(self, program: _Program) -> wire.Frame:
        """Wait for a program's end, throwing away messages that nobody has received."""
        while program.result is None:
            if program.messages:
                await self.receive_message(program)
            else:
                await self._next_news()
        return program.result

    async def _next_news(self) -> None:
        if self._error is not None:
            raise self._error
        self._news.clear()
        await self._news.wait()

    async def send_kill(self, program: _Program) -> None:
        """Ask for a program's end."""
        async with self._sending:
            self._check().write(wire.encode(wire.Frame(wire.KILL, program.number, {}, b"")))


class NamespaceProcess:
    """A program with a message channel; see `execgym.sandbox.Process`."""

    def __init__(self, connection: Connection, program: _Program, limits: Limits) -> None:
        self._connection = connection
        self._program = program
        self._limits = limits
        self._started = time.monotonic()
        self._result: CommandResult | None = None

    async def send(self, message: bytes) -> None:
        """Send one message. Nothing happens when the program has ended."""
        if len(message) > wire.MAX_MESSAGE_BYTES:
            raise ValueError(
                f"a message has at most {wire.MAX_MESSAGE_BYTES} bytes, not {len(message)}"
            )
        if self._program.result is None:
            await self._in_time(
                self._connection.send_message(self._program, message), self._seconds_left()
            )

    async def receive(self) -> bytes | None:
        """Return the next message, or None when the program ended or closed the channel."""
        return await self._in_time(
            self._connection.receive_message(self._program), self._seconds_left()
        )

    async def wait(self) -> CommandResult:
        """Wait for the program to end. Messages that nobody has received are thrown away."""
        return await self._end(self._seconds_left())

    async def kill(self) -> CommandResult:
        """End the program now, if it still runs, and return how it ended."""
        if self._program.result is None:
            await self._in_time(self._connection.send_kill(self._program), _GRACE_SECONDS)
        return await self._end(_GRACE_SECONDS)

    async def _end(self, seconds: float) -> CommandResult:
        if self._result is None:
            frame = await self._in_time(self._connection.program_result(self._program), seconds)
            self._result = _checked(self._connection, read_result, frame, self._limits)
        return self._result

    def _seconds_left(self) -> float:
        spent = time.monotonic() - self._started
        return max(0.0, self._limits.wall_seconds - spent) + _GRACE_SECONDS

    async def _in_time(self, waiting: Coroutine[Any, Any, _T], seconds: float) -> _T:
        # The guest ends a program at its wall limit: one that has not has hung.
        try:
            async with asyncio.timeout(seconds):
                return await waiting
        except TimeoutError:
            error = SandboxDiedError(f"the program did not end within {seconds:.0f} s")
            self._connection.fail(error)
            raise error from None


class NamespaceSandbox:
    """A sandbox made by a zygote on this host; see `execgym.sandbox.Sandbox`."""

    _protocol: type[Connection] = Connection

    def __init__(self, spec: SandboxSpec, connection: Connection, fingerprint: str) -> None:
        self._spec = spec
        self._connection = connection
        self._fingerprint = fingerprint

    @classmethod
    async def connect(cls, spec: SandboxSpec, end: socket.socket, fingerprint: str) -> Self:
        """Wait for the sandbox at the other end of a socket and return it.

        Args:
            spec: What it was asked for with.
            end: The host's end of the connection.
            fingerprint: Digest of the image that it is made from.
        """
        loop = asyncio.get_running_loop()
        try:
            _, connection = await loop.create_connection(cls._protocol, sock=end)
        except BaseException:
            end.close()
            raise
        sandbox = cls(spec, connection, fingerprint)
        try:
            await connection.ready()
        except TimeoutError:
            await sandbox.close()
            raise SandboxStartError(
                f"the sandbox did not come up within {_START_SECONDS:.0f} s"
            ) from None
        except BaseException:
            await sandbox.close()
            raise
        return sandbox

    @property
    def spec(self) -> SandboxSpec:
        """What it was opened with."""
        return self._spec

    @property
    def fingerprint(self) -> str:
        """Digest of the image that it was made from."""
        return self._fingerprint

    async def run_python(
        self,
        code: str,
        *,
        stdin: bytes = b"",
        argv: Sequence[str] = (),
        limits: Limits | None = None,
    ) -> CommandResult:
        """Run `code` as `__main__` in a fork of the warm interpreter, in `/workspace`."""
        limits = self._checked_limits(limits)
        head, source = _python_head(code, argv, limits)
        return await self._run(head, source + stdin, limits)

    async def run_command(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
        limits: Limits | None = None,
    ) -> CommandResult:
        """Run a program in `/workspace`. A program that is missing gives exit code 127."""
        limits = self._checked_limits(limits)
        if not argv:
            raise ValueError("a command needs at least the program's name")
        head = {
            "what": "command",
            "argv": [_checked_text(argument, "argument") for argument in argv],
            "env": {
                _checked_name(name): _checked_text(value, "variable")
                for name, value in (env or {}).items()
            },
            "code_length": 0,
            "limits": _limits_head(limits),
        }
        return await self._run(head, stdin, limits)

    async def start_python(
        self, code: str, *, argv: Sequence[str] = (), limits: Limits | None = None
    ) -> NamespaceProcess:
        """Start `code` as `run_python` does, with a message channel. One process at a time."""
        limits = self._checked_limits(limits)
        head, source = _python_head(code, argv, limits)
        expected = frozenset({wire.STARTED, wire.REFUSED})
        largest = 2 * limits.output_bytes
        frame = await self._request(wire.START, head, source, expected, largest_body=largest)
        if frame.kind == wire.REFUSED:
            raise SandboxError(f"the program could not be started: {_reason(frame)}")
        program = self._connection.program
        assert program is not None  # noqa: S101
        return NamespaceProcess(self._connection, program, limits)

    async def write_file(self, path: str, data: bytes) -> None:
        """Write a file below `/workspace`, making its parents."""
        if len(data) > wire.MAX_BODY_BYTES:
            raise SandboxFileError(
                f"{path}: {len(data)} bytes are more than the {wire.MAX_BODY_BYTES} of one write"
            )
        await self._file_request(wire.WRITE, path, {}, data, 0)

    async def read_file(self, path: str, *, max_bytes: int = 1024 * 1024) -> bytes:
        """Read a regular file below `/workspace` without following links."""
        if type(max_bytes) is not int or not 0 <= max_bytes <= MAX_READ_BYTES:
            raise ValueError(
                f"max_bytes must be a whole number from 0 to {MAX_READ_BYTES}, not {max_bytes!r}"
            )
        head = {"max_bytes": max_bytes}
        return (await self._file_request(wire.READ, path, head, b"", max_bytes)).body

    async def list_files(self) -> tuple[str, ...]:
        """Return the sorted relative paths of regular files below `/workspace`."""
        frame = await self._request(
            wire.LIST, {}, b"", _DONE_OR_REFUSED, largest_body=wire.MAX_BODY_BYTES
        )
        if frame.kind == wire.REFUSED:
            raise SandboxFileError(f"the files could not be listed: {_reason(frame)}")
        return _checked(self._connection, _read_names, frame)

    async def freeze(self) -> None:
        """Kill every process in the sandbox but PID 1. Files can still be read."""
        await self._ask(wire.FREEZE)

    async def snapshot(self, *, max_bytes: int = MAX_SNAPSHOT_BYTES) -> bytes:
        """Return what is in `/workspace`, to be restored in this sandbox or in others."""
        if type(max_bytes) is not int or not 0 < max_bytes <= MAX_SNAPSHOT_BYTES:
            raise ValueError(
                f"max_bytes must be a whole number from 1 to {MAX_SNAPSHOT_BYTES}, not "
                f"{max_bytes!r}"
            )
        head = {"max_bytes": max_bytes}
        frame = await self._request(
            wire.SNAPSHOT, head, b"", _DONE_OR_REFUSED, largest_body=max_bytes
        )
        if frame.kind == wire.REFUSED:
            raise SnapshotError(f"no snapshot was made: {_reason(frame)}")
        return _checked(self._connection, _read_snapshot, frame)

    async def restore(self, snapshot: bytes) -> None:
        """Make `/workspace` hold what a snapshot does, and nothing else, ending every process."""
        check_snapshot(snapshot)
        frame = await self._request(wire.RESTORE, {}, snapshot, _DONE_OR_REFUSED)
        if frame.kind == wire.REFUSED:
            raise SnapshotError(
                f"the snapshot could not be restored, and /workspace is empty: {_reason(frame)}"
            )

    async def stats(self) -> SandboxStats:
        """Return what the sandbox uses now."""
        return _checked(self._connection, _read_stats, await self._ask(wire.STATS))

    async def close(self) -> None:
        """Destroy the sandbox. Closing twice is fine."""
        await self._connection.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    def _checked_limits(self, limits: Limits | None) -> Limits:
        own = self._spec.limits
        for name in ("memory_bytes", "processes") if limits is not None else ():
            if getattr(limits, name) > getattr(own, name):
                raise ValueError(
                    f"a command's {name} may be at most its sandbox's, {getattr(own, name)}, not "
                    f"{getattr(limits, name)}: open the sandbox with more"
                )
        return limits or own

    async def _run(self, head: dict[str, Any], body: bytes, limits: Limits) -> CommandResult:
        expected = frozenset({wire.RESULT, wire.REFUSED})
        seconds = limits.wall_seconds + _GRACE_SECONDS
        largest = 2 * limits.output_bytes
        frame = await self._request(wire.RUN, head, body, expected, seconds, largest)
        if frame.kind == wire.REFUSED:
            raise SandboxError(f"the command could not be started: {_reason(frame)}")
        return _checked(self._connection, read_result, frame, limits)

    async def _ask(self, kind: int) -> wire.Frame:
        frame = await self._request(kind, {}, b"", _DONE_OR_REFUSED)
        if frame.kind == wire.REFUSED:
            raise SandboxError(f"the guest could not answer: {_reason(frame)}")
        return frame

    async def _file_request(
        self, kind: int, path: str, head: dict[str, Any], body: bytes, largest_body: int
    ) -> wire.Frame:
        head = {"path": checked_path(path), **head}
        frame = await self._request(kind, head, body, _DONE_OR_REFUSED, largest_body=largest_body)
        if frame.kind == wire.REFUSED:
            raise SandboxFileError(f"{path}: {_reason(frame)}")
        return frame

    async def _request(
        self,
        kind: int,
        head: dict[str, Any],
        body: bytes,
        expected: frozenset[int],
        seconds: float | None = None,
        largest_body: int = 0,
    ) -> wire.Frame:
        if seconds is None:
            seconds = _ANSWER_SECONDS
        return await self._connection.request(kind, head, body, expected, seconds, largest_body)


def check_snapshot(snapshot: bytes) -> None:
    """Check that bytes are what `Sandbox.snapshot` returns.

    Raises:
        SnapshotError: They are not.
    """
    if len(snapshot) > MAX_SNAPSHOT_BYTES:
        raise SnapshotError(
            f"a snapshot has at most {MAX_SNAPSHOT_BYTES} bytes, not {len(snapshot)}"
        )
    try:
        archive.check(snapshot)
    except archive.ArchiveError as error:
        raise SnapshotError(
            f"these {len(snapshot)} bytes are no snapshot ({error}): restore what `snapshot` "
            "has returned"
        ) from None


_DONE_OR_REFUSED = frozenset({wire.DONE, wire.REFUSED})


def checked_path(path: str) -> str:
    """Return the relative form of a path below `/workspace`.

    Raises:
        SandboxFileError: The path is empty, leaves the workspace, or cannot name a file.
    """
    relative = path.removeprefix("/workspace/")
    parts = relative.split("/")
    if "\0" in path or any(part in ("", ".", "..") for part in parts):
        raise SandboxFileError(
            f"{path!r} is not a path below /workspace: it may not be empty, absolute, or hold "
            "empty parts, '.', '..' or NUL"
        )
    try:
        relative.encode()
    except UnicodeEncodeError:
        raise SandboxFileError(f"{path!r} has a lone surrogate") from None
    if any(len(part.encode()) > 255 for part in parts) or len(relative.encode()) > 4000:
        raise SandboxFileError(f"a path has parts of at most 255 bytes: {path[:80]!r}...")
    return relative


def read_result(frame: wire.Frame, limits: Limits) -> CommandResult:
    """Read how a command ended, believing nothing.

    Raises:
        FrameError: The frame does not say so.
    """
    head = frame.head
    out_length = _whole(head, "stdout_length", limits.output_bytes)
    err_length = len(frame.body) - out_length
    if not 0 <= err_length <= limits.output_bytes:
        raise wire.FrameError("the output has another length than it says")
    limit = head.get("limit")
    if not isinstance(limit, str) or limit not in _LIMIT_NAMES:
        raise wire.FrameError("there is no such limit")
    return CommandResult(
        exit_code=_whole(head, "exit_code", 255),
        signal=_whole(head, "signal", 64),
        limit=limit,
        stdout=frame.body[:out_length],
        stderr=frame.body[out_length:],
        stdout_dropped=_whole(head, "stdout_dropped", 2**62),
        stderr_dropped=_whole(head, "stderr_dropped", 2**62),
        cpu_seconds=_seconds(head, "cpu_seconds"),
        wall_seconds=_seconds(head, "wall_seconds"),
        peak_memory_bytes=_whole(head, "peak_memory_bytes", 2**62),
    )


def _read_names(frame: wire.Frame) -> tuple[str, ...]:
    names = {name.decode("utf-8", "surrogateescape") for name in frame.body.split(b"\0") if name}
    # Callers join these to folders of their own, so a guest that lies must not get out of them.
    if any(part in ("", ".", "..") for name in names for part in name.split("/")):
        raise wire.FrameError("a listed path leaves the workspace")
    return tuple(sorted(names))


def _read_snapshot(frame: wire.Frame) -> bytes:
    try:
        archive.check(frame.body)
    except archive.ArchiveError as error:
        raise wire.FrameError(f"the snapshot is none: {error}") from error
    return frame.body


def _read_stats(frame: wire.Frame) -> SandboxStats:
    names = ("processes", "memory_bytes", "workspace_bytes", "workspace_inodes")
    values = {name: _whole(frame.head, name, 2**62) for name in names}
    return SandboxStats(**values)


def _checked(
    connection: Connection,
    read: Callable[Concatenate[wire.Frame, _P], _T],
    frame: wire.Frame,
    *arguments: _P.args,
    **keywords: _P.kwargs,
) -> _T:
    try:
        return read(frame, *arguments, **keywords)
    except wire.FrameError as error:
        violation = ProtocolViolationError(f"the guest broke the protocol: {error}")
        connection.fail(violation)
        raise violation from error


def _whole(head: dict[str, Any], name: str, largest: int) -> int:
    value = head.get(name)
    if type(value) is not int or not 0 <= value <= largest:
        raise wire.FrameError(f"{name} is not a whole number from 0 to {largest}")
    return value


def _seconds(head: dict[str, Any], name: str) -> float:
    value = head.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e9:
        raise wire.FrameError(f"{name} is not a time")
    return float(value)


def _reason(frame: wire.Frame) -> str:
    return str(frame.head.get("reason", ""))[:500]


def _python_head(code: str, argv: Sequence[str], limits: Limits) -> tuple[dict[str, Any], bytes]:
    source = _encoded(code)
    head = {
        "what": "python",
        "argv": [_checked_text(argument, "argument") for argument in argv],
        "code_length": len(source),
        "limits": _limits_head(limits),
    }
    return head, source


def _encoded(code: str) -> bytes:
    try:
        return code.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"the code has a lone surrogate at position {error.start}") from None


def _checked_text(text: str, what: str) -> str:
    if "\0" in text:
        raise ValueError(f"the {what} {text[:80]!r} has a NUL, which no command line can hold")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"the {what} {text[:80]!r} has a lone surrogate") from None
    return text


def _checked_name(name: str) -> str:
    if not name or "=" in name:
        raise ValueError(f"the variable's name {name[:80]!r} is empty or holds '='")
    return _checked_text(name, "variable")


def _limits_head(limits: Limits) -> dict[str, Any]:
    if limits.output_bytes > _MAX_OUTPUT_BYTES:
        raise ValueError(
            f"Limits.output_bytes may be at most {_MAX_OUTPUT_BYTES}, not {limits.output_bytes}: "
            "let the program write a file, and read that"
        )
    return {
        "cpu_seconds": limits.cpu_seconds,
        "wall_seconds": limits.wall_seconds,
        "memory_bytes": limits.memory_bytes,
        "processes": limits.processes,
        "open_files": limits.open_files,
        "file_bytes": limits.file_bytes,
        "output_bytes": limits.output_bytes,
    }
