"""Task sources of the coding domain by name."""

from __future__ import annotations

import functools

from execgym.envs.coding.generated import GeneratedSource
from execgym.envs.coding.hidden import CodingSource
from execgym.envs.coding.public import PUBLIC_SETS
from execgym.envs.errors import not_one_of

SOURCES = ("generated", *PUBLIC_SETS)


@functools.cache
def _generated() -> GeneratedSource:
    return GeneratedSource()


def load_source(name: str) -> CodingSource:
    """Return a task source.

    Raises:
        InvalidOptionError: There is no source of this name.
        TaskSetUnavailableError: It is a public set that is not on this machine.
    """
    if name == "generated":
        return _generated()
    if not isinstance(name, str) or name not in PUBLIC_SETS:
        raise not_one_of("tasks", name, SOURCES)
    return PUBLIC_SETS[name]()
