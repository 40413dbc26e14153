"""The task sources of SQL by name."""

from __future__ import annotations

from execgym.envs.errors import not_one_of
from execgym.envs.sql.public import PUBLIC_SETS, PublicSource
from execgym.envs.sql.tasks import GeneratedSource
from execgym.envs.task import TaskSource

SOURCES = ("generated", *PUBLIC_SETS)
"""Names of the sources."""


def load_source(name: str) -> TaskSource:
    """Return a task source.

    Raises:
        InvalidOptionError: There is none of this name.
        TaskSetUnavailableError: It is a public set that has not been brought to this machine.
    """
    if name == "generated":
        return GeneratedSource()
    if name in PUBLIC_SETS:
        return PublicSource(name)
    raise not_one_of("tasks", name, SOURCES)
