"""Which task sources and which reference answers each environment has."""

from __future__ import annotations

import importlib
from collections.abc import Callable

from execgym.envs.errors import not_one_of
from execgym.registration import env_ids

_SOURCES = {
    "execgym/SQL-v0": ("generated", "spider", "defog"),
    "execgym/Coding-v0": ("generated", "humaneval", "humaneval_plus", "mbpp", "mbpp_plus"),
}
_GOLD = {
    "execgym/SQL-v0": "execgym.envs.sql.gold",
    "execgym/Coding-v0": "execgym.envs.coding.gold",
}


def full_id(name: str) -> str:
    """Return the id that a name on the command line means: `SQL-v0` is `execgym/SQL-v0`.

    Raises:
        InvalidOptionError: There is no such environment.
    """
    names = [env_id.removeprefix("execgym/") for env_id in env_ids()]
    short = name.removeprefix("execgym/")
    for known in names:
        if short.lower() in (known.lower(), known.split("-")[0].lower()):
            return f"execgym/{known}"
    raise not_one_of("environment", short, names)


def source_names(env_id: str) -> tuple[str, ...]:
    """Return the names that `make(env_id, tasks=...)` takes."""
    return _SOURCES[env_id]


def reference_answer(env_id: str) -> Callable[[str], str]:
    """Return the function that gives a task's reference answer by the task's id."""
    module = importlib.import_module(_GOLD[env_id])
    answer: Callable[[str], str] = module.reference_answer
    return answer
