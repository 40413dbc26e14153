"""Puts an env to the proof, task by task: is its reward what it says?

Nothing in here knows a domain. What is right and what is wrong comes from the domain's `answers`,
and by something other than its judge. The names of the checks are those of OpenEnv's RFC 008 where
it has the check.
"""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from execgym.envs.answers import TaskAnswers
from execgym.envs.core import ExecEnv
from execgym.envs.leaks import as_bytes, leaked
from execgym.judging.verdict import Status

TRIVIAL: Mapping[str, str] = {
    "nothing": "",
    "a space": " ",
    "None": "None",
    "zero": "0",
    "an empty text": '""',
    "an empty list": "[]",
    "True": "True",
    "a constant query": "SELECT 1",
    "refusal": "I cannot help with that.",
}
"""Submissions that are right for no task. The task's own prompt is tried besides."""


@dataclasses.dataclass(frozen=True, slots=True)
class Finding:
    """Something that is wrong with a task.

    Attributes:
        check: Name of the check, for example `"oracle_max"`.
        task_id: The task.
        detail: What was seen.
    """

    check: str
    task_id: str
    detail: str


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class TaskReport:
    """What was seen of one task.

    Attributes:
        task_id: The task.
        level: Its level.
        right: Right answers that were judged.
        refused: Those of them that did not pass.
        wrong: Wrong answers that were judged, trivial ones included.
        accepted: Those of them that passed.
        findings: What is wrong with it. Each answer that was refused or accepted is one.
        fingerprint: Digest of what an agent sees and of the reference's verdict. It is equal in
            every process, whatever its hash seed, time zone, locale and load.
    """

    task_id: str
    level: int
    right: int
    refused: int
    wrong: int
    accepted: int
    findings: tuple[Finding, ...]
    fingerprint: str


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Episode:
    """One submission, from reset to verdict."""

    first: str
    last: str
    first_info: dict[str, Any]
    last_info: dict[str, Any]
    reward: float
    ended: bool

    @property
    def status(self) -> str:
        return str(self.last_info.get("verdict", {}).get("status", "none"))

    @property
    def passed(self) -> bool:
        return self.status == Status.PASS


Make = Callable[[], ExecEnv]
Answers = Callable[[str], TaskAnswers]


async def validate_tasks(
    make: Make, answers: Answers, task_ids: Sequence[str], *, jobs: int = 2
) -> list[TaskReport]:
    """Validate some tasks, `jobs` at a time.

    Args:
        make: Makes an env of the domain.
        answers: The domain's right and wrong answers by the task's id. It is called in threads.
        task_ids: The tasks.
        jobs: Tasks at a time.

    Raises:
        UnknownTaskError: There is no such task.
        SandboxUnavailableError: No sandbox can run on this machine.
    """
    slots = asyncio.Semaphore(jobs)

    async def one(task_id: str) -> TaskReport:
        async with slots:
            known = await asyncio.to_thread(answers, task_id)
            return await validate_task(make(), task_id, known)

    async with asyncio.TaskGroup() as group:
        running = [group.create_task(one(task_id)) for task_id in task_ids]
    return [task.result() for task in running]


async def validate_task(env: ExecEnv, task_id: str, answers: TaskAnswers) -> TaskReport:
    """Play every right, wrong and trivial answer of a task, and look for what they bring to light.

    The env is closed at the end.

    Raises:
        UnknownTaskError: There is no such task.
        SandboxUnavailableError: No sandbox can run on this machine.
    """
    seen = _Seen(env, task_id)
    try:
        reference = await seen.play(next(iter(answers.right.values())))
        right = {"reference": reference}
        for name, text in list(answers.right.items())[1:]:
            right[name] = await seen.play(text)
        trivial = dict(TRIVIAL) | {"the prompt": env.task.prompt}
        wrong = {}
        for name, text in [*trivial.items(), *answers.wrong.items()]:
            wrong[name] = await seen.play(text)
        again = await seen.play(next(iter(answers.right.values())))
        # A mutant, which may go wrong in more than one place, where there is one.
        name, text = [*trivial.items(), *answers.wrong.items()][-1]
        wrong_again = await seen.play(text)
    finally:
        await env.aclose()
    findings = [
        *_oracle(task_id, reference),
        *_judged(task_id, "right_answers", right, passes=True),
        *_judged(task_id, "floor_gap", {name: wrong[name] for name in trivial}, passes=False),
        *_judged(
            task_id,
            "adversarial_floor",
            {name: wrong[name] for name in answers.wrong},
            passes=False,
        ),
        *_declarations(env, task_id, reference),
        *_rewards(task_id, {**right, **wrong}),
        *_observations(env, task_id, [*right.values(), *wrong.values()]),
        *_same(task_id, "seed_control", "observations of reset", reference.first, again.first),
        *_same(
            task_id,
            "verifier_determinism",
            "verdicts of the reference",
            *_verdicts(reference, again),
        ),
        *_same(
            task_id,
            "verifier_determinism",
            "verdicts of a wrong answer",
            *_verdicts(wrong[name], wrong_again),
        ),
        *_leaks(env, task_id, answers.secrets, wrong["refusal"]),
    ]
    return TaskReport(
        task_id=task_id,
        level=env.task.level,
        right=len(right),
        refused=sum(not one.passed for one in right.values()),
        wrong=len(wrong),
        accepted=sum(one.passed for one in wrong.values()),
        findings=tuple(findings),
        fingerprint=_fingerprint(reference),
    )


