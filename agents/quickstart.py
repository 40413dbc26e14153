"""The quick start: a pretrained language model learns to write SQL on two CPU cores.

`python -m execgym.agents.quickstart`, which is what `make quickstart` runs. SmolLM2-135M-Instruct
(Hugging Face, Apache-2.0) answers questions about databases that it has never seen. Each answer is
a query that is executed in a sandbox, on the database that the question is about and on hidden
ones, and the rows that come back are all that it learns from. The held-out tasks are about other
tables of other schemas.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from execgym.agents.evaluation import Evaluation
from execgym.agents.models import ModelNotFoundError
from execgym.agents.train import TrainConfig, TrainReport, train
from execgym.sandbox import SandboxError

_SHOWN_ANSWERS = 6


def quickstart_config(
    *, run_directory: Path = Path("runs/quickstart"), seed: int = 0, steps: int = 40
) -> TrainConfig:
    """Return the quick start's run.

    The untrained model writes a query that runs about once in forty, too rarely to learn from, so
    16 reference solutions of training tasks are shown to it first. What that alone brings is
    measured before the first step.

    Args:
        run_directory: See `TrainConfig`.
        seed: See `TrainConfig`.
        steps: See `TrainConfig`.
    """
    return TrainConfig(
        run_directory=run_directory,
        env="execgym/SQL-v0",
        env_options={"max_turns": 1, "instructions": False, "shaping": 0.1},
        levels=(1,),
        warm_start_examples=16,
        groups_per_step=6,
        group_size=8,
        steps=steps,
        seconds=600.0,
        max_new_tokens=32,
        learning_rate=2e-5,
        eval_tasks=200,
        checkpoint_every=0,
        seed=seed,
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the quick start and print what came of it.

    Returns:
        0 if held-out success rose beyond doubt, that is by intervals that do not overlap; else 1.
    """
    parser = argparse.ArgumentParser(
        prog="python -m execgym.agents.quickstart", description=(__doc__ or "").split("\n\n")[0]
    )
    parser.add_argument("--run-directory", type=Path, default=Path("runs/quickstart"))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=40, help="GRPO steps at most")
    options = parser.parse_args(arguments)
    console = Console()
    console.print(
        "SmolLM2-135M-Instruct (Apache-2.0) learns execgym/SQL-v0: at most ten minutes of "
        "learning, and three evaluations on 200 held-out tasks."
    )
    try:
        report = train(
            quickstart_config(
                run_directory=options.run_directory, seed=options.seed, steps=options.steps
            ),
            console=console,
        )
    except (ModelNotFoundError, SandboxError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return _tell(report, console)


def _tell(report: TrainReport, console: Console) -> int:
    table = Table(title="held-out tasks: tables and schemas that are not in the training tasks")
    table.add_column("kind")
    for evaluation in report.evaluations:
        table.add_column(evaluation.label, justify="right")
    for kind in report.evaluations[0].by_kind:
        rates = [evaluation.by_kind[kind] for evaluation in report.evaluations]
        table.add_row(kind, *(f"{rate.successes}/{rate.episodes}" for rate in rates))
    rates = [evaluation.success for evaluation in report.evaluations]
    table.add_section()
    table.add_row("all", *(f"{rate.rate:.0%}" for rate in rates))
    table.add_row("95 % interval", *(f"{rate.low:.0%} to {rate.high:.0%}" for rate in rates))
    console.print(table)
    for trajectory in report.evaluations[-1].trajectories[:_SHOWN_ANSWERS]:
        question = trajectory.observation.rpartition("Question: ")[2]
        console.print(f"{question}\n  {trajectory.actions[0]}\n  {trajectory.reason}", markup=False)
    before, after = report.evaluations[0], report.evaluations[-1]
    console.print(
        f"\n{report.episodes} episodes in {report.learning_seconds / 60:.1f} minutes of learning. "
        f"The curve, every episode, the TensorBoard log, the checkpoint and the model are in "
        f"{report.run_directory}"
    )
    return 0 if _is_clearly_better(after, before) else 1


def _is_clearly_better(after: Evaluation, before: Evaluation) -> bool:
    return after.success.low > before.success.high


if __name__ == "__main__":
    sys.exit(main())
