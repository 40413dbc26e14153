"""`execgym validate`: whether the rewards of an environment can be trusted."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import os
import pathlib
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, NoReturn

import gymnasium
import numpy as np
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from execgym.cli.failure import fail
from execgym.cli.sources import full_id, known_answers
from execgym.envs.core import ExecEnv
from execgym.envs.errors import EnvError
from execgym.envs.task import TaskSource
from execgym.envs.validation import Finding, TaskReport, validate_tasks
from execgym.judging.success_rate import SuccessRate, success_rate
from execgym.registration import env_ids
from execgym.sandbox import SandboxError, run_sync

MOST_ERRORS = 0.01
"""Share of right answers that may be refused, and of wrong ones that may pass."""

# What a judge lets through in one answer of hundreds is a rate; anything else is a fault.
_RATES = ("right_answers", "adversarial_floor")
_FOUND = 1
_BROKEN = 3
_MOST_SHOWN = 40
_BUSY = "while True: pass"


@dataclasses.dataclass(frozen=True, slots=True)
class Condition:
    """Surroundings in which the same must come out.

    Attributes:
        name: What they are.
        environment: Environment variables.
        busy: Whether a core is kept busy meanwhile.
    """

    name: str
    environment: Mapping[str, str]
    busy: bool = False


def _condition(seed: int, zone: str, locale: str, *, busy: bool = False) -> Condition:
    name = f"hash seed {seed}, {zone}, locale {locale}{', a busy core' if busy else ''}"
    return Condition(name, {"PYTHONHASHSEED": str(seed), "TZ": zone, "LC_ALL": locale}, busy)


CONDITIONS = (
    _condition(0, "UTC", "C.UTF-8"),
    _condition(1, "Pacific/Auckland", "C"),
    _condition(2, "UTC", "C"),
    _condition(3, "Pacific/Auckland", "C.UTF-8"),
    _condition(4, "UTC", "C.UTF-8", busy=True),
)
"""Five hash seeds, two time zones, two locales, and once with the other core busy."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class EnvReport:
    """What was seen of one environment.

    Attributes:
        env_id: The environment.
        tasks: The reports of its tasks.
        findings: What is wrong, of all of them.
        seconds: How long it took.
    """

    env_id: str
    tasks: tuple[TaskReport, ...]
    findings: tuple[Finding, ...]
    seconds: float

    @property
    def refused(self) -> SuccessRate:
        """How many right answers did not pass."""
        return success_rate(
            sum(task.refused for task in self.tasks), sum(task.right for task in self.tasks)
        )

    @property
    def accepted(self) -> SuccessRate:
        """How many wrong answers passed."""
        return success_rate(
            sum(task.accepted for task in self.tasks), sum(task.wrong for task in self.tasks)
        )

    @property
    def is_sound(self) -> bool:
        """Whether there is no fault, and both rates are below `MOST_ERRORS`."""
        faults = [one for one in self.findings if one.check not in _RATES]
        rates = (self.refused.rate, self.accepted.rate)
        return not faults and all(rate < MOST_ERRORS for rate in rates)


def validate(
    envs: Annotated[
        list[str] | None, typer.Argument(help="Environments, for example SQL-v0; all if none.")
    ] = None,
    tasks: Annotated[str, typer.Option(help="Task source; see `execgym list`.")] = "generated",
    split: Annotated[str, typer.Option(help="train or test; both if not given.")] = "",
    level: Annotated[int | None, typer.Option(help="Difficulty; all levels if not given.")] = None,
    count: Annotated[int, typer.Option(min=1, help="Tasks of each split and level.")] = 4,
    seed: Annotated[int, typer.Option(min=0, help="Which tasks of an endless source.")] = 0,
    backend: Annotated[str, typer.Option(help="Sandbox backend.")] = "auto",
    jobs: Annotated[int, typer.Option(min=1, help="Tasks at a time.")] = 2,
    conditions: Annotated[
        bool, typer.Option(help="Repeat under other hash seeds, time zones, locales and load.")
    ] = True,
    output: Annotated[
        pathlib.Path | None, typer.Option("--json", help="Write everything to this file.")
    ] = None,
) -> None:
    """Play right, wrong and cheating answers, and look whether rewards are what they say.

    Ends with 0 where all is well, 1 where something is wrong, 2 where an argument is, 3 where
    validation itself has failed.
    """
    reports: list[EnvReport] = []
    try:
        for env_id in [full_id(name) for name in envs or env_ids()]:
            options = {"tasks": tasks, "backend": backend}
            reports.append(_validate(env_id, options, split, level, count, seed, jobs, conditions))
    except (EnvError, SandboxError, ValueError) as error:
        fail(error)
    except Exception:
        _broken()
    if output is not None:
        output.write_text(json.dumps([_as_json(one) for one in reports], indent=1), "utf-8")
    _print(reports)
    if not all(report.is_sound for report in reports):
        raise typer.Exit(_FOUND)


