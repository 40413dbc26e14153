"""Control groups: the kernel's own bound on a sandbox, and nothing left of it."""

import asyncio
import glob
import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import time

import pytest

from execgym.sandbox import Limits, SandboxSpec, Template, cgroup, open_sandbox
from execgym.sandbox.namespace import _registry

MIB = 1024 * 1024
SPEC = SandboxSpec(limits=Limits(memory_bytes=64 * MIB, workspace_bytes=8 * MIB, processes=8))


def groups_of(pid):
    """Return the folders of a zygote's groups."""
    return glob.glob(f"/sys/fs/cgroup/**/execgym-{pid}-*", recursive=True)


def zygote_pid(template):
    return _registry.get(template)._process.pid


def wait_until(condition, seconds=20):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.01)


@pytest.fixture(autouse=True)
def groups():
    """The groups of the default template's zygote; where there can be none, there is no test."""
    if os.geteuid() != 0 or not cgroup.writable_controllers():
        pytest.skip("no control group can be made here")

    async def start():
        async with await open_sandbox(SPEC):
            return groups_of(zygote_pid(SPEC.template))

    found = asyncio.run(start())
    assert found
    return found


def run(code, spec=SPEC):
    async def main():
        async with await open_sandbox(spec) as sandbox:
            return await sandbox.run_python(textwrap.dedent(code))

    return asyncio.run(main())


def test_memory_that_belongs_to_no_process_alone_is_bounded_too():
    result = run("""
        import mmap
        shared = mmap.mmap(-1, 1 << 30, flags=mmap.MAP_SHARED | mmap.MAP_ANONYMOUS)
        for place in range(0, 1 << 30, 4096):
            shared[place] = 1
    """)
    assert result.limit == "memory"
    assert result.peak_memory_bytes < 400 * MIB


def test_processes_below_their_own_limit_are_bounded_together():
    result = run("""
        import os, time
        for _ in range(7):
            if os.fork() == 0:
                block = bytearray(b"x") * (56 << 20)
                time.sleep(60)
        block = bytearray(b"x") * (56 << 20)
        time.sleep(60)
    """)
    assert result.limit == "memory"


def test_a_sandbox_outlives_what_the_kernel_killed_in_it():
    async def main():
        async with await open_sandbox(SPEC) as sandbox:
            code = "import mmap; mmap.mmap(-1, 1 << 30, flags=33).write(b'x' * (1 << 29))"
            first = await sandbox.run_python(code)
            second = await sandbox.run_python("print('alive')")
            return first, second

    first, second = asyncio.run(main())
    assert not first.ok
    assert second.stdout == b"alive\n"
    assert second.limit == ""


def test_a_program_that_kills_itself_is_not_said_to_have_lacked_memory():
    result = run("import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    assert (result.signal, result.limit) == (signal.SIGKILL, "")


def test_the_group_is_not_seen_from_inside():
    result = run("print(open('/proc/self/cgroup').read())")
    paths = {line.split(":", 2)[2] for line in result.stdout.decode().split()}
    assert paths == {"/"}


def test_each_live_sandbox_has_a_group_of_its_own_with_its_processes(groups):
    async def main():
        async with await open_sandbox(SPEC) as one, await open_sandbox(SPEC) as other:
            await one.run_python("")
            await other.run_python("")
            folder = next(path for path in groups if "/pids/" in path or "unified" in path)
            counts = [
                int(pathlib.Path(path, "pids.current").read_text())
                for path in glob.glob(f"{folder}/sandbox-*")
            ]
            return counts

    assert sum(count >= 1 for count in asyncio.run(main())) >= 2


def test_groups_go_with_their_zygote():
    spec = SandboxSpec(template=Template(modules=("colorsys",)))

    async def main():
        async with await open_sandbox(spec):
            return zygote_pid(spec.template)

    pid = asyncio.run(main())
    assert groups_of(pid)
    _registry.forget(spec.template, _registry.get(spec.template))
    wait_until(lambda: not groups_of(pid))


def test_groups_go_when_the_zygote_is_killed():
    spec = SandboxSpec(template=Template(modules=("quopri",)))

    async def main():
        sandbox = await open_sandbox(spec)
        pid = zygote_pid(spec.template)
        os.kill(pid, signal.SIGKILL)
        await sandbox.close()
        return pid

    pid = asyncio.run(main())
    wait_until(lambda: not groups_of(pid))


def test_groups_go_when_the_owner_is_killed():
    code = """
        import asyncio, os, sys
        from execgym.sandbox import SandboxSpec, open_sandbox
        from execgym.sandbox.namespace import _registry
        async def main():
            sandbox = await open_sandbox(SandboxSpec())
            print(_registry.get(SandboxSpec().template)._process.pid, flush=True)
            await asyncio.sleep(600)
        asyncio.run(main())
    """
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, text=True
    ) as owner:
        pid = int(owner.stdout.readline())
        assert groups_of(pid)
        owner.kill()
    wait_until(lambda: not groups_of(pid))


