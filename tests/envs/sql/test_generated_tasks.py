"""The generator: pure, endless, disjoint, and every task is sound."""

import json
import subprocess
import sys

import numpy as np
import pytest
import sqlglot

from execgym.envs.errors import UnknownTaskError
from execgym.envs.sql.comparison import rows_match
from execgym.envs.sql.data import HIDDEN_WORLDS, SCHEMAS, SHOWN_WORLDS, world
from execgym.envs.sql.exams import exam, reference_of, surviving_mutants
from execgym.envs.sql.questions_joined import LEVEL_3, LEVEL_4
from execgym.envs.sql.questions_nested import LEVEL_5
from execgym.envs.sql.questions_single import LEVEL_1, LEVEL_2
from execgym.envs.sql.reference import expected_rows
from execgym.envs.sql.tasks import DATABASE_FILE, LEVELS, GeneratedSource, generate

SOURCE = GeneratedSource()
_PRINT_TASKS = """
import hashlib, json, sys
from execgym.envs.sql.exams import exam
from execgym.envs.sql.tasks import GeneratedSource
source = GeneratedSource()
found = {}
for task_id in json.load(sys.stdin):
    task = source.task(task_id)
    databases = exam(task_id).databases
    digests = [hashlib.sha256(data).hexdigest() for data in databases]
    found[task_id] = [task.prompt, task.level, dict(task.metadata), digests]
print(json.dumps(found))
"""


