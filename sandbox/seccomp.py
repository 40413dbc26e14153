"""The seccomp filter of a sandbox.

A deny list over the native system calls, since what honest programs need is long and grows, closed
upwards: a call that is newer than the newest one reviewed here answers ENOSYS, as an older kernel
would, and so does every call of another ABI. Namespaces and dropped capabilities are the wall; the
filter takes away kernel surface behind which the wall has had holes (after isolate's, bubblewrap's
and Docker's change logs). Standard library only.
"""

from __future__ import annotations

import errno
import socket
import struct
from typing import Tuple

_LOAD = 0x20
_EQUAL = 0x15
_AT_LEAST = 0x35
_ANY_BIT = 0x45
_RETURN = 0x06
_AND = 0x54
_JUMP = 0x05

_ALLOW = 0x7FFF0000
_ERROR = 0x00050000
_KILL = 0x80000000

_OFFSET_NUMBER = 0
_OFFSET_ARCHITECTURE = 4

_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_X32_BIT = 0x40000000
_FIRST_UNREVIEWED = 463

# Numbers from 424 on are the same on every architecture. (x86_64, aarch64), -1 where it is missing.
_DENIED: dict[str, tuple[int, int]] = {
    "_sysctl": (156, -1),
    "acct": (163, 89),
    "add_key": (248, 217),
    "adjtimex": (159, 171),
    "bpf": (321, 280),
    "chroot": (161, 51),
    "clock_adjtime": (305, 266),
    "clock_settime": (227, 112),
    "create_module": (174, -1),
    "delete_module": (176, 106),
    "fanotify_init": (300, 262),
    "fanotify_mark": (301, 263),
    "finit_module": (313, 273),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "fspick": (433, 433),
    "get_kernel_syms": (177, -1),
    "get_mempolicy": (239, 236),
    "init_module": (175, 105),
    # Watches on files of the image would tell what the host and other sandboxes do with them.
    "inotify_init": (253, -1),
    "inotify_init1": (294, 26),
    # The number of its events is bounded for the whole host, so one sandbox could use it up.
    "io_setup": (206, 0),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425),
    "ioperm": (173, -1),
    "iopl": (172, -1),
    "kcmp": (312, 272),
    "kexec_file_load": (320, 294),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "listmount": (458, 458),
    "lookup_dcookie": (212, 18),
    "mbind": (237, 235),
    # Memory that no process maps is charged to none: without a cgroup nothing would bound it.
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    "migrate_pages": (256, 238),
    # System V queues and semaphores are charged to nobody; shared memory stands below.
    "msgget": (68, 186),
    "semget": (64, 190),
    "modify_ldt": (154, -1),
    "mount": (165, 40),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "move_pages": (279, 239),
    "name_to_handle_at": (303, 264),
    "nfsservctl": (180, 42),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "perf_event_open": (298, 241),
    "personality": (135, 92),
    "pidfd_getfd": (438, 438),
    "pivot_root": (155, 41),
    "process_madvise": (440, 440),
    "process_mrelease": (448, 448),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "ptrace": (101, 117),
    "query_module": (178, -1),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "reboot": (169, 142),
    "request_key": (249, 218),
    "set_mempolicy": (238, 237),
    "set_mempolicy_home_node": (450, 450),
    "setdomainname": (171, 162),
    "sethostname": (170, 161),
    "setns": (308, 268),
    "settimeofday": (164, 170),
    "shmget": (29, 194),
    "statmount": (457, 457),
    "swapoff": (168, 225),
    "swapon": (167, 224),
    "syslog": (103, 116),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "uselib": (134, -1),
    "userfaultfd": (323, 282),
    "ustat": (136, -1),
    "vhangup": (153, 58),
}
_CLONE = {"x86_64": 56, "aarch64": 220}
_CLONE3 = 435
_SOCKET = {"x86_64": 41, "aarch64": 198}
_SOCKETPAIR = {"x86_64": 53, "aarch64": 199}
_IOCTL = {"x86_64": 16, "aarch64": 29}
_FCNTL = {"x86_64": 72, "aarch64": 25}
_PRLIMIT64 = {"x86_64": 302, "aarch64": 261}
_SETPRIORITY = {"x86_64": 141, "aarch64": 140}
_IOPRIO_SET = {"x86_64": 251, "aarch64": 30}
# sched_setparam, sched_setscheduler, sched_setaffinity, sched_setattr
_SCHEDULING = {"x86_64": (142, 144, 203, 314), "aarch64": (118, 119, 122, 274)}
_MKNOD = {"x86_64": (133, 1), "aarch64": (-1, 0)}
_MKNODAT = {"x86_64": (259, 2), "aarch64": (33, 2)}

_NAMESPACE_FLAGS = 0x7E020000
_TERMINAL_INJECTION = (0x5412, 0x541C)
# F_NOTIFY, inotify's predecessor.
_NOTIFY = 1026
_SOCKET_FAMILIES = (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6)
_SOCKET_TYPES = (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET)
_SOCKET_TYPE_MASK = 0xF
# The default, AF_UNIX's own number, TCP and UDP: others would load kernel modules.
_SOCKET_PROTOCOLS = (0, 1, socket.IPPROTO_TCP, socket.IPPROTO_UDP)
_PRIO_PROCESS = 0
_IOPRIO_WHO_PROCESS = 1
_FIRST_PROCESS = 1
_DEVICE_KINDS = (0x2000, 0x6000)
_FILE_KIND_MASK = 0xF000


_Line = Tuple[int, str, str, int]
"""Code, label to go on at if true, the same if false ("" is the next line), operand."""


def denied_names() -> set[str]:
    """Return the names of the calls that the filter denies whatever their arguments."""
    return set(_DENIED)


