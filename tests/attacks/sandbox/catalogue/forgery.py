"""Frames, results and rewards that a program would rather write itself."""

import struct

from arena import Attack, CommandResult, ends_at, prints

from execgym.sandbox import wire

FORGED = b"".join(
    wire.encode(wire.Frame(kind, number, {"exit_code": 0, "stdout_length": 4}, b"PASS"))
    for kind in sorted(wire.KINDS)
    for number in range(4)
)
_WRITE = f"""
forged = {FORGED!r}
def write(fd, data=forged):
    try:
        os.set_blocking(fd, False)
        os.write(fd, data)
    except OSError: pass
"""


def _is_mere_output(result: CommandResult) -> None:
    assert (result.exit_code, result.limit) == (5, ""), result
    assert (result.stdout, result.stderr) == (FORGED, FORGED), result


def _is_not_believed(result: CommandResult) -> None:
    assert (result.exit_code, result.limit) == (5, ""), result


def _fails(result: CommandResult) -> None:
    assert not result.ok, result


ATTACKS = (
    Attack(
        number=27,
        name="forged frames on every descriptor",
        code=_WRITE + "for fd in range(300): write(fd)\nos._exit(5)",
        must=_is_mere_output,
    ),
    Attack(
        number=27,
        name="forged frames on every descriptor and the channel",
        code=_WRITE + "for fd in range(300): write(fd)\nos._exit(5)",
        must=_is_not_believed,
        channel=True,
    ),
    Attack(
        number=27,
        name="forged frames through descriptors that are opened again",
        code=_WRITE
        + """
for process in ('self', 'thread-self', '1', str(os.getppid())):
    for number in range(64):
        for flags in (os.O_RDWR, os.O_WRONLY):
            try: write(os.open('/proc/%s/fd/%d' % (process, number), flags | os.O_NONBLOCK))
            except OSError: continue
            if process == '1': print('allowed', number)
os._exit(5)
""",
        must=_is_not_believed,
    ),
    Attack(
        number=27,
        name="sockets found in memory",
        code=_WRITE
        + """
import gc
gc.unfreeze()
for thing in gc.get_objects():
    if isinstance(thing, socket.socket) and thing.fileno() > 2:
        for function in (thing.send, thing.sendall): attempt('send', function, forged)
os._exit(5)
""",
        must=_is_not_believed,
    ),
    Attack(
        number=27,
        name="objects of the first process found in memory",
        code="""
import gc
gc.unfreeze()
for thing in gc.get_objects():
    if type(thing).__name__ in ('Guest', 'Zygote', 'Program'):
        for name in ('send', '_flush', 'finish', '_end', 'result', 'run', '_collect'):
            for arguments in ((), (5, 1, {'exit_code': 0}, b'PASS')):
                try: getattr(thing, name)(*arguments)
                except BaseException: pass
os._exit(7)
""",
        must=_fails,
        limits={"cpu_seconds": 2, "wall_seconds": 5},
    ),
    Attack(
        number=27,
        name="functions of the runner replaced",
        code="""
import gc, types
gc.unfreeze()
for thing in gc.get_objects():
    if isinstance(thing, types.FunctionType) and 'guest' in thing.__code__.co_filename:
        thing.__code__ = (lambda *a, **k: 'PASS').__code__
    if isinstance(thing, dict) and '_run_main' in thing: thing['_run_main'] = lambda *a: 0
os._exit(5)
""",
        must=_is_not_believed,
    ),
    Attack(
        number=27,
        name="names of the runner's frames",
        code="""
frame = sys._getframe()
while frame is not None:
    for value in list(frame.f_locals.values()):
        if hasattr(value, 'send'):
            try: value.send(5, 1, {'exit_code': 0}, b'PASS'); value._flush()
            except BaseException: pass
        if isinstance(value, dict): value['exit_code'] = 0
    frame = frame.f_back
os._exit(5)
""",
        must=_is_not_believed,
    ),
    *(
        Attack(
            number=27,
            name=f"a message that claims {length} bytes",
            code=f"os.write(3, {struct.pack('>I', length)!r} + b'x' * 1000)\nprint('on')",
            must=prints("on\n"),
            channel=True,
        )
        for length in (8 * 1024 * 1024 + 1, 0x7FFFFFFF, 0xFFFFFFFF, 2000)
    ),
    Attack(
        number=27,
        name="half a message, and the end",
        code="os.write(3, b'\\0\\0\\0\\x09half')\nos._exit(5)",
        must=_is_not_believed,
        channel=True,
    ),
    Attack(
        number=27,
        name="messages interleaved by many processes",
        code="""
import sandbox_channel
for _ in range(3): os.fork()
for _ in range(200): os.write(3, b'\\0\\0\\0\\x04abcd' + forged[:7])
""".replace("forged", repr(FORGED)),
        must=lambda result: ends_at("", "cpu", "wall")(result),
        channel=True,
        limits={"cpu_seconds": 5, "wall_seconds": 10},
    ),
    Attack(
        number=27,
        name="late frames by a child that stays",
        code=_WRITE
        + """
if os.fork() == 0:
    os.setsid()
    while True:
        for fd in (1, 2, 3): write(fd, forged)
        time.sleep(0.001)
os._exit(5)
""",
        must=_is_not_believed,
        channel=True,
    ),
    Attack(
        number=27,
        name="the channel shut down one way",
        code="""
end = socket.socket(fileno=3)
end.shutdown(socket.SHUT_RD)
end.send(b'\\0\\0\\0\\x02hi')
end.shutdown(socket.SHUT_WR)
print('on')
""",
        must=prints("on\n"),
        channel=True,
    ),
    Attack(
        number=27,
        name="descriptors sent over the channel",
        code="""
for _ in range(300):
    try: socket.send_fds(socket.socket(fileno=os.dup(3)), [b'\\0\\0\\0\\x01x'], [0, 1, 2])
    except OSError: pass
print('on')
""",
        must=prints("on\n"),
        channel=True,
        limits={"wall_seconds": 20},
    ),
    Attack(
        number=27,
        name="as many bytes as the channel takes, and no message",
        code="""
os.set_blocking(3, False)
end = time.monotonic() + 0.3
while time.monotonic() < end:
    try: os.write(3, b'\\0\\0\\0\\0' * 10_000)
    except BlockingIOError: pass
""",
        must=ends_at("", "wall"),
        channel=True,
        limits={"wall_seconds": 20},
    ),
    *(
        Attack(
            number=28,
            name=f"saying that one has passed, status {status}",
            code=f"""
print('{{"exit_code": 0, "limit": "", "passed": true}}')
print('PASSED\\n1 passed in 0.01s\\nOK')
raise SystemExit({status})
""",
            must=lambda result, status=status: _ends_with(result, status),
        )
        for status in (0, 1, 5)
    ),
    Attack(
        number=28,
        name="another program's name on the path",
        code="""
for name in ('sh', 'cat', 'python3', 'git'):
    with open('/workspace/' + name, 'w') as file: file.write('#!/bin/sh\\necho forged\\n')
    os.chmod('/workspace/' + name, 0o755)
os.environ['PATH'] = '/workspace:' + os.environ['PATH']
for path in ('/usr/local/bin/sh', '/usr/bin/cat'): attempt(path, open, path, 'w')
""",
    ),
    Attack(
        number=28,
        name="files that an interpreter reads at its start",
        code="""
import site
for path in (*sys.path, *site.getsitepackages(), os.path.dirname(os.__file__)):
    if path and not path.startswith('/workspace'):
        for name in ('sitecustomize.py', 'usercustomize.py', 'x.pth', 'conftest.py'):
            attempt(path, open, os.path.join(path, name), 'w')
""",
    ),
    Attack(
        number=28,
        name="less time and memory than were used",
        code="""
import resource
x = bytearray(60_000_000)
stop = time.process_time() + 0.2
while time.process_time() < stop: pass
resource.getrusage = time.process_time = lambda *_: 0
_libc.prctl(15, b'idle', 0, 0, 0)
os.execv('/bin/true', ['true'])
""",
        must=lambda result: _is_measured(result),
    ),
    Attack(
        number=28,
        name="a status that no program has",
        code="os._exit(256 + 5)",
        must=_is_not_believed,
    ),
    Attack(
        number=28,
        name="an end through a signal that looks like a limit",
        code="os.kill(os.getpid(), signal.SIGXCPU)",
        must=lambda result: _is_no_limit(result, 24),
    ),
    Attack(
        number=29,
        name="a program that dies before it has read its message",
        code="os.kill(os.getpid(), 9)",
        must=lambda result: _is_no_limit(result, 9),
        channel=True,
    ),
    Attack(
        number=29,
        name="a program that dies within its message",
        code="os.write(3, b'\\0\\0\\x10\\0' + b'x' * 100)\nos.kill(os.getpid(), 9)",
        must=lambda result: _is_no_limit(result, 9),
        channel=True,
    ),
    Attack(
        number=29,
        name="a program that replaces itself by nothing",
        code="os.execv('/dev/null', ['x'])",
        must=_fails,
    ),
    Attack(
        number=29,
        name="a program whose parent ends before it",
        code="""
if os.fork() != 0: os._exit(5)
time.sleep(1000)
""",
        must=_is_not_believed,
    ),
)


def _ends_with(result: CommandResult, status: int) -> None:
    assert (result.exit_code, result.signal, result.limit) == (status, 0, ""), result


def _is_measured(result: CommandResult) -> None:
    assert result.ok, result
    assert result.cpu_seconds >= 0.2, result
    assert result.peak_memory_bytes >= 60_000_000, result


def _is_no_limit(result: CommandResult, number: int) -> None:
    assert (result.signal, result.limit) == (number, ""), result
