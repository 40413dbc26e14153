"""An episode is left where it stands, and gone on with from there, as often as one likes."""

import asyncio
import dataclasses
import gc
import json
import pickle

import gymnasium
import pytest
from gymnasium.error import ResetNeeded

import execgym  # noqa: F401
from execgym.cli.sources import reference_answer
from execgym.envs import InvalidStateError, UnknownTaskError
from execgym.envs.coding.env import CodingEnv
from execgym.envs.data_analysis.env import DataAnalysisEnv
from execgym.envs.leaks import leaked
from execgym.envs.sql.env import SQLEnv
from execgym.sandbox import (
    MAX_SNAPSHOT_BYTES,
    ProtocolViolationError,
    SandboxDiedError,
    SnapshotError,
    run_sync,
)

TASK = "generated/train/1/0"
RIGHT = reference_answer("execgym/Coding-v0")


def call(name, **arguments):
    return json.dumps({"name": name, "arguments": arguments})


def python(env, code):
    return env.step(call("run_python", code=code))[4]["stdout"].strip()


@pytest.fixture
def env():
    env = CodingEnv(usage=True)
    env.reset(seed=1, options={"task_id": TASK})
    yield env
    env.close()


@pytest.fixture
def other():
    env = CodingEnv(usage=True)
    yield env
    env.close()


def test_two_branches_begin_alike_and_know_nothing_of_each_other(env, other):
    python(env, "open('notes', 'w').write('from the stem')")
    state = env.snapshot()
    for branch, name in ((env, "first"), (other, "second")):
        branch.restore(state)
        assert python(branch, "import os; print(*sorted(os.listdir()), open('notes').read())") == (
            "notes from the stem"
        )
        python(branch, f"open({name!r}, 'w'); open('notes', 'w').write('from a branch')")


def test_the_episode_goes_on_after_its_snapshot(env):
    python(env, "open('notes', 'w').write('kept')")
    env.snapshot()
    assert python(env, "print(open('notes').read())") == "kept"
    assert env.step(call("submit", code=RIGHT(TASK)))[1] == 1.0


def test_a_branch_is_shown_what_the_stem_saw_last_and_counts_on(env, other):
    seen, _, _, _, info = env.step(call("run_python", code="print(6 * 7)"))
    observation, restored = other.restore(env.snapshot())
    assert observation == seen
    assert (restored["turn"], restored["task_id"]) == (info["turn"], TASK) == (1, TASK)
    assert restored["usage"] == info["usage"]
    assert other.step(call("run_python", code="1"))[4]["turn"] == 2


def test_the_transcript_goes_along():
    env = CodingEnv(render_mode="ansi")
    env.reset(options={"task_id": TASK})
    env.step(call("fly"))
    text = env.render()
    state = env.snapshot()
    env.step(call("swim"))
    env.restore(state)
    assert env.render() == text
    env.close()


def test_a_branch_is_judged_by_the_files_of_its_stem(env, other):
    env.step(call("write_file", path="solution.py", content=RIGHT(TASK)))
    state = env.snapshot()
    other.restore(state)
    _, reward, terminated, _, info = other.step(call("submit"))
    assert (reward, terminated, info["reward_valid"]) == (1.0, True, True)
    # What a branch makes of the file is its own affair.
    other.restore(state)
    other.step(call("write_file", path="solution.py", content="wrong"))
    assert other.step(call("submit"))[1] == 0.0
    assert env.step(call("submit"))[1] == 1.0


def test_a_branch_without_steps_left_is_judged_as_it_stands(env):
    short = CodingEnv(max_turns=2)
    env.step(call("write_file", path="solution.py", content=RIGHT(TASK)))
    short.restore(env.snapshot())
    _, reward, terminated, truncated, _ = short.step(call("read_file", path="solution.py"))
    assert (reward, terminated, truncated) == (1.0, False, True)
    short.close()


def test_a_finished_env_goes_on_from_a_state_and_is_reset_as_ever(env):
    env.step(call("write_file", path="notes", content="from before"))
    state = env.snapshot()
    env.step(call("submit", code="wrong"))
    env.restore(state)
    assert python(env, "print(open('notes').read())") == "from before"
    env.reset(options={"task_id": TASK})
    assert python(env, "import os; print(os.listdir())") == "[]"


def test_a_state_of_a_branch_that_has_run_nothing_is_that_of_its_stem(env, other):
    python(env, "open('notes', 'w')")
    state = env.snapshot()
    other.restore(state)
    assert other.snapshot() == state


