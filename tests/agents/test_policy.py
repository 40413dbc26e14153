import numpy as np
import pytest
import torch

from execgym.agents.packing import collate, pack
from execgym.agents.policy import LLMPolicy, use_threads
from execgym.agents.prompts import ChatPrompt, RawPrompt
from execgym.agents.trajectory import Segment, Trajectory


def generators(count, seed=0):
    return [np.random.default_rng([seed, index]) for index in range(count)]


def trajectory_of(context, completion, group=0):
    segment = Segment(
        token_ids=completion.token_ids, logprobs=completion.logprobs, policy_version=0
    )
    return Trajectory(
        prompt_ids=tuple(context),
        segments=(segment,),
        reward=0.0,
        reward_valid=True,
        task_id="t",
        group_id=group,
    )


def test_sampling_logprobs_equal_those_of_the_training_pass(make_policy):
    # Sampling pads on the left and caches, training pads on the right and packs: equal figures
    # mean that neither the side nor the amount of padding matters.
    policy = make_policy(temperature=0.7)
    contexts = [[5, 6, 7], [5, 6, 7], [8] * 20, [9, 10], [5, 6, 7]]
    completions = policy.generate(contexts, generators(5))
    trajectories = [trajectory_of(*pair) for pair in zip(contexts, completions, strict=True)]
    batch = collate(pack(trajectories, max_tokens=1000))
    with torch.no_grad():
        recomputed = policy.logprobs(batch)
    sampled = [
        trajectories[owner].logprobs[offset]
        for owner, offset in zip(batch.owners.tolist(), batch.offsets.tolist(), strict=True)
    ]
    assert len(sampled) == sum(len(completion.token_ids) for completion in completions)
    torch.testing.assert_close(recomputed, torch.tensor(sampled), atol=1e-4, rtol=1e-4)


def test_a_sample_does_not_depend_on_its_companions(policy):
    context, other = [5, 6, 7], [8] * 30
    alone = policy.generate([context], generators(1))[0]
    together = policy.generate([context, other, other], generators(3))[0]
    assert alone.token_ids == together.token_ids


def test_chunked_generation_gives_the_same_samples(make_policy):
    contexts = [[5, 6, 7], [8] * 30, [5, 6, 7], [9, 10]]
    whole = make_policy().generate(contexts, generators(4))
    chunked = make_policy(max_rows=1).generate(contexts, generators(4))
    assert [c.token_ids for c in whole] == [c.token_ids for c in chunked]


def test_greedy_generation_takes_the_likeliest_token(policy):
    completion = policy.generate([[5, 6, 7]])[0]
    with torch.no_grad():
        logits = policy.model(torch.tensor([[5, 6, 7]])).logits[0, -1]
    assert completion.token_ids[0] == int(logits.argmax())


def test_samples_follow_the_models_distribution(make_policy):
    policy = make_policy(max_new_tokens=1)
    count = 4000
    drawn = [c.token_ids[0] for c in policy.generate([[5, 6]] * count, generators(count))]
    with torch.no_grad():
        expected = policy.model(torch.tensor([[5, 6]])).logits[0, -1].softmax(-1).numpy()
    observed = np.bincount(drawn, minlength=len(expected)) / count
    # Pearson's statistic has mean 97 and deviation 14 here; 180 is six deviations away.
    assert count * ((observed - expected) ** 2 / expected).sum() < 180


def test_a_completion_keeps_the_token_that_ended_it(make_policy):
    policy = make_policy(max_new_tokens=60)
    ended = [c for c in policy.generate([[5, 6]] * 40, generators(40)) if c.stopped]
    stops = set(policy._stop_ids.tolist())
    assert ended
    assert {1, 2, 30} == stops  # EOS, the new line and the semicolon
    for completion in ended:
        assert completion.token_ids[-1] in stops
        assert not stops & set(completion.token_ids[:-1])
        assert ";" not in completion.text
        assert "\n" not in completion.text
        assert "<eos>" not in completion.text


def test_a_message_without_end_is_cut_at_its_limit(make_policy):
    policy = make_policy(max_new_tokens=3)
    unended = [c for c in policy.generate([[5, 6]] * 40, generators(40)) if not c.stopped]
    assert unended
    assert all(len(completion.token_ids) == 3 for completion in unended)


def test_an_empty_or_overlong_context_is_refused(policy):
    with pytest.raises(ValueError, match="1 to 504 tokens"):
        policy.generate([[]])
    with pytest.raises(ValueError, match="not 505"):
        policy.generate([[5] * 505])


def test_a_temperature_must_be_positive(make_policy):
    with pytest.raises(ValueError, match="temperature"):
        make_policy(temperature=0.0)


def test_a_chat_is_extended_token_by_token(make_tokenizer):
    tokenizer = make_tokenizer()
    style = ChatPrompt(system="be brief")
    first = style.first(tokenizer, "hello")
    message = [*tokenizer.encode("hi", add_special_tokens=False), tokenizer.eos_token_id]
    conversation = [*first, *message, *style.following(tokenizer, "more")]
    rendered = tokenizer.apply_chat_template(
        [
            {"role": "system", "content": "be brief"},
            {"role": "user", "content": "hello"},
            {"role": "assistant", "content": "hi"},
            {"role": "user", "content": "more"},
        ],
        add_generation_prompt=True,
        tokenize=False,
    )
    assert conversation == tokenizer.encode(rendered, add_special_tokens=False)


def test_a_chat_template_that_rewrites_history_is_refused(make_tokenizer):
    tokenizer = make_tokenizer()
    tokenizer.chat_template = "{{ messages | length }}" + tokenizer.chat_template
    with pytest.raises(ValueError, match="rewrites earlier turns"):
        ChatPrompt().following(tokenizer, "more")


def test_a_raw_prompt_puts_its_prefix_back_into_the_action(make_tokenizer):
    style = RawPrompt()
    tokenizer = make_tokenizer()
    assert tokenizer.decode(style.first(tokenizer, "Question: x")) == "Question: x\nSQL: SELECT"
    assert style.action(" 1") == "SELECT 1"
    with pytest.raises(ValueError, match="must end with"):
        RawPrompt(suffix="\nSQL:", action_prefix="SELECT")


@pytest.mark.filterwarnings("ignore:.*is_gradient_checkpointing:FutureWarning")  # in peft
def test_low_rank_adapters_train_alone(make_policy, tmp_path):
    whole = make_policy()
    whole.model.save_pretrained(tmp_path)
    whole.tokenizer.save_pretrained(tmp_path)
    policy = LLMPolicy.load(str(tmp_path), device="cpu", lora_rank=2)
    names = [n for n, p in policy.model.named_parameters() if p.requires_grad]
    assert names
    assert all("lora_" in name for name in names)
    assert policy.generate([[5, 6]], generators(1))[0].token_ids


def test_threads_leave_a_core_to_the_sandboxes():
    import os

    assert use_threads() == max(1, len(os.sched_getaffinity(0)) - 1)
    assert use_threads(1) == torch.get_num_threads() == 1
