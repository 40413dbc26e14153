import dataclasses
import json

import gymnasium
import numpy as np
import pytest
import rich.console
import torch

from execgym.agents.train import TrainConfig, train
from execgym.envs.spaces import Unicode
from execgym.envs.task import Task
from execgym.vector import AsyncVectorEnv

ENV = "execgym-tests/Letter-v0"


class LetterSource:
    splits = ("train", "test")

    def levels(self, split):
        return (1,)

    def ids(self, split, level=None):
        return [f"{split}/{letter}" for letter in "abcd"]

    def sample(self, generator, split, level=None):
        return f"{split}/{'abcd'[int(generator.integers(4))]}"

    def task(self, task_id):
        return Task(
            id=task_id,
            domain="letter",
            prompt=f"say {task_id[-1]}",
            level=1,
            split=task_id.split("/")[0],
        )


class LetterEnv(gymnasium.Env):
    """Earns the part of the message that is one of four letters, whatever the task."""

    domain = "letter"

    def __init__(self):
        self.observation_space = self.action_space = Unicode(1000)
        self.task_source = LetterSource()

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.task = self.task_source.task((options or {}).get("task_id", "train/a"))
        return self.task.prompt, {"task_id": self.task.id, "level": 1, "reward_valid": True}

    def step(self, action):
        reward = sum(map(action.count, "abcd")) / max(1, len(action))
        verdict = {"status": "pass" if reward > 0.3 else "fail", "reason": ""}
        info = {"task_id": self.task.id, "level": 1, "reward_valid": True, "verdict": verdict}
        info["image"] = "sha256:letters"
        return "", reward, True, False, info


def make_letters(num_envs):
    return AsyncVectorEnv([LetterEnv] * num_envs)


@pytest.fixture(autouse=True)
def letter_id():
    gymnasium.register(
        id=ENV, entry_point=LetterEnv, vector_entry_point=make_letters, disable_env_checker=True
    )
    yield
    del gymnasium.registry[ENV]


@pytest.fixture
def config(tmp_path):
    return TrainConfig(
        run_directory=tmp_path / "run",
        env=ENV,
        groups_per_step=2,
        group_size=4,
        steps=4,
        learning_rate=3e-3,
        eval_tasks=4,
        threads=1,
    )


@pytest.fixture
def run(make_policy):
    def call(config, seed=0):
        policy = make_policy(seed, max_new_tokens=6)
        report = train(config, policy=policy, console=rich.console.Console(quiet=True))
        return policy, report

    return call


def test_a_resumed_run_equals_one_that_was_not_interrupted(config, run, tmp_path):
    whole, _ = run(config)
    interrupted = dataclasses.replace(config, run_directory=tmp_path / "other", steps=2)
    run(interrupted)
    # Another model and other generator states: everything must come from the checkpoint.
    torch.manual_seed(99)
    resumed, report = run(dataclasses.replace(interrupted, steps=4, resume=True), seed=5)
    for left, right in zip(whole.model.parameters(), resumed.model.parameters(), strict=True):
        assert torch.equal(left, right)
    assert report.steps == 4
    assert [e.label for e in report.evaluations] == ["pretrained", "step 2", "step 4"]
    episodes = [(tmp_path / name / "episodes.jsonl").read_text() for name in ("run", "other")]
    assert episodes[0] == episodes[1]


def test_equal_seeds_give_equal_runs(config, run, tmp_path):
    first, _ = run(config)
    second, _ = run(dataclasses.replace(config, run_directory=tmp_path / "again"))
    other, _ = run(dataclasses.replace(config, run_directory=tmp_path / "other", seed=1))
    same = [
        torch.equal(a, b)
        for a, b in zip(first.model.parameters(), second.model.parameters(), strict=True)
    ]
    assert all(same)
    assert not torch.equal(next(first.model.parameters()), next(other.model.parameters()))


def test_a_run_leaves_all_that_it_promises(config, run):
    _, report = run(dataclasses.replace(config, eval_every=2))
    folder = config.run_directory
    assert json.loads((folder / "config.json").read_text())["env"] == ENV
    episodes = [json.loads(line) for line in (folder / "episodes.jsonl").read_text().splitlines()]
    assert len(episodes) == report.episodes == 4 * 2 * 4
    assert {"task_id", "actions", "reward", "reward_valid", "status", "step"} <= episodes[0].keys()
    assert {episode["image"] for episode in episodes} == {"sha256:letters"}
    evaluations = (folder / "evaluations.jsonl").read_text().splitlines()
    assert [json.loads(line)["step"] for line in evaluations] == [0, 2, 4]
    assert (folder / "learning_curve.png").read_bytes().startswith(b"\x89PNG")
    assert list((folder / "tensorboard").glob("events.*"))
    assert (folder / "checkpoint.pt").exists()
    assert (folder / "model" / "model.safetensors").exists()
    assert len(report.training_success) == 4


def test_training_raises_the_success_rate(config, run):
    _, report = run(dataclasses.replace(config, steps=40, group_size=16, eval_tasks=0))
    assert sum(report.training_success[-5:]) > 2 * sum(report.training_success[:5])
    assert report.evaluations == ()


def test_a_time_limit_ends_the_learning(config, run):
    _, report = run(dataclasses.replace(config, steps=1000, seconds=1e-9))
    assert report.steps == 1


def test_a_run_from_scratch_replaces_the_episodes_of_an_old_one(config, run):
    run(config)
    run(dataclasses.replace(config, steps=1))
    lines = (config.run_directory / "episodes.jsonl").read_text().splitlines()
    assert {json.loads(line)["step"] for line in lines} == {0}


def test_a_reference_may_hold_the_policy_back(config, run):
    free, _ = run(config)
    held, _ = run(dataclasses.replace(config, kl_coefficient=1.0))
    assert not torch.equal(next(free.model.parameters()), next(held.model.parameters()))


def test_a_group_of_one_is_refused(config, run):
    with pytest.raises(ValueError, match="group_size must be at least 2"):
        run(dataclasses.replace(config, group_size=1))


def test_too_many_held_out_tasks_are_refused(config, run):
    with pytest.raises(ValueError, match="found only 4 tasks"):
        run(dataclasses.replace(config, eval_tasks=5))


def test_training_leaves_numpys_own_generator_alone(config, run):
    np.random.seed(0)
    before = np.random.get_state()[1].tolist()
    run(config)
    assert np.random.get_state()[1].tolist() == before
