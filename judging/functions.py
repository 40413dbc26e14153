"""Judging functions: hidden inputs go to the candidate's sandbox, expected values never do.

Two ways. `judge_cases` calls the function and compares on the host. `judge_check` runs checking
code that came with a task set in a second sandbox, the judge's own, where the candidate is a proxy.
An argument that the candidate changes in place does not change in the checking code.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from execgym.judging.candidate import (
    Answer,
    Call,
    CandidateFailure,
    CandidateProcess,
    open_candidate,
)
from execgym.judging.codec import CodecError, CodecLimits, decode, encode
from execgym.judging.compare import same_value
from execgym.sandbox import Process, Sandbox, SandboxSpec, open_sandbox

_REPEATED_CALLS = 6
_MESSAGE_LIMITS = CodecLimits(size_bytes=6 * 2**20)

Comparison = Callable[[Any, Any], bool]


class CheckingCodeError(Exception):
    """The checking code failed in a way that no candidate can cause."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class FunctionCase:
    """A hidden call and what it must give.

    Attributes:
        call: The call.
        expected: The value, where no exception is expected.
        raises: Name of the built-in exception that must be raised, or `""`.
    """

    call: Call
    expected: Any = None
    raises: str = ""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class CheckingCode:
    """Checking code of a task set.

    Attributes:
        sources: Modules' texts, executed in order in one namespace before the proxies are bound.
        proxies: The candidate's function for each global name that stands for it.
        body: What is executed last. It must call a proxy, and passes by ending without exception.
    """

    sources: tuple[str, ...]
    proxies: Mapping[str, str]
    body: str


def compare_exactly(expected: Any, actual: Any) -> bool:
    """Return whether two plain values have the same types and values all through."""
    return bool(same_value(expected, actual))


async def judge_cases(
    candidate: CandidateProcess,
    cases: Sequence[FunctionCase],
    chance: random.Random,
    *,
    same: Comparison = compare_exactly,
    ordered: bool = True,
) -> None:
    """Call the candidate with every case, in an order of chance, some of them twice.

    Args:
        candidate: The candidate.
        cases: At least one.
        chance: Says the order, and which cases come twice. See `submission_chance`.
        same: Compares the expected value with the returned one.
        ordered: Whether equal calls must give the very same value, which a counter of calls does
            not. Where the order of items does not count, `same` alone decides.

    Raises:
        CandidateFailure: It gave a wrong answer, or none.
        SandboxError: The sandbox failed.
        ValueError: There is no case.
    """
    if not cases:
        raise ValueError("a function cannot be judged without a case")
    order = list(range(len(cases)))
    order += chance.sample(order, min(len(order), _REPEATED_CALLS))
    chance.shuffle(order)
    first: dict[int, Answer] = {}
    # The first failure ends it, so that a wrong answer costs little, also on purpose.
    async with contextlib.aclosing(candidate.answers([cases[i].call for i in order])) as answers:
        place = 0
        async for answer in answers:
            index = order[place]
            place += 1
            _hold_against(cases[index], answer, same)
            seen = first.setdefault(index, answer)
            # Equal encodings are equal values, and comparing them is cheaper.
            repeats = not ordered or answer.encoding == seen.encoding
            if not repeats and not same_value(seen.value, answer.value):
                raise CandidateFailure("equal calls gave unequal values")


def _hold_against(case: FunctionCase, answer: Answer, same: Comparison) -> None:
    if case.raises:
        if answer.raised != case.raises:
            raise CandidateFailure(f"a hidden call did not raise {case.raises}")
    elif answer.failure:
        raise CandidateFailure(f"on a hidden input, {answer.failure}")
    elif not same(case.expected, answer.value):
        raise CandidateFailure("a hidden input gave a wrong value")


