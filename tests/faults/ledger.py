"""What this machine holds that sandboxes could leave behind, counted."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import pathlib
import tempfile
from collections.abc import Iterable

PROC = pathlib.Path("/proc")
NAMESPACES = ("cgroup", "ipc", "mnt", "net", "pid", "user", "uts")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """Counts at one moment. Those of the process tree are of this process and its descendants.

    Attributes:
        processes: This process's descendants, zombies included, and living sandboxes of anybody's
            that have lost their zygote.
        namespaces: Namespaces that those are in, of every kind.
        mounts: Mounts that this process sees, and those that its descendants see.
        cgroups: Groups that the machine has in every hierarchy, the dying ones included.
        descriptors: Open files of this process and its descendants.
        keys: Keys of all users.
        shared_memory_kib: Memory of file systems in memory and of shared mappings, machine-wide.
        sockets: Unix sockets of this network namespace.
        folders: Entries of the folder of temporary files that are ours.
        containers: Containers of this process on the Docker daemon, if asked for.
    """

    processes: int
    namespaces: int
    mounts: int
    cgroups: int
    descriptors: int
    keys: int
    shared_memory_kib: int
    sockets: int
    folders: int
    containers: int

    def grown(self, before: Ledger, slack: Ledger) -> dict[str, int]:
        """Return what has grown since another moment by more than it may, and by how much."""
        growth = {
            field.name: getattr(self, field.name) - getattr(before, field.name)
            for field in dataclasses.fields(self)
        }
        return {name: more for name, more in growth.items() if more > getattr(slack, name)}


def take(*, containers: bool = False) -> Ledger:
    """Count everything now.

    Args:
        containers: Whether to ask the Docker daemon.
    """
    descendants = _descendants(os.getpid())
    return Ledger(
        processes=len(descendants) + _orphans(),
        namespaces=len(_namespaces([os.getpid(), *descendants])),
        mounts=sum(_lines(PROC / str(pid) / "mounts") for pid in (os.getpid(), *descendants)),
        cgroups=_cgroups(),
        descriptors=sum(_entries(PROC / str(pid) / "fd") for pid in (os.getpid(), *descendants)),
        keys=_keys(),
        shared_memory_kib=_memory("Shmem"),
        sockets=_lines(PROC / "net" / "unix"),
        folders=len(list(pathlib.Path(tempfile.gettempdir()).glob("execgym*"))),
        containers=_containers() if containers else 0,
    )


def _descendants(top: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for entry in PROC.glob("[0-9]*"):
        with contextlib.suppress(OSError):
            fields = (entry / "stat").read_text().rpartition(") ")[2].split()
            children.setdefault(int(fields[1]), []).append(int(entry.name))
    found: list[int] = []
    pending = [top]
    while pending:
        below = children.get(pending.pop(), [])
        found += below
        pending += below
    return found


def _orphans() -> int:
    found = 0
    for entry in PROC.glob("[0-9]*"):
        with contextlib.suppress(OSError):
            head, _, tail = (entry / "stat").read_text().rpartition(") ")
            state, parent = tail.split()[:2]
            found += head.endswith("(sandbox") and parent == "1" and state != "Z"
    return found


def _namespaces(pids: Iterable[int]) -> set[str]:
    found = set()
    for pid in pids:
        for kind in NAMESPACES:
            with contextlib.suppress(OSError):
                found.add(os.readlink(PROC / str(pid) / "ns" / kind))
    return found


def _lines(path: pathlib.Path) -> int:
    try:
        return len(path.read_bytes().splitlines())
    except OSError:
        return 0


def _entries(path: pathlib.Path) -> int:
    try:
        return len(os.listdir(path))
    except OSError:
        return 0


def _cgroups() -> int:
    rows = [line.split() for line in (PROC / "cgroups").read_text().splitlines()[1:]]
    # The controllers of one hierarchy share its groups.
    return sum({row[1]: int(row[2]) for row in rows}.values())


def _keys() -> int:
    try:
        rows = (PROC / "key-users").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(row.split()[2].partition("/")[0]) for row in rows)


def _memory(name: str) -> int:
    for line in (PROC / "meminfo").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1])
    return 0


def _containers() -> int:
    from execgym.sandbox.docker_engine import engines
    from execgym.sandbox.docker_owner import OWNER_LABEL

    return sum(
        container["Labels"][OWNER_LABEL] == str(os.getpid())
        for container in engines.get().owned_containers()
    )
