"""Wrong queries near a right one, and databases that tell them apart."""

import random

import pytest

from execgym.envs.sql.comparison import rows_match
from execgym.envs.sql.driver import ReadOnlyDatabase, build_database
from execgym.envs.sql.exams import choose_databases
from execgym.envs.sql.mutants import mutants
from execgym.envs.sql.ordering import reference_from_sql
from execgym.envs.sql.planting import bounds_of, plant
from execgym.envs.sql.reference import UndeterminedError
from execgym.envs.sql.reseeding import reseed


def rows(database, query):
    with ReadOnlyDatabase(database) as opened:
        return opened.run(query, rows=9999, size=10**6, steps=10**7)[1]


@pytest.mark.parametrize(
    ("sql", "mutant"),
    [
        ("SELECT a FROM t WHERE b = 1 AND c = 2", "SELECT a FROM t WHERE b = 1"),
        ("SELECT a FROM t WHERE b = 1 AND c = 2", "SELECT a FROM t WHERE b = 1 OR c = 2"),
        ("SELECT a FROM t WHERE b = 1", "SELECT a FROM t"),
        ("SELECT a FROM t WHERE b > 1", "SELECT a FROM t WHERE b >= 1"),
        ("SELECT a FROM t WHERE b > 1", "SELECT a FROM t WHERE b > 2"),
        ("SELECT DISTINCT a FROM t", "SELECT a FROM t"),
        ("SELECT a FROM t", "SELECT DISTINCT a FROM t"),
        ("SELECT a FROM t ORDER BY b", "SELECT a FROM t"),
        ("SELECT a FROM t ORDER BY b", "SELECT a FROM t ORDER BY b DESC"),
        ("SELECT a FROM t ORDER BY b LIMIT 3", "SELECT a FROM t ORDER BY b LIMIT 2"),
        ("SELECT SUM(a) FROM t", "SELECT AVG(a) FROM t"),
        ("SELECT MAX(a) FROM t", "SELECT MIN(a) FROM t"),
        ("SELECT COUNT(DISTINCT a) FROM t", "SELECT COUNT(a) FROM t"),
        ("SELECT COUNT(a) FROM t", "SELECT COUNT(*) FROM t"),
        ("SELECT a FROM t LEFT JOIN u ON x = y", "SELECT a FROM t JOIN u ON x = y"),
        ("SELECT a FROM t GROUP BY a HAVING COUNT(*) > 1", "SELECT a FROM t GROUP BY a"),
        ("SELECT a FROM t WHERE b IS NULL", "SELECT a FROM t WHERE NOT (b IS NULL)"),
        ("SELECT a FROM t", "SELECT z FROM t"),
    ],
)
def test_a_mutant_differs_in_one_thing(sql, mutant):
    assert mutant in mutants(sql, ["z"])


def test_making_mutants_never_gives_the_query_itself():
    sql = "SELECT a, COUNT(*) FROM t WHERE b > 1 AND NOT c = 2 GROUP BY a ORDER BY a LIMIT 2"
    assert sql not in mutants(sql, ["a", "b"])


def test_what_cannot_be_read_has_no_mutants():
    assert mutants("SELECT FROM WHERE") == []


def test_bounds_are_what_columns_are_compared_with():
    sql = "SELECT a FROM t WHERE b > 3 AND c BETWEEN 1.5 AND 2 AND d <= '2020-01-01' AND e = 9"
    assert sorted(bounds_of(sql), key=str) == sorted(
        [("b", 3), ("c", 1.5), ("c", 2), ("d", "2020-01-01")], key=str
    )


def test_planting_leaves_keys_references_and_unique_columns_alone():
    database = build_database(
        [
            "CREATE TABLE p (id INTEGER PRIMARY KEY, n INTEGER, code INTEGER UNIQUE)",
            "CREATE TABLE c (id INTEGER PRIMARY KEY, n INTEGER REFERENCES p(id))",
        ],
        {"p": [(i, i, i) for i in range(20)], "c": [(i, i) for i in range(20)]},
    )
    planted = plant(database, [("n", 7), ("id", 7), ("code", 7)], random.Random(0))
    assert rows(planted, "SELECT COUNT(*) FROM p WHERE n = 7") > rows(
        database, "SELECT COUNT(*) FROM p WHERE n = 7"
    )
    assert rows(planted, "SELECT id, code FROM p") == rows(database, "SELECT id, code FROM p")
    assert rows(planted, "SELECT * FROM c") == rows(database, "SELECT * FROM c")


