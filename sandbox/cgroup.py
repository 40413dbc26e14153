"""Control groups: a bound in the kernel on all processes of a sandbox together.

Each zygote has a group of its own below the one that its owner is in, and below that one for each
of its sandboxes, kept and used again. On version 1 a process puts itself into its group through a
descriptor that the zygote opened, which takes the kernel none of the locks that moving another
process takes. On version 2 it is cloned into it. Where no group can be made there are none, and
rlimits and the guest's own watch are what bounds a sandbox. Standard library only, Python 3.8.
"""

from __future__ import annotations

import errno
import os
import time
from typing import NamedTuple

from execgym.sandbox import kernel

CONTROLLERS = ("memory", "pids", "cpu")
_PREFIX = "execgym-"
_LEAF = "zygote"
# What the guest, page tables, sockets and the like take beside a program's own memory.
_SLACK_BYTES = 32 * 1024 * 1024
_LARGEST_SHARES = 262144
_LARGEST_WEIGHT = 10000
_REMOVAL_SECONDS = 30.0
# The kernel knows no higher number of processes, and refuses one.
_LARGEST_PROCESSES = 4194304


class Group(NamedTuple):
    """A zygote's group in one hierarchy.

    Attributes:
        version: Of the control groups, 1 or 2.
        controllers: What the hierarchy bounds.
        fd: The group's folder.
    """

    version: int
    controllers: tuple[str, ...]
    fd: int


class Bounds(NamedTuple):
    """What a sandbox as a whole may have at most.

    Attributes:
        memory_bytes: Memory of all kinds, its workspace and the kernel's share included.
        processes: Processes and threads, PID 1 included.
    """

    memory_bytes: int
    processes: int


def bounds_of(shape: dict[str, int], memory_factor: int, warm_bytes: int) -> Bounds:
    """Return the bounds of a sandbox of a shape.

    Args:
        shape: The memory of each process, the workspace and the number of processes.
        memory_factor: How much of that memory all processes together may have.
        warm_bytes: What a process has before its program begins.
    """
    memory = memory_factor * shape["memory_bytes"] + shape["workspace_bytes"] + warm_bytes
    processes = min(shape["processes"] + 1, _LARGEST_PROCESSES)
    return Bounds(memory + _SLACK_BYTES, processes)


# ---- the zygote's own group -------------------------------------------------------------------


def make_groups() -> list[tuple[str, Group]]:
    """Make this zygote's groups wherever they can be made; return each with its path.

    Groups that a killed zygote left are removed on the way.
    """
    name = "%s%d-%d" % (_PREFIX, os.getpid(), _start_time(os.getpid()))
    made = []
    for version, controllers, parent in places():
        _sweep(parent)
        path = os.path.join(parent, name)
        try:
            os.mkdir(path, 0o755)
        except OSError:
            continue
        try:
            made.append((path, _configured(version, controllers, path)))
        except OSError:
            _remove(path)
    return made


def writable_controllers() -> tuple[str, ...]:
    """Return what this process could make groups for."""
    return tuple(
        controller
        for _, controllers, folder in places()
        if os.access(folder, os.W_OK)
        for controller in controllers
    )


def _configured(version: int, controllers: tuple[str, ...], path: str) -> Group:
    cpus = os.cpu_count() or 1
    if version == 2:
        wanted = " ".join("+" + controller for controller in controllers)
        _write_text(path + "/cgroup.subtree_control", wanted)
        if "cpu" in controllers:
            _write_text(path + "/cpu.weight", str(min(100 * cpus, _LARGEST_WEIGHT)))
        # A process may be cloned into a group by one that is below the same group.
        os.mkdir("%s/%s" % (path, _LEAF))
        _write_text("%s/%s/cgroup.procs" % (path, _LEAF), "0")
    elif "cpu" in controllers:
        # Against the owner's own processes they count as one, so all of them get a core's share
        # for each core.
        _write_text(path + "/cpu.shares", str(min(1024 * cpus, _LARGEST_SHARES)))
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    return Group(version, controllers, fd)


def give_to(groups: list[Group], uid: int) -> None:
    """Let an unprivileged zygote make its sandboxes' groups."""
    for group in groups:
        os.fchown(group.fd, uid, uid)
        if group.version == 2:
            for name in ("cgroup.procs", "cgroup.subtree_control", "cgroup.threads"):
                os.chown(name, uid, uid, dir_fd=group.fd)
            os.chown(_LEAF, uid, uid, dir_fd=group.fd)
            os.chown(_LEAF + "/cgroup.procs", uid, uid, dir_fd=group.fd)


