"""The seccomp profile of a pod: a container in which a zygote makes sandboxes.

Docker's default profile forbids what a namespace is made with. A pod's profile is a small change of
it: what the default allows to a container without capabilities, less what the filter of every
sandbox takes away anyway (`execgym.sandbox.seccomp`), and with the six calls of `ADDED`. A test
compares the two profiles call by call on a running daemon.
"""

from __future__ import annotations

import json
import platform

from execgym.sandbox import seccomp

ADDED = ("clone", "mount", "pivot_root", "sethostname", "umount2", "unshare")
"""What the zygote needs beyond the default, in the order of the alphabet. `clone` is allowed by the
default, too, but without the flags that make namespaces. Each works only on what the zygote's own
user namespace owns, since the container has no capability."""

_ARCHITECTURES = {"x86_64": "SCMP_ARCH_X86_64", "aarch64": "SCMP_ARCH_AARCH64"}
_ENOSYS = 38
_AF_VSOCK = 40

# What the default profile allows to a container without capabilities and whatever its arguments,
# by topic: facts about Docker 20.10 and newer, as they are met on x86_64 and aarch64.
_DEFAULT_ALLOWS = """
accept accept4 bind connect getpeername getsockname getsockopt listen recvfrom recvmmsg recvmsg
sendmmsg sendmsg sendto setsockopt shutdown socketpair

access chdir chmod chown close close_range copy_file_range creat dup dup2 dup3 faccessat faccessat2
fadvise64 fallocate fchdir fchmod fchmodat fchown fchownat fcntl fdatasync fgetxattr flistxattr
flock fremovexattr fsetxattr fstat fstatfs fsync ftruncate futimesat getcwd getdents getdents64
getxattr ioctl lchown lgetxattr link linkat listxattr llistxattr lremovexattr lseek lsetxattr lstat
mkdir mkdirat mknod mknodat newfstatat open openat openat2 pipe pipe2 pread64 preadv preadv2
pwrite64 pwritev pwritev2 read readahead readlink readlinkat readv removexattr rename renameat
renameat2 rmdir sendfile setxattr splice stat statfs statx symlink symlinkat sync sync_file_range
syncfs tee truncate umask unlink unlinkat utime utimensat utimes vmsplice write writev

epoll_create epoll_create1 epoll_ctl epoll_ctl_old epoll_pwait epoll_pwait2 epoll_wait
epoll_wait_old eventfd eventfd2 inotify_add_watch inotify_init inotify_init1 inotify_rm_watch
poll ppoll pselect6 select signalfd signalfd4

brk madvise membarrier mincore mlock mlock2 mlockall mmap mprotect mremap msync munlock munlockall
munmap remap_file_pages

alarm clock_getres clock_gettime clock_nanosleep getitimer gettimeofday nanosleep setitimer time
timer_create timer_delete timer_getoverrun timer_gettime timer_settime timerfd_create
timerfd_gettime timerfd_settime times

arch_prctl capget capset execve execveat exit exit_group fork getegid geteuid getgid getgroups
getpgid getpgrp getpid getppid getpriority getresgid getresuid getrlimit getrusage getsid gettid
getuid ioprio_get ioprio_set kill pause pidfd_open pidfd_send_signal prctl prlimit64
restart_syscall rseq rt_sigaction rt_sigpending rt_sigprocmask rt_sigqueueinfo rt_sigreturn
rt_sigsuspend rt_sigtimedwait rt_tgsigqueueinfo sched_get_priority_max sched_get_priority_min
sched_getaffinity sched_getattr sched_getparam sched_getscheduler sched_rr_get_interval
sched_setaffinity sched_setattr sched_setparam sched_setscheduler sched_yield seccomp setfsgid
setfsuid setgid setgroups setpgid setpriority setregid setresgid setresuid setreuid
setrlimit setsid setuid sigaltstack tgkill tkill uname vfork wait4 waitid

futex futex_waitv get_robust_list get_thread_area getcpu getrandom io_cancel io_destroy
io_getevents io_pgetevents io_submit landlock_add_rule landlock_create_ruleset
landlock_restrict_self mq_getsetattr mq_notify mq_open mq_timedreceive mq_timedsend mq_unlink msgctl
msgrcv msgsnd semctl semop semtimedop set_robust_list set_thread_area set_tid_address shmat shmctl
shmdt sysinfo
"""


def allowed_calls() -> tuple[str, ...]:
    """Return the names of the system calls that a pod may make with any arguments."""
    default = set(_DEFAULT_ALLOWS.split()) - seccomp.denied_names()
    return tuple(sorted(default | set(ADDED)))


def pod_profile(machine: str = "") -> str:
    """Return the profile as JSON, as the daemon's `seccomp=` option takes it.

    Args:
        machine: The processor's architecture, or `""` for this machine's.

    Raises:
        OSError: No profile is known for the architecture.
    """
    machine = machine or platform.machine()
    if machine not in _ARCHITECTURES:
        raise OSError(f"no seccomp profile is known for {machine}")
    socket_family = {"index": 0, "value": _AF_VSOCK, "op": "SCMP_CMP_NE"}
    return json.dumps(
        {
            "defaultAction": "SCMP_ACT_ERRNO",
            "architectures": [_ARCHITECTURES[machine]],
            "syscalls": [
                {"names": list(allowed_calls()), "action": "SCMP_ACT_ALLOW"},
                {"names": ["socket"], "action": "SCMP_ACT_ALLOW", "args": [socket_family]},
                # Its flags lie in memory, where no filter sees them; the C library then uses clone.
                {"names": ["clone3"], "action": "SCMP_ACT_ERRNO", "errnoRet": _ENOSYS},
            ],
        }
    )
