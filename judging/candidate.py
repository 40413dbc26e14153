"""A candidate's functions behind a sandbox: plain data goes in, claims about values come out."""

from __future__ import annotations

import asyncio
import builtins
import dataclasses
import functools
import importlib.resources
from collections.abc import AsyncGenerator, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from execgym.judging.codec import CodecError, CodecLimits, decode, encode
from execgym.sandbox import (
    CommandResult,
    Process,
    ProtocolViolationError,
    Sandbox,
    SandboxSpec,
    Template,
    open_sandbox,
)

COMMON_MODULES = (
    "abc",
    "array",
    "bisect",
    "cmath",
    "collections",
    "contextlib",
    "copy",
    "dataclasses",
    "datetime",
    "decimal",
    "enum",
    "fractions",
    "functools",
    "hashlib",
    "heapq",
    "io",
    "itertools",
    "json",
    "math",
    "numbers",
    "operator",
    "os",
    "random",
    "re",
    "statistics",
    "string",
    "sys",
    "threading",
    "time",
    "traceback",
    "typing",
)
"""What solutions import most, preloaded so that no sandbox pays for it."""

_MESSAGE_LIMITS = CodecLimits(size_bytes=6 * 2**20)
_BATCH_BYTES = 256 * 1024
_QUICK_BYTES = 32 * 1024


@functools.cache
def template() -> Template:
    """Return the template in which candidates and checking code run.

    It holds the two drivers and the codec, and nothing of any task.
    """
    folder = importlib.resources.files("execgym.judging")
    sources = tuple(
        (name, folder.joinpath(file).read_text(encoding="utf-8"))
        for name, file in (
            ("execgym_codec", "codec.py"),
            ("execgym_candidate_driver", "candidate_driver.py"),
            ("execgym_check_driver", "check_driver.py"),
        )
    )
    return Template(modules=(*COMMON_MODULES, *(name for name, _ in sources)), sources=sources)


