"""System calls that Python 3.8 has no name for. Standard library only: it runs in sandboxes."""

from __future__ import annotations

import array
import ctypes
import fcntl
import os
import re
import resource
import socket
import struct
from typing import Any, Callable, Iterable, NamedTuple

CLONE_NEWNS = 0x00020000
CLONE_NEWCGROUP = 0x02000000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000
ALL_NAMESPACES = (
    CLONE_NEWNS
    | CLONE_NEWCGROUP
    | CLONE_NEWUTS
    | CLONE_NEWIPC
    | CLONE_NEWUSER
    | CLONE_NEWPID
    | CLONE_NEWNET
)

_OCTAL = re.compile(rb"\\([0-7]{3})")

MS_RDONLY = 0x1
MS_NOSUID = 0x2
MS_NODEV = 0x4
MS_NOEXEC = 0x8
MS_REMOUNT = 0x20
MS_BIND = 0x1000
MS_REC = 0x4000
MS_PRIVATE = 0x40000
MNT_DETACH = 0x2

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_NAME = 15
PR_SET_SECCOMP = 22
PR_CAPBSET_READ = 23
PR_CAPBSET_DROP = 24
PR_SET_NO_NEW_PRIVS = 38
PR_CAP_AMBIENT = 47
PR_CAP_AMBIENT_CLEAR_ALL = 4
SECCOMP_MODE_FILTER = 2

_SIGCHLD = 17
_CLONE_INTO_CGROUP = 0x200000000
_MSG_CMSG_CLOEXEC = 0x40000000
_SIOCSIFFLAGS = 0x8914
_IFF_UP_RUNNING = 0x41
_CAPABILITY_VERSION_3 = 0x20080522

MACHINE = os.uname().machine
# (clone, pivot_root, capset)
_NUMBERS = {"x86_64": (56, 155, 126), "aarch64": (220, 41, 91)}
# From 424 on the numbers are the same on every architecture.
_PIDFD_OPEN = 434
_CLONE3 = 435
_CLOSE_RANGE = 436

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


class Call(NamedTuple):
    """A system call with its arguments in the C library's form.

    What a fork has to convert, look up or allocate dirties pages that it shares with its parent,
    each at the cost of a copy. Calls are prepared before the fork, and only made after it.
    """

    what: str
    function: Callable[..., int]
    arguments: tuple[Any, ...]


def perform(calls: Iterable[Call]) -> None:
    """Make prepared calls, in their order.

    Raises:
        OSError: One failed; those after it have not been made.
    """
    for what, function, arguments in calls:
        if function(*arguments) < 0:
            number = ctypes.get_errno()
            raise OSError(number, f"{what}: {os.strerror(number)}")


def _numbers() -> tuple[int, int, int]:
    if MACHINE not in _NUMBERS:
        raise OSError(f"no system call numbers are known for {MACHINE}")
    return _NUMBERS[MACHINE]


