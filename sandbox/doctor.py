"""What this machine allows sandboxes of its own kernel, and what will bind first."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import platform
import resource
import subprocess
import sys

from execgym.sandbox import cgroup, kernel

_PROBE = """
import ctypes, sys
libc = ctypes.CDLL(None, use_errno=True)
flags = int(sys.argv[1])
if libc.unshare(ctypes.c_int(flags)) != 0:
    sys.exit(ctypes.get_errno())
"""
_MACHINES = ("x86_64", "aarch64")
_PROCESSES_EACH = 2
_KERNEL_AND_GUEST_BYTES = 2 * 1024 * 1024
_RESERVED_BYTES = 2 * 1024 * 1024 * 1024
_RESERVED_FILES = 64
_RESERVED_PROCESSES = 1024


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One fact about the machine.

    Attributes:
        name: What was looked at.
        value: What was found.
        good: Whether sandboxes can live with it.
        advice: How to mend it, or what follows from it.
    """

    name: str
    value: str
    good: bool = True
    advice: str = ""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Capacity:
    """How many idle sandboxes a limit of this machine allows.

    Attributes:
        limit: The limit's name.
        sandboxes: How many fit under it.
        advice: How to raise it.
    """

    limit: str
    sandboxes: int
    advice: str


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What `execgym doctor` prints.

    Attributes:
        findings: The facts.
        capacities: The limits, the one that binds first first.
        backend: `"namespace"` where this machine allows it, or `""`.
    """

    findings: tuple[Finding, ...]
    capacities: tuple[Capacity, ...]
    backend: str

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the backend cannot run, each with the way out."""
        return tuple(
            f"{finding.name}: {finding.value}. {finding.advice}".rstrip()
            for finding in self.findings
            if not finding.good
        )


def diagnose() -> Report:
    """Look at this machine. It starts one short process and changes nothing."""
    findings = (
        _system(),
        _machine(),
        _user(),
        _namespaces(),
        _seccomp(),
        _control_groups(),
        _memory(),
    )
    usable = all(finding.good for finding in findings)
    return Report(
        findings=findings,
        capacities=tuple(sorted(_capacities(), key=lambda capacity: capacity.sandboxes)),
        backend="namespace" if usable else "",
    )


def _system() -> Finding:
    good = sys.platform == "linux"
    return Finding(
        name="system",
        value=f"{platform.system()} {platform.release()}",
        good=good,
        advice="" if good else "Sandboxes need Linux: use a Linux machine or virtual machine.",
    )


def _machine() -> Finding:
    good = platform.machine() in _MACHINES
    advice = "" if good else f"The sandbox knows the system calls of {' and '.join(_MACHINES)}."
    return Finding(name="machine", value=platform.machine(), good=good, advice=advice)


def _user() -> Finding:
    if os.geteuid() == 0:
        return Finding(
            name="user",
            value="root",
            advice="Each sandbox gets an unprivileged host uid of its own.",
        )
    return Finding(
        name="user",
        value=f"uid {os.geteuid()}",
        advice="All sandboxes share this uid outside: limits counted per uid are shared, too.",
    )


def _namespaces() -> Finding:
    if sys.platform != "linux":
        return Finding(name="namespaces", value="none", good=False)
    result = subprocess.run(
        [sys.executable, "-I", "-S", "-c", _PROBE, str(kernel.ALL_NAMESPACES)],
        check=False,
        timeout=30,
    )
    if result.returncode == 0:
        return Finding(name="namespaces", value="user, mount, pid, net, ipc, uts, cgroup")
    reason = os.strerror(result.returncode) if result.returncode > 0 else "the probe died"
    return Finding(
        name="namespaces",
        value=f"cannot be made: {reason}",
        good=False,
        advice=" ".join(_namespace_advice())
        or "In a container, its seccomp profile must allow unshare, clone and mount.",
    )


def _namespace_advice() -> list[str]:
    advice = []
    if _number("/proc/sys/user/max_user_namespaces") == 0:
        advice.append("Set sysctl user.max_user_namespaces above 0.")
    if _number("/proc/sys/kernel/unprivileged_userns_clone") == 0:
        advice.append("Set sysctl kernel.unprivileged_userns_clone=1.")
    if _number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == 1:
        advice.append(
            "AppArmor keeps user namespaces from unconfined programs (Ubuntu 23.10 and newer): set "
            "sysctl kernel.apparmor_restrict_unprivileged_userns=0, or give this Python a profile "
            "with the rule 'userns,'."
        )
    return advice


def _seccomp() -> Finding:
    good = pathlib.Path("/proc/sys/kernel/seccomp/actions_avail").exists()
    advice = "" if good else "The kernel needs CONFIG_SECCOMP_FILTER."
    return Finding(name="seccomp", value="filters" if good else "none", good=good, advice=advice)


def _control_groups() -> Finding:
    if sys.platform != "linux":
        return Finding(name="cgroups", value="none")
    try:
        controllers = cgroup.writable_controllers()
    except OSError:
        controllers = ()
    unified = pathlib.Path("/sys/fs/cgroup/cgroup.controllers").exists()
    if controllers:
        return Finding(
            name="cgroups",
            value=f"version {2 if unified else 1}: {', '.join(controllers)}",
            advice="Each sandbox gets a group of its own.",
        )
    return Finding(
        name="cgroups",
        value="none can be made",
        advice="Rlimits and the guest's watch are what bounds a sandbox"
        + (": start by systemd-run --user --scope for groups, too." if unified else "; root can."),
    )


def _memory() -> Finding:
    total = _memory_field("MemTotal") / 2**30
    available = _memory_field("MemAvailable") / 2**30
    return Finding(name="memory", value=f"{available:.1f} of {total:.1f} GiB available")


def _capacities() -> list[Capacity]:
    _, hard_files = resource.getrlimit(resource.RLIMIT_NOFILE)
    capacities = [
        Capacity(
            limit="memory for idle sandboxes, 2 MiB each",
            sandboxes=max(0, _memory_field("MemAvailable") - _RESERVED_BYTES)
            // _KERNEL_AND_GUEST_BYTES,
            advice="More memory, or fewer preloaded modules.",
        ),
        Capacity(
            limit=f"RLIMIT_NOFILE {hard_files}",
            sandboxes=max(0, hard_files - _RESERVED_FILES),
            advice="Raise the hard limit of open files (ulimit -Hn, LimitNOFILE=).",
        ),
        Capacity(limit="8192 sandboxes a zygote", sandboxes=8192, advice="Use more processes."),
    ]
    for path, each, reserved in (
        ("/proc/sys/kernel/pid_max", _PROCESSES_EACH, _RESERVED_PROCESSES),
        ("/proc/sys/kernel/threads-max", _PROCESSES_EACH, _RESERVED_PROCESSES),
        ("/proc/sys/user/max_user_namespaces", 1, 1),
        ("/proc/sys/user/max_net_namespaces", 1, 1),
        ("/proc/sys/user/max_mnt_namespaces", 1, 1),
        ("/proc/sys/user/max_pid_namespaces", 1, 1),
    ):
        value = _number(path)
        if value is not None:
            name = path.removeprefix("/proc/sys/").replace("/", ".")
            capacities.append(
                Capacity(
                    limit=f"{name} {value}",
                    sandboxes=max(0, value - reserved) // each,
                    advice=f"Raise sysctl {name}.",
                )
            )
    return capacities


def _number(path: str) -> int | None:
    try:
        return int(pathlib.Path(path).read_text())
    except (OSError, ValueError):
        return None


def _memory_field(name: str) -> int:
    try:
        lines = pathlib.Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(name + ":")), 0)
