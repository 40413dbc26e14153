"""What one episode plants, the next must not find; and no two episodes are alike (23 and 24)."""

import dataclasses

import pytest

from execgym.sandbox import Limits, SandboxSpec, Template, open_sandbox, run_sync


@dataclasses.dataclass(frozen=True)
class Residue:
    """One kind of thing that could be left behind.

    Attributes:
        name: What it is.
        plant: A statement that leaves it.
        look: An expression that is true where it is found.
        here: Whether the program that planted it finds it itself in the next program of the same
            sandbox. Files stay there, and what lives in an interpreter or a process does not.
    """

    name: str
    plant: str
    look: str
    here: bool = False


def _file(name: str, path: str, content: str = "left") -> Residue:
    plant = f"os.makedirs(os.path.dirname({path!r}), exist_ok=True); "
    plant += f"open({path!r}, 'w').write({content!r})"
    return Residue(name, plant, f"os.path.lexists({path!r})", here=True)


SITE = "/workspace/.local/lib/python%d.%d/site-packages"

RESIDUES = (
    _file("a file in the workspace", "/workspace/left"),
    _file("a file in /tmp", "/tmp/left"),
    _file("a file in /dev/shm", "/dev/shm/left"),
    _file("a start-up file of a shell", "/workspace/.bashrc", "echo left"),
    _file("a profile", "/workspace/.profile"),
    _file("a configuration", "/workspace/.config/pip/pip.conf"),
    _file("a history", "/workspace/.python_history"),
    _file("a module that shadows another", "/workspace/colorsys.py", "left = 1"),
    _file("a module that every interpreter loads", "/workspace/sitecustomize.py"),
    _file("a module that every user's interpreter loads", "/workspace/usercustomize.py"),
    _file("compiled code", "/workspace/__pycache__/left.cpython-311.pyc"),
    _file("a test configuration", "/workspace/conftest.py"),
    _file("a folder of another tool", "/workspace/.git/hooks/post-checkout"),
    _file("a deep folder", "/workspace/a/b/c/d/e/left"),
    _file("a lock", "/tmp/left.lock"),
    _file("a semaphore", "/dev/shm/sem.left"),
    Residue(
        "packages of the user",
        "os.makedirs(SITE, exist_ok=True); open(SITE + '/left.pth', 'w').write('import left')",
        "os.path.exists(SITE)",
        here=True,
    ),
    Residue("a link", "os.symlink('/etc', 'link')", "os.path.lexists('link')", here=True),
    Residue("a FIFO", "os.mkfifo('fifo')", "os.path.exists('fifo')", here=True),
    Residue(
        "a socket with a path",
        "socket.socket(socket.AF_UNIX).bind('socket')",
        "os.path.exists('socket')",
        here=True,
    ),
    Residue(
        "a hard link",
        "open('one', 'w').close(); os.link('one', 'two')",
        "os.path.exists('two')",
        here=True,
    ),
    Residue(
        "a sparse file",
        "open('sparse', 'w').truncate(10**7)",
        "os.path.exists('sparse')",
        here=True,
    ),
    Residue(
        "a folder without rights",
        "os.mkdir('shut'); os.chmod('shut', 0)",
        "os.path.exists('shut')",
        here=True,
    ),
    Residue(
        "a program with a set-user-id bit",
        "open('suid', 'w').close(); os.chmod('suid', 0o6755)",
        "os.path.exists('suid')",
        here=True,
    ),
    Residue(
        "rights of the workspace",
        "os.chmod('/workspace', 0o1777)",
        "os.stat('/workspace').st_mode & 0o1000",
        here=True,
    ),
    Residue(
        "a time of the workspace",
        "os.utime('/workspace', (1, 1)); os.utime('/tmp', (1, 1))",
        "os.stat('/tmp').st_atime == 1",
        here=True,
    ),
    Residue("a variable", "os.environ['LEFT'] = '1'", "'LEFT' in os.environ"),
    Residue(
        "a path of the loader", "os.environ['PATH'] = '/left'", "os.environ['PATH'] == '/left'"
    ),
    Residue("a working folder", "os.chdir('/tmp')", "os.getcwd() != '/workspace'"),
    Residue("a mask of rights", "os.umask(0o777)", "os.umask(0o022) != 0o022"),
    Residue("a priority", "os.nice(5)", "os.getpriority(os.PRIO_PROCESS, 0) > 0"),
    Residue(
        "a limit",
        "resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))",
        "resource.getrlimit(resource.RLIMIT_NOFILE)[1] == 100",
    ),
    Residue("a core", "os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})", "False"),
    Residue("a signal's handler", "signal.signal(10, signal.SIG_IGN)", "signal.getsignal(10) == 1"),
    Residue(
        "blocked signals",
        "signal.pthread_sigmask(signal.SIG_BLOCK, [12])",
        "signal.pthread_sigmask(signal.SIG_BLOCK, [])",
    ),
    Residue("a name of a builtin", "builtins.left = 1", "hasattr(builtins, 'left')"),
    Residue("a patched module", "json.loads = None", "json.loads is None"),
    Residue("a loaded module", "sys.modules['left'] = sys", "'left' in sys.modules"),
    Residue("a path of imports", "sys.path.insert(0, '/left')", "'/left' in sys.path"),
    Residue("a finder of imports", "sys.meta_path.append(Left)", "'Left' in str(sys.meta_path)"),
    Residue("a codec", "codecs.register(codec)", "has_codec()"),
    Residue("an exit function", "atexit.register(print, 'left')", "atexit._ncallbacks() > 5"),
    Residue(
        "a recursion limit", "sys.setrecursionlimit(77_777)", "sys.getrecursionlimit() == 77_777"
    ),
    Residue("a seed", "random.seed(1)", "random.random() == 0.13436424411240122"),
    Residue(
        "a context of decimals", "decimal.getcontext().prec = 3", "decimal.getcontext().prec == 3"
    ),
    Residue(
        "a sleeping child",
        "os.fork() or time.sleep(1000)",
        "len([n for n in os.listdir('/proc') if n.isdigit()]) > 2",
    ),
    Residue(
        "a daemon of its own session",
        "os.fork() or (os.setsid(), prctl(b'left'), time.sleep(1000))",
        "has_process('left')",
    ),
    Residue(
        "a stopped process",
        "os.fork() or (prctl(b'stopped'), os.kill(os.getpid(), 19))",
        "has_process('stopped')",
    ),
    Residue("a zombie", "os.fork() or (prctl(b'zombie'), os._exit(0))", "has_process('zombie')"),
    Residue(
        "a listener with a name",
        "keep.append(listen(socket.AF_UNIX, '\\0left'))",
        "reaches(socket.AF_UNIX, '\\0left')",
    ),
    Residue(
        "a listener on loopback",
        "keep.append(listen(socket.AF_INET, ('127.0.0.1', 8765)))",
        "reaches(socket.AF_INET, ('127.0.0.1', 8765))",
    ),
    Residue(
        "a listener on IPv6",
        "keep.append(listen(socket.AF_INET6, ('::1', 8766)))",
        "reaches(socket.AF_INET6, ('::1', 8766))",
    ),
    Residue(
        "shared memory of System V",
        "libc.shmget(4711, 4096, 0o1666)",
        "libc.shmget(4711, 0, 0) >= 0",
    ),
    Residue("a queue of System V", "libc.msgget(4711, 0o1666)", "libc.msgget(4711, 0) >= 0"),
    Residue("semaphores", "libc.semget(4711, 1, 0o1666)", "libc.semget(4711, 1, 0) >= 0"),
    Residue(
        "a queue of POSIX",
        "libc.mq_open(b'/left', 0o102, 0o666, None)",
        "libc.mq_open(b'/left', 0) >= 0",
    ),
    Residue("a key", "libc.syscall(248, b'user', b'left', b'x', 1, -4)", "b'left' in keys()"),
    Residue("a descriptor", "os.dup2(1, 90)", "os.path.exists('/proc/self/fd/90')"),
)
NAMES = """
import atexit, builtins, codecs, ctypes, decimal, json, os, random, resource, signal, socket, sys
import time
libc = ctypes.CDLL(None, use_errno=True)
SITE = '/workspace/.local/lib/python%d.%d/site-packages' % sys.version_info[:2]
keep = []
def codec(name): return codecs.lookup('utf-8') if name == 'left' else None
def has_codec():
    try: return bool(codecs.lookup('left'))
    except LookupError: return False
class Left: find_spec = classmethod(lambda *arguments: None)
def prctl(name): libc.prctl(15, name, 0, 0, 0)
def has_process(name):
    for number in filter(str.isdigit, os.listdir('/proc')):
        try:
            if open('/proc/%s/comm' % number).read().strip() == name: return True
        except OSError: pass
    return False
def listen(family, address):
    end = socket.socket(family)
    end.bind(address)
    end.listen()
    return end
def reaches(family, address):
    with socket.socket(family) as end: return end.connect_ex(address) == 0
def keys():
    try: return open('/proc/keys', 'rb').read()
    except OSError: return b''
"""
PLANT = NAMES + "".join(
    f"""
try: {residue.plant}
except Exception as error: print({residue.name!r}, error)
os.chdir('/workspace')
"""
    if "fork" not in residue.plant
    else f"\n{residue.plant}\n"
    for residue in sorted(RESIDUES, key=lambda residue: residue.name == "a mask of rights")
)
LOOK = NAMES + "".join(f"\nif {residue.look}: print({residue.name!r})" for residue in RESIDUES)


