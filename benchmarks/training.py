"""What a policy learns under a judge that looks at the shown database only, and under ours.

The quick start's run is made twice, from equal warm starts on equal tasks: once judged by
`ShownDatabaseJudge`, which compares bags of rows on the database that the question shows, once by
`SQLJudge`. Both policies are then measured by both judges on the same held-out tasks. What the
first judge passes and the second does not is what training against it has bought.

    python benchmarks/training.py --steps 30 --levels 1 2
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from functools import partial
from pathlib import Path

import gymnasium
from rich.console import Console
from rich.table import Table

import execgym
from execgym.agents.evaluation import evaluate, held_out_tasks
from execgym.agents.policy import LLMPolicy
from execgym.agents.quickstart import quickstart_config
from execgym.agents.train import train
from execgym.envs.sql.env import SQLEnv
from execgym.envs.sql.judge import ShownDatabaseJudge
from execgym.envs.task import Judge
from execgym.vector import AsyncVectorEnv

SOUND = "execgym/SQL-v0"
NAIVE = "execgym-benchmarks/SQLShownDatabase-v0"


class ShownDatabaseSQLEnv(SQLEnv):
    """SQL-v0 with the unsound judge."""

    def _make_judge(self, backend: str, runtime: str) -> Judge:
        return ShownDatabaseJudge(backend, runtime)


def make_naive(num_envs: int, **options: object) -> AsyncVectorEnv:
    return AsyncVectorEnv([partial(ShownDatabaseSQLEnv, **options)] * num_envs)


def measure(
    policy: LLMPolicy, task_ids: list[str], options: dict[str, object]
) -> dict[str, object]:
    """Measure a policy by both judges, on the same messages."""
    found: dict[str, object] = {}
    passed: dict[str, list[bool]] = {}
    for name, env_id in (("naive", NAIVE), ("sound", SOUND)):
        envs = gymnasium.make_vec(env_id, num_envs=64, **options)
        source = envs.get_attr("task_source")[0]
        result = evaluate(envs, policy, task_ids, source, label=name)
        envs.close()
        found[name] = dataclasses.asdict(result.success)
        found[f"{name}_by_kind"] = {
            kind: f"{rate.successes}/{rate.episodes}" for kind, rate in result.by_kind.items()
        }
        passed[name] = [trajectory.success for trajectory in result.trajectories]
        found["without_from"] = sum(
            "from" not in trajectory.actions[0].lower() for trajectory in result.trajectories
        )
        found["actions"] = [
            (t.observation.rpartition("Question: ")[2], t.actions[0]) for t in result.trajectories
        ]
    pairs = list(zip(passed["naive"], passed["sound"], strict=True))
    found["passed_by_the_naive_judge_alone"] = sum(naive and not sound for naive, sound in pairs)
    actions = found.pop("actions")
    found["examples"] = [
        action
        for action, (naive, sound) in zip(actions, pairs, strict=True)  # type: ignore[call-overload]
        if naive and not sound
    ]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--levels", type=int, nargs="+", default=[1])
    parser.add_argument("--eval-tasks", type=int, default=200)
    parser.add_argument("--judges", nargs="+", default=["naive", "sound"])
    parser.add_argument("--run-directory", type=Path, default=Path("runs/judges"))
    options = parser.parse_args()
    execgym.register_envs()
    gymnasium.register(NAIVE, entry_point=ShownDatabaseSQLEnv, vector_entry_point=make_naive)
    console = Console()
    results = {}
    for judge in options.judges:
        config = dataclasses.replace(
            quickstart_config(seed=options.seed, steps=options.steps),
            run_directory=options.run_directory / judge,
            env=NAIVE if judge == "naive" else SOUND,
            eval_tasks=0,
            levels=tuple(options.levels),
            seconds=0.0,
            threads=1,
        )
        policy = LLMPolicy.load(max_new_tokens=config.max_new_tokens)
        train(config, policy=policy, console=console)
        source = SQLEnv().task_source
        tasks = held_out_tasks(
            source, count=options.eval_tasks, split="test", levels=config.levels, seed=0
        )
        results[judge] = measure(policy, tasks, dict(config.env_options))
        (options.run_directory / f"{judge}.json").write_text(json.dumps(results[judge], indent=2))
    table = Table("trained by", "naive judge says", "sound judge says", "only the naive one passes")
    for judge, found in results.items():
        table.add_row(
            judge,
            *(f"{found[by]['successes']}/{found[by]['episodes']}" for by in ("naive", "sound")),
            str(found["passed_by_the_naive_judge_alone"]),
        )
    console.print(table)
    for judge, found in results.items():
        for question, action in found["examples"][:8]:
            console.print(f"trained by {judge}: {question}\n  {action}", markup=False)


if __name__ == "__main__":
    main()
