"""Sandboxes: what they are, how to open one, and what this machine allows."""

from execgym.sandbox.backend import image_fingerprint, open_sandbox, open_sandboxes
from execgym.sandbox.base import MAX_SNAPSHOT_BYTES, CommandResult, Process, Sandbox, SandboxStats
from execgym.sandbox.client import check_snapshot
from execgym.sandbox.doctor import Capacity, Finding, Report, diagnose
from execgym.sandbox.errors import (
    CommandError,
    CommandFailedError,
    LimitExceededError,
    ProtocolViolationError,
    SandboxDiedError,
    SandboxError,
    SandboxFileError,
    SandboxStartError,
    SandboxUnavailableError,
    SnapshotError,
    TemplateError,
)
from execgym.sandbox.event_loop import run_sync, shared_loop
from execgym.sandbox.spec import Limits, SandboxSpec, Template
from execgym.sandbox.zygotes import close_zygotes

__all__ = [
    "MAX_SNAPSHOT_BYTES",
    "Capacity",
    "CommandError",
    "CommandFailedError",
    "CommandResult",
    "Finding",
    "LimitExceededError",
    "Limits",
    "Process",
    "ProtocolViolationError",
    "Report",
    "Sandbox",
    "SandboxDiedError",
    "SandboxError",
    "SandboxFileError",
    "SandboxSpec",
    "SandboxStartError",
    "SandboxStats",
    "SandboxUnavailableError",
    "SnapshotError",
    "Template",
    "TemplateError",
    "check_snapshot",
    "close_zygotes",
    "diagnose",
    "image_fingerprint",
    "open_sandbox",
    "open_sandboxes",
    "run_sync",
    "shared_loop",
]
