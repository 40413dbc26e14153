"""What a domain knows about the right and wrong answers of a task, to put its judge to the test.

Only trusted code imports this module and the domains' own `answers.py`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping


@dataclasses.dataclass(frozen=True, slots=True)
class TaskAnswers:
    """Answers to one task that are right or wrong by something other than its judge.

    Attributes:
        right: Submissions that have to pass, by what is peculiar to each.
        wrong: Submissions that may not pass, by what is wrong with each.
        secrets: Texts of the hidden half that nothing an agent gets may hold.
    """

    right: Mapping[str, str]
    wrong: Mapping[str, str]
    secrets: tuple[str, ...]