async def play_references(
    make: Make, reference: Callable[[str], str], task_ids: Sequence[str]
) -> dict[str, str]:
    """Play the references of some tasks and return the fingerprints of what was seen.

    Raises:
        UnknownTaskError: There is no such task.
        SandboxUnavailableError: No sandbox can run on this machine.
    """
    env = make()
    try:
        found = {}
        for task_id in task_ids:
            text = await asyncio.to_thread(reference, task_id)
            found[task_id] = _fingerprint(await _Seen(env, task_id).play(text))
        return found
    finally:
        await env.aclose()


class _Seen:
    """Plays submissions for one task."""

    def __init__(self, env: ExecEnv, task_id: str) -> None:
        self._env = env
        self._task_id = task_id
        tool = env.tools[env.default_tool]
        self._argument = next(iter(tool.parameters["properties"]))

    async def play(self, text: str) -> _Episode:
        first, first_info = await self._env.areset(options={"task_id": self._task_id})
        # A fenced block is what a model writes. Anything else goes in as it stands.
        action = text if "```" in text else self._call(text)
        last, reward, terminated, truncated, last_info = await self._env.astep(action)
        return _Episode(
            first=first,
            last=last,
            first_info=first_info,
            last_info=last_info,
            reward=reward,
            ended=terminated or truncated,
        )

    def _call(self, text: str) -> str:
        call = {"name": self._env.default_tool, "arguments": {self._argument: text}}
        return json.dumps(call)


def _oracle(task_id: str, reference: _Episode) -> Iterable[Finding]:
    if not reference.passed or reference.reward <= 0.0:
        detail = f"the reference has status {reference.status} and reward {reference.reward}"
        yield Finding("oracle_max", task_id, f"{detail}: {_reason(reference)}")


def _judged(
    task_id: str, check: str, episodes: Mapping[str, _Episode], *, passes: bool
) -> Iterable[Finding]:
    for name, episode in episodes.items():
        if not episode.ended:
            # A message that hands in nothing may cost a turn, and no more.
            if passes or episode.reward > 0.0:
                yield Finding(check, task_id, f"{name}: a submission did not end the episode")
        elif not episode.last_info.get("reward_valid", False):
            yield Finding(check, task_id, f"{name}: could not be judged: {_reason(episode)}")
        elif episode.passed != passes:
            yield Finding(check, task_id, f"{name}: {episode.status}: {_reason(episode)}")
        elif not passes and episode.reward > 0.0:
            yield Finding(check, task_id, f"{name}: failed with reward {episode.reward}")


def _declarations(env: ExecEnv, task_id: str, reference: _Episode) -> Iterable[Finding]:
    check = "task_declaration_accuracy"
    task, info, source = env.task, reference.first_info, env.task_source
    if (info.get("task_id"), info.get("level"), info.get("split")) != (
        task_id,
        task.level,
        task.split,
    ):
        yield Finding(check, task_id, "info names another task, level or split than the task")
    if task.split not in source.splits:
        yield Finding(check, task_id, f"its source has no split {task.split!r}")
    elif task.level not in source.levels(task.split):
        yield Finding(check, task_id, f"its source has no level {task.level} in {task.split}")
    ids = source.ids(task.split, task.level) if task.split in source.splits else None
    if ids is not None and task_id not in ids:
        yield Finding(check, task_id, "its source does not list it under its split and level")
    if not task.prompt.strip():
        yield Finding(check, task_id, "its prompt is empty")


def _rewards(task_id: str, episodes: Mapping[str, _Episode]) -> Iterable[Finding]:
    for name, episode in episodes.items():
        reward = episode.reward
        if type(reward) is not float or not math.isfinite(reward) or not 0.0 <= reward <= 1.0:
            yield Finding("reward_well_formed", task_id, f"{name}: the reward is {reward!r}")


def _observations(env: ExecEnv, task_id: str, episodes: Sequence[_Episode]) -> Iterable[Finding]:
    for episode in episodes:
        for text in (episode.first, episode.last):
            if text not in env.observation_space:
                yield Finding("observation_schema", task_id, f"{text[:80]!r} is not in the space")
                return


def _same(task_id: str, check: str, what: str, one: object, other: object) -> Iterable[Finding]:
    if one != other:
        yield Finding(check, task_id, f"two {what} differ")


def _leaks(
    env: ExecEnv, task_id: str, secrets: Sequence[str], failed: _Episode
) -> Iterable[Finding]:
    places = {
        "the first observation": failed.first,
        "the observation after a failed submission": failed.last,
        "info": [failed.first_info, failed.last_info],
        "the files of the episode": env.task.files,
        "the rest of the task": (env.task.id, env.task.prompt, env.task.metadata),
        "what the env is pickled as": env,
    }
    for place, value in places.items():
        for secret in leaked(secrets, as_bytes(value)):
            yield Finding("no_solution_leakage", task_id, f"{place} holds {secret[:80]!r}")


def _verdicts(*episodes: _Episode) -> list[object]:
    return [(one.reward, one.last, _comparable(one.last_info.get("verdict"))) for one in episodes]


def _comparable(value: object) -> str:
    return json.dumps(value, sort_keys=True, default=str)


def _fingerprint(reference: _Episode) -> str:
    seen = [reference.first, reference.last, _comparable(reference.last_info.get("verdict"))]
    return hashlib.sha256(json.dumps([*seen, reference.reward]).encode()).hexdigest()


def _reason(episode: _Episode) -> str:
    return str(episode.last_info.get("verdict", {}).get("reason", ""))[:300]
