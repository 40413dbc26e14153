"""Each limit ends or refuses what goes beyond it, and says which one it was."""

import dataclasses
import math

import pytest

from execgym.sandbox import Limits, run_sync

MIB = 1024 * 1024


def run(sandbox, code, **options):
    return run_sync(sandbox.run_python(code, **options))


def test_a_busy_loop_ends_at_the_cpu_limit(open_one):
    result = run(open_one(cpu_seconds=0.3), "while True: pass")
    assert (result.limit, result.signal, result.exit_code) == ("cpu", 9, 137)
    assert 0.3 <= result.cpu_seconds < 3


def test_sleeping_ends_at_the_wall_limit(open_one):
    result = run(open_one(wall_seconds=0.3), "import time\ntime.sleep(1000)")
    assert result.limit == "wall"
    assert result.wall_seconds >= 0.3


def test_children_count_against_the_cpu_limit(open_one):
    code = "import os\nos.fork()\nos.fork()\nwhile True: pass"
    assert run(open_one(cpu_seconds=0.5), code).limit == "cpu"


def test_many_short_children_count_against_the_cpu_limit(open_one):
    code = """
import os, time
while True:
    if os.fork() == 0:
        while time.process_time() < 0.05: pass
        os._exit(0)
    os.wait()
"""
    assert run(open_one(cpu_seconds=0.5, wall_seconds=30), code).limit == "cpu"


def test_threads_count_against_the_cpu_limit(open_one):
    code = """
import threading, zlib
data = bytes(10_000_000)
def burn():
    while True: zlib.compress(data)
for _ in range(4): threading.Thread(target=burn).start()
"""
    assert run(open_one(cpu_seconds=0.5), code).limit == "cpu"


def test_limits_of_one_call_replace_the_sandboxs(sandbox):
    result = run(sandbox, "while True: pass", limits=Limits(cpu_seconds=0.2))
    assert result.limit == "cpu"
    assert run(sandbox, "print(1)").ok


def test_a_command_ends_at_its_limits(open_one):
    sandbox = open_one(wall_seconds=0.3)
    assert run_sync(sandbox.run_command(["sleep", "1000"])).limit == "wall"
    sandbox = open_one(cpu_seconds=0.3)
    assert run_sync(sandbox.run_command(["sh", "-c", "while :; do :; done"])).limit == "cpu"


def test_ignoring_every_signal_does_not_help(open_one):
    code = """
import signal, time
for number in range(1, 65):
    try: signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError): pass
while True: time.sleep(1)
"""
    assert run(open_one(wall_seconds=0.3), code).limit == "wall"


def test_a_stopped_program_ends_at_the_wall_limit(open_one):
    code = "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)"
    assert run(open_one(wall_seconds=0.3), code).limit == "wall"


def test_too_much_memory_is_a_memory_error_in_the_program(open_one):
    code = "try:\n    x = bytearray(300_000_000)\nexcept MemoryError:\n    print('refused')"
    assert run(open_one(memory_bytes=100 * MIB), code).stdout == b"refused\n"


def test_the_interpreters_own_memory_is_not_the_programs(open_one):
    code = "import time\ntime.sleep(0.3)\nprint('done')"
    assert run(open_one(memory_bytes=1), code).stdout == b"done\n"


def test_memory_below_the_limit_can_be_used(open_one):
    code = "x = bytearray(80_000_000)\nprint(len(x))"
    assert run(open_one(memory_bytes=100 * MIB), code).stdout == b"80000000\n"


def test_an_unhandled_memory_error_is_the_programs_failure(open_one):
    result = run(open_one(memory_bytes=100 * MIB), "x = []\nwhile True: x.append(bytearray(10**6))")
    assert result.exit_code == 1
    assert b"MemoryError" in result.stderr


def test_processes_beyond_the_limit_cannot_be_made(open_one):
    code = """
import os, time
made = 0
try:
    for _ in range(100):
        if os.fork() == 0:
            time.sleep(1000)
        made += 1
except BlockingIOError:
    pass
print(made)
"""
    result = run(open_one(processes=10), code)
    assert result.stdout == b"9\n"


def test_threads_beyond_the_limit_cannot_be_started(open_one):
    code = """
import threading, time
made = 0
try:
    for _ in range(100):
        threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
        made += 1
except RuntimeError:
    pass
print(made)
"""
    assert run(open_one(processes=10), code).stdout == b"9\n"


def test_one_process_at_a_time_may_be_the_limit(open_one):
    assert run(open_one(processes=1), "print(1)").stdout == b"1\n"


