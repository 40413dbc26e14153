"""Attaching to a container's standard streams, over a connection of one's own.

The SDK can do it, too, but without a limit in time, and over a socket that belongs to a response.
"""

from __future__ import annotations

import contextlib
import socket
import time
import urllib.parse

from execgym.sandbox.errors import SandboxStartError

_LARGEST_HEADER = 64 * 1024


def attach(address: str, api_version: str, container: str, seconds: float) -> socket.socket:
    """Attach to a container that has not started yet.

    Args:
        address: The daemon's, such as `"unix:///var/run/docker.sock"`.
        api_version: Of its interface.
        container: The container's id.
        seconds: Time that the daemon has to answer.

    Returns:
        A socket that takes standard input, and gives standard output and error in chunks that each
        have a header: see `execgym.sandbox.docker_stream`.

    Raises:
        SandboxStartError: The daemon refused, or did not answer in time.
    """
    deadline = time.monotonic() + seconds
    with contextlib.ExitStack() as stack:
        try:
            end = stack.enter_context(_connected(address, seconds))
            query = "stdin=1&stdout=1&stderr=1&stream=1"
            end.sendall(
                f"POST /v{api_version}/containers/{container}/attach?{query} HTTP/1.1\r\n"
                "Host: docker\r\nConnection: Upgrade\r\nUpgrade: tcp\r\nContent-Length: 0\r\n"
                "\r\n".encode()
            )
            header = _read_header(end, deadline)
        except OSError as error:
            reason = str(error) or "the Docker daemon hung up"
            raise SandboxStartError(f"the container cannot be attached to: {reason}") from error
        status = header.partition(b"\r\n")[0].decode("latin-1")
        if status.split(" ")[1:2] not in (["101"], ["200"]):
            raise SandboxStartError(f"the container cannot be attached to: {status}")
        end.settimeout(None)
        stack.pop_all()
        return end


def _connected(address: str, seconds: float) -> socket.socket:
    scheme, _, place = address.partition("://")
    if scheme != "unix":
        where = urllib.parse.urlsplit(address)
        return socket.create_connection((where.hostname, where.port or 2375), timeout=seconds)
    end = socket.socket(socket.AF_UNIX)
    try:
        end.settimeout(seconds)
        end.connect(place)
    except BaseException:
        end.close()
        raise
    return end


def _read_header(end: socket.socket, deadline: float) -> bytes:
    """Read to the end of the header, and not a byte of the streams behind it."""
    header = b""
    while not header.endswith(b"\r\n\r\n"):
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("the Docker daemon did not answer in time")
        end.settimeout(left)
        byte = end.recv(1)
        if not byte or len(header) > _LARGEST_HEADER:
            raise ConnectionError("the Docker daemon hung up")
        header += byte
    return header
