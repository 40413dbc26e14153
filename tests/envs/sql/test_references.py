"""References say what they order by, and refuse to answer what is not determined."""

import pytest

from execgym.envs.sql.driver import build_database
from execgym.envs.sql.ordering import reference_from_sql
from execgym.envs.sql.reference import (
    ExpectedRows,
    UndeterminedError,
    expected_rows,
    reference_query,
)

DATABASE = build_database(
    ["CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT, size INTEGER, kind TEXT)"],
    {
        "t": [
            (1, "b", 3, "x"),
            (2, "a", 1, "y"),
            (3, "d", 3, "x"),
            (4, "c", 2, None),
        ]
    },
)


def answer(sql, **options):
    return expected_rows(reference_from_sql(sql, **options), DATABASE)


def test_a_query_without_order_has_none():
    assert answer("SELECT name FROM t").keys is None


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT name FROM t WHERE id IN (SELECT id FROM t ORDER BY size)",
        "SELECT name FROM (SELECT * FROM t ORDER BY size)",
        "SELECT name, 'order by size' FROM t",
        "SELECT name, ROW_NUMBER() OVER (ORDER BY size) FROM t",
        "WITH s AS (SELECT * FROM t ORDER BY size) SELECT name FROM s",
    ],
)
def test_only_the_outermost_order_by_orders(sql):
    assert answer(sql).keys is None


@pytest.mark.parametrize(
    ("sql", "keys"),
    [
        ("SELECT name FROM t ORDER BY size", [(1,), (2,), (3,), (3,)]),
        ("SELECT name FROM t ORDER BY t.size DESC, name", [(3, "b"), (3, "d"), (2, "c"), (1, "a")]),
        ("SELECT name, size FROM t ORDER BY 2", [(1,), (2,), (3,), (3,)]),
        ("SELECT name, size AS s FROM t ORDER BY s", [(1,), (2,), (3,), (3,)]),
        ("SELECT name, size * 2 AS s FROM t ORDER BY -s", [(-6,), (-6,), (-4,), (-2,)]),
        ("SELECT DISTINCT size FROM t ORDER BY size", [(1,), (2,), (3,)]),
        ("SELECT size, COUNT(*) FROM t GROUP BY size ORDER BY COUNT(*) DESC", [(2,), (1,), (1,)]),
        ("SELECT size FROM t UNION SELECT 7 ORDER BY size", [(1,), (2,), (3,), (7,)]),
        ("SELECT size FROM t UNION SELECT 7 ORDER BY 1 DESC;", [(7,), (3,), (2,), (1,)]),
    ],
)
def test_the_values_of_the_order_come_with_the_rows(sql, keys):
    assert list(answer(sql).keys) == keys


def test_what_it_orders_by_is_no_column_of_the_answer():
    found = answer("SELECT name FROM t ORDER BY size, id")
    assert found == ExpectedRows(
        ("name",), (("a",), ("c",), ("b",), ("d",)), ((1, 2), (2, 4), (3, 1), (3, 3))
    )


def test_an_order_that_the_question_does_not_ask_for_only_chooses_the_rows():
    found = answer("SELECT name FROM t ORDER BY size LIMIT 2", ordered=False)
    assert (found.rows, found.keys) == ((("a",), ("c",)), None)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT name FROM t ORDER BY size DESC LIMIT 1",
        "SELECT name FROM t LIMIT 2",
        "SELECT name FROM t ORDER BY size LIMIT 1 OFFSET 1",
        "SELECT name FROM t WHERE id > 99",
        "SELECT MAX(size) FROM t WHERE id > 99",
        "SELECT DISTINCT kind FROM t ORDER BY size",
        "SELECT nothing FROM t",
        "SELECT FROM WHERE",
    ],
)
def test_what_is_not_determined_is_refused(sql):
    with pytest.raises(UndeterminedError):
        answer(sql)


def test_a_limit_that_cuts_no_tie_is_fine():
    assert answer("SELECT name FROM t ORDER BY size DESC LIMIT 2").rows == (("b",), ("d",))
    assert answer("SELECT name FROM t LIMIT 4").rows[0] == ("b",)


def test_parts_make_the_same_reference_as_their_text():
    parts = reference_query("name", "FROM t", order=(("size", True), ("id", False)), limit=2)
    text = reference_from_sql("SELECT name FROM t ORDER BY size DESC, id LIMIT 2")
    assert parts.sql == text.sql
    assert expected_rows(parts, DATABASE) == expected_rows(text, DATABASE)
