"""Grading of coding tasks."""

from __future__ import annotations

import asyncio
import collections
import contextlib
import dataclasses
import functools
import hashlib
import random
from collections.abc import Mapping
from typing import Any

from execgym.envs.coding.hidden import (
    CheckedTests,
    CodingSource,
    FunctionTests,
    FurtherInputs,
    HiddenTests,
    ProgramTests,
)
from execgym.envs.task import Task
from execgym.judging.candidate import (
    Answer,
    Call,
    CandidateFailure,
    open_candidate,
    read_source,
    template,
)
from execgym.judging.codec import encode
from execgym.judging.compare import close_value
from execgym.judging.functions import (
    CheckingCodeError,
    FunctionCase,
    judge_cases,
    judge_check,
    open_both,
)
from execgym.judging.programs import judge_program
from execgym.judging.submission_chance import submission_chance
from execgym.judging.verdict import Check, Status, Verdict
from execgym.sandbox import Limits, SandboxSpec

JUDGE_VERSION = "coding-1"

_MIB = 1024 * 1024
_EXPECTED_VALUES_KEPT = 512
_LONGEST_SOURCE = 200_000
_JUDGE_FACTOR = 2.0
_WALL_FACTOR = 3.0
_REFERENCE_CALL_SECONDS = 0.02

JUDGE_LIMITS = Limits(
    cpu_seconds=15.0,
    wall_seconds=60.0,
    memory_bytes=512 * _MIB,
    processes=32,
    output_bytes=_MIB,
)
"""Bounds on a candidate's process while it is graded. References take a second of CPU time or
less, or have a bound of their own, so a right answer that is much slower still has room."""


