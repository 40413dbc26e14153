"""The system call filter, run by a small interpreter of the kernel's filter language."""

import errno
import struct

import pytest

from execgym.sandbox import seccomp

ALLOW, KILL = 0x7FFF0000, 0x80000000
ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
EPERM, ENOSYS = 0x50000 | errno.EPERM, 0x50000 | errno.ENOSYS


def decide(machine, number, *arguments, architecture=None):
    """Return what the filter answers to a system call; see the kernel's `struct seccomp_data`."""
    program = list(struct.iter_unpack("=HBBI", seccomp.build_filter(machine)))
    padded = (*arguments, 0, 0, 0, 0, 0, 0)[:6]
    data = struct.pack(
        "=IIQ6Q", number, architecture or ARCHITECTURES[machine], 0, *(a % 2**64 for a in padded)
    )
    accumulator = place = 0
    while True:
        code, if_true, if_false, operand = program[place]
        place += 1
        if code == 0x20:
            (accumulator,) = struct.unpack_from("=I", data, operand)
        elif code == 0x54:
            accumulator &= operand
        elif code == 0x05:
            place += operand
        elif code == 0x06:
            return operand
        else:
            holds = {
                0x15: accumulator == operand,
                0x35: accumulator >= operand,
                0x45: bool(accumulator & operand),
            }[code]
            place += if_true if holds else if_false


@pytest.mark.parametrize("machine", ARCHITECTURES)
def test_every_denied_call_is_denied_and_its_neighbours_are_not(machine):
    column = list(ARCHITECTURES).index(machine)
    denied = {pair[column] for pair in seccomp._DENIED.values()} - {-1}
    for number in range(seccomp._FIRST_UNREVIEWED):
        answer = decide(machine, number)
        if number == 435:
            assert answer == ENOSYS
        elif number in denied:
            assert answer == EPERM, number
        else:
            # With arguments of zero, only a socket of no family and ioprio of no kind are refused.
            assert answer == ALLOW or number in (41, 53, 198, 199, 251, 30), number


@pytest.mark.parametrize("machine", ARCHITECTURES)
@pytest.mark.parametrize("number", [463, 500, 1 << 30, (1 << 30) + 1, 2**32 - 1])
def test_what_nobody_reviewed_is_missing(machine, number):
    assert decide(machine, number) == ENOSYS


@pytest.mark.parametrize("machine", ARCHITECTURES)
def test_another_architecture_is_death(machine):
    assert decide(machine, 1, architecture=0x40000003) == KILL


@pytest.mark.parametrize(
    ("machine", "clone", "socket"), [("x86_64", 56, 41), ("aarch64", 220, 198)], ids=str
)
def test_arguments_decide_where_they_must(machine, clone, socket):
    fork, thread = 17, 0x3D0F00
    assert decide(machine, clone, fork) == ALLOW
    assert decide(machine, clone, thread) == ALLOW
    for namespace in (0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000):
        assert decide(machine, clone, fork | namespace) == EPERM
    cloexec = 0o2000000
    for family in (1, 2, 10):
        assert decide(machine, socket, family, 1 | cloexec, 0) == ALLOW
        assert decide(machine, socket, family, 2, 17) == ALLOW
        assert decide(machine, socket, family, 3, 0) == EPERM
        assert decide(machine, socket, family, 1, 132) == EPERM
    for family in (0, 3, 15, 16, 17, 38, 40, 44):
        assert decide(machine, socket, family, 1, 0) == EPERM


def test_an_unknown_machine_is_an_error():
    with pytest.raises(OSError, match="riscv64"):
        seccomp.build_filter("riscv64")


@pytest.mark.parametrize(("machine", "number"), [("x86_64", 72), ("aarch64", 25)])
def test_a_descriptor_is_controlled_but_no_folder_watched(machine, number):
    assert decide(machine, number, 3, 1026) == EPERM
    for command in (0, 1, 2, 3, 4, 5, 6, 7, 36, 37, 38, 1024, 1030, 1031, 1033):
        assert decide(machine, number, 3, command) == ALLOW
