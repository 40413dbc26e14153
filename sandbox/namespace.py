"""The backend `namespace`: sandboxes on this host, forked by zygotes that this process owns."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import functools
import importlib.resources
import json
import os
import pathlib
import resource
import socket
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Iterator
from typing import Any, BinaryIO

from execgym.sandbox.client import NamespaceSandbox
from execgym.sandbox.doctor import diagnose
from execgym.sandbox.errors import (
    SandboxDiedError,
    SandboxStartError,
    SandboxUnavailableError,
    TemplateError,
)
from execgym.sandbox.fingerprint import template_fingerprint
from execgym.sandbox.spec import SandboxSpec, Template

_ENDING_SECONDS = 1.0
_START_SECONDS = 60.0
_SEND_SECONDS = 30.0
_SEND_AGAIN_SECONDS = 0.01
# Requests under way of one event loop: the zygote serves one at a time, so more would only wait in
# its socket, where they would block, and use up their own time to start.
_REQUESTS_AT_ONCE = 64
_LAST_WORDS_BYTES = 1500
_STAGE_SOURCES = ("kernel", "cgroup", "seccomp", "wire", "guest", "zygote")
_BOOTSTRAP = """
import json, marshal, os, site, socket, sys, types
bundle_fd, control_fd, stage = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
def compiled(source, name):
    try:
        return compile(source, "<%s>" % name, "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        return "%s: %s" % (type(error).__name__, error)
def prepared():
    # In a process of its own: what a compiler and the site's hooks leave in memory, each sandbox
    # would pay for with every fork.
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.lseek(bundle_fd, 0, 0)
            with os.fdopen(bundle_fd, "rb") as file:
                bundle = json.load(file)
            parts = [[(name, compiled(source, name)) for name, source in bundle[kind]]
                     for kind in ("sources", "template_sources")]
            site.main()
            prefixes = sys.path, sys.prefix, sys.exec_prefix
            with os.fdopen(write_end, "wb") as pipe:
                marshal.dump((*parts, prefixes, json.dumps(bundle["config"])), pipe)
        finally:
            os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end, "rb") as pipe:
        stages, template, prefixes, config = marshal.load(pipe)
    os.waitpid(pid, 0)
    return stages, template, prefixes, json.loads(config)
stages, template, prefixes, config = prepared()
package = sys.modules["execgym"] = types.ModuleType("execgym")
package.sandbox = sys.modules["execgym.sandbox"] = types.ModuleType("execgym.sandbox")
for name, code in stages:
    module = sys.modules["execgym.sandbox." + name] = types.ModuleType("execgym.sandbox." + name)
    setattr(package.sandbox, name, module)
    exec(code, module.__dict__)
if stage == "root":
    config["inherit"] = [bundle_fd, control_fd]
    package.sandbox.zygote.build_root(config)
else:
    os.close(bundle_fd)
    sys.path, sys.prefix, sys.exec_prefix = prefixes
    site.setquit(), site.setcopyright(), site.sethelper()
    del stages, code
    package.sandbox.zygote.serve(
        config, template, sys.argv[4:], socket.socket(fileno=control_fd)
    )
