"""A resource is used up while sandboxes are made: a typed error, nothing lost, and recovery."""

import contextlib
import os
import pathlib
import resource
import subprocess
import sys
import uuid

import pytest

from execgym.sandbox import (
    Limits,
    SandboxError,
    SandboxFileError,
    SandboxSpec,
    Template,
    open_sandbox,
    run_sync,
)

SCARCE = Template(modules=("netrc",))
"""A template that no other test uses: its zygote is given too little."""
SPEC = SandboxSpec(template=SCARCE, backend="namespace")
GROUPS = pathlib.Path("/sys/fs/cgroup")

START = """
import asyncio, os, resource, sys
from execgym.sandbox import SandboxError, SandboxSpec, close_zygotes, namespace, open_sandbox

SPEC = SandboxSpec(backend="namespace")

async def attempt():
    try:
        async with asyncio.timeout(20), await open_sandbox(SPEC) as sandbox:
            return (await sandbox.run_python("print(1)")).ok
    except SandboxError as error:
        return type(error).__name__

def descriptors():
    return len(os.listdir("/proc/self/fd"))
"""


def play(code, *, before=None):
    """Run a program that opens sandboxes of its own, and return what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", START + code],
        capture_output=True,
        text=True,
        timeout=120,
        preexec_fn=before,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.split()


def serves(spec=SPEC):
    async def main():
        async with await open_sandbox(spec) as sandbox:
            return (await sandbox.run_python("print(1)")).ok

    return run_sync(main())


def test_no_descriptors_left_on_the_host_is_a_typed_error_and_passes(victims_of):
    outcomes = play(
        """
async def main():
    assert await attempt() is True
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    before = descriptors()
    seen = set()
    for spare in range(8):
        # One is open only while it counts.
        resource.setrlimit(resource.RLIMIT_NOFILE, (before - 1 + spare, hard))
        seen.add(await attempt())
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    assert await attempt() is True
    assert descriptors() == before, (descriptors(), before)
    print(*seen)

asyncio.run(main())
"""
    )
    assert set(outcomes) == {"True", "SandboxStartError"}


def test_too_few_descriptors_to_start_a_zygote_is_a_typed_error_and_passes():
    outcomes = play(
        """
async def main():
    await asyncio.to_thread(int)
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    before = descriptors()
    seen = set()
    for spare in range(8):
        # The hard limit stays: a zygote of root's would otherwise get by with more.
        resource.setrlimit(resource.RLIMIT_NOFILE, (before - 1 + spare, hard))
        namespace.HostZygote.__init__.__globals__["Zygote"].__init__.__globals__[
            "raise_file_limit"
        ] = lambda: None
        seen.add(await attempt())
        close_zygotes()
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    assert await attempt() is True
    close_zygotes()
    assert descriptors() == before, (descriptors(), before)
    print(*seen)

asyncio.run(main())
"""
    )
    assert set(outcomes) <= {"True", "SandboxStartError"}
    assert "SandboxStartError" in outcomes


@pytest.mark.root
@pytest.mark.parametrize(("what", "few"), [(resource.RLIMIT_NOFILE, 8), (resource.RLIMIT_NPROC, 1)])
def test_a_zygote_that_has_too_little_says_so_and_goes_on(victims_of, what, few):
    assert serves()
    zygote = victims_of(SCARCE).zygote
    before = resource.prlimit(zygote, what)
    for limit in range(few, few + 8):
        resource.prlimit(zygote, what, (limit, before[1]))
        # Any sandbox that waits ready is used up.
        for _ in range(2):
            with contextlib.suppress(SandboxError):
                assert serves()
    resource.prlimit(zygote, what, before)
    assert serves()
    assert victims_of(SCARCE).zygote == zygote


@pytest.fixture
def group():
    """A function that makes a control group of version 1 with limits, for a process to enter."""
    made = []

    def make(controller, **limits):
        own = GROUPS / controller
        if os.geteuid() != 0 or not (own / "cgroup.procs").exists():
            pytest.skip(f"no control group of version 1 for {controller} can be made here")
        folder = own / f"faults-{uuid.uuid4().hex[:12]}"
        folder.mkdir()
        made.append(folder)
        for name, value in limits.items():
            (folder / f"{controller}.{name}").write_text(str(value))
        return folder

    yield make
    for folder in made:
        for below in sorted(folder.rglob("*"), reverse=True):
            if below.is_dir():
                below.rmdir()
        folder.rmdir()


def enter(folder):
    return lambda: (folder / "cgroup.procs").write_text("0")


@pytest.mark.root
def test_no_processes_left_is_a_typed_error_and_passes(group):
    folder = group("pids")
    outcomes = play(
        f"""
GROUP = {str(folder)!r}

def limit(value):
    with open(GROUP + "/pids.max", "w") as file:
        file.write(str(value))

async def main():
    assert await attempt() is True
    with open(GROUP + "/pids.current") as file:
        now = int(file.read())
    seen = set()
    for spare in range(-2, 4):
        limit(now + spare)
        for _ in range(3):
            seen.add(await attempt())
    limit("max")
    assert await attempt() is True
    close_zygotes()
    limit(1)
    seen.add(await attempt())
    limit("max")
    assert await attempt() is True
    close_zygotes()
    print(*seen)

asyncio.run(main())
""",
        before=enter(folder),
    )
    assert "SandboxStartError" in outcomes or "SandboxError" in outcomes
    assert set(outcomes) <= {
        "True",
        "SandboxError",
        "SandboxStartError",
        "SandboxUnavailableError",
    }


@pytest.mark.root
def test_no_memory_left_is_a_typed_error_and_passes(group):
    folder = group("memory")
    outcomes = play(
        f"""
GROUP = {str(folder)!r}

def limit(value):
    with open(GROUP + "/memory.limit_in_bytes", "w") as file:
        file.write(str(value))

async def main():
    assert await attempt() is True
    seen = set()
    for spare in (0, 1024):
        with open(GROUP + "/memory.usage_in_bytes") as file:
            now = int(file.read())
        try:
            limit(now + spare * 1024)
        except OSError:
            continue
        boxes = []
        for _ in range(5):
            try:
                async with asyncio.timeout(20):
                    boxes.append(await open_sandbox(SPEC))
            except SandboxError as error:
                seen.add(type(error).__name__)
            else:
                seen.add(True)
        for box in boxes:
            await box.close()
        limit(-1)
        # A sandbox that waits ready may have been killed.
        await attempt()
        assert await attempt() is True
    close_zygotes()
    print(*seen)

asyncio.run(main())
""",
        before=enter(folder),
    )
    assert set(outcomes) <= {"True", "SandboxStartError", "SandboxUnavailableError"}
    assert len(outcomes) > 1


def test_a_workspace_without_room_is_refused_and_can_be_used_again():
    limits = Limits(workspace_bytes=4096, workspace_inodes=8)

    async def main():
        async with await open_sandbox(SandboxSpec(template=SCARCE, limits=limits)) as sandbox:
            for name in ("a", "deep/er/and/deeper/still"):
                with pytest.raises(SandboxFileError):
                    await sandbox.write_file(name, bytes(100_000))
            await sandbox.run_command(["rm", "-r", "/workspace/a", "/workspace/deep"])
            await sandbox.write_file("a", b"small")
            assert await sandbox.read_file("a") == b"small"

    run_sync(main())
