"""The zygote: a small, warm, single-threaded interpreter that forks sandboxes.

It is started in two stages, each a fresh interpreter that knows nothing of the user's process. The
first builds an almost empty mount namespace and makes it the root; the second is the image's own
Python inside it, which preloads the template and then serves. Requests come over a socket pair of
which only the owner has the other end, each with one end of a sandbox's own socket pair. When the
owner ends, however it ends, the kernel closes that socket, the zygote ends, and every sandbox is
killed with it. Standard library only, Python 3.8 or newer.
"""

from __future__ import annotations

# The C module beneath `signal`, which spares a fork the wrappers' enums.
import _signal  # type: ignore[import-not-found]
import array
import errno
import gc
import json
import os
import resource
import select
import signal
import socket
import types
from typing import Any, NamedTuple, NoReturn

from execgym.sandbox import cgroup, guest, image_layout, kernel, preload, seccomp, wire

# As root, each zygote has a range of host ids to itself, told apart by its process number, between
# 2^30 and 2^31, which no distribution hands out. Id 0 of the range is the zygote's own, the others
# are its sandboxes'.
_UID_BASE = 0x40000000
_UID_RANGES = 0x20000
_UIDS_EACH = 8192
MAX_SLOTS = _UIDS_EACH - 1
_PRELOAD_SECONDS = 300
_ENDING_SECONDS = 4
# Sandboxes that are made ahead, and how long nothing must have been asked for before that: what is
# running now is not to be held up by what may be wanted later.
_SPARES = 1
_QUIET_SECONDS = 0.01
_DEVICES = ("null", "zero", "full", "random", "urandom")


def build_root(config: dict[str, Any]) -> NoReturn:
    """First stage: make an almost empty, read-only root, move into it, start the second stage.

    A mount namespace is copied for every sandbox at a cost that grows with its mounts, so it has as
    few as will do.
    """
    os.umask(0o022)
    layout = config["layout"] or _layout_of_image(config)
    root = os.geteuid() == 0 and _id_is_mapped(_UID_BASE + _UID_RANGES * _UIDS_EACH - 1)
    # Where memory runs out, what runs in sandboxes goes before anything of the owner's, and a
    # program before its PID 1. What a privileged process sets here, no sandbox can lower.
    _write("/proc/self/oom_score_adj", "900")
    groups = cgroup.make_groups()
    held = [cgroup.remove_after_end([path for path, _ in groups])] if groups else []
    kernel.unshare(kernel.CLONE_NEWNS | (0 if root else kernel.CLONE_NEWUSER))
    if not root:
        _write("/proc/self/setgroups", "deny")
        _write("/proc/self/uid_map", "0 %d 1" % config["uid"])
        _write("/proc/self/gid_map", "0 %d 1" % config["gid"])
    kernel.make_private()
    # Something that exists everywhere and holds no interpreter. The mount is this namespace's own.
    top = "/sys"
    kernel.mount("tmpfs", top, "tmpfs", kernel.MS_NOSUID, "size=4m,mode=0755")
    for name in ("dev", "dev/shm", "etc", "proc", "sandbox", "tmp", "workspace"):
        os.mkdir(os.path.join(top, name), 0o755)
    if "/etc" not in layout["binds"]:
        for name, content in config["files"].items():
            _write(top + name, content)
    if layout["linker_cache"] and os.path.exists(layout["linker_cache"]):
        with open(layout["linker_cache"], "rb") as cache:
            _write(top + "/etc/ld.so.cache", cache.read())
    for name in layout["folders"]:
        os.makedirs(top + name, exist_ok=True)
    for name, target in layout["links"].items():
        os.makedirs(os.path.dirname(top + name), exist_ok=True)
        os.symlink(target, top + name)
    for name in _DEVICES:
        _write("%s/dev/%s" % (top, name), "")
        kernel.bind("/dev/" + name, "%s/dev/%s" % (top, name))
    for name, target in (("fd", "fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")):
        os.symlink("/proc/self/" + target, "%s/dev/%s" % (top, name))
    for target, source in layout["binds"].items():
        os.makedirs(top + target, exist_ok=True)
        kernel.bind(source, top + target)
    for path in layout["masked_files"]:
        kernel.bind("/dev/null", top + path)
    for path in layout["masks"]:
        kernel.mount(
            "tmpfs", top + path, "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, "size=0,mode=0555"
        )
    # A tree below what each sandbox has of its own would be covered by that: it is kept at hand.
    for index, target in enumerate(layout["covered"]):
        os.makedirs("%s/trees/%d" % (top, index))
        kernel.bind(top + target, "%s/trees/%d" % (top, index))
    kernel.bind("/proc", top + "/proc")
    kernel.pivot_root(top)
    for point in map(os.fsdecode, kernel.mount_points()):
        if not point.startswith(("/dev/", "/proc")):
            kernel.restrict(point, kernel.MS_RDONLY | kernel.MS_NOSUID | kernel.MS_NODEV)
    if root:
        # Neither the image's interpreter nor the template's modules get to run as the host's root.
        first_id = _UID_BASE + (os.getpid() % _UID_RANGES) * _UIDS_EACH
        cgroup.give_to([group for _, group in groups], first_id)
        kernel.enter_user_namespace(first_id, _UIDS_EACH)
    for fd in (*config["inherit"], *held, *(group.fd for _, group in groups)):
        os.set_inheritable(fd, True)
    python = layout["python"]
    descriptors = map(str, config["inherit"])
    described = [cgroup.describe(group) for _, group in groups]
    arguments = [python, "-s", "-S", "-c", config["bootstrap"], *descriptors, "serve", *described]
    os.execve(python, arguments, config["environment"])