"""
_ENVIRONMENT = {
    "HOME": "/workspace",
    "LANG": "C.UTF-8",
    "LC_ALL": "C.UTF-8",
    "LOGNAME": "sandbox",
    "MKL_NUM_THREADS": "1",
    "NUMEXPR_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONHASHSEED": "0",
    "PYTHONUTF8": "1",
    "SHELL": "/bin/sh",
    "TERM": "dumb",
    "TZ": "UTC",
    "USER": "sandbox",
}
_PASSED_ON = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")
_FILES = {
    "/etc/passwd": "root:x:0:0:root:/root:/bin/sh\n"
    "sandbox:x:1000:1000:sandbox:/workspace:/bin/sh\n",
    "/etc/group": "root:x:0:\nsandbox:x:1000:\n",
    "/etc/hosts": "127.0.0.1 localhost sandbox\n::1 localhost\n",
    "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
}


class Zygote:
    """A running zygote of one template, and the socket over which it takes requests."""

    def __init__(self, template: Template) -> None:
        _raise_file_limit()
        bundle = json.dumps(_bundle(template)).encode()
        self._fingerprint = template_fingerprint(template)
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        # Its stderr goes to a file: a pipe that nobody reads would fill and block it.
        with theirs, _unnamed_file(bundle) as file, _unnamed_file() as last_words:
            self._process = subprocess.Popen(
                [
                    sys.executable,
                    "-I",
                    "-S",
                    "-c",
                    _BOOTSTRAP,
                    str(file.fileno()),
                    str(theirs.fileno()),
                    "root",
                ],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=last_words,
                pass_fds=(file.fileno(), theirs.fileno()),
                env={"PATH": "/usr/bin:/bin"},
                cwd="/",
                start_new_session=True,
            )
            theirs.close()
            try:
                self._await_ready(last_words)
            except BaseException:
                self.close()
                raise
        self._gates: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = (
            weakref.WeakKeyDictionary()
        )

    def _await_ready(self, last_words: BinaryIO) -> None:
        self._control.settimeout(_START_SECONDS)
        try:
            answer = self._control.recv(8192)
        except TimeoutError:
            raise SandboxStartError(
                f"the zygote was not ready within {_START_SECONDS:.0f} s"
            ) from None
        self._control.settimeout(None)
        if not answer:
            last_words.seek(max(0, last_words.seek(0, os.SEEK_END) - _LAST_WORDS_BYTES))
            last = last_words.read(_LAST_WORDS_BYTES).decode("utf-8", "replace").strip()
            reasons = "\n".join(diagnose().reasons)
            raise SandboxUnavailableError(
                f"the zygote ended before it was ready: {last}\n{reasons}".rstrip()
            )
        message = json.loads(answer)
        if "template_error" in message:
            raise TemplateError(f"the template cannot be built: {message['template_error']}")

    def has_ended(self) -> bool:
        """Return whether the zygote is gone, waiting a moment for one that is on its way out.

        The kernel closes a process's connections before its end can be seen.
        """
        try:
            self._process.wait(timeout=_ENDING_SECONDS)
        except subprocess.TimeoutExpired:
            return False
        return True

    async def open(self, spec: SandboxSpec) -> NamespaceSandbox:
        """Ask for a sandbox and wait until it is up.

        Raises:
            OSError: The zygote is gone, or has taken no request for a long time.
            SandboxError: The sandbox did not come up.
        """
        loop = asyncio.get_running_loop()
        async with self._gates.setdefault(loop, asyncio.Semaphore(_REQUESTS_AT_ONCE)):
            end = await self._request(spec)
            return await NamespaceSandbox.connect(spec, end, self._fingerprint)

    async def _request(self, spec: SandboxSpec) -> socket.socket:
        """Send a request and return the host's end of the sandbox's connection."""
        request = {
            "workspace_bytes": spec.limits.workspace_bytes,
            "workspace_inodes": spec.limits.workspace_inodes,
            "memory_bytes": spec.limits.memory_bytes,
            "processes": spec.limits.processes,
        }
        message = json.dumps(request).encode()
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                deadline = time.monotonic() + _SEND_SECONDS
                while not self._send(message, theirs):
                    if time.monotonic() >= deadline:
                        raise TimeoutError(f"the zygote took no request for {_SEND_SECONDS:.0f} s")
                    await asyncio.sleep(_SEND_AGAIN_SECONDS)
        except BaseException:
            ours.close()
            raise
        return ours

    def _send(self, message: bytes, end: socket.socket) -> bool:
        try:
            socket.send_fds(self._control, [message], [end.fileno()], socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False
        return True

    def close(self) -> None:
        """End the zygote and with it every sandbox that it has made."""
        # A fork of this process may hold the socket, too: closing alone would not reach the zygote.
        with contextlib.suppress(OSError):
            self._control.shutdown(socket.SHUT_RDWR)
        self._control.close()
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def abandon(self) -> None:
        """Close this process's copy of the socket: the zygote is to end with its owner."""
        self._control.close()
        # In a fork this only notes that it is nobody's child, which spares a warning.
        self._process.poll()


class _Registry:
    """The zygotes of this process, one a template, started at first use."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._zygotes: dict[Template, Zygote] = {}
        self._starting: dict[Template, threading.Lock] = {}

    def get(self, template: Template) -> Zygote | None:
        """Return the running zygote of a template, if there is one."""
        return self._zygotes.get(template)

    def start(self, template: Template) -> Zygote:
        """Return the zygote of a template, starting it if need be; others of it wait."""
        with self._lock:
            gate = self._starting.setdefault(template, threading.Lock())
        with gate:
            zygote = self._zygotes.get(template)
            if zygote is None:
                zygote = Zygote(template)
                with self._lock:
                    self._zygotes[template] = zygote
            return zygote

    def abandon(self) -> None:
        """Let go of the zygotes without ending them: in a fork, they are the parent's."""
        zygotes = self._zygotes
        self._lock = threading.Lock()
        self._zygotes = {}
        self._starting = {}
        for zygote in zygotes.values():
            zygote.abandon()

    def forget(self, template: Template, zygote: Zygote) -> None:
        """Let go of a zygote that has ended."""
        with self._lock:
            if self._zygotes.get(template) is zygote:
                del self._zygotes[template]
        zygote.close()

    def close(self) -> None:
        """End all zygotes of this process."""
        with self._lock:
            zygotes = list(self._zygotes.values())
            self._zygotes = {}
        for zygote in zygotes:
            zygote.close()


_registry = _Registry()
atexit.register(_registry.close)
os.register_at_fork(after_in_child=_registry.abandon)


