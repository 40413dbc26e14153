"""Whose a container is: labels that tell a live owner from one that has gone."""

from __future__ import annotations

import datetime
import functools
import os
import pathlib
from collections.abc import Mapping

OWNER_LABEL = "execgym.owner"
"""Process number of the owner; every container of ours has it."""

_START = "execgym.owner.start"
_NAMESPACE = "execgym.owner.pid-namespace"
_USER = "execgym.owner.user"
_BOOT = "execgym.owner.boot"
_STARTED = "execgym.started"
_KIND = "execgym.kind"


def labels(kind: str) -> dict[str, str]:
    """Return the labels of a container that this process is about to make.

    Args:
        kind: `"pod"` or `"episode"`.
    """
    now = datetime.datetime.now(datetime.UTC)
    return {
        OWNER_LABEL: str(os.getpid()),
        _START: _start_time(os.getpid()),
        _NAMESPACE: _pid_namespace(),
        _USER: str(os.geteuid()),
        _BOOT: _boot_id(),
        _STARTED: now.isoformat(timespec="milliseconds"),
        _KIND: kind,
    }


def is_lost(found: Mapping[str, str]) -> bool:
    """Return whether the owner that labels tell of has gone.

    An owner that cannot be seen from here is never taken for gone: that of another machine, of
    another PID namespace, or, for an ordinary user, of another user.
    """
    visible = found.get(_BOOT) == _boot_id() and found.get(_NAMESPACE) == _pid_namespace()
    if not visible or (os.geteuid() != 0 and found.get(_USER) != str(os.geteuid())):
        return False
    pid = found.get(OWNER_LABEL, "")
    return pid.isdecimal() and _start_time(int(pid)) != found.get(_START)


def mark() -> str:
    """Return a text for file names that tells this process from every other of its machine."""
    return f"{_namespace_number()}-{os.getpid()}-{_start_time(os.getpid())}-"


def mark_is_lost(text: str) -> bool:
    """Return whether the process has gone that a text beginning with a mark tells of."""
    namespace, pid, start, *rest = (*text.split("-", 3), "", "", "")
    if namespace != _namespace_number() or not pid.isdecimal() or not start or not rest[0]:
        return False
    found = _start_time(int(pid))
    # Where other users' processes are hidden, their folders cannot be removed, either.
    return found != start


def _namespace_number() -> str:
    return _pid_namespace().strip("pid:[]")


def _start_time(pid: int) -> str:
    """Return when a process started, in clock ticks since the machine's start, or `""`."""
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return ""
    # The name, in brackets, may hold anything. See proc(5) for the places of the rest.
    state, *rest = fields[fields.rindex(b")") + 2 :].split()
    return "" if state in (b"Z", b"X") else rest[18].decode()


@functools.cache
def _boot_id() -> str:
    return pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def _pid_namespace() -> str:
    return os.readlink("/proc/self/ns/pid")
