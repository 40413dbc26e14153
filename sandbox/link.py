"""The guest's end of the connection to the host: one socket, or two pipes.

Standard library only, Python 3.8 or newer.
"""

from __future__ import annotations

import os
import select
import socket


class SocketLink:
    """A connection over a socket, as a zygote hands it to a sandbox."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._connection.setblocking(False)
        self.fds = (connection.fileno(),)

    def receive(self, size: int) -> bytes:
        """Return what is there, at most `size` bytes, or none at the connection's end.

        Raises:
            BlockingIOError: Nothing is there yet.
        """
        return self._connection.recv(size)

    def send(self, data: memoryview) -> int:
        """Send as much as can be taken now and return how much that was.

        Raises:
            BlockingIOError: Nothing can be taken now.
        """
        return self._connection.send(data)

    def watch(self, poll: select.poll, *, reading: bool, writing: bool) -> None:
        """Have a poll report what can be read, or written; it always reports the end."""
        events = (select.POLLIN if reading else 0) | (select.POLLOUT if writing else 0)
        poll.register(self._connection, events)


class PipeLink:
    """A connection over a container's standard input and output.

    Args:
        reading_fd: A descriptor to read from; this takes it over.
        writing_fd: Likewise one to write to.
    """

    def __init__(self, reading_fd: int, writing_fd: int) -> None:
        self._reading_fd = reading_fd
        self._writing_fd = writing_fd
        for fd in (reading_fd, writing_fd):
            os.set_blocking(fd, False)
        self.fds = (reading_fd, writing_fd)

    def receive(self, size: int) -> bytes:
        """Return what is there, at most `size` bytes, or none at the connection's end.

        Raises:
            BlockingIOError: Nothing is there yet.
        """
        return os.read(self._reading_fd, size)

    def send(self, data: memoryview) -> int:
        """Send as much as can be taken now and return how much that was.

        Raises:
            BlockingIOError: Nothing can be taken now.
        """
        return os.write(self._writing_fd, data)

    def watch(self, poll: select.poll, *, reading: bool, writing: bool) -> None:
        """Have a poll report what can be read, or written; it always reports the end."""
        poll.register(self._reading_fd, select.POLLIN if reading else 0)
        if writing:
            poll.register(self._writing_fd, select.POLLOUT)
