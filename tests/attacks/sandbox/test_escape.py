"""Ways out of a sandbox that must be shut."""

import os
import pathlib
import platform
import subprocess
import sys

import pytest

from execgym.sandbox import run_sync

SYSCALL = """
import ctypes, errno
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *arguments):
    result = libc.syscall(ctypes.c_long(number), *map(ctypes.c_long, arguments))
    return errno.errorcode[ctypes.get_errno()] if result < 0 else "allowed"
"""


def lines(result):
    assert result.ok, result
    return result.stdout.decode().splitlines()


def test_the_status_of_a_program_shows_no_privilege(attack):
    code = """
import re
for line in open("/proc/self/status"):
    if re.match("Uid|Gid|Groups|Cap|NoNewPrivs|Seccomp:", line): print(*line.split())
"""
    nothing = "0000000000000000"
    assert lines(attack(code)) == [
        "Uid: 1000 1000 1000 1000",
        "Gid: 1000 1000 1000 1000",
        "Groups:",
        *(f"Cap{kind}: {nothing}" for kind in ("Inh", "Prm", "Eff", "Bnd", "Amb")),
        "NoNewPrivs: 1",
        "Seccomp: 2",
    ]


def _host_uids(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("Uid:"))
    return frozenset(int(field) for field in line.split()[1:])


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="only root maps sandboxes to uids of their own")
def test_each_sandbox_has_an_unprivileged_host_uid_of_its_own(open_one, processes):
    before = processes()
    programs = [run_sync(open_one().start_python("import time; time.sleep(60)")) for _ in range(2)]
    new = processes() - before
    uids = {_host_uids(pid) for pid in new}
    assert len(uids) == 2
    assert all(1 << 30 <= uid < 1 << 31 for each in uids for uid in each)
    for program in programs:
        run_sync(program.kill())


@pytest.mark.parametrize(
    "name", ["mem", "environ", "maps", "fd/0", "fd/3", "root/etc", "cwd/x", "io", "stack", "auxv"]
)
def test_pid_1_keeps_its_own_to_itself(attack, name):
    code = f"""
import os
try: print(os.listdir("/proc/1/{name}") if os.path.isdir("/proc/1/{name}") else
           open("/proc/1/{name}", "rb").read(10))
except OSError as error: print(error.errno)
"""
    assert lines(attack(code)) in (["13"], ["1"], ["2"])


@pytest.mark.skipif(platform.machine() != "x86_64", reason="numbers of x86_64")
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("ptrace attach", "101, 16, 1, 0, 0"),
        ("ptrace traceme", "101, 0, 0, 0, 0"),
        ("process_vm_readv", "310, 1, 0, 0, 0, 0, 0"),
        ("process_vm_writev", "311, 1, 0, 0, 0, 0, 0"),
        ("pidfd_getfd", "438, 0, 3, 0"),
        ("kcmp", "312, 1, 1, 0, 0, 0"),
        ("process_madvise", "440, 0, 0, 0, 0, 0"),
        ("unshare user", "272, 0x10000000"),
        ("unshare net", "272, 0x40000000"),
        ("setns", "308, 0, 0"),
        ("clone user", "56, 0x10000011, 0, 0, 0, 0"),
        ("mount", "165, 0, 0, 0, 0, 0"),
        ("umount", "166, 0, 0"),
        ("pivot_root", "155, 0, 0"),
        ("chroot", "161, 0"),
        ("open_tree", "428, -100, 0, 0"),
        ("fsopen", "430, 0, 0"),
        ("move_mount", "429, 0, 0, 0, 0, 0"),
        ("mount_setattr", "442, 0, 0, 0, 0, 0"),
        ("keyctl", "250, 0, -3, 0, 0, 0"),
        ("add_key", "248, 0, 0, 0, 0, 0"),
        ("request_key", "249, 0, 0, 0, 0"),
        ("bpf", "321, 0, 0, 0"),
        ("io_uring_setup", "425, 8, 0"),
        ("io_setup", "206, 8, 0"),
        ("scheduler attributes of pid 1", "314, 1, 0, 0"),
        ("memfd_create", "319, 0, 0"),
        ("userfaultfd", "323, 0"),
        ("perf_event_open", "298, 0, 0, 0, 0, 0"),
        ("kexec_load", "246, 0, 0, 0, 0"),
        ("init_module", "175, 0, 0, 0"),
        ("reboot", "169, 0, 0, 0, 0"),
        ("swapon", "167, 0, 0"),
        ("settimeofday", "164, 0, 0"),
        ("clock_settime", "227, 0, 0"),
        ("sethostname", "170, 0, 0"),
        ("personality", "135, 0x0040000"),
        ("modify_ldt", "154, 0, 0, 0"),
        ("open_by_handle_at", "304, 0, 0, 0"),
        ("name_to_handle_at", "303, 0, 0, 0, 0, 0"),
        ("quotactl", "179, 0, 0, 0, 0"),
        ("acct", "163, 0"),
        ("syslog", "103, 3, 0, 0"),
        ("fanotify_init", "300, 0, 0"),
        ("lookup_dcookie", "212, 0, 0, 0"),
        ("mknod device", "133, 0, 0o20666, 259"),
        ("TIOCSTI", "16, 0, 0x5412, 0"),
        ("TIOCLINUX", "16, 0, 0x541c, 0"),
        ("prlimit of pid 1", "302, 1, 7, 0, 0"),
        ("priority of pid 1", "141, 0, 1, 19"),
        ("priority of the user", "141, 2, 0, 19"),
        ("scheduler of pid 1", "144, 1, 5, 0"),
        ("affinity of pid 1", "203, 1, 8, 0"),
        ("io priority of pid 1", "251, 1, 1, 0"),
    ],
)
def test_a_dangerous_call_is_refused(attack, name, arguments):
    assert lines(attack(f"{SYSCALL}print(call({arguments}))")) == ["EPERM"]


