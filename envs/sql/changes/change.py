"""What a task about a change is made of."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from execgym.envs.sql.questions import Scene


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A change that is asked for, and a script that makes it.

    Attributes:
        kind: Name of the template.
        text: What is asked for.
        script: A right script.
        alternatives: Other right scripts.
        conditions: Conditions of SQL whose bounds hidden databases should have rows at.
        times: How often the script is run, one time after the other.
        probes: Scripts that tell what the new state allows: whether they fail, and what rows they
            give, has to be as after the reference.
        plants: Scripts that each make a further hidden database of one: cases that are rare.
        wrongs: Scripts that look right and are not, as far as the template can tell.
    """

    kind: str
    text: str
    script: str
    alternatives: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    times: int = 1
    probes: tuple[str, ...] = ()
    plants: tuple[str, ...] = ()
    wrongs: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class HiddenChange:
    """A change with the database that it is asked for. Only trusted code may see it.

    Attributes:
        change: What is asked for, and right scripts.
        shown: The shown database.
        columns: Names of columns, for mutants.
    """

    change: Change
    shown: bytes
    columns: tuple[str, ...]


ChangeTemplate = Callable[[Scene], Change]
