"""The backend `docker`: a few long-lived containers, each with a zygote that makes many sandboxes.

A *pod* is a container without privileges, network, capabilities or a writable root. Its PID 1 is
the zygote of the backend `namespace`, on the image's own Python. It connects to a socket of ours
that is bound into the container, and is then sent the very requests that it is sent on the host.
When its owner ends, the kernel closes that socket, the zygote ends, and the daemon removes the
container.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import os
import pathlib
import select
import shutil
import socket
import tempfile
import time
from collections.abc import Iterator
from typing import Any

from execgym.sandbox import stages
from execgym.sandbox.client import NamespaceSandbox
from execgym.sandbox.docker_container import bare_container, bare_host_config, template_image
from execgym.sandbox.docker_engine import (
    Engine,
    EngineFacts,
    engines,
    is_gvisor,
    runtime_name,
)
from execgym.sandbox.docker_owner import mark
from execgym.sandbox.docker_reaper import FOLDER_PREFIX, start_reaper
from execgym.sandbox.docker_stream import Demultiplexer
from execgym.sandbox.errors import SandboxStartError, SandboxUnavailableError
from execgym.sandbox.seccomp_profile import pod_profile
from execgym.sandbox.spec import SandboxSpec, Template
from execgym.sandbox.zygotes import START_SECONDS, Zygote, ZygoteEndedError, Zygotes, await_ready

_ENDING_SECONDS = 1.0
# Of the machine, for all sandboxes of a pod together: the machine and the owner have to live, too.
_MEMORY_SHARE = 0.75
_PROCESSES_SHARE = 0.75
_SOCKET_NAME = "control"
_MOUNT_POINT = "/run/execgym"
_CONNECT = f"""
import array, os, socket, sys
control = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
control.connect("{_MOUNT_POINT}/{_SOCKET_NAME}")
bootstrap, rights, _, _ = control.recvmsg(65536, socket.CMSG_SPACE(4))
bundle = array.array("i", rights[0][2])[0]
control.set_inheritable(True)
os.set_inheritable(bundle, True)
arguments = [sys.executable, "-I", "-S", "-c", bootstrap.decode()]
os.execv(sys.executable, [*arguments, str(bundle), str(control.fileno()), "root"])
"""


@dataclasses.dataclass(frozen=True, slots=True)
class PodKind:
    """What all sandboxes of a pod have in common.

    Attributes:
        template: What its zygote preloads.
        runtime: The runtime asked for, or `""`.
    """

    template: Template
    runtime: str


class Pod(Zygote):
    """A zygote in a container of its own."""

    def __init__(self, kind: PodKind) -> None:
        self._engine = engines.get()
        start_reaper()
        facts = self._engine.facts()
        runtime = runtime_name(facts, kind.runtime)
        if reason := why_no_pods(self._engine, facts, runtime):
            raise SandboxUnavailableError(f"{reason}: take backend='docker-per-episode'")
        image = template_image(self._engine, kind.template)
        uid = self._engine.pick_id(facts)
        with _socket_folder() as folder, _listener(folder) as listener:
            config = _container(image, facts, runtime, uid, folder)
            self._container = self._engine.create(config)
            self._attached: socket.socket | None = None
            try:
                self._attached = self._engine.attach(self._container)
                self._engine.start(self._container, runtime)
                bundle = stages.zygote_bundle(kind.template, uid=uid, gid=uid, image_root="/")
                control = _started(listener, self._attached, bundle)
            except BaseException:
                self._remove()
                raise
        super().__init__(control, image)

    def has_ended(self) -> bool:
        """Return whether the zygote is gone, waiting a moment for one that is on its way out."""
        # It says nothing after it was ready, so whatever can be read is the connection's end.
        return _readable([self._control], _ENDING_SECONDS) != []

    def close(self) -> None:
        """End the zygote, its sandboxes and its container."""
        self._hang_up()
        self._remove()

    def abandon(self) -> None:
        """In a fork, close this process's copies of the sockets."""
        self._control.close()
        if self._attached is not None:
            self._attached.close()

    def _remove(self) -> None:
        if self._attached is not None:
            self._attached.close()
        self._engine.remove(self._container)


_pods = Zygotes(Pod)


async def open_pod_sandbox(spec: SandboxSpec) -> NamespaceSandbox:
    """Open a sandbox in a pod.

    Raises:
        TemplateError: The template cannot be built.
        SandboxUnavailableError: No daemon answers, it lacks the image or the runtime, or it cannot
            run pods.
        SandboxStartError: The sandbox did not come up.
    """
    return await _pods.open(PodKind(spec.template, spec.runtime), spec)


