"""What belongs to the host, and to other sandboxes, is out of reach."""

import contextlib
import pathlib
import select
import socket
import uuid

import pytest

from execgym.sandbox import SandboxSpec, Template, open_sandbox, run_sync


def own_address():
    """Return the address from which this machine would send, without sending."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        with contextlib.suppress(OSError):
            probe.connect(("192.0.2.1", 9))
        return probe.getsockname()[0]


@pytest.mark.parametrize(
    ("family", "address"),
    [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::1")],
)
def test_a_service_of_the_host_cannot_be_reached(attack, family, address):
    with socket.socket(family, socket.SOCK_STREAM) as service:
        service.bind((address, 0))
        service.listen()
        targets = sorted({address, "127.0.0.1", "localhost", "::1", own_address()})
        code = f"""
import socket
for target in {targets!r}:
    try:
        socket.create_connection((target, {service.getsockname()[1]}), timeout=2)
        print('reached', target)
    except OSError:
        pass
"""
        result = attack(code)
        assert (result.stdout, result.exit_code) == (b"", 0)
        assert select.select([service], [], [], 0) == ([], [], [])


@pytest.mark.parametrize("abstract", [True, False])
def test_a_unix_socket_of_the_host_cannot_be_reached(attack, tmp_path, abstract):
    address = f"\0execgym-{uuid.uuid4()}" if abstract else str(tmp_path / "service")
    with socket.socket(socket.AF_UNIX) as service:
        service.bind(address)
        service.listen()
        code = f"""
import socket
try:
    socket.socket(socket.AF_UNIX).connect({address!r})
    print('reached')
except OSError:
    pass
"""
        assert attack(code).stdout == b""
        assert select.select([service], [], [], 0) == ([], [], [])


def test_a_secret_of_the_hosts_environment_is_nowhere(monkeypatch, neighbour):
    secret = uuid.uuid4().hex
    monkeypatch.setenv("EXECGYM_TEST_SECRET", secret)
    # A template of its own, so that its zygote starts while the secret is set.
    template = Template(modules=("sched", "colorsys", "chunk"))
    code = f"""
import os
needle = {secret[::-1]!r}[::-1]
print(needle in str(os.environ))
for process in [name for name in os.listdir('/proc') if name.isdigit()] + ['self']:
    for name in ('environ', 'cmdline', 'auxv'):
        try:
            print(needle.encode() in open(f'/proc/{{process}}/{{name}}', 'rb').read())
        except OSError:
            pass
"""

    async def main():
        async with await open_sandbox(SandboxSpec(template=template)) as sandbox:
            return await sandbox.run_python(code)

    result = run_sync(main())
    assert result.ok
    assert set(result.stdout.split()) == {b"False"}


def test_hidden_folders_of_the_checkout_are_not_in_the_tree(attack):
    root = pathlib.Path(__file__).resolve().parents[3]
    code = f"""
import os
root = {str(root)!r}
for path in ('envs', 'judging', 'sandbox', 'tests', '.git', 'setup.cfg', '../shared'):
    try:
        os.stat(os.path.join(root, path))
        print(path)
    except OSError:
        pass
print([top for top, _, names in os.walk('/') if 'zygote.py' in names])
"""
    assert attack(code, cpu_seconds=60).stdout == b"[]\n"


def test_no_interface_but_loopback_is_there(attack):
    code = """
lines = open('/proc/net/dev').read().splitlines()[2:]
print([line.split(':')[0].strip() for line in lines], len(open('/proc/net/route').readlines()))
"""
    assert attack(code).stdout == b"['lo'] 1\n"


@pytest.mark.parametrize("target", ["192.0.2.1", "198.51.100.7", "203.0.113.9", "2001:db8::1"])
def test_nothing_is_sent_to_the_world(attack, target):
    code = f"""
import socket
for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
    with socket.socket(socket.AF_INET6 if ':' in {target!r} else socket.AF_INET, kind) as end:
        end.settimeout(5)
        try:
            end.connect(({target!r}, 53))
            end.send(b'x')
            print('sent')
        except TimeoutError:
            print('left')
        except OSError:
            pass
"""
    assert attack(code).stdout == b""


def test_what_outlives_a_program_does_not_outlive_its_sandbox(open_one):
    leave = """
import ctypes, os, socket
libc = ctypes.CDLL(None, use_errno=True)
made = []
for name, call in (('shmget', lambda: libc.shmget(4711, 4096, 0o1666)),
                   ('msgget', lambda: libc.msgget(4711, 0o1666)),
                   ('semget', lambda: libc.semget(4711, 1, 0o1666))):
    call()
for path in ('/workspace/x', '/tmp/x', '/dev/shm/x'):
    open(path, 'w').close()
mqd = libc.syscall(240, b'left', 0o102, 0o666, None)
"""
    look = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
print(libc.shmget(4711, 4096, 0), libc.msgget(4711, 0), libc.semget(4711, 1, 0),
      *(os.path.exists(path + '/x') for path in ('/workspace', '/tmp', '/dev/shm')),
      libc.syscall(240, b'left', 0, 0, None))
"""
    first = open_one()
    assert run_sync(first.run_python(leave)).ok
    second = open_one()
    expected = b"-1 -1 -1 False False False -1\n"
    assert run_sync(second.run_python(look)).stdout == expected
    run_sync(first.close())
    assert run_sync(open_one().run_python(look)).stdout == expected


def test_sandboxes_do_not_see_each_others_processes(open_one):
    first, second = open_one(), open_one()
    process = run_sync(first.start_python("import time\ntime.sleep(1000)"))
    code = "import os\nprint(sorted(int(n) for n in os.listdir('/proc') if n.isdigit()))"
    assert run_sync(second.run_python(code)).stdout == b"[1, 2]\n"
    run_sync(process.kill())


def test_temporary_names_and_seeds_differ_between_forks_of_warm_modules():
    template = Template(modules=("random", "uuid", "tempfile", "secrets", "sched"))
    code = """
import os, random, secrets, tempfile, uuid
print(random.random(), uuid.uuid4(), secrets.token_hex(8), os.urandom(8).hex(), tempfile.mktemp())
"""

    async def main():
        seen = []
        for _ in range(2):
            async with await open_sandbox(SandboxSpec(template=template)) as sandbox:
                for _ in range(2):
                    seen.append((await sandbox.run_python(code)).stdout.split())
        return seen

    seen = run_sync(main())
    for values in zip(*seen, strict=True):
        assert len(set(values)) == 4


def test_random_numbers_of_a_warm_numpy_differ_between_forks():
    template = Template(modules=("numpy", "sched"))
    code = "import numpy\nprint(numpy.random.rand(), numpy.random.default_rng().random())"

    async def main():
        async with await open_sandbox(SandboxSpec(template=template)) as sandbox:
            return [(await sandbox.run_python(code)).check().stdout.split() for _ in range(3)]

    for values in zip(*run_sync(main()), strict=True):
        assert len(set(values)) == 3
