"""Every attack is followed by the same questions: do host, neighbour and sandbox still stand?"""

import contextlib
import os
import pathlib
import time
from collections.abc import Callable, Iterator

import pytest

from execgym.sandbox import (
    CommandResult,
    Limits,
    Sandbox,
    SandboxSpec,
    Template,
    namespace,
    open_sandbox,
    run_sync,
)

DEADLINE_SECONDS = 20.0
TEMPLATE = Template(modules=("sched",))
"""Attacks have a zygote of their own, so that what they leave can be told from other tests'."""

SYSTEM_CALLS = """
import ctypes, errno, os, platform, sys
_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long
def call(number, *arguments):
    '''Make a system call and return its result, or the name of its error.'''
    ctypes.set_errno(0)
    words = [ctypes.c_ulong(argument & (2**64 - 1)) for argument in arguments]
    result = _libc.syscall(ctypes.c_long(number), *words)
    return errno.errorcode[ctypes.get_errno()] if result < 0 else result
"""


def children_of(pid: int) -> set[int]:
    """Return the sandboxes in use that this zygote has made, by number on the host."""
    found = set()
    for name in os.listdir("/proc"):
        with contextlib.suppress(OSError):
            if name.isdigit():
                text = pathlib.Path(f"/proc/{name}/stat").read_text()
                in_use = "(sandbox)" in text
                if in_use and int(text.rpartition(")")[2].split()[1]) == pid:
                    found.add(int(name))
    return found


@pytest.fixture
def eventually() -> Callable[[Callable[[], object]], None]:
    """A function that waits until a condition holds, and fails when it does not in time."""

    def wait(holds: Callable[[], object]) -> None:
        deadline = time.monotonic() + DEADLINE_SECONDS
        while not holds():
            assert time.monotonic() < deadline, "the condition did not come true in time"
            time.sleep(0.02)

    return wait


@pytest.fixture
def system_calls() -> str:
    """Code that lets a program make system calls by number: `call(number, ...)`."""
    return SYSTEM_CALLS


@pytest.fixture
def processes() -> Callable[[], set[int]]:
    """A function that returns the host's numbers of all sandboxes' first processes."""
    return lambda: children_of(namespace._registry.get(TEMPLATE)._process.pid)


@pytest.fixture
def neighbour(processes: Callable[[], set[int]], eventually) -> Iterator[Sandbox]:
    """A sandbox beside the attacked one, which must not notice a thing."""
    sandbox = run_sync(open_sandbox(SandboxSpec(template=TEMPLATE)))
    try:
        run_sync(sandbox.write_file("mine", b"untouched"))
        yield sandbox
        result = run_sync(sandbox.run_python("print(open('mine').read(), 6 * 7)"))
        assert (result.stdout, result.exit_code) == (b"untouched 42\n", 0)
        assert run_sync(sandbox.stats()).processes == 1
    finally:
        run_sync(sandbox.close())
    eventually(lambda: not processes())


@pytest.fixture
def open_one(neighbour: Sandbox) -> Iterator[Callable[..., Sandbox]]:
    """A function that opens a sandbox to attack, with other limits if they are given by name."""
    with contextlib.ExitStack() as stack:

        def open_with(**limits: float) -> Sandbox:
            spec = SandboxSpec(template=TEMPLATE, limits=Limits(**limits))
            sandbox = run_sync(open_sandbox(spec))
            stack.callback(lambda: run_sync(sandbox.close()))
            return sandbox

        yield open_with


@pytest.fixture
def sandbox(open_one: Callable[..., Sandbox]) -> Sandbox:
    """A sandbox to attack, which must answer afterwards."""
    return open_one()


@pytest.fixture
def attack(open_one: Callable[..., Sandbox]) -> Callable[..., CommandResult]:
    """A function that runs code in a new sandbox, which must answer truthfully afterwards."""

    def run(code: str, **limits: float) -> CommandResult:
        sandbox = open_one(**limits)
        result = run_sync(sandbox.run_python(code))
        after = run_sync(sandbox.run_python("print('alive')"))
        assert (after.stdout, after.exit_code) == (b"alive\n", 0), after.stderr
        assert run_sync(sandbox.stats()).processes == 1
        return result

    return run