SHOP = build_database(
    [
        "CREATE TABLE shop (id INTEGER PRIMARY KEY, name TEXT, city TEXT, country TEXT)",
        "CREATE TABLE sale (id INTEGER PRIMARY KEY, shop_id INTEGER, amount INTEGER)",
        "CREATE TABLE tag (shop_id INTEGER, word TEXT, PRIMARY KEY (shop_id, word))",
    ],
    {
        "shop": [
            (i, f"shop {i}", ["Rome", "Pisa", "Nice"][i % 3], ["Italy", "Italy", "France"][i % 3])
            for i in range(1, 13)
        ],
        "sale": [(i, 1 + i % 10, i * 7 % 23) for i in range(1, 60)],
        "tag": [(i, word) for i in range(1, 9) for word in ("old", "big")],
    },
)


def test_a_variant_is_a_function_of_its_seed():
    assert reseed(SHOP, random.Random(1)) == reseed(SHOP, random.Random(1))
    assert reseed(SHOP, random.Random(1)) != reseed(SHOP, random.Random(2))


def test_a_variant_keeps_schema_references_and_what_belongs_together():
    for seed in range(10):
        variant = reseed(SHOP, random.Random(seed))
        schema = "SELECT sql FROM sqlite_master ORDER BY name"
        assert rows(variant, schema) == rows(SHOP, schema)
        for table in ("sale", "tag"):
            query = f"SELECT COUNT(*) FROM {table} WHERE shop_id NOT IN (SELECT id FROM shop)"
            assert rows(variant, query) == [(0,)]
        together = "SELECT DISTINCT city, country FROM shop ORDER BY city"
        assert set(rows(variant, together)) <= set(rows(SHOP, together))
        unique = "SELECT COUNT(*) - COUNT(DISTINCT name) FROM shop"
        assert rows(variant, unique) == [(0,)]


def test_a_variant_changes_counts_and_facts():
    variant = reseed(SHOP, random.Random(3))
    for query in (
        "SELECT COUNT(*) FROM sale",
        "SELECT COUNT(*) FROM shop",
        "SELECT COUNT(*) FROM tag",
        "SELECT name, city FROM shop",
        "SELECT SUM(amount) FROM sale WHERE shop_id < 5",
    ):
        assert rows(variant, query) != rows(SHOP, query)


def test_most_names_that_a_question_may_ask_for_stay():
    variant = reseed(SHOP, random.Random(3))
    names = set(rows(SHOP, "SELECT name FROM shop"))
    assert len(names & set(rows(variant, "SELECT name FROM shop"))) >= 0.8 * len(names)


def test_the_chosen_databases_kill_what_they_can():
    reference = reference_from_sql("SELECT name FROM shop WHERE city = 'Rome' AND id > 4")
    candidates = [plant(reseed(SHOP, random.Random(i)), [], random.Random(i)) for i in range(8)]
    paper = choose_databases([reference], SHOP, [SHOP, *candidates], ["city", "country"])
    for wrong in ("SELECT name FROM shop WHERE country = 'Italy' AND id > 4 AND city <> 'Pisa'",):
        assert rows(SHOP, wrong) == rows(SHOP, reference.sql)
    mutant = "SELECT name FROM shop WHERE city = 'Rome'"
    (answers,) = paper.alternatives
    assert not all(
        rows_match(expected, ["name"], rows(database, mutant))
        for expected, database in zip(answers, paper.databases, strict=True)
    )


def test_a_reference_that_only_the_shown_database_answers_is_refused():
    empty = build_database(
        ["CREATE TABLE shop (id INTEGER PRIMARY KEY, name TEXT, city TEXT, country TEXT)"], {}
    )
    reference = reference_from_sql("SELECT name FROM shop WHERE id = 1")
    with pytest.raises(UndeterminedError):
        choose_databases([reference], SHOP, [empty], [])
