"""The folder that a training run leaves: episodes, figures, curve, checkpoint and model."""

from __future__ import annotations

import dataclasses
import json
import os
import random
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from execgym.agents.evaluation import Evaluation
from execgym.agents.grpo import GRPO
from execgym.agents.models import quiet
from execgym.agents.trajectory import Trajectory


class RunDirectory:
    """What a run writes down.

    - `config.json`: the run's configuration.
    - `episodes.jsonl`: every training episode, one JSON object a line.
    - `evaluations.jsonl`: every evaluation.
    - `tensorboard/`: the figures of each step.
    - `learning_curve.png`
    - `checkpoint.pt`: the newest checkpoint, from which a run goes on exactly.
    - `model/`: the trained model in Hugging Face's form.

    Args:
        path: The folder, made where it is not there.
    """

    def __init__(self, path: Path) -> None:
        with warnings.catch_warnings():
            # TensorBoard and protobuf warn about themselves on some versions.
            warnings.simplefilter("ignore", DeprecationWarning)
            from torch.utils.tensorboard import SummaryWriter

        path.mkdir(parents=True, exist_ok=True)
        self.path = path
        self._writer = SummaryWriter(str(path / "tensorboard"))

    def close(self) -> None:
        """Flush the figures. Closing twice is fine."""
        self._writer.close()

    # ---- what happens -------------------------------------------------------------------------

    def write_config(self, config: Any) -> None:
        """Write a configuration dataclass."""
        text = json.dumps(dataclasses.asdict(config), indent=2, default=str)
        (self.path / "config.json").write_text(text + "\n")

    def write_episodes(self, step: int, trajectories: Sequence[Trajectory]) -> None:
        """Append the episodes of a step."""
        with (self.path / "episodes.jsonl").open("a") as file:
            for trajectory in trajectories:
                file.write(json.dumps({"step": step, **_as_json(trajectory)}) + "\n")

    def write_evaluation(self, evaluation: Evaluation) -> None:
        """Append an evaluation, with its episodes."""
        entry = {
            "step": evaluation.step,
            "label": evaluation.label,
            "success": dataclasses.asdict(evaluation.success),
            "by_kind": {
                kind: dataclasses.asdict(rate) for kind, rate in evaluation.by_kind.items()
            },
            "episodes": [_as_json(trajectory) for trajectory in evaluation.trajectories],
        }
        with (self.path / "evaluations.jsonl").open("a") as file:
            file.write(json.dumps(entry) + "\n")
        self.write_figures(evaluation.step, {"held_out/success": evaluation.success.rate})

    def write_figures(self, step: int, figures: Mapping[str, float]) -> None:
        """Add figures to the TensorBoard log."""
        for name, value in figures.items():
            self._writer.add_scalar(name, value, step)
        self._writer.flush()

    def forget_after(self, step: int) -> None:
        """Drop episodes and evaluations later than a step, before a run goes on from it."""
        for name, last in (("episodes.jsonl", step - 1), ("evaluations.jsonl", step)):
            file = self.path / name
            if file.exists():
                lines = file.read_text().splitlines(keepends=True)
                kept = [line for line in lines if json.loads(line)["step"] <= last]
                _replace(file, lambda target, kept=kept: target.write_text("".join(kept)))

    # ---- the curve ----------------------------------------------------------------------------

    def draw_curve(self, evaluations: Sequence[Evaluation], training: Sequence[float]) -> None:
        """Draw `learning_curve.png`.

        Args:
            evaluations: The points, with their intervals.
            training: Success rate of each step's training episodes, from the first step on.
        """
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        figure = Figure(figsize=(7, 4.2), layout="constrained")
        FigureCanvasAgg(figure)
        axes = figure.add_subplot()
        steps = range(1, len(training) + 1)
        axes.plot(steps, training, color="0.75", linewidth=1, label="training episodes, sampled")
        rates = [evaluation.success.rate for evaluation in evaluations]
        axes.errorbar(
            [evaluation.step for evaluation in evaluations],
            rates,
            yerr=[
                [rate - each.success.low for rate, each in zip(rates, evaluations, strict=True)],
                [each.success.high - rate for rate, each in zip(rates, evaluations, strict=True)],
            ],
            color="tab:blue",
            marker="o",
            capsize=3,
            label="held-out tasks, 95 % interval",
        )
        for evaluation in evaluations:
            if not evaluation.label.startswith("step"):
                axes.annotate(
                    evaluation.label,
                    (evaluation.step, evaluation.success.rate),
                    xytext=(6, -4),
                    textcoords="offset points",
                )
        axes.set(xlabel="GRPO step", ylabel="success rate", ylim=(0, 1))
        axes.grid(alpha=0.3)
        axes.legend(loc="lower right")
        figure.savefig(self.path / "learning_curve.png", dpi=140)

    # ---- checkpoints --------------------------------------------------------------------------

    def save_checkpoint(self, grpo: GRPO, progress: Mapping[str, Any]) -> None:
        """Write everything that the run's future depends on, replacing the last checkpoint.

        Args:
            grpo: The learner; of the model, the parameters that are trained are kept.
            progress: Plain data of the caller's.
        """
        name, keys, position, has_gauss, gauss = np.random.get_state()
        state = {
            "parameters": {
                key: value
                for key, value in grpo.policy.model.named_parameters()
                if value.requires_grad
            },
            "grpo": grpo.state_dict(),
            "progress": dict(progress),
            "torch": torch.get_rng_state(),
            "numpy": [name, np.asarray(keys).tolist(), position, has_gauss, gauss],
            "python": random.getstate(),
        }
        if torch.cuda.is_available():
            state["cuda"] = torch.cuda.get_rng_state_all()
        _replace(self.path / "checkpoint.pt", lambda target: torch.save(state, target))

    def load_checkpoint(self, grpo: GRPO) -> dict[str, Any] | None:
        """Take up the last checkpoint and return its progress, or None where there is none."""
        file = self.path / "checkpoint.pt"
        if not file.exists():
            return None
        # weights_only: a checkpoint is data, and loading one must not run code.
        state = torch.load(file, map_location=grpo.policy.device, weights_only=True)
        own = dict(grpo.policy.model.named_parameters())
        with torch.no_grad():
            for key, value in state["parameters"].items():
                own[key].copy_(value)
        grpo.load_state_dict(state["grpo"])
        torch.set_rng_state(state["torch"].cpu())
        name, keys, position, has_gauss, gauss = state["numpy"]
        np.random.set_state((name, np.array(keys, dtype=np.uint32), position, has_gauss, gauss))
        version, words, gauss_next = state["python"]
        random.setstate((version, tuple(words), gauss_next))
        if "cuda" in state and torch.cuda.is_available():
            torch.cuda.set_rng_state_all([each.cpu() for each in state["cuda"]])
        return dict(state["progress"])

    def save_model(self, grpo: GRPO) -> None:
        """Write the model, or its adapters, and the tokenizer to `model/`."""
        with quiet():
            grpo.policy.model.save_pretrained(self.path / "model")
        grpo.policy.tokenizer.save_pretrained(self.path / "model")


def _as_json(trajectory: Trajectory) -> dict[str, Any]:
    return {
        "task_id": trajectory.task_id,
        "group": trajectory.group_id,
        "level": trajectory.level,
        "reward": trajectory.reward,
        "reward_valid": trajectory.reward_valid,
        "success": trajectory.success,
        "status": trajectory.status,
        "reason": trajectory.reason,
        "observation": trajectory.observation,
        "actions": trajectory.actions,
        "image": trajectory.image,
        "sampled_tokens": trajectory.sampled_tokens,
    }


def _replace(file: Path, write: Any) -> None:
    """Write a file under another name first, so that a crash leaves the old one whole."""
    staged = file.with_name(file.name + ".new")
    write(staged)
    os.replace(staged, file)