def test_restoring_opens_no_sandbox_before_a_tool_needs_one(env, other):
    assert env.snapshot().workspace is None
    python(env, "open('notes', 'w')")
    other.restore(env.snapshot())
    assert other._sandbox is None


def test_a_restored_episode_draws_no_other_tasks_than_it_would_have(env, other):
    state = env.snapshot()
    env.reset(seed=5)
    other.reset(seed=5)
    other.restore(state)
    assert other.reset()[1]["task_id"] == env.reset()[1]["task_id"]


def test_a_state_travels_by_pickle(env, other):
    python(env, "open('notes', 'w').write('kept')")
    state = pickle.loads(pickle.dumps(env.snapshot()))
    other.restore(state)
    assert python(other, "print(open('notes').read())") == "kept"


def test_the_async_methods_run_on_any_one_loop(env):
    async def branch():
        env = CodingEnv()
        await env.areset(options={"task_id": TASK})
        await env.astep(call("write_file", path="notes", content="kept"))
        state = await env.asnapshot()
        await env.arestore(state)
        observation, *_ = await env.astep(call("read_file", path="notes"))
        await env.aclose()
        return observation

    assert run_sync(branch()) == "kept"


def test_a_branch_may_live_on_another_backend(env, backend):
    branch = CodingEnv(backend=backend)
    env.step(call("write_file", path="solution.py", content=RIGHT(TASK)))
    branch.restore(env.snapshot())
    _, reward, _, _, info = branch.step(call("submit"))
    assert reward == 1.0
    assert info["image"].startswith("sha256:")
    branch.close()


def test_the_state_of_a_database_that_can_only_be_read_holds_no_copy_of_it():
    env = SQLEnv()
    env.reset(seed=1)
    env.step(call("run_sql", query="SELECT 1"))
    state = env.snapshot()
    assert state.workspace is None
    branch = SQLEnv()
    branch.restore(state)
    assert branch.step(call("run_sql", query="SELECT 41 + 1"))[0].splitlines()[1] == "42"
    answer = reference_answer("execgym/SQL-v0")(state.task_id)
    assert branch.step(answer)[1] == 1.0
    env.close()
    branch.close()


def test_a_model_is_told_that_its_variables_have_not_come_along():
    env = DataAnalysisEnv()
    env.reset(seed=1)
    env.step(call("run_python", code="x = 1\nopen('made', 'w').write('kept')"))
    state = env.snapshot()
    assert env.step(call("run_python", code="x"))[0] == "1"
    branch = DataAnalysisEnv()
    branch.restore(state)
    observation = branch.step(call("run_python", code="open('made').read()"))[0]
    assert observation.splitlines() == [
        "(A fresh session: earlier variables are gone, files are still there.)",
        "'kept'",
    ]
    assert branch.step(call("run_python", code="2"))[0] == "2"
    assert "NameError" in branch.step(call("run_python", code="x"))[0]
    env.close()
    branch.close()


# ---- what is refused ----------------------------------------------------------------------------


def test_there_is_no_state_before_an_episode_and_after_it(env):
    fresh = CodingEnv()
    with pytest.raises(ResetNeeded):
        fresh.snapshot()
    env.step(call("submit", code="wrong"))
    with pytest.raises(ResetNeeded):
        env.snapshot()


@pytest.mark.parametrize(
    ("changes", "error", "says"),
    [
        ({"domain": "sql"}, InvalidStateError, "is of sql"),
        ({"tasks": "mbpp"}, InvalidStateError, "tasks='mbpp'"),
        ({"task_id": "generated/train/9/0"}, UnknownTaskError, "generated/train/9/0"),
        ({"task_id": "generated/train/1/1"}, InvalidStateError, "another version"),
        ({"turn": 10_000}, InvalidStateError, "max_turns"),
        ({"turn": -1}, InvalidStateError, "max_turns"),
        ({"seconds": 1e9}, InvalidStateError, "episode_seconds"),
        ({"seconds": float("nan")}, InvalidStateError, "another type"),
        ({"transcript": ()}, InvalidStateError, "another version"),
        ({"turn": None}, InvalidStateError, "another type"),
        ({"turn": True}, InvalidStateError, "another type"),
        ({"cpu_seconds": "x"}, InvalidStateError, "another type"),
        ({"seconds": -1.0}, InvalidStateError, "another type"),
        ({"transcript": (("task", 1),)}, InvalidStateError, "another type"),
        ({"workspace": "text"}, InvalidStateError, "another type"),
        ({"workspace": b"none"}, InvalidStateError, "no snapshot"),
        ({"workspace": bytes(MAX_SNAPSHOT_BYTES + 1)}, InvalidStateError, "at most"),
    ],
)
def test_a_state_that_does_not_belong_here_is_refused_and_the_episode_goes_on(
    env, changes, error, says
):
    python(env, "open('notes', 'w').write('kept')")
    state = dataclasses.replace(env.snapshot(), **changes)
    with pytest.raises(error, match=says):
        env.restore(state)
    assert python(env, "print(open('notes').read())") == "kept"