def remove_after_end(paths: list[str]) -> int:
    """Fork a process that removes the groups when this one is gone, and everything of its.

    The kernel removes no group by itself, and the zygote may neither live nor be allowed to.

    Returns:
        The descriptor that this process is to hold until its end.
    """
    read_end, write_end = os.pipe()
    between = os.fork()
    if between == 0:
        try:
            # By a second fork it is nobody's child, and nobody has to collect it.
            if os.fork() != 0:
                os._exit(0)
            os.dup2(read_end, 0)
            kernel.close_from(1)
            kernel.perform([kernel.process_name_call(b"execgym-cgroups")])
            os.chdir("/")
            os.read(0, 1)
            deadline = time.monotonic() + _REMOVAL_SECONDS
            while time.monotonic() < deadline:
                if all([_remove(path) for path in paths]):
                    break
                time.sleep(0.02)
        finally:
            os._exit(0)
    os.close(read_end)
    os.waitpid(between, 0)
    return write_end


def describe(group: Group) -> str:
    """Write a group down as a command line's argument."""
    return "%d:%s:%d" % (group.version, ",".join(group.controllers), group.fd)


def read_description(text: str) -> Group:
    """Read what `describe` wrote."""
    version, controllers, fd = text.split(":")
    return Group(int(version), tuple(controllers.split(",")), int(fd))


def places() -> list[tuple[int, tuple[str, ...], str]]:
    """Return version, controllers and folder of each hierarchy that could hold a group."""
    mounts = _hierarchies()
    places = []
    with open("/proc/self/cgroup") as table:
        for line in table:
            _, names, own = line.rstrip("\n").split(":", 2)
            if names:
                controllers = tuple(name for name in CONTROLLERS if name in names.split(","))
                mount = mounts.get(names)
                if controllers and mount is not None and _below(own, mount[0]):
                    places.append((1, controllers, _inside(own, mount)))
            elif "" in mounts and _below(own, mounts[""][0]):
                place = _unified_place(_inside(own, mounts[""]), mounts[""][1])
                if place is not None:
                    places.append(place)
    return places


def _unified_place(folder: str, top: str) -> tuple[int, tuple[str, ...], str] | None:
    # A group that has processes may give no controller to groups below it, but its parent does.
    while folder.startswith(top):
        try:
            with open(folder + "/cgroup.subtree_control") as text:
                enabled = text.read().split()
        except OSError:
            enabled = []
        controllers = tuple(name for name in CONTROLLERS if name in enabled)
        if "memory" in controllers or "pids" in controllers:
            return 2, controllers, folder
        if folder == top:
            break
        folder = os.path.dirname(folder)
    return None


def _hierarchies() -> dict[str, tuple[str, str]]:
    """Return root and mount point of each hierarchy, by its controllers, of version 2 by ""."""
    found = {}
    with open("/proc/self/mountinfo") as table:
        for line in table:
            fields = line.split()
            kind = fields[fields.index("-") + 1]
            if kind == "cgroup":
                options = fields[-1].split(",")
                names = ",".join(option for option in options if option in _V1_CONTROLLERS)
                if names:
                    found[names] = (fields[3], fields[4])
            elif kind == "cgroup2":
                found[""] = (fields[3], fields[4])
    return found


# What a mount's options may hold beside these says nothing of what it controls.
_V1_CONTROLLERS = frozenset({"cpu", "cpuacct", "memory", "pids"})


def _below(path: str, root: str) -> bool:
    return root == "/" or path == root or path.startswith(root + "/")


def _inside(own: str, mount: tuple[str, str]) -> str:
    root, point = mount
    relative = own if root == "/" else own[len(root) :]
    return (point + "/" + relative.strip("/")).rstrip("/")


def _sweep(parent: str) -> None:
    """Remove the groups of zygotes that are gone, which only a killed one leaves."""
    try:
        names = os.listdir(parent)
    except OSError:
        return
    for name in names:
        if name.startswith(_PREFIX):
            pid, _, started = name[len(_PREFIX) :].partition("-")
            if pid.isdigit() and str(_start_time(int(pid))) != started:
                _remove(os.path.join(parent, name))


