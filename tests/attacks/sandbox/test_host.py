"""What belongs to the host is out of reach: its services, files, processes, secrets and ids."""

import contextlib
import os
import pathlib
import socket
import subprocess
import sys
import uuid

from execgym.sandbox import run_sync

ROOT = pathlib.Path(__file__).resolve().parents[3]


def own_address():
    """Return the address from which this machine would send, without sending."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        with contextlib.suppress(OSError):
            probe.connect(("192.0.2.1", 9))
        return probe.getsockname()[0]


def test_a_service_of_the_host_cannot_be_reached(arena):
    targets = ["127.0.0.1", "localhost", "::1", "0.0.0.0", "172.17.0.1", own_address()]
    code = f"""
import socket
for target in {targets!r}:
    try:
        socket.create_connection((target, {arena.host.port}), timeout=2)
        print('reached', target)
    except OSError: pass
"""
    with arena.victim() as sandbox:
        result = run_sync(sandbox.run_python(code))
    assert (result.stdout, result.exit_code) == (b"", 0)


def test_a_unix_socket_of_the_host_cannot_be_reached(arena):
    code = f"""
import socket
for address in ({arena.host.unix_path!r}, {arena.host.abstract_name!r}):
    try:
        socket.socket(socket.AF_UNIX).connect(address)
        print('reached', address)
    except OSError: pass
"""
    with arena.victim() as sandbox:
        result = run_sync(sandbox.run_python(code))
    assert (result.stdout, result.exit_code) == (b"", 0)


def test_a_file_of_the_host_cannot_be_reached(arena):
    code = f"""
import os
path = {str(arena.host.secret)!r}
for name in (path, '/proc/self/root' + path, '/proc/1/root' + path, '/..' + path):
    for flags in (os.O_RDONLY, os.O_WRONLY, os.O_PATH):
        try:
            os.open(name, flags)
            print('reached', name)
        except OSError: pass
"""
    with arena.victim() as sandbox:
        result = run_sync(sandbox.run_python(code))
    assert (result.stdout, result.exit_code) == (b"", 0), result


def test_a_process_of_the_host_cannot_be_reached(arena):
    code = f"""
import os, signal
for process in ({arena.host.process.pid}, {os.getpid()}, {os.getppid()}):
    for number in (0, signal.SIGSTOP, signal.SIGKILL):
        try:
            os.kill(process, number)
            print('reached', process)
        except OSError: pass
"""
    with arena.victim() as sandbox:
        result = run_sync(sandbox.run_python(code))
    assert (result.stdout, result.exit_code) == (b"", 0)


def test_the_hosts_environment_does_not_get_in(backend):
    """The host program that opens the sandbox has secrets in its environment."""
    secret = uuid.uuid4().hex
    program = f"""
from execgym.sandbox import SandboxSpec, open_sandbox, run_sync
CODE = '''
import os, subprocess
print(dict(os.environ))
print(subprocess.run(['env'], capture_output=True).stdout)
for process in [name for name in os.listdir('/proc') if name.isdigit()] + ['self']:
    for name in ('environ', 'cmdline', 'auxv'):
        try: print(open('/proc/%s/%s' % (process, name), 'rb').read())
        except OSError: pass
'''
async def main():
    async with await open_sandbox(SandboxSpec(backend={backend!r})) as sandbox:
        print((await sandbox.run_python(CODE)).check().stdout.decode())
run_sync(main())
"""
    environment = {**os.environ, "SECRET_API_KEY": secret, "LD_PRELOAD": ""}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert "/workspace" in done.stdout
    assert secret not in done.stdout


def test_the_checkout_is_not_in_the_tree(arena):
    code = f"""
import os
root = {str(ROOT)!r}
for path in ('envs', 'judging', 'sandbox', 'tests', '.git', 'setup.cfg', '../shared'):
    try:
        os.stat(os.path.join(root, path))
        print(path)
    except OSError: pass
"""
    with arena.victim() as sandbox:
        assert run_sync(sandbox.run_python(code)).stdout == b""
