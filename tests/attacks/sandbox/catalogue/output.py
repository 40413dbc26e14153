"""Output in masses, games with pipes, and what a terminal would obey."""

from arena import Attack, CommandResult, ends_at, prints

_SHORT = {"cpu_seconds": 0.2, "wall_seconds": 4, "output_bytes": 1000}


def _is_bounded(result: CommandResult) -> None:
    ends_at("cpu", "wall")(result)
    assert len(result.stdout) <= 1000, len(result.stdout)
    assert len(result.stderr) <= 1000, len(result.stderr)
    assert result.stdout_dropped + result.stderr_dropped > 1000


def _says(data: bytes):
    def must(result: CommandResult) -> None:
        assert (result.stdout, result.exit_code, result.limit) == (data, 0, ""), result

    return must


_TERMINAL = (
    b"\x1b]0;title\x07\x1b[2J\x1b[31mred\r\x08",
    b"\xe2\x80\xae bidi \xe2\x81\xa6",
    b"\x1b]52;c;Zm9v\x07\x1b]8;;http://x\x07link",
    b"root@host:~# rm -rf /\r\n>>> ",
    b"\x00\xff\xfe\xed\xa0\x80",
    b"2026-01-01 00:00:00 ERROR forged line\n" * 3,
)

ATTACKS = (
    Attack(
        number=5,
        name="floods on both streams",
        code="while True:\n    for fd in (1, 2): os.write(fd, bytes(65536))",
        must=_is_bounded,
        limits=_SHORT,
    ),
    Attack(
        number=5,
        name="a flood by many processes",
        code="for _ in range(4): os.fork()\nwhile True: os.write(1, b'x' * 65536)",
        must=_is_bounded,
        limits=_SHORT,
    ),
    Attack(
        number=5,
        name="a flood of single bytes",
        code="while True: os.write(1, b'x')",
        must=_is_bounded,
        limits=_SHORT,
    ),
    Attack(
        number=5,
        name="one line of 256 MB",
        code="for _ in range(4096): os.write(1, b'x' * 65536)",
        must=lambda result: _counts(result, 4096 * 65536),
        limits={"output_bytes": 1000},
    ),
    Attack(
        number=5,
        name="a flood of a shell",
        code="yes & yes >&2 & while :; do echo flood; done",
        must=_is_bounded,
        limits=_SHORT,
        shell=True,
    ),
    Attack(
        number=5,
        name="a byte now and then until the wall limit",
        code="while True: os.write(1, b'x'); time.sleep(0.01)",
        must=ends_at("wall"),
        limits={"wall_seconds": 0.4},
    ),
    Attack(
        number=5,
        name="a flood on the channel that nobody reads",
        code="import sandbox_channel\nwhile True: sandbox_channel.send(bytes(1_000_000))",
        must=ends_at("cpu", "wall"),
        limits={"cpu_seconds": 0.2, "wall_seconds": 4},
        channel=True,
    ),
    Attack(
        number=5,
        name="empty messages in a flood",
        code="import sandbox_channel\nwhile True: sandbox_channel.send(b'')",
        must=ends_at("cpu", "wall"),
        limits={"cpu_seconds": 0.2, "wall_seconds": 4},
        channel=True,
    ),
    Attack(
        number=6,
        name="closing the streams and sleeping",
        code="for fd in (0, 1, 2): os.close(fd)\ntime.sleep(99)",
        must=ends_at("wall"),
        limits={"wall_seconds": 0.4},
    ),
    Attack(
        number=6,
        name="a grandchild that keeps the pipes",
        code="subprocess.Popen(['sleep', '1000'])\nprint('done')",
        must=prints("done\n"),
    ),
    Attack(
        number=6,
        name="waiting for input that never comes",
        code="print(repr(sys.stdin.read()), repr(os.read(0, 1)))",
        must=prints("'' b''\n"),
    ),
    Attack(
        number=6,
        name="reading from one's own output",
        code="""
for fd in (1, 2):
    attempt('reading', os.read, fd, 1)
    attempt('reading what is shown', os.read, os.dup(fd), 1)
attempt('writing to the input', os.write, 0, b'x')
""",
    ),
    Attack(
        number=6,
        name="making the pipes block, and larger",
        code="""
import fcntl
for fd in (0, 1, 2):
    os.set_blocking(fd, True)
    try: fcntl.fcntl(fd, 1031, 1 << 30)
    except OSError: pass
os.write(1, b'x' * 1_000_000)
""",
        must=lambda result: _counts(result, 1_000_000),
    ),
    Attack(
        number=6,
        name="opening one's pipes again",
        code="""
kept = [os.open('/proc/self/fd/%d' % fd, os.O_RDWR) for fd in (1, 2)]
if os.fork() == 0:
    os.setsid()
    time.sleep(1000)
print('done')
""",
        must=prints("done\n"),
    ),
    *(
        Attack(
            number=26,
            name=f"bytes that a terminal obeys, {index}",
            code=f"os.write(1, {data!r})",
            must=_says(data),
        )
        for index, data in enumerate(_TERMINAL)
    ),
    Attack(
        number=26,
        name="a terminal of one's own",
        code="""
attempt('a pty', os.openpty)
for path in ('/dev/tty', '/dev/console', '/dev/ptmx', '/dev/pts/0'):
    attempt(path, os.open, path, os.O_RDWR)
for request in (0x5412, 0x541C):
    for fd in (0, 1, 2): denied('ioctl %x' % request, 'ioctl', fd, request, b'x')
attempt('taking the terminal', call, 'ioctl', 0, 0x540E, 1)
""",
    ),
)


def _counts(result: CommandResult, size: int) -> None:
    ends_at("")(result)
    assert len(result.stdout) + result.stdout_dropped == size, result.stdout_dropped