def test_equal_ids_give_equal_tasks_in_another_process_whatever_its_hash_seed(sample):
    ids = [task_id for level in LEVELS for task_id in sample("train", level, 4)]
    outputs = {
        subprocess.run(
            [sys.executable, "-c", _PRINT_TASKS],
            input=json.dumps(ids),
            env={"PYTHONHASHSEED": seed},
            cwd="/",
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1
    prompts = json.loads(outputs.pop())
    assert all(prompts[task_id][0] == SOURCE.task(task_id).prompt for task_id in ids)


@pytest.mark.parametrize(
    "task_id",
    [
        "",
        "generated/train/1",
        "generated/train/1/-1",
        "generated/train/1/007",
        "generated/train/1/2147483648",
        "generated/train/6/1",
        "generated/valid/1/1",
        "generated/train/1/1\n",
        "generated/train/1/\u0661",
        "spider/1",
        None,
        7,
    ],
)
def test_an_id_of_no_task_is_refused_with_the_form_of_an_id(task_id):
    with pytest.raises(UnknownTaskError, match="generated/train/1/42"):
        SOURCE.task(task_id)


def test_sampling_draws_all_levels_evenly_and_respects_what_is_asked():
    generator = np.random.default_rng(0)
    ids = [SOURCE.sample(generator, "train") for _ in range(500)]
    assert {SOURCE.task(task_id).level for task_id in ids} == set(LEVELS)
    task = SOURCE.task(SOURCE.sample(generator, "test", 3))
    assert (task.split, task.level, task.domain) == ("test", 3, "sql")


def test_train_and_test_share_no_table_and_no_schema():
    tables = {
        split: {table.name for schema in schemas for table in schema.tables}
        for split, schemas in SCHEMAS.items()
    }
    assert not tables["train"] & tables["test"]
    assert not {s.name for s in SCHEMAS["train"]} & {s.name for s in SCHEMAS["test"]}
    assert len(SCHEMAS["train"]) + len(SCHEMAS["test"]) >= 8
    assert not set(SHOWN_WORLDS) & set(HIDDEN_WORLDS)


@pytest.mark.parametrize("level", LEVELS)
def test_a_level_has_many_questions_of_many_kinds(level, sample):
    ids = sample("train", level, 300)
    tasks = [SOURCE.task(task_id) for task_id in ids]
    templates = {1: LEVEL_1, 2: LEVEL_2, 3: LEVEL_3, 4: LEVEL_4, 5: LEVEL_5}[level]
    assert len({task.metadata["kind"] for task in tasks}) == len(set(templates))
    assert len({task.prompt for task in tasks}) > 220
    assert len({generate(task_id).schema_index for task_id in ids}) == len(SCHEMAS["train"])


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("split", ["train", "test"])
def test_an_answer_does_not_hang_on_the_order_in_which_rows_are_stored(split, level, sample):
    for task_id in sample(split, level, 40):
        reference = reference_of(task_id)
        database = SOURCE.task(task_id).files[DATABASE_FILE]
        expected = expected_rows(reference, database)
        other = expected_rows(reference, database, reverse=True)
        assert rows_match(expected, other.columns, other.rows), task_id


@pytest.mark.parametrize("level", LEVELS)
def test_hidden_databases_differ_from_the_shown_one_and_so_do_their_answers(level, sample):
    for task_id in sample("train", level, 25):
        paper = exam(task_id)
        assert len(paper.databases) == 4, task_id
        assert len(set(paper.databases)) == 4, task_id
        (answers,) = paper.alternatives
        assert all(answer.rows for answer in answers)
        shown = answers[0]
        assert not all(rows_match(a, shown.columns, shown.rows) for a in answers), task_id


@pytest.mark.parametrize("level", LEVELS)
def test_a_mutant_that_no_database_kills_is_as_good_as_equivalent(level, sample):
    for task_id in sample("train", level, 12) + sample("test", level, 12):
        sql = reference_of(task_id).sql
        for mutant in surviving_mutants(task_id):
            assert _share_of_worlds_that_agree(task_id, sql, mutant) > 0.8, mutant


def _share_of_worlds_that_agree(task_id, sql, mutant):
    """Compare on worlds that had no part in choosing the exam."""
    hidden = generate(task_id)
    agree = []
    for number in range(40):
        database = world(hidden.split, hidden.schema_index, 5000 + number).database
        with_reference, with_mutant = (_rows(query, database) for query in (sql, mutant))
        if with_reference:
            agree.append(with_reference == with_mutant)
    return sum(agree) / len(agree)


def _rows(query, data):
    from execgym.envs.sql.driver import ReadOnlyDatabase

    with ReadOnlyDatabase(data) as database:
        rows = database.run(query, rows=5000, size=10**6, steps=10**7)[1]
    return rows if "ORDER BY" in query.rpartition(")")[2] else sorted(rows, key=repr)


@pytest.mark.parametrize("level", LEVELS)
def test_a_prompt_names_every_column_that_the_answer_needs_and_nothing_of_the_answer(level, sample):
    for task_id in sample("train", level, 30):
        task = SOURCE.task(task_id)
        tables, question = task.prompt.split("\nQuestion: ")
        query = sqlglot.parse_one(reference_of(task_id).sql, read="sqlite")
        made = {alias.alias.lower() for alias in query.find_all(sqlglot.exp.Alias)}
        for column in query.find_all(sqlglot.exp.Column):
            assert column.name in tables or column.name.lower() in made
        assert "SELECT" not in task.prompt
        assert len(tables.splitlines()) <= 5
        assert question
        assert reference_of(task_id).sql not in repr(task)


def test_a_question_asks_for_the_columns_in_the_order_of_the_reference():
    task_id = next(
        task_id
        for seed in range(500)
        if generate(task_id := f"generated/train/2/{seed}").question.kind == "group_count"
    )
    question = generate(task_id).question
    first, second = reference_of(task_id).sql.removeprefix("SELECT ").split(" FROM ")[0].split(", ")
    assert second == "COUNT(*)"
    label = next(c.label for c in question.tables[0].columns if c.name == first)
    assert f"Give the {label} and the" in question.text


@pytest.mark.parametrize(
    "task_id", ["generated/train/1/281", "generated/train/2/153", "generated/test/3/128"]
)
def test_a_question_with_the_same_answer_on_every_hidden_database_is_drawn_again(task_id):
    assert len(exam(task_id).databases) > 1
