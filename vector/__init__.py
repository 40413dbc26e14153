"""Thousands of envs in one process: `AsyncVectorEnv` and what it returns."""

from execgym.vector.async_vector_env import AsyncVectorEnv
from execgym.vector.batch import Batch, Statistics
from execgym.vector.errors import (
    EnvInFlightError,
    EpisodeOverError,
    InvalidRequestError,
    NothingInFlightError,
    VectorEnvClosedError,
    VectorEnvError,
)

__all__ = [
    "AsyncVectorEnv",
    "Batch",
    "EnvInFlightError",
    "EpisodeOverError",
    "InvalidRequestError",
    "NothingInFlightError",
    "Statistics",
    "VectorEnvClosedError",
    "VectorEnvError",
]
