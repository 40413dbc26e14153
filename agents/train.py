"""Training: GRPO on a vector env, from the first prompt to the last evaluation."""

from __future__ import annotations

import dataclasses
import importlib
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

import gymnasium
import numpy as np
import torch
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

import execgym
from execgym.agents.evaluation import Evaluation, evaluate, held_out_tasks
from execgym.agents.grpo import GRPO, GRPOConfig, UpdateReport
from execgym.agents.models import SMOLLM2
from execgym.agents.policy import LLMPolicy, use_threads
from execgym.agents.prompts import ChatPrompt, PromptStyle, RawPrompt
from execgym.agents.rollout import collect
from execgym.agents.run_directory import RunDirectory
from execgym.agents.trajectory import Trajectory
from execgym.agents.warm_start import Example, WarmStartConfig, warm_start
from execgym.envs.task import TaskSource
from execgym.judging.success_rate import success_rate


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class TrainConfig:
    """A training run.

    Attributes:
        run_directory: Where the run is written down; see `RunDirectory`.
        env: The env's id.
        env_options: Keyword arguments of `gymnasium.make_vec`.
        eval_env: The env of the evaluations, or the empty string for `env`.
        levels: Levels that tasks are drawn from, evenly; empty for all of them.
        model: See `execgym.agents.models.load_model`.
        device: `"auto"`, or a torch device.
        lora_rank: See `LLMPolicy.load`.
        compile_model: See `LLMPolicy`.
        threads: Of torch; 0 for one less than there are cores.
        prompt: `"raw"` or `"chat"`; see `execgym.agents.prompts`.
        raw_suffix: See `RawPrompt`.
        raw_action_prefix: See `RawPrompt`.
        temperature: See `LLMPolicy`.
        max_new_tokens: See `LLMPolicy`.
        num_envs: Envs, or 0 for one for each episode of a step.
        groups_per_step: Tasks a step.
        group_size: Episodes of each task.
        steps: Steps to make at most, counted from the beginning of the run.
        seconds: Time of learning after which no new step begins, with the warm start and without
            the evaluations; 0 for no limit. A run that it ends is not reproducible to the bit.
        learning_rate: See `GRPOConfig`.
        epochs: See `GRPOConfig`.
        advantage: See `GRPOConfig`.
        kl_coefficient: See `GRPOConfig`; the reference is the model as it was loaded.
        tokens_per_micro_batch: See `GRPOConfig`.
        warm_start_examples: Reference solutions of training tasks to learn by likelihood first.
        warm_start_epochs: Times that each is seen.
        warm_start_learning_rate: See `WarmStartConfig`.
        eval_tasks: Held-out tasks of each evaluation; 0 for no evaluation.
        eval_every: Steps between evaluations; 0 for those before and after only.
        eval_split: Their split.
        eval_seed: Which tasks of it are drawn. Independent of `seed`, so that runs are compared on
            the same tasks.
        checkpoint_every: Steps between checkpoints; 0 for one at the end only.
        resume: Go on from the directory's checkpoint, where there is one.
        seed: Of everything that is drawn.
    """

    run_directory: Path = Path("runs/train")
    env: str = "execgym/SQL-v0"
    env_options: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    eval_env: str = ""
    levels: tuple[int, ...] = ()
    model: str = SMOLLM2
    device: str = "auto"
    lora_rank: int = 0
    compile_model: bool = False
    threads: int = 0
    prompt: Literal["raw", "chat"] = "raw"
    raw_suffix: str = "\nSQL: SELECT"
    raw_action_prefix: str = "SELECT"
    temperature: float = 1.0
    max_new_tokens: int = 32
    num_envs: int = 0
    groups_per_step: int = 6
    group_size: int = 8
    steps: int = 60
    seconds: float = 0.0
    learning_rate: float = 1e-5
    epochs: int = 1
    advantage: Literal["leave_one_out", "group_normalised", "centred"] = "leave_one_out"
    kl_coefficient: float = 0.0
    tokens_per_micro_batch: int = 2048
    warm_start_examples: int = 0
    warm_start_epochs: int = 2
    warm_start_learning_rate: float = 2e-5
    eval_tasks: int = 200
    eval_every: int = 0
    eval_split: str = "test"
    eval_seed: int = 0
    checkpoint_every: int = 25
    resume: bool = False
    seed: int = 0


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class TrainReport:
    """What a run came to.

    Attributes:
        run_directory: Where it is written down.
        steps: Steps made, those before a resumption included.
        episodes: Training episodes played by this call.
        learning_seconds: Time of the warm start and the steps, those before a resumption included.
        evaluations: The evaluations in order: the pretrained model, the warm start where there was
            one, and those of the steps. Those before a resumption come without their episodes.
        training_success: Success rate of the training episodes of each step.
    """

    run_directory: Path
    steps: int
    episodes: int
    learning_seconds: float
    evaluations: tuple[Evaluation, ...]
    training_success: tuple[float, ...]


