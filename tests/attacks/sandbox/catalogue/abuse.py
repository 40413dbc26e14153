"""Locks held over a fork, work that slows a neighbour, and sources that are bombs."""

from arena import Attack, CommandResult, does_not_succeed, ends_at, prints

_SHORT = {"cpu_seconds": 0.5, "wall_seconds": 5, "memory_bytes": 200 * 1024 * 1024}


def _ends(result: CommandResult) -> None:
    assert b"allowed" not in result.stdout, result


ATTACKS = (
    Attack(
        number=30,
        name="a fork while threads hold every lock they can",
        code="""
import json, logging
def busy():
    while True:
        logging.getLogger('x').debug('x')
        json.dumps(list(range(100)))
for _ in range(4): threading.Thread(target=busy, daemon=True).start()
for _ in range(20):
    child = os.fork()
    if child == 0: os._exit(0 if json.loads('[1]') else 1)
    assert os.waitpid(child, 0)[1] == 0
print('done')
""",
        must=prints("done\n"),
    ),
    Attack(
        number=30,
        name="a fork within an import, a finaliser and an exit function",
        code="""
import atexit, gc
class Forks:
    def __del__(self):
        if os.fork() == 0: os._exit(0)
Forks()
gc.collect()
atexit.register(lambda: os.fork() or os._exit(0))
print('done', flush=True)
""",
        must=prints("done\n"),
    ),
    Attack(
        number=30,
        name="a lock that dies with its holder",
        code="""
import multiprocessing
context = multiprocessing.get_context('fork')
lock = context.Lock()
child = os.fork()
if child == 0:
    lock.acquire()
    os.kill(os.getpid(), 9)
os.waitpid(child, 0)
print(lock.acquire(timeout=0.1))
""",
        must=prints("False\n"),
    ),
    Attack(
        number=31,
        name="every core for as long as it may",
        code="for _ in range(5): os.fork()\nwhile True: pass",
        must=ends_at("cpu", "wall"),
        limits=_SHORT,
    ),
    Attack(
        number=31,
        name="files written, synced and dropped",
        code="""
end = time.monotonic() + 0.5
while time.monotonic() < end:
    with open('x', 'wb') as file:
        file.write(bytes(1 << 20))
        os.fsync(file.fileno())
    os.sync()
    os.unlink('x')
""",
    ),
    Attack(
        number=31,
        name="names looked up that are not there",
        code="""
for n in range(100_000):
    try: os.stat('/usr/%d' % n)
    except OSError: pass
""",
        must=ends_at("", "cpu"),
        limits=_SHORT,
    ),
    Attack(
        number=31,
        name="sockets opened and closed in masses",
        code="""
for _ in range(20_000):
    with socket.socket() as end: end.setblocking(False)
""",
        must=ends_at("", "cpu"),
        limits=_SHORT,
    ),
    Attack(
        number=31,
        name="memory mapped and unmapped by many",
        code="""
import mmap
for _ in range(3): os.fork()
while True: mmap.mmap(-1, 1 << 20).write(bytes(1 << 20))
""",
        must=ends_at("cpu", "wall"),
        limits=_SHORT,
    ),
    Attack(
        number=32,
        name="brackets nested without end",
        code="compile('(' * 200_000 + ')' * 200_000, 'x', 'eval')",
        must=does_not_succeed,
        limits=_SHORT,
    ),
    Attack(
        number=32,
        name="operators nested without end",
        code="compile('-' * 200_000 + '1', 'x', 'eval')",
        must=does_not_succeed,
        limits=_SHORT,
    ),
    Attack(
        number=32,
        name="a constant that takes all time and memory",
        code="eval(compile('9**9**9', 'x', 'eval'))",
        must=ends_at("cpu", ""),
        limits=_SHORT,
    ),
    Attack(
        number=32,
        name="a source of a hundred megabytes",
        code="exec('x = 1\\n' * 20_000_000)",
        must=_ends,
        limits=_SHORT,
    ),
    Attack(
        number=32,
        name="an endless device as a source",
        code="os.symlink('/dev/zero', 'endless.py')\nimport endless",
        must=does_not_succeed,
        limits=_SHORT,
    ),
    Attack(
        number=32,
        name="a FIFO as a source",
        code="os.mkfifo('never.py')\nimport never",
        must=does_not_succeed,
        limits={"wall_seconds": 0.4},
    ),
    Attack(
        number=32,
        name="a pattern that takes exponential time",
        code="import re\nre.match('(a+)+$', 'a' * 60 + 'b')",
        must=ends_at("cpu"),
        limits={"cpu_seconds": 0.4},
    ),
    Attack(
        number=32,
        name="hidden files read while compiling",
        code="""
for path in ('/workspace/../etc/shadow', '/proc/1/environ', '/root/.ssh/id_rsa'):
    attempt(path, lambda: compile(open(path).read(), path, 'exec'))
""",
    ),
    Attack(
        number=32,
        name="a compiler of C, if there is one",
        code="""
if command -v cc >/dev/null; then
  printf '#include "/dev/urandom"\\n' | timeout 2 cc -x c - 2>/dev/null && echo allowed
  printf '#include "/etc/shadow"\\n' | timeout 2 cc -x c - 2>/dev/null && echo allowed
fi
exit 0
""",
        must=ends_at("", "cpu", "memory"),
        limits={"cpu_seconds": 3, "wall_seconds": 20},
        shell=True,
    ),
)
