"""The Docker daemon, as the Docker backends use it, and the only module that knows the SDK."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import random
import socket
import threading
from collections.abc import Iterator, Mapping
from typing import Any

from execgym.sandbox.docker_attach import attach
from execgym.sandbox.docker_owner import OWNER_LABEL
from execgym.sandbox.errors import SandboxStartError, SandboxUnavailableError
from execgym.sandbox.images import ImageError, daemon_address, docker_client

_ANSWER_SECONDS = 120
# Ids that no distribution gives to a person or a service. A daemon that maps ids knows few of them.
_FIRST_ID = 0x38000000
_IDS = 0x04000000
_FIRST_MAPPED_ID = 10000
_MAPPED_IDS = 50000
_GVISOR = "runsc"
_REFUSED_BY_RUNTIME = "OCI runtime create failed: "


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class EngineFacts:
    """What the daemon says of itself.

    Attributes:
        version: Of the daemon.
        api_version: Of its interface, as this process speaks it.
        cgroup_version: `"1"` or `"2"`.
        runtimes: Names of the runtimes that it knows.
        default_runtime: The one that it takes where none is named.
        security: Names of what it secures containers with, such as `"seccomp"` and `"apparmor"`.
        memory_bytes: Memory of its machine.
    """

    version: str
    api_version: str
    cgroup_version: str
    runtimes: tuple[str, ...]
    default_runtime: str
    security: frozenset[str]
    memory_bytes: int

    @property
    def maps_ids(self) -> bool:
        """Whether ids in a container are others outside, as for a daemon without root."""
        return bool(self.security & {"rootless", "userns"})


class Engine:
    """A connection to the daemon that `DOCKER_HOST` names, or else the local one.

    Its methods block and may be called from any thread.

    Raises:
        SandboxUnavailableError: No daemon answers, or this user may not use it.
    """

    def __init__(self) -> None:
        self._stack = contextlib.ExitStack()
        self._address = daemon_address()
        try:
            client = self._stack.enter_context(
                docker_client(self._address, answer_seconds=_ANSWER_SECONDS)
            )
        except ImageError as error:
            raise SandboxUnavailableError(str(error)) from None
        self._api = client.api
        self._unremoved: list[str] = []

    def close(self) -> None:
        """Close the connections to the daemon."""
        self._stack.close()

    @property
    def is_encrypted(self) -> bool:
        """Whether more than a bare socket is needed to talk to the daemon."""
        return bool(self._api.base_url.startswith(("https:", "http+docker://ssh")))

    @property
    def is_local(self) -> bool:
        """Whether the daemon is reached by a socket in this machine's file system."""
        return bool(self._api.base_url.startswith("http+docker://"))

    def facts(self) -> EngineFacts:
        """Ask the daemon about itself."""
        with _told_plainly("the Docker daemon does not answer"):
            info = self._api.info()
        security = {
            item.removeprefix("name=").partition(",")[0] for item in info["SecurityOptions"] or ()
        }
        return EngineFacts(
            version=str(info["ServerVersion"]),
            api_version=str(self._api.api_version),
            cgroup_version=str(info.get("CgroupVersion", "1")),
            runtimes=tuple(sorted(name for name in info["Runtimes"] if "." not in name)),
            default_runtime=str(info["DefaultRuntime"]),
            security=frozenset(security),
            memory_bytes=int(info["MemTotal"]),
        )

    def image_id(self, name: str) -> str:
        """Return the id of a local image.

        Raises:
            SandboxUnavailableError: There is no such image.
        """
        import docker

        try:
            with _told_plainly(f"image {name!r} cannot be looked at"):
                return str(self._api.inspect_image(name)["Id"])
        except docker.errors.ImageNotFound:
            built, _, rest = name.partition("/")
            way_out = (
                f"execgym images build {rest.partition(':')[0]}"
                if built == "execgym" and rest
                else f"docker pull {name}"
            )
            raise SandboxUnavailableError(
                f"the Docker daemon has no image {name!r}: make it with '{way_out}'"
            ) from None

    def create(self, config: Mapping[str, Any]) -> str:
        """Create a container and return its id.

        Args:
            config: The request's body, as the daemon's interface describes it.
        """
        while self._unremoved:
            left = self._unremoved.pop()
            self.remove(left)
            if left in self._unremoved:
                break
        with _told_plainly("the container cannot be created"):
            return str(self._api.create_container_from_config(dict(config))["Id"])

    def attach(self, container: str) -> socket.socket:
        """Attach to a container's standard streams before it starts; see `docker_attach`."""
        return attach(self._address, self._api.api_version, container, _ANSWER_SECONDS)

    def start(self, container: str, runtime: str) -> None:
        """Start a container.

        Raises:
            SandboxUnavailableError: Its runtime, of this name, cannot run it here.
        """
        try:
            with _told_plainly("the container cannot be started"):
                self._api.start(container)
        except SandboxStartError as error:
            _, refused, reason = str(error).partition(_REFUSED_BY_RUNTIME)
            if not refused:
                raise
            raise SandboxUnavailableError(
                f"the runtime {runtime!r} cannot run containers here: {reason}"
            ) from None

    def remove(self, container: str) -> None:
        """Kill and remove a container. One that is gone, or on its way, is fine.

        One that the daemon cannot remove now is tried again before the next is created.
        """
        import docker

        try:
            with _told_plainly("the container cannot be removed"):
                self._api.remove_container(container, force=True, v=True)
        except docker.errors.NotFound:
            pass
        except SandboxStartError as error:
            if "already in progress" not in str(error):
                self._unremoved.append(container)

    def owned_containers(self) -> list[dict[str, Any]]:
        """Return what the daemon says of all containers that an owner of ours has labelled."""
        with _told_plainly("the containers cannot be listed"):
            found = self._api.containers(all=True, filters={"label": OWNER_LABEL})
        return list(found)

    def pick_id(self, facts: EngineFacts) -> int:
        """Return a user id for a container: unprivileged, nobody's, and most likely its own."""
        generator = random.SystemRandom()
        if facts.maps_ids:
            return _FIRST_MAPPED_ID + generator.randrange(_MAPPED_IDS)
        return _FIRST_ID + generator.randrange(_IDS)


