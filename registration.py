"""The ids of the environments."""

from __future__ import annotations

from gymnasium.envs.registration import register, registry

_ENTRY_POINTS = {
    "execgym/SQL-v0": ("execgym.envs.sql.env:SQLEnv", "execgym.vector.entry_points:make_sql"),
    "execgym/Coding-v0": (
        "execgym.envs.coding.env:CodingEnv",
        "execgym.vector.entry_points:make_coding",
    ),
    "execgym/DataAnalysis-v0": (
        "execgym.envs.data_analysis.env:DataAnalysisEnv",
        "execgym.vector.entry_points:make_data_analysis",
    ),
}


def register_envs() -> None:
    """Register every environment with Gymnasium once. Calling it again does nothing."""
    for env_id, (entry_point, vector_entry_point) in _ENTRY_POINTS.items():
        if env_id not in registry:
            register(id=env_id, entry_point=entry_point, vector_entry_point=vector_entry_point)


def env_ids() -> tuple[str, ...]:
    """Return the ids that `register_envs` registers."""
    return tuple(_ENTRY_POINTS)
