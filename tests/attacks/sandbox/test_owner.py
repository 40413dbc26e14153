"""The user's process is killed, or is an ordinary user's."""

import contextlib
import os
import pathlib
import signal
import subprocess
import sys

OWNER = """
import asyncio, os, sys
from execgym.sandbox import SandboxSpec, open_sandbox
async def main():
    sandboxes = [await open_sandbox(SandboxSpec()) for _ in range(50)]
    programs = [await each.start_python("import os, time; os.fork(); time.sleep(600)")
                for each in sandboxes]
    print("up", flush=True)
    await asyncio.sleep(600)
asyncio.run(main())
"""


@contextlib.contextmanager
def started(code, folder):
    """Start an owner whose temporary files would lie in a folder."""
    environment = {**os.environ, "TMPDIR": str(folder)}
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=environment
    ) as owner:
        try:
            yield owner
        finally:
            owner.kill()


def _state():
    """Return what a leak would add to: mounts and named sockets. Those of Docker are others'."""
    mounts = pathlib.Path("/proc/self/mountinfo").read_text().splitlines()
    sockets = pathlib.Path("/proc/net/unix").read_text().splitlines()
    return {
        *(line for line in mounts if "docker" not in line),
        *(line.split()[7] for line in sockets if "execgym" in line and "docker" not in line),
    }


def _descendants(root):
    parents = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                text = pathlib.Path("/proc", name, "stat").read_bytes()
            except OSError:
                continue
            parents[int(name)] = int(text.rpartition(b")")[2].split()[1])
    found, grown = set(), {root}
    while grown:
        grown = {pid for pid, parent in parents.items() if parent in grown}
        found |= grown
    return found


def _lives(pid):
    try:
        text = pathlib.Path("/proc", str(pid), "stat").read_bytes()
    except OSError:
        return False
    # A zombie is for its parent to collect, where there is one that does.
    return text.rpartition(b")")[2].split()[0] != b"Z"


def test_killing_the_owner_leaves_nothing(eventually, tmp_path):
    before = _state()
    with started(OWNER, tmp_path) as owner:
        assert owner.stdout.readline() == "up\n"
        processes = _descendants(owner.pid)
        assert len(processes) >= 1 + 50 * 2
        owner.kill()
    eventually(lambda: not any(_lives(pid) for pid in processes))
    assert _state() <= before
    assert list(tmp_path.iterdir()) == []


def test_killing_the_owner_while_its_zygote_starts_leaves_nothing(eventually, tmp_path):
    code = """
import asyncio
from execgym.sandbox import SandboxSpec, Template, open_sandbox
template = Template(sources=(("slow", "import time\\ntime.sleep(3)"),))
asyncio.run(open_sandbox(SandboxSpec(template=template)))
"""
    with started(code, tmp_path) as owner:
        eventually(lambda: _descendants(owner.pid))
        processes = _descendants(owner.pid)
        owner.kill()
    eventually(lambda: not any(_lives(pid) for pid in processes))


def test_stopping_the_zygote_does_not_keep_it(eventually, tmp_path):
    with started(OWNER, tmp_path) as owner:
        assert owner.stdout.readline() == "up\n"
        processes = _descendants(owner.pid)
        owner.send_signal(signal.SIGTERM)
    eventually(lambda: not any(_lives(pid) for pid in processes))


def test_an_ordinary_user_has_sandboxes_too(as_ordinary_user):
    code = """
import asyncio, os
from execgym.sandbox import Limits, SandboxSpec, Template, open_sandbox
INSIDE = '''
import os, re, sandbox_channel
status = open("/proc/self/status").read()
print(os.getuid(), os.getgid(), sorted(int(n) for n in os.listdir("/proc") if n.isdigit()))
print(re.findall("Cap(?:Prm|Eff|Bnd):.([0-9a-f]+)", status), re.findall("NoNewPrivs:.(.)", status))
for path in ("/proc/1/mem", "/proc/1/environ", "/etc/shadow", "/root/.bashrc"):
    try: open(path); print(path)
    except OSError: pass
'''
async def main():
    assert os.getuid() != 0
    async with await open_sandbox(SandboxSpec()) as sandbox:
        result = await sandbox.run_python(INSIDE)
        print((result.stdout + result.stderr).decode(), end="")
        await sandbox.write_file("a/b", b"x")
        print(await sandbox.list_files(), (await sandbox.stats()).processes)
        result = await sandbox.run_command(["sh", "-c", "id -u; cat a/b"])
        print(result.stdout.decode())
        bomb = "import os\\nwhile True:\\n    try: os.fork()\\n    except OSError: pass"
        limits = Limits(cpu_seconds=1, wall_seconds=3, processes=16)
        print((await sandbox.run_python(bomb, limits=limits)).limit in ("cpu", "wall"))
        process = await sandbox.start_python(
            "import sandbox_channel as c; c.send(c.receive() + b'!')")
        await process.send(b"hi")
        print(await process.receive(), (await process.wait()).ok)
asyncio.run(main())
"""
    nothing = "0000000000000000"
    assert as_ordinary_user(["-c", code]).splitlines() == [
        "1000 1000 [1, 2]",
        f"['{nothing}', '{nothing}', '{nothing}'] ['1']",
        "('a/b',) 1",
        "1000",
        "x",
        "True",
        "b'hi!' True",
    ]


def test_a_machine_without_namespaces_is_told_from_a_bug(as_ordinary_user):
    code = """
import asyncio, ctypes, os
# As in a container that forbids it: no namespace may be made below this one.
libc = ctypes.CDLL(None, use_errno=True)
uid, gid = os.getuid(), os.getgid()
assert libc.unshare(0x10000000) == 0
open("/proc/self/setgroups", "w").write("deny")
open("/proc/self/uid_map", "w").write(f"{uid} {uid} 1")
open("/proc/self/gid_map", "w").write(f"{gid} {gid} 1")
open("/proc/sys/user/max_user_namespaces", "w").write("0")
from execgym.sandbox import SandboxSpec, SandboxUnavailableError, diagnose, open_sandbox
report = diagnose()
print(repr(report.backend), len(report.reasons))
try: asyncio.run(open_sandbox(SandboxSpec()))
except SandboxUnavailableError as error: print("max_user_namespaces" in str(error))
"""
    assert as_ordinary_user(["-c", code]).splitlines() == ["'' 1", "True"]
