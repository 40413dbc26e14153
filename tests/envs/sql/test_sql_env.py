"""The env: look around, hand in, be judged, and learn nothing that is hidden."""

import base64
import gzip
import json
import pickle
import warnings

import gymnasium
import pytest
from gymnasium.utils.env_checker import check_env

import execgym
from execgym.envs.errors import InvalidOptionError, TaskSetUnavailableError, UnknownTaskError
from execgym.envs.sql.env import SHOWN_ROWS, SQLEnv
from execgym.envs.sql.exams import exam
from execgym.envs.sql.gold import reference_answer
from execgym.envs.sql.tasks import DATABASE_FILE, generate

TASK = "generated/train/2/11"


@pytest.fixture
def env():
    with SQLEnv() as env:
        yield env


def call(name, query):
    return json.dumps({"name": name, "arguments": {"query": query}})


def test_gymnasium_makes_and_checks_it_without_a_warning():
    execgym.register_envs()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = gymnasium.make("execgym/SQL-v0")
        check_env(env.unwrapped, skip_render_check=True)
        env.close()


@pytest.mark.data
@pytest.mark.parametrize("tasks", ["spider", "defog"])
def test_gymnasium_checks_it_with_public_sets_too(tasks, sql_sets):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = SQLEnv(tasks=tasks, split="test")
        check_env(env, skip_render_check=True)
        env.close()


def test_a_single_turn_answer_passes_and_opens_no_sandbox_of_the_episode(env):
    env.reset(options={"task_id": TASK})
    _, reward, terminated, truncated, info = env.step(reference_answer(TASK))
    assert (reward, terminated, truncated) == (1.0, True, False)
    assert info["verdict"]["status"] == "pass"
    assert env._sandbox is None


def test_looking_around_shows_rows_errors_and_where_they_were_cut(env):
    env.reset(options={"task_id": TASK})
    table = generate(TASK).question.tables[0].name
    observation, reward, terminated, _, info = env.step(
        call("run_sql", f"SELECT COUNT(*) AS n, NULL AS void, x'00ff' AS b, 'a\nb' FROM {table}")
    )
    header, row, count = observation.splitlines()
    assert header.split(" | ")[:3] == ["n", "void", "b"]
    assert row.split(" | ")[1:] == ["NULL", "x'00ff'", "a\\nb"]
    assert (count, reward, terminated) == ("(1 row)", 0.0, False)
    assert (info["tool"], info["exit_code"]) == ("run_sql", 0)
    assert env.step(call("run_sql", "SELECT absent"))[0] == "Error: no such column: absent"
    assert "not authorized" in env.step(call("run_sql", f"DROP TABLE {table}"))[0]
    long = env.step(call("run_sql", f"SELECT a.*, b.* FROM {table} a, {table} b"))[0]
    assert len(long.splitlines()) == SHOWN_ROWS + 2
    assert long.endswith(f"(the first {SHOWN_ROWS} rows; there are more)")
    assert "x" * 300 not in env.step(call("run_sql", f"SELECT '{'x' * 999}'"))[0]


def test_the_database_travels_with_the_task_and_is_what_run_sql_shows(env):
    env.reset(options={"task_id": TASK})
    shown = env.task.files[DATABASE_FILE]
    assert shown.startswith(b"SQLite format 3\x00")
    assert shown == exam(TASK).databases[0]


def test_a_wrong_answer_ends_the_episode_with_no_reward(env):
    env.reset(options={"task_id": TASK})
    observation, reward, terminated, _, info = env.step("SELECT 1")
    assert (reward, terminated) == (0.0, True)
    assert info["verdict"]["status"] == "fail"
    assert observation.startswith("The submission failed.")


def test_an_episode_without_a_submission_fails(env):
    with SQLEnv(max_turns=1) as env:
        env.reset(options={"task_id": TASK})
        _, reward, terminated, truncated, info = env.step(call("run_sql", "SELECT 1"))
        assert (reward, terminated, truncated) == (0.0, False, True)
        assert info["verdict"]["status"] == "fail"


@pytest.mark.parametrize(
    ("query", "reward", "shaping"),
    [
        ("{right}", 1.0, 0.0),
        ("SELECT * FROM {table}", 0.25, 0.25),
        ("SELECT 1", 0.0, 0.0),
        ("SELECT COUNT(*) as count", 0.0, 0.0),
        ("SELECT nothing FROM {table}", 0.0, 0.0),
        ("DROP TABLE {table}", 0.0, 0.0),
        ("", 0.0, 0.0),
    ],
)
def test_shaping_pays_for_a_query_that_runs_and_is_reported_apart(query, reward, shaping):
    table = generate(TASK).question.tables[0].name
    query = query.format(right=reference_answer(TASK), table=table)
    verdicts = []
    for amount, expected in ((0.25, reward), (0.0, float(reward == 1.0))):
        with SQLEnv(shaping=amount) as env:
            assert env.reset(options={"task_id": TASK})[1]["shaping"] == 0.0
            _, got, _, _, info = env.step(query)
            assert got == expected
            assert info["shaping"] == (shaping if amount else 0.0)
            verdicts.append(info["verdict"])
    assert verdicts[0] == verdicts[1]


