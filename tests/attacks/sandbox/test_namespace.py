"""What the backend `namespace` hides by itself, where a container would have its image's own."""

import contextlib
import os
import pathlib

import pytest

from execgym.sandbox import Limits, SandboxSpec, Template, namespace, open_sandbox, run_sync

TEMPLATE = Template(modules=("sched",))
"""A zygote of its own, so that its sandboxes can be told from other tests'."""
SPEC = SandboxSpec(template=TEMPLATE, backend="namespace", limits=Limits(cpu_seconds=60))
HIDDEN = (
    "/root/.bashrc",
    "/etc/shadow",
    "/etc/resolv.conf",
    "/etc/machine-id",
    "/home",
    "/var",
    "/run",
    "/sys",
    "/boot",
    "/mnt",
    "/dev/mem",
    "/dev/kmsg",
    "/dev/vda",
    "/dev/pts",
    "/dev/tty",
    "/var/run/docker.sock",
)


@pytest.fixture
def sandbox():
    opened = run_sync(open_sandbox(SPEC))
    yield opened
    run_sync(opened.close())


def children_of(pid):
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


def host_uids(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("Uid:"))
    return frozenset(int(field) for field in line.split()[1:])


def test_the_hosts_folders_are_not_there(sandbox):
    code = f"""
import os, sys
# The interpreter's own folder may be below one of them.
own = [sys.prefix, sys.base_prefix, os.path.realpath(sys.base_prefix)]
for path in {HIDDEN!r}:
    if os.path.lexists(path) and not any(prefix.startswith(path + '/') for prefix in own):
        print(path)
"""
    result = run_sync(sandbox.run_python(code))
    assert (result.stdout, result.exit_code) == (b"", 0)


def test_nothing_of_execgym_is_in_the_tree(sandbox):
    package = pathlib.Path(namespace.__file__).resolve().parents[1]
    code = f"""
import os
print(os.path.exists({str(package / "sandbox" / "guest.py")!r}))
print([folder for folder, _, names in os.walk('/') if 'zygote.py' in names])
"""
    assert run_sync(sandbox.run_python(code)).stdout == b"False\n[]\n"


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="only root maps sandboxes to uids of their own")
def test_each_sandbox_has_an_unprivileged_host_uid_of_its_own(sandbox):
    zygote = namespace._registry.get(TEMPLATE)._process.pid
    before = children_of(zygote)
    others = [run_sync(open_sandbox(SPEC)) for _ in range(2)]
    try:
        uids = {host_uids(pid) for pid in children_of(zygote) - before}
    finally:
        for other in others:
            run_sync(other.close())
    assert len(uids) == 2
    assert all(1 << 30 <= uid < 1 << 31 for each in uids for uid in each)


def test_a_limit_of_the_hosts_user_is_not_used_up(sandbox):
    code = """
import os, time
try:
    for _ in range(100):
        if os.fork() == 0: time.sleep(1000)
except OSError: pass
import sandbox_channel
sandbox_channel.send(b'full')
time.sleep(1000)
"""

    async def main():
        process = await sandbox.start_python(code)
        assert await process.receive() == b"full"
        async with await open_sandbox(SPEC) as other:
            result = await other.run_python("import os\nprint(os.wait() if os.fork() else 1)")
            assert result.exit_code == 0, result
        await process.kill()

    run_sync(main())