def test_groups_that_nobody_removed_are_swept_by_the_next_zygote(groups):
    parent = os.path.dirname(groups[0])
    left = os.path.join(parent, "execgym-4194000-1")
    os.makedirs(os.path.join(left, "sandbox-0"))
    cgroup._sweep(parent)
    assert not os.path.exists(left)


def test_a_group_of_a_living_zygote_is_not_swept(groups):
    cgroup._sweep(os.path.dirname(groups[0]))
    assert os.path.isdir(groups[0])


def test_a_command_cannot_have_more_memory_than_its_sandbox():
    async def main():
        async with await open_sandbox(SPEC) as sandbox:
            await sandbox.run_python("", limits=Limits(memory_bytes=65 * MIB, processes=8))

    with pytest.raises(ValueError, match="memory_bytes may be at most its sandbox's"):
        asyncio.run(main())


def test_a_process_is_born_into_a_group_of_version_2(tmp_path):
    mount = next((m for c, m in cgroup._hierarchies().items() if c == ""), None)
    if mount is None:
        pytest.skip("the kernel mounts no cgroup2 here")
    folder = pathlib.Path(mount[1], f"execgym-test-{os.getpid()}")
    folder.mkdir()
    try:
        code = (
            "import os, sys\n"
            "from execgym.sandbox import kernel\n"
            "fd = os.open(sys.argv[1], os.O_RDONLY)\n"
            "pid = kernel.clone(kernel.CLONE_NEWIPC, fd)\n"
            "if pid == 0:\n"
            "    line = [l for l in open('/proc/self/cgroup') if l.startswith('0::')][0]\n"
            "    os.write(1, line.encode()); os._exit(0)\n"
            "os.waitpid(pid, 0)\n"
        )
        output = subprocess.run(
            [sys.executable, "-c", code, str(folder)], capture_output=True, text=True, check=True
        ).stdout
        assert output.strip().endswith(folder.name)
    finally:
        wait_until(lambda: not os.path.exists(folder / "cgroup.procs") or _removed(folder))


def _removed(folder):
    try:
        folder.rmdir()
    except OSError:
        return False
    return True


def unified_tree(tmp_path, enabled):
    inner = tmp_path / "slice" / "scope"
    inner.mkdir(parents=True)
    for folder, names in ((tmp_path, "cpu memory pids"), (inner.parent, enabled), (inner, "")):
        (folder / "cgroup.subtree_control").write_text(names)
    return inner


def test_on_version_2_the_group_is_made_beside_its_owners_own(tmp_path):
    inner = unified_tree(tmp_path, "memory pids")
    place = cgroup._unified_place(str(inner), str(tmp_path))
    assert place == (2, ("memory", "pids"), str(inner.parent))


def test_on_version_2_the_search_goes_up_to_where_controllers_are_given(tmp_path):
    inner = unified_tree(tmp_path, "")
    place = cgroup._unified_place(str(inner), str(tmp_path))
    assert place == (2, ("memory", "pids", "cpu"), str(tmp_path))


def test_a_group_survives_being_written_down():
    group = cgroup.Group(1, ("memory", "pids"), 7)
    assert cgroup.read_description(cgroup.describe(group)) == group


def test_the_bound_leaves_room_for_the_workspace_and_the_kernel():
    shape = {"memory_bytes": 100, "workspace_bytes": 10, "processes": 3}
    bounds = cgroup.bounds_of(shape, 2, 5)
    assert bounds.memory_bytes - cgroup._SLACK_BYTES == 215
    assert bounds.processes == 4
