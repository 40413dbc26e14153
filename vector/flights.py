"""Requests on their way: sent from the caller's thread, run on the event loop, received again."""

from __future__ import annotations

import asyncio
import collections
import itertools
import math
import threading
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, TypeVar

from execgym.envs.core import HOPELESS
from execgym.sandbox import run_sync, shared_loop
from execgym.vector.batch import Statistics
from execgym.vector.errors import VectorEnvClosedError
from execgym.vector.hosted_env import HostedEnv, Outcome, Request, RequestKind
from execgym.vector.run_slots import RunSlots
from execgym.vector.threads import DaemonThreads

_T = TypeVar("_T")


class Flights:
    """The requests of one vector env, at most one an env at a time.

    An env is in flight from `send` until `receive` has handed over its outcome. Methods are called
    from one thread at a time, and never on the event loop itself.

    Args:
        hosts: The envs.
        slots: How many may execute at once.
        threads: Where envs without async methods run; closed by `close`.
        placeholder: Makes an observation for an env that fails before it gave one.
    """

    def __init__(
        self,
        hosts: Sequence[HostedEnv],
        slots: RunSlots,
        threads: DaemonThreads,
        placeholder: Callable[[], Any],
    ) -> None:
        self._hosts = hosts
        self._slots = slots
        self._threads = threads
        self._placeholder = placeholder
        self._loop = shared_loop()
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False
        self._hopeless_raised = False
        # Guards what stands below it, which the event loop's thread fills.
        self._changed = threading.Condition()
        self._in_flight: set[int] = set()
        self._ready: dict[int, Outcome] = {}
        self._wanted = 0
        self._errors: collections.Counter[str] = collections.Counter()
        self._steps = 0
        self._resets = 0

    @property
    def outstanding(self) -> int:
        """How many envs are in flight."""
        with self._changed:
            return len(self._in_flight) + len(self._ready)

    def state_of(self, env_id: int) -> str:
        """Return what an env in flight is at, in words, or `""` for one that is not in flight."""
        with self._changed:
            if env_id in self._in_flight:
                return "is working"
            return "has a result that waits" if env_id in self._ready else ""

    def any_env(self) -> int | None:
        """Return an env that is in flight, or None."""
        with self._changed:
            return next(itertools.chain(self._in_flight, self._ready), None)

    def send(self, requests: Sequence[Request]) -> None:
        """Start requests of envs that are not in flight, and return at once."""
        ids = [request.env_id for request in requests]
        with self._changed:
            self._in_flight.update(ids)
        try:
            self._loop.call_soon_threadsafe(self._start, requests)
        except BaseException:
            with self._changed:
                self._in_flight.difference_update(ids)
            raise

    def receive(
        self,
        convert: Callable[[list[Outcome]], _T],
        at_least: int,
        at_most: int | None = None,
        timeout: float | None = None,
    ) -> _T:
        """Wait for outcomes and hand over, converted, those that are there.

        An exception or an interrupt out of here leaves every outcome for the next call.

        Args:
            convert: What to make of the outcomes, which come in the order of completion.
            at_least: How many to wait for.
            at_most: Largest number to hand over, or None.
            timeout: Seconds to wait, or None.

        Raises:
            TimeoutError: Not enough have finished in time.
            SandboxUnavailableError: No sandbox can run here. Raised once.
            TemplateError: The sandbox's template cannot be built. Raised once.
            VectorEnvClosedError: `close` was called by another thread.
        """
        with self._changed:
            if not self._wait_for(at_least, timeout):
                raise TimeoutError(
                    f"{len(self._ready)} of {at_least} envs finished within {timeout} s; a later "
                    "recv has their results"
                )
            outcomes = list(itertools.islice(self._ready.values(), at_most))
            self._raise_hopeless(outcomes)
            converted = convert(outcomes)
            # One assignment is the whole handing over, so that an interrupt loses nothing.
            self._ready = dict(itertools.islice(self._ready.items(), len(outcomes), None))
        return converted

    def drop(self) -> None:
        """Wait for everything in flight and drop the outcomes."""
        with self._changed:
            self._wait_for(len(self._in_flight) + len(self._ready), None)
            self._ready = {}

    def statistics(self) -> Statistics:
        """Return what the envs are doing and have done."""
        with self._changed:
            ready, in_flight = len(self._ready), len(self._in_flight)
            running = min(self._slots.running, in_flight)
            return Statistics(
                idle=len(self._hosts) - ready - in_flight,
                queued=in_flight - running,
                running=running,
                ready=ready,
                steps=self._steps,
                resets=self._resets,
                errors=dict(self._errors),
                queue_seconds=self._slots.queue_seconds,
                run_seconds=self._slots.run_seconds,
                run_slots=self._slots.count,
            )

    def close(self, timeout: float) -> None:
        """Cancel everything and close the envs, within `timeout` seconds."""
        self._closed = True
        run_sync(close_hosts(self._hosts, self._tasks, timeout))
        self._threads.close()
        with self._changed:
            self._in_flight.clear()
            self._ready = {}
            self._changed.notify_all()

    def close_later(self, seconds: float) -> None:
        """Begin closing without waiting for it, from whatever thread."""
        self._closed = True
        if self._loop.is_running():
            closing = close_hosts(self._hosts, self._tasks, seconds)
            self._loop.call_soon_threadsafe(_begin, self._loop, closing, self._threads)

    def _start(self, requests: Sequence[Request]) -> None:
        for request in requests:
            task = self._loop.create_task(self._fly(request))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _fly(self, request: Request) -> None:
        async with self._slots.slot():
            outcome = await self._hosts[request.env_id].run(request, self._placeholder)
        with self._changed:
            if outcome.kind is not RequestKind.RESET:
                self._steps += 1
            if outcome.kind is RequestKind.RESET or outcome.final is not None:
                self._resets += 1
            if outcome.error is not None:
                self._errors[type(outcome.error).__name__] += 1
            self._in_flight.discard(request.env_id)
            self._ready[request.env_id] = outcome
            # To wake the caller for each of thousands of results would cost more than they do.
            if len(self._ready) >= self._wanted:
                self._changed.notify_all()

    def _wait_for(self, count: int, timeout: float | None) -> bool:
        """Wait, holding `_changed`, for so many outcomes; return whether they are there."""
        deadline = math.inf if timeout is None else time.monotonic() + timeout
        self._wanted = count
        while len(self._ready) < count:
            if self._closed:
                raise VectorEnvClosedError("the vector env was closed while it was waited for")
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                return False
            self._changed.wait(None if timeout is None else remaining)
        return True

    def _raise_hopeless(self, outcomes: Sequence[Outcome]) -> None:
        for outcome in outcomes:
            if isinstance(outcome.error, HOPELESS) and not self._hopeless_raised:
                self._hopeless_raised = True
                raise outcome.error


async def close_hosts(
    hosts: Sequence[HostedEnv], tasks: set[asyncio.Task[None]], seconds: float
) -> None:
    """Cancel the tasks and close the envs; leave to itself what is not done in `seconds`."""
    started = time.monotonic()
    pending = list(tasks)
    for task in pending:
        task.cancel()
    if pending:
        # Half of the time, so that an env that will not be cancelled leaves some for the closing.
        await asyncio.wait(pending, timeout=seconds / 2)
    closings = [asyncio.ensure_future(host.close()) for host in hosts]
    if not closings:
        return
    _, late = await asyncio.wait(closings, timeout=seconds - (time.monotonic() - started))
    for closing in late:
        closing.cancel()


def _begin(
    loop: asyncio.AbstractEventLoop, closing: Coroutine[Any, Any, None], threads: DaemonThreads
) -> None:
    task = loop.create_task(closing)
    task.add_done_callback(lambda _: threads.close())
