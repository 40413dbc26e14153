"""What a container that is one sandbox is like: its bounds, and what it sees of the machine."""

from __future__ import annotations

import dataclasses
import functools
import pathlib
from typing import Any

from execgym.sandbox import stages
from execgym.sandbox.cgroup import bounds_of
from execgym.sandbox.docker_container import bare_container, bare_host_config
from execgym.sandbox.docker_engine import is_gvisor
from execgym.sandbox.spec import Template

_MIB = 1024 * 1024
_PAGE_BYTES = 4096
# All processes together, against the limit of one; what an interpreter with a template's modules
# has before a program begins. The guest's own watch is closer: this is what holds without it.
_MEMORY_FACTOR = 2
_INTERPRETER_BYTES = 256 * _MIB
# gVisor's kernel is a process with threads of its own in the container's group.
_GVISOR_BYTES = 256 * _MIB
_GVISOR_PROCESSES = 1024
_CPUS = 2
_CPU_PERIOD = 100_000
_STANDING_WHEN_MEMORY_RUNS_OUT = 900
# In sixteenths, of the workspace's bytes and of its inodes. No mount can be made in the container,
# so each folder has a file system of its own.
_SHARES = {"/workspace": (12, 14), "/tmp": (3, 1), "/dev/shm": (1, 1)}  # noqa: S108
_SOCKET_SETTING = "4096 65536 212992"
# As in a network namespace that nobody has prepared: Docker turns some of these.
_SWITCHES = {
    "net.ipv4.ip_unprivileged_port_start": "1024",
    "net.ipv4.ping_group_range": "1 0",
    "net.ipv4.tcp_rmem": _SOCKET_SETTING,
    "net.ipv4.tcp_wmem": _SOCKET_SETTING,
}
_SWITCHES_OF_6 = {f"net.ipv6.conf.{which}.disable_ipv6": "0" for which in ("all", "lo")}
# What Docker hides by default, and the devices and drivers of the machine.
_MASKED = (
    *("/proc/acpi", "/proc/asound", "/proc/interrupts", "/proc/kcore", "/proc/keys"),
    *("/proc/latency_stats", "/proc/pressure", "/proc/sched_debug", "/proc/scsi"),
    *("/proc/timer_list", "/proc/timer_stats", "/dev/mqueue", "/dev/pts"),
    *("/sys/block", "/sys/bus", "/sys/class", "/sys/dev", "/sys/devices", "/sys/firmware"),
    *("/sys/hypervisor", "/sys/kernel", "/sys/module", "/sys/power"),
)


@dataclasses.dataclass(frozen=True, slots=True)
class EpisodeKind:
    """What is fixed when a container is made.

    Attributes:
        template: What its interpreter preloads.
        runtime: The runtime asked for, or `""`.
        workspace_bytes: Size of what can be written.
        workspace_inodes: Files, folders and links on it.
        memory_bytes: Memory of each process.
        processes: Processes and threads at one time.
    """

    template: Template
    runtime: str
    workspace_bytes: int
    workspace_inodes: int
    memory_bytes: int
    processes: int


def episode_container(kind: EpisodeKind, image: str, uid: int, runtime: str) -> dict[str, Any]:
    """Return what is asked of the daemon for a container that is to be one sandbox.

    Args:
        kind: What the container is fixed to.
        image: The image's id.
        uid: User and group inside.
        runtime: The runtime's name.
    """
    shape = {name: getattr(kind, name) for name in ("memory_bytes", "workspace_bytes", "processes")}
    bounds = bounds_of(shape, _MEMORY_FACTOR, _INTERPRETER_BYTES)
    gvisor = is_gvisor(runtime)
    memory = bounds.memory_bytes + (_GVISOR_BYTES if gvisor else 0)
    return {
        **bare_container(image, uid, "episode"),
        "Cmd": stages.lone_command(),
        "HostConfig": {
            **bare_host_config(runtime),
            "MaskedPaths": list(_MASKED),
            "Tmpfs": _file_systems(kind, uid),
            "Memory": memory,
            "MemorySwap": memory,
            "PidsLimit": bounds.processes + (_GVISOR_PROCESSES if gvisor else 0),
            "CpuPeriod": _CPU_PERIOD,
            "CpuQuota": _CPU_PERIOD * _CPUS,
            "OomScoreAdj": _STANDING_WHEN_MEMORY_RUNS_OUT,
            "CgroupnsMode": "private",
            "ExtraHosts": ["sandbox:127.0.0.1"],
            "Sysctls": _SWITCHES | (_SWITCHES_OF_6 if _has_version_6() else {}),
        },
    }


def _file_systems(kind: EpisodeKind, uid: int) -> dict[str, str]:
    pages = kind.workspace_bytes // _PAGE_BYTES
    options = {}
    for folder, (of_bytes, of_inodes) in _SHARES.items():
        size = max(1, pages * of_bytes // 16) * _PAGE_BYTES
        inodes = max(1, kind.workspace_inodes * of_inodes // 16)
        options[folder] = (
            f"rw,nosuid,nodev,exec,size={size},nr_inodes={inodes},mode=0755,uid={uid},gid={uid}"
        )
    return options


@functools.cache
def _has_version_6() -> bool:
    return pathlib.Path("/proc/sys/net/ipv6/conf/all/disable_ipv6").exists()
