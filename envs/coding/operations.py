"""All small transforms, from which tasks are composed."""

from __future__ import annotations

from execgym.envs.coding.number_operations import NUMBER_OPERATIONS
from execgym.envs.coding.operation import Operation
from execgym.envs.coding.text_operations import TEXT_OPERATIONS

OPERATIONS: dict[str, Operation] = {**NUMBER_OPERATIONS, **TEXT_OPERATIONS}
"""By name."""
