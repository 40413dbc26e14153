"""The program that runs a task set's checking code in the judge's own sandbox.

It is shipped into sandboxes as source text, like `candidate_driver`. The candidate's code is never
in this process: the names under which the checking code calls it are bound to proxies, and each
call travels as plain data to the host, which relays it to the candidate's sandbox. So what this
process reports is true of the values that it was given.

Messages are encoded tuples. From the host: `("check", sources, proxies, body)` once, with `proxies`
the pairs of a global name and the candidate's function; then one answer for each call, as
`candidate_driver` gives it. To the host: `("call", name, arguments, keywords)`, and at the end
`("passed",)`, `("failed", type name)`, or `("broken", why)` when it failed before the first call.
"""

from __future__ import annotations

import builtins
import os
import sys
import types
from collections.abc import Callable
from typing import Any, NoReturn


def main() -> None:
    """Run the checking code against the proxies and report how it ended."""
    # Only a sandbox has these two.
    import execgym_codec  # type: ignore[import-not-found]
    import sandbox_channel  # type: ignore[import-not-found]

    _Driver(execgym_codec, sandbox_channel).run()


class _Driver:
    def __init__(self, codec: Any, channel: Any) -> None:
        self._codec = codec
        self._channel = channel
        self._calls = 0

    def run(self) -> NoReturn:
        _, sources, proxies, body = self._receive()
        module = types.ModuleType("check")
        sys.modules["check"] = module
        namespace = module.__dict__
        try:
            for source in sources:
                exec(compile(source, "check.py", "exec"), namespace)  # noqa: S102
            for alias, name in proxies:
                namespace[alias] = self._proxy_of(name)
            exec(compile(body, "check.py", "exec"), namespace)  # noqa: S102
        except BaseException as error:
            if self._calls:
                self._send(("failed", type(error).__name__))
            else:
                self._send(("broken", type(error).__name__ + ": " + str(error)[:500]))
        else:
            self._send(("passed",))
        os._exit(0)

    def _receive(self) -> tuple[Any, ...]:
        data = self._channel.receive()
        if data is None:
            os._exit(0)
        message: tuple[Any, ...] = self._codec.decode(data)
        return message

    def _send(self, message: tuple[Any, ...]) -> None:
        self._channel.send(self._codec.encode(message))

    def _proxy_of(self, name: str) -> Callable[..., Any]:
        def proxy(*arguments: Any, **keywords: Any) -> Any:
            given = self._codec.encode(arguments), self._codec.encode(keywords)
            self._send(("call", name, *given))
            self._calls += 1
            answer = self._receive()
            if answer[0] == "value":
                return self._codec.decode(answer[2])
            _raise(answer[2])

        proxy.__name__ = name
        return proxy


def _raise(name: str) -> NoReturn:
    kind = builtins.__dict__.get(name)
    # Nothing that would end the checking code quietly may come from the candidate.
    if not (isinstance(kind, type) and issubclass(kind, Exception)) or kind in (
        StopIteration,
        StopAsyncIteration,
    ):
        raise RuntimeError("the candidate raised an exception")
    try:
        error = kind("raised by the candidate")
    except TypeError:
        raise RuntimeError("the candidate raised " + name) from None
    raise error
