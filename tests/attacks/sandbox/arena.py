"""What an attack is, and where it is made: a victim, a neighbour, and a host that must not notice.

An attack is data: code that tries something and prints a line for whatever it was allowed to do.
What must happen is checked on how it ended; that nothing else has happened is checked by the arena
after each one: the attacked sandbox still tells the truth, the neighbour still answers and has what
it had, the host is as it was, and the next episode begins like the first.
"""

import contextlib
import dataclasses
import os
import pathlib
import resource
import select
import socket
import subprocess
import time
from collections.abc import Callable, Mapping

from execgym.sandbox import (
    CommandResult,
    Limits,
    Sandbox,
    SandboxSpec,
    kernel,
    open_sandbox,
    run_sync,
    seccomp,
)

MIB = 1024 * 1024

CLASSES = {
    1: "fork bomb, thread bomb",
    2: "memory bomb",
    3: "disk and inode fill",
    4: "descriptor exhaustion",
    5: "output flood",
    6: "stdin hold, pipe games",
    7: "escape from kill",
    8: "freeze",
    9: "signals to others",
    10: "ptrace, process_vm, /proc/PID/mem",
    11: "/proc tricks",
    12: "links, FIFOs and devices on copy-out",
    13: "names and content",
    14: "sparse, huge and zip bombs",
    15: "mounts and nested namespaces",
    16: "shared kernel objects",
    17: "system call surface",
    18: "network egress",
    19: "metadata and control plane",
    20: "proxy bypass",
    21: "privilege",
    22: "control groups",
    23: "state left between episodes",
    24: "clones that are the same",
    25: "clock",
    26: "terminal escapes, log injection",
    27: "protocol forgery toward the host",
    28: "reward forgery",
    29: "death at each step",
    30: "fork-safety",
    31: "noisy neighbour",
    32: "compile-time abuse",
}
"""The classes of attack, by their number in the reference that the suite follows."""

Must = Callable[[CommandResult], None]


def is_refused(result: CommandResult) -> None:
    """Nothing was allowed: no line, no limit, no failure."""
    assert (result.stdout, result.exit_code, result.limit) == (b"", 0, ""), result


def prints(text: str, status: int = 0) -> Must:
    """It prints just this, and ends by itself with this status."""

    def must(result: CommandResult) -> None:
        told = result.stdout.decode(errors="backslashreplace"), result.exit_code, result.limit
        assert told == (text, status, ""), result

    return must


def ends_at(*limits: str) -> Must:
    """One of these limits ends it; `""` allows it to end by itself."""

    def must(result: CommandResult) -> None:
        assert result.limit in limits, result
        assert b"allowed" not in result.stdout, result

    return must


def is_harmless(result: CommandResult) -> None:
    """It ends by itself; what it was allowed is of no use."""
    assert (result.exit_code, result.limit) == (0, ""), result


def does_not_succeed(result: CommandResult) -> None:
    """It fails, by whatever means, and was allowed nothing."""
    assert not result.ok, result
    assert b"allowed" not in result.stdout, result


def dies_of(number: int) -> Must:
    """A signal ends it."""

    def must(result: CommandResult) -> None:
        assert (result.signal, result.limit) == (number, ""), result

    return must


@dataclasses.dataclass(frozen=True, kw_only=True)
class Attack:
    """One thing that hostile code may try.

    Attributes:
        number: Its class, of `CLASSES`.
        name: What is tried.
        code: Python after `PRELUDE`, or a shell script.
        must: Checks what must happen.
        limits: The command's limits, where they are not the usual ones.
        of_one_user: Checks what must happen instead where all sandboxes of a zygote belong to one
            unprivileged user, as seen from outside.
        in_own_container: Checks what must happen instead in a container of the sandbox's own, whose
            mounts are the runtime's: a process can open its own switches in `/proc` there.
        shell: Whether the code is a shell's.
        channel: Whether it runs as a program with a channel to the host.
    """

    number: int
    name: str
    code: str
    must: Must = is_refused
    limits: Mapping[str, float] = dataclasses.field(default_factory=dict)
    of_one_user: Must | None = None
    in_own_container: Must | None = None
    shell: bool = False
    channel: bool = False

    def __str__(self) -> str:
        return f"{self.number:02} {self.name}"


_COLUMN = 0 if kernel.MACHINE == "x86_64" else 1
NUMBERS = {
    **{name: pair[_COLUMN] for name, pair in seccomp._DENIED.items()},
    "clone": seccomp._CLONE[kernel.MACHINE],
    "clone3": 435,
    "ioctl": seccomp._IOCTL[kernel.MACHINE],
    "mknodat": seccomp._MKNODAT[kernel.MACHINE][0],
    "mq_open": {"x86_64": 240, "aarch64": 180}[kernel.MACHINE],
    "pidfd_open": 434,
    "pidfd_send_signal": 424,
    "prctl": {"x86_64": 157, "aarch64": 167}[kernel.MACHINE],
    "prlimit64": seccomp._PRLIMIT64[kernel.MACHINE],
    "seccomp": {"x86_64": 317, "aarch64": 277}[kernel.MACHINE],
    "sched_setattr": {"x86_64": 314, "aarch64": 274}[kernel.MACHINE],
    "setpriority": seccomp._SETPRIORITY[kernel.MACHINE],
    "ioprio_set": seccomp._IOPRIO_SET[kernel.MACHINE],
    "landlock_create_ruleset": 444,
}
"""System calls of this machine by name, -1 for one that it does not have."""