async def open_namespace_sandbox(spec: SandboxSpec) -> NamespaceSandbox:
    """Open a sandbox on this host.

    Raises:
        TemplateError: The template cannot be built.
        SandboxUnavailableError: This machine does not allow it.
        SandboxStartError: The sandbox did not come up.
    """
    for attempt in (1, 2):
        zygote = _registry.get(spec.template)
        if zygote is None:
            zygote = await asyncio.to_thread(_registry.start, spec.template)
        try:
            return await zygote.open(spec)
        except (OSError, SandboxDiedError) as error:
            # A zygote that has been killed is replaced once; a full table of files is not that.
            if attempt == 2 or not await asyncio.to_thread(zygote.has_ended):
                raise SandboxStartError(f"the sandbox did not come up: {error}") from error
        await asyncio.to_thread(_registry.forget, spec.template, zygote)
    raise AssertionError("unreachable")


def close_zygotes() -> None:
    """End every zygote of this process, and with them every sandbox. Later opens start new ones."""
    _registry.close()


@functools.cache
def _raise_file_limit() -> None:
    # Each live sandbox takes one descriptor here, and the usual soft limit is 1,024.
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


@contextlib.contextmanager
def _unnamed_file(data: bytes = b"") -> Iterator[BinaryIO]:
    with os.fdopen(os.memfd_create("execgym"), "w+b") as file:
        file.write(data)
        file.flush()
        yield file


def _bundle(template: Template) -> dict[str, Any]:
    folder = importlib.resources.files("execgym.sandbox")
    sources = [(name, folder.joinpath(f"{name}.py").read_text("utf-8")) for name in _STAGE_SOURCES]
    return {
        "sources": sources,
        "template_sources": template.sources,
        "config": _configuration(template),
    }


def _configuration(template: Template) -> dict[str, Any]:
    layout = _host_layout() if template.image == "host" else _image_layout(template.image)
    path = ":".join(dict.fromkeys((os.path.dirname(layout["python"]), *_PATH)))
    passed_on = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    own = ("/dev/shm", "/sandbox", "/tmp", "/workspace")  # noqa: S108
    covered = [
        tree
        for tree in layout["binds"]
        if any(pathlib.PurePath(tree).is_relative_to(place) for place in own)
    ]
    return {
        **layout,
        "covered": covered,
        "root": os.geteuid() == 0,
        "uid": os.geteuid(),
        "gid": os.getegid(),
        "environment": {**_ENVIRONMENT, **passed_on, "PATH": path},
        "bootstrap": _BOOTSTRAP,
        "template_modules": template.modules,
    }


_PATH = ("/usr/local/bin", "/usr/bin", "/bin")


def _host_layout() -> dict[str, Any]:
    """Return what of the host is seen in a sandbox: its system programs and this interpreter."""
    trees = ["/usr"]
    for path in (sys.base_prefix, os.path.realpath(sys.base_prefix), sys.prefix):
        if not any(path == tree or path.startswith(tree + "/") for tree in trees):
            trees.append(path)
    binds = {tree: tree for tree in trees}
    links = {}
    for name in ("/bin", "/lib", "/lib32", "/lib64", "/libx32", "/sbin"):
        if os.path.islink(name):
            links[name] = os.readlink(name)
        elif os.path.isdir(name):
            binds[name] = name
    if os.path.isdir("/etc/alternatives"):
        binds["/etc/alternatives"] = "/etc/alternatives"
    files = dict(_FILES)
    # execgym itself holds generators and references: none of it may be read in a sandbox.
    package = pathlib.Path(__file__).resolve().parents[1]
    # pip's configuration beside an interpreter may hold an index's password.
    masked_files = [
        path for path in (f"{tree}/pip.conf" for tree in binds.values()) if os.path.isfile(path)
    ]
    masks = [str(package)] if any(_is_below(package, tree) for tree in binds.values()) else []
    return {
        "binds": binds,
        "links": links,
        "files": files,
        "linker_cache": "/etc/ld.so.cache",
        "masks": masks,
        "masked_files": masked_files,
        "python": sys.executable,
    }


def _image_layout(image: str) -> dict[str, Any]:
    """Return the layout of an unpacked root file system."""
    root = pathlib.Path(image)
    if not root.is_absolute() or not root.is_dir():
        raise TemplateError(f"image {image!r} is neither 'host' nor the absolute path of a folder")
    binds = {}
    links = {}
    for entry in sorted(root.iterdir()):
        name = f"/{entry.name}"
        if entry.name in ("dev", "proc", "sys", "tmp", "run", "workspace", "sandbox"):
            continue
        if entry.is_symlink():
            links[name] = os.readlink(entry)
        elif entry.is_dir():
            binds[name] = str(entry)
    for candidate in ("usr/local/bin/python3", "usr/bin/python3"):
        if os.path.lexists(root / candidate):
            python = f"/{candidate}"
            break
    else:
        raise TemplateError(f"image {image!r} has no python3 in /usr/local/bin or /usr/bin")
    return {
        "binds": binds,
        "links": links,
        "files": {} if "/etc" in binds else dict(_FILES),
        "linker_cache": "",
        "masks": [],
        "masked_files": [],
        "python": python,
    }


def _is_below(path: pathlib.Path, tree: str) -> bool:
    return path.is_relative_to(os.path.realpath(tree))
