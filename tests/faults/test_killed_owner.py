"""The process of the user is killed: what it had goes at once, whoever collects the dead."""

import glob
import os
import pathlib
import signal
import subprocess
import sys

import pytest

SANDBOXES = 60
OWNER = """
import asyncio, sys
from execgym.sandbox import SandboxSpec, namespace, open_sandbox

async def main():
    spec = SandboxSpec(backend="namespace")
    held = [await open_sandbox(spec) for _ in range(int(sys.argv[1]))]
    running = [await each.start_python("import time; time.sleep(1000)") for each in held[:10]]
    print(namespace._registry.get(spec.template)._process.pid, flush=True)
    await asyncio.sleep(1000)

asyncio.run(main())
"""


def state(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()[:2]
    except OSError:
        return ["gone", ""]


def children(parent):
    return {
        int(entry.name)
        for entry in pathlib.Path("/proc").glob("[0-9]*")
        if state(entry.name)[1] == str(parent)
    }


def groups_of(zygote):
    return glob.glob(f"/sys/fs/cgroup/**/execgym-{zygote}-*", recursive=True)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
def test_an_owner_that_is_killed_leaves_no_sandbox_and_no_group(eventually, number):
    with subprocess.Popen(
        [sys.executable, "-c", OWNER, str(SANDBOXES)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    ) as owner:
        zygote = int(owner.stdout.readline())
        sandboxes = children(zygote)
        assert len(sandboxes) >= SANDBOXES
        owner.send_signal(number)
    # Its zygote has collected them: only that is left to this machine's init, which may be slow.
    eventually(lambda: all(state(pid)[0] == "gone" for pid in sandboxes))
    eventually(lambda: state(zygote)[0] in ("gone", "Z"))
    eventually(lambda: not groups_of(zygote))
