import pytest
import torch

from execgym.agents.prompts import RawPrompt
from execgym.agents.warm_start import Example, WarmStartConfig, warm_start


def test_worked_answers_become_what_is_said(make_policy):
    policy = make_policy(style=RawPrompt(suffix=">SAY ", action_prefix="SAY "), max_new_tokens=12)
    examples = [
        Example(observation="name", action="SAY abc"),
        Example(observation="no", action="SAY d"),
    ]
    losses = warm_start(policy, examples, WarmStartConfig(learning_rate=1e-2, epochs=60))
    assert losses[-1] < 0.1 < losses[0]
    contexts = [policy.style.first(policy.tokenizer, e.observation) for e in examples]
    completions = policy.generate(contexts)
    assert [policy.style.action(c.text) for c in completions] == ["SAY abc", "SAY d"]
    assert all(completion.stopped for completion in completions)


def test_the_same_seed_learns_the_same(make_policy):
    policies = [make_policy() for _ in range(2)]
    examples = [Example(observation=str(n), action=str(n)) for n in range(20)]
    for policy in policies:
        warm_start(policy, examples, WarmStartConfig())
    left, right = (list(policy.model.parameters()) for policy in policies)
    assert all(torch.equal(a, b) for a, b in zip(left, right, strict=True))


@pytest.mark.parametrize("action", ["DELETE", "SELECT 1;", "SELECT\n1"])
def test_an_answer_that_the_style_cannot_write_is_refused(make_policy, action):
    with pytest.raises(ValueError, match="an action of this style"):
        warm_start(
            make_policy(style=RawPrompt()),
            [Example(observation="q", action=action)],
            WarmStartConfig(),
        )
