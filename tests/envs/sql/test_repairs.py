"""Repairs: a query with a fault that matters, and a right one that is judged as ever."""

import json

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import execgym  # noqa: F401
from execgym.envs.errors import InvalidOptionError, UnknownTaskError
from execgym.envs.sql.answers import answers
from execgym.envs.sql.driver import QueryError, ReadOnlyDatabase
from execgym.envs.sql.exams import exam, reference_of
from execgym.envs.sql.repairs import RepairSource, question_of, repair_of
from execgym.envs.sql.tasks import LEVELS, generate

SOURCE = RepairSource()


def sampled(split, level, count):
    generator = np.random.default_rng([5, level, split == "train"])
    return [SOURCE.sample(generator, split, level) for _ in range(count)]


@pytest.fixture
def env():
    made = gymnasium.make("execgym/SQL-v0", tasks="repair", disable_env_checker=True).unwrapped
    yield made
    made.close()


@pytest.mark.parametrize("split", ["train", "test"])
@pytest.mark.parametrize("level", LEVELS)
def test_the_faulty_query_fails_and_the_reference_passes(env, split, level):
    for task_id in sampled(split, level, 3):
        repair = repair_of(task_id)
        assert generate(repair.question_id).split == split
        for query, reward in (
            (repair.faulty, 0.0),
            (reference_of(repair.question_id).sql, 1.0),
        ):
            observation, info = env.reset(options={"task_id": task_id})
            assert repair.faulty in observation
            assert (info["level"], info["split"]) == (level, split)
            assert env.step(query)[1] == reward, (task_id, query)


def test_most_faults_run_and_some_do_not():
    runs = 0
    ids = [task_id for level in LEVELS for task_id in sampled("train", level, 8)]
    for task_id in ids:
        repair = repair_of(task_id)
        with ReadOnlyDatabase(exam(repair.question_id).databases[0]) as database:
            try:
                database.run(repair.faulty, rows=5000, size=10**6, steps=10**6)
                runs += 1
            except QueryError:
                pass
    assert len(ids) / 2 < runs < len(ids)


def test_wrong_answers_hold_the_faulty_query_and_none_passes(env):
    task_id = sampled("train", 2, 1)[0]
    known = answers(task_id)
    assert known.wrong["the faulty query"] == repair_of(task_id).faulty
    for text in known.right.values():
        env.reset(options={"task_id": task_id})
        assert env.step(text)[1] == 1.0
    for text in known.wrong.values():
        env.reset(options={"task_id": task_id})
        assert env.step(text)[1] == 0.0


def test_equal_ids_are_equal_tasks():
    task_id = sampled("test", 3, 1)[0]
    before = SOURCE.task(task_id)
    repair_of.cache_clear()
    assert SOURCE.task(task_id) == before


@pytest.mark.parametrize(
    "task_id", ["", "repair/train/6/1", "repair/train/1/007", "generated/train/1/1", None]
)
def test_an_id_of_no_repair_is_refused_with_the_form_of_an_id(task_id):
    with pytest.raises(UnknownTaskError, match="repair/train/1/42"):
        SOURCE.task(task_id)


def test_other_ids_are_judged_as_themselves():
    assert question_of("spider/1") == "spider/1"


def test_repairs_are_for_sqlite():
    with pytest.raises(InvalidOptionError, match="engine='sqlite'"):
        gymnasium.make("execgym/SQL-v0", tasks="repair", engine="duckdb")


def test_gymnasiums_checker_has_no_complaint():
    env = gymnasium.make("execgym/SQL-v0", tasks="repair")
    check_env(env.unwrapped, skip_render_check=False)
    env.close()


def test_a_look_at_the_faulty_querys_rows_is_allowed(env):
    env.reset(options={"task_id": sampled("train", 1, 1)[0]})
    query = {"query": "SELECT 41 + 1"}
    assert "42" in env.step(json.dumps({"name": "run_sql", "arguments": query}))[0]