def train(
    config: TrainConfig, *, policy: LLMPolicy | None = None, console: Console | None = None
) -> TrainReport:
    """Train a policy, write the run down, and report.

    Args:
        config: The run.
        policy: The policy to train, or None to load the one that the configuration names.
        console: Where progress goes, standard output by default.

    Raises:
        ModelNotFoundError: The model is not to be had.
        gymnasium.error.Error: The env cannot be made.
        SandboxUnavailableError: No sandbox can run here.
    """
    run = _Run(config, policy, console or Console())
    try:
        return run.train()
    finally:
        run.close()


class _Run:
    """A run while it lasts."""

    def __init__(self, config: TrainConfig, policy: LLMPolicy | None, console: Console) -> None:
        _check(config)
        use_threads(config.threads)
        torch.manual_seed(config.seed)
        self.config = config
        self.console = console
        self.directory = RunDirectory(config.run_directory)
        self.directory.write_config(config)
        episodes = config.groups_per_step * config.group_size
        self.envs = _make_envs(config, config.env, config.num_envs or episodes)
        self.source: TaskSource = self.envs.get_attr("task_source")[0]
        self.policy = policy if policy is not None else _load_policy(config, self.envs)
        self.reference = _frozen_copy(config, self.policy) if config.kl_coefficient else None
        self.grpo = GRPO(
            self.policy,
            GRPOConfig(
                learning_rate=config.learning_rate,
                epochs=config.epochs,
                advantage=config.advantage,
                kl_coefficient=config.kl_coefficient,
                tokens_per_micro_batch=config.tokens_per_micro_batch,
            ),
            reference=self.reference,
        )
        self.levels: tuple[int | None, ...] = config.levels or (None,)
        self.eval_envs: Any = None
        self.held_out: list[str] = []
        if config.eval_tasks:
            name = config.eval_env or config.env
            self.eval_envs = _make_envs(config, name, min(config.eval_tasks, 64))
            self.held_out = held_out_tasks(
                self.source,
                count=config.eval_tasks,
                split=config.eval_split,
                levels=self.levels,
                seed=config.eval_seed,
            )
        self.evaluations: list[Evaluation] = []
        self.training_success: list[float] = []
        self.step = 0
        self.seconds = 0.0
        self.episodes = 0

    def close(self) -> None:
        self.envs.close()
        if self.eval_envs is not None:
            self.eval_envs.close()
        self.directory.close()

    def train(self) -> TrainReport:
        progress = self.directory.load_checkpoint(self.grpo) if self.config.resume else None
        if progress is not None:
            self.step, self.seconds = progress["step"], progress["seconds"]
            self.training_success = list(progress["training_success"])
            self.evaluations = [_remembered(*entry) for entry in progress["evaluations"]]
            self.directory.forget_after(self.step)
            self.console.print(f"going on from step {self.step}")
        else:
            self.directory.forget_after(-1)
            self._evaluate("pretrained")
            if self.config.warm_start_examples:
                self._warm_start()
                self._evaluate("warm start")
        with _progress(self.console) as bar:
            task = bar.add_task("learning", total=self.config.steps, completed=self.step, text="")
            while self.step < self.config.steps and not self._out_of_time():
                text = self._one_step()
                bar.update(task, completed=self.step, text=text)
                if not self.console.is_terminal:
                    self.console.print(f"step {self.step}/{self.config.steps}  {text}")
                self._sometimes()
        if not self.evaluations or self.evaluations[-1].step != self.step:
            self._evaluate(f"step {self.step}")
        self._save()
        self.directory.save_model(self.grpo)
        self.directory.draw_curve(self.evaluations, self.training_success)
        return TrainReport(
            run_directory=self.config.run_directory,
            steps=self.step,
            episodes=self.episodes,
            learning_seconds=self.seconds,
            evaluations=tuple(self.evaluations),
            training_success=tuple(self.training_success),
        )

    def _one_step(self) -> str:
        config = self.config
        started = time.monotonic()
        # A step draws from a generator of its own, so a resumed run needs no generator's state.
        generator = np.random.default_rng([config.seed, self.step])
        levels = generator.choice(len(self.levels), size=config.groups_per_step)
        task_ids = [
            self.source.sample(generator, "train", self.levels[int(level)]) for level in levels
        ]
        trajectories = collect(
            self.envs,
            self.policy,
            task_ids,
            group_size=config.group_size,
            seed=[config.seed, self.step],
        )
        collected = time.monotonic()
        report = self.grpo.update(trajectories)
        ended = time.monotonic()
        self.directory.write_episodes(self.step, trajectories)
        self.step += 1
        self.seconds += ended - started
        self.episodes += len(trajectories)
        figures = _figures(trajectories, report) | {
            "time/rollout_seconds": collected - started,
            "time/update_seconds": ended - collected,
        }
        self.directory.write_figures(self.step, figures)
        self.training_success.append(figures["train/success"])
        return (
            f"success {figures['train/success']:.2f}  reward {figures['train/reward']:.2f}  "
            f"groups without variance {report.groups_dropped}/{report.groups}  "
            f"{self.seconds:.0f} s"
        )

    def _sometimes(self) -> None:
        config = self.config
        if config.eval_every and self.step % config.eval_every == 0:
            self._evaluate(f"step {self.step}")
            self.directory.draw_curve(self.evaluations, self.training_success)
        if config.checkpoint_every and self.step % config.checkpoint_every == 0:
            self._save()

    def _warm_start(self) -> None:
        config = self.config
        answer = _reference_answers(self.envs)
        generator = np.random.default_rng([config.seed, 2**31])
        examples = []
        for index in range(config.warm_start_examples):
            level = self.levels[index % len(self.levels)]
            task_id = self.source.sample(generator, "train", level)
            observation = self._observation(task_id)
            examples.append(
                Example(observation=observation, action=" ".join(answer(task_id).split()))
            )
        started = time.monotonic()
        losses = warm_start(
            self.policy,
            examples,
            WarmStartConfig(
                learning_rate=config.warm_start_learning_rate,
                epochs=config.warm_start_epochs,
                tokens_per_micro_batch=config.tokens_per_micro_batch,
                seed=config.seed,
            ),
        )
        taken = time.monotonic() - started
        self.seconds += taken
        self.console.print(
            f"warm start: {len(examples)} reference solutions x {config.warm_start_epochs}, "
            f"loss {losses[0]:.2f} to {losses[-1]:.2f} nats a token, "
            f"{taken:.0f} s"
        )

    def _observation(self, task_id: str) -> str:
        self.envs.send_reset([0], options=[{"task_id": task_id}])
        return str(self.envs.recv(min_envs=1).observations[0])

    def _evaluate(self, label: str) -> None:
        if not self.held_out:
            return
        evaluation = evaluate(
            self.eval_envs, self.policy, self.held_out, self.source, label=label, step=self.step
        )
        self.evaluations.append(evaluation)
        self.directory.write_evaluation(evaluation)
        self.console.print(f"held-out tasks, {label}: {evaluation.success}")

    def _save(self) -> None:
        evaluations = [
            (each.label, each.step, each.success.successes, each.success.episodes)
            for each in self.evaluations
        ]
        self.directory.save_checkpoint(
            self.grpo,
            {
                "step": self.step,
                "seconds": self.seconds,
                "training_success": self.training_success,
                "evaluations": evaluations,
            },
        )

    def _out_of_time(self) -> bool:
        return bool(self.config.seconds) and self.seconds >= self.config.seconds


