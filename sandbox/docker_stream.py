"""The stream of an attached container: chunks of its standard output and error, told apart.

Each chunk has a header of eight bytes: which stream, three zeros, and the chunk's length. The
daemon writes the headers, so they are not the container's to forge.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

_HEADER = struct.Struct(">BxxxI")
_STDOUT = 1
_STDERR = 2
_LAST_WORDS_BYTES = 1500


class Demultiplexer:
    """Splits the stream; it holds nothing back but an unfinished header and the last words.

    Args:
        on_output: Called with each piece of standard output.
    """

    def __init__(self, on_output: Callable[[bytes], None]) -> None:
        self._on_output = on_output
        self._header = bytearray()
        self._stream = 0
        self._left = 0
        self._last_words = bytearray()

    def feed(self, data: bytes) -> None:
        """Take more bytes of the stream."""
        view = memoryview(data)
        while view:
            if self._left == 0:
                wanted = _HEADER.size - len(self._header)
                self._header += view[:wanted]
                view = view[wanted:]
                if len(self._header) == _HEADER.size:
                    self._stream, self._left = _HEADER.unpack(self._header)
                    self._header.clear()
                continue
            piece = bytes(view[: self._left])
            view = view[len(piece) :]
            self._left -= len(piece)
            if self._stream == _STDOUT:
                self._on_output(piece)
            elif self._stream == _STDERR:
                self._last_words += piece
                del self._last_words[:-_LAST_WORDS_BYTES]

    @property
    def last_words(self) -> str:
        """The end of what came on standard error."""
        return self._last_words.decode("utf-8", "replace").strip()
