"""The kernel's doors: mounts, namespaces, shared objects, rare system calls, rights, cgroups."""

from arena import Attack, CommandResult, prints

_REFUSED_CALLS = (
    ("add_key", "b'user', b'x', b'y', 1, -3"),
    ("request_key", "b'user', b'x', 0, -3"),
    ("keyctl", "0, -3, 1"),
    ("bpf", "0, 0, 0"),
    ("perf_event_open", "0, 0, -1, -1, 0"),
    ("io_uring_setup", "8, ctypes.create_string_buffer(120)"),
    ("io_uring_enter", "0, 1, 0, 0, 0, 0"),
    ("io_uring_register", "0, 0, 0, 0"),
    ("io_setup", "8, ctypes.byref(ctypes.c_long())"),
    ("userfaultfd", "0"),
    ("userfaultfd", "1"),
    ("modify_ldt", "0, 0, 0"),
    ("personality", "0x0040000"),
    ("kexec_load", "0, 0, 0, 0"),
    ("kexec_file_load", "0, 0, 0, 0, 0"),
    ("init_module", "0, 0, b''"),
    ("finit_module", "0, b'', 0"),
    ("delete_module", "b'x', 0"),
    ("reboot", "0xfee1dead, 672274793, 0x89abcdef, 0"),
    ("swapon", "b'/workspace/x', 0"),
    ("acct", "b'/workspace/x'"),
    ("syslog", "3, ctypes.create_string_buffer(99), 99"),
    ("quotactl", "0, 0, 0, 0"),
    ("lookup_dcookie", "0, 0, 0"),
    ("fanotify_init", "0, 0"),
    ("fanotify_init", "0x200, 0"),
    ("iopl", "3"),
    ("ioperm", "0, 1, 1"),
    ("vhangup", ""),
    ("uselib", "b'/workspace/x'"),
    ("sethostname", "b'x', 1"),
    ("setdomainname", "b'x', 1"),
    ("open_by_handle_at", "-100, ctypes.create_string_buffer(64), 0"),
    (
        "name_to_handle_at",
        "-100, b'/', ctypes.create_string_buffer(144), ctypes.byref(ctypes.c_int()), 0",
    ),
    ("ptrace", "0, 0, 0, 0"),
    ("get_mempolicy", "0, 0, 0, 0, 0"),
)


def _dies_or_is_missing(result: CommandResult) -> None:
    assert b"allowed" not in result.stdout, result
    assert (result.signal, result.exit_code) == (31, 159) or result.exit_code == 0, result


