"""Every way to another machine, to the host, and to what would relay."""

from arena import Attack, prints

_WORLD = (
    ("1.1.1.1", 80),
    ("8.8.8.8", 53),
    ("192.0.2.1", 443),
    ("203.0.113.9", 22),
    ("10.0.0.1", 22),
    ("192.168.0.1", 80),
    ("172.17.0.1", 2375),
    ("255.255.255.255", 9),
    ("224.0.0.1", 9),
    ("2001:db8::1", 80),
    ("fe80::1", 80),
    ("ff02::1", 9),
    ("::ffff:1.1.1.1", 80),
)
_CONTROL_PLANES = (
    "169.254.169.254",
    "169.254.170.2",
    "100.100.100.200",
    "168.63.129.16",
    "192.0.0.192",
    "fd00:ec2::254",
    "metadata.google.internal",
)
_SOCKETS = (
    "/var/run/docker.sock",
    "/run/docker.sock",
    "/run/containerd/containerd.sock",
    "/run/dbus/system_bus_socket",
    "/var/run/dbus/system_bus_socket",
    "/run/systemd/private",
    "/run/podman/podman.sock",
    "/tmp/.X11-unix/X0",
)
_CONNECT = """
def reach(address, kind):
    family = socket.AF_INET6 if ':' in address[0] else socket.AF_INET
    with socket.socket(family, kind) as end:
        end.settimeout(3)
        try: end.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        except OSError: pass
        end.connect(address)
        return end.send(b'x')
"""

