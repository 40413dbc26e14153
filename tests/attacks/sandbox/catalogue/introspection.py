"""The memory, the descriptors and the switches that /proc and tracing would open."""

import re

from arena import Attack, CommandResult, is_harmless, is_refused, prints

_ITS_OWN = ("mem", "environ", "maps", "auxv", "io", "stack", "syscall", "personality", "wchan")
_ITS_LINKS = ("fd", "root", "cwd", "exe", "ns/user", "ns/mnt", "fd/3", "task/1/fd")
_SWITCHES = (
    "/proc/sys/kernel/core_pattern",
    "/proc/sys/kernel/hostname",
    "/proc/sys/kernel/shmmax",
    "/proc/sys/kernel/modprobe",
    "/proc/sys/net/ipv4/ip_forward",
    "/proc/sys/vm/overcommit_memory",
    "/proc/sys/user/max_user_namespaces",
    "/proc/sys/fs/binfmt_misc/register",
    "/proc/sysrq-trigger",
    "/proc/self/oom_score_adj",
    "/proc/self/uid_map",
    "/proc/self/setgroups",
    "/proc/1/oom_score_adj",
    "/proc/1/coredump_filter",
    "/proc/1/clear_refs",
)
_KERNEL = ("/proc/kcore", "/proc/kmsg", "/proc/kpagecount", "/proc/kpageflags", "/dev/mem")
_MASKED = "interrupts|kcore|keys|latency_stats|sched_debug|timer_list|timer_stats"


def _opens_only_its_own(result: CommandResult) -> None:
    """What was opened is the process's own, or `/dev/null` over what is hidden."""
    is_harmless(result)
    own = re.compile(rf"allowed /proc/(\d+/(?!sys/).*|{_MASKED}) \d+")
    lines = result.stdout.decode().splitlines()
    assert [line for line in lines if not own.fullmatch(line)] == [], result


def _can_write_no_mount(result: CommandResult) -> None:
    is_harmless(result)
    writable = re.findall("(.*) can be written", result.stdout.decode())
    assert [each for each in writable if not re.fullmatch(f"/proc/({_MASKED})", each)] == [], result


