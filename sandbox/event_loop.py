"""The one background event loop of the process, for callers that are not asynchronous."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

_T = TypeVar("_T")

_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None
_of_parents: list[asyncio.AbstractEventLoop] = []


def shared_loop() -> asyncio.AbstractEventLoop:
    """Return the process's background event loop, which runs in a daemon thread of its own.

    It starts at first use. A fork of the process gets one of its own.
    """
    global _loop
    with _lock:
        if _loop is None or _loop.is_closed():
            _loop = asyncio.new_event_loop()
            started = threading.Event()
            threading.Thread(
                target=_serve, args=(_loop, started), name="execgym-event-loop", daemon=True
            ).start()
            started.wait()
        return _loop


def run_sync(coroutine: Coroutine[Any, Any, _T]) -> _T:
    """Run a coroutine on the shared loop and return its result.

    It may be called from any thread but the loop's own, also while another event loop runs in the
    calling thread, as in a notebook. An interrupt cancels the coroutine.

    Raises:
        RuntimeError: It was called from the shared loop itself, where it would never return.
    """
    loop = shared_loop()
    try:
        running = asyncio.get_running_loop()
    except RuntimeError:
        running = None
    if running is loop:
        coroutine.close()
        raise RuntimeError("a sync method was called on the shared event loop; await the async one")
    future = asyncio.run_coroutine_threadsafe(coroutine, loop)
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise


def _serve(loop: asyncio.AbstractEventLoop, started: threading.Event) -> None:
    asyncio.set_event_loop(loop)
    loop.call_soon(started.set)
    loop.run_forever()


def _forget_loop() -> None:
    # The thread that runs it is not in the fork, and another may have held the lock. The loop is
    # kept, since closing it would act on what it shares with the parent.
    global _lock, _loop
    _lock = threading.Lock()
    if _loop is not None:
        _of_parents.append(_loop)
    _loop = None


os.register_at_fork(after_in_child=_forget_loop)
