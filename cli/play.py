"""`execgym run`: play an environment with an agent and print what happened."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Callable
from typing import Annotated, Any

import gymnasium
import typer
from rich.console import Console
from rich.markup import escape

from execgym.cli.failure import fail
from execgym.cli.sources import full_id, reference_answer
from execgym.envs.core import MAX_ACTION_LENGTH, ExecEnv
from execgym.envs.errors import EnvError
from execgym.envs.spaces import Unicode
from execgym.judging.success_rate import success_rate
from execgym.sandbox import SandboxError

Agent = Callable[[ExecEnv, str], str]
"""Gives the next message from the env and its last observation."""


def run(
    env: Annotated[str, typer.Argument(help="An environment, for example SQL-v0.")],
    agent: Annotated[
        str, typer.Option(help="reference, random, noop, or a model: a name, an id or a path.")
    ] = "reference",
    episodes: Annotated[int, typer.Option(min=1, help="Episodes to play.")] = 5,
    seed: Annotated[int, typer.Option(help="Seed of the first episode.")] = 0,
    tasks: Annotated[str, typer.Option(help="Task source; see `execgym list`.")] = "generated",
    split: Annotated[str, typer.Option(help="train or test.")] = "test",
    level: Annotated[int | None, typer.Option(help="Difficulty; all levels if not given.")] = None,
    max_turns: Annotated[int, typer.Option(min=1, help="Messages in an episode.")] = 8,
    quiet: Annotated[bool, typer.Option(help="Print no transcripts.")] = False,
    output: Annotated[
        pathlib.Path | None, typer.Option(help="Write one JSON line an episode to this file.")
    ] = None,
) -> None:
    """Play an environment with an agent; print the transcripts and the success rate."""
    console = Console()
    rows: list[dict[str, Any]] = []
    try:
        env_id = full_id(env)
        made = gymnasium.make(
            env_id,
            tasks=tasks,
            split=split,
            level=level,
            max_turns=max_turns,
            render_mode="ansi",
        )
        player = _agent(agent, env_id, seed)
        with made:
            for episode in range(episodes):
                row = _play(made, player, seed + episode)
                rows.append(row)
                if not quiet:
                    console.rule(f"episode {episode + 1} of {episodes}: {escape(row['task_id'])}")
                    console.print(str(made.render()), markup=False, highlight=False)
    except (EnvError, SandboxError, ValueError) as error:
        fail(error)
    if output is not None:
        output.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    judged = [row for row in rows if row["reward_valid"]]
    passed = sum(row["passed"] for row in judged)
    console.print(
        f"passed {success_rate(passed, len(judged))}, {len(rows) - len(judged)} could not be judged"
    )


def _play(env: gymnasium.Env[str, str], agent: Agent, seed: int) -> dict[str, Any]:
    observation, info = env.reset(seed=seed)
    unwrapped = env.unwrapped
    assert isinstance(unwrapped, ExecEnv)  # noqa: S101
    total = 0.0
    while True:
        observation, reward, terminated, truncated, info = env.step(agent(unwrapped, observation))
        total += float(reward)
        if terminated or truncated:
            return {
                "task_id": info["task_id"],
                "reward": total,
                "reward_valid": info["reward_valid"],
                "passed": info["verdict"]["status"] == "pass",
                "turns": info["turn"],
                "image": info["image"],
                "verdict": info["verdict"],
            }


def _agent(name: str, env_id: str, seed: int) -> Agent:
    if name == "reference":
        answer = reference_answer(env_id)
        return lambda env, _: answer(env.task.id)
    if name == "noop":
        return lambda env, _: ""
    if name == "random":
        space = Unicode(MAX_ACTION_LENGTH, seed=seed)
        return lambda env, _: space.sample()
    # torch and transformers are an extra, and slow to import: only a model needs them.
    try:
        from execgym.cli.model_agent import ModelAgent
    except ImportError as error:
        raise ValueError(
            f"the agent {name!r} is a model and needs the extra: pip install 'execgym[agents]' "
            f"({error})"
        ) from error
    return ModelAgent(name, seed=seed)
