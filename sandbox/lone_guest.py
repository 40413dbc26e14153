"""PID 1 of a container that is one sandbox: becomes its guest at once, with no zygote before it.

What separates it from everything else is the container; what is done here is what no container
does: the filter of system calls that every sandbox has, a first process that no program can look
into, and the limits of each program. Standard library only, Python 3.8 or newer.
"""

from __future__ import annotations

import fcntl
import gc
import os
import resource
import signal
import types
from typing import Any, NoReturn, Tuple

from execgym.sandbox import cgroup, guest, kernel, link, preload, seccomp, wire

_PRELOAD_SECONDS = 300
# The runtime has used up a few numbers before, not always the same.
_LAST_OF_THE_RUNTIMES = 31
_EVENT_FILES = (
    "/sys/fs/cgroup/memory.events",
    "/sys/fs/cgroup/memory/memory.oom_control",
)


def serve(
    config: dict[str, Any], template_sources: list[tuple[str, types.CodeType | str]]
) -> NoReturn:
    """Preload the template, give up what is left to give up, and serve until the host hangs up.

    Args:
        config: The template's modules, and the environment.
        template_sources: Names of the template's own modules, each with its code or with the
            reason why it has none.
    """
    try:
        # The connection, out of the reach of what an import prints.
        reading_fd, writing_fd = (fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 64) for fd in (0, 1))
        null = os.open("/dev/null", os.O_RDWR)
        for fd in (0, 1):
            os.dup2(null, fd)
        _skip_process_numbers()
        signal.alarm(_PRELOAD_SECONDS)
        try:
            preload.preload(config["template_modules"], template_sources)
        except BaseException as error:
            _refuse(writing_fd, "template", "%s: %s" % (type(error).__name__, error))
        signal.alarm(0)
        os.dup2(null, 2)
        os.closerange(3, min(reading_fd, writing_fd))
        kernel.close_from(max(reading_fd, writing_fd) + 1)
        try:
            events, processes = _set_up()
        except OSError as error:
            _refuse(writing_fd, "set-up", str(error))
        gc.collect()
        kernel.trim_heap()
        gc.freeze()
        connection = link.PipeLink(reading_fd, writing_fd)
        guest.Guest(connection, guest.data_bytes(), events, processes).serve()
    finally:
        # The kernel kills everything else in the container.
        os._exit(0)


def _skip_process_numbers() -> None:
    """Have the first program get the same process number in every container."""
    pid = 0
    while pid < _LAST_OF_THE_RUNTIMES:
        pid = os.fork()
        if pid == 0:
            os._exit(0)
        os.waitpid(pid, 0)


def _set_up() -> Tuple[int, int]:
    """Make this process one that nothing in the container can look into or hold up.

    Returns:
        The file that counts kills for want of memory, or -1, and the folder `/proc`.
    """
    os.chdir(guest.WORKSPACE)
    os.umask(0o022)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    # No handler in PID 1: a signal from inside then cannot reach it. SIGPIPE and SIGXFSZ are
    # ignored by every Python from its start.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    events = _open_events()
    processes = os.open("/proc", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    kernel.perform(
        [
            kernel.prctl_call(kernel.PR_SET_NO_NEW_PRIVS, 1),
            kernel.prctl_call(kernel.PR_SET_DUMPABLE, 0),
            kernel.process_name_call(b"sandbox"),
            kernel.seccomp_filter_call(seccomp.build_filter(kernel.MACHINE)),
        ]
    )
    return events, processes


def _open_events() -> int:
    for path in _EVENT_FILES:
        try:
            fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            continue
        try:
            cgroup.memory_kills(fd)
        except OSError:
            os.close(fd)
            continue
        return fd
    return -1


def _refuse(writing_fd: int, stage: str, reason: str) -> NoReturn:
    frame = wire.Frame(wire.FAILED, 0, {"stage": stage, "reason": reason[:4000]}, b"")
    data = wire.encode(frame)
    try:
        while data:
            data = data[os.write(writing_fd, data) :]
    finally:
        os._exit(1)
