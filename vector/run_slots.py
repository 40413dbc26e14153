"""How many envs execute at once."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncIterator

SLOTS_PER_CORE = 4
"""Run slots for each core that this process may use. Work in a sandbox waits on pipes, forks and
its judge, so a slot a core would leave cores idle."""


class RunSlots:
    """A fixed number of slots, given out first come, first served.

    An env has at most one request waiting, so first come, first served is fair between envs: none
    runs twice while another waits. Time spent waiting is counted apart from time spent running,
    and a command's own clock starts only once it runs.

    Instances belong to one event loop.

    Args:
        count: How many may run at once, or None for `SLOTS_PER_CORE` for each core.
    """

    def __init__(self, count: int | None = None) -> None:
        if count is None:
            count = SLOTS_PER_CORE * len(os.sched_getaffinity(0))
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise ValueError(f"run_slots must be a whole number of at least 1, not {count!r}")
        self.count = count
        self._semaphore = asyncio.Semaphore(count)
        self.waiting = 0
        self.running = 0
        self.queue_seconds = 0.0
        self.run_seconds = 0.0

    @contextlib.asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """Hold a slot inside the `async with` block, waiting for one first.

        Cancelling the wait gives up the place in the queue and loses no slot.
        """
        asked = time.perf_counter()
        self.waiting += 1
        try:
            await self._semaphore.acquire()
        finally:
            self.waiting -= 1
            started = time.perf_counter()
            self.queue_seconds += started - asked
        self.running += 1
        try:
            yield
        finally:
            self.running -= 1
            self.run_seconds += time.perf_counter() - started
            self._semaphore.release()
