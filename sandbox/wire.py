"""Frames between the host and a sandbox's PID 1. Standard library only: both ends use it.

A frame is a header, a JSON object (the head) and raw bytes (the body). Every request carries a
number that its answer repeats. The host treats each frame as hostile: see `Decoder`.
"""

from __future__ import annotations

import io
import json
import struct
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

MAGIC = 0x58473101
HEADER = struct.Struct(">IBIII")
MAX_HEAD_BYTES = 1024 * 1024
MAX_BODY_BYTES = 64 * 1024 * 1024
MAX_MESSAGE_BYTES = 8 * 1024 * 1024

_LARGE_BYTES = 64 * 1024

READY = 1
FAILED = 2
RUN = 3
START = 4
RESULT = 5
STARTED = 6
TO_PROGRAM = 7
FROM_PROGRAM = 8
PROGRAM_CLOSED = 9
KILL = 10
WRITE = 11
READ = 12
LIST = 13
FREEZE = 14
STATS = 15
DONE = 16
REFUSED = 17
SNAPSHOT = 18
RESTORE = 19

KINDS = frozenset(range(READY, RESTORE + 1))


class FrameError(Exception):
    """The bytes are no frame."""


class Frame(NamedTuple):
    """One frame."""

    kind: int
    number: int
    head: dict[str, Any]
    body: bytes


def encode(frame: Frame) -> bytes:
    """Return a frame's bytes."""
    return encode_beginning(frame.kind, frame.number, frame.head, len(frame.body)) + frame.body


def encode_beginning(kind: int, number: int, head: dict[str, Any], body_length: int) -> bytes:
    """Return what comes before a frame's body, for those who send that piece by piece."""
    data = json.dumps(head, separators=(",", ":")).encode() if head else b""
    if len(data) > MAX_HEAD_BYTES or body_length > MAX_BODY_BYTES:
        raise FrameError("the frame is too large")
    return HEADER.pack(MAGIC, kind, number, len(data), body_length) + data


class Decoder:
    """Cuts a stream of bytes into frames.

    It holds at most one frame's bytes beyond what it was last fed, refuses a header before it waits
    for what the header promises, and raises nothing but `FrameError`.

    Args:
        admit: Called with each header's kind, number, head length and body length as soon as it
            is there; raises `FrameError` where such a frame may not come now.
    """

    def __init__(self, admit: Callable[[int, int, int, int], None] | None = None) -> None:
        self._buffer = bytearray()
        self._admit = admit
        self._admitted = False
        # A large body gathers apart, since cutting it out of the buffer would copy it twice more.
        self._large: _LargeBody | None = None

    def feed(self, data: bytes) -> None:
        """Take more bytes of the stream."""
        if self._large is not None:
            taken = self._large.take(data)
            if taken == len(data):
                return
            data = data[taken:]
        self._buffer += data

    def next_frame(self) -> Frame | None:
        """Return the next whole frame, or None when more bytes are needed."""
        if self._large is not None:
            frame = self._large.frame()
            if frame is not None:
                self._large = None
                self._admitted = False
            return frame
        buffer = self._buffer
        if len(buffer) < HEADER.size:
            return None
        magic, kind, number, head_length, body_length = HEADER.unpack_from(buffer)
        if magic != MAGIC or kind not in KINDS:
            raise FrameError("the header is not one of this protocol")
        if head_length > MAX_HEAD_BYTES or body_length > MAX_BODY_BYTES:
            raise FrameError("the header promises too much")
        if self._admit is not None and not self._admitted:
            self._admit(kind, number, head_length, body_length)
            self._admitted = True
        end_of_head = HEADER.size + head_length
        end = end_of_head + body_length
        if len(buffer) < (end if body_length < _LARGE_BYTES else end_of_head):
            return None
        head: dict[str, Any] = {}
        if head_length:
            head = _read_head(bytes(buffer[HEADER.size : end_of_head]))
        body = bytes(buffer[end_of_head:end])
        del buffer[:end]
        if len(body) < body_length:
            self._large = _LargeBody(Frame(kind, number, head, b""), body, body_length)
            return None
        self._admitted = False
        return Frame(kind, number, head, body)


class _LargeBody:
    """A frame whose body has begun to come."""

    def __init__(self, frame: Frame, begun: bytes, length: int) -> None:
        self._frame = frame
        self._left = length - len(begun)
        # Gives its bytes away without a copy. What is not written to takes no memory.
        self._body = io.BytesIO(bytes(length))
        self._body.write(begun)

    def take(self, data: bytes) -> int:
        """Take what belongs to the body and return how much that is."""
        taken = min(self._left, len(data))
        self._body.write(data if taken == len(data) else data[:taken])
        self._left -= taken
        return taken

    def frame(self) -> Frame | None:
        """Return the whole frame, or None when more bytes are needed."""
        return None if self._left else self._frame._replace(body=self._body.getvalue())


def _read_head(data: bytes) -> dict[str, Any]:
    try:
        head = json.loads(data.decode("utf-8"), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise FrameError("the head is not JSON") from error
    if not isinstance(head, dict):
        raise FrameError("the head is not an object")
    return head


def _refuse_constant(name: str) -> None:
    raise ValueError(name)
