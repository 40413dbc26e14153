"""Clocks, equal random states, and what one program could leave to the next."""

from arena import Attack, ends_at, is_harmless, prints

ATTACKS = (
    Attack(
        number=23,
        name="one's own past in the interpreter",
        code="""
import gc
gc.unfreeze()
names = {type(thing).__name__ for thing in gc.get_objects()}
print(sorted(names & {'Zygote', 'Verdict', 'Task', 'SandboxSpec', 'Sandboxes', '_Registry'}))
print([name for name in sys.modules if name.startswith(('execgym', 'pytest', '_pytest'))])
""",
        must=lambda result: _has_no_past(result),
    ),
    Attack(
        number=23,
        name="execgym itself",
        code="""
for name in ('execgym', 'execgym.envs', 'execgym.judging', 'execgym.sandbox'):
    attempt(name, __import__, name)
for folder in (*sys.path, '/', '/opt', '/srv', '/sandbox', '/usr/local', '/usr/local/lib'):
    if os.path.isdir(folder):
        for name in os.listdir(folder):
            if name == 'execgym' and os.path.isdir(os.path.join(folder, name)):
                if os.listdir(os.path.join(folder, name)): print(folder, name)
""",
    ),
    Attack(
        number=24,
        name="random numbers that another program had, too",
        code="""
import random, secrets, tempfile, uuid
values = [random.random(), uuid.uuid4(), secrets.token_hex(8), os.urandom(8), tempfile.mktemp()]
child = os.fork()
if child == 0: os._exit(0)
os.waitpid(child, 0)
other = [random.random(), uuid.uuid4(), secrets.token_hex(8), os.urandom(8), tempfile.mktemp()]
print(sum(one == two for one, two in zip(values, other)))
""",
        must=prints("0\n"),
    ),
    Attack(
        number=25,
        name="setting the clock",
        code="""
for clock in range(12):
    attempt('clock %d' % clock, call, 'clock_settime', clock, struct.pack('=qq', 1, 0))
denied('day', 'settimeofday', struct.pack('=qq', 1, 0), 0)
denied('slewing', 'adjtimex', struct.pack('=Ixxxx', 1).ljust(256, b'\\0'))
denied('slewing a clock', 'clock_adjtime', 0, struct.pack('=Ixxxx', 1).ljust(256, b'\\0'))
denied('time namespace', 'unshare', 0x80)
attempt('offsets', os.open, '/proc/self/timens_offsets', os.O_WRONLY)
""",
        # They are of use to nobody who cannot make a time namespace.
        in_own_container=is_harmless,
    ),
    Attack(
        number=25,
        name="sleeping past the limit in every way",
        code="""
import select
signal.signal(signal.SIGALRM, signal.SIG_IGN)
signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
threading.Thread(target=time.sleep, args=(1000,)).start()
select.select([], [], [], 1000)
""",
        must=ends_at("wall"),
        limits={"wall_seconds": 0.3},
    ),
    Attack(
        number=25,
        name="waiting for a signal",
        code="while True: signal.pause()",
        must=ends_at("wall"),
        limits={"wall_seconds": 0.3},
    ),
    Attack(
        number=25,
        name="burning time in short turns between sleeps",
        code="""
while True:
    stop = time.thread_time() + 0.004
    while time.thread_time() < stop: pass
    time.sleep(0.0001)
""",
        must=ends_at("cpu"),
        limits={"cpu_seconds": 0.4, "wall_seconds": 20},
    ),
    Attack(
        number=25,
        name="burning time in the kernel",
        code="while True: os.read(os.open('/dev/zero', 0), 0); os.closerange(3, 200)",
        must=ends_at("cpu"),
        limits={"cpu_seconds": 0.4, "wall_seconds": 20},
    ),
    Attack(
        number=25,
        name="burning time in threads of one process",
        code="""
def burn():
    import zlib
    while True: zlib.compress(bytes(100_000))
for _ in range(8): threading.Thread(target=burn, daemon=True).start()
time.sleep(1000)
""",
        must=ends_at("cpu"),
        limits={"cpu_seconds": 0.5, "wall_seconds": 20},
    ),
    Attack(
        number=25,
        name="burning time in grandchildren that nobody waits for",
        code="""
while True:
    try:
        if os.fork() == 0:
            if os.fork() == 0:
                stop = time.process_time() + 0.05
                while time.process_time() < stop: pass
            os._exit(0)
        os.wait()
    except OSError: pass
""",
        must=ends_at("cpu"),
        limits={"cpu_seconds": 0.5, "wall_seconds": 20},
    ),
    Attack(
        number=25,
        name="turning the own clocks back",
        code="""
import resource
_libc.setitimer(1, bytes(32), 0)
for kind in (resource.RLIMIT_CPU,): attempt('limit', resource.setrlimit, kind, (10**6, 10**6))
before = time.process_time()
while time.process_time() < before + 0.05: pass
usage = resource.getrusage(resource.RUSAGE_SELF)
print(usage.ru_utime + usage.ru_stime >= 0.03)
""",
        must=prints("True\n"),
    ),
)


def _has_no_past(result) -> None:
    assert result.ok, result
    assert result.stdout.splitlines()[1] == b"[]", result
