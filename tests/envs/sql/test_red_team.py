"""Shortcuts that looking at the shown database allows do not pay; odd but right answers pass."""

import random
import sqlite3

import pytest

from execgym.envs.sql.driver import build_database
from execgym.envs.sql.exams import exam, reference_of, rows_by_number
from execgym.envs.sql.gold import reference_answer
from execgym.envs.sql.reference import expected_rows, reference_query
from execgym.envs.sql.reseeding import reseed
from execgym.envs.sql.sources import load_source
from execgym.envs.sql.tasks import generate
from execgym.judging.verdict import Status


def aggregate_task():
    return next(
        task_id
        for seed in range(2000)
        if generate(task_id := f"generated/train/1/{seed}").question.kind == "aggregate"
    )


def test_rows_that_were_looked_up_can_be_named_by_their_numbers():
    database = build_database(
        ["CREATE TABLE pet (tag TEXT PRIMARY KEY, name TEXT)"],
        {"pet": [("x", "Ada"), ("y", "Bo"), ("z", "Cy")]},
    )
    answer = expected_rows(reference_query("name", "FROM pet WHERE tag > 'x'"), database)
    assert rows_by_number(answer, database) == ['SELECT [name] FROM "pet" WHERE rowid IN (2, 3)']


def test_numbers_of_rows_mean_nothing_in_a_variant():
    database = build_database(
        [
            "CREATE TABLE pet (tag TEXT PRIMARY KEY, name TEXT)",
            "CREATE TABLE toy (id INTEGER PRIMARY KEY, name TEXT)",
            "CREATE TABLE mat (tag TEXT PRIMARY KEY, name TEXT) WITHOUT ROWID",
        ],
        {name: [(key, f"n{key}") for key in range(1, 9)] for name in ("pet", "toy", "mat")},
    )
    connection = sqlite3.connect(":memory:")
    connection.deserialize(reseed(database, random.Random(1)))
    numbers = [row[0] for row in connection.execute("SELECT rowid FROM pet")]
    keys = [row[0] for row in connection.execute("SELECT id FROM toy")]
    connection.close()
    assert numbers
    assert min(numbers) > len(numbers)
    assert set(keys) <= set(range(1, 9))


@pytest.mark.data
@pytest.mark.parametrize("name", ["spider", "defog"])
def test_naming_the_looked_up_rows_or_the_last_number_does_not_pass(name, sql_sets, grade):
    source = load_source(name)
    ids = [one for split in source.splits for one in source.ids(split)]
    pairs = []
    for task_id in ids[::29]:
        paper = exam(task_id)
        picks = rows_by_number(paper.alternatives[0][0], paper.databases[0])
        pairs += [(source.task(task_id), pick) for pick in picks]
        if reference_of(task_id).sql.lower().startswith("select count(*) from"):
            table = reference_of(task_id).sql.split()[3]
            pairs.append((source.task(task_id), f"SELECT MAX(rowid) FROM {table}"))
    verdicts = grade.all(pairs)
    assert len(pairs) > 2
    assert [
        (task.id, query)
        for (task, query), verdict in zip(pairs, verdicts, strict=True)
        if verdict.status is not Status.FAIL
    ] == []


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM dbstat",
        "SELECT * FROM sqlite_stmt",
        "SELECT * FROM pragma_table_list",
        "SELECT * FROM pragma_function_list",
        "SELECT 9e999",
        "SELECT 9e999 - 9e999",
        "SELECT 9223372036854775807 + 1",
        "SELECT -9223372036854775808",
        "SELECT abs(-9223372036854775808)",
        "SELECT char(55296)",
        "SELECT CAST(({right}) AS BLOB)",
        "SELECT '' || ({right})",
        "SELECT ({right}) + 0.001",
        "SELECT ({right}) AS a, ({right}) AS a",
        "SELECT ({right}) UNION ALL SELECT NULL",
        "SELECT ?",
        "VACUUM INTO '/tmp/x'",
        "UPDATE {table} SET id = id RETURNING *",
    ],
)
def test_odd_values_and_inner_tables_of_sqlite_do_not_pass(query, grade):
    task_id = aggregate_task()
    table = generate(task_id).question.tables[0].name
    (verdict,) = grade(task_id, query.format(right=reference_answer(task_id), table=table))
    assert verdict.status is Status.FAIL


def test_the_largest_answers_are_failures_and_none_of_the_judges(grade):
    numbers = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT {}) "
    verdicts = grade(
        aggregate_task(),
        "SELECT " + ", ".join(["NULL"] * 2000),
        numbers.format(5000) + "SELECT 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 FROM n",
        numbers.format(40) + "SELECT replace(hex(zeroblob(4800)), '00', char(128512)) FROM n",
        'SELECT 1 AS "' + "漢" * 30_000 + '"',
    )
    assert [verdict.status for verdict in verdicts] == [Status.FAIL] * 4


@pytest.mark.parametrize(
    "form",
    [
        "{right};;\n;",
        "{right} ; \r\n",
        "\ufeff{right}",
        "/* /* */ {right}",
        "{right} /* to the end",
        "WITH a AS ({right}), b AS (SELECT * FROM a) SELECT * FROM b",
        "SELECT ({right})",
        "SELECT 1.0 * ({right})",
        "SELECT DISTINCT * FROM ({right}) ORDER BY 1 DESC LIMIT 10",
        "SELECT x AS [a name] FROM (SELECT ({right}) AS x) AS t",
    ],
)
def test_an_odd_form_of_a_right_query_passes(form, grade):
    task_id = aggregate_task()
    (verdict,) = grade(task_id, form.format(right=reference_answer(task_id)))
    assert verdict.status is Status.PASS, verdict
