import asyncio
import dataclasses

import numpy as np
import pytest

from execgym.envs.sql.judge import ANSWER_FILE, SQLJudge
from execgym.envs.sql.sources import load_source
from execgym.sandbox import run_sync


@pytest.fixture(scope="session")
def sql_sets(public_sets, tmp_path_factory):
    """Spider's development split, Defog and dbbench, where `dataset_directory` finds them."""
    folder = tmp_path_factory.mktemp("data")
    for name in ("spider_dev", "defog", "agentbench_dbbench"):
        (folder / name).symlink_to(public_sets / "sql" / name)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EXECGYM_DATA", str(folder))
        yield folder


@dataclasses.dataclass
class Grader:
    """Grades queries in sandboxes, several at a time."""

    judge: SQLJudge

    def __call__(self, task_id, *queries):
        task = load_source(source_of(task_id)).task(task_id)
        return self.all([(task, query) for query in queries])

    def all(self, pairs):
        async def run():
            slots = asyncio.Semaphore(4)

            async def one(task, query):
                data = query if isinstance(query, bytes) else query.encode()
                async with slots:
                    return await self.judge.grade(task, {ANSWER_FILE: data})

            return await asyncio.gather(*(one(task, query) for task, query in pairs))

        return run_sync(run())


@pytest.fixture(scope="session")
def grade():
    return Grader(SQLJudge())


def source_of(task_id):
    return task_id.partition("/")[0]


def sampled(split, level, count, seed=0):
    """Return ids of generated tasks."""
    generator = np.random.default_rng([seed, level, split == "train"])
    source = load_source("generated")
    return [source.sample(generator, split, level) for _ in range(count)]


@pytest.fixture(scope="session")
def sample():
    return sampled
