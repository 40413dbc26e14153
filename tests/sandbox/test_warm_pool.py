"""The pool of containers that are started ahead: what it starts, keeps, and lets go."""

import asyncio
import threading

import pytest

from execgym.sandbox import SandboxStartError
from execgym.sandbox.warm_pool import WarmPool


class Item:
    def __init__(self, kind):
        self.kind = kind
        self.ended = False
        self.closed = threading.Event()

    def has_ended(self):
        return self.ended

    def hang_up(self):
        self.ended = True

    def close(self):
        self.ended = True
        self.closed.set()

    def abandon(self):
        self.ended = True


class Factory:
    """Makes items, and remembers them."""

    def __init__(self):
        self.made = []
        self.may_go_on = threading.Event()
        self.may_go_on.set()
        self.error = None

    def __call__(self, kind):
        assert self.may_go_on.wait(20)
        if self.error is not None:
            raise self.error
        self.made.append(Item(kind))
        return self.made[-1]


@pytest.fixture
def factory():
    return Factory()


@pytest.fixture
def pool(factory):
    made = WarmPool(factory, each=2, at_most=3, workers=2)
    yield made
    made.close()


def take(pool, kind="a"):
    return asyncio.run(pool.take(kind))


def test_the_first_of_a_kind_makes_none_ahead(pool, factory):
    _, waited = take(pool)
    pool.close()
    assert not waited
    assert len(factory.made) == 1


def test_the_second_of_a_kind_in_a_row_makes_more_ahead(pool, eventually):
    take(pool)
    take(pool)
    eventually(lambda: pool.ready("a") == 2)
    _, waited = take(pool)
    assert waited


def test_no_more_are_kept_ready_than_allowed_and_the_oldest_kind_gives_way(
    pool, factory, eventually
):
    for kind in ("a", "b"):
        take(pool, kind)
        take(pool, kind)
        eventually(lambda kind=kind: pool.ready(kind) == 2)
    eventually(lambda: pool.ready("a") == 1)
    assert sum(item.closed.is_set() for item in factory.made) == 1


def test_one_that_ended_while_it_waited_is_not_handed_out(pool, factory, eventually):
    take(pool)
    take(pool)
    eventually(lambda: pool.ready("a") == 2)
    ended, good = pool._warm["a"]
    ended.ended = True
    item, waited = take(pool)
    assert (item, waited) == (good, True)
    assert ended.closed.wait(20)


def test_what_a_start_raises_reaches_who_asked(pool, factory):
    factory.error = SandboxStartError("no luck")
    with pytest.raises(SandboxStartError, match="no luck"):
        take(pool)


def test_a_start_ahead_that_fails_is_of_no_consequence(pool, factory):
    take(pool)
    factory.error = SandboxStartError("no luck")
    with pytest.raises(SandboxStartError):
        take(pool)
    factory.error = None
    item, _ = take(pool)
    assert item.kind == "a"


def test_one_that_is_given_up_is_closed_once(pool, factory):
    item, _ = take(pool)
    pool.give_up(item)
    pool.give_up(item)
    assert item.closed.wait(20)


def test_closing_the_pool_closes_those_in_use_and_those_that_wait(pool, factory, eventually):
    take(pool)
    take(pool)
    eventually(lambda: pool.ready("a") == 2)
    pool.close()
    assert len(factory.made) == 4
    assert all(item.closed.is_set() for item in factory.made)


def test_one_that_starts_while_the_pool_is_closed_is_closed_too(pool, factory, eventually):
    async def main():
        factory.may_go_on.clear()
        taking = asyncio.create_task(pool.take("a"))
        await asyncio.sleep(0)
        closing = asyncio.create_task(asyncio.to_thread(pool.close))
        while pool._generation == 0:
            await asyncio.sleep(0.001)
        factory.may_go_on.set()
        with pytest.raises(SandboxStartError, match="closed while it started"):
            await taking
        await closing

    asyncio.run(main())
    assert [item.closed.is_set() for item in factory.made] == [True]


def test_one_that_nobody_waits_for_any_more_is_closed(pool, factory, eventually):
    async def main():
        factory.may_go_on.clear()
        taking = asyncio.create_task(pool.take("a"))
        while not pool._others:
            await asyncio.sleep(0)
        taking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await taking
        factory.may_go_on.set()

    asyncio.run(main())
    eventually(lambda: not pool._others)
    assert all(item.closed.wait(20) for item in factory.made)


def test_a_pool_can_be_used_after_it_was_closed(pool):
    take(pool)
    pool.close()
    item, _ = take(pool)
    assert not item.ended


def test_a_close_that_hangs_holds_up_nobody_for_long(factory, monkeypatch):
    from execgym.sandbox import warm_pool

    monkeypatch.setattr(warm_pool, "_CLOSING_SECONDS", 0.05)
    pool = WarmPool(factory, each=1, at_most=1, workers=1)
    item, _ = take(pool)
    never = threading.Event()
    monkeypatch.setattr(item, "close", never.wait)
    pool.close()
    never.set()
