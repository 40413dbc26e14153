"""What a task is, where tasks come from, and who judges them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from execgym.judging.verdict import Verdict
from execgym.sandbox.spec import Limits


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """The open half of a task: all of it may be shown to the model.

    The hidden half (hidden inputs, gold answers) is held by the judge under the task's id and is
    reachable from nothing in here.

    Attributes:
        id: Names the task within its domain, for example `"generated/train/2/1234"`.
        domain: `"sql"`, `"coding"`, ...
        prompt: What the model is asked.
        level: Difficulty, 1 to 5.
        split: `"train"` or `"test"`.
        files: Files laid into `/workspace` at the start of the episode, by relative path.
        limits: Bounds on the episode's sandbox.
        metadata: Further open facts, for example the kind of the task.
    """

    id: str
    domain: str
    prompt: str
    level: int
    split: str
    files: Mapping[str, bytes] = dataclasses.field(default_factory=dict)
    limits: Limits = dataclasses.field(default_factory=Limits)
    metadata: Mapping[str, str] = dataclasses.field(default_factory=dict)


class TaskSource(Protocol):
    """Tasks by id. A source is a pure function of its name: equal ids give equal tasks."""

    @property
    def splits(self) -> tuple[str, ...]:
        """The splits it has, for example `("train", "test")`."""
        ...

    def levels(self, split: str) -> tuple[int, ...]:
        """The levels it has in a split, in order."""
        ...

    def ids(self, split: str, level: int | None = None) -> Sequence[str] | None:
        """All ids of a split (and level), or None where they are endless."""
        ...

    def sample(self, generator: np.random.Generator, split: str, level: int | None = None) -> str:
        """Draw the id of a task. Levels are drawn evenly where `level` is None."""
        ...

    def task(self, task_id: str) -> Task:
        """Return the task of an id.

        Raises:
            UnknownTaskError: No task has this id.
        """
        ...


class Judge(Protocol):
    """Grades submissions of one domain, each in fresh sandboxes of its own."""

    async def grade(self, task: Task, artifacts: Mapping[str, bytes]) -> Verdict:
        """Grade the artifacts, files by relative path, that the candidate left for `task`.

        Whatever the candidate can cause is a FAIL. An exception out of here counts as the
        judge's own failure and is retried once by the caller, then reported as JUDGE_ERROR.
        """
        ...
