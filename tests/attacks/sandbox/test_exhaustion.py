"""Ways round the limits: memory charged to nobody, time hidden in children, trees too deep."""

import pytest

from execgym.sandbox import run_sync


def test_memory_of_many_processes_together_ends_the_program(attack):
    code = """
import os, time
for _ in range(12):
    if os.fork() == 0:
        x = bytearray(60 << 20)
        for i in range(0, len(x), 4096): x[i] = 1
        break
time.sleep(60)
"""
    result = attack(code, memory_bytes=100 << 20, wall_seconds=60, cpu_seconds=60)
    assert result.limit == "memory"


def test_shared_memory_that_no_file_holds_ends_the_program(attack):
    code = """
import mmap
maps = []
while True:
    maps.append(mmap.mmap(-1, 1 << 26))
    for i in range(0, 1 << 26, 4096): maps[-1][i] = 1
"""
    result = attack(code, memory_bytes=64 << 20, wall_seconds=60, cpu_seconds=60)
    assert result.limit == "memory"


def test_memory_shared_with_forks_counts_once(attack):
    code = """
import os, time
x = bytearray(60 << 20)
pids = []
for _ in range(10):
    pid = os.fork()
    if pid == 0:
        time.sleep(0.6)
        os._exit(0)
    pids.append(pid)
print([os.waitpid(pid, 0)[1] for pid in pids])
"""
    result = attack(code, memory_bytes=100 << 20)
    assert (result.limit, result.stdout) == ("", b"[0, 0, 0, 0, 0, 0, 0, 0, 0, 0]\n")


def test_data_in_sockets_that_nobody_reads_ends_the_program(attack):
    code = """
import os, socket, time
for _ in range(4): os.fork()
pairs = [socket.socketpair() for _ in range(100)]
for sender, _ in pairs:
    sender.setblocking(False)
    try:
        while True: sender.send(bytes(65536))
    except BlockingIOError: pass
time.sleep(60)
"""
    result = attack(code, memory_bytes=64 << 20, cpu_seconds=60, wall_seconds=60)
    assert result.limit == "memory"


def test_reservations_of_address_space_are_bounded(attack):
    code = """
import mmap
try:
    maps = [mmap.mmap(-1, 1 << 33, mmap.MAP_PRIVATE, mmap.PROT_READ) for _ in range(64)]
except OSError as error:
    print(error.errno)
"""
    assert attack(code, memory_bytes=64 << 20).stdout == b"12\n"


@pytest.mark.parametrize("call", ["memfd_create", "shmget", "msgget", "semget"])
def test_memory_that_is_charged_to_nobody_cannot_be_had(attack, call):
    number = {"memfd_create": 319, "shmget": 29, "msgget": 68, "semget": 64}[call]
    code = f"""
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
print(libc.syscall({number}, b"x", 1 << 20, 0o1600), ctypes.get_errno())
"""
    assert attack(code).stdout == b"-1 1\n"


def test_allocating_without_writing_is_bounded_too(attack):
    code = """
import os
fd = os.open("x", os.O_CREAT | os.O_RDWR)
try: os.posix_fallocate(fd, 0, 32 << 20)
except OSError as error: print(error.errno)
"""
    assert attack(code, workspace_bytes=8 << 20).stdout == b"28\n"


def test_both_streams_closed_and_then_sleep_ends_at_the_wall_limit(attack):
    code = "import os, time\nfor fd in (0, 1, 2): os.close(fd)\ntime.sleep(99)"
    assert attack(code, wall_seconds=1).limit == "wall"


def test_processor_time_hidden_in_children_counts(attack):
    code = """
import os
while True:
    pid = os.fork()
    if pid == 0:
        for _ in range(3_000_000): pass
        os._exit(0)
    os.waitpid(pid, 0)
"""
    assert attack(code, cpu_seconds=1, wall_seconds=60).limit == "cpu"


def test_a_deep_tree_of_folders_does_no_harm(open_one):
    sandbox = open_one()
    code = (
        "import os\nfor _ in range(3000): os.mkdir('d'); os.chdir('d')\nopen('deep', 'w').close()"
    )
    run_sync(sandbox.run_python(code)).check()
    run_sync(sandbox.write_file("top", b"x"))
    assert run_sync(sandbox.list_files()) == ("top",)