def test_orphans_that_ended_free_their_place(open_one):
    code = """
import os
for _ in range(300):
    while True:
        try:
            pid = os.fork()
            break
        except BlockingIOError:
            pass
    if pid == 0:
        try:
            os.fork()
        except OSError:
            pass
        os._exit(0)
    os.wait()
print('done')
"""
    result = run(open_one(processes=8, cpu_seconds=20), code)
    assert result.stdout == b"done\n"


def test_open_files_beyond_the_limit_are_refused(open_one):
    code = """
files = []
try:
    while True: files.append(open('/dev/null'))
except OSError as error:
    print(error.errno, len(files))
"""
    number, count = run(open_one(open_files=32), code).stdout.split()
    assert int(number) == 24
    assert 20 <= int(count) < 32


def test_a_file_beyond_the_limit_is_refused(open_one):
    code = """
try:
    with open('big', 'wb', buffering=0) as file:
        while True: file.write(bytes(65536))
except OSError as error:
    import os
    print(error.errno, os.path.getsize('big'))
"""
    assert run(open_one(file_bytes=1_000_000), code).stdout == b"27 1000000\n"


def test_the_workspace_holds_no_more_bytes_than_allowed(open_one):
    code = """
import os
total = 0
try:
    for number in range(1000):
        with open(f'f{number}', 'wb', buffering=0) as file:
            total += file.write(bytes(100_000))
except OSError as error:
    print(error.errno, total)
"""
    number, total = run(open_one(workspace_bytes=4 * MIB), code).stdout.split()
    assert int(number) == 28
    assert 3_000_000 < int(total) <= 4 * MIB


@pytest.mark.parametrize("folder", ["/tmp", "/dev/shm"])
def test_temporary_files_share_the_workspaces_bounds(open_one, folder):
    code = f"""
total = 0
try:
    for number in range(1000):
        with open(f'{folder}/f{{number}}', 'wb', buffering=0) as file:
            total += file.write(bytes(100_000))
except OSError as error:
    print(error.errno, total <= {4 * MIB})
"""
    assert run(open_one(workspace_bytes=4 * MIB), code).stdout == b"28 True\n"


def test_the_workspace_holds_no_more_files_than_allowed(open_one):
    code = """
made = 0
try:
    while True:
        open(f'f{made}', 'w').close()
        made += 1
except OSError as error:
    print(error.errno, made)
"""
    number, made = run(open_one(workspace_inodes=100), code).stdout.split()
    assert int(number) == 28
    assert 80 <= int(made) <= 100


def test_a_full_workspace_can_be_emptied_and_used_again(open_one):
    sandbox = open_one(workspace_bytes=MIB)
    run(sandbox, "open('big', 'wb').write(bytes(2_000_000))")
    assert run(sandbox, "import os\nos.remove('big')\nprint(open('new', 'w').write('ok'))").ok


def test_no_core_is_dumped(sandbox):
    assert run(sandbox, "import os\nos.abort()").signal == 6
    assert run_sync(sandbox.list_files()) == ()


@pytest.mark.parametrize(
    "name", ["cpu_seconds", "wall_seconds", "memory_bytes", "processes", "output_bytes"]
)
@pytest.mark.parametrize("value", [0, -1, math.nan, math.inf, True, "1", None])
def test_a_limit_that_is_no_positive_number_is_refused_by_name(name, value):
    with pytest.raises(ValueError, match=rf"Limits\.{name} must be"):
        Limits(**{name: value})


@pytest.mark.parametrize("name", ["memory_bytes", "processes", "workspace_inodes"])
def test_a_counted_limit_must_be_whole(name):
    with pytest.raises(ValueError, match="whole number"):
        Limits(**{name: 1.5})


@pytest.mark.parametrize("name", [field.name for field in dataclasses.fields(Limits)])
def test_a_limit_that_no_kernel_takes_is_refused_by_name(name):
    with pytest.raises(ValueError, match=rf"Limits\.{name} may be at most"):
        Limits(**{name: 2**49})


def test_a_workspace_that_could_not_even_be_empty_is_refused():
    with pytest.raises(ValueError, match="at least 4"):
        Limits(workspace_inodes=3)


@pytest.mark.parametrize("name", [field.name for field in dataclasses.fields(Limits)])
@pytest.mark.parametrize("value", [4, 2**24])
def test_a_program_runs_within_extreme_limits(open_one, name, value):
    if name == "output_bytes":
        value = min(value, 2**20)
    result = run(open_one(**{name: value}), "print(1)")
    assert (result.stdout, result.exit_code) == (b"1\n", 0)


def test_more_output_than_a_frame_holds_is_refused_with_the_way_out(sandbox):
    with pytest.raises(ValueError, match="write a file"):
        run(sandbox, "pass", limits=Limits(output_bytes=2**30))
