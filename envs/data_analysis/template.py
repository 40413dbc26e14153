"""The templates of the sandboxes of this domain."""

from __future__ import annotations

import dataclasses

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

DATA_IMAGE = "execgym/data:latest"
"""The image that brings numpy and pandas in the Docker backends; `execgym images` builds it."""


def template_of(backend: str) -> Template:
    """Return the template in a backend."""
    if backend.startswith("docker"):
        return dataclasses.replace(TEMPLATE, image=DATA_IMAGE)
    return TEMPLATE
