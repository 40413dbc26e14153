"""One SELECT, bounded, on a database that cannot change."""

import pytest

from execgym.envs.sql.driver import (
    VALUE_BYTES,
    QueryError,
    ReadOnlyDatabase,
    build_database,
    run_on_all,
)

DATABASE = build_database(
    ["CREATE TABLE pet (id INTEGER PRIMARY KEY, name TEXT, weight REAL)"],
    {"pet": [(1, "Rex", 20.5), (2, "Tom", None), (5, b"caf\xe9", 3.0)]},
)


def run(query, *, rows=100, size=10_000, steps=1_000_000):
    with ReadOnlyDatabase(DATABASE) as database:
        return database.run(query, rows=rows, size=size, steps=steps)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT name FROM pet WHERE id = 1",
        "SELECT name FROM pet WHERE id = 1;",
        "  select name from pet where id = 1 ; -- done\n",
        "/* first */ WITH one AS (SELECT 1 AS x) SELECT name FROM pet, one WHERE id = x",
        "VALUES ('Rex')",
    ],
)
def test_one_reading_statement_runs(query):
    assert run(query)[1] == [("Rex",)]


@pytest.mark.parametrize(
    "query",
    [
        "DROP TABLE pet",
        "DELETE FROM pet",
        "UPDATE pet SET name = 'x'",
        "INSERT INTO pet VALUES (9, 'x', 1)",
        "CREATE TABLE other (a)",
        "CREATE TEMP TABLE pet (a)",
        "CREATE TEMP VIEW pet AS SELECT 1",
        "CREATE TRIGGER t AFTER INSERT ON pet BEGIN SELECT 1; END",
        "ATTACH ':memory:' AS other",
        "VACUUM INTO '/tmp/execgym-stolen'",
        "PRAGMA query_only = OFF",
        "PRAGMA writable_schema = ON",
        "BEGIN",
        "REINDEX",
        "ANALYZE",
        "SELECT load_extension('x')",
        "SELECT random()",
        "SELECT randomblob(3)",
        "SELECT 1; SELECT 2",
        "SELECT 1; DROP TABLE pet",
        "",
        "-- nothing",
        "SELECT '\x00'",
        "SELEC 1",
        "None",
        "[]",
    ],
)
def test_anything_but_one_reading_statement_is_refused(query):
    with pytest.raises(QueryError):
        run(query)
    assert run("SELECT COUNT(*) FROM pet")[1] == [(3,)]


def test_the_shape_of_the_tables_can_be_read():
    assert [row[1] for row in run("PRAGMA table_info(pet)")[1]] == ["id", "name", "weight"]
    assert run("SELECT name FROM sqlite_master")[1] == [("pet",)]


@pytest.mark.parametrize(
    "query",
    [
        "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT COUNT(*) FROM n",
        "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 9000000) "
        "SELECT SUM(a.x) FROM n a, n b",
    ],
)
def test_a_query_without_end_is_stopped_by_its_steps(query):
    with pytest.raises(QueryError, match="too many steps"):
        run(query)


def test_rows_beyond_the_bound_are_left_out_and_said_so():
    query = (
        "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 50) SELECT x FROM n"
    )
    assert run(query, rows=50)[2] is False
    _, rows, cut = run(query, rows=49)
    assert (len(rows), cut) == (49, True)
    _, rows, cut = run(query, size=80)
    assert (len(rows), cut) == (10, True)


def test_a_huge_value_is_refused():
    with pytest.raises(QueryError):
        run(f"SELECT zeroblob({VALUE_BYTES + 1})")


def test_text_that_is_not_utf_8_comes_as_its_bytes():
    assert run("SELECT CAST(x'636166e9' AS TEXT)")[1] == [(b"caf\xe9",)]
    assert run("SELECT 'caf'")[1] == [("caf",)]


def test_the_bytes_of_a_database_depend_on_its_rows_only():
    definitions = ["CREATE TABLE t (a INTEGER)"]
    assert build_database(definitions, {"t": [(1,)]}) == build_database(definitions, {"t": [(1,)]})
    assert build_database(definitions, {"t": [(1,)]}) != build_database(definitions, {"t": [(2,)]})


def test_free_orders_are_reversed_from_the_second_database_on():
    first, second = run_on_all(
        [DATABASE, DATABASE], "SELECT id FROM pet", rows=9, size=999, steps=10_000
    )
    assert first["rows"] == second["rows"][::-1]
    first, second = run_on_all(
        [DATABASE, DATABASE], "SELECT id FROM pet ORDER BY id", rows=9, size=999, steps=10_000
    )
    assert first["rows"] == second["rows"]


def test_the_run_ends_at_the_first_database_on_which_the_query_fails():
    answers = run_on_all([DATABASE, DATABASE], "SELECT nothing", rows=9, size=99, steps=1000)
    assert [list(answer) for answer in answers] == [["error"]]


@pytest.mark.parametrize(
    ("query", "reads"),
    [
        ("SELECT COUNT(*) FROM pet", True),
        ("SELECT name FROM pet", True),
        ("SELECT (SELECT MAX(id) FROM pet)", True),
        ("SELECT COUNT(*)", False),
        ("SELECT 1", False),
        ("WITH t AS (SELECT 1) SELECT COUNT(*) FROM t", False),
        ("SELECT COUNT(*) FROM sqlite_master", False),
    ],
)
def test_it_is_told_whether_a_query_reads_a_table(query, reads):
    (answer,) = run_on_all([DATABASE], query, rows=9, size=999, steps=10_000)
    assert answer["reads"] is reads
