"""Verdicts side by side: the same answers on every backend, whose verdicts have to be equal.

Right answers are the references, wrong ones those of `execgym validate`: mutants of the reference
that rows or calls tell from it, cheats, and answers to nothing. A verdict is its status, its score
and every check with its figure; measured times are no part of it. The script ends with status 1
where two differ. Public sets (`--tasks`) have references only.

    python benchmarks/parity.py [--envs SQL-v0,Coding-v0] [--tasks generated] [--tasks-each 4]
        [--backends namespace,docker,docker-per-episode] [--jobs 4]
"""

import argparse
import asyncio
import collections
import sys
import time

import gymnasium
import numpy as np
from rich.console import Console
from rich.table import Table

import execgym  # noqa: F401
from execgym.cli.sources import known_answers, reference_answer
from execgym.envs import ExecEnv
from execgym.sandbox import run_sync

Answer = tuple[str, str, str, bool]


def make(env_id: str, backend: str, tasks: str) -> ExecEnv:
    env = gymnasium.make(env_id, backend=backend, tasks=tasks, disable_env_checker=True).unwrapped
    assert isinstance(env, ExecEnv)
    return env


def task_ids(env: ExecEnv, each: int) -> list[str]:
    """Return all tasks of a set, or so many of each split and level of a generator."""
    source, generator = env.task_source, np.random.default_rng(0)
    found: list[str] = []
    for split in source.splits:
        ids = source.ids(split)
        if ids is not None:
            found += ids
            continue
        for level in source.levels(split):
            found += [source.sample(generator, split, level) for _ in range(each)]
    return list(dict.fromkeys(found))


def answers(env_id: str, tasks: str, each: int) -> list[Answer]:
    """Return task, name, text, and whether it is right, of every answer to be judged."""
    env = make(env_id, "namespace", tasks)
    found: list[Answer] = []
    for task_id in task_ids(env, each):
        if tasks != "generated":
            found.append((task_id, "reference", reference_answer(env_id)(task_id), True))
            continue
        known = known_answers(env_id)(task_id)
        found += [(task_id, name, text, True) for name, text in known.right.items()]
        found += [(task_id, name, text, False) for name, text in known.wrong.items()]
    return found


async def verdicts(
    env_id: str, backend: str, tasks: str, chosen: list[Answer], jobs: int
) -> list[object]:
    left = collections.deque(enumerate(chosen))
    found: list[object] = [None] * len(chosen)

    async def work() -> None:
        env = make(env_id, backend, tasks)
        while left:
            index, (task_id, _, text, _) = left.popleft()
            await env.areset(options={"task_id": task_id})
            _, reward, _, _, info = await env.astep(text)
            found[index] = (reward, info["reward_valid"], info["verdict"])
        await env.aclose()

    async with asyncio.TaskGroup() as group:
        for _ in range(jobs):
            group.create_task(work())
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--envs", default="SQL-v0,Coding-v0")
    parser.add_argument("--tasks", default="generated")
    parser.add_argument("--tasks-each", type=int, default=4, help="of each split and level")
    parser.add_argument("--backends", default="namespace,docker,docker-per-episode")
    parser.add_argument("--jobs", type=int, default=4)
    options = parser.parse_args()
    backends = options.backends.split(",")
    table = Table("env", "right", "wrong", *(f"{name} s" for name in backends), "different")
    different = []
    for name in options.envs.split(","):
        env_id = f"execgym/{name}"
        chosen = answers(env_id, options.tasks, options.tasks_each)
        found, seconds = [], []
        for backend in backends:
            started = time.perf_counter()
            found.append(run_sync(verdicts(env_id, backend, options.tasks, chosen, options.jobs)))
            seconds.append(time.perf_counter() - started)
        unequal = [
            (answer, each)
            for answer, *each in zip(chosen, *found, strict=True)
            if any(one != each[0] for one in each)
        ]
        different += unequal
        right = sum(answer[3] for answer in chosen)
        times = [f"{spent:.1f}" for spent in seconds]
        table.add_row(name, str(right), str(len(chosen) - right), *times, str(len(unequal)))
    console = Console()
    console.print(table)
    for (task_id, name, text, _), each in different[:20]:
        console.print(f"{task_id}, {name}: {text[:200]!r}", markup=False)
        for backend, verdict in zip(backends, each, strict=True):
            console.print(f"  {backend}: {verdict}", markup=False)
    sys.exit(1 if different else 0)


if __name__ == "__main__":
    main()
