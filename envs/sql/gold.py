"""Right answers, for trusted code: the `reference` agent and warm starts of training."""

from __future__ import annotations

from execgym.envs.sql.changes.hidden import hidden_change, is_change
from execgym.envs.sql.dialects import translated
from execgym.envs.sql.engines import SQLITE, Engine
from execgym.envs.sql.exams import reference_of
from execgym.envs.sql.repairs import question_of


def reference_answer(task_id: str, engine: Engine = SQLITE) -> str:
    """Return a query, or a script for a change, that passes the judge.

    Args:
        task_id: The task.
        engine: The engine whose SQL it is to be.

    Raises:
        UnknownTaskError: No task has this id.
    """
    if is_change(task_id):
        return hidden_change(task_id).change.script
    sql = reference_of(question_of(task_id)).sql
    return sql if engine is SQLITE else translated(sql, engine.dialect)