ATTACKS = (
    Attack(
        number=10,
        name="tracing the first process",
        code="""
for request in (16, 0x4206):  # PTRACE_ATTACH, PTRACE_SEIZE
    denied('request %x' % request, 'ptrace', request, 1, 0, 0)
""",
    ),
    Attack(
        number=10,
        name="tracing one's own children and oneself",
        code="""
child = os.fork()
if child == 0: time.sleep(1000)
denied('attach', 'ptrace', 16, child, 0, 0)
denied('be traced', 'ptrace', 0, 0, 0, 0)
""",
    ),
    Attack(
        number=10,
        name="the first process's memory by system calls",
        code="""
buffer = ctypes.create_string_buffer(64)
class Vector(ctypes.Structure): _fields_ = [('base', ctypes.c_void_p), ('length', ctypes.c_size_t)]
local = Vector(ctypes.addressof(buffer), 64)
there = Vector(id(type), 64)
for name in ('process_vm_readv', 'process_vm_writev'):
    denied(name, name, 1, ctypes.byref(local), 1, ctypes.byref(there), 1, 0)
denied('advice', 'process_madvise', 0, 0, 0, 0, 0)
denied('compare', 'kcmp', 1, 1, 0, 3, 3)
denied('its robust locks', {'x86_64': 274, 'aarch64': 100}[os.uname().machine], 1,
        ctypes.byref(ctypes.c_void_p()), ctypes.byref(ctypes.c_size_t()))
""",
    ),
    Attack(
        number=10,
        name="what the first process keeps to itself",
        code=f"""
for name in {_ITS_OWN!r}:
    for flags in (os.O_RDONLY, os.O_WRONLY, os.O_RDWR):
        def use():
            fd = os.open('/proc/1/' + name, flags)
            if flags == os.O_RDONLY and os.read(fd, 64).strip() in (b'', b'0'): raise OSError
        attempt(name, use)
""",
    ),
    Attack(
        number=10,
        name="what the first process leads to",
        code=f"""
for name in {_ITS_LINKS!r}:
    path = '/proc/1/' + name
    try: numbers = os.listdir(path) if name.endswith('fd') else []
    except OSError: numbers = range(16)
    for each in [path, *('%s/%s' % (path, number) for number in numbers)]:
        attempt(each, os.readlink, each)
        if each != path or not name.endswith('fd'):
            for function in (os.chdir, os.stat): attempt(each, function, each)
            for flags in (os.O_RDONLY, os.O_WRONLY, os.O_PATH): attempt(each, os.open, each, flags)
attempt('its mappings', os.listdir, '/proc/1/map_files')
""",
    ),
    Attack(
        number=10,
        name="how many descriptors the first process has",
        code="attempt('numbers', os.listdir, '/proc/1/fd')",
        # The zygote's user owns the entries of its sandboxes' first processes, whose user it is:
        # the numbers can be listed then, but none can be followed, as above.
        of_one_user=is_harmless,
    ),
    Attack(
        number=10,
        name="memory of one's own that is meant to be read only",
        code="""
def overwrite():
    address = ctypes.cast(_libc.getpid, ctypes.c_void_p).value
    fd = os.open('/proc/self/mem', os.O_RDWR)
    return os.pwrite(fd, b'\\xc3', address)
attempt('code through /proc/self/mem', overwrite)
""",
        in_own_container=is_harmless,
    ),
    Attack(
        number=10,
        name="another's program file through one's own",
        code="""
for path in ('/proc/self/exe', sys.executable, '/bin/sh', os.__file__):
    for mode in ('r+b', 'ab', 'wb'): attempt(path, open, path, mode)
    attempt('removal', os.unlink, path)
    attempt('rights', os.chmod, path, 0o777)
    attempt('times', os.utime, path)
    attempt('name', os.rename, path, path + '.old')
    attempt('link', os.link, path, '/workspace/link')
""",
    ),
    Attack(
        number=11,
        name="only one's own processes",
        code="""
print({int(name) for name in os.listdir('/proc') if name.isdigit()} == {1, os.getpid()})
""",
        must=prints("True\n"),
    ),
    Attack(
        number=11,
        name="everything under /proc that could be written",
        code="""
for folder, folders, names in os.walk('/proc'):
    if folder == '/proc':
        folders[:] = [n for n in folders if not n.isdigit() or n == str(os.getpid())]
    if folder.endswith(('/task', '/fd', '/map_files')): folders[:] = []; continue
    for name in names:
        path = os.path.join(folder, name)
        if not os.path.islink(path): attempt(path, os.open, path, os.O_WRONLY | os.O_NONBLOCK)
""",
        in_own_container=_opens_only_its_own,
        limits={"cpu_seconds": 30},
    ),
    *(
        Attack(
            number=11,
            name=f"the kernel's switch {path}",
            code=f"""
for flags in (os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_TRUNC):
    attempt('turning', lambda: os.write(os.open({path!r}, flags), b'1'))
attempt('rights', os.chmod, {path!r}, 0o777)
""",
            in_own_container=is_harmless if path == "/proc/self/oom_score_adj" else None,
        )
        for path in _SWITCHES
    ),
    *(
        Attack(
            number=11,
            name=f"the kernel's memory {path}",
            code=f"""
def read():
    data = os.read(os.open({path!r}, os.O_RDONLY | os.O_NONBLOCK), 8)
    if not data: raise OSError
    return data
attempt('reading', read)
""",
        )
        for path in _KERNEL
    ),
    Attack(
        number=11,
        name="a folder of the host through an inherited descriptor",
        code="""
for fd in range(3, 1024): attempt('descriptor %d' % fd, os.fstat, fd)
seen = {os.readlink('/proc/self/fd/%d' % fd).split(':')[0] for fd in (0, 1, 2)}
assert seen == {'pipe'}, seen
assert os.readlink('/proc/self/cwd') == '/workspace' and os.readlink('/proc/self/root') == '/'
""",
    ),
    Attack(
        number=11,
        name="descriptors besides the channel",
        code="""
for fd in [2, *range(4, 1024)]:
    if fd != 2: attempt('descriptor %d' % fd, os.fstat, fd)
print(os.readlink('/proc/self/fd/3').split(':')[0])
""",
        must=prints("socket\n"),
        channel=True,
    ),
    Attack(
        number=11,
        name="mounts of the host in the list of one's own",
        code="""
# Of several mounts at a place the last one counts: the others cannot be reached.
mounts = {fields[4]: fields for fields in map(str.split, open('/proc/self/mountinfo'))}
for place, fields in mounts.items():
    options = set(fields[5].split(','))
    if place.startswith('/dev/') and place != '/dev/shm': continue
    if not {'nosuid', 'nodev'} <= options: print(place, options)
    if place not in ('/workspace', '/tmp', '/dev/shm', '/sandbox') and 'ro' not in options:
        writable = os.access(place, os.W_OK)
        if writable: print(place, 'can be written')
""",
        in_own_container=_can_write_no_mount,
    ),
    Attack(
        number=11,
        name="the command lines and environments of others",
        code="""
for name in os.listdir('/proc'):
    if name.isdigit() and int(name) != os.getpid():
        attempt(name, lambda: open('/proc/%s/environ' % name).read())
own = open('/proc/self/environ').read() + str(os.environ)
for secret in ('SECRET', 'TOKEN', 'API_KEY', 'PASSWORD', 'PYTEST', 'SSH_', 'DOCKER', 'EXECGYM_'):
    if secret in own.upper(): print(secret)
""",
        must=is_refused,
    ),
)