class CodingJudge:
    """Judges the tasks of one source, each in fresh sandboxes.

    Args:
        source: Where the hidden tests come from.
        backend: Sandbox backend.
        runtime: What a Docker backend runs containers with.
        image: What its sandboxes are made from; see `Template`.
        limits: Bounds on the candidate's process.
    """

    def __init__(
        self,
        source: CodingSource,
        *,
        backend: str = "auto",
        runtime: str = "",
        image: str = "host",
        limits: Limits = JUDGE_LIMITS,
    ) -> None:
        self._source = source
        self._spec = SandboxSpec(
            template=dataclasses.replace(template(), image=image),
            limits=limits,
            backend=backend,
            runtime=runtime,
        )
        # The judge's own process waits for the candidate's, so it must outlast it.
        outlasting = dataclasses.replace(
            limits,
            cpu_seconds=limits.cpu_seconds * _JUDGE_FACTOR,
            wall_seconds=limits.wall_seconds * _JUDGE_FACTOR,
        )
        self._judge_spec = dataclasses.replace(self._spec, limits=outlasting)
        self._expected: collections.OrderedDict[str, tuple[FunctionCase, ...]] = (
            collections.OrderedDict()
        )

    async def grade(self, task: Task, artifacts: Mapping[str, bytes]) -> Verdict:
        """Grade `solution.py`; see `execgym.envs.task.Judge`.

        Raises:
            SandboxError: A sandbox failed.
            CheckingCodeError: The task's own checking code failed without the candidate's doing.
        """
        chance = submission_chance(task.id, artifacts)
        tests = self._source.hidden(task.id, chance)
        name = _check_name(tests)
        try:
            source = read_source(artifacts)
            if len(source) > _LONGEST_SOURCE:
                raise CandidateFailure(
                    f"the file solution.py has {len(source)} characters; "
                    f"the limit is {_LONGEST_SOURCE}"
                )
            await self._run(task.id, source, tests, chance)
        except CandidateFailure as failure:
            reason = f"{str(failure)[:1].upper()}{str(failure)[1:]}."
            return Verdict(
                status=Status.FAIL,
                score=0.0,
                checks=(Check(name=name, passed=False, detail=reason),),
                reason=reason,
                judge_version=JUDGE_VERSION,
            )
        return Verdict(
            status=Status.PASS,
            score=1.0,
            checks=(Check(name=name, passed=True),),
            reason="Every hidden test passed.",
            judge_version=JUDGE_VERSION,
        )

    async def _run(
        self, task_id: str, source: str, tests: HiddenTests, chance: random.Random
    ) -> None:
        match tests:
            case ProgramTests(cases=programs):
                await judge_program(source, programs, self._spec, chance)
            case FunctionTests(cases=cases):
                async with await open_candidate(source, self._spec) as candidate:
                    await judge_cases(candidate, cases, chance)
                    await candidate.finish()
            case CheckedTests():
                await self._run_checked(task_id, source, tests, chance)

    async def _run_checked(
        self, task_id: str, source: str, tests: CheckedTests, chance: random.Random
    ) -> None:
        spec = self._spec
        if tests.cpu_seconds:
            limits = dataclasses.replace(
                spec.limits,
                cpu_seconds=max(spec.limits.cpu_seconds, tests.cpu_seconds),
                wall_seconds=max(spec.limits.wall_seconds, tests.cpu_seconds * _WALL_FACTOR),
            )
            spec = dataclasses.replace(spec, limits=limits)
        candidate, judge = await open_both(source, spec, self._judge_spec)
        async with candidate, contextlib.AsyncExitStack() as stack:
            stack.push_async_callback(judge.close)
            await judge_check(candidate, judge, tests.code, chance)
            further = tests.further
            if further is not None and further.inputs:
                cases = await self.expected_cases(task_id, further)
                if cases:
                    same = functools.partial(_same_further, further)
                    await judge_cases(
                        candidate, cases, chance, same=same, ordered=not further.any_order
                    )
            await candidate.finish()

    async def expected_cases(
        self, task_id: str, further: FurtherInputs
    ) -> tuple[FunctionCase, ...]:
        """Return the further inputs that are allowed, with the values of the reference.

        Both come from a judge's sandbox and are kept by task. Inputs on which a reference raises,
        gives no plain data, differs from another one, or takes long are left out.

        Raises:
            CheckingCodeError: A reference does not run.
            SandboxError: A sandbox failed.
        """
        # The tests of an id never change, but two sources may share an id.
        digest = hashlib.sha256(repr(further.references).encode()).hexdigest()
        key = f"{task_id} {digest}"
        cases = self._expected.get(key)
        if cases is None:
            cases = await self._compute_cases(further)
            self._expected[key] = cases
            if len(self._expected) > _EXPECTED_VALUES_KEPT:
                self._expected.popitem(last=False)
        self._expected.move_to_end(key)
        return cases

    async def _compute_cases(self, further: FurtherInputs) -> tuple[FunctionCase, ...]:
        calls = [Call(name=further.function, arguments=one) for one in further.inputs]
        try:
            sources = [*further.references, *([further.contract] if further.contract else [])]
            answers = await asyncio.gather(*(self._ask(source, calls) for source in sources))
        except CandidateFailure as failure:
            raise CheckingCodeError(f"the task set's reference does not run: {failure}") from None
        same = functools.partial(_same_further, further)
        cases = []
        for call, *given in zip(calls, *answers, strict=True):
            # What a contract returns is nothing; it raises on an input that is not allowed.
            if any(answer.failure for answer in given):
                continue
            expected, *others = [answer.value for answer in given[: len(further.references)]]
            if all(same(expected, other) for other in others):
                cases.append(FunctionCase(call=call, expected=expected))
        return tuple(cases)

    async def _ask(self, source: str, calls: list[Call]) -> list[Answer]:
        async with await open_candidate(source, self._judge_spec) as reference:
            given = reference.answers(calls, call_seconds=_REFERENCE_CALL_SECONDS)
            answers = [answer async for answer in given]
            await reference.finish()
        return answers


def same_as_python(expected: Any, actual: Any, tolerance: float) -> bool:
    """Return whether two plain values are equal as Python's `==` has it, floats being close.

    A list equals a tuple of equal items, since public sets keep their inputs as JSON.
    """
    try:
        if expected == actual:
            return True
    except ArithmeticError:
        # A signalling NaN of Decimal cannot be compared.
        return False
    return bool(
        close_value(
            expected,
            actual,
            abs_tol=max(tolerance, 1e-6),
            ints_as_floats=True,
            tuples_as_lists=True,
        )
    )


def _same_further(further: FurtherInputs, expected: Any, actual: Any) -> bool:
    if further.any_order and isinstance(expected, list | tuple | set):
        if not isinstance(actual, list | tuple | set):
            return False
        # Encodings can be sorted whatever the items are.
        expected, actual = sorted(map(encode, expected)), sorted(map(encode, actual))
    return same_as_python(expected, actual, further.tolerance)


def _check_name(tests: HiddenTests) -> str:
    match tests:
        case ProgramTests():
            return "hidden inputs of the program"
        case FunctionTests():
            return "hidden calls"
        case CheckedTests():
            return "the task's own check"
