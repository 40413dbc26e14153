"""The program that holds a candidate's functions inside a sandbox and answers calls.

It is shipped into sandboxes as source text, so it imports only the standard library, the codec and
the channel, which lie beside it there, and runs on Python 3.8. Nothing in this process can be
trusted once the candidate's source has run: all that leaves it is a claim about values, and the
host holds it against expected values that never come in here.

Messages are encoded tuples. From the host: `("load", source)` once, then any number of
`("calls", ((id, name, arguments, keywords), ...), seconds)` whose arguments and keywords are
encodings of their own, then `("end",)`. To the host: `("loaded",)` or `("unloadable", type name)`,
and for each call, in order, one of `("value", id, encoding)`, `("raised", id, type name)`,
`("unusable", id, why)`, `("missing", id)`; at last `("end",)`.
"""

from __future__ import annotations

import builtins
import collections
import os
import signal
import sys
import types
from typing import Any

import execgym_codec as codec  # type: ignore[import-not-found]
import sandbox_channel as channel  # type: ignore[import-not-found]

ANSWER_LIMITS = codec.CodecLimits(size_bytes=4 * 2**20)
"""Bounds on one answer, far above what a task asks for and below the size of a message."""

_DICTIONARIES = (collections.Counter, collections.OrderedDict, collections.defaultdict)


def main() -> None:
    """Load the candidate's source and answer calls until the host ends it."""
    leave = os._exit
    request = channel.receive()
    if request is None:
        leave(0)
    _, source = codec.decode(request)
    module = types.ModuleType("solution")
    module.__file__ = "solution.py"
    # The candidate gets built-ins of its own: a solution that patches one and is right otherwise
    # must not break the encoding of its answer.
    own = types.ModuleType("builtins")
    own.__dict__.update(builtins.__dict__)
    sys.modules["builtins"] = own
    module.__dict__["__builtins__"] = own.__dict__
    sys.modules["solution"] = module
    try:
        exec(compile(source, "solution.py", "exec"), module.__dict__)  # noqa: S102
    except BaseException as error:
        channel.send(codec.encode(("unloadable", _type_name(error))))
        leave(0)
    channel.send(codec.encode(("loaded",)))
    while True:
        request = channel.receive()
        if request is None:
            leave(0)
        message = codec.decode(request)
        if message[0] == "end":
            channel.send(codec.encode(("end",)))
            # Threads that the candidate has left running must not hold the process.
            leave(0)
        for number, name, arguments, keywords in message[1]:
            if message[2]:
                answer = _answer_in_time(message[2], module, number, name, arguments, keywords)
            else:
                answer = _answer(module, number, name, arguments, keywords)
            channel.send(codec.encode(answer))


def _answer_in_time(seconds: float, module: types.ModuleType, number: int, *call: Any) -> Any:
    # The signal may come at any point up to the return from the inner block.
    try:
        try:
            signal.signal(signal.SIGVTALRM, _time_is_up)
            signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
            return _answer(module, number, *call)
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    except TimeoutError:
        return ("raised", number, "TimeoutError")


def _time_is_up(number: int, frame: object) -> None:
    raise TimeoutError


def _answer(
    module: types.ModuleType, number: int, name: str, arguments: bytes, keywords: bytes
) -> tuple[Any, ...]:
    function = module.__dict__.get(name)
    if function is None:
        return ("missing", number)
    # Rebuilt for each call, so that a call cannot change what the next one is given.
    positional = codec.decode(arguments)
    named = codec.decode(keywords)
    try:
        value = function(*positional, **named)
        # Encoded at once: an object that changes later has already been taken at its word.
        return ("value", number, _encode(value))
    except codec.EncodeError as error:
        return ("unusable", number, str(error)[:300])
    except BaseException as error:
        return ("raised", number, _type_name(error))


def _encode(value: Any) -> bytes:
    try:
        return bytes(codec.encode(value, ANSWER_LIMITS))
    except codec.EncodeError as error:
        if "is not plain data" not in str(error):
            raise
        plain = _plain(value)
        if plain is value:
            raise
        return bytes(codec.encode(plain, ANSWER_LIMITS))


def _plain(value: Any) -> Any:
    """Return the standard library's own dictionaries as dictionaries, at any depth."""
    kind = type(value)
    if kind is list or kind is tuple:
        items = [_plain(item) for item in value]
        if all(new is old for new, old in zip(items, value)):  # noqa: B905 - Python 3.8
            return value
        return kind(items)
    if kind is dict or kind in _DICTIONARIES:
        pairs = {key: _plain(item) for key, item in value.items()}
        if kind is dict and all(pairs[key] is value[key] for key in pairs):
            return value
        return pairs
    return value


def _type_name(error: BaseException) -> str:
    for kind in type(error).__mro__:
        name = kind.__name__
        if type(name) is str and builtins.__dict__.get(name) is kind:
            return name
    return "Exception"
