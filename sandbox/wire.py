"""Frames between the host and a sandbox's PID 1. Standard library only: both ends use it.

A frame is a header, a JSON object (the head) and raw bytes (the body). Every request carries a
number that its answer repeats. The host treats each frame as hostile: see `Decoder`.
"""

from __future__ import annotations

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
    head = json.dumps(frame.head, separators=(",", ":")).encode() if frame.head else b""
    if len(head) > MAX_HEAD_BYTES or len(frame.body) > MAX_BODY_BYTES:
        raise FrameError("the frame is too large")
    return (
        HEADER.pack(MAGIC, frame.kind, frame.number, len(head), len(frame.body)) + head + frame.body
    )


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

    def feed(self, data: bytes) -> None:
        """Take more bytes of the stream."""
        self._buffer += data

    def next_frame(self) -> Frame | None:
        """Return the next whole frame, or None when more bytes are needed."""
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
        if len(buffer) < end:
            return None
        head: dict[str, Any] = {}
        if head_length:
            head = _read_head(bytes(buffer[HEADER.size : end_of_head]))
        body = bytes(buffer[end_of_head:end])
        del buffer[:end]
        self._admitted = False
        return Frame(kind, number, head, body)


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
