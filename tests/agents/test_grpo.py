import copy
import math

import pytest
import torch

from execgym.agents.grpo import GRPO, GRPOConfig, advantages
from execgym.agents.packing import collate, pack


def learner(make_policy, seed=0, **options):
    return GRPO(make_policy(seed), GRPOConfig(**options))


def on_policy(policy, trajectories):
    """Give trajectories the log-probs that the policy itself has for them."""
    batch = collate(pack(trajectories, max_tokens=100_000, share_prompts=False))
    with torch.no_grad():
        values = policy.logprobs(batch).tolist()
    logprobs = {}
    for owner, offset, value in zip(
        batch.owners.tolist(), batch.offsets.tolist(), values, strict=True
    ):
        logprobs[owner, offset] = value
    return [
        _with_logprobs(trajectory, [logprobs[owner, o] for o in range(len(trajectory.token_ids))])
        for owner, trajectory in enumerate(trajectories)
    ]


def _with_logprobs(trajectory, values):
    import dataclasses

    segments = tuple(
        dataclasses.replace(segment, logprobs=(value,))
        for segment, value in zip(trajectory.segments, values, strict=True)
    )
    return dataclasses.replace(trajectory, segments=segments)


@pytest.fixture
def mixed(make_trajectory):
    """Two groups of samples with lengths from 1 to 40."""
    return [
        make_trajectory([5, 6, 7], [8, 9, 1], reward=1.0, group=0),
        make_trajectory([5, 6, 7], [10], reward=0.0, group=0),
        make_trajectory([5, 6, 7], [11] * 40, reward=0.1, group=0),
        make_trajectory([20] * 9, [21, 22], reward=0.0, group=1),
        make_trajectory([20] * 9, [23, 24, 25], reward=1.0, group=1),
    ]


def gradients(learner, trajectories):
    """The gradient of one update, without the step."""
    model = learner.policy.model
    learner.optimizer.step = lambda: None
    learner.config = GRPOConfig(**{**vars_of(learner.config), "gradient_clip": math.inf})
    learner.update(trajectories)
    return {name: p.grad.clone() for name, p in model.named_parameters()}


def vars_of(config):
    import dataclasses

    return dataclasses.asdict(config)


def assert_equal_gradients(left, right):
    for name, value in left.items():
        torch.testing.assert_close(value, right[name], atol=1e-6, rtol=1e-4)


def test_leave_one_out_compares_with_the_others(make_trajectory):
    group = [make_trajectory([5], [6], reward=r) for r in (1.0, 0.0, 0.0, 0.5)]
    values, dropped = advantages(group, GRPOConfig())
    assert dropped == 0
    assert values == pytest.approx([1 - 0.5 / 3, -0.5, -0.5, 0.5 - 1 / 3])


def test_group_normalised_advantages_have_unit_spread(make_trajectory):
    group = [make_trajectory([5], [6], reward=r) for r in (1.0, 0.0, 0.0, 0.5)]
    values, _ = advantages(group, GRPOConfig(advantage="group_normalised"))
    assert math.fsum(values) == pytest.approx(0.0)
    assert math.fsum(value**2 for value in values) / 4 == pytest.approx(1.0)


def test_a_group_without_variance_is_dropped_by_tolerance(make_trajectory):
    group = [make_trajectory([5], [6], reward=r) for r in (0.1 + 0.2, 0.3)]
    values, dropped = advantages(group, GRPOConfig(advantage="group_normalised"))
    assert dropped == 1
    assert all(map(math.isnan, values))


def test_a_group_of_one_is_dropped(make_trajectory):
    values, dropped = advantages([make_trajectory([5], [6], reward=1.0)], GRPOConfig())
    assert dropped == 1
    assert math.isnan(values[0])


def test_an_invalid_reward_is_in_no_baseline_and_no_loss(make_policy, make_trajectory, mixed):
    broken = make_trajectory([5, 6, 7], [30, 31], reward=0.0, group=0, valid=False)
    values, _ = advantages([*mixed, broken], GRPOConfig())
    assert math.isnan(values[-1])
    assert values[:-1] == advantages(mixed, GRPOConfig())[0]
    assert_equal_gradients(
        gradients(learner(make_policy), mixed), gradients(learner(make_policy), [*mixed, broken])
    )


