"""Every engine: references pass, cheats fail, right answers in its own types pass."""

import json
import warnings

import gymnasium
import pytest
from gymnasium.utils.env_checker import check_env

import execgym
from execgym.envs.errors import EngineUnavailableError, InvalidOptionError
from execgym.envs.sql import engines
from execgym.envs.sql.driver import build_database
from execgym.envs.sql.engines import ENGINES, SQLITE, engine_named
from execgym.envs.sql.env import SQLEnv
from execgym.envs.sql.exams import exam
from execgym.envs.sql.execution import run_in_sandbox
from execgym.envs.sql.gold import reference_answer
from execgym.envs.sql.judge import ANSWER_FILE, SQLJudge
from execgym.envs.sql.mutants import mutants
from execgym.envs.sql.sources import load_source
from execgym.envs.sql.tasks import LEVELS, generate
from execgym.judging.verdict import Status
from execgym.sandbox import SandboxSpec, open_sandbox, run_sync

OTHERS = [name for name in ENGINES if name != "sqlite"]
TABLE = "CREATE TABLE pet (id INTEGER PRIMARY KEY, name TEXT, price REAL, born TEXT)"
ROWS = [(1, "Ada", 2.5, "2024-03-31"), (2, "Bo", 4.0, "2023-01-02"), (4, "Cy", None, None)]
PETS = build_database([TABLE], {"pet": ROWS})
DEFINITIONS = (
    (
        "pet",
        "CREATE TABLE pet (id INTEGER PRIMARY KEY, name VARCHAR, price DECIMAL(12, 2), born DATE)",
    ),
)


def ask(engine, *queries, databases=(PETS,)):
    """Return the answers to queries on the shown pets, in one sandbox."""

    async def run():
        spec = SandboxSpec(template=engine_named(engine).template)
        async with await open_sandbox(spec) as sandbox:
            found = []
            for query in queries:
                answers, _ = await run_in_sandbox(
                    sandbox,
                    query,
                    databases,
                    engine=engine_named(engine),
                    definitions=DEFINITIONS,
                )
                found.append(answers[0] if len(databases) == 1 else answers)
            return found

    return run_sync(run())


def grade(engine, task_id, *queries):
    engine = engine_named(engine)
    judge, task = SQLJudge(engine=engine), load_source("generated", engine).task(task_id)

    async def run():
        return [await judge.grade(task, {ANSWER_FILE: query.encode()}) for query in queries]

    return run_sync(run())


def tasks_of_every_template(levels=tuple(LEVELS)):
    """Return an id of a task of each template."""
    found = {}
    for level in levels:
        for seed in range(60):
            task_id = f"generated/{('train', 'test')[seed % 2]}/{level}/{seed}"
            found.setdefault(generate(task_id).question.kind, task_id)
    return list(found.values())


@pytest.mark.parametrize("engine", OTHERS)
def test_gymnasium_checks_it_at_every_level_without_a_warning(engine):
    execgym.register_envs()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for level in LEVELS:
            env = gymnasium.make("execgym/SQL-v0", engine=engine, level=level)
            check_env(env.unwrapped, skip_render_check=True)
            env.close()


@pytest.mark.parametrize("engine", OTHERS)
def test_the_reference_of_every_template_passes(engine):
    for task_id in tasks_of_every_template():
        query = reference_answer(task_id, engine_named(engine))
        (verdict,) = grade(engine, task_id, query)
        assert verdict.status is Status.PASS, (task_id, query, verdict)


@pytest.mark.parametrize("engine", OTHERS)
def test_the_trivial_battery_stays_at_the_floor(engine):
    task_id = "generated/train/2/11"
    prompt = load_source("generated", engine_named(engine)).task(task_id).prompt
    battery = ("", " ", ";", "SELECT 1", "SELECT NULL", "SELECT 0", "SELECT ''", prompt, "None")
    verdicts = grade(engine, task_id, *battery, "SELECT 1 WHERE 1 = 0", "VALUES (1)")
    assert {verdict.status for verdict in verdicts} == {Status.FAIL}


