"""Things that are slow to start, started ahead of their use in the background, within bounds."""

from __future__ import annotations

import asyncio
import concurrent.futures
import os
import queue
import threading
from collections.abc import Callable, Hashable
from typing import Any, Generic, Protocol, TypeVar

from execgym.sandbox.errors import SandboxStartError

_CLOSING_SECONDS = 15.0


class Startable(Protocol):
    """What a pool starts and ends."""

    def has_ended(self) -> bool:
        """Return whether it is of no more use."""
        ...

    def hang_up(self) -> None:
        """Have it end, without waiting for anything."""
        ...

    def close(self) -> None:
        """End it and clear it away. It may block."""
        ...

    def abandon(self) -> None:
        """In a fork, let go of what is the parent's."""
        ...


_Kind = TypeVar("_Kind", bound=Hashable)
_Item = TypeVar("_Item", bound=Startable)
_T = TypeVar("_T")


class WarmPool(Generic[_Kind, _Item]):
    """Starts items of a kind when they are asked for, and some ahead of that.

    Two of a kind in a row make it likely that a third will be wanted: from then on some of the kind
    are kept ready. Where there are too many, the kind that was asked for longest ago gives way.

    Args:
        start: Starts an item of a kind. It may block.
        each: Items that are kept ready of a kind.
        at_most: Items that are kept ready of all kinds together.
        workers: Threads that start and close items.
    """

    def __init__(
        self, start: Callable[[_Kind], _Item], *, each: int, at_most: int, workers: int
    ) -> None:
        self._start = start
        self._each = each
        self._at_most = at_most
        self._worker_count = workers
        self._begin()
        os.register_at_fork(after_in_child=self._abandon)

    def _begin(self) -> None:
        self._lock = threading.RLock()
        self._workers = _Workers(self._worker_count)
        # By the time at which the kinds were asked for last, the longest ago first.
        self._warm: dict[_Kind, list[_Item]] = {}
        self._warming: dict[concurrent.futures.Future[None], _Kind] = {}
        self._taken: set[_Item] = set()
        self._others: set[concurrent.futures.Future[Any]] = set()
        self._last_kind: _Kind | None = None
        self._generation = 0

    async def take(self, kind: _Kind) -> tuple[_Item, bool]:
        """Return an item of a kind, and whether it has waited ready.

        Raises:
            SandboxStartError: The pool was closed meanwhile.
            Exception: What starting it raised.
        """
        item = self._take_warm(kind)
        if item is not None:
            return item, True
        with self._lock:
            started = self._noted(self._workers.call(self._start_taken, kind, self._generation))
        try:
            return await asyncio.wrap_future(started), False
        except asyncio.CancelledError:
            started.add_done_callback(self._give_back)
            raise

    def give_up(self, item: _Item) -> None:
        """Close an item that was taken, in the background."""
        item.hang_up()
        with self._lock:
            if item in self._taken:
                self._taken.remove(item)
                self._noted(self._workers.call(item.close))

    def close(self) -> None:
        """Close all items, within bounded time. The pool can be used again."""
        with self._lock:
            self._generation += 1
            for item in [*self._taken, *(each for some in self._warm.values() for each in some)]:
                item.hang_up()
                self._noted(self._workers.call(item.close))
            self._taken.clear()
            self._warm.clear()
            self._last_kind = None
            pending: list[concurrent.futures.Future[Any]] = [*self._others, *self._warming]
        concurrent.futures.wait(pending, timeout=_CLOSING_SECONDS)

    def ready(self, kind: _Kind) -> int:
        """Return how many items of a kind wait ready."""
        with self._lock:
            return len(self._warm.get(kind, ()))

    def _take_warm(self, kind: _Kind) -> _Item | None:
        with self._lock:
            found = None
            waiting = self._warm.pop(kind, [])
            while waiting and found is None:
                item = waiting.pop(0)
                if item.has_ended():
                    self._noted(self._workers.call(item.close))
                else:
                    found = item
                    self._taken.add(item)
            self._warm[kind] = waiting
            if kind == self._last_kind:
                self._refill(kind)
            self._last_kind = kind
            return found

    def _refill(self, kind: _Kind) -> None:
        on_their_way = sum(each == kind for each in self._warming.values())
        for _ in range(self._each - len(self._warm[kind]) - on_their_way):
            if not self._make_room(kind):
                return
            warming = self._workers.call(self._start_warm, kind, self._generation)
            self._warming[warming] = kind
            warming.add_done_callback(self._forget_warming)

    def _make_room(self, kind: _Kind) -> bool:
        while sum(map(len, self._warm.values())) + len(self._warming) >= self._at_most:
            others = [each for each, waiting in self._warm.items() if waiting and each != kind]
            if not others:
                return False
            self._noted(self._workers.call(self._warm[others[0]].pop(0).close))
        self._warm = {each: waiting for each, waiting in self._warm.items() if waiting} | {
            kind: self._warm[kind]
        }
        return True

    def _start_taken(self, kind: _Kind, generation: int) -> _Item:
        item = self._start(kind)
        with self._lock:
            if generation == self._generation:
                self._taken.add(item)
                return item
        item.close()
        raise SandboxStartError("it was closed while it started")

    def _start_warm(self, kind: _Kind, generation: int) -> None:
        item = self._start(kind)
        with self._lock:
            if generation == self._generation and kind in self._warm:
                self._warm[kind].append(item)
                return
        item.close()

    def _give_back(self, started: concurrent.futures.Future[_Item]) -> None:
        if not started.cancelled() and started.exception() is None:
            self.give_up(started.result())

    def _noted(self, call: concurrent.futures.Future[_T]) -> concurrent.futures.Future[_T]:
        """Remember a call until it has ended, for those who close the pool meanwhile."""
        self._others.add(call)
        call.add_done_callback(self._forget_other)
        return call

    def _forget_other(self, call: concurrent.futures.Future[Any]) -> None:
        with self._lock:
            self._others.discard(call)

    def _forget_warming(self, call: concurrent.futures.Future[None]) -> None:
        with self._lock:
            self._warming.pop(call, None)

    def _abandon(self) -> None:
        items = [*self._taken, *(each for some in self._warm.values() for each in some)]
        self._begin()
        for item in items:
            item.abandon()


class _Workers:
    """Threads that call functions. One that hangs does not hold up the end of the process."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._calls: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._threads = 0

    def call(
        self, function: Callable[..., _T], *arguments: object
    ) -> concurrent.futures.Future[_T]:
        """Call a function when a thread is free, in the order of the calls."""
        future: concurrent.futures.Future[_T] = concurrent.futures.Future()

        def run() -> None:
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(function(*arguments))
                except BaseException as error:
                    future.set_exception(error)

        self._calls.put(run)
        if self._threads < self._count:
            self._threads += 1
            threading.Thread(target=self._work, name="execgym-warm", daemon=True).start()
        return future

    def _work(self) -> None:
        while True:
            self._calls.get()()
