"""A Docker daemon that can be lost: its socket, forwarded by threads, until a test breaks it."""

from __future__ import annotations

import contextlib
import pathlib
import socket
import threading
from collections.abc import Iterator


class DaemonProxy:
    """Forwards connections to a daemon's socket.

    Attributes:
        refused: Connections whose request has one of these in its first line are closed.
        hung: Likewise those that are never answered.
        seen: The first lines of the requests that were forwarded.
    """

    def __init__(self, place: pathlib.Path, daemon: str) -> None:
        self.address = f"unix://{place}"
        self.refused: set[str] = set()
        self.hung: set[str] = set()
        self.seen: list[str] = []
        self._daemon = daemon
        self._place = place
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._listener: socket.socket | None = None
        self.start()

    def start(self) -> None:
        """Listen: the daemon is there."""
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(self._place))
        self._listener.listen(64)
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def stop(self) -> None:
        """Stop listening and cut every connection: the daemon is lost."""
        if self._listener is not None:
            self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()
            self._listener = None
            self._place.unlink()
        self.cut()

    def cut(self) -> None:
        """Cut every connection."""
        with self._lock:
            for end in self._open:
                _hang_up(end)

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                end, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(end,), daemon=True).start()

    def _serve(self, end: socket.socket) -> None:
        with end, socket.socket(socket.AF_UNIX) as daemon:
            daemon.connect(self._daemon)
            with self._lock:
                self._open |= {end, daemon}
            back = threading.Thread(target=self._forward, args=(daemon, end), daemon=True)
            back.start()
            self._forward(end, daemon, look=True)
            back.join()
            with self._lock:
                self._open -= {end, daemon}

    def _forward(self, source: socket.socket, target: socket.socket, look: bool = False) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if look and data.startswith((b"GET /", b"POST /", b"DELETE /")):
                    line = data.partition(b"\r\n")[0].decode()
                    if any(part in line for part in self.refused):
                        break
                    if any(part in line for part in self.hung):
                        continue
                    self.seen.append(line)
                target.sendall(data)
        _hang_up(source)
        _hang_up(target)


def _hang_up(end: socket.socket) -> None:
    with contextlib.suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)


@contextlib.contextmanager
def proxied(folder: pathlib.Path, daemon: str) -> Iterator[DaemonProxy]:
    """Have a proxy of a daemon for the length of a block."""
    proxy = DaemonProxy(folder / "docker.sock", daemon.removeprefix("unix://"))
    try:
        yield proxy
    finally:
        proxy.stop()
