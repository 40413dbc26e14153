"""`execgym train`: train a model on an environment."""

from __future__ import annotations

import pathlib
from enum import StrEnum
from typing import Annotated

import typer

from execgym.cli.failure import fail
from execgym.cli.sources import full_id
from execgym.envs.errors import EnvError
from execgym.sandbox import SandboxError


class Prompt(StrEnum):
    """How the model is asked."""

    RAW = "raw"
    CHAT = "chat"


def train(
    env: Annotated[str, typer.Argument(help="An environment, for example SQL-v0.")] = "SQL-v0",
    model: Annotated[
        str, typer.Option(help="smollm2-135m, or a Hugging Face id or path.")
    ] = "smollm2-135m",
    run_directory: Annotated[
        pathlib.Path, typer.Option(help="Where the run is written down.")
    ] = pathlib.Path("runs/train"),
    tasks: Annotated[str, typer.Option(help="Task source; see `execgym list`.")] = "generated",
    level: Annotated[
        list[int] | None, typer.Option(help="Levels to draw from; all of them if not given.")
    ] = None,
    steps: Annotated[int, typer.Option(min=1, help="Steps of the optimiser.")] = 60,
    seconds: Annotated[float, typer.Option(min=0, help="Time of learning; 0: no limit.")] = 0.0,
    groups_per_step: Annotated[int, typer.Option(min=1, help="Tasks a step.")] = 6,
    group_size: Annotated[int, typer.Option(min=2, help="Episodes of each task.")] = 8,
    max_turns: Annotated[int, typer.Option(min=1, help="Messages in an episode.")] = 1,
    max_new_tokens: Annotated[int, typer.Option(min=1, help="Tokens in a message.")] = 32,
    learning_rate: Annotated[float, typer.Option(help="Of AdamW.")] = 1e-5,
    shaping: Annotated[
        float, typer.Option(min=0, max=1, help="SQL only: reward of a query that merely runs.")
    ] = 0.0,
    prompt: Annotated[Prompt, typer.Option(help="How the model is asked.")] = Prompt.RAW,
    lora_rank: Annotated[int, typer.Option(min=0, help="Rank of adapters; 0: all weights.")] = 0,
    device: Annotated[str, typer.Option(help="auto, or a torch device.")] = "auto",
    warm_start_examples: Annotated[
        int, typer.Option(min=0, help="Reference solutions to imitate before learning.")
    ] = 0,
    eval_tasks: Annotated[int, typer.Option(min=0, help="Held-out tasks an evaluation.")] = 200,
    eval_every: Annotated[int, typer.Option(min=0, help="Steps between evaluations.")] = 0,
    checkpoint_every: Annotated[int, typer.Option(min=0, help="Steps between them.")] = 25,
    resume: Annotated[bool, typer.Option(help="Go on from the last checkpoint.")] = False,
    seed: Annotated[int, typer.Option(help="Of everything that is drawn.")] = 0,
) -> None:
    """Train a model by GRPO; print held-out success before and after."""
    try:
        from execgym.agents.train import TrainConfig
        from execgym.agents.train import train as run_training
        from execgym.envs.sql.changes.hidden import CHANGE_SOURCES
    except ImportError as error:
        fail(
            ValueError(
                f"training needs torch and transformers: pip install 'execgym[agents]' ({error})"
            )
        )
    try:
        env_id = full_id(env)
        options: dict[str, object] = {
            "tasks": tasks,
            "max_turns": max_turns,
            "instructions": prompt is Prompt.CHAT,
        }
        if shaping:
            options["shaping"] = shaping
        # A query begins with SELECT, which is given to a model that only continues text; a script
        # may begin with anything.
        suffix, begun = ("\nSQL:", "") if tasks in CHANGE_SOURCES else ("\nSQL: SELECT", "SELECT")
        config = TrainConfig(
            run_directory=run_directory,
            env=env_id,
            env_options=options,
            levels=tuple(level or ()),
            model=model,
            device=device,
            lora_rank=lora_rank,
            prompt="chat" if prompt is Prompt.CHAT else "raw",
            raw_suffix=suffix,
            raw_action_prefix=begun,
            max_new_tokens=max_new_tokens,
            groups_per_step=groups_per_step,
            group_size=group_size,
            steps=steps,
            seconds=seconds,
            learning_rate=learning_rate,
            warm_start_examples=warm_start_examples,
            eval_tasks=eval_tasks,
            eval_every=eval_every,
            checkpoint_every=checkpoint_every,
            resume=resume,
            seed=seed,
        )
        run_training(config)
    except (EnvError, SandboxError, ValueError, RuntimeError) as error:
        fail(error)
