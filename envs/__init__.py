"""Gymnasium environments, one package per domain, on one asynchronous core."""

from execgym.envs.core import ExecEnv, ToolResult
from execgym.envs.episode_state import EpisodeState
from execgym.envs.errors import (
    EngineUnavailableError,
    EnvError,
    InvalidOptionError,
    InvalidStateError,
    TaskSetUnavailableError,
    UnknownTaskError,
)
from execgym.envs.spaces import Unicode
from execgym.envs.task import Judge, Task, TaskSource
from execgym.envs.tools import Tool, ToolCall, ToolCallError, parse_action, tool

__all__ = [
    "EngineUnavailableError",
    "EnvError",
    "EpisodeState",
    "ExecEnv",
    "InvalidOptionError",
    "InvalidStateError",
    "Judge",
    "Task",
    "TaskSetUnavailableError",
    "TaskSource",
    "Tool",
    "ToolCall",
    "ToolCallError",
    "ToolResult",
    "Unicode",
    "UnknownTaskError",
    "parse_action",
    "tool",
]
