"""Spider's development split and Defog: every sound gold passes, and the others are listed."""

import pickle
import re

import pytest

from execgym.envs.errors import UnknownTaskError
from execgym.envs.sql.defective_tasks import DEFECTIVE_TASKS
from execgym.envs.sql.exams import exam, surviving_mutants
from execgym.envs.sql.gold import reference_answer
from execgym.envs.sql.mutants import mutants
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
def test_every_sound_gold_passes_and_the_others_are_listed_as_defective(name, sql_sets, grade):
    source = load_source(name)
    ids = all_ids(name)
    assert len(ids) == SETS[name]
    assert set(sound(name)) == {task_id for task_id in ids if task_id not in DEFECTIVE_TASKS}
    listed_in_vain, not_passed = [], []
    # In parts, so that the exams are still at hand when the golds are graded.
    for start in range(0, len(ids), 100):
        part = ids[start : start + 100]
        listed_in_vain += [i for i in part if i in DEFECTIVE_TASKS and not is_defective(i)]
        part = [task_id for task_id in part if task_id not in DEFECTIVE_TASKS]
        tasks = [source.task(task_id) for task_id in part]
        verdicts = grade.all([(t, reference_answer(t.id)) for t in tasks])
        not_passed += [t.id for t, v in zip(tasks, verdicts, strict=True) if v.score != 1.0]
    assert not listed_in_vain
    assert not not_passed


def is_defective(task_id):
    try:
        exam(task_id)
    except UndeterminedError:
        return True
    return False


@pytest.mark.parametrize("name", SETS)
def test_nothing_trivial_passes(name, sql_sets, grade):
    source = load_source(name)
    pairs = []
    for task_id in sound(name)[::25]:
        task = source.task(task_id)
        pairs += [
            (task, query)
            for query in (
                "",
                "None",
                "SELECT 1",
                "SELECT NULL",
                "SELECT COUNT(*)",
                "SELECT 0",
                task.prompt,
            )
        ]
    assert not [(t.id, q) for (t, q), v in zip(pairs, grade.all(pairs), strict=True) if v.score]


@pytest.mark.parametrize("name", SETS)
def test_most_mutants_are_killed(name, sql_sets):
    # DISTINCT of what is unique is no mutant, nor another order where none is asked for. Of the
    # others that survive, some are equivalent too.
    made, survived = 0, 0
    for task_id in sound(name)[::10]:
        answer = public_answer(task_id)
        queries = [
            query
            for query in mutants(reference_answer(task_id))
            if query.count("DISTINCT") <= answer.golds[0].upper().count("DISTINCT")
            and (answer.ordered or "ORDER BY" not in answer.golds[0].upper())
        ]
        made += len(queries)
        survived += len(set(queries) & set(surviving_mutants(task_id)))
    assert made > 150
    assert survived < 0.2 * made


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
