"""The host's end of zygotes, wherever they run: requests for sandboxes, and one zygote a kind."""

from __future__ import annotations

import abc
import asyncio
import atexit
import contextlib
import fcntl
import functools
import json
import os
import resource
import socket
import struct
import termios
import threading
import time
import weakref
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from execgym.sandbox.client import NamespaceSandbox
from execgym.sandbox.errors import SandboxDiedError, SandboxStartError, TemplateError
from execgym.sandbox.spec import SandboxSpec

_Kind = TypeVar("_Kind", bound=Hashable)

START_SECONDS = 60.0
"""Time in which a zygote must be ready. Generous, since it only ends what has hung."""
_SEND_SECONDS = 30.0
_SEND_AGAIN_SECONDS = 0.01
# A zygote takes milliseconds to answer, so one that has answered nobody for so long never will.
_HUNG_SECONDS = 30.0
# Requests under way of one event loop: the zygote serves one at a time, so more would only wait in
# its socket, where they would block, and use up their own time to start.
_REQUESTS_AT_ONCE = 64


class Zygote(abc.ABC):
    """A running zygote, and the socket over which it takes requests.

    Args:
        control: The host's end of that socket.
        fingerprint: Digest of the image that its sandboxes are made from.
    """

    def __init__(self, control: socket.socket, fingerprint: str) -> None:
        raise_file_limit()
        self._control = control
        self._fingerprint = fingerprint
        self._answered = time.monotonic()
        self._gates: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = (
            weakref.WeakKeyDictionary()
        )

    @abc.abstractmethod
    def has_ended(self) -> bool:
        """Return whether the zygote is gone, waiting a moment for one that is on its way out.

        The kernel closes a process's connections before its end can be seen.
        """

    @abc.abstractmethod
    def close(self) -> None:
        """End the zygote and with it every sandbox that it has made."""

    @abc.abstractmethod
    def abandon(self) -> None:
        """In a fork, let go of what is the parent's: the zygote is to end with its owner."""

    async def open(self, spec: SandboxSpec) -> NamespaceSandbox:
        """Ask for a sandbox and wait until it is up.

        Raises:
            OSError: The zygote is gone, or has taken no request for a long time.
            SandboxError: The sandbox did not come up.
        """
        loop = asyncio.get_running_loop()
        async with self._gates.setdefault(loop, asyncio.Semaphore(_REQUESTS_AT_ONCE)):
            asked = time.monotonic()
            try:
                end = await self._request(spec)
                return await NamespaceSandbox.connect(spec, end, self._fingerprint)
            finally:
                if time.monotonic() - asked < _HUNG_SECONDS:
                    self._answered = time.monotonic()

    def has_hung(self) -> bool:
        """Return whether it lives, but leaves requests unread and has long answered nobody."""
        if time.monotonic() - self._answered < _HUNG_SECONDS or self._control.fileno() < 0:
            return False
        # What this end has sent and the other has not received; see unix(7) on SIOCOUTQ.
        try:
            unread = fcntl.ioctl(self._control, termios.TIOCOUTQ, bytes(4))
        except OSError:
            return False  # Somebody else has just replaced it.
        return bool(struct.unpack("i", unread)[0] > 0)

    async def _request(self, spec: SandboxSpec) -> socket.socket:
        """Send a request and return the host's end of the sandbox's connection."""
        request = {
            "workspace_bytes": spec.limits.workspace_bytes,
            "workspace_inodes": spec.limits.workspace_inodes,
            "memory_bytes": spec.limits.memory_bytes,
            "processes": spec.limits.processes,
        }
        message = json.dumps(request).encode()
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                deadline = time.monotonic() + _SEND_SECONDS
                while not self._send(message, theirs):
                    if time.monotonic() >= deadline:
                        raise TimeoutError(f"the zygote took no request for {_SEND_SECONDS:.0f} s")
                    await asyncio.sleep(_SEND_AGAIN_SECONDS)
        except BaseException:
            ours.close()
            raise
        return ours

    def _send(self, message: bytes, end: socket.socket) -> bool:
        try:
            socket.send_fds(self._control, [message], [end.fileno()], socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False
        return True

    def _hang_up(self) -> None:
        # A fork of this process may hold the socket, too: closing alone would not reach the zygote.
        with contextlib.suppress(OSError):
            self._control.shutdown(socket.SHUT_RDWR)
        self._control.close()


class ZygoteEndedError(Exception):
    """A zygote ended before it was ready."""


def await_ready(control: socket.socket) -> None:
    """Wait until the zygote at the other end has preloaded its template.

    Raises:
        ZygoteEndedError: It has ended.
        SandboxStartError: It was not ready in time.
        TemplateError: The template cannot be built.
    """
    control.settimeout(START_SECONDS)
    try:
        answer = control.recv(8192)
    except TimeoutError:
        raise SandboxStartError(f"the zygote was not ready within {START_SECONDS:.0f} s") from None
    except ConnectionError:
        answer = b""
    control.settimeout(None)
    if not answer:
        raise ZygoteEndedError
    message = json.loads(answer)
    if "template_error" in message:
        raise TemplateError(f"the template cannot be built: {message['template_error']}")


class Zygotes(Generic[_Kind]):
    """The zygotes of this process, one a kind, started at first use and ended at its exit.

    Args:
        start: Starts a zygote of a kind. It may block.
    """

    def __init__(self, start: Callable[[_Kind], Zygote]) -> None:
        self._start = start
        self._lock = threading.Lock()
        self._zygotes: dict[_Kind, Zygote] = {}
        self._starting: dict[_Kind, threading.Lock] = {}
        at_close(self.close)
        os.register_at_fork(after_in_child=self._abandon)

    async def open(self, kind: _Kind, spec: SandboxSpec) -> NamespaceSandbox:
        """Open a sandbox from the zygote of a kind, starting it if need be.

        Raises:
            TemplateError: The template cannot be built.
            SandboxUnavailableError: This machine does not allow it.
            SandboxStartError: The sandbox did not come up.
        """
        for attempt in (1, 2):
            zygote = self.get(kind)
            if zygote is None:
                try:
                    zygote = await asyncio.to_thread(self._start_one, kind)
                except OSError as error:
                    raise SandboxStartError(f"the zygote could not be started: {error}") from error
            try:
                return await zygote.open(spec)
            except SandboxStartError:
                # The time of this request is used up, but the next one finds another zygote.
                if zygote.has_hung():
                    await asyncio.to_thread(self.forget, kind, zygote)
                raise
            except (OSError, SandboxDiedError) as error:
                # A zygote that has been killed is replaced once; a full table of files is not that.
                gone = zygote.has_hung() or await asyncio.to_thread(zygote.has_ended)
                if attempt == 2 or not gone:
                    raise SandboxStartError(f"the sandbox did not come up: {error}") from error
            await asyncio.to_thread(self.forget, kind, zygote)
        raise AssertionError("unreachable")

    def get(self, kind: _Kind) -> Zygote | None:
        """Return the running zygote of a kind, if there is one."""
        return self._zygotes.get(kind)

    def _start_one(self, kind: _Kind) -> Zygote:
        """Return the zygote of a kind, starting it if need be; others of it wait."""
        with self._lock:
            gate = self._starting.setdefault(kind, threading.Lock())
        with gate:
            zygote = self._zygotes.get(kind)
            if zygote is None:
                zygote = self._start(kind)
                with self._lock:
                    self._zygotes[kind] = zygote
            return zygote

    def forget(self, kind: _Kind, zygote: Zygote) -> None:
        """Let go of a zygote that has ended."""
        with self._lock:
            if self._zygotes.get(kind) is zygote:
                del self._zygotes[kind]
        zygote.close()

    def close(self) -> None:
        """End all zygotes of this process."""
        with self._lock:
            zygotes = list(self._zygotes.values())
            self._zygotes = {}
        # All of them end at the same time.
        for zygote in zygotes:
            zygote._hang_up()
        for zygote in zygotes:
            zygote.close()

    def _abandon(self) -> None:
        zygotes = self._zygotes
        self._lock = threading.Lock()
        self._zygotes = {}
        self._starting = {}
        for zygote in zygotes.values():
            zygote.abandon()


_closers: list[Callable[[], None]] = []


def at_close(close: Callable[[], None]) -> None:
    """Have a function called by `close_zygotes` and at this process's exit."""
    _closers.append(close)
    atexit.register(close)


def close_zygotes() -> None:
    """End every zygote and container of this process, and with them every sandbox.

    Later opens start new ones.
    """
    for close in _closers:
        close()


@functools.cache
def raise_file_limit() -> None:
    """Raise this process's soft limit of open files, which is usually 1,024, to the hard one.

    Each live sandbox takes one descriptor here.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