PRELUDE = f"""
import ctypes, errno, os, signal, socket, stat, struct, subprocess, sys, threading, time
_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long
NUMBERS = {NUMBERS!r}

def call(name, *arguments):
    '''Make a system call; raise where it is refused, and also where this machine has none.'''
    number = NUMBERS[name] if isinstance(name, str) else name
    ctypes.set_errno(0)
    words = []
    for argument in arguments:
        if isinstance(argument, bytes): words.append(ctypes.c_char_p(argument))
        elif isinstance(argument, int): words.append(ctypes.c_ulong(argument & (2**64 - 1)))
        else: words.append(argument)
    result = _libc.syscall(ctypes.c_long(number), *words)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result

def attempt(what, function, *arguments):
    '''Try something; say so where it was allowed.'''
    try:
        result = function(*arguments)
    except (OSError, ValueError, ModuleNotFoundError):
        return
    print('allowed', what, repr(result)[:100], flush=True)

def denied(what, name, *arguments):
    '''Try a system call; say so where it failed for another reason than its ban.'''
    try:
        result = call(name, *arguments)
    except OSError as error:
        if error.errno in (errno.EPERM, errno.ENOSYS): return
        result = error
    print('allowed', what, repr(result)[:100], flush=True)
"""


class Host:
    """What of the host an attack could reach, and must not."""

    def __init__(self, folder: pathlib.Path) -> None:
        self._stack = contextlib.ExitStack()
        self.secret = folder / "secret"
        self.secret.write_text("the host's own")
        self.service = socket.create_server(("0.0.0.0", 0))
        self.unix_path = str(folder / "service")
        self.unix = socket.socket(socket.AF_UNIX)
        self.unix.bind(self.unix_path)
        self.abstract_name = f"\0attacked-host-{os.getpid()}"
        self.abstract = socket.socket(socket.AF_UNIX)
        self.abstract.bind(self.abstract_name)
        self._listeners = (self.service, self.unix, self.abstract)
        for listener in self._listeners:
            listener.listen()
            self._stack.enter_context(listener)
        self.process = self._stack.enter_context(subprocess.Popen(["sleep", "100000"]))
        self._stack.callback(self.process.kill)

    def close(self) -> None:
        self._stack.close()

    @property
    def port(self) -> int:
        return self.service.getsockname()[1]

    def state(self) -> dict[str, object]:
        """Return all that an attack must leave as it is."""
        status = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2]
        files = self.secret.stat()
        return {
            "secret": (self.secret.read_text(), files.st_mtime_ns, files.st_mode, files.st_nlink),
            "folder": sorted(path.name for path in self.secret.parent.iterdir()),
            "visitors": select.select(self._listeners, [], [], 0)[0],
            "process": status.split()[0],
            "limits": [resource.getrlimit(kind) for kind in range(16)],
            "nice": os.getpriority(os.PRIO_PROCESS, 0),
            "mounts": [
                line
                for line in pathlib.Path("/proc/self/mounts").read_text().splitlines()
                if line.split()[1].startswith(("/sandbox", "/workspace"))
            ],
            "clock": round(time.time() - time.monotonic()),
            **{path: _read(path) for path in _SWITCHES},
            **{path: _lines(path) for path in _SYSTEM_V},
        }


_SWITCHES = (
    "/proc/sys/kernel/hostname",
    "/proc/sys/kernel/domainname",
    "/proc/sys/kernel/core_pattern",
    "/proc/sys/kernel/modprobe",
    "/proc/sys/kernel/sysrq",
    "/proc/sys/net/ipv4/ip_forward",
    "/proc/sys/vm/overcommit_memory",
    "/proc/self/oom_score_adj",
)
_SYSTEM_V = ("/proc/sysvipc/shm", "/proc/sysvipc/msg", "/proc/sysvipc/sem")


def _read(path: str) -> str:
    try:
        return pathlib.Path(path).read_text()
    except OSError:
        return ""


def _lines(path: str) -> int:
    return _read(path).count("\n")


