import random

import pytest

from execgym.agents.grpo import GRPO, GRPOConfig
from execgym.agents.prompts import ChatPrompt
from execgym.agents.rollout import collect


def test_groups_come_in_order_with_their_tasks(policy, letter_envs):
    trajectories = collect(letter_envs(12), policy, ["a", "b", "a"], group_size=4, seed=[0])
    assert [t.task_id for t in trajectories] == ["a"] * 4 + ["b"] * 4 + ["a"] * 4
    assert [t.group_id for t in trajectories] == [0] * 4 + [1] * 4 + [2] * 4
    assert {t.observation for t in trajectories[:4]} == {"say a"}


def test_what_was_sampled_is_what_the_env_saw(policy, letter_envs):
    for trajectory in collect(letter_envs(8), policy, ["a", "b"], group_size=4, seed=[0]):
        (segment,) = trajectory.segments
        text = policy.tokenizer.decode(segment.token_ids, skip_special_tokens=True)
        assert trajectory.actions[0] == text.split("\n")[0].split(";")[0]
        assert policy.tokenizer.decode(trajectory.prompt_ids) == f"say {trajectory.task_id}>"
        assert trajectory.success == (trajectory.reward > 0.2)


def test_more_episodes_than_envs_are_played_one_after_another(policy, letter_envs):
    few = collect(letter_envs(3), policy, ["a", "b"], group_size=5, seed=[7])
    many = collect(letter_envs(10), policy, ["a", "b"], group_size=5, seed=[7])
    assert [t.actions for t in few] == [t.actions for t in many]


def test_the_order_of_answers_does_not_change_what_is_sampled(policy, letter_envs):
    shuffled = letter_envs(
        10, turns=3, order=lambda waiting: random.Random(3).sample(waiting, len(waiting))
    )
    plain = collect(letter_envs(10, turns=3), policy, ["a", "b"], group_size=5, seed=[7])
    mixed = collect(shuffled, policy, ["a", "b"], group_size=5, seed=[7], rows_per_generation=3)
    assert [t.token_ids for t in plain] == [t.token_ids for t in mixed]


def test_a_generation_does_not_wait_for_the_slowest_env(policy, letter_envs):
    envs = letter_envs(9, turns=2)
    collect(envs, policy, ["a"], group_size=9, seed=[0], rows_per_generation=3)
    assert [len(ids) for ids in envs.sent] == [3] * 6


def test_observations_of_later_turns_are_appended_and_masked(policy, letter_envs):
    for trajectory in collect(letter_envs(2, turns=3), policy, ["a", "b"], seed=[0]):
        assert [s.sampled for s in trajectory.segments] == [True, False, True, False, True]
        given = policy.tokenizer.decode(trajectory.segments[1].token_ids)
        assert given == "\nturn 1>"
        assert sum(trajectory.loss_mask) == trajectory.sampled_tokens
        assert len(trajectory.actions) == 3


def test_a_chat_message_cut_at_its_limit_ends_the_episode(make_policy, letter_envs):
    policy = make_policy(style=ChatPrompt(), max_new_tokens=2)
    trajectories = collect(letter_envs(6, turns=3), policy, ["a"], group_size=6, seed=[0])
    cut = [t for t in trajectories if len(t.actions) == 1]
    assert cut
    assert all(t.status == "unjudged" and t.reward_valid for t in cut)


def test_an_episode_ends_before_the_context_overflows(make_policy, letter_envs):
    policy = make_policy(model={"max_position_embeddings": 40})
    (trajectory,) = collect(letter_envs(1, turns=50), policy, ["a"], seed=[0])
    assert trajectory.status == "unjudged"
    assert len(trajectory.actions) < 50


def test_an_invalid_reward_is_marked(policy, letter_envs):
    trajectories = collect(letter_envs(2, invalid=["b"]), policy, ["a", "b"], seed=[0])
    assert [t.reward_valid for t in trajectories] == [True, False]
    assert not trajectories[1].success


def test_greedy_rollouts_need_no_seed(policy, letter_envs):
    trajectories = collect(letter_envs(4), policy, ["a"], group_size=4)
    assert len({t.token_ids for t in trajectories}) == 1


def test_the_tiny_model_learns_to_say_the_letter(make_policy, letter_envs):
    policy = make_policy(max_new_tokens=6)
    grpo = GRPO(policy, GRPOConfig(learning_rate=3e-3))
    envs = letter_envs(32)
    means = []
    for step in range(30):
        batch = collect(envs, policy, ["a", "b"], group_size=16, seed=[0, step])
        grpo.update(batch)
        means.append(sum(t.reward for t in batch) / len(batch))
    assert sum(means[-3:]) / 3 > 10 * sum(means[:3]) / 3
    assert sum(means[-3:]) / 3 > 0.3


def test_a_lost_env_is_reported_by_a_timeout(policy, letter_envs):
    envs = letter_envs(2)

    def never(min_envs=1, max_envs=None, timeout=None):
        raise TimeoutError("no env answered")

    envs.recv = never
    with pytest.raises(TimeoutError):
        collect(envs, policy, ["a"], group_size=2, seed=[0])