def build_filter(machine: str) -> bytes:
    """Return the filter for an architecture as packed `struct sock_filter`s.

    Denied numbers are searched for by halving. The kernel runs the filter once for each system call
    when it is installed, to learn which are always allowed, so a long chain of comparisons would
    cost every sandbox's creation.
    """
    if machine not in _ARCHITECTURES:
        raise OSError(f"no seccomp filter is known for {machine}")
    column = 0 if machine == "x86_64" else 1
    denied = sorted({pair[column] for pair in _DENIED.values()} - {-1})
    lines: list[_Line | str] = [
        (_LOAD, "", "", _OFFSET_ARCHITECTURE),
        (_EQUAL, "native", "", _ARCHITECTURES[machine]),
        (_RETURN, "", "", _KILL),
        "native",
        (_LOAD, "", "", _OFFSET_NUMBER),
        # x32 calls carry a bit that makes them larger than every reviewed number, too.
        (_AT_LEAST, "missing", "", _FIRST_UNREVIEWED),
        # glibc falls back to clone, whose flags can be read here; clone3's lie in memory.
        (_EQUAL, "missing", "search", _CLONE3),
        "missing",
        (_RETURN, "", "", _ERROR | errno.ENOSYS),
        "search",
        *_search(denied, "denied", "conditions"),
        "denied",
        (_RETURN, "", "", _ERROR | errno.EPERM),
        "conditions",
        *_conditions(machine),
        "allowed",
        (_RETURN, "", "", _ALLOW),
        "refused",
        (_RETURN, "", "", _ERROR | errno.EPERM),
    ]
    return _assemble(lines)


def _search(numbers: list[int], found: str, other: str) -> list[_Line | str]:
    if len(numbers) <= 3:
        lines: list[_Line | str] = [(_EQUAL, found, "", number) for number in numbers]
        return [*lines, (_JUMP, other, "", 0)]
    middle = len(numbers) // 2
    upper = f"from {numbers[middle]}"
    return [
        (_AT_LEAST, upper, "", numbers[middle]),
        *_search(numbers[:middle], found, other),
        upper,
        *_search(numbers[middle:], found, other),
    ]


def _conditions(machine: str) -> list[_Line | str]:
    """Look at the arguments of the calls that are allowed with some of them only."""
    lines: list[_Line | str] = []

    def when(number: int, body: list[_Line | str]) -> None:
        if number >= 0:
            after = f"not {number}"
            lines.extend([(_EQUAL, "", after, number), *body, after])

    when(_CLONE[machine], [_load(0), (_ANY_BIT, "refused", "allowed", _NAMESPACE_FLAGS)])
    for number in (_SOCKET[machine], _SOCKETPAIR[machine]):
        kind, protocol = f"kind {number}", f"protocol {number}"
        when(
            number,
            [
                _load(0),
                *((_EQUAL, kind, "", family) for family in _SOCKET_FAMILIES),
                (_JUMP, "refused", "", 0),
                kind,
                _load(1),
                (_AND, "", "", _SOCKET_TYPE_MASK),
                *((_EQUAL, protocol, "", allowed) for allowed in _SOCKET_TYPES),
                (_JUMP, "refused", "", 0),
                protocol,
                _load(2),
                *((_EQUAL, "allowed", "", allowed) for allowed in _SOCKET_PROTOCOLS),
                (_JUMP, "refused", "", 0),
            ],
        )
    when(
        _IOCTL[machine],
        [
            _load(1),
            *((_EQUAL, "refused", "", request) for request in _TERMINAL_INJECTION),
            (_JUMP, "allowed", "", 0),
        ],
    )
    when(_FCNTL[machine], [_load(1), (_EQUAL, "refused", "allowed", _NOTIFY)])
    # A process may see and set its own limits only: PID 1 has the same uid.
    when(_PRLIMIT64[machine], [_load(0), (_EQUAL, "allowed", "refused", 0)])
    # Nor may it slow PID 1, which keeps the time.
    for number, process in (
        (_SETPRIORITY[machine], _PRIO_PROCESS),
        (_IOPRIO_SET[machine], _IOPRIO_WHO_PROCESS),
    ):
        when(
            number,
            [
                _load(0),
                (_EQUAL, "", "refused", process),
                _load(1),
                (_EQUAL, "refused", "allowed", _FIRST_PROCESS),
            ],
        )
    for number in _SCHEDULING[machine]:
        when(number, [_load(0), (_EQUAL, "refused", "allowed", _FIRST_PROCESS)])
    for number, argument in (_MKNOD[machine], _MKNODAT[machine]):
        when(
            number,
            [
                _load(argument),
                (_AND, "", "", _FILE_KIND_MASK),
                *((_EQUAL, "refused", "", kind) for kind in _DEVICE_KINDS),
                (_JUMP, "allowed", "", 0),
            ],
        )
    return lines


def _assemble(lines: list[_Line | str]) -> bytes:
    places: dict[str, int] = {}
    program: list[_Line] = []
    for line in lines:
        if isinstance(line, str):
            places[line] = len(program)
        else:
            program.append(line)
    packed = []
    for index, (code, if_true, if_false, operand) in enumerate(program):
        true_jump = places[if_true] - index - 1 if if_true else 0
        false_jump = places[if_false] - index - 1 if if_false else 0
        if code == _JUMP:
            true_jump, operand = 0, true_jump
        packed.append(struct.pack("=HBBI", code, true_jump, false_jump, operand))
    return b"".join(packed)


def _load(argument: int) -> _Line:
    # The low half of a 64-bit argument on these little-endian machines. The kernel itself reads
    # each of the arguments that are looked at here as 32 bits.
    return (_LOAD, "", "", 16 + 8 * argument)
