"""A Python session in a sandbox: variables live from call to call, as in a notebook.

A call has two limits of each kind. The soft one is kept inside, by a signal that raises
`CallLimitError` at the line that runs: the session goes on. Code that takes no signal (or catches
it) meets the hard one outside: the process is killed, its variables are gone, and the next call
starts a fresh session. Everything that a session says comes from the candidate's own process, so it
is an observation and nothing to judge by.
"""

from __future__ import annotations

import asyncio
import dataclasses
import inspect
import signal
import time

from execgym.envs import python_session_driver
from execgym.judging import codec
from execgym.sandbox import CommandResult, Limits, Process, ProtocolViolationError, Sandbox

MODULES = (
    "ast",
    "linecache",
    "signal",
    "traceback",
    "execgym_codec",
    "execgym_python_session_driver",
)
"""What a template of sandboxes with a session preloads."""

SOURCES = (
    ("execgym_codec", inspect.getsource(codec)),
    ("execgym_python_session_driver", inspect.getsource(python_session_driver)),
)
"""The sources that such a template carries."""

_PROGRAM = "import execgym_python_session_driver as driver\ndriver.main()\n"
# The candidate may have put anything in the file's place.
_OUTPUT_PROGRAM = (
    "import os, shutil, sys\n"
    f"fd = os.open({python_session_driver.OUTPUT_FILE!r},"
    " os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)\n"
    "shutil.copyfileobj(open(fd, 'rb'), sys.stdout.buffer)\n"
)
_OUTPUT_SECONDS = 5.0
_CALLS = 50
# A session waits for a model to think, which may take any time. It uses nothing meanwhile.
_SESSION_SECONDS = 7 * 24 * 3600.0
_MESSAGE_LIMITS = codec.CodecLimits(size_bytes=4 * 2**20)
# What a call may take beyond its wall limit before it is killed: its signal comes first.
_GRACE_SECONDS = 3.0


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class CallResult:
    """What a call in a session gave.

    Attributes:
        command: The call as a command: what it wrote, both streams in order, is its `stdout`, and
            its exit code is 0, or 1 where it raised. CPU time is the session's own claim unless
            the call ended the session.
        ended: Why the call ended the session, so that its variables are gone, or `""`.
    """

    command: CommandResult
    ended: str = ""


class PythonSession:
    """Runs calls in one process of a sandbox, and in a fresh one after a call has ended it.

    The process is started by the first call. No other program can run in the sandbox meanwhile;
    files can be read and written.

    Args:
        sandbox: The sandbox. Its template preloads `MODULES` and carries `SOURCES`.
    """

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self._process: Process | None = None
        self._number = 0

    @property
    def sandbox(self) -> Sandbox:
        """Where it runs."""
        return self._sandbox

    async def run(self, code: str) -> CallResult:
        """Run a call.

        Args:
            code: Python statements. The value of a last expression is shown.

        Raises:
            SandboxError: The sandbox failed.
        """
        limits = self._sandbox.spec.limits
        if self._process is None:
            self._process = await self._sandbox.start_python(_PROGRAM, limits=_whole(limits))
        self._number += 1
        request = {
            "code": code,
            "number": self._number,
            "cpu_seconds": float(limits.cpu_seconds),
            "wall_seconds": float(limits.wall_seconds),
            "output_bytes": limits.output_bytes,
        }
        started = time.monotonic()
        await self._process.send(codec.encode(request))
        try:
            async with asyncio.timeout(limits.wall_seconds + _GRACE_SECONDS):
                answer = _read(await self._process.receive(), self._number, limits)
        except TimeoutError:
            return await self._killed("it went on after its wall limit", "wall")
        except ProtocolViolationError:
            answer = None
        if answer is None:
            return await self._killed("", "")
        wall_seconds = time.monotonic() - started
        return CallResult(
            command=dataclasses.replace(
                answer,
                wall_seconds=wall_seconds,
                cpu_seconds=min(answer.cpu_seconds, wall_seconds),
            )
        )

    async def _killed(self, why: str, limit: str) -> CallResult:
        """End the process and tell of its end, with what the call had written by then."""
        process, self._process = self._process, None
        assert process is not None  # noqa: S101 - a call is under way
        result = await process.kill()
        limit = result.limit or limit or ("cpu" if result.signal == signal.SIGXCPU else "")
        why = why or _ending(result, limit)
        limits = dataclasses.replace(
            self._sandbox.spec.limits, cpu_seconds=_OUTPUT_SECONDS, wall_seconds=_OUTPUT_SECONDS
        )
        written = await self._sandbox.run_python(_OUTPUT_PROGRAM, limits=limits)
        output, dropped = (written.stdout, written.stdout_dropped) if written.ok else (b"", 0)
        command = dataclasses.replace(
            result,
            exit_code=result.exit_code or 1,
            limit=limit,
            stdout=output,
            stdout_dropped=dropped,
            stderr=b"",
            stderr_dropped=0,
        )
        return CallResult(command=command, ended=why)


def _whole(limits: Limits) -> Limits:
    """Return the bounds of a session's process, whose calls are `limits` each."""
    return dataclasses.replace(
        limits, cpu_seconds=limits.cpu_seconds * _CALLS, wall_seconds=_SESSION_SECONDS
    )


def _read(message: bytes | None, number: int, limits: Limits) -> CommandResult | None:
    """Return what the driver said, or None where it has ended or what came is not its own."""
    if message is None:
        return None
    try:
        answer = codec.decode(message, _MESSAGE_LIMITS)
        output, dropped, seconds = answer["output"], answer["dropped"], answer["cpu_seconds"]
        if (
            answer["number"] != number
            or type(output) is not bytes
            or len(output) > limits.output_bytes
            or type(dropped) is not int
            or dropped < 0
            or type(seconds) is not float
            or not seconds >= 0
            or type(answer["ok"]) is not bool
        ):
            return None
    except (codec.CodecError, KeyError, TypeError):
        return None
    return CommandResult(
        exit_code=0 if answer["ok"] else 1,
        stdout=output,
        stdout_dropped=dropped,
        cpu_seconds=seconds,
    )


def _ending(result: CommandResult, limit: str) -> str:
    if limit:
        return f"it hit the {limit} limit"
    if result.signal:
        return f"the process was ended by signal {result.signal}"
    return f"the process ended with status {result.exit_code}"
