"""Reference solutions, for trusted code only: validation, tests, `run --agent reference`."""

from __future__ import annotations

from execgym.envs.coding.public import PUBLIC_SETS
from execgym.envs.coding.sources import load_source
from execgym.envs.errors import UnknownTaskError


def reference_answer(task_id: str) -> str:
    """Return the source of a solution that passes.

    Raises:
        UnknownTaskError: No task has this id.
        TaskSetUnavailableError: The task is of a public set that is not on this machine.
    """
    name = str(task_id).split("/", 1)[0]
    if name != "generated" and name not in PUBLIC_SETS:
        raise UnknownTaskError(f"no coding task has the id {task_id!r}")
    return load_source(name).reference(task_id)
