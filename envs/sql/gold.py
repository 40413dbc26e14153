"""Right answers, for trusted code: the `reference` agent and warm starts of training."""

from __future__ import annotations

from execgym.envs.sql.exams import reference_of


def reference_answer(task_id: str) -> str:
    """Return a query that passes the judge.

    Raises:
        UnknownTaskError: No task has this id.
    """
    return reference_of(task_id).sql