def found(result):
    assert result.exit_code == 0, result.stderr.decode()
    return set(result.stdout.decode().splitlines())


def test_what_an_episode_plants_the_next_does_not_find(arena):
    assert len(RESIDUES) >= 40

    async def plant(sandbox):
        process = await sandbox.start_python(
            PLANT + "\nimport sandbox_channel\nsandbox_channel.send(b'planted')\ntime.sleep(1000)"
        )
        assert await process.receive() == b"planted"
        return process

    with arena.watched():
        with arena.opened() as first:
            untouched = found(run_sync(first.run_python(LOOK)))
            assert untouched == set()
            process = run_sync(plant(first))
            with arena.opened() as beside:
                assert found(run_sync(beside.run_python(LOOK))) == set()
            run_sync(process.kill())
            # What was planted is there to be found, or the looking would prove nothing.
            stayed = found(run_sync(first.run_python(LOOK)))
            assert stayed == {residue.name for residue in RESIDUES if residue.here}
        with arena.opened() as second:
            assert found(run_sync(second.run_python(LOOK))) == set()


def test_what_lives_in_a_process_is_found_by_that_process(arena):
    """The looks of what a program takes with it, proven in the program that planted it."""
    living = [residue for residue in RESIDUES if not residue.here]
    # System V and keys are refused; a core is no trace; the exit functions differ by interpreter.
    unseen = {"a core", "shared memory of System V", "a queue of System V", "semaphores", "a key"}
    unseen |= {"a seed", "an exit function", "a working folder", "a queue of POSIX"}
    # The children have their names when they have run.
    wait = """
deadline = time.monotonic() + 10
while not all(map(has_process, ('left', 'stopped', 'zombie'))) and time.monotonic() < deadline:
    time.sleep(0.01)
"""
    code = PLANT + wait + LOOK.removeprefix(NAMES) + "\nsys.stdout.flush()\nos._exit(0)"
    with arena.victim() as sandbox:
        seen = found(run_sync(sandbox.run_python(code)))
    missed = {residue.name for residue in living} - seen - unseen
    assert missed == set()


