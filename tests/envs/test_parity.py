"""Verdicts do not depend on the backend: equal answers get equal ones, word for word."""

import asyncio
import collections

import gymnasium
import numpy as np
import pytest

import execgym  # noqa: F401
from execgym.cli.sources import known_answers
from execgym.sandbox import run_sync

AT_ONCE = 4
TASKS_OF_EACH = 2
WRONG_OF_EACH = 15
MOST_ACCEPTED = 2
"""A mutant in hundreds passes, on every backend: `execgym validate` tells the rate."""

pytestmark = pytest.mark.usefixtures("base_image")


async def verdicts(env_id, backend, answers):
    left = collections.deque(enumerate(answers))
    found = [None] * len(answers)

    async def work():
        env = gymnasium.make(env_id, backend=backend, disable_env_checker=True).unwrapped
        while left:
            index, (task_id, text) = left.popleft()
            await env.areset(options={"task_id": task_id})
            _, reward, _, _, info = await env.astep(text)
            found[index] = (reward, info["reward_valid"], info["verdict"])
        await env.aclose()

    async with asyncio.TaskGroup() as group:
        for _ in range(AT_ONCE):
            group.create_task(work())
    return found


@pytest.mark.parametrize("env_id", ["execgym/SQL-v0", "execgym/Coding-v0"])
def test_a_hundred_wrong_answers_and_the_references_get_equal_verdicts(env_id):
    source = gymnasium.make(env_id, disable_env_checker=True).unwrapped.task_source
    generator = np.random.default_rng(1)
    right, wrong = [], []
    for level in source.levels("train") * TASKS_OF_EACH:
        task_id = source.sample(generator, "train", level)
        known = known_answers(env_id)(task_id)
        right.append((task_id, next(iter(known.right.values()))))
        wrong += [(task_id, text) for text in known.wrong.values()][-WRONG_OF_EACH:]
    assert len(wrong) >= 100
    namespace, docker = (
        run_sync(verdicts(env_id, backend, [*right, *wrong])) for backend in ("namespace", "docker")
    )
    assert namespace == docker
    rewards = [reward for reward, _, _ in namespace]
    assert rewards[: len(right)] == [1.0] * len(right)
    assert sum(rewards[len(right) :]) <= MOST_ACCEPTED