@pytest.mark.parametrize("shaping", [-0.1, 1.1, float("nan"), True, "0.1", None])
def test_shaping_beyond_its_bounds_is_refused(shaping):
    with pytest.raises(InvalidOptionError, match="0 to 1"):
        SQLEnv(shaping=shaping)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"tasks": "spidr"}, "spider"),
        ({"split": "valid"}, "train"),
        ({"level": 6}, "1, 2, 3, 4, 5"),
    ],
)
def test_a_bad_option_is_refused_with_what_is_allowed(options, named):
    with pytest.raises(InvalidOptionError, match=named):
        SQLEnv(**options)


def test_an_unknown_task_is_refused_with_the_form_of_an_id(env):
    with pytest.raises(UnknownTaskError, match="generated/train/1/42"):
        env.reset(options={"task_id": "generated/train/9/1"})


def test_a_public_set_that_is_not_here_says_how_to_bring_it(monkeypatch, tmp_path):
    monkeypatch.setenv("EXECGYM_DATA", str(tmp_path))
    with pytest.raises(TaskSetUnavailableError, match="execgym data import"):
        SQLEnv(tasks="spider", split="test")


def test_equal_seeds_give_equal_episodes(env):
    first = env.reset(seed=5)
    assert env.reset(seed=5) == first
    assert env.reset(seed=6) != first


def test_a_pickle_is_the_arguments_and_works():
    env = SQLEnv(shaping=0.2, level=2, split="test")
    env.reset(seed=1)
    again = pickle.loads(pickle.dumps(env))
    assert again._arguments() == env._arguments()
    assert again.reset(seed=1) == env.reset(seed=1)


def forms(text):
    """Return how a text may be hidden in bytes."""
    data = text.encode()
    return [data, base64.b64encode(data)[:-4], gzip.compress(data)[12:-8], data.hex().encode()]


def test_nothing_that_a_model_or_a_copy_can_reach_holds_the_answer(env):
    for level in (1, 2, 3, 4, 5):
        task_id = f"generated/train/{level}/77"
        observation, info = env.reset(options={"task_id": task_id})
        shown = env.step(call("run_sql", "SELECT * FROM sqlite_master"))
        last = env.step("SELECT 1")
        reachable = [
            observation,
            repr(info),
            repr(shown),
            repr(last),
            repr(env.task),
            pickle.dumps(env.task).decode("latin-1"),
            pickle.dumps(env).decode("latin-1"),
            repr(vars(env)),
            repr(vars(env._judge)),
            repr(vars(env.task_source)),
        ]
        hidden = exam(task_id).databases[1:]
        for text in reachable:
            data = text.encode("latin-1", "backslashreplace")
            assert not any(form in data for form in forms(reference_answer(task_id)))
            assert not any(database[-400:-200] in data for database in hidden)


def test_the_tools_are_described_for_a_model(env):
    schemas = {t.name: t.as_function()["function"] for t in env.tools.values()}
    assert set(schemas) == {"run_sql", "submit_sql"}
    for schema in schemas.values():
        assert list(schema["parameters"]["properties"]) == ["query"]
        assert schema["parameters"]["required"] == ["query"]


def test_many_episodes_may_run_at_once():
    import asyncio

    from execgym.sandbox import run_sync

    async def play(seed):
        env = SQLEnv(level=1 + seed % 5)
        _, info = await env.areset(seed=seed)
        await env.astep(call("run_sql", "SELECT 1"))
        step = await env.astep(reference_answer(info["task_id"]))
        await env.aclose()
        return step[1]

    async def play_all():
        return await asyncio.gather(*map(play, range(12)))

    assert run_sync(play_all()) == [1.0] * 12


@pytest.mark.parametrize(("engine", "width"), [("sqlite", 4), ("sqlite", 30), ("duckdb", 2)])
def test_a_query_whose_column_names_would_flood_the_judge_is_only_a_wrong_one(engine, width):
    joined = ", ".join(f"t a{number}" for number in range(60))
    wide = ", ".join(f"u b{number}" for number in range(width))
    query = (
        f'WITH t AS (SELECT 1 AS "{"x" * 95_000}"), u AS (SELECT * FROM {joined}) '
        f"SELECT * FROM {wide}"
    )
    env = gymnasium.make("execgym/SQL-v0", engine=engine, disable_env_checker=True).unwrapped
    env.reset(seed=1)
    observation, *_ = env.step(json.dumps({"name": "run_sql", "arguments": {"query": query}}))
    assert len(observation) < 1_000_000
    _, reward, terminated, _, info = env.step(query)
    assert (reward, terminated, info["reward_valid"]) == (0.0, True, True)
    env.close()
