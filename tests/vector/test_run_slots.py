"""Run slots: a bound on what executes at once, first come, first served."""

import asyncio
import threading

import pytest

from execgym.vector import AsyncVectorEnv
from execgym.vector.run_slots import SLOTS_PER_CORE, RunSlots


class Counting:
    def __init__(self):
        self.now = self.most = 0

    async def hold(self, slots, order, name, turns=3):
        async with slots.slot():
            order.append(name)
            self.now += 1
            self.most = max(self.most, self.now)
            for _ in range(turns):
                await asyncio.sleep(0)
            self.now -= 1


def test_no_more_than_the_count_run_at_once_and_in_order():
    async def scenario():
        slots, counting, order = RunSlots(3), Counting(), []
        await asyncio.gather(*(counting.hold(slots, order, name) for name in range(20)))
        assert counting.most == 3
        assert order == list(range(20))
        assert slots.waiting == slots.running == 0
        assert slots.run_seconds > 0
        assert slots.queue_seconds > 0

    asyncio.run(scenario())


def test_a_cancelled_wait_loses_no_slot():
    async def scenario():
        slots, counting, order = RunSlots(1), Counting(), []
        tasks = [
            asyncio.create_task(counting.hold(slots, order, name, turns=5)) for name in range(5)
        ]
        await asyncio.sleep(0)
        tasks[1].cancel()
        tasks[3].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert order == [0, 2, 4]
        assert slots.waiting == slots.running == 0
        async with slots.slot():
            assert slots.running == 1

    asyncio.run(scenario())


def test_an_exception_inside_gives_the_slot_back():
    async def scenario():
        slots = RunSlots(1)
        with pytest.raises(OSError, match="inside"):
            async with slots.slot():
                raise OSError("inside")
        async with slots.slot():
            pass

    asyncio.run(scenario())


def test_the_default_follows_the_cores():
    assert RunSlots().count % SLOTS_PER_CORE == 0


@pytest.mark.parametrize("kind", ["plain", "async"])
def test_the_vector_env_keeps_to_its_slots(every_kind, kind):
    lock = threading.Lock()
    counts = {"now": 0, "most": 0}

    class Counted(every_kind[kind]):
        def step(self, action):
            with lock:
                counts["now"] += 1
                counts["most"] = max(counts["most"], counts["now"])
            result = super().step(action)
            with lock:
                counts["now"] -= 1
            return result

        async def astep(self, action):
            counts["now"] += 1
            counts["most"] = max(counts["most"], counts["now"])
            await asyncio.sleep(0)
            result = await super().astep(action)
            counts["now"] -= 1
            return result

    if kind == "plain":
        del Counted.astep
    envs = AsyncVectorEnv([Counted] * 30, run_slots=4)
    envs.reset(seed=1)
    envs.step(["a"] * 30)
    assert 1 <= counts["most"] <= 4
    statistics = envs.statistics()
    assert statistics.run_slots == 4
    assert (statistics.steps, statistics.resets) == (30, 30)
    assert statistics.idle == 30
    envs.close()


def test_states_are_counted(every_kind):
    envs = AsyncVectorEnv([every_kind["async"]] * 5, run_slots=2)
    envs.reset(seed=1)
    envs.send(["wait"] * 4, range(4))
    while envs.statistics().running < 2:
        pass
    statistics = envs.statistics()
    assert (statistics.idle, statistics.queued, statistics.running, statistics.ready) == (
        1,
        2,
        2,
        0,
    )
    envs.close()