@pytest.mark.parametrize("state", [None, b"", {}, "state"])
def test_what_is_no_state_is_refused(env, state):
    with pytest.raises(InvalidStateError, match="what snapshot returns"):
        env.restore(state)


def test_files_that_do_not_fit_name_the_limit(env):
    python(env, "open('large', 'wb').write(bytes(3_000_000))")
    small = CodingEnv(limits={"workspace_bytes": 2_000_000})
    small.restore(env.snapshot())
    with pytest.raises(InvalidStateError, match="workspace_bytes=2000000"):
        small.step(call("run_python", code="1"))
    with pytest.raises(ResetNeeded):
        small.step(call("run_python", code="1"))
    small.close()


def test_more_files_than_a_snapshot_holds_are_an_error_and_the_episode_goes_on():
    env = CodingEnv(limits={"workspace_bytes": MAX_SNAPSHOT_BYTES + 2**21})
    env.reset(options={"task_id": TASK})
    python(env, f"open('large', 'wb').write(bytes({MAX_SNAPSHOT_BYTES}))")
    with pytest.raises(SnapshotError, match="larger than"):
        env.snapshot()
    assert python(env, "print('on')") == "on"
    env.close()


# ---- faults and attacks -------------------------------------------------------------------------


def test_a_sandbox_that_dies_ends_the_episode_without_a_verdict(env):
    python(env, "1")
    run_sync(env._sandbox.close())
    with pytest.raises(SandboxDiedError):
        env.snapshot()
    _, reward, terminated, truncated, info = env.step(call("run_python", code="1"))
    assert (reward, terminated, truncated, info["reward_valid"]) == (0.0, False, True, False)


@pytest.mark.parametrize("error", [SandboxDiedError("gone"), ProtocolViolationError("it lied")])
def test_a_sandbox_that_fails_while_it_is_laid_out_ends_the_branch_without_a_verdict(
    env, other, monkeypatch, error
):
    python(env, "open('notes', 'w')")
    state = env.snapshot()

    async def fail(_sandbox, _snapshot):
        raise error

    monkeypatch.setattr(type(env._sandbox), "restore", fail)
    other.restore(state)
    *_, truncated, info = other.step(call("run_python", code="1"))
    assert (truncated, info["reward_valid"]) == (True, False)
    assert other._sandbox is None
    monkeypatch.undo()
    other.restore(state)
    assert python(other, "print(1)") == "1"


def test_a_cancelled_snapshot_leaves_an_env_that_can_be_reset(env):
    python(env, "1")

    async def cancelled():
        task = asyncio.ensure_future(env.asnapshot())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run_sync(cancelled())
    env.reset(options={"task_id": TASK})
    assert python(env, "print(1)") == "1"


@pytest.mark.parametrize("name", ["Coding", "SQL", "DataAnalysis"])
def test_nothing_of_the_judges_is_in_a_state(name):
    env = gymnasium.make(f"execgym/{name}-v0").unwrapped
    answer = reference_answer(f"execgym/{name}-v0")
    for seed in range(3):
        _, info = env.reset(seed=seed)
        env.step(call("fly"))
        state = env.snapshot()
        assert leaked([answer(info["task_id"])], pickle.dumps(state)) == []
        for held in gc.get_referents(state):
            assert isinstance(held, (str, int, float, bytes, tuple, type, type(None)))
    env.close()


def test_a_program_cannot_write_what_counts_into_a_state(env, other):
    python(env, "open('state', 'w').write('turn 0')")
    state = env.snapshot()
    other.restore(state)
    assert state.turn == 1
    assert state.transcript[0] == ("task", env._transcript[0][1])


def test_a_link_planted_in_the_workspace_is_not_followed_when_it_is_restored(env, other, tmp_path):
    target = tmp_path / "host"
    target.write_text("the host's")
    python(env, f"import os; os.symlink({str(target)!r}, 'solution.py')")
    other.restore(env.snapshot())
    assert other.step(call("submit"))[1] == 0.0
    assert target.read_text() == "the host's"
