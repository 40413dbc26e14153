"""A tiny model made on the fly, and a text env behind a small `send`/`recv` pool."""

import dataclasses

import pytest
import tokenizers
import torch
import transformers

from execgym.agents.policy import LLMPolicy
from execgym.agents.prompts import RawPrompt
from execgym.agents.trajectory import Segment, Trajectory

CHAT_TEMPLATE = (
    "{% for message in messages %}<{{ message['role'] }}>{{ message['content'] }}<eos>\n"
    "{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"
)


def build_tokenizer():
    """One token a byte, and an EOS that is also what padding would be."""
    characters = {chr(code): code for code in range(32, 127)}
    vocabulary = {"<unk>": 0, "<eos>": 1, "\n": 2} | {c: n - 29 for c, n in characters.items()}
    backend = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="<unk>"))
    backend.pre_tokenizer = tokenizers.pre_tokenizers.Split(tokenizers.Regex(r"(.|\n)"), "isolated")
    backend.decoder = tokenizers.decoders.Fuse()
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=backend, unk_token="<unk>", eos_token="<eos>", pad_token="<eos>"
    )
    tokenizer.chat_template = CHAT_TEMPLATE
    return tokenizer


def build_model(seed=0, **overrides):
    torch.manual_seed(seed)
    settings = {
        "vocab_size": 98,
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": 512,
        "initializer_range": 0.3,
        "bos_token_id": None,
        "eos_token_id": 1,
    }
    config = transformers.LlamaConfig(**(settings | overrides))
    return transformers.AutoModelForCausalLM.from_config(config).eval()


def build_policy(seed=0, *, model=None, **options):
    defaults = {"style": RawPrompt(suffix=">", action_prefix=""), "max_new_tokens": 8}
    return LLMPolicy(build_model(seed, **(model or {})), build_tokenizer(), **(defaults | options))


@pytest.fixture
def make_policy():
    return build_policy


@pytest.fixture
def policy():
    return build_policy()


@pytest.fixture
def make_tokenizer():
    return build_tokenizer


@pytest.fixture(autouse=True)
def one_thread():
    torch.set_num_threads(1)


@dataclasses.dataclass
class Answer:
    env_ids: list
    observations: list
    rewards: list
    terminations: list
    truncations: list
    infos: list
    resets: list


class LetterEnvs:
    """Tasks are letters; a message earns the part of it that is the task's letter.

    Episodes have `turns` turns. Answers come back in the order `order` makes of them, so that a
    test can have envs that overtake one another.
    """

    def __init__(self, num_envs, *, turns=1, order=lambda waiting: waiting, invalid=()):
        self.num_envs = num_envs
        self.turns = turns
        self.order = order
        self.invalid = set(invalid)
        self.waiting = []
        self.tasks = {}
        self.turn = {}
        self.sent = []

    def send_reset(self, env_ids, *, seeds=None, options=None):
        for env_id, option in zip(env_ids, options, strict=True):
            self.tasks[env_id] = option["task_id"]
            self.turn[env_id] = 0
            info = {"task_id": option["task_id"], "level": 1, "reward_valid": True}
            self.waiting.append((env_id, f"say {option['task_id']}", 0.0, False, info, True))

    def send(self, actions, env_ids):
        self.sent.append(list(env_ids))
        for env_id, action in zip(env_ids, actions, strict=True):
            task = self.tasks[env_id]
            self.turn[env_id] += 1
            over = self.turn[env_id] >= self.turns
            reward = action.count(task) / max(1, len(action)) if over else 0.0
            info = {"task_id": task, "level": 1, "reward_valid": task not in self.invalid}
            if over:
                info["verdict"] = {"status": "pass" if reward > 0.2 else "fail", "reason": "r"}
            self.waiting.append((env_id, f"turn {self.turn[env_id]}", reward, over, info, False))

    def recv(self, min_envs=1, max_envs=None, timeout=None):
        self.waiting = self.order(self.waiting)
        taken, self.waiting = self.waiting[:min_envs], self.waiting[min_envs:]
        assert taken, "recv would wait for ever"
        columns = [list(column) for column in zip(*taken, strict=True)]
        env_ids, observations, rewards, overs, infos, resets = columns
        return Answer(env_ids, observations, rewards, overs, [False] * len(taken), infos, resets)


@pytest.fixture
def letter_envs():
    return LetterEnvs


@pytest.fixture
def make_trajectory():
    def build(
        prompt, tail, *, reward=0.0, group=0, valid=True, mask=None, logprobs=None, version=0
    ):
        """A trajectory with one segment a token; the mask says which are sampled."""
        mask = mask or [True] * len(tail)
        logprobs = logprobs or [-1.0] * len(tail)
        segments = tuple(
            Segment(token_ids=(token,), logprobs=(value,), policy_version=0)
            if sampled
            else Segment(token_ids=(token,))
            for token, sampled, value in zip(tail, mask, logprobs, strict=True)
        )
        return Trajectory(
            prompt_ids=tuple(prompt),
            segments=segments,
            reward=reward,
            reward_valid=valid,
            task_id="t",
            group_id=group,
        )

    return build
