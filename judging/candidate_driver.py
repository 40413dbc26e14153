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
from typing import Any, NoReturn

_LARGEST_ANSWER = 4 * 2**20
_DICTIONARIES = (collections.Counter, collections.OrderedDict, collections.defaultdict)


def main() -> None:
    """Load the candidate's source and answer calls until the host ends it."""
    # Only a sandbox has these two.
    import execgym_codec  # type: ignore[import-not-found]
    import sandbox_channel  # type: ignore[import-not-found]

    _Driver(execgym_codec, sandbox_channel).serve()


class _Driver:
    def __init__(self, codec: Any, channel: Any) -> None:
        self._codec = codec
        self._channel = channel
        # Far above what a task asks for, and below the size of a message.
        self._limits = codec.CodecLimits(size_bytes=_LARGEST_ANSWER)
        self._leave = os._exit

    def serve(self) -> NoReturn:
        module = types.ModuleType("solution")
        error = self._load(module, self._receive()[1])
        if error:
            self._send(("unloadable", error))
            self._leave(0)
        self._send(("loaded",))
        while True:
            message = self._receive()
            if message[0] == "end":
                self._send(("end",))
                # Threads that the candidate has left running must not hold the process.
                self._leave(0)
            for number, name, arguments, keywords in message[1]:
                if message[2]:
                    answer = self._answer_in_time(
                        message[2], module, number, name, arguments, keywords
                    )
                else:
                    answer = self._answer(module, number, name, arguments, keywords)
                self._send(answer)

    def _receive(self) -> tuple[Any, ...]:
        data = self._channel.receive()
        if data is None:
            self._leave(0)
        message: tuple[Any, ...] = self._codec.decode(data)
        return message

    def _send(self, message: tuple[Any, ...]) -> None:
        self._channel.send(self._codec.encode(message))

    def _load(self, module: types.ModuleType, source: str) -> str:
        """Execute the source in the module and return the name of what it raised, or nothing."""
        module.__file__ = "solution.py"
        sys.modules["solution"] = module
        # The candidate gets built-ins of its own: a solution that patches one and is right
        # otherwise must not break the encoding of its answer.
        own = types.ModuleType("builtins")
        own.__dict__.update(builtins.__dict__)
        sys.modules["builtins"] = own
        module.__dict__["__builtins__"] = own.__dict__
        try:
            exec(compile(source, "solution.py", "exec"), module.__dict__)  # noqa: S102
        except BaseException as error:
            return _type_name(error)
        return ""

    def _answer_in_time(
        self, seconds: float, module: types.ModuleType, number: int, *call: Any
    ) -> tuple[Any, ...]:
        # The signal may come at any point up to the return from the inner block.
        try:
            try:
                signal.signal(signal.SIGVTALRM, _time_is_up)
                signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
                return self._answer(module, number, *call)
            finally:
                signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        except TimeoutError:
            return ("raised", number, "TimeoutError")

    def _answer(
        self, module: types.ModuleType, number: int, name: str, arguments: bytes, keywords: bytes
    ) -> tuple[Any, ...]:
        function = module.__dict__.get(name)
        if function is None:
            return ("missing", number)
        # Rebuilt for each call, so that a call cannot change what the next one is given.
        positional = self._codec.decode(arguments)
        named = self._codec.decode(keywords)
        try:
            value = function(*positional, **named)
            # Encoded at once: an object that changes later has already been taken at its word.
            return ("value", number, self._encode(value))
        except self._codec.EncodeError as error:
            return ("unusable", number, str(error)[:300])
        except BaseException as error:
            return ("raised", number, _type_name(error))

    def _encode(self, value: Any) -> Any:
        try:
            return self._codec.encode(value, self._limits)
        except self._codec.EncodeError as error:
            if "is not plain data" not in str(error):
                raise
            plain = _plain(value)
            if plain is value:
                raise
            return self._codec.encode(plain, self._limits)


def _time_is_up(number: int, frame: object) -> NoReturn:
    raise TimeoutError


def _plain(value: Any) -> Any:
    """Return dictionaries of the standard library and numpy's numbers as Python's, at any depth."""
    kind = type(value)
    if kind is list or kind is tuple or kind is set or kind is frozenset:
        items = [_plain(item) for item in value]
        if all(new is old for new, old in zip(items, value)):  # noqa: B905 - Python 3.8
            return value
        return kind(items)
    if kind is dict or kind in _DICTIONARIES:
        pairs = {_plain(key): _plain(item) for key, item in value.items()}
        if kind is dict and all(
            new is old and pairs[new] is value[old]
            for new, old in zip(pairs, value)  # noqa: B905 - Python 3.8
        ):
            return value
        return pairs
    if _is_numpy_number(kind):
        return value.item()
    return value


def _is_numpy_number(kind: type[Any]) -> bool:
    """Tell whether values of a type print, count and compare as a number of Python's."""
    numpy = sys.modules.get("numpy")
    if numpy is None or issubclass(kind, numpy.timedelta64):
        return False
    return issubclass(kind, (numpy.number, numpy.bool_))


def _type_name(error: BaseException) -> str:
    for kind in type(error).__mro__:
        name = kind.__name__
        if type(name) is str and builtins.__dict__.get(name) is kind:
            return name
    return "Exception"
