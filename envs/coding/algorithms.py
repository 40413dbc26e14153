"""Larger algorithms, with which tasks of levels 3 to 5 begin.

They are operations like the small ones, but take an input kind of their own, and have structural
parameters that change the algorithm and its description.
"""

from __future__ import annotations

from execgym.envs.coding.operation import Operation
from execgym.envs.coding.searches import SEARCHES
from execgym.envs.coding.sequences import SEQUENCES
from execgym.envs.coding.simulations import SIMULATIONS

ALGORITHMS: dict[int, dict[str, Operation]] = {3: SEQUENCES, 4: SIMULATIONS, 5: SEARCHES}
"""By level and name."""
