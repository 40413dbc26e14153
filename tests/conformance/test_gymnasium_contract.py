"""Every id, with every task source, is a Gymnasium env by the letter."""

import asyncio
import json
import os
import pickle
import subprocess
import sys

import gymnasium
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env, data_equivalence

from execgym.envs import InvalidOptionError, UnknownTaskError


def test_the_checker_finds_nothing(make, env_id, tasks):
    check_env(make(env_id, tasks=tasks).unwrapped)


def test_the_checker_finds_nothing_through_the_wrappers_of_make(make, env_id):
    env = make(env_id, max_episode_steps=5)
    env.reset(seed=1)
    env.action_space.seed(1)
    for _ in range(3):
        _, _, terminated, truncated, _ = env.step(env.action_space.sample())
        if terminated or truncated:
            env.reset()


def test_equal_seeds_give_equal_episodes(make, env_id, tasks, looking, submitting):
    def episode():
        env = make(env_id, tasks=tasks)
        return [
            env.reset(seed=11),
            env.step("{"),
            *(() if env.unwrapped._over else (env.step(looking[env_id]),)),
            env.reset(),
            env.step(submitting[env_id]),
        ]

    assert data_equivalence(episode(), episode(), exact=True)


def test_another_process_with_another_hash_seed_sees_the_same_bytes(make, env_id, tasks):
    env = make(env_id, tasks=tasks)
    ours = [env.reset(seed=seed) for seed in (5, 6)] + [env.reset()]
    code = (
        "import json, sys, gymnasium, execgym\n"
        "env = gymnasium.make(sys.argv[1], tasks=sys.argv[2])\n"
        "print(json.dumps([env.reset(seed=5), env.reset(seed=6), env.reset()]))\n"
    )
    for hash_seed in ("1", "2"):
        result = subprocess.run(
            [sys.executable, "-c", code, env_id, tasks],
            capture_output=True,
            text=True,
            check=True,
            cwd="/",
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
        )
        assert json.loads(result.stdout) == json.loads(json.dumps(ours))


def test_every_level_and_split_gives_its_tasks(make, env_id):
    env = make(env_id)
    source = env.unwrapped.task_source
    for split in source.splits:
        for level in source.levels(split):
            observation, info = env.reset(seed=2, options={"split": split, "level": level})
            assert (info["split"], info["level"]) == (split, level)
            assert observation in env.observation_space
            again, _ = env.reset(options={"task_id": info["task_id"]})
            assert again == observation


def test_a_task_shows_nothing_of_its_answer(make, env_id):
    env = make(env_id)
    env.reset(seed=1)
    blob = pickle.dumps(env.unwrapped)
    assert len(blob) < 2000
    assert set(env.spec.kwargs) <= {"tasks"}


@pytest.mark.parametrize(
    "action",
    [
        "",
        "\0",
        "\ud800",
        "{",
        "```",
        '{"name": "no_such_tool"}',
        '{"name": "submit", "arguments": {"\\ud800": 1}}',
        "x" * 100_001,
        "\x1b[2J\r\n\u202e",
    ],
    ids=["empty", "nul", "surrogate", "brace", "fence", "tool", "argument", "long", "controls"],
)
def test_no_message_breaks_an_env(make, env_id, action):
    env = make(env_id).unwrapped
    env.reset(seed=3)
    observation, reward, _, _, info = env.step(action)
    assert observation in env.observation_space
    assert reward == 0.0
    assert info["reward_valid"] is True


def test_a_tool_runs_in_a_sandbox(make, env_id, looking):
    env = make(env_id)
    env.reset(seed=3)
    observation, _, terminated, truncated, info = env.step(looking[env_id])
    assert not terminated
    assert not truncated
    assert observation
    assert info["reward_valid"] is True
    assert info["exit_code"] == 0


def test_a_wrong_submission_fails_and_ends_the_episode(make, env_id, submitting):
    env = make(env_id)
    env.reset(seed=3)
    _, reward, terminated, truncated, info = env.step(submitting[env_id])
    assert (reward, terminated, truncated) == (0.0, True, False)
    assert info["verdict"]["status"] == "fail"
    with pytest.raises(ResetNeeded):
        env.unwrapped.step(submitting[env_id])


@pytest.mark.parametrize(
    ("kwargs", "says"),
    [
        ({"tasks": "no such set"}, "tasks 'no such set' is not one of generated"),
        ({"split": "trian"}, "Did you mean 'train'"),
        ({"level": 6}, "level 6 is not one of 1, 2, 3, 4, 5"),
        ({"backend": "doker"}, "backend 'doker' is not one of auto, namespace"),
        ({"limits": {"cpu_seconds": 0}}, "cpu_seconds must be a positive number, not 0"),
        ({"limits": {"cpus": 1}}, "limit 'cpus' is not one of"),
        ({"max_turns": -1}, "max_turns must be at least 1, not -1"),
    ],
)
def test_wrong_arguments_say_what_is_allowed(env_id, kwargs, says):
    with pytest.raises(InvalidOptionError) as caught:
        gymnasium.make(env_id, **kwargs)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    "task_id", ["nothing", "", "generated/train/1/-1", "generated/valid/1/1", "generated/train/9/1"]
)
def test_an_unknown_task_id_is_refused(make, env_id, task_id):
    with pytest.raises(UnknownTaskError):
        make(env_id).reset(options={"task_id": task_id})


def test_closing_twice_is_fine(make, env_id, looking):
    env = make(env_id)
    env.close()
    env.reset(seed=1)
    env.step(looking[env_id])
    env.close()
    env.close()


def test_it_works_inside_a_running_event_loop(make, env_id, looking):
    async def notebook_cell():
        env = make(env_id)
        env.reset(seed=1)
        result = env.step(looking[env_id])
        env.close()
        return result

    assert asyncio.run(notebook_cell())[4]["reward_valid"] is True


def test_the_transcript_can_be_rendered(make, env_id, looking):
    env = make(env_id, render_mode="ansi")
    observation, _ = env.reset(seed=1)
    env.step(looking[env_id])
    text = env.render()
    assert text.startswith("[task]\n")
    assert observation.splitlines()[0] in text