def _check(config: TrainConfig) -> None:
    for name in ("groups_per_step", "steps", "max_new_tokens"):
        if getattr(config, name) < 1:
            raise ValueError(f"{name} must be at least 1, not {getattr(config, name)!r}")
    if config.group_size < 2:
        raise ValueError(
            f"group_size must be at least 2, not {config.group_size!r}: GRPO compares the samples "
            "of a group with one another"
        )


def _make_envs(config: TrainConfig, name: str, count: int) -> Any:
    execgym.register_envs()
    return gymnasium.make_vec(name, num_envs=count, **config.env_options)


def _load_policy(config: TrainConfig, envs: Any) -> LLMPolicy:
    style: PromptStyle
    if config.prompt == "chat":
        style = ChatPrompt()
    else:
        style = RawPrompt(suffix=config.raw_suffix, action_prefix=config.raw_action_prefix)
    return LLMPolicy.load(
        config.model,
        device=config.device,
        lora_rank=config.lora_rank,
        style=style,
        temperature=config.temperature,
        max_new_tokens=config.max_new_tokens,
        compile_model=config.compile_model,
    )


def _remembered(label: str, step: int, successes: int, episodes: int) -> Evaluation:
    return Evaluation(
        label=label,
        step=step,
        success=success_rate(successes, episodes),
        by_kind={},
        trajectories=(),
    )


