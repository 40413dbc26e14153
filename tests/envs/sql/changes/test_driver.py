"""Running scripts: statement by statement, bounded, and without a way out of the database."""

import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from execgym.envs.sql.changes.driver import WritableDatabase, look, run_on_all, state_of, statements
from execgym.envs.sql.changes.trial import MAX_STATE_BYTES
from execgym.envs.sql.driver import build_database
from execgym.judging import codec

DATABASE = build_database(
    [
        "CREATE TABLE owner (id INTEGER PRIMARY KEY, name TEXT NOT NULL)",
        "CREATE TABLE item (id INTEGER PRIMARY KEY, owner_id INTEGER NOT NULL "
        "REFERENCES owner(id))",
    ],
    {"owner": [(1, "a"), (2, "b")], "item": [(1, 1), (2, 1)]},
)


def run(script, steps=1_000_000, rows=10):
    with WritableDatabase(DATABASE) as database:
        outcome = database.run(script, steps=steps, rows=rows)
        return outcome, state_of(database.bytes(), rows=1000, size=100_000)


def owners(state):
    return sorted(state["tables"]["owner"]["rows"])


@pytest.mark.parametrize(
    ("script", "parts"),
    [
        ("", []),
        (" \n", []),
        ("SELECT 1", ["SELECT 1"]),
        ("SELECT 1; SELECT 2;", ["SELECT 1;", " SELECT 2;"]),
        ("SELECT ';'; SELECT 2", ["SELECT ';';", " SELECT 2"]),
        ("-- a; b\nSELECT 1;", ["-- a; b\nSELECT 1;"]),
        ("/* ; */ SELECT 1; -- end", ["/* ; */ SELECT 1;", " -- end"]),
        (
            "CREATE TRIGGER t AFTER INSERT ON a BEGIN SELECT 1; SELECT 2; END; SELECT 3;",
            [
                "CREATE TRIGGER t AFTER INSERT ON a BEGIN SELECT 1; SELECT 2; END;",
                " SELECT 3;",
            ],
        ),
        ('SELECT "a;b" FROM [c;d];', ['SELECT "a;b" FROM [c;d];']),
    ],
)
def test_a_script_is_cut_at_the_ends_of_its_statements(script, parts):
    assert list(statements(script)) == parts


@given(st.text(alphabet="SELECT 1;'\"-*/\n[]BEGIN", max_size=60))
def test_cutting_loses_nothing(script):
    assert "".join(statements(script)).strip() == script.strip()


def test_statements_run_until_the_first_that_fails():
    outcome, state = run("DELETE FROM item; DELETE FROM nowhere; DELETE FROM owner;")
    assert "no such table: nowhere" in outcome.error
    assert state["tables"]["item"]["rows"] == []
    assert owners(state) == [(1, "a"), (2, "b")]
    assert outcome.changes == 2


@pytest.mark.parametrize(
    "end", ["", "SELECT * FROM nowhere;", "INSERT INTO owner VALUES (1, 'x');"]
)
def test_a_transaction_that_is_open_at_the_end_is_rolled_back(end):
    _, state = run(f"BEGIN; INSERT INTO owner VALUES (3, 'c'); {end}")
    assert owners(state) == [(1, "a"), (2, "b")]


def test_foreign_keys_are_enforced_and_a_breach_is_seen_where_they_were_not():
    outcome, _ = run("DELETE FROM owner WHERE id = 1")
    assert "FOREIGN KEY" in outcome.error
    outcome, state = run("PRAGMA foreign_keys = OFF; DELETE FROM owner WHERE id = 1")
    assert (outcome.error, state["sound"]) == ("", False)


def test_foreign_keys_are_enforced_again_in_the_next_run():
    with WritableDatabase(DATABASE) as database:
        database.run("PRAGMA foreign_keys = OFF", steps=10_000)
        assert "FOREIGN KEY" in database.run("DELETE FROM owner", steps=10_000).error


def test_the_last_rows_are_kept_for_a_look():
    outcome, _ = run("SELECT 1; SELECT name FROM owner ORDER BY id; DELETE FROM item", rows=1)
    assert (outcome.columns, outcome.rows, outcome.cut) == (["name"], [("a",)], True)


