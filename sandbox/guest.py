"""PID 1 of a sandbox: serves one connection, and is trusted with nothing.

It runs as a fork of the zygote's warm interpreter, holds no secret, and is not dumpable. One poll
loop handles requests, the running program's pipes and its limits. What it reports about a program
comes from the kernel (wait4, CPU clocks). Standard library only, Python 3.8 or newer.
"""

from __future__ import annotations

# The C module beneath `signal`, which spares a fork the wrappers' enums.
import _signal  # type: ignore[import-not-found]
import atexit
import collections
import errno
import fcntl
import gc
import linecache
import os
import resource
import select
import signal
import socket
import stat
import struct
import sys
import threading
import time
import traceback
import types
from typing import Any, Iterator, NamedTuple, NoReturn

from execgym.sandbox import archive, cgroup, kernel, link, wire

WORKSPACE = "/workspace"
WRITABLE = (WORKSPACE, "/tmp", "/dev/shm")
UID = 1000
CHANNEL_FD = 3
_EVENTS_FD = 4
MAX_LISTED_FILES = 8192
_POLL_MS = 100
# Where the kernel has no descriptors of processes, as gVisor's.
_POLL_WITHOUT_PIDFD_MS = 3
_CHECK_SECONDS = 0.05
_STOP_SECONDS = 1.0
_PIPE_CHUNK = 64 * 1024
_HIGH_WATER = 1024 * 1024
_LARGE_BYTES = 64 * 1024
# The host's messages are held until the program takes them; a kill comes behind them.
_INCOMING_HIGH_WATER = 64 * 1024 * 1024
# All processes together, against the limit of one.
_MEMORY_FACTOR = 2
_PAGE_BYTES = resource.getpagesize()
_TICKS = os.sysconf("SC_CLK_TCK")
# The usual net.core.wmem_default; what a TCP socket may hold is set to about as much.
_SOCKET_BYTES = 208 * 1024
_SOCKET_SETTINGS = ("/proc/sys/net/ipv4/tcp_rmem", "/proc/sys/net/ipv4/tcp_wmem")
_SOCKET_SETTING = b"4096 65536 %d" % _SOCKET_BYTES
_RESERVED_BYTES = 16 * 1024 * 1024 * 1024


class Preparation(NamedTuple):
    """What the zygote works out before it forks a sandbox: the same for all of one shape."""

    before_trees: list[kernel.Call]
    trees: list[tuple[str, kernel.Call]]
    rest: list[kernel.Call]
    in_use: list[kernel.Call]
    own_ids: bool
    warm_bytes: int
    bounds: cgroup.Bounds


def prepare(
    shape: dict[str, int], covered: list[str], filter_program: bytes, own_ids: bool
) -> Preparation:
    """Prepare to turn a process that is alone in new namespaces into a sandbox.

    Args:
        shape: The size of the workspace in bytes and in inodes, the memory of a process in bytes,
            and the number of processes.
        covered: Trees of the image below folders of which each sandbox has its own.
        filter_program: The seccomp filter.
        own_ids: Whether sandboxes have host ids of their own.
    """
    # Folders that lead to a covered tree are no part of what was asked for.
    inodes = shape["workspace_inodes"] + sum(tree.count("/") for tree in covered)
    options = "size=%d,nr_inodes=%d,mode=0755" % (shape["workspace_bytes"], inodes)
    tmpfs_flags = kernel.MS_NOSUID | kernel.MS_NODEV
    flags = tmpfs_flags | kernel.MS_NOEXEC
    before_trees = [
        kernel.mount_call("proc", "/proc", "proc", flags),
        kernel.mount_call("tmpfs", "/sandbox", "tmpfs", tmpfs_flags, options),
    ]
    for name, target in (("workspace", WORKSPACE), ("tmp", "/tmp"), ("shm", "/dev/shm")):
        before_trees.append(kernel.make_folder_call("/sandbox/" + name))
        before_trees.append(kernel.bind_call("/sandbox/" + name, target))
    warm_bytes = data_bytes()
    return Preparation(
        before_trees=before_trees,
        trees=[
            (tree, kernel.bind_call("/trees/%d" % index, tree))
            for index, tree in enumerate(covered)
        ],
        rest=[
            # Read-only: a process may not even change its own standing with the OOM killer.
            kernel.mount_call("proc", "/proc", "proc", flags | kernel.MS_RDONLY),
            kernel.host_name_call(b"sandbox"),
            *kernel.drop_capabilities_calls(),
            kernel.prctl_call(kernel.PR_SET_NO_NEW_PRIVS, 1),
            kernel.prctl_call(kernel.PR_SET_DUMPABLE, 0),
            # Last of all: a change of credentials clears it.
            kernel.prctl_call(kernel.PR_SET_PDEATHSIG, int(signal.SIGKILL)),
            kernel.seccomp_filter_call(filter_program),
        ],
        in_use=[kernel.process_name_call(b"sandbox")],
        own_ids=own_ids,
        warm_bytes=warm_bytes,
        bounds=cgroup.bounds_of(shape, _MEMORY_FACTOR, warm_bytes),
    )