def why_no_pods(engine: Engine, facts: EngineFacts, runtime: str) -> str:
    """Return why there can be no pods with a daemon and a runtime, or nothing."""
    if is_gvisor(runtime):
        return (
            f"the runtime {runtime!r} has a kernel of its own, to which no descriptor of this one "
            "can be sent, so it runs no pods"
        )
    if not engine.is_local:
        return "a pod needs a Docker daemon on this machine, whose kernel it shares"
    return ""


def _container(
    image: str, facts: EngineFacts, runtime: str, uid: int, folder: pathlib.Path
) -> dict[str, Any]:
    memory = int(facts.memory_bytes * _MEMORY_SHARE)
    security = ["no-new-privileges", f"seccomp={pod_profile()}"]
    if "apparmor" in facts.security:
        # Its profile for containers forbids every mount, those in namespaces of one's own too.
        security.append("apparmor=unconfined")
    mount = {
        "Type": "bind",
        "Source": str(folder),
        "Target": _MOUNT_POINT,
        "ReadOnly": True,
    }
    return {
        **bare_container(image, uid, "pod"),
        "Cmd": ["python3", "-I", "-S", "-c", _CONNECT],
        "HostConfig": {
            **bare_host_config(runtime),
            "SecurityOpt": security,
            # The masks over /proc keep a sandbox from having a /proc of its own.
            "MaskedPaths": [],
            "ReadonlyPaths": [],
            "Mounts": [mount],
            "Memory": memory,
            "MemorySwap": memory,
            "PidsLimit": _process_limit(),
        },
    }


@contextlib.contextmanager
def _socket_folder() -> Iterator[pathlib.Path]:
    """Make a folder that only this user can reach, but that anyone may use who is handed it."""
    outer = pathlib.Path(tempfile.mkdtemp(prefix=f"{FOLDER_PREFIX}{mark()}"))
    try:
        inner = outer / "pod"
        inner.mkdir()
        inner.chmod(0o711)
        yield inner
    finally:
        shutil.rmtree(outer, ignore_errors=True)


@contextlib.contextmanager
def _listener(folder: pathlib.Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        path = folder / _SOCKET_NAME
        listener.bind(str(path))
        path.chmod(0o666)
        listener.listen(1)
        yield listener


def _started(listener: socket.socket, attached: socket.socket, bundle: bytes) -> socket.socket:
    """Wait for the zygote to connect, give it what it is to run, and wait until it is ready.

    Returns:
        Its control socket.
    """
    speech = Demultiplexer(lambda _: None)
    control = _accepted(listener, attached, speech)
    try:
        with open(os.memfd_create("execgym"), "w+b", buffering=0) as file:
            file.write(bundle)
            socket.send_fds(control, [stages.BOOTSTRAP.encode()], [file.fileno()])
        await_ready(control)
    except (ZygoteEndedError, ConnectionError):
        control.close()
        _hear_out(attached, speech)
        raise SandboxUnavailableError(
            "the pod ended before it was ready: "
            f"{speech.last_words or 'it said nothing'}. {_ADVICE}"
        ) from None
    except BaseException:
        control.close()
        raise
    return control


_ADVICE = (
    "'execgym doctor' says whether this machine lets containers make namespaces; "
    "backend='docker-per-episode' needs none"
)


def _accepted(
    listener: socket.socket, attached: socket.socket, speech: Demultiplexer
) -> socket.socket:
    deadline = time.monotonic() + START_SECONDS
    while True:
        ready = _readable([listener, attached], deadline - time.monotonic())
        if listener in ready:
            return listener.accept()[0]
        if not ready:
            raise SandboxStartError(f"the pod was not up within {START_SECONDS:.0f} s")
        data = attached.recv(65536)
        if not data:
            raise SandboxStartError(
                f"the pod's container ended at its start: {speech.last_words or 'it said nothing'}"
            )
        speech.feed(data)


def _hear_out(attached: socket.socket, speech: Demultiplexer) -> None:
    """Read what is left of a container that is on its way out."""
    deadline = time.monotonic() + _ENDING_SECONDS
    while _readable([attached], deadline - time.monotonic()):
        data = attached.recv(65536)
        if not data:
            return
        speech.feed(data)


def _readable(sockets: list[socket.socket], seconds: float) -> list[socket.socket]:
    poll = select.poll()
    for each in sockets:
        poll.register(each, select.POLLIN | select.POLLRDHUP)
    ready = {fd for fd, _ in poll.poll(max(0.0, seconds) * 1000)}
    return [each for each in sockets if each.fileno() in ready]


@functools.cache
def _process_limit() -> int:
    return int(int(pathlib.Path("/proc/sys/kernel/pid_max").read_text()) * _PROCESSES_SHARE)
