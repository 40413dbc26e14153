"""The task sources of SQL by name."""

from __future__ import annotations

from execgym.envs.errors import InvalidOptionError, not_one_of
from execgym.envs.sql.changes.public import NAME as DBBENCH
from execgym.envs.sql.changes.public import DBBenchSource
from execgym.envs.sql.changes.tasks import NAME as CHANGES
from execgym.envs.sql.changes.tasks import ChangeSource
from execgym.envs.sql.engines import SQLITE, Engine
from execgym.envs.sql.public import PUBLIC_SETS, PublicSource
from execgym.envs.sql.repairs import NAME as REPAIRS
from execgym.envs.sql.repairs import RepairSource
from execgym.envs.sql.tasks import GeneratedSource
from execgym.envs.task import TaskSource

SOURCES = ("generated", REPAIRS, CHANGES, *PUBLIC_SETS, DBBENCH)
"""Names of the sources."""


def load_source(name: str, engine: Engine = SQLITE) -> TaskSource:
    """Return a task source.

    Args:
        name: Its name.
        engine: The engine that its databases are to be in.

    Raises:
        InvalidOptionError: There is none of this name, or its databases are SQLite's only.
        TaskSetUnavailableError: It is a public set that has not been brought to this machine.
    """
    if name == "generated":
        return GeneratedSource(engine)
    if name in (CHANGES, REPAIRS, DBBENCH) and engine is not SQLITE:
        raise InvalidOptionError(
            f"tasks {name!r} are for SQLite: they need engine='sqlite', not {engine.name!r}"
        )
    if name == CHANGES:
        return ChangeSource()
    if name == DBBENCH:
        return DBBenchSource()
    if name == REPAIRS:
        return RepairSource()
    if name in PUBLIC_SETS and engine is not SQLITE:
        # Their files hold values that no other engine's types would take.
        raise InvalidOptionError(
            f"tasks {name!r} are SQLite files: they need engine='sqlite', not {engine.name!r}"
        )
    if name in PUBLIC_SETS:
        return PublicSource(name)
    raise not_one_of("tasks", name, SOURCES)