ATTACKS = (
    Attack(
        number=15,
        name="namespaces of one's own",
        code="""
for bit in (0x10000000, 0x20000000, 0x40000000, 0x20000, 0x4000000, 0x8000000, 0x2000000, 0x80):
    denied('unshare %x' % bit, 'unshare', bit)
    denied('unshare with user %x' % bit, 'unshare', bit | 0x10000000)
    if bit != 0x80: denied('clone %x' % bit, 'clone', bit | 17, 0, 0, 0, 0)
""",
    ),
    Attack(
        number=15,
        name="namespaces by the call whose flags lie in memory",
        code="""
arguments = (ctypes.c_uint64 * 11)(0x10000000, 0, 0, 0, 17)
denied('clone3', 'clone3', arguments, ctypes.sizeof(arguments))
""",
    ),
    Attack(
        number=15,
        name="thirty-three user namespaces within each other",
        code="""
for level in range(33): denied('level %d' % level, 'unshare', 0x10000000)
""",
    ),
    Attack(
        number=15,
        name="entering the namespaces of the first process",
        code="""
for name in ('user', 'mnt', 'pid', 'net', 'ipc', 'uts', 'cgroup', 'time'):
    attempt(name, lambda: call('setns', os.open('/proc/1/ns/' + name, 0), 0))
    attempt('own ' + name, lambda: call('setns', os.open('/proc/self/ns/' + name, 0), 0))
attempt('by process', lambda: call('setns', call('pidfd_open', 1, 0), 0x20000))
for bits in (0, 0x20000, 0x10000000, 0x7E020000): denied('setns', 'setns', 0, bits)
""",
    ),
    Attack(
        number=15,
        name="mounts of every kind",
        code="""
os.makedirs('/workspace/m', exist_ok=True)
for kind in (b'tmpfs', b'proc', b'sysfs', b'overlay', b'devpts', b'cgroup', b'cgroup2', b'fuse',
             b'mqueue', b'bpf', b'debugfs', b'securityfs', b'binfmt_misc'):
    denied(kind, 'mount', kind, b'/workspace/m', kind, 0, 0)
denied('bind', 'mount', b'/', b'/workspace/m', 0, 0x1000, 0)
denied('writable', 'mount', b'/', b'/', 0, 0x1020, 0)
denied('moved', 'mount', b'/proc', b'/workspace/m', 0, 0x2000, 0)
denied('shared', 'mount', b'/', b'/', 0, 0x100000, 0)
for place in (b'/proc', b'/dev/null', b'/workspace', b'/sandbox', b'/'):
    denied(place, 'umount2', place, 2)
""",
    ),
    Attack(
        number=15,
        name="mounts by the newer calls",
        code="""
denied('fsopen', 'fsopen', b'tmpfs', 0)
denied('fspick', 'fspick', -100, b'/', 0)
denied('fsconfig', 'fsconfig', 0, 0, 0, 0, 0)
denied('fsmount', 'fsmount', 0, 0, 0)
denied('open_tree', 'open_tree', -100, b'/', 1)
denied('move_mount', 'move_mount', -100, b'/proc', -100, b'/tmp', 0)
denied('mount_setattr', 'mount_setattr', -100, b'/', 0, bytes(32), 32)
denied('statmount', 'statmount', 0, 0, 0, 0)
denied('listmount', 'listmount', 0, 0, 0, 0)
denied('open_tree_attr', 467, -100, b'/', 1, 0, 0)
""",
    ),
    Attack(
        number=15,
        name="another root",
        code="""
os.makedirs('/workspace/r', exist_ok=True)
denied('chroot', 'chroot', b'/workspace/r')
denied('pivot_root', 'pivot_root', b'/workspace/r', b'/workspace/r')
for _ in range(64): os.chdir('..')
assert os.getcwd() == '/'
assert os.listdir('/../../..') == os.listdir('/')
""",
    ),
    Attack(
        number=15,
        name="tools that would do it",
        code="unshare -Urm true 2>/dev/null && echo allowed; "
        "mount -t tmpfs x /tmp 2>/dev/null && echo allowed; "
        "nsenter -t 1 -m true 2>/dev/null && echo allowed; "
        "chroot / true 2>/dev/null && echo allowed; exit 0",
        shell=True,
    ),
    Attack(
        number=16,
        name="messages and memory of System V and POSIX that outlive a program",
        code="""
denied('shared memory', 'shmget', 4711, 4096, 0o1666)
denied('queue', 'msgget', 4711, 0o1666)
denied('semaphores', 'semget', 4711, 1, 0o1666)
attempt('a queue of a million messages', call, 'mq_open', b'x', 0o102, 0o666,
        (ctypes.c_long * 8)(0, 1 << 20, 1 << 20))
""",
    ),
    Attack(
        number=16,
        name="locks and leases on files that all share",
        code="""
import fcntl
for path in ('/bin/sh', sys.executable, os.__file__):
    fd = os.open(path, os.O_RDONLY)
    attempt('write lock', fcntl.lockf, fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    for kind in (fcntl.F_RDLCK, fcntl.F_WRLCK): attempt('lease', fcntl.fcntl, fd, 1024, kind)
    attempt('flags', call, 'ioctl', fd, 0x40086602, ctypes.byref(ctypes.c_long(0)))
""",
    ),
    Attack(
        number=16,
        name="watches on files that all share, which would tell what others do",
        code="""
import fcntl
denied('inotify', 'inotify_init')
denied('inotify with flags', 'inotify_init1', 0)
attempt('dnotify', fcntl.fcntl, os.open('/usr/bin', os.O_RDONLY), fcntl.F_NOTIFY, 1 << 31 | 7)
denied('fanotify', 'fanotify_init', 0, 0)
""",
    ),
    Attack(
        number=16,
        name="sockets with names that others could reach",
        code="""
import socket
attempt('vsock', socket.socket, 40, socket.SOCK_STREAM)
attempt('netlink', socket.socket, 16, socket.SOCK_RAW)
attempt('bluetooth', socket.socket, 31, socket.SOCK_STREAM, 3)
attempt('algorithms', socket.socket, 38, socket.SOCK_SEQPACKET)
attempt('tipc', socket.socket, 30, socket.SOCK_STREAM)
attempt('can', socket.socket, 29, socket.SOCK_RAW, 1)
attempt('a pair of packets', socket.socketpair, 17, socket.SOCK_RAW)
""",
    ),
    *(
        Attack(
            number=17,
            name=f"{name} {arguments}".strip()[:60],
            code=f"denied({name!r}, {name!r}, {arguments})",
        )
        for name, arguments in _REFUSED_CALLS
    ),
    Attack(
        number=17,
        name="calls that nobody has reviewed",
        code="""
def missing(number):
    try: call(number, 0, 0, 0, 0, 0, 0)
    except OSError as error: return error.errno == errno.ENOSYS
    return False
print([number for number in (435, 463, 470, 500, 511, 600, 1000) if not missing(number)])
""",
        must=prints("[]\n"),
    ),
    Attack(
        number=17,
        name="the x32 table of calls",
        code="""
for number in (0, 1, 39, 59, 101, 165, 520, 545):
    denied('x32 %d' % number, 0x40000000 + number, 0, 0, 0, 0, 0, 0)
""",
        must=_dies_or_is_missing,
    ),
    Attack(
        number=17,
        name="the 32-bit entry into the kernel",
        code="""
import mmap
if os.uname().machine == 'x86_64':
    memory = mmap.mmap(-1, 4096, prot=7)
    memory.write(bytes([0xB8, 20, 0, 0, 0, 0xCD, 0x80, 0xC3]))  # mov eax, 20; int 0x80; ret
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    print('allowed', ctypes.CFUNCTYPE(ctypes.c_int)(address)())
""",
        must=_dies_or_is_missing,
    ),
    Attack(
        number=17,
        name="a number whose upper half is not empty",
        code="""
import mmap
if os.uname().machine == 'x86_64':
    # mov rax, 1 << 32 | 101 (ptrace); xor edi, edi; syscall; ret
    memory = mmap.mmap(-1, 4096, prot=7)
    number = ((1 << 32) | 101).to_bytes(8, 'little')
    memory.write(b'\\x48\\xb8' + number + b'\\x31\\xff\\x0f\\x05\\xc3')
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    result = ctypes.CFUNCTYPE(ctypes.c_long)(address)()
    if result == 0: print('allowed', result)
""",
        must=_dies_or_is_missing,
    ),
    Attack(
        number=17,
        name="lifting the filter",
        code="""
attempt('seccomp off', call, 'prctl', 22, 0)
attempt('strict mode', call, 'prctl', 22, 1)
attempt('no_new_privs off', call, 'prctl', 38, 0)
denied('reading it', 'ptrace', 0x420C, 1, 0, 0)
print(call('prctl', 39, 0, 0, 0, 0), call('prctl', 21, 0, 0, 0, 0))
""",
        must=prints("1 2\n"),
    ),
    Attack(
        number=17,
        name="devices made and opened",
        code="""
for kind, major, minor in ((stat.S_IFCHR, 1, 1), (stat.S_IFCHR, 1, 3), (stat.S_IFBLK, 8, 0),
                           (stat.S_IFBLK, 254, 0), (stat.S_IFCHR, 10, 232)):
    attempt('mknod', os.mknod, '/workspace/dev', kind | 0o666, os.makedev(major, minor))
    denied('mknodat', 'mknodat', -100, b'/workspace/dev', kind | 0o666,
            os.makedev(major, minor))
print(*sorted(set(os.listdir('/dev')) - {'core', 'mqueue', 'ptmx', 'pts', 'tty', 'console'}))
for name in ('kvm', 'fuse', 'net/tun', 'vsock', 'userfaultfd', 'kmsg', 'mem', 'vda', 'loop0'):
    attempt(name, os.open, '/dev/' + name, os.O_RDONLY)
""",
        must=prints("fd full null random shm stderr stdin stdout urandom zero\n"),
    ),
    Attack(
        number=21,
        name="rights that a program has",
        code="""
import re
status = open('/proc/self/status').read()
print(set(re.findall('Cap.*:\\t([0-9a-f]+)', status)))
print(re.findall('(?:NoNew.*|Seccomp):\\t(.)', status))
ids = set(re.search('Uid:(.*)\\nGid:(.*)', status).expand(r'\\1 \\2').split())
print(ids == {str(os.getuid())}, os.getuid() >= 1000)
# Without privilege no groups can be given up: a user's own are there, under no number that says so.
print(set(os.getgroups()) - {os.getgid(), 65534})
""",
        must=prints("{'0000000000000000'}\n['1', '2']\nTrue True\nset()\n"),
    ),
    Attack(
        number=21,
        name="other identities",
        code="""
for number in (0, 1, 65534, 1001, 100_000):
    attempt('uid', os.setuid, number)
    attempt('gid', os.setgid, number)
    attempt('uids', os.setresuid, number, number, number)
    attempt('groups', os.setgroups, [number])
    attempt('owner', os.chown, '/workspace', number, number)
denied('capabilities', {'x86_64': 126, 'aarch64': 91}[os.uname().machine],
        struct.pack('=Ii', 0x20080522, 0), struct.pack('=IIIIII', 1, 1, 1, 0, 0, 0))
denied('ambient', 'prctl', 47, 2, 0, 0, 0)
""",
    ),
    Attack(
        number=21,
        name="programs with a set-user-id bit",
        code="""
for top in ('/usr/bin', '/usr/sbin', '/usr/lib', '/usr/libexec', '/usr/lib/openssh'):
    if not os.path.isdir(top): continue
    for entry in os.scandir(top):
        mode = entry.stat(follow_symlinks=False).st_mode
        if stat.S_ISREG(mode) and mode & 0o6000:
            if not os.statvfs(entry.path).f_flag & os.ST_NOSUID: print(entry.path)
open('own', 'w').write('#!/bin/sh\\nid -u\\n')
os.chmod('own', 0o6755)
user = str(os.getuid())
print(subprocess.run(['./own'], capture_output=True, text=True).stdout.strip() == user)
for argv in (['su', '-c', 'id -u'], ['sudo', '-n', 'id', '-u'], ['mount', '/proc']):
    try: done = subprocess.run(argv, capture_output=True, timeout=20)
    except OSError: continue
    if done.returncode == 0: print('allowed', argv)
""",
        must=prints("True\n"),
    ),
    Attack(
        number=21,
        name="file capabilities",
        code="""
open('own', 'w').write('#!/bin/sh\\n')
attempt('setting them', os.setxattr, 'own', 'security.capability',
        struct.pack('<IIIII', 0x2000001, 1 << 21, 0, 0, 0))
attempt('trusted', os.setxattr, 'own', 'trusted.x', b'x')
""",
    ),
    Attack(
        number=21,
        name="a core dump with more rights",
        code="""
import resource
attempt('limit', resource.setrlimit, resource.RLIMIT_CORE, (1, 1))
call('prctl', 4, 1)
if os.fork() == 0: os.abort()
os.wait()
print(sorted(os.listdir('/workspace')))
""",
        must=prints("[]\n"),
    ),
    Attack(
        number=21,
        name="what a preloaded library could do to a program with more rights",
        code="""
environment = {**os.environ, 'LD_PRELOAD': '/workspace/x.so', 'LD_LIBRARY_PATH': '/workspace'}
open('/workspace/x.so', 'w').write('no library')
done = subprocess.run(['id', '-u'], env=environment, capture_output=True, text=True)
print(done.stdout.strip() == str(os.getuid()))
""",
        must=prints("True\n"),
    ),
    Attack(
        number=21,
        name="descriptors of a program, besides that of the listing",
        code="exec python3 -S -c 'import os; print(os.listdir(\"/proc/self/fd\"))'",
        must=prints("['0', '1', '2', '3']\n"),
        shell=True,
    ),
    Attack(
        number=22,
        name="files of control groups",
        code="""
for path in ('/sys/fs/cgroup', '/sys', '/cgroup', '/sandbox/cgroup'):
    for folder, _, names in os.walk(path):
        for name in names:
            attempt(folder, os.open, os.path.join(folder, name), os.O_WRONLY)
""",
    ),
    Attack(
        number=22,
        name="a group of one's own, and its release agent",
        code="""
os.makedirs('/workspace/c', exist_ok=True)
for kind, options in ((b'cgroup', b'memory'), (b'cgroup', b'rdma'), (b'cgroup', b'none,name=x'),
                      (b'cgroup2', b'')):
    denied('mount', 'mount', b'c', b'/workspace/c', kind, 0, options)
for top in ('/sys/fs/cgroup', '/workspace/c'):
    attempt('group', os.mkdir, top + '/own/x')
    for name in ('release_agent', 'notify_on_release', 'cgroup.procs', 'tasks', 'memory.max',
                 'devices.allow', 'cgroup.subtree_control'):
        attempt(name, lambda: os.write(os.open(top + '/' + name, os.O_WRONLY), b'0'))
""",
    ),
    Attack(
        number=22,
        name="leaving one's group",
        code="""
before = open('/proc/self/cgroup').read()
denied('namespace', 'unshare', 0x2000000)
denied('clone into another', 'clone3', (ctypes.c_uint64 * 11)(0x200000000, 0, 0, 0, 17), 88)
for name in os.listdir('/proc'):
    if name.isdigit(): attempt(name, os.open, '/proc/%s/cgroup' % name, os.O_WRONLY)
assert open('/proc/self/cgroup').read() == before
""",
    ),
    Attack(
        number=22,
        name="the host's groups in the list of one's own",
        code="""
for line in open('/proc/self/cgroup'):
    path = line.rstrip().split(':', 2)[2]
    words = ('docker', 'user.slice', 'system.slice', 'execgym')
    if any(word in path for word in words): print(path)
""",
    ),
)
