"""The template of every sandbox of this domain."""

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
)
"""numpy and pandas, preloaded, and the driver of sessions. It needs the extra `data`."""
