"""Bombs of processes, escapes from being killed, freezes, and signals to others."""

from arena import Attack, dies_of, ends_at, prints

_BOMB = {"cpu_seconds": 0.4, "wall_seconds": 4}
_SOON = {"cpu_seconds": 0.4, "wall_seconds": 0.7}

ATTACKS = (
    Attack(
        number=1,
        name="fork bomb",
        code="""
while True:
    try: os.fork()
    except OSError: pass
""",
        must=ends_at("cpu", "wall"),
        limits=_BOMB,
    ),
    Attack(
        number=1,
        name="fork bomb of a shell",
        code=":() { : | : & }; :; wait",
        must=ends_at("", "cpu", "wall"),
        limits=_BOMB,
        shell=True,
    ),
    Attack(
        number=1,
        name="storm of forks that leave their parents and sessions",
        code="""
signal.signal(signal.SIGTERM, signal.SIG_IGN)
while True:
    try:
        if os.fork() == 0: os.setsid()
        elif os.getpid() % 3 == 0: os._exit(0)
    except OSError: pass
""",
        must=ends_at("", "cpu", "wall"),
        limits=_BOMB,
    ),
    Attack(
        number=1,
        name="thread bomb",
        code="""
while True:
    try: threading.Thread(target=time.sleep, args=(1000,)).start()
    except RuntimeError: pass
""",
        must=ends_at("cpu", "wall"),
        limits=_SOON,
    ),
    Attack(
        number=1,
        name="chain of programs that replace themselves",
        code="""
again = 'import os, sys; os.execv(sys.executable, sys.orig_argv)'
os.execv(sys.executable, [sys.executable, '-S', '-c', again])
""",
        must=ends_at("cpu", "wall"),
        limits=_BOMB,
    ),
    Attack(
        number=1,
        name="short-lived children in masses hide their processor time",
        code="""
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
end = time.monotonic() + 8
while time.monotonic() < end:
    try:
        if os.fork() == 0:
            stop = time.process_time() + 0.2
            while time.process_time() < stop: pass
            os._exit(0)
    except OSError: time.sleep(0.01)
""",
        must=ends_at("cpu"),
        limits={"cpu_seconds": 0.5, "wall_seconds": 20, "processes": 8},
    ),
    Attack(
        number=1,
        name="zombies that nobody collects",
        code="""
made = 0
try:
    for _ in range(1000):
        if os.fork() == 0: os._exit(0)
        made += 1
except OSError: pass
print(made < 64)
""",
        must=prints("True\n"),
    ),
    Attack(
        number=1,
        name="raising one's own limits",
        code="""
import resource
for kind in range(16):
    soft, hard = resource.getrlimit(kind)
    if hard != resource.RLIM_INFINITY:
        attempt('limit %d' % kind, resource.setrlimit, kind, (hard + 1, hard + 1))
    attempt('limit %d of pid 1' % kind, resource.prlimit, 1, kind)
""",
    ),
    Attack(
        number=7,
        name="a daemon of its own session that ignores everything",
        code="""
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for number in range(1, 65):
            try: signal.signal(number, signal.SIG_IGN)
            except (OSError, ValueError): pass
        while True: time.sleep(0.01)
    os._exit(0)
os.wait()
""",
    ),
    Attack(
        number=7,
        name="children at the wall limit",
        code="""
for _ in range(3): os.fork()
if os.getpid() != os.getpgid(0): os.setsid()
time.sleep(1000)
""",
        must=ends_at("wall"),
        limits={"wall_seconds": 0.3},
    ),
    Attack(
        number=7,
        name="background jobs of a shell",
        code="(trap '' TERM HUP INT; sleep 1000) & nohup sleep 1000 & setsid sleep 1000 & exit 0",
        shell=True,
    ),
    Attack(
        number=7,
        name="a child that is made again whenever it dies",
        code="""
def guard():
    while True:
        child = os.fork()
        if child == 0: time.sleep(1000)
        os.waitpid(child, 0)
for _ in range(4):
    if os.fork() == 0: guard()
""",
    ),
    Attack(
        number=7,
        name="forks that race with the killing",
        code="""
for _ in range(6):
    if os.fork() == 0:
        while True:
            try:
                if os.fork() != 0: os._exit(0)
            except OSError: pass
""",
    ),
    Attack(
        number=7,
        name="asking to be spared when the parent dies",
        code="""
call('prctl', 36, 1)  # PR_SET_CHILD_SUBREAPER
call('prctl', 1, 0)   # PR_SET_PDEATHSIG
if os.fork() == 0:
    os.setsid()
    time.sleep(1000)
""",
    ),
    Attack(
        number=7,
        name="processor limit ignored",
        code="signal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True: pass",
        must=ends_at("cpu"),
        limits={"cpu_seconds": 0.3},
    ),
    Attack(
        number=8,
        name="stopping oneself",
        code="os.kill(os.getpid(), signal.SIGSTOP)",
        must=ends_at("wall"),
        limits={"wall_seconds": 0.3},
    ),
    Attack(
        number=8,
        name="stopping everyone does not stop the clock",
        code="""
for _ in range(3): os.fork()
for target in (os.getppid(), 1, -1, 0, os.getpid()):
    try: os.kill(target, signal.SIGSTOP)
    except OSError: pass
while True: pass
""",
        must=ends_at("cpu", "wall"),
        limits=_SOON,
    ),
    Attack(
        number=8,
        name="stopped children of many kinds",
        code="""
for number in (signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU):
    child = os.fork()
    if child == 0:
        os.setsid()
        os.kill(os.getpid(), number)
        time.sleep(1000)
time.sleep(0.05)
""",
    ),
    Attack(
        number=8,
        name="a parent held in vfork",
        code="""
if os.fork() == 0:
    _libc.vfork()
    time.sleep(1000)
""",
    ),
    Attack(
        number=8,
        name="a child on the same memory, held",
        code="""
if os.fork() == 0:
    call('clone', 0x4100 | 17, 0, 0, 0, 0)  # CLONE_VM | CLONE_VFORK
    signal.pause()
""",
    ),
    Attack(
        number=8,
        name="holding a futex for ever",
        code="""
lock = threading.Lock()
lock.acquire()
lock.acquire()
""",
        must=ends_at("wall"),
        limits={"wall_seconds": 0.3},
    ),
    Attack(
        number=8,
        name="slowing the watch over the limits",
        code="""
before = os.getpriority(os.PRIO_PROCESS, 1), os.sched_getscheduler(1)
attempt('nice', os.setpriority, os.PRIO_PROCESS, 1, 19)
attempt('nice of the group', os.setpriority, os.PRIO_PGRP, os.getpgid(1), 19)
attempt('nice of the user', os.setpriority, os.PRIO_USER, 0, 19)
for policy in (os.SCHED_IDLE, os.SCHED_BATCH, os.SCHED_FIFO):
    attempt('policy', os.sched_setscheduler, 1, policy, os.sched_param(0))
attempt('cores', os.sched_setaffinity, 1, {0})
denied('attributes', 'sched_setattr', 1, 0, 0)
denied('io', 'ioprio_set', 1, 1, 7 << 13)
denied('io of the user', 'ioprio_set', 3, os.getuid(), 3 << 13)
assert before == (os.getpriority(os.PRIO_PROCESS, 1), os.sched_getscheduler(1))
""",
    ),
    Attack(
        number=8,
        name="a real-time policy of one's own",
        code="""
for policy in (os.SCHED_FIFO, os.SCHED_RR):
    attempt('policy', os.sched_setscheduler, 0, policy, os.sched_param(1))
attempt('nice', os.nice, -1)
""",
    ),
    Attack(
        number=9,
        name="killing everyone",
        code="""
if os.fork() == 0: time.sleep(1000)
try: os.kill(-1, 9)
except OSError: pass
print('still here')
""",
        must=prints("still here\n"),
    ),
    Attack(
        number=9,
        name="every signal to the first process",
        code="""
kill = {'x86_64': 62, 'aarch64': 129}[os.uname().machine]
for number in range(1, 65):
    for process in (1, -1 if number in (0, 23, 28) else 1):
        try: call(kill, process, number)
        except OSError: pass
time.sleep(0.05)
""",
    ),
    Attack(
        number=9,
        name="signals to the first process by a descriptor",
        code="""
try: fd = call('pidfd_open', 1, 0)
except OSError: fd = -1
for number in (9, 15, 19, 31):
    try: call('pidfd_send_signal', fd, number, 0, 0)
    except OSError: pass
denied('its descriptors', 'pidfd_getfd', fd, 3, 0)
time.sleep(0.05)
""",
    ),
    Attack(
        number=9,
        name="signals in a flood",
        code="""
while True:
    for number in range(1, 65):
        if number not in (9, 19):
            try: os.kill(1, number)
            except OSError: pass
""",
        must=ends_at("cpu", "wall"),
        limits={"cpu_seconds": 0.3, "wall_seconds": 4},
    ),
    Attack(
        number=9,
        name="signals to every number there is",
        code="""
for process in [*range(-64, 0), *range(2, 4096)]:
    if process not in (-1, os.getpid(), -os.getpgid(0)):
        attempt('%d' % process, os.kill, process, 9)
""",
    ),
    Attack(
        number=9,
        name="signals queued until there is no room",
        code="""
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGRTMIN])
sent = 0
while sent < 100_000 and _libc.sigqueue(os.getpid(), signal.SIGRTMIN, None) == 0: sent += 1
print(sent < 5000)
""",
        must=prints("True\n"),
    ),
    *(
        Attack(
            number=9,
            name=f"an own signal {number} is told as such",
            code=f"os.kill(os.getpid(), {number})",
            must=dies_of(number),
        )
        for number in (6, 9, 15, 31)
    ),
)
