"""The templates of the sandboxes of this domain."""

from __future__ import annotations

from execgym.envs import python_session
from execgym.sandbox import Template

TEMPLATE = Template(
    modules=(
        "collections",
        "csv",
        "datetime",
        "json",
        "math",
        "runpy",
        "sqlite3",
        "statistics",
        "numpy",
        "pandas",
        *python_session.MODULES,
    ),
    sources=python_session.SOURCES,
    docker_image="execgym/data:latest",
)
"""numpy and pandas, preloaded, and the driver of sessions. It needs the extra `data`, and in the
Docker backends the image that `execgym images build data` makes."""
