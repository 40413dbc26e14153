"""The task sources of data analysis by name."""

from __future__ import annotations

from execgym.envs.data_analysis.tasks import GeneratedSource
from execgym.envs.errors import not_one_of
from execgym.envs.task import TaskSource

SOURCES = ("generated",)
"""Names of the sources."""


def load_source(name: str) -> TaskSource:
    """Return a task source.

    Raises:
        InvalidOptionError: There is none of this name.
    """
    if name == "generated":
        return GeneratedSource()
    raise not_one_of("tasks", name, SOURCES)
