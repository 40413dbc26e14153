import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from execgym.agents.packing import collate, micro_batches, pack


def group(make_trajectory):
    return [
        make_trajectory([5, 6, 7], [8, 9, 1]),
        make_trajectory([5, 6, 7], [10]),
        make_trajectory([5, 6, 7], [11, 12, 13, 14, 15], mask=[True, False, False, True, True]),
        make_trajectory([20] * 9, [21, 22]),
    ]


def by_token(policy, batches):
    found = {}
    for batch in batches:
        values = policy.logprobs(batch)
        for owner, offset, value in zip(
            batch.owners.tolist(), batch.offsets.tolist(), values, strict=True
        ):
            found[owner, offset] = value
    return found


def test_shared_prompts_give_the_logprobs_of_separate_rows(policy, make_trajectory):
    trajectories = group(make_trajectory)
    shared = pack(trajectories, max_tokens=1000)
    apart = pack(trajectories, max_tokens=1000, share_prompts=False)
    assert (len(shared), len(apart)) == (2, 4)
    with torch.no_grad():
        left = by_token(policy, micro_batches(shared, max_tokens=1000))
        right = by_token(policy, micro_batches(apart, max_tokens=1000))
    assert left.keys() == right.keys()
    for key, value in left.items():
        torch.testing.assert_close(value, right[key], atol=1e-5, rtol=1e-5)


def test_logprobs_are_those_of_the_plain_model(policy, make_trajectory):
    trajectory = make_trajectory([5, 6, 7], [8, 9, 1])
    with torch.no_grad():
        logits = policy.model(torch.tensor([[5, 6, 7, 8, 9, 1]])).logits[0].log_softmax(-1)
        found = by_token(policy, [collate(pack([trajectory], max_tokens=100))])
    for offset, token in enumerate([8, 9, 1]):
        torch.testing.assert_close(found[0, offset], logits[2 + offset, token])


@pytest.mark.parametrize("multiple", [1, 16, 64])
def test_the_amount_of_padding_changes_nothing(policy, make_trajectory, multiple):
    rows = pack(group(make_trajectory), max_tokens=1000)
    with torch.no_grad():
        plain = policy.logprobs(collate(rows))
        padded = policy.logprobs(collate(rows, pad_to_multiple=multiple))
    torch.testing.assert_close(plain, padded, atol=1e-5, rtol=1e-5)


def test_no_output_for_a_given_token_is_used(make_trajectory):
    batch = collate(pack(group(make_trajectory), max_tokens=1000))
    targets = batch.token_ids[batch.rows, :].tolist()
    assert len(batch.targets) == 3 + 1 + 3 + 2
    assert 12 not in batch.targets.tolist()
    assert 13 not in batch.targets.tolist()
    assert targets


def test_a_sampled_token_has_no_gradient_through_a_later_one(policy, make_trajectory):
    # Branches must not see each other: the first one's log-probs ignore the second's tokens.
    first = make_trajectory([5, 6], [7, 8])
    with torch.no_grad():
        values = [
            by_token(
                policy,
                [collate(pack([first, make_trajectory([5, 6], tail)], max_tokens=100))],
            )[0, 1]
            for tail in ([9, 10], [11, 12])
        ]
    assert values[0] == values[1]


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.integers(1, 9), st.integers(1, 9)), min_size=1, max_size=12
    ),
    st.integers(1, 40),
)
def test_every_sampled_token_is_laid_out_once_within_the_budget(shapes, budget):
    from execgym.agents.trajectory import Segment, Trajectory

    trajectories = [
        Trajectory(
            prompt_ids=(prompt,) * length,
            segments=(Segment(token_ids=(1,) * tail, logprobs=(-1.0,) * tail, policy_version=0),),
            reward=0.0,
            reward_valid=True,
            task_id="t",
            group_id=0,
        )
        for prompt, length, tail in shapes
    ]
    rows = pack(trajectories, max_tokens=budget)
    batches = micro_batches(rows, max_tokens=budget)
    places = [
        place
        for batch in batches
        for place in zip(batch.owners.tolist(), batch.offsets.tolist(), strict=True)
    ]
    assert len(places) == len(set(places)) == sum(tail for _, _, tail in shapes)
    for batch in batches:
        assert batch.token_ids.numel() <= budget or batch.token_ids.shape[0] == 1
