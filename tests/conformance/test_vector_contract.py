"""Every id through `gymnasium.make_vec`: ours by default, and right under Gymnasium's own too."""

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import data_equivalence
from gymnasium.vector import AutoresetMode

from execgym.envs import InvalidOptionError
from execgym.sandbox import run_sync
from execgym.vector import AsyncVectorEnv


@pytest.fixture
def make_vec():
    made = []

    def make_env(*args, **kwargs):
        made.append(gymnasium.make_vec(*args, **kwargs))
        return made[-1]

    yield make_env
    for envs in made:
        envs.close()


def test_make_vec_gives_our_vector_env_with_a_spec(make_vec, env_id):
    envs = make_vec(env_id, num_envs=3, level=1, autoreset_mode="SameStep", run_slots=2)
    assert type(envs) is AsyncVectorEnv
    assert envs.num_envs == 3
    assert envs.spec.id == env_id
    assert envs.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    assert envs.statistics().run_slots == 2
    again = make_vec(envs.spec)
    assert again.num_envs == 3
    assert again.reset(seed=1)[0] == envs.reset(seed=1)[0]


def test_it_plays_the_same_episodes_as_gymnasiums_vector_env(make_vec, env_id, looking, submitting):
    arguments = {"num_envs": 3, "level": 1, "max_turns": 2}
    reference = make_vec(env_id, vectorization_mode="sync", **arguments)
    ours = make_vec(env_id, **arguments)
    results = []
    for envs in (reference, ours):
        played = [envs.reset(seed=8)]
        for action in (looking, submitting, submitting, looking):
            played.append(envs.step((action[env_id], "{", looking[env_id])))
        results.append(played)
    for expected, result in zip(*results, strict=True):
        for one, other in zip(expected, result, strict=True):
            assert _equal(one, other)


def _equal(one, other):
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_equal(one[key], other[key]) for key in one)
    if isinstance(one, np.ndarray) and one.dtype == object:
        return one.tolist() == other.tolist()
    return data_equivalence(one, other, exact=True)


def test_send_and_recv_play_episodes_to_their_end(make_vec, env_id, looking, submitting):
    envs = make_vec(env_id, num_envs=4)
    envs.send_reset(range(4), seeds=[1, 2, 3, 4])
    turns = [0] * 4
    finished = set()
    while len(finished) < 4:
        batch = envs.recv()
        running = []
        for env_id_, done, info in zip(batch.env_ids, batch.dones, batch.infos, strict=True):
            assert info["reward_valid"]
            if done:
                finished.add(int(env_id_))
            else:
                running.append(int(env_id_))
        actions = [submitting[env_id] if turns[index] else looking[env_id] for index in running]
        for index in running:
            turns[index] += 1
        if running:
            envs.send(actions, running)
    assert turns == [2] * 4


def test_a_sandbox_that_dies_is_replaced_and_takes_nobody_with_it(make_vec, env_id, looking):
    envs = make_vec(env_id, num_envs=3)
    envs.reset(seed=1)
    envs.step([looking[env_id]] * 3)
    run_sync(envs.get_attr("_sandbox")[1].close())
    *_, truncations, infos = envs.step([looking[env_id]] * 3)
    if envs.get_attr("tools_are_read_only")[1]:
        assert not truncations.any()
        assert infos["reward_valid"].all()
    else:
        assert truncations.tolist() == [False, True, False]
        assert infos["reward_valid"].tolist() == [True, False, True]
        envs.step([looking[env_id]] * 3)
    *_, truncations, infos = envs.step([looking[env_id]] * 3)
    assert not truncations.any()
    assert (infos["exit_code"] == 0).all()


def test_max_episode_steps_ends_an_episode_with_a_verdict(make_vec, env_id, looking):
    envs = make_vec(env_id, num_envs=2, max_episode_steps=1)
    envs.reset(seed=1)
    *_, truncations, infos = envs.step([looking[env_id]] * 2)
    assert truncations.all()
    assert infos["verdict"]["status"].tolist() == ["fail", "fail"]


@pytest.mark.parametrize(
    ("kwargs", "says"),
    [
        ({"levle": 1}, "Did you mean 'level'"),
        ({"run_slot": 1}, "Did you mean 'run_slots'"),
        ({"level": 9}, "level 9"),
        ({"autoreset_mode": "Never"}, "autoreset_mode 'Never' is not one of NextStep"),
        ({"num_envs": 0}, "num_envs must be at least 1, not 0"),
        ({"max_episode_steps": 0}, "max_episode_steps must be at least 1, not 0"),
        ({"run_slots": 0}, "run_slots must be a whole number of at least 1, not 0"),
    ],
)
def test_wrong_arguments_of_make_vec_say_what_is_allowed(env_id, kwargs, says):
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        gymnasium.make_vec(env_id, **{"num_envs": 2, **kwargs})
    assert says in str(caught.value)
    assert isinstance(caught.value, InvalidOptionError) or "run_slots" in says


def test_four_thousand_envs_cost_no_process_until_they_run(make_vec, env_id):
    envs = make_vec(env_id, num_envs=4000)
    assert all(sandbox is None for sandbox in envs.get_attr("_sandbox"))
