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

import execgym_codec as codec  # type: ignore[import-not-found]
import sandbox_channel as channel  # type: ignore[import-not-found]


def main() -> None:
    """Run the checking code against the proxies and report how it ended."""
    request = channel.receive()
    if request is None:
        os._exit(0)
    _, sources, proxies, body = codec.decode(request)
    calls = 0

    def proxy_of(name: str) -> Callable[..., Any]:
        def proxy(*arguments: Any, **keywords: Any) -> Any:
            nonlocal calls
            message = ("call", name, codec.encode(arguments), codec.encode(keywords))
            channel.send(codec.encode(message))
            calls += 1
            return _result(channel.receive())

        proxy.__name__ = name
        return proxy

    module = types.ModuleType("check")
    sys.modules["check"] = module
    namespace = module.__dict__
    try:
        for source in sources:
            exec(compile(source, "check.py", "exec"), namespace)  # noqa: S102
        for alias, name in proxies:
            namespace[alias] = proxy_of(name)
        exec(compile(body, "check.py", "exec"), namespace)  # noqa: S102
    except BaseException as error:
        if calls == 0:
            text = type(error).__name__ + ": " + str(error)[:500]
            channel.send(codec.encode(("broken", text)))
        else:
            channel.send(codec.encode(("failed", type(error).__name__)))
    else:
        channel.send(codec.encode(("passed",)))
    os._exit(0)


def _result(response: bytes | None) -> Any:
    if response is None:
        os._exit(0)
    answer = codec.decode(response)
    if answer[0] == "value":
        return codec.decode(answer[2])
    _raise(answer[2] if answer[0] == "raised" else "TypeError")


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
