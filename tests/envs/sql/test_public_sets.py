"""Spider's development split and Defog: every sound gold passes, and the others are listed."""

import pickle
import re

import pytest

from execgym.envs.errors import UnknownTaskError
from execgym.envs.sql.defective_tasks import DEFECTIVE_TASKS
from execgym.envs.sql.exams import exam, surviving_mutants
from execgym.envs.sql.gold import reference_answer
from execgym.envs.sql.public import all_ids, public_answer
from execgym.envs.sql.reference import UndeterminedError
from execgym.envs.sql.sources import load_source
from execgym.envs.sql.tasks import DATABASE_FILE
from execgym.judging.verdict import Status

pytestmark = pytest.mark.data
SETS = {"spider": 1034, "defog": 314}


def sound(name):
    return load_source(name).ids("test")


@pytest.mark.parametrize("name", SETS)
def test_the_list_of_defective_tasks_is_what_the_rules_say(name, sql_sets):
    ids = all_ids(name)
    assert len(ids) == SETS[name]
    found = set()
    for task_id in ids:
        try:
            exam(task_id)
        except UndeterminedError:
            found.add(task_id)
    assert found == {task_id for task_id in DEFECTIVE_TASKS if task_id.startswith(name)}
    assert set(sound(name)) == set(ids) - found


@pytest.mark.parametrize("name", SETS)
def test_every_sound_gold_passes(name, sql_sets, grade):
    source = load_source(name)
    pairs = [(source.task(task_id), public_answer(task_id).golds) for task_id in sound(name)]
    verdicts = grade.all([(task, golds[0]) for task, golds in pairs])
    left = [
        (task, gold)
        for (task, golds), verdict in zip(pairs, verdicts, strict=True)
        if verdict.status is not Status.PASS
        for gold in golds[1:]
    ]
    # Where the first of several golds has no answer, another one must pass.
    passed = {
        task.id
        for (task, _), verdict in zip(left, grade.all(left), strict=True)
        if verdict.status is Status.PASS
    }
    assert passed == {task.id for task, _ in left}
    assert {task.id for (task, g), v in zip(pairs, verdicts, strict=True) if not v.score} == passed


@pytest.mark.parametrize("name", SETS)
def test_nothing_trivial_passes(name, sql_sets, grade):
    source = load_source(name)
    pairs = []
    for task_id in sound(name)[::25]:
        task = source.task(task_id)
        pairs += [
            (task, query)
            for query in ("", "None", "SELECT 1", "SELECT NULL", "SELECT COUNT(*)", task.prompt)
        ]
    assert not [(t.id, q) for (t, q), v in zip(pairs, grade.all(pairs), strict=True) if v.score]


@pytest.mark.parametrize("name", SETS)
def test_few_mutants_survive(name, sql_sets):
    # Many of those that do are equivalent, such as DISTINCT of what is unique.
    survivors = [
        (task_id, mutant)
        for task_id in sound(name)[::10]
        for mutant in surviving_mutants(task_id)
        if "DISTINCT" not in mutant
    ]
    assert len({task_id for task_id, _ in survivors}) < 0.35 * len(sound(name)[::10])


@pytest.mark.parametrize("name", SETS)
def test_hidden_databases_are_others_and_the_same_in_each_call(name, sql_sets):
    for task_id in sound(name)[::60]:
        paper = exam(task_id)
        assert paper.databases[0] == load_source(name).task(task_id).files[DATABASE_FILE]
        assert len(set(paper.databases)) == len(paper.databases) >= 2


@pytest.mark.parametrize("name", SETS)
def test_a_task_shows_its_schema_and_hides_its_gold(name, sql_sets):
    source = load_source(name)
    for task_id in sound(name)[::20]:
        task = source.task(task_id)
        assert re.match(r"Table \w+\(.+\)\n", task.prompt)
        assert (task.split, task.domain) == ("test", "sql")
        for gold in public_answer(task_id).golds:
            assert gold not in repr(task)
            assert gold.encode() not in pickle.dumps(task)
            assert gold not in repr(vars(source))


def test_a_defective_task_is_refused_with_its_reason(sql_sets):
    task_id = next(iter(DEFECTIVE_TASKS))
    with pytest.raises(UnknownTaskError, match="defective"):
        load_source(task_id.partition("/")[0]).task(task_id)


@pytest.mark.parametrize("task_id", ["spider/1034", "spider/x", "spider/", None])
def test_an_id_of_no_task_is_refused(task_id, sql_sets):
    with pytest.raises(UnknownTaskError, match="an id is like"):
        load_source("spider").task(task_id)


@pytest.mark.parametrize(("name", "levels"), [("spider", (1, 2, 3, 4)), ("defog", (2, 3, 4))])
def test_levels_come_from_the_hardness(name, levels, sql_sets):
    source = load_source(name)
    assert source.splits == ("test",)
    assert source.levels("test") == levels
    assert sum(len(source.ids("test", level)) for level in levels) == len(source.ids("test"))
    for level in levels:
        assert source.task(source.ids("test", level)[0]).level == level


def test_one_of_several_golds_is_enough(sql_sets, grade):
    task_id = next(i for i in sound("defog") if len(exam(i).alternatives) > 1)
    golds = public_answer(task_id).golds
    assert {v.status for v in grade(task_id, *golds)} == {Status.PASS}


def test_trusted_code_gets_a_right_answer(sql_sets, grade):
    for task_id in ("spider/0", "defog/questions_gen_sqlite/0"):
        (verdict,) = grade(task_id, reference_answer(task_id))
        assert verdict.status is Status.PASS