@pytest.mark.parametrize(
    "script",
    [
        "ATTACH '/tmp/other.db' AS other",
        "ATTACH ':memory:' AS other",
        "VACUUM INTO '/tmp/copy.db'",
        "SELECT load_extension('x')",
        "PRAGMA writable_schema = ON",
        "PRAGMA max_page_count = 1000000000",
        "PRAGMA temp_store_directory = '/tmp'",
        "PRAGMA journal_mode = DELETE",
        "CREATE VIRTUAL TABLE v USING fts5(a)",
        "INSERT INTO owner VALUES (random(), 'x')",
        "UPDATE sqlite_master SET sql = 'x'",
        "DELETE FROM sqlite_master",
        "SELECT readfile('/etc/passwd')",
        "SELECT writefile('/tmp/x', 'x')",
        "SELECT 'x\0y' FROM owner\0",
        "SELECT \ud800",
    ],
)
def test_what_leads_out_or_cannot_be_judged_is_refused(script):
    outcome, state = run(script)
    assert outcome.error
    assert owners(state) == [(1, "a"), (2, "b")]


def test_a_script_without_end_is_stopped():
    endless = (
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT COUNT(*) FROM n"
    )
    outcome, _ = run(endless, steps=100_000)
    assert "too many steps" in outcome.error


def test_a_database_that_swells_is_full_and_what_is_told_of_it_bounded():
    filling = (
        "INSERT INTO owner WITH RECURSIVE n(i) AS (SELECT 10 UNION ALL SELECT i + 1 FROM n "
        "WHERE i < 300) SELECT i, hex(zeroblob(40000)) FROM n"
    )
    outcome, state = run(filling, steps=10_000_000)
    assert "full" in outcome.error or state["cut"]
    _, state = run("INSERT INTO owner VALUES (3, hex(zeroblob(90000)))")
    assert state["cut"]


def test_a_trigger_that_calls_itself_ends():
    outcome, _ = run(
        "PRAGMA recursive_triggers = ON; CREATE TRIGGER t AFTER INSERT ON owner BEGIN "
        "INSERT INTO owner VALUES (NEW.id + 1, 'x'); END; INSERT INTO owner VALUES (3, 'c')"
    )
    assert outcome.error


def test_probes_see_the_new_state_and_leave_it_alone():
    (answer,) = run_on_all(
        [DATABASE],
        "CREATE UNIQUE INDEX one ON owner (name)",
        times=1,
        probes=["INSERT INTO owner VALUES (3, 'a')", "DELETE FROM item; SELECT COUNT(*) FROM item"],
        rows=100,
        size=10_000,
        steps=100_000,
    )
    assert answer["probes"] == [(True, []), (False, [(0,)])]
    assert len(answer["state"]["tables"]["item"]["rows"]) == 2


def test_a_script_may_be_run_more_than_once():
    def once_and_twice(script):
        return [
            run_on_all(
                [DATABASE], script, times=times, probes=[], rows=100, size=10_000, steps=100_000
            )[0]["error"]
            for times in (1, 2)
        ]

    first, second = once_and_twice("INSERT INTO owner VALUES (3, 'c')")
    assert (first, "UNIQUE" in second) == ("", True)
    assert once_and_twice("INSERT OR IGNORE INTO owner VALUES (3, 'c')") == ["", ""]


def test_text_that_is_not_utf8_stays_what_it_is():
    _, state = run("UPDATE owner SET name = CAST(x'ff41' AS TEXT) WHERE id = 1")
    assert owners(state)[0] == (1, b"\xffA")


def test_the_state_tells_tables_columns_keys_and_indexes():
    _, state = run(
        "CREATE TABLE t (a INT PRIMARY KEY, b REAL NOT NULL DEFAULT 1, c AS (b + 1), UNIQUE (b, a),"
        " FOREIGN KEY (a) REFERENCES owner ON DELETE CASCADE); CREATE INDEX i ON t (b) WHERE a > 1;"
        'CREATE VIEW v AS SELECT 1; CREATE TABLE "odd "" name" ("a b")'
    )
    table = state["tables"]["t"]
    assert table["columns"] == [
        ("a", "INT", True, 1, 0, None),
        ("b", "REAL", True, 0, 0, 1),
        ("c", "", False, 0, 2, None),
    ]
    assert table["references"] == [("a", "owner", "id", "NO ACTION", "CASCADE")]
    assert table["indexes"] == [(False, True, ("b",)), (True, False, ("b", "a"))]
    assert state["others"] == [("view", "v")]
    assert state["tables"]['odd " name']["columns"] == [("a b", "", False, 0, 0, None)]


def test_what_a_script_can_do_is_what_sqlites_own_shell_could_do_with_it():
    script = "INSERT INTO owner VALUES (3, 'c'); UPDATE owner SET name = 'z' WHERE id < 3;"
    _, state = run(script)
    other = sqlite3.connect(":memory:")
    other.deserialize(DATABASE)
    other.executescript(script)
    assert owners(state) == other.execute("SELECT * FROM owner ORDER BY id").fetchall()
    other.close()