@pytest.mark.parametrize("engine", OTHERS)
def test_a_mutant_that_fails_in_sqlite_fails_in_the_engine_too(engine):
    from execgym.envs.sql.dialects import translated
    from execgym.envs.sql.exams import reference_of, surviving_mutants

    failed = 0
    for task_id in tasks_of_every_template()[::5]:
        wrong = set(mutants(reference_of(task_id).sql)) - set(surviving_mutants(task_id))
        wrong = [translated(sql, engine_named(engine).dialect) for sql in sorted(wrong)[:4]]
        for query, verdict in zip(wrong, grade(engine, task_id, *wrong), strict=True):
            assert verdict.status is Status.FAIL, (task_id, query)
            failed += 1
    assert failed > 10


@pytest.mark.parametrize("engine", OTHERS)
def test_looking_around_shows_rows_and_errors_and_writes_nothing(engine):
    with SQLEnv(engine=engine) as env:
        observation, _ = env.reset(options={"task_id": "generated/train/2/11"})
        table = generate("generated/train/2/11").question.tables[0].name
        assert observation.startswith(f"Database: {engine_named(engine).title}\nTable {table}(id ")
        assert "SQLite" not in observation + json.dumps(
            [tool.as_function() for tool in env.tools.values()]
        )

        def run(query):
            call = {"name": "run_sql", "arguments": {"query": query}}
            return env.step(json.dumps(call))[0]

        count = run(f"SELECT COUNT(*) AS n FROM {table}")
        assert count.startswith("n\n")
        assert "absent" in run("SELECT absent")
        for query in (f"DELETE FROM {table}", f"DROP TABLE {table}", "CREATE TABLE x (y INTEGER)"):
            assert run(query).startswith("Error: ")
        assert run(f"SELECT COUNT(*) AS n FROM {table}") == count


@pytest.mark.parametrize("engine", OTHERS)
def test_values_of_its_own_types_come_as_plain_cells(engine):
    (answer,) = ask(
        engine,
        "SELECT price, price * 2, AVG(price) OVER (), SUM(id) OVER (), born, "
        "CAST(born AS TIMESTAMP), id = 1, CAST(id AS DECIMAL(38, 0)), NULL, name "
        "FROM pet WHERE id = 1",
    )
    born = ("2024-03-31", "2024-03-31 00:00:00")
    assert answer.rows == ((2.5, 5, 2.5, 1, *born, 1, 1, None, "Ada"),)
    assert (answer.reads, answer.cut, answer.error) == (True, False, "")


@pytest.mark.parametrize("engine", OTHERS)
def test_rows_of_a_hidden_database_are_stored_in_reverse(engine):
    ((first, second),) = ask(engine, "SELECT id FROM pet", databases=(PETS, PETS))
    assert first.rows == ((1,), (2,), (4,))
    assert second.rows == ((4,), (2,), (1,))


@pytest.mark.parametrize("engine", OTHERS)
def test_too_many_rows_are_cut_and_too_much_work_is_stopped(engine):
    many, long = ask(
        engine,
        "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 5002) "
        "SELECT x FROM n",
        "SELECT COUNT(*) FROM generate_series(1, 1000000) AS a(x), "
        "generate_series(1, 1000000) AS b(x) WHERE a.x * 2 = b.x + a.x + 7 OR a.x + b.x = 3",
    )
    assert (len(many.rows), many.cut) == (5000, True)
    assert "too many steps" in long.error or "limit" in long.error


