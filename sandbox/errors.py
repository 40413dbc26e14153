"""What can go wrong with a sandbox, told apart from what goes wrong inside it.

A command that exits with a status, is killed, or hits a limit is a *result*
(`execgym.sandbox.CommandResult`), never an exception: that is the candidate's doing. The
exceptions below mean that the sandbox itself failed, so nothing may be concluded about the
candidate. `CommandResult.check` turns a bad result into an exception where a caller wants that.
"""

from __future__ import annotations


class SandboxError(Exception):
    """The sandbox failed. Nothing can be concluded about the command that ran in it."""


class SandboxUnavailableError(SandboxError):
    """No backend can run here. The message carries the doctor's reasons and the way out."""


class TemplateError(SandboxError, ValueError):
    """The template cannot be built, for example because a preloaded module does not import."""


class SandboxStartError(SandboxError):
    """The sandbox was asked for and did not come up."""


class SandboxDiedError(SandboxError):
    """The sandbox's connection ended before the answer came."""


class ProtocolViolationError(SandboxError):
    """The guest sent a frame that the protocol forbids. The sandbox has been closed."""


class CommandError(Exception):
    """A command did not end well. Raised only by `CommandResult.check`."""


class CommandFailedError(CommandError):
    """The command ended with a non-zero exit status or by a signal."""


class LimitExceededError(CommandError):
    """The command was ended because it hit one of its limits."""


class SandboxFileError(Exception):
    """A file operation inside the sandbox was refused: missing, too large, not a regular file."""


class SnapshotError(SandboxFileError):
    """A snapshot was refused: too large, too deep, too much to be unpacked, or none at all."""
