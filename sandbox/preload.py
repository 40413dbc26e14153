"""What an interpreter has imported before a program starts.

Standard library only, Python 3.8 or newer.
"""

from __future__ import annotations

import importlib
import os
import sys
import types

CHANNEL_SOURCE = '''
"""Messages to and from the host: `receive()` and `send(data)`."""
import os as _os
import struct as _struct
import threading as _threading

_FD = 3
_MAX = 8 * 1024 * 1024
_sending = _threading.Lock()
_receiving = _threading.Lock()


def _read(size):
    data = bytearray()
    while len(data) < size:
        part = _os.read(_FD, min(size - len(data), 1 << 20))
        if not part:
            return None
        data += part
    return bytes(data)


def receive():
    """Return the next message as bytes, or None once the host will send no more."""
    with _receiving:
        header = _read(4)
        return None if header is None else _read(_struct.unpack(">I", header)[0])


def send(data):
    """Send one message, bytes of at most 8 MiB."""
    if len(data) > _MAX:
        raise ValueError("a message has at most %d bytes, not %d" % (_MAX, len(data)))
    view = memoryview(_struct.pack(">I", len(data)) + data)
    with _sending:
        while view:
            view = view[_os.write(_FD, view) :]
'''


def preload(modules: list[str], template_sources: list[tuple[str, types.CodeType | str]]) -> None:
    """Import a template's modules, so that every program starts with them.

    Args:
        modules: Their importable names.
        template_sources: Names of the template's own modules, each with its code or with the
            reason why it has none.

    Raises:
        BaseException: Whatever a module raises.
    """
    sys.path[:] = [entry for entry in sys.path if entry]
    channel = compile(CHANNEL_SOURCE, "<sandbox_channel>", "exec", dont_inherit=True)
    for name, code in [("sandbox_channel", channel), *template_sources]:
        if isinstance(code, str):
            raise ImportError("module %s cannot be compiled: %s" % (name, code))
        module = types.ModuleType(name)
        sys.modules[name] = module
        exec(code, module.__dict__)
    for name in modules:
        importlib.import_module(name)
    # These stages' own modules came by another way: in a sandbox there is no execgym to import.
    for name in [name for name in sys.modules if name.split(".")[0] == "execgym"]:
        del sys.modules[name]
    threads = len(os.listdir("/proc/self/task"))
    if threads != 1:
        raise RuntimeError(
            "the template's modules start threads (%d), which no fork keeps" % threads
        )