FLOODS = {
    "names of columns": (
        'CREATE TABLE t ("{long}"); CREATE TABLE u AS SELECT {fifty}; SELECT * FROM u a, u b, u c'
    ),
    "tables": "{tables}",
    "views": "{views}",
    "a view's long name": 'CREATE VIEW "{long}" AS SELECT 1',
    "indexes": "CREATE TABLE t ({columns}); {indexes}",
    "values": "SELECT hex(zeroblob(400000)) FROM owner",
    "rows of a look": "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 90000) "
    "SELECT i, hex(zeroblob(200)) FROM n",
}


@pytest.mark.parametrize("name", FLOODS)
def test_whatever_a_script_makes_what_is_told_of_it_is_bounded(name):
    long = "x" * 60_000
    script = FLOODS[name].format(
        long=long,
        fifty=", ".join(f'1 AS "{number}{long[:1800]}"' for number in range(50)),
        tables=";".join(f"CREATE TABLE t{n} (a, b, c)" for n in range(1000)),
        views=";".join(f'CREATE VIEW "v{n}{long[:50]}" AS SELECT 1' for n in range(900)),
        columns=", ".join(f"c{n}" for n in range(60)),
        indexes=";".join(
            f"CREATE INDEX i{n} ON t ({', '.join(f'c{m}' for m in range(n % 50 + 1))})"
            for n in range(300)
        ),
    )
    (answer,) = run_on_all(
        [DATABASE],
        script,
        times=1,
        probes=["SELECT name FROM sqlite_master"],
        rows=5000,
        size=MAX_STATE_BYTES,
        steps=10**7,
    )
    seen = look({"databases": [DATABASE], "script": script, "steps": 10**7, "rows": 5000})
    for told in (answer, seen):
        assert len(codec.encode(told)) < 1_600_000


def test_a_temporary_table_does_not_stand_in_the_place_of_a_real_one():
    _, state = run(
        "CREATE TEMP TABLE owner (id INTEGER PRIMARY KEY, name TEXT NOT NULL);"
        "INSERT INTO temp.owner SELECT id, 'shadow' FROM main.owner"
    )
    assert owners(state) == [(1, "a"), (2, "b")]


@pytest.mark.parametrize(
    "script",
    [
        "CREATE TABLE z (a REFERENCES owner(name))",
        "ALTER TABLE owner ADD COLUMN g AS (abs(-9223372036854775807 - 1))",
        "CREATE TABLE z (a DEFAULT (abs(-9223372036854775807 - 1)))",
        "PRAGMA legacy_alter_table = ON; CREATE VIEW v AS SELECT * FROM item; DROP TABLE item",
    ],
)
def test_a_schema_that_cannot_be_read_is_told_and_not_raised(script):
    outcome, state = run(script)
    assert outcome.error == ""
    assert codec.encode(state)


def test_very_many_values_are_bounded_as_very_many_bytes_are():
    columns = ", ".join(f"c{number}" for number in range(100))
    script = (
        f"CREATE TABLE wide ({columns}); INSERT INTO wide (c0) WITH RECURSIVE n(i) AS "
        "(SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000) SELECT i FROM n"
    )
    told = run_on_all(
        [DATABASE] * 5,
        script,
        times=1,
        probes=[],
        rows=5000,
        size=MAX_STATE_BYTES,
        steps=10**7,
    )
    assert all(answer["state"]["cut"] for answer in told)
    assert codec.encode(told)


def test_what_is_temporary_is_gone_when_a_script_is_run_again():
    (answer,) = run_on_all(
        [DATABASE],
        "CREATE TEMP TABLE w AS SELECT 1; INSERT OR IGNORE INTO owner VALUES (3, 'c')",
        times=2,
        probes=[],
        rows=100,
        size=MAX_STATE_BYTES,
        steps=10**6,
    )
    assert answer["error"] == ""


@pytest.mark.parametrize(
    "script",
    [
        "ALTER TABLE owner ADD COLUMN z INTEGER CHECK (z < 9)",
        "PRAGMA integrity_check; PRAGMA quick_check; PRAGMA optimize",
        "PRAGMA legacy_alter_table = ON; ALTER TABLE owner RENAME TO other",
    ],
)
def test_what_migrations_do_is_allowed(script):
    outcome, state = run(script)
    assert outcome.error == ""
    assert state["sound"]