def _start_time(pid: int) -> int:
    """Return when a process was started, in ticks since the machine was, or -1."""
    try:
        with open("/proc/%d/stat" % pid, "rb") as stat:
            return int(stat.read().rsplit(b")", 1)[1].split()[19])
    except OSError:
        return -1


def _remove(path: str) -> bool:
    """Remove a group and those in it; return whether it is gone."""
    try:
        for entry in os.scandir(path):
            if entry.is_dir(follow_symlinks=False):
                os.rmdir(entry.path)
        os.rmdir(path)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


# ---- a sandbox's group ------------------------------------------------------------------------


class Slots:
    """The groups of a zygote's sandboxes, one a slot."""

    def __init__(self, groups: list[Group]) -> None:
        self._groups = groups
        self._bounds: dict[int, Bounds] = {}

    def __bool__(self) -> bool:
        return bool(self._groups)

    def open(self, slot: int, bounds: Bounds) -> Entry:
        """Return the way into a slot's group, which is made and bounded if it is not yet."""
        name = "sandbox-%d" % slot
        if self._bounds.get(slot) == bounds:
            try:
                return self._entry(name)
            except FileNotFoundError:
                pass  # Somebody has tidied up.
        for group in self._groups:
            _bound(group, name, bounds)
        self._bounds[slot] = bounds
        return self._entry(name)

    def _entry(self, name: str) -> Entry:
        entry = Entry([], -1, -1)
        try:
            for group in self._groups:
                if group.version == 2:
                    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
                    entry = entry._replace(folder=os.open(name, flags, dir_fd=group.fd))
                else:
                    entry.tasks.append(_open(group, name, "tasks", os.O_WRONLY))
                if "memory" in group.controllers:
                    events = "memory.events" if group.version == 2 else "memory.oom_control"
                    entry = entry._replace(events=_open(group, name, events, os.O_RDONLY))
        except OSError:
            entry.close()
            raise
        return entry


class Entry(NamedTuple):
    """Descriptors by which one process gets into its groups.

    Attributes:
        tasks: Files of version 1 in which a process enters itself.
        folder: The folder of version 2 into which it is cloned, or -1.
        events: The file that counts kills for want of memory, or -1.
    """

    tasks: list[int]
    folder: int
    events: int

    def enter(self) -> None:
        """Put this process, which has the ids of the one that opened them, into the groups."""
        for fd in self.tasks:
            os.write(fd, b"0")

    def close(self) -> None:
        """Close the descriptors."""
        for fd in (*self.tasks, self.folder, self.events):
            if fd >= 0:
                os.close(fd)


def memory_kills(events: int) -> int:
    """Return how many processes of a group were killed because its memory was used up."""
    for line in os.pread(events, 4096, 0).splitlines():
        name, _, value = line.partition(b" ")
        if name == b"oom_kill":
            return int(value)
    return 0


def _bound(group: Group, name: str, bounds: Bounds) -> None:
    try:
        os.mkdir(name, 0o755, dir_fd=group.fd)
    except FileExistsError:
        pass
    if "memory" in group.controllers:
        if group.version == 2:
            _write(group, name, "memory.max", bounds.memory_bytes)
            _write(group, name, "memory.swap.max", 0, optional=True)
        else:
            _bound_memory_1(group, name, bounds.memory_bytes)
    if "pids" in group.controllers:
        _write(group, name, "pids.max", bounds.processes)


def _bound_memory_1(group: Group, name: str, limit: int) -> None:
    # Memory with swap may never be less than memory alone, so which comes first depends.
    files = ["memory.limit_in_bytes", "memory.memsw.limit_in_bytes"]
    try:
        _write(group, name, files[0], limit)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        files.reverse()
        _write(group, name, files[0], limit)
    _write(group, name, files[1], limit, optional=True)


def _write(group: Group, name: str, file: str, value: int, optional: bool = False) -> None:
    try:
        fd = _open(group, name, file, os.O_WRONLY)
    except FileNotFoundError:
        if optional:
            return
        raise
    try:
        os.write(fd, b"%d" % value)
    finally:
        os.close(fd)


def _open(group: Group, name: str, file: str, flags: int) -> int:
    return os.open("%s/%s" % (name, file), flags | os.O_CLOEXEC, dir_fd=group.fd)


def _write_text(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)