@pytest.mark.skipif(platform.machine() != "x86_64", reason="numbers of x86_64")
@pytest.mark.parametrize("number", [435, 463, 470, 0x40000000 + 39, 0x40000000 + 101])
def test_a_call_that_nobody_reviewed_is_missing(attack, number):
    assert lines(attack(f"{SYSCALL}print(call({number}, 0, 0, 0, 0, 0))")) == ["ENOSYS"]


@pytest.mark.skipif(platform.machine() != "x86_64", reason="machine code of x86_64")
def test_the_32_bit_entry_into_the_kernel_is_death(attack):
    code = """
import ctypes, mmap
memory = mmap.mmap(-1, 4096, prot=7)
memory.write(bytes([0xB8, 20, 0, 0, 0, 0xCD, 0x80, 0xC3]))  # mov eax, 20; int 0x80; ret
address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
print(ctypes.CFUNCTYPE(ctypes.c_int)(address)())
"""
    assert attack(code).signal == 31


@pytest.mark.parametrize(
    ("family", "kind", "protocol"),
    [
        (16, 3, 0),
        (17, 3, 768),
        (40, 1, 0),
        (2, 3, 1),
        (38, 5, 0),
        (2, 1, 132),
        (2, 1, 262),
        (30, 1, 0),
    ],
    ids=["netlink", "packet", "vsock", "raw", "alg", "sctp", "mptcp", "tipc"],
)
def test_unusual_sockets_cannot_be_made(attack, family, kind, protocol):
    code = f"""
import socket
try: socket.socket({family}, {kind}, {protocol}); print("made")
except OSError as error: print(error.errno)
"""
    assert lines(attack(code)) == ["1"]


@pytest.mark.parametrize(
    "address",
    [("1.1.1.1", 80), ("8.8.8.8", 53), ("169.254.169.254", 80), ("10.0.0.1", 22), ("::2", 80)],
)
@pytest.mark.parametrize("kind", ["SOCK_STREAM", "SOCK_DGRAM"])
def test_no_packet_leaves(attack, address, kind):
    code = f"""
import socket
family = socket.AF_INET6 if ":" in {address[0]!r} else socket.AF_INET
with socket.socket(family, socket.{kind}) as end:
    try: end.connect({address!r}); end.send(b"x"); print("sent")
    except OSError as error: print(error.errno)
"""
    assert lines(attack(code)) in (["101"], ["99"], ["113"], ["97"])


def test_names_are_not_resolved(attack):
    code = """
import socket
try: print(socket.getaddrinfo("example.com", 80))
except OSError as error: print(type(error).__name__)
"""
    assert lines(attack(code)) == ["gaierror"]


def test_the_own_loopback_works_and_nobody_elses_is_there(attack):
    code = """
import socket
server = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(server.getsockname())
peer, _ = server.accept()
client.sendall(b"hi")
print(peer.recv(2), socket.if_nameindex() if False else open("/proc/net/dev").read().count(":"))
"""
    assert lines(attack(code)) == ["b'hi' 1"]


HIDDEN = [
    "/root/.bashrc",
    "/etc/shadow",
    "/work",
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
]


def test_the_hosts_files_are_not_there(attack):
    code = f"""
import os
for path in {HIDDEN!r}:
    if path == "/work" and os.path.isdir(path):
        # The interpreter's own folder may be below it.
        inner = [os.path.join(top, name) for top, _, names in os.walk(path) for name in names]
        if all("/.venv/" in name or "/venv/" in name for name in inner): continue
    if os.path.exists(path): print(path)
"""
    assert lines(attack(code)) == []


def test_nothing_of_execgym_can_be_read_or_imported(attack):
    package = pathlib.Path(__file__).parents[3]
    code = f"""
import importlib.util, os, sys
print(os.path.exists({str(package / "sandbox" / "guest.py")!r}))
print([name for name in sys.modules if name.startswith("execgym")])
try: import execgym.envs
except ImportError: print("no execgym")
for top, folders, names in os.walk("/"):
    if top.startswith("/proc"): folders.clear(); continue
    if os.path.basename(top) == "execgym" and (names or folders): print(top)
"""
    assert lines(attack(code)) == ["False", "[]", "no execgym"]