CHEATS = {
    "duckdb": [
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM read_text('/workspace/database.sqlite')",
        "SELECT * FROM read_blob('/proc/self/environ')",
        "SELECT * FROM glob('/*')",
        "FROM '/etc/passwd'",
        "SELECT getenv('HOME')",
        "ATTACH '/workspace/x.db'",
        "ATTACH ':memory:' AS other",
        "COPY pet TO '/workspace/x.csv'",
        "COPY (SELECT 1) TO '/dev/stdout'",
        "EXPORT DATABASE '/workspace/x'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SELECT * FROM read_parquet('https://example.org/x.parquet')",
        "SELECT * FROM sqlite_scan('/workspace/database.sqlite', 'pet')",
        "SELECT * FROM query('SELECT * FROM pet')",
        "SELECT * FROM query_table('pet')",
        "SELECT * FROM \"query\" /* */ ('SELECT 1')",
        "SELECT * FROM query -- x\n ('SELECT 1')",
        "SET threads = 8",
        "RESET lock_configuration",
        "PRAGMA enable_external_access",
        "SELECT random() FROM pet",
        "SELECT uuid()",
        "SELECT * FROM request",
        "SELECT * FROM definitions",
        "DELETE FROM pet RETURNING *",
        "UPDATE pet SET id = id RETURNING *",
        "CREATE TEMP TABLE pet AS SELECT 1",
        "CREATE MACRO lower(x) AS 1",
        "SELECT 1; SELECT 2",
        "BEGIN",
        "CALL pragma_version()",
        "SELECT chr(0) || nextval('x')",
    ],
}


@pytest.mark.parametrize("engine", OTHERS)
def test_a_cheat_of_the_engine_is_refused(engine):
    answers = ask(engine, *CHEATS[engine])
    refused = [bool(answer.error) for answer in answers]
    assert [q for q, held in zip(CHEATS[engine], refused, strict=True) if not held] == []


@pytest.mark.parametrize("engine", OTHERS)
def test_catalogues_hold_no_other_database_and_count_as_no_table(engine):
    (answer,) = ask(engine, "SELECT table_name FROM information_schema.tables")
    assert not answer.reads
    assert {row[0] for row in answer.rows if row[0] in ("pet", "request", "answer")} == {"pet"}


@pytest.mark.parametrize(
    "form",
    [
        "{right};;\n",
        "-- why\n{right} -- because",
        "WITH a AS ({right}) SELECT * FROM a",
        "SELECT ({right})",
        "SELECT CAST(({right}) AS DOUBLE PRECISION)",
        'SELECT ({right}) * 1.0 AS "a name"',
    ],
)
@pytest.mark.parametrize("engine", OTHERS)
def test_an_odd_form_of_a_right_query_passes(engine, form):
    kinds = ("aggregate",)
    task_id = next(
        name
        for seed in range(200)
        if generate(name := f"generated/train/1/{seed}").question.kind in kinds
    )
    right = reference_answer(task_id, engine_named(engine))
    (verdict,) = grade(engine, task_id, form.format(right=right))
    assert verdict.status is Status.PASS, verdict


@pytest.mark.parametrize("engine", OTHERS)
def test_the_same_seed_gives_the_same_episode(engine):
    first, second = (gymnasium.make("execgym/SQL-v0", engine=engine) for _ in range(2))
    with first, second:
        assert first.reset(seed=3) == second.reset(seed=3)
        assert first.step("SELECT 1") == second.step("SELECT 1")


def test_sqlite_is_what_it_was_before_there_were_others():
    task = load_source("generated").task("generated/train/2/11")
    assert task == load_source("generated", SQLITE).task("generated/train/2/11")
    assert task.prompt.startswith("Table ")
    assert task.files["database.sqlite"] == exam(task.id).databases[0]


def test_an_unknown_engine_is_refused_with_those_that_there_are():
    with pytest.raises(InvalidOptionError, match=r"sqlite.*duckdb"):
        SQLEnv(engine="duckbd")


def test_public_sets_are_for_sqlite_only():
    with pytest.raises(InvalidOptionError, match="engine='sqlite'"):
        SQLEnv(engine="duckdb", tasks="spider")


def test_an_engine_whose_package_is_missing_says_its_name(monkeypatch):
    monkeypatch.setattr(engines.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(EngineUnavailableError, match=r"pip install duckdb==1\.5\.5"):
        SQLEnv(engine="duckdb")
