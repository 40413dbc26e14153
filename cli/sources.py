"""Which task sources and which reference answers each environment has."""

from __future__ import annotations

import importlib
import types
from collections.abc import Callable

import gymnasium

from execgym.envs.answers import TaskAnswers
from execgym.envs.errors import not_one_of
from execgym.registration import env_ids


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
    names: tuple[str, ...] = _module(env_id, "sources").SOURCES
    return names


def reference_answer(env_id: str) -> Callable[[str], str]:
    """Return the function that gives a task's reference answer by the task's id."""
    answer: Callable[[str], str] = _module(env_id, "gold").reference_answer
    return answer


def known_answers(env_id: str) -> Callable[[str], TaskAnswers]:
    """Return the function that gives a task's right and wrong answers by the task's id."""
    answers: Callable[[str], TaskAnswers] = _module(env_id, "answers").answers
    return answers


def _module(env_id: str, name: str) -> types.ModuleType:
    domain = str(gymnasium.spec(env_id).entry_point).rpartition(".env:")[0]
    return importlib.import_module(f"{domain}.{name}")