@pytest.mark.parametrize("modules", [(), ("random", "uuid", "tempfile", "secrets")])
def test_no_two_programs_have_the_same_random_numbers(backend, modules):
    code = """
import os, random, secrets, ssl, subprocess, sys, tempfile, uuid
print(random.random(), uuid.uuid4(), uuid.uuid1(), secrets.token_hex(8), os.urandom(8).hex(),
      tempfile.mktemp(), ssl.RAND_bytes(8).hex(), random.SystemRandom().random(),
      subprocess.run([sys.executable, '-c', 'import random; print(random.random())'],
                     capture_output=True, text=True).stdout)
"""
    spec = SandboxSpec(template=Template(modules=modules), backend=backend)

    async def main():
        seen = []
        for _ in range(2):
            async with await open_sandbox(spec) as sandbox:
                for _ in range(2):
                    seen.append((await sandbox.run_python(code)).check().stdout.split())
        return seen

    for values in zip(*run_sync(main()), strict=True):
        assert len(set(values)) == 4


def test_random_numbers_of_a_warm_numpy_differ():
    # Numpy is the host's own here; the images of the other backends are tested with their data.
    code = "import numpy\nprint(numpy.random.rand(), numpy.random.default_rng().random())"
    spec = SandboxSpec(template=Template(modules=("numpy",)), backend="namespace")

    async def main():
        async with await open_sandbox(spec) as sandbox:
            return [(await sandbox.run_python(code)).check().stdout.split() for _ in range(3)]

    for values in zip(*run_sync(main()), strict=True):
        assert len(set(values)) == 3


def test_many_episodes_in_a_row_begin_the_same(arena):
    for _ in range(2 if arena.backend == "docker-per-episode" else 25):
        with arena.opened() as sandbox:
            run_sync(sandbox.run_python("open('/tmp/left', 'w'); open('left', 'w')"))
    arena.check_next_episode()


def test_a_full_episode_leaves_room_for_the_next(arena):
    limits = {"workspace_bytes": 4 << 20, "workspace_inodes": 64}
    code = "n = 0\nwhile True:\n    open('f%d' % n, 'wb').write(bytes(1 << 20))\n    n += 1"
    with arena.watched():
        for _ in range(2):
            with arena.opened(**limits) as sandbox:
                assert not run_sync(sandbox.run_python(code, limits=Limits())).ok
        with arena.opened(**limits) as sandbox:
            used = run_sync(sandbox.stats())
            assert used.workspace_bytes < 100_000
            assert used.workspace_inodes < 10