def keep_descriptors(gate: int, events: int) -> int:
    """Close all but the gate, which becomes `CHANNEL_FD`, and the events, of which -1 is none.

    Returns:
        What the events have become.
    """
    high_gate = _duplicate_high(gate)
    high_events = _duplicate_high(events) if events >= 0 else -1
    os.dup2(high_gate, CHANNEL_FD, inheritable=False)
    if high_events >= 0:
        os.dup2(high_events, _EVENTS_FD, inheritable=False)
        kernel.close_from(_EVENTS_FD + 1)
        return _EVENTS_FD
    kernel.close_from(_EVENTS_FD)
    return -1


def set_up(prepared: Preparation) -> int:
    """Turn this process, alone in new namespaces, into a sandbox that it cannot leave.

    Returns:
        A descriptor of a `/proc` that can be written, which no program gets to see.
    """
    if prepared.own_ids:
        os.setgroups(())
    os.setresgid(UID, UID, UID)
    os.setresuid(UID, UID, UID)
    kernel.perform(prepared.before_trees)
    for tree, call in prepared.trees:
        os.makedirs(tree, exist_ok=True)
        kernel.perform([call])
    for path in _SOCKET_SETTINGS:
        try:
            fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
        except OSError:
            # Read-only, as in a container of Docker's defaults: the machine's own bound stays.
            break
        os.write(fd, _SOCKET_SETTING)
        os.close(fd)
    kernel.raise_loopback()
    os.chdir(WORKSPACE)
    os.umask(0o022)
    processes = os.open("/proc", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    kernel.perform(prepared.rest)
    return processes


class Capture:
    """Keeps the head and the tail of a stream and counts what lies between."""

    def __init__(self, limit: int) -> None:
        self._head_limit = limit - limit // 2
        self._tail_limit = limit // 2
        self._head = bytearray()
        self._tail = bytearray()
        self.dropped = 0

    def add(self, data: bytes) -> None:
        """Take more of the stream."""
        room = self._head_limit - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        if data:
            self._tail += data
            excess = len(self._tail) - self._tail_limit
            if excess > 0:
                del self._tail[:excess]
                self.dropped += excess

    def kept(self) -> bytes:
        """Return head and tail."""
        return bytes(self._head + self._tail)


class Program:
    """A running program: its processes, pipes, channel and limits."""

    def __init__(self, number: int, head: dict[str, Any], body: bytes, channel: bool) -> None:
        self.number = number
        self.limits = head["limits"]
        self.stdout = Capture(self.limits["output_bytes"])
        self.stderr = Capture(self.limits["output_bytes"])
        code, self.stdin = body[: head["code_length"]], body[head["code_length"] :]
        self.pid = self.pidfd = -1
        stdin_read, self.stdin_fd = os.pipe()
        self.stdout_fd, stdout_write = os.pipe()
        self.stderr_fd, stderr_write = os.pipe()
        self.channel: socket.socket | None = None
        theirs: socket.socket | None = None
        if channel:
            self.channel, theirs = socket.socketpair()
            self.channel.setblocking(False)
        self.incoming = bytearray()
        self.outgoing = bytearray()
        self.limit = ""
        self.stopped = False
        self.status = -1
        self._cpu_before = _children_cpu()
        self.started = time.monotonic()
        self.deadline = self.started + self.limits["wall_seconds"]
        self.memory_limit = _MEMORY_FACTOR * self.limits["memory_bytes"] + head["warm_bytes"]
        try:
            self.pid = os.fork()
            if self.pid == 0:
                channel_fd = theirs.fileno() if theirs is not None else -1
                _run_worker(head, code, (stdin_read, stdout_write, stderr_write), channel_fd)
        except OSError:
            for fd in (self.stdin_fd, self.stdout_fd, self.stderr_fd):
                os.close(fd)
            raise
        finally:
            for fd in (stdin_read, stdout_write, stderr_write):
                os.close(fd)
            if theirs is not None:
                theirs.close()
        for fd in (self.stdin_fd, self.stdout_fd, self.stderr_fd):
            os.set_blocking(fd, False)
        self.pidfd = _open_pidfd(self.pid)
        self.peak_kib = 0
        if not self.stdin:
            self._close_stdin()

    def _close_stdin(self) -> None:
        if self.stdin_fd >= 0:
            os.close(self.stdin_fd)
            self.stdin_fd = -1

    def feed_stdin(self) -> None:
        """Write as much standard input as the pipe takes."""
        try:
            written = os.write(self.stdin_fd, self.stdin[:_PIPE_CHUNK])
        except BlockingIOError:
            return
        except OSError:
            self._close_stdin()
            return
        self.stdin = self.stdin[written:]
        if not self.stdin:
            self._close_stdin()

    def drain(self, fd: int) -> bool:
        """Read what a pipe holds now; return False at its end."""
        capture = self.stdout if fd == self.stdout_fd else self.stderr
        try:
            data = os.read(fd, _PIPE_CHUNK)
        except BlockingIOError:
            return True
        if not data:
            os.close(fd)
            if fd == self.stdout_fd:
                self.stdout_fd = -1
            else:
                self.stderr_fd = -1
            return False
        capture.add(data)
        return True

    def over_limit(self) -> str:
        """Return the limit that has been reached, or nothing."""
        if time.monotonic() >= self.deadline:
            return "wall"
        live_cpu, resident = _usage_of_live()
        # Of a program that has ended, its parent has the time: PID 1 or a live process.
        if live_cpu + _children_cpu() - self._cpu_before > self.limits["cpu_seconds"]:
            return "cpu"
        # Resident sizes count a shared page once a process, so the exact size is only asked for
        # where their sum is too large.
        room = self.memory_limit - _socket_bytes()
        if room < 0 or (resident > room and _proportional_bytes() > room):
            return "memory"
        return ""

    def finish(self) -> None:
        """End every process of the sandbox but this one, and close the pipes."""
        while True:
            _kill_all()
            try:
                pid, status, usage = os.wait4(-1, 0)
            except ChildProcessError:
                break
            self.note(pid, status, usage)
        self.wall_seconds = time.monotonic() - self.started
        self.cpu_total = _children_cpu() - self._cpu_before
        if self.pidfd >= 0:
            os.close(self.pidfd)
        self._close_stdin()
        for fd in (self.stdout_fd, self.stderr_fd):
            while fd >= 0 and self.drain(fd) and _readable(fd):
                pass
        for fd in (self.stdout_fd, self.stderr_fd):
            if fd >= 0:
                os.close(fd)

    def has_ended(self) -> bool:
        """Return whether the program's first process has ended, where no descriptor tells."""
        options = os.WEXITED | os.WNOHANG | os.WNOWAIT
        return os.waitid(os.P_PID, self.pid, options) is not None

    def note(self, pid: int, status: int, usage: Any) -> None:
        """Take in that a process has ended."""
        self.peak_kib = max(self.peak_kib, usage.ru_maxrss)
        if pid == self.pid:
            self.status = status

    def was_killed(self) -> bool:
        """Return whether it was ended by the signal that the kernel, too, ends processes with."""
        return os.WIFSIGNALED(self.status) and os.WTERMSIG(self.status) == signal.SIGKILL

    def result(self) -> tuple[dict[str, Any], bytes]:
        """Return the head and the body of the answer."""
        number = os.WTERMSIG(self.status) if os.WIFSIGNALED(self.status) else 0
        code = 128 + number if number else os.WEXITSTATUS(self.status)
        if number in (signal.SIGXCPU, signal.SIGKILL) and not self.limit and not self.stopped:
            # The kernel's own limit on one process may come before the next look at all of them.
            self.limit = "cpu" if self.cpu_total > self.limits["cpu_seconds"] else ""
        out, err = self.stdout.kept(), self.stderr.kept()
        head = {
            "exit_code": code,
            "signal": number,
            "limit": self.limit,
            "stdout_length": len(out),
            "stdout_dropped": self.stdout.dropped,
            "stderr_dropped": self.stderr.dropped,
            "cpu_seconds": self.cpu_total,
            "wall_seconds": self.wall_seconds,
            "peak_memory_bytes": self.peak_kib * 1024,
        }
        return head, out + err


class _Output:
    """What waits to be sent to the host: small frames together, large bodies as they are."""

    def __init__(self, connection: link.SocketLink | link.PipeLink) -> None:
        self._connection = connection
        self._sending = memoryview(b"")
        self._waiting: collections.deque[bytes | bytearray] = collections.deque()
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def put(self, frame: wire.Frame) -> None:
        """Queue a frame."""
        kind, number, head, body = frame
        large = len(body) >= _LARGE_BYTES
        small = (
            wire.encode_beginning(kind, number, head, len(body)) if large else wire.encode(frame)
        )
        self._size += len(small)
        if self._waiting and isinstance(self._waiting[-1], bytearray):
            self._waiting[-1].extend(small)
        else:
            self._waiting.append(bytearray(small))
        if large:
            self._size += len(body)
            self._waiting.append(body)

    def flush(self) -> None:
        """Send as much as the host takes now."""
        while self._size:
            if not self._sending:
                self._sending = memoryview(self._waiting.popleft())
            try:
                sent = self._connection.send(self._sending)
            except BlockingIOError:
                return
            self._sending = self._sending[sent:]
            self._size -= sent

    def send_pieces(self, beginning: bytes, pieces: Iterator[memoryview]) -> None:
        """Send a frame piece by piece, and return when the host has taken all of it."""
        poll = select.poll()
        self._connection.watch(poll, reading=False, writing=True)
        self._waiting.append(beginning)
        self._size += len(beginning)
        while True:
            self.flush()
            while self._size:
                poll.poll()
                self.flush()
            self._sending = next(pieces, memoryview(b""))
            self._size = len(self._sending)
            if not self._size:
                return


class Guest:
    """The server on the connection."""

    def __init__(
        self,
        connection: link.SocketLink | link.PipeLink,
        warm_bytes: int,
        events: int,
        processes: int,
    ) -> None:
        self._processes = processes
        self._events = events
        self._memory_kills = cgroup.memory_kills(events) if events >= 0 else 0
        self._connection = connection
        self._decoder = wire.Decoder()
        self._output = _Output(connection)
        self._program: Program | None = None
        self._warm_bytes = warm_bytes
        self._fixed_limits = _fixed_limits()

    def send(self, kind: int, number: int, head: dict[str, Any], body: bytes = b"") -> None:
        """Queue a frame."""
        self._output.put(wire.Frame(kind, number, head, body))

    def serve(self) -> None:
        """Serve until the host hangs up."""
        self.send(wire.READY, 0, {})
        while True:
            self._output.flush()
            if self._program is not None:
                self._watch(self._program)
                continue
            frame = self._decoder.next_frame()
            if frame is not None:
                self._handle(frame)
                continue
            poll = select.poll()
            self._connection.watch(poll, reading=True, writing=bool(self._output))
            poll.poll()
            self._receive()

    def _receive(self) -> None:
        try:
            data = self._connection.receive(256 * 1024)
        except BlockingIOError:
            return
        if not data:
            raise EOFError
        self._decoder.feed(data)

    def _handle(self, frame: wire.Frame) -> None:
        kind, number, head, body = frame
        if kind in (wire.RUN, wire.START):
            head["warm_bytes"] = self._warm_bytes
            head["processes"] = self._processes
            head["fixed_limits"] = self._fixed_limits
            self._next_check = time.monotonic() + _CHECK_SECONDS
            try:
                self._program = Program(number, head, body, channel=kind == wire.START)
            except OSError as error:
                self.send(wire.REFUSED, number, {"reason": "start: %s" % error.strerror})
                return
            if kind == wire.START:
                self.send(wire.STARTED, number, {})
        elif kind in (wire.TO_PROGRAM, wire.KILL):
            pass  # The program has ended; its result is on the way.
        else:
            try:
                if kind == wire.SNAPSHOT:
                    self._snapshot(number, head)
                    return
                head, body = _FILE_REQUESTS[kind](head, body)
            except OSError as error:
                reason = error.strerror or str(error)
                self.send(wire.REFUSED, number, {"reason": reason})
            except archive.ArchiveError as error:
                self.send(wire.REFUSED, number, {"reason": str(error)})
            else:
                self.send(wire.DONE, number, head, body)

    def _snapshot(self, number: int, head: dict[str, Any]) -> None:
        """Send what is in the workspace, while nothing in the sandbox runs.

        Raises:
            ArchiveError: It cannot be sent, and nothing of it has been.
            OSError: Likewise.
        """
        stopped = _stop_all()
        try:
            packed = archive.pack(WORKSPACE, head["max_bytes"])
            try:
                beginning = wire.encode_beginning(wire.DONE, number, {}, packed.size)
                self._output.send_pieces(beginning, packed.pieces())
            except OSError as error:
                # Half a frame cannot be taken back.
                raise EOFError from error
            finally:
                packed.close()
        finally:
            _go_on_but(stopped)

    def _watch(self, program: Program) -> None:
        """Wait for one of the running program's events and handle what is ready."""
        poll = select.poll()
        self._connection.watch(
            poll,
            reading=len(program.incoming) < _INCOMING_HIGH_WATER,
            writing=bool(self._output),
        )
        if program.pidfd >= 0:
            poll.register(program.pidfd, select.POLLIN)
        for fd in (program.stdout_fd, program.stderr_fd):
            if fd >= 0:
                poll.register(fd, select.POLLIN)
        if program.stdin_fd >= 0:
            poll.register(program.stdin_fd, select.POLLOUT)
        if program.channel is not None:
            events = select.POLLOUT if program.incoming else 0
            if len(self._output) < _HIGH_WATER:
                events |= select.POLLIN
            poll.register(program.channel, events)
        ready = poll.poll(_POLL_MS if program.pidfd >= 0 else _POLL_WITHOUT_PIDFD_MS)
        ended = program.pidfd < 0 and program.has_ended()
        for fd, _ in ready:
            if fd == program.pidfd:
                ended = True
            elif fd in self._connection.fds:
                self._receive()
                self._take_frames(program)
            elif fd == program.stdin_fd:
                program.feed_stdin()
            elif program.channel is not None and fd == program.channel.fileno():
                self._relay(program)
            elif fd in (program.stdout_fd, program.stderr_fd):
                program.drain(fd)
        if self._program is None:
            return
        if not ended and not program.stopped and self._time_to_check():
            program.limit = program.over_limit()
        if ended or program.stopped or program.limit:
            self._end(program)

    _next_check = 0.0

    def _time_to_check(self) -> bool:
        now = time.monotonic()
        if now < self._next_check:
            return False
        self._next_check = now + _CHECK_SECONDS
        _reap_orphans(self._program)
        return True

    def _take_frames(self, program: Program) -> None:
        """Handle what the host sends while a program runs."""
        while self._program is not None:
            frame = self._decoder.next_frame()
            if frame is None:
                return
            if frame.kind == wire.TO_PROGRAM:
                if frame.number == program.number:
                    program.incoming += struct.pack(">I", len(frame.body)) + frame.body
            elif frame.kind == wire.KILL:
                program.stopped = program.stopped or frame.number == program.number
            elif frame.kind in (wire.RUN, wire.START, wire.RESTORE):
                reason = "a program is running: wait for it or kill it first"
                self.send(wire.REFUSED, frame.number, {"reason": reason})
            else:
                if frame.kind == wire.FREEZE:
                    program.stopped = True
                    self._end(program)
                self._handle(frame)

    def _relay(self, program: Program) -> None:
        channel = program.channel
        assert channel is not None
        if program.incoming:
            try:
                sent = channel.send(program.incoming[: 256 * 1024])
                del program.incoming[:sent]
            except BlockingIOError:
                pass
            except OSError:
                program.incoming.clear()
        try:
            data = channel.recv(256 * 1024)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data or not self._cut_messages(program, data):
            channel.close()
            program.channel = None
            self.send(wire.PROGRAM_CLOSED, program.number, {})

    def _cut_messages(self, program: Program, data: bytes) -> bool:
        program.outgoing += data
        while len(program.outgoing) >= 4:
            (length,) = struct.unpack_from(">I", program.outgoing)
            if length > wire.MAX_MESSAGE_BYTES:
                return False
            if len(program.outgoing) < 4 + length:
                break
            self.send(
                wire.FROM_PROGRAM, program.number, {}, bytes(program.outgoing[4 : 4 + length])
            )
            del program.outgoing[: 4 + length]
        return True

    def _end(self, program: Program) -> None:
        program.finish()
        if program.channel is not None:
            self._drain_channel(program)
        if self._events >= 0 and program.was_killed():
            kills, self._memory_kills = self._memory_kills, cgroup.memory_kills(self._events)
            if self._memory_kills > kills and not program.stopped:
                program.limit = program.limit or "memory"
        head, body = program.result()
        self.send(wire.RESULT, program.number, head, body)
        self._program = None

    def _drain_channel(self, program: Program) -> None:
        # Everyone who could write is gone, so what is left in the socket is all there will be.
        channel = program.channel
        assert channel is not None
        while True:
            try:
                data = channel.recv(256 * 1024)
            except OSError:
                break
            if not data or not self._cut_messages(program, data):
                break
        channel.close()
        self.send(wire.PROGRAM_CLOSED, program.number, {})


def _reap_orphans(program: Program | None) -> None:
    """Collect orphans that have ended, which would else count against the process limit."""
    while program is not None:
        try:
            found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return
        if found is None or found.si_pid == program.pid:
            return
        pid, status, usage = os.wait4(found.si_pid, 0)
        program.note(pid, status, usage)


def _open_pidfd(pid: int) -> int:
    try:
        return kernel.pidfd_open(pid)
    except OSError as error:
        if error.errno != errno.ENOSYS:
            raise
        return -1


def _kill_all() -> None:
    try:
        os.kill(-1, signal.SIGKILL)
    except ProcessLookupError:
        pass


def _children_cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _live_processes() -> list[str]:
    return [name for name in os.listdir("/proc") if name.isdigit() and name != "1"]


def _usage_of_live() -> tuple[float, int]:
    """Return CPU seconds, waited-for children included, and resident bytes of all but PID 1."""
    ticks = pages = 0
    for name in _live_processes():
        try:
            fields = _stat_fields(name)
        except OSError:
            continue
        ticks += sum(int(field) for field in fields[11:15])
        pages += int(fields[21])
    return ticks / _TICKS, pages * _PAGE_BYTES


def _stat_fields(process: str) -> list[bytes]:
    """Return what the kernel says of a process after its name, which may hold anything.

    See proc(5) for the places, of which the first, the state, is the third there.
    """
    fd = os.open("/proc/%s/stat" % process, os.O_RDONLY | os.O_CLOEXEC)
    try:
        text = os.read(fd, 2048)
    finally:
        os.close(fd)
    return text[text.rindex(b")") + 2 :].split()


def _proportional_bytes() -> int:
    """Return the proportional set size of all processes but PID 1."""
    total = 0
    for name in _live_processes():
        try:
            total += _proportional_size(name)
        except OSError:
            continue
    return total


def _proportional_size(process: str) -> int:
    try:
        with open("/proc/%s/smaps_rollup" % process) as rollup:
            for line in rollup:
                if line.startswith("Pss:"):
                    return int(line.split()[1]) * 1024
        return 0
    except (PermissionError, FileNotFoundError):
        # A process that is not dumpable keeps it to itself, and gVisor has none: its resident size
        # stands in, for PID 1 without what it shares.
        with open("/proc/%s/statm" % process) as statm:
            size = [int(field) for field in statm.read().split()]
        return (size[1] - (size[2] if process == "1" else 0)) * _PAGE_BYTES


def _socket_bytes() -> int:
    """Return what the sandbox's sockets may hold in the kernel, which charges it to no process."""
    try:
        fd = os.open("/proc/net/protocols", os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return 0  # gVisor's sockets are in its own memory.
    try:
        lines = os.read(fd, 64 * 1024).splitlines()
    finally:
        os.close(fd)
    return _SOCKET_BYTES * sum(int(line.split()[2]) for line in lines[1:])


def data_bytes() -> int:
    """Return the private writable memory of this process."""
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[5]) * _PAGE_BYTES


def _readable(fd: int) -> bool:
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return bool(poll.poll(0))


# ---- the program's side of the fork -----------------------------------------------------------


_CLOSE_ABOVE_CHANNEL = kernel.close_from_call(CHANNEL_FD + 1)
_CLOSE_ABOVE_STDERR = kernel.close_from_call(CHANNEL_FD)
_LIKE_ANY_PROGRAM = (
    kernel.prctl_call(kernel.PR_SET_DUMPABLE, 1),
    kernel.prctl_call(kernel.PR_SET_PDEATHSIG, 0),
)


def _run_worker(
    head: dict[str, Any], code: bytes, pipes: tuple[int, int, int], channel: int
) -> NoReturn:
    """Become the program. Nothing of the guest is reachable from here on."""
    status = 1
    try:
        _become_worker(head, pipes, channel)
        if head["what"] == "command":
            status = _exec_command(head)
        else:
            status = _run_main(code.decode("utf-8", "surrogateescape"), head["argv"])
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def _become_worker(head: dict[str, Any], pipes: tuple[int, int, int], channel: int) -> None:
    limits = head["limits"]
    kernel.perform(_LIKE_ANY_PROGRAM)
    if head["processes"] >= 0:
        # Where memory runs out, this goes before PID 1, which has to tell of it.
        standing = os.open("self/oom_score_adj", os.O_WRONLY, dir_fd=head["processes"])
        os.write(standing, b"1000")
    # Duplicated above every fd that is to be set, so that none is overwritten too early.
    high = [_duplicate_high(fd) for fd in pipes]
    high_channel = _duplicate_high(channel) if channel >= 0 else -1
    for target, fd in enumerate(high):
        os.dup2(fd, target)
    if high_channel >= 0:
        os.dup2(high_channel, CHANNEL_FD, inheritable=False)
        kernel.close_from(CHANNEL_FD + 1, _CLOSE_ABOVE_CHANNEL)
    else:
        kernel.close_from(CHANNEL_FD, _CLOSE_ABOVE_STDERR)
    os.setsid()
    _signal.signal(_signal.SIGINT, _signal.default_int_handler)
    cpu = int(limits["cpu_seconds"]) + 2
    # The warm interpreter's own memory is not the program's.
    data = limits["memory_bytes"] + (0 if head["what"] == "command" else head["warm_bytes"])
    for kind, soft, hard in (
        # Reservations cost page tables, which nothing else counts.
        (resource.RLIMIT_AS, data + _RESERVED_BYTES, data + _RESERVED_BYTES),
        (resource.RLIMIT_CORE, 0, 0),
        (resource.RLIMIT_CPU, cpu, cpu + 1),
        (resource.RLIMIT_DATA, data, data),
        (resource.RLIMIT_FSIZE, limits["file_bytes"], limits["file_bytes"]),
        (resource.RLIMIT_MEMLOCK, 64 * 1024, 64 * 1024),
        (resource.RLIMIT_MSGQUEUE, 64 * 1024, 64 * 1024),
        (resource.RLIMIT_NOFILE, limits["open_files"], limits["open_files"]),
        (resource.RLIMIT_NPROC, limits["processes"] + 1, limits["processes"] + 1),
        (resource.RLIMIT_RTPRIO, 0, 0),
        (resource.RLIMIT_SIGPENDING, 1024, 1024),
        (resource.RLIMIT_STACK, 8 << 20, max(8 << 20, limits["memory_bytes"])),
    ):
        if kind not in head["fixed_limits"]:
            _limit(kind, soft, hard)


def _fixed_limits() -> list[int]:
    """Return the limits that cannot even be set to what they are, as several of gVisor's."""
    fixed = []
    for kind in range(16):
        try:
            resource.setrlimit(kind, resource.getrlimit(kind))
        except (OSError, ValueError):
            fixed.append(kind)
    return fixed


def _limit(kind: int, soft: int, hard: int) -> None:
    # No limit can be raised above the one that the host's user has.
    _, ceiling = resource.getrlimit(kind)
    if ceiling != resource.RLIM_INFINITY:
        hard = min(hard, ceiling)
        soft = min(soft, ceiling)
    resource.setrlimit(kind, (soft, hard))


def _duplicate_high(fd: int) -> int:
    return fcntl.fcntl(fd, fcntl.F_DUPFD, 64)


def _exec_command(head: dict[str, Any]) -> int:
    environment = {**os.environ, **head["env"]}
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    argv = head["argv"]
    try:
        if not argv[0]:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
        os.execvpe(argv[0], argv, environment)
    except OSError as error:
        os.write(2, ("%s: %s\n" % (argv[0], error.strerror)).encode("utf-8", "surrogateescape"))
        return 127 if error.errno in (errno.ENOENT, errno.ENOTDIR) else 126


def _run_main(code: str, argv: list[str]) -> int:
    """Run `code` as the main script, with the exit status that the interpreter would give."""
    # The collection at the end is of the program's own: to look at more copies pages.
    gc.freeze()
    main = types.ModuleType("__main__")
    main.__dict__["__builtins__"] = __builtins__
    name = "<main>"
    sys.modules["__main__"] = main
    sys.argv = ["main.py", *argv]
    sys.path.insert(0, WORKSPACE)
    linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed()
    status = 0
    try:
        exec(compile(code, name, "exec", dont_inherit=True), main.__dict__)
    except SystemExit as error:
        status = _exit_status(error.code)
    except BaseException as error:
        status = 1
        _report(error)
    try:
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
    except BaseException as error:
        _report(error)
    # As at the interpreter's own end: what only the program's names keep goes, so that files which
    # nobody closed are written.
    for name_of_global in list(main.__dict__):
        if name_of_global != "__builtins__":
            main.__dict__[name_of_global] = None
    try:
        gc.collect()
    except BaseException as error:
        _report(error)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BaseException:
            status = status or 120
    return status


def _exit_status(code: object) -> int:
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF
    try:
        print(code, file=sys.stderr)
    except BaseException:
        pass
    return 1


def _report(error: BaseException) -> None:
    trace = error.__traceback__
    if trace is not None and trace.tb_frame.f_code is _run_main.__code__:
        trace = trace.tb_next
    try:
        if sys.excepthook is sys.__excepthook__:
            traceback.print_exception(type(error), error, trace)
        else:
            sys.excepthook(type(error), error, trace)
    except BaseException:
        pass


# ---- files ------------------------------------------------------------------------------------


def _open_parent(path: str, create: bool) -> tuple[int, str]:
    """Open the folder that holds `path`, walking from the workspace without following links."""
    parts = path.split("/")
    folder = os.open(WORKSPACE, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in parts[:-1]:
            if create:
                try:
                    os.mkdir(part, 0o755, dir_fd=folder)
                except FileExistsError:
                    pass
            flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
            outer, folder = folder, os.open(part, flags, dir_fd=folder)
            try:
                there = os.stat(part, dir_fd=outer, follow_symlinks=False)
            finally:
                os.close(outer)
            # gVisor follows a link to a folder all the same: what was opened is another one then.
            if not os.path.samestat(there, os.fstat(folder)):
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    except OSError:
        os.close(folder)
        raise
    return folder, parts[-1]


def _write(head: dict[str, Any], body: bytes) -> tuple[dict[str, Any], bytes]:
    folder, name = _open_parent(head["path"], create=True)
    try:
        # A FIFO would block and a device would act, so anything but a regular file is refused.
        flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        fd = os.open(name, flags, 0o644, dir_fd=folder)
        try:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise OSError(errno.EINVAL, "not a regular file")
            os.ftruncate(fd, 0)
            view = memoryview(body)
            while view:
                view = view[os.write(fd, view) :]
        finally:
            os.close(fd)
    finally:
        os.close(folder)
    return {}, b""


def _read(head: dict[str, Any], _: bytes) -> tuple[dict[str, Any], bytes]:
    folder, name = _open_parent(head["path"], create=False)
    try:
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        fd = os.open(name, flags, dir_fd=folder)
        try:
            found = os.fstat(fd)
            if not stat.S_ISREG(found.st_mode):
                raise OSError(errno.EINVAL, "not a regular file")
            limit = head["max_bytes"]
            # As a rule all of it is one part, which is never copied.
            parts = []
            left = limit + 1
            expected = found.st_size + 1
            while left > 0:
                part = os.read(fd, min(left, expected))
                if not part:
                    break
                parts.append(part)
                left -= len(part)
                expected = 128 * 1024
            if left <= 0:
                raise OSError(errno.EFBIG, "larger than %d bytes" % limit)
        finally:
            os.close(fd)
    finally:
        os.close(folder)
    return {}, b"".join(parts)


def _list(_head: dict[str, Any], _body: bytes) -> tuple[dict[str, Any], bytes]:
    found: list[bytes] = []
    root = os.fsencode(WORKSPACE)
    pending = [b""]
    while pending:
        folder = pending.pop()
        try:
            entries = list(os.scandir(root + b"/" + folder))
        except OSError:
            # Closed to us, or so deep that no path names it: what is in it cannot be read either.
            continue
        for entry in entries:
            path = folder + b"/" + entry.name if folder else entry.name
            if entry.is_dir(follow_symlinks=False):
                pending.append(path)
            elif entry.is_file(follow_symlinks=False):
                found.append(path)
                if len(found) > MAX_LISTED_FILES:
                    raise OSError(errno.E2BIG, "more than %d files" % MAX_LISTED_FILES)
    return {}, b"\0".join(sorted(found))


def _freeze(_head: dict[str, Any], _body: bytes) -> tuple[dict[str, Any], bytes]:
    while True:
        _kill_all()
        try:
            os.wait4(-1, 0)
        except ChildProcessError:
            return {}, b""


def _stop_all() -> set[str]:
    """Stop every process, so that none writes while what it writes is read.

    Returns:
        Those that were stopped before, and are to stay so.
    """
    stopped = {process for process in _live_processes() if _state(process) in b"Tt"}
    try:
        os.kill(-1, signal.SIGSTOP)
    except ProcessLookupError:
        return stopped
    deadline = time.monotonic() + _STOP_SECONDS
    while any(_state(process) not in b"TtZX" for process in _live_processes()):
        if time.monotonic() >= deadline:
            break  # One that waits in the kernel for so long does not write, either.
        time.sleep(0.0005)
    return stopped


def _go_on_but(stopped: set[str]) -> None:
    """Have every process go on but those that are to stay stopped."""
    for process in _live_processes():
        if process not in stopped:
            try:
                os.kill(int(process), signal.SIGCONT)
            except ProcessLookupError:
                pass


def _state(process: str) -> bytes:
    try:
        return _stat_fields(process)[0]
    except OSError:
        return b"X"


def _restore(_head: dict[str, Any], body: bytes) -> tuple[dict[str, Any], bytes]:
    _freeze({}, b"")
    archive.unpack(WORKSPACE, body)
    return {}, b""


def _stats(_head: dict[str, Any], _body: bytes) -> tuple[dict[str, Any], bytes]:
    # One file system, or each folder has its own.
    used = {os.stat(folder).st_dev: os.statvfs(folder) for folder in WRITABLE}.values()
    processes = _live_processes()
    memory = _proportional_bytes() + _proportional_size("1")
    head = {
        "processes": len(processes) + 1,
        "memory_bytes": memory,
        "workspace_bytes": sum((each.f_blocks - each.f_bfree) * each.f_frsize for each in used),
        "workspace_inodes": sum(each.f_files - each.f_ffree for each in used),
    }
    return head, b""


_FILE_REQUESTS = {
    wire.WRITE: _write,
    wire.READ: _read,
    wire.LIST: _list,
    wire.FREEZE: _freeze,
    wire.STATS: _stats,
    wire.RESTORE: _restore,
}


def run(gate: socket.socket, events: int, prepared: Preparation) -> NoReturn:
    """Set the sandbox up, wait for its connection, and serve it until the host hangs up.

    Args:
        gate: Says when this process's ids are mapped, then carries the connection. It is open as
            `CHANNEL_FD`, whose number the connection takes over.
        events: The file that counts kills for want of memory, or -1.
        prepared: The sandbox's shape, and what is the same for all.
    """
    try:
        if gate.recv(16) != b"mapped":
            os._exit(1)
        failure = ""
        processes = -1
        try:
            processes = set_up(prepared)
        except OSError as error:
            failure = str(error)
        _, fds = kernel.receive_descriptors(gate)
        if not fds:
            os._exit(0)
        os.dup2(fds[0], CHANNEL_FD, inheritable=False)
        os.close(fds[0])
        gate.detach()
        connection = socket.socket(fileno=CHANNEL_FD)
        # Tells those in use from one that waits for a connection.
        kernel.perform(prepared.in_use)
        if failure:
            head = {"stage": "set-up", "reason": failure}
            connection.sendall(wire.encode(wire.Frame(wire.FAILED, 0, head, b"")))
        else:
            Guest(link.SocketLink(connection), prepared.warm_bytes, events, processes).serve()
    finally:
        # The kernel kills everything else in the PID namespace.
        os._exit(0)