def test_groups_are_told_apart_by_id_not_by_prompt(make_trajectory):
    same_prompt = [
        make_trajectory([5], [6], reward=reward, group=group)
        for group, reward in ((0, 1.0), (0, 1.0), (1, 0.0), (1, 0.0))
    ]
    assert advantages(same_prompt, GRPOConfig())[1] == 2


def test_an_update_without_anything_to_learn_changes_nothing(make_policy, make_trajectory):
    grpo = learner(make_policy)
    before = copy.deepcopy(grpo.policy.model.state_dict())
    report = grpo.update([make_trajectory([5], [6, 7], reward=1.0) for _ in range(4)])
    assert (report.groups, report.groups_dropped, report.tokens) == (1, 1, 0)
    assert all(torch.equal(before[k], v) for k, v in grpo.policy.model.state_dict().items())
    assert grpo.update([]).tokens == 0


@pytest.mark.parametrize("budget", [1, 16, 60, 100_000])
def test_the_split_into_micro_batches_changes_no_gradient(make_policy, mixed, budget):
    whole = gradients(learner(make_policy, tokens_per_micro_batch=100_000), mixed)
    split = gradients(learner(make_policy, tokens_per_micro_batch=budget), mixed)
    assert_equal_gradients(whole, split)


def test_the_order_of_groups_and_members_changes_no_gradient(make_policy, mixed):
    assert_equal_gradients(
        gradients(learner(make_policy), mixed), gradients(learner(make_policy), mixed[::-1])
    )


def test_the_loss_is_divided_by_all_tokens_once(make_policy, mixed):
    # The gradient must be that of (sum over all tokens) / (number of all tokens), written out.
    grpo = learner(make_policy, tokens_per_micro_batch=16)
    trajectories = on_policy(grpo.policy, mixed)
    found = gradients(grpo, trajectories)
    values, _ = advantages(trajectories, GRPOConfig())
    policy = make_policy()
    total = 0.0
    for trajectory, value in zip(trajectories, values, strict=True):
        logprobs = policy.logprobs(collate(pack([trajectory], max_tokens=1000)))
        total = total - value * (logprobs - logprobs.detach()).exp().sum()
    (total / sum(t.sampled_tokens for t in trajectories)).backward()
    expected = {name: p.grad for name, p in policy.model.named_parameters()}
    assert_equal_gradients(found, expected)


def test_given_tokens_have_exactly_no_gradient(make_policy, make_trajectory):
    # Token 50 is given, never sampled and seen by nothing that is sampled after it; token 51 is
    # given before a sampled one. Neither may be pushed up or down as an output.
    grpo = learner(make_policy)
    grpo.policy.model.config.tie_word_embeddings = False
    head = grpo.policy.model.get_output_embeddings()
    seen = []
    head.register_forward_hook(lambda module, inputs, output: seen.append(output))
    mask = [True, False, True, False]
    trajectories = [
        make_trajectory([5, 6], [8, 51, 9, 50], mask=mask, reward=1.0),
        make_trajectory([5, 6], [8, 51, 10, 50], mask=mask, reward=0.0),
    ]
    grpo.update(trajectories)
    assert sum(output.shape[0] for output in seen) == 4
    # The embedding of a token that only comes after every sampled one gets no gradient at all.
    embedding = grpo.policy.model.get_input_embeddings().weight
    assert torch.count_nonzero(embedding.grad[50]) == 0
    assert torch.count_nonzero(embedding.grad[51]) > 0


def test_padding_and_masked_tokens_do_not_reach_the_gradient(make_policy, make_trajectory):
    mask = [True, False]
    left, right = (
        gradients(
            learner(make_policy),
            [
                make_trajectory([5, 6], [8, given], mask=mask, reward=1.0),
                make_trajectory([5, 6], [9, given], mask=mask, reward=0.0),
                make_trajectory([5, 6], [9] * 30, reward=0.0),
            ],
        )
        for given in (50, 60)
    )
    for name, value in left.items():
        assert torch.equal(value, right[name])