def _check(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def clone(flags: int, cgroup: int = -1) -> int:
    """Fork into new namespaces in one system call; return 0 in the child.

    Neither Python's nor the C library's fork hooks run, so the caller must be single-threaded, and
    the child may run nothing of anyone else's but what it forks in the usual way.

    Args:
        flags: The namespaces.
        cgroup: The folder of the group of version 2 to be born in, or -1 for the parent's.
    """
    if cgroup >= 0:
        # struct clone_args: flags, four of no use here, the exit signal, ..., the group.
        fields = (flags | _CLONE_INTO_CGROUP, 0, 0, 0, _SIGCHLD, 0, 0, 0, 0, 0, cgroup)
        described = ctypes.create_string_buffer(struct.pack("=11Q", *fields), 88)
        call = _libc.syscall(ctypes.c_long(_CLONE3), described, ctypes.c_size_t(88))
    else:
        arguments = (ctypes.c_ulong(flags | _SIGCHLD), *(ctypes.c_ulong(0),) * 4)
        call = _libc.syscall(ctypes.c_long(_numbers()[0]), *arguments)
    return _check(int(call), "clone")


def unshare(flags: int) -> None:
    """Put this process into new namespaces."""
    _check(_libc.unshare(ctypes.c_int(flags)), "unshare")


def mount_call(source: str, target: str, kind: str, flags: int, data: str = "") -> Call:
    """Prepare a mount of a file system; the arguments are the system call's."""
    return Call(
        f"mount {kind} on {target}",
        _libc.mount,
        (
            source.encode(),
            os.fsencode(target),
            kind.encode(),
            ctypes.c_ulong(flags),
            data.encode(),
        ),
    )


def mount(source: str, target: str, kind: str, flags: int, data: str = "") -> None:
    """Attach a file system, as the system call of this name does."""
    perform([mount_call(source, target, kind, flags, data)])


def bind_call(source: str, target: str) -> Call:
    """Prepare `bind`."""
    flags = ctypes.c_ulong(MS_BIND | MS_REC)
    return Call(
        f"bind {source} to {target}",
        _libc.mount,
        (os.fsencode(source), os.fsencode(target), None, flags, None),
    )


def bind(source: str, target: str) -> None:
    """Bind `source`, with what is mounted below it, to `target`."""
    perform([bind_call(source, target)])


def make_folder_call(path: str) -> Call:
    """Prepare the making of a folder, for everyone to read and its owner to write."""
    return Call(f"mkdir {path}", _libc.mkdir, (os.fsencode(path), ctypes.c_uint(0o755)))


def restrict(path: str, flags: int) -> None:
    """Add flags to the mount at `path`.

    Those that it has stay: a user namespace may not lift them.
    """
    flags |= MS_BIND | MS_REMOUNT | _mount_flags(path)
    result = _libc.mount(None, os.fsencode(path), None, ctypes.c_ulong(flags), None)
    _check(result, f"restrict {path}")


def _mount_flags(path: str) -> int:
    # statvfs has the same bits as mount(2) for these four, and others for the access time rules.
    have = os.statvfs(path).f_flag
    flags = have & (MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC)
    for bit, meaning in ((1024, 0x400), (2048, 0x800), (4096, 0x200000)):
        if have & bit:
            flags |= meaning
    return flags


def make_private() -> None:
    """Cut this mount namespace off from the one that it was copied from."""
    result = _libc.mount(None, b"/", None, ctypes.c_ulong(MS_REC | MS_PRIVATE), None)
    _check(result, "make / private")


def pivot_root(new: str) -> None:
    """Make `new` the root and let go of the old one."""
    os.chdir(new)
    call = _libc.syscall(ctypes.c_long(_numbers()[1]), b".", b".")
    _check(call, "pivot_root")
    _check(_libc.umount2(b".", MNT_DETACH), "umount of the old root")
    os.chdir("/")


def prctl_call(option: int, *arguments: Any) -> Call:
    """Prepare `prctl`; an argument is a whole number or something that points to memory."""
    converted = [
        ctypes.c_ulong(argument) if isinstance(argument, int) else argument
        for argument in (*arguments, 0, 0, 0, 0)[:4]
    ]
    return Call(f"prctl {option}", _libc.prctl, (ctypes.c_int(option), *converted))


def prctl(option: int, *arguments: int) -> None:
    """Set an attribute of this process, as the system call of this name does."""
    perform([prctl_call(option, *arguments)])


def process_name_call(name: bytes) -> Call:
    """Prepare the setting of the name under which this process is listed."""
    return prctl_call(PR_SET_NAME, ctypes.create_string_buffer(name, 16))


def host_name_call(name: bytes) -> Call:
    """Prepare the naming of this process's UTS namespace."""
    return Call("sethostname", _libc.sethostname, (name, ctypes.c_size_t(len(name))))


def drop_capabilities_calls() -> list[Call]:
    """Prepare to give up every capability for good: bounding, ambient and all the rest."""
    known = 0
    while known < 64 and _libc.prctl(*prctl_call(PR_CAPBSET_READ, known).arguments) >= 0:
        known += 1
    header = ctypes.create_string_buffer(struct.pack("=II", _CAPABILITY_VERSION_3, 0))
    nothing = ctypes.create_string_buffer(bytes(24))
    return [
        *(prctl_call(PR_CAPBSET_DROP, capability) for capability in range(known)),
        prctl_call(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL),
        Call("capset", _libc.syscall, (ctypes.c_long(_numbers()[2]), header, nothing)),
    ]


class _FilterProgram(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def seccomp_filter_call(program: bytes) -> Call:
    """Prepare to install a seccomp filter, a packed array of `struct sock_filter`."""
    described = ctypes.byref(_FilterProgram(len(program) // 8, program))
    return prctl_call(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, described)


_LOOPBACK_UP = struct.pack("16sh14x", b"lo", _IFF_UP_RUNNING)
_PROBE_SOCKET = (
    ctypes.c_int(socket.AF_INET),
    ctypes.c_int(socket.SOCK_DGRAM | socket.SOCK_CLOEXEC),
    ctypes.c_int(0),
)


def raise_loopback() -> None:
    """Bring up `lo` in this network namespace."""
    probe = _check(_libc.socket(*_PROBE_SOCKET), "socket")
    try:
        fcntl.ioctl(probe, _SIOCSIFFLAGS, _LOOPBACK_UP)
    finally:
        os.close(probe)


def mount_points() -> list[bytes]:
    """Return where something is mounted, as this process sees it."""
    with open("/proc/self/mountinfo", "rb") as table:
        # Blanks, newlines and backslashes are written as octal numbers; see proc(5).
        return [
            _OCTAL.sub(lambda found: bytes([int(found.group(1), 8)]), line.split(b" ")[4])
            for line in table
        ]


def trim_heap() -> None:
    """Give the C library's free memory back, which every fork would else have to map."""
    if hasattr(_libc, "malloc_trim"):
        _libc.malloc_trim(ctypes.c_size_t(0))


def pidfd_open(pid: int) -> int:
    """Return a file descriptor that becomes readable when the process ends."""
    if hasattr(os, "pidfd_open"):
        return os.pidfd_open(pid)
    call = _libc.syscall(ctypes.c_long(_PIDFD_OPEN), ctypes.c_int(pid), ctypes.c_uint(0))
    return _check(int(call), "pidfd_open")


def close_from_call(first: int) -> Call:
    """Prepare `close_from`."""
    numbers = (ctypes.c_uint(first), ctypes.c_uint(0xFFFFFFFF), ctypes.c_uint(0))
    return Call(f"close_range {first}", _libc.syscall, (ctypes.c_long(_CLOSE_RANGE), *numbers))


def close_from(first: int, prepared: Call | None = None) -> None:
    """Close every file descriptor from `first` on."""
    _, function, arguments = prepared or close_from_call(first)
    if function(*arguments) < 0:
        # Before Linux 5.9, one at a time, up to the limit.
        os.closerange(first, resource.getrlimit(resource.RLIMIT_NOFILE)[0])


def enter_user_namespace(first_id: int, count: int) -> None:
    """As root, become root of a user namespace whose ids are `count` unprivileged ones outside.

    Only a process outside may write such a map, so a short-lived child does.
    """
    os.setgroups([])
    gate_read, gate_write = os.pipe()
    parent = os.getpid()
    helper = os.fork()
    if helper == 0:
        try:
            os.close(gate_write)
            if os.read(gate_read, 1):
                for kind in ("uid_map", "gid_map"):
                    with open("/proc/%d/%s" % (parent, kind), "w") as table:
                        table.write("0 %d %d" % (first_id, count))
                os._exit(0)
        finally:
            os._exit(1)
    os.close(gate_read)
    unshare(CLONE_NEWUSER)
    os.write(gate_write, b"1")
    os.close(gate_write)
    if os.waitpid(helper, 0)[1] != 0:
        raise OSError("the ids %d to %d could not be mapped" % (first_id, first_id + count - 1))
    os.setresgid(0, 0, 0)
    os.setresuid(0, 0, 0)


def receive_descriptors(end: socket.socket) -> tuple[bytes, list[int]]:
    """Receive a short message and the file descriptors that came with it, at most one.

    Returns:
        The message, empty when the other end is gone, and the descriptors, not inherited by
        programs.
    """
    size = array.array("i").itemsize
    message, ancillary, _, _ = end.recvmsg(4096, socket.CMSG_SPACE(size), _MSG_CMSG_CLOEXEC)
    fds = array.array("i")
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            fds.frombytes(data[: len(data) - len(data) % size])
    return message, list(fds)