class CandidateFailure(Exception):
    """The candidate did something that is a FAIL whatever the task. The text says what."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call of a candidate's function with plain data.

    Attributes:
        name: The function.
        arguments: Positional arguments.
        keywords: Keyword arguments.
    """

    name: str
    arguments: tuple[Any, ...]
    keywords: Mapping[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What the candidate's process says that a call gave.

    Attributes:
        value: The value, where it returned plain data.
        encoding: The same, encoded; empty where it returned none.
        raised: Name of the built-in exception that it raised, or the nearest one, or `""`.
        unusable: Why what it returned is no plain data, or `""`.
    """

    value: Any = None
    encoding: bytes = b""
    raised: str = ""
    unusable: str = ""

    @property
    def failure(self) -> str:
        """Why there is no value, or `""` where there is one."""
        if self.raised:
            return f"a call raised {self.raised}"
        return self.unusable


class CandidateProcess:
    """A process in a fresh sandbox that has loaded a candidate's source.

    Use `open_candidate` to make one. Calls are answered in order, each exactly once; anything else
    on the channel ends the matter with `CandidateFailure`.
    """

    def __init__(self, sandbox: Sandbox, process: Process) -> None:
        self._sandbox = sandbox
        self._process = process
        self._next = 0

    async def load(self, source: str) -> None:
        """Execute the candidate's source as the module `solution`.

        Raises:
            CandidateFailure: It does not load.
            SandboxError: The sandbox failed.
        """
        await self._process.send(encode(("load", source)))
        message = await self._receive()
        if message[0] == "unloadable" and len(message) == 2:
            raise CandidateFailure(f"the code does not load: {_exception_name(message[1])}")
        if message != ("loaded",):
            raise CandidateFailure("a message on the channel is none of the driver's")

    async def call(self, name: str, arguments: bytes, keywords: bytes) -> Answer:
        """Make one call with encoded arguments (a tuple) and keywords (a dict).

        Raises:
            CandidateFailure: No answer came, or one that cannot be.
            SandboxError: The sandbox failed.
        """
        number = self._next
        self._next += 1
        await self._process.send(encode(("calls", ((number, name, arguments, keywords),), 0.0)))
        return await self._answer(number, name)

    async def answers(
        self, calls: Sequence[Call], *, call_seconds: float = 0.0
    ) -> AsyncGenerator[Answer, None]:
        """Make calls in order and give their answers as they come.

        The calls are sent ahead, in batches: whoever has seen enough stops and closes.

        Args:
            calls: The calls.
            call_seconds: CPU time after which a call raises TimeoutError, or 0 for none. It binds
                trusted code only: a candidate could catch the exception.

        Raises:
            CandidateFailure: An answer is missing, or one cannot be.
            SandboxError: The sandbox failed.
        """
        batch: list[tuple[int, str, bytes, bytes]] = []
        size = 0
        for index, call in enumerate(calls):
            arguments = encode(tuple(call.arguments))
            keywords = encode(dict(call.keywords))
            batch.append((self._next, call.name, arguments, keywords))
            self._next += 1
            size += len(arguments) + len(keywords)
            if size > _BATCH_BYTES or index == len(calls) - 1:
                await self._process.send(encode(("calls", tuple(batch), call_seconds)))
                for number, name, _, _ in batch:
                    yield await self._answer(number, name)
                batch.clear()
                size = 0

    async def finish(self) -> CommandResult:
        """End the process and make sure that it has said nothing beyond its answers.

        Raises:
            CandidateFailure: There was a surplus message, or the process was gone already.
            SandboxError: The sandbox failed.
        """
        await self._process.send(encode(("end",)))
        if await self._receive() != ("end",):
            raise CandidateFailure("there are more messages than calls on the channel")
        return await self._process.kill()

    async def close(self) -> None:
        """Destroy the sandbox."""
        await self._sandbox.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def _answer(self, number: int, name: str) -> Answer:
        message = await self._receive()
        if message[1:2] != (number,) or type(message[1]) is not int:
            raise CandidateFailure("a message on the channel answers no call, or another one")
        kind, rest = message[0], message[2:]
        if kind == "value" and len(rest) == 1 and type(rest[0]) is bytes:
            encoding = rest[0]
            try:
                if len(encoding) > _QUICK_BYTES:
                    # Reading a large value must not hold up everything else on the loop.
                    value = await asyncio.to_thread(decode, encoding)
                else:
                    value = decode(encoding)
                return Answer(value=value, encoding=encoding)
            except CodecError as error:
                return Answer(unusable=f"a returned value is refused: {error}")
        if kind == "raised" and len(rest) == 1:
            return Answer(raised=_exception_name(rest[0]))
        if kind == "unusable" and len(rest) == 1 and type(rest[0]) is str:
            return Answer(unusable=f"a returned value is refused: {_printable(rest[0])}")
        if kind == "missing" and not rest:
            raise CandidateFailure(f"the code defines no {name!r}")
        raise CandidateFailure("a message on the channel is none of the driver's")

    async def _receive(self) -> tuple[Any, ...]:
        try:
            data = await self._process.receive()
            if data is None:
                raise CandidateFailure(_ending(await self._process.wait()))
        except ProtocolViolationError:
            # No code of ours does that; the candidate's writes where it should not.
            raise CandidateFailure("what the sandbox sent cannot be read") from None
        try:
            message = decode(data, _MESSAGE_LIMITS)
        except CodecError:
            raise CandidateFailure("a message on the channel cannot be read") from None
        if type(message) is not tuple or not message or type(message[0]) is not str:
            raise CandidateFailure("a message on the channel is none of the driver's")
        return message


async def open_candidate(source: str, spec: SandboxSpec) -> CandidateProcess:
    """Open a fresh sandbox and load a candidate's source in it.

    Args:
        source: Python source. Nothing else of the candidate's comes along.
        spec: The sandbox. Its template is `template()`.

    Raises:
        CandidateFailure: The source does not load.
        SandboxError: The sandbox failed.
    """
    sandbox = await open_sandbox(spec)
    try:
        process = await sandbox.start_python(
            "import execgym_candidate_driver as driver\ndriver.main()\n"
        )
        candidate = CandidateProcess(sandbox, process)
        await candidate.load(source)
    except BaseException:
        await sandbox.close()
        raise
    return candidate


def read_source(artifacts: Mapping[str, bytes]) -> str:
    """Return the text of `solution.py`.

    Raises:
        CandidateFailure: It is missing, empty, or no UTF-8.
    """
    data = artifacts.get("solution.py", b"")
    try:
        source = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise CandidateFailure("the file solution.py is not UTF-8 text") from None
    if not source.strip():
        raise CandidateFailure("the file solution.py is missing or empty")
    return source


def _exception_name(claim: object) -> str:
    kind = builtins.__dict__.get(claim) if type(claim) is str else None
    if isinstance(kind, type) and issubclass(kind, BaseException):
        return kind.__name__
    return "Exception"


def _printable(text: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in text[:200])


def _ending(result: CommandResult) -> str:
    if result.limit:
        return f"the {result.limit} limit was reached"
    if result.signal:
        return f"the process was ended by signal {result.signal} before it had answered"
    return f"the process ended with status {result.exit_code} before it had answered"
