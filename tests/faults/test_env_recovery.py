"""A killed or hung sandbox ends its episode without a verdict, and the next one begins."""

import json
import pathlib
import signal

import gymnasium
import pytest

import execgym  # noqa: F401
from execgym.envs.errors import InvalidOptionError
from execgym.judging.candidate import template as coding_template
from execgym.vector import AsyncVectorEnv

LOOK = json.dumps({"name": "run_python", "arguments": {"code": "print(6 * 7)"}})
HANG = json.dumps({"name": "run_python", "arguments": {"code": "import time\ntime.sleep(1000)"}})
LIMITS = {"wall_seconds": 2.0}
pytestmark = pytest.mark.usefixtures("short_limits")


def make():
    return gymnasium.make(
        "execgym/Coding-v0", backend="namespace", limits=LIMITS, disable_env_checker=True
    )


def is_running(pid):
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(") ")[2][0] != "Z"


@pytest.fixture
def victims(victims_of):
    return victims_of(coding_template())


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
@pytest.mark.parametrize("of", ["guest", "zygote"])
def test_an_episode_that_is_hit_is_truncated_without_a_valid_reward(
    victims, eventually, of, number
):
    env = make()
    env.reset(seed=1)
    assert "42" in env.step(LOOK)[0]
    guest = victims.the_guest()
    victims.hit(guest if of == "guest" else victims.zygote, number)
    if number == signal.SIGKILL:
        eventually(lambda: not is_running(guest))
    observation, reward, terminated, truncated, info = env.step(LOOK)
    if (of, number) == ("zygote", signal.SIGSTOP):
        # The sandbox that is open needs no zygote. The one that grades it does.
        assert "42" in observation
        observation, reward, terminated, truncated, info = env.step(
            json.dumps({"name": "submit", "arguments": {"code": "pass"}})
        )
    else:
        assert (reward, terminated, truncated) == (0.0, False, True)
        assert info["reward_valid"] is False
    env.reset(seed=2)
    observation, _, _, truncated, info = env.step(LOOK)
    assert "42" in observation
    assert not truncated
    env.close()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_one_env_of_many_that_is_hit_is_told_and_begins_anew(victims, number):
    envs = AsyncVectorEnv([make] * 3)
    envs.reset(seed=1)
    envs.step([LOOK] * 3)
    victims.hit(min(victims.guests()), number)
    observations, _, terminations, truncations, infos = envs.step([LOOK] * 3)
    assert truncations.sum() == 1
    assert not terminations.any()
    assert (infos["reward_valid"] == ~truncations).all()
    assert sum("42" in text for text in observations) == 2
    envs.step([LOOK] * 3)
    observations, _, _, truncations, infos = envs.step([LOOK] * 3)
    assert not truncations.any()
    assert infos["reward_valid"].all()
    assert all("42" in text for text in observations)
    envs.close()


def test_a_zygote_killed_under_many_envs_ends_their_episodes_only(victims, eventually):
    envs = AsyncVectorEnv([make] * 4)
    envs.reset(seed=1)
    envs.step([LOOK] * 4)
    guests = victims.guests()
    victims.hit(victims.zygote, signal.SIGKILL)
    eventually(lambda: not any(is_running(guest) for guest in guests))
    *_, truncations, infos = envs.step([LOOK] * 4)
    assert truncations.all()
    assert not infos["reward_valid"].any()
    envs.step([LOOK] * 4)
    observations, *_, truncations, _ = envs.step([LOOK] * 4)
    assert all("42" in text for text in observations)
    assert not truncations.any()
    envs.close()


def test_a_guest_killed_in_the_middle_of_a_step_ends_that_episode(victims):
    envs = AsyncVectorEnv([make] * 2)
    envs.reset(seed=1)
    envs.step([LOOK] * 2)
    hit = victims.guests()
    envs.send([HANG] * 2, [0, 1])
    for guest in hit:
        victims.hit(guest, signal.SIGKILL)
    batch = envs.recv(min_envs=2)
    assert batch.truncations.all()
    assert not any(info["reward_valid"] for info in batch.infos)
    envs.close()


def test_a_workspace_too_small_for_the_task_is_named_with_the_way_out():
    env = gymnasium.make(
        "execgym/SQL-v0",
        backend="namespace",
        limits={"workspace_bytes": 4096},
        disable_env_checker=True,
    )
    query = json.dumps({"name": "run_sql", "arguments": {"query": "SELECT 1"}})
    for seed in (1, 2):
        env.reset(seed=seed)
        with pytest.raises(InvalidOptionError, match="workspace_bytes=4096"):
            env.step(query)
    env.close()
