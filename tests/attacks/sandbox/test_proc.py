"""What /proc shows and lets change."""

import pytest


@pytest.mark.parametrize(
    "name", ["fd", "map_files", "root", "cwd", "ns/user", "exe", "fd/3", "task/1/fd"]
)
def test_nothing_is_reached_through_the_first_process(attack, name):
    code = f"""
import os
for attempt in (
    lambda: os.listdir('/proc/1/{name}'),
    lambda: os.readlink('/proc/1/{name}'),
    lambda: os.open('/proc/1/{name}', os.O_RDONLY),
    lambda: os.chdir('/proc/1/{name}'),
):
    try:
        attempt()
        print('reached')
    except OSError:
        print('refused')
"""
    assert b"reached" not in attack(code).stdout


def test_ones_own_code_cannot_be_made_of_others(attack):
    code = """
import os
try:
    with open('/proc/self/exe', 'r+b') as file: file.write(b'x')
    print('wrote')
except OSError:
    print('refused')
"""
    assert attack(code).stdout == b"refused\n"


def test_only_ones_own_processes_are_seen(attack):
    code = "import os\nprint(sorted(int(n) for n in os.listdir('/proc') if n.isdigit())[0])"
    assert attack(code).stdout == b"1\n"


def test_nothing_under_proc_can_be_written(attack):
    code = """
import os
found = []
for folder, folders, names in os.walk('/proc'):
    if folder == '/proc':
        folders[:] = [n for n in folders if not n.isdigit() or n == str(os.getpid())]
    if folder.endswith('/task') or folder.endswith('/fd') or folder.endswith('/map_files'):
        folders[:] = []
        continue
    for name in names:
        path = os.path.join(folder, name)
        if os.path.islink(path): continue
        try:
            fd = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
            found.append(path)
            os.close(fd)
        except OSError:
            pass
print(found)
"""
    assert attack(code, cpu_seconds=30).stdout == b"[]\n"


@pytest.mark.parametrize(
    "path",
    [
        "/proc/sys/kernel/core_pattern",
        "/proc/sys/kernel/hostname",
        "/proc/sys/kernel/shmmax",
        "/proc/sys/net/ipv4/ip_forward",
        "/proc/sys/vm/overcommit_memory",
        "/proc/sys/user/max_user_namespaces",
        "/proc/sysrq-trigger",
        "/proc/self/oom_score_adj",
        "/proc/self/uid_map",
        "/proc/self/setgroups",
        "/proc/1/oom_score_adj",
    ],
)
def test_switches_of_the_kernel_cannot_be_turned(attack, path):
    code = f"""
import os
for flags in (os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_TRUNC):
    try:
        os.write(os.open({path!r}, flags), b'1')
        print('turned')
    except OSError:
        print('refused')
"""
    assert attack(code).stdout == b"refused\n" * 3


@pytest.mark.parametrize(
    "path", ["/proc/kcore", "/proc/kmsg", "/proc/kpagecount", "/dev/mem", "/dev/kmsg"]
)
def test_the_kernels_memory_is_not_read(attack, path):
    code = f"""
try:
    print(len(open({path!r}, 'rb').read(1)))
except OSError:
    print('refused')
"""
    assert attack(code).stdout == b"refused\n"