_NEIGHBOURS_QUESTION = """
import os
print(open('/workspace/canary').read(), sorted(os.listdir('/workspace')), 6 * 7)
"""
_NEIGHBOURS_ANSWER = b"untouched ['canary'] 42\n"
_FIRST_LOOK = """
import os, socket, sys
folders = [sorted(os.listdir(path)) for path in ('/workspace', '/tmp', '/dev/shm')]
processes = sorted(int(name) for name in os.listdir('/proc') if name.isdigit())
print(folders, processes, sorted(os.environ.items()), socket.gethostname(), os.getcwd(), sys.path,
      os.umask(0), os.getpriority(os.PRIO_PROCESS, 0), os.stat('/workspace').st_mode)
"""
_EMPTY = """
import os, shutil
for folder in ('/workspace', '/tmp', '/dev/shm'):
    os.chmod(folder, 0o755)
    for top, folders, _ in os.walk(folder):
        for name in folders:
            path = os.path.join(top, name)
            if not os.path.islink(path): os.chmod(path, 0o700)
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        if os.path.islink(path) or not os.path.isdir(path): os.unlink(path)
        else: shutil.rmtree(path)
"""
# What a sandbox as a whole is bounded by.
_OF_A_SANDBOX = {"workspace_bytes", "workspace_inodes", "memory_bytes", "processes"}


class Arena:
    """Sandboxes of one backend under attack.

    Where a sandbox takes a container of its own, attacks on sandboxes of one shape share a victim
    while it answers, and the next episode is looked at once at the end.
    """

    def __init__(self, backend: str, folder: pathlib.Path) -> None:
        self.backend = backend
        self._shares = backend == "docker-per-episode"
        # A pod's zygote has no privilege, and neither has an ordinary user's.
        self._of_one_user = backend == "docker" or (backend == "namespace" and os.geteuid() != 0)
        self.host = Host(folder)
        self._victims: dict[frozenset[tuple[str, float]], Sandbox] = {}
        self.neighbour = self.open()
        run_sync(self.neighbour.write_file("canary", b"untouched"))
        with self.opened() as sandbox:
            self._first_look = run_sync(sandbox.run_python(_FIRST_LOOK)).check().stdout

    def close(self) -> None:
        try:
            for sandbox in self._victims.values():
                run_sync(sandbox.close())
            self.check_next_episode()
        finally:
            run_sync(self.neighbour.close())
            self.host.close()

    def open(self, **limits: float) -> Sandbox:
        """Open a sandbox of the backend."""
        return run_sync(open_sandbox(SandboxSpec(backend=self.backend, limits=Limits(**limits))))

    @contextlib.contextmanager
    def opened(self, **limits: float):
        """A sandbox of the backend for the length of a block."""
        sandbox = self.open(**limits)
        try:
            yield sandbox
        finally:
            run_sync(sandbox.close())

    @contextlib.contextmanager
    def watched(self):
        """Whatever the block does, host, neighbour and next episode must not notice."""
        before = self.host.state()
        yield
        self.check_neighbour()
        assert self.host.state() == before
        if not self._shares:
            self.check_next_episode()

    @contextlib.contextmanager
    def victim(self, **limits: float):
        """A sandbox to be attacked, which must answer truthfully after the block."""
        own = {name: limits[name] for name in _OF_A_SANDBOX & limits.keys()}
        shape = frozenset(own.items())
        sandbox = self._victims.pop(shape, None) or self.open(**own)
        try:
            with self.watched():
                yield sandbox
                self._check_answers(sandbox)
            if self._shares and run_sync(sandbox.run_python(_EMPTY)).ok:
                self._victims[shape], sandbox = sandbox, None
        finally:
            if sandbox is not None:
                run_sync(sandbox.close())

    def run(self, attack: Attack) -> None:
        """Make an attack, check what must happen, and what must not."""
        with self.victim(**attack.limits) as sandbox:
            result = self._command(sandbox, attack)
            must = attack.of_one_user if self._of_one_user else None
            if self.backend == "docker-per-episode":
                must = attack.in_own_container
            (must or attack.must)(result)

    @staticmethod
    def _command(sandbox: Sandbox, attack: Attack) -> CommandResult:
        """Run an attack's code."""
        limits = Limits(**attack.limits)
        if attack.shell:
            return run_sync(sandbox.run_command(["sh", "-c", attack.code], limits=limits))
        code = PRELUDE + attack.code
        if not attack.channel:
            return run_sync(sandbox.run_python(code, limits=limits))

        async def start_and_wait() -> CommandResult:
            return await (await sandbox.start_python(code, limits=limits)).wait()

        return run_sync(start_and_wait())

    @staticmethod
    def _check_answers(sandbox: Sandbox) -> None:
        """An attacked sandbox still tells the truth about the next program."""
        after = run_sync(sandbox.run_python("print('alive')\nraise SystemExit(3)"))
        assert (after.stdout, after.exit_code) == (b"alive\n", 3), after
        assert run_sync(sandbox.stats()).processes == 1

    def check_neighbour(self) -> None:
        """The neighbour still answers, and has what it had."""
        result = run_sync(self.neighbour.run_python(_NEIGHBOURS_QUESTION))
        assert (result.stdout, result.exit_code) == (_NEIGHBOURS_ANSWER, 0), result
        assert run_sync(self.neighbour.stats()).processes == 1

    def check_next_episode(self) -> None:
        """The next episode begins as the first one did."""
        with self.opened() as sandbox:
            result = run_sync(sandbox.run_python(_FIRST_LOOK))
        assert result.stdout == self._first_look, result