def test_the_first_ratio_is_one(make_policy, mixed):
    grpo = learner(make_policy)
    report = grpo.update(on_policy(grpo.policy, mixed))
    assert report.first_ratio == pytest.approx(1.0, abs=1e-5)
    assert report.clipped == 0.0
    assert report.loss != 0.0  # a length-weighted mean of advantages, not a sign of progress


def test_a_step_makes_what_was_rewarded_likelier(make_policy, mixed):
    grpo = learner(make_policy, learning_rate=1e-3)
    trajectories = on_policy(grpo.policy, mixed)
    grpo.update(trajectories)
    after = on_policy(grpo.policy, trajectories)
    assert sum(after[0].logprobs) > sum(trajectories[0].logprobs)
    assert sum(after[1].logprobs) < sum(trajectories[1].logprobs)
    assert grpo.policy.version == 1


def test_a_ratio_past_the_clip_has_no_gradient(make_policy, make_trajectory):
    grpo = learner(make_policy, clip_low=0.2, clip_high=0.28)
    good = make_trajectory([5, 6], [8], reward=1.0, logprobs=[-30.0])  # ratio far above 1.28
    bad = make_trajectory([5, 6], [9], reward=0.0, logprobs=[-1e-9])  # ratio far below 0.8
    found = gradients(grpo, [good, bad])
    assert all(torch.count_nonzero(value) == 0 for value in found.values())


def test_a_token_without_finite_logprob_is_in_neither_sum(make_policy, make_trajectory):
    pair = [
        make_trajectory([5, 6], [8], reward=1.0),
        make_trajectory([5, 6], [9], reward=0.0),
    ]
    spoiled = [
        make_trajectory([5, 6], [8, 10], reward=1.0, logprobs=[-1.0, -math.inf]),
        pair[1],
    ]
    grpo = learner(make_policy)
    assert_equal_gradients(gradients(learner(make_policy), pair), gradients(grpo, spoiled))
    assert grpo.update(spoiled).tokens == 2


def test_an_older_samplers_tokens_carry_capped_importance(make_policy, make_trajectory):
    def stale(logprob):
        return [
            make_trajectory([5, 6], [8], reward=1.0, logprobs=[logprob]),
            make_trajectory([5, 6], [9], reward=0.0, logprobs=[logprob]),
        ]

    def older(value, **options):
        grpo = learner(make_policy, **options)
        grpo.policy.version = 1  # the trajectories say 0
        return gradients(grpo, stale(value))

    # Both tokens were much less likely under the sampler, so both weigh the cap.
    once, twice = older(-30.0, importance_cap=1.0), older(-30.0, importance_cap=2.0)
    for name, value in once.items():
        torch.testing.assert_close(2 * value, twice[name], atol=1e-6, rtol=1e-4)
    # The ratio is taken against the present policy: nothing is clipped although it has moved.
    assert any(torch.count_nonzero(value) for value in once.values())


def test_the_reference_pulls_the_policy_back(make_policy, make_trajectory):
    reference = make_policy(1)
    grpo = GRPO(
        make_policy(0),
        GRPOConfig(kl_coefficient=10.0, learning_rate=1e-3),
        reference=reference,
    )
    trajectories = [
        make_trajectory([5, 6], [8, 9], reward=0.0),
        make_trajectory([5, 6], [10, 11], reward=1e-3),
    ]
    trajectories = on_policy(grpo.policy, trajectories)
    batch = collate(pack(trajectories, max_tokens=100))

    def distance():
        with torch.no_grad():
            return float((grpo.policy.logprobs(batch) - reference.logprobs(batch)).abs().mean())

    before = distance()
    for _ in range(5):
        grpo.update(on_policy(grpo.policy, trajectories))
    assert distance() < before
    with pytest.raises(ValueError, match="reference"):
        GRPO(make_policy(), GRPOConfig(kl_coefficient=0.1))
