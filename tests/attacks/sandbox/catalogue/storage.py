"""The workspace filled, and files that are not what they seem."""

from arena import MIB, Attack, does_not_succeed, ends_at, prints

_SMALL = {"workspace_bytes": 8 * MIB, "workspace_inodes": 200}

ATTACKS = (
    Attack(
        number=3,
        name="writing until the disk is full",
        code="""
total = 0
try:
    for n in range(10_000):
        with open('f%d' % n, 'wb', buffering=0) as file: total += file.write(bytes(1 << 20))
except OSError as error: print(error.errno, total <= 8 << 20)
""",
        must=prints("28 True\n"),
        limits=_SMALL,
    ),
    Attack(
        number=3,
        name="allocating without writing",
        code="""
fd = os.open('big', os.O_CREAT | os.O_RDWR)
try: os.posix_fallocate(fd, 0, 32 << 20)
except OSError as error: print(error.errno)
""",
        must=prints("28\n"),
        limits=_SMALL,
    ),
    Attack(
        number=3,
        name="a million files",
        code="""
made = 0
try:
    while made < 1_000_000:
        open(str(made), 'w').close()
        made += 1
except OSError as error: print(error.errno, made < 200)
""",
        must=prints("28 True\n"),
        limits=_SMALL,
    ),
    Attack(
        number=3,
        name="folders, links, FIFOs and sockets without end",
        code="""
makers = (os.mkdir, os.mkfifo, lambda n: os.symlink('/x' * 1000, n),
          lambda n: socket.socket(socket.AF_UNIX).bind(n))
for make in makers:
    made = 0
    try:
        while made < 10_000:
            make('%s-%d' % (makers.index(make), made))
            made += 1
    except OSError: pass
    if made >= 200: print('allowed', made)
""",
        limits=_SMALL,
    ),
    Attack(
        number=3,
        name="a tree too deep for any path",
        code="""
for _ in range(3000):
    os.mkdir('d')
    os.chdir('d')
open('leaf', 'w').close()
""",
    ),
    Attack(
        number=3,
        name="files that are deleted and kept open",
        code="""
kept = []
try:
    for n in range(100):
        kept.append(open('x', 'wb', buffering=0))
        os.unlink('x')
        kept[-1].write(bytes(1 << 20))
except OSError as error: print(error.errno, len(kept) < 12)
""",
        must=prints("28 True\n"),
        limits=_SMALL,
    ),
    Attack(
        number=3,
        name="names and attributes that cost memory",
        code="""
for n in range(300):
    try: os.setxattr('/workspace', 'user.%d' % n, bytes(60_000))
    except OSError: break
else: print('allowed', n)
""",
        limits=_SMALL,
    ),
    Attack(
        number=3,
        name="a file larger than its limit",
        code="""
try:
    with open('big', 'wb', buffering=0) as file:
        while True: file.write(bytes(65536))
except OSError as error: print(error.errno, os.path.getsize('big'))
""",
        must=prints("27 1000000\n"),
        limits={"file_bytes": 1_000_000},
    ),
    Attack(
        number=3,
        name="folders of the system",
        code="""
own = ('/proc', '/workspace', '/tmp', '/dev/shm', '/sandbox')
for top, folders, _ in os.walk('/'):
    if top.startswith(own) or top.count('/') > 3: folders[:] = []
    if not top.startswith(own): attempt(top, open, os.path.join(top, 'x'), 'w')
""",
    ),
    Attack(
        number=14,
        name="a sparse file of a terabyte",
        code="open('sparse', 'wb').truncate(2**40)\nprint(os.stat('sparse').st_blocks)",
        must=prints("0\n"),
        limits={"file_bytes": 2**44},
    ),
    Attack(
        number=14,
        name="sparse files without end",
        code="""
for n in range(64):
    with open('s%d' % n, 'wb') as file: file.truncate(2**43)
""",
        limits={"file_bytes": 2**44},
    ),
    Attack(
        number=14,
        name="a zip bomb",
        code="""
import io, zipfile
data = io.BytesIO()
with zipfile.ZipFile(data, 'w', zipfile.ZIP_DEFLATED) as archive:
    archive.writestr('bomb', bytes(100 << 20))
zipfile.ZipFile(data).extractall('/workspace')
""",
        must=does_not_succeed,
        limits={"workspace_bytes": 8 * MIB, "memory_bytes": 300 * MIB},
    ),
    Attack(
        number=14,
        name="a bomb in a compressed stream, in memory",
        code="""
import zlib
packed = zlib.compress(bytes(64 << 20))
x = []
while True: x.append(zlib.decompress(packed))
""",
        must=does_not_succeed,
        limits={"memory_bytes": 200 * MIB, "wall_seconds": 20},
    ),
    Attack(
        number=14,
        name="data nested without end",
        code="import json\njson.loads('[' * 1_000_000)",
        must=does_not_succeed,
    ),
    Attack(
        number=14,
        name="a pickle that runs a program",
        code="""
import pickle
class Bomb:
    def __reduce__(self): return os.system, ('echo run; exit 0',)
pickle.loads(pickle.dumps(Bomb()))
""",
        must=prints("run\n"),
    ),
    Attack(
        number=14,
        name="a file that grows while it is copied",
        code="""
with open('self', 'wb') as target: target.write(b'x')
with open('self', 'rb') as source, open('self', 'ab', buffering=0) as target:
    while True: target.write(source.read(1 << 16) or b'x')
""",
        must=ends_at("cpu", "wall", ""),
        limits={"workspace_bytes": 8 * MIB, "cpu_seconds": 1},
    ),
)
