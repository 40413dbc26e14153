"""Threads for envs that have no async methods."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable
from typing import Any

_Call = tuple[asyncio.AbstractEventLoop, "asyncio.Future[Any]", Callable[[], Any]]


class DaemonThreads:
    """Runs blocking calls off the event loop, in at most `count` threads.

    The threads are daemons, unlike those of `concurrent.futures`: an env that never returns must
    not keep the process from ending. They start when there is work for them.

    Args:
        count: Largest number of threads.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._calls: queue.SimpleQueue[_Call | None] = queue.SimpleQueue()
        self._started = 0
        self._busy = 0
        self._closed = False

    async def run(self, call: Callable[[], Any]) -> Any:
        """Run `call` in a thread and return its result or raise its exception.

        Cancelling stops the wait, not the call.
        """
        if self._closed:
            raise RuntimeError("the threads have been told to end")
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        self._busy += 1
        if self._busy > self._started and self._started < self._count:
            self._started += 1
            threading.Thread(
                target=self._work, name=f"execgym-env-{self._started}", daemon=True
            ).start()
        self._calls.put((loop, future, call))
        try:
            value, error = await future
        finally:
            self._busy -= 1
        if error is not None:
            raise error
        return value

    def close(self) -> None:
        """Let every thread end once its call has returned. Closing twice is fine."""
        if not self._closed:
            self._closed = True
            for _ in range(self._started):
                self._calls.put(None)

    def _work(self) -> None:
        while (item := self._calls.get()) is not None:
            loop, future, call = item
            try:
                outcome: tuple[Any, BaseException | None] = (call(), None)
            except BaseException as error:
                # Handed over as a value: a Future refuses StopIteration, and nothing that an env
                # raises may end the thread.
                outcome = (None, error)
            try:
                loop.call_soon_threadsafe(_resolve, future, outcome)
            except RuntimeError:
                return
            del item, future, call, outcome


def _resolve(future: asyncio.Future[Any], outcome: tuple[Any, BaseException | None]) -> None:
    if not future.done():
        future.set_result(outcome)
