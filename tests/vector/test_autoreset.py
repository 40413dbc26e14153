"""Equal seeds and actions give what Gymnasium's own vector env gives, in every autoreset mode."""

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import data_equivalence
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from hypothesis import given, settings
from hypothesis import strategies as st

from execgym.vector import AsyncVectorEnv, EpisodeOverError, InvalidRequestError

KINDS = ("plain", "async", "box")
MODES = list(AutoresetMode)


def pair(kind, mode, num_envs):
    reference = SyncVectorEnv([kind] * num_envs, autoreset_mode=mode)
    return reference, AsyncVectorEnv([kind] * num_envs, autoreset_mode=mode)


def same(left, right):
    if isinstance(left, np.ndarray) and left.dtype == object:
        return left.shape == right.shape and all(map(same, left, right))
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    return data_equivalence(left, right, exact=True) or left == right


def assert_same(left, right):
    for one, other in zip(left, right, strict=True):
        assert same(one, other), f"{one!r}\n{other!r}"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mode", MODES)
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**31), num_envs=st.integers(1, 4), steps=st.integers(1, 12))
def test_trajectories_equal_those_of_sync_vector_env(every_kind, kind, mode, seed, num_envs, steps):
    reference, ours = pair(every_kind[kind], mode, num_envs)
    assert_same(reference.reset(seed=seed), ours.reset(seed=seed))
    reference.action_space.seed(seed)
    for _ in range(steps):
        actions = reference.action_space.sample()
        expected = reference.step(actions)
        assert_same(expected, ours.step(actions))
        over = expected[2] | expected[3]
        if mode is AutoresetMode.DISABLED and over.any():
            masked = {"reset_mask": over, "difficulty": 3}
            assert_same(reference.reset(options=dict(masked)), ours.reset(options=masked))
            assert set(masked) == {"reset_mask", "difficulty"}
    reference.close()
    ours.close()


@pytest.mark.parametrize("mode", MODES)
def test_metadata_holds_the_mode_for_this_instance_only(every_kind, mode):
    kind = every_kind["async"]
    ours = AsyncVectorEnv([kind], autoreset_mode=mode.value)
    assert ours.metadata["autoreset_mode"] is mode
    assert "autoreset_mode" not in kind.metadata
    ours.close()


def test_an_unknown_mode_is_refused(every_kind):
    with pytest.raises(ValueError, match="sometimes"):
        AsyncVectorEnv([every_kind["async"]], autoreset_mode="sometimes")


def test_next_step_ignores_the_action_of_a_finished_env(every_kind):
    ours = AsyncVectorEnv([every_kind["async"]])
    ours.reset(seed=0)
    while True:
        _, _, terminations, truncations, _ = ours.step(["a"])
        if terminations[0] or truncations[0]:
            break
    observations, rewards, terminations, truncations, _ = ours.step(["fail"])
    assert observations[0].startswith("episode of")
    assert (rewards[0], terminations[0], truncations[0]) == (0.0, False, False)
    ours.close()


def test_disabled_refuses_to_step_a_finished_env(every_kind):
    ours = AsyncVectorEnv([every_kind["async"]] * 2, autoreset_mode="Disabled")
    ours.reset(seed=3)
    over = False
    while not over:
        _, _, terminations, truncations, _ = ours.step(["a", "b"])
        over = bool((terminations | truncations).any())
    with pytest.raises(EpisodeOverError, match="has no running episode, and autoreset is disabled"):
        ours.step(["a", "b"])
    ours.close()


def test_stepping_before_reset_is_refused(every_kind):
    ours = AsyncVectorEnv([every_kind["async"]])
    with pytest.raises(EpisodeOverError, match="reset"):
        ours.step(["a"])
    with pytest.raises(gymnasium.error.ResetNeeded):
        ours.step(["a"])
    ours.close()


@pytest.mark.parametrize(
    ("mask", "error"),
    [
        ([True, False], TypeError),
        (np.array([1, 0]), TypeError),
        (np.array([True]), InvalidRequestError),
        (np.array([False, False]), InvalidRequestError),
    ],
)
def test_a_wrong_reset_mask_is_refused(every_kind, mask, error):
    ours = AsyncVectorEnv([every_kind["async"]] * 2)
    ours.reset(seed=1)
    with pytest.raises(error, match="reset_mask"):
        ours.reset(options={"reset_mask": mask})
    ours.close()


def test_a_masked_reset_before_any_reset_is_refused(every_kind):
    ours = AsyncVectorEnv([every_kind["async"]] * 2)
    with pytest.raises(EpisodeOverError, match="env 1"):
        ours.reset(options={"reset_mask": np.array([True, False])})
    ours.close()


def test_arrays_are_new_at_each_step(every_kind):
    ours = AsyncVectorEnv([every_kind["box"]] * 2)
    first, _ = ours.reset(seed=1)
    kept = {key: value.copy() for key, value in first.items()}
    results = [ours.step(np.array([0, 1])) for _ in range(2)]
    assert all(np.array_equal(first[key], kept[key]) for key in kept)
    for one, other in zip(results[0][1:4], results[1][1:4], strict=True):
        assert not np.shares_memory(one, other)
    ours.close()


@pytest.mark.parametrize("mode", MODES)
def test_record_episode_statistics_works_on_top(every_kind, mode):
    def wrapped(envs):
        return gymnasium.wrappers.vector.RecordEpisodeStatistics(envs)

    reference, ours = map(wrapped, pair(every_kind["async"], mode, 3))
    assert_same(reference.reset(seed=5), ours.reset(seed=5))
    for _ in range(8):
        expected, result = (envs.step(["a", "b", "c"]) for envs in (reference, ours))
        for infos in (expected[4], result[4]):
            if "episode" in infos:
                del infos["episode"]["t"]
        assert_same(expected, result)
        over = expected[2] | expected[3]
        if mode is AutoresetMode.DISABLED and over.any():
            for envs in (reference, ours):
                envs.unwrapped.reset(options={"reset_mask": over.copy()})
    assert list(reference.return_queue) == list(ours.return_queue)
    ours.close()
