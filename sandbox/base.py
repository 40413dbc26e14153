"""The contract that every backend keeps.

Everything that comes out of a sandbox is hostile data of bounded size. Everything a caller needs
to judge a command (exit status, CPU time, memory, the limit that ended it) is taken from the
kernel by the guest's PID 1 or by the zygote, never from text.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Protocol, Self

from execgym.sandbox.errors import CommandFailedError, LimitExceededError
from execgym.sandbox.spec import Limits, SandboxSpec

MAX_SNAPSHOT_BYTES = 64 * 1024 * 1024
"""What one snapshot has at most: the bytes of its files, and about 22 and its name for each."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class CommandResult:
    """How a command in a sandbox ended.

    Attributes:
        exit_code: Exit status, or 128 + the signal's number where a signal ended it.
        signal: The signal that ended it, or 0.
        limit: The limit that ended it, `"cpu"`, `"wall"` or `"memory"`, or `""`.
        stdout: Standard output, at most `Limits.output_bytes`, head and tail.
        stderr: Standard error, likewise.
        stdout_dropped: Bytes of standard output that were dropped between head and tail.
        stderr_dropped: Likewise of standard error.
        cpu_seconds: User and system time of the command and the children it waited for.
        wall_seconds: Time from its start to its end.
        peak_memory_bytes: Largest resident set of the command or a child.
    """

    exit_code: int
    signal: int = 0
    limit: str = ""
    stdout: bytes = b""
    stderr: bytes = b""
    stdout_dropped: int = 0
    stderr_dropped: int = 0
    cpu_seconds: float = 0.0
    wall_seconds: float = 0.0
    peak_memory_bytes: int = 0

    @property
    def ok(self) -> bool:
        """Whether the command ended by itself with status 0."""
        return self.exit_code == 0 and not self.signal and not self.limit

    def check(self) -> Self:
        """Return this result, or raise.

        Raises:
            LimitExceededError: A limit ended the command.
            CommandFailedError: It ended with a status other than 0, or by a signal.
        """
        if self.limit:
            raise LimitExceededError(f"the command hit its {self.limit} limit")
        if not self.ok:
            tail = self.stderr[-2000:].decode("utf-8", "backslashreplace")
            raise CommandFailedError(f"the command ended with status {self.exit_code}: {tail}")
        return self


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SandboxStats:
    """What a sandbox uses now.

    Attributes:
        processes: Processes in it, PID 1 included.
        memory_bytes: Proportional set size of all of them.
        workspace_bytes: Bytes used on the writable file system.
        workspace_inodes: Inodes used on it.
    """

    processes: int
    memory_bytes: int
    workspace_bytes: int
    workspace_inodes: int


class Process(Protocol):
    """A Python program in a sandbox that exchanges messages with the host while it runs.

    Inside, the program does `import sandbox_channel` and calls `sandbox_channel.receive()`
    (bytes, or None once the host will send no more) and `sandbox_channel.send(data)`. A message
    has at most `MAX_MESSAGE_BYTES`. Anything in the program may write on the channel, the
    candidate's code included: a message is a claim, not a fact.

    A `receive`, `wait` or `kill` that is cancelled loses nothing and can be made again.
    """

    async def send(self, message: bytes) -> None:
        """Send one message. Does nothing harmful when the program has ended."""
        ...

    async def receive(self) -> bytes | None:
        """Return the next message, or None when the program ended or closed the channel.

        Raises:
            SandboxError: The sandbox failed.
        """
        ...

    async def wait(self) -> CommandResult:
        """Wait for the program to end."""
        ...

    async def kill(self) -> CommandResult:
        """End the program now, if it still runs, and return how it ended."""
        ...


class Sandbox(Protocol):
    """One connection to one sandbox. Closing it destroys the sandbox.

    Methods may be called from one task at a time, on the event loop that opened the sandbox.
    Cancelling a call closes the sandbox (those of a `Process` do not). Every method raises
    `SandboxError` when the sandbox fails, and keeps raising `SandboxDiedError` after that. A
    command may have limits of its own, but no more memory or processes than its sandbox
    (`ValueError`).
    """

    @property
    def spec(self) -> SandboxSpec:
        """What it was opened with."""
        ...

    @property
    def fingerprint(self) -> str:
        """Digest of what it was made from, `"sha256:..."`; see `execgym.sandbox.fingerprint`."""
        ...

    async def run_python(
        self,
        code: str,
        *,
        stdin: bytes = b"",
        argv: Sequence[str] = (),
        limits: Limits | None = None,
    ) -> CommandResult:
        """Run `code` as `__main__` in a fork of the warm interpreter, in `/workspace`."""
        ...

    async def run_command(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
        limits: Limits | None = None,
    ) -> CommandResult:
        """Run a program in `/workspace`. A program that is missing gives exit code 127."""
        ...

    async def start_python(
        self, code: str, *, argv: Sequence[str] = (), limits: Limits | None = None
    ) -> Process:
        """Start `code` as `run_python` does, with a message channel. One process at a time."""
        ...

    async def write_file(self, path: str, data: bytes) -> None:
        """Write a file below `/workspace`, making its parents.

        Raises:
            SandboxFileError: The path leaves the workspace, passes a link, or the space is out.
        """
        ...

    async def read_file(self, path: str, *, max_bytes: int = 1024 * 1024) -> bytes:
        """Read a regular file below `/workspace` without following links.

        Raises:
            SandboxFileError: It is missing, no regular file, reached by a link, or too large.
        """
        ...

    async def list_files(self) -> tuple[str, ...]:
        """Return the sorted relative paths of regular files below `/workspace`."""
        ...

    async def freeze(self) -> None:
        """Kill every process in the sandbox but PID 1. Files can still be read."""
        ...

    async def snapshot(self, *, max_bytes: int = MAX_SNAPSHOT_BYTES) -> bytes:
        """Return what is in `/workspace`, to be restored in this sandbox or in others.

        It holds regular files, folders and links, with their permission bits and times of change.
        Hard links become files of their own. FIFOs, sockets and what a program has in memory or
        outside `/workspace` are no part of it. A started program is stopped for that moment.

        Args:
            max_bytes: Size that it may have, at most `MAX_SNAPSHOT_BYTES`.

        Raises:
            SnapshotError: It would be larger, or folders lie more than 256 deep.
            ValueError: `max_bytes` is not allowed.
        """
        ...

    async def restore(self, snapshot: bytes) -> None:
        """Make `/workspace` hold what a snapshot does, and nothing else, ending every process.

        A snapshot that is none leaves everything as it was; one that does not fit into this
        sandbox leaves `/workspace` empty.

        Raises:
            SnapshotError: The bytes are no snapshot, or do not fit.
            RuntimeError: A started program still runs.
        """
        ...

    async def stats(self) -> SandboxStats:
        """Return what the sandbox uses now."""
        ...

    async def close(self) -> None:
        """Destroy the sandbox. Closing twice is fine."""
        ...

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...
