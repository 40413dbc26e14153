"""The engines that a database can be in: what each needs in a sandbox.

A task's databases are SQLite files, and so are the hidden ones. Another engine is filled from such
a file inside the sandbox, with the same rows in tables of its own types. The right rows come from
SQLite on the host whatever the engine: nothing of a reference enters a sandbox.
"""

from __future__ import annotations

import dataclasses
import importlib.resources
import importlib.util
import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from execgym.envs.errors import EngineUnavailableError, not_one_of
from execgym.envs.sql import driver
from execgym.judging import codec
from execgym.sandbox import SandboxSpec, Template


def _driver_template(
    module: str = "", *modules: str, docker_image: str = "execgym/base:latest"
) -> Template:
    sources = [
        ("execgym_codec", inspect.getsource(codec)),
        ("execgym_sql_driver", inspect.getsource(driver)),
    ]
    if module:
        # It imports what only the image may have, so it is read and not imported here.
        path = importlib.resources.files("execgym.envs.sql").joinpath(f"{module}.py")
        sources.append((f"execgym_{module}", path.read_text("utf-8")))
    names = (name for name, _ in sources)
    return Template(
        modules=("sqlite3", *modules, *names), sources=tuple(sources), docker_image=docker_image
    )


async def _nothing(spec: SandboxSpec) -> Mapping[str, Any]:
    return {}


def _there() -> None:
    return


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """A database engine.

    Attributes:
        name: What `make(..., engine=...)` calls it.
        title: What models are told that it is.
        dialect: sqlglot's name of its SQL.
        template: Template of the sandboxes that it runs in.
        program: What runs there.
        check: Raises `EngineUnavailableError` where this host, as the image of sandboxes, lacks it.
        prepare: Returns what its program is told besides the query, for sandboxes of a spec.
    """

    name: str
    title: str
    dialect: str
    template: Template
    program: str
    check: Callable[[], None] = _there
    prepare: Callable[[SandboxSpec], Awaitable[Mapping[str, Any]]] = _nothing


def _check_duckdb() -> None:
    if importlib.util.find_spec("duckdb") is None:
        raise EngineUnavailableError(
            "engine 'duckdb' needs DuckDB's package, which is not installed: "
            "pip install duckdb==1.5.5 (or execgym's extra 'sql')"
        )


SQLITE = Engine(
    name="sqlite",
    title="SQLite",
    dialect="sqlite",
    template=_driver_template(),
    program="import execgym_sql_driver\nexecgym_sql_driver.main()\n",
)
"""SQLite, which every Python has."""

DUCKDB = Engine(
    name="duckdb",
    title="DuckDB",
    dialect="duckdb",
    template=_driver_template("duckdb_driver", docker_image="execgym/data:latest"),
    program=(
        "import execgym_sql_driver, execgym_duckdb_driver\n"
        "execgym_sql_driver.main(execgym_duckdb_driver.opener_for)\n"
    ),
    check=_check_duckdb,
)
"""DuckDB, in the process of the driver."""

ENGINES: Mapping[str, Engine] = {engine.name: engine for engine in (SQLITE, DUCKDB)}
"""Engines by name."""


def engine_named(name: object) -> Engine:
    """Return an engine.

    Raises:
        InvalidOptionError: There is none of this name.
    """
    if not isinstance(name, str) or name not in ENGINES:
        raise not_one_of("engine", name, ENGINES)
    return ENGINES[name]
