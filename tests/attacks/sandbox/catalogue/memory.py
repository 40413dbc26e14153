"""Memory of all kinds, and descriptors."""

from arena import MIB, Attack, CommandResult, does_not_succeed, ends_at, prints

# The room that the tests' own machine has is shared with all that runs on it.
_SMALL = {
    "memory_bytes": 96 * MIB,
    "workspace_bytes": 16 * MIB,
    "cpu_seconds": 1,
    "wall_seconds": 4,
}


def _stays_small(result: CommandResult) -> None:
    does_not_succeed(result)
    assert result.peak_memory_bytes < 512 * MIB, result


def _bomb(name: str, code: str) -> Attack:
    return Attack(number=2, name=name, code=code, must=_stays_small, limits=_SMALL)


ATTACKS = (
    _bomb("heap", "x = []\nwhile True: x.append(bytearray(1_000_000))"),
    _bomb("one allocation", "bytearray(2**40)"),
    _bomb(
        "private mapping",
        "import mmap\nx = mmap.mmap(-1, 2**36, flags=mmap.MAP_PRIVATE)\nx.write(bytes(2**34))",
    ),
    _bomb(
        "shared mappings",
        "import mmap\nx = []\n"
        "while True:\n    m = mmap.mmap(-1, 2**24)\n    m.write(b'x' * 2**24)\n    x.append(m)",
    ),
    _bomb(
        "one shared mapping",
        "import mmap\nm = mmap.mmap(-1, 2**33)\nblock = b'x' * 2**20\nwhile True: m.write(block)",
    ),
    _bomb(
        "many processes",
        "for _ in range(5): os.fork()\n"
        "x = []\ntry:\n    while True: x.append(b'x' * 1_000_000)\n"
        "except MemoryError: time.sleep(1000)",
    ),
    _bomb(
        "memory files",
        "for n in range(10_000):\n    fd = os.memfd_create(str(n))\n    os.write(fd, bytes(2**20))",
    ),
    _bomb(
        "temporary files",
        "n = 0\nwhile True:\n    n += 1\n    open(f'/tmp/{n}', 'wb').write(bytes(2**20))",
    ),
    _bomb(
        "shared memory files",
        "n = 0\nwhile True:\n    n += 1\n    open(f'/dev/shm/{n}', 'wb').write(bytes(2**20))",
    ),
    _bomb(
        "pipes",
        "x = []\nwhile True:\n    r, w = os.pipe()\n    os.set_blocking(w, False)\n"
        "    x.append((r, w))\n    try:\n        while True: os.write(w, bytes(65536))\n"
        "    except BlockingIOError: pass",
    ),
    _bomb(
        "socket pairs that nobody reads",
        "for _ in range(5): os.fork()\nx = []\ntry:\n    while True:\n"
        "        x.append(socket.socketpair())\n        for end in x[-1]:\n"
        "            end.setblocking(False)\n            try:\n"
        "                while True: end.send(bytes(2**17))\n"
        "            except BlockingIOError: pass\nexcept OSError: time.sleep(1000)",
    ),
    _bomb(
        "connections that nobody reads",
        "server = socket.create_server(('127.0.0.1', 0), backlog=999)\n"
        "for _ in range(5): os.fork()\nx = []\ntry:\n    while True:\n"
        "        x.append(socket.create_connection(server.getsockname()))\n"
        "        x.append(server.accept()[0])\n        for end in x[-2:]:\n"
        "            end.setblocking(False)\n            try:\n"
        "                while True: end.send(bytes(2**17))\n"
        "            except BlockingIOError: pass\nexcept OSError: time.sleep(1000)",
    ),
    _bomb(
        "page tables of sparse mappings",
        "import mmap\nx = []\nwhile True:\n"
        "    m = mmap.mmap(-1, 2**40, flags=mmap.MAP_SHARED | 0x4000, prot=1)\n"
        "    x.append([m[i] for i in range(0, 2**40, 2**21)])",
    ),
    _bomb("environment", "while True: os.environ[str(len(os.environ))] = 'x' * 100_000"),
    _bomb("stack of deep recursion", "sys.setrecursionlimit(10**9)\ndef f(): f()\nf()"),
    _bomb(
        "stacks of many threads",
        "threading.stack_size(256 << 20)\nx = []\n"
        "while True:\n    t = threading.Thread(target=time.sleep, args=(9,), daemon=True)\n"
        "    t.start()\n    x.append(t)",
    ),
    Attack(
        number=2,
        name="address space reserved without end",
        code="""
import mmap
try: x = [mmap.mmap(-1, 1 << 33, mmap.MAP_PRIVATE, mmap.PROT_READ) for _ in range(64)]
except OSError as error: print(error.errno)
""",
        must=prints("12\n"),
        limits={"memory_bytes": 64 * MIB},
    ),
    Attack(
        number=2,
        name="memory of many processes, each within its limit",
        code="""
for _ in range(10):
    if os.fork() == 0:
        x = bytearray(50 << 20)
        for i in range(0, len(x), 4096): x[i] = 1
        break
time.sleep(60)
""",
        must=ends_at("memory"),
        limits={"memory_bytes": 64 * MIB, "wall_seconds": 60, "cpu_seconds": 60},
    ),
    Attack(
        number=2,
        name="memory shared with forks counts once",
        code="""
x = bytearray(60 << 20)
pids = []
for _ in range(10):
    pid = os.fork()
    if pid == 0:
        time.sleep(0.3)
        os._exit(0)
    pids.append(pid)
print({os.waitpid(pid, 0)[1] for pid in pids})
""",
        must=prints("{0}\n"),
        limits={"memory_bytes": 100 * MIB},
    ),
    Attack(
        number=2,
        name="memory locked into place",
        code="""
import mmap
x = mmap.mmap(-1, 32 << 20)
address = ctypes.addressof(ctypes.c_char.from_buffer(x))
_libc.mlock.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
if _libc.mlock(address, 32 << 20) == 0: print('allowed mlock')
if _libc.mlockall(3) == 0: print('allowed mlockall')
""",
    ),
    Attack(
        number=2,
        name="memory that is charged to nobody",
        code="""
denied('memfd_create', 'memfd_create', b'x', 0)
denied('memfd_secret', 'memfd_secret', 0)
denied('shmget', 'shmget', 1, 1 << 20, 0o1600)
denied('msgget', 'msgget', 1, 0o1600)
denied('semget', 'semget', 1, 1, 0o1600)
denied('io_setup', 'io_setup', 1 << 16, ctypes.byref(ctypes.c_long()))
""",
    ),
    Attack(
        number=2,
        name="larger pages and another memory policy",
        code="""
import mmap
attempt('huge pages', mmap.mmap, -1, 2 << 20, 0x40000 | mmap.MAP_SHARED)
attempt('huge private pages', mmap.mmap, -1, 2 << 20, 0x40000 | mmap.MAP_PRIVATE)
denied('policy', 'set_mempolicy', 0, 0, 0)
denied('binding', 'mbind', 0, 4096, 0, 0, 0, 0)
denied('moving', 'migrate_pages', 1, 0, 0, 0)
""",
    ),
    Attack(
        number=4,
        name="opening until there is no descriptor left",
        code="""
files = []
try:
    while True: files.append(open('/dev/null'))
except OSError as error: print(error.errno, len(files) < 256)
""",
        must=prints("24 True\n"),
    ),
    Attack(
        number=4,
        name="descriptors of every kind",
        code="""
import select
counts = []
makers = (os.pipe, socket.socketpair, select.epoll, lambda: os.eventfd(0) if hasattr(os, 'eventfd')
          else select.epoll(), lambda: call('pidfd_open', os.getpid(), 0))
for make in makers:
    kept = []
    try:
        while len(kept) < 10_000: kept.append(make())
    except OSError: pass
    counts.append(len(kept))
    for thing in kept:
        for each in thing if isinstance(thing, tuple) else (thing,):
            os.close(each) if isinstance(each, int) else each.close()
print(max(counts) < 256)
""",
        must=prints("True\n"),
    ),
    Attack(
        number=4,
        name="descriptors in flight between sockets",
        code="""
a, b = socket.socketpair()
a.setblocking(False)
sent = 0
try:
    while sent < 100_000:
        fd = os.open('/dev/null', 0)
        socket.send_fds(a, [b'x'], [fd])
        os.close(fd)
        sent += 1
except OSError as error: print(sent < 5000)
""",
        must=prints("True\n"),
    ),
    Attack(
        number=4,
        name="sockets in flight within each other",
        code="""
a, b = socket.socketpair()
for _ in range(500):
    c, d = socket.socketpair()
    try:
        socket.send_fds(c, [b'x'], [a.fileno(), b.fileno()])
    except OSError: break
    a.close(); b.close()
    a, b = c, d
""",
    ),
)