def _validate(
    env_id: str,
    options: dict[str, Any],
    split: str,
    level: int | None,
    count: int,
    seed: int,
    jobs: int,
    conditions: bool,
) -> EnvReport:
    started = time.monotonic()

    def make() -> ExecEnv:
        env = gymnasium.make(env_id, **options).unwrapped
        assert isinstance(env, ExecEnv)  # noqa: S101
        return env

    env = make()
    source = env.task_source
    splits = (split,) if split else source.splits
    task_ids: list[str] = []
    for name in splits:
        env.check_options({"split": name, "level": level})
        for number in (level,) if level is not None else source.levels(name):
            task_ids += choose_tasks(source, name, number, count, seed)
    found = run_sync(validate_tasks(make, known_answers(env_id), task_ids, jobs=jobs))
    findings = [*_seeds(make), *(one for report in found for one in report.findings)]
    if conditions:
        findings += run_sync(_under_conditions(env_id, options, found))
    return EnvReport(
        env_id=env_id,
        tasks=tuple(found),
        findings=tuple(findings),
        seconds=time.monotonic() - started,
    )


def choose_tasks(source: TaskSource, split: str, level: int, count: int, seed: int) -> list[str]:
    """Return the ids of some tasks: drawn from an endless source, spread over a finite one."""
    ids = source.ids(split, level)
    if ids is not None:
        return list(ids[:: max(1, len(ids) // count)][:count])
    generator = np.random.default_rng(seed)
    return [source.sample(generator, split, level) for _ in range(count)]


def _seeds(make: Callable[[], ExecEnv]) -> list[Finding]:
    """Look whether equal seeds give equal episodes, and unequal ones do not."""
    first, second = make(), make()
    seen = set()
    for seed in range(8):
        observation, info = first.reset(seed=seed)
        if (observation, info) != second.reset(seed=seed):
            return [Finding("seed_control", info["task_id"], f"seed {seed} gives two episodes")]
        seen.add(observation)
    if len(seen) == 1:
        return [Finding("seed_control", info["task_id"], "eight seeds give the same episode")]
    return []


async def _under_conditions(
    env_id: str, options: Mapping[str, Any], reports: Sequence[TaskReport]
) -> list[Finding]:
    """Play the references again under other conditions, each in a process of its own."""
    expected = {report.task_id: report.fingerprint for report in reports}
    work = {"env_id": env_id, "options": options, "task_ids": list(expected)}
    findings = []
    for condition in CONDITIONS:
        seen = await asyncio.to_thread(_play_under, condition, json.dumps(work))
        findings += [
            Finding("verifier_portability", task_id, f"{condition.name}: something else is seen")
            for task_id, fingerprint in expected.items()
            if seen.get(task_id) != fingerprint
        ]
    return findings


def _play_under(condition: Condition, work: str) -> dict[str, str]:
    load = [sys.executable, "-c", _BUSY]
    busy = subprocess.Popen(load) if condition.busy else None  # noqa: S603
    try:
        result = subprocess.run(
            [sys.executable, "-m", "execgym.cli.condition"],
            input=work,
            env={**os.environ, **condition.environment},
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
        )
    finally:
        if busy is not None:
            busy.kill()
            busy.wait()
    if result.returncode:
        raise RuntimeError(f"under {condition.name}: {result.stderr.strip()[-2000:]}")
    seen: dict[str, str] = json.loads(result.stdout)
    return seen


def _print(reports: Sequence[EnvReport]) -> None:
    # What is no terminal counts as one of 80 columns, which would cut figures.
    console = Console(width=None if sys.stdout.isatty() else 120)
    table = Table("env", "tasks", "right refused (FNR)", "wrong passed (FPR)", "findings", "s")
    for report in reports:
        table.add_row(
            report.env_id.removeprefix("execgym/"),
            str(len(report.tasks)),
            _rate(report.refused),
            _rate(report.accepted),
            str(len(report.findings)),
            f"{report.seconds:.0f}",
        )
    for column in table.columns:
        column.no_wrap = True
    console.print(table)
    findings = [(report, one) for report in reports for one in report.findings]
    for report, one in findings[:_MOST_SHOWN]:
        text = f"{report.env_id} {one.task_id} {one.check}: {one.detail}"
        console.print(escape(text), highlight=False, soft_wrap=True)
    if len(findings) > _MOST_SHOWN:
        console.print(f"and {len(findings) - _MOST_SHOWN} more: see --json")


def _rate(rate: SuccessRate) -> str:
    return f"{rate.successes}/{rate.episodes} ({rate.low:.2%} to {rate.high:.2%})"


def _as_json(report: EnvReport) -> dict[str, Any]:
    return {
        "env": report.env_id,
        "sound": report.is_sound,
        "seconds": report.seconds,
        "right_refused": dataclasses.asdict(report.refused),
        "wrong_passed": dataclasses.asdict(report.accepted),
        "tasks": [dataclasses.asdict(task) for task in report.tasks],
        "findings": [dataclasses.asdict(one) for one in report.findings],
    }


def _broken() -> NoReturn:
    typer.secho(f"execgym: validation has failed\n{traceback.format_exc()}", err=True)
    raise typer.Exit(_BROKEN)