def runtime_name(facts: EngineFacts, runtime: str) -> str:
    """Return the runtime to ask for by its name.

    Raises:
        SandboxUnavailableError: The daemon has no such runtime.
    """
    if runtime and runtime not in facts.runtimes:
        raise SandboxUnavailableError(
            f"the Docker daemon has no runtime {runtime!r}, only {', '.join(facts.runtimes)}: "
            'add it under "runtimes" in /etc/docker/daemon.json and restart the daemon'
        )
    return runtime or facts.default_runtime


def is_gvisor(runtime: str) -> bool:
    """Return whether a runtime has a kernel of its own instead of the machine's."""
    return _GVISOR in runtime


@contextlib.contextmanager
def _told_plainly(what: str) -> Iterator[None]:
    """Turn what the SDK raises into errors of sandboxes; what was not found stays as it is."""
    import docker
    import requests

    try:
        yield
    except docker.errors.NotFound:
        raise
    except docker.errors.APIError as error:
        raise SandboxStartError(f"{what}: {error.explanation or error}") from error
    except (docker.errors.DockerException, requests.RequestException) as error:
        raise SandboxStartError(f"{what}: the Docker daemon stopped answering ({error})") from error


class Engines:
    """The one engine of this process, connected at first use."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._engine: Engine | None = None
        os.register_at_fork(after_in_child=self._abandon)

    def get(self) -> Engine:
        """Return the process's engine."""
        with self._lock:
            if self._engine is None:
                self._engine = Engine()
            return self._engine

    def forget(self) -> None:
        """Close the connections. The next use connects anew."""
        with self._lock:
            engine, self._engine = self._engine, None
        if engine is not None:
            engine.close()

    def _abandon(self) -> None:
        # Connections that a parent is using cannot be shared with it.
        self._lock = threading.Lock()
        self._engine = None


engines = Engines()