async def judge_check(
    candidate: CandidateProcess, judge: CheckProcess, code: CheckingCode, chance: random.Random
) -> int:
    """Run checking code in the judge's sandbox against the candidate's and return its calls.

    Raises:
        CandidateFailure: The check failed, or the candidate gave no usable answer.
        CheckingCodeError: The checking code cannot be run, or passes without having called.
        SandboxError: A sandbox failed.
    """
    seen = await judge.run(code, candidate)
    if not seen:
        raise CheckingCodeError("the checking code ended without calling the candidate")
    # A counter of calls answers by order. The same calls in another order must say the same.
    again = chance.sample(seen, min(len(seen), _REPEATED_CALLS))
    for name, arguments, keywords, answer in again:
        repeated = await candidate.call(name, arguments, keywords)
        if repeated.raised != answer.raised or not same_value(answer.value, repeated.value):
            raise CandidateFailure("equal calls gave unequal values")
    return len(seen)


_Relayed = tuple[str, bytes, bytes, Answer]


class CheckProcess:
    """The judge's own sandbox, in which checking code runs. Use `open_check` to make one."""

    def __init__(self, sandbox: Sandbox, process: Process) -> None:
        self._sandbox = sandbox
        self._process = process

    async def run(self, code: CheckingCode, candidate: CandidateProcess) -> list[_Relayed]:
        """Run the checking code once, relaying each call; see `judge_check`."""
        proxies = tuple(sorted(code.proxies.items()))
        await self._process.send(encode(("check", code.sources, proxies, code.body)))
        relayed: list[_Relayed] = []
        while True:
            message = await self._receive(bool(relayed))
            if message[0] == "passed":
                return relayed
            if message[0] == "broken":
                raise CheckingCodeError(f"the checking code does not run: {message[1]}")
            if message[0] == "failed":
                raise CandidateFailure(f"the task's own check failed with {message[1]}")
            _, name, arguments, keywords = message
            answer = await candidate.call(name, arguments, keywords)
            if answer.unusable:
                raise CandidateFailure(answer.unusable)
            relayed.append((name, arguments, keywords, answer))
            # The candidate's bytes have been decoded here: what goes on is known to be plain data.
            if answer.raised:
                await self._process.send(encode(("raised", 0, answer.raised)))
            else:
                await self._process.send(encode(("value", 0, answer.encoding)))

    async def close(self) -> None:
        """Destroy the sandbox."""
        await self._sandbox.close()

    async def _receive(self, called: bool) -> tuple[Any, ...]:
        data = await self._process.receive()
        if data is None:
            result = await self._process.wait()
            why = result.limit or f"status {result.exit_code}"
            # A value of the candidate's can be too much for the check; before there was one,
            # the failure is the check's own.
            if called:
                raise CandidateFailure(f"the task's own check did not end ({why})")
            raise CheckingCodeError(f"the checking code ended before its first call ({why})")
        try:
            message: tuple[Any, ...] = decode(data, _MESSAGE_LIMITS)
        except CodecError as error:
            raise CheckingCodeError(f"the check's driver sent what cannot be read: {error}") from (
                error
            )
        return message


async def open_check(spec: SandboxSpec) -> CheckProcess:
    """Open the judge's own sandbox.

    Raises:
        SandboxError: The sandbox failed.
    """
    sandbox = await open_sandbox(spec)
    try:
        process = await sandbox.start_python(
            "import execgym_check_driver as driver\ndriver.main()\n"
        )
    except BaseException:
        await sandbox.close()
        raise
    return CheckProcess(sandbox, process)


async def open_both(
    source: str, spec: SandboxSpec, check_spec: SandboxSpec
) -> tuple[CandidateProcess, CheckProcess]:
    """Open the candidate's sandbox and the judge's at the same time.

    Raises:
        CandidateFailure: The source does not load.
        SandboxError: A sandbox failed.
    """
    results = await asyncio.gather(
        open_candidate(source, spec), open_check(check_spec), return_exceptions=True
    )
    failures = [result for result in results if isinstance(result, BaseException)]
    if failures:
        for result in results:
            if not isinstance(result, BaseException):
                await result.close()
        # A sandbox's failure says nothing about the candidate, so it goes first.
        raise next((e for e in failures if not isinstance(e, CandidateFailure)), failures[0])
    candidate, judge = results
    assert isinstance(candidate, CandidateProcess)  # noqa: S101
    assert isinstance(judge, CheckProcess)  # noqa: S101
    return candidate, judge