def _layout_of_image(config: dict[str, Any]) -> dict[str, Any]:
    try:
        return image_layout.image_layout(config["image_root"])
    except image_layout.LayoutError as error:
        os.write(config["inherit"][-1], json.dumps({"template_error": str(error)}).encode())
        os._exit(1)


def serve(
    config: dict[str, Any],
    template_sources: list[tuple[str, types.CodeType | str]],
    groups: list[str],
    control: socket.socket,
) -> NoReturn:
    """Second stage: preload the template, then fork a sandbox for each request until the end.

    Args:
        config: The layout and the template's modules.
        template_sources: Names of the template's own modules, each with its code or with the
            reason why it has none.
        groups: The zygote's own control groups, each as `cgroup.describe` writes it.
        control: The end over which requests come.
    """
    # An owner that has gone cannot stop an import that never ends.
    signal.alarm(_PRELOAD_SECONDS)
    try:
        preload.preload(config["template_modules"], template_sources)
    except BaseException as error:
        reason = "%s: %s" % (type(error).__name__, error)
        control.send(json.dumps({"template_error": reason[:4000]}).encode())
        os._exit(1)
    signal.alarm(0)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    kernel.prctl(kernel.PR_SET_DUMPABLE, 0)
    null = os.open("/dev/null", os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    os.close(null)
    gc.collect()
    kernel.trim_heap()
    gc.freeze()
    slots = cgroup.Slots([cgroup.read_description(text) for text in groups])
    covered = config["layout"]["covered"] if config["layout"] else []
    zygote = Zygote(covered, slots, control)
    control.send(b'{"ready":true}')
    zygote.run()


class _Unclaimed(NamedTuple):
    """A sandbox without a connection: its PID 1, and the socket over which it will get one."""

    pid: int
    gate: socket.socket


class Zygote:
    """The server: requests in, sandboxes out, and the dead collected."""

    def __init__(self, covered: list[str], cgroups: cgroup.Slots, control: socket.socket) -> None:
        self._covered = covered
        self._cgroups = cgroups
        self._own_uids = _id_is_mapped(MAX_SLOTS)
        self._control = control
        self._filter = seccomp.build_filter(kernel.MACHINE)
        self._prepared_shape = b""
        self._prepared: guest.Preparation | None = None
        self._epoll = select.epoll()
        self._wakeup, wakeup_write = socket.socketpair()
        for end in (self._wakeup, wakeup_write):
            end.setblocking(False)
        self._wakeup_write = wakeup_write
        signal.signal(signal.SIGCHLD, lambda *_: None)
        # No handler in PID 1: a signal from inside then cannot reach it. SIGPIPE and SIGXFSZ are
        # ignored by every Python from its start.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.set_wakeup_fd(wakeup_write.fileno(), warn_on_full_buffer=False)
        self._pid_by_fd: dict[int, int] = {}
        self._slots: dict[int, int] = {}
        self._connections: dict[int, socket.socket] = {}
        self._spares: list[_Unclaimed] = []
        self._spares_wanted = _SPARES
        self._last_shape = b""
        self._spare_shape = b""
        self._free_slots = list(range(MAX_SLOTS - 1, -1, -1))

    def run(self) -> NoReturn:
        """Serve until the owner is gone."""
        self._epoll.register(self._control, select.EPOLLIN)
        self._epoll.register(self._wakeup, select.EPOLLIN)
        while True:
            lacking = bool(self._spare_shape) and len(self._spares) < self._spares_wanted
            ready = {fd for fd, _ in self._epoll.poll(_QUIET_SECONDS if lacking else -1)}
            if lacking and not ready:
                self._make_spare()
            # Requests last: a new connection may get the number of one that has hung up.
            for fd in ready - {self._control.fileno(), self._wakeup.fileno()}:
                self._destroy(fd)
            if self._wakeup.fileno() in ready:
                try:
                    self._wakeup.recv(4096)
                except BlockingIOError:
                    pass
                self._collect()
            if self._control.fileno() in ready:
                self._take_request()

    def _take_request(self) -> None:
        message, fds = kernel.receive_descriptors(self._control)
        if not message:
            self._end()
        for fd in fds:
            connection = socket.socket(fileno=fd)
            try:
                self._create(connection, message)
            except OSError as error:
                _refuse(connection, str(error))

    def _end(self) -> NoReturn:
        """Kill every sandbox, and go when they are gone: no init may collect them soon, or ever."""
        signal.alarm(_ENDING_SECONDS)
        for pid in self._slots:
            os.kill(pid, signal.SIGKILL)
        while self._slots:
            try:
                self._slots.pop(os.waitpid(-1, 0)[0], None)
            except ChildProcessError:
                break
        os._exit(0)

    def _create(self, connection: socket.socket, shape: bytes) -> None:
        """Give a sandbox of this shape to a connection: one that waits ready, or a new one."""
        # Two of a shape in a row make it likely that a third will be wanted.
        if shape == self._last_shape and shape != self._spare_shape:
            self._drop_spares()
            self._spare_shape = shape
        self._last_shape = shape
        while self._spares and shape == self._spare_shape:
            spare = self._spares.pop()
            if self._hand_over(spare, connection):
                return
        if not self._hand_over(self._fork(shape), connection):
            raise OSError("the sandbox ended before it had its connection")

    def _make_spare(self) -> None:
        try:
            self._spares.append(self._fork(self._spare_shape))
        except OSError:
            # Whatever there is too little of, it is not for sandboxes ahead of their use.
            self._spares_wanted = 0

    def _drop_spares(self) -> None:
        for spare in self._spares:
            spare.gate.close()
            os.kill(spare.pid, signal.SIGKILL)
        self._spares.clear()

    def _fork(self, shape: bytes) -> _Unclaimed:
        if not self._free_slots:
            raise OSError(errno.EAGAIN, "this zygote has %d live sandboxes, its limit" % MAX_SLOTS)
        prepared = self._prepare(shape)
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        slot = self._free_slots.pop()
        entry = None
        try:
            if self._cgroups:
                entry = self._cgroups.open(slot, prepared.bounds)
            # The namespace of control groups is made from within the sandbox's own, its root.
            namespaces = kernel.ALL_NAMESPACES & ~(kernel.CLONE_NEWCGROUP if entry else 0)
            pid = kernel.clone(namespaces, entry.folder if entry else -1)
            if pid == 0:
                self._become_guest(theirs, entry, prepared)
        except OSError:
            ours.close()
            self._free_slots.append(slot)
            raise
        finally:
            theirs.close()
            if entry is not None:
                entry.close()
        self._slots[pid] = slot
        uid = slot + 1 if self._own_uids else 0
        try:
            if not self._own_uids:
                _write("/proc/%d/setgroups" % pid, "deny")
            _write("/proc/%d/uid_map" % pid, "%d %d 1" % (guest.UID, uid))
            _write("/proc/%d/gid_map" % pid, "%d %d 1" % (guest.UID, uid))
            ours.send(b"mapped")
        except OSError:
            ours.close()
            os.kill(pid, signal.SIGKILL)
            raise
        return _Unclaimed(pid, ours)

    def _hand_over(self, sandbox: _Unclaimed, connection: socket.socket) -> bool:
        """Give a sandbox its connection; return whether it is alive to take it."""
        right = array.array("i", [connection.fileno()]).tobytes()
        with sandbox.gate:
            try:
                sandbox.gate.sendmsg([b"yours"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, right)])
            except OSError:
                return False
        self._connections[sandbox.pid] = connection
        fd = connection.fileno()
        self._pid_by_fd[fd] = sandbox.pid
        # Only the hang-up is of interest here: the guest reads the other duplicate.
        self._epoll.register(fd, select.EPOLLRDHUP)
        return True

    def _prepare(self, shape: bytes) -> guest.Preparation:
        if self._prepared is None or shape != self._prepared_shape:
            self._prepared = guest.prepare(
                json.loads(shape), self._covered, self._filter, self._own_uids
            )
            self._prepared_shape = shape
        return self._prepared

    def _become_guest(
        self, gate: socket.socket, entry: cgroup.Entry | None, prepared: guest.Preparation
    ) -> NoReturn:
        try:
            events = -1
            if entry is not None:
                entry.enter()
                kernel.unshare(kernel.CLONE_NEWCGROUP)
                events = entry.events
            signal.set_wakeup_fd(-1)
            _signal.signal(_signal.SIGCHLD, _signal.SIG_DFL)
            # Everyone's connections were inherited: they must not stay open here.
            events = guest.keep_descriptors(gate.detach(), events)
            guest.run(socket.socket(fileno=guest.CHANNEL_FD), events, prepared)
        finally:
            os._exit(1)

    def _destroy(self, fd: int) -> None:
        """Kill the sandbox whose host has hung up."""
        pid = self._pid_by_fd.get(fd)
        if pid is not None:
            self._epoll.unregister(fd)
            del self._pid_by_fd[fd]
            # A direct child that has not been waited for: its number cannot have been reused.
            os.kill(pid, signal.SIGKILL)

    def _collect(self) -> None:
        while True:
            try:
                pid, _ = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            self._free_slots.append(self._slots.pop(pid))
            connection = self._connections.pop(pid, None)
            if connection is None:
                # It ended before it was of use to anyone: more of the kind would, too.
                for spare in [spare for spare in self._spares if spare.pid == pid]:
                    self._spares_wanted = 0
                    self._spares.remove(spare)
                    spare.gate.close()
                continue
            fd = connection.fileno()
            if self._pid_by_fd.pop(fd, None) is not None:
                self._epoll.unregister(fd)
            connection.close()


def _refuse(connection: socket.socket, reason: str) -> None:
    with connection:
        try:
            connection.send(
                wire.encode(wire.Frame(wire.FAILED, 0, {"stage": "create", "reason": reason}, b""))
            )
        except OSError:
            pass


def _id_is_mapped(number: int) -> bool:
    with open("/proc/self/uid_map") as table:
        ranges = [[int(field) for field in line.split()] for line in table]
    return any(first <= number < first + count for first, _, count in ranges)


def _write(path: str, content: str | bytes) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        os.write(fd, content if isinstance(content, bytes) else content.encode())
    finally:
        os.close(fd)
