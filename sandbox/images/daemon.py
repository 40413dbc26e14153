"""Reaching the Docker daemon, and saying plainly why it cannot be reached."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from execgym.sandbox.images.errors import ImageError

if TYPE_CHECKING:
    from docker import DockerClient

_DEFAULT_ADDRESS = "unix:///var/run/docker.sock"
# A build step or an import says nothing while it works.
_ANSWER_SECONDS = 900
_CONNECT_SECONDS = 10


def daemon_address() -> str:
    """Return the address that `DOCKER_HOST` names, or else the local daemon's."""
    return os.environ.get("DOCKER_HOST") or _DEFAULT_ADDRESS


@contextlib.contextmanager
def docker_client(
    address: str = "", *, answer_seconds: float = _ANSWER_SECONDS
) -> Iterator[DockerClient]:
    """Yield a client of a Docker daemon.

    What the daemon refuses inside the block is raised as `ImageError` with its reason.

    Args:
        address: The daemon's address, such as `"unix:///var/run/docker.sock"`, or `""` for the one
            that `DOCKER_HOST` names, or else the local one.
        answer_seconds: Time that it has for each answer.

    Raises:
        ImageError: No daemon answers, or this user may not use it.
    """
    # Importing the SDK takes longer than importing all of execgym.sandbox.
    import docker
    import requests

    address = address or daemon_address()
    _try_socket(address)
    try:
        client = docker.from_env(
            timeout=answer_seconds, environment={**os.environ, "DOCKER_HOST": address}
        )
    except docker.errors.DockerException as error:
        raise ImageError(_unreachable(address, str(error))) from None
    _close_failed_sockets(client)
    try:
        yield client
    except docker.errors.DockerException as error:
        raise ImageError(f"the Docker daemon refused: {error}") from error
    except requests.RequestException as error:
        raise ImageError(f"the Docker daemon stopped answering: {error}") from error
    finally:
        client.close()


def _close_failed_sockets(client: DockerClient) -> None:
    """Have a client close what it could not connect, which the SDK leaves to the collector."""
    from docker.transport import UnixHTTPAdapter
    from docker.transport.unixconn import UnixHTTPConnection

    class Connection(UnixHTTPConnection):  # type: ignore[misc]
        def connect(self) -> None:
            end = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                end.settimeout(self.timeout)
                end.connect(self.unix_socket)
            except BaseException:
                end.close()
                raise
            self.sock = end

    class Adapter(UnixHTTPAdapter):  # type: ignore[misc]
        def get_connection(self, url: str, proxies: Any = None) -> Any:
            pool = super().get_connection(url, proxies)
            pool._new_conn = lambda: Connection(pool.base_url, pool.socket_path, pool.timeout)
            return pool

    api = client.api
    scheme = "http+docker://"
    replaced = api.adapters.get(scheme)
    if isinstance(replaced, UnixHTTPAdapter):
        api.mount(scheme, Adapter(replaced.socket_path, timeout=replaced.timeout))
        replaced.close()


def _try_socket(address: str) -> None:
    """Connect to a local daemon's socket once: the SDK tells its own failure with a traceback."""
    scheme, _, path = address.partition("://")
    if scheme != "unix":
        return
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as trial:
            trial.settimeout(_CONNECT_SECONDS)
            trial.connect(path)
    except PermissionError:
        raise ImageError(
            f"this user may not use the Docker daemon at {address}: run the command as root, or "
            "put the user into the group docker (usermod --append --groups docker USER)"
        ) from None
    except OSError as error:
        raise ImageError(_unreachable(address, str(error))) from None


def _unreachable(address: str, reason: str) -> str:
    return (
        f"no Docker daemon answers at {address} ({reason}): start it (systemctl start docker), "
        "install it (apt-get install docker.io), or let DOCKER_HOST name one"
    )