def test_the_tree_is_read_only_but_for_the_workspace(attack):
    code = """
import os
places = [top for top, folders, _ in os.walk("/") if top.count("/") < 4
          and not top.startswith(("/proc", "/workspace", "/tmp", "/dev/shm", "/sandbox"))]
for place in places:
    try: open(os.path.join(place, "x"), "w"); print(place)
    except OSError: pass
print(len(places) > 20)
"""
    assert lines(attack(code)) == ["True"]


def test_the_interpreter_cannot_be_written_through_proc(attack):
    code = """
import os
for path in ("/proc/self/exe", "/proc/self/mem", "/proc/self/oom_score_adj", "/proc/sysrq-trigger",
             "/proc/sys/kernel/core_pattern", "/proc/self/uid_map", "/proc/sys/kernel/hostname"):
    try: os.open(path, os.O_WRONLY); print(path)
    except OSError: pass
"""
    assert lines(attack(code)) == []


def test_a_setuid_program_gives_nothing(attack):
    code = """
import os, subprocess
found = []
for top in ("/usr/bin", "/bin", "/usr/sbin", "/usr/lib"):
    for name in os.listdir(top):
        path = os.path.join(top, name)
        try:
            if os.path.isfile(path) and os.stat(path).st_mode & 0o6000: found.append(path)
        except OSError: pass
print(sum(bool(os.statvfs(path).f_flag & os.ST_NOSUID) for path in found) == len(found))
open("own", "w").write("#!/bin/sh\\nid -u\\n")
os.chmod("own", 0o4755)
print(subprocess.run(["./own"], capture_output=True, text=True).stdout.strip())
try: os.setuid(0); print("root")
except OSError: pass
"""
    assert lines(attack(code)) == ["True", "1000"]


def test_every_mount_is_without_devices_and_setuid(attack):
    code = """
# Of several mounts at a place the last one counts: the others cannot be reached.
mounts = {fields[4]: fields[5] for fields in map(str.split, open("/proc/self/mountinfo"))}
for place, options in mounts.items():
    if not place.startswith("/dev/") or place == "/dev/shm":
        if not {"nosuid", "nodev"} <= set(options.split(",")): print(place, options)
"""
    assert lines(attack(code)) == []


def test_only_harmless_devices_are_there(attack):
    code = """
import os
print(*sorted(os.listdir("/dev")))
try: os.mknod("disk", 0o60666, os.makedev(254, 0)); print("made")
except OSError: pass
"""
    wanted = "fd full null random shm stderr stdin stdout urandom zero"
    assert lines(attack(code)) == [wanted]


def test_the_hosts_environment_does_not_get_in(tmp_path):
    program = """
from execgym.sandbox import SandboxSpec, open_sandbox, run_sync
async def main():
    async with await open_sandbox(SandboxSpec()) as sandbox:
        code = "import os, subprocess; print(dict(os.environ))\\n"
        code += "print(subprocess.run(['env'], capture_output=True).stdout)\\n"
        code += "print(open('/proc/self/environ','rb').read(), open('/proc/self/cmdline').read())"
        print((await sandbox.run_python(code)).check().stdout.decode())
run_sync(main())
"""
    environment = {**os.environ, "SECRET_API_KEY": "hunter2", "LD_PRELOAD": "", "PYTHONPATH": "/xy"}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert "WORKSPACE" in done.stdout.upper()
    assert "hunter2" not in done.stdout
    assert "/xy" not in done.stdout


def test_other_sandboxes_leave_no_trace(open_one):
    leave = """
import os, socket, time
for path in ("mine", "/tmp/mine", "/dev/shm/mine"): open(path, "w").write("x")
import json
json.leaked = True
os.environ["LEAKED"] = "1"
keep = socket.socket(socket.AF_UNIX)
keep.bind("\\0left behind")
keep.listen()
print(os.listdir("/proc/self/fd") != [])
"""
    look = """
import json, os, socket
print(hasattr(json, "leaked"), "LEAKED" in os.environ)
print([os.listdir(path) for path in ("/workspace", "/tmp", "/dev/shm")])
probe = socket.socket(socket.AF_UNIX)
try: probe.connect("\\0left behind"); print("reached")
except OSError as error: print(error.errno)
"""
    # An interpreter below /tmp is seen there.
    first, second = open_one(), open_one()
    untouched = lines(run_sync(first.run_python(look)))
    assert "mine" not in untouched[1]
    process = run_sync(first.start_python(leave + "\ntime.sleep(60)"))
    result = run_sync(second.run_python(look))
    assert lines(result) == ["False False", untouched[1], "111"]
    run_sync(process.kill())
    assert lines(run_sync(open_one().run_python(look)))[1] == untouched[1]


def test_random_numbers_differ_between_sandboxes_and_runs(open_one):
    code = (
        "import random, uuid, secrets\nprint(random.random(), uuid.uuid4(), secrets.token_hex(4))"
    )
    sandboxes = [open_one(), open_one()]
    seen = [run_sync(sandbox.run_python(code)).stdout for sandbox in sandboxes for _ in range(2)]
    assert len(set(seen)) == 4
