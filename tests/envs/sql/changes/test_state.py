"""When two states of a database are the same."""

import pytest

from execgym.envs.sql.changes.driver import WritableDatabase, state_of
from execgym.envs.sql.changes.state import affinity, difference, read_state
from execgym.envs.sql.driver import build_database

BASE = (
    "CREATE TABLE owner (id INTEGER PRIMARY KEY, name TEXT NOT NULL, rate REAL);"
    "INSERT INTO owner VALUES (1, 'a', 0.1), (2, 'b', NULL);"
)
EMPTY = build_database(["CREATE TABLE kept (a)"], {})


def state(script):
    with WritableDatabase(EMPTY) as database:
        assert database.run(script, steps=10**6).error == ""
        return read_state(state_of(database.bytes(), rows=1000, size=100_000))


SAME = {
    "rows in another order": BASE.replace(
        "(1, 'a', 0.1), (2, 'b', NULL)", "(2, 'b', NULL), (1, 'a', 0.1)"
    ),
    "columns in another order": (
        "CREATE TABLE owner (rate REAL, name TEXT NOT NULL, id INTEGER PRIMARY KEY);"
        "INSERT INTO owner VALUES (0.1, 'a', 1), (NULL, 'b', 2);"
    ),
    "other capitals": BASE.replace("owner", "OWNER").replace("name TEXT", "Name text"),
    "a type of the same affinity": BASE.replace("TEXT", "VARCHAR(80)").replace("REAL", "DOUBLE"),
    "a key said to be filled": BASE.replace("PRIMARY KEY", "PRIMARY KEY NOT NULL"),
    "a number within rounding": BASE.replace("0.1", "0.1 + 1e-12"),
    "a default that is none": BASE.replace("rate REAL", "rate REAL DEFAULT NULL"),
}
OTHER = {
    "another value": (BASE.replace("'b'", "'c'"), "rows of table owner"),
    "a row less": (BASE + "DELETE FROM owner WHERE id = 1;", "rows of table owner"),
    "a row twice": (
        BASE.replace("INTEGER PRIMARY KEY", "INTEGER") + "INSERT INTO owner VALUES (1, 'a', 0.1);",
        "owner.id is declared",
    ),
    "text for a number": (BASE.replace("0.1", "'x'"), "rows of table owner"),
    "NULL for nothing": (BASE.replace("NULL)", "0)"), "rows of table owner"),
    "a column more": (BASE + "ALTER TABLE owner ADD COLUMN x;", "other columns"),
    "a column less": (BASE + "ALTER TABLE owner DROP COLUMN rate;", "other columns"),
    "another name": (BASE + "ALTER TABLE owner RENAME TO other;", "no table owner"),
    "a table more": (BASE + "CREATE TABLE x (a);", "nobody asked for"),
    "a view": (BASE + "CREATE VIEW x AS SELECT 1;", "views or triggers"),
    "a trigger": (
        BASE + "CREATE TRIGGER x AFTER DELETE ON owner BEGIN SELECT 1; END;",
        "views or triggers",
    ),
    "another affinity": (BASE.replace("rate REAL", "rate TEXT"), "owner.rate is declared"),
    "no NOT NULL": (BASE.replace(" NOT NULL", ""), "owner.name is declared"),
    "a default": (BASE.replace("rate REAL", "rate REAL DEFAULT 3"), "owner.rate is declared"),
    "an index": (BASE + "CREATE INDEX x ON owner (name);", "other indexes"),
    "a unique column": (BASE + "CREATE UNIQUE INDEX x ON owner (name);", "other indexes"),
    "a foreign key": (
        BASE.replace("rate REAL", "rate REAL REFERENCES owner(id)").replace("0.1", "NULL"),
        "foreign keys",
    ),
}


def test_a_state_equals_itself_and_another_of_the_same_kind():
    assert difference(state(BASE), state(BASE)) == ""


@pytest.mark.parametrize("name", SAME)
def test_what_makes_no_difference(name):
    assert difference(state(BASE), state(SAME[name])) == ""


@pytest.mark.parametrize("name", OTHER)
def test_what_makes_a_difference_and_how_it_is_said(name):
    script, says = OTHER[name]
    assert says in difference(state(BASE), state(script))


def test_indexes_are_told_by_their_columns_and_not_by_their_names():
    one, other = (state(BASE + f"CREATE INDEX {name} ON owner (name, rate);") for name in "xy")
    assert difference(one, other) == ""


def test_a_broken_constraint_is_said():
    script = "PRAGMA foreign_keys = OFF; CREATE TABLE a (b REFERENCES a(b) PRIMARY KEY);"
    whole = state(script)
    broken = state(script + "CREATE TABLE c (d REFERENCES a(b)); INSERT INTO c VALUES (9);")
    assert "constraint" in difference(whole, broken)


@pytest.mark.parametrize(
    "change",
    [
        {"tables": {"a": None}},
        {"tables": {"a": {"columns": [], "rows": [(1,)], "references": [], "indexes": []}}},
        {"tables": {"a": {"columns": [("b", "", 0, 0, None)], "rows": []}}},
        {
            "tables": {
                "a": {
                    "columns": [("b", "", False, 0, 0, None), ("B", "", False, 0, 0, None)],
                    "rows": [],
                    "references": [],
                    "indexes": [],
                }
            }
        },
        {
            "tables": {
                "a": {
                    "columns": [("b", "", False, 0, 0, None)],
                    "rows": [(True,)],
                    "references": [],
                    "indexes": [],
                }
            }
        },
        {"others": [1]},
        {"others": None},
    ],
)
def test_what_no_driver_tells_is_refused(change):
    data = {"tables": {}, "others": [], "sound": True, "cut": False, **change}
    with pytest.raises((ValueError, TypeError, KeyError, AttributeError)):
        read_state(data)


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        ("INT", "INTEGER"),
        ("bigint", "INTEGER"),
        ("VARCHAR(10)", "TEXT"),
        ("CLOB", "TEXT"),
        ("", "BLOB"),
        ("BLOB", "BLOB"),
        ("FLOAT", "REAL"),
        ("DOUBLE PRECISION", "REAL"),
        ("DECIMAL(10,5)", "NUMERIC"),
        ("BOOLEAN", "NUMERIC"),
        ("CHARINT", "INTEGER"),
    ],
)
def test_affinities_are_sqlites(declared, expected):
    assert affinity(declared) == expected


def test_defaults_are_told_by_their_values():
    one, other = (
        state(BASE.replace("rate REAL", f"rate REAL DEFAULT {text}")) for text in ("1", "(2 - 1)")
    )
    assert difference(one, other) == ""