ATTACKS = (
    *(
        Attack(
            number=18,
            name=f"to {address} {port}",
            code=f"""{_CONNECT}
for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
    attempt({address!r}, reach, ({address!r}, {port}), kind)
""",
        )
        for address, port in _WORLD
    ),
    Attack(
        number=18,
        name="raw packets",
        code="""
for family in (socket.AF_INET, socket.AF_INET6):
    for protocol in (1, 6, 17, 58, 255):
        attempt('raw', socket.socket, family, socket.SOCK_RAW, protocol)
    attempt('echo', socket.socket, family, socket.SOCK_DGRAM, 1)
    attempt('echo of 6', socket.socket, family, socket.SOCK_DGRAM, 58)
attempt('packet', socket.socket, 17, socket.SOCK_RAW, 768)
attempt('packets', socket.socket, 17, socket.SOCK_DGRAM, 768)
""",
    ),
    Attack(
        number=18,
        name="protocols that would load modules",
        code="""
for kind, protocol in ((1, 132), (5, 132), (1, 262), (6, 33), (2, 136), (1, 999)):
    attempt('%d' % protocol, socket.socket, socket.AF_INET, kind, protocol)
for family in (3, 4, 5, 6, 9, 12, 15, 21, 24, 26, 32, 33, 35, 36, 37, 39, 41, 42, 43, 44):
    attempt('family %d' % family, socket.socket, family, socket.SOCK_DGRAM)
""",
    ),
    Attack(
        number=18,
        name="interfaces, routes and filters",
        code="""
import fcntl
with socket.socket() as end:
    for request in (0x8914, 0x8916, 0x890B, 0x8946, 0x89A0, 0x8924):
        attempt('%x' % request, fcntl.ioctl, end.fileno(), request, b'eth0'.ljust(40, b'\\0'))
attempt('tun', os.open, '/dev/net/tun', os.O_RDWR)
lines = open('/proc/net/dev').read().splitlines()[2:]
print([line.split(':')[0].strip() for line in lines], len(open('/proc/net/route').readlines()))
""",
        must=prints("['lo'] 1\n"),
    ),
    Attack(
        number=18,
        name="names",
        code="""
for name in ('example.com', 'localhost.example.com', 'host.docker.internal', 'gateway'):
    attempt(name, socket.getaddrinfo, name, 80)
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as end:
    end.settimeout(0.2)
    for server in ('127.0.0.11', '127.0.0.53', '8.8.8.8'):
        def ask():
            end.sendto(b'\\0' * 12, (server, 53))
            return end.recv(512)
        attempt(server, ask)
""",
    ),
    Attack(
        number=18,
        name="tools that would do it",
        code="""
for url in http://1.1.1.1 https://example.com; do
  curl -sm 3 $url && echo allowed; wget -qT 3 -t 1 -O- $url && echo allowed
done 2>/dev/null
for tool in "ping -c 1 -W 2 1.1.1.1" "nc -w 2 1.1.1.1 80" "ssh -o ConnectTimeout=2 1.1.1.1" \\
            "getent hosts example.com"; do
  timeout 5 $tool </dev/null >/dev/null 2>&1 && echo allowed $tool
done
bash -c 'echo x > /dev/tcp/1.1.1.1/80' 2>/dev/null && echo allowed /dev/tcp
exit 0
""",
        shell=True,
    ),
    Attack(
        number=18,
        name="a socket that was inherited",
        code="""
for fd in range(3, 1024):
    attempt('%d' % fd, lambda: socket.socket(fileno=os.dup(fd)).getsockname())
""",
    ),
    Attack(
        number=18,
        name="a listener that the host could reach",
        code="""
with socket.socket() as end:
    end.bind(('0.0.0.0', 0))
    end.listen()
    end.settimeout(0.2)
    attempt('a visitor', end.accept)
""",
    ),
    *(
        Attack(
            number=19,
            name=f"metadata at {address}",
            code=f"""{_CONNECT}
import urllib.request
host = {address!r}
attempt('http', lambda: urllib.request.urlopen(
    'http://%s/latest/meta-data/' % ('[%s]' % host if ':' in host else host), timeout=3).read())
for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM): attempt('socket', reach, (host, 80), kind)
""",
        )
        for address in _CONTROL_PLANES
    ),
    Attack(
        number=19,
        name="sockets of daemons",
        code=f"""
for path in {_SOCKETS!r}:
    attempt(path, os.stat, path)
    attempt(path, socket.socket(socket.AF_UNIX).connect, path)
for name in ('dbus', '/tmp/.X11-unix/X0', '/tmp/dbus-x', 'containerd', 'docker'):
    attempt(name, socket.socket(socket.AF_UNIX).connect, '\\0' + name)
print(open('/proc/net/unix').read().count('@'))
""",
        must=prints("0\n"),
    ),
    Attack(
        number=19,
        name="files that name the host's keys",
        code="""
folders = ('/root/.ssh', '/root/.docker', '/root/.config', '/etc/ssh', '/etc/docker',
           '/etc/kubernetes', '/run/secrets', '/var/run/secrets', '/var/lib/docker', '/boot/efi')
for path in folders: attempt(path, os.listdir, path)
for path in ('/etc/shadow', '/root/.netrc', '/root/.bash_history', '/root/.bashrc', '/proc/keys',
             '/sys/class/dmi/id/product_uuid', '/sys/firmware/efi/efivars', '/proc/cmdline.d'):
    def read():
        if not open(path).read(): raise OSError
    attempt(path, read)
""",
    ),
    *(
        Attack(
            number=20,
            name=f"by a proxy at {proxy}",
            code=f"""
import urllib.request
opener = urllib.request.build_opener(urllib.request.ProxyHandler(
    {{'http': 'http://{proxy}', 'https': 'http://{proxy}'}}))
for url in ('http://example.com/', 'https://example.com/', 'http://1.1.1.1/'):
    attempt(url, lambda: opener.open(url, timeout=3).read())
""",
        )
        for proxy in ("127.0.0.1:3128", "172.17.0.1:3128", "host.docker.internal:8080")
    ),
    Attack(
        number=20,
        name="by a variable that names a proxy",
        code="""
import urllib.request
found = [name for name in os.environ if 'proxy' in name.lower()]
assert not found and not urllib.request.getproxies(), found
""",
    ),
    Attack(
        number=20,
        name="a tunnel through one's own loopback",
        code="""
server = socket.create_server(('127.0.0.1', 0))
def relay():
    peer, _ = server.accept()
    request = peer.recv(1000).split()
    host, _, port = request[1].decode().partition(':')
    try:
        out = socket.create_connection((host, int(port)), timeout=3)
        peer.sendall(b'HTTP/1.1 200\\r\\n\\r\\n')
    except OSError: peer.sendall(b'HTTP/1.1 502\\r\\n\\r\\n')
    peer.close()
threading.Thread(target=relay, daemon=True).start()
client = socket.create_connection(server.getsockname())
client.sendall(b'CONNECT 1.1.1.1:443 HTTP/1.1\\r\\nHost: allowed.example\\r\\n\\r\\n')
print(client.recv(100).split()[1].decode())
""",
        must=prints("502\n"),
    ),
)