def _frozen_copy(config: TrainConfig, policy: LLMPolicy) -> LLMPolicy:
    import copy

    return LLMPolicy(
        copy.deepcopy(policy.model).requires_grad_(False),
        policy.tokenizer,
        style=policy.style,
        temperature=policy.temperature,
        max_new_tokens=policy.max_new_tokens,
    )


def _reference_answers(envs: Any) -> Callable[[str], str]:
    """Return the domain's worked answers by task id; see each domain's `gold.py`."""
    domain = envs.get_attr("domain")[0]
    answer: Callable[[str], str] = importlib.import_module(
        f"execgym.envs.{domain}.gold"
    ).reference_answer
    return answer


def _figures(trajectories: list[Trajectory], report: UpdateReport) -> dict[str, float]:
    valid = [trajectory for trajectory in trajectories if trajectory.reward_valid]
    count = max(1, len(valid))
    return {
        "train/reward": sum(trajectory.reward for trajectory in valid) / count,
        "train/success": sum(trajectory.success for trajectory in valid) / count,
        "train/tokens_per_episode": sum(t.sampled_tokens for t in valid) / count,
        "train/invalid": float(report.invalid),
        "grpo/groups_dropped": report.groups_dropped / max(1, report.groups),
        "grpo/gradient_norm": report.gradient_norm,
        "grpo/first_ratio": report.first_ratio,
        "grpo/clipped": report.clipped,
        "grpo/kl_from_sampler": report.kl,
        "grpo/loss": report.loss,
    }


def _progress(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TextColumn("{task.completed}/{task.total}"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[text]}"),
        console=console,
        disable=not console.is_terminal,
    )
